#include "autokernel/base/clock.h"

#include <fmt/core.h>

#include <ctime>

namespace ak {

std::string iso_time(std::chrono::system_clock::time_point time) {
  // floor, not truncation: a moment before 1970 belongs to the second that it lies in.
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
  const std::time_t moment = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&moment, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

double seconds_between(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace ak
