#!/usr/bin/env python3
"""record: an edited kernel file of a workspace, measured and kept or reverted; two callers at once; bad input.

    record_test.py BINARY [unittest arguments]
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import tinynorm  # noqa: E402

TRACE = str(ROOT / "tests" / "data" / "traces" / "llama_gqa_bf16_1x1024.json.gz")
BINARY = ""

PASSES = "for (int pass = 0; pass < 60; ++pass)"

class RecordTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.outer = tempfile.TemporaryDirectory(prefix="ak-record-")
        cls.base = pathlib.Path(cls.outer.name)
        tinynorm.write_family(cls.base / "ops" / "tinynorm", sweep="M = 128, N = 128", primary="M = 128, N = 128")
        (cls.base / "norm.cu").write_text(tinynorm.kernel({"LANES": [4]}, passes="60"))
        cls.environment = dict(os.environ, AUTOKERNEL_CACHE=str(cls.base / "cache"), AUTOKERNEL_DEVICE="cpu")
        cls.tuned = cls.base / "tuned"
        done = cls.run_in(cls.tuned, "tune", str(cls.base / "norm.cu"), "--dims", "M=128,N=256", "--budget", "1")
        assert done.returncode == 0, done.stderr
        cls.target = json.loads(cls.run_in(cls.tuned, "log", "--json").stdout)["experiments"][0]["target"]

    @classmethod
    def tearDownClass(cls):
        cls.outer.cleanup()

    @classmethod
    def run_in(cls, workspace, *arguments):
        return subprocess.run([BINARY, *arguments, "-w", str(workspace), "--ops", str(cls.base / "ops")], cwd=cls.base,
                              env=cls.environment, capture_output=True, text=True, timeout=300)

    def setUp(self):
        """A copy of a workspace that a search of one config has made."""
        self.workspace = self.base / self.id().rsplit(".", 1)[1]
        shutil.copytree(self.tuned, self.workspace)
        self.kernel = self.workspace / "targets" / self.target / "kernel.cu"

    def call(self, *arguments, code=0):
        done = self.run_in(self.workspace, *arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def edit(self, what, into):
        text = self.kernel.read_text()
        self.assertIn(what, text)
        self.kernel.write_text(text.replace(what, into))
        return self.kernel.read_text()

    def log(self):
        return json.loads(self.call("log", "--json").stdout)["experiments"]

    def test_a_faster_edit_is_kept(self):
        edited = self.edit(PASSES, "for (int pass = 0; pass < 1; ++pass)")
        answer = json.loads(self.call("record", "--note", "one pass\nis enough", "--json").stdout)
        self.assertEqual((answer["schema"], answer["decision"], answer["target"]), (1, "kept", self.target))
        self.assertGreater(answer["confirmation"]["ci_low"], 1.01)
        self.assertIsNone(answer["failure"])
        self.assertEqual(self.kernel.read_text(), edited)
        last = self.log()[-1]
        self.assertEqual((last["experiment"], last["proposer"]), (answer["experiment"], "edit"))
        self.assertIn("one pass is enough: ", last["description"])
        shown = self.call("show", str(last["experiment"])).stdout
        self.assertIn("+  for (int pass = 0; pass < 1; ++pass)", shown)
        self.assertIn("one pass is enough", (self.workspace / "results.tsv").read_text())
        self.assertIn("one pass is enough", (self.workspace / "reports" / "report.md").read_text())
        self.assertIn("the speed of the start", self.call("report").stdout)

    def test_a_later_edit_is_told_against_what_was_kept_before_it(self):
        self.edit(PASSES, "for (int pass = 0; pass < 8; ++pass)")
        first = json.loads(self.call("record", "--json").stdout)
        self.edit("pass < 8", "pass < 1")
        second = json.loads(self.call("record", "--json").stdout)
        self.assertEqual((first["decision"], second["decision"]), ("kept", "kept"))
        self.assertEqual(second["start_experiment"], first["experiment"])
        report = self.call("report").stdout
        before = f"experiment {first['experiment']}"
        self.assertIn(f"the speed of {before}", report)
        self.assertIn(f"{before}, a call", report)  # the column is of what the edit was measured against
        self.assertNotIn("start, a call", report)
        shown = self.call("show", str(second["experiment"])).stdout
        self.assertIn(f"{before} / this: the time of what {before} left over this config's", shown)
        answer = json.loads(self.call("show", str(second["experiment"]), "--json").stdout)
        self.assertEqual(answer["measured_against"], first["experiment"])

    def test_a_deleted_kernel_is_put_back_and_that_is_said(self):
        self.kernel.unlink()
        done = self.call("record", code=2)
        self.assertIn("kernel.cu was missing: it is again what experiment 1 left there", done.stderr)
        self.assertIn("there is nothing to measure", done.stderr)
        self.assertTrue(self.kernel.is_file())
        self.kernel.unlink()
        done = self.call("tune", str(self.base / "norm.cu"), "--dims", "M=128,N=256", "--budget", "1", "--json")
        self.assertIn("kernel.cu was missing", json.loads(done.stdout)["repaired"][0])

    def test_a_slower_edit_is_reverted_and_not_lost(self):
        before = self.kernel.read_text()
        edited = self.edit(PASSES, "for (int pass = 0; pass < 120; ++pass)")
        done = self.call("record", "--target", self.target, code=1)
        self.assertIn("decision: reverted", done.stdout)
        number = self.log()[-1]["experiment"]
        self.assertIn(f"autokernel show {number}", done.stdout)
        self.assertEqual(self.kernel.read_text(), before)
        kept = subprocess.run(["git", "-C", str(self.workspace), "show",
                               f"refs/autokernel/rejected/{number}:targets/{self.target}/kernel.cu"], capture_output=True, text=True)
        self.assertEqual(kept.stdout, edited)

    def test_a_wrong_edit_fails_with_its_reason_and_the_command_that_explains_it(self):
        before = self.kernel.read_text()
        self.edit("* rstd * weight[i]", "* rstd")
        done = self.call("record", code=1)
        self.assertIn("failure_kind: wrong", done.stdout)
        self.assertIn("see: autokernel explain", done.stdout)
        self.assertEqual(self.kernel.read_text(), before)
        self.assertEqual(self.log()[-1]["decision"], "failed")
        self.assertIsNone(self.log()[-1]["objective_us"])
        self.assertIn("does not pass", self.call("report").stdout)

    def test_of_two_callers_at_once_one_records_and_the_other_is_told(self):
        self.edit(PASSES, "for (int pass = 0; pass < 1; ++pass)")
        command = [BINARY, "record", "-w", str(self.workspace), "--ops", str(self.base / "ops")]
        both = [subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                for _ in range(2)]
        ends = [process.communicate(timeout=300) for process in both]
        codes = sorted(process.returncode for process in both)
        self.assertEqual(codes, [0, 3], ends)
        refused = ends[[process.returncode for process in both].index(3)][1]
        self.assertIn(f"is held by process {both[[p.returncode for p in both].index(0)].pid}", refused)
        self.assertEqual([each["decision"] for each in self.log()][-1], "kept")

    def test_a_killed_record_loses_nothing_and_is_repeated(self):
        edited = self.edit(PASSES, "for (int pass = 0; pass < 1; ++pass)")
        before = self.log()
        process = subprocess.Popen([BINARY, "record", "-w", str(self.workspace), "--ops", str(self.base / "ops")],
                                   env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in process.stderr:
            if "measuring the edit" in line:
                break
        process.kill()
        process.communicate(timeout=60)
        self.assertEqual(self.log(), before)
        self.assertEqual(self.kernel.read_text(), edited)
        self.assertIn("decision: kept", self.call("record").stdout)

    def test_bad_input_loses_nothing(self):
        before = self.log()
        text = self.kernel.read_text()
        cases = [
            (text, [], "was edited: there is nothing to measure"),
            (text, ["--target", self.target], "no edit to measure"),
            (text, ["--target", "nope"], self.target),
            (text.replace("[defaults]", "[defaults"), [], "kernel.cu:"),
            (text.replace('op = "tinynorm"', 'op = "softmax"'), [], "keeps its op"),
            (text.replace('dtypes = ["f32"]', 'dtypes = ["f16"]'), [], "must cover every problem"),
        ]
        for edited, arguments, message in cases:
            self.kernel.write_text(edited)
            done = self.call("record", *arguments, code=2)
            self.assertIn(message, done.stderr)
            self.assertEqual(self.kernel.read_text(), edited)
            self.assertEqual(self.log(), before)
        self.kernel.write_text(text.replace("60", "1"))
        judged_on = self.kernel.with_name("target.toml")
        judged_on.write_text(judged_on.read_text().replace("N = 256", "N = 8"))
        self.assertIn("what the kernel is judged on", self.call("record", code=2).stderr)
        self.workspace = self.base / "nothing-there"
        self.assertIn("there is no workspace", self.call("record", code=2).stderr)
        self.assertFalse(self.workspace.exists())

    def test_an_edit_of_a_target_of_a_plan_before_anything_was_measured(self):
        self.workspace = self.base / "planned"
        self.call("plan", TRACE)
        self.call("extract", "--top", "1")
        upcoming = json.loads(self.call("next", "--top", "1", "--json").stdout)["next"]
        self.assertFalse(upcoming["edited"])
        kernel = pathlib.Path(upcoming["kernel"])
        text = kernel.read_text()
        kernel.unlink()
        self.assertIn("`autokernel extract` makes it again", self.call("record", "--target", upcoming["id"], code=2).stderr)
        kernel.write_text(text)
        kernel.write_text(kernel.read_text().replace("\nTHREADS = 256\n", "\nTHREADS = 64\n"))
        upcoming = json.loads(self.call("next", "--top", "1", "--json").stdout)["next"]
        self.assertTrue(upcoming["edited"])
        self.assertIn("edited, not recorded", self.call("status", "--top", "1").stdout)
        command = upcoming["record"].split()[1:]
        done = self.run_in(self.workspace, *command, "--note", "fewer threads", "--json")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["target"], upcoming["id"] + "_rehearsal")
        self.assertEqual(answer["start_experiment"], 1)  # what was there was measured first
        self.assertEqual(done.stderr.count("rehearsal:"), 1, done.stderr)
        status = json.loads(self.call("status", "--top", "1", "--json").stdout)
        self.assertEqual(status["targets"][0]["experiments"], 2)
        self.assertEqual(status["device"]["kind"], "cpu")
        self.assertIn(answer["next"], (None, status["targets"][0]["id"]))


if __name__ == "__main__":
    BINARY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
