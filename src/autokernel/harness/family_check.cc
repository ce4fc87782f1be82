#include "autokernel/harness/family_check.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "autokernel/harness/comparison.h"
#include "autokernel/harness/family_costs.h"
#include "autokernel/harness/sizes.h"
#include "autokernel/harness/verifier.h"

namespace ak::harness {
namespace {

constexpr std::size_t kFewestDraws = 5, kFewestKinds = 3;  ///< HARNESS.md, input.secret
constexpr std::chrono::milliseconds kDeadline{30'000};

using Arrays = std::map<std::string, std::vector<std::byte>>;  ///< of the reference, by name

class FamilyCheck {
 public:
  explicit FamilyCheck(Context& context)
      : context_(context),
        family_(context.family),
        references_(context.device, context.compiler, References::Trusted::kNo) {}

  Result<std::vector<FamilyFinding>> run() {
    findings_ = check_costs(family_);
    check_draws();
    AK_TRY(problems, problems_to_run());
    for (const Problem& problem : problems) {
      const std::size_t before = findings_.size();
      AK_TRY_VOID(run_problem(problem));
      if (findings_.size() > before) break;  // the others would say the same
    }
    if (findings_.empty()) judge_what_was_seen();
    return std::move(findings_);
  }

 private:
  void find(std::string what, std::string remedy) {
    findings_.push_back({std::move(what), std::move(remedy)});
  }

  void check_draws() {
    std::set<std::string> kinds;
    for (const op::Draw& draw : family_.draws) {
      for (const auto& [tensor, distribution] : draw.tensors) kinds.insert(distribution.kind);
    }
    if (family_.draws.size() >= kFewestDraws && kinds.size() >= kFewestKinds) return;
    find(fmt::format("op.toml: {} draws of {} kinds of distributions", family_.draws.size(), kinds.size()),
         fmt::format(
             "give at least {} [[draw]] tables that use at least {} kinds, each to catch something: a kernel "
             "that assumes the inputs' distribution passes otherwise",
             kFewestDraws, kFewestKinds));
  }

  /// Small ones: the smoke sizes in every dtype, the others in one.
  Result<std::vector<Problem>> problems_to_run() {
    const Limits limits = context_.limits.small();
    std::vector<Problem> problems;
    for (DType dtype : family_.dtypes) {
      for (const char* set : {"smoke", "sweep", "edge"}) {
        auto sizes = family_.sizes.find(set);
        if (sizes == family_.sizes.end() ||
            (std::string_view(set) != "smoke" && dtype != family_.dtypes.front())) {
          continue;
        }
        for (const op::Size& size : sizes->second) {
          Result<Problem> problem = op::make_problem(family_, size, dtype);
          if (!problem) continue;  // check_costs said so
          Result<std::optional<std::string>> large = too_large(family_, *problem, limits);
          if (large && !*large) problems.push_back(std::move(*problem));
        }
      }
    }
    if (problems.empty() && findings_.empty()) {
      find("op.toml: no size of smoke, sweep or edge is small",
           "give sizes of at most 65536 elements in `smoke`: they run first, and on every device");
    }
    return problems;
  }

  Status run_problem(const Problem& problem) {
    Placement placement{device::Guard::kEndFlush};
    AK_TRY(data, DataSet::allocate(context_.device, family_, problem, placement));
    AK_TRY(truth, Truth::allocate(context_.device, family_, problem, device::Access::kReadWrite));
    Result<std::vector<device::Step>> reference = references_.steps(family_, problem, data, truth);
    if (!reference) {
      find(fmt::format("reference.cu on {}: {}", problem.label(), reference.error().message),
           "correct reference.cu; its parameters are described in docs/reference/op-family.md");
      return {};
    }
    for (const op::Draw& draw : family_.draws) {
      const std::size_t before = findings_.size();
      AK_TRY_VOID(run_draw(problem, draw, data, truth, *reference));
      if (findings_.size() > before) return {};
    }
    return {};
  }

  Status run_draw(const Problem& problem, const op::Draw& draw, const DataSet& data, const Truth& truth,
                  std::span<const device::Step> reference) {
    const std::string where = fmt::format("{} [{}]", problem.label(), draw.name);
    const std::uint64_t seed = context_.seeds.next();
    if (Status drawn = fill(problem, draw, data, seed, ""); !drawn) {
      find(fmt::format("draw {} on {}: {}", draw.name, problem.label(), drawn.error().message),
           "correct the distributions of this [[draw]] in op.toml");
      return {};
    }
    AK_TRY(first, arrays(truth, reference, 1, where));
    if (!first) return {};
    AK_TRY(again, arrays(truth, reference, 1, where));
    AK_TRY(other, arrays(truth, reference, 2, where));
    if (!again || !other ||
        differs(*first, *again, where, kRepeatRemedy, "differs between two runs on the same inputs") ||
        differs(*first, *other, where, kWriteRemedy,
                "depends on what the buffer held before: it is not written")) {
      return {};
    }
    AK_TRY_VOID(check_tolerance(problem, draw, data, truth, where));
    return check_dependence(problem, draw, data, truth, reference, seed, *first, where);
  }

  static constexpr const char* kRepeatRemedy =
      "remove what depends on the order of threads (atomics, races): one thread an element or a row";
  static constexpr const char* kWriteRemedy = "write every element of every array, zeros included";

  /// Fills the inputs; one of them from another seed.
  Status fill(const Problem& problem, const op::Draw& draw, const DataSet& data, std::uint64_t seed,
              const std::string& other) {
    AK_TRY(steps, input_steps(context_, problem, data, draw, nullptr, seed));
    if (!other.empty()) {
      AK_TRY(changed, input_steps(context_, problem, data, draw, nullptr, seed ^ 0x5bd1e995));
      const auto at = std::find(data.inputs().begin(), data.inputs().end(), other) - data.inputs().begin();
      steps[static_cast<std::size_t>(at)] = std::move(changed[static_cast<std::size_t>(at)]);
    }
    return run_trusted(context_, steps);
  }

  /// Poisons, runs the reference, reads what it wrote; nullopt: it failed, and a finding says how.
  Result<std::optional<Arrays>> arrays(const Truth& truth, std::span<const device::Step> reference,
                                       std::uint64_t poison, const std::string& where) {
    std::vector<device::Step> before;
    for (const auto& [name, view] : truth.arrays()) {
      AK_TRY(step, context_.trusted.poison(view, poison, Poison::kFinite));
      before.push_back(std::move(step));
    }
    AK_TRY_VOID(run_trusted(context_, before));
    AK_TRY(outcome, context_.device.run(reference, kDeadline));
    if (outcome.fault) {
      find(fmt::format("reference.cu on {}: {}", where, outcome.fault->message),
           "correct reference.cu, or the shapes and sizes in op.toml that it disagrees with");
      return std::optional<Arrays>();
    }
    Arrays read;
    for (const auto& [name, view] : truth.arrays()) {
      std::vector<std::byte>& bytes = read[name];
      bytes.resize(view.elements * size_bytes(view.dtype));
      AK_TRY_VOID(context_.device.read(view.at, bytes));
    }
    return std::optional(std::move(read));
  }

  bool differs(const Arrays& a, const Arrays& b, const std::string& where, const char* remedy,
               const char* how) {
    for (const auto& [name, bytes] : a) {
      const std::vector<std::byte>& others = b.at(name);
      const auto at = std::mismatch(bytes.begin(), bytes.end(), others.begin()).first;
      if (at == bytes.end()) continue;
      find(fmt::format("reference.cu on {}: {} {} (at byte {} of {})", where, name, how, at - bytes.begin(),
                       bytes.size()),
           remedy);
      return true;
    }
    return false;
  }

  /// The contract is within the tolerance; are zeros?
  Status check_tolerance(const Problem& problem, const op::Draw& draw, const DataSet& data,
                         const Truth& truth, const std::string& where) {
    for (const auto& [output, arrays] : truth.outputs()) {
      View y = data.view(output);
      y.at = arrays.b;
      AK_TRY(contract, compare_with_truth(context_, y, arrays, problem.dtype, 0));
      if (contract.bad > 0) {
        find(fmt::format("the contract of {} on {}: {} of {} elements are off by more than the tolerance, "
                         "the worst, at "
                         "{}, by {:.3g} times it",
                         output, where, contract.bad, y.elements, contract.worst_at, contract.worst),
             fmt::format("either `reference` and `contract` of reference.cu compute different things, or "
                         "{}_S is smaller "
                         "than the error of fp32 rounding",
                         output));
        return {};
      }
      const device::Step zeros = device::Fill{y.at, y.elements * size_bytes(y.dtype), 0};
      AK_TRY_VOID(run_trusted(context_, {&zeros, 1}));
      AK_TRY(zero, compare_with_truth(context_, y, arrays, problem.dtype, 0));
      if (zero.bad > 0) zeros_fail_.insert({output, draw.name});
      if (zero.worst > 0) nonzero_.insert({output, draw.name});  // a draw may make every result zero
      outputs_.insert(output);
    }
    return {};
  }

  Status check_dependence(const Problem& problem, const op::Draw& draw, const DataSet& data,
                          const Truth& truth, std::span<const device::Step> reference, std::uint64_t seed,
                          const Arrays& first, const std::string& where) {
    for (const std::string& input : data.inputs()) {
      if (depends_.contains(input)) continue;
      AK_TRY_VOID(fill(problem, draw, data, seed, input));
      AK_TRY(changed, arrays(truth, reference, 1, where));
      if (!changed) return {};
      for (const auto& [output, each] : truth.outputs()) {
        if (first.at(output + "_r") != changed->at(output + "_r")) depends_.insert(input);
      }
    }
    return {};
  }

  /// What no problem and no draw has shown.
  void judge_what_was_seen() {
    for (const op::TensorSpec& tensor : family_.tensors) {
      if (tensor.role == op::TensorRole::kOut) {
        if (!outputs_.contains(tensor.name) && !tensor.with.empty())
          continue;  // said of the input it goes with
        std::vector<std::string> passes;
        bool fails = false;
        for (const op::Draw& draw : family_.draws) {
          const bool caught = zeros_fail_.contains({tensor.name, draw.name});
          fails = fails || caught;
          if (!caught && nonzero_.contains({tensor.name, draw.name})) passes.push_back(draw.name);
        }
        if (fails && passes.empty()) continue;
        find(fmt::format("{}: a kernel that writes zeros would pass under {}", tensor.name,
                         fails ? fmt::format("the draw {}", passes.front()) : "every draw"),
             fmt::format("{}_S in reference.cu or `c` is too large, or the draws make every result zero",
                         tensor.name));
      } else if (!depends_.contains(tensor.name)) {
        find(fmt::format("no output depends on {}{}", tensor.name,
                         tensor.optional ? ", or no small size has it" : ""),
             fmt::format("use {} in reference.cu, draw it at random, and, if it is optional, list it in "
                         "`has` of a size "
                         "of smoke; or remove it from op.toml",
                         tensor.name));
      }
    }
  }

  Context& context_;
  const op::Family& family_;
  References references_;
  std::vector<FamilyFinding> findings_;
  std::set<std::string> outputs_, depends_;
  std::set<std::pair<std::string, std::string>> zeros_fail_, nonzero_;  ///< output, draw
};

}  // namespace

Result<std::vector<FamilyFinding>> check_family(Context& context) { return FamilyCheck(context).run(); }

Json to_json(const FamilyFinding& finding) { return {{"what", finding.what}, {"remedy", finding.remedy}}; }

Result<std::vector<FamilyFinding>> family_findings_from_json(const Json& json, const std::string& what) {
  if (!json.is_array()) return usage_error("{}: expected a list", what);
  std::vector<FamilyFinding> findings;
  for (const Json& each : json) {
    AK_TRY(fields, JsonReader::object(each, what));
    AK_TRY(found, fields.get_string("what"));
    AK_TRY(remedy, fields.get_string("remedy"));
    findings.push_back({std::move(found), std::move(remedy)});
  }
  return findings;
}

}  // namespace ak::harness
