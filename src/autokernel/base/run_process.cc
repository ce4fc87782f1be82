#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "autokernel/base/subprocess.h"

namespace ak {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kChunkBytes = 64 * 1024;
constexpr std::size_t kMostLeftInPipe = 1u << 20;  // no pipe holds more unless root has said so
constexpr milliseconds kTick{10};                  // how often the end of the program is looked for

/// write(2) that fails with EPIPE and does not raise SIGPIPE, which would end this process.
ssize_t write_quietly(int fd, std::string_view text) {
  sigset_t sigpipe, old, pending;
  ::sigemptyset(&sigpipe);
  ::sigaddset(&sigpipe, SIGPIPE);
  ::sigpending(&pending);
  ::pthread_sigmask(SIG_BLOCK, &sigpipe, &old);
  const ssize_t written = ::write(fd, text.data(), text.size());
  const int error = errno;
  if (written < 0 && error == EPIPE && ::sigismember(&pending, SIGPIPE) == 0) {
    const timespec now{0, 0};
    ::sigtimedwait(&sigpipe, nullptr, &now);
  }
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
  errno = error;
  return written;
}

/// One captured stream.
struct Stream {
  int fd;
  std::string* text;
  bool open = true;
};

/// What is to be done with a child: text for it, until when, how much of its output is kept.
struct Errand {
  std::string_view input;
  milliseconds deadline;
  std::size_t output_cap_bytes;
  const AnswerIsWhole* whole = nullptr;  ///< null: until its end, and its input is closed behind the text
};

class Run {
 public:
  Run(Errand errand, ChildProcess& child) : errand_(errand), child_(child), input_(errand.input) {
    for (int fd : {child_.in(), child_.out(), child_.err()}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
    if (input_.empty()) close_in();
  }

  ProcessResult finish() {
    const auto start = steady_clock::now();
    const auto end =
        start + std::clamp<milliseconds>(errand_.deadline, milliseconds(0), std::chrono::hours(876'000));
    std::optional<ExitStatus> status;
    while (!(status = child_.poll())) {
      if (errand_.whole != nullptr && (*errand_.whole)(result_.out)) {
        status = ExitStatus{};
        break;
      }
      const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
      if (left.count() <= 0) {
        result_.timed_out = true;
        child_.kill_group();
        status = child_.wait_for(milliseconds::max());
        break;
      }
      serve(left);
    }
    // What its group wrote before the end is still in the pipes; whoever left the group does not hold us up.
    for (Stream& stream : streams_) drain(stream, kMostLeftInPipe);
    result_.exit_code = status->exit_code;
    result_.signal = status->signal;
    result_.wall_s = std::chrono::duration<double>(steady_clock::now() - start).count();
    return std::move(result_);
  }

 private:
  /// Waits for a stream or for the end of the child, and moves bytes.
  void serve(milliseconds left) {
    pollfd polled[3];
    nfds_t count = 0;
    for (const Stream& stream : streams_) {
      if (stream.open) polled[count++] = {stream.fd, POLLIN, 0};
    }
    if (!input_.empty()) polled[count++] = {child_.in(), POLLOUT, 0};
    if (count == 0) {
      (void)child_.wait_for(left);  // it has closed its streams
      return;
    }
    // A grandchild may hold the streams open after the child's end, hence the tick.
    ::poll(polled, count, static_cast<int>(std::min(left, kTick).count()));
    for (Stream& stream : streams_) drain(stream, kChunkBytes);
    feed();
  }

  void feed() {
    if (input_.empty()) return;
    const ssize_t written = write_quietly(child_.in(), input_.substr(0, kChunkBytes));
    if (written > 0) input_.remove_prefix(static_cast<std::size_t>(written));
    const bool failed = written < 0 && errno != EAGAIN && errno != EINTR;  // EPIPE: it reads no further
    if (failed) input_ = {};
    if (input_.empty()) close_in();
  }

  void close_in() {
    if (errand_.whole == nullptr) child_.close_in();
  }

  void drain(Stream& stream, std::size_t most) {
    char buffer[kChunkBytes];
    while (stream.open && most > 0) {
      const ssize_t got = ::read(stream.fd, buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) {
        stream.open = false;
        return;
      }
      const auto bytes = static_cast<std::size_t>(got);
      const std::size_t room =
          errand_.output_cap_bytes - std::min(errand_.output_cap_bytes, stream.text->size());
      stream.text->append(buffer, std::min(bytes, room));
      if (bytes > room) result_.truncated = true;
      most -= std::min(most, bytes);
    }
  }

  const Errand errand_;
  ChildProcess& child_;
  std::string_view input_;
  ProcessResult result_;
  Stream streams_[2] = {{child_.out(), &result_.out}, {child_.err(), &result_.err}};
};

}  // namespace

Result<ProcessResult> run_process(const ProcessSpec& spec) {
  AK_TRY(child, ChildProcess::start(spec));
  return Run({spec.input, spec.deadline, spec.output_cap_bytes}, child).finish();
}

ProcessResult exchange(ChildProcess& child, std::string_view question, std::chrono::milliseconds deadline,
                       std::size_t output_cap_bytes, const AnswerIsWhole& whole) {
  return Run({question, deadline, output_cap_bytes, &whole}, child).finish();
}

}  // namespace ak
