#pragma once
// The jail's locks, for the whole process (all threads) and for good.

#include "autokernel/base/result.h"

namespace ak::cpu {

/// No file may be opened by path any more (Landlock; only this thread and those it starts). Kernels without
/// Landlock: nothing happens, the second filter closes files for good.
void deny_files();
/// While the module is loaded: what dlopen and thread-local storage need, and the installation of the next
/// filter.
Status enter_loading_filter();
/// For good: futex, exit, rt_sigreturn, sched_yield. Anything else raises SIGSYS.
Status enter_running_filter();

/// How many filters the two add to a process; the parent counts them.
inline constexpr int kJailFilters = 2;

}  // namespace ak::cpu
