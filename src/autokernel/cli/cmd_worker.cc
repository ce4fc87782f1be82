#include <unistd.h>

#include "autokernel/base/file.h"
#include "autokernel/cli/commands.h"
#include "autokernel/device/cpu/jail_main.h"
#include "autokernel/worker/runner.h"
#include "autokernel/worker/supervisor.h"

namespace ak::cli {

Result<int> run_worker(Session& session, const WorkerOptions& options) {
  AK_TRY(device, session.device_kind());
  worker::SupervisorOptions supervisor;
  supervisor.runner_command = {"/proc/self/exe", "__runner", "--device", device};
  if (session.options().unsafe_no_sandbox) supervisor.runner_command.emplace_back("--unsafe-no-sandbox");
  for (const std::string& check : options.selftest_without) {
    supervisor.runner_command.insert(supervisor.runner_command.end(), {"--without", check});
  }
  return worker::run_supervisor(supervisor, STDIN_FILENO, STDOUT_FILENO);
}

Result<int> run_runner(Session& session, const WorkerOptions& options) {
  AK_TRY(device, session.device_kind());
  AK_TRY(registry, op::Registry::create(op::embedded_families(), {}));
  AK_TRY(checks, harness::CheckSet::without(options.selftest_without));
  worker::RunnerOptions runner;
  runner.parts = parts_factory(device, session.options().unsafe_no_sandbox);
  runner.registry = std::move(registry);
  runner.checks = std::move(checks);
  runner.version = kVersion;
  runner.peak_folder = cache_directory() / "peaks";
  return worker::run_runner(std::move(runner), STDIN_FILENO, STDOUT_FILENO);
}

}  // namespace ak::cli
