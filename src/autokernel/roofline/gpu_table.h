#pragma once
// data/gpus.toml: the vendors' figures of GPUs, for floors on devices that nobody measured.

#include <optional>
#include <string_view>

#include "autokernel/roofline/peaks.h"

namespace ak::roofline {

/// The peaks of a GPU by the name that its driver reports ("NVIDIA H200"), each with Source::kTable; nullopt
/// for one that the table does not have. Fails only on a broken table.
Result<std::optional<Peaks>> table_peaks(std::string_view device_name);

}  // namespace ak::roofline
