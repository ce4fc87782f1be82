#pragma once
// NVRTC's messages for people: paths of this machine taken out, remarks dropped, cut to what one reads.

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ak::cuda {

/// Messages about the names of entries are left out (see missing_entry); `hidden` folders become `<cuda>`. At
/// most `max_bytes`, cut after a whole line, with the number of lines left out.
std::string clean_log(std::string_view log, std::span<const std::filesystem::path> hidden,
                      std::size_t max_bytes = 4000);

/// The entry that the source does not define: NVRTC says so at a line of its own making.
std::optional<std::string> missing_entry(std::string_view log);

/// True when the log says that an #include of an absolute path, or of one that climbs, could not be opened.
bool reaches_outside(std::string_view log);

}  // namespace ak::cuda
