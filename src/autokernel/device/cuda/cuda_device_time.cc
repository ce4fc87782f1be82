// The timed part of a round: one CUDA graph between two events, behind a kernel that holds the stream until
// all of it has been enqueued.

#include <algorithm>
#include <cstring>

#include "autokernel/device/cuda/cuda_device_state.h"

namespace ak::cuda {

using device::Fault;
using device::Step;

namespace {

constexpr std::int64_t kHoldCycles =
    60'000;                                ///< about 35 us, longer than enqueueing events and a graph takes
constexpr std::size_t kStampSlots = 1024;  ///< multiprocessors
constexpr std::size_t kMaxGraphs = 16;

void append_bits(std::string& key, const void* data, std::size_t bytes) {
  key.append(static_cast<const char*>(data), bytes);
}

/// What decides the bits of a graph.
std::string key_of(std::span<const Step> steps) {
  std::string key;
  for (const Step& step : steps) {
    if (const auto* fill = std::get_if<device::Fill>(&step)) {
      key += 'f';
      append_bits(key, &fill->at.buffer, sizeof fill->at.buffer);
      append_bits(key, &fill->at.offset, sizeof fill->at.offset);
      append_bits(key, &fill->bytes, sizeof fill->bytes);
      append_bits(key, &fill->pattern, sizeof fill->pattern);
      continue;
    }
    const auto* launch = std::get_if<device::Launch>(&step);
    if (launch == nullptr) continue;
    key += 'l';
    append_bits(key, &launch->module, sizeof launch->module);
    append_bits(key, &launch->entry, sizeof launch->entry);
    append_bits(key, &launch->grid, sizeof launch->grid);
    append_bits(key, &launch->block, sizeof launch->block);
    append_bits(key, &launch->cluster, sizeof launch->cluster);
    append_bits(key, &launch->shared_bytes, sizeof launch->shared_bytes);
    key += launch->cooperative ? 'c' : '-';
    for (const device::Arg& arg : launch->args) {
      key += static_cast<char>('0' + arg.index());
      std::visit(
          [&](const auto& value) {
            using T = std::decay_t<decltype(value)>;
            if constexpr (std::is_arithmetic_v<T>) append_bits(key, &value, sizeof value);
            if constexpr (std::is_same_v<T, device::BufferRef>) {
              append_bits(key, &value.buffer, sizeof value.buffer);
              append_bits(key, &value.offset, sizeof value.offset);
            }
            if constexpr (std::is_same_v<T, device::TensorMap>) {
              append_bits(key, &value.at.buffer, sizeof value.at.buffer);
              append_bits(key, &value.at.offset, sizeof value.at.offset);
              append_bits(key, &value.dtype, sizeof value.dtype);
              append_bits(key, &value.swizzle_bytes, sizeof value.swizzle_bytes);
              append_bits(key, value.sizes.data(), value.sizes.size() * sizeof value.sizes[0]);
              append_bits(key, value.box.data(), value.box.size() * sizeof value.box[0]);
            }
          },
          arg);
    }
  }
  return key;
}

}  // namespace

void CudaDevice::State::forget_graphs() {
  if (!lost) {
    for (auto& [key, graph] : graphs) api.graph_exec_destroy(graph);
  }
  graphs.clear();
}

Result<CudaDevice::State::Captured> CudaDevice::State::graph_of(std::span<const Step> steps) {
  if (lost) return environment_error("the GPU's context was lost by an earlier fault");
  std::string key = key_of(steps);
  if (auto known = graphs.find(key); known != graphs.end()) return Captured{known->second, std::nullopt};
  AK_TRY_VOID(api.check(api.stream_begin_capture(stream, kCaptureThreadLocal), "capture a graph"));
  MaybeFault issued = issue_all(steps);
  GraphHandle graph = nullptr;
  const DriverResult ended = api.stream_end_capture(stream, &graph);
  if (!issued || *issued) {
    if (graph != nullptr) api.graph_destroy(graph);
    if (!issued) return tl::unexpected(std::move(issued).error());
    return Captured{nullptr, std::move(*issued)};
  }
  AK_TRY_VOID(api.check(ended, "capture a graph"));
  GraphExecHandle executable = nullptr;
  const DriverResult made = api.graph_instantiate(&executable, graph, 0);
  api.graph_destroy(graph);
  if (made != DriverResult::kSuccess)
    return Captured{nullptr, fault_of(made, "making a graph of the launches")};
  AK_TRY_VOID(api.check(api.graph_upload(executable, stream), "upload a graph"));
  if (graphs.size() >= kMaxGraphs) forget_graphs();
  graphs.emplace(std::move(key), executable);
  return Captured{executable, std::nullopt};
}

/// One launch of a graph that is known to work: between events, and by the host's clock.
Result<CudaDevice::State::BatchCost> CudaDevice::State::time_graph(GraphExecHandle graph) {
  std::int64_t cycles = kHoldCycles;
  void* hold[] = {&stamps, &cycles};
  const auto start = Clock::now();
  AK_TRY_VOID(launch_own("ak_hold", info.multiprocessors, 1, 0, hold));
  AK_TRY_VOID(api.check(api.event_record(before, stream), "record an event"));
  AK_TRY_VOID(api.check(api.graph_launch(graph, stream), "launch a graph"));
  AK_TRY_VOID(api.check(api.event_record(after, stream), "record an event"));
  AK_TRY_VOID(launch_own("ak_stamp", info.multiprocessors, 1, 0, std::span(hold).first(1)));
  AK_TRY(fault, wait(std::chrono::seconds(10)));
  const double wall_us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  if (fault) return environment_error("measuring the cost of a launch failed: {}", fault->message);
  float ms = 0;
  AK_TRY_VOID(api.check(api.event_elapsed_time(&ms, before, after), "read an event"));
  return BatchCost{static_cast<double>(ms) * 1e3, wall_us};
}

/// The time of a graph with one empty kernel less that of one kernel more: what a round pays once.
Result<CudaDevice::State::BatchCost> CudaDevice::State::measure_batch_cost() {
  constexpr std::size_t kMany = 33;
  constexpr int kTries = 15;
  device::Launch nothing;
  nothing.module = device::ModuleId{0};
  nothing.entry = own_entries.find("ak_nothing")->second;
  const std::vector<Step> steps(kMany, Step(nothing));
  const auto median = [](std::vector<double>& values) {
    std::nth_element(values.begin(), values.begin() + kTries / 2, values.end());
    return values[kTries / 2];
  };
  BatchCost medians[2];
  const std::size_t counts[2] = {kMany, 1};  // the first wakes the clock
  for (int k = 0; k < 2; ++k) {
    AK_TRY(captured, graph_of(std::span(steps).first(counts[k])));
    if (captured.fault) {
      return internal_error("measuring the cost of a launch failed: {}", captured.fault->message);
    }
    std::vector<double> elapsed, wall;
    for (int i = 0; i < kTries; ++i) {
      AK_TRY(cost, time_graph(captured.graph));
      elapsed.push_back(cost.elapsed_us);
      wall.push_back(cost.wall_us);
    }
    medians[k] = {median(elapsed), median(wall)};
  }
  const double each = (medians[0].elapsed_us - medians[1].elapsed_us) / static_cast<double>(kMany - 1);
  return BatchCost{std::max(0.0, medians[1].elapsed_us - each), std::max(0.0, medians[1].wall_us - each)};
}

/// From the stamps before and after: the median over multiprocessors; 0 where they say nothing.
Result<double> CudaDevice::State::clock_mhz() {
  std::vector<std::uint64_t> host(4 * kStampSlots);
  AK_TRY_VOID(api.check(api.memcpy_to_host(host.data(), stamps, host.size() * 8), "read clocks"));
  std::vector<double> mhz;
  for (std::size_t i = 0; i < kStampSlots; ++i) {
    const std::uint64_t* from = &host[2 * i];
    const std::uint64_t* to = &host[2 * (kStampSlots + i)];
    if (from[1] == 0 || to[1] <= from[1] || to[0] <= from[0]) continue;
    mhz.push_back(1e3 * static_cast<double>(to[0] - from[0]) / static_cast<double>(to[1] - from[1]));
  }
  if (mhz.empty()) return 0.0;
  std::nth_element(mhz.begin(), mhz.begin() + static_cast<std::ptrdiff_t>(mhz.size() / 2), mhz.end());
  return mhz[mhz.size() / 2];
}

Result<CudaDevice::State::TimedPart> CudaDevice::State::run_timed(const device::Round& round,
                                                                  std::chrono::milliseconds deadline) {
  TimedPart part;
  if (!batch_cost) {
    AK_TRY(measured, measure_batch_cost());
    batch_cost = measured;
  }
  AK_TRY(captured, graph_of(round.timed));
  if (captured.fault) {
    part.fault = std::move(captured.fault);
    return part;
  }
  AK_TRY_VOID(api.check(api.memset_words(stamps, 0, 8 * kStampSlots, stream), "clear clocks"));
  AK_TRY(idle, wait(deadline));
  if (idle) return internal_error("preparing a timed round failed: {}", idle->message);
  std::int64_t cycles = kHoldCycles;
  void* hold[] = {&stamps, &cycles};
  DevicePointer end_stamps = stamps + 16 * kStampSlots;
  void* stamp[] = {&end_stamps};
  const auto start = Clock::now();
  AK_TRY_VOID(launch_own("ak_hold", info.multiprocessors, 1, 0, hold));
  AK_TRY_VOID(api.check(api.event_record(before, stream), "record an event"));
  const DriverResult launched = api.graph_launch(captured.graph, stream);
  if (launched != DriverResult::kSuccess) {
    part.fault = fault_of(launched, "launch of the timed batch");
    return part;
  }
  AK_TRY_VOID(api.check(api.event_record(after, stream), "record an event"));
  AK_TRY_VOID(launch_own("ak_stamp", info.multiprocessors, 1, 0, stamp));
  AK_TRY(fault, wait(deadline));
  if (fault) {
    part.fault = std::move(fault);
    return part;
  }
  const double all_us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  float ms = 0;
  AK_TRY_VOID(api.check(api.event_elapsed_time(&ms, before, after), "read an event"));
  AK_TRY(mhz, clock_mhz());
  part.time.us =
      std::max(0.0, static_cast<double>(ms) * 1e3 - batch_cost->elapsed_us) / std::max(1u, round.repeats);
  part.time.clock_mhz = mhz;
  part.time.wall_us = std::max(0.0, all_us - batch_cost->wall_us);
  return part;
}

}  // namespace ak::cuda
