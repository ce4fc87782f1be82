#include "autokernel/plan/plan.h"

#include <algorithm>
#include <map>

#include "autokernel/roofline/floor.h"

namespace ak::plan {
namespace {

constexpr double kNsPerUs = 1000;
constexpr std::size_t kHashDigits = 6;

double us(std::int64_t ns) { return static_cast<double>(ns) / kNsPerUs; }

/// The calls at their floors: bytes and flops of the problem, and no call below an empty launch.
Status set_floor(const op::Family& family, const roofline::Peaks& peaks, PlanSite& site) {
  AK_TRY(bytes, op::compulsory_bytes(family, site.problem));
  AK_TRY(flops, op::useful_flops(family, site.problem));
  const auto floor = roofline::floor_us({bytes, flops, 0}, site.problem.dtype, peaks);
  if (!floor) return {};
  const double launch = peaks.launch_floor_us ? peaks.launch_floor_us->value : 0;
  site.floor_us = site.calls * std::max(floor->us, launch);
  site.bound = name(floor->bound);
  site.realistic_us = std::max(site.time_us - *site.floor_us, 0.0);
  return {};
}

std::vector<AtenShare> shares(const std::map<std::string, std::int64_t>& times, std::int64_t total) {
  std::vector<AtenShare> list;
  for (const auto& [aten, ns] : times)
    list.push_back({aten, us(ns), total > 0 ? static_cast<double>(ns) / static_cast<double>(total) : 0});
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.time_us > b.time_us; });
  return list;
}

Result<PlanSite> make_site(const Trace& trace, const FoundSite& found, double total_us,
                           const std::optional<roofline::Peaks>& peaks) {
  PlanSite site;
  site.problem = found.problem;
  site.id = fmt::format("{}_{}", found.family->name, site.problem.hash().substr(0, kHashDigits));
  site.calls = static_cast<double>(found.calls);
  site.time_us = us(found.time_ns);
  site.share = total_us > 0 ? site.time_us / total_us : 0;
  site.ceiling = roofline::amdahl_limit(std::min(site.share, 1.0));
  site.aten = found.ops;
  site.places = found.places;
  site.assumed = found.assumed;
  std::vector<std::pair<std::int64_t, std::uint32_t>> kernels;
  for (const auto& [kernel, ns] : found.kernels) kernels.emplace_back(-ns, kernel);
  std::sort(kernels.begin(), kernels.end());
  for (const auto& [ns, kernel] : kernels) site.kernels.push_back(trace.names.text(kernel));
  if (peaks) AK_TRY_VOID(set_floor(*found.family, *peaks, site));
  return site;
}

void rank(Plan& plan) {
  std::stable_sort(plan.sites.begin(), plan.sites.end(),
                   [](const PlanSite& a, const PlanSite& b) { return a.time_us > b.time_us; });
  double cumulative = 0, saved = 0;
  std::vector<PlanSite*> order;
  for (PlanSite& site : plan.sites) {
    site.cumulative_share = cumulative += site.share;
    saved += site.realistic_us.value_or(0);
    // Without a floor the whole time counts: an upper limit, and the order is that of the shares.
    const double gain = site.realistic_us.value_or(site.time_us);
    if (plan.total_us > 0 && gain >= kWorthwhileGain * plan.total_us) order.push_back(&site);
  }
  std::stable_sort(order.begin(), order.end(), [](const PlanSite* a, const PlanSite* b) {
    return a->realistic_us.value_or(a->time_us) > b->realistic_us.value_or(b->time_us);
  });
  int priority = 0;
  for (PlanSite* site : order) site->priority = ++priority;
  if (plan.total_us > saved) plan.model_ceiling = plan.total_us / (plan.total_us - saved);
}

}  // namespace

Result<Plan> make_plan(const Trace& trace, const CallTree& tree, const MatchedTrace& matched,
                       const std::optional<roofline::Peaks>& peaks) {
  Plan plan;
  if (trace.device && !tree.on_cpu()) plan.device = trace.device->name;
  plan.total_us = us(tree.total_ns());
  if (plan.total_us > 0) plan.unattributed_share = us(tree.unattributed_ns()) / plan.total_us;
  for (const FoundSite& found : matched.sites) {
    AK_TRY(site, make_site(trace, found, plan.total_us, peaks));
    plan.sites.push_back(std::move(site));
  }
  rank(plan);
  std::map<std::string, std::int64_t> all, other;
  for (const Work& work : tree.work()) {
    if (work.op == kNoOp) continue;
    const std::string& aten = trace.names.text(trace.ops[work.op].name);
    all[aten] += work.duration_ns;
    if (!matched.covered[work.op]) other[aten] += work.duration_ns;
  }
  plan.by_aten = shares(all, tree.total_ns());
  plan.other = shares(other, tree.total_ns());
  return plan;
}

std::vector<const PlanSite*> by_priority(const Plan& plan) {
  std::vector<const PlanSite*> sites;
  for (const PlanSite& site : plan.sites) {
    if (site.priority > 0) sites.push_back(&site);
  }
  std::sort(sites.begin(), sites.end(),
            [](const PlanSite* a, const PlanSite* b) { return a->priority < b->priority; });
  return sites;
}

}  // namespace ak::plan
