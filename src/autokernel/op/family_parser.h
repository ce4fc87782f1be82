#pragma once
// Reads op.toml into a Family, section by section. Private to the library.

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/op/op_family.h"
#include "autokernel/op/toml_table.h"

namespace ak::op {

class FamilyParser {
 public:
  FamilyParser(TomlDocument document, std::string_view name);
  /// Everything of op.toml; `reference`, `kernels`, ... are the caller's.
  Result<Family> parse();

 private:
  // family_parser.cc: what a problem is
  Status read_header();
  Status read_dims();
  Status read_flags();
  Status read_scalars();
  Status read_default(const TomlTable& table, ScalarSpec& scalar);
  Status read_tensors();
  Status read_tensor(const TomlTable& table);
  Status check_tensors() const;
  Status read_derived();
  Status read_where();
  /// Takes a name that must be new in the family and have the form of its sort.
  enum class NameForm { kDim, kMacro, kTensor };
  Status take_name(const std::string& name, NameForm form, const TomlTable& table, std::string_view key);
  /// Every name of the expression is a dim, flag, HAS_<TENSOR>, elem_bytes or one of `more`.
  Status check_expr(const std::string& pointer, const Expr& expr,
                    const std::vector<std::string>& more = {}) const;

  // family_checks.cc: how it is judged
  Status read_cost();
  Status read_count(const std::string& name, const TomlTable& table);
  Status read_tolerance();
  Status read_sizes();
  Status read_draws();
  Result<Draw> read_draw(const TomlTable& table) const;
  Result<Distribution> read_distribution(const TomlTable& table, const TensorSpec& tensor) const;
  Status read_probes();
  Result<Probe> read_probe(const TomlTable& table) const;
  Status check_listed(const TomlTable& table, std::string_view key, const std::vector<std::string>& known,
                      std::string_view what) const;
  std::vector<std::string> tensor_names(std::optional<TensorRole> role) const;

  // family_matches.cc: how PyTorch spells it
  Status read_matches();
  Result<Match> read_match(const TomlTable& table) const;
  Status read_match_steps(const TomlTable& table, Match& match) const;
  Status read_match_tensors(const TomlTable& table, Match& match) const;
  Status read_match_values(const TomlTable& table, Match& match) const;

  Family family_;
  TomlTable root_;
  std::set<std::string, std::less<>> names_;       // taken
  std::set<std::string, std::less<>> expr_names_;  // usable in expressions so far
};

/// The dims, flags, scalars and optional tensors of a row of [sizes].
Result<Size> read_size(const Family& family, const TomlTable& table);

}  // namespace ak::op
