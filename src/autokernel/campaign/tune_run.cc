#include "autokernel/campaign/tune_run.h"

#include <algorithm>

#include "autokernel/harness/signature.h"
#include "autokernel/ledger/git_repository.h"
#include "autokernel/op/target_file.h"

namespace ak::campaign {
namespace {

constexpr double kTrialBudget = 0.12;  ///< seconds of timed rounds for each problem of a trial

}  // namespace

Status TuneRun::open() {
  AK_TRY_VOID(ledger::check_name("tag", request_.tag));
  AK_TRY(file, kernel::parse(request_.kernel_text, request_.kernel_name));
  AK_TRY(family, parts_.registry.find(request_.target.op));
  AK_TRY_VOID(kernel::check_against(file, harness::signature_of(*family)));
  file_ = std::move(file);
  const DeviceInfo& device = parts_.pool.hello().device;
  std::vector<Problem> problems;
  for (const TargetProblem& each : request_.target.problems) {
    if (each.role == Role::kPrimary) problems.push_back(each.problem);
  }
  if (problems.empty()) return usage_error("target {} has no primary problem to time", request_.target.id);
  for (const Problem& problem : problems) {
    AK_TRY(invalid, kernel::check_config(*file_, file_->defaults, problem, device));
    if (invalid) {
      return usage_error("{}: the [defaults] ({}) must be valid for every problem, but on {}: {}",
                         file_->name, file_->defaults.to_string(), problem.label(), invalid->reason);
    }
  }
  AK_TRY(space, kernel::Space::create(*file_, device, problems));
  space_ = std::move(space);
  result_.device = device;
  result_.space_size = space_->size();
  result_.raw_size = space_->raw_size();
  result_.start_config = result_.best_config = file_->defaults;
  search::StrategyOptions options;
  options.seed = request_.seed;
  options.first_guesses = space_->heuristic_order(*file_, device, problems.front());
  options.budget = request_.budget.trials.value_or(0);
  AK_TRY(strategy, search::create(request_.strategy, *space_, std::move(options)));
  strategy_ = std::move(strategy);
  if (request_.budget.trials) rules_.push_back(search::stop_after_trials(*request_.budget.trials));
  if (request_.budget.time) {
    rules_.push_back(search::stop_after_seconds(static_cast<double>(request_.budget.time->count())));
  }
  if (request_.patience > 0) rules_.push_back(search::stop_without_improvement(request_.patience));
  // Of the values, not the text: an extracted target.toml has comments.
  const Result<Target> known = parts_.workspace.ledger().target(request_.target.id);
  target_changed_ = known && op::format_target(*known) != op::format_target(request_.target);
  AK_TRY_VOID(parts_.workspace.add_target(request_.target, request_.target_toml, request_.kernel_text));
  result_.kernel_path = (parts_.workspace.target_folder(request_.target.id) / "kernel.cu").string();
  return {};
}

Target TuneRun::primary_of(const Config& config) const {
  Target target = request_.target;
  std::erase_if(target.problems, [&](const TargetProblem& each) {
    if (each.role != Role::kPrimary) return true;
    Result<std::optional<kernel::Invalid>> invalid =
        kernel::check_config(*file_, config, each.problem, parts_.pool.hello().device);
    return !invalid || invalid->has_value();
  });
  return target;
}

harness::Job TuneRun::trial_of(const Config& config) const {
  harness::Job job;
  job.target = primary_of(config);
  job.candidate = {file_->name, file_->text, config};
  job.depth = harness::Depth::kTrial;
  job.time_budget_s = kTrialBudget;
  return job;
}

Result<std::optional<Experiment>> TuneRun::resumable() {
  AK_TRY(unfinished, parts_.workspace.ledger().unfinished({request_.target.id, request_.tag}));
  std::optional<Experiment> found;
  for (Experiment& each : unfinished) {
    bool same = each.proposer == proposer() && each.kernel_hash == file_->hash && each.seed == request_.seed;
    if (same && !target_changed_ && request_.resume == TuneRequest::Resume::kContinue) {
      found = std::move(each);
      continue;
    }
    each.decision = Decision::kFailed;
    each.description += " (ended without a decision)";
    AK_TRY(text, parts_.workspace.ledger().kernel_text(each.kernel_hash));
    AK_TRY(closed, parts_.workspace.finish(each, text));
  }
  return found;
}

void TuneRun::take_start(const Start& start) {
  opponent_ = start.kernel;
  result_.start_experiment = start.experiment.id;
  result_.start_config = result_.best_config = start.kernel.config;
  std::map<std::string, TimeEstimate> times;
  for (const Trial& trial : start.trials) {
    if (trial.time) times[trial.problem_id] = *trial.time;
  }
  objective_.emplace(request_.target, std::move(times));
  result_.start_time = result_.best_time = objective_->start();
}

Result<bool> TuneRun::measure_defaults() {
  AK_TRY(start, campaign::measure_start(parts_, gate_, request_.target, request_.tag,
                                        {file_->name, file_->text, file_->defaults},
                                        "the [defaults] as first measured"));
  result_.start_experiment = start.experiment.id;
  result_.final_verdict = start.verdict;
  if (start.verdict->passed) {
    take_start(start);
    return true;
  }
  result_.decision = Decision::kFailed;
  result_.experiment = start.experiment.id;
  result_.start_failure = start.verdict->failure;
  return false;
}

Result<bool> TuneRun::measure_start() {
  AK_TRY(unfinished, resumable());
  std::optional<Start> known;
  if (request_.resume != TuneRequest::Resume::kFresh && !target_changed_) {
    AK_TRY(found, known_start(parts_, request_.target, request_.tag, file_->name));
    known = std::move(found);
  }
  if (known) {
    take_start(*known);
    if (known->experiment.decision == Decision::kKept || known->experiment.kernel_hash != file_->hash) {
      parts_.log.info(
          "to beat: experiment {} ({}), {}; `tune --fresh` would start anew from the file's [defaults]",
          known->experiment.id, name(known->experiment.decision), known->kernel.config.to_string());
    }
  } else {
    AK_TRY(passed, measure_defaults());
    if (!passed) return false;
  }
  if (unfinished) {
    experiment_ = std::move(*unfinished);
    AK_TRY_VOID(resume_trials());
    return true;
  }
  AK_TRY_VOID(begin_search());
  return true;
}

Status TuneRun::begin_search() {
  AK_TRY(before, parts_.workspace.ledger().experiments({request_.target.id, request_.tag}));
  for (const Experiment& each : before) {
    if (each.proposer != proposer() || each.kernel_hash != file_->hash || each.seed != request_.seed)
      continue;
    parts_.log.info("experiment {} was the same search and has ended ({}); this is a new one", each.id,
                    name(each.decision));
  }
  Experiment experiment;
  experiment.target = request_.target.id;
  experiment.tag = request_.tag;
  experiment.proposer = proposer();
  experiment.seed = request_.seed;
  experiment.description =
      fmt::format("{} over {} configs, seed {}", request_.strategy, space_->size(), request_.seed);
  AK_TRY(begun, parts_.workspace.begin(experiment, file_->text, parts_.run_context()));
  experiment_ = std::move(begun);
  result_.experiment = experiment_.id;
  return {};
}

Status TuneRun::resume_trials() {
  result_.experiment = experiment_.id;
  AK_TRY(trials, parts_.workspace.ledger().trials(experiment_.id));
  std::vector<std::vector<Trial>> groups;  // the rows of a config were appended together
  for (Trial& trial : trials) {
    earlier_s_ += trial.wall_s;
    if (groups.empty() || groups.back().front().config != trial.config) groups.emplace_back();
    groups.back().push_back(std::move(trial));
  }
  for (std::vector<Trial>& group : groups) {
    std::optional<std::size_t> index = space_->index_of(group.front().config);
    if (!index) continue;
    remember(*index, std::move(group));
    ++result_.resumed_trials;
  }
  if (result_.resumed_trials > 0) {
    parts_.log.info("resuming experiment {}: {} configs were measured before", experiment_.id,
                    result_.resumed_trials);
  }
  return {};
}

}  // namespace ak::campaign
