#include "autokernel/kernel/space.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "autokernel/kernel/space_builder.h"
#include "autokernel/kernel/values.h"

namespace ak::kernel {
namespace {

constexpr std::uint32_t kEmptySlot = std::numeric_limits<std::uint32_t>::max();

// Mixes each coordinate in by multiplication (the constant is 2^64 / golden ratio).
std::uint64_t hash_of(std::span<const std::uint16_t> coordinates) {
  std::uint64_t hash = 0;
  for (const std::uint16_t it : coordinates) hash = (std::rotl(hash, 23) ^ it) * 0x9e3779b97f4a7c15ull;
  return hash ^ (hash >> 32);
}

tl::unexpected<Error> empty_space(const KernelFile& file, const DeviceInfo& device,
                                  const SpaceBuilder& builder) {
  std::string text =
      fmt::format("{}: none of {} configs is valid on {}", file.name, builder.raw_size(), device.name);
  for (const std::string& reason : builder.skipped()) text += fmt::format("\n  {}", reason);
  for (const Space::Pruned& it : builder.pruned()) {
    text += fmt::format("\n  {} removed {}", it.cause, it.count);
    if (it.count > 0) text += fmt::format(", e.g. {}", it.example);
  }
  text += "\n  hint: relax what removes most, or add values to [tunables]";
  return tl::unexpected(Error{ErrorCode::kUsage, std::move(text)});
}

}  // namespace

Result<Space> Space::create(const KernelFile& file, const DeviceInfo& device,
                            std::span<const Problem> problems) {
  if (problems.empty()) return usage_error("{}: a space needs at least one problem", file.name);
  SpaceBuilder builder(file, device);
  AK_TRY_VOID(builder.add_problems(problems));
  AK_TRY_VOID(builder.enumerate());
  if (builder.keys().empty()) return empty_space(file, device, builder);
  Space space;
  space.tunables_ = file.tunables;
  space.raw_size_ = builder.raw_size();
  for (Pruned& it : builder.pruned()) {
    if (it.count > 0) space.pruned_.push_back(std::move(it));
  }
  space.count_ = builder.keys().size();
  const std::size_t dimensions = file.tunables.size();
  space.points_.resize(space.count_ * dimensions);
  std::uint16_t* point = space.points_.data();
  for (std::uint64_t key : builder.keys()) {
    for (std::size_t i = dimensions; i-- > 0;) {
      const std::uint64_t count = file.tunables[i].values.size();
      point[i] = static_cast<std::uint16_t>(key % count);
      key /= count;
    }
    point += dimensions;
  }
  space.build_index();
  return space;
}

Space Space::from_points(std::vector<Tunable> tunables, std::vector<std::uint16_t> flat_coordinates) {
  AK_CHECK(!tunables.empty() && flat_coordinates.size() % tunables.size() == 0);
  Space space;
  space.count_ = flat_coordinates.size() / tunables.size();
  space.raw_size_ = 1;
  for (const Tunable& tunable : tunables) {
    if (__builtin_mul_overflow(space.raw_size_, tunable.values.size(), &space.raw_size_)) {
      space.raw_size_ = std::numeric_limits<std::uint64_t>::max();
    }
  }
  for (std::size_t i = 0; i < flat_coordinates.size(); ++i) {
    AK_CHECK(flat_coordinates[i] < tunables[i % tunables.size()].values.size());
  }
  space.tunables_ = std::move(tunables);
  space.points_ = std::move(flat_coordinates);
  space.build_index();
  return space;
}

void Space::build_index() {
  AK_CHECK(count_ < kEmptySlot / 2);
  slots_.assign(std::bit_ceil(2 * count_ + 1), kEmptySlot);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = 0; i < count_; ++i) {
    const std::span<const std::uint16_t> point = coordinates(i);
    std::size_t slot = hash_of(point) & mask;
    while (slots_[slot] != kEmptySlot && !std::ranges::equal(coordinates(slots_[slot]), point))
      slot = (slot + 1) & mask;
    if (slots_[slot] == kEmptySlot)
      slots_[slot] = static_cast<std::uint32_t>(i);  // else a duplicate: the first counts
  }
}

std::span<const std::uint16_t> Space::coordinates(std::size_t index) const {
  AK_CHECK(index < count_);
  return {points_.data() + index * tunables_.size(), tunables_.size()};
}

