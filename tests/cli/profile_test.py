#!/usr/bin/env python3
"""`autokernel profile` of the sample models on the CPU. Needs an interpreter with PyTorch: $AUTOKERNEL_PYTHON, the .venv or python3.

    profile_test.py BINARY [unittest arguments]; exit code 77: skipped
"""
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


class ProfileTest(unittest.TestCase):
    def setUp(self):
        self.outer = tempfile.TemporaryDirectory(prefix="ak-profile-")
        self.folder = pathlib.Path(self.outer.name)

    def tearDown(self):
        self.outer.cleanup()

    def call(self, model, *arguments, python=PYTHON):
        environment = dict(os.environ, OMP_NUM_THREADS="1", AUTOKERNEL_PYTHON=python)
        return subprocess.run([BINARY, "profile", str(model), "--warmup", "1", "--torch-device", "cpu", *arguments],
                              cwd=self.folder, env=environment, capture_output=True, text=True, timeout=300)

    def sites(self, model, *arguments):
        """{op: calls}"""
        done = self.call(MODELS / model, "--json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        calls = {}
        for site in json.loads(done.stdout)["sites"]:
            calls[site["op"]] = calls.get(site["op"], 0) + site["calls"]
        return calls

    def test_the_parts_of_the_sample_models_are_found(self):
        self.assertEqual(self.sites("llama_style.py"),
                         {"rmsnorm": 5, "rotary_embedding": 4, "flash_attention": 2, "fused_mlp": 2, "matmul": 9})
        self.assertEqual(self.sites("gpt2_style.py"), {"layernorm": 5, "flash_attention": 2, "matmul": 9})
        self.assertEqual(self.sites("bert_style.py"), {"layernorm": 5, "flash_attention": 2, "matmul": 12})
        self.assertEqual(self.sites("resnet_style.py")["conv2d"], 17)

    def test_iterations_and_training_are_recorded(self):
        self.assertEqual(self.sites("template.py", "--iterations", "3")["matmul"], 6)
        self.assertGreater(self.sites("template.py", "--train")["matmul"], 2)

    def test_what_the_model_does_wrong_is_said(self):
        model = self.folder / "model.py"
        for text, words in (("x = 1", "it defines no build(device, dtype)"),
                            ("print('hello')\ndef build(device, dtype): return 1", "must return (model, inputs)"),
                            ("def build(device, dtype): return (lambda x: x / 0), (1,)", "ZeroDivisionError"),
                            ("import nothing_of_this_name", "nothing_of_this_name")):
            with self.subTest(words):
                model.write_text(text)
                done = self.call(model)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(words, done.stderr)
        self.assertIn("no such file", self.call("none.py").stderr)

    def test_an_interpreter_without_pytorch_is_said(self):
        fake = self.folder / "torch.py"
        fake.write_text("raise ImportError('none here')")
        environment = dict(os.environ, PYTHONPATH=str(self.folder), AUTOKERNEL_PYTHON=PYTHON)
        done = subprocess.run([BINARY, "profile", str(MODELS / "template.py")], cwd=self.folder, env=environment,
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 2)
        self.assertIn("has no PyTorch (none here)", done.stderr)
        self.assertIn("--python", done.stderr)


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode != 0:
        print(f"skipped: {PYTHON} has no PyTorch; AUTOKERNEL_PYTHON names one that has")
        sys.exit(77)
    unittest.main()
