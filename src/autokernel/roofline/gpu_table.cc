#include "autokernel/roofline/gpu_table.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "autokernel/base/toml.h"
#include "autokernel/embed/gpus.h"

namespace ak::roofline {
namespace {

constexpr std::uint64_t kAnyFootprint = 1;

Result<Peaks> read_peaks(const Json& gpu, std::string_view name) {
  const std::string what = fmt::format("data/gpus.toml: {}", name);
  AK_TRY(fields, JsonReader::object(gpu, what));
  AK_TRY(gbps, fields.get_double("memory_gbps"));
  AK_TRY(rates, fields.get_object("matrix_tflops"));
  Peaks peaks;
  peaks.device_name = name;
  peaks.bandwidths.push_back({kAnyFootprint, gbps, gbps, Source::kTable});
  for (const auto& [key, value] : rates->items()) {
    const std::optional<DType> dtype = dtype_from_name(key);
    if (!dtype || !value.is_number())
      return internal_error("{}: matrix_tflops.{} is no rate of a dtype", what, key);
    peaks.matrix_tflops[*dtype] = {value.get<double>(), Source::kTable};
  }
  return peaks;
}

}  // namespace

Result<std::optional<Peaks>> table_peaks(std::string_view device_name) {
  AK_TRY(document, parse_toml(embed::gpus()[0].text, {.name = "data/gpus.toml", .first_line = 1}));
  AK_TRY(root, JsonReader::object(document.root(), "data/gpus.toml"));
  AK_TRY(gpus, root.get_array("gpu"));
  for (const Json& gpu : *gpus) {
    AK_TRY(fields, JsonReader::object(gpu, "data/gpus.toml: gpu"));
    AK_TRY(names, fields.get_array("names"));
    const bool found =
        std::any_of(names->begin(), names->end(), [&](const Json& name) { return name == device_name; });
    if (!found) continue;
    AK_TRY(peaks, read_peaks(gpu, device_name));
    return std::optional(std::move(peaks));
  }
  return std::optional<Peaks>();
}

}  // namespace ak::roofline
