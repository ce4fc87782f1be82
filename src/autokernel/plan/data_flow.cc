#include "autokernel/plan/data_flow.h"

#include <algorithm>
#include <map>

namespace ak::plan {
namespace {

void collect_names(const op::MatchArgument& argument, std::vector<std::string>& names) {
  if (argument.kind == op::MatchArgument::Kind::kName) names.push_back(argument.text);
  for (const op::MatchArgument& item : argument.items) collect_names(item, names);
}

/// What a step reads; a result of a view is what that view reads.
class StepReads {
 public:
  StepReads(const op::Match& match, const OpTraits& traits) : match_(match), traits_(traits) {
    for (std::size_t i = 0; i < match.steps.size(); ++i) {
      for (const std::string& result : match.steps[i].results) producers_[result] = i;
    }
  }

  struct Read {
    std::string name;
    std::optional<std::size_t> step;  ///< that wrote it
  };

  std::vector<Read> of(std::size_t step) const {
    std::vector<Read> found;
    std::vector<std::string> names;
    for (const op::MatchArgument& argument : match_.steps[step].arguments) collect_names(argument, names);
    for (const std::string& name : names) {
      const auto producer = producers_.find(name);
      if (producer == producers_.end() || producer->second >= step) {
        found.push_back({name, std::nullopt});
      } else if (!traits_.views.contains(match_.steps[producer->second].op)) {
        found.push_back({name, producer->second});
      } else {
        for (Read& each : of(producer->second)) found.push_back(std::move(each));
      }
    }
    return found;
  }

 private:
  const op::Match& match_;
  const OpTraits& traits_;
  std::map<std::string, std::size_t, std::less<>> producers_;
};

/// Whether the step's results are the family's: others may read them.
bool is_output(const op::Family& family, const op::Match& match, const op::MatchStep& step) {
  return std::any_of(step.results.begin(), step.results.end(), [&](const std::string& result) {
    return family.tensor(result) != nullptr ||
           std::any_of(match.tensors.begin(), match.tensors.end(),
                       [&](const auto& each) { return each.second == result; });
  });
}

}  // namespace

DataFlow::DataFlow(const Trace& trace, const CallTree& tree, const OpTraits& traits, const ModelGraph& graph)
    : tree_(tree), traits_(traits), graph_(graph), nodes_(label_nodes(trace, graph)) {
  find_passages(trace);
}

void DataFlow::find_passages(const Trace& trace) {
  for (std::uint32_t i = 0; i < graph_.size(); ++i) passes_.push_back(!graph_.node(i).inputs.empty());
  for (std::uint32_t op = 0; op < tree_.size();) {
    const std::uint32_t node = node_of(op);
    if (node == kNoNode) {
      ++op;
      continue;
    }
    const std::string name(op::without_in_place(trace.names.text(trace.ops[op].name)));
    const bool works = (tree_.on_cpu() || tree_.time_ns(op) > 0) && !traits_.views.contains(name) &&
                       !traits_.casts.contains(name);
    if (works) passes_[node] = false;
    op = tree_.end(op);
  }
}

std::uint32_t DataFlow::node_of(std::uint32_t op) const {
  const std::uint32_t label = op == kNoOp ? kNoLabel : tree_.label(op);
  return label == kNoLabel ? kNoNode : nodes_[label];
}

std::vector<std::uint32_t> DataFlow::nodes_of(std::span<const std::uint32_t> ops) const {
  std::vector<std::uint32_t> nodes;
  for (const std::uint32_t op : ops) nodes.push_back(node_of(op));
  return nodes;
}

bool DataFlow::reads(std::uint32_t reader, std::uint32_t written) const {
  std::vector<std::uint32_t> open = graph_.node(reader).inputs;
  std::set<std::uint32_t> seen;
  while (!open.empty()) {
    const std::uint32_t node = open.back();
    open.pop_back();
    if (node == written) return true;
    if (node < written || !passes_[node] || !seen.insert(node).second) continue;
    open.insert(open.end(), graph_.node(node).inputs.begin(), graph_.node(node).inputs.end());
  }
  return false;
}

/// The nodes that compute what a node reads.
std::set<std::uint32_t> DataFlow::sources(std::uint32_t reader) const {
  std::vector<std::uint32_t> open = graph_.node(reader).inputs;
  std::set<std::uint32_t> seen, found;
  while (!open.empty()) {
    const std::uint32_t node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    if (passes_[node]) {
      open.insert(open.end(), graph_.node(node).inputs.begin(), graph_.node(node).inputs.end());
    } else {
      found.insert(node);
    }
  }
  return found;
}

bool DataFlow::read_outside(std::uint32_t written, const std::set<std::uint32_t>& inside) const {
  std::vector<std::uint32_t> open = graph_.node(written).users;
  std::set<std::uint32_t> seen;
  while (!open.empty()) {
    const std::uint32_t node = open.back();
    open.pop_back();
    if (inside.contains(node) || !seen.insert(node).second) continue;
    const std::vector<std::uint32_t>& users = graph_.node(node).users;
    if (!passes_[node] || users.empty()) return true;
    open.insert(open.end(), users.begin(), users.end());
  }
  return false;
}

bool DataFlow::allows(const op::Family& family, const op::Match& match,
                      std::span<const std::uint32_t> ops) const {
  if (ops.size() < 2) return true;
  const std::vector<std::uint32_t> nodes = nodes_of(ops);
  const std::set<std::uint32_t> inside(nodes.begin(), nodes.end());
  const StepReads reads_of(match, traits_);
  std::map<std::string, std::set<std::uint32_t>> shared;  // family tensor -> where it can come from
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (nodes[i] == kNoNode || traits_.views.contains(match.steps[i].op)) continue;
    for (const StepReads::Read& read : reads_of.of(i)) {
      if (read.step) {
        const std::uint32_t written = nodes[*read.step];
        if (written != kNoNode && written != nodes[i] && !reads(nodes[i], written)) return false;
      } else if (family.tensor(read.name) != nullptr) {
        std::set<std::uint32_t> from = sources(nodes[i]);
        const auto [known, is_new] = shared.try_emplace(read.name, from);
        if (is_new || from.empty() || known->second.empty()) continue;
        std::erase_if(known->second, [&](std::uint32_t node) { return !from.contains(node); });
        if (known->second.empty()) return false;
      }
    }
    const bool own = i + 1 < ops.size() && !passes_[nodes[i]] && !is_output(family, match, match.steps[i]);
    if (own && read_outside(nodes[i], inside)) return false;
  }
  return true;
}

}  // namespace ak::plan
