#pragma once
// Values of tunables as text and as positions in their lists.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "autokernel/kernel/kernel_file.h"

namespace ak::kernel {

/// Position of a value in the tunable's list.
std::optional<std::uint16_t> position_of(const Tunable& tunable, const TunableValue& value);
/// "1, 2, 4"; long lists are shortened.
std::string values_text(const Tunable& tunable);
/// The value as TOML: 3, true, "text".
std::string toml_text(const TunableValue& value);
/// The tunable's value that is written so ("4", "true", "nhwc").
std::optional<TunableValue> value_from_text(const Tunable& tunable, std::string_view text);

const Tunable* find_tunable(const KernelFile& file, std::string_view name);
std::vector<std::string> tunable_names(const KernelFile& file);

}  // namespace ak::kernel
