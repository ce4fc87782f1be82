// The tests of NvrtcCompiler start this binary again as their compiler process.
#include <gtest/gtest.h>

#include <string_view>

#include "autokernel/device/cuda/nvrtc_child.h"

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "__nvrtc") return ak::cuda::nvrtc_child_main();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
