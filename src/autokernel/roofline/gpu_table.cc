#include "autokernel/roofline/gpu_table.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "autokernel/base/toml.h"
#include "autokernel/embed/gpus.h"

namespace ak::roofline {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == ' ' || c == '-' || c == '_') {
      if (!words.back().empty()) words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

bool contains_all(const std::vector<std::string>& all, const std::vector<std::string>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& word) {
    return std::find(all.begin(), all.end(), word) != all.end();
  });
}

Result<GpuFigures> gpu_from(const Json& json, const std::string& what) {
  AK_TRY(fields, JsonReader::object(json, what));
  GpuFigures gpu;
  AK_TRY(name, fields.get_string("name"));
  AK_TRY(arch, fields.get_string("arch"));
  AK_TRY(source, fields.get_string("source"));
  AK_TRY(matches, fields.get_array("match"));
  AK_TRY(multiprocessors, fields.get_int("multiprocessors"));
  AK_TRY(memory, fields.get_double("memory_gib"));
  AK_TRY(l2, fields.get_double("l2_mib"));
  AK_TRY(gbps, fields.get_double("gbps"));
  AK_TRY(rates, fields.get_object("tflops"));
  for (const Json& each : *matches) {
    if (!each.is_string()) return usage_error("{}.match: expected texts", what);
    gpu.match.push_back(each.get<std::string>());
  }
  if (json.contains("unverified")) {
    for (const Json& each : json["unverified"]) {
      if (!each.is_string() || !json.contains(each.get<std::string>()))
        return usage_error("{}.unverified: expected names of this entry's figures", what);
      gpu.unverified.push_back(each.get<std::string>());
    }
  }
  for (const auto& [type, rate] : rates->items()) {
    if (!rate.is_number() || rate.get<double>() <= 0)
      return usage_error("{}.tflops.{}: expected a rate", what, type);
    gpu.tflops[type] = rate.get<double>();
  }
  if (multiprocessors <= 0 || memory <= 0 || l2 <= 0 || gbps <= 0) {
    return usage_error("{}: every figure must be positive", what);
  }
  gpu.name = std::move(name);
  gpu.arch = std::move(arch);
  gpu.source = std::move(source);
  gpu.multiprocessors = static_cast<std::uint32_t>(multiprocessors);
  gpu.memory_gib = memory;
  gpu.l2_mib = l2;
  gpu.gbps = gbps;
  return gpu;
}

Peaks peaks_from(const GpuFigures& gpu, double scale, Source source) {
  Peaks peaks;
  peaks.bandwidths.push_back({std::uint64_t{1} << 30, gpu.gbps, gpu.gbps, source});
  for (const auto& [type, tflops] : gpu.tflops) peaks.rates[type] = {tflops * scale, source};
  for (const auto& [dtype, type] :
       {std::pair{DType::kF16, "f16"}, {DType::kBF16, "bf16"}, {DType::kF32, "f32"}}) {
    if (auto rate = peaks.rates.find(type); rate != peaks.rates.end())
      peaks.matrix_tflops[dtype] = rate->second;
  }
  return peaks;
}

/// Generations with tensor memory; sm_120, the consumer's Blackwell, has mma.sync alone.
bool has_tcgen05(std::string_view arch) {
  const int number = cuda_arch_number(arch).value_or(0);
  return number >= 100 && number < 120;
}

}  // namespace

Result<GpuTable> GpuTable::parse(std::string_view text, const std::string& name) {
  AK_TRY(document, parse_toml(text, {.name = name}));
  AK_TRY(fields, JsonReader::object(document.root(), name));
  AK_TRY(list, fields.get_array("gpu"));
  GpuTable table;
  for (const Json& each : *list) {
    AK_TRY(gpu, gpu_from(each, fmt::format("{}: gpu[{}]", name, table.gpus_.size())));
    table.gpus_.push_back(std::move(gpu));
  }
  return table;
}

Result<GpuTable> GpuTable::embedded() {
  const EmbeddedFile& file = embed::gpus()[0];
  return parse(file.text, std::string(file.path));
}

const GpuFigures* GpuTable::find(std::string_view device_name) const {
  const std::vector<std::string> words = words_of(device_name);
  const GpuFigures* best = nullptr;
  std::size_t most = 0;
  for (const GpuFigures& gpu : gpus_) {
    for (const std::string& match : gpu.match) {
      const std::vector<std::string> wanted = words_of(match);
      if (wanted.size() <= most || !contains_all(words, wanted)) continue;
      most = wanted.size();
      best = &gpu;
    }
  }
  return best;
}

std::optional<Peaks> GpuTable::peaks_of(const DeviceInfo& device) const {
  const GpuFigures* found = find(device.name);
  double scale = 1;
  Source source = Source::kTable;
  if (found == nullptr) {
    if (device.arch.empty() || device.multiprocessors == 0) return std::nullopt;
    const auto alike = std::find_if(gpus_.begin(), gpus_.end(),
                                    [&](const GpuFigures& gpu) { return gpu.arch == device.arch; });
    if (alike == gpus_.end()) return std::nullopt;
    found = &*alike;
    scale = static_cast<double>(device.multiprocessors) / found->multiprocessors;
    source = Source::kEstimated;
  }
  Peaks peaks = peaks_from(*found, scale, source);
  peaks.device_uuid = device.uuid;
  peaks.device_name = device.name;
  return peaks;
}

void GpuTable::bound_unmeasured_rates(const DeviceInfo& device, Peaks& measured) const {
  if (!has_tcgen05(device.arch)) return;
  const std::optional<Peaks> known = peaks_of(device);
  std::map<DType, Rate> bounds;
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const std::optional<Rate> listed = known ? known->tflops(dtype) : std::nullopt;
    const std::optional<Rate> reached = measured.tflops(dtype);
    if (listed) bounds[dtype] = reached && reached->value > listed->value ? *reached : *listed;
  }
  if (const auto f16 = bounds.find(DType::kF16);
      f16 != bounds.end()) {  // f32 as three products of split operands
    const auto fma = measured.rates.find("fp32_fma");
    const double least = fma == measured.rates.end() ? 0 : fma->second.value;
    bounds[DType::kF32] = {std::max(least, f16->second.value / 3), f16->second.source};
  }
  measured.matrix_tflops = std::move(bounds);
}

}  // namespace ak::roofline
