#include "autokernel/device/cpu/elf_facts.h"

#include <cxxabi.h>
#include <elf.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>

#include "autokernel/device/cpu/elf_reader.h"

namespace ak::cpu {
namespace {

constexpr std::array<std::string_view, 18> kRuntime = {"memcpy",
                                                       "memmove",
                                                       "memset",
                                                       "memcmp",
                                                       "__tls_get_addr",
                                                       "ak_rt_barrier",
                                                       "ak_rt_barrier_count",
                                                       "ak_rt_warp_barrier",
                                                       "ak_rt_warp_exchange",
                                                       "ak_rt_active_mask",
                                                       "ak_rt_dynamic_shared",
                                                       "ak_rt_grid_barrier",
                                                       "ak_rt_yield",
                                                       "ak_rt_trap",
                                                       "__sanitizer_cov_trace_pc",
                                                       "__ubsan_handle_out_of_bounds",
                                                       "__asan_handle_no_return",
                                                       "ak_rt_atomic"};

/// Base names of libm; each also with an `f` behind it.
constexpr std::array<std::string_view, 58> kMath = {
    "sin",     "cos",       "tan",   "asin",     "acos",      "atan",  "sinh",   "cosh",   "tanh",
    "asinh",   "acosh",     "atanh", "exp",      "exp2",      "exp10", "expm1",  "log",    "log2",
    "log10",   "log1p",     "sqrt",  "cbrt",     "erf",       "erfc",  "tgamma", "lgamma", "ceil",
    "floor",   "trunc",     "round", "rint",     "nearbyint", "logb",  "fabs",   "pow",    "atan2",
    "fmod",    "remainder", "hypot", "copysign", "nextafter", "fdim",  "fma",    "ldexp",  "scalbn",
    "scalbln", "frexp",     "modf",  "remquo",   "ilogb",     "lrint", "llrint", "lround", "llround",
    "sincos",  "j0",        "j1",    "roundeven"};

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text ? std::string(text.get()) : name;
}

void add_once(std::vector<std::string>& list, std::string item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(std::move(item));
}

/// `_ZZ6kernelPfE4tile` is local to the function `kernel`.
bool is_local_to(std::string_view symbol, std::string_view function) {
  const std::string encoded = fmt::format("{}{}", function.size(), function);
  if (!symbol.starts_with("_ZZ")) return false;
  symbol.remove_prefix(3);
  while (!symbol.empty() && (symbol.front() == 'N' || symbol.front() == 'L')) symbol.remove_prefix(1);
  while (!symbol.starts_with(encoded)) {  // nested names: skip the namespaces in front
    std::size_t digits = 0;
    while (digits < symbol.size() && digits < 4 && symbol[digits] >= '0' && symbol[digits] <= '9') ++digits;
    if (digits == 0) return false;
    const auto length =
        static_cast<std::size_t>(std::strtoul(std::string(symbol.substr(0, digits)).c_str(), nullptr, 10));
    if (length == 0 || symbol.size() < digits + length) return false;
    symbol.remove_prefix(digits + length);
  }
  return true;
}

class Examiner {
 public:
  Examiner(std::string_view bytes, const ElfFile& file, const std::vector<std::string>& names, Build build)
      : bytes_(bytes), file_(file), names_(names), build_(build) {}

  Result<ElfFacts> run() {
    find_imports();
    find_start_up_code();
    find_memory_tricks();
    find_mutable_state();
    AK_TRY_VOID(find_shared_memory());
    AK_TRY_VOID(find_entries());
    std::sort(facts_.code.imports.begin(), facts_.code.imports.end());
    std::sort(facts_.code.mutable_globals.begin(), facts_.code.mutable_globals.end());
    return std::move(facts_);
  }

 private:
  void forbid(std::string what) { add_once(facts_.code.forbidden, std::move(what)); }

  void find_imports() {
    for (const ElfSymbol& symbol : file_.symbols) {
      if (!symbol.defined) {
        const std::string name = symbol.name.substr(0, symbol.name.find('@'));
        add_once(facts_.code.imports, name);
        if (!is_allowed_import(name)) forbid(fmt::format("import of `{}`", name));
        facts_.code.has_barriers = facts_.code.has_barriers || name.starts_with("ak_rt_barrier") ||
                                   name.starts_with("ak_rt_warp") || name == "ak_rt_grid_barrier";
        if (name == "ak_rt_yield" || name == "__sanitizer_cov_trace_pc") {
          add_once(facts_.code.noted, "atomics, volatile accesses or spin-waits");
        }
      } else if (symbol.dynamic && symbol.binding != STB_LOCAL && symbol.name != "ak_module") {
        forbid(fmt::format("export of `{}`", demangled(symbol.name)));
      }
    }
    for (const std::string& library : file_.needed) {
      if (!library.starts_with("libc.so") && !library.starts_with("libm.so") &&
          !library.starts_with("ld-linux")) {
        forbid(fmt::format("library `{}`", library));
      }
    }
  }

