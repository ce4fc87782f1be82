#pragma once
// What plan, extract, optimize, status and next share: the plan of the workspace and the targets made of it.

#include <filesystem>
#include <string>
#include <vector>

#include "autokernel/campaign/optimize.h"
#include "autokernel/cli/session.h"
#include "autokernel/ledger/workspace.h"
#include "autokernel/plan/extract.h"
#include "autokernel/plan/plan.h"

namespace ak::cli {

/// `file` is a trace, or the profile.json beside one.
Result<plan::Plan> plan_of_trace(Session& session, const std::string& file);
/// The plan of the workspace in `folder`; none yet is a usage error that says how to make one.
Result<plan::Plan> stored_plan(Session& session, const std::filesystem::path& folder);
/// The first `top` sites, or all as JSON.
void print_plan(Session& session, const plan::Plan& plan, std::size_t top);
/// Keeps the plan; targets that only the plan before knows are named: they stay.
Status store_plan(Session& session, const ledger::Workspace& workspace, const plan::Plan& plan);

/// The plan's first `top` worthwhile sites as targets of the workspace, with kernels for `device` (for any
/// GPU where it is the CPU device); a kernel.cu that is there stays. A site that no kernel covers has no
/// kernel_name.
Result<std::vector<plan::Extraction>> extract_targets(Session& session, ledger::Workspace& workspace,
                                                      const plan::Plan& plan, std::size_t top,
                                                      const DeviceInfo& device);

/// What a site's target is called in a workspace: under its own id, and under that of its rehearsal.
bool is_of_site(const std::string& target, const plan::PlanSite& site);

/// The extracted targets as they are measured on `device`, reduced where they do not fit it, in the plan's
/// order. `why_not` gets a line for each that cannot be measured at all.
Result<std::vector<campaign::OptimizeTarget>> measurable_targets(Session& session,
                                                                 const ledger::Workspace& workspace,
                                                                 const plan::Plan& plan, std::size_t top,
                                                                 const DeviceInfo& device,
                                                                 std::vector<std::string>& why_not);

}  // namespace ak::cli
