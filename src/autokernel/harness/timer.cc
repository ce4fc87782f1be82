#include "autokernel/harness/timer.h"

#include <algorithm>
#include <limits>

#include "autokernel/harness/comparison.h"
#include "autokernel/stats/summary.h"

namespace ak::harness {
namespace {

constexpr std::size_t kMaxGroup = 4;  // rounds that are run in one call: A B B A, or B B alone
constexpr std::size_t kColdRounds = 5;
constexpr double kLongUs = 1'000;    // an execution that neither the cost of a launch nor the caches decide
constexpr double kClockAlarm = 1.5;  // wall time / device time of a round; HARNESS.md, time.clock
constexpr double kClockNoted = 1.05;
constexpr double kClockLeastUs = 100;  // shorter executions are mostly the cost of their launch
constexpr std::size_t kExtraContents = 2;

/// What each rotating set may hold: a seed and the truth for it.
struct Content {
  std::uint64_t seed;
  Truth truth;
};

/// Launches of one candidate on one set.
struct BoundSet {
  std::vector<device::Step> timed;
  Workspaces workspaces;
};

class RotatingTimer {
 public:
  RotatingTimer(Context& context, References& references, const TimeRequest& request)
      : context_(context), references_(references), request_(request) {}

  Status prepare();
  Result<TimedOutcome> run();

 private:
  /// A set and what it holds in one round.
  struct Use {
    std::size_t set, content;
  };
  Status bind_sets(const Prepared& prepared, std::vector<BoundSet>& into);
  Status add_content();
  /// New contents in the place of old ones, and the truth for them.
  Status renew(Content& content);
  /// Are executions so long that a round needs only one? Tries one, then makes the contents.
  Outcome plan_rounds(TimedRounds& result);
  Result<device::Round> round(const std::vector<BoundSet>& bound, std::span<const Use> uses,
                              std::size_t slot);
  enum class WarmUp { kNo, kYes };
  /// One group of rounds, its outputs checked, its times added to the result unless it only warms up.
  Outcome run_group(WarmUp warm_up, TimedRounds& result);
  /// `incumbent[k]`: whose outputs round k holds.
  Outcome check_group(const std::vector<bool>& incumbent);
  /// What the rounds of a group use, in a random order of contents: all sets each, or one set after another.
  std::vector<std::vector<Use>> pick_uses(std::size_t rounds);
  std::size_t sets_in_round() const { return one_at_a_time_ ? 1 : sets_.size(); }
  std::size_t wanted_sets(std::uint64_t set_bytes) const;
  /// How many contents are kept at once: more than a round has sets, as many, or one for all.
  std::size_t wanted_contents() const;
  Outcome run_cold(const BoundSet& set, std::vector<double>& cold_us);
  void note_throttling(const device::TimeOutcome& outcome, TimedRounds& result) const;
  /// time.clock: the host's clock and the device's agree.
  std::optional<Failure> check_clock(TimedRounds& result) const;

