"""Runs a model under torch.profiler; writes a trace that `autokernel plan` reads, and a record of the model beside it.

    python -m autokernel.profile MODEL.py:Class --input 1x1024:int64 --output trace.json.gz --record profile.json

One JSON object on standard output says how it went; whatever the model prints goes to standard error. What can be named as a
model: model_spec.py. The record: docs/reference/profile-json.md.
"""
import argparse
import json
import os
import pathlib
import platform
import sys
import time
import traceback

from autokernel import capture
from autokernel.errors import Refusal, describe, is_out_of_memory
from autokernel.graph import layout
from autokernel.model_spec import check, load

DTYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}
OLDEST = (2, 1)
OLDEST_PYTHON = (3, 9)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="autokernel profile")
    parser.add_argument("model", nargs="?")
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--record", type=pathlib.Path, required=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", choices=["auto", *DTYPES], default="auto")
    for option in ("--module", "--factory", "--pretrained", "--config"):
        parser.add_argument(option)
    for option in ("--arg", "--config-arg", "--input", "--keyword"):
        parser.add_argument(option, action="append", default=[])
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=1)
    for option in ("--train", "--compile", "--no-graph"):
        parser.add_argument(option, action="store_true")
    return parser.parse_args(arguments)


def import_torch():
    if sys.version_info < OLDEST_PYTHON:
        raise Refusal(f"{sys.executable} is Python {platform.python_version()}; 3.9 is the oldest that serves: name another "
                      "interpreter with --python")
    try:
        import torch
    except ImportError as error:
        raise Refusal(f"{sys.executable} has no PyTorch ({error}): name the interpreter that has it with --python or in "
                      "$AUTOKERNEL_PYTHON") from error
    version = tuple(int("".join(filter(str.isdigit, part)) or 0) for part in torch.__version__.split(".")[:2])
    if version < OLDEST:
        raise Refusal(f"{sys.executable} has PyTorch {torch.__version__}; 2.1 is the oldest that serves: name another "
                      "interpreter with --python")
    return torch


def loss_of(output, torch):
    """The model's own loss where it has one, else the sum of the mean squares of its outputs."""
    loss = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
    if loss is not None:
        return loss
    tensors = [tensor for tensor in capture.tensors_of(output, torch) if tensor.is_floating_point() and tensor.requires_grad]
    if not tensors:
        raise Refusal("--train: no output of the model depends on a parameter that requires a gradient")
    return sum(tensor.float().square().mean() for tensor in tensors)


def label_modules(options, torch, model, is_module):
    """Labels the calls of the model's modules where that can be; returns what the column `in` of the plan then holds."""
    if not is_module:
        return "no column `in`: the model is a function, not a module"
    if options.compile:
        return "no column `in`: what torch.compile makes belongs to no module"
    if not capture.modules_labelled(torch, model.call, model.args, model.kwargs):
        return "no column `in`: with labels of its modules the model does other work"
    if options.train:
        return "the column `in` names modules of the forward pass; `-` is the backward pass, which runs in none"
    return "the column `in` names modules; `-` runs in none"


def prepare(options, torch, model):
    """(step, graph, why there is none)"""
    why_not = ("--train: a graph of the forward pass has no backward pass" if options.train else
               "--compile: torch.compile makes its own" if options.compile else
               "--no-graph" if options.no_graph else None)
    graph = None
    is_module = isinstance(model.call, torch.nn.Module)
    if why_not is None:
        graph, why_not = capture.capture(torch, model.call, model.args, model.kwargs)
    if graph is None:
        model.notes.append(label_modules(options, torch, model, is_module))
    run = torch.compile(model.call) if options.compile else model.call

    def infer():
        with torch.no_grad():
            if graph is not None:
                graph.run()
            else:
                run(*model.args, **model.kwargs)

    def train():
        if is_module:
            model.call.zero_grad(set_to_none=True)
        loss_of(run(*model.args, **model.kwargs), torch).backward()

    return train if options.train else infer, graph, why_not


