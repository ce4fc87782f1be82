#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "autokernel/device/cpu/grid_runner.h"

namespace ak::cpu {
namespace {

// Kernels of this binary instead of a compiled module: they call the runtime as a module does.
thread_local AkBuiltins t_builtins;
thread_local int t_shared[1024];

AkBuiltins* builtins() { return &t_builtins; }
void shared_range(void** begin, std::uint64_t* bytes) {
  *begin = t_shared;
  *bytes = sizeof(t_shared);
}
const AkModule kModule{AK_CPU_ABI, 0, nullptr, &builtins, &shared_range};

template <class T>
T param(void** params, int index) {
  return *static_cast<T*>(params[index]);
}

// The module reads its builtins through a call as compiled modules do; a cached address is right, too.
std::uint32_t thread_x() { return t_builtins.thread_idx.x; }
std::uint32_t block_x() { return t_builtins.block_idx.x; }

struct Harness {
  explicit Harness(std::uint32_t threads = 2) {
    auto made = GridRunner::create(threads, {});
    EXPECT_TRUE(made);
    pool = std::move(*made);
  }
  template <class... Args>
  std::optional<FaultRecord> run(void (*kernel)(void**), KernelLaunch launch, Args... args) {
    AkEntry entry{"kernel", sizeof...(Args), nullptr, kernel, nullptr};
    void* params[] = {static_cast<void*>(&args)..., nullptr};
    launch.module = &module;
    launch.entry = &entry;
    launch.params = params;
    EXPECT_TRUE(pool->reserve(RunnerNeeds::of(launch, pool->threads())));
    return pool->run(launch);
  }
  LoadedModule module{&kModule, 0, ~std::uintptr_t{0}, true, false};
  std::unique_ptr<GridRunner> pool;
};

KernelLaunch shape(std::uint32_t grid, std::uint32_t block) {
  KernelLaunch launch;
  launch.grid.x = grid;
  launch.block.x = block;
  return launch;
}

TEST(Fibers, EachThreadOfEachBlockRunsOnceWithItsOwnIndices) {
  Harness harness;
  std::vector<int> hits(7 * 6 * 5, 0);
  KernelLaunch launch;
  launch.grid = {7, 1, 1};
  launch.block = {3, 2, 5};
  auto kernel = [](void** params) {
    const AkDim3 t = t_builtins.thread_idx;
    ++param<int*>(params, 0)[block_x() * 30 + (t.z * 2 + t.y) * 3 + t.x];
  };
  EXPECT_FALSE(harness.run(kernel, launch, hits.data()));
  EXPECT_EQ(std::vector<int>(hits.size(), 1), hits);
}

TEST(Fibers, ABarrierMakesTheSharedWritesOfAllThreadsVisible) {
  Harness harness;
  std::vector<int> out(64 * 256);
  auto kernel = [](void** params) {
    const std::uint32_t t = thread_x();
    t_shared[t] = static_cast<int>(t + block_x());
    for (int step = 128; step > 0; step /= 2) {
      ak_rt_barrier();
      if (t < static_cast<std::uint32_t>(step)) t_shared[t] += t_shared[t + step];
    }
    ak_rt_barrier();
    param<int*>(params, 0)[block_x() * 256 + thread_x()] = t_shared[0];
  };
  EXPECT_FALSE(harness.run(kernel, shape(64, 256), out.data()));
  for (int b = 0; b < 64; ++b) EXPECT_EQ(out[b * 256 + 255], 255 * 128 + 256 * b);
}

TEST(Fibers, BarrierCountReturnsTheNumberOfTruePredicatesToAll) {
  Harness harness;
  std::vector<int> out(100);
  auto kernel = [](void** params) {
    const int first = ak_rt_barrier_count(thread_x() % 3 == 0);
    const int second = ak_rt_barrier_count(thread_x() < 5);
    param<int*>(params, 0)[thread_x()] = first * 1000 + second;
  };
  EXPECT_FALSE(harness.run(kernel, shape(1, 100), out.data()));
  EXPECT_EQ(std::vector<int>(100, 34005), out);
}

TEST(Fibers, ExitedThreadsCountAsArrivedAtABarrier) {
  Harness harness;
  std::vector<int> out(64, 0);
  auto kernel = [](void** params) {
    if (thread_x() % 2 == 1) return;
    ak_rt_barrier();
    ak_rt_barrier();
    param<int*>(params, 0)[thread_x()] = 1;
  };
  EXPECT_FALSE(harness.run(kernel, shape(1, 64), out.data()));
  EXPECT_EQ(std::accumulate(out.begin(), out.end(), 0), 32);
}

TEST(Fibers, AWarpExchangeGivesEveryLaneTheValuesOfAll) {
  Harness harness;
  std::vector<int> out(96, 0);
  auto kernel = [](void** params) {  // a shuffle-xor reduction
    int sum = static_cast<int>(thread_x());
    for (std::uint32_t delta = 16; delta > 0; delta /= 2) {
      std::uint64_t values[32];
      ak_rt_warp_exchange(~0u, static_cast<std::uint64_t>(sum), values);
      sum += static_cast<int>(values[(thread_x() % 32) ^ delta]);
    }
    param<int*>(params, 0)[thread_x()] = sum;
  };
  EXPECT_FALSE(harness.run(kernel, shape(1, 96), out.data()));
  EXPECT_EQ(out[0], 31 * 16);
  EXPECT_EQ(out[63], 31 * 16 + 32 * 32);
  EXPECT_EQ(out[95], 31 * 16 + 64 * 32);
}

TEST(Fibers, GroupsOfAWarpExchangeIndependently) {
  Harness harness;
  std::vector<int> out(32, 0);
  auto kernel = [](void** params) {
    const std::uint32_t lane = thread_x();
    const bool low = lane < 8;
    const std::uint32_t mask = low ? 0xFFu : 0xFFFFFF00u;
    std::uint64_t sum = 0, values[32];
    for (int round = 0; round < (low ? 5 : 2); ++round) {
      ak_rt_warp_exchange(mask, lane, values);
      for (std::uint64_t value : values) sum += value;
    }
    param<int*>(params, 0)[lane] = static_cast<int>(sum);
  };
  EXPECT_FALSE(harness.run(kernel, shape(1, 32), out.data()));
  EXPECT_EQ(out[3], 5 * 28);
  EXPECT_EQ(out[20], 2 * (496 - 28));
}

TEST(Fibers, ExitedAndMissingLanesGiveZeroInAnExchange) {
  Harness harness;
  std::vector<std::uint64_t> out(40, 0);
  auto kernel = [](void** params) {
    if (thread_x() % 32 == 1) return;
    std::uint64_t values[32];
    const std::uint32_t took_part = ak_rt_warp_exchange(~0u, 7, values);
    std::uint64_t sum = 0;
    for (std::uint64_t value : values) sum += value;
    param<std::uint64_t*>(params, 0)[thread_x()] = (sum << 32) | took_part;
  };
  EXPECT_FALSE(harness.run(kernel, shape(1, 40), out.data()));
  EXPECT_EQ(out[0], (std::uint64_t{31 * 7} << 32) | 0xFFFFFFFDu);
  EXPECT_EQ(out[39], (std::uint64_t{7 * 7} << 32) | 0xFDu);  // 8 lanes, one of them gone
}

TEST(Fibers, TheActiveMaskHoldsTheLanesOfTheSameBranch) {
  Harness harness;
  std::vector<std::uint32_t> out(32, 0);
  auto kernel = [](void** params) {
    std::uint32_t mask = 0;
    if (thread_x() < 10) {
      mask = ak_rt_active_mask();
    } else if (thread_x() < 30) {
      mask = ak_rt_active_mask();
      ++mask;  // keeps the two calls apart
    }
    ak_rt_barrier();
    param<std::uint32_t*>(params, 0)[thread_x()] = mask;
  };
  EXPECT_FALSE(harness.run(kernel, shape(1, 32), out.data()));
  EXPECT_EQ(out[9], 0x3FFu);
  EXPECT_EQ(out[29], 0x3FFFFC00u + 1);
  EXPECT_EQ(out[31], 0u);
}

TEST(Fibers, ASpinWaitThatYieldsLetsTheOtherThreadsGoOn) {
  Harness harness;
  int flag = 0;
  auto kernel = [](void** params) {
    volatile int* at = param<int*>(params, 0);
    if (thread_x() == 0) {
      while (*at != 31) ak_rt_yield();
    } else {
      *at = *at + 1;
    }
  };
  EXPECT_FALSE(harness.run(kernel, shape(1, 32), &flag));
  EXPECT_EQ(flag, 31);
}

TEST(Fibers, SpinWaitsWithoutCallsYieldThroughTheTraceOfBasicBlocks) {
  Harness harness;
  int flag = 0;
  auto kernel = [](void** params) {
    volatile int* at = param<int*>(params, 0);
    if (thread_x() == 0) {
      while (*at == 0) __sanitizer_cov_trace_pc();
    } else {
      *at = 1;
    }
  };
  EXPECT_FALSE(harness.run(kernel, shape(1, 2), &flag));
}

TEST(Fibers, BlocksOfACooperativeLaunchMeetAtTheGridBarrier) {
  Harness harness;
  KernelLaunch launch = shape(9, 33);
  launch.cooperative = true;
  std::vector<int> out(9, 0), sums(9, 0);
  auto kernel = [](void** params) {
    int* partial = param<int*>(params, 0);
    t_shared[thread_x()] = static_cast<int>(block_x()) + 1;
    ak_rt_barrier();
    if (thread_x() == 0) {
      for (int i = 0; i < 33; ++i) partial[block_x()] += t_shared[i];
    }
    ak_rt_grid_barrier();
    if (thread_x() == 32) {  // static shared memory is this block's own again
      for (int i = 0; i < 9; ++i) param<int*>(params, 1)[block_x()] += partial[i] * t_shared[5];
    }
    ak_rt_grid_barrier();
  };
  EXPECT_FALSE(harness.run(kernel, launch, out.data(), sums.data()));
  for (int b = 0; b < 9; ++b) EXPECT_EQ(sums[b], 45 * 33 * (b + 1));
}

TEST(Fibers, AGridBarrierOutsideACooperativeLaunchIsAFault) {
  Harness harness;
  auto fault = harness.run([](void**) { ak_rt_grid_barrier(); }, shape(2, 2), 0);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, RecordKind::kUnsupported);
}

TEST(Fibers, ThreadsThatWaitForEachOtherForEverAreADeadlockWithBothPlaces) {
  Harness harness;
  auto kernel = [](void**) {
    if (thread_x() == 5) {
      ak_rt_warp_barrier(~0u);
    } else {
      ak_rt_barrier();
    }
    asm volatile("");  // no tail calls: the return addresses are those of this kernel
  };
  auto fault = harness.run(kernel, shape(1, 32), 0);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, RecordKind::kDeadlock);
  EXPECT_EQ(fault->wait, Wait::kBarrier);
  EXPECT_EQ(fault->other_wait, Wait::kWarp);
  EXPECT_EQ(fault->other_thread.x, 5u);
  EXPECT_NE(fault->pc, fault->other_pc);
}