std::optional<std::size_t> Space::index_at(std::span<const std::uint16_t> coordinates) const {
  if (coordinates.size() != tunables_.size() || slots_.empty()) return std::nullopt;
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = hash_of(coordinates) & mask; slots_[slot] != kEmptySlot; slot = (slot + 1) & mask) {
    if (std::ranges::equal(this->coordinates(slots_[slot]), coordinates)) return slots_[slot];
  }
  return std::nullopt;
}

Config Space::config(std::size_t index) const {
  const std::span<const std::uint16_t> point = coordinates(index);
  Config config;
  for (std::size_t i = 0; i < tunables_.size(); ++i) {
    config.values[tunables_[i].name] = tunables_[i].values[point[i]];
  }
  return config;
}

std::optional<std::size_t> Space::index_of(const Config& config) const {
  if (config.values.size() != tunables_.size()) return std::nullopt;
  std::vector<std::uint16_t> point;
  for (const Tunable& tunable : tunables_) {
    const auto value = config.values.find(tunable.name);
    if (value == config.values.end()) return std::nullopt;
    const std::optional<std::uint16_t> position = position_of(tunable, value->second);
    if (!position) return std::nullopt;
    point.push_back(*position);
  }
  return index_at(point);
}

std::vector<std::size_t> Space::neighbours(std::size_t index, Neighbourhood kind) const {
  const std::span<const std::uint16_t> centre = coordinates(index);
  std::vector<std::uint16_t> point(centre.begin(), centre.end());
  std::vector<std::size_t> found;
  const auto look = [&](std::size_t tunable, std::size_t position) {
    if (position == centre[tunable]) return;
    point[tunable] = static_cast<std::uint16_t>(position);
    if (const std::optional<std::size_t> neighbour = index_at(point)) found.push_back(*neighbour);
    point[tunable] = centre[tunable];
  };
  for (std::size_t i = 0; i < tunables_.size(); ++i) {
    const std::size_t count = tunables_[i].values.size();
    const bool adjacent = kind == Neighbourhood::kAdjacent;
    const std::size_t first = adjacent ? (centre[i] > 0 ? centre[i] - 1u : 0) : 0;
    const std::size_t last = adjacent ? std::min<std::size_t>(centre[i] + 1u, count - 1) : count - 1;
    for (std::size_t position = first; position <= last; ++position) look(i, position);
  }
  return found;
}

std::optional<std::size_t> Space::nearest(std::span<const double> coordinates,
                                          const std::vector<bool>& taken) const {
  AK_CHECK(coordinates.size() == tunables_.size());
  const auto is_taken = [&](std::size_t index) { return index < taken.size() && taken[index]; };
  std::vector<double> target(coordinates.begin(), coordinates.end());
  std::vector<std::uint16_t> rounded;
  bool tie = false;
  for (std::size_t i = 0; i < target.size(); ++i) {
    // A search that diverged must not make every distance infinite.
    const double limit = 1e6;
    target[i] = std::isnan(target[i]) ? 0.0 : std::clamp(target[i], -limit, limit);
    const double highest = static_cast<double>(tunables_[i].values.size() - 1);
    const double nearest_value = std::clamp(std::round(target[i]), 0.0, highest);
    tie = tie || std::abs(target[i] - std::floor(target[i]) - 0.5) < 1e-9;
    rounded.push_back(static_cast<std::uint16_t>(nearest_value));
  }
  // The nearest point of the full grid, where it is valid: no other can be nearer.
  if (const std::optional<std::size_t> index = index_at(rounded); index && !tie && !is_taken(*index))
    return index;
  std::optional<std::size_t> best;
  double best_distance = std::numeric_limits<double>::infinity();
  for (std::size_t index = 0; index < count_; ++index) {
    if (is_taken(index)) continue;
    const std::uint16_t* point = points_.data() + index * target.size();
    double distance = 0;
    for (std::size_t i = 0; i < target.size() && distance < best_distance; ++i) {
      const double step = target[i] - point[i];
      distance += step * step;
    }
    if (distance >= best_distance) continue;
    best = index;
    best_distance = distance;
  }
  return best;
}

}  // namespace ak::kernel
