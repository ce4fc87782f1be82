#include "autokernel/plan/data_flow.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "autokernel/base/file.h"
#include "autokernel/plan/graph_values.h"
#include "autokernel/plan/plan.h"
#include "autokernel/plan/profile_record.h"
#include "sample_trace.h"

namespace ak::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SampleOp;
using ::testing::SizeIs;

const op::Registry& families() {
  static const op::Registry kRegistry = *op::Registry::create(op::embedded_families(), {});
  return kRegistry;
}

ModelGraph graph_of(const char* nodes) {
  Result<ModelGraph> graph = ModelGraph::from_json(Json::parse(nodes), "graph");
  AK_CHECK(graph.has_value());
  return std::move(*graph);
}

/// "op: calls x flags" of each site, in order of appearance.
std::vector<FoundSite> sites_of(const std::vector<SampleOp>& ops, const ModelGraph* graph) {
  Trace trace = testing::read_sample(testing::trace_text(ops));
  const CallTree tree = CallTree::build(trace);
  if (graph != nullptr) fill_values(trace, tree, *graph, families());
  return match_trace(trace, tree, families(), *embedded_op_traits(), graph).sites;
}

SampleOp add(const std::string& label) {
  return {
      "aten::add", "[[6, 16], [6, 16], []]", R"(["float", "float", "Scalar"])", R"(["", "", "1"])", "[]", 10,
      label};
}
SampleOp norm(const std::string& label) {
  return {"aten::layer_norm",
          "[[6, 16], [], [16], [16], [], []]",
          R"(["float", "ScalarList", "float", "float", "Scalar", "Scalar"])",
          R"(["", "[16]", "", "", "1e-05", "True"])",
          "[]",
          10,
          label};
}
SampleOp linear(const std::string& label) {
  return {"aten::linear", "[[6, 8], [16, 8], []]", R"(["float", "float", ""])", R"(["", "", ""])", "[]", 10,
          label};
}
SampleOp relu(const std::string& label) {
  return {"aten::relu", "[[6, 16]]", R"(["float"])", "[]", "[]", 10, label};
}
SampleOp view(const std::string& label) {
  return {"aten::view", "[[6, 16], []]", R"(["float", "ScalarList"])", R"(["", "[6, 16]"])", "[]", 0, label};
}

TEST(DataFlow, ANormOfAnotherTensorThanTheSumBeforeItIsNoResidual) {
  const std::vector<SampleOp> ops = {add("#add"), norm("norm#layer_norm")};
  const ModelGraph of_the_sum = graph_of(R"([
      {"name": "x", "module": "", "inputs": []}, {"name": "z", "module": "", "inputs": []},
      {"name": "add", "module": "", "inputs": ["x", "z"]},
      {"name": "layer_norm", "module": "norm", "inputs": ["add"]}])");
  const ModelGraph of_another = graph_of(R"([
      {"name": "x", "module": "", "inputs": []}, {"name": "z", "module": "", "inputs": []},
      {"name": "add", "module": "", "inputs": ["x", "z"]},
      {"name": "layer_norm", "module": "norm", "inputs": ["z"]}])");
  ASSERT_THAT(sites_of(ops, &of_the_sum), SizeIs(1));
  EXPECT_THAT(sites_of(ops, &of_the_sum)[0].problem.has, ::testing::Contains("residual"));
  EXPECT_THAT(sites_of(ops, nullptr)[0].problem.has, ::testing::Contains("residual"));
  ASSERT_THAT(sites_of(ops, &of_another), SizeIs(1));
  EXPECT_THAT(sites_of(ops, &of_another)[0].problem.has, ::testing::Not(::testing::Contains("residual")));
}

TEST(DataFlow, GoesThroughViewsAndAResultThatOthersReadIsNotFusedAway) {
  const std::vector<SampleOp> ops = {linear("up#linear"), view("#view"), relu("#relu")};
  const char* chain = R"([
      {"name": "x", "module": "", "inputs": []}, {"name": "linear", "module": "up", "inputs": ["x"]},
      {"name": "view", "module": "", "inputs": ["linear"]}, {"name": "relu", "module": "", "inputs": ["view"]},
      {"name": "output", "module": "", "inputs": ["relu"]}])";
  const char* read_twice = R"([
      {"name": "x", "module": "", "inputs": []}, {"name": "linear", "module": "up", "inputs": ["x"]},
      {"name": "view", "module": "", "inputs": ["linear"]}, {"name": "relu", "module": "", "inputs": ["view"]},
      {"name": "output", "module": "", "inputs": ["relu", "linear"]}])";
  const ModelGraph private_result = graph_of(chain), shared_result = graph_of(read_twice);
  EXPECT_EQ(sites_of(ops, &private_result)[0].problem.flags.at("ACT"), 1);
  EXPECT_EQ(sites_of(ops, &shared_result)[0].problem.flags.at("ACT"), 0);
}

