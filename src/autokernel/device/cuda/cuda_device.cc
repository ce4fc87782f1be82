#include "autokernel/device/cuda/cuda_device.h"

#include <algorithm>
#include <utility>

#include "autokernel/device/cuda/cuda_device_state.h"
#include "autokernel/device/cuda/cuda_info.h"
#include "autokernel/embed/cuda_kernels.h"

namespace ak::cuda {

using device::BufferId;
using device::BufferRef;
using device::ModuleId;
using device::Trust;

CudaDevice::CudaDevice(std::unique_ptr<State> state) : state_(std::move(state)) {}
CudaDevice::~CudaDevice() = default;
const DeviceInfo& CudaDevice::info() const { return state_->info; }
bool CudaDevice::usable() const { return !state_->lost; }

Result<std::unique_ptr<CudaDevice>> CudaDevice::create(const CudaDeviceOptions& options) {
  AK_TRY(api, DriverApi::load());
  auto state = std::make_unique<State>(std::move(api));
  int count = 0;
  AK_TRY_VOID(state->api.check(state->api.device_get_count(&count), "count the GPUs"));
  if (options.ordinal < 0 || options.ordinal >= count) {
    return environment_error("there is no GPU {}: the driver sees {}", options.ordinal, count);
  }
  AK_TRY_VOID(state->api.check(state->api.device_get(&state->ordinal, options.ordinal), "find the GPU"));
  AK_TRY(info, describe_device(state->api, state->ordinal));
  state->info = std::move(info);
  AK_TRY_VOID(state->start(*options.compiler));
  return std::unique_ptr<CudaDevice>(new CudaDevice(std::move(state)));
}

Status CudaDevice::State::start(device::Compiler& compiler) {
  ContextHandle context = nullptr;
  AK_TRY_VOID(api.check(api.primary_ctx_retain(&context, ordinal), "make a context on the GPU"));
  AK_TRY_VOID(api.check(api.ctx_set_current(context), "make a context on the GPU"));
  AK_TRY(memory, MemoryPool::create(api, ordinal));
  pool.emplace(std::move(memory));
  AK_TRY_VOID(api.check(api.stream_create(&stream, kStreamNonBlocking), "make a stream"));
  AK_TRY_VOID(api.check(api.event_create(&before, 0), "make an event"));
  AK_TRY_VOID(api.check(api.event_create(&after, 0), "make an event"));
  if (auto loaded = NvmlApi::load()) nvml.emplace(std::move(*loaded));

  Source source;
  source.name = "device.cu";
  source.text = std::string(embed::cuda_kernels()[0].text);
  source.arch = info.arch;
  source.entries = {"ak_nothing",      "ak_hold",        "ak_stamp",     "ak_read_flush",
                    "ak_scrub_shared", "ak_scrub_local", "ak_zone_fill", "ak_zone_check"};
  AK_TRY(outcome, compiler.compile(source));
  if (!outcome.binary) {
    return internal_error("the device's own kernels do not compile for {}: {}", info.arch,
                          outcome.failure ? outcome.failure->message : "no reason given");
  }
  modules.emplace(ModuleId{0}, CudaModule{});
  CudaModule& module = modules.at(ModuleId{0});
  module.trust = Trust::kTrusted;
  module.entries = outcome.binary->entries;
  AK_TRY_VOID(
      api.check(api.module_load_data(&module.handle, outcome.binary->bytes.data()), "load own kernels"));
  for (std::uint32_t i = 0; i < module.entries.size(); ++i) {
    const Entry& entry = module.entries[i];
    FunctionHandle function = nullptr;
    AK_TRY_VOID(api.check(api.module_get_function(&function, module.handle,
                                                  (entry.symbol.empty() ? entry.name : entry.symbol).c_str()),
                          "find own kernel " + entry.name));
    module.functions.push_back(function);
    own_entries[entry.name] = i;
  }
  return allocate_own_buffers();
}

Status CudaDevice::State::allocate_own_buffers() {
  flush_bytes = std::max<std::uint64_t>(2 * info.l2_bytes, 1 << 20) / 16 * 16;
  AK_TRY_VOID(api.check(api.mem_alloc(&flush, flush_bytes), "allocate the buffer that flushes L2"));
  AK_TRY_VOID(api.check(api.memset_words(flush, 0x3f800000, flush_bytes / 4, stream), "fill a buffer"));
  AK_TRY_VOID(api.check(api.mem_alloc(&sink, 256), "allocate a buffer"));
  // Two stamps of 16 bytes a multiprocessor; %smid may exceed the number of those in use.
  AK_TRY_VOID(api.check(api.mem_alloc(&stamps, 2 * 16 * 1024), "allocate a buffer"));
  return {};
}

CudaDevice::State::~State() {
  if (lost) return;  // calls would fail or hang; the process is about to be replaced
  forget_graphs();
  for (auto& [id, module] : modules) {
    if (module.handle != nullptr) api.module_unload(module.handle);
  }
  for (DevicePointer each : {flush, stamps, sink, zone_table, zone_found}) {
    if (each != 0) api.mem_free(each);
  }
  if (pool) {
    for (auto& [id, buffer] : buffers) pool->give_back(buffer.block, use_of(buffer.spec));
    pool->trim();
  }
  if (before != nullptr) api.event_destroy(before);
  if (after != nullptr) api.event_destroy(after);
  if (stream != nullptr) api.stream_destroy(stream);
  if (pool) api.primary_ctx_release(ordinal);
}

Result<ModuleId> CudaDevice::load(const Binary& binary, Trust trust) {
  if (binary.format != "cubin")
    return internal_error("the CUDA device loads cubins, not \"{}\"", binary.format);
  const DriverApi& api = state_->api;
  CudaModule module;
  module.trust = trust;
  module.entries = binary.entries;
  AK_TRY_VOID(api.check(api.module_load_data(&module.handle, binary.bytes.data()),
                        fmt::format("load a module compiled for {}", binary.arch)));
  for (const Entry& entry : binary.entries) {
    FunctionHandle function = nullptr;
    const std::string& symbol = entry.symbol.empty() ? entry.name : entry.symbol;
    const DriverResult found = api.module_get_function(&function, module.handle, symbol.c_str());
    if (found != DriverResult::kSuccess) {
      api.module_unload(module.handle);
      return internal_error("a loaded module has no kernel {}: {}", symbol, api.describe(found));
    }
    module.functions.push_back(function);
  }
  const ModuleId id{state_->next_module++};
  state_->modules.emplace(id, std::move(module));
  return id;
}

void CudaDevice::unload(ModuleId module) {
  const auto found = state_->modules.find(module);
  if (found == state_->modules.end()) return;
  state_->forget_graphs();
  if (!state_->lost) state_->api.module_unload(found->second.handle);
  state_->modules.erase(found);
}

Result<BufferId> CudaDevice::allocate(const device::BufferSpec& spec) {
  if (state_->lost) return environment_error("the GPU's context was lost by an earlier fault");
  AK_TRY(block, state_->pool->take(block_bytes(spec), use_of(spec)));
  CudaBuffer buffer = place(spec, block, state_->seeds.next());
  const BufferId id{state_->next_buffer++};
  if (!buffer.zones.empty()) state_->zones_changed = true;
  AK_TRY_VOID(state_->fill_zones(buffer));
  state_->buffers.emplace(id, std::move(buffer));
  return id;
}

void CudaDevice::free(BufferId buffer) {
  const auto found = state_->buffers.find(buffer);
  if (found == state_->buffers.end()) return;
  if (!found->second.zones.empty()) state_->zones_changed = true;
  state_->forget_graphs();
  state_->pool->give_back(found->second.block, use_of(found->second.spec));
  state_->buffers.erase(found);
}

Status CudaDevice::write(BufferRef to, std::span<const std::byte> bytes) {
  AK_TRY(buffer, state_->buffer(to, bytes.size()));
  if (bytes.empty()) return {};
  return state_->api.check(
      state_->api.memcpy_to_device(buffer->trusted() + to.offset, bytes.data(), bytes.size(), state_->stream),
      "copy to the GPU");
}

Status CudaDevice::read(BufferRef from, std::span<std::byte> bytes) {
  AK_TRY(buffer, state_->buffer(from, bytes.size()));
  if (bytes.empty()) return {};
  return state_->api.check(
      state_->api.memcpy_to_host(bytes.data(), buffer->trusted() + from.offset, bytes.size()),
      "copy from the GPU");
}

Result<device::RunOutcome> CudaDevice::run(std::span<const device::Step> steps,
                                           std::chrono::milliseconds deadline) {
  AK_TRY(refused, state_->issue_all(steps));
  AK_TRY(fault, state_->wait(deadline));
  if (fault) fault->step = steps.empty() ? 0 : steps.size() - 1;
  return device::RunOutcome{refused && !fault ? std::move(refused) : std::move(fault)};
}

Result<device::TimeOutcome> CudaDevice::time(std::span<const device::Round> rounds,
                                             const TimeLimits& limits) {
  device::TimeOutcome outcome;
  const auto start = State::Clock::now();
  for (const device::Round& round : rounds) {
    if (outcome.rounds.size() >= limits.min_rounds && State::Clock::now() - start >= limits.budget) break;
    for (const auto* steps : {&round.before, &round.after}) {
      if (steps == &round.after) {
        AK_TRY(timed, state_->run_timed(round, limits.deadline));
        if (timed.fault) {
          outcome.fault = std::move(timed.fault);
          return outcome;
        }
        outcome.rounds.push_back(timed.time);
      }
      AK_TRY(ran, run(*steps, limits.deadline));
      if (ran.fault) {
        outcome.fault = std::move(ran.fault);
        return outcome;
      }
    }
  }
  if (state_->nvml) {
    if (auto state = state_->nvml->state_of(state_->info.uuid)) {
      for (device::RoundTime& each : outcome.rounds) each.throttled = NvmlApi::slows(state->throttle_reasons);
    }
  }
  return outcome;
}

Result<CudaModule*> CudaDevice::State::module(ModuleId id) {
  const auto found = modules.find(id);
  if (found == modules.end()) return internal_error("there is no module {}", static_cast<std::uint32_t>(id));
  return &found->second;
}

Result<const CudaBuffer*> CudaDevice::State::buffer(BufferRef ref, std::uint64_t bytes) {
  const auto found = buffers.find(ref.buffer);
  if (found == buffers.end())
    return internal_error("there is no buffer {}", static_cast<std::uint32_t>(ref.buffer));
  const std::uint64_t size = found->second.spec.bytes;
  if (ref.offset > size || bytes > size - ref.offset) {
    return internal_error("{} bytes at offset {} lie outside a buffer of {} bytes", bytes, ref.offset, size);
  }
  return &found->second;
}

}  // namespace ak::cuda
