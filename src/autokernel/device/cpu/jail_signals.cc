#include "autokernel/device/cpu/jail_signals.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "autokernel/device/cpu/block_runner.h"
#include "autokernel/device/cpu/buffers.h"
#include "autokernel/device/cpu/futex.h"

namespace ak::cpu {
namespace {

constexpr std::size_t kSignalStackBytes = 64 * 1024;
constexpr int kFaultExitCode = 3;

// Signal handlers get no argument of ours.
const JailScene* g_scene = nullptr;
std::atomic<bool> g_reported{false};

void locate(std::uintptr_t address, FaultRecord& record) {
  for (std::size_t i = 0; i < g_scene->buffers.size(); ++i) {
    const JailMapping& buffer = g_scene->buffers[i];
    const auto content = reinterpret_cast<std::uintptr_t>(buffer.content);
    if (address < content - kGuardBytes || address >= content + buffer.spec.content_bytes + kGuardBytes)
      continue;
    record.region = Region::kBuffer;
    record.buffer = static_cast<std::uint32_t>(i);
    record.offset = static_cast<std::int64_t>(address - reinterpret_cast<std::uintptr_t>(buffer.data));
    record.region_bytes = buffer.spec.bytes;
    return;
  }
}

void handle(int signal, siginfo_t* info, void* context) {
  FaultRecord record;
  record.kind = RecordKind::kSignal;
  record.signal = static_cast<std::uint32_t>(signal);
  const auto* user = static_cast<const ucontext_t*>(context);
  const auto pc = static_cast<std::uintptr_t>(user->uc_mcontext.gregs[REG_RIP]);
  const LoadedModule& module = g_scene->module;
  // One more than the instruction's address, like a return address.
  if (module.base != 0 && pc >= module.base && pc < module.end) record.pc = pc - module.base + 1;
  if (signal == SIGSYS) {
    record.kind = RecordKind::kSystemCall;
    record.detail = info->si_syscall;
  } else if (signal == SIGSEGV || signal == SIGBUS) {
    constexpr long kWriteFault = 2;
    record.address =
        info->si_code == SI_KERNEL ? kNoAddress : reinterpret_cast<std::uintptr_t>(info->si_addr);
    record.is_write = (user->uc_mcontext.gregs[REG_ERR] & kWriteFault) != 0;
    locate(record.address, record);
  }
  if (const BlockRunner* runner = current_runner()) {
    runner->describe(record);
    if (runner->is_stack_guard(record.address)) record.region = Region::kStack;
  }
  report_and_exit(*g_scene->control, record);
}

}  // namespace

void install_jail_handlers(const JailScene& scene) {
  g_scene = &scene;
  struct sigaction action{};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS}) ::sigaction(signal, &action, nullptr);
}

void install_signal_stack() {
  void* stack =
      ::mmap(nullptr, kSignalStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) return;
  stack_t description{};
  description.ss_sp = stack;
  description.ss_size = kSignalStackBytes;
  ::sigaltstack(&description, nullptr);
}

void report_and_exit(JailControl& control, const FaultRecord& record) {
  if (!g_reported.exchange(true)) {
    control.fault = record;
    control.state.store(JailState::kFaulted, std::memory_order_release);
    control.event.fetch_add(1, std::memory_order_release);
    futex_wake_all(control.event);
    ::syscall(SYS_exit_group, kFaultExitCode);
  }
  for (;;) ::syscall(SYS_sched_yield);  // another thread is ending the process
}

}  // namespace ak::cpu
