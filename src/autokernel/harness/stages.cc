#include <algorithm>

#include "autokernel/harness/hidden_shapes.h"
#include "autokernel/harness/pipeline.h"

namespace ak::harness {
namespace {

constexpr std::size_t kHiddenInTrial = 2;
constexpr std::size_t kHiddenInFull = 6;
constexpr int kRepeats = 10;
constexpr std::uint64_t kEnoughForNorms = 4096;  ///< elements; DESIGN section 6

}  // namespace

Result<Problem> Pipeline::small_problem() {
  AK_TRY(problems, problems_of_set(context_.family, "smoke", job_.target));
  for (const Problem& problem : problems) {
    AK_TRY(invalid, candidate_->invalid_on(problem));
    if (!invalid) return problem;
  }
  return smallest_target_problem();  // where it is invalid, prepare() will say why
}

const Problem& Pipeline::smallest_target_problem() const {
  const TargetProblem* smallest = &job_.target.problems.front();
  auto elements = [&](const TargetProblem& each) {
    return total_elements(context_.family, each.problem).value_or(~std::uint64_t{0});
  };
  for (const TargetProblem& each : job_.target.problems) {
    if (elements(each) < elements(*smallest)) smallest = &each;
  }
  return smallest->problem;
}

Outcome Pipeline::compile() {
  if (job_.target.problems.empty()) return usage_error("the target of {} has no problems", job_.target.op);
  AK_TRY(made, Candidate::create(context_, job_.candidate));
  if (auto* failure = std::get_if<Failure>(&made)) return std::optional(std::move(*failure));
  candidate_ = std::move(std::get<Candidate>(made));
  if (job_.incumbent) {
    AK_TRY(incumbent, Candidate::create(context_, *job_.incumbent));
    if (auto* failure = std::get_if<Failure>(&incumbent)) {
      return usage_error("the incumbent does not fit the target: {}", failure->message);
    }
    incumbent_ = std::move(std::get<Candidate>(incumbent));
  }
  for (const TargetProblem& each : job_.target.problems) {
    AK_TRY(invalid, candidate_->invalid_on(each.problem));
    if (!invalid) continue;
    return std::optional(
        Failure{Stage::kCompile, FailureKind::kInvalidConfig, "audit.launch",
                fmt::format("{}: {} on {}: {}", candidate_->file().name, candidate_->config().to_string(),
                            each.problem.label(), *invalid)});
  }
  if (job_.depth == Depth::kTrial) {
    for (const TargetProblem& each : job_.target.problems) {
      AK_TRY(prepared, candidate_->prepare(each.problem, Build::kTimed));
      if (auto* failure = std::get_if<Failure>(&prepared)) return std::optional(std::move(*failure));
    }
    return std::optional<Failure>();
  }
  AK_TRY(problem, small_problem());
  AK_TRY(prepared, candidate_->prepare(problem, Build::kTimed));
  if (auto* failure = std::get_if<Failure>(&prepared)) return std::optional(std::move(*failure));
  return std::optional<Failure>();
}

Outcome Pipeline::audit() {
  AK_TRY(problem, small_problem());
  const Problem& audited = job_.depth == Depth::kTrial ? job_.target.problems.front().problem : problem;
  AK_TRY(prepared, candidate_->prepare(audited, Build::kTimed));
  if (auto* failure = std::get_if<Failure>(&prepared)) return std::optional(std::move(*failure));
  CodeFacts facts = std::get<Prepared>(prepared).binary->facts;
  // A cooperative launch finds its grid barrier through these registers, and nothing else is in them.
  const std::vector<LaunchStep>& steps = std::get<Prepared>(prepared).plan.steps;
  if (std::any_of(steps.begin(), steps.end(), [](const LaunchStep& step) { return step.cooperative; })) {
    std::erase(facts.forbidden, "%envreg");
  }
  auto reject = [&](const char* check, const std::string& message) {
    return std::optional(Failure{Stage::kAudit, FailureKind::kAudit, check,
                                 fmt::format("{}: {}", candidate_->file().name, message)});
  };
  bool cpu = context_.device.info().kind == "cpu";
  const char* code_check = cpu ? "audit.symbols" : "audit.code";
  if (context_.checks.on(code_check) && !facts.forbidden.empty()) {
    return reject(code_check,
                  fmt::format("the compiled code uses {}, which a kernel may not", facts.forbidden[0]));
  }
  if (context_.checks.on("audit.state") && !facts.mutable_globals.empty()) {
    return reject("audit.state",
                  fmt::format("`{}` is a global that kernels can write: state must not outlive a launch "
                              "(declare a [[workspace]])",
                              facts.mutable_globals[0]));
  }
  for (const std::string& note : facts.noted) verdict_.flags.push_back("the code uses " + note);
  return std::optional<Failure>();
}

Outcome Pipeline::smoke() {
  if (job_.depth == Depth::kTrial) {
    skip(Stage::kSmoke, "a trial checks its own problem");
    return std::optional<Failure>();
  }
  AK_TRY(problems, problems_of_set(context_.family, "smoke", job_.target));
  std::vector<const op::Draw*> draws = draws_of(context_.family, Stage::kSmoke);
  for (const Problem& problem : problems) {
    AK_TRY(failure, verify_if_valid(problem, draws, Stage::kSmoke, "numeric"));
    if (failure) return std::optional(std::move(*failure));
  }
  if (verified_ == 0) {
    AK_TRY(problem, small_problem());
    AK_TRY(failure, verify(problem, draws, Stage::kSmoke, "numeric", next_placement()));
    if (failure) return std::optional(std::move(*failure));
  }
  return std::optional<Failure>();
}

Outcome Pipeline::shape_sweep() {
  std::vector<const op::Draw*> some = draws_of(context_.family, Stage::kShapeSweep);
  std::vector<const op::Draw*> all = all_draws();
  if (context_.checks.on("shape.hidden")) {
    std::size_t count = job_.depth == Depth::kFull ? kHiddenInFull : kHiddenInTrial;
    AK_TRY(hidden, hidden_shapes(context_, *candidate_, job_.target.problems.front().problem, count));
    for (const Problem& problem : hidden) {
      AK_TRY(failure,
             verify(problem, std::span(some).first(1), Stage::kShapeSweep, "shape.hidden", next_placement()));
      if (failure) return std::optional(std::move(*failure));
    }
  }
  if (job_.depth == Depth::kFull) {
    AK_TRY(problems, problems_of_set(context_.family, "sweep", job_.target));
    for (const Problem& problem : problems) {
      AK_TRY(failure, verify_if_valid(problem, std::span(some).first(1), Stage::kShapeSweep, "numeric"));
      if (failure) return std::optional(std::move(*failure));
    }
  }
  if (!context_.checks.on("shape.timed")) return std::optional<Failure>();
  for (const TargetProblem& each : job_.target.problems) {
    // A trial is one of many: two draws; what is to be kept is verified under all of them.
    std::span<const op::Draw* const> draws =
        job_.depth == Depth::kFull ? std::span(all)
                                   : std::span(some).first(std::min<std::size_t>(2, some.size()));
    AK_TRY(failure, verify(each.problem, draws, Stage::kShapeSweep, "shape.timed", next_placement()));
    if (failure) return std::optional(std::move(*failure));
  }
  return std::optional<Failure>();
}

Outcome Pipeline::numerical_stability() {
  std::vector<const op::Draw*> draws = draws_of(context_.family, Stage::kNumericalStability);
  AK_TRY(problems, problems_of_set(context_.family, "sweep", job_.target));
  for (const Problem& problem : problems) {
    AK_TRY(large, too_large(context_.family, problem, context_.limits));
    AK_TRY(invalid, candidate_->invalid_on(problem));
    if (large || invalid) continue;
    AK_TRY(elements, total_elements(context_.family, problem));
    if (elements < kEnoughForNorms) continue;
    AK_TRY(failure, verify(problem, draws, Stage::kNumericalStability, "numeric", next_placement()));
    if (failure) return std::optional(std::move(*failure));
    break;
  }
  if (verified_ > 0) return std::optional<Failure>();
  return verify(job_.target.problems.front().problem, draws, Stage::kNumericalStability, "numeric",
                next_placement());
}

Outcome Pipeline::determinism() {
  if (!context_.checks.on("repeat")) return std::optional<Failure>();
  const Problem& problem = job_.target.problems.front().problem;
  AK_TRY(prepared, candidate_->prepare(problem, Build::kTimed));
  if (auto* failure = std::get_if<Failure>(&prepared)) return std::optional(std::move(*failure));
  AK_TRY(bench, Bench::create(context_, references_, problem, std::get<Prepared>(prepared), {}));
  AK_TRY_VOID(bench.load_inputs(*draws_of(context_.family, Stage::kDeterminism).front(), nullptr,
                                context_.seeds.next()));
  std::optional<std::uint64_t> first;
  bool reordered = false;
  for (int run = 0; run < kRepeats; ++run) {
    Poison poison = run % 2 == 0 ? Poison::kNan : Poison::kFinite;
    AK_TRY(launch_failure, bench.launch(Stage::kDeterminism, poison, Bench::ScrubFirst::kYes));
    if (launch_failure) return std::optional(std::move(*launch_failure));
    AK_TRY(digest, bench.digest());
    if (digest == first) continue;
    reordered = reordered || first.has_value();  // the first is compared too: scrubbed memory is new to it
    if (!first) first = digest;
    AK_TRY(failure, bench.compare(Stage::kDeterminism, "repeat", nullptr, &verdict_.worst_error));
    if (failure) {
      failure->kind = FailureKind::kNondeterministic;
      failure->message =
          fmt::format("run {} of {} on the same data: {}", run + 1, kRepeats, failure->message);
      return std::optional(std::move(*failure));
    }
  }
  if (reordered)
    verdict_.flags.push_back("results differ between runs within the tolerance (order of additions)");
  return std::optional<Failure>();
}

Outcome Pipeline::edge_cases() {
  if (!context_.checks.on("shape.edge")) return std::optional<Failure>();
  AK_TRY(problems, problems_of_set(context_.family, "edge", job_.target));
  std::vector<const op::Draw*> draws = draws_of(context_.family, Stage::kEdgeCases);
  std::size_t turn = 0;
  for (const Problem& problem : problems) {
    std::span<const op::Draw* const> one(&draws[turn++ % draws.size()], 1);
    AK_TRY(failure, verify_if_valid(problem, one, Stage::kEdgeCases, "shape.edge"));
    if (failure) return std::optional(std::move(*failure));
  }
  if (problems.empty()) skip(Stage::kEdgeCases, "the family has no edge sizes");
  return std::optional<Failure>();
}

}  // namespace ak::harness
