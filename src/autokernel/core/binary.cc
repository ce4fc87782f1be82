#include "autokernel/core/binary.h"

#include <nlohmann/json.hpp>

#include "autokernel/base/hash.h"
#include "autokernel/core/field_reader.h"

namespace ak {
namespace {

std::string to_hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes(text.size() / 2, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes[i] = static_cast<char>(16 * high + low);
  }
  return bytes;
}

Json to_json(const Entry& entry) {
  return {{"name", entry.name},
          {"symbol", entry.symbol},
          {"param_bytes", entry.param_bytes},
          {"param_kinds", entry.param_kinds},
          {"registers", entry.registers},
          {"local_bytes", entry.local_bytes},
          {"static_shared_bytes", entry.static_shared_bytes},
          {"block", entry.block},
          {"hidden_args", entry.hidden_args}};
}

Result<Entry> entry_from_json(const Json& json, const std::string& what) {
  AK_TRY(in, FieldReader::object(json, what));
  Entry entry;
  in.read("name", entry.name);
  in.read("symbol", entry.symbol);
  in.read("param_bytes", entry.param_bytes);
  in.read("param_kinds", entry.param_kinds);
  in.read("registers", entry.registers);
  in.read("local_bytes", entry.local_bytes);
  in.read("static_shared_bytes", entry.static_shared_bytes);
  in.read("block", entry.block);
  in.read("hidden_args", entry.hidden_args);
  return in.finish(std::move(entry));
}

Json to_json(const CodeFacts& facts) {
  return {{"imports", facts.imports},
          {"mutable_globals", facts.mutable_globals},
          {"forbidden", facts.forbidden},
          {"noted", facts.noted},
          {"has_barriers", facts.has_barriers}};
}

Result<CodeFacts> facts_from_json(const Json& json, const std::string& what) {
  AK_TRY(in, FieldReader::object(json, what));
  CodeFacts facts;
  in.read("imports", facts.imports);
  in.read("mutable_globals", facts.mutable_globals);
  in.read("forbidden", facts.forbidden);
  in.read("noted", facts.noted);
  in.read("has_barriers", facts.has_barriers);
  return in.finish(std::move(facts));
}

/// Everything but the name and the text.
Json settings_json(const Source& source) {
  return {{"schema", kSchema},
          {"language", source.language},
          {"dtype", name(source.dtype)},
          {"flags", source.flags},
          {"tunables", to_json(Config{source.tunables})},
          {"specialised", source.specialised},
          {"entries", source.entries},
          {"arch", source.arch},
          {"max_registers", source.max_registers ? Json(*source.max_registers) : Json(nullptr)},
          {"build", name(source.build)}};
}

}  // namespace

std::string_view name(Build build) {
  switch (build) {
    case Build::kTimed:
      return "timed";
    case Build::kChecked:
      return "checked";
    case Build::kLines:
      return "lines";
  }
  AK_CHECK(false);
  return "";
}

std::optional<Build> build_from_name(std::string_view text) {
  for (const Build build : {Build::kTimed, Build::kChecked, Build::kLines}) {
    if (name(build) == text) return build;
  }
  return std::nullopt;
}

std::string hash(const Source& source) {
  return content_hash(
      {settings_json(source).dump(-1, ' ', true, Json::error_handler_t::replace), source.text});
}

Json to_json(const Source& source) {
  Json json = settings_json(source);
  json["name"] = source.name;
  json["text"] = source.text;
  return json;
}

Result<Source> source_from_json(const Json& json, const std::string& what) {
  AK_TRY(in, FieldReader::top_level(json, what));
  Source source;
  Config tunables;
  in.read("language", source.language);
  in.read("name", source.name);
  in.read("text", source.text);
  in.read_name("dtype", source.dtype, dtype_from_name);
  in.read("flags", source.flags);
  in.read("tunables", tunables, config_from_json);
  source.tunables = std::move(tunables.values);
  in.read("specialised", source.specialised);
  in.read("entries", source.entries);
  in.read("arch", source.arch);
  in.read_optional("max_registers", source.max_registers);
  in.read_name("build", source.build, build_from_name);
  return in.finish(std::move(source));
}

Json to_json(const Binary& binary) {
  Json entries = Json::array();
  for (const Entry& entry : binary.entries) entries.push_back(to_json(entry));
  return {{"schema", kSchema},
          {"format", binary.format},
          {"arch", binary.arch},
          {"bytes", to_hex(binary.bytes)},
          {"ptx", binary.ptx},
          {"entries", std::move(entries)},
          {"facts", to_json(binary.facts)},
          {"log", binary.log},
          {"sandboxed", binary.sandboxed},
          {"compile_s", json_number(binary.compile_s)},
          {"from_cache", binary.from_cache}};
}

Result<Binary> binary_from_json(const Json& json, const std::string& what) {
  AK_TRY(in, FieldReader::top_level(json, what));
  Binary binary;
  std::string digits;
  in.read("format", binary.format);
  in.read("arch", binary.arch);
  in.read("bytes", digits);
  in.read("ptx", binary.ptx);
  in.read_array("entries", binary.entries, entry_from_json);
  in.read("facts", binary.facts, facts_from_json);
  in.read("log", binary.log);
  in.read("sandboxed", binary.sandboxed);
  in.read("compile_s", binary.compile_s);
  in.read("from_cache", binary.from_cache);
  if (std::optional<std::string> bytes = from_hex(digits)) {
    binary.bytes = std::move(*bytes);
  } else {
    in.fail("bytes", "pairs of hexadecimal digits", "other text");
  }
  return in.finish(std::move(binary));
}

}  // namespace ak
