#include "autokernel/device/cuda/nvrtc_job.h"

#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "autokernel/base/json.h"

namespace ak::cuda {
namespace {

constexpr std::string_view kMagic = "AKNVRTC2 ";
constexpr std::size_t kLongestHead = kMagic.size() + 20;
constexpr std::size_t kMaxParts = 4096;

/// Magic and the length of the rest; the number of parts; for each its length and its bytes. Numbers are
/// decimal digits and a line break.
std::string frame(const std::vector<std::string_view>& parts) {
  std::string text = fmt::format("{}\n", parts.size());
  for (const std::string_view part : parts) {
    text += fmt::format("{}\n", part.size());
    text += part;
  }
  return fmt::format("{}{}\n{}", kMagic, text.size(), text);
}

Result<std::size_t> take_number(std::string_view& text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data() + text.size() || *end != '\n') {
    return internal_error("a length is missing");
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return value;
}

Result<std::vector<std::string>> unframe(std::string_view text) {
  if (!text.starts_with(kMagic)) return internal_error("the message does not begin with {}", kMagic);
  text.remove_prefix(kMagic.size());
  AK_TRY(length, take_number(text));
  if (length != text.size()) return internal_error("{} bytes instead of {}", text.size(), length);
  AK_TRY(count, take_number(text));
  if (count == 0 || count > kMaxParts) return internal_error("{} parts", count);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < count; ++i) {
    AK_TRY(size, take_number(text));
    if (size > text.size()) return internal_error("a part is cut off");
    parts.emplace_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  if (!text.empty()) return internal_error("text behind the last part");
  return parts;
}

Result<std::vector<std::string>> strings(const JsonReader& in, std::string_view field) {
  AK_TRY(array, in.get_array(field));
  std::vector<std::string> list;
  for (const Json& item : *array) {
    if (!item.is_string()) return internal_error("{}: expected texts", field);
    list.push_back(item.get<std::string>());
  }
  return list;
}

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

bool is_whole_message(std::string_view text) {
  if (!text.starts_with(kMagic.substr(0, text.size()))) return true;
  const std::size_t head = text.substr(0, kLongestHead).find('\n');
  if (head == std::string_view::npos) return text.size() >= kLongestHead;
  text.remove_prefix(kMagic.size());
  const Result<std::size_t> length = take_number(text);
  return !length || text.size() >= *length;
}

std::string encode(const NvrtcJob& job) {
  Json includes = Json::array(), header_names = Json::array();
  for (const auto& include : job.location.includes) includes.push_back(include.string());
  for (const NvrtcHeader& header : job.headers) header_names.push_back(header.name);
  const std::string json = dump({{"library", job.location.library.string()},
                                 {"builtins", job.location.builtins.string()},
                                 {"includes", includes},
                                 {"major", job.location.major},
                                 {"minor", job.location.minor},
                                 {"name", job.name},
                                 {"options", job.options},
                                 {"entries", job.entries},
                                 {"headers", header_names},
                                 {"sandbox", job.confinement == Confinement::kSandbox}});
  std::vector<std::string_view> parts{json, job.text};
  for (const NvrtcHeader& header : job.headers) parts.push_back(header.text);
  return frame(parts);
}

Result<NvrtcJob> decode_job(std::string_view text) {
  AK_TRY(parts, unframe(text));
  AK_TRY(json, parse_json(parts[0], "job"));
  AK_TRY(in, JsonReader::object(json, "job"));
  NvrtcJob job;
  AK_TRY(library, in.get_string("library"));
  AK_TRY(builtins, in.get_string("builtins"));
  AK_TRY(includes, strings(in, "includes"));
  AK_TRY(major, in.get_int("major"));
  AK_TRY(minor, in.get_int("minor"));
  job.location = {library,
                  builtins,
                  {includes.begin(), includes.end()},
                  static_cast<int>(major),
                  static_cast<int>(minor)};
  AK_TRY(name, in.get_string("name"));
  AK_TRY(options, strings(in, "options"));
  AK_TRY(entries, strings(in, "entries"));
  AK_TRY(header_names, strings(in, "headers"));
  AK_TRY(sandbox, in.get_bool("sandbox"));
  if (parts.size() != 2 + header_names.size()) return internal_error("job: {} parts", parts.size());
  for (std::size_t i = 0; i < header_names.size(); ++i)
    job.headers.push_back({header_names[i], parts[2 + i]});
  job.name = std::move(name);
  job.text = std::move(parts[1]);
  job.options = std::move(options);
  job.entries = std::move(entries);
  job.confinement = sandbox ? Confinement::kSandbox : Confinement::kNone;
  return job;
}

std::string encode(const NvrtcAnswer& answer) {
  const std::string json = dump({{"outcome", static_cast<int>(answer.outcome)}, {"symbols", answer.symbols}});
  return frame({json, answer.message, answer.log, answer.ptx, answer.cubin});
}

Result<NvrtcAnswer> decode_answer(std::string_view text) {
  AK_TRY(parts, unframe(text));
  if (parts.size() != 5) return internal_error("answer: {} parts", parts.size());
  AK_TRY(json, parse_json(parts[0], "answer"));
  AK_TRY(in, JsonReader::object(json, "answer"));
  AK_TRY(outcome, in.get_int("outcome"));
  if (outcome < 0 || outcome > static_cast<int>(NvrtcAnswer::Outcome::kEnvironment)) {
    return internal_error("answer.outcome: {}", outcome);
  }
  AK_TRY(symbols, strings(in, "symbols"));
  NvrtcAnswer answer;
  answer.outcome = static_cast<NvrtcAnswer::Outcome>(outcome);
  answer.message = std::move(parts[1]);
  answer.log = std::move(parts[2]);
  answer.ptx = std::move(parts[3]);
  answer.cubin = std::move(parts[4]);
  answer.symbols = std::move(symbols);
  return answer;
}

}  // namespace ak::cuda
