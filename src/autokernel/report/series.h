#pragma once
// The points of a progress plot and their drawing.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ak::report {

enum class Mark {
  kStart,     ///< what the others are compared with
  kImproved,  ///< better than all before it: kept, or the best so far
  kMeasured,  ///< correct, but no better
  kFailed,    ///< no time: wrong, invalid, crashed, ...
};

struct SeriesPoint {
  std::int64_t x = 0;
  std::optional<double> y_us;  ///< nullopt: failed
  Mark mark = Mark::kMeasured;
  std::string label;  ///< tooltip
  std::string note;   ///< printed beside an improvement; may be empty
};

struct Series {
  std::string title, subtitle;
  std::string x_label, y_label;     ///< the unit of y is chosen and added
  std::vector<SeriesPoint> points;  ///< by x
  std::optional<double> floor_us;   ///< time that no kernel can be below
  /// Time of the winner when it was measured again, which is what is quoted.
  std::optional<double> confirmed_us;
};

/// A complete SVG document. Colours tell apart with colour blindness (Okabe and Ito, 2008) and marks differ
/// in shape too; follows the reader's light or dark scheme. An empty series gives a picture that says so.
std::string progress_svg(const Series& series);

}  // namespace ak::report
