#include "autokernel/device/cuda/cubin_info.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

namespace ak::cuda {
namespace {

// ELF64 as in the System V ABI; the .nv.info records as `cuobjdump -elf` prints them.
constexpr std::uint32_t kSymbolTable = 2;
constexpr std::uint8_t kFunctionSymbol = 2;
constexpr std::uint8_t kWithSizedValue = 4;  // EIFMT_SVAL: a 16-bit size and that many bytes
constexpr std::uint8_t kFrameSize = 0x11;
constexpr std::uint8_t kMinStackSize = 0x12;
constexpr std::uint8_t kKernelParameter = 0x17;
constexpr std::uint8_t kRegisterCount = 0x2f;
constexpr std::uint32_t kReservedSharedBytes = 1024;
constexpr std::size_t kMaxParameters = 4096;

template <class T>
std::optional<T> load(std::string_view bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

struct SectionHeader {
  std::uint32_t name, type;
  std::uint64_t flags, address, offset, size;
  std::uint32_t link, info;
  std::uint64_t alignment, entry_size;
};
static_assert(sizeof(SectionHeader) == 64);

struct SymbolRecord {
  std::uint32_t name;
  std::uint8_t info, other;
  std::uint16_t section;
  std::uint64_t value, size;
};
static_assert(sizeof(SymbolRecord) == 24);

struct Section {
  std::string name;
  SectionHeader header;
  std::string_view bytes;  // empty for sections without contents
};

tl::unexpected<Error> broken(std::string_view what) {
  return internal_error("the cubin is damaged: {}", what);
}

Result<std::string> string_at(std::string_view table, std::uint64_t offset) {
  if (offset >= table.size()) return broken("a name lies outside of its table");
  const std::size_t end = table.find('\0', offset);
  if (end == std::string_view::npos) return broken("a name does not end");
  return std::string(table.substr(offset, end - offset));
}

Result<std::vector<Section>> read_sections(std::string_view bytes) {
  if (!bytes.starts_with("\x7f"
                         "ELF\x02\x01"))
    return broken("no 64-bit little-endian ELF");
  const auto table = load<std::uint64_t>(bytes, 0x28);
  const auto entry_size = load<std::uint16_t>(bytes, 0x3a);
  const auto count = load<std::uint16_t>(bytes, 0x3c);
  const auto names_index = load<std::uint16_t>(bytes, 0x3e);
  if (!names_index || *entry_size != sizeof(SectionHeader) || *names_index >= *count)
    return broken("its header");
  constexpr std::uint32_t kNoContents = 8;
  std::vector<Section> sections;
  for (std::uint64_t i = 0; i < *count; ++i) {
    if (*table > bytes.size()) return broken("the section table lies outside of the file");
    const auto header = load<SectionHeader>(bytes, *table + i * sizeof(SectionHeader));
    if (!header) return broken("the section table lies outside of the file");
    Section section{{}, *header, {}};
    if (header->type != kNoContents && header->type != 0) {
      if (header->offset > bytes.size() || header->size > bytes.size() - header->offset) {
        return broken("a section lies outside of the file");
      }
      section.bytes = bytes.substr(header->offset, header->size);
    }
    sections.push_back(std::move(section));
  }
  for (Section& section : sections) {
    AK_TRY(name, string_at(sections[*names_index].bytes, section.header.name));
    section.name = std::move(name);
  }
  return sections;
}

struct Symbol {
  std::string name;
  SymbolRecord record;
};

Result<std::vector<Symbol>> read_symbols(const std::vector<Section>& sections) {
  std::vector<Symbol> symbols;
  for (const Section& section : sections) {
    if (section.header.type != kSymbolTable) continue;
    if (section.header.link >= sections.size()) return broken("the symbol table has no names");
    for (std::size_t at = 0; at + sizeof(SymbolRecord) <= section.bytes.size(); at += sizeof(SymbolRecord)) {
      const auto record = load<SymbolRecord>(section.bytes, at);
      AK_TRY(name, string_at(sections[section.header.link].bytes, record->name));
      symbols.push_back({std::move(name), *record});
    }
    break;
  }
  return symbols;
}

/// Calls `visit(attribute, value)` for each record with a sized value.
template <class Visit>
Status for_each_record(std::string_view info, const Visit& visit) {
  std::size_t at = 0;
  while (at < info.size()) {
    const auto format = load<std::uint8_t>(info, at);
    const auto attribute = load<std::uint8_t>(info, at + 1);
    const auto size = load<std::uint16_t>(info, at + 2);
    if (!size) return broken("a record of .nv.info is cut off");
    at += 4;
    if (*format != kWithSizedValue) continue;
    if (info.size() - at < *size) return broken("a record of .nv.info is cut off");
    visit(*attribute, info.substr(at, *size));
    at += *size;
  }
  return {};
}

/// Registers and stack of every function, by its symbol.
Status read_resources(std::string_view info, const std::vector<Symbol>& symbols,
                      std::map<std::string, CubinKernel>& kernels) {
  return for_each_record(info, [&](std::uint8_t attribute, std::string_view value) {
    const auto symbol = load<std::uint32_t>(value, 0);
    const auto amount = load<std::uint32_t>(value, 4);
    if (!amount || *symbol >= symbols.size()) return;
    const auto kernel = kernels.find(symbols[*symbol].name);
    if (kernel == kernels.end()) return;
    if (attribute == kRegisterCount) kernel->second.registers = *amount;
    if (attribute == kFrameSize || attribute == kMinStackSize) {
      kernel->second.local_bytes = std::max(kernel->second.local_bytes, *amount);
    }
  });
}

/// Parameter records come last parameter first: index, ordinal and offset, then flags with the size in the
/// top bits.
Status read_parameters(std::string_view info, CubinKernel& kernel) {
  return for_each_record(info, [&](std::uint8_t attribute, std::string_view value) {
    if (attribute != kKernelParameter) return;
    const auto ordinal = load<std::uint16_t>(value, 4);
    const auto flags = load<std::uint32_t>(value, 8);
    if (!flags || *ordinal >= kMaxParameters) return;
    if (kernel.param_bytes.size() <= *ordinal) kernel.param_bytes.resize(*ordinal + 1U);
    kernel.param_bytes[*ordinal] = *flags >> 18;
  });
}

}  // namespace

const CubinKernel* CubinInfo::find(std::string_view symbol) const {
  const auto found = std::find_if(kernels.begin(), kernels.end(),
                                  [&](const CubinKernel& kernel) { return kernel.symbol == symbol; });
  return found == kernels.end() ? nullptr : &*found;
}

Result<CubinInfo> read_cubin(std::string_view bytes) {
  AK_TRY(sections, read_sections(bytes));
  AK_TRY(symbols, read_symbols(sections));
  const auto section = [&](const std::string& name) -> const Section* {
    const auto found =
        std::find_if(sections.begin(), sections.end(), [&](const Section& s) { return s.name == name; });
    return found == sections.end() ? nullptr : &*found;
  };
  CubinInfo info;
  std::vector<std::string> order;
  std::map<std::string, CubinKernel> kernels;
  for (const Symbol& symbol : symbols) {
    if ((symbol.record.info & 15) != kFunctionSymbol) continue;
    if (symbol.record.section == 0) info.imports.push_back(symbol.name);
    if (section(".nv.info." + symbol.name) == nullptr || kernels.contains(symbol.name)) continue;
    kernels[symbol.name].symbol = symbol.name;
    order.push_back(symbol.name);
  }
  if (const Section* all = section(".nv.info")) AK_TRY_VOID(read_resources(all->bytes, symbols, kernels));
  if (const Section* global = section(".nv.global")) info.mutable_global_bytes = global->header.size;
  const std::uint32_t reserved = section(".nv.shared.reserved.0") != nullptr ? kReservedSharedBytes : 0;
  for (const std::string& name : order) {
    CubinKernel& kernel = kernels[name];
    AK_TRY_VOID(read_parameters(section(".nv.info." + name)->bytes, kernel));
    if (const Section* shared = section(".nv.shared." + name)) {
      const std::uint64_t size = std::min<std::uint64_t>(shared->header.size, UINT32_MAX);
      kernel.static_shared_bytes = size >= reserved ? static_cast<std::uint32_t>(size) - reserved : 0;
    }
    info.kernels.push_back(std::move(kernel));
  }
  return info;
}

}  // namespace ak::cuda
