#include "autokernel/device/cpu/elf_reader.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace ak::cpu {
namespace {

constexpr std::size_t kMostRecords = 1u << 20;  // of one table: far more than a kernel file makes

/// A checked view of the file.
class Bytes {
 public:
  explicit Bytes(std::string_view text) : text_(text) {}

  template <class T>
  std::optional<T> read(std::uint64_t offset) const {
    if (offset > text_.size() || text_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, text_.data() + offset, sizeof(T));
    return value;
  }
  std::optional<std::string_view> slice(std::uint64_t offset, std::uint64_t bytes) const {
    if (offset > text_.size() || text_.size() - offset < bytes) return std::nullopt;
    return text_.substr(offset, bytes);
  }
  /// A table of `count` records, or nullopt when it leaves the file.
  template <class T>
  std::optional<std::vector<T>> table(std::uint64_t offset, std::uint64_t count, std::uint64_t stride) const {
    if (count == 0) return std::vector<T>();
    if (stride < sizeof(T) || count > kMostRecords || !slice(offset, count * stride)) return std::nullopt;
    std::vector<T> records(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      std::memcpy(&records[i], text_.data() + offset + i * stride, sizeof(T));
    }
    return records;
  }

 private:
  std::string_view text_;
};

std::string string_at(std::string_view table, std::uint64_t offset) {
  if (offset >= table.size()) return {};
  const std::string_view rest = table.substr(offset);
  return std::string(rest.substr(0, rest.find('\0')));
}

class Reader {
 public:
  explicit Reader(std::string_view text) : bytes_(text) {}

  Result<ElfFile> read() {
    AK_TRY_VOID(read_header());
    AK_TRY_VOID(read_segments());
    AK_TRY_VOID(read_sections());
    for (const ElfSection& section : file_.sections) {
      if (section.type == SHT_SYMTAB || section.type == SHT_DYNSYM) AK_TRY_VOID(read_symbols(section));
      if (section.type == SHT_RELA) AK_TRY_VOID(read_relocations(section));
      if (section.type == SHT_DYNAMIC) AK_TRY_VOID(read_dynamic(section));
    }
    return std::move(file_);
  }

 private:
  static tl::unexpected<Error> invalid(std::string_view why) {
    return internal_error("not a valid ELF shared object: {}", why);
  }

