#pragma once
// Landlock through raw system calls, as far as the running kernel knows it. Internal to the sandbox.

#include "autokernel/base/result.h"
#include "autokernel/base/sandbox.h"
#include "autokernel/base/unique_fd.h"

namespace ak {

/// Highest ABI of the running kernel; 0 where there is no Landlock.
int landlock_abi();

/// A ruleset that allows what the sandbox lists and nothing else.
Result<UniqueFd> make_landlock_ruleset(const Sandbox& sandbox, int abi);

/// 0 or an errno. Safe between fork and exec; needs no_new_privs.
int enter_landlock(int ruleset_fd) noexcept;

}  // namespace ak
