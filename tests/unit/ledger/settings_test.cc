#include "autokernel/ledger/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "autokernel/base/file.h"

namespace ak::ledger {
namespace {

using ::testing::HasSubstr;

class SettingsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = TempDir::create("ak-settings-test");
    ASSERT_TRUE(folder);
    folder_.emplace(std::move(*folder));
  }
  std::filesystem::path file_with(const std::string& text) {
    std::ofstream(folder_->path() / "autokernel.toml") << text;
    return folder_->path() / "autokernel.toml";
  }
  std::string error_of(const SettingsInput& input) {
    const auto settings = Settings::load(input);
    EXPECT_FALSE(settings);
    if (settings) return "";
    EXPECT_EQ(settings.error().code, ErrorCode::kUsage);
    return settings.error().message;
  }
  std::optional<TempDir> folder_;
};

TEST_F(SettingsTest, EveryDefaultIsAValueOfItsType) {
  for (const SettingSpec& spec : setting_table()) {
    const std::string name(spec.name);
    const auto settings =
        Settings::load({.flags = {{name, std::string(spec.default_text)}}, .environment = {}, .file = {}});
    ASSERT_TRUE(settings) << settings.error().message;
    EXPECT_EQ(settings->get(name).value, spec.default_text) << name;
  }
}

TEST_F(SettingsTest, AFlagWinsOverTheEnvironmentTheFileAndTheDefault) {
  const auto file = file_with("seed = 3\n");
  SettingsInput input{.flags = {}, .environment = {}, .file = {}};
  EXPECT_EQ(Settings::load(input)->get_count("seed"), 1);
  input.file = file;
  EXPECT_EQ(Settings::load(input)->get_count("seed"), 3);
  input.environment = {{"AUTOKERNEL_SEED", "4"}};
  EXPECT_EQ(Settings::load(input)->get_count("seed"), 4);
  input.flags = {{"seed", "5"}};
  EXPECT_EQ(Settings::load(input)->get_count("seed"), 5);
}

TEST_F(SettingsTest, EachValueSaysWhereItComesFrom) {
  const auto settings = Settings::load({.flags = {{"move_on.reverts", "9"}},
                                        .environment = {{"AUTOKERNEL_MOVE_ON_SPEEDUP", "3"}},
                                        .file = file_with("# mine\n\nthreshold = 0.02\n")});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->get("move_on.reverts").origin, "--move-on-reverts");
  EXPECT_EQ(settings->get("move_on.speedup").origin, "AUTOKERNEL_MOVE_ON_SPEEDUP");
  EXPECT_EQ(settings->get("threshold").origin, file_with("# mine\n\nthreshold = 0.02\n").string() + ":3");
  EXPECT_EQ(settings->get("threshold").source, SettingSource::kFile);
  EXPECT_EQ(settings->get("agent").source, SettingSource::kDefault);
}

TEST_F(SettingsTest, TablesOfTheFileAreDottedNames) {
  const auto settings =
      Settings::load({.flags = {},
                      .environment = {},
                      .file = file_with("baseline = false\n[move_on]\ntarget_hours = 0.5\n")});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_DOUBLE_EQ(settings->get_number("move_on.target_hours"), 0.5);
  EXPECT_FALSE(settings->get_switch("baseline"));
}

TEST_F(SettingsTest, AnUnknownKeyOfTheFileNamesItsLineAndTheNearestKnownOne) {
  const std::string error =
      error_of({.flags = {}, .environment = {}, .file = file_with("seed = 1\nbudgt = 5\n")});
  EXPECT_THAT(error, HasSubstr("/autokernel.toml:2"));  // with its folder
  EXPECT_THAT(error, HasSubstr("unknown setting 'budgt'"));
  EXPECT_THAT(error, HasSubstr("did you mean 'budget'?"));
}

TEST_F(SettingsTest, AnUnknownFlagFarFromAnyKnownOneListsThemAll) {
  EXPECT_THAT(error_of({.flags = {{"xyzzy-quux", "1"}}, .environment = {}, .file = {}}),
              HasSubstr("known settings: device, strategy"));
}

