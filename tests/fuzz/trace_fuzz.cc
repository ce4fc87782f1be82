// fuzz-deps: base core op plan
// Traces, stored plans and recorded graphs from outside. The first byte says which: 'P' a plan, 'S' a step of
// a
// [[match]] table, 'G' the nodes of a graph, else a trace, plain or gzip.
#include <nlohmann/json.hpp>
#include <string_view>

#include "autokernel/op/match.h"
#include "autokernel/plan/graph_values.h"
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

/// Nodes named a, b, c are those of a trace: a sum, its norm, a product.
void try_graph(std::string_view text) {
  constexpr std::string_view kTrace = R"({"traceEvents": [
    {"ph": "X", "cat": "user_annotation", "name": "ak.site:#a", "pid": 1, "tid": 1, "ts": 0, "dur": 9},
    {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 5, "args": {
      "Input Dims": [[6, 8], [6, 8], []], "Input type": ["float", "float", "Scalar"], "Concrete Inputs": ["", "", "1"]}},
    {"ph": "X", "cat": "user_annotation", "name": "ak.site:m#b", "pid": 1, "tid": 1, "ts": 10, "dur": 9},
    {"ph": "X", "cat": "cpu_op", "name": "aten::layer_norm", "pid": 1, "tid": 1, "ts": 11, "dur": 5, "args": {
      "Input Dims": [[6, 8], [], [8], [8], []], "Input type": ["float", "ScalarList", "float", "float", "Scalar"],
      "Concrete Inputs": ["", "[8]", "", "", "1e-05"]}},
    {"ph": "X", "cat": "user_annotation", "name": "ak.site:m#c", "pid": 1, "tid": 1, "ts": 20, "dur": 9},
    {"ph": "X", "cat": "cpu_op", "name": "aten::mul", "pid": 1, "tid": 1, "ts": 21, "dur": 5, "args": {
      "Input Dims": [[6, 8], []], "Input type": ["float", "double"], "Concrete Inputs": ["", ""]}}]})";
  const ak::Result<ak::Json> json = ak::parse_json(text, "profile.json");
  if (!json) return;
  const ak::Result<ak::plan::ModelGraph> graph = ak::plan::ModelGraph::from_json(*json, "profile.json");
  if (!graph) return;
  const auto source = ak::plan::memory_source(kTrace);
  ak::plan::Trace trace = *ak::plan::read_trace(*source, "trace.json");
  const ak::plan::CallTree tree = ak::plan::CallTree::build(trace);
  ak::plan::fill_values(trace, tree, *graph, families());
  AK_CHECK(!ak::plan::match_trace(trace, tree, families(), traits(), &*graph).sites.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with('P')) {
    try_plan(text.substr(1));
  } else if (text.starts_with('S')) {
    (void)ak::op::parse_step(text.substr(1)).has_value();
  } else if (text.starts_with('G')) {
    try_graph(text.substr(1));
  } else {
    try_trace(text);
  }
  return 0;
}
