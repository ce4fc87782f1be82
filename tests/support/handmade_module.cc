#include "support/handmade_module.h"

#include <map>
#include <sstream>

#include "autokernel/base/file.h"
#include "autokernel/base/subprocess.h"

namespace ak::test {
namespace {

constexpr char kHead[] = R"(
#include "autokernel/device/cpu/abi.h"
#include <stddef.h>
static thread_local AkBuiltins g_builtins;
alignas(1024) static thread_local char g_shared[16384];
#define AK_SEES_PARAMS(p) (void)p
#define threadIdx (g_builtins.thread_idx)
#define blockIdx (g_builtins.block_idx)
#define blockDim (g_builtins.block_dim)
#define gridDim (g_builtins.grid_dim)
static inline char* hidden_origin(char* p) { asm volatile("" : "+r"(p)); return p; }
#define shared_memory (hidden_origin(g_shared))
)";

std::string glue(const std::vector<HandmadeKernel>& kernels) {
  std::string text, table;
  for (const HandmadeKernel& kernel : kernels) {
    std::string call = kernel.name + "(", sizes;
    for (std::size_t i = 0; i < kernel.params.size(); ++i) {
      call += fmt::format("{}*({}*)p[{}]", i ? ", " : "", kernel.params[i], i);
      sizes += fmt::format("sizeof({}), ", kernel.params[i]);
    }
    call += ")";
    text += fmt::format("static void {}_thread(void** p) {{ AK_SEES_PARAMS(p); {}; }}\n", kernel.name, call);
    text += fmt::format(
        "static void {}_block(void** p) {{ AK_SEES_PARAMS(p); const AkDim3 b = blockDim;\n"
        "for (threadIdx.z = 0; threadIdx.z < b.z; ++threadIdx.z) for (threadIdx.y = 0; threadIdx.y < b.y;\n"
        "++threadIdx.y) for (threadIdx.x = 0; threadIdx.x < b.x; ++threadIdx.x) {}; }}\n",
        kernel.name, call);
    text += fmt::format("static const uint32_t {}_sizes[] = {{ {}0 }};\n", kernel.name, sizes);
    table += fmt::format("{{\"{0}\", {1}, {0}_sizes, {0}_thread, {0}_block}},\n", kernel.name,
                         kernel.params.size());
  }
  return text +
         fmt::format(
             "static const AkEntry g_entries[] = {{\n{}}};\n"
             "static AkBuiltins* builtins(void) {{ return &g_builtins; }}\n"
             "static void shared_range(void** b, uint64_t* n) {{ *b = g_shared; *n = sizeof(g_shared); }}\n"
             "extern \"C\" __attribute__((visibility(\"default\"))) const AkModule ak_module = {{\n"
             "AK_CPU_ABI, {}, g_entries, builtins, shared_range}};\n",
             table, kernels.size());
}

Result<std::string> run(std::vector<std::string> argv) {
  ProcessSpec spec;
  spec.argv = std::move(argv);
  AK_TRY(done, run_process(spec));
  if (done.exit_code != 0) return internal_error("{} failed: {}{}", spec.argv[0], done.out, done.err);
  return std::move(done.out);
}

}  // namespace

Result<Binary> handmade_module(const std::string& code, const std::vector<HandmadeKernel>& kernels,
                               Build build) {
  AK_TRY(folder, TempDir::create("ak-module"));
  const std::string source = (folder.path() / "module.cc").string(),
                    object = (folder.path() / "module.so").string();
  AK_TRY_VOID(write_file_atomic(source, std::string(kHead) + "#line 1 \"kernel.cu\"\n" + code +
                                            "\n#line 1 \"prelude/glue.h\"\n" + glue(kernels)));
  const std::string unlinked = (folder.path() / "module.o").string();
  std::vector<std::string> argv = {
      "g++", "-std=c++20", "-c",  "-fPIC", "-fvisibility=hidden", "-w", "-I", AK_SOURCE_DIR "/src",
      "-o",  unlinked,     source};
  std::vector<std::string> flags = {"-O2", "-fno-optimize-sibling-calls"};
  if (build == Build::kChecked) {
    flags = {"-O1",
             "-g",
             "-fno-optimize-sibling-calls",
             "-fsanitize=kernel-address,bounds",
             "--param=asan-instrumentation-with-call-threshold=0",
             "--param=asan-stack=0",
             "--param=asan-globals=0"};
  }
  argv.insert(argv.end(), flags.begin(), flags.end());
  AK_TRY_VOID(run(argv));
  // Without -fsanitize, which would add libubsan.
  AK_TRY_VOID(run({"g++", "-shared", "-o", object, unlinked}));
  AK_TRY(symbols, run({"nm", "-D", "--undefined-only", object}));
  Binary binary;
  binary.format = "elf";
  binary.arch = "cpu";
  AK_TRY(bytes, read_file(object));
  binary.bytes = std::move(bytes);
  std::istringstream lines(symbols);
  for (std::string kind, name; lines >> kind >> name;)
    binary.facts.imports.push_back(name.substr(0, name.find('@')));
  const std::map<std::string, std::uint32_t> sizes = {{"int", 4}, {"float", 4}, {"long", 8}, {"double", 8}};
  for (const HandmadeKernel& kernel : kernels) {
    Entry entry;
    entry.name = kernel.name;
    for (const std::string& type : kernel.params) {
      entry.param_bytes.push_back(sizes.contains(type) ? sizes.at(type) : 8);
    }
    binary.entries.push_back(std::move(entry));
  }
  return binary;
}

}  // namespace ak::test