  Context& context_;
  References& references_;
  const TimeRequest& request_;
  std::vector<DataSet> sets_;
  std::vector<BoundSet> candidate_, incumbent_;
  std::vector<Content> contents_;
  bool one_at_a_time_ = false;        // a round is one execution, and the sets take turns
  std::size_t turns_ = 0;             // of the sets, where they take turns
  double longest_us_ = 0;             // of the last group's executions
  std::vector<double> clock_ratios_;  // wall / device time of each round
  double least_wall_us_ = std::numeric_limits<double>::infinity();  // of a round
  std::vector<DeviceBuffer> row_buffers_;   // by output; used again by every comparison
  std::vector<std::uint64_t> row_doubles_;  // by output
  std::optional<DeviceBuffer> folded_;      // kFoldedDoubles for each (slot, set, output)
};

Status RotatingTimer::bind_sets(const Prepared& prepared, std::vector<BoundSet>& into) {
  for (const DataSet& set : sets_) {
    AK_TRY(workspaces, Workspaces::allocate(context_.device, prepared.plan));
    AK_TRY(steps, candidate_steps(prepared, set, workspaces));
    into.push_back({std::move(steps), std::move(workspaces)});
  }
  return {};
}

Status RotatingTimer::add_content() {
  AK_TRY(truth, Truth::allocate(context_.device, context_.family, request_.problem));
  contents_.push_back({0, std::move(truth)});
  return renew(contents_.back());
}

Status RotatingTimer::renew(Content& content) {
  content.seed = context_.seeds.next();
  AK_TRY(steps, input_steps(context_, request_.problem, sets_[0], request_.draw, nullptr, content.seed));
  AK_TRY(reference, references_.steps(context_.family, request_.problem, sets_[0], content.truth,
                                      References::Wanted::kReference));
  steps.insert(steps.end(), reference.begin(), reference.end());
  return run_trusted(context_, steps);
}

Status RotatingTimer::prepare() {
  do {
    AK_TRY(set, DataSet::allocate(context_.device, context_.family, request_.problem, allowed(context_, {})));
    sets_.push_back(std::move(set));
  } while (sets_.size() < wanted_sets(sets_[0].bytes()));
  AK_TRY_VOID(bind_sets(request_.candidate, candidate_));
  if (request_.incumbent != nullptr) AK_TRY_VOID(bind_sets(*request_.incumbent, incumbent_));
  AK_TRY_VOID(add_content());
  for (const std::string& output : sets_[0].outputs()) {
    const Truth::Output& truth = contents_[0].truth.outputs().at(output);
    row_doubles_.push_back(ComparedRows(in_tolerance_rows(sets_[0].view(output), truth)).doubles());
  }
  for (std::uint64_t doubles : row_doubles_) {
    AK_TRY(rows, DeviceBuffer::allocate(context_.device,
                                        {.bytes = doubles * 8, .access = device::Access::kHidden}));
    row_buffers_.push_back(std::move(rows));
  }
  const std::uint64_t comparisons = kMaxGroup * sets_.size() * row_doubles_.size();
  AK_TRY(folded, DeviceBuffer::allocate(context_.device, {.bytes = comparisons * kFoldedDoubles * 8,
                                                          .access = device::Access::kHidden}));
  folded_ = std::move(folded);
  return {};
}

std::size_t RotatingTimer::wanted_sets(std::uint64_t set_bytes) const {
  const std::uint64_t wanted =
      4 * context_.device.info().l2_bytes / std::max<std::uint64_t>(1, set_bytes) + 1;
  return std::clamp<std::uint64_t>(wanted, context_.limits.fewest_sets, context_.limits.most_sets);
}

std::size_t RotatingTimer::wanted_contents() const {
  const double memory =
      static_cast<double>(context_.device.info().memory_bytes) * context_.limits.timed_memory_share;
  const auto fits = [&](std::size_t contents) {
    return static_cast<double>(sets_.size() * sets_[0].bytes() + contents * contents_[0].truth.bytes()) <=
           memory;
  };
  // Where the sets take turns, two contents by turns are new in each round.
  const std::size_t least = one_at_a_time_ ? 2 : sets_.size();
  const std::size_t most = one_at_a_time_ ? least : least + kExtraContents;
  return fits(most) ? most : fits(least) ? least : 1;
}

std::vector<std::vector<RotatingTimer::Use>> RotatingTimer::pick_uses(std::size_t rounds) {
  std::vector<std::size_t> order(std::max(contents_.size(), sets_in_round()));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i % contents_.size();
  context_.seeds.shuffle(order);
  std::vector<std::vector<Use>> uses(rounds);
  if (!one_at_a_time_) {
    for (std::size_t i = 0; i < sets_.size(); ++i) uses[0].push_back({i, order[i]});
    std::fill(uses.begin() + 1, uses.end(), uses[0]);
    return uses;
  }
  const std::size_t paired =
      request_.incumbent == nullptr ? 1 : 2;  // both kernels of a pair do the same work
  for (std::size_t k = 0; k < rounds; ++k) {
    const std::size_t turn = k / paired;
    uses[k] = {{(turns_ + turn) % sets_.size(), order[turn % order.size()]}};
  }
  turns_ += rounds / paired;
  return uses;
}

Outcome RotatingTimer::plan_rounds(TimedRounds& result) {
  if (context_.device.info().cold_cache) {
    one_at_a_time_ = true;
    AK_TRY(failed, run_group(WarmUp::kYes, result));
    if (failed) return failed;
    one_at_a_time_ = longest_us_ > kLongUs;
  }
  const std::size_t wanted = wanted_contents();
  while (contents_.size() < wanted) AK_TRY_VOID(add_content());
  return std::optional<Failure>();
}

Result<device::Round> RotatingTimer::round(const std::vector<BoundSet>& bound, std::span<const Use> uses,
                                           std::size_t slot) {
  device::Round round;
  round.repeats = static_cast<std::uint32_t>(uses.size());
  std::uint64_t poison_seed = context_.seeds.next() | 1;
  Poison poison = slot % 2 == 0 ? Poison::kNan : Poison::kFinite;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const Content& content = contents_[uses[i].content];
    const DataSet& set = sets_[uses[i].set];
    const BoundSet& launches = bound[uses[i].set];
    AK_TRY(inputs, input_steps(context_, request_.problem, set, request_.draw, nullptr, content.seed));
    round.before.insert(round.before.end(), inputs.begin(), inputs.end());
    AK_TRY(poisoned, poison_steps(context_, set, launches.workspaces, poison_seed, poison));
    round.before.insert(round.before.end(), poisoned.begin(), poisoned.end());
    for (std::size_t o = 0; o < set.outputs().size(); ++o) {
      const std::string& output = set.outputs()[o];
      device::BufferRef rows = row_buffers_[o].ref();
      AK_TRY(args, compare_args(context_, set.view(output), content.truth.outputs().at(output),
                                request_.problem.dtype, rows));
      AK_TRY(compare, context_.trusted.compare(args));
      round.after.push_back(std::move(compare));
      const std::uint64_t at = ((slot * uses.size() + i) * row_doubles_.size() + o) * kFoldedDoubles * 8;
      AK_TRY(fold, context_.trusted.fold_rows(args.y, rows, folded_->ref(at)));
      round.after.push_back(std::move(fold));
    }
    round.timed.insert(round.timed.end(), launches.timed.begin(), launches.timed.end());
  }
  if (context_.device.info().cold_cache) round.before.push_back(device::Scrub{device::Scrub::What::kL2});
  return round;
}

Outcome RotatingTimer::check_group(const std::vector<bool>& incumbent) {
  if (!context_.checks.on("time.rotate")) return std::optional<Failure>();
  const std::size_t comparisons = sets_in_round() * row_doubles_.size();  // of a round
  std::vector<double> host(incumbent.size() * comparisons * kFoldedDoubles);
  AK_TRY_VOID(context_.device.read(folded_->ref(), std::as_writable_bytes(std::span(host))));
  for (std::size_t i = 0; i < incumbent.size() * comparisons; ++i) {
    std::size_t output = i % row_doubles_.size();
    ComparisonResult found =
        summarize_rows(std::span<const double>(host).subspan(i * kFoldedDoubles, kFoldedDoubles), false);
    if (found.bad == 0) continue;
    bool of_incumbent = incumbent[i / comparisons];
    return std::optional(Failure{
        Stage::kTime, FailureKind::kWrong, "time.rotate",
        fmt::format(
            "{}: {} elements of {} were wrong in a timed round of {} (the worst, at {}, by {:.3g} times the "
            "tolerance){}",
            request_.problem.label(), found.bad, sets_[0].outputs()[output],
            of_incumbent ? "the incumbent, the kernel compared with" : "the candidate", found.worst_at,
            found.worst,
            of_incumbent ? ": run bench on that file"
                         : ", though the same shape passed before: the kernel depends on what ran earlier")});
  }
  return std::optional<Failure>();
}

Outcome RotatingTimer::run_group(WarmUp warm_up, TimedRounds& result) {
  std::vector<bool> incumbent = {false, false};
  if (request_.incumbent != nullptr) incumbent = {true, false, false, true};
  if (warm_up == WarmUp::kYes) incumbent.resize(incumbent.size() / 2);
  // Else contents differ within a group; one that was just made is new already.
  if (contents_.size() == 1 && warm_up == WarmUp::kNo) AK_TRY_VOID(renew(contents_[0]));
  const std::vector<std::vector<Use>> uses = pick_uses(incumbent.size());
  std::vector<device::Round> rounds;
  for (std::size_t k = 0; k < incumbent.size(); ++k) {
    AK_TRY(each, round(incumbent[k] ? incumbent_ : candidate_, uses[k], k));
    rounds.push_back(std::move(each));
  }
  device::Device::TimeLimits limits{context_.limits.round_deadline, std::chrono::minutes(2), rounds.size()};
  AK_TRY(outcome, context_.device.time(rounds, limits));
  if (outcome.fault) {
    return std::optional(Failure{Stage::kTime, outcome.fault->kind, outcome.fault->check,
                                 fmt::format("{}: {}", request_.problem.label(), outcome.fault->message)});
  }
  if (outcome.rounds.size() != rounds.size())
    return internal_error("{} of {} timed rounds", outcome.rounds.size(), rounds.size());
  longest_us_ = 0;
  for (const device::RoundTime& each : outcome.rounds) longest_us_ = std::max(longest_us_, each.us);
  AK_TRY(failed, check_group(incumbent));
  if (failed || warm_up == WarmUp::kYes) return failed;
  // A round that is over before the cost of its launch is says nothing: its group is measured again.
  bool measurable = std::all_of(outcome.rounds.begin(), outcome.rounds.end(),
                                [](const device::RoundTime& each) { return each.us > 0; });
  if (!measurable) return failed;
  note_throttling(outcome, result);
  for (std::size_t k = 0; k < incumbent.size(); ++k) {
    const device::RoundTime& time = outcome.rounds[k];
    const auto repeats = static_cast<double>(rounds[k].repeats);
    least_wall_us_ = std::min(least_wall_us_, time.wall_us / repeats);
    clock_ratios_.push_back(time.wall_us / (time.us * repeats));
    (incumbent[k] ? result.incumbent_us : result.candidate_us).push_back(outcome.rounds[k].us);
  }
  return std::optional<Failure>();
}

Result<TimedOutcome> RotatingTimer::run() {
  TimedRounds result;
  result.sets = sets_.size();
  for (const DataSet& set : sets_) result.footprint_bytes += set.bytes();
  result.execution_bytes = sets_[0].bytes();
  for (const Workspaces::Item& item : candidate_[0].workspaces.items())
    result.execution_bytes += item.buffer.bytes();
  AK_TRY(unplanned, plan_rounds(result));
  if (unplanned) return TimedOutcome(std::move(*unplanned));
  auto start = context_.clock.now();
  if (!one_at_a_time_) {  // fills caches, wakes the clock
    AK_TRY(warm_up, run_group(WarmUp::kYes, result));
    if (warm_up) return TimedOutcome(std::move(*warm_up));
  }
  for (std::size_t group = 0; group < context_.limits.most_groups; ++group) {
    bool enough = result.candidate_us.size() >= context_.limits.fewest_groups * 2;
    if (enough && seconds_between(start, context_.clock.now()) > request_.budget_s) break;
    AK_TRY(failed, run_group(WarmUp::kNo, result));
    if (failed) return TimedOutcome(std::move(*failed));
  }
  if (result.candidate_us.size() < context_.limits.fewest_groups * 2) {
    return TimedOutcome(
        Failure{Stage::kTime, FailureKind::kUnsupported, "time.clock",
                fmt::format("{}: too short to be told from the cost of a launch on this machine; time a "
                            "larger problem",
                            request_.problem.label())});
  }
  if (auto failed = check_clock(result)) return TimedOutcome(std::move(*failed));
  AK_TRY(failed, run_cold(candidate_[0], result.cold_us));
  if (failed) return TimedOutcome(std::move(*failed));
  if (request_.incumbent != nullptr) {
    AK_TRY(fault, run_cold(incumbent_[0], result.incumbent_cold_us));
    if (fault) return TimedOutcome(std::move(*fault));
  }
  return TimedOutcome(std::move(result));
}

/// One execution at a time, each after a read flush of L2.
Outcome RotatingTimer::run_cold(const BoundSet& set, std::vector<double>& cold_us) {
  if (!context_.device.info().cold_cache) return std::optional<Failure>();
  device::Round round;
  round.before.push_back(device::Scrub{device::Scrub::What::kL2});
  round.timed = set.timed;
  const std::vector<device::Round> rounds(one_at_a_time_ ? 1 : kColdRounds, round);
  AK_TRY(outcome, context_.device.time(
                      rounds, {context_.limits.round_deadline, std::chrono::minutes(2), kColdRounds}));
  if (outcome.fault) {
    return std::optional(Failure{Stage::kTime, outcome.fault->kind, outcome.fault->check,
                                 fmt::format("{}: {}", request_.problem.label(), outcome.fault->message)});
  }
  for (const device::RoundTime& each : outcome.rounds) cold_us.push_back(each.us);
  return std::optional<Failure>();
}

void RotatingTimer::note_throttling(const device::TimeOutcome& outcome, TimedRounds& result) const {
  const bool throttled = std::any_of(outcome.rounds.begin(), outcome.rounds.end(),
                                     [](const device::RoundTime& each) { return each.throttled; });
  if (!throttled || !result.flags.empty()) return;
  result.flags.push_back(fmt::format("{}: the device slowed itself down (power or heat) while it was timed",
                                     request_.problem.label()));
}

std::optional<Failure> RotatingTimer::check_clock(TimedRounds& result) const {
  // One round that is over sooner shows that all are short: those which the host saw late say nothing then.
  if (!context_.checks.on("time.clock") || least_wall_us_ < kClockLeastUs || clock_ratios_.empty())
    return std::nullopt;
  const auto what = [&](std::string_view which, double ratio) {
    return fmt::format("{}: by the host's clock {} takes {:.3g} times what the device's clock says",
                       request_.problem.label(), which, ratio);
  };
  // A timer that lies does so in every round; a device that others use as well is late in some.
  const double least = *std::min_element(clock_ratios_.begin(), clock_ratios_.end());
  if (least > kClockAlarm) {
    return Failure{Stage::kTime, FailureKind::kImplausible, "time.clock",
                   what("even the best round", least) +
                       ": the device's timer is not to be trusted (or others keep the device busy)"};
  }
  // The cpu device has no second clock: there the difference is the cost of a launch, which is subtracted.
  const double median = stats::median(clock_ratios_);
  if (median > kClockNoted && context_.device.info().kind != "cpu")
    result.flags.push_back(what("a round", median));
  return std::nullopt;
}

}  // namespace

Result<TimedOutcome> time_candidate(Context& context, References& references, const TimeRequest& request) {
  RotatingTimer timer(context, references, request);
  AK_TRY_VOID(timer.prepare());
  return timer.run();
}

}  // namespace ak::harness
