#pragma once
// What CudaDevice is made of. Internal.

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autokernel/base/random.h"
#include "autokernel/device/cuda/cuda_buffer.h"
#include "autokernel/device/cuda/cuda_device.h"

namespace ak::cuda {

struct CudaModule {
  ModuleHandle handle = nullptr;
  device::Trust trust = device::Trust::kCandidate;
  std::vector<Entry> entries;
  std::vector<FunctionHandle> functions;
};

struct CudaDevice::State {
  using Clock = std::chrono::steady_clock;
  using MaybeFault = Result<std::optional<device::Fault>>;

  explicit State(DriverApi driver) : api(std::move(driver)) {}
  ~State();

  DriverApi api;
  std::optional<NvmlApi> nvml;
  std::optional<MemoryPool> pool;  ///< of `api`; set by start()
  DeviceInfo info;
  DeviceOrdinal ordinal = 0;
  StreamHandle stream = nullptr;
  EventHandle before = nullptr, after = nullptr;
  bool lost = false;  ///< the context is gone or busy for ever
  Rng seeds{secret_seed()};

  std::map<device::ModuleId, CudaModule> modules;
  std::map<device::BufferId, CudaBuffer> buffers;
  std::uint32_t next_module = 1, next_buffer = 1;
  std::map<std::string, GraphExecHandle> graphs;  ///< timed parts, by what they launch

  // The device's own kernels and buffers.
  device::ModuleId own{};
  std::map<std::string, std::uint32_t, std::less<>> own_entries;
  DevicePointer flush = 0, stamps = 0, sink = 0, zone_table = 0, zone_found = 0;
  std::uint64_t flush_bytes = 0;
  std::size_t zone_capacity = 0;
  std::vector<device::BufferId> zone_owners;  ///< of the table's zones, in its order
  bool zones_changed = true;
  /// What a timed batch costs beyond its kernels: between its events, and by the host's clock.
  struct BatchCost {
    double elapsed_us = 0, wall_us = 0;
  };
  std::optional<BatchCost> batch_cost;

  Status start(device::Compiler& compiler);
  Status allocate_own_buffers();

  Result<CudaModule*> module(device::ModuleId id);
  Result<const CudaBuffer*> buffer(device::BufferRef ref, std::uint64_t bytes);

  // cuda_device_run.cc
  MaybeFault issue(const device::Step& step);
  MaybeFault issue_launch(const device::Launch& launch);
  Status issue_fill(const device::Fill& fill);
  Status issue_scrub(device::Scrub::What what);
  Status launch_own(std::string_view entry, std::uint32_t grid, std::uint32_t block,
                    std::uint32_t shared_bytes, std::span<void*> params);
  /// Enqueues steps; a fault carries its index.
  MaybeFault issue_all(std::span<const device::Step> steps);
  /// Until the stream is empty, or the deadline: then the device is lost.
  MaybeFault wait(std::chrono::milliseconds deadline);
  device::Fault fault_of(DriverResult result, std::string_view what);
  device::Fault illegal_address(const std::string& said) const;
  Result<TensorMapDescriptor> encode(const device::TensorMap& map, device::Trust trust);

  // cuda_device_time.cc
  struct TimedPart {
    std::optional<device::Fault> fault;
    device::RoundTime time;
  };
  Result<TimedPart> run_timed(const device::Round& round, std::chrono::milliseconds deadline);
  /// The graph of these steps, from the cache or captured.
  struct Captured {
    GraphExecHandle graph = nullptr;
    std::optional<device::Fault> fault;
  };
  Result<Captured> graph_of(std::span<const device::Step> steps);
  Result<BatchCost> measure_batch_cost();
  Result<BatchCost> time_graph(GraphExecHandle graph);
  Result<double> clock_mhz();
  void forget_graphs();

  // cuda_guards.cc
  Status reserve_zones(std::size_t count);
  Status refresh_zone_table();
  Status fill_zones(const CudaBuffer& buffer);
};

}  // namespace ak::cuda
