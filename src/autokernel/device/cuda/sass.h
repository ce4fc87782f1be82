#pragma once
// What a cubin's machine code (SASS) consists of, where a disassembler is found: no driver and no NVRTC
// brings one.

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "autokernel/base/result.h"
#include "autokernel/core/binary.h"
#include "autokernel/device/cuda/nvrtc_location.h"

namespace ak::cuda {

/// nvdisasm of PATH, of the toolkits that NVRTC is looked for in, or of the Triton that `python` (a program;
/// empty: none) would import. Empty when there is none.
std::filesystem::path find_nvdisasm(const NvrtcSearch& search, const std::string& python);

/// Class of instructions -> how many the code has, each counted once wherever it stands: "HGMMA", "HMMA",
/// "global", "shared", "local", "fp32", "fp16", "fp64", "special", "barriers", "branches", "conversions",
/// "integer and other".
using InstructionMix = std::map<std::string, int>;

/// Of the text that `nvdisasm -c` prints.
InstructionMix count_instructions(std::string_view sass);

/// Disassembles a cubin in a child process. Fails with what nvdisasm said, e.g. when it is older than the
/// GPU.
Result<InstructionMix> instruction_mix(const std::filesystem::path& nvdisasm, const Binary& binary);

}  // namespace ak::cuda
