// Tables, the log and the progress line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "autokernel/base/log.h"
#include "autokernel/base/progress.h"
#include "autokernel/base/text_table.h"

namespace ak {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

/// A stream whose text can be looked at.
class Capture {
 public:
  Capture() : stream_(::open_memstream(&text_, &size_)) {}
  ~Capture() {
    std::fclose(stream_);
    std::free(text_);
  }
  std::FILE* stream() { return stream_; }
  std::string text() {
    std::fflush(stream_);
    return std::string(text_, size_);
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* stream_;
};

TEST(TextTable, ColumnsAreAlignedWithoutTrailingBlanks) {
  TextTable table({"size", "us", "note"}, {TextTable::Align::kLeft, TextTable::Align::kRight});
  table.add_row({"32x128", "9.5", "ok"});
  table.add_row({"x", "123.0"});
  EXPECT_EQ(table.plain(),
            "size       us  note\n"
            "32x128    9.5  ok\n"
            "x       123.0\n");
}

TEST(TextTable, CharactersBeyondAsciiCountOnce) {
  TextTable table({"\xc2\xb5s", "b"});
  table.add_row({"ab", "c"});
  EXPECT_EQ(table.plain(), "\xc2\xb5s  b\nab  c\n");
}

TEST(TextTable, MarkdownEscapesBarsAndMarksTheAlignment) {
  TextTable table({"a", "n"}, {TextTable::Align::kLeft, TextTable::Align::kRight});
  table.add_row({"x|y", "1"});
  EXPECT_EQ(table.markdown(),
            "| a    |   n |\n"
            "| ---- | --: |\n"
            "| x\\|y |   1 |\n");
}

TEST(TextTable, ALineBreakInACellDoesNotBreakTheRow) {
  TextTable table({"a"});
  table.add_row({"x\ny"});
  EXPECT_EQ(table.plain(), "a\nx y\n");
}

TEST(Log, WritesWhatItsLevelAllows) {
  Capture capture;
  Log log(LogLevel::kWarning, capture.stream());
  log.info("hidden {}", 1);
  log.warning("shown {}", 2);
  log.debug("hidden {}", 3);
  EXPECT_EQ(capture.text(), "warning: shown 2\n");
}

TEST(Log, QuietWritesNothingAndDebugEverything) {
  Capture quiet, all;
  Log(LogLevel::kQuiet, quiet.stream()).warning("x");
  Log debug(LogLevel::kDebug, all.stream());
  debug.info("a");
  debug.debug("b\n");
  EXPECT_EQ(quiet.text(), "");
  EXPECT_EQ(all.text(), "a\ndebug: b\n");
}

TEST(Progress, OnATerminalOneLineIsRewrittenWithRateAndTimeLeft) {
  Capture capture;
  FakeClock clock;
  Progress progress("tune", 100, clock, Progress::Style::kTerminal, capture.stream());
  clock.advance(10s);
  progress.update(25, "best 3.1 us");
  EXPECT_EQ(capture.text(),
            "\r\x1b[Ktune [######..................] 25/100 25%  2.5/s  30 s left  best 3.1 us");
}

TEST(Progress, ATerminalIsNotRedrawnMoreThanTenTimesASecond) {
  Capture capture;
  FakeClock clock;
  Progress progress("tune", 100, clock, Progress::Style::kTerminal, capture.stream());
  progress.update(1, "");
  const std::string first = capture.text();
  clock.advance(50ms);
  progress.update(2, "");
  EXPECT_EQ(capture.text(), first);
  clock.advance(50ms);
  progress.update(3, "");
  EXPECT_THAT(capture.text(), HasSubstr("3/100"));
}

TEST(Progress, TheLineFitsTheTerminal) {
  Capture capture;
  FakeClock clock;
  Progress progress("tune", 100, clock, Progress::Style::kTerminal, capture.stream());
  progress.update(1, std::string(500, 'x') + "\n");
  EXPECT_EQ(capture.text().size(), 79 + std::string("\r\x1b[K").size());
}

TEST(Progress, ElsewhereAPlainLineComesNowAndThen) {
  Capture capture;
  FakeClock clock;
  Progress progress("tune", std::nullopt, clock, Progress::Style::kPlain, capture.stream());
  progress.update(1, "");
  EXPECT_EQ(capture.text(), "");
  clock.advance(10s);
  progress.update(20, "best");
  progress.update(21, "");
  EXPECT_EQ(capture.text(), "tune 20  2.0/s  10 s  best\n");
  progress.finish();
  EXPECT_THAT(capture.text(), HasSubstr("tune 21"));
}

TEST(Progress, FinishSaysNothingTwice) {
  Capture capture;
  FakeClock clock;
  Progress progress("tune", 2, clock, Progress::Style::kPlain, capture.stream());
  clock.advance(10s);
  progress.update(2, "");
  const std::string before = capture.text();
  progress.finish();
  EXPECT_EQ(capture.text(), before);
}

TEST(Progress, AnObjectThatGoesAwayLeavesNoLineBehind) {
  Capture capture;
  FakeClock clock;
  {
    Progress("tune", 2, clock, Progress::Style::kTerminal, capture.stream()).update(1, "");
  }
  EXPECT_TRUE(capture.text().ends_with("\r\x1b[K"));
}

TEST(Progress, AStreamThatIsNoTerminalGetsPlainLines) {
  Capture capture;
  FakeClock clock;
  Progress progress("tune", 2, clock, Progress::Style::kAuto, capture.stream());
  clock.advance(1h + 1min + 1s);
  progress.update(1, "");
  EXPECT_THAT(capture.text(), Not(HasSubstr("\x1b")));
  EXPECT_THAT(capture.text(), HasSubstr("1 h 01 min left"));
}

TEST(Progress, StyleNoneIsSilent) {
  Capture capture;
  FakeClock clock;
  {
    Progress progress("tune", 2, clock, Progress::Style::kNone, capture.stream());
    clock.advance(20s);
    progress.update(2, "");
    progress.finish();
  }
  EXPECT_EQ(capture.text(), "");
}

}  // namespace
}  // namespace ak
