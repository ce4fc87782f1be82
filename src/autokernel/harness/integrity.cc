#include <algorithm>

#include "autokernel/harness/hidden_shapes.h"
#include "autokernel/harness/pipeline.h"

namespace ak::harness {
namespace {

/// Does the probe's own condition hold on this problem?
bool holds_where(const op::Family& family, const Problem& problem, const op::Probe& probe) {
  if (!probe.where) return true;
  Result<std::int64_t> holds = probe.where->evaluate(op::names_of(family, problem));
  return holds && *holds != 0;
}

}  // namespace

Outcome Pipeline::integrity() {
  AK_TRY(problem, small_problem());
  for (auto check : {&Pipeline::checked, &Pipeline::moved, &Pipeline::isolated, &Pipeline::probes}) {
    AK_TRY(failure, (this->*check)(problem));
    if (failure) return std::optional(std::move(*failure));
  }
  return std::optional<Failure>();
}

/// place.vary: other addresses, another order of buffers, only the declared alignment.
Outcome Pipeline::moved(const Problem& problem) {
  if (!context_.checks.on("place.vary")) return std::optional<Failure>();
  std::vector<const op::Draw*> draws = draws_of(context_.family, Stage::kSmoke);
  for (std::uint32_t skew : {1U, 3U}) {
    Placement placement{device::Guard::kRedZone, skew, Placement::Order::kReversed};
    AK_TRY(failure, verify(problem, std::span(draws).first(1), Stage::kIntegrity, "place.vary", placement));
    if (failure) return std::optional(std::move(*failure));
  }
  return std::optional<Failure>();
}

/// isolate: X, Y, X on the same pointers; what ran in between must not show.
Outcome Pipeline::isolated(const Problem& problem) {
  if (!context_.checks.on("isolate")) return std::optional<Failure>();
  AK_TRY(prepared, candidate_->prepare(problem, Build::kTimed));
  if (auto* failure = std::get_if<Failure>(&prepared)) return std::optional(std::move(*failure));
  AK_TRY(bench, Bench::create(context_, references_, problem, std::get<Prepared>(prepared), {}));
  const op::Draw& draw = *draws_of(context_.family, Stage::kSmoke).front();
  std::uint64_t x = context_.seeds.next(), y = context_.seeds.next();
  for (std::uint64_t seed : {x, y, x}) {
    AK_TRY_VOID(bench.load_inputs(draw, nullptr, seed));
    AK_TRY(launch_failure, bench.launch(Stage::kIntegrity, Poison::kFinite, Bench::ScrubFirst::kNo));
    if (launch_failure) return std::optional(std::move(*launch_failure));
    AK_TRY(failure, bench.compare(Stage::kIntegrity, "isolate", nullptr, &verdict_.worst_error));
    if (failure) return std::optional(std::move(*failure));
  }
  return std::optional<Failure>();
}

/// input.probe: changes of an input that must show in the result exactly as the reference says.
Outcome Pipeline::probes(const Problem& problem) {
  if (!context_.checks.on("input.probe") || context_.family.probes.empty()) return std::optional<Failure>();
  AK_TRY(prepared, candidate_->prepare(problem, Build::kTimed));
  if (auto* failure = std::get_if<Failure>(&prepared)) return std::optional(std::move(*failure));
  AK_TRY(bench, Bench::create(context_, references_, problem, std::get<Prepared>(prepared), {}));
  const op::Draw& draw = *draws_of(context_.family, Stage::kSmoke).front();
  auto present = context_.family.inputs(problem);
  for (const op::Probe& probe : context_.family.probes) {
    bool applies = std::any_of(present.begin(), present.end(), [&](const op::TensorSpec* tensor) {
      return tensor->name == probe.tensor && !(tensor->dtype && unit_roundoff(*tensor->dtype) == 0);
    });
    if (!applies || !holds_where(context_.family, problem, probe)) continue;
    AK_TRY_VOID(bench.load_inputs(draw, &probe, context_.seeds.next()));
    AK_TRY(launch_failure, bench.launch(Stage::kIntegrity, Poison::kNan, Bench::ScrubFirst::kNo));
    if (launch_failure) return std::optional(std::move(*launch_failure));
    AK_TRY(failure, bench.compare(Stage::kIntegrity, "input.probe", nullptr, &verdict_.worst_error));
    if (failure) return std::optional(std::move(*failure));
  }
  return std::optional<Failure>();
}

/// checked.*: the instrumented build finds races, overruns, uninitialised reads and divergent barriers.
Outcome Pipeline::checked(const Problem& problem) {
  if (!context_.device.info().checked_build) return std::optional<Failure>();
  AK_TRY(targets, small_variants(context_, *candidate_, smallest_target_problem()));
  AK_TRY(hidden, hidden_shapes(context_, *candidate_, job_.target.problems.front().problem, 1));
  std::vector<Problem> problems = {problem};
  problems.insert(problems.end(), targets.begin(), targets.end());
  problems.insert(problems.end(), hidden.begin(), hidden.end());
  for (const Problem& each : problems) {
    AK_TRY(failure, run_checked(each));
    if (failure) return std::optional(std::move(*failure));
  }
  return std::optional<Failure>();
}

Outcome Pipeline::run_checked(const Problem& problem) {
  AK_TRY(prepared, candidate_->prepare(problem, Build::kChecked));
  if (auto* failure = std::get_if<Failure>(&prepared)) return std::optional(std::move(*failure));
  AK_TRY(bench, Bench::create(context_, references_, problem, std::get<Prepared>(prepared), {}));
  AK_TRY_VOID(
      bench.load_inputs(*draws_of(context_.family, Stage::kSmoke).front(), nullptr, context_.seeds.next()));
  AK_TRY(failure, bench.launch(Stage::kIntegrity, Poison::kNan, Bench::ScrubFirst::kNo));
  if (failure && context_.checks.on(failure->check)) return std::optional(std::move(*failure));
  return std::optional<Failure>();
}

Status Pipeline::explain(Failure& failure) {
  bool explicable = failure.kind == FailureKind::kWrong || failure.kind == FailureKind::kCrash ||
                    failure.kind == FailureKind::kNondeterministic ||
                    failure.kind == FailureKind::kOutOfBounds;
  if (!explicable || !failed_on_ || !context_.checks.complete() || job_.depth == Depth::kTrial ||
      !context_.device.info().checked_build || failure.check.starts_with("checked.")) {
    return {};
  }
  AK_TRY(problems, small_variants(context_, *candidate_, *failed_on_));
  for (const Problem& problem : problems) {
    AK_TRY(cause, run_checked(problem));
    if (!cause || !cause->check.starts_with("checked.")) continue;
    failure.message += fmt::format("; the checked build says why ({}): {}", cause->check, cause->message);
    return {};
  }
  return {};
}

}  // namespace ak::harness
