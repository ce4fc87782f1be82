#include "autokernel/device/cuda/ptx_facts.h"

#include <algorithm>
#include <optional>
#include <set>

#include "autokernel/device/cuda/ptx_lexer.h"
#include "autokernel/device/cuda/ptx_state.h"

namespace ak::cuda {
namespace {

using Words = std::vector<std::string_view>;

// Special registers that tell one launch from another. A prefix: %globaltimer_lo, %envreg0 to %envreg31.
constexpr std::string_view kForbiddenRegisters[] = {"%globaltimer", "%gridid", "%envreg"};
constexpr std::string_view kNotedRegisters[] = {"%clock", "%smid", "%pm"};
// Parts of opcodes.
constexpr std::string_view kNotedParts[] = {"createpolicy", "prefetch",  "prefetchu",
                                            "discard",      "nanosleep", "sys",
                                            "approx",       "ftz",       "griddepcontrol"};
constexpr std::string_view kMatrixRoots[] = {"mma", "wmma", "wgmma", "tcgen05"};
constexpr std::uint64_t kLargestScalar = 16;  // bytes, alignment included

bool contains(std::span<const std::string_view> list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// The register's family, %envreg3 -> %envreg; nothing when the word is none of these. What follows the
/// family must not make another name of it (%clocks is a user's own register).
std::optional<std::string_view> family_of(std::string_view word, std::span<const std::string_view> families) {
  for (const std::string_view family : families) {
    if (!word.starts_with(family)) continue;
    const std::size_t end = std::min(word.find_first_not_of("0123456789", family.size()), word.size());
    const std::string_view rest = word.substr(end);
    if (rest.empty() || rest == "_lo" || rest == "_hi" || rest == "_64") return family;
  }
  return std::nullopt;
}

/// The name behind `.entry` or `.func`, which may be preceded by return values in parentheses.
std::string_view function_name(const Words& words, std::string_view kind) {
  auto at = std::find(words.begin(), words.end(), kind);
  if (at == words.end()) return {};
  ++at;
  if (at != words.end() && *at == "(") {
    at = std::find(at, words.end(), ")");
    if (at != words.end()) ++at;
  }
  return at == words.end() ? std::string_view() : *at;
}

class Reader {
 public:
  explicit Reader(std::span<const std::string> declared) : declared_(declared) {}

  CodeFacts read(const std::vector<PtxStatement>& statements, std::uint64_t zeroed_bytes) {
    for (const PtxStatement& statement : statements) {
      read_words(statement.words);
      read_functions(statement);
      for (const PtxVariable& variable : declared_variables(statement)) add_variable(variable);
    }
    for (const auto& [name, reason] : find_written(statements, constants_)) {
      mutable_.insert(fmt::format("{}: {}", name, reason));
    }
    if (mutable_.empty() && zeroed_bytes > kLargestScalar * zeros_) {
      mutable_.insert(fmt::format(".nv.global: {} bytes", zeroed_bytes));
    }
    CodeFacts facts;
    facts.imports.assign(imports_.begin(), imports_.end());
    facts.mutable_globals.assign(mutable_.begin(), mutable_.end());
    facts.forbidden.assign(forbidden_.begin(), forbidden_.end());
    facts.noted.assign(noted_.begin(), noted_.end());
    facts.has_barriers = has_barriers_;
    return facts;
  }

 private:
  void read_words(const Words& words) {
    for (const std::string_view word : words) {
      if (const auto family = family_of(word, kForbiddenRegisters)) forbidden_.emplace(*family);
      if (const auto family = family_of(word, kNotedRegisters)) noted_.emplace(*family);
      if (word.front() != '.' && word.front() != '"') read_opcode(word);
    }
  }

  /// Names have no dots and no root of their own, so any word may be looked at as an opcode.
  void read_opcode(std::string_view word) {
    const auto parts = ptx_parts(word);
    if (parts.empty()) return;
    if (parts.front() == "bar" || parts.front() == "barrier") has_barriers_ = true;
    if (parts.size() < 2 && parts.front() != "griddepcontrol") return;
    if (contains(kMatrixRoots, parts.front())) noted_.emplace(word);
    for (const std::string_view part : parts) {
      if (contains(kNotedParts, part)) noted_.emplace(part);
      if (part.find("evict_last") != std::string_view::npos) noted_.emplace("evict_last");
    }
  }

  void read_functions(const PtxStatement& statement) {
    const Words& words = statement.words;
    if (words.front().front() != '.') return;
    const bool external = std::find(words.begin(), words.end(), ".extern") != words.end();
    const std::string_view function = function_name(words, ".func");
    if (external && !function.empty()) {
      imports_.emplace(function);
      forbidden_.insert(fmt::format(".extern .func {}", function));
    }
    const std::string_view entry = function_name(words, ".entry");
    if (!entry.empty() && std::find(declared_.begin(), declared_.end(), entry) == declared_.end()) {
      forbidden_.insert(fmt::format(".entry {} is not among the declared launches", entry));
    }
  }

  void add_variable(const PtxVariable& variable) {
    if (variable.external) {
      imports_.emplace(variable.name);
      forbidden_.insert(fmt::format(".extern {} {}", variable.space, variable.name));
    } else if (variable.initialized || variable.space == ".const") {
      constants_.push_back(variable);
    } else if (!variable.array) {  // `constexpr int kNone = 0;` is one, and no state unless it is written
      constants_.push_back(variable);
      ++zeros_;
    } else {
      mutable_.insert(fmt::format("{}: a {} array without initial values", variable.name, variable.space));
    }
  }

  std::span<const std::string> declared_;
  std::vector<PtxVariable> constants_;
  std::uint64_t zeros_ = 0;  ///< of the constants, those without an initial value
  std::set<std::string> imports_, mutable_, forbidden_, noted_;
  bool has_barriers_ = false;
};

}  // namespace

Result<CodeFacts> read_ptx(std::string_view ptx, std::span<const std::string> declared,
                           std::uint64_t zeroed_bytes) {
  auto statements = split_ptx(ptx);
  if (!statements) return tl::unexpected(std::move(statements).error().with_context("cannot read the PTX"));
  return Reader(declared).read(*statements, zeroed_bytes);
}

}  // namespace ak::cuda
