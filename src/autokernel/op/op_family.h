#pragma once
// An op family: a folder `ops/<name>/` with op.toml, reference.cu, kernels/*.cu, playbook.md, torch.py
// (DESIGN section 5; the format is docs/reference/op-family.md). The C++ core names no op.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/embedded_file.h"
#include "autokernel/base/expr.h"
#include "autokernel/base/toml.h"
#include "autokernel/core/failure.h"
#include "autokernel/core/problem.h"
#include "autokernel/op/match.h"

namespace ak::op {

enum class TensorRole { kIn, kOut, kInOut };

struct TensorSpec {
  std::string name;
  TensorRole role = TensorRole::kIn;
  std::vector<Expr> shape;       ///< over dims and flags, outermost first
  std::optional<DType> dtype;    ///< nullopt: the problem's
  bool optional = false;         ///< present when listed in Problem::has
  std::string with;              ///< an output that exists only with this optional tensor; empty: always
  std::uint32_t alignment = 16;  ///< bytes a kernel may rely on
  bool strided = false;          ///< strides other than contiguous are allowed
};

struct ScalarSpec {
  std::string name;
  enum class Type { kFloat, kInt } type = Type::kFloat;
  double default_value = 0;
  std::optional<Expr> default_rsqrt;  ///< instead: the default is 1 / sqrt of this, e.g. of a head's D
  std::vector<double> test_values;    ///< others that checks try; may be empty
};

struct FlagSpec {
  std::string name;
  std::vector<std::int64_t> values;  ///< the first is the default
  /// What a problem may also use: any integer from first to second (strides and paddings of a convolution).
  std::optional<std::pair<std::int64_t, std::int64_t>> range;
};

/// A distribution of the harness's closed set (docs/reference/op-family.md#distributions).
struct Distribution {
  std::string
      kind;  ///< normal, uniform, heavy_tail, integers, row_scales, offset, sparse, spikes, zeros, constant
  std::map<std::string, double>
      params;                         ///< e.g. mean, stddev, low, high, density; only those that were written
  std::map<std::string, Expr> exprs;  ///< params that depend on dims, e.g. high = "V" of integers
};

/// Distributions of one draw: one per input tensor; "affine" tensors (weights, biases) are random, never 0
/// and 1.
struct Draw {
  std::string name;                             ///< e.g. "normal", "row_scales"
  std::vector<Stage> stages;                    ///< where it is used
  std::map<std::string, Distribution> tensors;  ///< every input tensor
  bool zero_mean = true;                        ///< precision cheats need fail only on zero-mean draws
};

struct Size {
  NamedInts dims;
  NamedInts flags;  ///< only what differs from the default
  std::vector<std::string> has;
  std::map<std::string, double> scalars;
};

/// An intermediate that a kernel may round to the input dtype (one I each, DESIGN section 6).
struct Rounding {
  std::string about;
};

struct Tolerance {
  double c = 3;
  std::vector<Rounding> roundings;  ///< the reference fills I0, I1, ... in this order
  /// Elements of the output that form a row of the norm-wise check: an expression, e.g. "N".
  std::map<std::string, Expr> row_elements;  ///< per output tensor
};

/// A probe (input.probe): a change of an input that a candidate which assumes too much does not follow.
struct Probe {
  std::string kind;    ///< spike (must change the result), scale (x 2^k), permute_rows, zero_rows
  std::string tensor;  ///< input that is changed
  std::map<std::string, double> params;  ///< spike: count, height; scale: factor; zero_rows: share
  std::vector<std::string> also;         ///< inputs that are changed the same way, where present
  std::vector<std::string> outputs;      ///< what changes; empty: all outputs
  std::optional<Expr> where;             ///< problems on which the probe is run; nullopt: all
};

/// A number that costs need and that no closed formula gives: over all combinations of the indices (each from
/// 0 to below its bound) for which `where` holds, how many there are, or how many distinct values of
/// `distinct`, or the sum of `sum`.
struct CostCount {
  std::string name;
  std::vector<std::pair<std::string, Expr>> over;  ///< index and bound, in the order written
  std::optional<Expr> where;
  std::optional<Expr> distinct;
  std::optional<Expr> sum;
};

struct KernelSource {
  std::string name;  ///< "rmsnorm/kernels/starter.cu"
  std::string text;
};

struct Family {
  std::string name;
  std::string about;
  std::string hash;                                   ///< of op.toml and reference.cu
  std::vector<std::string> dims;                      ///< given ones, in order
  NamedInts dim_defaults;                             ///< of those that a size may leave out
  std::vector<std::pair<std::string, Expr>> derived;  ///< e.g. P, Q of conv2d
  std::vector<FlagSpec> flags;
  std::vector<ScalarSpec> scalars;
  std::vector<TensorSpec> tensors;
  std::vector<Expr> where;  ///< what a problem must satisfy, e.g. "HQ % HKV == 0"
  std::vector<DType> dtypes;
  std::vector<CostCount> counts;  ///< names that `flops` and `bytes` may use beside dims and flags
  Expr flops;
  Expr bytes;  ///< compulsory; may use elem_bytes and HAS_<TENSOR>
  std::map<std::string, std::vector<Size>>
      sizes;  ///< smoke, sweep, edge, primary; large: checked, never timed
  std::vector<Draw> draws;
  Tolerance tolerance;
  std::vector<Probe> probes;
  std::vector<Match> matches;         ///< how PyTorch spells it
  std::string reference;              ///< text of reference.cu
  std::vector<KernelSource> kernels;  ///< starters first
  std::string playbook;
  std::string torch_module;  ///< text of torch.py; empty if absent
  std::map<std::string, std::string>
      files;  ///< every file of the folder, path in it -> text: for remote workers
  enum class Origin { kEmbedded, kFolder } origin = Origin::kEmbedded;
  TomlDocument document;  ///< op.toml

