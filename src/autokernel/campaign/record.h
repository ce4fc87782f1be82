#pragma once
// An edit of a target's kernel file by a person or an agent, through the gate: measured against the
// incumbent, kept or reverted. Nobody reports a number of their own, and no edit is lost: a rejected one
// stays in the ledger and under refs/autokernel/rejected/<N>.
//
//   AK_TRY(recorded, campaign::record(parts, stop, request));
//   if (recorded.decision == Decision::kKept) ...

#include <atomic>
#include <optional>
#include <string>

#include "autokernel/campaign/parts.h"
#include "autokernel/core/experiment.h"

namespace ak::campaign {

struct RecordRequest {
  std::string tag;
  Target target;
  std::string target_toml;
  std::string kernel_name;              ///< for messages
  std::string kernel_text;              ///< the edited file
  std::optional<std::string> unedited;  ///< what it was before; nullopt: not known
  std::string note;                     ///< why it should be faster
  double threshold = 0.01;              ///< of the keep rule
};

struct RecordResult {
  Decision decision = Decision::kFailed;  ///< kStart: there was nothing that passes to compare it with
  Experiment experiment;
  std::int64_t start_experiment = 0;  ///< what it was measured against; 0: nothing
  std::optional<Failure> failure;
  std::optional<Comparison> comparison;
  TimeEstimate time;    ///< of the objective; zero when it failed
  std::string summary;  ///< the decision's reason in one line
  DeviceInfo device;
  double wall_s = 0;
};

/// kUsage, with nothing recorded and the file left as it is: the edit does not parse, changes nothing, is of
/// another op, or drops a problem of the target. The same holds for errors of the environment.
/// `stop` is set by Ctrl-C: what is being measured is recorded, nothing else is begun.
Result<RecordResult> record(const Parts& parts, const std::atomic<bool>& stop, const RecordRequest& request);

Json to_json(const RecordResult& result);

}  // namespace ak::campaign