TEST_F(SettingsTest, ValuesOutOfRangeAreRefusedWithTheirPlace) {
  EXPECT_THAT(error_of({.flags = {}, .environment = {}, .file = file_with("threshold = 1.5\n")}),
              HasSubstr("autokernel.toml:1"));
  EXPECT_THAT(error_of({.flags = {}, .environment = {{"AUTOKERNEL_SEED", "-1"}}, .file = {}}),
              HasSubstr("AUTOKERNEL_SEED"));
  EXPECT_THAT(error_of({.flags = {{"threshold", "nan"}}, .environment = {}, .file = {}}),
              HasSubstr("--threshold"));
  EXPECT_THAT(error_of({.flags = {{"baseline", "maybe"}}, .environment = {}, .file = {}}),
              HasSubstr("on or off"));
}

TEST_F(SettingsTest, ADeviceThatThereIsNotIsRefusedWithItsPlace) {
  EXPECT_THAT(error_of({.flags = {}, .environment = {}, .file = file_with("device = \"foo\"\n")}),
              HasSubstr("autokernel.toml:1"));
  EXPECT_THAT(error_of({.flags = {}, .environment = {{"AUTOKERNEL_DEVICE", "cuda:x"}}, .file = {}}),
              HasSubstr("AUTOKERNEL_DEVICE: device `cuda:x`: expected auto, cpu or cuda"));
  EXPECT_TRUE(Settings::load({.flags = {{"device", "cuda:3"}}, .environment = {}, .file = {}}));
}

TEST_F(SettingsTest, AnArrayIsNoValue) {
  EXPECT_THAT(error_of({.flags = {}, .environment = {}, .file = file_with("seed = [1, 2]\n")}),
              HasSubstr("expected one value"));
}

TEST_F(SettingsTest, MalformedTomlIsAnErrorWithItsLine) {
  EXPECT_THAT(error_of({.flags = {}, .environment = {}, .file = file_with("seed = 1\nagent = \"x\n")}),
              HasSubstr("autokernel.toml:2"));
}

TEST_F(SettingsTest, TheFileThatIsWrittenAtFirstReadsAsTheDefaults) {
  const auto commented =
      Settings::load({.flags = {}, .environment = {}, .file = file_with(default_settings_toml())});
  ASSERT_TRUE(commented) << commented.error().message;
  for (const Setting& setting : commented->all()) EXPECT_EQ(setting.source, SettingSource::kDefault);
}

TEST_F(SettingsTest, TheFileThatIsWrittenAtFirstReadsWithEveryLineUncommented) {
  std::string text = default_settings_toml();
  std::string uncommented;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    if (line.starts_with("# ") && line.find(" = ") != line.npos) line = line.substr(2);
    uncommented += line + "\n";
    at = end + 1;
  }
  const auto settings = Settings::load({.flags = {}, .environment = {}, .file = file_with(uncommented)});
  ASSERT_TRUE(settings) << settings.error().message;
  for (const Setting& setting : settings->all())
    EXPECT_EQ(setting.source, SettingSource::kFile) << setting.name;
}

TEST_F(SettingsTest, TheReferenceDocumentsEverySettingAndItsVariable) {
  const auto text = read_file(std::filesystem::path(AK_SOURCE_DIR) / "docs/reference/workspace.md");
  ASSERT_TRUE(text) << text.error().message;
  for (const SettingSpec& spec : setting_table()) {
    EXPECT_THAT(*text, HasSubstr(fmt::format("| `{}` | `{}` |", spec.name, environment_name(spec.name))));
  }
}

TEST(Budget, IsTrialsTimeOrBoth) {
  EXPECT_EQ(parse_budget("100")->trials, 100u);
  EXPECT_FALSE(parse_budget("100")->time);
  EXPECT_EQ(parse_budget("90s")->time, std::chrono::seconds(90));
  EXPECT_EQ(parse_budget("2h")->time, std::chrono::hours(2));
  EXPECT_EQ(parse_budget("100,10m")->trials, 100u);
  EXPECT_EQ(parse_budget("100,10m")->time, std::chrono::minutes(10));
}

TEST(Budget, RefusesNonsense) {
  for (const char* text : {"", "0", "-5", "m", "10x", "1,2", "1m,2s", "5,", ",5", "1.5h", "99999999999"}) {
    EXPECT_FALSE(parse_budget(text)) << text;
  }
}

}  // namespace
}  // namespace ak::ledger
