#include "autokernel/worker/protocol.h"

#include <nlohmann/json.hpp>

#include "autokernel/base/hash.h"
#include "autokernel/worker/frame.h"

namespace ak::worker {
namespace {

constexpr std::size_t kShortText = 256;  ///< shorter ones travel as they are

std::string_view code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return "usage";
    case ErrorCode::kEnvironment:
      return "environment";
    case ErrorCode::kInternal:
      return "internal";
    case ErrorCode::kInterrupted:
      return "interrupted";
  }
  return "internal";
}

ErrorCode code_from_name(std::string_view name) {
  for (ErrorCode code : {ErrorCode::kUsage, ErrorCode::kEnvironment, ErrorCode::kInterrupted}) {
    if (code_name(code) == name) return code;
  }
  return ErrorCode::kInternal;
}

}  // namespace

std::vector<FamilyFiles> travelling_families(const op::Registry& registry) {
  std::vector<FamilyFiles> families;
  for (const op::Family& family : registry.families()) {
    if (family.origin == op::Family::Origin::kFolder) families.push_back({family.name, family.files});
  }
  return families;
}

Json hello_request(const std::vector<FamilyFiles>& families, Role role) {
  Json list = Json::array();
  for (const FamilyFiles& family : families) list.push_back({{"name", family.name}, {"files", family.files}});
  return {{"type", "hello"},
          {"version", kProtocolVersion},
          {"families", std::move(list)},
          {"role", role == Role::kCompile ? "compile" : "measure"}};
}

Role role_from_json(const Json& request) {
  const auto role = request.find("role");
  const bool compiles = role != request.end() && role->is_string() && role->get<std::string>() == "compile";
  return compiles ? Role::kCompile : Role::kMeasure;
}

Result<std::vector<FamilyFiles>> families_from_json(const Json& request) {
  AK_TRY(fields, JsonReader::object(request, "hello"));
  AK_TRY(list, fields.get_array("families"));
  std::vector<FamilyFiles> families;
  for (const Json& each : *list) {
    AK_TRY(family_fields, JsonReader::object(each, "hello.families"));
    AK_TRY(name, family_fields.get_string("name"));
    AK_TRY(files, family_fields.get_object("files"));
    FamilyFiles family{std::move(name), {}};
    for (const auto& [path, text] : files->items()) {
      if (!text.is_string()) return usage_error("hello.families.files: expected texts");
      family.files[path] = text.get<std::string>();
    }
    families.push_back(std::move(family));
  }
  return families;
}

Json to_json(const Hello& hello) {
  return {{"type", "hello"},
          {"version", hello.version},
          {"autokernel", hello.autokernel},
          {"compiler", hello.compiler},
          {"device", ak::to_json(hello.device)}};
}

Result<Hello> hello_from_json(const Json& json) {
  AK_TRY(fields, JsonReader::object(json, "hello"));
  AK_TRY(version, fields.get_int("version"));
  AK_TRY(autokernel, fields.get_string("autokernel"));
  AK_TRY(compiler, fields.get_string("compiler"));
  AK_TRY(device_json, fields.get_object("device"));
  AK_TRY(device, device_info_from_json(*device_json, "hello.device"));
  return Hello{static_cast<int>(version), std::move(autokernel), std::move(compiler), std::move(device)};
}

Json error_message(const Error& error) {
  return {{"type", "error"}, {"code", std::string(code_name(error.code))}, {"message", error.message}};
}

Error error_from_message(const Json& message, std::string_view expected) {
  Result<JsonReader> fields = JsonReader::object(message, "message");
  if (fields) {
    Result<std::string> text = fields->get_string("message");
    Result<std::string> code = fields->get_string("code");
    if (text && code) return {code_from_name(*code), *text};
  }
  return {ErrorCode::kInternal, fmt::format("the worker's answer is no {}", expected)};
}

std::vector<std::string> take_texts(Json& request, std::map<std::string, std::string>& sent) {
  std::vector<std::string> fresh;
  if (request.is_array() || request.is_object()) {
    for (Json& child : request) {
      for (std::string& hash : take_texts(child, sent)) fresh.push_back(std::move(hash));
    }
  }
  if (!request.is_object()) return fresh;
  auto text = request.find("text");
  if (text == request.end() || !text->is_string()) return fresh;
  std::string value = text->get<std::string>();
  if (value.size() <= kShortText) return fresh;
  std::string hash = content_hash(value);
  if (sent.emplace(hash, std::move(value)).second) fresh.push_back(hash);
  request.erase(text);
  request["text_hash"] = hash;
  return fresh;
}

Status put_texts(Json& request, const std::map<std::string, std::string>& texts) {
  if (request.is_array() || request.is_object()) {
    for (Json& child : request) AK_TRY_VOID(put_texts(child, texts));
  }
  if (!request.is_object()) return {};
  auto hash = request.find("text_hash");
  if (hash == request.end()) return {};
  if (!hash->is_string()) return usage_error("text_hash: expected a string");
  auto text = texts.find(hash->get<std::string>());
  if (text == texts.end())
    return usage_error("text_hash {}: the text was not sent", hash->get<std::string>());
  request["text"] = text->second;
  request.erase("text_hash");
  return {};
}

}  // namespace ak::worker
