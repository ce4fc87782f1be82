#include "autokernel/harness/pipeline.h"

#include <algorithm>

namespace ak::harness {

Result<bool> Pipeline::stage(Stage which, StageFunction function) {
  verified_ = 0;
  const auto start = context_.clock.now();
  AK_TRY(failure, (this->*function)());
  std::string key(name(which));
  verdict_.stage_s[key] = seconds_between(start, context_.clock.now());
  if (failure) {
    AK_TRY_VOID(explain(*failure));
    verdict_.stages[key] = "FAIL";
    verdict_.failure = std::move(*failure);
    return false;
  }
  if (!verdict_.stages.contains(key)) verdict_.stages[key] = "PASS";
  return true;
}

void Pipeline::skip(Stage which, std::string_view why) {
  verdict_.stages[std::string(name(which))] = fmt::format("SKIP ({})", why);
}

Status Pipeline::run() {
  std::vector<std::pair<Stage, StageFunction>> stages = {{Stage::kCompile, &Pipeline::compile},
                                                         {Stage::kAudit, &Pipeline::audit},
                                                         {Stage::kSmoke, &Pipeline::smoke}};
  if (job_.depth != Depth::kSmoke) {
    stages.emplace_back(Stage::kShapeSweep, &Pipeline::shape_sweep);
    if (job_.depth == Depth::kFull) {
      stages.emplace_back(Stage::kNumericalStability, &Pipeline::numerical_stability);
      stages.emplace_back(Stage::kDeterminism, &Pipeline::determinism);
      stages.emplace_back(Stage::kEdgeCases, &Pipeline::edge_cases);
      stages.emplace_back(Stage::kIntegrity, &Pipeline::integrity);
    }
    stages.emplace_back(Stage::kTime, &Pipeline::time);
    stages.emplace_back(Stage::kPlausibility, &Pipeline::plausibility);
  }
  bool good = true;
  for (const auto& [which, function] : stages) {
    AK_TRY(passed, stage(which, function));
    good = passed;
    if (candidate_ && which != Stage::kCompile) candidate_->unload();
    if (!good) break;
  }
  verdict_.passed = good;
  if (candidate_) {
    verdict_.compile_s = candidate_->compile_s();
    verdict_.sandboxed = candidate_->sandboxed();
  }
  if (!left_out_.empty()) {
    verdict_.flags.push_back(
        fmt::format("{} sizes were left out on this device, e.g. {}", left_out_.size(), left_out_.front()));
  }
  return {};
}

std::vector<const op::Draw*> Pipeline::all_draws() const {
  std::vector<const op::Draw*> draws;
  for (const op::Draw& draw : context_.family.draws) draws.push_back(&draw);
  return draws;
}

Placement Pipeline::next_placement() {
  constexpr device::Guard kGuards[] = {device::Guard::kEndFlush, device::Guard::kStartFlush,
                                       device::Guard::kRedZone};
  Placement placement;
  placement.guard = context_.checks.on("guard.edge") ? kGuards[placements_++ % 3] : device::Guard::kRedZone;
  return placement;
}

Status Pipeline::note_left_out(const Problem& problem, const std::string& why) {
  left_out_.push_back(fmt::format("{} ({})", problem.label(), why));
  return {};
}

Outcome Pipeline::verify(const Problem& problem, std::span<const op::Draw* const> draws, Stage stage,
                         const std::string& check, Placement placement) {
  failed_on_ = problem;
  AK_TRY(prepared, candidate_->prepare(problem, Build::kTimed));
  if (auto* failure = std::get_if<Failure>(&prepared)) return std::optional(std::move(*failure));
  AK_TRY(bench, Bench::create(context_, references_, problem, std::get<Prepared>(prepared), placement));
  verdict_.peak_memory_bytes = std::max(verdict_.peak_memory_bytes, bench.bytes());
  AK_TRY(elements, total_elements(context_.family, problem));
  const bool one = elements > context_.limits.multi_draw_elements ||
                   (stage != Stage::kNumericalStability && !context_.checks.on("input.secret"));
  if (one) draws = draws.first(1);
  Poison poison = Poison::kNan;
  for (const op::Draw* draw : draws) {
    // What passed under one draw and fails under another assumes something of its inputs.
    const bool another = draw != draws.front() && stage != Stage::kNumericalStability;
    const std::string& blamed = another ? std::string("input.secret") : check;
    AK_TRY_VOID(bench.load_inputs(*draw, nullptr, context_.seeds.next()));
    AK_TRY(launch_failure, bench.launch(stage, poison, Bench::ScrubFirst::kNo));
    if (launch_failure) return std::optional(std::move(*launch_failure));
    AK_TRY(failure, bench.compare(stage, blamed, &sums_, &verdict_.worst_error));
    if (failure) return std::optional(std::move(*failure));
    poison = poison == Poison::kNan ? Poison::kFinite : Poison::kNan;
  }
  ++verified_;
  failed_on_.reset();
  return std::optional<Failure>();
}

Outcome Pipeline::verify_if_valid(const Problem& problem, std::span<const op::Draw* const> draws, Stage stage,
                                  const std::string& check) {
  AK_TRY(large, too_large(context_.family, problem, context_.limits));
  if (large) {
    AK_TRY_VOID(note_left_out(problem, *large));
    return std::optional<Failure>();
  }
  AK_TRY(invalid, candidate_->invalid_on(problem));
  if (invalid) return std::optional<Failure>();
  return verify(problem, draws, stage, check, next_placement());
}

}  // namespace ak::harness
