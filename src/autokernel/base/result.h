#pragma once
// Result<T>: a value or an Error. The second of the three kinds of failure (the environment or the
// input failed); a candidate that fails is a Verdict, a bug in our own code is AK_CHECK.
//
//   Result<std::string> read_file(const std::filesystem::path&);
//
//   Result<Config> load(path) {
//     AK_TRY(text, read_file(path));          // returns the error, or declares `text`
//     AK_TRY_VOID(validate(text));
//     return parse(text);
//   }

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace ak {

/// What went wrong, as far as the exit code of the command line is concerned (DESIGN section 12).
enum class ErrorCode {
  kUsage,        ///< the user's input: a bad flag, file, expression or value (exit 2)
  kEnvironment,  ///< the machine: no compiler, no device, a full disk, a missing library (exit 3)
  kInternal,     ///< a bug of ours that was noticed (exit 4)
  kInterrupted,  ///< Ctrl-C; the state is saved (exit 130)
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  /// What was attempted, on what, why it failed and what to do next, in one line or a few.
  std::string message;

  /// Puts "context: " in front of the message: `cannot read plan.json: ...`.
  Error&& with_context(std::string_view context) && {
    message = fmt::format("{}: {}", context, message);
    return std::move(*this);
  }
};

template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

using Status = Result<void>;

template <class... Args>
tl::unexpected<Error> usage_error(fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected(Error{ErrorCode::kUsage, fmt::format(format, std::forward<Args>(args)...)});
}
template <class... Args>
tl::unexpected<Error> environment_error(fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected(Error{ErrorCode::kEnvironment, fmt::format(format, std::forward<Args>(args)...)});
}
template <class... Args>
tl::unexpected<Error> internal_error(fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected(Error{ErrorCode::kInternal, fmt::format(format, std::forward<Args>(args)...)});
}

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace ak

#define AK_CONCAT_INNER(a, b) a##b
#define AK_CONCAT(a, b) AK_CONCAT_INNER(a, b)

/// Declares `name` with the value of `expression`, or returns its error.
#define AK_TRY(name, expression)                                               \
  auto AK_CONCAT(ak_result_, __LINE__) = (expression);                         \
  if (!AK_CONCAT(ak_result_, __LINE__))                                        \
    return tl::unexpected(std::move(AK_CONCAT(ak_result_, __LINE__)).error()); \
  auto name = std::move(*AK_CONCAT(ak_result_, __LINE__))

#define AK_TRY_VOID(expression)                                          \
  do {                                                                   \
    auto ak_status = (expression);                                       \
    if (!ak_status) return tl::unexpected(std::move(ak_status).error()); \
  } while (false)

/// Aborts with the condition and its place: for bugs of ours only.
#define AK_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::ak::check_failed(#condition, __FILE__, __LINE__))
