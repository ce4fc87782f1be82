#include "autokernel/harness/comparison.h"

#include <array>
#include <cmath>
#include <limits>

#include "autokernel/harness/device_buffer.h"
#include "autokernel/harness/verifier.h"

namespace ak::harness {

ComparisonResult summarize_rows(std::span<const double> rows, bool with_norms) {
  ComparisonResult result;
  for (std::size_t row = 0; row + kCompareRowDoubles <= rows.size(); row += kCompareRowDoubles) {
    std::span<const double, kCompareRowDoubles> v(rows.data() + row, kCompareRowDoubles);
    double worst = v[0] <= 1e299 ? v[0] : std::numeric_limits<double>::infinity();  // NaN never passes
    if (worst > result.worst || (worst == result.worst && result.bad == 0)) {
      result.worst = worst;
      result.worst_at = v[1] >= 0 ? static_cast<std::uint64_t>(v[1]) : 0;
    }
    result.bad += static_cast<std::uint64_t>(v[2]);
    result.unwritten += static_cast<std::uint64_t>(v[8]);
    if (!with_norms) continue;
    if (v[6] > 0) {
      result.norm_y += v[3] / v[6];
      result.norm_b += v[4] / v[6];
      result.norm_u += v[5] / v[6];
    } else {
      result.unequal_zero_rows += static_cast<std::uint64_t>(v[7]);
    }
  }
  return result;
}

View in_tolerance_rows(const View& y, const Truth::Output& truth) {
  View view = y;
  view.row_elements = truth.row_elements;
  return view;
}

Result<CompareArgs> compare_args(const Context& context, const View& y, const Truth::Output& truth,
                                 DType input_dtype, device::BufferRef rows) {
  if (truth.roundings.size() > 2) return internal_error("more than two roundings: not supported yet");
  CompareArgs args{.y = in_tolerance_rows(y, truth), .r = truth.r, .s = truth.s};
  if (!truth.roundings.empty()) args.i0 = truth.roundings[0];
  if (truth.roundings.size() > 1) args.i1 = truth.roundings[1];
  args.c = context.family.tolerance.c;
  args.input_dtype = input_dtype;
  args.rows = rows;
  return args;
}

Result<ComparisonResult> compare_with_truth(Context& context, const View& y, const Truth::Output& truth,
                                            DType input_dtype, std::uint64_t poison_seed) {
  const std::uint64_t doubles = ComparedRows(in_tolerance_rows(y, truth)).doubles();
  AK_TRY(rows, DeviceBuffer::allocate(context.device, {.bytes = (doubles + kFoldedDoubles) * 8,
                                                       .access = device::Access::kHidden}));
  AK_TRY(args, compare_args(context, y, truth, input_dtype, rows.ref()));
  args.b = truth.b;
  args.poison_seed = poison_seed;
  AK_TRY(launch, context.trusted.compare(args));
  const device::BufferRef folded = rows.ref(doubles * 8);
  AK_TRY(fold, context.trusted.fold_rows(args.y, rows.ref(), folded));
  const device::Step steps[] = {std::move(launch), std::move(fold)};
  AK_TRY_VOID(run_trusted(context, steps));
  std::array<double, kFoldedDoubles> host{};
  AK_TRY_VOID(context.device.read(folded, std::as_writable_bytes(std::span(host))));
  return summarize_rows(host, true);
}

std::uint64_t digest_partials(const View& view) {
  return (view.elements * size_bytes(view.dtype) + TrustedKernels::kDigestBytes - 1) /
         TrustedKernels::kDigestBytes;
}

std::uint64_t combine_digest(std::span<const std::uint64_t> partials) {
  std::uint64_t sum = 0;
  for (std::uint64_t partial : partials) sum += partial;
  return sum;
}

Result<std::uint64_t> digest_of(Context& context, const View& view) {
  std::vector<std::uint64_t> host(digest_partials(view));
  AK_TRY(partials, DeviceBuffer::allocate(context.device,
                                          {.bytes = host.size() * 8, .access = device::Access::kHidden}));
  AK_TRY(launch, context.trusted.digest(view.at, view.elements * size_bytes(view.dtype), partials.ref()));
  device::Step step = std::move(launch);
  AK_TRY_VOID(run_trusted(context, {&step, 1}));
  AK_TRY_VOID(context.device.read(partials.ref(), std::as_writable_bytes(std::span(host))));
  return combine_digest(host);
}

}  // namespace ak::harness
