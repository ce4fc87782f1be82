#pragma once
// The families' formulas once more, as plain loops over long double: what references are judged against.

#include <map>
#include <string>
#include <vector>

#include "autokernel/core/problem.h"

namespace ak::op::testing {

using LongArrays = std::map<std::string, std::vector<long double>>;

/// Inputs are already rounded to their dtype. Returns `<output>_r`, `<output>_S` and the `_I<k>` that the
/// family has.
LongArrays expected_results(const Problem& problem, const std::map<std::string, std::vector<double>>& inputs);

}  // namespace ak::op::testing
