#include "autokernel/harness/job.h"

#include <nlohmann/json.hpp>

namespace ak::harness {
namespace {

Json candidate_json(const CandidateText& candidate) {
  return {{"name", candidate.name}, {"text", candidate.text}, {"config", to_json(candidate.config)}};
}

Result<CandidateText> candidate_from_json(const Json& json, const std::string& what) {
  AK_TRY(fields, JsonReader::object(json, what));
  AK_TRY(name, fields.get_string("name"));
  AK_TRY(text, fields.get_string("text"));
  AK_TRY(config_json, fields.get("config"));
  AK_TRY(config, config_from_json(*config_json, what + ".config"));
  return CandidateText{std::move(name), std::move(text), std::move(config)};
}

Result<Depth> depth_from_name(const std::string& text, const std::string& what) {
  for (Depth depth : {Depth::kSmoke, Depth::kTrial, Depth::kFull}) {
    if (name(depth) == text) return depth;
  }
  return usage_error("{}: unknown depth `{}` (smoke, trial, full)", what, text);
}

}  // namespace

std::string_view name(Depth depth) {
  switch (depth) {
    case Depth::kSmoke:
      return "smoke";
    case Depth::kTrial:
      return "trial";
    case Depth::kFull:
      return "full";
  }
  return "full";
}

Json to_json(const Job& job) {
  Json json = {{"schema", 1},
               {"target", to_json(job.target)},
               {"candidate", candidate_json(job.candidate)},
               {"depth", std::string(name(job.depth))},
               {"seed", fmt::format("{:x}", job.seed)},
               {"time_budget_s", job.time_budget_s}};
  if (job.incumbent) json["incumbent"] = candidate_json(*job.incumbent);
  return json;
}

Result<Job> job_from_json(const Json& json, const std::string& what) {
  AK_TRY(fields, JsonReader::object(json, what));
  AK_TRY(target_json, fields.get_object("target"));
  AK_TRY(candidate_json, fields.get_object("candidate"));
  AK_TRY(depth_text, fields.get_string("depth"));
  AK_TRY(seed_text, fields.get_string("seed"));
  AK_TRY(budget, fields.get_double("time_budget_s"));
  Job job;
  AK_TRY(target, target_from_json(*target_json, what + ".target"));
  AK_TRY(candidate, candidate_from_json(*candidate_json, what + ".candidate"));
  AK_TRY(depth, depth_from_name(depth_text, what + ".depth"));
  if (seed_text.empty() || seed_text.size() > 16 ||
      seed_text.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return usage_error("{}.seed: expected up to 16 hexadecimal digits", what);
  }
  if (!(budget > 0 && budget <= 600)) return usage_error("{}.time_budget_s: expected 0 to 600", what);
  job.target = std::move(target);
  job.candidate = std::move(candidate);
  job.depth = depth;
  job.seed = std::stoull(seed_text, nullptr, 16);
  job.time_budget_s = budget;
  if (fields.has("incumbent")) {
    AK_TRY(incumbent_json, fields.get_object("incumbent"));
    AK_TRY(incumbent, candidate_from_json(*incumbent_json, what + ".incumbent"));
    job.incumbent = std::move(incumbent);
  }
  return job;
}

}  // namespace ak::harness
