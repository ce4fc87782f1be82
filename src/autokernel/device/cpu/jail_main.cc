#include "autokernel/device/cpu/jail_main.h"

#include <dlfcn.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "autokernel/device/cpu/buffers.h"
#include "autokernel/device/cpu/futex.h"
#include "autokernel/device/cpu/grid_runner.h"
#include "autokernel/device/cpu/jail_lockdown.h"
#include "autokernel/device/cpu/jail_protocol.h"
#include "autokernel/device/cpu/jail_signals.h"
#include "autokernel/device/cpu/memory_map.h"
#include "autokernel/device/cpu/module.h"
#include "autokernel/device/cpu/never_returns.h"

namespace ak::cpu {

void fill_pattern(std::byte* at, std::uint64_t bytes, std::uint32_t pattern) {
  std::array<std::uint32_t, 1024> page;
  page.fill(pattern);
  for (std::uint64_t done = 0; done < bytes; done += sizeof(page)) {
    std::memcpy(at + done, page.data(), std::min<std::uint64_t>(sizeof(page), bytes - done));
  }
}

namespace {

constexpr int kExitNoControl = 4;
constexpr std::uint64_t kLoadingMemoryBytes = 512u << 20;  // for dlopen, thread-local storage and shadows

class JailProcess {
 public:
  explicit JailProcess(JailControl& control) : control_(control) { scene_.control = &control; }

  AK_NEVER_RETURNS void run() {
    map_buffers();
    install_signal_stack();
    install_jail_handlers(scene_);
    limit_resources();
    deny_files();
    start_threads();
    load_module();
    require(enter_running_filter(), RecordKind::kUnsupported);
    control_.state.store(JailState::kReady, std::memory_order_release);
    announce();
    serve();
  }

 private:
  AK_NEVER_RETURNS void give_up(RecordKind kind, const std::string& why) {
    FaultRecord record;
    record.kind = kind;
    std::strncpy(record.note, why.c_str(), sizeof(record.note) - 1);
    report_and_exit(control_, record);
  }
  void require(const Status& status, RecordKind kind) {
    if (!status) give_up(kind, status.error().message);
  }

  void map_buffers() {
    const JailConfig& config = control_.config;
    const auto* table = reinterpret_cast<const JailBuffer*>(reinterpret_cast<const std::byte*>(&control_) +
                                                            config.table_offset);
    for (std::uint32_t i = 0; i < config.buffer_count; ++i) {
      JailMapping mapping;
      mapping.spec = table[i];
      mapping.content = map_between_guards(table[i].fd, table[i].content_bytes, table[i].writable != 0);
      if (mapping.content == nullptr) give_up(RecordKind::kOutOfMemory, "the jail cannot map a buffer");
      mapping.data = mapping.content + table[i].user_offset;
      scene_.buffers.push_back(mapping);
      const auto begin = reinterpret_cast<std::uintptr_t>(mapping.data);
      memory_.add({begin, begin + table[i].bytes, true, i, table[i].writable != 0});
    }
    const auto params = reinterpret_cast<std::uintptr_t>(&params_);
    memory_.add({params, params + sizeof(params_)});
    memory_.sort();
  }

  void limit_resources() {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their shadows are terabytes
    std::uint64_t pages = 0;
    if (std::FILE* file = std::fopen("/proc/self/statm", "re")) {
      if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
      std::fclose(file);
    }
    if (pages == 0) return;
    const RunnerNeeds& needs = control_.config.needs;
    const std::uint64_t stacks =
        control_.config.threads *
        (needs.fibers * 72ull * 1024 + (12u << 20) + needs.resident_blocks * 1ull * needs.shared_bytes * 40);
    const rlimit space{pages * 4096 + stacks + kLoadingMemoryBytes,
                       pages * 4096 + stacks + kLoadingMemoryBytes};
    ::setrlimit(RLIMIT_AS, &space);
#endif
  }

  void start_threads() {
    auto pool =
        GridRunner::create(control_.config.threads, {&JailProcess::on_fault, this}, install_signal_stack);
    if (!pool) give_up(RecordKind::kOutOfMemory, pool.error().message);
    pool_ = std::move(*pool);
    pool_->on_each_thread([](std::uint32_t) {});  // all have done the system calls of their own start
    require(pool_->reserve(control_.config.needs), RecordKind::kOutOfMemory);
    if (control_.config.checked != 0) pool_->enable_checks(&memory_);
  }

