// check_against: the names of a kernel file against those of its op family.
#include <algorithm>
#include <map>

#include "autokernel/kernel/expr_places.h"
#include "autokernel/kernel/front_matter.h"
#include "autokernel/kernel/launch.h"
#include "autokernel/kernel/names.h"
#include "autokernel/kernel/spelling.h"
#include "autokernel/kernel/table_reader.h"
#include "autokernel/kernel/values.h"

namespace ak::kernel {
namespace {

enum class Meaning { kInteger, kString, kFloatScalar, kIntScalar, kTensor, kWorkspace, kTensorMap };

std::string_view description(Meaning meaning) {
  switch (meaning) {
    case Meaning::kInteger:
      return "an integer";
    case Meaning::kString:
      return "a string tunable";
    case Meaning::kFloatScalar:
      return "a float";
    case Meaning::kIntScalar:
      return "a scalar of the op";
    case Meaning::kTensor:
      return "a tensor";
    case Meaning::kWorkspace:
      return "a workspace";
    case Meaning::kTensorMap:
      return "a tensor map";
  }
  AK_CHECK(false);
  return "";
}

class Vocabulary {
 public:
  explicit Vocabulary(const Signature& signature) {
    add(signature.tensors, Meaning::kTensor);
    add(signature.float_scalars, Meaning::kFloatScalar);
    add(signature.int_scalars, Meaning::kIntScalar);
    add(signature.dims, Meaning::kInteger);
    add(signature.flags, Meaning::kInteger);
    for (const std::string& tensor : signature.optional_tensors)
      meanings_[has_name(tensor)] = Meaning::kInteger;
    for (const std::string_view name : builtin_names()) meanings_[std::string(name)] = Meaning::kInteger;
  }

  /// False when the name means something already.
  bool claim(const std::string& name, Meaning meaning) { return meanings_.emplace(name, meaning).second; }

  std::optional<Meaning> find(const std::string& name) const {
    const auto found = meanings_.find(name);
    return found == meanings_.end() ? std::nullopt : std::optional(found->second);
  }

  std::vector<std::string> integers() const {
    std::vector<std::string> names;
    for (const auto& [name, meaning] : meanings_) {
      if (meaning == Meaning::kInteger) names.push_back(name);
    }
    return names;
  }
  std::vector<std::string> all() const {
    std::vector<std::string> names;
    for (const auto& [name, meaning] : meanings_) names.push_back(name);
    return names;
  }

 private:
  void add(const std::vector<std::string>& names, Meaning meaning) {
    for (const std::string& name : names) meanings_.emplace(name, meaning);
  }
  std::map<std::string, Meaning> meanings_;
};

Status claim_own_names(const KernelFile& file, Vocabulary& words) {
  const TomlDocument& document = file.front_matter;
  const auto taken = [&](const std::string& name, const std::string& at) {
    return document.error_at(
        at, fmt::format("'{}' is {} of the op already", name, description(*words.find(name))),
        "choose another name");
  };
  for (const Tunable& tunable : file.tunables) {
    const Meaning meaning = as_int(tunable.values[0]) ? Meaning::kInteger : Meaning::kString;
    if (!words.claim(tunable.name, meaning)) return taken(tunable.name, child("/tunables", tunable.name));
  }
  for (std::size_t i = 0; i < file.workspaces.size(); ++i) {
    const std::string& name = file.workspaces[i].name;
    if (!words.claim(name, Meaning::kWorkspace)) return taken(name, child("/workspace", i) + "/name");
  }
  for (std::size_t i = 0; i < file.tensor_maps.size(); ++i) {
    const std::string& name = file.tensor_maps[i].name;
    if (!words.claim(name, Meaning::kTensorMap)) return taken(name, child("/tensormap", i) + "/name");
  }
  return {};
}

Status check_expr(const KernelFile& file, const ExprPlace& place, const Vocabulary& words,
                  const std::vector<std::string>& suggestions) {
  for (const std::string& name : place.expr->names()) {
    const std::optional<Meaning> meaning = words.find(name);
    if (meaning == Meaning::kInteger) continue;
    if (!meaning) {
      return error_at_name(file, place, name, fmt::format("unknown name '{}'", name),
                           spelling_hint(name, suggestions));
    }
    return error_at_name(
        file, place, name,
        fmt::format("'{}' is {}: expressions are over integers", name, description(*meaning)),
        "expressions may use tunables, dims, flags, HAS_<TENSOR> and the device's limits");
  }
  return {};
}

Status check_arg(const KernelFile& file, const std::string& arg, const std::string& at,
                 const Vocabulary& words) {
  const std::optional<Meaning> meaning = words.find(arg);
  if (meaning == Meaning::kString) {
    return file.front_matter.error_at(at,
                                      fmt::format("'{}' is a string tunable: no argument can hold it", arg),
                                      "use its macro in the code");
  }
  if (meaning) return {};
  const Result<Expr> expr = Expr::parse(arg);
  if (!expr) {
    return expr_error_at(
        {file.front_matter, file.text, file.name}, at, expr.error(),
        "an argument is a tensor, dim, flag, scalar, workspace, tensor map or integer expression");
  }
  // A lone name may have been meant to be anything, a name of an expression is an integer.
  return check_expr(file, {&*expr, at}, words, is_identifier(arg) ? words.all() : words.integers());
}

}  // namespace

Status check_against(const KernelFile& file, const Signature& signature) {
  Vocabulary words(signature);
  AK_TRY_VOID(claim_own_names(file, words));
  for (const ExprPlace& place : all_exprs(file))
    AK_TRY_VOID(check_expr(file, place, words, words.integers()));
  for (std::size_t i = 0; i < file.launches.size(); ++i) {
    const std::vector<std::string>& args = file.launches[i].args;
    const std::string at = child("/launch", i) + "/args";
    for (std::size_t j = 0; j < args.size(); ++j) AK_TRY_VOID(check_arg(file, args[j], child(at, j), words));
  }
  for (std::size_t i = 0; i < file.specialize.size(); ++i) {
    const std::string& dim = file.specialize[i];
    if (std::find(signature.dims.begin(), signature.dims.end(), dim) != signature.dims.end()) continue;
    return file.front_matter.error_at(child("/specialize", i), fmt::format("the op has no dim '{}'", dim),
                                      spelling_hint(dim, signature.dims));
  }
  for (std::size_t i = 0; i < file.tensor_maps.size(); ++i) {
    const std::string& tensor = file.tensor_maps[i].tensor;
    if (words.find(tensor) == Meaning::kTensor) continue;
    return file.front_matter.error_at(child("/tensormap", i) + "/tensor",
                                      fmt::format("the op has no tensor '{}'", tensor),
                                      spelling_hint(tensor, signature.tensors));
  }
  return {};
}

}  // namespace ak::kernel
