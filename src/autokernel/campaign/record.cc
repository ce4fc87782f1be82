#include "autokernel/campaign/record.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "autokernel/campaign/gate.h"
#include "autokernel/campaign/objective.h"
#include "autokernel/harness/signature.h"
#include "autokernel/kernel/kernel_file.h"
#include "autokernel/kernel/space.h"

namespace ak::campaign {
namespace {

/// The target keeps its interface: op, signature and every problem, with the file's [defaults].
Result<kernel::KernelFile> edited_file(const Parts& parts, const RecordRequest& request) {
  AK_TRY(file, kernel::parse(request.kernel_text, request.kernel_name));
  if (!file.op.empty() && file.op != request.target.op) {
    return usage_error("{}: the front matter says op `{}`, but target {} is of op `{}`: an edit keeps the op",
                       file.name, file.op, request.target.id, request.target.op);
  }
  AK_TRY(family, parts.registry.find(request.target.op));
  AK_TRY_VOID(kernel::check_against(file, harness::signature_of(*family)));
  for (const TargetProblem& each : request.target.problems) {
    AK_TRY(invalid, kernel::check_config(file, file.defaults, each.problem, parts.pool.hello().device));
    if (!invalid) continue;
    return usage_error(
        "{}: an edit must cover every problem of the target with its [defaults] ({}), but not {} ({}): {}; "
        "undo the change of dtypes, needs, where, arch or [defaults] that excludes it",
        file.name, file.defaults.to_string(), each.problem.label(), name(each.role), invalid->reason);
  }
  return file;
}

Status check_changed(const RecordRequest& request, const std::optional<Start>& start) {
  const bool unchanged =
      request.unedited == request.kernel_text || (start && start->kernel.text == request.kernel_text);
  if (!unchanged) return {};
  return usage_error(
      "{} is what it was before: there is no edit to measure. Edit the file first; `autokernel optimize` "
      "tunes "
      "and measures the one that is there",
      request.kernel_name);
}

/// What the edit must beat, measured here if it was not yet; nullopt: it does not pass, or is not known.
Result<std::optional<Start>> start_of(const Parts& parts, Gate& gate, const RecordRequest& request,
                                      std::optional<Start> known) {
  if (known || !request.unedited) return known;
  const Result<kernel::KernelFile> before = kernel::parse(*request.unedited, request.kernel_name);
  if (!before) {
    parts.log.warning("what there was cannot be measured: {}", before.error().message);
    return std::optional<Start>();
  }
  AK_TRY(start, measure_start(parts, gate, request.target, request.tag,
                              {before->name, before->text, before->defaults},
                              "the kernel before the edit, as first measured here"));
  if (start.verdict->passed) return std::optional(std::move(start));
  parts.log.warning("what there was does not pass itself ({}): the edit is judged alone",
                    start.verdict->failure ? start.verdict->failure->message : "no reason given");
  return std::optional<Start>();
}

Result<Experiment> store(const Parts& parts, const RecordRequest& request, const Config& config,
                         const Judgement& judgement) {
  Experiment experiment;
  experiment.target = request.target.id;
  experiment.tag = request.tag;
  experiment.proposer = kEditProposer;
  const std::string note = request.note.empty() ? "edited kernel file" : request.note;
  experiment.description = note;
  AK_TRY(begun, parts.workspace.begin(experiment, request.kernel_text, parts.run_context()));
  ledger::Ledger& ledger = parts.workspace.ledger();
  for (const Trial& trial : trials_of_verdict(judgement.verdict, config, begun.id, request.target))
    AK_TRY_VOID(ledger.append_trial(trial, judgement.verdict));
  AK_TRY_VOID(ledger.attach_verdict(begun.id, judgement.verdict));
  begun.decision = judgement.decision;
  begun.description = fmt::format("{}: {}", note, judgement.summary);
  begun.best_config = config;
  begun.objective_us = judgement.time.median_us;
  begun.confirmation = judgement.comparison;
  return parts.workspace.finish(begun, request.kernel_text);
}

}  // namespace

Result<RecordResult> record(const Parts& parts, const std::atomic<bool>& stop, const RecordRequest& request) {
  const auto begin = parts.clock.now();
  AK_TRY_VOID(ledger::check_name("tag", request.tag));
  AK_TRY(file, edited_file(parts, request));
  AK_TRY(known, known_start(parts, request.target, request.tag, request.kernel_name));
  AK_TRY_VOID(check_changed(request, known));
  AK_TRY_VOID(parts.workspace.add_target(request.target, request.target_toml, request.kernel_text));
  Gate gate(parts, request.target, request.threshold);
  AK_TRY(start, start_of(parts, gate, request, std::move(known)));
  if (stop.load())
    return tl::unexpected(Error{ErrorCode::kInterrupted,
                                "interrupted; the file is as it was, the same command goes on from there"});
  parts.log.info("measuring the edit {}",
                 start ? fmt::format("against experiment {}", start->experiment.id) : std::string("alone"));
  const harness::CandidateText candidate{file.name, file.text, file.defaults};
  AK_TRY(judgement,
         start ? gate.judge(candidate, start->kernel, start->experiment.id) : gate.judge_alone(candidate));
  if (judgement.verdict.failure && judgement.verdict.failure->kind == FailureKind::kInfrastructure) {
    return environment_error(
        "{}: the edit could not be measured: {}; nothing was recorded, the file is as it was",
        request.kernel_name, judgement.verdict.failure->message);
  }
  RecordResult result;
  AK_TRY(stored, store(parts, request, file.defaults, judgement));
  result.experiment = std::move(stored);
  result.decision = judgement.decision;
  result.start_experiment = start ? start->experiment.id : 0;
  result.failure = judgement.verdict.failure;
  result.comparison = judgement.comparison;
  result.time = judgement.time;
  result.summary = judgement.summary;
  result.device = parts.pool.hello().device;
  result.wall_s = seconds_between(begin, parts.clock.now());
  return result;
}

Json to_json(const RecordResult& result) {
  Json json = {{"schema", 1},
               {"decision", std::string(name(result.decision))},
               {"experiment", result.experiment.id},
               {"target", result.experiment.target},
               {"tag", result.experiment.tag},
               {"start_experiment", result.start_experiment > 0 ? Json(result.start_experiment) : Json()},
               {"summary", result.summary},
               {"commit", result.experiment.commit},
               {"failure", result.failure ? to_json(*result.failure) : Json()},
               {"confirmation", result.comparison ? to_json(*result.comparison) : Json()},
               {"time_us", result.failure ? Json() : to_json(result.time)},
               {"wall_s", result.wall_s},
               {"device", {{"kind", result.device.kind}, {"name", result.device.name}}}};
  return json;
}

}  // namespace ak::campaign