  void load_module() {
    const JailConfig& config = control_.config;
    ::dlopen("libm.so.6", RTLD_NOW);  // no file can be opened later
    const auto module_fd = static_cast<unsigned>(config.module_fd);
    ::syscall(SYS_close_range, 0u, module_fd - 1, 0u);
    ::syscall(SYS_close_range, module_fd + 1, ~0u, 0u);
    require(enter_loading_filter(), RecordKind::kUnsupported);
    control_.state.store(JailState::kLoading, std::memory_order_release);
    auto opened = open_module(config.module_fd, {config.blocking != 0, config.checked != 0});
    if (!opened) give_up(RecordKind::kLoadFailed, opened.error().message);
    ::close(config.module_fd);
    scene_.module = opened->loaded;
    pool_->bind(scene_.module);
  }

  void announce() {
    control_.event.fetch_add(1, std::memory_order_release);
    futex_wake_all(control_.event);
  }

  AK_NEVER_RETURNS void serve() {
    std::uint32_t last = 0;
    for (;;) {
      const std::uint32_t request = control_.request.load(std::memory_order_acquire);
      if (request == last) {
        futex_wait(control_.request, last);
        continue;
      }
      last = request;
      run_batch();
      control_.done.store(request, std::memory_order_release);
      announce();
    }
  }

  void run_batch() {
    pool_->begin_batch();
    const std::byte* at = reinterpret_cast<const std::byte*>(&control_) + control_.config.batch_offset;
    for (std::uint32_t i = 0; i < control_.step_count; ++i) {
      control_.step.store(i, std::memory_order_relaxed);
      const auto& step = *reinterpret_cast<const JailStep*>(at);
      const auto* args = reinterpret_cast<const JailArg*>(at + sizeof(JailStep));
      run_step(step, args);
      at += sizeof(JailStep) + step.arg_count * sizeof(JailArg);
    }
    pool_->end_batch();
  }

  void run_step(const JailStep& step, const JailArg* args) {
    if (step.type == JailStepType::kScrub) return pool_->scrub();
    for (std::uint32_t i = 0; i < step.arg_count; ++i) {
      std::uint64_t value = args[i].value;
      if (args[i].is_buffer != 0)
        value += reinterpret_cast<std::uintptr_t>(scene_.buffers[args[i].buffer].data);
      params_.slots[i] = value;
      params_.pointers[i] = &params_.slots[i];
    }
    if (step.type == JailStepType::kFill) {
      return fill_pattern(reinterpret_cast<std::byte*>(params_.slots[0]), step.bytes, step.pattern);
    }
    if (step.entry >= scene_.module.module->entry_count) {
      give_up(RecordKind::kLoadFailed, "the module has fewer entries than its kernel file declares");
    }
    KernelLaunch launch;
    launch.module = &scene_.module;
    launch.entry = &scene_.module.module->entries[step.entry];
    launch.grid = step.grid;
    launch.block = step.block;
    launch.shared_bytes = step.shared_bytes;
    launch.cooperative = step.cooperative != 0;
    launch.params = params_.pointers;
    pool_->run(launch);  // a fault does not come back: on_fault
  }

  static void on_fault(void* self, const FaultRecord& record) {
    report_and_exit(static_cast<JailProcess*>(self)->control_, record);
  }

  struct Params {
    void* pointers[kMaxArgs] = {};
    std::uint64_t slots[kMaxArgs] = {};
  };

  JailControl& control_;
  JailScene scene_;
  MemoryMap memory_;
  std::unique_ptr<GridRunner> pool_;
  Params params_;
};

/// Maps the control block of descriptor 3; null when there is none.
JailControl* map_control() {
  struct stat info{};
  if (::fstat(kJailControlFd, &info) != 0 || info.st_size < static_cast<off_t>(sizeof(JailControl)))
    return nullptr;
  void* at = ::mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ | PROT_WRITE, MAP_SHARED,
                    kJailControlFd, 0);
  if (at == MAP_FAILED) return nullptr;
  auto* control = static_cast<JailControl*>(at);
  return control->config.magic == kJailMagic ? control : nullptr;
}

}  // namespace

int jail_main() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  JailControl* control = map_control();
  if (control == nullptr) {
    std::fputs("__jail is for AutoKernel's own use: it has no control block\n", stderr);
    return kExitNoControl;
  }
  if (::getppid() != control->config.parent_pid) return kExitNoControl;  // it died before prctl
  auto* process = new JailProcess(*control);
  process->run();
  return kExitNoControl;  // never reached
}

}  // namespace ak::cpu