  Status read_header() {
    const auto header = bytes_.read<Elf64_Ehdr>(0);
    if (!header) return invalid("shorter than its header");
    header_ = *header;
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) return invalid("wrong magic number");
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB) {
      return invalid("not 64-bit little-endian");
    }
    if (header_.e_type != ET_DYN) return invalid("not a shared object");
    file_.machine = header_.e_machine;
    return {};
  }

  Status read_segments() {
    const auto headers = bytes_.table<Elf64_Phdr>(header_.e_phoff, header_.e_phnum, header_.e_phentsize);
    if (!headers) return invalid("program headers leave the file");
    for (const Elf64_Phdr& h : *headers) {
      if (h.p_vaddr + h.p_memsz < h.p_vaddr || h.p_filesz > h.p_memsz) return invalid("a segment overflows");
      if (!bytes_.slice(h.p_offset, h.p_filesz)) return invalid("a segment leaves the file");
      file_.segments.push_back({h.p_type, h.p_flags, h.p_offset, h.p_vaddr, h.p_filesz, h.p_memsz});
    }
    return {};
  }

  Status read_sections() {
    const auto headers = bytes_.table<Elf64_Shdr>(header_.e_shoff, header_.e_shnum, header_.e_shentsize);
    if (!headers) return invalid("section headers leave the file");
    for (const Elf64_Shdr& h : *headers) {
      if (h.sh_type != SHT_NOBITS && !bytes_.slice(h.sh_offset, h.sh_size))
        return invalid("a section leaves the file");
      if (h.sh_addr + h.sh_size < h.sh_addr) return invalid("a section overflows");
      ElfSection section{{},          h.sh_type, h.sh_flags,   h.sh_addr,
                         h.sh_offset, h.sh_size, h.sh_entsize, h.sh_link};
      section_names_.push_back(h.sh_name);
      file_.sections.push_back(std::move(section));
    }
    if (headers->empty()) return {};
    AK_TRY(names, strings(header_.e_shstrndx));
    for (std::size_t i = 0; i < file_.sections.size(); ++i) {
      file_.sections[i].name = string_at(names, section_names_[i]);
    }
    return {};
  }

  Result<std::string_view> strings(std::uint32_t index) const {
    if (index >= file_.sections.size() || file_.sections[index].type != SHT_STRTAB) {
      return invalid("a string table is missing");
    }
    const ElfSection& section = file_.sections[index];
    return *bytes_.slice(section.offset, section.bytes);
  }

  Status read_symbols(const ElfSection& section) {
    if (section.entry_bytes < sizeof(Elf64_Sym)) return invalid("symbols of a wrong size");
    const auto table =
        bytes_.table<Elf64_Sym>(section.offset, section.bytes / section.entry_bytes, section.entry_bytes);
    if (!table) return invalid("too many symbols");
    AK_TRY(names, strings(section.link));
    for (const Elf64_Sym& s : *table) {
      ElfSymbol symbol;
      symbol.name = string_at(names, s.st_name);
      symbol.type = ELF64_ST_TYPE(s.st_info);
      symbol.binding = ELF64_ST_BIND(s.st_info);
      symbol.defined = s.st_shndx != SHN_UNDEF;
      symbol.dynamic = section.type == SHT_DYNSYM;
      symbol.value = s.st_value;
      symbol.bytes = s.st_size;
      if (!symbol.name.empty()) file_.symbols.push_back(std::move(symbol));
    }
    return {};
  }

  Status read_relocations(const ElfSection& section) {
    if (section.entry_bytes < sizeof(Elf64_Rela)) return invalid("relocations of a wrong size");
    const auto table =
        bytes_.table<Elf64_Rela>(section.offset, section.bytes / section.entry_bytes, section.entry_bytes);
    if (!table) return invalid("too many relocations");
    for (const Elf64_Rela& r : *table) {
      file_.relocation_types.push_back(static_cast<std::uint32_t>(ELF64_R_TYPE(r.r_info)));
    }
    return {};
  }

  Status read_dynamic(const ElfSection& section) {
    if (section.entry_bytes < sizeof(Elf64_Dyn)) return invalid("a dynamic section of a wrong size");
    const auto table =
        bytes_.table<Elf64_Dyn>(section.offset, section.bytes / section.entry_bytes, section.entry_bytes);
    if (!table) return invalid("a dynamic section that is too long");
    AK_TRY(names, strings(section.link));
    for (const Elf64_Dyn& d : *table) {
      if (d.d_tag == DT_NULL) break;
      file_.dynamic.push_back({static_cast<std::uint64_t>(d.d_tag), d.d_un.d_val});
      if (d.d_tag == DT_NEEDED) file_.needed.push_back(string_at(names, d.d_un.d_val));
    }
    return {};
  }

  Bytes bytes_;
  Elf64_Ehdr header_{};
  std::vector<std::uint32_t> section_names_;
  ElfFile file_;
};

}  // namespace

std::optional<std::uint64_t> ElfFile::file_offset(std::uint64_t address, std::uint64_t bytes) const {
  for (const ElfSegment& s : segments) {
    if (s.type != PT_LOAD || address < s.address) continue;
    const std::uint64_t into = address - s.address;
    if (into <= s.file_bytes && s.file_bytes - into >= bytes) return s.offset + into;
  }
  return std::nullopt;
}

const ElfSegment* ElfFile::segment(std::uint32_t type) const {
  const auto found =
      std::find_if(segments.begin(), segments.end(), [&](const ElfSegment& s) { return s.type == type; });
  return found == segments.end() ? nullptr : &*found;
}

Result<ElfFile> read_elf(std::string_view bytes) { return Reader(bytes).read(); }

}  // namespace ak::cpu
