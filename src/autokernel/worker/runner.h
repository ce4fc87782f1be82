#pragma once
// The runner: owns one device and serves compile and judge requests, one after another, until its input ends.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "autokernel/base/result.h"
#include "autokernel/device/compiler.h"
#include "autokernel/device/device.h"
#include "autokernel/harness/checks.h"
#include "autokernel/op/op_family.h"
#include "autokernel/worker/protocol.h"

namespace ak::worker {

/// What the composition root (cli, api) provides: only it constructs concrete devices.
struct RunnerParts {
  std::unique_ptr<device::Compiler> compiler;
  std::unique_ptr<device::Device> device;  ///< null for Role::kCompile; goes before its compiler
};
using PartsFactory = std::function<Result<RunnerParts>(Role)>;

struct RunnerOptions {
  PartsFactory parts;
  op::Registry registry;  ///< embedded families; those of the hello are added
  harness::CheckSet checks = harness::CheckSet::all();
  bool selftest = false;  ///< verdicts say so, and nobody but the self-test takes them
  std::string version;
  std::filesystem::path peak_folder;  ///< where measured peaks are kept; empty: nowhere
};

/// Serves until end of file on `in`; 0, or 3 when the environment failed.
int run_runner(RunnerOptions options, int in, int out);

}  // namespace ak::worker
