#include "autokernel/campaign/objective.h"

#include <limits>

namespace ak::campaign {
namespace {

std::map<std::string, double> calls_of(const Target& target) {
  std::map<std::string, double> calls;
  for (const TargetProblem& each : target.problems) {
    if (each.role == Role::kPrimary) calls[each.id] = each.calls;
  }
  return calls;
}

template <class TimeOf>
TimeEstimate weighted_sum(const Verdict& verdict, const Target& target, TimeOf time_of) {
  std::map<std::string, double> calls = calls_of(target);
  TimeEstimate sum;
  for (const Timing& timing : verdict.timings) {
    double weight = calls[timing.problem_id];
    TimeEstimate time = time_of(timing);
    sum.median_us += weight * time.median_us;
    sum.ci_low_us += weight * time.ci_low_us;
    sum.ci_high_us += weight * time.ci_high_us;
  }
  return sum;
}

}  // namespace

Objective::Objective(const Target& target, std::map<std::string, TimeEstimate> start)
    : calls_(calls_of(target)), start_(std::move(start)) {}

double Objective::time_us(const Trial& trial) const {
  if (!trial.time) return std::numeric_limits<double>::infinity();
  auto start = start_.find(trial.problem_id);
  if (start == start_.end() || !trial.versus || trial.versus->ratio <= 0) return trial.time->median_us;
  return start->second.median_us / trial.versus->ratio;
}

double Objective::of(std::span<const Trial> trials) const {
  std::map<std::string, double> times;
  for (const Trial& trial : trials) {
    if (!trial.passed) return std::numeric_limits<double>::infinity();
    times[trial.problem_id] = time_us(trial);
  }
  double sum = 0;
  for (const auto& [id, calls] : calls_) {
    auto own = times.find(id);
    auto start = start_.find(id);
    if (own == times.end() && start == start_.end()) return std::numeric_limits<double>::infinity();
    sum += calls * (own != times.end() ? own->second : start->second.median_us);
  }
  return times.empty() ? std::numeric_limits<double>::infinity() : sum;
}

double Objective::start_us() const { return start().median_us; }

TimeEstimate Objective::start() const {
  TimeEstimate sum;
  for (const auto& [id, calls] : calls_) {
    auto start = start_.find(id);
    if (start == start_.end()) continue;
    sum.median_us += calls * start->second.median_us;
    sum.ci_low_us += calls * start->second.ci_low_us;
    sum.ci_high_us += calls * start->second.ci_high_us;
  }
  return sum;
}

std::vector<Trial> trials_of_verdict(const Verdict& verdict, const Config& config, std::int64_t experiment,
                                     const Target& target) {
  std::vector<Trial> trials;
  Trial common;
  common.experiment = experiment;
  common.config = config;
  common.passed = verdict.passed;
  common.failure = verdict.failure;
  common.peak_memory_bytes = static_cast<double>(verdict.peak_memory_bytes);
  common.compile_s = verdict.compile_s;
  common.wall_s = verdict.wall_s;
  if (!verdict.passed || verdict.timings.empty()) {
    common.problem_id = target.problems.empty() ? "" : target.problems.front().id;
    trials.push_back(std::move(common));
    return trials;
  }
  for (const Timing& timing : verdict.timings) {
    Trial trial = common;
    trial.problem_id = timing.problem_id;
    trial.time = timing.time;
    trial.versus = timing.versus;
    trial.gbps = timing.gbps;
    trial.tflops = timing.tflops;
    trial.wall_s = verdict.wall_s / static_cast<double>(verdict.timings.size());
    trials.push_back(std::move(trial));
  }
  return trials;
}

Result<stats::RatioCI> ratio_of_verdict(const Verdict& verdict, const Target& target, Rng& rng) {
  std::map<std::string, double> calls = calls_of(target);
  std::vector<stats::PairedSamples> problems;
  for (const Timing& timing : verdict.timings) {
    if (timing.incumbent_rounds_us.empty()) continue;
    problems.push_back({calls[timing.problem_id], timing.incumbent_rounds_us, timing.rounds_us});
  }
  return stats::objective_ratio(problems, {}, rng);
}

TimeEstimate objective_of_verdict(const Verdict& verdict, const Target& target) {
  return weighted_sum(verdict, target, [](const Timing& timing) { return timing.time; });
}

TimeEstimate incumbent_objective(const Verdict& verdict, const Target& target) {
  return weighted_sum(verdict, target, [](const Timing& timing) {
    return timing.versus ? timing.versus->incumbent : TimeEstimate{};
  });
}

}  // namespace ak::campaign
