#pragma once
// Which problems a job checks and times.

#include <span>
#include <string>
#include <vector>

#include "autokernel/harness/context.h"
#include "autokernel/harness/job.h"

namespace ak::harness {

/// The family's size set in each of the target's dtypes; unknown sets are empty.
Result<std::vector<Problem>> problems_of_set(const op::Family& family, std::string_view set,
                                             const Target& target);

/// nullopt when the problem is within the limits; else why it is left to larger devices.
Result<std::optional<std::string>> too_large(const op::Family& family, const Problem& problem,
                                             const Limits& limits);

Result<std::uint64_t> total_elements(const op::Family& family, const Problem& problem);

/// The draws that a stage uses; the family's first draw if none names it.
std::vector<const op::Draw*> draws_of(const op::Family& family, Stage stage);

}  // namespace ak::harness
