// fuzz-deps: harness
// A job as a parent sends it: refused, or read so that writing and reading it again gives the same.

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "autokernel/harness/job.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ak::Result<ak::Json> json = ak::parse_json({reinterpret_cast<const char*>(data), size}, "job");
  if (!json) return 0;
  ak::Result<ak::harness::Job> job = ak::harness::job_from_json(*json, "job");
  if (!job) return 0;
  const ak::Json again = ak::harness::to_json(*job);
  ak::Result<ak::harness::Job> second = ak::harness::job_from_json(again, "job");
  if (!second || ak::harness::to_json(*second) != again) std::abort();
  return 0;
}
