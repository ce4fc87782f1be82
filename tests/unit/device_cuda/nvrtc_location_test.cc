#include "autokernel/device/cuda/nvrtc_location.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autokernel/base/file.h"

namespace ak::cuda {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NvrtcLocationTest : public ::testing::Test {
 protected:
  fs::path root() const { return fs::canonical(temp_->path()); }

  void install(const fs::path& folder, const std::string& major, const std::string& minor) {
    touch(folder / ("libnvrtc.so." + major));
    touch(folder / ("libnvrtc-builtins.so." + major + "." + minor));
  }
  void touch(const fs::path& file) {
    ASSERT_TRUE(ak::create_directories(root() / file.parent_path()).has_value());
    ASSERT_TRUE(write_file_atomic(root() / file, "").has_value());
  }
  NvrtcSearch search() const {
    NvrtcSearch search;
    search.toolkits = root() / "toolkits";
    return search;
  }
  std::string error_of(const NvrtcSearch& search) const {
    const auto found = find_nvrtc(search);
    return found ? "found " + found->library.string() : found.error().message;
  }

  Result<TempDir> temp_ = TempDir::create("nvrtc-location");
};

TEST_F(NvrtcLocationTest, CudaHomeComesFirst) {
  install("home/lib64", "12", "8");
  install("toolkits/cuda/lib64", "13", "0");
  touch("home/include/cuda_fp16.h");
  NvrtcSearch with_home = search();
  with_home.cuda_home = root() / "home";
  const auto found = find_nvrtc(with_home);
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->version(), "12.8");
  EXPECT_EQ(found->library, root() / "home/lib64/libnvrtc.so.12");
  EXPECT_THAT(found->includes, ElementsAre(root() / "home/include"));
}

TEST_F(NvrtcLocationTest, TheNewestToolkitIsTakenWhereNoneIsTheDefault) {
  install("toolkits/cuda-12.4/lib64", "12", "4");
  install("toolkits/cuda-13.1/lib64", "13", "1");
  const auto found = find_nvrtc(search());
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->version(), "13.1");
  EXPECT_THAT(found->includes, IsEmpty());
}

TEST_F(NvrtcLocationTest, WheelsOfAPythonEnvironmentAreFoundWithTheirHeaders) {
  install("venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib", "12", "8");
  touch("venv/lib/python3.11/site-packages/nvidia/cuda_runtime/include/cuda_fp16.h");
  NvrtcSearch with_python = search();
  with_python.python_environment = root() / "venv";
  const auto found = find_nvrtc(with_python);
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_THAT(found->includes,
              ElementsAre(root() / "venv/lib/python3.11/site-packages/nvidia/cuda_runtime/include"));
}

TEST_F(NvrtcLocationTest, TheLibrarysOwnLinkerFoldersAreTheLastResort) {
  install("system", "13", "0");
  NvrtcSearch with_system = search();
  with_system.system_folders = {root() / "system"};
  EXPECT_TRUE(find_nvrtc(with_system).has_value());
}

TEST_F(NvrtcLocationTest, HeadersOfTheCudaLibrariesComeWithTheToolkits) {
  install("toolkits/cuda/lib64", "13", "0");
  touch("toolkits/cuda/include/cuda_fp16.h");
  touch("toolkits/cuda/include/cccl/cuda/std/limits");
  EXPECT_THAT(find_nvrtc(search())->includes,
              ElementsAre(root() / "toolkits/cuda/include", root() / "toolkits/cuda/include/cccl"));
}

TEST_F(NvrtcLocationTest, AnOldVersionIsNamedAndPassedOver) {
  install("toolkits/cuda-11.8/lib64", "11", "8");
  EXPECT_THAT(error_of(search()), HasSubstr("NVRTC 11 is too old"));
  install("toolkits/cuda-12.0/lib64", "12", "0");
  EXPECT_TRUE(find_nvrtc(search()).has_value());
}

TEST_F(NvrtcLocationTest, AnInstallationWithoutItsBuiltinsIsPassedOver) {
  touch("toolkits/cuda/lib64/libnvrtc.so.13");
  touch("toolkits/cuda/lib64/libnvrtc-builtins.so.12.9");
  touch("toolkits/cuda/lib64/libnvrtc.alt.so.13");
  EXPECT_THAT(error_of(search()), HasSubstr("no libnvrtc-builtins of the same version"));
}

TEST_F(NvrtcLocationTest, TheErrorListsWhatWasSearchedAndSaysWhatToDo) {
  NvrtcSearch nothing = search();
  nothing.cuda_home = "/nowhere/cuda";
  const std::string error = error_of(nothing);
  EXPECT_THAT(error, HasSubstr("CUDA_HOME is /nowhere/cuda"));
  EXPECT_THAT(error, HasSubstr("/nowhere/cuda/lib64 (no such folder"));
  EXPECT_THAT(error, HasSubstr(root() / "toolkits/cuda/lib64"));
  EXPECT_THAT(error, HasSubstr("autokernel doctor"));
}

}  // namespace
}  // namespace ak::cuda
