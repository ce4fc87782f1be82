// fuzz-deps: base
// TOML documents: every value has a position inside the text, and every message can be written as JSON.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "autokernel/base/toml.h"

namespace {

void visit(const ak::TomlDocument& document, const ak::Json& value, const std::string& pointer, int depth) {
  const ak::TextPosition position = document.position(pointer);
  AK_CHECK(position.line >= 1 && position.column >= 1);
  if (value.is_object()) AK_CHECK(document.keys_in_order(pointer).size() == value.size());
  if (depth > 8) return;
  if (value.is_object()) {
    for (const std::string& key : document.keys_in_order(pointer)) {
      const auto child = ak::Json::json_pointer(pointer) / key;
      visit(document, value.at(key), child.to_string(), depth + 1);
    }
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      visit(document, value[i], pointer + "/" + std::to_string(i), depth + 1);
    }
  } else {
    (void)ak::Json(document.error_at(pointer, "message", "hint", 1).value().message).dump();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = ak::parse_toml(text, {.name = "fuzz.toml"});
  if (document) {
    visit(*document, document->root(), "", 0);
    (void)document->root().dump();
  } else {
    (void)ak::Json(document.error().message).dump();
  }
  return 0;
}
