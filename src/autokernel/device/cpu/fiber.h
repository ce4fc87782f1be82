#pragma once
// Fibers: stacks from one mapping and a switch between them (Boost.Context). A fiber stays on the OS thread
// that made it; nothing here allocates after create().

#include <cstddef>
#include <cstdint>
#include <optional>

#include "autokernel/base/result.h"

namespace ak::cpu {

/// One mapping of `count` stacks, each above a guard of 64 KiB. Guards are MADV_GUARD_INSTALL where the
/// kernel has it (6.13), since an mprotect'ed page splits the mapping in two and a process may hold 65530 of
/// them.
class FiberStacks {
 public:
  /// kEnvironment when the memory does not fit. Pages come with their first use: touching 2048 stacks costs 2
  /// ms.
  static Result<FiberStacks> create(std::size_t count, std::size_t stack_bytes);
  FiberStacks() = default;
  FiberStacks(FiberStacks&& other) noexcept;
  FiberStacks& operator=(FiberStacks&& other) noexcept;
  ~FiberStacks();

  std::size_t count() const { return count_; }
  /// Where the stack of fiber `index` starts (it grows down). Tops are spread over the cache's sets: equal
  /// offsets in a page would make 256 fibers fight for eight lines.
  void* top(std::size_t index) const;
  std::size_t usable_bytes(std::size_t index) const;
  std::uintptr_t begin() const { return reinterpret_cast<std::uintptr_t>(base_); }
  std::uintptr_t end() const { return begin() + count_ * stride_; }
  bool is_guard(std::uintptr_t address) const;

 private:
  void release() noexcept;
  std::byte* base_ = nullptr;
  std::size_t count_ = 0;
  std::size_t stride_ = 0;
};

struct Fiber {
  void* context = nullptr;
  void* sanitizer = nullptr;  ///< ThreadSanitizer's own idea of a fiber
};

/// The fibers of one OS thread. `entry` runs on a fiber's own stack and must never return.
class FiberSwitch {
 public:
  using Entry = void (*)(void* argument);
  FiberSwitch(Entry entry, void* argument);
  ~FiberSwitch();
  FiberSwitch(const FiberSwitch&) = delete;
  FiberSwitch& operator=(const FiberSwitch&) = delete;

  /// Makes `fiber` start at `entry` on the given stack; what ran there before is forgotten.
  void prepare(Fiber& fiber, void* top, std::size_t bytes);
  static void discard(Fiber& fiber);
  /// Leaves the running fiber (at first: the OS thread's own stack, main()) and runs `to`.
  void jump(Fiber& to);
  Fiber& main() { return main_; }
  Fiber& running() { return *running_; }
  void attach_thread();  ///< call once on the OS thread that will jump

 private:
  friend struct FiberEntry;
  Entry entry_;
  void* argument_;
  Fiber main_;
  Fiber* running_ = &main_;
  Fiber* previous_ = nullptr;
};

}  // namespace ak::cpu
