// Steps of the CPU device: checks, jails, trusted kernels, the timed part of a round.

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "autokernel/device/cpu/cpu_device_state.h"
#include "autokernel/device/cpu/fault_text.h"

namespace ak::cpu {

using device::Access;
using device::BufferId;
using device::BufferRef;
using device::Fault;
using device::Launch;
using device::Step;

namespace {

constexpr std::size_t kMaxJailBuffers = 4096;

AkDim3 dim3(const std::array<std::uint32_t, 3>& sizes) { return {sizes[0], sizes[1], sizes[2]}; }

template <class T>
std::uint64_t raw_bits(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  return bits;
}

}  // namespace

Result<std::optional<Fault>> CpuDevice::State::ensure_jail(DeviceModule& module, const Launch& launch) {
  if (module.jail != nullptr && module.jail->alive() && module.jail_table == table_version &&
      module.jail_needs.covers(module.needs)) {
    return std::optional<Fault>();
  }
  module.jail.reset();
  module.jail_buffers.clear();
  module.jail_names.clear();
  Jail::Spec spec;
  spec.command = jail_command;
  spec.module_fd = module.file.get();
  spec.blocking = module.traits.blocking;
  spec.checked = module.traits.checked;
  spec.threads = threads;
  spec.needs = module.needs;
  for (const auto& [id, buffer] : buffers) {
    if (buffer.spec().access == Access::kHidden) continue;
    const BufferGeometry& geometry = buffer.geometry();
    spec.buffers.push_back({buffer.fd(), buffer.spec().access == Access::kReadWrite, geometry.content_bytes,
                            geometry.user_offset, geometry.bytes});
    module.jail_buffers.push_back(id);
    module.jail_names.push_back(buffer.spec().name);
  }
  if (spec.buffers.size() > kMaxJailBuffers) {
    return environment_error("{} buffers are visible to a candidate; the limit is {}", spec.buffers.size(),
                             kMaxJailBuffers);
  }
  AK_TRY(started, Jail::start(spec));
  if (started.end) {
    const LineTable lines(module.file.get());
    return std::optional(describe(
        *started.end, {&lines, &launch, &module.jail_buffers, spec.start_deadline, &module.jail_names}));
  }
  module.jail = std::move(started.jail);
  module.jail_table = table_version;
  module.jail_needs = module.needs;
  module.scrub_pending = false;
  return std::optional<Fault>();
}

Result<JailBatch> CpuDevice::State::encode(DeviceModule& module, std::span<const Step> steps) {
  JailBatch batch;
  const auto encode_ref = [&](const BufferRef& ref) {
    const auto at = std::lower_bound(module.jail_buffers.begin(), module.jail_buffers.end(), ref.buffer);
    return JailArg{1, static_cast<std::uint32_t>(at - module.jail_buffers.begin()), ref.offset};
  };
  for (const Step& step : steps) {
    JailStep out;
    std::vector<JailArg> args;
    if (const auto* launch = std::get_if<Launch>(&step)) {
      out.entry = launch->entry;
      out.grid = dim3(launch->grid);
      out.block = dim3(launch->block);
      out.shared_bytes = launch->shared_bytes;
      out.cooperative = launch->cooperative;
      for (const device::Arg& arg : launch->args) {
        args.push_back(std::visit(
            [&](const auto& value) -> JailArg {
              using T = std::decay_t<decltype(value)>;
              if constexpr (std::is_same_v<T, BufferRef>) return encode_ref(value);
              if constexpr (std::is_arithmetic_v<T>) return JailArg{0, 0, raw_bits(value)};
              return JailArg{};  // a null pointer; tensor maps were refused
            },
            arg));
      }
    } else if (const auto* fill = std::get_if<device::Fill>(&step)) {
      const Access access = buffers.at(fill->at.buffer).spec().access;
      if (access != Access::kReadWrite)
        return internal_error("a timed fill of a buffer that a candidate cannot write");
      out.type = JailStepType::kFill;
      out.pattern = fill->pattern;
      out.bytes = fill->bytes;
      args.push_back(encode_ref(fill->at));
    } else {
      out.type = JailStepType::kScrub;
    }
    batch.add(out, args);
  }
  if (batch.bytes().size() > Jail::kMaxBatchBytes)
    return internal_error("a batch of {} steps is too long", steps.size());
  return batch;
}

/// `steps` are launches of `module` and what may lie between them; the first step has index `first_index` in
/// reports.
Result<std::optional<Fault>> CpuDevice::State::run_in_jail(DeviceModule& module, std::span<const Step> steps,
                                                           std::size_t first_index,
                                                           std::chrono::nanoseconds deadline,
                                                           std::chrono::milliseconds stated,
                                                           double* elapsed_us) {
  if (module.scrub_pending) {
    module.scrub_pending = false;
    const Step scrub_step = device::Scrub{};
    AK_TRY(scrub_batch, encode(module, std::span(&scrub_step, 1)));
    if (module.jail->run(scrub_batch, deadline).end) module.jail.reset();
    if (module.jail == nullptr)
      return std::optional<Fault>(Fault{FailureKind::kCrash, "fault", "the jail died", 0});
  }
  AK_TRY(batch, encode(module, steps));
  Jail::Outcome outcome = module.jail->run(batch, std::max(deadline, std::chrono::nanoseconds(1)));
  if (elapsed_us != nullptr) *elapsed_us = outcome.elapsed_us;
  if (!outcome.end) return std::optional<Fault>();
  module.jail.reset();
  const std::size_t step = std::min<std::size_t>(outcome.end->step, steps.size() - 1);
  const LineTable lines(module.file.get());
  Fault fault = describe(*outcome.end, {&lines, std::get_if<Launch>(&steps[step]), &module.jail_buffers,
                                        stated, &module.jail_names});
  fault.step = first_index + step;
  return std::optional(std::move(fault));
}

Result<std::optional<Fault>> CpuDevice::State::run_trusted(const Launch& launch) {
  AK_TRY(found, module(launch.module));
  const AkModule& code = *found->opened.loaded.module;
  if (launch.entry >= code.entry_count)
    return internal_error("a trusted module lacks entry {}", launch.entry);
  if (auto status = pool->reserve(needs_of(launch, *found)); !status) {
    return tl::unexpected(std::move(status).error());
  }
  std::vector<std::uint64_t> slots(launch.args.size());
  std::vector<void*> pointers(launch.args.size() + 1, nullptr);
  for (std::size_t i = 0; i < launch.args.size(); ++i) {
    if (const auto* ref = std::get_if<BufferRef>(&launch.args[i])) {
      slots[i] = reinterpret_cast<std::uintptr_t>(buffers.at(ref->buffer).data() + ref->offset);
    } else {
      std::visit(
          [&](const auto& value) {
            if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>) slots[i] = raw_bits(value);
          },
          launch.args[i]);
    }
    pointers[i] = &slots[i];
  }
  KernelLaunch shape;
  shape.module = &found->opened.loaded;
  shape.entry = &code.entries[launch.entry];
  shape.grid = dim3(launch.grid);
  shape.block = dim3(launch.block);
  shape.shared_bytes = launch.shared_bytes;
  shape.cooperative = launch.cooperative;
  shape.params = pointers.data();
  const auto record = pool->run(shape);
  if (!record) return std::optional<Fault>();
  const LineTable lines(found->file.get());
  Fault fault = describe(*record, {&lines, &launch, nullptr, {}});
  fault.message = "trusted kernel: " + fault.message;
  return std::optional(std::move(fault));
}

