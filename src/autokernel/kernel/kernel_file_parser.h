#pragma once
// From the TOML of the front matter to a KernelFile.

#include "autokernel/kernel/front_matter.h"
#include "autokernel/kernel/kernel_file.h"
#include "autokernel/kernel/table_reader.h"

namespace ak::kernel {

/// The values that coordinates of 16 bits can address.
inline constexpr std::size_t kMaxValues = 65535;
inline constexpr std::size_t kMaxTunables = 64;

/// The TOML type of a tunable's value: integer, boolean or string; nullopt for others.
std::optional<TunableValue> tunable_value(const Json& json);
std::string_view type_name(const TunableValue& value);

/// `[tunables]` and `[defaults]`.
Status read_tunables(const FileText& file, KernelFile& out);
/// `[[launch]]`, `[[workspace]]`, `[[tensormap]]`.
Status read_launches(const FileText& file, std::string_view code, KernelFile& out);
/// Names of one file that must differ, string tunables in expressions, placeholders that nothing fills.
Status check_names(const FileText& file, std::string_view code, const KernelFile& out);

}  // namespace ak::kernel
