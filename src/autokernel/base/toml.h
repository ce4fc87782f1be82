#pragma once
// The one TOML reader (toml++ is seen by toml.cc alone): a document becomes JSON plus the place of each
// value, so that errors of kernel files, op families and settings carry line, column and a caret.
//
//   AK_TRY(document, parse_toml(text, {.name = "softmax.cu", .first_line = 3}));
//   return document.error_at("/launch/0/grid", "expected 1 to 3 expressions", "e.g. grid = [\"M\"]");

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/json.h"
#include "autokernel/base/result.h"

namespace ak {

struct TextOrigin {
  std::string name{};  ///< file name as the user knows it
  int first_line = 1;  ///< line of the file at which the text begins (front matter inside a comment)
};

struct TextPosition {
  int line = 0;  ///< of the file, from 1
  int column = 0;
};

class TomlDocument {
 public:
  const Json& root() const;
  /// Order in which the keys of the table at `pointer` (a JSON pointer, "" is the root) were written.
  std::vector<std::string> keys_in_order(std::string_view pointer) const;
  /// Position of the value at a JSON pointer; of its nearest parent where it has none of its own.
  TextPosition position(std::string_view pointer) const;

  /// `file:line:column: message`, the line itself, a caret, and `hint` (what to do), as a usage error.
  /// `column_offset` points into a string value: 0 is its opening quote, n the nth character (for
  /// expressions).
  tl::unexpected<Error> error_at(std::string_view pointer, std::string_view message,
                                 std::string_view hint = "", int column_offset = 0) const;

 private:
  friend Result<TomlDocument> parse_toml(std::string_view text, TextOrigin origin);
  struct State;
  std::shared_ptr<const State> state_;  // shared: immutable, copied with the objects that report errors
};

Result<TomlDocument> parse_toml(std::string_view text, TextOrigin origin);

/// The JSON pointer of a member: `parent`/`key`, with `~` and `/` escaped (RFC 6901).
std::string child_pointer(std::string_view parent, std::string_view key);

/// `name:line:column: message` + source line + caret + hint; for other parsers of text files.
std::string format_diagnostic(const TextOrigin& origin, std::string_view text, TextPosition position,
                              std::string_view message, std::string_view hint);

}  // namespace ak
