#include "autokernel/base/progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace ak {
namespace {

constexpr std::chrono::milliseconds kTerminalInterval{100};
constexpr std::chrono::seconds kPlainInterval{10};
constexpr std::size_t kBarColumns = 24;
constexpr const char* kClearLine = "\r\x1b[K";

bool is_terminal(std::FILE* stream) {
  const char* term = std::getenv("TERM");
  return ::isatty(::fileno(stream)) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

std::size_t columns_of(std::FILE* stream) {
  winsize size{};
  return ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/// At most `columns` code points of UTF-8.
std::string cut(const std::string& text, std::size_t columns) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts_character = (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
    if (starts_character && ++seen > columns) return text.substr(0, i);
  }
  return text;
}

std::string duration(double seconds) {
  const auto whole = static_cast<long long>(std::min(seconds + 0.5, 1e9));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

}  // namespace

Progress::Progress(std::string label, std::optional<std::size_t> total, const Clock& clock, Style style,
                   std::FILE* stream)
    : label_(std::move(label)),
      total_(total),
      clock_(&clock),
      style_(style),
      stream_(stream),
      start_(clock.now()),
      last_(start_) {
  if (style_ == Style::kAuto) style_ = is_terminal(stream_) ? Style::kTerminal : Style::kPlain;
}

Progress::~Progress() { clear(); }

void Progress::update(std::size_t done, std::string_view note) {
  done_ = done;
  note_ = note;
  std::replace_if(note_.begin(), note_.end(), [](char c) { return c >= 0 && c < ' '; }, ' ');
  const auto since = clock_->now() - last_;
  const bool due = style_ == Style::kTerminal ? !shown_ || since >= kTerminalInterval || done_ == total_
                                              : since >= kPlainInterval;
  if (due) render();
}

void Progress::clear() {
  if (visible_) {
    std::fputs(kClearLine, stream_);
    std::fflush(stream_);
  }
  visible_ = false;
}

void Progress::finish() {
  if (style_ == Style::kPlain && shown_ == done_) return;
  render();
  if (visible_) {
    std::fputc('\n', stream_);
    std::fflush(stream_);
  }
  visible_ = false;
}

void Progress::render() {
  if (style_ == Style::kNone) return;
  last_ = clock_->now();
  shown_ = done_;
  if (style_ == Style::kTerminal) {
    // One column is left free: some terminals wrap when the last one is written.
    const std::string text = kClearLine + cut(line(), columns_of(stream_) - 1);
    std::fwrite(text.data(), 1, text.size(), stream_);
    visible_ = true;
  } else {
    const std::string text = line() + '\n';
    std::fwrite(text.data(), 1, text.size(), stream_);
  }
  std::fflush(stream_);
}

std::string Progress::line() const {
  const double elapsed = seconds_between(start_, clock_->now());
  const double rate = elapsed > 0 ? static_cast<double>(done_) / elapsed : 0;
  std::string text = label_;
  if (total_ && *total_ > 0) {
    const std::size_t done = std::min(done_, *total_);
    if (style_ == Style::kTerminal) {
      const std::size_t filled = done * kBarColumns / *total_;
      text += fmt::format(" [{}{}]", std::string(filled, '#'), std::string(kBarColumns - filled, '.'));
    }
    text += fmt::format(" {}/{} {}%", done_, *total_, done * 100 / *total_);
  } else {
    text += fmt::format(" {}", done_);
  }
  if (rate > 0) text += fmt::format("  {:.{}f}/s", rate, rate < 10 ? 1 : 0);
  if (rate > 0 && total_ && *total_ > done_) {
    text += fmt::format("  {} left", duration(static_cast<double>(*total_ - done_) / rate));
  } else if (elapsed >= 1) {
    text += fmt::format("  {}", duration(elapsed));
  }
  if (!note_.empty()) text += "  " + note_;
  return text;
}

}  // namespace ak