def record(options, torch, step, on_gpu):
    """Profiles the steps, exports the trace; milliseconds of an iteration."""
    synchronize = torch.cuda.synchronize if on_gpu else lambda: None
    for _ in range(options.warmup):
        step()
    synchronize()
    activities = [torch.profiler.ProfilerActivity.CPU]
    if on_gpu:
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    begin = time.perf_counter()
    with torch.profiler.profile(activities=activities, record_shapes=True) as recorded:
        for _ in range(options.iterations):
            step()
        synchronize()
    seconds = time.perf_counter() - begin
    recorded.export_chrome_trace(str(options.output))
    return 1e3 * seconds / options.iterations


def tensors_by_name(torch, model):
    """How the weights lie in memory."""
    if not isinstance(model.call, torch.nn.Module):
        return []
    return [{"name": name, "kind": kind, **layout(tensor)}
            for kind, named in (("parameter", model.call.named_parameters()), ("buffer", model.call.named_buffers()))
            for name, tensor in named]


def inputs_of(torch, model):
    named = [*((str(place), value) for place, value in enumerate(model.args)), *model.kwargs.items()]
    return [{"name": name, **layout(value)} if isinstance(value, torch.Tensor) else {"name": name, "value": repr(value)[:200]}
            for name, value in named]


def profile(options, progress):
    check(options)
    torch = import_torch()
    device = options.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    on_gpu = device.startswith("cuda")
    if on_gpu and not torch.cuda.is_available():
        raise Refusal(f"--torch-device {device}: this PyTorch ({torch.__version__}) sees no GPU")
    dtype = options.dtype if options.dtype != "auto" else "bf16" if on_gpu else "f32"
    progress.update(device=device)
    if on_gpu:
        torch.cuda.set_device(device if ":" in device else 0)
    torch.manual_seed(0)
    model = load(options, torch, device, getattr(torch, DTYPES[dtype]))
    step, graph, why_not = prepare(options, torch, model)
    wall_ms = record(options, torch, step, on_gpu)
    result = {"schema": 1, "torch": torch.__version__, "dtype": dtype, "iterations": options.iterations,
              "device": torch.cuda.get_device_name(device) if on_gpu else "cpu", "wall_ms_per_iteration": wall_ms,
              "notes": model.notes, "graph_by": graph.how if graph else None, "graph_why_not": why_not}
    nodes = graph.nodes() if graph else []
    described = {"autokernel": "profile", "schema": 1, "trace": options.output.name, "torch": torch.__version__,
                 "python": sys.executable, "python_version": platform.python_version(), "device": result["device"],
                 "time": "device" if on_gpu else "cpu", "dtype": dtype, "iterations": options.iterations,
                 "wall_ms_per_iteration": wall_ms, "mode": "training" if options.train else "inference",
                 "compiled": options.compile, "model": options.model or f"{options.module}.{options.factory}",
                 "inputs": inputs_of(torch, model), "parameters": tensors_by_name(torch, model),
                 "graph": {"captured_by": result["graph_by"], "why_not": why_not, "nodes": nodes}}
    options.record.write_text(json.dumps(described, indent=1) + "\n")
    return result


def failure(error, progress):
    """What the model raised, as an answer."""
    answer = {"schema": 1, **describe(error)}
    if is_out_of_memory(error):
        answer["error"] = (f"out of memory on {progress.get('device', 'this machine')}: make the input smaller (--input, a shorter "
                           f"sequence or a smaller batch), or the dtype (--dtype bf16): {answer['error']}")
    return answer


def main(arguments):
    options = parse(arguments)
    # The model may print; what the program reads stays clean.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    progress = {}
    try:
        result, code = profile(options, progress), 0
    except Refusal as error:
        result, code = {"schema": 1, "error": str(error), "traceback": ""}, 2
    except SystemExit as error:
        result, code = {"schema": 1, "error": f"the model's file ended the interpreter (sys.exit({error.code!r})): put what it "
                                              "runs as a program under `if __name__ == \"__main__\":`", "traceback": ""}, 2
    except Exception as error:  # noqa: BLE001: the model's own
        traceback.print_exc()
        result, code = failure(error, progress), 1
    print(json.dumps(result), file=answer, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
