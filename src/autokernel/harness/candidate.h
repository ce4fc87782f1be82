#pragma once
// A candidate on its way through the pipeline: parsed, compiled for each problem and build, loaded, planned.

#include <map>
#include <optional>
#include <string>
#include <variant>

#include "autokernel/harness/context.h"
#include "autokernel/harness/job.h"
#include "autokernel/kernel/kernel_file.h"
#include "autokernel/kernel/launch.h"

namespace ak::harness {

/// A candidate ready to run one problem.
struct Prepared {
  device::ModuleId module{};
  const Binary* binary = nullptr;  ///< owned by the Candidate
  LaunchPlan plan;
};

class Candidate {
 public:
  /// Fails (as data) when the file does not parse or does not fit the family.
  static Result<std::variant<Candidate, Failure>> create(Context& context, const CandidateText& text);
  Candidate(Candidate&&) = default;
  Candidate& operator=(Candidate&&) = default;

  const kernel::KernelFile& file() const { return file_; }
  const Config& config() const { return config_; }

  /// Compiles (or takes from the cache), checks resources, loads. A Failure is of stage compile, or
  /// kInvalidConfig / kUnsupported.
  Result<std::variant<Prepared, Failure>> prepare(const Problem& problem, Build build);
  /// nullopt: may run there; else why not (`needs`, limits, dtype).
  Result<std::optional<std::string>> invalid_on(const Problem& problem) const;
  Result<Source> source(const Problem& problem, Build build) const;
  /// Unloads everything: each loaded candidate of the CPU device is a process.
  void unload();

  double compile_s() const { return compile_s_; }
  bool sandboxed() const { return sandboxed_; }

 private:
  Candidate(Context& context, kernel::KernelFile file, Config config)
      : context_(&context), file_(std::move(file)), config_(std::move(config)) {}
  struct Loaded {
    std::optional<Binary> binary;
    std::optional<Failure> failure;
    std::optional<device::ModuleId> module;
  };
  Result<Loaded*> compiled(const Source& source);

  Context* context_;
  kernel::KernelFile file_;
  Config config_;
  std::map<std::string, Loaded> loaded_;
  double compile_s_ = 0;
  bool sandboxed_ = true;
};

}  // namespace ak::harness
