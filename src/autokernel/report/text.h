#pragma once
// Spelling of numbers and escaping of what comes from kernels and compilers. Private to the library.

#include <optional>
#include <string>
#include <string_view>

#include "autokernel/core/verdict.h"

namespace ak::report {

/// For XML and HTML: & < > " ' are escaped; control characters and bytes that are no UTF-8 become U+FFFD.
std::string escape_xml(std::string_view text);
/// For Markdown outside of code: one line, with everything that could mean markup escaped.
std::string escape_markdown(std::string_view text);
/// For a fenced block: the text cannot end its fence.
std::string fenced(std::string_view text);
/// One line without control characters (terminal escapes of a compiler or kernel), at most `width` code
/// points.
std::string plain_line(std::string_view text, std::size_t width);

std::string time_text(double us);                            ///< "9.87 µs", "1.234 ms"
std::string time_text(const TimeEstimate& time);             ///< "9.87 µs (9.80 to 9.95)"
std::string ratio_text(double ratio);                        ///< "1.42x"
std::string number_text(double value, int digits = 3);       ///< significant digits, no exponent below 1e7
std::string optional_text(const std::optional<double>& us);  ///< a time, or "n/a"

}  // namespace ak::report
