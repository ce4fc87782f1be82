#pragma once
// A kernel file: one `.cu` file, TOML front matter in its head comment and device code (DESIGN section 4).
//
//   AK_TRY(file, kernel::parse(text, "softmax.cu"));
//   AK_TRY(space, kernel::Space::create(file, device, problems));

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/expr.h"
#include "autokernel/base/toml.h"
#include "autokernel/core/binary.h"
#include "autokernel/core/config.h"
#include "autokernel/core/dtype.h"

namespace ak::kernel {

struct Tunable {
  std::string name;
  std::vector<TunableValue> values;  ///< in the order written; at least one
};

struct LaunchSpec {
  std::string entry;
  std::vector<Expr> grid, block, cluster;  ///< 1 to 3 each; cluster may be empty
  std::optional<Expr> shared_bytes;
  std::optional<Expr> when;  ///< left out of the plan where this is 0; never of the first launch
  bool cooperative = false;
  std::vector<std::string>
      args;  ///< as written: tensors, dims, flags, scalars, workspaces, tensor maps, expressions
};

struct WorkspaceSpec {
  std::string name;
  Expr bytes;
  bool zeroed = false;
};

/// TMA descriptor: tensor, box sizes (expressions, innermost last) and swizzle {0, 32, 64, 128} bytes.
struct TensorMapSpec {
  std::string name;
  std::string tensor;
  std::vector<Expr> box;
  int swizzle_bytes = 0;
};

struct KernelFile {
  std::string name;  ///< path or name as the user knows it
  std::string text;  ///< the whole file
  std::string hash;  ///< of the text
  std::string op;    ///< family; empty only in files of --op on the command line
  std::string about;
  std::vector<DType> dtypes;
  std::vector<Tunable> tunables;  ///< in the order written
  std::vector<Expr> where;        ///< prunes the space
  std::vector<Expr> needs;        ///< valid domain
  Config defaults;                ///< a value for every tunable
  std::vector<LaunchSpec> launches;
  std::vector<WorkspaceSpec> workspaces;
  std::vector<TensorMapSpec> tensor_maps;
  std::vector<std::string> specialize;  ///< dims
  std::vector<std::string> arch;        ///< empty: any
  std::optional<Expr> max_registers;
  bool is_template = false;   ///< `{name}` placeholders are filled
  TomlDocument front_matter;  ///< for errors that point into the file

  /// True if `arch` is empty or names this one.
  bool supports_arch(std::string_view device_arch) const;
  bool supports(DType dtype) const;
  /// The device code of one config: placeholders filled when `is_template`, else the text itself.
  Result<std::string> render(const Config& config) const;
};

/// Errors carry file, line, column, a caret and what to do. Unknown keys are errors.
/// A default that is not among its tunable's values, or a tunable name of one letter, is an error.
Result<KernelFile> parse(std::string_view text, std::string name);
Result<KernelFile> load(const std::string& path);

/// The file with other [defaults] (the winner of a search), everything else unchanged byte for byte.
Result<std::string> with_defaults(const KernelFile& file, const Config& config);

/// `--set NAME=VALUE`: the defaults with some values replaced. The value must be one of the tunable's.
Result<Config> config_with(const KernelFile& file, const std::vector<std::string>& assignments);

}  // namespace ak::kernel
