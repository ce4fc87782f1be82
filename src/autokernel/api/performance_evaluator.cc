#include "autokernel/performance_evaluator.h"

#include <algorithm>
#include <map>
#include <thread>

#include "autokernel/api/metrics_of.h"
#include "autokernel/api/worker_binary.h"
#include "autokernel/base/random.h"
#include "autokernel/campaign/objective.h"
#include "autokernel/harness/harness.h"
#include "autokernel/worker/pool.h"

namespace ak {
namespace {

constexpr double kTrialBudget = 0.12;  ///< seconds of timed rounds of a trial, as in `autokernel tune`

Result<std::vector<std::string>> worker_command(const EvaluatorOptions& options) {
  if (!options.worker.empty()) return options.worker;
  AK_TRY(binary, api::find_worker_binary(api::WorkerSearch::of_this_process()));
  return std::vector<std::string>{binary.string(), "worker", "--device", options.device};
}

/// Families that the worker's binary does not carry.
Result<std::vector<worker::FamilyFiles>> travelling_families(const std::vector<std::string>& folders) {
  if (folders.empty()) return std::vector<worker::FamilyFiles>();
  AK_TRY(registry, op::Registry::create(op::embedded_families(), folders));
  return worker::travelling_families(registry);
}

CandidateFailure failure_of(const Failure& failure) {
  return {std::string(name(failure.stage)), std::string(name(failure.kind)), failure.message};
}

harness::CandidateText text_of(const KernelCandidate::Data& candidate) {
  return {candidate.origin->file.name, candidate.origin->file.text, candidate.config};
}

}  // namespace

struct PerformanceEvaluator::Impl {
  /// The first candidate of a kernel file and problem that passed, which the others are timed in alternation
  /// with.
  struct Reference {
    KernelCandidate candidate;
    campaign::Objective objective;
    api::Peaks peaks;
  };

  std::unique_ptr<worker::Pool> pool;
  Rng seeds{secret_seed()};
  std::map<std::string, Reference> references;

  const Reference* reference_of(const KernelCandidate& candidate) const {
    auto found = references.find(candidate.data().origin->key());
    return found == references.end() ? nullptr : &found->second;
  }

  Status check_device(const KernelCandidate& candidate) const {
    const DeviceInfo& made_for = candidate.data().origin->device;
    const DeviceInfo& here = pool->hello().device;
    if (made_for.arch == here.arch) return {};
    return usage_error("candidates of architecture {} cannot be evaluated on {} ({}): generate them for {}",
                       made_for.arch, here.name, here.arch, here.arch);
  }

  harness::Job job_of(const KernelCandidate& candidate, harness::Depth depth) const {
    harness::Job job;
    job.target = candidate.data().origin->target;
    job.candidate = text_of(candidate.data());
    job.depth = depth;
    if (depth == harness::Depth::kTrial) job.time_budget_s = kTrialBudget;
    if (const Reference* reference = reference_of(candidate))
      job.incumbent = text_of(reference->candidate.data());
    return job;
  }

