#include "autokernel/harness/candidate.h"

#include "autokernel/harness/signature.h"
#include "autokernel/kernel/space.h"

namespace ak::harness {
namespace {

Failure invalid(std::string message) {
  return {Stage::kCompile, FailureKind::kInvalidConfig, "audit.launch", std::move(message)};
}

}  // namespace

Result<std::variant<Candidate, Failure>> Candidate::create(Context& context, const CandidateText& text) {
  Result<kernel::KernelFile> file = kernel::parse(text.text, text.name);
  if (!file) return Failure{Stage::kCompile, FailureKind::kCompile, "compile", file.error().message};
  if (Status fits = kernel::check_against(*file, signature_of(context.family)); !fits) {
    return Failure{Stage::kCompile, FailureKind::kCompile, "compile", fits.error().message};
  }
  if (!file->op.empty() && file->op != context.family.name) {
    return Failure{Stage::kCompile, FailureKind::kInvalidConfig, "audit.launch",
                   fmt::format("{}: the file is of op `{}`, the target of `{}`", text.name, file->op,
                               context.family.name)};
  }
  for (const kernel::Tunable& tunable : file->tunables) {
    if (!text.config.values.contains(tunable.name)) {
      return invalid(fmt::format("{}: the config has no value for {}", text.name, tunable.name));
    }
  }
  return Candidate(context, std::move(*file), text.config);
}

Result<std::optional<std::string>> Candidate::invalid_on(const Problem& problem) const {
  AK_TRY(reason, kernel::check_config(file_, config_, problem, context_->device.info()));
  if (reason) return std::optional<std::string>(reason->reason);
  return std::optional<std::string>();
}

Result<Source> Candidate::source(const Problem& problem, Build build) const {
  return kernel::make_source(file_, config_, problem, signature_of(context_->family), context_->device.info(),
                             build);
}

Result<Candidate::Loaded*> Candidate::compiled(const Source& source) {
  std::string key = hash(source);
  if (auto it = loaded_.find(key); it != loaded_.end()) return &it->second;
  auto start = context_->clock.now();
  AK_TRY(outcome, context_->compiler.compile(source));
  compile_s_ += seconds_between(start, context_->clock.now());
  Loaded loaded;
  if (outcome.binary) {
    sandboxed_ = sandboxed_ && outcome.binary->sandboxed;
    loaded.binary = std::move(outcome.binary);
  } else {
    loaded.failure = std::move(outcome.failure);
  }
  return &loaded_.emplace(key, std::move(loaded)).first->second;
}

Result<std::variant<Prepared, Failure>> Candidate::prepare(const Problem& problem, Build build) {
  AK_TRY(reason, invalid_on(problem));
  if (reason) return invalid(fmt::format("{} on {}: {}", config_.to_string(), problem.label(), *reason));
  AK_TRY(text, source(problem, build));
  AK_TRY(loaded, compiled(text));
  if (loaded->failure) return *loaded->failure;
  AK_TRY(plan,
         kernel::make_plan(file_, config_, problem, signature_of(context_->family), context_->device.info()));
  if (std::optional<std::string> why =
          kernel::check_resources(plan, *loaded->binary, context_->device.info())) {
    return invalid(fmt::format("{} on {}: {}", config_.to_string(), problem.label(), *why));
  }
  if (!loaded->module) {
    AK_TRY(id, context_->device.load(*loaded->binary, device::Trust::kCandidate));
    loaded->module = id;
  }
  return Prepared{*loaded->module, &*loaded->binary, std::move(plan)};
}

void Candidate::unload() {
  for (auto& [key, loaded] : loaded_) {
    if (loaded.module) context_->device.unload(*loaded.module);
    loaded.module.reset();
  }
}

}  // namespace ak::harness
