// kill -9 at random moments: a child process runs experiments and reports each thing that a call has
// returned; after its death the workspace opens, has all of that, and git agrees with the ledger.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "autokernel/base/random.h"
#include "autokernel/ledger/workspace.h"
#include "autokernel/ledger/workspace_refs.h"
#include "fixtures.h"

namespace ak::ledger {
namespace {

constexpr int kKills = 24;
constexpr int kTrialsPerExperiment = 4;

/// What the child has been told: ids of trials and of finished experiments.
struct Report {
  char kind;  // 't', 'f'
  std::int64_t id;
};

[[noreturn]] void run_until_killed(const std::filesystem::path& folder, int report_fd, std::uint64_t seed) {
  SystemClock clock;
  Rng rng(seed);
  const auto tell = [&](char kind, std::int64_t id) {
    const Report report{kind, id};
    if (::write(report_fd, &report, sizeof report) != sizeof report) ::_exit(3);
  };
  auto workspace = Workspace::open(folder, clock);
  if (!workspace || !workspace->add_target(small_target(), "schema = 1\n", "v0")) ::_exit(1);
  while (true) {
    const std::string kernel = fmt::format("kernel {}", rng.next());
    auto e = workspace->begin(experiment_on("rmsnorm", kernel), kernel, cpu_context());
    if (!e) ::_exit(2);
    for (int i = 0; i < kTrialsPerExperiment; ++i) {
      const Trial t = passed_trial(e->id, static_cast<int>(rng.below(1000)), 10);
      const auto id = workspace->ledger().append_trial(t, verdict_for(t));
      if (!id) ::_exit(2);
      tell('t', *id);
    }
    constexpr Decision kDecisions[] = {Decision::kKept, Decision::kReverted, Decision::kAmbiguous,
                                       Decision::kFailed};
    e->decision = kDecisions[rng.below(4)];
    if (!workspace->finish(*e, kernel)) ::_exit(2);
    tell('f', e->id);
  }
}

/// Runs a child, kills it after `reports` reports and `delay`, and returns all that it reported.
std::vector<Report> kill_after(const std::filesystem::path& folder, std::uint64_t seed, std::size_t reports,
                               std::chrono::microseconds delay) {
  int pipe_fds[2];
  EXPECT_EQ(::pipe(pipe_fds), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(pipe_fds[0]);
    run_until_killed(folder, pipe_fds[1], seed);
  }
  ::close(pipe_fds[1]);
  std::vector<Report> told;
  Report report{};
  while (told.size() < reports && ::read(pipe_fds[0], &report, sizeof report) == sizeof report)
    told.push_back(report);
  std::this_thread::sleep_for(delay);  // the moment of the kill: any will do, none is waited for
  ::kill(child, SIGKILL);
  while (::read(pipe_fds[0], &report, sizeof report) == sizeof report) told.push_back(report);
  ::close(pipe_fds[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself with " << WEXITSTATUS(status);
  return told;
}

void expect_refs_agree(const Workspace& workspace) {
  const auto experiments = workspace.ledger().experiments();
  ASSERT_TRUE(experiments) << experiments.error().message;
  std::map<std::string, std::string> wanted;
  for (const Experiment& e : *experiments) {
    if (e.decision == Decision::kRunning) continue;
    wanted[ref_of(e)] = e.commit;
    const auto hash = workspace.ledger().result_hash(e.id);
    EXPECT_EQ(*workspace.git().file_at(e.commit, "targets/rmsnorm/kernel.cu"),
              *workspace.ledger().kernel_text(*hash));
  }
  EXPECT_EQ(*workspace.git().refs("refs/"), wanted);
}

std::vector<std::int64_t> missing_from(const std::set<std::int64_t>& found,
                                       const std::set<std::int64_t>& told) {
  std::vector<std::int64_t> missing;
  std::set_difference(told.begin(), told.end(), found.begin(), found.end(), std::back_inserter(missing));
  return missing;
}

TEST(Crash, NothingThatACallReturnedIsLostByAKillAtAnyMoment) {
  auto folder = TempDir::create("ak-crash-test");
  ASSERT_TRUE(folder);
  SystemClock clock;
  Rng rng(20260102);
  std::set<std::int64_t> trials, finished;
  for (int kill = 0; kill < kKills; ++kill) {
    // The first kills hit the creation of the workspace, the later ones any step of an experiment.
    const std::size_t reports = kill < 4 ? 0 : rng.below(3 * (kTrialsPerExperiment + 1));
    const std::chrono::microseconds delay(rng.below(25'000));
    for (const Report& report : kill_after(folder->path(), rng.next(), reports, delay)) {
      (report.kind == 't' ? trials : finished).insert(report.id);
    }
    auto workspace = Workspace::open(folder->path(), clock);
    ASSERT_TRUE(workspace) << "after kill " << kill << ": " << workspace.error().message;
    std::set<std::int64_t> found;
    const auto experiments = workspace->ledger().experiments();
    ASSERT_TRUE(experiments) << experiments.error().message;
    for (const Experiment& e : *experiments) {
      const auto recorded = workspace->ledger().trials(e.id);
      ASSERT_TRUE(recorded) << recorded.error().message;
      for (const Trial& t : *recorded) found.insert(t.id);
    }
    EXPECT_THAT(missing_from(found, trials), ::testing::IsEmpty()) << "after kill " << kill;
    for (std::int64_t id : finished)
      EXPECT_NE(workspace->ledger().experiment(id)->decision, Decision::kRunning);
    expect_refs_agree(*workspace);
  }
  EXPECT_GT(finished.size(), 5u);
}

}  // namespace
}  // namespace ak::ledger
