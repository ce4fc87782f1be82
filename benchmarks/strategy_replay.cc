// How well each strategy searches: replays of recorded spaces, many seeds, no device.
//
//   strategy_replay [--seeds N] [--ahead N] space.csv...
//
// Prints a Markdown table: for each space and strategy the median over the seeds of optimum / best found
// after 50, 100 and 200 evaluations, and the mean CPU time of a proposal with its answer.

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/text_table.h"
#include "autokernel/search/recorded_space.h"
#include "autokernel/stats/summary.h"

namespace {

constexpr std::array<std::size_t, 3> kEvaluations{50, 100, 200};

struct Arguments {
  std::size_t seeds = 20;
  std::size_t ahead = 1;
  std::vector<std::string> files;
};

bool read_count(std::string_view text, std::size_t& count) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc() && end == text.data() + text.size() && count > 0;
}

bool read_arguments(const std::vector<std::string_view>& words, Arguments& arguments) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--seeds" || words[i] == "--ahead") {
      std::size_t& count = words[i] == "--seeds" ? arguments.seeds : arguments.ahead;
      if (++i == words.size() || !read_count(words[i], count)) return false;
    } else {
      arguments.files.emplace_back(words[i]);
    }
  }
  return !arguments.files.empty();
}

std::vector<std::string> row(const ak::search::RecordedSpace& recorded, std::string_view name,
                             const Arguments& arguments) {
  std::array<std::vector<double>, kEvaluations.size()> fractions;
  std::size_t evaluations = 0;
  const std::clock_t start = std::clock();
  for (std::size_t seed = 1; seed <= arguments.seeds; ++seed) {
    const auto strategy = ak::search::create(name, recorded.space(), {seed, {}, kEvaluations.back()});
    AK_CHECK(strategy.has_value());
    const auto replay = ak::search::replay(recorded, **strategy, kEvaluations.back(), arguments.ahead);
    evaluations += replay.proposed.size();
    for (std::size_t i = 0; i < kEvaluations.size(); ++i) {
      fractions[i].push_back(replay.fraction_of_optimum(recorded, kEvaluations[i]));
    }
  }
  const double spent_us = 1e6 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  std::vector<std::string> cells{recorded.name(), std::string(name)};
  for (const auto& values : fractions) cells.push_back(fmt::format("{:.3f}", ak::stats::median(values)));
  cells.push_back(fmt::format("{:.0f}", spent_us / static_cast<double>(evaluations)));
  return cells;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!read_arguments({argv + 1, argv + argc}, arguments)) {
    fmt::print(stderr, "usage: strategy_replay [--seeds N] [--ahead N] space.csv...\n");
    return 2;
  }
  using Align = ak::TextTable::Align;
  ak::TextTable table(
      {"space", "strategy", "50", "100", "200", "us a proposal"},
      {Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  for (const std::string& file : arguments.files) {
    const auto recorded = ak::search::RecordedSpace::load(file);
    if (!recorded) {
      fmt::print(stderr, "error: {}\n", recorded.error().message);
      return 2;
    }
    for (const std::string_view name : ak::search::strategy_names())
      table.add_row(row(*recorded, name, arguments));
  }
  fmt::print("{}", table.markdown());
  return 0;
}