TEST(DataFlow, TheTensorThatTwoStepsShareMustComeFromOnePlace) {
  const SampleOp pow{"aten::pow", "[[6, 16], []]", R"(["float", "Scalar"])", R"(["", "2"])", "[]",
                     10,          "#pow"};
  const SampleOp mean{"aten::mean",
                      "[[6, 16], [], [], []]",
                      R"(["float", "ScalarList", "Scalar", ""])",
                      R"(["", "[-1]", "True", ""])",
                      "[]",
                      10,
                      "#mean"};
  const SampleOp shift{
      "aten::add", "[[6, 1], [], []]", R"(["float", "double", "Scalar"])", R"(["", "", "1"])", "[]", 10,
      "#shift"};
  const SampleOp rsqrt{"aten::rsqrt", "[[6, 1]]", R"(["float"])", R"([""])", "[]", 10, "#rsqrt"};
  const SampleOp scale{"aten::mul", "[[6, 16], [6, 1]]", R"(["float", "float"])", R"(["", ""])", "[]", 10,
                       "#scale"};
  const SampleOp weigh{"aten::mul", "[[16], [6, 16]]", R"(["float", "float"])", R"(["", ""])", "[]",
                       10,          "#weigh"};
  const auto graph = [](const char* scaled) {
    return graph_of(fmt::format(R"([
      {{"name": "x", "module": "", "inputs": []}}, {{"name": "z", "module": "", "inputs": []}},
      {{"name": "w", "module": "", "inputs": []}}, {{"name": "pow", "module": "", "inputs": ["x"]}},
      {{"name": "mean", "module": "", "inputs": ["pow"]}}, {{"name": "shift", "module": "", "inputs": ["mean"], "numbers": [0.25]}},
      {{"name": "rsqrt", "module": "", "inputs": ["shift"]}},
      {{"name": "scale", "module": "", "inputs": ["{}", "rsqrt"]}},
      {{"name": "weigh", "module": "", "inputs": ["w", "scale"]}}])",
                                scaled)
                        .c_str());
  };
  const ModelGraph itself = graph("x"), another = graph("z");
  const std::vector<SampleOp> ops = {pow, mean, shift, rsqrt, scale, weigh};
  const std::vector<FoundSite> found = sites_of(ops, &itself);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].problem.op, "rmsnorm");
  EXPECT_EQ(found[0].problem.scalars.at("eps"), 0.25);  // which the profiler does not record
  EXPECT_THAT(found[0].assumed, IsEmpty());
  ASSERT_THAT(found[0].places, SizeIs(1));
  EXPECT_THAT(found[0].places[0].nodes, ElementsAre("pow", "mean", "shift", "rsqrt", "scale", "weigh"));
  for (const FoundSite& site : sites_of(ops, &another)) EXPECT_NE(site.problem.op, "rmsnorm");
}

TEST(GraphValues, ATextOfTheGraphIsNotAssumed) {
  const SampleOp gelu{"aten::gelu", "[[6, 16], []]", R"(["float", ""])", R"(["", ""])", "[]", 10, "#gelu"};
  const auto graph = [](const char* texts) {
    return graph_of(fmt::format(R"([
      {{"name": "x", "module": "", "inputs": []}}, {{"name": "linear", "module": "up", "inputs": ["x"]}},
      {{"name": "gelu", "module": "", "inputs": ["linear"]{}}}])",
                                texts)
                        .c_str());
  };
  const std::vector<SampleOp> ops = {linear("up#linear"), gelu};
  const ModelGraph tanh = graph(R"(, "texts": ["tanh"])"), silent = graph("");
  EXPECT_EQ(sites_of(ops, &tanh)[0].problem.flags.at("ACT"), 2);
  EXPECT_THAT(sites_of(ops, &tanh)[0].assumed, IsEmpty());
  EXPECT_THAT(sites_of(ops, &silent)[0].assumed, ElementsAre("'none' of aten::gelu"));
}

