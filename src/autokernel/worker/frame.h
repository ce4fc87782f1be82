#pragma once
// The wire format between parent, supervisor and runner: frames of JSON over two pipes.
//
//   "AKF1" | length of the payload, 4 bytes little endian | payload, UTF-8 JSON
//
// Bytes before the magic word are skipped, so that a login banner or a stray print does no harm. Neither side
// trusts a frame: lengths are limited, fields are checked.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "autokernel/base/json.h"
#include "autokernel/base/result.h"

namespace ak::worker {

inline constexpr std::string_view kMagic = "AKF1";
inline constexpr std::uint32_t kMaxFrameBytes = 64u << 20;
inline constexpr int kProtocolVersion = 1;

std::string encode_frame(const Json& message);

/// Incremental: feed bytes as they come, take messages as they are complete.
class FrameReader {
 public:
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  /// The payload of the next frame; nullopt: more bytes are needed. A frame that is too long is an error; the
  /// stream is then unusable.
  Result<std::optional<std::string>> next();
  std::size_t skipped() const { return skipped_; }  ///< bytes before magic words

 private:
  std::string buffer_;
  std::size_t skipped_ = 0;
};

enum class ReadEnd { kMessage, kEof, kTimeout };
struct ReadOutcome {
  ReadEnd end = ReadEnd::kEof;
  std::string message;  ///< the payload of a frame: JSON, unless the peer is broken
};

/// What else happens while a message is awaited.
struct Meanwhile {
  int watch_fd = -1;  ///< a hang-up there ends the wait as kEof too
  /// A child's standard error: read as it comes, since a full pipe would block the child.
  int errors_fd = -1;
  std::function<void(std::string_view)> on_errors;
};

/// Waits for one message on `fd`.
Result<ReadOutcome> read_message(int fd, FrameReader& reader,
                                 std::optional<std::chrono::milliseconds> deadline,
                                 const Meanwhile& meanwhile = {});

/// Writes all of it; a broken pipe is an error (SIGPIPE must be ignored by the process).
Status write_message(int fd, const Json& message);

}  // namespace ak::worker
