#pragma once
// shape.hidden of HARNESS.md: shapes chosen at run time that no candidate can know: ones, primes, a tile more
// or less one, nothing that 8 divides, rectangles. What the candidate's `needs` or the family's `where`
// exclude is left out.

#include <vector>

#include "autokernel/harness/candidate.h"
#include "autokernel/harness/context.h"

namespace ak::harness {

/// Up to `count` problems in the dtype and with the flags of `like`, small enough to check in milliseconds.
/// Scalars take the values that the family wants tested.
Result<std::vector<Problem>> hidden_shapes(Context& context, const Candidate& candidate, const Problem& like,
                                           std::size_t count);

/// `like` itself if it can be checked in milliseconds, else the family's smallest sizes with one dim of
/// `like` each: a kernel that goes wrong only at a timed width or height meets it here. Distinct, in the
/// order of the family's dims; empty where the family's `where` or the candidate's `needs` admit none.
Result<std::vector<Problem>> small_variants(const Context& context, const Candidate& candidate,
                                            const Problem& like);

}  // namespace ak::harness
