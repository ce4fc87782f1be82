#pragma once
// The tables of a report, once for all formats. Cells are raw text: each format escapes them. Private to the
// library.

#include <string>
#include <vector>

#include "autokernel/base/text_table.h"
#include "autokernel/report/report.h"

namespace ak::report {

inline constexpr std::size_t kMostMessageBytes = 4000;  ///< of a failure's message in a report

struct Table {
  std::vector<std::string> header;
  std::vector<TextTable::Align> align;
  std::vector<std::vector<std::string>> rows;
};

Table problem_table(const TargetReport& target);
Table config_table(const TargetReport& target);
Table failure_table(const TargetReport& target);  ///< without the messages
Table experiment_table(const TargetReport& target);

std::string markdown_table(const Table& table);
std::string html_table(const Table& table);

/// What the numbers of the problem table are and where they were measured.
std::string caption(const TargetReport& target);

}  // namespace ak::report
