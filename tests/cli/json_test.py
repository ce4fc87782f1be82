#!/usr/bin/env python3
"""What scripts read: the keys and types of every --json answer, and standard output that is nothing but JSON.

    json_test.py BINARY [unittest arguments]
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STARTER = str(ROOT / "ops" / "softmax" / "kernels" / "starter.cu")
DIMS = ["--dims", "ROWS=64,COLS=128", "--dtype", "f32"]
BINARY = ""

NUMBER = (int, float)
TIME = {"median": NUMBER, "ci_low": NUMBER, "ci_high": NUMBER}
DEVICE = {"kind": str, "name": str}


class JsonTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.outer = tempfile.TemporaryDirectory(prefix="ak-json-")
        cls.folder = pathlib.Path(cls.outer.name)
        cls.environment = dict(os.environ, AUTOKERNEL_CACHE=str(cls.folder / "cache"))
        cls.tuned = cls.call("tune", STARTER, *DIMS, "--budget", "2", "--strategy", "random", "--json")

    @classmethod
    def tearDownClass(cls):
        cls.outer.cleanup()

    @classmethod
    def call(cls, *arguments, env=None):
        done = subprocess.run([BINARY, *arguments], cwd=cls.folder, env=dict(cls.environment, **(env or {})),
                              capture_output=True, text=True, timeout=300)
        done.json = json.loads(done.stdout) if done.stdout and "--json" in arguments else None
        return done

    def assert_shape(self, value, shape, where=""):
        """`shape`: a type, a dict of required keys, a list with one shape for all elements, or alternatives."""
        if isinstance(shape, dict):
            self.assertIsInstance(value, dict, where)
            for key, inner in shape.items():
                self.assertIn(key, value, where)
                self.assert_shape(value[key], inner, f"{where}.{key}")
        elif isinstance(shape, list):
            self.assertIsInstance(value, list, where)
            for i, each in enumerate(value):
                self.assert_shape(each, shape[0], f"{where}[{i}]")
        else:
            self.assertIsInstance(value, shape, where)
            if shape in (NUMBER, int):
                self.assertNotIsInstance(value, bool, where)

    def test_a_compile_counts_unless_it_is_in_the_cache(self):
        fresh = {"AUTOKERNEL_CACHE": str(self.folder / "fresh")}
        first, second = (self.call("bench", STARTER, *DIMS, "--quick", "--json", env=fresh).json["compile_s"] for _ in range(2))
        self.assertGreater(first, 10 * second)

    def test_bench(self):
        done = self.call("bench", STARTER, *DIMS, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_shape(done.json, {
            "schema": int, "correctness": str, "stages": dict, "stage_s": dict, "failure": type(None), "flags": [str],
            "sandbox": str,
            "timings": [{"size": str, "dims": dict, "flags": dict, "dtype": str, "time_us": TIME,
                         "cold_us": (int, float, type(None)), "l2": str, "floor_us": NUMBER, "gbps": NUMBER,
                         "tflops": NUMBER, "speedup_vs_pytorch": (int, float, type(None))}],
            "device": DEVICE, "wall_s": NUMBER})
        self.assertEqual((done.json["schema"], done.json["correctness"], done.json["sandbox"]), (1, "PASS", "on"))
        self.assertEqual(set(done.json["stages"]),
                         {"compile", "audit", "smoke", "shape_sweep", "numerical_stability", "determinism", "edge_cases",
                          "integrity", "time", "plausibility"})
        self.assertEqual(set(done.json["stages"].values()), {"PASS"})
        self.assertEqual(set(done.json["stage_s"]), set(done.json["stages"]))
        self.assertLessEqual(sum(done.json["stage_s"].values()), done.json["wall_s"])
        [timing] = done.json["timings"]
        self.assertEqual(timing["dims"], {"ROWS": 64, "COLS": 128})
        self.assertEqual(timing["l2"], "warm")
        self.assertIsNone(timing["speedup_vs_pytorch"])
        self.assertEqual(done.json["device"]["kind"], "cpu")

    def test_selftest(self):
        keys = {"schema": int, "device": str, "cheats": {"planted": int, "caught": int, "missed": [str]},
                "honest": {"planted": int, "accepted": int, "rejected": [str]},
                "mutation": {"proved": int, "unproved": [str]}, "skipped": [{"name": str, "why": str}]}
        done = self.call("selftest", "--mutate", "--only", "writes_its_input", "--json", "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_shape(done.json, keys)
        self.assertEqual(set(done.json), set(keys))
        self.assertEqual((done.json["cheats"], done.json["mutation"]),
                         ({"planted": 1, "caught": 1, "missed": []}, {"proved": 1, "unproved": []}))

    def test_explain(self):
        done = self.call("explain", "floor", "--json")
        self.assertEqual(set(done.json), {"schema", "name", "text"})

    def test_bench_of_a_wrong_kernel(self):
        wrong = self.folder / "wrong.cu"
        wrong.write_text(pathlib.Path(STARTER).read_text().replace("* inverse)", "* inverse * 2)"))
        done = self.call("bench", str(wrong), *DIMS, "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assert_shape(done.json, {"failure": {"stage": str, "kind": str, "check": str, "message": str}, "timings": [dict]})
        self.assertEqual(done.json["correctness"], "FAIL")
        self.assertEqual(done.json["failure"]["stage"], "smoke")
        self.assertEqual(done.json["failure"]["kind"], "wrong")
        self.assertEqual(done.json["stages"]["smoke"], "FAIL")
        self.assertEqual(done.json["timings"], [])

    def test_compare(self):
        done = self.call("compare", STARTER, STARTER, *DIMS, "--json")
        self.assert_shape(done.json, {
            "correctness": str, "answer": str, "ratio": {"ratio": NUMBER, "ci_low": NUMBER, "ci_high": NUMBER},
            "incumbent": {"kernel": str, "config": dict}, "timings": [{"versus": {"ratio": NUMBER}}]})
        self.assertEqual(done.json["correctness"], "PASS")
        ratio = done.json["ratio"]
        self.assertLessEqual(ratio["ci_low"], ratio["ratio"])
        self.assertLessEqual(ratio["ratio"], ratio["ci_high"])
        self.assertEqual(done.returncode, 1 if done.json["answer"] == "slower" else 0)
        self.assertIn(done.json["answer"], ("faster", "slower", "as fast", "undecided"))

    def test_compare_with_a_kernel_that_does_more(self):
        slow = self.folder / "slow.cu"
        text = pathlib.Path(STARTER).read_text()
        first = text.index("for (")
        slow.write_text(text[:first] + "for (volatile int burn = 0; burn < 20000; ++burn) {}\n  " + text[first:])
        done = self.call("compare", STARTER, str(slow), *DIMS)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("answer: B is slower", done.stdout)

    def test_compare_with_a_wrong_kernel(self):
        wrong = self.folder / "wrong_too.cu"
        wrong.write_text(pathlib.Path(STARTER).read_text().replace("* inverse)", "* inverse * 2)"))
        done = self.call("compare", STARTER, str(wrong), *DIMS, "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.json["answer"], "failed")

    def test_a_misspelt_variable_is_named(self):
        done = self.call("config", env={"AUTOKERNEL_BUDGT": "5"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("AUTOKERNEL_BUDGT is read by nothing; did you mean 'budget'?", done.stderr)
        for name in ("AUTOKERNEL_OPS", "AUTOKERNEL_NVRTC"):
            self.assertIn(f"{name} is read by nothing", self.call("config", env={name: "x"}).stderr)
        self.assertNotIn("read by nothing", self.call("config", env={"AUTOKERNEL_CXX": "g++"}).stderr)

    def test_bench_without_a_sandbox_says_so(self):
        done = self.call("bench", STARTER, *DIMS, "--quick", "--json", "--unsafe-no-sandbox")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.json["sandbox"], "off")

    def test_tune(self):
        self.assertEqual(self.tuned.returncode, 0, self.tuned.stderr)
        side = {"config": dict, "time_us": TIME}
        self.assert_shape(self.tuned.json, {
            "schema": int, "best": side, "start": side, "speedup": NUMBER, "trials": int, "failed": dict,
            "problems": [{"id": str, "best": side}], "wall_s": NUMBER, "device": DEVICE})
        self.assertEqual(self.tuned.json["schema"], 1)
        self.assertEqual(self.tuned.json["trials"], 2)
        self.assertEqual(self.tuned.json["start"]["config"], {"THREADS": 128})
        self.assertGreater(self.tuned.json["start"]["time_us"]["median"], 0)

    def test_tune_whose_start_fails(self):
        wrong = self.folder / "bad.cu"
        wrong.write_text(pathlib.Path(STARTER).read_text().replace("* inverse)", "* inverse * 2)"))
        done = self.call("tune", str(wrong), *DIMS, "--budget", "2", "--json", "-w", "bad-ws")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assert_shape(done.json, {"schema": int, "failure": {"stage": str, "kind": str, "check": str, "message": str}})

    def test_log_and_show(self):
        log = self.call("log", "--json")
        self.assertEqual(log.returncode, 0, log.stderr)
        self.assert_shape(log.json, {"schema": int, "experiments": [
            {"experiment": int, "target": str, "tag": str, "proposer": str, "description": str, "decision": str,
             "objective_us": (int, float, type(None)), "commit": str, "started_at": str, "ended_at": str}]})
        self.assertEqual([each["proposer"] for each in log.json["experiments"]], ["start", "tune:random"])
        show = self.call("show", "2", "--json")
        self.assertEqual(show.returncode, 0, show.stderr)
        self.assert_shape(show.json, {"schema": int, "experiment": int, "device": DEVICE, "compiler": str, "diff": str,
                                      "trials": [{"trial": int, "problem": str, "config": str, "passed": bool}]})
        self.assertEqual(len(show.json["trials"]), 2)

    def test_report(self):
        done = self.call("report", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        for key in ("markdown", "html", "progress"):
            self.assertTrue((self.folder / done.json[key]).is_file(), key)

    def test_compile(self):
        done = self.call("compile", STARTER, *DIMS, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_shape(done.json, {"schema": int, "compiled": bool, "format": str, "arch": str, "compiler": str,
                                      "bytes": int, "sandbox": str, "entries": [{"name": str, "registers": int}],
                                      "problem": str, "dtype": str, "config": dict, "from_cache": bool})
        self.assertEqual((done.json["dtype"], "ROWS=64" in done.json["problem"]), ("f32", True))
        again = self.call("compile", STARTER, *DIMS, "--json")
        self.assertTrue(again.json["from_cache"])
        self.assertEqual(again.json["seconds"], done.json["seconds"])

    def test_compile_for_a_gpu_without_one(self):
        doctor = self.call("doctor", "--json")
        found = {each["what"]: each for each in doctor.json["findings"]}
        nvrtc = next(each for what, each in found.items() if what.startswith("NVRTC"))
        if nvrtc["state"] != "ok":
            self.skipTest(f"no NVRTC here: {nvrtc['found']}")
        for kernel in sorted((ROOT / "ops").glob("*/kernels/starter.cu")):
            done = self.call("compile", str(kernel), "--dtype", "f16", "--arch", "sm_90a", "--json")
            self.assertEqual(done.returncode, 0, f"{kernel}: {done.stderr}{done.stdout}")
            self.assertEqual((done.json["format"], done.json["arch"]), ("cubin", "sm_90a"))
            self.assertGreater(done.json["entries"][0]["registers"], 0)

    def test_the_kernel_of_the_page_on_hopper_compiles(self):
        page = (ROOT / "docs" / "how-to" / "write-a-hopper-kernel.md").read_text()
        [kernel] = [each for each in re.findall(r"```cuda\n(.*?)```", page, re.S) if each.startswith("/* autokernel")]
        (self.folder / "tile64.cu").write_text(kernel)
        done = self.call("compile", "tile64.cu", "--arch", "sm_90a", "--dims", "M=256,N=256,K=256,TRANS_B=1", "--json")
        if done.returncode == 3:
            self.skipTest(f"no NVRTC here: {done.stderr}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue(any("wgmma.mma_async" in each for each in done.json["noted"]), done.json["noted"])

    def test_an_architecture_that_nvrtc_does_not_know(self):
        done = self.call("compile", STARTER, *DIMS, "--arch", "sm_999")
        if done.returncode == 3:
            self.skipTest(f"no NVRTC here: {done.stderr}")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("It knows sm_", done.stdout)
        self.assertIn("CUDA_HOME", done.stdout)

    def test_a_family(self):
        done = self.call("ops", "matmul", "--json")
        self.assert_shape(done.json, {
            "name": str, "about": str, "hash": str, "dims": [str], "dtypes": [str], "flops": str, "bytes": str,
            "flags": [{"name": str, "values": [int], "default": int}],
            "scalars": [{"name": str, "type": str}], "sizes": {"primary": [{"dims": dict, "flags": dict, "has": [str]}]},
            "tensors": [{"name": str, "role": str, "shape": [str], "optional": bool, "with": str}],
            "kernels": [{"name": str, "about": str, "dtypes": [str], "arch": [str]}]})
        tensors = {each["name"]: each for each in done.json["tensors"]}
        self.assertEqual((tensors["a"]["role"], tensors["c"]["role"], tensors["bias"]["optional"]), ("in", "out", True))
        arch = {each["name"]: each["arch"] for each in done.json["kernels"]}
        self.assertEqual((arch["matmul/kernels/wgmma.cu"], arch["matmul/kernels/starter.cu"]), (["sm_90a"], []))
        text = self.call("ops", "matmul").stdout
        for each in done.json["tensors"] + done.json["flags"] + done.json["kernels"]:
            self.assertIn(each["name"], text)

    def test_what_is_there(self):
        for command, shape in {
                "ops": {"schema": int, "ops": [{"name": str, "about": str, "dims": [str], "dtypes": [str], "kernels": int}]},
                "devices": {"schema": int, "devices": [DEVICE]},
                "config": {"schema": int, "settings": [{"name": str, "value": str, "source": str}]},
                "doctor": {"schema": int, "complete": bool, "findings": [{"what": str, "state": str, "remedy": str}]},
        }.items():
            done = self.call(command, "--json")
            self.assertIn(done.returncode, (0, 3), command)
            self.assert_shape(done.json, shape, command)
            self.assertEqual(done.json["schema"], 1)


    def doctor_of(self, python):
        done = self.call("doctor", "--json", "--python", str(python))
        [found] = [each for each in done.json["findings"] if each["what"].startswith("Python with PyTorch")]
        self.assertEqual(done.json["complete"], all(each["state"] != "missing" for each in done.json["findings"]))
        return found

    def test_doctor_looks_at_the_python_that_profile_would_use(self):
        found = self.doctor_of("/nonexistent/python3")
        self.assertEqual(found["state"], "optional")
        self.assertIn("/nonexistent/python3", found["found"])
        self.assertIn("--python", found["remedy"])
        folder = self.folder / "fake"
        folder.mkdir()
        python = folder / "python"
        python.write_text(f'#!/bin/sh\nPYTHONPATH={folder} exec {sys.executable} "$@"\n')
        python.chmod(0o755)
        torch = "print('hello')\n__version__ = '2.5.1'\nclass version: cuda = {}\nclass cuda: is_available = lambda: False\n"
        for text, words in ((torch.format("'12.4'"), ["PyTorch 2.5.1 with CUDA 12.4, sees no GPU", sys.executable]),
                            (torch.format("None"), ["PyTorch 2.5.1 without CUDA"]),
                            ("raise ImportError('libcudart.so: no such file')", ["no PyTorch (ImportError: libcudart.so"])):
            (folder / "torch.py").write_text(text)
            found = self.doctor_of(python)
            for each in words:
                self.assertIn(each, found["found"])
        self.assertEqual(found["state"], "optional")
        (folder / "torch.py").write_text("import sys; sys.exit('broken to the core')")
        self.assertIn("broken to the core", self.doctor_of(python)["found"])


if __name__ == "__main__":
    BINARY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
