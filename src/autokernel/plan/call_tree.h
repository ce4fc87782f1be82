#pragma once
// The calls of CPU ops as trees, one after another, and the device time that each op launched.
//
// Device work is tied by its correlation id to the call of the runtime that launched it, and that call to the
// innermost CPU op around it on its thread; where the call is missing, by the external id of the op. A trace
// without device work (a model on the CPU) counts each op's own CPU time instead.

#include <cstdint>
#include <span>
#include <vector>

#include "autokernel/plan/trace.h"

namespace ak::plan {

inline constexpr std::uint32_t kNoOp = 0xffffffff;
inline constexpr std::uint32_t kNoLabel = 0xffffffff;

/// Part of the device time: one kernel, or on the CPU one op's own time.
struct Work {
  std::int64_t duration_ns = 0;
  std::uint32_t name = 0;    ///< in Trace::names
  std::uint32_t op = kNoOp;  ///< innermost op, in the order of CallTree; kNoOp: not attributed
};

class CallTree {
 public:
  /// Sorts the trace's ops (and labels) into preorder: op i of the tree is trace.ops[i], its descendants are
  /// i + 1 to below end(i).
  static CallTree build(Trace& trace);

  std::size_t size() const { return ends_.size(); }
  std::uint32_t end(std::uint32_t op) const { return ends_[op]; }
  /// Launched by the op itself or by a descendant.
  std::int64_t time_ns(std::uint32_t op) const { return time_before_[ends_[op]] - time_before_[op]; }
  /// Work of the ops [begin, end).
  std::span<const Work> work(std::uint32_t begin, std::uint32_t end) const;
  /// All work, that of no op last.
  std::span<const Work> work() const { return work_; }
  std::int64_t total_ns() const { return total_ns_; }
  std::int64_t unattributed_ns() const { return total_ns_ - time_before_.back(); }
  /// The innermost label around the op, in Trace::labels; kNoLabel: none.
  std::uint32_t label(std::uint32_t op) const { return labels_.empty() ? kNoLabel : labels_[op]; }
  bool on_cpu() const { return on_cpu_; }  ///< times are CPU times

 private:
  void find_labels(Trace& trace);
  void attribute_device_work(const Trace& trace);
  void attribute_cpu_time(const Trace& trace);
  void index_work();

  std::vector<std::uint32_t> ends_;
  std::vector<std::uint32_t> parents_;
  std::vector<std::uint32_t> labels_;      // of each op; empty: a trace without labels
  std::vector<Work> work_;                 // sorted by op
  std::vector<std::uint32_t> first_work_;  // of each op, and one past the last
  std::vector<std::int64_t> time_before_;  // of the work of all ops before an op
  std::int64_t total_ns_ = 0;
  bool on_cpu_ = false;
};

}  // namespace ak::plan
