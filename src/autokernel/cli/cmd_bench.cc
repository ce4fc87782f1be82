#include <algorithm>
#include <nlohmann/json.hpp>

#include "autokernel/campaign/objective.h"
#include "autokernel/cli/code_explanation.h"
#include "autokernel/cli/commands.h"
#include "autokernel/cli/verdict_text.h"
#include "autokernel/harness/harness.h"

namespace ak::cli {
namespace {

Result<std::uint64_t> seed_of(const std::string& text) {
  if (text.empty()) return secret_seed();
  if (text.size() > 16 || text.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return usage_error("--seed {}: expected up to 16 hexadecimal digits", text);
  }
  return std::stoull(text, nullptr, 16);
}

/// Of the candidate: "faster", "slower", "as fast", or "undecided" where the interval is too wide to tell.
std::string answer_of(const stats::RatioCI& ratio, double threshold) {
  if (stats::is_faster(ratio, threshold) == stats::Answer::kYes) return "faster";
  if (ratio.ci_high < 1 / (1 + threshold)) return "slower";
  if (ratio.ci_low > 1 / (1 + threshold) && ratio.ci_high < 1 + threshold) return "as fast";
  return "undecided";
}

/// PyTorch's times beside ours: those that are known, or with `--baseline` all of them.
Status add_baselines(Session& session, const DeviceInfo& device, const op::Registry& registry, bool measure,
                     const Target& target, Verdict& verdict) {
  AK_TRY(baselines, session.baselines(device));
  if (measure && !baselines) {
    return usage_error(
        "--baseline: PyTorch is compared on a GPU only, and where the setting `baseline` is on");
  }
  if (!baselines || !verdict.passed) return {};
  AK_TRY(family, registry.find(target.op));
  if (measure) {
    std::vector<torch::BaselineRequest> requests;
    for (const Timing& timing : verdict.timings) requests.push_back({family, timing.problem});
    AK_TRY(measured, baselines->measure(requests));
    for (std::size_t i = 0; i < measured.size(); ++i) {
      for (const auto& [path, us] : measured[i].times_us)
        session.log().info("PyTorch {} {}: {} {}", measured[i].torch_version, path,
                           verdict.timings[i].problem.label(), format_us(us));
      for (const auto& [path, error] : measured[i].errors)
        session.log().warning("PyTorch {} {}: {} {}", measured[i].torch_version, path,
                              verdict.timings[i].problem.label(), error);
    }
  }
  return baselines->annotate(*family, verdict);
}

}  // namespace

Result<int> run_bench(Session& session, const BenchOptions& options) {
  auto start = session.clock().now();
  AK_TRY(pool, session.start_pool());
  const DeviceInfo& device = pool->hello().device;
  AK_TRY(loaded, load_kernel(session, options.file, options.target, device));
  AK_TRY(config, kernel::config_with(loaded.file, options.set));
  AK_TRY(seed, seed_of(options.seed));
  harness::Job job;
  job.target = loaded.target;
  job.candidate = {loaded.file.name, loaded.file.text, config};
  job.depth = options.quick ? harness::Depth::kSmoke : harness::Depth::kFull;
  job.seed = seed;
  AK_TRY(registry, session.registry());
  AK_TRY(sources, harness::sources_of(job, *registry, device));
  AK_TRY(verdict, pool->compile_and_judge(job, sources, worker::Freshness::kReuse));
  AK_TRY_VOID(add_baselines(session, device, *registry, options.baseline, job.target, verdict));
  double wall_s = seconds_between(start, session.clock().now());
  Json explained;
  if (options.explain && verdict.passed) {
    AK_TRY(family, registry->find(loaded.target.op));
    AK_TRY(made, explain(session, loaded.file, config, *family, verdict));
    explained = std::move(made);
  }
  if (session.options().json) {
    Json json = bench_json(verdict, loaded.file.name, config, wall_s);
    if (options.explain) json["explain"] = std::move(explained);
    session.print_json(json);
  } else {
    session.print(bench_text(verdict, loaded.file, config, wall_s));
    if (!explained.is_null()) session.print(explain_text(explained));
  }
  return verdict.passed ? 0 : 1;
}

Result<int> run_compare(Session& session, const CompareOptions& options) {
  AK_TRY(pool, session.start_pool());
  const DeviceInfo& device = pool->hello().device;
  AK_TRY(incumbent, load_kernel(session, options.incumbent, options.target, device));
  AK_TRY(candidate, load_kernel(session, options.candidate, options.target, device));
  if (incumbent.target.op != candidate.target.op) {
    return usage_error("{} is a kernel of `{}`, {} of `{}`: nothing to compare", options.incumbent,
                       incumbent.target.op, options.candidate, candidate.target.op);
  }
  AK_TRY(incumbent_config, kernel::config_with(incumbent.file, options.set_incumbent));
  AK_TRY(candidate_config, kernel::config_with(candidate.file, options.set_candidate));
  harness::Job job;
  job.target = incumbent.target;
  std::erase_if(job.target.problems, [&](const TargetProblem& each) {
    return !candidate.file.supports(each.problem.dtype) || !incumbent.file.supports(each.problem.dtype);
  });
  if (job.target.problems.empty()) return usage_error("the two files have no dtype in common");
  job.candidate = {candidate.file.name, candidate.file.text, candidate_config};
  job.incumbent = harness::CandidateText{incumbent.file.name, incumbent.file.text, incumbent_config};
  job.seed = secret_seed();
  AK_TRY(registry, session.registry());
  AK_TRY(sources, harness::sources_of(job, *registry, device));
  AK_TRY(verdict, pool->compile_and_judge(job, sources, worker::Freshness::kReuse));
  std::string answer = "failed";
  std::optional<stats::RatioCI> ratio;
  AK_TRY(settings, session.settings({}));
  const double threshold = settings.get_number("threshold");
  if (verdict.passed) {
    Rng rng(job.seed);
    AK_TRY(measured, campaign::ratio_of_verdict(verdict, job.target, rng));
    ratio = measured;
    answer = answer_of(measured, threshold);
  }
  if (session.options().json) {
    Json json = bench_json(verdict, candidate.file.name, candidate_config, verdict.wall_s);
    json["incumbent"] = {{"kernel", incumbent.file.name}, {"config", to_json(incumbent_config)}};
    json["answer"] = answer;
    if (ratio)
      json["ratio"] = {{"ratio", ratio->ratio}, {"ci_low", ratio->ci_low}, {"ci_high", ratio->ci_high}};
    session.print_json(json);
  } else {
    session.print(compare_text(verdict, incumbent.file.name, candidate.file.name));
    if (ratio) {
      session.print(
          fmt::format("\nanswer: B is {} (A / B over all sizes {:.3f}x, 95 % CI {:.3f} to {:.3f}; a "
                      "difference counts from {:.1f} %)\n",
                      answer, ratio->ratio, ratio->ci_low, ratio->ci_high, 100 * threshold));
      if (stats::too_wide(*ratio)) {
        session.print(
            "note: the interval is too wide to decide (its upper end is more than twice its lower): measure "
            "on an "
            "idle machine, or larger sizes\n");
      }
    }
  }
  return answer == "failed" || answer == "slower" ? 1 : 0;
}

}  // namespace ak::cli
