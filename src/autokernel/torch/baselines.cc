#include "autokernel/torch/baselines.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "autokernel/base/clock.h"
#include "autokernel/base/file.h"
#include "autokernel/base/hash.h"
#include "autokernel/base/json.h"
#include "autokernel/base/subprocess.h"
#include "autokernel/base/text_lines.h"
#include "autokernel/core/field_reader.h"
#include "autokernel/torch/bridge.h"

namespace ak::torch {
namespace {

constexpr int kReplays = 30;
constexpr std::size_t kShownError = 500;
constexpr int kFormat = 1;  ///< of the files in the cache
constexpr std::chrono::minutes kDeadline{10};

}  // namespace

Json to_json(const Baseline& baseline) {
  return {{"schema", kFormat},
          {"times_us", baseline.times_us},
          {"errors", baseline.errors},
          {"torch", baseline.torch_version},
          {"device", baseline.device_name},
          {"measured_at", baseline.measured_at}};
}

Result<Baseline> baseline_from_json(const Json& json, const std::string& what) {
  AK_TRY(in, FieldReader::object(json, what));
  Baseline baseline;
  in.read("times_us", baseline.times_us);
  in.read("errors", baseline.errors);
  in.read("torch", baseline.torch_version);
  in.read("device", baseline.device_name);
  in.read("measured_at", baseline.measured_at);
  return in.finish(std::move(baseline));
}

namespace {

/// Integer tensors (targets, ids) need their range: that of the family's first draw that has one.
Status add_range(Json& spec, const op::Family& family, const op::TensorSpec& tensor, const Problem& problem) {
  for (const op::Draw& draw : family.draws) {
    const auto distribution = draw.tensors.find(tensor.name);
    if (distribution == draw.tensors.end() || distribution->second.kind != "integers") continue;
    for (const char* bound : {"low", "high"}) {
      const auto expr = distribution->second.exprs.find(bound);
      const auto fixed = distribution->second.params.find(bound);
      if (expr != distribution->second.exprs.end()) {
        AK_TRY(value, expr->second.evaluate(op::names_of(family, problem)));
        spec[bound] = value;
      } else {
        spec[bound] =
            fixed != distribution->second.params.end() ? static_cast<std::int64_t>(fixed->second) : 0;
      }
    }
    return {};
  }
  return usage_error("op family {}: no draw says which integers {} holds", family.name, tensor.name);
}

Result<Json> request_json(const BaselineRequest& request) {
  Json inputs = Json::array();
  for (const op::TensorSpec* tensor : request.family->inputs(request.problem)) {
    AK_TRY(shape, op::shape_of(*request.family, *tensor, request.problem));
    const DType dtype = tensor->dtype.value_or(request.problem.dtype);
    Json spec = {{"name", tensor->name}, {"shape", shape}, {"dtype", std::string(name(dtype))}};
    if (unit_roundoff(dtype) == 0) AK_TRY_VOID(add_range(spec, *request.family, *tensor, request.problem));
    inputs.push_back(std::move(spec));
  }
  Json scalars = Json::object();
  for (const op::ScalarSpec& scalar : request.family->scalars) {
    const auto value = request.problem.scalars.find(scalar.name);
    if (value == request.problem.scalars.end()) continue;
    const bool whole = scalar.type == op::ScalarSpec::Type::kInt;
    scalars[scalar.name] = whole ? Json(static_cast<std::int64_t>(value->second)) : Json(value->second);
  }
  return Json{{"torch_py", request.family->torch_module},
              {"flags", request.problem.flags},
              {"scalars", std::move(scalars)},
              {"dims", request.problem.dims},
              {"inputs", std::move(inputs)}};
}

std::string script() { return std::string(bridge_file("autokernel/baselines.py")); }

/// PyTorch's first GPU is the one that kernels are measured on, also where there are several.
std::vector<std::string> environment_for(const DeviceInfo& device) {
  constexpr std::string_view kVisible = "CUDA_VISIBLE_DEVICES=";
  std::vector<std::string> environment;
  bool chosen = !device.uuid.starts_with("GPU-");
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const bool several = text.starts_with(kVisible) && text.find(',') != text.npos;
    if (several) continue;
    chosen = chosen || text.starts_with(kVisible);
    environment.emplace_back(text);
  }
  if (!chosen) environment.push_back(std::string(kVisible) + device.uuid);
  return environment;
}

/// One answer, and which problem it is for.
Result<std::pair<std::size_t, Baseline>> read_answer(const Json& answer, const Json& greeting) {
  Baseline baseline;
  AK_TRY(in, FieldReader::object(answer, "an answer of the baselines' child"));
  std::string id;
  in.read("id", id);
  in.read("times", baseline.times_us);
  in.read("errors", baseline.errors);
  AK_TRY(read, in.finish(std::move(baseline)));
  read.torch_version = greeting.value("torch", "");
  read.device_name = greeting.value("device", "");
  read.measured_at = iso_time(std::chrono::system_clock::now());
  return std::pair(static_cast<std::size_t>(std::strtoul(id.c_str(), nullptr, 10)), std::move(read));
}

}  // namespace