TEST(Fibers, TheRunnerWorksAgainAfterAFault) {
  Harness harness;
  for (int round = 0; round < 20; ++round) {
    auto fault = harness.run(
        [](void**) {
          ak_rt_barrier();
          if (block_x() == 3 && thread_x() == 17) ak_rt_trap();
          ak_rt_barrier();
        },
        shape(8, 64), 0);
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->kind, RecordKind::kTrap);
    EXPECT_EQ(fault->thread.x, 17u);
    EXPECT_EQ(fault->block.x, 3u);
  }
  std::vector<int> out(64, 0);
  auto kernel = [](void** params) {
    ak_rt_barrier();
    param<int*>(params, 0)[thread_x()] = 1;
  };
  EXPECT_FALSE(harness.run(kernel, shape(1, 64), out.data()));
  EXPECT_EQ(std::accumulate(out.begin(), out.end(), 0), 64);
}

TEST(Fibers, DynamicSharedMemoryIsAlignedAndOfTheBlock) {
  Harness harness;
  KernelLaunch launch = shape(16, 128);
  launch.shared_bytes = 128 * 4;
  std::vector<int> out(16, 0);
  auto kernel = [](void** params) {
    auto* shared = static_cast<std::uint32_t*>(ak_rt_dynamic_shared());
    if (reinterpret_cast<std::uintptr_t>(shared) % 1024 != 0) ak_rt_trap();
    shared[thread_x()] = block_x();
    ak_rt_barrier();
    if (shared[127 - thread_x()] == block_x() && thread_x() == 0) param<int*>(params, 0)[block_x()] = 1;
  };
  EXPECT_FALSE(harness.run(kernel, launch, out.data()));
  EXPECT_EQ(std::accumulate(out.begin(), out.end(), 0), 16);
}

