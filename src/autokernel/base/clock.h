#pragma once
// Time as a dependency: production code takes a Clock, tests a FakeClock.

#include <chrono>
#include <string>

namespace ak {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::chrono::steady_clock::time_point now() const = 0;
  virtual std::chrono::system_clock::time_point wall() const = 0;
};

class SystemClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point now() const override { return std::chrono::steady_clock::now(); }
  std::chrono::system_clock::time_point wall() const override { return std::chrono::system_clock::now(); }
};

class FakeClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point now() const override { return steady_; }
  std::chrono::system_clock::time_point wall() const override { return wall_; }
  void advance(std::chrono::nanoseconds by) {
    steady_ += std::chrono::duration_cast<std::chrono::steady_clock::duration>(by);
    wall_ += std::chrono::duration_cast<std::chrono::system_clock::duration>(by);
  }

 private:
  std::chrono::steady_clock::time_point steady_{};
  std::chrono::system_clock::time_point wall_{};
};

/// ISO 8601, UTC, seconds: 2026-11-30T17:58:34Z.
std::string iso_time(std::chrono::system_clock::time_point time);
double seconds_between(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to);

}  // namespace ak
