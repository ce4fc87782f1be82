// `launch`: one candidate in this very process, for ncu, compute-sanitizer and cuda-gdb.

#include <nlohmann/json.hpp>

#include "autokernel/base/random.h"
#include "autokernel/cli/commands.h"
#include "autokernel/harness/launch_once.h"

namespace ak::cli {

Result<int> run_launch(Session& session, const LaunchOptions& options) {
  AK_TRY(device, session.device_kind());
  AK_TRY(parts, parts_factory(device, session.options().unsafe_no_sandbox)(worker::Role::kMeasure));
  AK_TRY(loaded, load_kernel(session, options.file, options.target, parts.device->info()));
  AK_TRY(config, kernel::config_with(loaded.file, options.set));
  AK_TRY(registry, session.registry());
  AK_TRY(family, registry->find(loaded.target.op));
  const Problem& problem = loaded.target.problems.front().problem;
  const harness::CandidateText candidate{loaded.file.name, loaded.file.text, config};
  const harness::LaunchOnce request{problem, candidate, options.seed, options.repeats};
  AK_TRY(failure, harness::launch_once(*parts.device, *parts.compiler, *family, session.clock(), request));
  if (session.options().json) {
    Json json = {{"schema", 1},
                 {"launched", !failure},
                 {"problem", problem.label()},
                 {"config", to_json(config)},
                 {"repeats", options.repeats},
                 {"device", parts.device->info().name},
                 {"failure", failure ? ak::to_json(*failure) : Json()}};
    session.print_json(json);
  } else if (failure) {
    session.print(fmt::format("failure_kind: {}\n{}\n", name(failure->kind), failure->message));
  } else {
    session.print(fmt::format("launched: {} {} on {}, {} times ({})\n", loaded.file.name, config.to_string(),
                              problem.label(), options.repeats, parts.device->info().name));
  }
  return failure ? 1 : 0;
}

}  // namespace ak::cli
