#pragma once
// The composition root: what the global options mean. Builds registry, settings, devices and workers on
// demand, so that `autokernel ops` starts no worker and `autokernel log` needs no compiler.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "autokernel/base/clock.h"
#include "autokernel/base/json.h"
#include "autokernel/base/log.h"
#include "autokernel/cli/interruption.h"
#include "autokernel/ledger/settings.h"
#include "autokernel/ledger/workspace.h"
#include "autokernel/op/op_family.h"
#include "autokernel/torch/baselines.h"
#include "autokernel/worker/pool.h"
#include "autokernel/worker/runner.h"

namespace ak::cli {

inline constexpr const char* kVersion = AUTOKERNEL_VERSION;

struct GlobalOptions {
  bool json = false;
  bool quiet = false;
  bool unsafe_no_sandbox = false;
  std::string device;     ///< empty: the setting's
  std::string workspace;  ///< empty: $AUTOKERNEL_WORKSPACE, then ./.autokernel
  std::vector<std::string> ops;
  std::string python;  ///< interpreter that has PyTorch; empty: the setting's
  std::string worker;  ///< command of a worker elsewhere, split as a shell splits words; empty: this binary
};

class Session {
 public:
  Session(GlobalOptions options, Interruption& interruption);

  const GlobalOptions& options() const { return options_; }
  const Clock& clock() const { return clock_; }
  Log& log() { return log_; }
  /// A note that several steps of a command would make, once.
  void note_once(const std::string& note);
  /// Set by the first Ctrl-C, which ends any command that has not asked for it.
  const std::atomic<bool>& stop() { return interruption_.watch(); }

  Result<const op::Registry*> registry();
  /// Flags of a command that are settings (budget, seed, ...), by their names.
  Result<ledger::Settings> settings(const std::map<std::string, std::string>& flags) const;
  std::filesystem::path workspace_folder() const;
  /// For commands that write; what had to be repaired is said.
  Result<ledger::Workspace> open_workspace();
  /// What --device and the settings say; "auto" is "cuda" where an NVIDIA driver is at work, else "cpu".
  Result<std::string> device_kind() const;
  Result<std::unique_ptr<worker::Pool>> start_pool();
  /// PyTorch's times on this device; nullopt on the CPU device (its kernels are not for speed), with --worker
  /// (it may be elsewhere) and where the setting `baseline` is off. `flags` as for settings().
  Result<std::optional<torch::Baselines>> baselines(
      const DeviceInfo& device, const std::map<std::string, std::string>& flags = {}) const;
  std::vector<std::string> worker_command(const std::string& device) const;

  /// Results go to standard output, everything else to standard error.
  void print(std::string_view text) const;
  void print_json(const Json& json) const;

 private:
  GlobalOptions options_;
  Interruption& interruption_;
  SystemClock clock_;
  Log log_;
  std::unique_ptr<op::Registry> registry_;
  std::set<std::string> noted_;
};

/// Constructs the device and compiler of a kind ("cpu", "cuda", "cuda:1"), for runners. The sandbox is off
/// only with
/// --unsafe-no-sandbox.
worker::PartsFactory parts_factory(const std::string& device, bool unsafe_no_sandbox);

}  // namespace ak::cli