  void find_start_up_code() {
    constexpr std::array<std::uint64_t, 5> kTags = {DT_INIT, DT_FINI, DT_INIT_ARRAY, DT_FINI_ARRAY,
                                                    DT_PREINIT_ARRAY};
    for (const ElfDynamic& entry : file_.dynamic) {
      if (std::find(kTags.begin(), kTags.end(), entry.tag) != kTags.end())
        forbid("static constructor or destructor");
      if (entry.tag == DT_TEXTREL) forbid("relocations in code");
    }
    for (const ElfSection& section : file_.sections) {
      const bool array = section.type == SHT_INIT_ARRAY || section.type == SHT_FINI_ARRAY ||
                         section.type == SHT_PREINIT_ARRAY || section.name == ".ctors" ||
                         section.name == ".init";
      if (array && section.bytes > 0) forbid("static constructor or destructor");
    }
    const std::uint32_t irelative = file_.machine == EM_AARCH64 ? R_AARCH64_IRELATIVE : R_X86_64_IRELATIVE;
    const bool relocation = std::find(file_.relocation_types.begin(), file_.relocation_types.end(),
                                      irelative) != file_.relocation_types.end();
    const bool symbol = std::any_of(file_.symbols.begin(), file_.symbols.end(),
                                    [](const ElfSymbol& s) { return s.type == STT_GNU_IFUNC; });
    if (relocation || symbol) forbid("ifunc");
  }

  void find_memory_tricks() {
    for (const ElfSegment& segment : file_.segments) {
      if ((segment.flags & PF_X) == 0) continue;
      if (segment.type == PT_GNU_STACK) forbid("executable stack");
      if (segment.type == PT_LOAD && (segment.flags & PF_W) != 0)
        forbid("memory both writable and executable");
    }
    if (file_.segment(PT_INTERP) != nullptr) forbid("program interpreter");
  }

  /// Writable memory that does not become read-only after relocation.
  void find_mutable_state() {
    const ElfSegment* read_only = file_.segment(PT_GNU_RELRO);
    for (const ElfSegment& segment : file_.segments) {
      if (segment.type != PT_LOAD || (segment.flags & PF_W) == 0) continue;
      std::uint64_t begin = segment.address;
      const std::uint64_t end = segment.address + segment.memory_bytes;
      if (read_only != nullptr && read_only->address <= begin) {
        begin = std::max(begin, read_only->address + read_only->memory_bytes);
      }
      if (begin < end) note_mutable(begin, end);
    }
  }
  void note_mutable(std::uint64_t begin, std::uint64_t end) {
    bool named = false;
    for (const ElfSymbol& symbol : file_.symbols) {
      const bool data = symbol.type == STT_OBJECT || symbol.type == STT_NOTYPE || symbol.type == STT_COMMON;
      if (!symbol.defined || !data || symbol.value < begin || symbol.value >= end ||
          is_linker_name(symbol.name))
        continue;
      named = true;
      add_once(facts_.code.mutable_globals, demangled(symbol.name));
    }
    // The checked build's tables of source lines are writable and nameless.
    if (!named && build_ != Build::kChecked) {
      add_once(facts_.code.mutable_globals, fmt::format("{} bytes of unnamed writable data", end - begin));
    }
  }
  static bool is_linker_name(std::string_view name) {
    constexpr std::array<std::string_view, 7> kNames = {
        "_GLOBAL_OFFSET_TABLE_", "_DYNAMIC",     "_edata",           "_end",
        "__bss_start",           "__data_start", "_TLS_MODULE_BASE_"};
    return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
  }

  const ElfSymbol* symbol(std::string_view name) const {
    const auto found = std::find_if(file_.symbols.begin(), file_.symbols.end(),
                                    [&](const ElfSymbol& s) { return s.defined && s.name == name; });
    return found == file_.symbols.end() ? nullptr : &*found;
  }

