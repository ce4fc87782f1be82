#pragma once
// The model as a whole: per site what it costs today, what was reached, and, only where everything was
// measured on one GPU, the model's time with our kernels as Amdahl's law projects it. A projection until the
// kernels run in the model.
//
//   ModelReport model = ...;   // plan, ledger and PyTorch's times
//   project(model);
//   fmt::print("{}", terminal(model));

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "autokernel/base/json.h"

namespace ak::report {

/// Two processes' times of one kernel differ by up to this, though nothing changed: less is "as fast".
inline constexpr double kAsFast = 1.05;
/// PyTorch in the harness and in the model differ by more than this: they do not run the same.
inline constexpr double kSamePath = 2;

struct SiteRow {
  std::string site, target, problem;
  std::string reduced;  ///< the smaller problem that our times are of; empty: `problem` itself
  double calls = 0;
  double model_us = 0;  ///< of all calls, in the trace
  double share = 0;     ///< of the model's time
  std::optional<double> start_us,
      best_us;          ///< one call of our starter and of our best kernel, in the harness
  double speedup = 1;   ///< confirmed, of the best over the start
  std::string config;   ///< of the best
  std::string verdict;  ///< what became of it, e.g. "kept", or why it was left
  std::size_t trials = 0;
  double spent_s = 0;  ///< on its trials
  std::map<std::string, double>
      torch_us;  ///< one call of PyTorch in the harness: "eager", "fused", "compile"

  // By project():
  std::string path;             ///< PyTorch's way that the model takes today
  std::optional<double> ratio;  ///< its time / ours, both in the harness
  double after_us = 0;          ///< of all calls in the model, projected; model_us where nothing is gained
  std::string answer;           ///< "faster", "as fast", "slower", or why it is not known
};

struct ModelReport {
  std::string device_kind, device_name;  ///< of our kernels
  std::string trace_device;              ///< of the trace
  double total_us = 0;                   ///< of the model, in the trace
  std::vector<SiteRow> sites;
  bool projected = false;
  double after_us = 0;        ///< of the model, projected
  std::string no_projection;  ///< why nothing is
};

/// Which of PyTorch's eager ways takes the time that the trace shows: the nearest one, the faster of two
/// equals; nullopt: none within a factor of kSamePath. torch.compile is none: plain models do not run it.
std::optional<std::string> path_in_model(const std::map<std::string, double>& torch_us, double call_us);

/// Fills what is projected. A site gains where ours beats the path that the model takes by more than kAsFast,
/// both in the harness and so from the same caches: its time in the trace is divided by that ratio.
void project(ModelReport& model);

std::string terminal(const ModelReport& model);
std::string markdown(const ModelReport& model);
std::string html(const ModelReport& model);
Json to_json(const ModelReport& model);  ///< null where nothing is projected

}  // namespace ak::report