TEST(GraphValues, ATensorWithoutDimsIsNotTakenForTheNodesNumber) {
  const SampleOp sum{
      "aten::add", "[[6, 16], [], []]", R"(["float", "double", "Scalar"])", R"(["", "", "2"])", "[]", 10,
      "#add"};
  const ModelGraph graph = graph_of(R"([
      {"name": "x", "module": "", "inputs": []}, {"name": "z", "module": "", "inputs": []},
      {"name": "add", "module": "", "inputs": ["x", "z"], "numbers": [2]}])");
  Trace trace = testing::read_sample(testing::trace_text({sum}));
  const CallTree tree = CallTree::build(trace);
  const std::string before = trace.arguments.text(trace.ops[0].arguments);
  fill_values(trace, tree, graph, families());
  EXPECT_EQ(before, trace.arguments.text(trace.ops[0].arguments));
}

TEST(Places, AreTheModulesAndNodesOfTheLabels) {
  const std::vector<FoundSite> found =
      sites_of({linear("layers.0.up#linear"), relu("layers.0#relu"), linear("layers.10.up#linear_1"),
                relu("layers.10#relu_1"), linear("head")},
               nullptr);
  ASSERT_THAT(found, SizeIs(2));
  ASSERT_THAT(found[0].places, SizeIs(2));
  EXPECT_EQ(found[0].places[1].module, "layers.10");
  EXPECT_THAT(found[0].places[1].nodes, ElementsAre("linear_1", "relu_1"));
  EXPECT_EQ(modules_text(found[0].places), "layers.*");
  EXPECT_EQ(modules_text(found[1].places), "head");
  EXPECT_THAT(found[1].places[0].nodes, IsEmpty());
}

TEST(Places, LabelsTakeNoTimeAndAreNoOps) {
  Trace trace = testing::read_sample(testing::trace_text({linear("up#linear"), relu("#relu")}));
  trace.work.clear();  // CPU times
  const CallTree tree = CallTree::build(trace);
  EXPECT_EQ(tree.size(), 2u);
  EXPECT_EQ(tree.total_ns(), 100'000);
  EXPECT_EQ(modules_text({}), "");
  EXPECT_EQ(modules_text({{"", {}}, {"a.1", {}}, {"a.1", {"x"}}}), "(model), a.1");
}

TEST(ModelGraph, RefusesWhatIsNoGraph) {
  const auto error = [](const char* text) {
    return ModelGraph::from_json(Json::parse(text), "p.json").error().message;
  };
  EXPECT_THAT(error("{}"), HasSubstr("expected a list"));
  EXPECT_THAT(error(R"([{"name": "a", "module": "", "inputs": ["b"]}])"),
              HasSubstr("p.json[0]: a reads `b`"));
  EXPECT_THAT(
      error(R"([{"name": "a", "module": "", "inputs": []}, {"name": "a", "module": "", "inputs": []}])"),
      HasSubstr("two nodes `a`"));
  EXPECT_THAT(error(R"([{"name": "a", "inputs": []}])"), HasSubstr("module"));
}

TEST(ProfileRecord, IsToldFromATraceByItsBeginning) {
  const TempDir folder = std::move(*TempDir::create("profile-record"));
  const std::filesystem::path path = folder.path() / "profile.json";
  AK_CHECK(write_file_atomic(path, R"({"traceEvents": []})").has_value());
  EXPECT_FALSE(read_profile_record(path)->has_value());
  AK_CHECK(write_file_atomic(path, R"( { "autokernel": "profile", "schema": 1, "trace": "t.json.gz",
      "graph": {"nodes": [{"name": "a", "module": "m", "inputs": []}]}})")
               .has_value());
  const Result<std::optional<ProfileRecord>> record = read_profile_record(path);
  ASSERT_TRUE(record && *record);
  EXPECT_EQ((*record)->trace, folder.path() / "t.json.gz");
  EXPECT_EQ((*record)->graph->node(0).module, "m");
  AK_CHECK(write_file_atomic(path, R"({"autokernel": "profile", "schema": 2})").has_value());
  EXPECT_THAT(read_profile_record(path).error().message, HasSubstr("schema"));
}

}  // namespace
}  // namespace ak::plan
