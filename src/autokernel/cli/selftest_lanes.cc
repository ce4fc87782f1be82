#include "autokernel/cli/selftest_lanes.h"

#include <fmt/ranges.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

namespace ak::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kDeadline{60'000};
constexpr milliseconds kHangDeadline{
    4'000};  ///< of a verdict on a kernel that never ends, its own deadline off
constexpr std::size_t kLongestChain = 16;

/// One thread's workers.
class Lane {
 public:
  explicit Lane(const SelftestPlan& plan) : plan_(plan) {}

  Result<SelftestResult> run(const SelftestCase& planted) {
    SelftestResult result{.name = planted.name, .cheat = !planted.kind.empty()};
    AK_TRY(job, selftest_job(planted, plan_.device, *plan_.registry));
    AK_TRY(verdict, judge(planted, job, {}, kDeadline));
    result.wrong = verdict.failure && verdict.failure->kind == FailureKind::kWrong;
    result.judge_s = verdict.wall_s - verdict.compile_s;
    if (!result.cheat) {
      result.good = verdict.passed;
      result.why = said(verdict);
      result.disturbed = of_time(verdict);
      return result;
    }
    if (plan_.suggest) return suggest(planted, job, std::move(verdict), std::move(result));
    const std::string& first = planted.checks.at(plan_.device).front();
    const std::string& kind = planted.kind_on(plan_.device);
    result.good = verdict.failure && name(verdict.failure->kind) == kind &&
                  (by_chance(planted) || verdict.failure->check == first);
    result.disturbed = !result.good && of_time(verdict);
    if (!result.good) result.why = fmt::format("expected {} of {}: {}", kind, first, said(verdict));
    if (plan_.mutate) AK_TRY_VOID(prove(planted, job, std::move(verdict), result));
    return result;
  }

 private:
  bool by_chance(const SelftestCase& planted) const { return planted.cuda_chance && plan_.device == "cuda"; }

  /// All of `listed` fired, in any order.
  static bool fires_among(const std::vector<std::string>& listed, const std::vector<std::string>& fired) {
    return std::all_of(listed.begin(), listed.end(), [&](const std::string& check) {
      return std::find(fired.begin(), fired.end(), check) != fired.end();
    });
  }

  static bool of_time(const Verdict& verdict) {
    return verdict.failure && (verdict.failure->check == "time.clock" || verdict.failure->check == "floor");
  }

  static std::string said(const Verdict& verdict) {
    if (verdict.passed) return "it passed";
    if (!verdict.failure) return "it failed for no reason";
    return fmt::format("{} of {}: {}", name(verdict.failure->kind), verdict.failure->check,
                       verdict.failure->message);
  }

  /// What the cheat's list would be: each check that fires once those before it are off.
  Result<SelftestResult> suggest(const SelftestCase& planted, const harness::Job& job, Verdict verdict,
                                 SelftestResult result) {
    std::vector<std::string> fired;
    std::string kinds;
    while (fired.size() < kLongestChain && verdict.failure) {
      if (std::find(fired.begin(), fired.end(), verdict.failure->check) != fired.end()) break;
      fired.push_back(verdict.failure->check);
      kinds += fmt::format("{}{}", kinds.empty() ? "" : ", ", name(verdict.failure->kind));
      AK_TRY(next, judge(planted, job, fired, planted.hangs ? kHangDeadline : kDeadline));
      verdict = std::move(next);
    }
    result.good = true;
    result.why = fmt::format("{} = [{}{}{}]  # {}; then: {}", plan_.device, fired.empty() ? "" : "\"",
                             fmt::join(fired, "\", \""), fired.empty() ? "" : "\"", kinds, said(verdict));
    return result;
  }

  /// With the first k checks of the list off, the next is what fires; with all of them off it passes.
  Status prove(const SelftestCase& planted, const harness::Job& job, Verdict verdict,
               SelftestResult& result) {
    const std::vector<std::string>& listed = planted.checks.at(plan_.device);
    std::vector<std::string> fired;
    std::string surprise;  // what first differs from the list
    auto look = [&] {
      const std::size_t at = fired.size();
      const bool expected =
          verdict.failure ? at < listed.size() && verdict.failure->check == listed[at] : at == listed.size();
      if (expected || !surprise.empty()) return;
      surprise = said(verdict);
      result.disturbed |= of_time(verdict);
    };
    while (fired.size() < kLongestChain && verdict.failure) {
      const bool again = std::find(fired.begin(), fired.end(), verdict.failure->check) != fired.end();
      look();
      fired.push_back(verdict.failure->check);
      if (again || (!planted.runs && fired.size() >= listed.size())) break;
      AK_TRY(next, judge(planted, job, fired, planted.hangs ? kHangDeadline : kDeadline));
      verdict = std::move(next);
      if (planted.hangs) {
        result.proved = fired == listed && verdict.failure && verdict.failure->kind == FailureKind::kTimeout;
        if (!*result.proved)
          result.why = "with `fault` off the supervisor's deadline must end it: " + said(verdict);
        return {};
      }
    }
    look();
    result.proved = by_chance(planted) ? verdict.passed && fires_among(listed, fired) : fired == listed;
    if (!*result.proved) {
      if (!result.why.empty()) result.why += "; ";
      result.why += fmt::format("listed [{}], fired [{}], then {} ({})", fmt::join(listed, ", "),
                                fmt::join(fired, ", "), verdict.passed ? "it passed" : "it failed", surprise);
    }
    return {};
  }

  Result<Verdict> judge(const SelftestCase& planted, const harness::Job& job,
                        const std::vector<std::string>& off, milliseconds deadline) {
    std::vector<std::string> options;
    for (const std::string& check : off) {
      if (check == "compile") continue;
      options.insert(options.end(), {"--without", check});
    }
    if (planted.clock_skew != 1)
      options.insert(options.end(), {"--clock-skew", fmt::format("{}", planted.clock_skew)});
    const bool plain = options.empty();
    if (plain && whole_ && whole_->alive()) return whole_->judge(job, worker::Freshness::kReuse, deadline);
    std::vector<std::string> command = plan_.worker;
    command.insert(command.end(), options.begin(), options.end());
    AK_TRY(client, worker::Client::start(command, plan_.families));
    Result<Verdict> verdict = client->judge(job, worker::Freshness::kReuse, deadline);
    if (plain) whole_ = std::move(client);
    return verdict;
  }

  const SelftestPlan& plan_;
  std::unique_ptr<worker::Client> whole_;  ///< with all checks on; serves one case after another
};

void block_sigpipe() {
  sigset_t sigpipe;
  ::sigemptyset(&sigpipe);
  ::sigaddset(&sigpipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &sigpipe, nullptr);
}

/// What the lanes share.
struct Board {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t next = 0, done = 0, running = 0;
  std::string last;
  std::vector<SelftestResult> results;
  std::optional<Error> error;
};

void run_lane(const SelftestPlan& plan, Board& board) {
  block_sigpipe();
  Lane lane(plan);
  while (true) {
    std::size_t mine = 0;
    {
      std::lock_guard lock(board.mutex);
      if (board.error || board.next >= plan.cases.size()) break;
      mine = board.next++;
    }
    Result<SelftestResult> result = lane.run(plan.cases[mine]);
    std::lock_guard lock(board.mutex);
    if (result) {
      board.last = result->name;
      board.results[mine] = std::move(*result);
      ++board.done;
    } else {
      board.error = std::move(result.error()).with_context(plan.cases[mine].name);
    }
    board.changed.notify_one();
  }
  std::lock_guard lock(board.mutex);
  --board.running;
  board.changed.notify_one();
}

}  // namespace

Result<std::vector<SelftestResult>> run_selftest_cases(
    const SelftestPlan& plan,
    const std::function<void(std::size_t done, const std::string& name)>& progress) {
  Board board;
  board.results.resize(plan.cases.size());
  board.running = plan.lanes;
  {
    std::vector<std::jthread> lanes;
    for (std::size_t i = 0; i < plan.lanes; ++i) lanes.emplace_back([&] { run_lane(plan, board); });
    std::unique_lock lock(board.mutex);
    while (board.running > 0) {
      board.changed.wait(lock);
      progress(board.done, board.last);
    }
  }
  if (board.error) return tl::unexpected(std::move(*board.error));
  // The lanes share one device: what a check of time said is asked again alone.
  Lane alone(plan);
  for (std::size_t i = 0; i < board.results.size(); ++i) {
    if (!board.results[i].disturbed) continue;
    AK_TRY(result, alone.run(plan.cases[i]));
    board.results[i] = std::move(result);
  }
  return std::move(board.results);
}

}  // namespace ak::cli
