#include "autokernel/kernel/kernel_file.h"

#include <gtest/gtest.h>

#include "autokernel/base/file.h"
#include "samples.h"

namespace ak::kernel {
namespace {

using namespace ak::kernel::testing;

constexpr std::string_view kFull = R"(op = "rmsnorm"
about = "one block per row"
dtypes = ["f32", "bf16"]
arch = ["sm_90a", "cpu"]
specialize = ["N"]
max_registers = "THREADS > 512 ? 64 : 128"
[tunables]
THREADS = [64, 128]
FAST = [true, false]
LAYOUT = ["rows", "columns"]
[constraints]
where = ["THREADS * 2 <= 256"]
needs = ["N % 4 == 0", "N > 0"]
[defaults]
FAST = false
LAYOUT = "rows"
THREADS = 128
[[workspace]]
name = "partial"
bytes = "4 * M"
zeroed = true
[[tensormap]]
name = "x_map"
tensor = "x"
box = [64, "THREADS"]
swizzle = 128
[[launch]]
entry = "f"
grid = ["M", 2]
block = ["THREADS"]
cluster = [1]
shared_bytes = "4 * THREADS"
cooperative = true
args = ["x", "y", "N", "partial", "x_map", 7]
[[launch]]
entry = "f"
grid = [1]
block = [1, 1, 1]
args = []
)";

TEST(KernelFile, EveryKeyOfTheFrontMatterIsRead) {
  const KernelFile file = parsed(file_text(kFull));
  EXPECT_EQ(file.name, "test.cu");
  EXPECT_EQ(file.op, "rmsnorm");
  EXPECT_EQ(file.about, "one block per row");
  EXPECT_EQ(file.dtypes, (std::vector<DType>{DType::kF32, DType::kBF16}));
  EXPECT_EQ(file.arch, (std::vector<std::string>{"sm_90a", "cpu"}));
  EXPECT_EQ(file.specialize, std::vector<std::string>{"N"});
  EXPECT_EQ(file.max_registers->text(), "THREADS > 512 ? 64 : 128");
  ASSERT_EQ(file.where.size(), 1u);
  EXPECT_EQ(file.where[0].text(), "THREADS * 2 <= 256");
  EXPECT_EQ(file.needs.size(), 2u);
  EXPECT_FALSE(file.is_template);
  EXPECT_EQ(file.defaults.to_string(), "FAST=false LAYOUT=rows THREADS=128");
}

TEST(KernelFile, TunablesKeepTheOrderInWhichTheyAreWritten) {
  const KernelFile file = parsed(file_text(kFull));
  ASSERT_EQ(file.tunables.size(), 3u);
  EXPECT_EQ(file.tunables[0].name, "THREADS");
  EXPECT_EQ(file.tunables[1].name, "FAST");
  EXPECT_EQ(file.tunables[2].name, "LAYOUT");
  EXPECT_EQ(file.tunables[1].values, (std::vector<TunableValue>{true, false}));
  EXPECT_EQ(file.tunables[2].values,
            (std::vector<TunableValue>{std::string("rows"), std::string("columns")}));
}

TEST(KernelFile, LaunchesWorkspacesAndTensorMapsAreRead) {
  const KernelFile file = parsed(file_text(kFull));
  ASSERT_EQ(file.launches.size(), 2u);
  const LaunchSpec& launch = file.launches[0];
  EXPECT_EQ(launch.entry, "f");
  EXPECT_EQ(launch.grid[1].text(), "2");
  EXPECT_EQ(launch.cluster.size(), 1u);
  EXPECT_EQ(launch.shared_bytes->text(), "4 * THREADS");
  EXPECT_TRUE(launch.cooperative);
  EXPECT_EQ(launch.args.back(), "7");
  EXPECT_FALSE(file.launches[1].shared_bytes);
  EXPECT_EQ(file.launches[1].block.size(), 3u);
  EXPECT_EQ(file.workspaces[0].name, "partial");
  EXPECT_TRUE(file.workspaces[0].zeroed);
  EXPECT_EQ(file.tensor_maps[0].tensor, "x");
  EXPECT_EQ(file.tensor_maps[0].box.size(), 2u);
  EXPECT_EQ(file.tensor_maps[0].swizzle_bytes, 128);
}

TEST(KernelFile, AByteOrderMarkIsNoPartOfTheText) {
  const std::string text(plain_text(""));
  const auto file = parse("\xef\xbb\xbf" + text, "bom.cu");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->text, text);
}

TEST(KernelFile, AFileWithoutTunablesHasOneConfig) {
  const KernelFile file = parsed(plain_text(""));
  EXPECT_TRUE(file.tunables.empty());
  EXPECT_EQ(file.defaults, Config{});
}

TEST(KernelFile, SupportsTheArchitecturesItNamesAndAllWhenItNamesNone) {
  const KernelFile named = parsed(file_text(kFull)), any = parsed(plain_text(""));
  EXPECT_TRUE(named.supports_arch("cpu"));
  EXPECT_FALSE(named.supports_arch("sm_80"));
  EXPECT_TRUE(any.supports_arch("sm_80"));
  EXPECT_TRUE(named.supports(DType::kBF16));
  EXPECT_FALSE(named.supports(DType::kF16));
}

TEST(KernelFile, HashIsOfTheText) {
  EXPECT_EQ(parsed(plain_text("")).hash, parsed(plain_text("")).hash);
  EXPECT_NE(parsed(plain_text("")).hash, parsed(plain_text("\n")).hash);
}

TEST(FrontMatter, ALicenceAndIncludesMayComeBeforeIt) {
  const std::string head =
      "// Copyright: see /* autokernel in LICENSE\n/* another comment */\n#include <a.h>\n"
      "const char* s = \"/* autokernel\"; char c = '\"'; auto r = R\"x(/* autokernel )\" )x\"; int n = "
      "1'000;\n";
  EXPECT_EQ(parsed(head + plain_text("about = \"here\"\n")).about, "here");
}

TEST(FrontMatter, OnlyTheFirstOneCounts) {
  EXPECT_EQ(parsed(plain_text("about = \"first\"\n") + plain_text("about = \"second\"\n")).about, "first");
}

TEST(FrontMatter, AWordThatOnlyBeginsSoIsNoFrontMatter) {
  EXPECT_EQ(parsed("/* autokernels are fast */\n" + plain_text("about = \"here\"\n")).about, "here");
}

TEST(FrontMatter, WindowsLineEndsAreRead) {
  std::string text;
  for (const char c : plain_text("[tunables]\nVEC = [1, 2]\n[defaults]\nVEC = 2\n")) {
    if (c == '\n') text += '\r';
    text += c;
  }
  EXPECT_EQ(parsed(text).defaults.to_string(), "VEC=2");
}

TEST(Load, AMissingFileIsAnErrorWithItsName) {
  const Result<KernelFile> file = load("/no/such/kernel.cu");
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message.find("/no/such/kernel.cu"), std::string::npos);
}

TEST(Load, ReadsAFileUnderThePathItWasGiven) {
  const auto folder = TempDir::create("kernel-file");
  ASSERT_TRUE(folder);
  const std::string path = (folder->path() / "k.cu").string();
  ASSERT_TRUE(write_file_atomic(path, plain_text("")));
  const Result<KernelFile> file = load(path);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->name, path);
}

}  // namespace
}  // namespace ak::kernel
