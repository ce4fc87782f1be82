#include "autokernel/roofline/peaks.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace ak::roofline {
namespace {

constexpr int kSchema = 1;
constexpr std::string_view kSourceNames[] = {"measured", "table", "estimated"};

Result<double> get_amount(const JsonReader& fields, std::string_view field) {
  AK_TRY(value, fields.get_double(field));
  if (!std::isfinite(value) || value < 0) {
    return usage_error("{}.{}: {} is not a finite amount", fields.what(), field, value);
  }
  return value;
}

Result<Source> get_source(const JsonReader& fields) {
  AK_TRY(text, fields.get_string("source"));
  const std::optional<Source> source = source_from_name(text);
  if (!source) return usage_error("{}.source: '{}' is not measured, table or estimated", fields.what(), text);
  return *source;
}

Json rate_to_json(const Rate& rate) { return {{"value", rate.value}, {"source", name(rate.source)}}; }

Result<Rate> rate_from_json(const Json& json, const std::string& what) {
  AK_TRY(fields, JsonReader::object(json, what));
  AK_TRY(value, get_amount(fields, "value"));
  AK_TRY(source, get_source(fields));
  return Rate{value, source};
}

Result<Bandwidth> bandwidth_from_json(const Json& json, const std::string& what) {
  AK_TRY(fields, JsonReader::object(json, what));
  AK_TRY(footprint, fields.get_int("footprint_bytes"));
  if (footprint < 0) return usage_error("{}.footprint_bytes: {} is negative", what, footprint);
  AK_TRY(copy, get_amount(fields, "copy_gbps"));
  AK_TRY(read, get_amount(fields, "read_gbps"));
  AK_TRY(source, get_source(fields));
  return Bandwidth{static_cast<std::uint64_t>(footprint), copy, read, source};
}

Rate best(const Bandwidth& point) { return {std::max(point.copy_gbps, point.read_gbps), point.source}; }

}  // namespace

std::string_view name(Source source) { return kSourceNames[static_cast<int>(source)]; }

std::optional<Source> source_from_name(std::string_view text) {
  for (const Source source : {Source::kMeasured, Source::kTable, Source::kEstimated}) {
    if (name(source) == text) return source;
  }
  return std::nullopt;
}

std::optional<Rate> Peaks::gbps(std::uint64_t footprint_bytes) const {
  std::optional<Bandwidth> below;
  for (const Bandwidth& point : bandwidths) {
    if (best(point).value <= 0) continue;
    if (point.footprint_bytes >= footprint_bytes) {
      if (!below || point.footprint_bytes == footprint_bytes) return best(point);
      const auto log_of = [](std::uint64_t bytes) {
        return std::log(static_cast<double>(std::max(bytes, std::uint64_t{1})));
      };
      const double from = log_of(below->footprint_bytes);
      const double width = log_of(point.footprint_bytes) - from;
      const double fraction = width > 0 ? (log_of(footprint_bytes) - from) / width : 0;
      const double low = best(*below).value;
      // The less certain of the two sources; they are declared in this order.
      return Rate{low + fraction * (best(point).value - low), std::max(below->source, point.source)};
    }
    below = point;
  }
  if (!below) return std::nullopt;
  return best(*below);
}

std::optional<Rate> Peaks::tflops(DType dtype) const {
  const auto found = matrix_tflops.find(dtype);
  if (found == matrix_tflops.end() || found->second.value <= 0) return std::nullopt;
  return found->second;
}

Json to_json(const Peaks& peaks) {
  Json bandwidths = Json::array();
  for (const Bandwidth& point : peaks.bandwidths) {
    bandwidths.push_back({{"footprint_bytes", point.footprint_bytes},
                          {"copy_gbps", point.copy_gbps},
                          {"read_gbps", point.read_gbps},
                          {"source", name(point.source)}});
  }
  Json rates = Json::object();
  for (const auto& [dtype, rate] : peaks.matrix_tflops)
    rates[std::string(ak::name(dtype))] = rate_to_json(rate);
  Json instructions = Json::object();
  for (const auto& [name, rate] : peaks.rates) instructions[name] = rate_to_json(rate);
  return {{"schema", kSchema},
          {"rates", std::move(instructions)},
          {"device_uuid", peaks.device_uuid},
          {"device_name", peaks.device_name},
          {"date", peaks.date},
          {"bandwidths", std::move(bandwidths)},
          {"matrix_tflops", std::move(rates)},
          {"launch_floor_us", peaks.launch_floor_us ? rate_to_json(*peaks.launch_floor_us) : Json()}};
}

Result<Peaks> peaks_from_json(const Json& json, const std::string& what) {
  AK_TRY(fields, JsonReader::object(json, what));
  AK_TRY(schema, fields.get_int("schema"));
  if (schema != kSchema) return usage_error("{}.schema: {} is not {}", what, schema, kSchema);
  Peaks peaks;
  AK_TRY(uuid, fields.get_string("device_uuid"));
  AK_TRY(device, fields.get_string("device_name"));
  AK_TRY(date, fields.get_string("date"));
  peaks.device_uuid = std::move(uuid);
  peaks.device_name = std::move(device);
  peaks.date = std::move(date);
  AK_TRY(bandwidths, fields.get_array("bandwidths"));
  for (const Json& item : *bandwidths) {
    AK_TRY(point, bandwidth_from_json(item, fmt::format("{}.bandwidths[{}]", what, peaks.bandwidths.size())));
    if (!peaks.bandwidths.empty() && point.footprint_bytes <= peaks.bandwidths.back().footprint_bytes) {
      return usage_error("{}.bandwidths: footprints must ascend, {} does not", what, point.footprint_bytes);
    }
    peaks.bandwidths.push_back(point);
  }
  AK_TRY(rates, fields.get_object("matrix_tflops"));
  for (const auto& [key, value] : rates->items()) {
    const std::optional<DType> dtype = dtype_from_name(key);
    if (!dtype) return usage_error("{}.matrix_tflops: unknown dtype '{}'", what, key);
    AK_TRY(rate, rate_from_json(value, fmt::format("{}.matrix_tflops.{}", what, key)));
    peaks.matrix_tflops[*dtype] = rate;
  }
  if (json.contains("rates")) {
    AK_TRY(instructions, fields.get_object("rates"));
    for (const auto& [key, value] : instructions->items()) {
      AK_TRY(rate, rate_from_json(value, fmt::format("{}.rates.{}", what, key)));
      peaks.rates[key] = rate;
    }
  }
  AK_TRY(launch, fields.get("launch_floor_us"));
  if (!launch->is_null()) {
    AK_TRY(rate, rate_from_json(*launch, what + ".launch_floor_us"));
    peaks.launch_floor_us = rate;
  }
  return peaks;
}

}  // namespace ak::roofline
