#include "autokernel/harness/harness.h"

#include <algorithm>

#include "autokernel/harness/device_peaks.h"
#include "autokernel/harness/pipeline.h"
#include "autokernel/harness/signature.h"
#include "autokernel/kernel/space.h"
#include "autokernel/roofline/peak_store.h"

namespace ak::harness {
namespace {

/// Problems whose binaries a job needs for sure; hidden shapes share them unless dims are specialised.
Result<std::vector<Problem>> known_problems(const Job& job, const op::Family& family, const Limits& limits) {
  std::vector<Problem> problems;
  std::vector<std::string_view> sets = {"smoke"};
  if (job.depth == Depth::kTrial) sets.clear();
  if (job.depth == Depth::kFull) sets = {"smoke", "sweep", "edge"};
  for (std::string_view set : sets) {
    AK_TRY(of_set, problems_of_set(family, set, job.target));
    problems.insert(problems.end(), of_set.begin(), of_set.end());
  }
  for (const TargetProblem& each : job.target.problems) problems.push_back(each.problem);
  std::vector<Problem> kept;
  for (Problem& problem : problems) {
    AK_TRY(large, too_large(family, problem, limits));
    if (!large) kept.push_back(std::move(problem));
  }
  return kept;
}

Status append_sources(std::vector<Source>& sources, const CandidateText& text, const op::Family& family,
                      std::span<const Problem> problems, const DeviceInfo& device, Build build) {
  Result<kernel::KernelFile> file = kernel::parse(text.text, text.name);
  if (!file) return {};  // the verdict will say why
  for (const Problem& problem : problems) {
    Result<std::optional<kernel::Invalid>> invalid =
        kernel::check_config(*file, text.config, problem, device);
    if (!invalid || *invalid) continue;
    Result<Source> source =
        kernel::make_source(*file, text.config, problem, signature_of(family), device, build);
    if (source) sources.push_back(std::move(*source));
  }
  return {};
}

}  // namespace

Result<Verdict> Harness::judge(const Job& job) {
  AK_TRY(family, registry_.find(job.target.op));
  auto start = clock_.now();
  Context context{
      device_,      compiler_, trusted_, *family, checks_, clock_, Limits::for_device(device_.info()),
      Rng(job.seed)};
  if (!checks_.complete()) context.limits = context.limits.small();
  // A hang then meets the supervisor's deadline alone.
  if (!checks_.on("fault"))
    context.limits.launch_deadline = context.limits.round_deadline = std::chrono::hours(1);
  if (job.depth == Depth::kFull) {
    AK_TRY(known, peaks());
    context.peaks = known;
  }
  Verdict verdict;
  verdict.device = device_.info();
  verdict.selftest = !checks_.complete();
  Pipeline pipeline(context, references_, job, verdict);
  AK_TRY_VOID(pipeline.run());
  verdict.wall_s = seconds_between(start, clock_.now());
  return verdict;
}

Result<const roofline::Peaks*> Harness::peaks() {
  // On the CPU the bandwidth depends on the footprint, and each problem has its own.
  if (peaks_ || !device_.info().cold_cache) return peaks_ ? &*peaks_ : nullptr;
  Log log(LogLevel::kWarning);
  const roofline::PeakStore store(peak_folder_, log);
  if (!peak_folder_.empty()) peaks_ = store.load(device_.info().uuid);
  if (peaks_) return &*peaks_;
  AK_TRY(measured, measure_device_peaks(device_, compiler_, clock_));
  peaks_ = std::move(measured);
  if (!peak_folder_.empty()) {
    if (Status saved = store.save(*peaks_); !saved) log.warning("{}", saved.error().message);
  }
  return &*peaks_;
}

Result<std::vector<FamilyFinding>> Harness::check_family(const std::string& op, std::uint64_t seed) {
  AK_TRY(family, registry_.find(op));
  Context context{device_,  compiler_, trusted_, *family, checks_, clock_, Limits::for_device(device_.info()),
                  Rng(seed)};
  return harness::check_family(context);
}

Result<std::vector<Source>> sources_of(const Job& job, const op::Registry& registry,
                                       const DeviceInfo& device) {
  AK_TRY(family, registry.find(job.target.op));
  AK_TRY(problems, known_problems(job, *family, Limits::for_device(device)));
  std::vector<Source> sources;
  AK_TRY_VOID(append_sources(sources, job.candidate, *family, problems, device, Build::kTimed));
  if (job.incumbent)
    AK_TRY_VOID(append_sources(sources, *job.incumbent, *family, problems, device, Build::kTimed));
  if (job.depth == Depth::kFull && device.checked_build) {
    AK_TRY(smoke, problems_of_set(*family, "smoke", job.target));
    AK_TRY_VOID(append_sources(sources, job.candidate, *family, smoke, device, Build::kChecked));
  }
  for (const Problem& problem : problems) {
    AK_TRY(source, reference_source(*family, problem, device));
    sources.push_back(std::move(source));
  }
  std::vector<Source> distinct;
  std::vector<std::string> seen;
  for (Source& source : sources) {
    std::string key = hash(source);
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) continue;
    seen.push_back(std::move(key));
    distinct.push_back(std::move(source));
  }
  return distinct;
}

}  // namespace ak::harness
