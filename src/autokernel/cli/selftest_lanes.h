#pragma once
// Runs the self-test's cases on as many workers as there are cores. A step needs a worker whose checks are
// those of the step, so a lane keeps one with all checks on and starts another for each mutation.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "autokernel/cli/selftest_case.h"
#include "autokernel/core/verdict.h"
#include "autokernel/worker/client.h"

namespace ak::cli {

/// How one case did.
struct SelftestResult {
  std::string name;
  bool cheat = false;
  bool good = false;           ///< a cheat caught as listed, an honest kernel accepted
  bool wrong = false;          ///< its first failure is of the kind `wrong`
  std::optional<bool> proved;  ///< of cheats, with --mutate
  std::string why;             ///< of what is not good or not proved
  bool disturbed = false;      ///< ... because of a check of time, which other lanes may have upset
  double judge_s = 0;          ///< of the first verdict, without compiling
};

struct SelftestPlan {
  std::vector<SelftestCase> cases;
  std::string device;               ///< kind
  std::vector<std::string> worker;  ///< command; --without and --clock-skew are added
  std::vector<worker::FamilyFiles> families;
  const op::Registry* registry = nullptr;
  bool mutate = false;
  bool suggest = false;  ///< cheats alone; `why` of a result is the list that it would need on this device
  std::size_t lanes = 1;
};

/// `progress` is called from the calling thread. An Error is the environment's.
Result<std::vector<SelftestResult>> run_selftest_cases(
    const SelftestPlan& plan, const std::function<void(std::size_t done, const std::string& name)>& progress);

}  // namespace ak::cli
