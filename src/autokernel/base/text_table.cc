#include "autokernel/base/text_table.h"

#include <algorithm>

namespace ak {
namespace {

// Columns on a terminal, counting code points: good for the symbols that we print (µ, ±, ×).
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string one_line(std::string text) {
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return text;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (char c : text) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

std::string padded(const std::string& text, std::size_t width, TextTable::Align align) {
  const std::string blanks(width - std::min(width, width_of(text)), ' ');
  return align == TextTable::Align::kRight ? blanks + text : text + blanks;
}

using Rows = std::vector<std::vector<std::string>>;

std::vector<std::size_t> widths_of(const Rows& rows, std::size_t columns) {
  std::vector<std::size_t> widths(columns, 0);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < columns; ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  return widths;
}

}  // namespace

TextTable::TextTable(std::vector<std::string> header, std::vector<Align> align)
    : header_(std::move(header)), align_(std::move(align)) {
  align_.resize(header_.size(), Align::kLeft);
  std::transform(header_.begin(), header_.end(), header_.begin(), one_line);
}

void TextTable::add_row(std::vector<std::string> cells) {
  cells.resize(header_.size());
  std::transform(cells.begin(), cells.end(), cells.begin(), one_line);
  rows_.push_back(std::move(cells));
}

std::string TextTable::plain() const {
  Rows rows{header_};
  rows.insert(rows.end(), rows_.begin(), rows_.end());
  const std::vector<std::size_t> widths = widths_of(rows, header_.size());
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      line += padded(row[i], widths[i], align_[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string TextTable::markdown() const {
  Rows rows{header_};
  rows.insert(rows.end(), rows_.begin(), rows_.end());
  for (auto& row : rows) std::transform(row.begin(), row.end(), row.begin(), escaped);
  std::vector<std::size_t> widths = widths_of(rows, header_.size());
  for (std::size_t& width : widths) width = std::max<std::size_t>(width, 3);
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    text += '|';
    for (std::size_t i = 0; i < header_.size(); ++i)
      text += ' ' + padded(rows[r][i], widths[i], align_[i]) + " |";
    text += '\n';
    if (r > 0) continue;
    text += '|';
    for (std::size_t i = 0; i < header_.size(); ++i) {
      text += ' ' + std::string(widths[i] - 1, '-') + (align_[i] == Align::kRight ? ':' : '-') + " |";
    }
    text += '\n';
  }
  return text;
}

}  // namespace ak
