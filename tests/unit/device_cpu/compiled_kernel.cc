#include "compiled_kernel.h"

#include <dlfcn.h>

#include <barrier>
#include <mutex>
#include <thread>

namespace {

// A runtime for tests: one block of at most 32 threads, each an OS thread.
struct Block {
  explicit Block(unsigned count) : threads(count), barrier(static_cast<std::ptrdiff_t>(count)) {}
  unsigned threads;
  std::barrier<> barrier;
  std::array<std::uint64_t, 32> values{};
  std::array<int, 32> predicates{};
};
Block* g_block = nullptr;
thread_local unsigned t_lane = 0;

}  // namespace

extern "C" {
void ak_rt_barrier(void) { g_block->barrier.arrive_and_wait(); }
int ak_rt_barrier_count(int predicate) {
  g_block->predicates[t_lane] = predicate != 0;
  g_block->barrier.arrive_and_wait();
  int count = 0;
  for (unsigned i = 0; i < g_block->threads; ++i) count += g_block->predicates[i];
  g_block->barrier.arrive_and_wait();
  return count;
}
void ak_rt_warp_barrier(uint32_t) { g_block->barrier.arrive_and_wait(); }
uint32_t ak_rt_warp_exchange(uint32_t mask, uint64_t value, uint64_t values[32]) {
  g_block->values[t_lane] = value;
  g_block->barrier.arrive_and_wait();
  const std::uint32_t present = g_block->threads >= 32 ? ~0u : (1u << g_block->threads) - 1;
  for (unsigned i = 0; i < 32; ++i) values[i] = (present >> i & 1u) ? g_block->values[i] : 0;
  g_block->barrier.arrive_and_wait();
  return present & mask;
}
uint32_t ak_rt_active_mask(void) { return 1u << t_lane; }
void* ak_rt_dynamic_shared(void) {
  alignas(1024) static char memory[4096];
  return memory;
}
void ak_rt_grid_barrier(void) {}
void ak_rt_yield(void) {}
void ak_rt_trap(void) {}
void ak_rt_atomic(const void*, uint32_t, int) {}
}

namespace ak::cpu {

namespace {

struct SharedCompiler {
  TempDir folder = std::move(*TempDir::create("ak-compiler-test"));
  std::unique_ptr<CpuCompiler> compiler;
  SharedCompiler() {
    CpuCompilerOptions options;
    options.cache = folder.path();
    static constexpr EmbeddedFile kHeader = {
        "autokernel/device/twice.cuh",
        "#pragma once\ninline __device__ float twice(float x) { return 2 * x; }\n"};
    options.device_headers = {kHeader};
    auto made = CpuCompiler::create(options);
    if (!made) ADD_FAILURE() << made.error().message;
    compiler = std::move(*made);
  }
};

}  // namespace

CompilerFixture::CompilerFixture() {
  static SharedCompiler shared;
  folder_ = shared.folder.path();
  compiler_ = shared.compiler.get();
}

Source CompilerFixture::source(std::string_view text, std::vector<std::string> entries) {
  Source source;
  source.name = "kernel.cu";
  source.text = text;
  source.entries = std::move(entries);
  source.arch = "cpu";
  return source;
}

std::optional<Binary> CompilerFixture::binary(const Source& source) {
  auto outcome = compiler_->compile(source);
  if (!outcome) {
    ADD_FAILURE() << outcome.error().message;
    return std::nullopt;
  }
  if (outcome->failure) {
    ADD_FAILURE() << outcome->failure->message;
    return std::nullopt;
  }
  return std::move(outcome->binary);
}

Failure CompilerFixture::failure(const Source& source) {
  auto outcome = compiler_->compile(source);
  if (!outcome) {
    ADD_FAILURE() << outcome.error().message;
    return {};
  }
  EXPECT_TRUE(outcome->failure) << "it compiles";
  return outcome->failure.value_or(Failure{});
}

LoadedModule::LoadedModule(const Binary& binary) {
  const TempDir folder = std::move(*TempDir::create("ak-module"));
  const auto path = folder.path() / "module.so";
  const auto written = write_file_atomic(path, binary.bytes);
  if (!written) ADD_FAILURE() << written.error().message;
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    ADD_FAILURE() << dlerror();
    return;
  }
  module_ = static_cast<const AkModule*>(dlsym(handle_, "ak_module"));
}

LoadedModule::~LoadedModule() {
  if (handle_ != nullptr) dlclose(handle_);
}

void LoadedModule::run_block(std::size_t entry, std::vector<void*> params, AkDim3 block,
                             AkDim3 block_index) const {
  *module_->builtins() = {
      {0, 0, 0}, block_index, block, {block_index.x + 1, block_index.y + 1, block_index.z + 1}};
  params.push_back(nullptr);
  module_->entries[entry].block(params.data());
}

void LoadedModule::run_threads(std::size_t entry, std::vector<void*> params, unsigned threads) const {
  Block block(threads);
  g_block = &block;
  params.push_back(nullptr);
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < threads; ++i) {
    workers.emplace_back([&, i] {
      t_lane = i;
      *module_->builtins() = {{i, 0, 0}, {0, 0, 0}, {threads, 1, 1}, {1, 1, 1}};
      module_->entries[entry].thread(params.data());
    });
  }
  for (std::thread& worker : workers) worker.join();
  g_block = nullptr;
}

}  // namespace ak::cpu
