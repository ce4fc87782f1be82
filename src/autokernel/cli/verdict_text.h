#pragma once
// A verdict for people (the original's greppable `key: value` lines) and for programs (exact keys).

#include <string>

#include "autokernel/base/json.h"
#include "autokernel/core/verdict.h"
#include "autokernel/kernel/kernel_file.h"

namespace ak::cli {

std::string bench_text(const Verdict& verdict, const kernel::KernelFile& file, const Config& config,
                       double wall_s);
Json bench_json(const Verdict& verdict, const std::string& kernel, const Config& config, double wall_s);
std::string compare_text(const Verdict& verdict, const std::string& incumbent, const std::string& candidate);

/// The command that explains a failure: "autokernel explain shape.hidden".
std::string where_explained(const Failure& failure);
/// "12.34 us", "1.23 ms".
std::string format_us(double us);

}  // namespace ak::cli
