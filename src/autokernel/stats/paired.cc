#include "autokernel/stats/paired.h"

#include <algorithm>
#include <cmath>

#include "autokernel/stats/summary.h"

namespace ak::stats {
namespace {

/// The pairs of one problem.
struct Pairs {
  double weight = 0;               ///< calls x the incumbent's median time
  std::vector<double> log_ratios;  ///< without the drift
};

Status check_pairs(std::span<const double> incumbent, std::span<const double> candidate) {
  AK_TRY_VOID(check_times(incumbent, "incumbent"));
  AK_TRY_VOID(check_times(candidate, "candidate"));
  if (incumbent.size() != candidate.size()) {
    return internal_error("{} rounds of the incumbent are paired with {} of the candidate", incumbent.size(),
                          candidate.size());
  }
  return {};
}

/// A drift moves pairs that the incumbent began and pairs that the candidate began by the same amount in
/// opposite directions: half the difference of their medians is taken out.
Pairs without_drift(const PairedSamples& problem) {
  std::vector<double> groups[2];
  for (std::size_t i = 0; i < problem.incumbent.size(); ++i) {
    groups[i % 2].push_back(std::log(problem.incumbent[i] / problem.candidate[i]));
  }
  const double drift = (median(groups[1]) - median(groups[0])) / 2;
  Pairs pairs{problem.calls * median(problem.incumbent), {}};
  for (const double value : groups[0]) pairs.log_ratios.push_back(value + drift);
  for (const double value : groups[1]) pairs.log_ratios.push_back(value - drift);
  return pairs;
}

double resampled_median(const std::vector<double>& values, std::vector<double>& drawn, Rng& rng) {
  drawn.resize(values.size());
  for (double& value : drawn) value = values[static_cast<std::size_t>(rng.below(values.size()))];
  return median(drawn);
}

/// Sum of incumbent times over sum of candidate times, for one log ratio per problem.
double combine(const std::vector<Pairs>& problems, const std::vector<double>& log_ratios) {
  double incumbent = 0;
  double candidate = 0;
  for (std::size_t p = 0; p < problems.size(); ++p) {
    incumbent += problems[p].weight;
    candidate += problems[p].weight * std::exp(-log_ratios[p]);
  }
  return incumbent / candidate;
}

/// Hesterberg, "What teachers should know about the bootstrap" (2015): the percentile interval is too narrow
/// by sqrt((n - 1) / n) and by the ratio of the t to the normal quantile; here for the fewest pairs, from
/// which a median and a drift were taken.
double small_sample_factor(std::size_t pairs, double level) {
  const double z = normal_quantile(0.5 + level / 2);
  const auto n = static_cast<double>(pairs);
  return student_quantile(0.5 + level / 2, n - 2) / z * std::sqrt(n / (n - 2));
}

RatioCI bootstrap_ratio(const std::vector<Pairs>& problems, const BootstrapOptions& options, Rng& rng) {
  std::vector<double> log_ratios(problems.size());
  std::size_t fewest = problems.front().log_ratios.size();
  for (std::size_t p = 0; p < problems.size(); ++p) {
    log_ratios[p] = median(problems[p].log_ratios);
    fewest = std::min(fewest, problems[p].log_ratios.size());
  }
  RatioCI result;
  result.ratio = combine(problems, log_ratios);

  std::vector<double> ratios;
  ratios.reserve(options.resamples);
  std::vector<double> drawn;
  for (std::size_t i = 0; i < options.resamples; ++i) {
    for (std::size_t p = 0; p < problems.size(); ++p) {
      log_ratios[p] = resampled_median(problems[p].log_ratios, drawn, rng);
    }
    ratios.push_back(combine(problems, log_ratios));
  }
  const double tail = (1 - options.level) / 2;
  const double factor = small_sample_factor(fewest, options.level);
  result.ci_low = result.ratio * std::pow(std::min(quantile(ratios, tail) / result.ratio, 1.0), factor);
  result.ci_high = result.ratio * std::pow(std::max(quantile(ratios, 1 - tail) / result.ratio, 1.0), factor);
  return result;
}

}  // namespace

Result<RatioCI> objective_ratio(std::span<const PairedSamples> problems, const BootstrapOptions& options,
                                Rng& rng) {
  AK_CHECK(options.level > 0 && options.level < 1 && options.resamples >= 100);
  std::vector<Pairs> weighted;
  for (const PairedSamples& problem : problems) {
    if (!std::isfinite(problem.calls) || problem.calls < 0) {
      return usage_error("a problem has {} calls: the weight must be finite and not negative", problem.calls);
    }
    AK_TRY_VOID(check_pairs(problem.incumbent, problem.candidate));
    if (problem.calls == 0) continue;
    weighted.push_back(without_drift(problem));
  }
  if (weighted.empty())
    return usage_error("the objective has no problem with calls: nothing can be compared");
  return bootstrap_ratio(weighted, options, rng);
}

Result<RatioCI> paired_ratio(std::span<const double> incumbent, std::span<const double> candidate,
                             const BootstrapOptions& options, Rng& rng) {
  const PairedSamples problem{
      1.0, {incumbent.begin(), incumbent.end()}, {candidate.begin(), candidate.end()}};
  return objective_ratio(std::span(&problem, 1), options, rng);
}

bool too_wide(const RatioCI& ratio) { return ratio.ci_high > kWidestInterval * ratio.ci_low; }

Answer is_faster(const RatioCI& ratio, double threshold) {
  if (ratio.ci_low > 1 + threshold) return too_wide(ratio) ? Answer::kAmbiguous : Answer::kYes;
  if (ratio.ci_high <= 1 + threshold) return Answer::kNo;
  return Answer::kAmbiguous;
}

}  // namespace ak::stats
