#include "autokernel/device/cpu/rewrite.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "autokernel/device/cpu/cuda_lexer.h"
#include "autokernel/device/cpu/text_edits.h"

namespace ak::cpu {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// Prefixes of names whose use may suspend a thread.
constexpr std::array<std::string_view, 18> kBlocking = {
    "__syncthreads", "__syncwarp",     "__shfl",       "__ballot", "__any",   "__all",
    "__match",       "__reduce",       "__activemask", "atomic",   "__nanos", "cooperat",
    "this_grid",     "this_thread_bl", "tiled_p",      "block_re", "warp_re", "__pipeline"};

bool is_alignment(const Token& token) {
  return token.spelling == "alignas" || token.spelling == "__align__" || token.spelling == "_Alignas";
}
bool is_attribute(const Token& token) {
  return token.spelling == "__attribute__" || token.spelling == "__launch_bounds__" || is_alignment(token);
}
bool is_asm(const Token& token) {
  return token.spelling == "asm" || token.spelling == "__asm__" || token.spelling == "__asm";
}
int depth_change(const Token& token) {
  if (token.kind != TokenKind::kPunctuation || token.spelling.size() != 1) return 0;
  const char c = token.spelling[0];
  return c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
}

/// A declaration with __shared__ in it: tokens [first, last], last the `;`.
struct Declaration {
  std::size_t first = 0;
  std::size_t last = 0;
  std::vector<std::size_t> names;  ///< the declarators' identifiers
};

class Rewriter {
 public:
  Rewriter(std::string_view text, SharedForm form)
      : text_(text), form_(form), tokens_(tokenize(text)), edits_(text) {}

  RewriteOutcome run() {
    for (std::size_t i = 0; i < tokens_.size() && !failure_; ++i) {
      resume_at_ = i;
      visit(i);
      i = resume_at_;
    }
    RewriteOutcome outcome;
    if (failure_) {
      outcome.failure = std::move(failure_);
      return outcome;
    }
    code_.text = edits_.apply();
    outcome.code = std::move(code_);
    return outcome;
  }

 private:
  const Token& at(std::size_t i) const { return tokens_[i]; }
  bool is(std::size_t i, std::string_view spelling) const {
    return i < tokens_.size() && tokens_[i].spelling == spelling;
  }

  void fail(std::size_t i, FailureKind kind, std::string message, std::string check = "compile") {
    failure_ = RewriteFailure{kind, std::move(check), at(i).line, std::move(message)};
  }

  void visit(std::size_t i) {
    const Token& token = at(i);
    if (token.starts_directive) return visit_directive(i);
    if (token.kind == TokenKind::kIdentifier) return visit_identifier(i);
    if (token.directive != 0 || token.kind != TokenKind::kPunctuation) return;
    if (token.spelling == "<<<") {
      fail(i, FailureKind::kCompile,
           "a kernel file holds device code only: launches are declared as [[launch]] in its front matter");
    } else if (token.spelling == "{") {
      open_brace(i);
      parentheses_ = 0;
    } else if (token.spelling == "}") {
      if (!braces_.empty()) braces_.pop_back();
      parentheses_ = 0;
    } else if (token.spelling == ";") {
      parentheses_ = 0;
    } else if (token.spelling == "(" || token.spelling == ")") {
      parentheses_ = std::max(0, parentheses_ + depth_change(token));
    }
  }

  void visit_directive(std::size_t i) {
    const std::size_t word = i + 1;
    if (word >= tokens_.size() || at(word).directive != at(i).directive) return;
    const std::string& name = at(word).spelling;
    if (name.starts_with("if")) {
      conditionals_.push_back(braces_);
    } else if (name.starts_with("el") && !conditionals_.empty()) {
      braces_ = conditionals_.back();  // each branch starts where the #if did
    } else if (name == "endif" && !conditionals_.empty()) {
      conditionals_.pop_back();
    }
    if (name == "include" || name == "include_next" || name == "import") visit_include(word);
  }

  void visit_include(std::size_t word) {
    const std::size_t begin = at(word).offset + at(word).raw.size();
    std::string_view rest = text_.substr(begin, text_.find('\n', begin) - begin);
    const std::size_t open = rest.find_first_not_of(" \t");
    if (open == std::string_view::npos || (rest[open] != '<' && rest[open] != '"')) return;
    const std::size_t close = rest.find(rest[open] == '<' ? '>' : '"', open + 1);
    if (close == std::string_view::npos) return;
    std::string path(rest.substr(open + 1, close - open - 1));
    if (path.starts_with('/') || path.starts_with("..") || path.find("/../") != std::string::npos) {
      fail(word, FailureKind::kCompile, "#include of a file outside the device headers is refused",
           "compile.sandbox");
    }
    code_.includes.push_back(std::move(path));
  }

