#pragma once
// Step 2 of 4: candidates are compiled, checked and timed in worker processes, so that one that crashes or
// never ends costs that process and not this one. Every candidate that passes was correct on what was
// checked.
//
//   auto evaluator = ak::PerformanceEvaluator::create({});
//   auto evaluation = evaluator->evaluate(generated->candidates.front());

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autokernel/kernel_candidate.h"
#include "autokernel/metrics.h"

namespace ak {

struct EvaluatorOptions {
  std::string device = "cpu";
  /// The command of a worker elsewhere, e.g. {"ssh", "box", "autokernel", "worker"}. Empty: `autokernel
  /// worker` of this machine: $AUTOKERNEL_BIN, else beside the running executable, else on PATH.
  std::vector<std::string> worker{};
  std::vector<std::string> op_folders{};  ///< as the generator's
};

/// Why a candidate failed; the words are those of `autokernel bench`.
struct CandidateFailure {
  std::string stage;    ///< "compile", "smoke", "time", ...
  std::string kind;     ///< "compile", "wrong", "timeout", ...
  std::string message;  ///< for people
};

/// A ratio of execution times with its 95 % confidence interval; above 1 the candidate is faster.
struct Speedup {
  double ratio = 1, ci_low = 1, ci_high = 1;
};

struct Evaluation {
  KernelCandidate candidate;
  std::optional<CandidateFailure> failure;  ///< nullopt: it passed
  Metrics metrics;                          ///< of candidates that passed
  enum class Depth {
    kTrial,  ///< checked on the problem and a few hidden shapes
    kFull,   ///< the full verdict: all five stages, all sizes, integrity
  } depth = Depth::kTrial;
  std::optional<Speedup> speedup;  ///< over the first candidate that passed, timed in alternation with it

  bool passed() const { return !failure; }
};

class PerformanceEvaluator {
 public:
  /// Starts the workers. The error of a missing binary says where it was looked for.
  static Result<PerformanceEvaluator> create(EvaluatorOptions options);
  PerformanceEvaluator(PerformanceEvaluator&&) noexcept;
  PerformanceEvaluator& operator=(PerformanceEvaluator&&) noexcept;
  ~PerformanceEvaluator();

  /// "AMD EPYC, 2 threads": what is measured on.
  std::string device_name() const;
  /// Compiles what a trial of these needs, on all cores; evaluate() then measures on a quiet machine.
  Status prepare(std::span<const KernelCandidate> candidates);
  /// The first candidate of a kernel file and problem gets the full verdict, which also measures the device's
  /// limits for gpu_utilization; the others get a trial, timed in alternation with the first. A candidate
  /// that fails is an Evaluation with its failure; an error means the environment.
  Result<Evaluation> evaluate(const KernelCandidate& candidate);
  /// The full verdict in a fresh worker with fresh random inputs.
  Result<Evaluation> verify(const KernelCandidate& candidate);

 private:
  struct Impl;
  explicit PerformanceEvaluator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ak
