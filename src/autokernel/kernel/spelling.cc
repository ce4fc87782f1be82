#include "autokernel/kernel/spelling.h"

#include <fmt/core.h>

#include <algorithm>

namespace ak::kernel {
namespace {

constexpr std::size_t kLongestName = 64;

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the table: the current one and the two before it (a swap looks two back).
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string nearest_name(std::string_view name, std::span<const std::string> candidates) {
  if (name.empty() || name.size() > kLongestName) return "";
  const std::string wanted = lower(name);
  const std::size_t allowed = std::max<std::size_t>(1, name.size() / 3);
  std::string best;
  std::size_t best_distance = allowed + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestName || candidate == name) continue;
    const std::size_t distance = edit_distance(wanted, lower(candidate));
    // One letter for another says nothing.
    if (distance >= std::max(name.size(), candidate.size())) continue;
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string joined(std::span<const std::string> names, std::size_t limit) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i == limit) return text + fmt::format(", ... ({} in all)", names.size());
    if (i > 0) text += ", ";
    text += names[i];
  }
  return text;
}

std::string spelling_hint(std::string_view name, std::span<const std::string> candidates) {
  if (const std::string nearest = nearest_name(name, candidates); !nearest.empty()) {
    return fmt::format("did you mean {}?", nearest);
  }
  if (candidates.empty()) return "";
  return fmt::format("{} {}", candidates.size() == 1 ? "expected" : "expected one of", joined(candidates));
}

}  // namespace ak::kernel