  /// Our thread-local variables are initialised, so the image's zero-filled rest is __shared__ memory.
  Status find_shared_memory() {
    const ElfSegment* tls = file_.segment(PT_TLS);
    const ElfSymbol* incoming = symbol("ak_incoming");
    if (tls == nullptr || incoming == nullptr || incoming->type != STT_TLS ||
        incoming->value >= tls->memory_bytes) {
      return internal_error("the compiled module has no thread position (ak_incoming)");
    }
    std::uint64_t begin = tls->memory_bytes;
    std::uint64_t end = 0;
    std::set<std::string> seen;
    for (const ElfSymbol& s : file_.symbols) {
      if (!s.defined || s.type != STT_TLS || s.name == "ak_incoming" || s.name == "ak_current" ||
          is_linker_name(s.name))
        continue;
      if (s.value > tls->memory_bytes || s.bytes > tls->memory_bytes - s.value) {
        return internal_error("the compiled module has a thread-local variable outside its image");
      }
      if (!seen.insert(s.name + fmt::format("@{}", s.value)).second) continue;
      if (s.value < tls->file_bytes) {
        add_once(facts_.code.mutable_globals, demangled(s.name));
        continue;
      }
      begin = std::min(begin, s.value);
      end = std::max(end, s.value + s.bytes);
      shared_.push_back(&s);
    }
    if (begin < end) {
      facts_.shared_offset = static_cast<std::int64_t>(begin) - static_cast<std::int64_t>(incoming->value);
      facts_.shared_bytes = end - begin;
    }
    return {};
  }

  Status find_entries() {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      Entry entry;
      entry.name = names_[i];
      const ElfSymbol* table = symbol(fmt::format("ak_entry_{}", i));
      if (table == nullptr || table->bytes < 4 || table->bytes > 4096) {
        return internal_error("the compiled module has no table for the entry `{}`", entry.name);
      }
      const auto at = file_.file_offset(table->value, table->bytes);
      if (!at) return internal_error("the compiled module's table for `{}` is not in the file", entry.name);
      std::vector<std::uint32_t> words(table->bytes / 4);
      std::memcpy(words.data(), bytes_.data() + *at, words.size() * 4);
      const std::size_t count = words[0];
      if (words.size() != 2 * count + 1) {
        return internal_error("the table for `{}` is damaged", entry.name);
      }
      const auto kinds = words.begin() + 1 + static_cast<std::ptrdiff_t>(count);
      entry.param_bytes.assign(words.begin() + 1, kinds);
      for (auto kind = kinds; kind != words.end(); ++kind) {
        entry.param_kinds += *kind == 'p' || *kind == 'i' || *kind == 'f' ? static_cast<char>(*kind) : '?';
      }
      entry.static_shared_bytes = shared_bytes_of(entry.name);
      facts_.entries.push_back(std::move(entry));
    }
    return {};
  }

  /// Everything but what is local to another entry.
  std::uint32_t shared_bytes_of(const std::string& entry) const {
    std::uint64_t bytes = 0;
    for (const ElfSymbol* s : shared_) {
      const bool mine = is_local_to(s->name, entry);
      const bool anothers = std::any_of(names_.begin(), names_.end(), [&](const std::string& name) {
        return name != entry && is_local_to(s->name, name);
      });
      if (mine || !anothers) bytes += (s->bytes + 3) / 4 * 4;
    }
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, UINT32_MAX));
  }

  std::string_view bytes_;
  const ElfFile& file_;
  const std::vector<std::string>& names_;
  Build build_;
  ElfFacts facts_;
  std::vector<const ElfSymbol*> shared_;
};

}  // namespace

bool is_allowed_import(std::string_view symbol) {
  if (std::find(kRuntime.begin(), kRuntime.end(), symbol) != kRuntime.end()) return true;
  if (symbol.starts_with("__asan_") && symbol.ends_with("_noabort")) return true;
  const auto is_math = [](std::string_view name) {
    return std::find(kMath.begin(), kMath.end(), name) != kMath.end();
  };
  return is_math(symbol) || (symbol.ends_with('f') && is_math(symbol.substr(0, symbol.size() - 1)));
}

Result<ElfFacts> elf_facts(std::string_view bytes, const std::vector<std::string>& entry_names, Build build) {
  AK_TRY(file, read_elf(bytes));
  return Examiner(bytes, file, entry_names, build).run();
}

Status write_shared_layout(std::string& bytes, const ElfFacts& facts) {
  AK_TRY(file, read_elf(bytes));
  for (const ElfSymbol& symbol : file.symbols) {
    if (symbol.name != "ak_shared_layout" || !symbol.defined || symbol.bytes != 16) continue;
    const auto at = file.file_offset(symbol.value, 16);
    if (!at) break;
    std::memcpy(bytes.data() + *at, &facts.shared_offset, 8);
    std::memcpy(bytes.data() + *at + 8, &facts.shared_bytes, 8);
    return {};
  }
  return internal_error("the compiled module has no place for its shared memory's layout");
}

}  // namespace ak::cpu
