#pragma once
// Where the campaign of a workspace stands, from the ledger and the files alone: what status, next and record
// say. No worker is started and nothing is written, so that it works while a run is going on, and on another
// machine.

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "autokernel/campaign/queue.h"
#include "autokernel/cli/session.h"
#include "autokernel/ledger/workspace.h"
#include "autokernel/plan/plan.h"
#include "autokernel/report/report.h"

namespace ak::cli {

inline constexpr const char* kCampaignTag = "optimize";

/// A target of the workspace that is not among the plan's first sites: of an earlier plan, or of `tune`.
struct OtherTarget {
  campaign::QueuedTarget target;
  std::string why;  ///< it is not among them
};

struct Standing {
  plan::Plan plan;
  campaign::Queue queue;
  std::vector<std::string> left_out;  ///< sites that cannot be measured, each with the reason
  std::vector<OtherTarget> others;
  ledger::Unfinished unfinished = ledger::Unfinished::kInterrupted;
  std::set<std::string> edited;      ///< targets whose kernel.cu holds an edit that no experiment has seen
  std::optional<DeviceInfo> device;  ///< what the numbers are of; nullopt: nothing was measured yet
};

/// Of the first `top` worthwhile sites of the workspace's plan, on the device that was measured on last (of
/// the kind that --device names, if it names one).
Result<Standing> standing(Session& session, const ledger::Workspace& workspace, std::size_t top);

/// The kernel file to edit: of the target, else of the site that it stands for.
std::filesystem::path kernel_file(const ledger::Workspace& workspace, const campaign::QueueEntry& entry);

/// On the CPU device a rehearsal stands for the target that it was made of, elsewhere the target for itself:
/// is `id` the other one of the two?
bool stands_aside(const std::string& id, const std::vector<std::string>& ids, std::string_view device_kind);

/// Does kernel.cu of this target differ from what the last experiment left there?
Result<bool> is_edited(const ledger::Workspace& workspace, const std::string& target);

/// What became of the plan's targets, and the projection of the model's time where there can be one.
Result<report::ModelReport> model_report(const ledger::Ledger& ledger, const plan::Plan& plan,
                                         const std::vector<campaign::QueuedTarget>& targets,
                                         const DeviceInfo& device,
                                         ledger::Unfinished unfinished = ledger::Unfinished::kInterrupted);
/// The options of a workspace's reports: with the model where there is a plan and something was measured.
report::BuildOptions report_options(Session& session, const ledger::Workspace& workspace);

/// Why it was left, "open" or "not begun"; whether a search has not ended and an edit waits to be recorded.
std::string state_of(const campaign::QueuedTarget& target, const std::set<std::string>& edited,
                     ledger::Unfinished unfinished);
/// `device`: what the numbers are of; a rehearsal moves no share of the model.
Json target_json(const campaign::QueuedTarget& target, const std::optional<DeviceInfo>& device);

}  // namespace ak::cli
