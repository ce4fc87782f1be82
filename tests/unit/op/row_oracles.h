#pragma once
// Oracles of families that work row by row.

#include "oracles.h"

namespace ak::op::testing {

using Inputs = std::map<std::string, std::vector<double>>;

LongArrays reduce(const Problem& problem, const Inputs& in);
LongArrays layernorm(const Problem& problem, const Inputs& in);
LongArrays cross_entropy(const Problem& problem, const Inputs& in);
LongArrays rotary_embedding(const Problem& problem, const Inputs& in);

}  // namespace ak::op::testing
