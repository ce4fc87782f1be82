#pragma once
// The space of configs of a kernel file: the product of its tunables' values, pruned by `where`, by device
// limits and by `needs`, for a set of problems. Enumerated once; configs are addressed by a dense index. A
// million raw configs are filtered in well under half a second: constraints are checked as soon as the
// tunables they mention are bound.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autokernel/base/random.h"
#include "autokernel/core/device_info.h"
#include "autokernel/core/problem.h"
#include "autokernel/kernel/kernel_file.h"

namespace ak::kernel {

/// Why a config cannot run on a problem: "block of 64 x 64 = 4096 threads exceeds the device's 1024".
struct Invalid {
  std::string reason;
};

/// nullopt when the config may run on this problem and device: dtype, arch, `where`, `needs`, and every
/// device limit. An Error only when an expression cannot be evaluated at all (overflow, unknown name).
Result<std::optional<Invalid>> check_config(const KernelFile& file, const Config& config,
                                            const Problem& problem, const DeviceInfo& device);

class Space {
 public:
  /// Valid for at least one of the problems. An empty space is an error that says which constraint removed
  /// how many.
  static Result<Space> create(const KernelFile& file, const DeviceInfo& device,
                              std::span<const Problem> problems);

  std::size_t size() const { return count_; }
  std::uint64_t raw_size() const { return raw_size_; }
  std::size_t dimensions() const { return tunables_.size(); }
  const std::vector<Tunable>& tunables() const { return tunables_; }

  Config config(std::size_t index) const;
  std::optional<std::size_t> index_of(const Config& config) const;
  /// Position of each tunable's value in its list: the coordinates that searches work on.
  std::span<const std::uint16_t> coordinates(std::size_t index) const;
  std::optional<std::size_t> index_at(std::span<const std::uint16_t> coordinates) const;
  /// The valid point with the smallest distance to real-valued coordinates (ties: the lowest index), skipping
  /// those for which `taken` is set.
  std::optional<std::size_t> nearest(std::span<const double> coordinates,
                                     const std::vector<bool>& taken) const;

  enum class Neighbourhood {
    kHamming,
    kAdjacent
  };  ///< one tunable to any value / to the next or previous value
  std::vector<std::size_t> neighbours(std::size_t index, Neighbourhood kind) const;
  std::size_t sample(Rng& rng) const { return static_cast<std::size_t>(rng.below(count_)); }

  /// Order for a first guess: `[defaults]` first, then by architecture heuristics (occupancy, shared memory,
  /// waves, vector width), best first. Deterministic.
  std::vector<std::size_t> heuristic_order(const KernelFile& file, const DeviceInfo& device,
                                           const Problem& problem) const;

  /// How many raw configs each cause removed, for messages and `tune`'s first lines.
  struct Pruned {
    std::string cause;
    std::uint64_t count;
    std::string example;
  };
  const std::vector<Pruned>& pruned() const { return pruned_; }

  /// A space without a kernel file, for replays of recorded spaces: the points given are the valid ones.
  static Space from_points(std::vector<Tunable> tunables, std::vector<std::uint16_t> flat_coordinates);

 private:
  std::vector<Tunable> tunables_;
  std::size_t count_ = 0;
  std::uint64_t raw_size_ = 0;
  std::vector<std::uint16_t> points_;  // count_ x dimensions()
  void build_index();

  std::vector<Pruned> pruned_;
  std::vector<std::uint32_t> slots_;  // open addressing over the coordinates: their index, or empty
};

}  // namespace ak::kernel
