#include "autokernel/harness/peaks.h"

#include <algorithm>

#include "autokernel/harness/device_buffer.h"

namespace ak::harness {
namespace {

constexpr std::size_t kRounds = 6;

/// Shortest time of one execution, microseconds.
Result<double> best_time(Context& context, std::vector<device::Step> timed, std::uint32_t repeats) {
  device::Round round;
  round.timed = std::move(timed);
  round.repeats = repeats;
  std::vector<device::Round> rounds(kRounds, round);
  AK_TRY(outcome, context.device.time(rounds, {}));
  if (outcome.fault) return internal_error("measuring peaks failed: {}", outcome.fault->message);
  double best = 0;
  for (const device::RoundTime& each : outcome.rounds) {
    if (each.us > 0 && (best == 0 || each.us < best)) best = each.us;
  }
  if (best <= 0) return internal_error("measuring peaks gave no time");
  return best;
}

}  // namespace

Result<MeasuredBandwidth> measure_bandwidth(Context& context, std::uint64_t set_bytes, std::size_t sets) {
  std::uint64_t half = std::max<std::uint64_t>(4096, set_bytes / 2 / 16 * 16);
  std::vector<DeviceBuffer> buffers;
  std::vector<device::Step> copies, reads;
  AK_TRY(sink, DeviceBuffer::allocate(context.device, {.bytes = 64, .access = device::Access::kHidden}));
  op::Distribution normal{"normal", {}, {}};
  for (std::size_t i = 0; i < 2 * sets; ++i) {
    AK_TRY(buffer,
           DeviceBuffer::allocate(context.device, {.bytes = half, .access = device::Access::kHidden}));
    AK_TRY(fill, context.trusted.generate({buffer.ref(), DType::kF32, half / 4, 1}, normal, {}, i, 0));
    device::Step step = std::move(fill);
    AK_TRY(filled, context.device.run({&step, 1}, std::chrono::minutes(1)));
    if (filled.fault) return internal_error("measuring peaks failed: {}", filled.fault->message);
    buffers.push_back(std::move(buffer));
  }
  for (std::size_t i = 0; i < sets; ++i) {
    AK_TRY(copy, context.trusted.copy(buffers[2 * i].ref(), buffers[2 * i + 1].ref(), half));
    copies.push_back(std::move(copy));
    for (std::size_t k = 0; k < 2; ++k) {
      AK_TRY(read, context.trusted.read(buffers[2 * i + k].ref(), half, sink.ref()));
      reads.push_back(std::move(read));
    }
  }
  auto repeats = static_cast<std::uint32_t>(sets);
  AK_TRY(copy_us, best_time(context, std::move(copies), repeats));
  AK_TRY(read_us, best_time(context, std::move(reads), repeats));
  double bytes = 2.0 * static_cast<double>(half);
  return MeasuredBandwidth{bytes / copy_us / 1e3, bytes / read_us / 1e3};
}

Result<double> measure_multiply_add_tflops(Context& context) {
  std::uint32_t blocks = context.device.info().multiprocessors * 4;
  std::int32_t steps = context.device.info().kind == "cpu" ? 400 : 4000;
  AK_TRY(out, DeviceBuffer::allocate(context.device, {.bytes = std::uint64_t{blocks} * 256 * 4,
                                                      .access = device::Access::kHidden}));
  AK_TRY(launch, context.trusted.multiply_add(out.ref(), blocks, steps));
  AK_TRY(us, best_time(context, {std::move(launch)}, 1));
  return 192.0 * steps * 256 * blocks / us / 1e6;
}

}  // namespace ak::harness
