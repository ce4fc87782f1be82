#include "autokernel/plan/matcher.h"

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>

#include "autokernel/plan/data_flow.h"
#include "autokernel/plan/step_binder.h"

namespace ak::plan {
namespace {

struct Candidate {
  const op::Family* family;
  const op::Match* match;
};

/// What the tables say of an op's name.
struct NameFacts {
  std::string op;                   // without the underscore of in-place variants
  bool view = false, cast = false;  // of data/aten.toml
  bool step = false;                // occurs in a table
  std::vector<Candidate> first;     // matches that begin with it, the longest first
};

struct Alignment {
  std::vector<std::uint32_t> steps, casts;  // ops of the tree
  std::vector<std::size_t> cast_steps;      // the step that each cast comes before
  std::size_t length = 0;                   // elements taken
};

class TraceMatcher {
 public:
  TraceMatcher(const Trace& trace, const CallTree& tree, const op::Registry& registry, const OpTraits& traits,
               const ModelGraph* graph)
      : trace_(trace), tree_(tree), traits_(traits), arguments_(trace.arguments.size()) {
    if (graph != nullptr) flow_.emplace(trace, tree, traits, *graph);
    result_.covered.assign(tree.size(), false);
    describe_names(registry);
  }

  MatchedTrace run() {
    std::uint32_t begin = 0;
    while (begin < tree_.size()) {  // a sequence stays on one thread
      std::uint32_t end = begin;
      while (end < tree_.size() && trace_.ops[end].thread == trace_.ops[begin].thread) end = tree_.end(end);
      match_range(begin, end);
      begin = end;
    }
    return std::move(result_);
  }

 private:
  void describe_names(const op::Registry& registry) {
    std::map<std::string, std::vector<Candidate>, std::less<>> first;
    std::set<std::string, std::less<>> steps;
    for (const op::Family& family : registry.families()) {
      for (const op::Match& match : family.matches) {
        first[match.steps.front().op].push_back({&family, &match});
        for (const op::MatchStep& step : match.steps) steps.insert(step.op);
      }
    }
    for (auto& [op, candidates] : first) {
      std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
        return a.match->steps.size() > b.match->steps.size();
      });
    }
    for (std::uint32_t id = 0; id < trace_.names.size(); ++id) {
      NameFacts facts;
      facts.op = op::without_in_place(trace_.names.text(id));
      facts.view = traits_.views.contains(facts.op);
      facts.cast = traits_.casts.contains(facts.op);
      facts.step = facts.cast || steps.contains(facts.op);
      if (const auto it = first.find(facts.op); it != first.end()) facts.first = it->second;
      names_.push_back(std::move(facts));
    }
  }

  const NameFacts& facts(std::uint32_t op) const { return names_[trace_.ops[op].name]; }

  /// Sequences see through it.
  bool invisible(std::uint32_t op) const {
    return tree_.time_ns(op) == 0 || (tree_.on_cpu() && facts(op).view);
  }

  /// The ops of [begin, end) that a sequence is made of: those that tables know, whole; of others what they
  /// call. What they launch themselves interrupts a sequence.
  std::vector<std::uint32_t> elements(std::uint32_t begin, std::uint32_t end) const {
    std::vector<std::uint32_t> found;
    for (std::uint32_t op = begin; op < end;) {
      const bool nothing = invisible(op);
      const bool whole = facts(op).step;
      if (nothing ? whole && facts(op).view : whole || !tree_.work(op, op + 1).empty()) found.push_back(op);
      op = nothing || whole ? tree_.end(op) : op + 1;
    }
    return found;
  }

  void match_range(std::uint32_t begin, std::uint32_t end) {
    const std::vector<std::uint32_t> found = elements(begin, end);
    for (std::size_t at = 0; at < found.size();) {
      const std::size_t taken = match_at(std::span(found).subspan(at));
      if (taken == 0 && facts(found[at]).step && !invisible(found[at]))
        match_range(found[at] + 1, tree_.end(found[at]));
      at += std::max<std::size_t>(taken, 1);
    }
  }

  /// How many elements the best match takes; 0: none fits.
  std::size_t match_at(std::span<const std::uint32_t> elements) {
    std::size_t casts = 0;
    while (casts + 1 < elements.size() && facts(elements[casts]).cast) ++casts;
    for (const Candidate& candidate : facts(elements[casts]).first) {
      if (casts > 0 && !candidate.match->ignore_casts) continue;
      const std::optional<Alignment> alignment = align(*candidate.match, elements);
      if (!alignment || (flow_ && !flow_->allows(*candidate.family, *candidate.match, alignment->steps)))
        continue;
      if (const std::optional<std::size_t> site = bind(candidate, *alignment)) {
        take(result_.sites[*site], elements.subspan(0, alignment->length));
        return alignment->length;
      }
    }
    return 0;
  }

