#include "autokernel/worker/frame.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>

namespace ak::worker {
namespace {

constexpr std::size_t kHeaderBytes = 8;

}  // namespace

std::string encode_frame(const Json& message) {
  std::string payload = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string frame(kMagic);
  auto length = static_cast<std::uint32_t>(payload.size());
  for (int shift = 0; shift < 32; shift += 8) frame.push_back(static_cast<char>((length >> shift) & 0xff));
  return frame + payload;
}

Result<std::optional<std::string>> FrameReader::next() {
  std::size_t start = buffer_.find(kMagic);
  if (start == std::string::npos) {
    // Keep what may be the beginning of a magic word.
    std::size_t keep = std::min(buffer_.size(), kMagic.size() - 1);
    skipped_ += buffer_.size() - keep;
    buffer_.erase(0, buffer_.size() - keep);
    return std::optional<std::string>();
  }
  skipped_ += start;
  buffer_.erase(0, start);
  if (buffer_.size() < kHeaderBytes) return std::optional<std::string>();
  std::uint32_t length = 0;
  for (int i = 0; i < 4; ++i) {
    length |= static_cast<std::uint32_t>(static_cast<unsigned char>(buffer_[kMagic.size() + i])) << (8 * i);
  }
  if (length > kMaxFrameBytes) {
    return environment_error("a frame of {} bytes exceeds the limit of {}", length, kMaxFrameBytes);
  }
  if (buffer_.size() < kHeaderBytes + length) return std::optional<std::string>();
  std::string payload = buffer_.substr(kHeaderBytes, length);
  buffer_.erase(0, kHeaderBytes + length);
  return std::optional<std::string>(std::move(payload));
}

Result<ReadOutcome> read_message(int fd, FrameReader& reader,
                                 std::optional<std::chrono::milliseconds> deadline,
                                 const Meanwhile& meanwhile) {
  auto end = deadline ? std::optional(std::chrono::steady_clock::now() + *deadline) : std::nullopt;
  int errors_fd = meanwhile.errors_fd;
  std::array<char, 65536> chunk;
  while (true) {
    AK_TRY(message, reader.next());
    if (message) return ReadOutcome{ReadEnd::kMessage, std::move(*message)};
    int wait_ms = -1;
    if (end) {
      auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(*end - std::chrono::steady_clock::now());
      if (left.count() <= 0) return ReadOutcome{ReadEnd::kTimeout, {}};
      wait_ms = static_cast<int>(std::min<std::int64_t>(left.count() + 1, 3'600'000));
    }
    // Of watch_fd only the hang-up counts; poll ignores negative descriptors.
    pollfd fds[] = {{fd, POLLIN, 0}, {meanwhile.watch_fd, 0, 0}, {errors_fd, POLLIN, 0}};
    int ready = ::poll(fds, std::size(fds), wait_ms);
    if (ready < 0 && errno != EINTR) return environment_error("poll failed: {}", std::strerror(errno));
    if (ready <= 0) continue;
    if ((fds[1].revents & (POLLHUP | POLLERR)) != 0) return ReadOutcome{};
    if (fds[2].revents != 0) {
      ssize_t count = ::read(errors_fd, chunk.data(), chunk.size());
      if (count > 0) meanwhile.on_errors({chunk.data(), static_cast<std::size_t>(count)});
      if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) errors_fd = -1;
    }
    if (fds[0].revents == 0) continue;
    ssize_t count = ::read(fd, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return ReadOutcome{};
    reader.feed({chunk.data(), static_cast<std::size_t>(count)});
  }
}

Status write_message(int fd, const Json& message) {
  std::string frame = encode_frame(message);
  std::size_t done = 0;
  while (done < frame.size()) {
    ssize_t count = ::write(fd, frame.data() + done, frame.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return environment_error("cannot write to the peer: {}", std::strerror(errno));
    done += static_cast<std::size_t>(count);
  }
  return {};
}

}  // namespace ak::worker
