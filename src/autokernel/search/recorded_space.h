#pragma once
// Spaces that somebody measured in full, as CSV: strategies are compared and tested on them without a device.
//
//   # comment
//   block_size,unroll,time_ms
//   32,1,4.75
//   32,2,inf              (the config failed)

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/result.h"
#include "autokernel/kernel/space.h"
#include "autokernel/search/strategy.h"

namespace ak::search {

class RecordedSpace {
 public:
  /// Columns before `time_ms` are tunables (integers, or else texts), columns after it are ignored. Errors
  /// carry the line: a cell too few or too many, a time that is none, a config told twice, no config that
  /// works.
  static Result<RecordedSpace> parse(std::string_view csv, std::string name);
  /// The file's name without its ending becomes the name.
  static Result<RecordedSpace> load(const std::filesystem::path& path);

  const std::string& name() const { return name_; }
  const kernel::Space& space() const { return space_; }
  /// Milliseconds, kFailed for configs that failed.
  double objective(std::size_t index) const { return objectives_[index]; }
  double best() const { return best_; }
  std::size_t failures() const;

 private:
  explicit RecordedSpace(kernel::Space space) : space_(std::move(space)) {}

  std::string name_;
  kernel::Space space_;
  std::vector<double> objectives_;
  double best_ = kFailed;
};

struct Replay {
  std::vector<std::size_t> proposed;
  std::vector<double> best_so_far;  ///< after each evaluation; kFailed until one worked

  /// best / best so far after so many evaluations (or after the last one): 1 is the optimum, 0 nothing yet.
  double fraction_of_optimum(const RecordedSpace& recorded, std::size_t evaluations) const;
};

/// Proposes and answers until `evaluations` or the space is spent. With `ahead` > 1 so many proposals are
/// open at a time, as when compiles run ahead of measurements.
Replay replay(const RecordedSpace& recorded, Strategy& strategy, std::size_t evaluations,
              std::size_t ahead = 1);

}  // namespace ak::search