TEST(Fibers, AFullBlockOf1024ThreadsMeetsAtManyBarriers) {
  Harness harness(1);
  int count = 0;
  auto kernel = [](void** params) {
    for (int i = 0; i < 50; ++i) {
      ak_rt_barrier();
      ++*param<int*>(params, 0);
    }
  };
  EXPECT_FALSE(harness.run(kernel, shape(1, 1024), &count));
  EXPECT_EQ(count, 51200);
}

TEST(Fibers, AKernelWithoutWaitsRunsAsAPlainLoop) {
  Harness harness;
  harness.module.blocking = false;
  std::vector<int> out(100 * 8, 0);
  AkEntry entry{"kernel", 1, nullptr, nullptr, [](void** params) {
                  for (std::uint32_t t = 0; t < t_builtins.block_dim.x; ++t) {
                    ++param<int*>(params, 0)[block_x() * t_builtins.block_dim.x + t];
                  }
                }};
  int* data = out.data();
  void* params[] = {&data};
  KernelLaunch launch = shape(100, 8);
  launch.module = &harness.module;
  launch.entry = &entry;
  launch.params = params;
  ASSERT_TRUE(harness.pool->reserve(RunnerNeeds::of(launch, 2)));
  EXPECT_FALSE(harness.pool->run(launch));
  EXPECT_EQ(std::vector<int>(out.size(), 1), out);
}

