// fuzz-deps: base core op plan
// Traces and stored plans from outside. The first byte says which: 'P' a plan, 'S' a step of a [[match]]
// table, else a trace, plain or gzip.
#include <nlohmann/json.hpp>
#include <string_view>

#include "autokernel/op/match.h"
#include "autokernel/plan/op_traits.h"
#include "autokernel/plan/plan.h"

namespace {

const ak::op::Registry& families() {
  static const ak::op::Registry kRegistry = *ak::op::Registry::create(ak::op::embedded_families(), {});
  return kRegistry;
}

const ak::plan::OpTraits& traits() {
  static const ak::plan::OpTraits kTraits = *ak::plan::embedded_op_traits();
  return kTraits;
}

void try_plan(std::string_view text) {
  const ak::Result<ak::Json> json = ak::parse_json(text, "plan.json");
  if (!json) return;
  const ak::Result<ak::plan::Plan> plan = ak::plan::plan_from_json(*json, "plan.json", families());
  if (plan) AK_CHECK(ak::plan::plan_from_json(ak::plan::to_json(*plan), "plan.json", families()).has_value());
}

void try_trace(std::string_view text) {
  const auto source = ak::plan::memory_source(text);
  ak::Result<ak::plan::Trace> trace = ak::plan::read_trace(*source, "trace.json");
  if (!trace) return;
  const ak::plan::CallTree tree = ak::plan::CallTree::build(*trace);
  const ak::plan::MatchedTrace matched = ak::plan::match_trace(*trace, tree, families(), traits());
  const ak::Result<ak::plan::Plan> plan = ak::plan::make_plan(*trace, tree, matched, std::nullopt);
  if (!plan) return;  // costs of huge dims
  AK_CHECK(plan->unattributed_share >= 0 && plan->unattributed_share <= 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with('P')) {
    try_plan(text.substr(1));
  } else if (text.starts_with('S')) {
    (void)ak::op::parse_step(text.substr(1)).has_value();
  } else {
    try_trace(text);
  }
  return 0;
}
