#!/usr/bin/env python3
"""PyTorch judges the judge: reference.cu of one op family against PyTorch on the CPU.

  check_references.py --dump build/release/tests/torch/reference_dump ops/softmax

1. r of the reference is compared with the family's torch.py in float64, on the family's own draws and on adversarial
   inputs made here. The formula is PyTorch's own op (`fused`) where there is one, else `eager`.
2. The baselines themselves, `eager` and `fused` in float32, must meet the tolerance that kernels are judged by.

Exit status 77 says that PyTorch is not there: `make test` makes a .venv that has it, TORCH=0 leaves these tests out.
"""
import argparse
import importlib.util
import inspect
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77


def leave_without_torch(venv: pathlib.Path) -> None:
    """Goes on in the .venv's Python if this one lacks PyTorch; skips where both do."""
    if importlib.util.find_spec("torch"):
        return
    python = venv / "bin" / "python"
    if python.exists() and pathlib.Path(sys.prefix) != venv:
        os.execv(python, [str(python), *sys.argv])
    print(f"skipped: no PyTorch in {sys.executable} nor in {venv}; tools/torch_venv.py makes one")
    sys.exit(SKIPPED)


class Case:
    """One problem with its inputs and what the reference made of them."""

    def __init__(self, manifest: dict, data: bytes):
        self.problem, self.draw, self.c = manifest["problem"], manifest["draw"], manifest["c"]
        self.label = f"{manifest['label']} [{self.draw}]"
        self.inputs, self.outputs = {}, {}
        for each in manifest["tensors"]:
            dtype = DTYPES[each["dtype"]]
            count = 1
            for extent in each["shape"]:
                count *= extent
            values = torch.frombuffer(data, dtype=dtype, count=count, offset=each["offset"]).reshape(each["shape"])
            if each["role"] == "in":
                self.inputs[each["name"]] = values
            else:
                self.outputs.setdefault(each["output"], {}).setdefault(each["role"], []).append(values)

    def dtype(self):
        return DTYPES[self.problem["dtype"]]

    def call(self, function, precision) -> list:
        """The outputs of a function of torch.py; floating inputs in this precision."""
        tensors = {n: t.to(precision) if t.is_floating_point() else t for n, t in self.inputs.items()}
        arguments = {**self.problem["flags"]}
        for name, value in self.problem["scalars"].items():  # floats reach a kernel as float
            arguments[name] = int(value) if name.isupper() else float(torch.tensor(value, dtype=torch.float32))
        named = inspect.signature(function).parameters
        arguments |= {name: value for name, value in self.problem["dims"].items() if name in named}
        result = function(**tensors, **arguments)
        return list(result) if isinstance(result, (tuple, list)) else [result]


