#pragma once
// The tolerance of DESIGN section 6, evaluated on the device and summed on the host.

#include "autokernel/harness/context.h"
#include "autokernel/harness/data_set.h"

namespace ak::harness {

struct ComparisonResult {
  double worst = 0;             ///< largest |y - r| / bound; infinity for a wrong class or NaN
  std::uint64_t worst_at = 0;   ///< element
  std::uint64_t bad = 0;        ///< elements out of bounds
  std::uint64_t unwritten = 0;  ///< elements that still hold the poison
  std::uint64_t unequal_zero_rows = 0;
  /// Sums over rows of the squares of y - r, b - r and u r, each row divided by ||S_row||^2.
  double norm_y = 0, norm_b = 0, norm_u = 0;
};

/// `y` with the rows of the family's tolerance.
View in_tolerance_rows(const View& y, const Truth::Output& truth);

/// What compares `y` with its truth, row by row of the family's tolerance, into `rows`
/// (ComparedRows::doubles).
Result<CompareArgs> compare_args(const Context& context, const View& y, const Truth::Output& truth,
                                 DType input_dtype, device::BufferRef rows);

/// `poison_seed` 0: do not look for poison.
Result<ComparisonResult> compare_with_truth(Context& context, const View& y, const Truth::Output& truth,
                                            DType input_dtype, std::uint64_t poison_seed);

/// What `rows` (kCompareRowDoubles each) of a comparison say, folded on the device or not.
ComparisonResult summarize_rows(std::span<const double> rows, bool with_norms);

/// Order-independent digest of a tensor's bytes.
Result<std::uint64_t> digest_of(Context& context, const View& view);
std::uint64_t combine_digest(std::span<const std::uint64_t> partials);
std::uint64_t digest_partials(const View& view);  ///< how many

}  // namespace ak::harness
