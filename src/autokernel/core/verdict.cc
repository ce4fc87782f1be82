#include "autokernel/core/verdict.h"

#include <nlohmann/json.hpp>

#include "autokernel/core/field_reader.h"

namespace ak {
namespace {

Json json_numbers(const std::vector<double>& values) {
  Json json = Json::array();
  for (const double value : values) json.push_back(json_number(value));
  return json;
}

/// "PASS"/"FAIL" and "on"/"off" of the machine-readable results.
void read_word(FieldReader& in, std::string_view field, bool& out, std::string_view yes,
               std::string_view no) {
  std::string word;
  in.read(field, word);
  if (word != yes && word != no) in.fail(field, fmt::format("\"{}\" or \"{}\"", yes, no), '"' + word + '"');
  out = word == yes;
}

}  // namespace

std::string_view name(CacheState state) { return state == CacheState::kCold ? "cold" : "warm"; }

std::optional<CacheState> cache_state_from_name(std::string_view name) {
  if (name == "cold") return CacheState::kCold;
  if (name == "warm") return CacheState::kWarm;
  return std::nullopt;
}

Json to_json(const TimeEstimate& time) {
  return {{"median", json_number(time.median_us)},
          {"ci_low", json_number(time.ci_low_us)},
          {"ci_high", json_number(time.ci_high_us)}};
}

Result<TimeEstimate> time_estimate_from_json(const Json& json, const std::string& what) {
  AK_TRY(in, FieldReader::object(json, what));
  TimeEstimate time;
  in.read("median", time.median_us);
  in.read("ci_low", time.ci_low_us);
  in.read("ci_high", time.ci_high_us);
  return in.finish(time);
}

Json to_json(const Comparison& comparison) {
  return {{"ratio", json_number(comparison.ratio)},
          {"ci_low", json_number(comparison.ci_low)},
          {"ci_high", json_number(comparison.ci_high)},
          {"incumbent_us", to_json(comparison.incumbent)}};
}

Result<Comparison> comparison_from_json(const Json& json, const std::string& what) {
  AK_TRY(in, FieldReader::object(json, what));
  Comparison comparison;
  in.read("ratio", comparison.ratio);
  in.read("ci_low", comparison.ci_low);
  in.read("ci_high", comparison.ci_high);
  in.read("incumbent_us", comparison.incumbent, time_estimate_from_json);
  return in.finish(comparison);
}

Json to_json(const Timing& timing) {
  Json json = to_json(timing.problem);
  json["problem_id"] = timing.problem_id;
  json["size"] = timing.size;
  json["time_us"] = to_json(timing.time);
  json["cold_us"] = json_optional(timing.cold_us);
  json["l2"] = name(timing.l2);
  json["floor_us"] = json_optional(timing.floor_us);
  json["gbps"] = json_number(timing.gbps);
  json["tflops"] = json_number(timing.tflops);
  json["peak_gbps"] = json_number(timing.peak_gbps);
  json["peak_tflops"] = json_number(timing.peak_tflops);
  json["footprint_bytes"] = json_number(timing.footprint_bytes);
  json["baseline_us"] = json_optional(timing.baseline_us);
  json["baseline"] = timing.baseline;
  const bool comparable = timing.baseline_us && timing.time.median_us > 0;
  json["speedup_vs_pytorch"] =
      comparable ? json_number(*timing.baseline_us / timing.time.median_us) : Json(nullptr);
  json["versus"] = timing.versus ? to_json(*timing.versus) : Json(nullptr);
  json["rounds_us"] = json_numbers(timing.rounds_us);
  json["incumbent_rounds_us"] = json_numbers(timing.incumbent_rounds_us);
  return json;
}

Result<Timing> timing_from_json(const Json& json, const std::string& what) {
  AK_TRY(in, FieldReader::object(json, what));
  Timing timing;
  AK_TRY(problem, problem_from_json(json, what));
  timing.problem = std::move(problem);
  in.read("problem_id", timing.problem_id);
  in.read("size", timing.size);
  in.read("time_us", timing.time, time_estimate_from_json);
  in.read_optional("cold_us", timing.cold_us);
  in.read_name("l2", timing.l2, cache_state_from_name);
  in.read_optional("floor_us", timing.floor_us);
  in.read("gbps", timing.gbps);
  in.read("tflops", timing.tflops);
  in.read("peak_gbps", timing.peak_gbps);
  in.read("peak_tflops", timing.peak_tflops);
  in.read("footprint_bytes", timing.footprint_bytes);
  in.read_optional("baseline_us", timing.baseline_us);
  in.read("baseline", timing.baseline);
  in.read_optional("versus", timing.versus, comparison_from_json);
  in.read("rounds_us", timing.rounds_us);
  in.read("incumbent_rounds_us", timing.incumbent_rounds_us);
  return in.finish(std::move(timing));
}

Json to_json(const Verdict& verdict) {
  Json timings = Json::array();
  for (const Timing& timing : verdict.timings) timings.push_back(to_json(timing));
  return {{"schema", kSchema},
          {"correctness", verdict.passed ? "PASS" : "FAIL"},
          {"stages", verdict.stages},
          {"stage_s", verdict.stage_s},
          {"failure", verdict.failure ? to_json(*verdict.failure) : Json(nullptr)},
          {"flags", verdict.flags},
          {"timings", std::move(timings)},
          {"sandbox", verdict.sandboxed ? "on" : "off"},
          {"selftest", verdict.selftest},
          {"worst_error", json_number(verdict.worst_error)},
          {"peak_memory_bytes", verdict.peak_memory_bytes},
          {"compile_s", json_number(verdict.compile_s)},
          {"wall_s", json_number(verdict.wall_s)},
          {"device", to_json(verdict.device)}};
}

Result<Verdict> verdict_from_json(const Json& json, const std::string& what) {
  AK_TRY(in, FieldReader::top_level(json, what));
  Verdict verdict;
  read_word(in, "correctness", verdict.passed, "PASS", "FAIL");
  in.read("stages", verdict.stages);
  in.read("stage_s", verdict.stage_s);
  in.read_optional("failure", verdict.failure, failure_from_json);
  in.read("flags", verdict.flags);
  in.read_array("timings", verdict.timings, timing_from_json);
  read_word(in, "sandbox", verdict.sandboxed, "on", "off");
  in.read("selftest", verdict.selftest);
  in.read("worst_error", verdict.worst_error);
  in.read("peak_memory_bytes", verdict.peak_memory_bytes);
  in.read("compile_s", verdict.compile_s);
  in.read("wall_s", verdict.wall_s);
  in.read("device", verdict.device, device_info_from_json);
  return in.finish(std::move(verdict));
}

}  // namespace ak
