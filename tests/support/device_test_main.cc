// The main function of tests that use the CPU device: the same binary is its own jail.

#include <gtest/gtest.h>

#include <string_view>

#include "autokernel/device/cpu/jail_main.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "__jail") return ak::cpu::jail_main();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
