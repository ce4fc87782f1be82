#pragma once
// One function per subcommand; command_line.cc parses the options. Each returns its exit code (DESIGN section
// 12).

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "autokernel/cli/session.h"
#include "autokernel/kernel/kernel_file.h"
#include "autokernel/torch/profile_model.h"

namespace ak::cli {

/// Where a kernel file's problems come from: --op, --dims, --dtype, --sizes, or target.toml beside the file.
struct TargetOptions {
  std::string op;
  std::vector<std::string> dims;  ///< each "M=4096,N=4096": one problem
  std::vector<std::string> dtypes;
  std::string sizes;  ///< a size set of the family
};

struct BenchOptions {
  std::string file;
  TargetOptions target;
  std::vector<std::string> set;
  bool quick = false;
  bool explain = false;   ///< also what the compiled code uses and how well
  bool baseline = false;  ///< time PyTorch too
  std::string seed;       ///< hexadecimal; empty: a secret one
};
Result<int> run_bench(Session& session, const BenchOptions& options);

struct CompareOptions {
  std::string incumbent, candidate;
  TargetOptions target;
  std::vector<std::string> set_incumbent, set_candidate;
};
Result<int> run_compare(Session& session, const CompareOptions& options);

struct LaunchOptions {
  std::string file;
  TargetOptions target;
  std::vector<std::string> set;
  std::uint32_t repeats = 1;
  std::uint64_t seed = 1;
};
Result<int> run_launch(Session& session, const LaunchOptions& options);

struct CompileOptions {
  std::string file;
  TargetOptions target;
  std::vector<std::string> set;
  std::string arch = "cpu";
  std::string output;  ///< the binary is written there
  bool ptx = false;
  int repeat = 0;  ///< further compiles, timed
};
Result<int> run_compile(Session& session, const CompileOptions& options);

struct TuneOptions {
  std::string file;
  TargetOptions target;
  std::map<std::string, std::string>
      settings;  ///< flags that are settings: strategy, budget, seed, threshold
  std::string tag = "tune";
  bool fresh = false;
  bool write = false;  ///< the winner becomes the [defaults] of FILE itself
  bool dry_run = false;
};
Result<int> run_tune(Session& session, const TuneOptions& options);

struct PlanOptions {
  std::string file;      ///< a trace or profile.json; empty: the plan of the workspace
  std::size_t top = 20;  ///< rows of text
};
Result<int> run_plan(Session& session, const PlanOptions& options);

/// A model of PyTorch and how to run it: profile, optimize.
struct ModelOptions {
  torch::ModelSpec model;
  std::string torch_device, dtype;  ///< empty: auto
  std::string export_trace;         ///< the trace is copied there
  int iterations = 1;
  int warmup = 3;
  bool train = false;
  bool compile = false;
  bool no_graph = false;
  bool operator==(const ModelOptions&) const = default;
};

struct ProfileOptions {
  ModelOptions model;
  std::size_t top = 20;
};
Result<int> run_profile(Session& session, const ProfileOptions& options);

struct ExtractOptions {
  std::size_t top = 5;
};
Result<int> run_extract(Session& session, const ExtractOptions& options);

struct OptimizeOptions {
  std::string file;     ///< a trace, profile.json or model; empty: the workspace's plan
  ModelOptions model;   ///< how a model is run
  std::size_t top = 5;  ///< sites
  std::map<std::string, std::string> settings;  ///< flags: strategy, budget, seed, threshold
};
Result<int> run_optimize(Session& session, const OptimizeOptions& options);

struct CampaignOptions {
  std::size_t top = 5;
};
Result<int> run_status(Session& session, const CampaignOptions& options);
Result<int> run_next(Session& session, const CampaignOptions& options);

struct RecordOptions {
  std::string target;  ///< empty: the only one that was edited
  std::string note;    ///< why the edit should be faster
};
Result<int> run_record(Session& session, const RecordOptions& options);

struct HistoryOptions {
  std::string target, tag;
  std::string experiment;  ///< its number
};
Result<int> run_log(Session& session, const HistoryOptions& options);
Result<int> run_show(Session& session, const HistoryOptions& options);
Result<int> run_report(Session& session);

struct OpsOptions {
  std::string name;
};
Result<int> run_ops(Session& session, const OpsOptions& options);
/// The families of the folders given with --ops.
Result<int> run_ops_check(Session& session);

struct ExplainOptions {
  std::string topic;  ///< a failure kind or the id of a check
};
Result<int> run_explain(Session& session, const ExplainOptions& options);
struct DevicesOptions {
  bool measure = false;  ///< measures the peaks of every GPU anew
};
Result<int> run_devices(Session& session, const DevicesOptions& options);
Result<int> run_doctor(Session& session);
Result<int> run_config(Session& session);

struct SelftestOptions {
  bool mutate = false;   ///< prove each cheat's list of checks
  bool suggest = false;  ///< print what each cheat's list would be on this device
  std::string only;      ///< one case by name
};
Result<int> run_selftest(Session& session, const SelftestOptions& options);

/// What `selftest` alone passes; the verdicts of such a worker are marked, and nobody else takes them.
struct WorkerOptions {
  bool selftest = false;
  std::vector<std::string> without;  ///< checks that are off
  double clock_skew = 1;             ///< the device's timer runs slow by this factor
};
Result<int> run_worker(Session& session, const WorkerOptions& options);
/// The hidden commands of child processes: __runner, __jail, __nvrtc.
Result<int> run_runner(Session& session, const WorkerOptions& options);

/// A kernel file with the target that the options give it. Shared by bench, compare, compile and tune.
struct LoadedKernel {
  kernel::KernelFile file;
  Target target;
  bool reference = false;  ///< it is a reference.cu
};
/// kCompile: a reference.cu will do too. kRead: nothing is going to be measured, so that sizes that a
/// rehearsal reduces are not announced.
enum class Purpose { kMeasure, kCompile, kRead };
/// Says that a smaller problem stands for a target's on this device; once a command.
void announce_rehearsal(Session& session, const std::string& problem, const std::string& stand_in);
Result<LoadedKernel> load_kernel(Session& session, const std::string& path, const TargetOptions& options,
                                 const DeviceInfo& device, Purpose purpose = Purpose::kMeasure);

}  // namespace ak::cli
