#include "autokernel/device/cuda/ptx_state.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <span>
#include <utility>

namespace ak::cuda {
namespace {

using Words = std::vector<std::string_view>;

bool is_one_of(std::string_view word, std::span<const std::string_view> list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// Where the opcode stands: behind a guard `@!%p1`.
std::size_t opcode_index(const Words& words) {
  if (words.empty() || words.front() != "@") return 0;
  const std::size_t predicate = words.size() > 1 && words[1] == "!" ? 2 : 1;
  return std::min(predicate + 1, words.size());
}

/// How a statement uses one word.
enum class Use { kNone, kReads, kWrites, kPropagates, kEscapes };

// What only reads where an address points to.
constexpr std::string_view kReaders[] = {"ld",       "ldu",      "prefetch", "prefetchu",
                                         "ldmatrix", "isspacep", "setp",     "tex"};
// What neither reads nor writes memory and is no call: results are made of the operands. Everything else
// writes.
constexpr std::string_view kArithmetic[] = {
    "mov",  "cvta", "cvt",  "add",  "sub",  "mul",   "mad",  "mul24", "mad24", "sad",        "div",   "rem",
    "abs",  "neg",  "min",  "max",  "addc", "subc",  "madc", "and",   "or",    "xor",        "not",   "cnot",
    "shl",  "shr",  "shf",  "lop3", "prmt", "selp",  "slct", "bfe",   "bfi",   "bfind",      "brev",  "clz",
    "popc", "mapa", "shfl", "set",  "fma",  "szext", "bmsk", "dp4a",  "dp2a",  "getctarank", "redux", "vote"};

/// One instruction taken apart: which words are written and how the others are used.
class Instruction {
 public:
  explicit Instruction(const PtxStatement& statement) : words_(statement.words) {
    at_ = opcode_index(words_);
    if (at_ < words_.size() && words_[at_].front() != '.') {
      const auto parts = ptx_parts(words_[at_]);
      root_ = parts.empty() ? std::string_view() : parts.front();
    }
  }

  bool is_instruction() const { return !root_.empty(); }
  std::string_view opcode() const { return words_[at_]; }

  /// The registers of the first operand: a name, or several in braces, or `%p|%q`.
  std::vector<std::string_view> results() const {
    std::vector<std::string_view> names;
    std::size_t i = at_ + 1;
    const bool braces = i < words_.size() && words_[i] == "{";
    for (; i < words_.size(); ++i) {
      if (words_[i] == "}" || (!braces && words_[i] == ",") || words_[i] == "[") break;
      names.push_back(words_[i]);
    }
    return names;
  }

  Use use_of(std::string_view name) const {
    const auto [in_first_brackets, in_brackets, elsewhere] = places_of(name);
    if (!in_brackets && !elsewhere) return Use::kNone;
    if (is_one_of(root_, kReaders)) return Use::kReads;
    if (root_ == "cp") {  // the first brackets are the destination
      return in_first_brackets ? Use::kWrites : elsewhere ? Use::kEscapes : Use::kReads;
    }
    if (is_one_of(root_, kArithmetic)) return Use::kPropagates;
    return in_brackets ? Use::kWrites : Use::kEscapes;
  }

 private:
  struct Places {
    bool in_first_brackets = false, in_brackets = false, elsewhere = false;
  };

  /// The first operand of arithmetic counts as well when it is also a source; that is harmless.
  Places places_of(std::string_view name) const {
    Places places;
    int depth = 0, groups = 0;
    for (std::size_t i = at_ + 1; i < words_.size(); ++i) {
      if (words_[i] == "[") groups += depth++ == 0 ? 1 : 0;
      if (words_[i] == "]" && depth > 0) --depth;
      if (words_[i] != name) continue;
      places.in_first_brackets |= depth > 0 && groups == 1;
      places.in_brackets |= depth > 0;
      places.elsewhere |= depth == 0;
    }
    return places;
  }

  const Words& words_;
  std::size_t at_ = 0;
  std::string_view root_;
};

/// A name in one function (registers) or in the module (function 0).
using Name = std::pair<int, std::string_view>;

/// Follows the address of one variable.
class Tracker {
 public:
  Tracker(const std::vector<PtxStatement>& statements, const std::map<Name, std::vector<std::size_t>>& users)
      : statements_(statements), users_(users) {}

  /// Why the variable counts as written; empty when it does not.
  std::string follow(std::string_view variable) {
    const int last = last_function();
    for (int function = 0; function <= last; ++function) push({function, variable});
    while (!todo_.empty()) {
      const Name name = todo_.back();
      todo_.pop_back();
      const auto found = users_.find(name);
      if (found == users_.end()) continue;
      for (const std::size_t i : found->second) {
        std::string reason = visit(statements_[i], name);
        if (!reason.empty()) return reason;
      }
    }
    return {};
  }

 private:
  int last_function() const {
    int last = 0;
    for (const auto& statement : statements_) last = std::max(last, statement.function);
    return last;
  }

  void push(Name name) {
    if (seen_.insert(name).second) todo_.push_back(name);
  }

  std::string visit(const PtxStatement& statement, Name name) {
    const Instruction instruction(statement);
    if (!instruction.is_instruction()) return visit_directive(statement, name.second);
    switch (instruction.use_of(name.second)) {
      case Use::kNone:
      case Use::kReads:
        return {};
      case Use::kWrites:
        return fmt::format("written by {}", instruction.opcode());
      case Use::kEscapes:
        return fmt::format("its address leaves by {}", instruction.opcode());
      case Use::kPropagates:
        for (const std::string_view result : instruction.results()) push({name.first, result});
        return {};
    }
    return {};
  }

  /// A mention in another variable's initializer hands the address out; its own declaration does not.
  static std::string visit_directive(const PtxStatement& statement, std::string_view name) {
    for (const PtxVariable& variable : declared_variables(statement)) {
      if (variable.name == name) return {};
    }
    const auto equals = std::find(statement.words.begin(), statement.words.end(), "=");
    if (std::find(equals, statement.words.end(), name) == statement.words.end()) return {};
    return "its address is in the initializer of another variable";
  }

  const std::vector<PtxStatement>& statements_;
  const std::map<Name, std::vector<std::size_t>>& users_;
  std::set<Name> seen_;
  std::vector<Name> todo_;
};

bool is_name(std::string_view word) {
  const auto c = static_cast<unsigned char>(word.front());
  return std::isalpha(c) != 0 || c == '_' || c == '$' || c == '%';
}

}  // namespace

std::vector<PtxVariable> declared_variables(const PtxStatement& statement) {
  const Words& words = statement.words;
  std::size_t i = 0;
  PtxVariable variable;
  for (; i < words.size() && words[i].front() == '.'; ++i) {
    if (words[i] == ".extern") variable.external = true;
    if (words[i] == ".global" || words[i] == ".const") {
      variable.space = words[i];
      break;
    }
  }
  if (variable.space.empty() || statement.opens_body) return {};
  std::vector<PtxVariable> found;
  int depth = 0;
  bool expect_name = true;
  for (++i; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "[" && depth == 0 && !expect_name && !found.empty()) found.back().array = true;
    if (word == "[" || word == "{" || word == "(") ++depth;
    if (word == "]" || word == "}" || word == ")") --depth;
    if (depth != 0) continue;
    if (word == ",") expect_name = true;
    if (word == "=" && !found.empty()) found.back().initialized = true;
    if (expect_name && is_name(word)) {
      found.push_back({word, variable.space, variable.external});
      expect_name = false;
    }
  }
  return found;
}

std::map<std::string, std::string> find_written(const std::vector<PtxStatement>& statements,
                                                const std::vector<PtxVariable>& variables) {
  std::map<Name, std::vector<std::size_t>> users;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    for (const std::string_view word : statements[i].words) {
      if (!is_name(word)) continue;
      auto& list = users[{statements[i].function, word}];
      if (list.empty() || list.back() != i) list.push_back(i);
    }
  }
  std::map<std::string, std::string> written;
  for (const PtxVariable& variable : variables) {
    std::string reason = Tracker(statements, users).follow(variable.name);
    if (!reason.empty()) written.emplace(variable.name, std::move(reason));
  }
  return written;
}

}  // namespace ak::cuda
