#include <gmock/gmock.h>

#include <filesystem>

#include "autokernel/base/file.h"
#include "sample_family.h"

namespace ak::op {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

const EmbeddedFile kEmbedded[] = {{"scale_rows/op.toml", testing::kSample},
                                  {"scale_rows/reference.cu", "//embedded"}};

class RegistryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto temporary = TempDir::create("op-registry");
    ASSERT_TRUE(temporary);
    folder_.emplace(std::move(*temporary));
  }
  std::string path(std::string_view inner = "") const { return (folder_->path() / inner).string(); }
  void write(std::string_view inner, std::string_view text) {
    std::filesystem::create_directories((folder_->path() / inner).parent_path());
    ASSERT_TRUE(write_file_atomic(folder_->path() / inner, text));
  }
  std::optional<TempDir> folder_;
};

TEST_F(RegistryTest, AnUnknownFamilyListsTheKnownOnes) {
  const Result<Registry> registry = Registry::create(kEmbedded, {});
  ASSERT_TRUE(registry) << registry.error().message;
  EXPECT_THAT(message_of(registry->find("gelu")), HasSubstr("expected one of scale_rows"));
  EXPECT_EQ((*registry->find("scale_rows"))->reference, "//embedded");
}

TEST_F(RegistryTest, AUsersFamilyReplacesTheEmbeddedOne) {
  write("scale_rows/op.toml", testing::kSample);
  write("scale_rows/reference.cu", "//mine");
  write("scale_rows/kernels/starter.cu", "//kernel");
  const Result<Registry> registry = Registry::create(kEmbedded, {path()});
  ASSERT_TRUE(registry) << registry.error().message;
  EXPECT_EQ(registry->families().size(), 1U);
  EXPECT_EQ((*registry->find("scale_rows"))->reference, "//mine");
  EXPECT_EQ((*registry->find("scale_rows"))->kernels.size(), 1U);
}

TEST_F(RegistryTest, AFolderMayBeTheFamilyItself) {
  write("scale_rows/op.toml", testing::kSample);
  write("scale_rows/reference.cu", "//mine");
  for (const std::string& folder : {path("scale_rows"), path("scale_rows/")}) {
    const Result<Registry> registry = Registry::create({}, {folder});
    ASSERT_TRUE(registry) << registry.error().message;
    EXPECT_EQ((*registry->find("scale_rows"))->reference, "//mine");
  }
}

TEST_F(RegistryTest, TwoFamiliesOfOneNameAreAnError) {
  for (const char* parent : {"a", "b"}) {
    write(std::string(parent) + "/scale_rows/op.toml", testing::kSample);
    write(std::string(parent) + "/scale_rows/reference.cu", "//");
  }
  EXPECT_THAT(message_of(Registry::create({}, {path("a"), path("b")})),
              HasSubstr("a second family `scale_rows`"));
}

TEST_F(RegistryTest, AFolderWithoutFamiliesIsAnError) {
  EXPECT_THAT(message_of(Registry::create({}, {path()})), HasSubstr("has an op.toml"));
  EXPECT_THAT(message_of(Registry::create({}, {path("none")})), HasSubstr("no such folder"));
}

TEST_F(RegistryTest, AFamilyWithoutAReferenceIsAnErrorWithItsFolder) {
  write("scale_rows/op.toml", testing::kSample);
  const std::string message = message_of(Registry::create({}, {path()}));
  EXPECT_THAT(message, HasSubstr(path("scale_rows")));
  EXPECT_THAT(message, HasSubstr("reference.cu is missing"));
}

}  // namespace
}  // namespace ak::op
