#include "autokernel/device/cpu/module.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "autokernel/device/cpu/buffers.h"

namespace ak::cpu {
namespace {

constexpr std::array<std::string_view, 8> kBlockingImports = {
    "ak_rt_barrier",     "ak_rt_barrier_count", "ak_rt_warp_barrier", "ak_rt_warp_exchange",
    "ak_rt_active_mask", "ak_rt_grid_barrier",  "ak_rt_yield",        "__sanitizer_cov_trace_pc"};

struct Extent {
  std::uintptr_t base;
  std::uintptr_t end = 0;
};

int find_end(dl_phdr_info* info, std::size_t, void* data) {
  auto* extent = static_cast<Extent*>(data);
  if (info->dlpi_addr != extent->base) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type == PT_LOAD) {
      extent->end = std::max<std::uintptr_t>(extent->end, extent->base + header.p_vaddr + header.p_memsz);
    }
  }
  return 1;
}

}  // namespace

ModuleTraits ModuleTraits::of(const CodeFacts& facts) {
  ModuleTraits traits;
  for (const std::string& symbol : facts.imports) {
    traits.blocking |=
        std::find(kBlockingImports.begin(), kBlockingImports.end(), symbol) != kBlockingImports.end();
    traits.checked |= symbol.starts_with("__asan_") || symbol.starts_with("__ubsan_");
  }
  return traits;
}

Result<UniqueFd> module_file(const std::string& bytes) {
  AK_TRY(fd, create_memfd("ak-module"));
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t n = ::write(fd.get(), bytes.data() + written, bytes.size() - written);
    if (n <= 0)
      return environment_error("cannot store a module of {} bytes: {}", bytes.size(), std::strerror(errno));
    written += static_cast<std::size_t>(n);
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return environment_error("cannot seal a module: {}", std::strerror(errno));
  }
  return fd;
}

Result<OpenedModule> open_module(int fd, const ModuleTraits& traits) {
  const std::string path = fmt::format("/proc/self/fd/{}", fd);
  OpenedModule opened;
  opened.handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened.handle == nullptr) {
    const char* text = ::dlerror();
    std::string message = text != nullptr ? text : "unknown reason";
    if (message.starts_with(path + ": ")) message.erase(0, path.size() + 2);
    return environment_error("{}", message);
  }
  opened.loaded.module = static_cast<const AkModule*>(::dlsym(opened.handle, "ak_module"));
  if (opened.loaded.module == nullptr) {
    close_module(opened);
    return environment_error("it exports no ak_module");
  }
  if (opened.loaded.module->abi != AK_CPU_ABI) {
    const auto abi = opened.loaded.module->abi;
    close_module(opened);
    return environment_error("its ABI is {}, this binary's is {}", abi, AK_CPU_ABI);
  }
  link_map* map = nullptr;
  ::dlinfo(opened.handle, RTLD_DI_LINKMAP, &map);
  Extent extent{map != nullptr ? static_cast<std::uintptr_t>(map->l_addr) : 0};
  ::dl_iterate_phdr(find_end, &extent);
  opened.loaded.base = extent.base;
  opened.loaded.end = extent.end;
  opened.loaded.blocking = traits.blocking;
  opened.loaded.checked = traits.checked;
  return opened;
}

void close_module(OpenedModule& module) {
  if (module.handle != nullptr) ::dlclose(module.handle);
  module = {};
}

}  // namespace ak::cpu
