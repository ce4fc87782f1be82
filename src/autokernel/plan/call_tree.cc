#include "autokernel/plan/call_tree.h"

#include <algorithm>
#include <tuple>

namespace ak::plan {
namespace {

template <class Span>
std::int64_t end_of(const Span& span) {
  return span.start_ns + span.duration_ns;
}

/// An op before those that it calls, a label before those in it: they begin at the same time or later and are
/// shorter.
template <class Span>
bool before(const Span& a, const Span& b) {
  return std::tuple(a.thread, a.start_ns, -a.duration_ns) < std::tuple(b.thread, b.start_ns, -b.duration_ns);
}

/// Where each call of the runtime was made: its correlation id and the innermost op.
struct Launch {
  std::uint64_t correlation;
  std::uint32_t op;
};

std::vector<Launch> find_launches(const Trace& trace, const std::vector<std::uint32_t>& parents) {
  std::vector<std::uint32_t> order(trace.calls.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const RuntimeCall &left = trace.calls[a], &right = trace.calls[b];
    return std::tuple(left.thread, left.start_ns) < std::tuple(right.thread, right.start_ns);
  });
  std::vector<Launch> launches;
  launches.reserve(order.size());
  std::uint32_t next = 0;       // the first op that begins after the call
  std::uint32_t inner = kNoOp;  // the last one before it, or one around that
  for (const std::uint32_t index : order) {
    const RuntimeCall& call = trace.calls[index];
    while (next < trace.ops.size() && std::tuple(trace.ops[next].thread, trace.ops[next].start_ns) <=
                                          std::tuple(call.thread, call.start_ns)) {
      inner = next++;
    }
    while (inner != kNoOp &&
           (trace.ops[inner].thread != call.thread || end_of(trace.ops[inner]) <= call.start_ns))
      inner = parents[inner];
    launches.push_back({call.correlation, inner});
  }
  std::sort(launches.begin(), launches.end(), [](const Launch& a, const Launch& b) {
    return std::tuple(a.correlation, a.op) < std::tuple(b.correlation, b.op);
  });
  return launches;
}

std::uint32_t find_launch(const std::vector<Launch>& launches, std::uint64_t correlation) {
  const auto it =
      std::lower_bound(launches.begin(), launches.end(), correlation,
                       [](const Launch& launch, std::uint64_t id) { return launch.correlation < id; });
  return it != launches.end() && it->correlation == correlation ? it->op : kNoOp;
}

/// Ops by their external ids, the innermost where several share one.
std::vector<Launch> external_ids(const Trace& trace) {
  std::vector<Launch> ids;
  for (std::uint32_t i = 0; i < trace.ops.size(); ++i) {
    if (trace.ops[i].external_id != 0) ids.push_back({trace.ops[i].external_id, i});
  }
  std::sort(ids.begin(), ids.end(), [](const Launch& a, const Launch& b) {
    return std::tuple(a.correlation, b.op) < std::tuple(b.correlation, a.op);
  });
  return ids;
}

}  // namespace

CallTree CallTree::build(Trace& trace) {
  CallTree tree;
  if (!std::is_sorted(trace.ops.begin(), trace.ops.end(), before<CpuOp>))
    std::stable_sort(trace.ops.begin(), trace.ops.end(), before<CpuOp>);
  const auto count = static_cast<std::uint32_t>(trace.ops.size());
  tree.ends_.assign(count, count);
  tree.parents_.assign(count, kNoOp);
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = 0; i < count; ++i) {
    const CpuOp& op = trace.ops[i];
    while (!open.empty() &&
           (trace.ops[open.back()].thread != op.thread || end_of(trace.ops[open.back()]) <= op.start_ns)) {
      tree.ends_[open.back()] = i;
      open.pop_back();
    }
    if (!open.empty()) tree.parents_[i] = open.back();
    open.push_back(i);
  }
  if (!trace.labels.empty()) tree.find_labels(trace);
  tree.on_cpu_ = trace.work.empty();
  if (tree.on_cpu_) {
    tree.attribute_cpu_time(trace);
  } else {
    tree.attribute_device_work(trace);
  }
  tree.index_work();
  return tree;
}

void CallTree::find_labels(Trace& trace) {
  std::stable_sort(trace.labels.begin(), trace.labels.end(), before<SiteLabel>);
  labels_.assign(trace.ops.size(), kNoLabel);
  std::vector<std::uint32_t> open;
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < labels_.size(); ++i) {
    const CpuOp& op = trace.ops[i];
    while (next < trace.labels.size() && std::tuple(trace.labels[next].thread, trace.labels[next].start_ns) <=
                                             std::tuple(op.thread, op.start_ns)) {
      open.push_back(next++);
    }
    while (!open.empty() && (trace.labels[open.back()].thread != op.thread ||
                             end_of(trace.labels[open.back()]) <= op.start_ns))
      open.pop_back();
    if (!open.empty()) labels_[i] = open.back();
  }
}

void CallTree::attribute_device_work(const Trace& trace) {
  const std::vector<Launch> launches = find_launches(trace, parents_);
  std::vector<Launch> by_external_id;
  work_.reserve(trace.work.size());
  for (const DeviceWork& each : trace.work) {
    std::uint32_t op = each.correlation != 0 ? find_launch(launches, each.correlation) : kNoOp;
    if (op == kNoOp && each.external_id != 0) {
      if (by_external_id.empty()) by_external_id = external_ids(trace);
      op = find_launch(by_external_id, each.external_id);
    }
    work_.push_back({each.duration_ns, each.name, op});
  }
}

void CallTree::attribute_cpu_time(const Trace& trace) {
  std::vector<std::int64_t> own(trace.ops.size());
  for (std::uint32_t i = 0; i < own.size(); ++i) {
    own[i] += trace.ops[i].duration_ns;
    if (parents_[i] != kNoOp) own[parents_[i]] -= trace.ops[i].duration_ns;
  }
  for (std::uint32_t i = 0; i < own.size(); ++i)
    work_.push_back({std::max<std::int64_t>(own[i], 0), trace.ops[i].name, i});
}

void CallTree::index_work() {
  std::stable_sort(work_.begin(), work_.end(), [](const Work& a, const Work& b) { return a.op < b.op; });
  first_work_.assign(size() + 1, 0);
  time_before_.assign(size() + 1, 0);
  std::size_t next = 0;
  std::int64_t time = 0;
  for (std::uint32_t op = 0; op <= size(); ++op) {
    first_work_[op] = static_cast<std::uint32_t>(next);
    time_before_[op] = time;
    for (; next < work_.size() && work_[next].op == op; ++next) time += work_[next].duration_ns;
  }
  total_ns_ = time;
  for (; next < work_.size(); ++next) total_ns_ += work_[next].duration_ns;
}

std::span<const Work> CallTree::work(std::uint32_t begin, std::uint32_t end) const {
  return std::span(work_).subspan(first_work_[begin], first_work_[end] - first_work_[begin]);
}

}  // namespace ak::plan