def load_family(folder: pathlib.Path):
    spec = importlib.util.spec_from_file_location(f"family_{folder.name}", folder / "torch.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def dump(program: str, arguments: list, folder: pathlib.Path) -> list:
    subprocess.run([program, *arguments, str(folder)], check=True)
    data = bytearray((folder / "manifest.bin").read_bytes())
    return [Case(each, data) for each in json.loads((folder / "manifest.json").read_text())]


# ---- adversarial inputs ----

def constant_rows(values, generator):
    """Every row is one number."""
    return values[..., :1].expand(values.shape)


def zero_rows(values, generator):
    """Some rows are 0, the first among them."""
    kept = torch.rand(values.shape[:-1], generator=generator) < 0.6
    kept.view(-1)[:1] = False
    return values * kept[..., None]


def large(values, generator):
    return values * 64


def tiny(values, generator):
    return values / 4096


def offset(values, generator):
    return values + 100


def alternating(values, generator):
    """Neighbours nearly cancel."""
    signs = 1 - 2 * (torch.arange(values.shape[-1]) % 2)
    return 32 * signs + values / 16


ADVERSARIAL = (constant_rows, zero_rows, large, tiny, offset, alternating)


def on_grid(values, dtype):
    """Few enough digits for sums of two to be exact, so that what an op rounds between (a stream) changes nothing."""
    step, limit = (2.0**-10, 2.0**12) if dtype == torch.float32 else (2.0**-3, 8.0)
    return (values.double() / step).round().mul(step).clamp(-limit, limit).to(dtype)


def hidden(mask, whole_rows: bool, generator):
    """-infinity hides keys; whole rows only where the op says what a row without keys is."""
    share = torch.rand(mask.shape, generator=generator)
    changed = mask.masked_fill(share < 0.4, float("-inf"))
    changed[..., 0] = mask[..., 0]
    if whole_rows:
        changed.view(-1, mask.shape[-1])[::3] = float("-inf")
    return changed


def adversarial_cases(cases: list, folder: pathlib.Path) -> None:
    """Writes request.json and request.bin: the problems of one draw each, on changed inputs."""
    generator = torch.Generator().manual_seed(1)
    requests, data, seen = [], bytearray(), set()

    def add(case, name, inputs):
        offsets = {}
        for tensor, values in inputs.items():
            data.extend(bytes(64 - len(data) % 64))
            offsets[tensor] = len(data)
            data.extend(bytes(values.contiguous().view(torch.uint8).flatten().tolist()))
        requests.append({"problem": case.problem, "draw": name, "inputs": offsets})

    for case in cases:
        key = json.dumps(case.problem, sort_keys=True)
        if key in seen or sum(t.numel() for t in case.inputs.values()) > 20000:
            continue
        seen.add(key)
        for change in ADVERSARIAL:
            changed = {n: on_grid(change(t.float(), generator), t.dtype) if t.is_floating_point() else t
                       for n, t in case.inputs.items()}
            add(case, change.__name__, changed)
        if "mask" in case.inputs:
            whole_rows = case.problem["op"] == "flash_attention"
            add(case, "hidden", {**case.inputs, "mask": hidden(case.inputs["mask"], whole_rows, generator)})
    (folder / "request.json").write_text(json.dumps(requests))
    (folder / "request.bin").write_bytes(data)


# ---- comparisons ----

def worst(difference, allowed, r, got) -> tuple:
    """Largest share of what is allowed, and where; values that are not finite must be alike."""
    alike = (r == got) | (r.isnan() & got.isnan())
    share = torch.where(alike, 0.0, difference / allowed)
    share = torch.where(share.isnan(), float("inf"), share).flatten()
    at = int(share.argmax())
    return float(share[at]), at


def check_exact(case: Case, function) -> list:
    """r in float64: both sides may be off by what float64 rounding causes, which S says in units of the roundoff."""
    failures = []
    for (name, truth), got in zip(case.outputs.items(), case.call(function, torch.float64), strict=True):
        r, s, got = truth["r"][0].flatten(), truth["S"][0].flatten(), got.double().flatten()
        share, at = worst((r - got).abs(), 2**-51 * (r.abs() + case.c * s) + 1e-300, r, got)
        if not share <= 1:
            failures.append(f"{case.label}: {name}_r[{at}] = {float(r[at])!r}, {function.__name__} in float64 gives "
                            f"{float(got[at])!r}: {share:.3g} times what rounding may cause")
    return failures


def check_baseline(case: Case, function) -> list:
    """A baseline in float32 under condition (1) of the tolerance."""
    failures = []
    for (name, truth), got in zip(case.outputs.items(), case.call(function, torch.float32), strict=True):
        r, s, got = truth["r"][0].flatten(), truth["S"][0].flatten(), got.double().flatten()
        allowed = 1.01 * (2**-24 * r.abs()).clamp(min=2.0**-126) + case.c * 2**-24 * s
        for rounding in truth.get("I", []):
            allowed = allowed + 2 * 2**-24 * rounding.flatten()
        share, at = worst((r - got).abs(), allowed, r, got)
        if not share <= 1:
            failures.append(f"{case.label}: {function.__name__} in float32 gives {float(got[at])!r} for {name}[{at}], "
                            f"which is {float(r[at])!r}: {share:.3g} times the tolerance")
    return failures


def rounds_between(case: Case) -> bool:
    """An output that comes with an optional input is rounded before the op goes on: float64 does not do that."""
    return len(case.outputs) > 1


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--dump", required=True, help="the program reference_dump")
    parser.add_argument("--venv", default=".venv", type=pathlib.Path)
    parser.add_argument("family", type=pathlib.Path, help="folder of the family")
    options = parser.parse_args()
    leave_without_torch(options.venv.absolute())

    global torch, DTYPES
    import torch
    DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64,
              "i32": torch.int32, "i64": torch.int64}
    torch.set_num_threads(1)
    module = load_family(options.family)
    exact = getattr(module, "fused", module.eager)
    failures, compared, baselines = [], 0, 0
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        draws = dump(options.dump, ["draws", options.family.name], pathlib.Path(first))
        adversarial_cases(draws, pathlib.Path(second))
        adversarial = dump(options.dump, ["inputs"], pathlib.Path(second))
    for case in [each for each in draws if not rounds_between(each)] + adversarial:
        failures += check_exact(case, exact)
        compared += 1
    for case in draws:
        if case.dtype() == torch.float32:
            for name in ("eager", "fused"):
                if hasattr(module, name):
                    failures += check_baseline(case, getattr(module, name))
                    baselines += 1
    for line in failures[:40]:
        print(line)
    print(f"{options.family.name}: {compared} results of the reference compared with PyTorch {torch.__version__} in "
          f"float64, {baselines} baselines with the tolerance; {len(failures)} failures")
    if compared == 0 or baselines == 0:
        print("nothing was compared")
        return 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
