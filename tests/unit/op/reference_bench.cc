#include "reference_bench.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "autokernel/base/file.h"
#include "autokernel/embed/device_headers.h"
#include "autokernel/kernel/kernel_file.h"
#include "signatures.h"

namespace ak::op::testing {
namespace {

constexpr std::chrono::milliseconds kDeadline{60'000};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Bits of the nearest value of a 16-bit float with this many exponent bits, and back. By scaling, so that
/// the code shares nothing with the device's conversions.
struct SmallFloat {
  int mantissa_bits, bias;
  double largest;

  double round(double value) const {
    if (!std::isfinite(value) || value == 0) return value;
    int exponent = 0;
    (void)std::frexp(value, &exponent);  // |value| in [2^(e-1), 2^e)
    const int step = std::max(exponent - 1, 1 - bias) - mantissa_bits;
    const double result = std::ldexp(std::nearbyint(std::ldexp(value, -step)), step);
    return std::fabs(result) > largest ? std::copysign(std::numeric_limits<double>::infinity(), value)
                                       : result;
  }
  std::uint16_t encode(double value) const {
    const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
    const int all_ones = 2 * bias + 1;
    if (std::isnan(value)) return static_cast<std::uint16_t>(sign | (all_ones << mantissa_bits) | 1);
    const double magnitude = std::fabs(round(value));
    if (std::isinf(magnitude)) return static_cast<std::uint16_t>(sign | (all_ones << mantissa_bits));
    if (magnitude < std::ldexp(1.0, 1 - bias)) {
      return static_cast<std::uint16_t>(sign |
                                        static_cast<int>(std::ldexp(magnitude, bias - 1 + mantissa_bits)));
    }
    int exponent = 0;
    const double fraction = std::frexp(magnitude, &exponent) * 2 - 1;
    return static_cast<std::uint16_t>(sign | ((exponent - 1 + bias) << mantissa_bits) |
                                      static_cast<int>(std::ldexp(fraction, mantissa_bits)));
  }
  double decode(std::uint16_t bits) const {
    const int exponent = (bits & 0x7fff) >> mantissa_bits, mantissa = bits & ((1 << mantissa_bits) - 1);
    const double sign = (bits & 0x8000) != 0 ? -1 : 1;
    if (exponent == 2 * bias + 1)
      return mantissa != 0 ? kNan : sign * std::numeric_limits<double>::infinity();
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
  }
};

constexpr SmallFloat kHalf{10, 15, 65504.0};
constexpr SmallFloat kBfloat{7, 127, 0x1.fep127};

template <class T>
void append(std::vector<std::byte>& bytes, T value) {
  const auto raw = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

template <class T>
T load(std::span<const std::byte> bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

std::vector<std::byte> encoded(const Values& values, DType dtype) {
  std::vector<std::byte> bytes;
  for (double value : values) {
    if (dtype == DType::kF64) append(bytes, value);
    if (dtype == DType::kF32) append(bytes, static_cast<float>(value));
    if (dtype == DType::kF16) append(bytes, kHalf.encode(value));
    if (dtype == DType::kBF16) append(bytes, kBfloat.encode(value));
    if (dtype == DType::kI64) append(bytes, static_cast<std::int64_t>(value));
  }
  return bytes;
}

device::Arg argument(const LaunchArg& arg, const std::function<device::Arg(const std::string&)>& tensor) {
  if (const auto* named = std::get_if<TensorArg>(&arg)) return tensor(named->tensor);
  if (const auto* value = std::get_if<std::int32_t>(&arg)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&arg)) return *value;
  if (const auto* value = std::get_if<float>(&arg)) return *value;
  if (const auto* value = std::get_if<double>(&arg)) return *value;
  return device::NullPointer{};
}

}  // namespace

double rounded(double value, DType dtype) {
  if (dtype == DType::kF32) return static_cast<float>(value);
  return dtype == DType::kF16 ? kHalf.round(value) : kBfloat.round(value);
}

Result<std::unique_ptr<ReferenceBench>> ReferenceBench::create() {
  std::unique_ptr<ReferenceBench> bench(new ReferenceBench());
  cpu::CpuCompilerOptions options;
  const auto headers = embed::device_headers();
  options.device_headers.assign(headers.begin(), headers.end());
  AK_TRY(compiler, cpu::CpuCompiler::create(std::move(options)));
  AK_TRY(device, cpu::CpuDevice::create({.jail_command = {}, .threads = 2}));
  bench->compiler_ = std::move(compiler);
  bench->device_ = std::move(device);
  return bench;
}

Status ReferenceBench::write(const Tensor& tensor, const Values& values) {
  return device_->write({tensor.buffer, 0}, encoded(values, tensor.dtype));
}

Result<Values> ReferenceBench::read(const Tensor& tensor) {
  std::vector<std::byte> bytes(tensor.elements * size_bytes(tensor.dtype));
  AK_TRY_VOID(device_->read({tensor.buffer, 0}, bytes));
  Values values;
  for (std::size_t i = 0; i < tensor.elements; ++i) {
    if (tensor.dtype == DType::kF64) values.push_back(load<double>(bytes, i));
    if (tensor.dtype == DType::kF32) values.push_back(load<float>(bytes, i));
    if (tensor.dtype == DType::kF16) values.push_back(kHalf.decode(load<std::uint16_t>(bytes, i)));
    if (tensor.dtype == DType::kBF16) values.push_back(kBfloat.decode(load<std::uint16_t>(bytes, i)));
  }
  return values;
}

Result<ReferenceBench::Tensors> ReferenceBench::allocate(const Family& family, const Problem& problem,
                                                         const Arrays& inputs) {
  Tensors tensors;
  const auto add = [&](const std::string& name, DType dtype, std::uint64_t elements,
                       const Values* values) -> Status {
    device::BufferSpec spec;
    spec.bytes = elements * size_bytes(dtype);
    AK_TRY(buffer, device_->allocate(spec));
    const Tensor tensor{buffer, dtype, elements, values != nullptr};
    tensors.emplace(name, tensor);
    return write(tensor, values != nullptr ? *values : Values(elements, kNan));
  };
  for (const TensorSpec* tensor : family.inputs(problem)) {
    AK_TRY(elements, element_count(family, *tensor, problem));
    AK_TRY_VOID(add(tensor->name, dtype_of(*tensor, problem), elements, &inputs.at(tensor->name)));
  }
  for (const TensorSpec* tensor : family.outputs(problem)) {
    AK_TRY(elements, element_count(family, *tensor, problem));
    AK_TRY_VOID(add(tensor->name, dtype_of(*tensor, problem), elements, nullptr));
    for (const char* suffix : {"_r", "_S", "_I0", "_I1"}) {
      AK_TRY_VOID(add(tensor->name + suffix, DType::kF64, elements, nullptr));
    }
  }
  return tensors;
}

Result<Arrays> ReferenceBench::run(const Family& family, std::string_view text, const std::string& name,
                                   const Problem& problem, const Arrays& inputs) {
  AK_TRY(file, kernel::parse(text, name));
  const kernel::Signature signature = reference_signature_of(family);
  AK_TRY(source,
         kernel::make_source(file, file.defaults, problem, signature, device_->info(), Build::kTimed));
  AK_TRY(compiled, compiler_->compile(source));
  if (!compiled.binary) return internal_error("{}: {}", name, compiled.failure->message);
  AK_TRY(module, device_->load(*compiled.binary, device::Trust::kTrusted));
  AK_TRY(plan, kernel::make_plan(file, file.defaults, problem, signature, device_->info()));
  AK_TRY(tensors, allocate(family, problem, inputs));
  std::map<std::string, device::BufferId> buffers;
  for (const auto& [tensor_name, tensor] : tensors) buffers[tensor_name] = tensor.buffer;
  std::vector<device::Step> steps;
  for (const WorkspacePlan& each : plan.workspaces) {
    AK_TRY(buffer, device_->allocate({.bytes = each.bytes}));
    buffers[each.name] = buffer;
    const std::uint8_t rubbish = 0xff;  // NaNs
    steps.emplace_back(device::Fill{{buffer, 0}, each.bytes, each.zeroed ? std::uint8_t{0} : rubbish});
  }
  for (const LaunchStep& step : plan.steps) {
    device::Launch launch;
    launch.module = module;
    while (compiled.binary->entries[launch.entry].name != step.entry) ++launch.entry;
    launch.grid = step.grid;
    launch.block = step.block;
    launch.shared_bytes = step.shared_bytes;
    for (const LaunchArg& arg : step.args) {
      launch.args.push_back(argument(arg, [&](const std::string& tensor) -> device::Arg {
        const auto found = buffers.find(tensor);
        if (found == buffers.end()) return device::NullPointer{};
        return device::BufferRef{found->second, 0};
      }));
    }
    steps.push_back(std::move(launch));
  }
  AK_TRY(outcome, device_->run(steps, kDeadline));
  if (outcome.fault) return internal_error("{}: {}", name, outcome.fault->message);
  Arrays results;
  for (const auto& [tensor_name, tensor] : tensors) {
    if (!tensor.input) {
      AK_TRY(values, read(tensor));
      results.emplace(tensor_name, std::move(values));
    }
  }
  for (const auto& [buffer_name, buffer] : buffers) device_->free(buffer);
  device_->unload(module);
  return results;
}

}  // namespace ak::op::testing
