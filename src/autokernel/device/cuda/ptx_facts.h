#pragma once
// What the audit wants to know of a kernel's final PTX (macros resolved, inline assembly included): never
// judged from source text.
//
//   AK_TRY(facts, read_ptx(ptx, {"rmsnorm"}));   // facts.forbidden is empty for an honest kernel

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/result.h"
#include "autokernel/core/binary.h"

namespace ak::cuda {

/// `declared` are the symbols of the entries that will be launched; any other `.entry` is forbidden.
///
/// forbidden: %globaltimer, %gridid, %envreg, external functions (printf is vprintf; malloc, free),
/// undeclared entries,
///   external variables.
/// mutable_globals: `.global` arrays without an initializer, and other variables that are stored to or whose
///   address leaves what can be followed (stored, passed to a call, part of another initializer); also
///   `zeroed_bytes`, the size of the cubin's `.nv.global`, where it is more than the PTX accounts for.
/// noted: %clock, %smid, createpolicy, evict_last, prefetch, discard, nanosleep, .sys scope, kinds of mma,
/// .approx, .ftz. imports: names of external functions and variables. Fails when the text cannot be split
/// into statements.
Result<CodeFacts> read_ptx(std::string_view ptx, std::span<const std::string> declared,
                           std::uint64_t zeroed_bytes);

}  // namespace ak::cuda
