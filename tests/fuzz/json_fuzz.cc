// fuzz-deps: base
// JSON documents: what was read can be written and read again; every getter answers every field.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "autokernel/base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto json = ak::parse_json(text, "fuzz.json");
  if (!json) {
    AK_CHECK(json.error().message.starts_with("fuzz.json"));
    return 0;
  }
  const auto again = ak::parse_json(json->dump(), "again");
  AK_CHECK(again.has_value());
  AK_CHECK(*again == *json);
  const auto reader = ak::JsonReader::object(*json, "fuzz");
  if (!reader) return 0;
  for (const auto& item : json->items()) {
    (void)reader->get_int(item.key());
    (void)reader->get_string(item.key());
    (void)reader->get_double(item.key());
    (void)reader->get_bool(item.key());
    (void)reader->get_array(item.key());
    (void)reader->get_object(item.key());
    AK_CHECK(reader->get(item.key()).has_value());
  }
  return 0;
}