  std::optional<Alignment> align(const op::Match& match, std::span<const std::uint32_t> elements) {
    Alignment alignment;
    std::size_t at = 0;
    for (const op::MatchStep& step : match.steps) {
      if (traits_.views.contains(step.op)) {
        std::size_t ahead = at;
        while (ahead < elements.size() && invisible(elements[ahead]) && facts(elements[ahead]).op != step.op)
          ++ahead;
        const bool seen = ahead < elements.size() && facts(elements[ahead]).op == step.op;
        alignment.steps.push_back(seen ? elements[ahead] : kNoOp);
        if (seen) at = ahead + 1;
        continue;
      }
      for (; at < elements.size() && facts(elements[at]).op != step.op; ++at) {
        if (invisible(elements[at])) continue;
        if (!match.ignore_casts || !facts(elements[at]).cast) return std::nullopt;
        alignment.casts.push_back(elements[at]);
        alignment.cast_steps.push_back(alignment.steps.size());
      }
      if (at == elements.size() || invisible(elements[at])) return std::nullopt;
      alignment.steps.push_back(elements[at++]);
      if (alignment.steps.size() == 1 && !casts_feed(alignment)) return std::nullopt;
    }
    if (match.ignore_casts && at < elements.size() && is_cast_of_result(alignment, elements[at])) ++at;
    alignment.length = at;
    return alignment;
  }

  /// Whether all casts before the first step are of tensors that it gets.
  bool casts_feed(const Alignment& alignment) {
    if (alignment.steps.front() == kNoOp) return alignment.casts.empty();
    const Arguments& first = arguments(alignment.steps.front());
    return std::all_of(alignment.casts.begin(), alignment.casts.end(), [&](std::uint32_t op) {
      const Arguments& cast = arguments(op);
      return std::any_of(first.begin(), first.end(), [&](const Argument& argument) {
        return !cast.empty() && argument.kind == Argument::Kind::kTensor && argument.dims == cast[0].dims;
      });
    });
  }

  /// A cast behind the last step belongs to it where the steps compute in fp32 for inputs of a lower
  /// precision.
  bool is_cast_of_result(const Alignment& alignment, std::uint32_t op) {
    if (!facts(op).cast || alignment.casts.empty() || alignment.steps.back() == kNoOp) return false;
    const Arguments &cast = arguments(op), &last = arguments(alignment.steps.back()),
                    &first = arguments(alignment.casts.front());
    if (cast.empty() || last.empty() || first.empty()) return false;
    return cast[0].dtype == DType::kF32 && first[0].dtype != DType::kF32 &&
           std::any_of(last.begin(), last.end(), [&](const Argument& argument) {
             return argument.dims == cast[0].dims && argument.dtype == DType::kF32;
           });
  }

  const Arguments& arguments(std::uint32_t op) {
    std::optional<Arguments>& parsed = arguments_[trace_.ops[op].arguments];
    if (!parsed) parsed = parse_arguments(trace_.arguments.text(trace_.ops[op].arguments));
    return *parsed;
  }

  /// The site of the problem that the ops are, found before or made; what is the same again is not worked out
  /// again.
  std::optional<std::size_t> bind(const Candidate& candidate, const Alignment& alignment) {
    std::string key(reinterpret_cast<const char*>(&candidate.match), sizeof candidate.match);
    const auto add = [&](std::uint32_t op) -> const Arguments* {
      const std::uint32_t id = op == kNoOp ? kNoOp : trace_.ops[op].arguments;
      key.append(reinterpret_cast<const char*>(&id), sizeof id);
      return op == kNoOp ? nullptr : &arguments(op);
    };
    std::vector<const Arguments*> steps;
    for (const std::uint32_t op : alignment.steps) steps.push_back(add(op));
    std::vector<SeenCast> casts;
    for (std::size_t i = 0; i < alignment.casts.size(); ++i) {
      key += static_cast<char>(alignment.cast_steps[i]);
      casts.push_back({alignment.cast_steps[i], add(alignment.casts[i])});
    }
    const auto [known, is_new] = bound_.try_emplace(std::move(key), std::nullopt);
    if (!is_new) return known->second;
    std::optional<BoundProblem> bound =
        StepBinder(*candidate.family, *candidate.match, steps, casts, traits_).run();
    if (bound) known->second = site_of(*candidate.family, std::move(*bound));
    return known->second;
  }

  std::size_t site_of(const op::Family& family, BoundProblem bound) {
    for (std::size_t i = 0; i < result_.sites.size(); ++i) {
      if (result_.sites[i].problem == bound.problem) return i;
    }
    FoundSite site;
    site.family = &family;
    site.problem = std::move(bound.problem);
    site.assumed = std::move(bound.assumed);
    result_.sites.push_back(std::move(site));
    return result_.sites.size() - 1;
  }

  void take(FoundSite& site, std::span<const std::uint32_t> elements) {
    ++site.calls;
    add_place(trace_, tree_, elements, site.places);
    for (const std::uint32_t op : elements) {
      site.time_ns += tree_.time_ns(op);
      std::fill(result_.covered.begin() + op, result_.covered.begin() + tree_.end(op), true);
      for (const Work& work : tree_.work(op, tree_.end(op))) site.kernels[work.name] += work.duration_ns;
      if (site.calls == 1 && std::find(site.ops.begin(), site.ops.end(), facts(op).op) == site.ops.end())
        site.ops.push_back(facts(op).op);
    }
  }

  const Trace& trace_;
  const CallTree& tree_;
  const OpTraits& traits_;
  std::optional<DataFlow> flow_;  // with the model's graph
  std::vector<NameFacts> names_;  // by Trace::names
  std::vector<std::optional<Arguments>> arguments_;
  std::unordered_map<std::string, std::optional<std::size_t>> bound_;
  MatchedTrace result_;
};

}  // namespace

MatchedTrace match_trace(const Trace& trace, const CallTree& tree, const op::Registry& registry,
                         const OpTraits& traits, const ModelGraph* graph) {
  return TraceMatcher(trace, tree, registry, traits, graph).run();
}

}  // namespace ak::plan
