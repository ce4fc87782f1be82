#pragma once
// The text that the host compiler sees for a kernel file: prelude, scalar_t, macros, the rewritten file under
// its own name and line numbers, and the module's table (abi.h).

#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/result.h"
#include "autokernel/core/binary.h"

namespace ak::cpu {

/// Diagnostics about the use of entry i name this "file", followed by i.
inline constexpr std::string_view kEntryFile = "ak-entry-";

/// `rewritten` is what rewrite() made of source.text. Fails with kUsage on names that are no identifiers.
Result<std::string> translation_unit(const Source& source, std::string_view rewritten);

/// The kernel file's name as the compiler shows it, from the #line that device::source_prefix writes.
std::string display_name(const Source& source);

/// `ns::kernel<128>` -> `kernel`.
std::string_view function_name(std::string_view entry);

}  // namespace ak::cpu
