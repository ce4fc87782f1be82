#pragma once
// A torch.profiler trace (Chrome trace format, JSON, plain or gzip), reduced to what attributes device time:
// CPU ops with their arguments, calls into the driver, and device work. Texts are interned, since a model
// repeats itself: a trace of 1 GB takes some 200 MB.
//
//   AK_TRY(trace, plan::read_trace("model.json.gz"));

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "autokernel/base/result.h"
#include "autokernel/plan/byte_source.h"

namespace ak::plan {

/// Texts by number. Numbers begin at 0 and are given in order of appearance.
class Interner {
 public:
  std::uint32_t add(std::string_view text);
  const std::string& text(std::uint32_t id) const { return *texts_[id]; }
  std::size_t size() const { return texts_.size(); }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> ids_;
  std::vector<const std::string*> texts_;  // the map's keys, which do not move
};

/// One call of a CPU op (`aten::mm`, `triton_poi_fused_add_0`).
struct CpuOp {
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::uint64_t external_id = 0;  ///< 0: none
  std::uint32_t name = 0;         ///< in Trace::names
  std::uint32_t arguments = 0;    ///< in Trace::arguments
  std::uint32_t thread = 0;       ///< threads are numbered in order of appearance
};

/// The span of a label of the bridge, `ak.site:MODULE#NODE` or `ak.site:MODULE`: where in the model the ops
/// in it are.
struct SiteLabel {
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::uint32_t name = 0;  ///< in Trace::names, without the prefix
  std::uint32_t thread = 0;
};

/// A call of the CUDA or HIP runtime or driver.
struct RuntimeCall {
  std::int64_t start_ns = 0;
  std::uint64_t correlation = 0;
  std::uint32_t thread = 0;
};

/// A kernel, memset or copy on the device.
struct DeviceWork {
  std::int64_t duration_ns = 0;
  std::uint64_t correlation = 0;  ///< 0: none
  std::uint64_t external_id = 0;  ///< 0: none
  std::uint32_t name = 0;         ///< in Trace::names
};

/// What the trace says of the device that it was recorded on.
struct TraceDevice {
  std::string name;  ///< empty: a trace without a device
  int compute_major = 0, compute_minor = 0;
  std::uint32_t multiprocessors = 0;
};

struct Trace {
  Interner names;
  Interner arguments;  ///< raw JSON of dims, types, strides and values: `parse_arguments` of op_arguments.h
  std::vector<CpuOp> ops;
  std::vector<SiteLabel> labels;  ///< none: a trace that the bridge did not record
  std::vector<RuntimeCall> calls;
  std::vector<DeviceWork> work;
  std::optional<TraceDevice> device;
  std::uint64_t event_count = 0;
  bool has_shapes = false;  ///< recorded with record_shapes=True
  bool has_values = false;  ///< numbers and lists among the arguments were recorded ("Concrete Inputs")
};

/// Fails with the file, the byte and what to do: no file, no JSON, a truncated file, broken gzip, no trace.
Result<Trace> read_trace(const std::filesystem::path& path);
/// The same of any source; `name` is what errors call it.
Result<Trace> read_trace(ByteSource& source, std::string_view name);

}  // namespace ak::plan