  void visit_identifier(std::size_t i) {
    const Token& token = at(i);
    const std::string& name = token.spelling;
    if (is_asm(token)) {
      edits_.replace(token.offset, token.raw.size(), "AK_INLINE_PTX");
    } else if (name == "blockIdx" || name == "blockDim") {
      note_global_index(i);
    } else if (name == "volatile") {
      if (i == 0 || !is_asm(at(i - 1))) code_.has_volatile = true;
    } else if (name == "__global__") {
      note_kernel(i);
    } else if (token.directive != 0) {
      note_blocking(name);
    } else if (name == "__shared__") {
      rewrite_shared(i);
    } else if (name == "__constant__") {
      rewrite_constant(i);
    } else if (name == "thread_local" || name == "__thread") {
      fail(i, FailureKind::kCompile, fmt::format("`{}` is not allowed in device code", name));
    } else if (auto accessor = accessors_.find(name); accessor != accessors_.end() && !names_a_member(i)) {
      edits_.replace(token.offset, token.raw.size(), accessor->second);
    } else {
      note_blocking(name);
    }
  }

  bool names_a_member(std::size_t i) const {
    return i > 0 && (is(i - 1, ".") || is(i - 1, "->") || is(i - 1, "::"));
  }

  void note_blocking(const std::string& name) {
    if (name.size() < 5) return;
    code_.may_block =
        code_.may_block || std::any_of(kBlocking.begin(), kBlocking.end(),
                                       [&](std::string_view prefix) { return name.starts_with(prefix); });
  }

  /// `blockIdx.x * blockDim.x` or the other way round; a cast in front makes it a 64-bit product.
  void note_global_index(std::size_t i) {
    const bool product = is(i + 1, ".") && is(i + 2, "x") && is(i + 3, "*") && is(i + 5, ".") &&
                         is(i + 6, "x") && (is(i + 4, "blockIdx") || is(i + 4, "blockDim")) &&
                         !is(i + 4, at(i).spelling);
    if (product && (i == 0 || !is(i - 1, ")"))) code_.has_global_index = true;
  }

  void note_kernel(std::size_t i) {
    if (at(i).directive != 0) {
      code_.kernels_from_macros = true;
      return;
    }
    int depth = 0;
    for (std::size_t j = i + 1; j + 1 < tokens_.size(); ++j) {
      if ((depth == 0 && (is(j, "{") || is(j, ";"))) || is(j, "__global__")) return;
      if (depth == 0 && at(j).kind == TokenKind::kIdentifier && is(j + 1, "(")) {
        const std::string& name = at(j).spelling;
        if (!is_attribute(at(j)) && !name.starts_with("__") && name != "decltype") {
          code_.kernels.push_back(name);
          return;
        }
      }
      depth += depth_change(at(j));
    }
  }

  /// Remembers whether the brace opens a namespace (or extern "C") or something that holds statements.
  void open_brace(std::size_t i) {
    bool is_namespace = false;
    for (std::size_t j = i; j > 0; --j) {
      const Token& token = at(j - 1);
      if (token.directive != 0 || is(j - 1, ";") || is(j - 1, "{") || is(j - 1, "}") || is(j - 1, ")")) break;
      if (token.spelling == "namespace") is_namespace = true;
      if (token.spelling == "extern" && at(j).kind == TokenKind::kLiteral && j + 1 == i) is_namespace = true;
    }
    braces_.push_back(is_namespace);
  }
  bool in_namespace_scope() const {
    return std::all_of(braces_.begin(), braces_.end(), [](bool b) { return b; });
  }

  /// The `(` that the `)` at `close` belongs to.
  std::size_t matching_open(std::size_t close) const {
    int depth = 0;
    for (std::size_t j = close + 1; j > 0; --j) {
      depth -= depth_change(at(j - 1));
      if (depth == 0) return j - 1;
    }
    return kNone;
  }
  std::size_t matching_close(std::size_t open) const {
    int depth = 0;
    for (std::size_t j = open; j < tokens_.size(); ++j) {
      depth += depth_change(at(j));
      if (depth == 0) return j;
    }
    return kNone;
  }

