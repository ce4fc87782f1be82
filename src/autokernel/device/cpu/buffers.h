#pragma once
// A buffer of the CPU device: a memfd that the jail can map, between guard pages, with random bytes around
// the user's part (DESIGN section 7, HARNESS guard.edge). Hidden buffers are private memory with the same
// geometry.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "autokernel/base/result.h"
#include "autokernel/base/unique_fd.h"
#include "autokernel/device/device.h"

namespace ak::cpu {

/// Where the user's bytes lie in the mapped content, which has unmapped pages on both sides.
struct BufferGeometry {
  std::uint64_t content_bytes = 0;  ///< whole pages
  std::uint64_t user_offset = 0;
  std::uint64_t bytes = 0;

  static BufferGeometry of(const device::BufferSpec& spec);
};

/// Unmapped bytes on each side of a mapping: an overrun by a whole row still faults.
inline constexpr std::uint64_t kGuardBytes = 1u << 20;

/// Reserves guards and maps `fd` (or private memory when fd < 0) between them. Null on failure (errno).
std::byte* map_between_guards(int fd, std::uint64_t content_bytes, bool writable);
void unmap_between_guards(std::byte* content, std::uint64_t content_bytes);

class Buffer {
 public:
  /// kEnvironment when the memory is not there. Read-only buffers are sealed against further writable
  /// mappings.
  static Result<Buffer> create(const device::BufferSpec& spec);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  const device::BufferSpec& spec() const { return spec_; }
  const BufferGeometry& geometry() const { return geometry_; }
  std::byte* data() const { return content_ + geometry_.user_offset; }
  int fd() const { return fd_.get(); }  ///< -1: hidden

  /// The first byte outside the user's part that changed, in words.
  std::optional<std::string> guard_violation() const;

 private:
  Buffer() = default;
  void fill_guards();
  device::BufferSpec spec_;
  BufferGeometry geometry_;
  UniqueFd fd_;
  std::byte* content_ = nullptr;
  std::uint64_t seed_ = 0;  ///< of the random bytes; never in the jail
};

/// A memfd, numbered 10 or more so that the jail's fixed descriptors stay free.
Result<UniqueFd> create_memfd(const char* name);

}  // namespace ak::cpu
