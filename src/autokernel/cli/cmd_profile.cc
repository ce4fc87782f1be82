#include "autokernel/base/file.h"
#include "autokernel/cli/commands.h"
#include "autokernel/torch/profile_model.h"

namespace ak::cli {

Result<int> run_profile(Session& session, const ProfileOptions& options) {
  AK_TRY(settings, session.settings(options.settings));
  torch::ProfileSpec spec;
  spec.python = settings.get_text("python");
  spec.model = options.model;
  AK_TRY_VOID(ak::create_directories(session.workspace_folder()));
  spec.trace = session.workspace_folder() / "trace.json.gz";
  if (!options.torch_device.empty()) spec.device = options.torch_device;
  if (!options.dtype.empty()) spec.dtype = options.dtype;
  spec.iterations = options.iterations;
  spec.warmup = options.warmup;
  spec.mode = options.train ? torch::Mode::kTraining : torch::Mode::kInference;
  spec.compile = options.compile ? torch::Compile::kYes : torch::Compile::kNo;
  session.log().info("profiling {} with {}", options.model, spec.python);
  AK_TRY(profiled, torch::profile_model(spec));
  session.log().info("{}: PyTorch {} on {}, {}, {:.1f} ms an iteration with the profiler on",
                     spec.trace.string(), profiled.torch_version, profiled.device, profiled.dtype,
                     profiled.wall_ms_per_iteration);
  return run_plan(session, {.file = spec.trace.string(), .top = options.top});
}

}  // namespace ak::cli
