#!/usr/bin/env python3
"""`autokernel profile` of the sample models on the CPU. Needs an interpreter with PyTorch: $AUTOKERNEL_PYTHON, the .venv or python3.

    profile_test.py BINARY [unittest arguments]; exit code 77: skipped
"""
import fcntl
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "examples" / "models"
VENV = ROOT / ".venv" / "bin" / "python"  # of `make test`
PYTHON = os.environ.get("AUTOKERNEL_PYTHON", str(VENV) if VENV.exists() else "python3")
BINARY = ""


SMALL = {  # the sizes of build() on a CPU
    "llama_style.py": ("Decoder", "layers=2 width=128 heads=8 kv_heads=2 hidden=352 vocabulary=1000", ["1x64:int64"]),
    "gpt2_style.py": ("Decoder", "layers=2 width=96 heads=4 vocabulary=1000 length=64", ["1x64:int64"]),
    "bert_style.py": ("Encoder", "layers=2 width=96 heads=4 vocabulary=1000 length=32", ["2x32:int64", "2:int64:1..32"]),
    "resnet_style.py": ("ResNet", "blocks=[1,1,1,1] width=16 classes=10", ["2x3x64x64"]),
}
EXPECTED = {
    "llama_style.py": {"rmsnorm": 5, "rotary_embedding": 4, "flash_attention": 2, "fused_mlp": 2, "matmul": 9},
    "gpt2_style.py": {"layernorm": 5, "flash_attention": 2, "matmul": 9},
    "bert_style.py": {"layernorm": 5, "flash_attention": 2, "matmul": 12},
    "resnet_style.py": {"conv2d": 17, "matmul": 1},
}
MODELS_OF_TESTS = """
import torch
from torch import nn

class Keywords(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.words, self.kinds, self.out = nn.Embedding(50, width), nn.Embedding(3, width), nn.Linear(width, width)
    def forward(self, ids, kinds=None, mask=None, scale=1.0):
        if int(ids.max()) >= 50 or (kinds is not None and int(kinds.max()) >= 3):
            raise ValueError("an id beyond the vocabulary")
        x = self.words(ids)
        if kinds is not None:
            x = x + self.kinds(kinds)
        return self.out(x if mask is None else x * mask[..., None]) * scale

class Unrelated(nn.Module):  # an addition before a norm that does not read it
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(32)
    def forward(self, x, y):
        total = x + y
        return self.norm(y), total

class Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)
    def forward(self, x):
        return self.inner(x) if x.sum() > -1e9 else x

class Random(nn.Module):
    def forward(self, x):
        return x + torch.rand_like(x)

class Tracing(nn.Module):  # does other work where it is captured
    def forward(self, x):
        return torch.relu(x) if type(x) is torch.Tensor else torch.relu(x) * torch.ones_like(x)

class Fails(nn.Module):
    def forward(self, x):
        return self.inside(x)
    def inside(self, x):
        return x @ torch.ones(3, 3)

class Memory(nn.Module):
    def forward(self, x):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB")

class Weights(nn.Module):
    def forward(self, x):
        nn.Linear(4, 4).load_state_dict({"weight": torch.ones(4, 4), "other": x})

class Many(nn.Module):
    def forward(self, x):
        raise ValueError("\\n".join(f"line {each}" for each in range(100)))

class Chained(nn.Module):
    def forward(self, x):
        try:
            {}["weights"]
        except KeyError as error:
            raise RuntimeError("the model is not ready") from error

class Needs(nn.Module):
    def __init__(self, width, depth=2):
        super().__init__()

def no_inputs():
    return Keywords()
"""


