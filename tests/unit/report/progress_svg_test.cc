#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "autokernel/report/axis.h"
#include "autokernel/report/series.h"
#include "autokernel/report/text.h"

namespace ak::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

/// Every number of the drawing is finite and lies on the canvas.
void expect_on_canvas(const std::string& svg) {
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("\"inf")));
  const std::regex coordinate("(?:cx|x1|x2|x)=\"(-?[0-9.]+)\"");
  for (std::sregex_iterator it(svg.begin(), svg.end(), coordinate), end; it != end; ++it) {
    const double value = std::stod((*it)[1]);
    EXPECT_GE(value, 0);
    EXPECT_LE(value, 960);
  }
}

Series small_series() {
  Series series;
  series.title = "rmsnorm: experiment 2";
  series.subtitle = "Test CPU, 2026-01-02";
  series.x_label = "trial";
  series.y_label = "time";
  series.points = {{0, 20.0, Mark::kStart, "start", ""},
                   {1, 22.0, Mark::kMeasured, "trial 1", ""},
                   {2, std::nullopt, Mark::kFailed, "trial 2", ""},
                   {3, 11.0, Mark::kImproved, "trial 3", ""}};
  return series;
}

TEST(ProgressSvg, ShowsEveryPointOnceWithItsMark) {
  const std::string svg = progress_svg(small_series());
  EXPECT_EQ(count_of(svg, "<title>"), 4u);
  for (const char* mark : {"start", "measured", "failed", "improved"}) {
    EXPECT_GE(count_of(svg, fmt::format("class=\"ak-{}\"", mark)), 1u) << mark;
  }
  expect_on_canvas(svg);
}

TEST(ProgressSvg, TheAxesNameTheirUnits) {
  EXPECT_THAT(progress_svg(small_series()), HasSubstr("time, µs (lower is better)"));
  Series slow = small_series();
  for (SeriesPoint& point : slow.points) {
    if (point.y_us) *point.y_us *= 1e4;
  }
  EXPECT_THAT(progress_svg(slow), HasSubstr("time, ms (lower is better)"));
}

TEST(ProgressSvg, AnEmptySeriesSaysSo) {
  const std::string svg = progress_svg({});
  EXPECT_THAT(svg, HasSubstr("no measurement yet"));
  expect_on_canvas(svg);
}

TEST(ProgressSvg, OnlyFailuresAreStillAPlot) {
  Series series = small_series();
  series.points = {{1, std::nullopt, Mark::kFailed, "a", ""}, {2, std::nullopt, Mark::kFailed, "b", ""}};
  const std::string svg = progress_svg(series);
  EXPECT_EQ(count_of(svg, "<title>"), 2u);
  expect_on_canvas(svg);
}

TEST(ProgressSvg, OnePointAndEqualTimesAreDrawnWithoutDivisionByZero) {
  Series series = small_series();
  series.points = {{5, 10.0, Mark::kStart, "a", ""}};
  expect_on_canvas(progress_svg(series));
  series.points.push_back({6, 10.0, Mark::kMeasured, "b", ""});
  expect_on_canvas(progress_svg(series));
}

TEST(ProgressSvg, ExtremeRangesStayOnTheCanvas) {
  Series series = small_series();
  series.points[1].y_us = 1e9;
  series.points[3].y_us = 1e-3;
  series.floor_us = 1e-4;
  expect_on_canvas(progress_svg(series));
}

TEST(ProgressSvg, LabelsAreEscaped) {
  Series series = small_series();
  series.title = "<&\">";
  series.points[1].label = "</title><script>";
  series.points[3].note = "<b>";
  const std::string svg = progress_svg(series);
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
  EXPECT_THAT(svg, Not(HasSubstr("<b>")));
  EXPECT_THAT(svg, HasSubstr("&lt;&amp;&quot;&gt;"));
}

TEST(ProgressSvg, ManyPointsCarryNoTooltips) {
  Series series = small_series();
  for (int i = 4; i < 5000; ++i) series.points.push_back({i, 15.0, Mark::kMeasured, "trial", ""});
  EXPECT_EQ(count_of(progress_svg(series), "<title>"), 0u);
}

TEST(Axis, TicksAreRoundValuesInsideTheRange) {
  EXPECT_THAT(Axis(AxisScale::kLinear, 9.3, 21, 0, 100).ticks(6), ElementsAre(10, 12, 14, 16, 18, 20));
  EXPECT_THAT(Axis(AxisScale::kLog, 3, 120, 0, 100).ticks(6), ElementsAre(5, 10, 20, 50, 100));
  EXPECT_THAT(Axis(AxisScale::kLinear, 0, 3, 0, 100).whole_ticks(10), ElementsAre(0, 1, 2, 3));
}

TEST(Axis, WideLogRangesHaveFewTicks) {
  EXPECT_LE(Axis(AxisScale::kLog, 1e-9, 1e15, 0, 100).ticks(6).size(), 12u);
}

TEST(Text, NumbersHaveThreeDigits) {
  EXPECT_EQ(number_text(9.876), "9.88");
  EXPECT_EQ(number_text(123.4), "123");
  EXPECT_EQ(number_text(0.01234), "0.0123");
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(123456), "123456");
  EXPECT_EQ(number_text(INFINITY), "n/a");
  EXPECT_EQ(time_text(12345.0), "12.3 ms");
  EXPECT_EQ(time_text(TimeEstimate{20000, 19500, 20500}), "20.0 ms (19.5 to 20.5)");
}

TEST(Text, BytesThatAreNoTextBecomeReplacementCharacters) {
  EXPECT_EQ(escape_xml("a\xff"
                       "b\x01\xc3"),
            "a\xef\xbf\xbd"
            "b\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(escape_xml("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // a surrogate
  EXPECT_EQ(escape_xml("µ\n"), "µ\n");
}

TEST(Text, LongLinesAreCutAtACharacter) {
  EXPECT_EQ(plain_line("µµµµ", 4), "µµµµ");
  EXPECT_EQ(plain_line("µµµµµ", 4), "µµµ…");
  EXPECT_EQ(plain_line("a\nb\tc", 10), "a b c");
}

}  // namespace
}  // namespace ak::report
