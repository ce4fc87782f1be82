#include "autokernel/plan/profile_record.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>

#include "autokernel/base/file.h"
#include "autokernel/core/field_reader.h"

namespace ak::plan {
namespace {

constexpr std::size_t kMaxRecordBytes = 256u << 20;

/// A record begins with `{"autokernel":`; a trace may be too large to be parsed in order to tell.
bool is_record(const std::filesystem::path& path) {
  std::array<char, 64> head{};
  std::ifstream(path, std::ios::binary).read(head.data(), head.size());
  std::string text;
  std::copy_if(head.begin(), head.end(), std::back_inserter(text),
               [](char each) { return each != '\0' && std::isspace(static_cast<unsigned char>(each)) == 0; });
  return text.starts_with("{\"autokernel\":");
}

Result<Json> read_json(const std::filesystem::path& path) {
  AK_TRY(text, read_file(path, kMaxRecordBytes));
  return parse_json(text, path.string());
}

}  // namespace

Result<std::optional<ProfileRecord>> read_profile_record(const std::filesystem::path& path) {
  if (!is_record(path)) return std::nullopt;
  AK_TRY(json, read_json(path));
  ProfileRecord record;
  AK_TRY(in, FieldReader::top_level(json, path.string()));
  std::string trace;
  in.read("trace", trace);
  AK_TRY(name, in.finish(std::move(trace)));
  record.trace = path.parent_path() / name;
  AK_TRY(fields, JsonReader::object(json, path.string()));
  AK_TRY(graph, fields.get_object("graph"));
  AK_TRY(of_graph, JsonReader::object(*graph, path.string() + ".graph"));
  AK_TRY(nodes, of_graph.get_array("nodes"));
  if (!nodes->empty()) {
    AK_TRY(read, ModelGraph::from_json(*nodes, path.string() + ".graph.nodes"));
    record.graph = std::move(read);
  }
  return record;
}

Status add_sites(const std::filesystem::path& record, const Plan& plan) {
  AK_TRY(json, read_json(record));
  const Json all = to_json(plan);
  Json sites = Json::array();
  for (const Json& site : all["sites"]) {
    Json& kept = sites.emplace_back(Json::object());
    for (const char* key : {"id", "op", "dims", "flags", "dtype", "strides", "calls", "share", "places"})
      kept[key] = site[key];
  }
  json["sites"] = std::move(sites);
  return write_file_atomic(record, json.dump(1) + "\n");
}

}  // namespace ak::plan
