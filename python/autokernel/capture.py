"""The model as an FX graph, where one can be had that does the model's own work.

torch.fx.symbolic_trace comes first, since it keeps the model's modules and functions; then torch.export. A graph is taken
only if its outputs are the model's and it runs the same ATen ops as often: what is profiled is the model that the user runs.
"""
import collections
import inspect
import warnings

from autokernel.errors import first_line
from autokernel.graph import Graph, label_modules

# They do no work. Captures add or drop them.
FREE_OPS = {"aten::alias", "aten::detach", "aten::detach_", "aten::lift_fresh", "detach", "detach_"}
TOLERANCE = {"float64": 1e-10, "float32": 1e-5, "float16": 1e-2, "bfloat16": 2e-2}
SIMPLE = (bool, int, float, str, type(None))
SHOWN_OPS = 3


class NoGraph(Exception):
    """Why this way of capturing does not serve."""


def leaves(value):
    """The items of nested tuples, lists and dicts, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def tensors_of(value, torch):
    """All tensors of an output: also those of objects that hold some."""
    found = []
    for leaf in leaves(value):
        if isinstance(leaf, torch.Tensor):
            found.append(leaf)
        elif hasattr(leaf, "__dict__") and not callable(leaf):
            found += [tensor for each in vars(leaf).values() for tensor in tensors_of(each, torch)]
    return found


def fresh(value, torch):
    """The same inputs again, for a model that changes them."""
    if isinstance(value, torch.Tensor):
        return value.clone()
    if type(value) in (tuple, list):
        return type(value)(fresh(item, torch) for item in value)
    if type(value) is dict:
        return {key: fresh(item, torch) for key, item in value.items()}
    return value


class Observed:
    """One run: its output tensors, and how often each ATen op was called. The second run, when caches are filled."""

    def __init__(self, torch, run):
        with torch.no_grad():
            run()
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as recorded:
                output = run()
        self.tensors = tensors_of(output, torch)
        self.ops, self.times = collections.Counter(), collections.Counter()
        for event in recorded.key_averages():
            if "::" in event.key and event.key not in FREE_OPS and not event.key.startswith(("aten::_assert", "profiler::")):
                self.ops[event.key] += event.count
                self.times[event.key] += event.self_cpu_time_total


def other_work(expected, found):
    """What ops are called more or less often; None: none."""
    different = [op for op in {*expected.ops, *found.ops} if expected.ops[op] != found.ops[op]]
    if not different:
        return None
    different.sort(key=lambda op: (-max(expected.times[op], found.times[op]), op))  # what takes the most time tells the most
    shown = ", ".join(f"{op} {found.ops[op]} instead of {expected.ops[op]} times" for op in different[:SHOWN_OPS])
    rest = f" and {len(different) - SHOWN_OPS} other ops" if len(different) > SHOWN_OPS else ""
    return f"it runs other ops than the model: {shown}{rest}"


def other_outputs(torch, expected, found):
    if len(expected.tensors) != len(found.tensors):
        return f"{len(found.tensors)} output tensors instead of {len(expected.tensors)}"
    for place, (want, got) in enumerate(zip(expected.tensors, found.tensors)):
        if (want.shape, want.dtype) != (got.shape, got.dtype):
            return f"output {place} is {got.dtype} {tuple(got.shape)} instead of {want.dtype} {tuple(want.shape)}"
        tolerance = TOLERANCE.get(str(want.dtype).removeprefix("torch."), 0)
        scale = want.detach().abs().nan_to_num(0, 0, 0).max().item() if tolerance and want.numel() else 0
        if not torch.allclose(want, got, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
            return f"output {place} differs from the model's"
    return None


def traced(torch, model, args, kwargs):
    """(module, inputs in the order of its placeholders) of torch.fx.symbolic_trace."""
    signature = inspect.signature(model.forward if isinstance(model, torch.nn.Module) else model)
    if any(each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in signature.parameters.values()):
        raise NoGraph("its forward takes *args or **kwargs")
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    constants = {name: value for name, value in bound.arguments.items() if not isinstance(value, torch.Tensor)}
    for name, value in constants.items():
        if not isinstance(value, SIMPLE):
            raise NoGraph(f"the input `{name}` is a {type(value).__name__}")
    return torch.fx.symbolic_trace(model, concrete_args=constants or None), list(bound.arguments.values())


def exported(torch, model, args, kwargs):
    """The same of torch.export."""
    if not isinstance(model, torch.nn.Module):
        raise NoGraph("the model is no torch.nn.Module")
    if not hasattr(torch, "export"):
        raise NoGraph(f"PyTorch {torch.__version__} has none")
    program = torch.export.export(model, args, kwargs or None)
    return program.module(), leaves((args, kwargs))


def capture(torch, model, args, kwargs):
    """(Graph, None), or (None, why there is none, in one line). The graph runs on copies of the inputs."""
    expected = Observed(torch, lambda: model(*fresh(args, torch), **fresh(kwargs, torch)))
    reasons = []
    for name, way in (("torch.fx", traced), ("torch.export", exported)):
        try:
            with warnings.catch_warnings(), torch.no_grad():
                warnings.simplefilter("ignore")
                graph = Graph(torch, *way(torch, model, args, kwargs), name)
                graph.observe(fresh(graph.inputs, torch))
            found = Observed(torch, lambda graph=graph: graph.run(fresh(graph.inputs, torch)))
            reason = other_outputs(torch, expected, found)
            if reason and other_outputs(torch, expected, Observed(torch, lambda: model(*fresh(args, torch), **fresh(kwargs, torch)))):
                return None, "the model's outputs differ from call to call (random numbers, or a state)"
            reason = reason or other_work(expected, found)
        except NoGraph as error:
            reason = str(error)
        except Exception as error:  # noqa: BLE001: whatever a capture says is why there is no graph
            reason = first_line(error)
        if reason is None:
            return graph, None
        reasons.append(f"{name}: {reason}")
    return None, "; ".join(reasons)


def modules_labelled(torch, model, args, kwargs):
    """Labels each module's call where that leaves the model's work as it is (some modules have paths that hooks turn off).
    Returns whether it does."""
    def run():
        return model(*fresh(args, torch), **fresh(kwargs, torch))

    expected = Observed(torch, run)
    hooks = label_modules(torch, model)
    if other_work(expected, Observed(torch, run)) is None:
        return True
    for hook in hooks:
        hook.remove()
    return False
