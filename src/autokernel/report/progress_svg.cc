#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "autokernel/report/axis.h"
#include "autokernel/report/series.h"
#include "autokernel/report/text.h"

namespace ak::report {

namespace {

constexpr double kWidth = 960, kHeight = 520;
constexpr double kLeft = 84, kRight = 806, kTop = 112, kBottom = 452;
constexpr double kFailedLane = 22;  // height of the lane for points without a time
constexpr double kLogAbove = 5;     // a wider range than this is drawn in logarithms
constexpr std::size_t kMostTooltips = 2000;
constexpr std::size_t kMostNotes = 12;
constexpr double kNoteHeight = 13, kNoteCharacter = 6.1;  // of 11.5 px type
constexpr double kLabelGap = 17;                          // between lines of text in the right margin

constexpr std::string_view kStyle = R"css(<style>
.ak-bg{fill:#ffffff}.ak-text{fill:#1f2328}.ak-muted{fill:#59636e}
.ak-grid{stroke:#e6e9ed;stroke-width:1}.ak-axis{stroke:#b3bac2;stroke-width:1}
.ak-lane{fill:#f5f6f8}
.ak-measured{fill:#98a2ae;fill-opacity:.75}
.ak-improved{fill:#0072b2;stroke:#ffffff;stroke-width:1.2}
.ak-frontier{fill:none;stroke:#0072b2;stroke-width:2.2;stroke-linejoin:round}
.ak-best{fill:#0072b2}.ak-note{paint-order:stroke;stroke:#ffffff;stroke-width:3px;stroke-linejoin:round}
.ak-confirmed{fill:none;stroke:#009e73;stroke-width:2.2}
.ak-start{fill:#1f2328;stroke:#ffffff;stroke-width:1.2}
.ak-start-line{stroke:#59636e;stroke-width:1.2;stroke-dasharray:6 4}
.ak-failed{fill:none;stroke:#d55e00;stroke-width:1.7;stroke-linecap:round}
.ak-floor{stroke:#009e73;stroke-width:1.5;stroke-dasharray:2 4}
.ak-floor-text{fill:#007a59}
@media (prefers-color-scheme:dark){
.ak-bg{fill:#0d1117}.ak-text{fill:#e6edf3}.ak-muted{fill:#9aa4af}
.ak-grid{stroke:#222830}.ak-axis{stroke:#4a525c}.ak-lane{fill:#151b23}
.ak-measured{fill:#7d8793}
.ak-improved{fill:#56b4e9;stroke:#0d1117}.ak-frontier{stroke:#56b4e9}.ak-best{fill:#56b4e9}
.ak-start{fill:#e6edf3;stroke:#0d1117}.ak-start-line{stroke:#9aa4af}
.ak-note{stroke:#0d1117}.ak-confirmed{stroke:#2fbf93}.ak-failed{stroke:#e69f00}.ak-floor{stroke:#2fbf93}.ak-floor-text{fill:#2fbf93}}
</style>
)css";

struct Unit {
  double us;
  const char* name;
};

Unit unit_of(double high_us) {
  if (high_us >= 1e6) return {1e6, "s"};
  return high_us >= 1e4 ? Unit{1e3, "ms"} : Unit{1, "µs"};
}

std::string text(double x, double y, std::string_view classes, std::string_view attributes,
                 std::string_view content) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\" {}>{}</text>\n", x, y, classes, attributes,
                     escape_xml(content));
}

std::string line(double x1, double y1, double x2, double y2, std::string_view classes) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1,
                     x2, y2, classes);
}

/// A disc, a diamond or a cross: shapes differ as well as colours.
std::string shape(Mark mark, double x, double y) {
  switch (mark) {
    case Mark::kStart:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l6 6l-6 6l-6 -6z\" class=\"ak-start\"/>", x, y - 6);
    case Mark::kImproved:
      return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" class=\"ak-improved\"/>", x, y);
    case Mark::kMeasured:
      return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.2\" class=\"ak-measured\"/>", x, y);
    case Mark::kFailed:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l7 7m0 -7l-7 7\" class=\"ak-failed\"/>", x - 3.5, y - 3.5);
  }
  return "";
}

struct Summary {
  double low = 0, high = 0;  ///< of the times
  std::optional<double> start, best;
  bool any_time = false, any_failed = false, any_improved = false, any_measured = false;
};

Summary summarize(const Series& series) {
  Summary summary;
  for (const SeriesPoint& point : series.points) {
    summary.any_failed |= point.mark == Mark::kFailed;
    summary.any_improved |= point.mark == Mark::kImproved;
    summary.any_measured |= point.mark == Mark::kMeasured;
    if (!point.y_us || !(*point.y_us > 0)) continue;
    const double y = *point.y_us;
    summary.low = summary.any_time ? std::min(summary.low, y) : y;
    summary.high = summary.any_time ? std::max(summary.high, y) : y;
    summary.any_time = true;
    if (point.mark == Mark::kStart) summary.start = y;
    const bool leads = point.mark == Mark::kStart || point.mark == Mark::kImproved;
    if (leads && (!summary.best || y < *summary.best)) summary.best = y;
  }
  return summary;
}

struct Box {
  double left, top, right, bottom;
  bool overlaps(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
  Box raised(double by) const { return {left, top - by, right, bottom - by}; }
};

class Plot {
 public:
  explicit Plot(const Series& series)
      : series_(series), summary_(summarize(series)), x_(x_axis(series)), y_(y_axis()) {}

  std::string draw() {
    svg_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
        "height=\"{1:.0f}\" role=\"img\" aria-label=\"{2}\" font-family=\"system-ui, -apple-system, 'Segoe "
        "UI', "
        "Roboto, 'DejaVu Sans', sans-serif\" font-size=\"12.5\">\n",
        kWidth, kHeight, escape_xml(series_.title));
    svg_ += kStyle;
    svg_ += fmt::format("<rect width=\"{:.0f}\" height=\"{:.0f}\" class=\"ak-bg\"/>\n", kWidth, kHeight);
    svg_ += text(kLeft, 34, "ak-text", "font-size=\"19\" font-weight=\"600\"", plain_line(series_.title, 80));
    svg_ += text(kLeft, 56, "ak-muted", "", plain_line(series_.subtitle, 130));
    if (!summary_.any_time && !summary_.any_failed) {
      svg_ += text(kWidth / 2, kHeight / 2, "ak-muted", "text-anchor=\"middle\" font-size=\"16\"",
                   "no measurement yet");
      return svg_ + "</svg>\n";
    }
    draw_axes();
    draw_legend();
    draw_levels();
    draw_frontier();
    draw_points();
    draw_margin();
    return svg_ + "</svg>\n";
  }

 private:
  static Axis x_axis(const Series& series) {
    if (series.points.empty()) return {AxisScale::kLinear, 0, 1, kLeft + 12, kRight - 12};
    const double first = static_cast<double>(series.points.front().x);
    const double last = std::max(first + 1, static_cast<double>(series.points.back().x));
    return {AxisScale::kLinear, first, last, kLeft + 12, kRight - 12};
  }

  double plot_top() const { return kTop + (summary_.any_failed ? kFailedLane : 0); }

  bool shows_floor() const {
    return series_.floor_us && *series_.floor_us > 0 && summary_.any_time &&
           *series_.floor_us > summary_.low / 8;
  }

  Axis y_axis() const {
    if (!summary_.any_time) return {AxisScale::kLinear, 0, 1, kBottom, plot_top()};
    double low = summary_.low, high = summary_.high;
    if (shows_floor()) low = std::min(low, *series_.floor_us);
    if (series_.confirmed_us) low = std::min(low, *series_.confirmed_us);
    if (high / low > kLogAbove) return {AxisScale::kLog, low / 1.15, high * 1.15, kBottom, plot_top()};
    const double pad = std::max(0.07 * (high - low), 0.01 * high);
    return {AxisScale::kLinear, std::max(0.0, low - pad), high + pad, kBottom, plot_top()};
  }

  void draw_axes() {
    const Unit unit = unit_of(y_.high());
    if (summary_.any_failed) {
      svg_ += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"ak-lane\"/>\n", kLeft,
          kTop, kRight - kLeft, kFailedLane);
      svg_ += text(kLeft - 8, kTop + 15, "ak-muted", "text-anchor=\"end\"", "failed");
    }
    if (summary_.any_time) {
      for (double tick : y_.ticks(6)) {
        const double y = y_.pixel(tick);
        svg_ += line(kLeft, y, kRight, y, "ak-grid");
        svg_ += text(kLeft - 8, y + 4, "ak-muted", "text-anchor=\"end\"", tick_text(tick / unit.us));
      }
    }
    svg_ += line(kLeft, kBottom, kRight, kBottom, "ak-axis");
    for (double tick : x_.whole_ticks(10)) {
      const double x = x_.pixel(tick);
      svg_ += line(x, kBottom, x, kBottom + 5, "ak-axis");
      svg_ += text(x, kBottom + 20, "ak-muted", "text-anchor=\"middle\"", fmt::format("{:.0f}", tick));
    }
    svg_ += text((kLeft + kRight) / 2, kBottom + 46, "ak-text", "text-anchor=\"middle\"", series_.x_label);
    const double middle = (kTop + kBottom) / 2;
    svg_ += text(22, middle, "ak-text",
                 fmt::format("text-anchor=\"middle\" transform=\"rotate(-90 22 {:.1f})\"", middle),
                 fmt::format("{}, {} (lower is better{})", series_.y_label, unit.name,
                             y_.scale() == AxisScale::kLog ? ", log scale" : ""));
  }

  /// Enough digits to tell ticks apart, and no more.
  static std::string tick_text(double value) { return fmt::format("{:.6g}", value); }

  void draw_legend() {
    double x = kLeft + 6;
    const double y = 86;
    const auto entry = [&](const std::string& sign, std::string_view label) {
      svg_ += sign + "\n" + text(x + 14, y + 4, "ak-text", "", label);
      x += 34 + 7.1 * static_cast<double>(label.size());
    };
    if (summary_.start) entry(shape(Mark::kStart, x, y), "start");
    if (summary_.any_improved) entry(shape(Mark::kImproved, x, y), "new best");
    if (summary_.any_measured) entry(shape(Mark::kMeasured, x, y), "measured, no better");
    if (summary_.any_failed) entry(shape(Mark::kFailed, x, y), "failed");
    if (summary_.best) entry(line(x - 9, y, x + 9, y, "ak-frontier"), "best so far");
    if (shows_floor()) entry(line(x - 9, y, x + 9, y, "ak-floor"), "roofline floor");
    if (series_.confirmed_us) {
      entry(fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" class=\"ak-confirmed\"/>", x, y),
            "winner, measured again");
    }
  }

  void draw_levels() {
    if (summary_.start) line_at(*summary_.start, "ak-start-line");
    if (shows_floor()) line_at(*series_.floor_us, "ak-floor");
  }
  void line_at(double value, std::string_view classes) {
    svg_ += line(kLeft, y_.pixel(value), kRight, y_.pixel(value), classes);
  }

  void draw_frontier() {
    std::string path;
    std::optional<double> best;
    for (const SeriesPoint& point : series_.points) {
      const bool leads = point.mark == Mark::kStart || point.mark == Mark::kImproved;
      if (!leads || !point.y_us) continue;
      if (best && *point.y_us >= *best && point.mark != Mark::kStart) continue;
      const double x = x_.pixel(static_cast<double>(point.x)), y = y_.pixel(*point.y_us);
      path += path.empty() ? fmt::format("M{:.1f} {:.1f}", x, y) : fmt::format("H{:.1f}V{:.1f}", x, y);
      best = point.y_us;
    }
    if (!path.empty()) svg_ += fmt::format("<path d=\"{}H{:.1f}\" class=\"ak-frontier\"/>\n", path, kRight);
  }

  void draw_points() {
    const bool tooltips = series_.points.size() <= kMostTooltips;
    // What matters most is drawn last, on top.
    for (Mark mark : {Mark::kFailed, Mark::kMeasured, Mark::kStart, Mark::kImproved}) {
      for (const SeriesPoint& point : series_.points) {
        if (point.mark != mark) continue;
        const double x = x_.pixel(static_cast<double>(point.x));
        const double y = point.y_us ? y_.pixel(*point.y_us) : kTop + kFailedLane / 2;
        if (!point.y_us && mark != Mark::kFailed) continue;
        svg_ += "<g>" + shape(mark, x, y);
        if (tooltips) svg_ += "<title>" + escape_xml(plain_line(point.label, 300)) + "</title>";
        svg_ += "</g>\n";
      }
    }
    draw_notes();
  }

  /// Descriptions of improvements, each at the first height above its point where it overlaps no other.
  void draw_notes() {
    std::vector<Box> taken;
    std::string leaders, notes;  // the lines lie below all of the text
    for (const SeriesPoint& point : series_.points) {
      if (point.note.empty() || !point.y_us || taken.size() >= kMostNotes) continue;
      const double x = x_.pixel(static_cast<double>(point.x)), y = y_.pixel(*point.y_us);
      const double width = kNoteCharacter * static_cast<double>(point.note.size());
      const double left = x + width + 10 < kRight ? x + 8 : x - 8 - width;
      Box box{left, y - 8 - kNoteHeight, left + width, y - 8};
      const auto clashes = [&](const Box& other) { return box.overlaps(other); };
      while (std::any_of(taken.begin(), taken.end(), clashes)) box = box.raised(kNoteHeight + 3);
      if (box.top < plot_top() || left < kLeft) continue;
      if (box.bottom < y - 9) leaders += line(x, y - 6, x, box.bottom - 3, "ak-axis");
      notes += text(left, box.bottom - 3, "ak-muted ak-note", "font-size=\"11.5\"", point.note);
      taken.push_back(box);
    }
    svg_ += leaders + notes;
  }

  /// Names of the levels in the right margin, moved apart where they would overlap.
  void draw_margin() {
    struct Label {
      double y;
      std::string text;
      const char* classes;
    };
    std::vector<Label> labels;
    if (summary_.start)
      labels.push_back({y_.pixel(*summary_.start), "start " + time_text(*summary_.start), "ak-muted"});
    if (summary_.best && summary_.best != summary_.start) {
      labels.push_back({y_.pixel(*summary_.best), "best " + time_text(*summary_.best), "ak-best"});
    }
    if (series_.confirmed_us && summary_.any_time) {
      const double y = y_.pixel(*series_.confirmed_us);
      svg_ +=
          fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" class=\"ak-confirmed\"/>\n", kRight, y);
      labels.push_back({y, "confirmed " + time_text(*series_.confirmed_us), "ak-floor-text"});
    }
    if (shows_floor()) {
      labels.push_back(
          {y_.pixel(*series_.floor_us), "floor " + time_text(*series_.floor_us), "ak-floor-text"});
    }
    std::stable_sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) { return a.y < b.y; });
    double above = kTop;
    for (Label& label : labels) {
      label.y = std::max(label.y, above);
      above = label.y + kLabelGap;
    }
    for (const Label& label : labels) {
      svg_ += text(kRight + 11, label.y + 4, label.classes, "font-weight=\"600\"", label.text);
    }
  }

  const Series& series_;
  const Summary summary_;
  const Axis x_, y_;
  std::string svg_;
};

}  // namespace

std::string progress_svg(const Series& series) { return Plot(series).draw(); }

}  // namespace ak::report