  /// First token of the declaration that holds token i.
  std::size_t declaration_start(std::size_t i) const {
    std::size_t first = i;
    while (first > 0) {
      const Token& before = at(first - 1);
      if (before.directive != at(i).directive) break;
      if (before.spelling == ")") {
        const std::size_t open = matching_open(first - 1);
        if (open == kNone || open == 0 || !is_attribute(at(open - 1))) break;
        first = open - 1;
      } else if (before.spelling == ";" || before.spelling == "{" || before.spelling == "}" ||
                 before.spelling == ":" || before.spelling == "(") {
        break;
      } else {
        --first;
      }
    }
    return first;
  }

  /// The `;` that ends it, or kNone.
  std::size_t declaration_end(std::size_t i) const {
    int depth = 0;
    for (std::size_t j = i; j < tokens_.size(); ++j) {
      if (at(j).directive != 0) continue;
      if (depth == 0 && is(j, ";")) return j;
      depth += depth_change(at(j));
      if (depth < 0) return kNone;
    }
    return kNone;
  }

  /// Calls visit(j) for the tokens of [first, last) outside brackets of any kind.
  template <class Visit>
  void for_top_level(std::size_t first, std::size_t last, Visit&& visit) const {
    int depth = 0;
    int angles = 0;
    for (std::size_t j = first; j < last; ++j) {
      if (at(j).directive != 0) continue;
      const int change = depth_change(at(j));
      if (depth == 0 && angles == 0) visit(j);
      depth += change;
      if (depth != 0) continue;
      if (is(j, "<") && j > 0 && at(j - 1).kind == TokenKind::kIdentifier) ++angles;
      if (is(j, ">") && angles > 0) --angles;
    }
  }

  /// The identifiers that the declarators of [first, last) introduce: the last one before `[`, `,`, `;` or an
  /// alignas.
  std::vector<std::size_t> declared_names(std::size_t first, std::size_t last) const {
    std::vector<std::size_t> names;
    std::size_t candidate = kNone;
    bool taken = false;
    for_top_level(first, last, [&](std::size_t j) {
      if (is(j, ",")) {
        if (!taken && candidate != kNone) names.push_back(candidate);
        candidate = kNone;
        taken = false;
      } else if (is(j, "[") && !taken && candidate != kNone) {
        names.push_back(candidate);
        taken = true;
      } else if (at(j).kind == TokenKind::kIdentifier && !is_attribute(at(j))) {
        candidate = j;
      }
    });
    if (!taken && candidate != kNone) names.push_back(candidate);
    return names;
  }

  /// `float (*p)[4]`: the name is inside parentheses.
  bool has_nested_declarator(const Declaration& declaration) const {
    bool nested = false;
    for_top_level(declaration.first, declaration.last, [&](std::size_t j) {
      nested = nested || (is(j, "(") && j > 0 && !is_attribute(at(j - 1)));
    });
    return nested;
  }

  void remove(std::size_t i) { edits_.replace(at(i).offset, at(i).raw.size(), ""); }
  std::string_view text_of(std::size_t first, std::size_t last) const {
    return text_.substr(at(first).offset, at(last).offset + at(last).raw.size() - at(first).offset);
  }

  void rewrite_shared(std::size_t i) {
    Declaration declaration;
    declaration.first = declaration_start(i);
    declaration.last = declaration_end(i);
    if (parentheses_ > 0 || declaration.last == kNone) {
      return fail(i, FailureKind::kCompile,
                  "`__shared__` is not allowed here: it belongs to a variable's declaration");
    }
    bool is_extern = false;
    std::size_t initialiser = kNone;
    for_top_level(declaration.first, declaration.last, [&](std::size_t j) {
      is_extern = is_extern || is(j, "extern");
      if (is(j, "=") && initialiser == kNone) initialiser = j;
    });
    if (initialiser != kNone) {
      return fail(initialiser, FailureKind::kCompile, "a `__shared__` variable cannot have an initialiser");
    }
    declaration.names = declared_names(i + 1, declaration.last);
    if (declaration.names.empty()) return fail(i, FailureKind::kCompile, "`__shared__` declares no variable");
    is_extern ? rewrite_dynamic(declaration) : rewrite_static(declaration);
    for (resume_at_ = i; resume_at_ < declaration.last; ++resume_at_) {
      code_.has_volatile = code_.has_volatile || is(resume_at_, "volatile");
    }
  }

