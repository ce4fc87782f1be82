// What is projected for a model, and what is not.

#include "autokernel/report/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ak::report {
namespace {

using ::testing::HasSubstr;

SiteRow site(const std::string& id, double calls, double model_us, double best_us,
             std::map<std::string, double> torch_us) {
  SiteRow row;
  row.site = row.target = id;
  row.calls = calls;
  row.model_us = model_us;
  row.best_us = best_us;
  row.torch_us = std::move(torch_us);
  return row;
}

ModelReport on_one_gpu(std::vector<SiteRow> sites) {
  ModelReport model;
  model.device_kind = "cuda";
  model.device_name = model.trace_device = "NVIDIA H200";
  model.total_us = 1000;
  model.sites = std::move(sites);
  return model;
}

TEST(Projection, DividesASitesTimeInTheModelByTheRatioOfTheHarness) {
  // 8 calls of 40 us in the model; PyTorch takes 44 in the harness, ours 11: four times as fast.
  ModelReport model = on_one_gpu({site("norm", 8, 320, 11, {{"eager", 44}, {"fused", 12}, {"compile", 10}})});
  project(model);
  ASSERT_TRUE(model.projected) << model.no_projection;
  EXPECT_EQ(model.sites[0].path, "eager");
  EXPECT_DOUBLE_EQ(model.sites[0].ratio.value_or(0), 4);
  EXPECT_DOUBLE_EQ(model.sites[0].after_us, 80);
  EXPECT_DOUBLE_EQ(model.after_us, 760);
  EXPECT_THAT(terminal(model), HasSubstr("1.32x the speed"));
  EXPECT_DOUBLE_EQ(to_json(model)["speedup"].get<double>(), 1000.0 / 760);
}

TEST(Projection, WhereOursIsNotFasterNothingIsGainedAndThatIsSaid) {
  ModelReport model =
      on_one_gpu({site("mm", 1, 500, 900, {{"eager", 480}}), site("ln", 2, 100, 49, {{"fused", 50}})});
  project(model);
  ASSERT_TRUE(model.projected);
  EXPECT_EQ(model.sites[0].answer, "slower");
  EXPECT_DOUBLE_EQ(model.sites[0].after_us, 500);
  EXPECT_EQ(model.sites[1].answer, "as fast");  // 2 % between two processes is no gain
  EXPECT_DOUBLE_EQ(model.after_us, 1000);
  EXPECT_THAT(terminal(model), HasSubstr("nothing is gained"));
}

TEST(Projection, SitesAddUpByAmdahlsLaw) {
  ModelReport model =
      on_one_gpu({site("a", 1, 400, 100, {{"eager", 400}}), site("b", 1, 200, 100, {{"fused", 200}}),
                  site("c", 1, 100, 300, {{"fused", 100}})});
  project(model);
  EXPECT_DOUBLE_EQ(model.after_us, 1000 - 300 - 100);
}

TEST(PathInModel, IsTheOneWhoseTimeTheTraceShows) {
  const std::map<std::string, double> times = {{"eager", 44}, {"fused", 12}, {"compile", 9}};
  EXPECT_EQ(path_in_model(times, 40), "eager");
  EXPECT_EQ(path_in_model(times, 10), "fused");
  EXPECT_EQ(path_in_model({{"eager", 20}, {"fused", 20}}, 20), "eager");
  EXPECT_EQ(path_in_model({{"eager", 40}, {"fused", 10}}, 20),
            "fused");                       // the faster of two that are as near
  EXPECT_FALSE(path_in_model(times, 100));  // it runs something else
  EXPECT_FALSE(path_in_model({{"compile", 9}}, 9));
  EXPECT_FALSE(path_in_model(times, 0));
}

TEST(Projection, ASiteWhosePathIsNotKnownGainsNothing) {
  ModelReport model = on_one_gpu({site("mm", 1, 500, 10, {{"eager", 100}})});
  project(model);
  EXPECT_TRUE(model.projected);
  EXPECT_FALSE(model.sites[0].ratio);
  EXPECT_THAT(model.sites[0].answer, HasSubstr("none of PyTorch's ways"));
  EXPECT_DOUBLE_EQ(model.after_us, 1000);
}

TEST(Projection, NeedsOneDeviceForTraceKernelsAndPyTorch) {
  const std::vector<SiteRow> sites = {site("norm", 8, 320, 11, {{"eager", 44}})};
  ModelReport cpu = on_one_gpu(sites);
  cpu.device_kind = "cpu";
  ModelReport other = on_one_gpu(sites);
  other.trace_device = "NVIDIA A100";
  ModelReport unknown = on_one_gpu(sites);
  unknown.trace_device = "";
  ModelReport alone = on_one_gpu({site("norm", 8, 320, 11, {})});
  const std::pair<ModelReport*, const char*> cases[] = {{&cpu, "rehearsal"},
                                                        {&other, "NVIDIA A100"},
                                                        {&unknown, "plan its trace again"},
                                                        {&alone, "PyTorch's own times"}};
  for (const auto& [model, reason] : cases) {
    project(*model);
    EXPECT_FALSE(model->projected);
    EXPECT_THAT(model->no_projection, HasSubstr(reason));
    EXPECT_DOUBLE_EQ(model->after_us, 1000);
    EXPECT_TRUE(to_json(*model).is_null());
    EXPECT_THAT(markdown(*model), HasSubstr("No time of the model is projected"));
    EXPECT_THAT(html(*model), HasSubstr("No time of the model is projected"));
  }
}

TEST(Projection, SaysWhichTimesAreOfOneCallAndWhichSizesWereReduced) {
  SiteRow row = site("norm", 8, 320, 11, {});
  row.problem = "M=4096 N=8 bf16";
  ModelReport model = on_one_gpu({row});
  project(model);
  for (const char* text : {"all calls in the model", "starter, a call", "best, a call"})
    EXPECT_THAT(terminal(model), HasSubstr(text));
  EXPECT_THAT(terminal(model), testing::Not(HasSubstr("reduced")));
  model.sites[0].reduced = "M=4 N=8 bf16";
  for (const std::string& text : {terminal(model), markdown(model), html(model)}) {
    EXPECT_THAT(text, HasSubstr("measured here, reduced"));
    EXPECT_THAT(text, HasSubstr("M=4 N=8 bf16"));
  }
}

TEST(Projection, SaysPerSiteWhatWasReached) {
  SiteRow row = site("norm", 8, 320, 11, {});
  row.problem = "M=4 N=8 bf16";
  row.share = 0.32;
  row.start_us = 22;
  row.speedup = 2;
  row.verdict = "kept; left: 5 experiments in a row were not kept (limit 5)";
  row.trials = 40;
  row.spent_s = 61;
  ModelReport model = on_one_gpu({row});
  project(model);
  for (const char* text : {"M=4 N=8 bf16", "32.0 %", "22.0", "2.00x", "kept; left: 5 experiments", "61 s"})
    EXPECT_THAT(terminal(model), HasSubstr(text));
}

}  // namespace
}  // namespace ak::report
