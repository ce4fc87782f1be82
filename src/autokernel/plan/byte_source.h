#pragma once
// Bytes of a file, plain or gzip, in order.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "autokernel/base/result.h"

namespace ak::plan {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills the start of `out` (not empty); 0 at the end.
  virtual Result<std::size_t> read(std::span<char> out) = 0;
};

/// A file; its first bytes tell whether it is gzip (also several gzip members one after another).
Result<std::unique_ptr<ByteSource>> open_source(const std::filesystem::path& path);

/// A text in memory, plain or gzip; it must outlive the source.
std::unique_ptr<ByteSource> memory_source(std::string_view bytes);

}  // namespace ak::plan
