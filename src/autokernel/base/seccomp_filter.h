#pragma once
// The system calls that a sandbox refuses, as a program for the kernel. Internal to the sandbox.

#include <linux/filter.h>

#include <vector>

#include "autokernel/base/result.h"
#include "autokernel/base/sandbox.h"

namespace ak {

bool seccomp_available();

/// Empty when the sandbox refuses nothing.
Result<std::vector<sock_filter>> make_seccomp_filter(const Sandbox& sandbox);

/// 0 or an errno. Safe between fork and exec; needs no_new_privs.
int enter_seccomp(const std::vector<sock_filter>& filter) noexcept;

}  // namespace ak