  Result<Evaluation> judge(const KernelCandidate& candidate, harness::Depth depth,
                           worker::Freshness freshness);
  Status fill(Evaluation& evaluation, const Verdict& verdict);
};

Result<Evaluation> PerformanceEvaluator::Impl::judge(const KernelCandidate& candidate, harness::Depth depth,
                                                     worker::Freshness freshness) {
  AK_TRY_VOID(check_device(candidate));
  harness::Job job = job_of(candidate, depth);
  job.seed = seeds.next();
  AK_TRY(sources, harness::sources_of(job, candidate.data().origin->registry, pool->hello().device));
  AK_TRY(verdict, pool->compile_and_judge(job, sources, freshness));
  Evaluation evaluation{candidate, std::nullopt, {}, {}, std::nullopt};
  evaluation.depth = depth == harness::Depth::kFull ? Evaluation::Depth::kFull : Evaluation::Depth::kTrial;
  if (!verdict.passed || verdict.timings.empty()) {
    evaluation.failure = verdict.failure
                             ? failure_of(*verdict.failure)
                             : CandidateFailure{"time", "unsupported", "the problem was not timed"};
    return evaluation;
  }
  AK_TRY_VOID(fill(evaluation, verdict));
  return evaluation;
}

Status PerformanceEvaluator::Impl::fill(Evaluation& evaluation, const Verdict& verdict) {
  const KernelCandidate::Data& data = evaluation.candidate.data();
  const Timing& timing = verdict.timings.front();
  std::vector<Trial> trials = campaign::trials_of_verdict(verdict, data.config, 0, data.origin->target);
  if (reference_of(evaluation.candidate) == nullptr) {
    campaign::Objective objective(data.origin->target, {{timing.problem_id, timing.time}});
    references.emplace(data.origin->key(), Reference{evaluation.candidate, std::move(objective), {}});
  }
  Reference& reference = references.at(data.origin->key());
  if (timing.peak_gbps > 0) reference.peaks = {timing.peak_gbps, timing.peak_tflops};
  std::string remark;
  if (timing.versus) {
    evaluation.speedup = Speedup{timing.versus->ratio, timing.versus->ci_low, timing.versus->ci_high};
    remark = "in alternation with the first candidate's, whose time is divided by the ratio";
  }
  AK_TRY(metrics, api::metrics_of({data, timing, reference.objective.of(trials), std::move(remark),
                                   reference.peaks, verdict.device}));
  evaluation.metrics = std::move(metrics);
  return {};
}

PerformanceEvaluator::PerformanceEvaluator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PerformanceEvaluator::PerformanceEvaluator(PerformanceEvaluator&&) noexcept = default;
PerformanceEvaluator& PerformanceEvaluator::operator=(PerformanceEvaluator&&) noexcept = default;
PerformanceEvaluator::~PerformanceEvaluator() = default;

Result<PerformanceEvaluator> PerformanceEvaluator::create(EvaluatorOptions options) {
  AK_TRY(command, worker_command(options));
  AK_TRY(families, travelling_families(options.op_folders));
  worker::PoolOptions pool;
  pool.command = std::move(command);
  pool.compilers = std::max(1U, std::thread::hardware_concurrency());
  pool.families = std::move(families);
  AK_TRY(started, worker::Pool::start(std::move(pool)));
  auto impl = std::make_unique<Impl>();
  impl->pool = std::move(started);
  return PerformanceEvaluator(std::move(impl));
}

std::string PerformanceEvaluator::device_name() const { return impl_->pool->hello().device.name; }

Status PerformanceEvaluator::prepare(std::span<const KernelCandidate> candidates) {
  std::vector<std::shared_future<Result<worker::CompileAnswer>>> answers;
  for (const KernelCandidate& candidate : candidates) {
    AK_TRY_VOID(impl_->check_device(candidate));
    harness::Job job = impl_->job_of(candidate, harness::Depth::kTrial);
    AK_TRY(sources, harness::sources_of(job, candidate.data().origin->registry, impl_->pool->hello().device));
    for (const Source& source : sources) answers.push_back(impl_->pool->compile(source));
  }
  // A candidate that does not compile says so when it is evaluated.
  for (const auto& answer : answers) {
    if (!answer.get()) return tl::unexpected(answer.get().error());
  }
  return {};
}

Result<Evaluation> PerformanceEvaluator::evaluate(const KernelCandidate& candidate) {
  bool first = impl_->reference_of(candidate) == nullptr;
  return impl_->judge(candidate, first ? harness::Depth::kFull : harness::Depth::kTrial,
                      worker::Freshness::kReuse);
}

Result<Evaluation> PerformanceEvaluator::verify(const KernelCandidate& candidate) {
  return impl_->judge(candidate, harness::Depth::kFull, worker::Freshness::kFresh);
}

}  // namespace ak