class ProfileTest(unittest.TestCase):
    def setUp(self):
        outer = tempfile.TemporaryDirectory(prefix="ak-profile-")
        self.addCleanup(outer.cleanup)
        self.folder = pathlib.Path(outer.name)
        self.model = self.folder / "model.py"
        self.model.write_text(MODELS_OF_TESTS)

    def program(self, *arguments, python=PYTHON):
        environment = dict(os.environ, OMP_NUM_THREADS="1", AUTOKERNEL_PYTHON=python,
                           AUTOKERNEL_CACHE=str(self.folder / "cache"))
        return subprocess.run([BINARY, *map(str, arguments)], cwd=self.folder, env=environment, capture_output=True,
                              text=True, timeout=300)

    def call(self, *arguments, command="profile", python=PYTHON):
        return self.program(command, *arguments, "--warmup", "1", "--torch-device", "cpu", python=python)

    def plan(self, *arguments):
        """(plan, record, what it said)"""
        done = self.call(*arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        record = json.loads((self.folder / ".autokernel" / "profile.json").read_text())
        return json.loads(done.stdout), record, done.stderr

    def refused(self, *arguments, words):
        done = self.call(*arguments)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        for each in words:
            self.assertIn(each, done.stderr)
        return done.stderr

    def calls(self, plan):
        """{op: calls}"""
        calls = {}
        for site in plan["sites"]:
            calls[site["op"]] = calls.get(site["op"], 0) + site["calls"]
        return calls

    def sites(self, plan, op):
        return [site for site in plan["sites"] if site["op"] == op]

    def test_the_parts_of_the_sample_models_are_found_with_their_places(self):
        for name, expected in EXPECTED.items():
            with self.subTest(name):
                plan, record, _ = self.plan(MODELS / name)
                self.assertEqual(self.calls(plan), expected)
                self.assertIsNotNone(record["graph"]["captured_by"], record["graph"]["why_not"])
                nodes = {node["name"] for node in record["graph"]["nodes"]}
                for site in plan["sites"]:
                    self.assertEqual(len(site["places"]), site["calls"])
                    for place in site["places"]:
                        self.assertTrue(place["nodes"] and nodes.issuperset(place["nodes"]), place)

    def test_the_same_models_by_class(self):
        for name, (kind, arguments, inputs) in SMALL.items():
            with self.subTest(name):
                given = [word for each in arguments.split() for word in ("--arg", each)]
                given += [word for each in inputs for word in ("--input", each)]
                plan, record, said = self.plan(f"{MODELS / name}:{kind}", *given)
                self.assertEqual(self.calls(plan), EXPECTED[name])
                self.assertEqual([each["shape"] for each in record["inputs"]],
                                 [[int(extent) for extent in each.split(":")[0].split("x")] for each in inputs])
                if name != "resnet_style.py":
                    self.assertIn("input 0: 0 to 999 (below the embedding table of 1000)", said)
                if name == "llama_style.py":
                    mlp = self.sites(plan, "fused_mlp")[0]
                    self.assertEqual([place["module"] for place in mlp["places"]], ["layers.0.mlp", "layers.1.mlp"])
                    # Numbers and texts that the profiler does not record come from the graph.
                    self.assertEqual({site["scalars"]["eps"] for site in self.sites(plan, "rmsnorm")}, {1e-6})
                    self.assertNotIn("assumed", said)
                if name == "gpt2_style.py":
                    self.assertIn(2, {site["flags"]["ACT"] for site in self.sites(plan, "matmul")})  # gelu (tanh)

    def test_the_record_is_an_input_of_plan(self):
        trace = self.folder / "exported.json.gz"
        plan, record, _ = self.plan(f"{MODELS / 'template.py'}:make", "--iterations", "3", "--export-trace", trace)
        self.assertEqual(self.calls(plan), {"matmul": 6})
        self.assertEqual((record["schema"], record["device"], record["time"], record["dtype"]), (1, "cpu", "cpu", "f32"))
        self.assertEqual(record["graph"]["captured_by"], "torch.fx")
        weight = next(each for each in record["parameters"] if each["name"] == "up.weight")
        self.assertEqual((weight["shape"], weight["strides"], weight["dtype"]), ([1024, 256], [256, 1], "float32"))
        self.assertEqual(record["inputs"][1], {"name": "scale", "value": "0.5"})
        self.assertEqual([site["id"] for site in record["sites"]], [site["id"] for site in plan["sites"]])
        again = self.program("plan", self.folder / ".autokernel" / "profile.json", "--json")
        self.assertEqual(json.loads(again.stdout), plan)
        exported = json.loads(self.program("plan", trace, "--json").stdout)
        self.assertEqual([site["places"] for site in exported["sites"]], [site["places"] for site in plan["sites"]])
        self.assertIn("  down\n", self.program("plan").stdout)  # the column of places

    def test_the_graph_tells_what_a_trace_cannot(self):
        inputs = ("--input", "8x32", "--input", "8x32")
        plan, record, _ = self.plan(f"{self.model}:Unrelated", *inputs)
        self.assertEqual(record["graph"]["captured_by"], "torch.fx")
        self.assertNotIn("HAS_RESIDUAL", self.sites(plan, "layernorm")[0]["flags"])
        plan, _, said = self.plan(f"{self.model}:Unrelated", *inputs, "--no-graph")
        self.assertIn("HAS_RESIDUAL", self.sites(plan, "layernorm")[0]["flags"])
        self.assertIn("--no-graph", said)

    def test_a_model_that_cannot_be_captured_is_run_as_it_is(self):
        for name, reason in (("Branch", "control flow"), ("Random", "differ from call to call"),
                             ("Tracing", "it runs other ops than the model: aten::")):
            with self.subTest(name):
                plan, record, said = self.plan(f"{self.model}:{name}", "--input", "4x8")
                self.assertIsNone(record["graph"]["captured_by"])
                self.assertIn(reason, record["graph"]["why_not"])
                self.assertIn("no graph of the model, so it was run as it is: " + record["graph"]["why_not"], said)
                if name == "Branch":  # calls of modules are labelled all the same
                    self.assertEqual(self.sites(plan, "matmul")[0]["places"], [{"module": "inner", "nodes": []}])

    def test_keyword_inputs_are_drawn_below_the_vocabulary_that_they_reach(self):
        _, record, said = self.plan(f"{self.model}:Keywords", "--input", "2x64:int64", "--input", "kinds=2x64:int64",
                                    "--input", "mask=2x64:bool", "--keyword", "scale=2.5", "--arg", "width=8")
        self.assertIn("input 0: 0 to 49 (below the embedding table of 50)", said)
        self.assertIn("input kinds: 0 to 2 (below the embedding table of 3)", said)
        self.assertEqual([each["name"] for each in record["inputs"]], ["0", "kinds", "mask", "scale"])
        self.assertEqual(record["inputs"][2]["dtype"], "bool")

    def test_training_is_recorded_without_a_graph(self):
        plan, record, said = self.plan(MODELS / "template.py", "--train")
        self.assertEqual({place["module"] for site in plan["sites"] for place in site["places"]}, {"", "down"})
        self.assertIn("the column `in` names modules of the forward pass; `-` is the backward pass", said)
        table = self.program("plan").stdout
        self.assertRegex(table, r"(?m)  \(model\)$")
        self.assertRegex(table, r"(?m)  -$")  # of the backward pass
        function = self.folder / "function.py"
        function.write_text("import torch\ndef build(device, dtype): return (lambda x: x @ x), (torch.ones(8, 8),)")
        alone, _, said = self.plan(function, "--no-graph")
        self.assertEqual([site["places"] for site in alone["sites"]], [[]])
        self.assertIn("no column `in`: the model is a function", said)
        self.assertGreater(self.calls(plan)["matmul"], 2)
        self.assertEqual(record["mode"], "training")
        self.assertIn("backward", record["graph"]["why_not"])

    def test_optimize_takes_a_model(self):
        done = self.call(f"{MODELS / 'template.py'}:Network", "--arg", "width=32", "--arg", "hidden=64", "--input", "8x32",
                         "--top", "1", "--budget", "2", "--strategy", "random", "--json", command="optimize")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(json.loads(done.stdout)["targets"]), 1)
        self.assertTrue((self.folder / ".autokernel" / "profile.json").is_file())

    def test_what_is_wrong_with_a_file_is_said(self):
        for text, words in (("x = 1", "it defines no build(device, dtype)"),
                            ("print('hello')\ndef build(device, dtype): return 1", "must return (model, inputs)"),
                            ("def build(device, dtype): return (lambda x: x / 0), (1,)", "ZeroDivisionError"),
                            ("import nothing_of_this_name", "nothing_of_this_name"),
                            ("def build(:", "own.py:1: SyntaxError"), ("raise SystemExit(3)", "sys.exit(3)")):
            with self.subTest(words):
                path = self.folder / "own.py"
                path.write_text(text)
                self.refused(path, words=[words])
        self.refused("none.py", words=["no such file"])

    def test_what_is_wrong_with_a_model_is_said(self):
        said = self.refused(f"{self.model}:Fails", "--input", "4x8",
                            words=["4x8 and 3x3", "model.py", "in forward", "return self.inside(x)", "in inside"])
        self.assertNotIn("autokernel/", said.replace(str(self.folder), ""))  # the user's own frames alone
        self.refused(f"{self.model}:Weights", "--input", "4",
                     words=["RuntimeError: Error(s) in loading state_dict for Linear: (", "Missing key(s) in state_dict: \"bias\".",
                            "Unexpected key(s) in state_dict: \"other\"."])
        self.refused(f"{self.model}:Many", "--input", "4", words=["ValueError: line 0 (", "line 1", "lines)", "line 99"])
        self.refused(f"{self.model}:Chained", "--input", "4", words=["RuntimeError: the model is not ready (",
                                                                    "after KeyError: 'weights'"])
        self.refused(f"{self.model}:Needs", "--input", "4", words=["Needs(width, depth=2) needs width", "--arg width=VALUE", "make"])
        self.refused(f"{self.model}:Memory", "--input", "4", words=["out of memory on cpu: make the input smaller"])
        self.refused(f"{self.model}:no_inputs", words=["forward(ids, kinds=None, mask=None, scale=1.0)", "--input"])
        self.refused(f"{self.model}:Nothing", words=["it has no `Nothing`", "Keywords"])

    def test_a_model_that_fails_leaves_the_earlier_profile_as_it_was(self):
        self.plan(f"{self.model}:Random", "--input", "4x8")
        folder = self.folder / ".autokernel"
        earlier = {name: (folder / name).read_bytes() for name in ("profile.json", "trace.json.gz", "plan.json")}
        self.refused(f"{self.model}:Fails", "--input", "4x8", words=["in forward"])
        self.assertEqual({name: (folder / name).read_bytes() for name in earlier}, earlier)
        self.assertFalse((folder / "profiling").exists())
        # Nor does one in a workspace that another run holds: it is refused before the model is run.
        with open(folder / "lock", "r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = self.call(f"{self.model}:Random", "--input", "2x8")
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("is held by", done.stderr)
            self.assertNotIn("profiling", done.stderr)
        self.assertEqual({name: (folder / name).read_bytes() for name in earlier}, earlier)

    def test_what_is_wrong_with_the_options_is_said(self):
        for arguments, words in ((("--input", "4*8"), ["--input 4*8: expected [NAME=]SHAPE"]),
                                 (("--input", "4:int65"), ["no dtype `int65`"]),
                                 (("--input", "x=4", "--input", "x=4"), ["given twice"]),
                                 (("--input", "scalar:int64", "--keyword", "speed=2"), ["unexpected keyword argument 'speed'"]),
                                 (("--input", "4:int64", "--arg", "wide=2"), ["no parameter `wide`"])):
            with self.subTest(arguments):
                self.refused(f"{self.model}:Keywords", *arguments, words=words)
        self.refused(words=["name one model"])
        self.refused("--module", "json", words=["--factory"])
        self.refused("--module", "nothing_of_this_name", "--factory", "F", words=["has no module `nothing_of_this_name`", "--python"])
        self.refused("--module", "json", "--factory", "JSONDecoder.from_config", words=["it has no `from_config`"])
        self.refused("--module", "json", "--factory", "F", "--config-arg", "a=1", words=["--config-arg belongs to --config"])
        self.refused(f"{self.model}:Keywords", "--pretrained", "gpt2", words=["belong to --module"])

    def test_an_interpreter_without_pytorch_is_said(self):
        (self.folder / "torch.py").write_text("raise ImportError('none here')")
        environment = dict(os.environ, PYTHONPATH=str(self.folder), AUTOKERNEL_PYTHON=PYTHON)
        done = subprocess.run([BINARY, "profile", str(MODELS / "template.py")], cwd=self.folder, env=environment,
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 2)
        self.assertIn("has no PyTorch (none here)", done.stderr)
        self.assertIn("--python", done.stderr)
        done = self.call(MODELS / "template.py", python="/nonexistent/python3")
        self.assertEqual(done.returncode, 3)
        self.assertIn("/nonexistent/python3", done.stderr)
        self.assertIn("--python", done.stderr)

    def test_models_of_transformers(self):
        if subprocess.run([PYTHON, "-c", "import transformers"], capture_output=True).returncode != 0:
            self.skipTest(f"{PYTHON} has no transformers")
        sizes = "n_layer=2 n_embd=96 n_head=4 vocab_size=1000 bos_token_id=0 eos_token_id=0".split()
        plan, record, said = self.plan("--module", "transformers", "--factory", "AutoModelForCausalLM.from_config", "--config",
                                       "GPT2Config", *(word for each in sizes for word in ("--config-arg", each)), "--input",
                                       "input_ids=1x64:int64", "--input", "attention_mask=1x64:int64", "--keyword",
                                       "use_cache=false")
        self.assertEqual(self.calls(plan), {"layernorm": 5, "flash_attention": 2, "matmul": 9})
        self.assertIn("input input_ids: 0 to 999", said)
        self.assertIn("input attention_mask: 1 to 1", said)
        if record["graph"]["captured_by"] is None:
            self.assertIn("torch.export: ", record["graph"]["why_not"])
        self.assertIn("transformer.h.0.mlp.c_proj", {place["module"] for site in plan["sites"] for place in site["places"]})


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode != 0:
        print(f"skipped: {PYTHON} has no PyTorch; AUTOKERNEL_PYTHON names one that has")
        sys.exit(77)
    unittest.main()