  const TensorSpec* tensor(std::string_view name) const;
  const FlagSpec* flag(std::string_view name) const;
  const ScalarSpec* scalar(std::string_view name) const;
  std::vector<const TensorSpec*> inputs(const Problem& problem) const;  ///< present ones, in order
  std::vector<const TensorSpec*> outputs(const Problem& problem) const;
};

/// Reads the files of one family, whose paths are `op.toml`, `reference.cu`, ... or begin with `<name>/`.
/// Every error names file, line and column.
Result<Family> load_family(std::string_view name, std::span<const EmbeddedFile> files);

/// A problem from dims, flags, scalars and optional tensors: defaults and derived dims are filled in, `where`
/// and overflow checked; unknown or missing names, zero or negative dims are errors that say what is
/// expected.
Result<Problem> make_problem(const Family& family, const Size& size, DType dtype);

/// `M=4096,N=4096,TRANS_B=1,eps=1e-5,residual` -> Size: dims, flags, scalars and optional tensors by name.
Result<Size> parse_size(const Family& family, std::string_view text);

/// The macro that tells kernels whether an optional tensor is present: "HAS_BIAS" of "bias".
std::string presence_macro(std::string_view tensor);
/// Names that a family's expressions may use: dims, derived dims, flags, HAS_<TENSOR> of optional tensors,
/// elem_bytes. Both arguments must outlive the lookup.
Expr::Lookup names_of(const Family& family, const Problem& problem);

Result<std::vector<std::int64_t>> shape_of(const Family& family, const TensorSpec& tensor,
                                           const Problem& problem);
Result<std::uint64_t> element_count(const Family& family, const TensorSpec& tensor, const Problem& problem);
DType dtype_of(const TensorSpec& tensor, const Problem& problem);
Result<double> useful_flops(const Family& family, const Problem& problem);
Result<double> compulsory_bytes(const Family& family, const Problem& problem);

/// The families that the binary carries (ops/ of the source tree).
std::span<const EmbeddedFile> embedded_families();

/// All families: the embedded ones and, before them, those of a user's folders (--ops DIR): a folder is a
/// family itself (it has an op.toml) or holds families. A user's family replaces the embedded one of the same
/// name.
class Registry {
 public:
  static Result<Registry> create(std::span<const EmbeddedFile> embedded,
                                 const std::vector<std::string>& folders);
  /// An unknown name is an error that lists the families.
  Result<const Family*> find(std::string_view name) const;
  const std::vector<Family>& families() const { return families_; }
  /// Puts a family before those that are there; one of the same name is hidden. Pointers of find() become
  /// invalid.
  void add(Family family) { families_.insert(families_.begin(), std::move(family)); }

 private:
  std::vector<Family> families_;
};

}  // namespace ak::op
