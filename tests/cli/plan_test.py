#!/usr/bin/env python3
"""Plans of the sample traces, against an attribution of our own: by containment, where the program sweeps a stack.

    plan_test.py BINARY [unittest arguments]
"""
import collections
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import tomllib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import traces  # noqa: E402

TRACES = ROOT / "tests" / "data" / "traces"
SAMPLES = sorted(path.name for path in TRACES.glob("*.json.gz"))
BINARY = ""
WORK = ("kernel", "gpu_memset", "gpu_memcpy")


def load(name):
    return json.loads(gzip.decompress((TRACES / name).read_bytes()))


def shares_by_containment(trace):
    """{op: share of the device time}: of all ops around a launch the shortest one."""
    ops = collections.defaultdict(list)
    calls = {}
    for event in trace["traceEvents"]:
        category = event.get("cat", "")
        if category == "cpu_op":
            ops[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"], event["name"]))
        elif category in ("cuda_runtime", "cuda_driver"):
            calls[event["args"]["correlation"]] = (event["pid"], event["tid"]), event["ts"]
    time = collections.Counter()
    for event in trace["traceEvents"]:
        if event.get("cat") not in WORK:
            continue
        thread, at = calls[event["args"]["correlation"]]
        around = [(end - begin, name) for begin, end, name in ops[thread] if begin <= at < end]
        time[min(around)[1] if around else None] += event["dur"]
    total = sum(time.values())
    return {name: each / total for name, each in time.items()}, total


class PlanTest(unittest.TestCase):
    def setUp(self):
        self.outer = tempfile.TemporaryDirectory(prefix="ak-plan-")
        self.folder = pathlib.Path(self.outer.name)

    def tearDown(self):
        self.outer.cleanup()

    def call(self, *arguments):
        environment = dict(os.environ, AUTOKERNEL_CACHE=str(self.folder / "cache"))
        return subprocess.run([BINARY, *map(str, arguments)], cwd=self.folder, env=environment, capture_output=True,
                              text=True, timeout=300)

    def plan(self, path):
        done = self.call("plan", path, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def plan_of(self, name):
        return self.plan(TRACES / name)

    def write(self, trace, name="trace.json"):
        path = self.folder / name
        path.write_text(json.dumps(trace))
        return path

    def refused(self, path, *texts):
        done = self.call("plan", path)
        self.assertEqual(done.returncode, 2, done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)

    def test_shares_agree_with_an_attribution_by_containment(self):
        for name in SAMPLES:
            with self.subTest(name):
                plan = self.plan_of(name)
                expected, total = shares_by_containment(load(name))
                self.assertAlmostEqual(plan["total_us"], total, delta=1e-6 * total)
                self.assertEqual(plan["unattributed_share"], 0)
                found = {each["aten"]: each["share"] for each in plan["by_aten"]}
                self.assertEqual(found.keys(), expected.keys())
                for aten, share in expected.items():
                    self.assertAlmostEqual(found[aten], share, delta=0.001, msg=aten)

    def test_sites_other_and_unattributed_are_all_of_the_time(self):
        for name in SAMPLES:
            with self.subTest(name):
                plan = self.plan_of(name)
                parts = [site["share"] for site in plan["sites"]] + [each["share"] for each in plan["other"]]
                self.assertAlmostEqual(sum(parts) + plan["unattributed_share"], 1, delta=1e-9)
                self.assertAlmostEqual(sum(each["share"] for each in plan["by_aten"]), 1, delta=1e-9)
                self.assertEqual([site["share"] for site in plan["sites"]],
                                 sorted((site["share"] for site in plan["sites"]), reverse=True))

    def test_the_keys_of_the_json(self):
        plan = self.plan_of(SAMPLES[0])
        self.assertEqual(set(plan), {"schema", "device", "total_us", "unattributed_share", "sites", "model_ceiling", "other",
                                     "by_aten"})
        self.assertEqual(set(plan["sites"][0]),
                         {"id", "op", "dims", "flags", "scalars", "dtype", "strides", "calls", "time_us", "share",
                          "cumulative_share", "floor_us", "bound", "ceiling", "realistic_us", "priority", "aten",
                          "kernels", "places"})
        self.assertEqual(set(plan["other"][0]), {"aten", "share"})
        self.assertEqual(set(plan["by_aten"][0]), {"aten", "time_us", "share"})

    def sites(self, plan, op, **dims):
        return [site for site in plan["sites"]
                if site["op"] == op and all(site["dims"][name] == value for name, value in dims.items())]

    def test_the_unfused_sequences_of_llama_are_sites(self):
        plan = self.plan_of("llama_gqa_bf16_1x1024.json.gz")
        norms = self.sites(plan, "rmsnorm", M=1024, N=2048)
        # Two a layer and a last one; all but the first follow a residual addition.
        self.assertEqual({site["flags"].get("HAS_RESIDUAL", 0): site["calls"] for site in norms}, {0: 1, 1: 8})
        self.assertEqual({site["dtype"] for site in norms}, {"bf16"})
        self.assertIn("aten::rsqrt", norms[0]["aten"])
        rotary = {site["dims"]["H"]: site["calls"] for site in self.sites(plan, "rotary_embedding", S=1024, D=64)}
        self.assertEqual(rotary, {32: 4, 8: 4})
        mlp = self.sites(plan, "fused_mlp", M=1024, D=2048, H=5504)
        self.assertEqual([site["calls"] for site in mlp], [4])
        self.assertEqual(mlp[0]["flags"]["ACT"], 4)
        attention = self.sites(plan, "flash_attention", HQ=32, HKV=8, LQ=1024, LK=1024, D=64)
        self.assertEqual([(site["calls"], site["flags"]["CAUSAL"]) for site in attention], [(4, 1)])
        unfused = sum(site["share"] for site in norms + self.sites(plan, "rotary_embedding") + mlp)
        self.assertGreater(unfused, 0.40)

    def test_convolutions_of_resnet_take_batch_norm_relu_and_residual_along(self):
        plan = self.plan_of("resnet50_fp16_nhwc_32.json.gz")
        convolutions = self.sites(plan, "conv2d")
        self.assertEqual(sum(site["calls"] for site in convolutions), 53)
        for site in convolutions:
            self.assertEqual(site["flags"]["NHWC"], 1)
            self.assertEqual(site["flags"].get("HAS_BIAS"), 1, site["aten"])
            self.assertIn("aten::batch_norm", site["aten"])
        residual = [site for site in convolutions if site["flags"].get("HAS_RESIDUAL")]
        self.assertEqual(sum(site["calls"] for site in residual), 16)
        self.assertTrue(all(site["flags"]["ACT"] == 1 for site in residual))
        first = self.sites(plan, "conv2d", C=3, K=64, R=7, S=7)
        self.assertEqual([(s["flags"]["STRIDE_H"], s["flags"]["PAD_W"], s["flags"]["ACT"]) for s in first], [(2, 3, 1)])
        self.assertNotIn("aten::relu_", {each["aten"] for each in plan["other"]})

    def test_activations_belong_to_the_product_before_them(self):
        gpt2 = self.sites(self.plan_of("gpt2_fp16_1x1024.json.gz"), "matmul", M=1024, N=3072, K=768)
        self.assertEqual([(site["calls"], site["flags"]["ACT"], site["flags"]["TRANS_B"]) for site in gpt2], [(4, 2, 0)])
        self.assertIn("aten::tanh", gpt2[0]["aten"])
        bert = self.sites(self.plan_of("bert_fp16_8x512.json.gz"), "matmul", M=4096, N=3072, K=768)
        self.assertEqual([(site["calls"], site["flags"]["ACT"], site["flags"]["TRANS_B"]) for site in bert], [(4, 3, 1)])

    def test_plain_text_has_the_same_plan_as_gzip(self):
        for dump in (json.dumps, lambda trace: json.dumps(trace, indent=3), lambda trace: json.dumps(trace["traceEvents"])):
            path = self.folder / "plain.json"
            path.write_text(dump(load(SAMPLES[0])))
            plain, packed = self.plan(path), self.plan_of(SAMPLES[0])
            self.assertEqual(plain["by_aten"], packed["by_aten"])
            self.assertEqual([site["id"] for site in plain["sites"]], [site["id"] for site in packed["sites"]])

    def test_kernels_without_a_runtime_call_are_tied_by_external_id(self):
        trace = load(SAMPLES[0])
        trace["traceEvents"] = [event for event in trace["traceEvents"]
                                if event.get("cat") not in ("cuda_runtime", "cuda_driver")]
        self.assertLess(self.plan(self.write(trace))["unattributed_share"], 0.01)
        for event in trace["traceEvents"]:
            event.get("args", {}).pop("External id", None)
        plan = self.plan(self.write(trace))
        self.assertEqual((plan["unattributed_share"], plan["sites"]), (1, []))

    def test_hip_calls_are_runtime_calls(self):
        trace = load(SAMPLES[0])
        for event in trace["traceEvents"]:
            if event.get("cat") == "cuda_runtime":
                event["cat"], event["name"] = "hip_runtime", event["name"].replace("cuda", "hip")
        self.assertEqual(self.plan(self.write(trace))["by_aten"], self.plan_of(SAMPLES[0])["by_aten"])

    def test_a_trace_of_the_cpu_counts_the_ops_own_times(self):
        trace = load("llama_gqa_bf16_1x1024.json.gz")
        trace["traceEvents"] = [event for event in trace["traceEvents"] if event.get("cat") == "cpu_op"]
        plan = self.plan(self.write(trace))
        threads = collections.defaultdict(list)
        for event in trace["traceEvents"]:
            threads[event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        busy = 0
        for spans in threads.values():  # the union of all ops
            reached = float("-inf")
            for begin, end in sorted(spans):
                busy += max(0, end - max(begin, reached))
                reached = max(reached, end)
        self.assertAlmostEqual(plan["total_us"], busy, delta=1)
        self.assertEqual(sum(site["calls"] for site in self.sites(plan, "rmsnorm")), 9)

    def test_a_triton_kernel_is_listed_under_its_own_op(self):
        def event(category, name, ts, dur, **args):
            return {"ph": "X", "cat": category, "name": name, "pid": 0 if category == "kernel" else 1,
                    "tid": 7 if category == "kernel" else 1, "ts": ts, "dur": dur, "args": args}
        name = "triton_per_fused_add_mean_mul_pow_rsqrt_0"
        trace = {"traceEvents": [
            event("cpu_op", "Torch-Compiled Region: 0/0", 0, 100),
            event("cpu_op", name, 10, 20, **{"kernel_backend": "triton", "Input Dims": [[8, 64], [8, 64]],
                                             "Input type": ["float", "float"]}),
            event("cuda_driver", "cuLaunchKernel", 15, 5, correlation=1),
            event("kernel", name, 40, 30, correlation=1),
            event("cuda_driver", "cuLaunchKernel", 50, 5, correlation=2),
            event("kernel", "anything", 80, 10, correlation=2)]}
        plan = self.plan(self.write(trace))
        self.assertEqual([(each["aten"], each["time_us"]) for each in plan["by_aten"]],
                         [(name, 30), ("Torch-Compiled Region: 0/0", 10)])

    def test_a_site_that_is_all_of_the_time_has_no_ceiling(self):
        plan = self.plan(self.write(traces.trace(("aten::mm", [[64, 64], [64, 64]], {}, 30))))
        [site] = plan["sites"]
        self.assertEqual((site["share"], site["ceiling"], site["calls"]), (1, None, 1))
        self.assertIsInstance(site["calls"], int)
        self.assertNotIn("inf", json.dumps(plan))
        self.assertEqual(json.loads(self.call("plan", "--json").stdout), plan)
        self.assertNotIn("inf", self.call("plan").stdout)

    def test_bad_files_say_what_is_wrong(self):
        packed = (TRACES / SAMPLES[0]).read_bytes()
        text = gzip.decompress(packed)
        path = self.folder / "bad.json"
        for content, words in ((b"", ["the file is empty"]), (text[:100_000], ["truncated", "100000", "events"]),
                               (b"hello", ["byte 0", "no JSON"]), (b"{\"traceEvents\": [1 2]}", ["no JSON"]),
                               (packed[:5000], ["gzip", "truncated"]),
                               (packed[:3000] + b"\0\0\0\0" + packed[3004:], ["gzip", "broken"]),
                               (packed + b"more", ["gzip", "rubbish"]),
                               (b"{\"a\": 1}", ["no trace of torch.profiler"]), (b"\0" * 100, ["no JSON"])):
            with self.subTest(words):
                path.write_bytes(content)
                self.refused(path, "bad.json", *words)
        self.refused(self.folder / "none.json", "cannot open", "none.json")
        self.refused(self.folder, "is a folder")

    def test_a_trace_without_shapes_says_how_to_record_them(self):
        trace = load(SAMPLES[0])
        for event in trace["traceEvents"]:
            for key in ("Input Dims", "Input type", "Input Strides", "Concrete Inputs"):
                event.get("args", {}).pop(key, None)
        self.refused(self.write(trace), "no shapes", "record_shapes=True")

    def test_the_plan_is_kept_for_extract(self):
        done = self.call("extract")
        self.assertEqual(done.returncode, 2)
        self.assertIn("autokernel plan TRACE", done.stderr)
        plan = self.plan_of("llama_gqa_bf16_1x1024.json.gz")
        again = self.call("plan", "--json")
        self.assertEqual(json.loads(again.stdout), plan)
        done = self.call("extract", "--top", 3, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        targets = json.loads(done.stdout)["targets"]
        first = sorted((site for site in plan["sites"] if site["priority"]), key=lambda site: site["priority"])[:3]
        self.assertEqual([target["id"] for target in targets], [site["id"] for site in first])
        for target, site in zip(targets, first):
            toml = tomllib.loads((self.folder / target["folder"] / "target.toml").read_text())
            primary, *others = toml["problem"]
            given = {name: site["dims"][name] for name in primary["dims"]}
            self.assertEqual((toml["op"], primary["dims"], primary["dtype"], primary["calls"], primary["sites"]),
                             (site["op"], given, site["dtype"], site["calls"], [site["id"]]))
            self.assertEqual([each["id"] for each in others], ["half", "double", "odd"])
            self.assertTrue(all(each["role"] == "sweep" for each in others))
            self.assertTrue((self.folder / target["folder"] / "kernel.cu").is_file())

    def test_a_target_is_rehearsed_on_the_cpu_at_reduced_size(self):
        self.plan_of("llama_gqa_bf16_1x1024.json.gz")
        targets = json.loads(self.call("extract", "--top", 5, "--json").stdout)["targets"]
        norm = next(target for target in targets if target["id"].startswith("rmsnorm"))
        done = self.call("bench", pathlib.Path(norm["folder"]) / "kernel.cu", "--device", "cpu")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("rehearsal", done.stderr)
        self.assertIn("correctness: PASS", done.stdout)


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    unittest.main()
