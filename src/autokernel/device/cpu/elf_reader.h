#pragma once
// Reads the parts of a 64-bit little-endian ELF shared object that the audit needs. The file may be hostile:
// every offset is checked, and anything inconsistent is an error. No pointer of it is followed, nothing is
// executed.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/result.h"

namespace ak::cpu {

struct ElfSegment {
  std::uint32_t type = 0;   ///< PT_LOAD, PT_TLS, ...
  std::uint32_t flags = 0;  ///< PF_R, PF_W, PF_X
  std::uint64_t offset = 0, address = 0, file_bytes = 0, memory_bytes = 0;
};

struct ElfSection {
  std::string name;
  std::uint32_t type = 0;
  std::uint64_t flags = 0, address = 0, offset = 0, bytes = 0, entry_bytes = 0;
  std::uint32_t link = 0;
};

struct ElfSymbol {
  std::string name;
  std::uint8_t type = 0;     ///< STT_FUNC, STT_OBJECT, STT_TLS, ...
  std::uint8_t binding = 0;  ///< STB_LOCAL, STB_GLOBAL, STB_WEAK
  bool defined = false;
  bool dynamic = false;  ///< from .dynsym: seen by the dynamic linker
  std::uint64_t value = 0, bytes = 0;
};

struct ElfDynamic {
  std::uint64_t tag = 0;
  std::uint64_t value = 0;
};

struct ElfFile {
  std::vector<ElfSegment> segments;
  std::vector<ElfSection> sections;
  std::vector<ElfSymbol> symbols;  ///< of .symtab and .dynsym
  std::vector<ElfDynamic> dynamic;
  std::vector<std::uint32_t> relocation_types;
  std::vector<std::string> needed;  ///< DT_NEEDED
  std::uint16_t machine = 0;

  /// Where the byte at a virtual address lies in the file; nullopt when it is not in the file.
  std::optional<std::uint64_t> file_offset(std::uint64_t address, std::uint64_t bytes) const;
  const ElfSegment* segment(std::uint32_t type) const;
};

/// Fails with kInternal ("not a valid ELF file: ...").
Result<ElfFile> read_elf(std::string_view bytes);

}  // namespace ak::cpu
