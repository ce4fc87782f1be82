#include "autokernel/device/cpu/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define AK_FORGET_STACK(begin, bytes) ASAN_UNPOISON_MEMORY_REGION(begin, bytes)
#else
#define AK_FORGET_STACK(begin, bytes) static_cast<void>(0)
#endif

namespace ak::cpu {
namespace {

namespace ctx = boost::context::detail;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kGuard = 16 * kPage;  // below each stack: a frame of less cannot step over it
constexpr int kMadviseGuardInstall = 102;   // Linux 6.13; not in Debian 12's headers
constexpr std::size_t kColours = 16;
constexpr std::size_t kColourBytes = 192;

bool install_guard(std::byte* guard) {
  if (::madvise(guard, kGuard, kMadviseGuardInstall) == 0) return true;
  return ::mprotect(guard, kGuard, PROT_NONE) == 0;
}

}  // namespace

Result<FiberStacks> FiberStacks::create(std::size_t count, std::size_t stack_bytes) {
  FiberStacks stacks;
  if (count == 0) return stacks;
  stacks.stride_ = (stack_bytes + kPage - 1) / kPage * kPage + kGuard;
  void* base = ::mmap(nullptr, count * stacks.stride_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (base == MAP_FAILED) {
    return environment_error("cannot map {} stacks of {} bytes: {}", count, stack_bytes,
                             std::strerror(errno));
  }
  stacks.base_ = static_cast<std::byte*>(base);
  stacks.count_ = count;
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* bottom = stacks.base_ + i * stacks.stride_;
    if (!install_guard(bottom)) {
      return environment_error("cannot protect the stack of thread {}: {}", i, std::strerror(errno));
    }
  }
  return stacks;
}

FiberStacks::FiberStacks(FiberStacks&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      count_(std::exchange(other.count_, 0)),
      stride_(std::exchange(other.stride_, 0)) {}

FiberStacks& FiberStacks::operator=(FiberStacks&& other) noexcept {
  if (this != &other) {
    release();
    base_ = std::exchange(other.base_, nullptr);
    count_ = std::exchange(other.count_, 0);
    stride_ = std::exchange(other.stride_, 0);
  }
  return *this;
}

FiberStacks::~FiberStacks() { release(); }

void FiberStacks::release() noexcept {
  if (base_ == nullptr) return;
  AK_FORGET_STACK(base_, count_ * stride_);
  ::munmap(base_, count_ * stride_);
  base_ = nullptr;
}

void* FiberStacks::top(std::size_t index) const {
  return base_ + (index + 1) * stride_ - index % kColours * kColourBytes;
}

std::size_t FiberStacks::usable_bytes(std::size_t index) const {
  return stride_ - kGuard - index % kColours * kColourBytes;
}

bool FiberStacks::is_guard(std::uintptr_t address) const {
  return address >= begin() && address < end() && (address - begin()) % stride_ < kGuard;
}

struct FiberEntry {
  static void start(ctx::transfer_t transfer) {
    auto* self = static_cast<FiberSwitch*>(transfer.data);
    self->previous_->context = transfer.fctx;
    self->entry_(self->argument_);
    std::abort();
  }
};

FiberSwitch::FiberSwitch(Entry entry, void* argument) : entry_(entry), argument_(argument) {}
FiberSwitch::~FiberSwitch() = default;

void FiberSwitch::prepare(Fiber& fiber, void* top, std::size_t bytes) {
  // What an abandoned fiber left there means nothing to AddressSanitizer any more.
  AK_FORGET_STACK(static_cast<std::byte*>(top) - bytes, bytes);
  fiber.context = ctx::make_fcontext(top, bytes, FiberEntry::start);
#if defined(__SANITIZE_THREAD__)
  discard(fiber);
  fiber.sanitizer = __tsan_create_fiber(0);
#endif
}

void FiberSwitch::discard([[maybe_unused]] Fiber& fiber) {
#if defined(__SANITIZE_THREAD__)
  if (fiber.sanitizer != nullptr) __tsan_destroy_fiber(fiber.sanitizer);
  fiber.sanitizer = nullptr;
#endif
}

void FiberSwitch::attach_thread() {
#if defined(__SANITIZE_THREAD__)
  main_.sanitizer = __tsan_get_current_fiber();
#endif
}

void FiberSwitch::jump(Fiber& to) {
  previous_ = std::exchange(running_, &to);
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(to.sanitizer, 0);
#endif
  const ctx::transfer_t back = ctx::jump_fcontext(to.context, this);
  previous_->context = back.fctx;  // of whoever resumed us
}

}  // namespace ak::cpu
