#include "autokernel/core/problem.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "autokernel/base/hash.h"
#include "autokernel/core/field_reader.h"

namespace ak {

bool Problem::has_tensor(const std::string& tensor) const {
  return std::find(has.begin(), has.end(), tensor) != has.end();
}

std::string Problem::label() const {
  std::string text;
  for (const auto& [name, value] : dims) text += fmt::format("{}={} ", name, value);
  for (const auto& [name, value] : flags) {
    if (value != 0) text += fmt::format("{}={} ", name, value);
  }
  text += name(dtype);
  for (const std::string& tensor : has) text += " +" + tensor;
  for (const auto& [tensor, steps] : strides) text += fmt::format(" {}:strided", tensor);
  return text;
}

std::string Problem::hash() const {
  return content_hash(to_json(*this).dump(-1, ' ', true, Json::error_handler_t::replace));
}

std::string_view name(Role role) { return role == Role::kPrimary ? "primary" : "sweep"; }

std::optional<Role> role_from_name(std::string_view name) {
  if (name == "primary") return Role::kPrimary;
  if (name == "sweep") return Role::kSweep;
  return std::nullopt;
}

Json to_json(const Problem& problem) {
  Json scalars = Json::object();
  for (const auto& [name, value] : problem.scalars) scalars[name] = json_number(value);
  return {{"schema", kSchema},
          {"op", problem.op},
          {"dims", problem.dims},
          {"flags", problem.flags},
          {"scalars", std::move(scalars)},
          {"dtype", name(problem.dtype)},
          {"strides", problem.strides},
          {"has", problem.has}};
}

Result<Problem> problem_from_json(const Json& json, const std::string& what) {
  AK_TRY(in, FieldReader::top_level(json, what));
  Problem problem;
  in.read("op", problem.op);
  in.read("dims", problem.dims);
  in.read("flags", problem.flags);
  in.read("scalars", problem.scalars);
  in.read_name("dtype", problem.dtype, dtype_from_name);
  in.read("strides", problem.strides);
  in.read("has", problem.has);
  std::sort(problem.has.begin(), problem.has.end());
  return in.finish(std::move(problem));
}

namespace {

Json to_json(const TargetProblem& it) {
  return {{"id", it.id},
          {"problem", ak::to_json(it.problem)},
          {"calls", json_number(it.calls)},
          {"sites", it.sites},
          {"role", name(it.role)}};
}

Result<TargetProblem> target_problem_from_json(const Json& json, const std::string& what) {
  AK_TRY(in, FieldReader::object(json, what));
  TargetProblem it;
  in.read("id", it.id);
  in.read("problem", it.problem, problem_from_json);
  in.read("calls", it.calls);
  in.read("sites", it.sites);
  in.read_name("role", it.role, role_from_name);
  return in.finish(std::move(it));
}

}  // namespace

std::string objective_scope(const Target& target) {
  std::size_t problems = 0;
  double calls = 0;
  for (const TargetProblem& each : target.problems) {
    if (each.role != Role::kPrimary) continue;
    ++problems;
    calls += each.calls;
  }
  if (problems > 1) return fmt::format("all calls of {} problems", problems);
  return calls == 1 ? "" : fmt::format("all {:g} calls", calls);
}

Json to_json(const Target& target) {
  Json problems = Json::array();
  for (const TargetProblem& it : target.problems) problems.push_back(to_json(it));
  return {{"schema", kSchema}, {"id", target.id}, {"op", target.op}, {"problems", std::move(problems)}};
}

Result<Target> target_from_json(const Json& json, const std::string& what) {
  AK_TRY(in, FieldReader::top_level(json, what));
  Target target;
  in.read("id", target.id);
  in.read("op", target.op);
  in.read_array("problems", target.problems, target_problem_from_json);
  return in.finish(std::move(target));
}

}  // namespace ak
