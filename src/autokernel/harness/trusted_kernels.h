#pragma once
// The harness's own device code: generators, poison, comparison, digests, copies. Compiled once per device
// and dtype by the device's compiler, run outside any jail. Host code touches no element of a tensor.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "autokernel/device/compiler.h"
#include "autokernel/device/device.h"
#include "autokernel/op/op_family.h"

namespace ak::harness {

/// A tensor (or any buffer of elements) as trusted kernels see it.
struct View {
  device::BufferRef at;
  DType dtype = DType::kF32;
  std::uint64_t elements = 0;
  std::uint64_t row_elements = 1;  ///< length of the innermost run that distributions call a row
};

enum class Poison { kNan, kFinite };

/// What one comparison needs (DESIGN section 6); s, i0, i1, b may be absent.
struct CompareArgs {
  View y;
  device::BufferRef r;
  std::optional<device::BufferRef> s, i0, i1, b;
  double c = 0;
  DType input_dtype = DType::kF32;
  std::uint64_t poison_seed = 0;  ///< 0: do not look for poison
  device::BufferRef rows;         ///< kCompareRowDoubles doubles for each part of a row
};
inline constexpr std::size_t kCompareRowDoubles = 9;
inline constexpr std::size_t kFoldedDoubles = 2 * kCompareRowDoubles;

/// How a comparison covers a tensor: its rows, and the parts of each that are compared on their own.
struct ComparedRows {
  std::uint64_t rows = 0, parts = 1;
  static constexpr std::uint64_t kPartElements = 1 << 14;
  explicit ComparedRows(const View& y)
      : rows(y.elements / y.row_elements), parts((y.row_elements + kPartElements - 1) / kPartElements) {}
  std::uint64_t doubles() const { return rows * parts * kCompareRowDoubles; }
};

class TrustedKernels {
 public:
  TrustedKernels(device::Device& device, device::Compiler& compiler) : device_(device), compiler_(compiler) {}

  Result<device::Launch> generate(const View& out, const op::Distribution& distribution,
                                  const Problem& problem, std::uint64_t seed, std::uint64_t row_shift);
  Result<device::Launch> poison(const View& out, std::uint64_t seed, Poison kind);
  Result<device::Launch> probe(const View& tensor, const op::Probe& probe, std::uint64_t seed);
  Result<device::Launch> compare(const CompareArgs& args);
  /// Folds the rows of a comparison of `y` into two: those with S > 0 and those with S = 0.
  Result<device::Launch> fold_rows(const View& y, device::BufferRef rows, device::BufferRef out);
  /// Writes ceil(bytes / 2048) partial sums of 8 bytes.
  Result<device::Launch> digest(device::BufferRef from, std::uint64_t bytes, device::BufferRef partials);
  Result<device::Launch> copy(device::BufferRef from, device::BufferRef to, std::uint64_t bytes);
  Result<device::Launch> read(device::BufferRef from, std::uint64_t bytes, device::BufferRef sink);
  /// blocks x 256 threads x 192 x steps flops in fp32.
  Result<device::Launch> multiply_add(device::BufferRef out, std::uint32_t blocks, std::int32_t steps);

  static constexpr std::uint64_t kDigestBytes = 2048;  ///< covered by one partial sum

 private:
  struct Module {
    device::ModuleId id;
    std::map<std::string, std::uint32_t, std::less<>> entries;
  };
  Result<const Module*> module(std::string_view file, DType dtype);
  Result<device::Launch> elementwise(std::string_view file, DType dtype, std::string_view entry,
                                     std::uint64_t threads, std::vector<device::Arg> args);

  device::Device& device_;
  device::Compiler& compiler_;
  std::map<std::string, Module> modules_;
};

/// Compiles and loads trusted source; a failure is a bug or a broken environment, never a candidate's.
struct TrustedModule {
  device::ModuleId id;
  Binary binary;
};
Result<TrustedModule> load_trusted(device::Device& device, device::Compiler& compiler, const Source& source,
                                   device::Trust trust = device::Trust::kTrusted);

}  // namespace ak::harness
