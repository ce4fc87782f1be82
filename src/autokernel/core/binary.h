#pragma once
// What a compiler takes and makes: Source and Binary.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/json.h"
#include "autokernel/core/config.h"
#include "autokernel/core/dtype.h"
#include "autokernel/core/problem.h"

namespace ak {

enum class Build {
  kTimed,    ///< optimized
  kChecked,  ///< instrumented, where the device can: races, bounds, uninitialised reads, divergent barriers
  kLines,    ///< optimized, with line information (launch, profilers)
};

std::string_view name(Build build);  ///< "timed", "checked", "lines"
std::optional<Build> build_from_name(std::string_view name);

/// Everything that decides the bits of a binary; its hash is the key of the object cache.
struct Source {
  std::string language = "cuda";
  std::string name;  ///< the kernel file as the user knows it, for diagnostics; no part of the hash
  std::string text;  ///< device code with `#line`-faithful numbering: the whole kernel file
  DType dtype = DType::kF32;
  NamedInts flags;                               ///< one macro each, HAS_<TENSOR> included
  std::map<std::string, TunableValue> tunables;  ///< one macro each
  NamedInts specialised;                         ///< `constexpr int k<DIM>`
  std::vector<std::string> entries;              ///< names of __global__ functions that will be launched
  std::string arch;                              ///< "sm_90a", "cpu"
  std::optional<int> max_registers;
  Build build = Build::kTimed;
};

struct Entry {
  std::string name;    ///< as Source::entries has it
  std::string symbol;  ///< in the binary's symbol table, where it differs (C++ linkage); else empty
  std::vector<std::uint32_t> param_bytes;  ///< size of each kernel parameter, where the format tells
  std::string param_kinds;        ///< of each: 'p'ointer, 'i'nteger, 'f'loating point, '?'; empty: not known
  std::uint32_t registers = 0;    ///< per thread; 0 where unknown (cpu)
  std::uint32_t local_bytes = 0;  ///< per thread
  std::uint32_t static_shared_bytes = 0;
  std::array<std::uint32_t, 3> block{0, 0, 0};  ///< fixed by the compiler (Triton), else 0
  std::vector<std::string> hidden_args;
};

/// What the audit judges (DESIGN section 7): found by the compiler adapter in the final code.
struct CodeFacts {
  std::vector<std::string> imports;          ///< symbols that the code needs from outside
  std::vector<std::string> mutable_globals;  ///< writable state that outlives a launch
  std::vector<std::string> forbidden;  ///< vprintf, %globaltimer, %gridid, malloc, constructors, asm, ...
  std::vector<std::string>
      noted;  ///< recorded, not rejected: clock, evict_last, prefetch, mma kinds, .approx
  bool has_barriers = false;
};

struct Binary {
  std::string format;  ///< "cubin", "elf"
  std::string arch;
  std::string bytes;
  std::string ptx;  ///< CUDA only, for `compile` and the audit; may be empty
  std::vector<Entry> entries;
  CodeFacts facts;
  std::string log;  ///< compiler warnings, trimmed
  bool sandboxed = true;
  double compile_s = 0;  ///< of the compile that made it
  bool from_cache = false;
};

std::string hash(const Source& source);
Json to_json(const Source& source);
Result<Source> source_from_json(const Json& json, const std::string& what);
Json to_json(const Binary& binary);  ///< the bytes as hexadecimal digits
Result<Binary> binary_from_json(const Json& json, const std::string& what);

}  // namespace ak
