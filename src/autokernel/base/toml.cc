#include "autokernel/base/toml.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

// No exceptions, and a limit of nesting that keeps the recursion below within any stack.
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 32
#include <toml++/toml.h>

namespace ak {

struct TomlDocument::State {
  TextOrigin origin;
  std::string text;
  Json root;
  std::map<std::string, TextPosition, std::less<>> positions;  // by JSON pointer
  std::map<std::string, std::vector<std::string>, std::less<>>
      ordered;  // keys of each table, by JSON pointer
};

namespace {

constexpr int kMaxDotsInLine = 64;
constexpr std::size_t kMaxTextBytes = 4u << 20;

/// The line of the text (from 1) that has a key of absurdly many parts, or 0: toml++ recurses over them
/// without a limit of its own. Strings and fractions are no key parts.
int line_of_deep_key(std::string_view text) {
  int line = 1, dots = 0;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      ++line;
      dots = 0;
      quote = '\0';
    } else if (quote != '\0') {
      if (c == '\\' && quote == '"') ++i;
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '.' && i + 1 < text.size() && !(text[i + 1] == '.' || text[i + 1] == '\n')) {
      const bool fraction =
          i > 0 && text[i - 1] >= '0' && text[i - 1] <= '9' && text[i + 1] >= '0' && text[i + 1] <= '9';
      if (!fraction && ++dots > kMaxDotsInLine) return line;
    }
  }
  return 0;
}

std::string child_pointer(std::string_view parent, std::string_view key) {
  std::string pointer(parent);
  pointer += '/';
  for (char c : key) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
  return pointer;
}

template <class Value>
std::string printed(const Value& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

bool written_before(const toml::source_position& a, const toml::source_position& b) {
  return a.line != b.line ? a.line < b.line : a.column < b.column;
}

}  // namespace

/// Copies a tree of toml++ into JSON and notes the place of each node.
class TomlImporter {
 public:
  TomlImporter(int first_line, std::map<std::string, TextPosition, std::less<>>& positions,
               std::map<std::string, std::vector<std::string>, std::less<>>& ordered)
      : first_line_(first_line), positions_(positions), ordered_(ordered) {}

  Json convert(const toml::node& node, const std::string& pointer) {
    note(pointer, node.source().begin);
    if (const toml::table* table = node.as_table()) return convert_table(*table, pointer);
    if (const toml::array* array = node.as_array()) {
      Json items = Json::array();
      for (const toml::node& item : *array) {
        items.push_back(convert(item, child_pointer(pointer, std::to_string(items.size()))));
      }
      return items;
    }
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* integer = node.as_integer()) return integer->get();
    if (const auto* number = node.as_floating_point()) return json_number(number->get());
    if (const auto* truth = node.as_boolean()) return truth->get();
    if (const auto* date = node.as_date()) return printed(date->get());
    if (const auto* time = node.as_time()) return printed(time->get());
    if (const auto* moment = node.as_date_time()) return printed(moment->get());
    return nullptr;
  }

 private:
  Json convert_table(const toml::table& table, const std::string& pointer) {
    Json object = Json::object();
    std::vector<std::pair<toml::source_position, std::string>> keys;
    for (const auto& [key, value] : table) {
      const std::string name(key.str());
      const std::string child = child_pointer(pointer, name);
      object[name] = convert(value, child);
      note(child, key.source().begin);  // only where the value has no place of its own
      keys.emplace_back(key.source().begin, name);
    }
    std::stable_sort(keys.begin(), keys.end(),
                     [](const auto& a, const auto& b) { return written_before(a.first, b.first); });
    std::vector<std::string>& names = ordered_[pointer];
    for (auto& key : keys) names.push_back(std::move(key.second));
    return object;
  }

  void note(const std::string& pointer, const toml::source_position& place) {
    if (!place) return;
    positions_.try_emplace(pointer, TextPosition{static_cast<int>(place.line) + first_line_ - 1,
                                                 static_cast<int>(place.column)});
  }

  int first_line_;
  std::map<std::string, TextPosition, std::less<>>& positions_;
  std::map<std::string, std::vector<std::string>, std::less<>>& ordered_;
};

Result<TomlDocument> parse_toml(std::string_view text, TextOrigin origin) {
  const auto fail = [&](TextPosition place, std::string_view message) {
    return tl::unexpected(Error{ErrorCode::kUsage, format_diagnostic(origin, text, place, message, "")});
  };
  if (text.size() > kMaxTextBytes) {
    return usage_error("{}: TOML text larger than {} bytes", origin.name, kMaxTextBytes);
  }
  if (const int line = line_of_deep_key(text); line != 0) {
    return fail({line + origin.first_line - 1, 1},
                fmt::format("a key of more than {} parts", kMaxDotsInLine));
  }
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::source_position place = parsed.error().source().begin;
    return fail({static_cast<int>(place.line) + origin.first_line - 1, static_cast<int>(place.column)},
                parsed.error().description());
  }
  auto state = std::make_shared<TomlDocument::State>();
  state->text = text;
  state->positions[""] = {origin.first_line, 1};
  state->root = TomlImporter(origin.first_line, state->positions, state->ordered).convert(parsed.table(), "");
  state->origin = std::move(origin);
  TomlDocument document;
  document.state_ = std::move(state);
  return document;
}

const Json& TomlDocument::root() const {
  AK_CHECK(state_ != nullptr);
  return state_->root;
}

std::vector<std::string> TomlDocument::keys_in_order(std::string_view pointer) const {
  AK_CHECK(state_ != nullptr);
  const auto found = state_->ordered.find(pointer);
  return found == state_->ordered.end() ? std::vector<std::string>() : found->second;
}

TextPosition TomlDocument::position(std::string_view pointer) const {
  AK_CHECK(state_ != nullptr);
  for (;;) {
    if (const auto found = state_->positions.find(pointer); found != state_->positions.end())
      return found->second;
    const std::size_t slash = pointer.rfind('/');
    pointer = pointer.substr(0, slash == std::string_view::npos ? 0 : slash);  // "" is always there
  }
}

tl::unexpected<Error> TomlDocument::error_at(std::string_view pointer, std::string_view message,
                                             std::string_view hint, int column_offset) const {
  TextPosition place = position(pointer);
  place.column += column_offset;
  return tl::unexpected(
      Error{ErrorCode::kUsage, format_diagnostic(state_->origin, state_->text, place, message, hint)});
}

}  // namespace ak
