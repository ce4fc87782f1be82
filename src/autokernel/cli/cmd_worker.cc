#include <unistd.h>

#include "autokernel/base/file.h"
#include "autokernel/cli/commands.h"
#include "autokernel/cli/skewed_clock_device.h"
#include "autokernel/device/cpu/jail_main.h"
#include "autokernel/worker/runner.h"
#include "autokernel/worker/supervisor.h"

namespace ak::cli {

Result<int> run_worker(Session& session, const WorkerOptions& options) {
  AK_TRY(device, session.device_kind());
  worker::SupervisorOptions supervisor;
  supervisor.runner_command = {"/proc/self/exe", "__runner", "--device", device};
  if (session.options().unsafe_no_sandbox) supervisor.runner_command.emplace_back("--unsafe-no-sandbox");
  if (options.selftest) supervisor.runner_command.emplace_back("--selftest");
  for (const std::string& check : options.without) {
    supervisor.runner_command.insert(supervisor.runner_command.end(), {"--without", check});
  }
  if (options.clock_skew != 1) {
    supervisor.runner_command.insert(supervisor.runner_command.end(),
                                     {"--clock-skew", fmt::format("{}", options.clock_skew)});
  }
  return worker::run_supervisor(supervisor, STDIN_FILENO, STDOUT_FILENO);
}

Result<int> run_runner(Session& session, const WorkerOptions& options) {
  AK_TRY(device, session.device_kind());
  AK_TRY(registry, op::Registry::create(op::embedded_families(), {}));
  AK_TRY(checks, harness::CheckSet::without(options.without));
  worker::RunnerOptions runner;
  if (!options.selftest && (!checks.complete() || options.clock_skew != 1)) {
    return usage_error("--without and --clock-skew: of `autokernel selftest` alone");
  }
  runner.selftest = options.selftest;
  runner.parts = [make = parts_factory(device, session.options().unsafe_no_sandbox),
                  skew = options.clock_skew](worker::Role role) -> Result<worker::RunnerParts> {
    AK_TRY(parts, make(role));
    if (skew != 1 && parts.device)
      parts.device = std::make_unique<SkewedClockDevice>(std::move(parts.device), skew);
    return parts;
  };
  runner.registry = std::move(registry);
  runner.checks = std::move(checks);
  runner.version = kVersion;
  runner.peak_folder = cache_directory() / "peaks";
  return worker::run_runner(std::move(runner), STDIN_FILENO, STDOUT_FILENO);
}

}  // namespace ak::cli
