#include "autokernel/plan/step_binder.h"

#include <algorithm>

#include "autokernel/plan/tensor_layout.h"

namespace ak::plan {
namespace {

std::int64_t count_of(const Argument& argument) { return Layout{argument.dims, {}}.count(); }

}  // namespace

StepBinder::StepBinder(const op::Family& family, const op::Match& match,
                       std::span<const Arguments* const> steps, std::span<const SeenCast> casts,
                       const OpTraits& traits)
    : family_(family), match_(match), steps_(steps), casts_(casts), traits_(traits) {
  for (const op::MatchStep& step : match.steps) results_.insert(step.results.begin(), step.results.end());
}

std::optional<BoundProblem> StepBinder::run() {
  bind_from(0);
  return std::move(found_);
}

bool StepBinder::bind_from(std::size_t step) {
  if (step == match_.steps.size()) {
    found_ = bind_problem(family_, match_, bindings_);
    if (found_) note_texts();
    return found_.has_value();
  }
  const std::size_t before = bindings_.size();
  const bool commutes =
      traits_.commutative.contains(match_.steps[step].op) && match_.steps[step].arguments.size() >= 2;
  for (const bool swapped : {false, true}) {
    if (swapped && !commutes) break;
    if (bind_step(step, swapped) && bind_from(step + 1)) return true;
    bindings_.truncate(before);
  }
  // Some other view of the same kind: the step's own was not seen.
  return traits_.views.contains(match_.steps[step].op) && bind_from(step + 1);
}

/// Texts such as 'tanh' are never recorded: the match's own are assumed.
void StepBinder::note_texts() {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const op::MatchStep& step = match_.steps[i];
    for (std::size_t k = 0; steps_[i] != nullptr && k < std::min(step.arguments.size(), steps_[i]->size());
         ++k) {
      if (step.arguments[k].text.starts_with('\'') && (*steps_[i])[k].value.empty())
        found_->assumed.push_back(fmt::format("{} of {}", step.arguments[k].text, step.op));
    }
  }
}

bool StepBinder::bind_step(std::size_t step, bool swapped) {
  if (steps_[step] == nullptr) return true;  // a view that was not seen
  const std::vector<op::MatchArgument>& patterns = match_.steps[step].arguments;
  const Arguments& arguments = *steps_[step];
  const std::size_t rank = arguments.empty() ? 0 : arguments[0].dims.size();
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const std::size_t place = swapped && i < 2 ? 1 - i : i;
    // Arguments that this version of PyTorch does not have are those that it leaves out.
    if (place < arguments.size() && !bind_argument(step, patterns[i], arguments[place], rank)) return false;
  }
  return true;
}

bool StepBinder::bind_argument(std::size_t step, const op::MatchArgument& pattern, const Argument& argument,
                               std::size_t rank) {
  using Kind = op::MatchArgument::Kind;
  switch (pattern.kind) {
    case Kind::kAny:
    case Kind::kExpression:
      return true;
    case Kind::kLiteral:
      return literal_fits(pattern.text, argument, rank);
    case Kind::kName:
      return bind_name(step, pattern.text, argument);
    case Kind::kList:
      if (argument.kind == Argument::Kind::kValue) {  // [N]: shapes tell the dims
        const auto numbers = numbers_of(argument.value);
        return numbers && numbers->size() == pattern.items.size();
      }
      if (argument.kind != Argument::Kind::kList || argument.items.size() != pattern.items.size())
        return false;
      for (std::size_t i = 0; i < pattern.items.size(); ++i) {
        if (!bind_argument(step, pattern.items[i], argument.items[i], rank)) return false;
      }
      return true;
  }
  return false;
}

bool StepBinder::bind_name(std::size_t step, const std::string& name, const Argument& argument) {
  const op::TensorSpec* tensor = family_.tensor(name);
  const bool result = results_.contains(name);
  if (result || (tensor != nullptr && !tensor->optional)) {
    if (argument.kind != Argument::Kind::kTensor || (argument.dims.empty() && !argument.strides.empty()))
      return false;
    if (tensor != nullptr && argument.dims.empty() && !tensor->shape.empty()) return false;  // a number
  } else if (tensor != nullptr && argument.kind == Argument::Kind::kTensor && argument.dims.empty()) {
    return false;
  } else if (family_.scalar(name) != nullptr && !argument.dims.empty()) {
    return false;
  }
  if (const Argument* earlier = bindings_.find(name)) {
    // Views between the steps may change the shape, not the number of elements.
    return earlier->kind == argument.kind && count_of(*earlier) == count_of(argument);
  }
  bindings_.add(name, tensor != nullptr && !result ? &before_cast(step, argument) : &argument);
  return true;
}

/// A tensor that a cast of the sequence has just made is the one before the cast.
const Argument& StepBinder::before_cast(std::size_t step, const Argument& argument) const {
  for (const SeenCast& cast : casts_) {
    if (cast.step > step || cast.arguments->empty()) continue;
    const Argument& source = (*cast.arguments)[0];
    if (source.kind == Argument::Kind::kTensor && source.dims == argument.dims &&
        source.dtype != argument.dtype)
      return source;
  }
  return argument;
}

}  // namespace ak::plan
