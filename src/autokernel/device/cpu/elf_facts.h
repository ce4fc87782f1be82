#pragma once
// What the finished shared object of a kernel file says about itself: imports, state, start-up code, shared
// memory. Found in the bytes that will be loaded, so no trick in the source or the log can hide it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/result.h"
#include "autokernel/core/binary.h"

namespace ak::cpu {

struct ElfFacts {
  CodeFacts code;
  /// __shared__ variables of fixed size, relative to the module's `ak_incoming`.
  std::int64_t shared_offset = 0;
  std::uint64_t shared_bytes = 0;
  std::vector<Entry> entries;  ///< param_bytes and static_shared_bytes of each
};

/// `entry_names` in the order of Source::entries. Fails with kInternal when the bytes are no module of ours.
Result<ElfFacts> elf_facts(std::string_view bytes, const std::vector<std::string>& entry_names, Build build);

/// Writes where shared memory lies into the module's `ak_shared_layout`.
Status write_shared_layout(std::string& bytes, const ElfFacts& facts);

/// Whether the audit allows a module to need this symbol: math, memcpy and friends, the runtime of abi.h.
bool is_allowed_import(std::string_view symbol);

}  // namespace ak::cpu
