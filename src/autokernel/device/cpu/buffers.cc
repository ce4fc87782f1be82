#include "autokernel/device/cpu/buffers.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "autokernel/base/random.h"

namespace ak::cpu {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kRedZoneBytes = 64 * 1024;
constexpr std::uint64_t kMemoryReserve = 256u << 20;  // left to the rest of the machine
constexpr int kFirstFreeFd = 10;
constexpr std::uint64_t kAlwaysFits = 1u << 20;  // reading /proc/meminfo would cost more than it tells

std::uint64_t round_up(std::uint64_t value, std::uint64_t to) { return (value + to - 1) / to * to; }

/// 0 where unknown.
std::uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::uint64_t kib = 0;
  while (file >> key >> kib) {
    if (key == "MemAvailable:") return kib * 1024;
    file.ignore(64, '\n');
  }
  return 0;
}

Status check_memory(std::uint64_t bytes) {
  if (bytes <= kAlwaysFits) return {};
  const std::uint64_t available = available_memory();
  if (available != 0 && bytes + kMemoryReserve > available) {
    return environment_error("a buffer of {} bytes does not fit: {} bytes of memory are available", bytes,
                             available);
  }
  return {};
}

}  // namespace

Result<UniqueFd> create_memfd(const char* name) {
  UniqueFd low(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!low.valid()) return environment_error("cannot create a memory file: {}", std::strerror(errno));
  UniqueFd high(::fcntl(low.get(), F_DUPFD_CLOEXEC, kFirstFreeFd));
  if (!high.valid()) return environment_error("cannot duplicate a descriptor: {}", std::strerror(errno));
  return high;
}

BufferGeometry BufferGeometry::of(const device::BufferSpec& spec) {
  BufferGeometry g;
  g.bytes = spec.bytes;
  const std::uint64_t alignment = std::max<std::uint64_t>(spec.alignment, 1);
  switch (spec.guard) {
    case device::Guard::kRedZone:
      g.user_offset = kRedZoneBytes + spec.skew;
      g.content_bytes = round_up(g.user_offset + spec.bytes + kRedZoneBytes, kPage);
      break;
    case device::Guard::kEndFlush:
      g.content_bytes = round_up(spec.bytes + spec.skew + alignment, kPage);
      g.user_offset = (g.content_bytes - spec.bytes - spec.skew) / alignment * alignment + spec.skew;
      break;
    case device::Guard::kStartFlush:
      g.user_offset = spec.skew;
      g.content_bytes = std::max(round_up(spec.skew + spec.bytes, kPage), kPage);
      break;
  }
  return g;
}

std::byte* map_between_guards(int fd, std::uint64_t content_bytes, bool writable) {
  const std::uint64_t total = content_bytes + 2 * kGuardBytes;
  void* reserved = ::mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  std::byte* content = static_cast<std::byte*>(reserved) + kGuardBytes;
  const int protection = PROT_READ | (writable ? PROT_WRITE : 0);
  const int flags = MAP_FIXED | MAP_POPULATE | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
  if (::mmap(content, content_bytes, protection, flags, fd, 0) == MAP_FAILED) {
    ::munmap(reserved, total);
    return nullptr;
  }
  return content;
}

void unmap_between_guards(std::byte* content, std::uint64_t content_bytes) {
  if (content != nullptr) ::munmap(content - kGuardBytes, content_bytes + 2 * kGuardBytes);
}

Result<Buffer> Buffer::create(const device::BufferSpec& spec) {
  constexpr std::uint64_t kMaxBytes = 1ull << 44;
  if (spec.bytes > kMaxBytes)
    return environment_error("a buffer of {} bytes does not fit in memory", spec.bytes);
  if (spec.alignment > kPage || (spec.alignment & (spec.alignment - 1)) != 0) {
    return internal_error("buffer alignment {} is not a power of two up to {}", spec.alignment, kPage);
  }
  Buffer buffer;
  buffer.spec_ = spec;
  buffer.geometry_ = BufferGeometry::of(spec);
  const std::uint64_t content = buffer.geometry_.content_bytes;
  AK_TRY_VOID(check_memory(content));
  if (spec.access != device::Access::kHidden) {
    AK_TRY(fd, create_memfd("ak-buffer"));
    buffer.fd_ = std::move(fd);
    if (::fallocate(buffer.fd_.get(), 0, 0, static_cast<off_t>(content)) != 0) {
      return environment_error("cannot allocate a buffer of {} bytes: {}", spec.bytes, std::strerror(errno));
    }
  }
  buffer.content_ = map_between_guards(buffer.fd_.get(), content, true);
  if (buffer.content_ == nullptr) {
    return environment_error("cannot map a buffer of {} bytes: {}", spec.bytes, std::strerror(errno));
  }
  if (buffer.fd_.valid()) {
    int seals = F_SEAL_SHRINK | F_SEAL_GROW;
    if (spec.access == device::Access::kReadOnly) seals |= F_SEAL_FUTURE_WRITE;
    if (::fcntl(buffer.fd_.get(), F_ADD_SEALS, seals | F_SEAL_SEAL) != 0) {
      return environment_error("cannot seal an input buffer: {}", std::strerror(errno));
    }
  }
  buffer.fill_guards();
  return buffer;
}

void Buffer::fill_guards() {
  seed_ = secret_seed();
  Rng random(seed_);
  const auto fill = [&](std::byte* begin, std::byte* end) {
    for (std::byte* at = begin; at < end; at += 8) {
      const std::uint64_t value = random.next();
      std::memcpy(at, &value, std::min<std::size_t>(8, static_cast<std::size_t>(end - at)));
    }
  };
  fill(content_, data());
  fill(data() + geometry_.bytes, content_ + geometry_.content_bytes);
}

std::optional<std::string> Buffer::guard_violation() const {
  Rng random(seed_);
  const auto first_change = [&](const std::byte* begin, const std::byte* end) -> const std::byte* {
    const std::byte* changed = nullptr;
    for (const std::byte* at = begin; at < end; at += 8) {
      const std::uint64_t value = random.next();
      const std::size_t bytes = std::min<std::size_t>(8, static_cast<std::size_t>(end - at));
      if (changed != nullptr || std::memcmp(at, &value, bytes) == 0) continue;
      std::size_t i = 0;
      while (at[i] == reinterpret_cast<const std::byte*>(&value)[i]) ++i;
      changed = at + i;
    }
    return changed;
  };
  // In the order in which fill_guards drew the bytes.
  const std::byte* before = first_change(content_, data());
  const std::byte* after = first_change(data() + geometry_.bytes, content_ + geometry_.content_bytes);
  if (before != nullptr) return fmt::format("a byte {} before its start was overwritten", data() - before);
  if (after != nullptr) {
    return fmt::format("a byte {} past its end was overwritten",
                       after - data() - static_cast<std::ptrdiff_t>(geometry_.bytes));
  }
  return std::nullopt;
}

Buffer::Buffer(Buffer&& other) noexcept
    : spec_(other.spec_),
      geometry_(other.geometry_),
      fd_(std::move(other.fd_)),
      content_(std::exchange(other.content_, nullptr)),
      seed_(other.seed_) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    unmap_between_guards(content_, geometry_.content_bytes);
    spec_ = other.spec_;
    geometry_ = other.geometry_;
    fd_ = std::move(other.fd_);
    content_ = std::exchange(other.content_, nullptr);
    seed_ = other.seed_;
  }
  return *this;
}

Buffer::~Buffer() { unmap_between_guards(content_, geometry_.content_bytes); }

}  // namespace ak::cpu