void CpuDevice::State::scrub(device::Scrub::What what) {
  if (what == device::Scrub::What::kSharedAndLocal) {
    pool->scrub();
    for (auto& [id, found] : modules) found->scrub_pending = found->jail != nullptr;
    return;
  }
  // Each core reads twice its own cache; a shared last level of hundreds of megabytes is left alone.
  const long cache = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  const std::size_t words = 2 * static_cast<std::size_t>(std::max(cache, 1L << 20)) / sizeof(std::uint64_t);
  pool->on_each_thread([&](std::uint32_t) {
    const std::vector<std::uint64_t> flush(words, 1);
    volatile std::uint64_t sum = 0;
    for (std::size_t i = 0; i < words; i += 8) sum = sum + flush[i];
  });
}

Result<std::optional<Fault>> CpuDevice::State::run_steps(std::span<const Step> steps, Clock::time_point until,
                                                         std::chrono::milliseconds deadline) {
  for (std::size_t i = 0; i < steps.size();) {
    if (const auto* fill = std::get_if<device::Fill>(&steps[i])) {
      AK_TRY(target, at(fill->at, fill->bytes));
      fill_pattern(target, fill->bytes, fill->pattern);
      ++i;
      continue;
    }
    if (const auto* wanted = std::get_if<device::Scrub>(&steps[i])) {
      scrub(wanted->what);
      ++i;
      continue;
    }
    const auto& launch = std::get<Launch>(steps[i]);
    AK_TRY(found, module(launch.module));
    if (found->trust == device::Trust::kTrusted) {
      AK_TRY(fault, run_trusted(launch));
      if (fault) {
        fault->step = i;
        return fault;
      }
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    while (end < steps.size() && std::holds_alternative<Launch>(steps[end]) &&
           std::get<Launch>(steps[end]).module == launch.module) {
      ++end;
    }
    const auto before = Clock::now();
    AK_TRY(not_started, ensure_jail(*found, launch));
    if (not_started) {
      not_started->step = i;
      return not_started;
    }
    until += Clock::now() - before;  // a jail's start has a deadline of its own
    AK_TRY(fault, run_in_jail(*found, steps.subspan(i, end - i), i, until - Clock::now(), deadline, nullptr));
    if (fault) return fault;
    i = end;
  }
  return std::optional<Fault>();
}

Result<CpuDevice::State::TimedPart> CpuDevice::State::run_timed(std::span<const Step> steps,
                                                                std::chrono::milliseconds deadline) {
  TimedPart part;
  const Launch* first = nullptr;
  for (const Step& step : steps) {
    const auto* launch = std::get_if<Launch>(&step);
    if (launch == nullptr) continue;
    if (first != nullptr && launch->module != first->module) {
      return internal_error("the timed part of a round launches two modules");
    }
    if (first == nullptr) first = launch;
  }
  if (first == nullptr) return internal_error("the timed part of a round launches nothing");
  AK_TRY(found, module(first->module));
  if (found->trust == device::Trust::kTrusted) {
    pool->begin_batch();
    const auto start = Clock::now();
    auto fault = run_steps(steps, start + deadline, deadline);
    part.wall_us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    pool->end_batch();
    if (!fault) return tl::unexpected(std::move(fault).error());
    part.fault = std::move(*fault);
    return part;
  }
  AK_TRY(not_started, ensure_jail(*found, *first));
  if (not_started) {
    part.fault = std::move(not_started);
    return part;
  }
  const auto overhead = found->jail->empty_batch_us();
  if (!overhead) {
    found->jail.reset();
    part.fault = Fault{FailureKind::kCrash, "fault", "the jail died while it was idle", 0};
    return part;
  }
  part.overhead_us = *overhead;
  AK_TRY(fault, run_in_jail(*found, steps, 0, deadline, deadline, &part.wall_us));
  part.fault = std::move(fault);
  return part;
}

}  // namespace ak::cpu