  /// Takes the alignments out of the declaration and returns them; also drops __shared__ and the storage
  /// class.
  std::string strip_specifiers(const Declaration& declaration) {
    std::string alignments;
    std::size_t skip_to = 0;
    for_top_level(declaration.first, declaration.last, [&](std::size_t j) {
      if (j < skip_to) return;
      if (is(j, "__shared__") || is(j, "static") || is(j, "extern")) {
        remove(j);
      } else if (is_alignment(at(j)) && is(j + 1, "(")) {
        const std::size_t close = matching_close(j + 1);
        if (close == kNone || close >= declaration.last) return;
        alignments += std::string(text_of(j, close)) + " ";
        edits_.replace(at(j).offset, text_of(j, close).size(), "");
        skip_to = close + 1;
      }
    });
    std::replace(alignments.begin(), alignments.end(), '\n', ' ');
    return alignments;
  }

  void rewrite_static(const Declaration& declaration) {
    edits_.insert(at(declaration.first).offset, strip_specifiers(declaration) + "static __thread ");
    if (form_ == SharedForm::kDirect || has_nested_declarator(declaration)) return;
    const bool global = in_namespace_scope();
    std::string references;
    for (std::size_t i : declaration.names) {
      const std::string& name = at(i).spelling;
      const std::string storage = "ak_shared_" + name;
      edits_.replace(at(i).offset, at(i).raw.size(), storage);
      if (global) {
        accessors_[name] = fmt::format("(::ak_prelude::watched({}))", storage);
      } else {
        references += fmt::format(" auto& {} = ::ak_prelude::watched({});", name, storage);
      }
    }
    edits_.insert(at(declaration.last).offset + 1, references);
  }

  /// `extern __shared__ T name[]...;` with the extents behind the first one kept.
  void rewrite_dynamic(const Declaration& declaration) {
    const std::size_t name_at = declaration.names[0];
    const std::size_t open = name_at + 1;
    if (declaration.names.size() != 1 || !is(open, "[") || !is(open + 1, "]")) {
      return fail(name_at, FailureKind::kCompile,
                  "dynamic shared memory is declared as `extern __shared__ T name[];`");
    }
    const std::string name = at(name_at).spelling;
    strip_specifiers(declaration);
    const std::string extents(open + 2 < declaration.last ? text_of(open + 2, declaration.last - 1) : "");
    const std::string source = "::ak_prelude::dynamic_shared()";
    const std::size_t name_begin = at(name_at).offset;
    const std::size_t length = at(declaration.last).offset - name_begin;
    if (in_namespace_scope()) {
      const std::string accessor = "ak_dynamic_" + name;
      edits_.insert(at(declaration.first).offset, "static inline ");
      edits_.replace(name_begin, length,
                     fmt::format("(*{}()){} {{ return {}; }}", accessor, extents, source));
      edits_.replace(at(declaration.last).offset, 1, "");
      accessors_[name] = fmt::format("({}())", accessor);
    } else {
      edits_.replace(name_begin, length, fmt::format("(*const {}){} = {}", name, extents, source));
    }
  }

  void rewrite_constant(std::size_t i) {
    const std::size_t first = declaration_start(i);
    const std::size_t last = declaration_end(i);
    bool is_const = false;
    if (last != kNone) {
      for_top_level(first, last,
                    [&](std::size_t j) { is_const = is_const || is(j, "const") || is(j, "constexpr"); });
    }
    edits_.replace(at(i).offset, at(i).raw.size(), is_const ? "" : "const");
  }

  std::string_view text_;
  SharedForm form_;
  std::vector<Token> tokens_;
  TextEdits edits_;
  Rewritten code_;
  std::optional<RewriteFailure> failure_;
  std::vector<bool> braces_;  ///< true: of a namespace
  int parentheses_ = 0;
  std::size_t resume_at_ = 0;                     ///< last token that needs no visit of its own
  std::vector<std::vector<bool>> conditionals_;   ///< braces_ at each open #if
  std::map<std::string, std::string> accessors_;  ///< names of namespace scope -> what their uses become
};

}  // namespace

RewriteOutcome rewrite(std::string_view text, SharedForm form) { return Rewriter(text, form).run(); }

}  // namespace ak::cpu
