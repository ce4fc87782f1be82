"""Times of PyTorch's own ways to compute a problem, as a child of the autokernel binary.

Reads one JSON request from standard input and writes JSON lines to standard output: a greeting, then one answer for each
problem. Every path is captured in a CUDA graph over rotating sets of inputs (together at least four times the L2 cache, at
most 64 sets), so that a call finds its inputs where our kernels find theirs: not in the cache. What PyTorch cannot run is
answered with its error, never with a time.

  {"device": "cuda", "l2_bytes": 62914560, "replays": 30, "compile": true, "problems": [
    {"id": "p0", "torch_py": "...", "flags": {}, "scalars": {}, "dims": {},
     "inputs": [{"name": "x", "shape": [4, 4], "dtype": "f16"}, {"name": "t", "shape": [4], "dtype": "i64", "low": 0, "high": 9}]}]}
"""
import importlib.util
import inspect
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

MAX_SETS = 64
WARM_UPS = 3


def answer(channel, **fields):
    channel.write(json.dumps(fields) + "\n")
    channel.flush()


def short(error):
    """The first line that says something, without a stack."""
    lines = [line for line in f"{type(error).__name__}: {error}".splitlines() if line.strip()]
    return lines[0][:300] if lines else type(error).__name__


def tensor(torch, spec, device, generator):
    shape = spec["shape"]
    if spec["dtype"] in ("i32", "i64"):
        dtype = {"i32": torch.int32, "i64": torch.int64}[spec["dtype"]]
        return torch.randint(int(spec["low"]), int(spec["high"]), shape, dtype=dtype, device=device, generator=generator)
    dtype = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[spec["dtype"]]
    return torch.randn(shape, dtype=torch.float32, device=device, generator=generator).to(dtype)


def bytes_of(spec):
    count = {"f32": 4, "f16": 2, "bf16": 2, "i32": 4, "i64": 8}[spec["dtype"]]
    for extent in spec["shape"]:
        count *= extent
    return count


class Timer:
    def __init__(self, torch, device, l2_bytes, replays):
        self.torch, self.device, self.l2_bytes, self.replays = torch, device, l2_bytes, replays

    def sets(self, problem):
        total = sum(bytes_of(spec) for spec in problem["inputs"])
        count = 1 if self.device == "cpu" else max(1, min(MAX_SETS, -(-4 * self.l2_bytes // max(1, total))))
        generator = self.torch.Generator(self.device)
        generator.manual_seed(1)
        return [{spec["name"]: tensor(self.torch, spec, self.device, generator) for spec in problem["inputs"]}
                for _ in range(count)]

    def time(self, function, sets):
        """Median microseconds of one call."""
        for _ in range(WARM_UPS):
            for inputs in sets:
                function(inputs)
        return self.on_cpu(function, sets) if self.device == "cpu" else self.on_gpu(function, sets)

    def on_cpu(self, function, sets):
        times = []
        for _ in range(self.replays):
            begin = time.perf_counter()
            for inputs in sets:
                function(inputs)
            times.append((time.perf_counter() - begin) / len(sets) * 1e6)
        return statistics.median(times)

    def on_gpu(self, function, sets):
        cuda = self.torch.cuda
        cuda.synchronize()
        stream = cuda.Stream()
        with cuda.stream(stream):  # a side stream, as capture asks for
            for inputs in sets:
                function(inputs)
        cuda.synchronize()
        graph = cuda.CUDAGraph()
        with cuda.graph(graph):
            for inputs in sets:
                function(inputs)
        graph.replay()
        cuda.synchronize()
        times = []
        for _ in range(self.replays):
            begin, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) * 1e3 / len(sets))
        return statistics.median(times)


def module_of(text, folder):
    """As a file of its own, which is what torch.compile expects of code."""
    path = pathlib.Path(folder, f"family_{abs(hash(text)):x}.py")
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def paths(torch, problem, with_compile, folder):
    """(name, function of the inputs) for each way."""
    family = module_of(problem["torch_py"], folder)
    values = {**problem["dims"], **problem["flags"], **problem["scalars"]}
    functions = {name: getattr(family, name) for name in ("eager", "fused") if hasattr(family, name)}
    parameters = {name: inspect.signature(function).parameters for name, function in functions.items()}
    if with_compile and "eager" in functions:
        torch._dynamo.reset()
        functions["compile"] = torch.compile(functions["eager"], mode="max-autotune-no-cudagraphs", dynamic=False)
        parameters["compile"] = parameters["eager"]
    found = []
    for name, function in functions.items():
        wanted = {key: values[key] for key in parameters[name] if key in values}
        found.append((name, lambda inputs, call=function, fixed=wanted: call(**inputs, **fixed)))
    return found


def measure(torch, timer, problem, with_compile, folder):
    times, errors = {}, {}
    try:
        sets = timer.sets(problem)
        ways = paths(torch, problem, with_compile, folder)
    except Exception as error:  # noqa: BLE001: any failure of a family's torch.py is an answer
        return times, {"all": short(error)}
    for name, function in ways:
        try:
            with torch.no_grad():
                times[name] = timer.time(function, sets)
        except Exception as error:  # noqa: BLE001
            errors[name] = short(error)
    return times, errors


def main():
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not reach the channel
    request = json.load(sys.stdin)
    try:
        import torch
    except ImportError as error:
        answer(channel, error=f"no PyTorch in {sys.executable}: {error}")
        return 0
    device = request["device"]
    if device == "cuda" and not torch.cuda.is_available():
        answer(channel, error=f"PyTorch {torch.__version__} in {sys.executable} sees no GPU")
        return 0
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    name = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    answer(channel, torch=torch.__version__, cuda=torch.version.cuda, device=name, python=sys.executable)
    timer = Timer(torch, device, request["l2_bytes"], request["replays"])
    with tempfile.TemporaryDirectory(prefix="autokernel-baselines-") as folder:
        for problem in request["problems"]:
            times, errors = measure(torch, timer, problem, request["compile"], folder)
            answer(channel, id=problem["id"], times=times, errors=errors)
            if device == "cuda":
                torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
