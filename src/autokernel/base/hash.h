#pragma once
// Content hashes: XXH3-128 as 32 hex digits. Parts are length-prefixed, so ("ab","c") differs from
// ("a","bc").

#include <initializer_list>
#include <string>
#include <string_view>

namespace ak {

std::string content_hash(std::string_view text);
std::string content_hash(std::initializer_list<std::string_view> parts);

}  // namespace ak