TEST(Fibers, ThousandsOfSmallLaunchesLoseNoBlock) {
  Harness harness;
  std::atomic<int> count{0};
  auto kernel = [](void** params) { param<std::atomic<int>*>(params, 0)->fetch_add(1); };
  for (int i = 0; i < 3000; ++i) ASSERT_FALSE(harness.run(kernel, shape(5, 3), &count));
  EXPECT_EQ(count.load(), 3000 * 15);
}

// A helper that is late from one launch may claim blocks of the next before that one is fully published.
TEST(Fibers, EachOfManySmallLaunchesSeesItsOwnParameters) {
  Harness harness;
  std::vector<std::atomic<int>> counts(20000);
  auto kernel = [](void** params) { param<std::atomic<int>*>(params, 0)->fetch_add(1); };
  for (auto& count : counts) ASSERT_FALSE(harness.run(kernel, shape(3, 1), &count));
  for (auto& count : counts) ASSERT_EQ(count.load(), 3);
}

// Kernels with volatile accesses are instrumented as a whole, the module's own functions included.
TEST(Fibers, AnInstrumentedModuleMayYieldOutsideOfAnyFiber) {
  const AkModule instrumented{AK_CPU_ABI, 0, nullptr,
                              [] {
                                for (int i = 0; i < 100'000; ++i) __sanitizer_cov_trace_pc();
                                return &t_builtins;
                              },
                              &shared_range};
  Harness harness;
  harness.module.module = &instrumented;
  std::atomic<int> count{0};
  auto kernel = [](void** params) { param<std::atomic<int>*>(params, 0)->fetch_add(1); };
  for (int i = 0; i < 20; ++i) ASSERT_FALSE(harness.run(kernel, shape(4, 2), &count));
  EXPECT_EQ(count.load(), 160);
}

}  // namespace
}  // namespace ak::cpu
