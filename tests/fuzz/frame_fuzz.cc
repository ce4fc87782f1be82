// fuzz-deps: worker
// The bytes that a worker sends: however they are cut, the same messages come out, none is longer than
// allowed, and what follows (JSON, texts by hash, hello, verdict) refuses what it does not know.

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "autokernel/core/verdict.h"
#include "autokernel/worker/frame.h"
#include "autokernel/worker/protocol.h"

namespace {

namespace worker = ak::worker;

/// Messages of a stream that comes in pieces of `step` bytes; ends at the first error, as a peer does.
std::vector<std::string> messages(std::string_view bytes, std::size_t step) {
  worker::FrameReader reader;
  std::vector<std::string> out;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    reader.feed(bytes.substr(at, step));
    while (true) {
      auto next = reader.next();
      if (!next) return out;
      if (!*next) break;
      if ((*next)->size() > worker::kMaxFrameBytes) std::abort();
      out.push_back(std::move(**next));
    }
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::vector<std::string> whole = messages(bytes, bytes.size() + 1);
  if (whole != messages(bytes, 1 + data[0] % 16)) std::abort();
  for (const std::string& text : whole) {
    ak::Result<ak::Json> json = ak::parse_json(text, "message");
    if (!json) continue;
    (void)worker::put_texts(*json, {{"h", "text"}});
    (void)worker::hello_from_json(*json);
    (void)worker::families_from_json(*json);
    (void)worker::error_from_message(*json, "verdict");
    (void)ak::verdict_from_json(*json, "verdict");
  }
  return 0;
}
