#pragma once
// Aligned text tables for terminals and Markdown.

#include <string>
#include <vector>

namespace ak {

class TextTable {
 public:
  enum class Align { kLeft, kRight };
  explicit TextTable(std::vector<std::string> header, std::vector<Align> align = {});
  void add_row(std::vector<std::string> cells);  ///< missing cells are empty
  std::string plain() const;                     ///< two spaces between columns, no trailing blanks
  std::string markdown() const;                  ///< '|' in cells is escaped

 private:
  std::vector<std::string> header_;
  std::vector<Align> align_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace ak
