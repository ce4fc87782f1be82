#pragma once
// A kernel that the self-test plants: a kernel file of tests/cheats or tests/honest (both embedded) with one
// comment more, which says on what it is judged and, for a cheat, which checks would catch it:
//
//   /* selftest
//   about = "zeroes its input after use"
//   dims = "M=8,N=128"                   # or a list: several problems
//   kind = "out_of_bounds"               # of the first failure
//   cpu = ["guard.input", "repeat"]      # the checks that catch it on that device, in the order they fire
//   cuda = ["guard.input", "repeat"]     # a device that is not named cannot show this cheat
//   */
//
// Optional: `runs = false` (it cannot run at all, so that no list ends in a pass), `hangs = true`,
// `clock_skew = 10000` (it is the device that cheats: its timer runs slow by this factor), and `cuda_dims`
// and `cuda_kind` where a GPU needs another problem or ends otherwise.

#include <map>
#include <string>
#include <vector>

#include "autokernel/base/embedded_file.h"
#include "autokernel/core/device_info.h"
#include "autokernel/harness/job.h"
#include "autokernel/op/op_family.h"

namespace ak::cli {

struct SelftestCase {
  std::string name;  ///< file without folder and ending
  std::string about;
  std::string text;                                        ///< the kernel file
  std::vector<std::string> dims, cuda_dims;                ///< no cuda_dims: those of `dims`
  std::string kind, cuda_kind;                             ///< name of a failure kind; empty: honest
  std::map<std::string, std::vector<std::string>> checks;  ///< by the device's kind
  bool runs = true;
  bool hangs = false;
  bool cuda_chance = false;
  double clock_skew = 1;

  const std::vector<std::string>& dims_on(const std::string& device) const {
    return device == "cuda" && !cuda_dims.empty() ? cuda_dims : dims;
  }
  const std::string& kind_on(const std::string& device) const {
    return device == "cuda" && !cuda_kind.empty() ? cuda_kind : kind;
  }
};

/// A mistake in the comment is an error that names the file and the key.
Result<SelftestCase> parse_selftest_case(const EmbeddedFile& file);
Result<std::vector<SelftestCase>> selftest_cheats();
Result<std::vector<SelftestCase>> selftest_honest();

/// What a worker is asked: the full verdict, with a seed that stays the same, so that lists do.
Result<harness::Job> selftest_job(const SelftestCase& planted, const std::string& device,
                                  const op::Registry& registry);

}  // namespace ak::cli
