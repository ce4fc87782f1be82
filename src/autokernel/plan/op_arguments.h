#pragma once
// The arguments of an op, as the profiler recorded them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/core/dtype.h"

namespace ak::plan {

struct Argument {
  enum class Kind {
    kNone,    ///< None, or something of which the profiler records nothing (a string, a generator)
    kTensor,  ///< also a number that the profiler wraps: dims are empty, its value is not recorded
    kList,    ///< of tensors
    kValue,   ///< a number, a truth value, a list of numbers
  };
  Kind kind = Kind::kNone;
  std::vector<std::int64_t> dims, strides;  ///< strides are empty where they were not recorded
  std::optional<DType> dtype;               ///< nullopt: one that no family has (bool, complex, fp8)
  std::string value;                        ///< "2", "[1, 1]", "False"; empty: not recorded
  std::vector<Argument> items;              ///< of a list
};

/// Parses Trace::arguments. What cannot be read is kNone.
std::vector<Argument> parse_arguments(std::string_view raw);

/// "2", "2.", "1e-5"; nullopt for anything else.
std::optional<double> number_of(std::string_view value);
/// "[1, 2]" -> 1, 2; a single number is a list of one. nullopt for anything else.
std::optional<std::vector<double>> numbers_of(std::string_view value);

}  // namespace ak::plan
