#include "autokernel/search/recorded_space.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <map>
#include <set>

#include "autokernel/base/file.h"

namespace ak::search {
namespace {

struct Row {
  std::size_t line;
  std::vector<std::string_view> cells;
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// Lines that are neither empty nor comments; the first one is the header.
std::vector<Row> rows_of(std::string_view csv) {
  std::vector<Row> rows;
  std::size_t line = 0;
  for (std::string_view text : split(csv, '\n')) {
    ++line;
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (!text.empty() && text.front() != '#') rows.push_back({line, split(text, ',')});
  }
  return rows;
}

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Integers ascending where all are integers, else texts in the order of their first appearance.
std::vector<TunableValue> values_of_column(std::span<const Row> rows, std::size_t column) {
  std::set<std::int64_t> integers;
  bool all_integers = true;
  for (const Row& row : rows) {
    const auto value = number<std::int64_t>(row.cells[column]);
    all_integers = all_integers && value;
    if (value) integers.insert(*value);
  }
  if (all_integers) return {integers.begin(), integers.end()};
  std::vector<TunableValue> texts;
  std::set<std::string_view> seen;
  for (const Row& row : rows) {
    if (seen.insert(row.cells[column]).second) texts.emplace_back(std::string(row.cells[column]));
  }
  return texts;
}

/// Value -> position, for every spelling that occurs in the column ("08" and "8" are one integer).
std::map<std::string_view, std::uint16_t> positions_of(std::span<const Row> rows, std::size_t column,
                                                       const std::vector<TunableValue>& values) {
  std::map<TunableValue, std::uint16_t> by_value;
  for (std::size_t i = 0; i < values.size(); ++i) by_value[values[i]] = static_cast<std::uint16_t>(i);
  std::map<std::string_view, std::uint16_t> by_text;
  for (const Row& row : rows) {
    const std::string_view text = row.cells[column];
    if (by_text.contains(text)) continue;
    const bool is_text = std::holds_alternative<std::string>(values.front());
    by_text[text] =
        by_value.at(is_text ? TunableValue(std::string(text)) : TunableValue(*number<std::int64_t>(text)));
  }
  return by_text;
}

Result<double> parse_time(std::string_view text, const std::string& name, std::size_t line) {
  if (text == "inf") return kFailed;
  const auto time = number<double>(text);
  if (!time || !std::isfinite(*time) || *time <= 0) {
    return usage_error("{}:{}: '{}' is no time in ms (or inf for a failure)", name, line, text);
  }
  return *time;
}

struct Table {
  std::vector<kernel::Tunable> tunables;
  std::vector<std::uint16_t> flat;  // coordinates of each row
  std::vector<double> times;
};

Result<Table> read_table(std::string_view csv, const std::string& name) {
  const std::vector<Row> rows = rows_of(csv);
  if (rows.empty()) return usage_error("{}: no header line", name);
  const auto& header = rows.front().cells;
  const auto time_column = static_cast<std::size_t>(std::ranges::find(header, "time_ms") - header.begin());
  if (time_column == header.size()) return usage_error("{}:{}: no column time_ms", name, rows.front().line);
  if (time_column == 0) return usage_error("{}:{}: no tunables before time_ms", name, rows.front().line);
  const std::span<const Row> body = std::span(rows).subspan(1);
  if (body.empty()) return usage_error("{}: no configs after the header", name);

  Table table;
  for (const Row& row : body) {
    if (row.cells.size() != header.size()) {
      return usage_error("{}:{}: {} cells, the header has {}", name, row.line, row.cells.size(),
                         header.size());
    }
    AK_TRY(time, parse_time(row.cells[time_column], name, row.line));
    table.times.push_back(time);
  }
  table.flat.resize(body.size() * time_column);
  for (std::size_t column = 0; column < time_column; ++column) {
    std::vector<TunableValue> values = values_of_column(body, column);
    if (values.size() > 65535) return usage_error("{}: column {} has too many values", name, header[column]);
    const auto positions = positions_of(body, column, values);
    for (std::size_t i = 0; i < body.size(); ++i) {
      table.flat[i * time_column + column] = positions.at(body[i].cells[column]);
    }
    table.tunables.push_back({std::string(header[column]), std::move(values)});
  }
  std::map<std::vector<std::uint16_t>, std::size_t> lines;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const auto begin = table.flat.begin() + static_cast<std::ptrdiff_t>(i * time_column);
    const auto [first, inserted] =
        lines.emplace(std::vector(begin, begin + static_cast<std::ptrdiff_t>(time_column)), body[i].line);
    if (!inserted) return usage_error("{}:{}: the same config as line {}", name, body[i].line, first->second);
  }
  return table;
}

}  // namespace

Result<RecordedSpace> RecordedSpace::parse(std::string_view csv, std::string name) {
  AK_TRY(table, read_table(csv, name));
  const std::size_t dimensions = table.tunables.size();
  RecordedSpace recorded(kernel::Space::from_points(std::move(table.tunables), table.flat));
  recorded.name_ = std::move(name);
  recorded.objectives_.assign(recorded.space_.size(), kFailed);
  for (std::size_t i = 0; i < table.times.size(); ++i) {
    const auto index = recorded.space_.index_at(std::span(table.flat).subspan(i * dimensions, dimensions));
    AK_CHECK(index.has_value());
    recorded.objectives_[*index] = table.times[i];
  }
  recorded.best_ = *std::ranges::min_element(recorded.objectives_);
  if (recorded.best_ == kFailed) return usage_error("{}: every config failed", recorded.name_);
  return recorded;
}

Result<RecordedSpace> RecordedSpace::load(const std::filesystem::path& path) {
  AK_TRY(text, read_file(path));
  return parse(text, path.stem().string());
}

std::size_t RecordedSpace::failures() const {
  return static_cast<std::size_t>(std::ranges::count(objectives_, kFailed));
}

double Replay::fraction_of_optimum(const RecordedSpace& recorded, std::size_t evaluations) const {
  const std::size_t count = std::min(evaluations, best_so_far.size());
  return count == 0 ? 0 : recorded.best() / best_so_far[count - 1];
}

Replay replay(const RecordedSpace& recorded, Strategy& strategy, std::size_t evaluations, std::size_t ahead) {
  AK_CHECK(ahead > 0);
  Replay result;
  std::deque<std::size_t> open;
  double best = kFailed;
  for (;;) {
    while (open.size() < ahead && result.proposed.size() < evaluations) {
      const auto index = strategy.propose();
      if (!index) break;
      result.proposed.push_back(*index);
      open.push_back(*index);
    }
    if (open.empty()) return result;
    const std::size_t index = open.front();
    open.pop_front();
    best = std::min(best, recorded.objective(index));
    result.best_so_far.push_back(best);
    strategy.observe(index, recorded.objective(index));
  }
}

}  // namespace ak::search
