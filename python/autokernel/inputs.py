"""The tensors that a model is run with: `--input 1x1024:int64`, drawn so that the model can take them.

Integers are drawn below the vocabulary: the smallest table of the nn.Embedding modules that the input reaches, and the
configuration's `vocab_size`. Masks are ones. Floats are normal, in the model's dtype unless the input names another.
"""
import re
from typing import NamedTuple, Optional

from autokernel.errors import Refusal

GRAMMAR = "[NAME=]SHAPE[:DTYPE[:LOW..HIGH]], e.g. 1x1024:int64, mask=1x1024:bool, 32:int64:0..9, scalar:f32"
INPUT = re.compile(r"(?:(?P<name>[A-Za-z_]\w*)=)?(?P<shape>scalar|\d+(?:x\d+)*)(?::(?P<dtype>\w+))?"
                   r"(?::(?P<low>-?\d+)\.\.(?P<high>-?\d+))?")
DTYPES = {"f64": "float64", "f32": "float32", "fp32": "float32", "float": "float32", "f16": "float16", "fp16": "float16",
          "half": "float16", "bf16": "bfloat16", "i64": "int64", "long": "int64", "i32": "int32", "int": "int32"}
KNOWN = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")


class InputSpec(NamedTuple):
    name: Optional[str]  # of a keyword input
    shape: tuple
    dtype: Optional[str]  # None: the model's
    bounds: Optional[tuple]  # both may occur
    text: str

    @property
    def integer(self):
        return self.dtype is not None and "int" in self.dtype


def parse(text):
    found = INPUT.fullmatch(text)
    if found is None:
        raise Refusal(f"--input {text}: expected {GRAMMAR}")
    dtype = found["dtype"] and DTYPES.get(found["dtype"], found["dtype"])
    if dtype is not None and dtype not in KNOWN:
        raise Refusal(f"--input {text}: no dtype `{dtype}`; there are {', '.join(KNOWN)}")
    shape = () if found["shape"] == "scalar" else tuple(int(extent) for extent in found["shape"].split("x"))
    bounds = (int(found["low"]), int(found["high"])) if found["low"] else None
    spec = InputSpec(found["name"], shape, dtype, bounds, text)
    if bounds and not spec.integer:
        raise Refusal(f"--input {text}: LOW..HIGH is for integers")
    if bounds and bounds[0] > bounds[1]:
        raise Refusal(f"--input {text}: {bounds[0]} is above {bounds[1]}")
    return spec


def parse_all(texts):
    specs = [parse(text) for text in texts]
    names = [spec.name for spec in specs if spec.name]
    for name in names:
        if names.count(name) > 1:
            raise Refusal(f"--input {name}=...: given twice")
    return specs


def reached_tables(torch, model, tensors, run):
    """{place in `tensors`: the smallest num_embeddings of the nn.Embedding modules that look up that tensor or a view of it}"""
    sizes = {}

    def look(module, arguments):
        for place, tensor in enumerate(tensors):
            if arguments and arguments[0].data_ptr() == tensor.data_ptr():
                sizes[place] = min(sizes.get(place, module.num_embeddings), module.num_embeddings)

    hooks = [module.register_forward_pre_hook(look) for module in model.modules() if isinstance(module, torch.nn.Embedding)]
    try:
        if hooks:
            with torch.no_grad():
                run(tensors)
    except Exception:  # noqa: BLE001: zeros may be no inputs for this model; the run itself will tell
        pass
    finally:
        for hook in hooks:
            hook.remove()
    return sizes


def vocabulary_of(model):
    """`vocab_size` of the model's configuration, also where it is that of a part (`text_config`); else None."""
    config = getattr(model, "config", None)
    for holder in (config, getattr(config, "text_config", None)):
        size = holder.get("vocab_size") if isinstance(holder, dict) else getattr(holder, "vocab_size", None)
        if isinstance(size, int) and size > 0:
            return size
    return None


def integer_range(spec, table, vocabulary):
    """(low, high, why); both may occur."""
    if spec.bounds:
        return (*spec.bounds, "as --input says")
    if spec.name and "mask" in spec.name:
        return 1, 1, "a mask that hides nothing"
    known = [size for size in (table, vocabulary) if size]
    if known:
        size = min(known)
        return 0, size - 1, f"below {'the embedding table' if size == table else 'the vocabulary'} of {size}"
    return 0, 1, "no vocabulary was found: say another with --input SHAPE:int64:LOW..HIGH"


class Inputs:
    """Draws tensors of the specs for a model on `device`, whose floats are of `dtype`."""

    def __init__(self, torch, specs, device, dtype):
        self.torch, self.specs, self.device, self.dtype = torch, specs, device, dtype
        self.generator = torch.Generator().manual_seed(0)  # on the CPU: the same values on each device

    def split(self, tensors):
        """Positional ones, and those with a name."""
        pairs = list(zip(self.specs, tensors))
        return (tuple(tensor for spec, tensor in pairs if not spec.name),
                {spec.name: tensor for spec, tensor in pairs if spec.name})

    def floats(self, spec):
        dtype = getattr(self.torch, spec.dtype) if spec.dtype else self.dtype
        return self.torch.randn(spec.shape, generator=self.generator).to(self.device, dtype)

    def draw(self, model, keywords):
        """((args, kwargs), notes): one line for each integer input says its range and why."""
        torch = self.torch
        tensors = [torch.zeros(spec.shape, dtype=getattr(torch, spec.dtype), device=self.device) if spec.integer else
                   torch.ones(spec.shape, dtype=torch.bool, device=self.device) if spec.dtype == "bool" else
                   self.floats(spec) for spec in self.specs]

        def run(tensors):
            args, named = self.split(tensors)
            model(*args, **named, **keywords)

        open_ends = [spec for spec in self.specs if spec.integer and not spec.bounds]
        is_module = isinstance(model, torch.nn.Module)
        tables = reached_tables(torch, model, tensors, run) if open_ends and is_module else {}
        notes = []
        for place, spec in enumerate(self.specs):
            if not spec.integer:
                continue
            low, high, why = integer_range(spec, tables.get(place), vocabulary_of(model))
            drawn = torch.randint(low, high + 1, spec.shape, dtype=getattr(torch, spec.dtype), generator=self.generator)
            tensors[place] = drawn.to(self.device)
            notes.append(f"input {spec.name or place}: {low} to {high} ({why})")
        return self.split(tensors), notes
