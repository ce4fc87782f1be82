#include "autokernel/torch/baselines.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "autokernel/base/clock.h"
#include "autokernel/base/file.h"
#include "autokernel/base/hash.h"
#include "autokernel/base/json.h"
#include "autokernel/base/subprocess.h"
#include "autokernel/base/text_lines.h"
#include "autokernel/core/field_reader.h"
#include "autokernel/embed/python_bridge.h"

namespace ak::torch {
namespace {

constexpr int kReplays = 30;
constexpr int kFormat = 1;  ///< of the files in the cache

Json to_json(const Baseline& baseline) {
  return {{"schema", kFormat},
          {"times_us", baseline.times_us},
          {"errors", baseline.errors},
          {"torch", baseline.torch_version},
          {"device", baseline.device_name},
          {"measured_at", baseline.measured_at}};
}

Result<Baseline> from_json(const Json& json, const std::string& what) {
  AK_TRY(in, FieldReader::object(json, what));
  Baseline baseline;
  in.read("times_us", baseline.times_us);
  in.read("errors", baseline.errors);
  in.read("torch", baseline.torch_version);
  in.read("device", baseline.device_name);
  in.read("measured_at", baseline.measured_at);
  return in.finish(std::move(baseline));
}

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

std::string script() {
  for (const EmbeddedFile& file : embed::python_bridge()) {
    if (file.path == "autokernel/baselines.py") return std::string(file.text);
  }
  return "";
}

/// The child's answers: a greeting, then one line for each problem.
Result<std::vector<Json>> answers_of(const BaselineOptions& options, const Json& request) {
  Result<ProcessResult> done = run_process({.argv = {options.python, "-c", script()},
                                            .input = request.dump(),
                                            .deadline = options.deadline,
                                            .output_cap_bytes = 4u << 20});
  if (!done) return tl::unexpected(std::move(done).error().with_context("PyTorch baselines"));
  std::vector<Json> answers;
  for (std::string_view line : lines_of(done->out)) {
    if (line.empty()) continue;
    AK_TRY(json, parse_json(line, "an answer of the baselines' child"));
    if (json.contains("error"))
      return environment_error("PyTorch baselines: {}", json["error"].get<std::string>());
    answers.push_back(std::move(json));
  }
  if (!answers.empty()) return answers;
  return environment_error("PyTorch baselines: {} {}: {}", options.python,
                           done->timed_out ? "did not answer in time" : "ended without an answer",
                           done->err.substr(0, 500));
}

}  // namespace

std::optional<std::string> Baseline::fastest() const {
  const auto best = std::min_element(times_us.begin(), times_us.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return best == times_us.end() ? std::nullopt : std::optional(best->first);
}

std::filesystem::path Baselines::file_of(const op::Family& family, const Problem& problem) const {
  const std::string key = content_hash({device_.uuid, options_.python, script(), family.torch_module,
                                        problem.hash(), options_.compile ? "compile" : ""});
  return options_.cache / "baselines" / (key + ".json");
}

Result<std::optional<Baseline>> Baselines::find(const op::Family& family, const Problem& problem) const {
  const std::filesystem::path file = file_of(family, problem);
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return std::optional<Baseline>();
  Result<std::string> text = read_file(file);
  Result<Json> json = text ? parse_json(*text, file.string()) : Result<Json>(tl::unexpected(text.error()));
  Result<Baseline> baseline =
      json ? from_json(*json, file.string()) : Result<Baseline>(tl::unexpected(json.error()));
  if (!baseline) return std::optional<Baseline>();  // a damaged cache is measured again
  return std::optional(std::move(*baseline));
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

Result<std::vector<Baseline>> Baselines::measure(const std::vector<BaselineRequest>& requests) const {
  std::vector<std::optional<Baseline>> found;
  Json problems = Json::array();
  for (const BaselineRequest& each : requests) {
    AK_TRY(known, find(*each.family, each.problem));
    found.push_back(std::move(known));
    if (found.back()) continue;
    if (each.family->torch_module.empty())
      return usage_error("op family {} has no torch.py: PyTorch cannot be timed on it", each.family->name);
    AK_TRY(problem, request_json(each));
    problem["id"] = std::to_string(found.size() - 1);
    problems.push_back(std::move(problem));
  }
  if (!problems.empty()) {
    AK_TRY(answers, answers_of(options_, {{"device", device_.kind},
                                          {"l2_bytes", device_.l2_bytes},
                                          {"replays", kReplays},
                                          {"compile", options_.compile},
                                          {"problems", std::move(problems)}}));
    const Json greeting = answers.front();
    for (std::size_t i = 1; i < answers.size(); ++i) {
      Baseline baseline;
      AK_TRY(in, FieldReader::object(answers[i], "an answer of the baselines' child"));
      std::string id;
      in.read("id", id);
      in.read("times", baseline.times_us);
      in.read("errors", baseline.errors);
      AK_TRY(read, in.finish(std::move(baseline)));
      read.torch_version = greeting.value("torch", "");
      read.device_name = greeting.value("device", "");
      read.measured_at = iso_time(std::chrono::system_clock::now());
      const std::size_t index = static_cast<std::size_t>(std::strtoul(id.c_str(), nullptr, 10));
      if (index >= found.size()) return internal_error("the baselines' child answered problem {}", id);
      const std::filesystem::path file = file_of(*requests[index].family, requests[index].problem);
      AK_TRY_VOID(ak::create_directories(file.parent_path()));
      AK_TRY_VOID(write_file_atomic(file, to_json(read).dump(1) + "\n"));
      found[index] = std::move(read);
    }
  }
  std::vector<Baseline> all;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) {
      return environment_error("PyTorch baselines: no answer for {} (the child ended early)",
                               requests[i].problem.label());
    }
    all.push_back(std::move(*found[i]));
  }
  return all;
}

}  // namespace ak::torch
