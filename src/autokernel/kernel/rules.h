#pragma once
// What makes a config valid, as a list of rules: `where`, `needs` and the device's limits on each launch. The
// same list decides for one config (check_config) and for whole spaces (Space), so that they cannot disagree.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autokernel/core/device_info.h"
#include "autokernel/kernel/expr_places.h"
#include "autokernel/kernel/kernel_file.h"

namespace ak::kernel {

struct Rule {
  enum class Kind {
    kWhere,
    kNeeds,
    kBlock,
    kGrid,
    kCluster,
    kShared,
    kResident,
    kWorkspace,
    kBox,
    kRegisters
  };
  Kind kind = Kind::kWhere;
  std::string cause;               ///< for tables: "where: THREADS * VEC <= 8192", "block: [TILE, TILE]"
  std::vector<const Expr*> exprs;  ///< what it judges
  std::string subject;             ///< the condition, the workspace or the tensor map, for messages
  /// Groups of `exprs` where a rule has several: cluster and grid; grid, block and shared memory.
  std::size_t first_group = 0, second_group = 0;
};

/// In the order of checking: `where`, `needs`, then launch by launch. Valid as long as the file.
std::vector<Rule> rules_of(const KernelFile& file);

/// nullopt, or why these values (one an expression of the rule) break it on this device.
std::optional<std::string> judge(const Rule& rule, std::span<const std::int64_t> values,
                                 const DeviceInfo& device);

/// Why no config can run for this problem at all: dtype and architecture.
std::optional<std::string> unsupported(const KernelFile& file, const Problem& problem,
                                       const DeviceInfo& device);

}  // namespace ak::kernel
