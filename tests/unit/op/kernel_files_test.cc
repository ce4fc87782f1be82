// The kernel files that families bring: they parse, name what exists, and their defaults suit every size of
// the family.
#include <gmock/gmock.h>

#include "autokernel/kernel/kernel_file.h"
#include "autokernel/kernel/launch.h"
#include "autokernel/kernel/space.h"
#include "autokernel/op/op_family.h"
#include "signatures.h"

namespace ak::op {
namespace {

using testing::reference_signature_of;
using testing::signature_of;

const Registry& families() {
  static const Registry kRegistry = *Registry::create(embedded_families(), {});
  return kRegistry;
}

/// The launches of the reference, then those of the contract, which the harness leaves out where b is not
/// needed.
TEST(KernelFiles, ReferencesHaveTheirTwoPartsInOrder) {
  for (const Family& family : families().families()) {
    const Result<kernel::KernelFile> file = kernel::parse(family.reference, family.name + "/reference.cu");
    ASSERT_TRUE(file) << file.error().message;
    const Status checked = kernel::check_against(*file, reference_signature_of(family));
    EXPECT_TRUE(checked) << checked.error().message;
    std::vector<std::string> parts;
    for (const kernel::LaunchSpec& launch : file->launches) {
      std::string part = launch.entry.substr(0, launch.entry.find('_'));
      if (parts.empty() || parts.back() != part) parts.push_back(std::move(part));
    }
    EXPECT_EQ(parts, (std::vector<std::string>{"reference", "contract"})) << family.name;
    EXPECT_EQ(file->dtypes, family.dtypes);
  }
}

TEST(KernelFiles, EachNamesItsFamilyAndWhatTheFamilyHas) {
  for (const Family& family : families().families()) {
    for (const KernelSource& source : family.kernels) {
      const Result<kernel::KernelFile> file = kernel::parse(source.text, source.name);
      ASSERT_TRUE(file) << file.error().message;
      EXPECT_EQ(file->op, family.name) << source.name;
      const Status checked = kernel::check_against(*file, signature_of(family));
      EXPECT_TRUE(checked) << checked.error().message;
    }
  }
}

TEST(KernelFiles, StartersRunEverySizeOfTheirFamilyAsTheyAre) {
  const DeviceInfo device;
  for (const Family& family : families().families()) {
    const Result<kernel::KernelFile> file =
        kernel::parse(family.kernels.front().text, family.kernels.front().name);
    ASSERT_TRUE(file);
    for (const auto& [set, sizes] : family.sizes) {
      for (const Size& size : sizes) {
        for (DType dtype : family.dtypes) {
          const Result<Problem> problem = make_problem(family, size, dtype);
          ASSERT_TRUE(problem);
          const auto invalid = kernel::check_config(*file, file->defaults, *problem, device);
          ASSERT_TRUE(invalid) << invalid.error().message;
          EXPECT_FALSE(invalid->has_value())
              << file->name << " " << problem->label() << ": " << (*invalid)->reason;
        }
      }
    }
  }
}

/// What every GPU has, and for a kernel of Hopper what that has.
DeviceInfo device_for(const kernel::KernelFile& file) {
  DeviceInfo device;
  if (file.arch.empty()) return device;
  EXPECT_EQ(file.arch, std::vector<std::string>{"sm_90a"}) << file.name;
  device.arch = "sm_90a";
  device.dynamic_shared_bytes = 227 * 1024;
  device.clusters = device.tensor_maps = true;
  return device;
}

/// Without a target file these sizes are timed, as far as the file covers them: all of them, unless it is one
/// for some architectures beside others.
TEST(KernelFiles, DefaultsRunTheSizesThatAreTimed) {
  for (const Family& family : families().families()) {
    for (const KernelSource& source : family.kernels) {
      const Result<kernel::KernelFile> file = kernel::parse(source.text, source.name);
      ASSERT_TRUE(file);
      const DeviceInfo device = device_for(*file);
      for (const char* set : {"sweep", "primary"}) {
        std::size_t covered = 0;
        for (const Size& size : family.sizes.at(set)) {
          const Result<Problem> problem = make_problem(family, size, file->dtypes.front());
          const auto invalid = kernel::check_config(*file, file->defaults, *problem, device);
          ASSERT_TRUE(invalid) << invalid.error().message;
          covered += !invalid->has_value();
          EXPECT_TRUE(!*invalid || !file->arch.empty())
              << source.name << " " << problem->label() << ": " << (*invalid)->reason;
        }
        EXPECT_GT(covered, family.sizes.at(set).size() / 2) << source.name << " " << set;
      }
    }
  }
}

TEST(KernelFiles, AConvolutionBlockOf64By64ThreadsIsAnInvalidConfig) {
  const Family& family = **families().find("conv2d");
  const auto naive =
      std::find_if(family.kernels.begin(), family.kernels.end(),
                   [](const KernelSource& source) { return source.name == "conv2d/kernels/naive.cu"; });
  ASSERT_NE(naive, family.kernels.end());
  const Result<kernel::KernelFile> file = kernel::parse(naive->text, naive->name);
  const Result<Problem> problem = make_problem(family, family.sizes.at("sweep").front(), DType::kF32);
  ASSERT_TRUE(file && problem);
  const Result<Config> config = kernel::config_with(*file, {"block_size=64"});
  ASSERT_TRUE(config) << config.error().message;
  const auto invalid = kernel::check_config(*file, *config, *problem, DeviceInfo{});
  ASSERT_TRUE(invalid && *invalid);
  EXPECT_THAT((*invalid)->reason, ::testing::HasSubstr("4096"));
}

}  // namespace
}  // namespace ak::op
