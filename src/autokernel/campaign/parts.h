#pragma once
// What every part of the campaign works with.

#include <string>

#include "autokernel/base/clock.h"
#include "autokernel/base/log.h"
#include "autokernel/ledger/workspace.h"
#include "autokernel/op/op_family.h"
#include "autokernel/torch/baselines.h"
#include "autokernel/worker/pool.h"

namespace ak::campaign {

struct Parts {
  ledger::Workspace& workspace;
  worker::Pool& pool;
  const op::Registry& registry;
  const Clock& clock;
  Log& log;
  std::string version;
  bool sandboxed = true;                        ///< how the pool's workers compile
  const torch::Baselines* baselines = nullptr;  ///< PyTorch's times, where they are wanted

  ledger::RunContext run_context() const {
    return {pool.hello().device, pool.hello().compiler, version, sandboxed};
  }
};

}  // namespace ak::campaign
