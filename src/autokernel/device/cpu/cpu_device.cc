#include "autokernel/device/cpu/cpu_device.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "autokernel/device/cpu/cpu_device_state.h"

namespace ak::cpu {

using device::Access;
using device::BufferId;
using device::BufferRef;
using device::Launch;
using device::ModuleId;

namespace {

/// A buffer of a jail is a descriptor, and rotating sets make many of them.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

}  // namespace

CpuDevice::CpuDevice(std::unique_ptr<State> state) : state_(std::move(state)) {}
CpuDevice::~CpuDevice() = default;
const DeviceInfo& CpuDevice::info() const { return state_->info; }

Result<std::unique_ptr<CpuDevice>> CpuDevice::create(const CpuDeviceOptions& options) {
  auto state = std::make_unique<State>();
  state->threads = options.threads != 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  state->info = describe_cpu(state->threads);
  state->jail_command = options.jail_command;
  if (state->jail_command.empty()) state->jail_command = {"/proc/self/exe", "__jail"};
  raise_descriptor_limit();
  AK_TRY(pool, GridRunner::create(state->threads, {}));
  state->pool = std::move(pool);
  return std::unique_ptr<CpuDevice>(new CpuDevice(std::move(state)));
}

Result<ModuleId> CpuDevice::load(const Binary& binary, device::Trust trust) {
  if (binary.format != "elf") {
    return internal_error("the CPU device loads shared objects, not \"{}\"", binary.format);
  }
#if defined(__SANITIZE_THREAD__)  // its runtime makes system calls at any time
  if (trust == device::Trust::kCandidate) {
    return environment_error("not supported yet: candidates in a ThreadSanitizer build of this program");
  }
#endif
  auto module = std::make_unique<DeviceModule>();
  module->trust = trust;
  module->traits = ModuleTraits::of(binary.facts);
  module->entries = binary.entries;
  if (module->traits.checked && !state_->info.checked_build) {
    return environment_error(
        "not supported yet: checked kernels in an AddressSanitizer build of this program");
  }
  AK_TRY(file, module_file(binary.bytes));
  module->file = std::move(file);
  if (trust == device::Trust::kTrusted) {
    auto opened = open_module(module->file.get(), module->traits);
    if (!opened)
      return tl::unexpected(std::move(opened).error().with_context("cannot load a trusted module"));
    module->opened = *opened;
  }
  const ModuleId id{state_->next_module++};
  state_->modules.emplace(id, std::move(module));
  return id;
}

void CpuDevice::unload(ModuleId module) {
  state_->pool->unbind();
  state_->modules.erase(module);
}

Result<BufferId> CpuDevice::allocate(const device::BufferSpec& spec) {
  AK_TRY(buffer, Buffer::create(spec));
  const BufferId id{state_->next_buffer++};
  state_->buffers.emplace(id, std::move(buffer));
  if (spec.access != Access::kHidden) ++state_->table_version;
  return id;
}

void CpuDevice::free(BufferId buffer) {
  const auto found = state_->buffers.find(buffer);
  if (found == state_->buffers.end()) return;
  if (found->second.spec().access != Access::kHidden) ++state_->table_version;
  state_->buffers.erase(found);
}

Status CpuDevice::write(BufferRef to, std::span<const std::byte> bytes) {
  AK_TRY(at, state_->at(to, bytes.size()));
  if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
  return {};
}

Status CpuDevice::read(BufferRef from, std::span<std::byte> bytes) {
  AK_TRY(at, state_->at(from, bytes.size()));
  if (!bytes.empty()) std::memcpy(bytes.data(), at, bytes.size());
  return {};
}

Result<device::RunOutcome> CpuDevice::run(std::span<const device::Step> steps,
                                          std::chrono::milliseconds deadline) {
  AK_TRY(refused, state_->prepare(steps));
  if (refused) return device::RunOutcome{std::move(refused)};
  AK_TRY(fault, state_->run_steps(steps, State::Clock::now() + deadline, deadline));
  return device::RunOutcome{std::move(fault)};
}

Result<device::TimeOutcome> CpuDevice::time(std::span<const device::Round> rounds, const TimeLimits& limits) {
  device::TimeOutcome outcome;
  for (const device::Round& round : rounds) {
    for (const auto* steps : {&round.before, &round.timed, &round.after}) {
      AK_TRY(refused, state_->prepare(*steps));
      if (refused) {
        outcome.fault = std::move(refused);
        return outcome;
      }
    }
  }
  const auto start = State::Clock::now();
  for (const device::Round& round : rounds) {
    if (outcome.rounds.size() >= limits.min_rounds && State::Clock::now() - start >= limits.budget) break;
    AK_TRY(before, state_->run_steps(round.before, State::Clock::now() + limits.deadline, limits.deadline));
    if (before) {
      outcome.fault = std::move(before);
      return outcome;
    }
    AK_TRY(timed, state_->run_timed(round.timed, limits.deadline));
    if (timed.fault) {
      outcome.fault = std::move(timed.fault);
      return outcome;
    }
    AK_TRY(after, state_->run_steps(round.after, State::Clock::now() + limits.deadline, limits.deadline));
    if (after) {
      outcome.fault = std::move(after);
      return outcome;
    }
    device::RoundTime time;
    time.wall_us = timed.wall_us;
    time.us = std::max(0.0, timed.wall_us - timed.overhead_us) / std::max(1u, round.repeats);
    outcome.rounds.push_back(time);
  }
  return outcome;
}

Result<device::GuardReport> CpuDevice::check_guards() {
  for (const auto& [id, buffer] : state_->buffers) {
    if (auto violation = buffer.guard_violation()) {
      const std::string& name = buffer.spec().name;
      return device::GuardReport{fmt::format(
          "{} ({} bytes): {}", name.empty() ? fmt::format("buffer {}", static_cast<std::uint32_t>(id)) : name,
          buffer.spec().bytes, *violation)};
    }
  }
  return device::GuardReport{};
}

Result<DeviceModule*> CpuDevice::State::module(ModuleId id) {
  const auto found = modules.find(id);
  if (found == modules.end()) return internal_error("there is no module {}", static_cast<std::uint32_t>(id));
  return found->second.get();
}

Result<std::byte*> CpuDevice::State::at(BufferRef ref, std::uint64_t bytes) {
  const auto found = buffers.find(ref.buffer);
  if (found == buffers.end())
    return internal_error("there is no buffer {}", static_cast<std::uint32_t>(ref.buffer));
  const std::uint64_t size = found->second.spec().bytes;
  if (ref.offset > size || bytes > size - ref.offset) {
    return internal_error("{} bytes at offset {} lie outside a buffer of {} bytes", bytes, ref.offset, size);
  }
  return found->second.data() + ref.offset;
}

}  // namespace ak::cpu
