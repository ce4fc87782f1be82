// The JSON of a plan. Optional tensors that are present are flags HAS_<TENSOR>, as kernels see them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "autokernel/core/field_reader.h"
#include "autokernel/plan/plan.h"

namespace ak::plan {
namespace {

constexpr std::string_view kPresence = "HAS_";

Json optional_number(const std::optional<double>& value) { return value ? json_number(*value) : Json(); }

/// A ceiling is null where nothing bounds it.
double number_or_infinity(const std::optional<double>& value) {
  return value.value_or(std::numeric_limits<double>::infinity());
}

Json to_json(const std::vector<Place>& places) {
  Json json = Json::array();
  for (const Place& place : places) json.push_back({{"module", place.module}, {"nodes", place.nodes}});
  return json;
}

Result<Place> place_from_json(const Json& json, const std::string& what) {
  AK_TRY(in, FieldReader::object(json, what));
  Place place;
  in.read("module", place.module);
  in.read("nodes", place.nodes);
  return in.finish(std::move(place));
}

Json to_json(const PlanSite& site) {
  const Problem& problem = site.problem;
  NamedInts flags = problem.flags;
  for (const std::string& tensor : problem.has) flags[op::presence_macro(tensor)] = 1;
  Json scalars = Json::object();
  for (const auto& [name, value] : problem.scalars) scalars[name] = json_number(value);
  return {{"id", site.id},
          {"op", problem.op},
          {"dims", problem.dims},
          {"flags", flags},
          {"scalars", std::move(scalars)},
          {"dtype", name(problem.dtype)},
          {"strides", problem.strides},
          {"calls", static_cast<std::int64_t>(std::llround(site.calls))},
          {"time_us", site.time_us},
          {"share", site.share},
          {"cumulative_share", site.cumulative_share},
          {"floor_us", optional_number(site.floor_us)},
          {"bound", site.bound},
          {"ceiling", json_finite(site.ceiling)},
          {"realistic_us", optional_number(site.realistic_us)},
          {"priority", site.priority},
          {"aten", site.aten},
          {"kernels", site.kernels},
          {"places", to_json(site.places)}};
}

Json to_json(const std::vector<AtenShare>& list, bool with_time) {
  Json json = Json::array();
  for (const AtenShare& each : list) {
    Json item = {{"aten", each.aten}, {"share", each.share}};
    if (with_time) item["time_us"] = each.time_us;
    json.push_back(std::move(item));
  }
  return json;
}

Result<AtenShare> share_from_json(const Json& json, const std::string& what) {
  AK_TRY(in, FieldReader::object(json, what));
  AtenShare share;
  in.read("aten", share.aten);
  in.read("share", share.share);
  if (json.contains("time_us")) in.read("time_us", share.time_us);
  return in.finish(std::move(share));
}

/// Dims, flags and scalars as they were written; `site_from` makes the problem of them.
struct RawSite {
  PlanSite site;
  NamedInts dims, flags;
  std::map<std::string, double> scalars;
  std::map<std::string, std::vector<std::int64_t>> strides;
  std::string op;
  DType dtype = DType::kF32;
};

Result<RawSite> raw_site(const Json& json, const std::string& what) {
  AK_TRY(in, FieldReader::object(json, what));
  RawSite raw;
  PlanSite& site = raw.site;
  in.read("id", site.id);
  in.read("op", raw.op);
  in.read("dims", raw.dims);
  in.read("flags", raw.flags);
  in.read("scalars", raw.scalars);
  in.read_name("dtype", raw.dtype, dtype_from_name);
  in.read("strides", raw.strides);
  in.read("calls", site.calls);
  in.read("time_us", site.time_us);
  in.read("share", site.share);
  in.read("cumulative_share", site.cumulative_share);
  in.read_optional("floor_us", site.floor_us);
  in.read("bound", site.bound);
  std::optional<double> ceiling;
  in.read_optional("ceiling", ceiling);
  site.ceiling = number_or_infinity(ceiling);
  in.read_optional("realistic_us", site.realistic_us);
  in.read("priority", site.priority);
  in.read("aten", site.aten);
  in.read("kernels", site.kernels);
  if (json.contains("places")) in.read_array("places", site.places, place_from_json);
  if (json.contains("assumed")) in.read("assumed", site.assumed);
  return in.finish(std::move(raw));
}

Result<PlanSite> site_from(RawSite raw, const std::string& what, const op::Registry& registry) {
  Result<const op::Family*> family = registry.find(raw.op);
  if (!family) return tl::unexpected(std::move(family).error().with_context(what));
  op::Size size{std::move(raw.dims), {}, {}, std::move(raw.scalars)};
  for (const auto& [flag, value] : raw.flags) {
    const auto tensor = std::find_if(
        (*family)->tensors.begin(), (*family)->tensors.end(),
        [&](const auto& each) { return each.optional && op::presence_macro(each.name) == flag; });
    if (!flag.starts_with(kPresence)) {
      size.flags[flag] = value;
    } else if (tensor == (*family)->tensors.end()) {
      return usage_error("{}: {} has no optional tensor of the flag {}", what, raw.op, flag);
    } else if (value != 0) {
      size.has.push_back(tensor->name);
    }
  }
  Result<Problem> problem = op::make_problem(**family, size, raw.dtype);
  if (!problem) return tl::unexpected(std::move(problem).error().with_context(what));
  raw.site.problem = std::move(*problem);
  raw.site.problem.strides = std::move(raw.strides);
  return std::move(raw.site);
}

}  // namespace

Json to_json(const Plan& plan) {
  Json sites = Json::array();
  for (const PlanSite& site : plan.sites) sites.push_back(to_json(site));
  return {{"schema", kSchema},
          {"device", plan.device},
          {"total_us", plan.total_us},
          {"unattributed_share", plan.unattributed_share},
          {"sites", std::move(sites)},
          {"model_ceiling", json_finite(plan.model_ceiling)},
          {"other", to_json(plan.other, false)},
          {"by_aten", to_json(plan.by_aten, true)}};
}

Json stored_json(const Plan& plan) {
  Json json = to_json(plan);
  for (std::size_t i = 0; i < plan.sites.size(); ++i) {
    if (!plan.sites[i].assumed.empty()) json["sites"][i]["assumed"] = plan.sites[i].assumed;
  }
  return json;
}

Result<Plan> plan_from_json(const Json& json, const std::string& what, const op::Registry& registry) {
  AK_TRY(in, FieldReader::top_level(json, what));
  Plan plan;
  std::vector<RawSite> raw;
  if (json.contains("device")) in.read("device", plan.device);
  in.read("total_us", plan.total_us);
  in.read("unattributed_share", plan.unattributed_share);
  in.read_array("sites", raw, raw_site);
  std::optional<double> ceiling;
  in.read_optional("model_ceiling", ceiling);
  plan.model_ceiling = number_or_infinity(ceiling);
  in.read_array("other", plan.other, share_from_json);
  in.read_array("by_aten", plan.by_aten, share_from_json);
  AK_TRY(read, in.finish(std::move(plan)));
  for (RawSite& each : raw) {
    const std::string place = fmt::format("{}.sites.{}", what, each.site.id);
    AK_TRY(site, site_from(std::move(each), place, registry));
    read.sites.push_back(std::move(site));
  }
  return read;
}

}  // namespace ak::plan
