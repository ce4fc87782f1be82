#pragma once
// Plans of PyTorch models: what `profile` and `optimize` share.

#include <string>

#include "autokernel/cli/commands.h"
#include "autokernel/cli/session.h"
#include "autokernel/plan/plan.h"

namespace CLI {
class App;
}

namespace ak::cli {

/// --python of a command that runs no model.
void add_python(CLI::App& command, GlobalOptions& global);

/// The options of a model beside its name, and --python.
void add_model_options(CLI::App& command, ModelOptions& model, GlobalOptions& global);

/// Runs the model under its profiler; leaves trace.json.gz and profile.json in the workspace.
Result<plan::Plan> plan_of_model(Session& session, const ModelOptions& options);

/// Of a trace, a profile.json, a model (`MODEL.py`, `MODEL.py:NAME`, or --module) or, where nothing is named,
/// of the workspace.
Result<plan::Plan> plan_of(Session& session, const std::string& file, const ModelOptions& model);

}  // namespace ak::cli
