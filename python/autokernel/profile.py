"""Runs a model under torch.profiler and exports a trace that `autokernel plan` reads.

    python -m autokernel.profile MODEL.py --output trace.json.gz

MODEL.py defines `build(device, dtype)`, which returns `(model, inputs)`: a module (or any callable) and the tuple of its
arguments, on that device; a third item, a dict, holds keyword arguments. One JSON object on standard output says how it
went; whatever the model prints goes to standard error.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import sys
import time
import traceback

DTYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}


class Refusal(Exception):
    """What the user can mend; the message says how."""


def parse(arguments):
    parser = argparse.ArgumentParser(prog="autokernel profile")
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", choices=["auto", *DTYPES], default="auto")
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=1)
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--compile", action="store_true")
    return parser.parse_args(arguments)


def load_build(path):
    """The function `build` of the model's file."""
    if not path.is_file():
        raise Refusal(f"{path}: no such file (a Python file with build(device, dtype) was expected)")
    spec = importlib.util.spec_from_file_location("autokernel_model", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.resolve().parent))
    spec.loader.exec_module(module)
    if not callable(getattr(module, "build", None)):
        raise Refusal(f"{path}: it defines no build(device, dtype) that returns (model, inputs)")
    return module.build


def tensors_of(value, torch):
    """All floating-point tensors in an output: tensors, tuples, lists, dicts and dataclasses of them."""
    if isinstance(value, torch.Tensor):
        return [value] if value.is_floating_point() else []
    if isinstance(value, dict):
        value = list(value.values())
    elif not isinstance(value, (tuple, list)) and hasattr(value, "__dict__"):
        value = list(vars(value).values())
    if isinstance(value, (tuple, list)):
        return [tensor for item in value for tensor in tensors_of(item, torch)]
    return []


def loss_of(output, torch):
    """The model's own loss where it has one, else the sum of the squares of its outputs."""
    loss = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
    if loss is not None:
        return loss
    tensors = [tensor for tensor in tensors_of(output, torch) if tensor.requires_grad]
    if not tensors:
        raise Refusal("--train: no output of the model depends on a parameter that requires a gradient")
    return sum(tensor.float().square().mean() for tensor in tensors)


def make_step(options, torch, device, dtype):
    built = load_build(options.model)(device, dtype)
    if not isinstance(built, tuple) or not 2 <= len(built) <= 3 or not callable(built[0]):
        raise Refusal(f"{options.model}: build(device, dtype) must return (model, inputs) or (model, inputs, keywords)")
    model, inputs, keywords = (*built, {})[:3]
    inputs = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    if isinstance(model, torch.nn.Module):
        model.train(options.train)
    run = torch.compile(model) if options.compile else model

    def step():
        if not options.train:
            with torch.no_grad():
                run(*inputs, **keywords)
            return
        if isinstance(model, torch.nn.Module):
            model.zero_grad(set_to_none=True)
        loss_of(run(*inputs, **keywords), torch).backward()

    return step


def profile(options):
    try:
        import torch
    except ImportError as error:
        raise Refusal(f"{sys.executable} has no PyTorch ({error}): name the interpreter that has it with --python") from error
    device = options.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    on_gpu = device.startswith("cuda")
    if on_gpu and not torch.cuda.is_available():
        raise Refusal(f"--device {device}: this PyTorch ({torch.__version__}) sees no GPU")
    dtype = options.dtype if options.dtype != "auto" else "bf16" if on_gpu else "f32"
    step = make_step(options, torch, device, getattr(torch, DTYPES[dtype]))
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
    return {"schema": 1, "trace": str(options.output), "torch": torch.__version__, "dtype": dtype,
            "device": torch.cuda.get_device_name(device) if on_gpu else "cpu",
            "iterations": options.iterations, "wall_ms_per_iteration": 1e3 * seconds / options.iterations}


def main(arguments):
    # The model may print; what the program reads stays clean.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    try:
        result, code = profile(parse(arguments)), 0
    except Refusal as error:
        result, code = {"schema": 1, "error": str(error)}, 2
    except Exception as error:  # the model's own
        traceback.print_exc()
        place = traceback.extract_tb(error.__traceback__)[-1]
        result, code = {"schema": 1, "error": f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})"}, 1
    print(json.dumps(result), file=answer, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
