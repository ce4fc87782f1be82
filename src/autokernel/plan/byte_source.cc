#include "autokernel/plan/byte_source.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "autokernel/base/unique_fd.h"

namespace ak::plan {
namespace {

constexpr std::size_t kCompressedBytes = 256u << 10;  // read at once
constexpr int kGzipWindow = 15 + 16;                  // zlib: the largest window, gzip headers

class FileSource final : public ByteSource {
 public:
  FileSource(UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

  Result<std::size_t> read(std::span<char> out) override {
    for (;;) {
      const ssize_t got = ::read(fd_.get(), out.data(), out.size());
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) return environment_error("cannot read {}: {}", name_, std::strerror(errno));
    }
  }

 private:
  UniqueFd fd_;
  std::string name_;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : bytes_(bytes) {}

  Result<std::size_t> read(std::span<char> out) override {
    const std::size_t count = std::min(out.size(), bytes_.size());
    if (count > 0) std::memcpy(out.data(), bytes_.data(), count);
    bytes_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view bytes_;
};

/// Decides by the first two bytes, then passes bytes on or inflates them.
class GzipSource final : public ByteSource {
 public:
  explicit GzipSource(std::unique_ptr<ByteSource> inner) : inner_(std::move(inner)) {}
  ~GzipSource() override {
    if (mode_ == Mode::kGzip) inflateEnd(&stream_);
  }

  Result<std::size_t> read(std::span<char> out) override {
    if (mode_ == Mode::kUnknown) AK_TRY_VOID(decide());
    if (mode_ == Mode::kGzip) return inflate_some(out);
    if (stream_.avail_in == 0) return inner_->read(out);
    const std::size_t count = std::min<std::size_t>(out.size(), stream_.avail_in);
    std::memcpy(out.data(), stream_.next_in, count);
    stream_.next_in += count;
    stream_.avail_in -= static_cast<uInt>(count);
    return count;
  }

 private:
  enum class Mode { kUnknown, kPlain, kGzip };

  Status decide() {
    AK_TRY_VOID(fill());
    if (stream_.avail_in == 1) AK_TRY_VOID(fill());
    const bool gzip = stream_.avail_in >= 2 && stream_.next_in[0] == 0x1f && stream_.next_in[1] == 0x8b;
    mode_ = gzip ? Mode::kGzip : Mode::kPlain;
    if (gzip && inflateInit2(&stream_, kGzipWindow) != Z_OK) {
      mode_ = Mode::kPlain;
      return environment_error("cannot inflate: not enough memory");
    }
    return {};
  }

  /// More compressed bytes behind those that are left.
  Status fill() {
    const std::size_t left = stream_.avail_in;
    if (left > 0) std::memmove(buffer_.data(), stream_.next_in, left);
    AK_TRY(count, inner_->read({buffer_.data() + left, buffer_.size() - left}));
    stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    stream_.avail_in = static_cast<uInt>(left + count);
    ended_ = count == 0;
    return {};
  }

  Result<std::size_t> inflate_some(std::span<char> out) {
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(out.size(), 1u << 30));
    const uInt wanted = stream_.avail_out;
    while (stream_.avail_out == wanted) {
      if (stream_.avail_in == 0 && !ended_) AK_TRY_VOID(fill());
      if (between_members_) {
        if (stream_.avail_in == 0) return std::size_t{0};
        if (stream_.next_in[0] != 0x1f) return broken("rubbish behind the gzip data");
        if (inflateReset(&stream_) != Z_OK) return broken("cannot begin the next gzip member");
        between_members_ = false;
      }
      if (stream_.avail_in == 0) return broken("it is truncated");
      const int code = inflate(&stream_, Z_NO_FLUSH);
      if (code == Z_STREAM_END) {
        between_members_ = true;
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        return broken(stream_.msg != nullptr ? stream_.msg : "a checksum does not fit");
      }
    }
    return static_cast<std::size_t>(wanted - stream_.avail_out);
  }

  static tl::unexpected<Error> broken(std::string_view why) {
    return usage_error("the gzip data is broken: {}: copy or record the file again", why);
  }

  std::unique_ptr<ByteSource> inner_;
  std::vector<char> buffer_ = std::vector<char>(kCompressedBytes);
  z_stream stream_{};
  Mode mode_ = Mode::kUnknown;
  bool ended_ = false;
  bool between_members_ = false;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> open_source(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return usage_error("{} is a folder: a trace file was expected", path.string());
  }
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return usage_error("cannot open {}: {}", path.string(), std::strerror(errno));
  return std::unique_ptr<ByteSource>(
      std::make_unique<GzipSource>(std::make_unique<FileSource>(std::move(fd), path.string())));
}

std::unique_ptr<ByteSource> memory_source(std::string_view bytes) {
  return std::make_unique<GzipSource>(std::make_unique<MemorySource>(bytes));
}

}  // namespace ak::plan
