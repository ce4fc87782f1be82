#pragma once
// futex(2) on atomics: waiting that works between processes and is the only system call that a closed jail
// needs.

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace ak::cpu {

/// Sleeps while `*word == value`; also returns spuriously. Null `timeout`: for ever.
inline void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                       const timespec* timeout = nullptr) {
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, timeout, nullptr, 0);
}

inline void futex_wake_all(const std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace ak::cpu