/// The child's answers: a greeting, then one line for each problem that was ready by the deadline.
Result<std::vector<Json>> Baselines::answers_of(const Json& request,
                                                std::chrono::milliseconds deadline) const {
  Result<ProcessResult> done = run_process({.argv = {options_.python, "-c", script()},
                                            .environment = environment_for(device_),
                                            .input = request.dump(),
                                            .deadline = deadline,
                                            .output_cap_bytes = 4u << 20});
  if (!done) return tl::unexpected(std::move(done).error().with_context("PyTorch baselines"));
  std::vector<Json> answers;
  std::vector<std::string_view> lines = lines_of(done->out);
  if (done->timed_out && !done->out.ends_with('\n') && !lines.empty()) lines.pop_back();  // half a line
  for (std::string_view line : lines) {
    if (line.empty()) continue;
    AK_TRY(json, parse_json(line, "an answer of the baselines' child"));
    if (json.contains("error"))
      return environment_error("PyTorch baselines: {}", json["error"].get<std::string>());
    answers.push_back(std::move(json));
  }
  if (answers.empty()) {
    return environment_error("PyTorch baselines: {} {}: {}", options_.python,
                             done->timed_out ? "did not answer in time" : "ended without an answer",
                             last_bytes(done->err, kShownError));
  }
  const std::string seen = answers.front().value("device", "");
  if (device_.kind == "cuda" && seen != device_.name) {
    return environment_error(
        "PyTorch baselines: PyTorch in {} runs on `{}`, the kernels on `{}`: times of two devices are not "
        "compared",
        options_.python, seen, device_.name);
  }
  return answers;
}

std::optional<std::string> Baseline::fastest() const {
  const auto best = std::min_element(times_us.begin(), times_us.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return best == times_us.end() ? std::nullopt : std::optional(best->first);
}

std::filesystem::path Baselines::file_of(const op::Family& family, const Problem& problem,
                                         Paths paths) const {
  const std::string key = content_hash({device_.uuid, options_.python, script(), family.torch_module,
                                        problem.hash(), paths == Paths::kAll ? "compile" : ""});
  return options_.cache / "baselines" / (key + ".json");
}

/// A damaged file is none: it is measured again.
std::optional<Baseline> Baselines::stored(const op::Family& family, const Problem& problem,
                                          Paths paths) const {
  const std::filesystem::path file = file_of(family, problem, paths);
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return std::nullopt;
  const Result<std::string> text = read_file(file);
  if (!text) return std::nullopt;
  const Result<Json> json = parse_json(*text, file.string());
  if (!json) return std::nullopt;
  Result<Baseline> baseline = baseline_from_json(*json, file.string());
  return baseline ? std::optional(std::move(*baseline)) : std::nullopt;
}

Result<std::optional<Baseline>> Baselines::find(const op::Family& family, const Problem& problem) const {
  std::optional<Baseline> all = stored(family, problem, Paths::kAll);
  return all ? std::move(all) : stored(family, problem, Paths::kEager);
}

Status Baselines::annotate(const op::Family& family, Verdict& verdict) const {
  for (Timing& timing : verdict.timings) {
    AK_TRY(known, find(family, timing.problem));
    const std::optional<std::string> path = known ? known->fastest() : std::nullopt;
    if (!path) continue;
    timing.baseline = *path;
    timing.baseline_us = known->times_us.at(*path);
  }
  return {};
}

Result<std::vector<std::optional<Baseline>>> Baselines::measure_within(
    const std::vector<BaselineRequest>& requests, Paths paths, std::chrono::milliseconds deadline) const {
  std::vector<std::optional<Baseline>> found;
  Json problems = Json::array();
  for (const BaselineRequest& each : requests) {
    found.push_back(stored(*each.family, each.problem, Paths::kAll));
    if (!found.back() && paths == Paths::kEager)
      found.back() = stored(*each.family, each.problem, Paths::kEager);
    if (found.back()) continue;
    if (each.family->torch_module.empty())
      return usage_error("op family {} has no torch.py: PyTorch cannot be timed on it", each.family->name);
    AK_TRY(problem, request_json(each));
    problem["id"] = std::to_string(found.size() - 1);
    problems.push_back(std::move(problem));
  }
  if (problems.empty()) return found;
  AK_TRY(answers, answers_of({{"device", device_.kind},
                              {"l2_bytes", device_.l2_bytes},
                              {"replays", kReplays},
                              {"compile", paths == Paths::kAll},
                              {"problems", std::move(problems)}},
                             deadline));
  for (std::size_t i = 1; i < answers.size(); ++i) {
    AK_TRY(answer, read_answer(answers[i], answers.front()));
    auto& [index, baseline] = answer;
    if (index >= found.size()) return internal_error("the baselines' child answered problem {}", index);
    const std::filesystem::path file = file_of(*requests[index].family, requests[index].problem, paths);
    AK_TRY_VOID(ak::create_directories(file.parent_path()));
    AK_TRY_VOID(write_file_atomic(file, to_json(baseline).dump(1) + "\n"));
    found[index] = std::move(baseline);
  }
  return found;
}

Result<std::vector<Baseline>> Baselines::measure(const std::vector<BaselineRequest>& requests) const {
  AK_TRY(found, measure_within(requests, Paths::kAll, kDeadline));
  std::vector<Baseline> all;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) {
      return environment_error(
          "PyTorch baselines: no answer for {} (the child ended early, or took more than {} "
          "minutes)",
          requests[i].problem.label(), kDeadline.count());
    }
    all.push_back(std::move(*found[i]));
  }
  return all;
}

}  // namespace ak::torch
