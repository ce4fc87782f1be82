#!/usr/bin/env python3
"""Commands that only read a workspace: no worker, no history and no writable folder is needed; what they are asked
for and do not find is told with what there is.

    readers_test.py BINARY [unittest arguments]
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
TRACE = str(ROOT / "tests" / "data" / "traces" / "llama_gqa_bf16_1x1024.json.gz")
OTHER_TRACE = str(ROOT / "tests" / "data" / "traces" / "bert_fp16_8x512.json.gz")
BINARY = ""
READERS = (["status"], ["next"], ["log"], ["show", "1"], ["report"], ["plan"])


class ReadersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.outer = tempfile.TemporaryDirectory(prefix="ak-readers-")
        cls.base = pathlib.Path(cls.outer.name)
        cls.environment = dict(os.environ, AUTOKERNEL_CACHE=str(cls.base / "cache"), AUTOKERNEL_DEVICE="cpu")
        cls.made = cls.base / "made"
        for command in (["plan", TRACE], ["extract", "--top", "1"]):
            assert cls.run_in(cls.made, *command).returncode == 0
        kernel = json.loads(cls.run_in(cls.made, "next", "--top", "1", "--json").stdout)["next"]["kernel"]
        done = cls.run_in(cls.made, "tune", kernel, "--tag", "optimize", "--budget", "1")
        assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        cls.outer.cleanup()

    @classmethod
    def run_in(cls, workspace, *arguments, before=()):
        return subprocess.run([*before, BINARY, *arguments, "-w", str(workspace)], cwd=cls.base, env=cls.environment,
                              capture_output=True, text=True, timeout=300)

    def setUp(self):
        self.workspace = self.base / self.id().rsplit(".", 1)[1]
        shutil.copytree(self.made, self.workspace)

    def call(self, *arguments, code=0, before=()):
        done = self.run_in(self.workspace, *arguments, before=before)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_no_worker_is_started(self):
        for command in READERS:
            for form in ([], ["--json"]):
                self.call(*command, *form, "--worker", "/bin/false")
        status = json.loads(self.call("status", "--json").stdout)
        self.assertEqual(status["device"]["kind"], "cpu")
        self.assertGreater(status["targets"][0]["experiments"], 0)

    def test_a_folder_that_cannot_be_written_is_enough(self):
        mount = ["unshare", "-m", "sh", "-c", "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && exec \"$@\"",
                 str(self.workspace)]
        probe = subprocess.run([*mount, "true"], capture_output=True, text=True)
        if probe.returncode != 0:
            self.skipTest(f"cannot mount here: {probe.stderr.strip()}")
        for command in READERS:
            done = self.call(*command, before=mount)
            self.assertTrue(done.stdout)
        self.assertIn("reports/ was not written", self.call("report", before=mount).stderr)
        self.assertIsNone(json.loads(self.call("report", "--json", before=mount).stdout)["html"])

    def test_without_the_history_the_ledger_is_enough_and_the_next_writer_makes_it_again(self):
        before = self.call("show", "1").stdout
        self.assertIn("+++ b/targets/", before)
        shutil.rmtree(self.workspace / ".git")
        for command in READERS:
            self.call(*command)
        done = self.call("show", "1")
        self.assertIn("has no .git: the change is not shown", done.stderr)
        self.assertIn("decision: start", done.stdout)
        self.assertIsNone(json.loads(self.call("show", "1", "--json").stdout)["diff"])
        self.call("extract", "--top", "1")
        self.assertEqual(self.call("show", "1").stdout, before)

    def test_without_git_writers_refuse_with_the_remedy_and_readers_do_not(self):
        programs = self.base / "programs"
        programs.mkdir()
        for name in ("g++", "c++", "as", "ld"):
            if shutil.which(name):
                (programs / name).symlink_to(shutil.which(name))
        no_git = ["env", f"PATH={programs}"]
        for command in READERS:
            self.call(*command, before=no_git)
        self.assertIn("git", self.call("show", "1", before=no_git).stderr)
        done = self.call("extract", code=3, before=no_git)
        self.assertIn("install it (apt-get install git)", done.stderr)

    def test_what_is_not_there_is_told_with_what_is(self):
        target = json.loads(self.call("log", "--json").stdout)["experiments"][0]["target"]
        for command, expected in ((["show", "x"], "show x: expected the number of an experiment, 1 to 2"),
                                  (["show", "99"], "1 to 2"), (["show", "1x"], "1 to 2"),
                                  (["log", "--target", "nope"], target), (["log", "--tag", "nope"], "optimize")):
            self.assertIn(expected, self.call(*command, code=2).stderr)
        self.assertIn(target, self.call("log", "--target", target).stdout)

    def test_status_says_what_its_numbers_are_of(self):
        plan = {site["id"]: site for site in json.loads(self.call("plan", "--json").stdout)["sites"]}
        target = json.loads(self.call("status", "--json").stdout)["targets"][0]
        site = plan[target["site"]]
        self.assertEqual((target["share"], target["calls"], target["share_now"]), (site["share"], site["calls"], None))
        self.assertIsInstance(target["calls"], int)
        self.assertGreater(target["calls"], 1)
        self.assertNotEqual(target["reduced_problem"], target["problem"])
        text = self.call("status").stdout
        for words in ("start, a call", "best, a call", "measured here, reduced", target["reduced_problem"]):
            self.assertIn(words, text)
        call_us = target["start_us"] / target["calls"]
        self.assertIn(f"{call_us:.3f} us" if call_us < 1000 else f"{call_us / 1000:.3f} ms", text)
        self.assertIn(f"{100 * site['share']:.1f} % of the model's device time", self.call("next").stdout)

    def test_reports_say_what_their_numbers_are_of(self):
        target = json.loads(self.call("status", "--json").stdout)["targets"][0]
        text = self.call("report").stdout
        for words in ("all calls in the model", "starter, a call", "measured here, reduced", "reduced from", target["problem"],
                      target["reduced_problem"], f"(all {target['calls']} calls)", "calls x time"):
            self.assertIn(words, text)
        answer = json.loads(self.call("report", "--json").stdout)
        self.assertIsNone(answer["projection"])
        self.assertIn("rehearsal", answer["no_projection"])

    def test_readers_announce_no_rehearsal(self):
        for command in READERS:
            self.assertNotIn("rehearsal:", self.call(*command).stderr)

    def test_a_second_plan_hides_no_target_of_the_first(self):
        before = json.loads(self.call("status", "--json").stdout)["targets"][0]
        said = self.call("plan", OTHER_TRACE).stderr
        self.assertIn("targets of the plan before that this one does not have", said)
        self.assertIn(before["id"], said)
        status = json.loads(self.call("status", "--json").stdout)
        self.assertEqual(status["targets"], [])
        [other] = status["others"]
        self.assertEqual((other["id"], other["why"], other["share"]), (before["id"], "not in this plan", None))
        self.assertEqual((other["problem"], other["reduced_problem"]), (before["problem"], before["reduced_problem"]))
        self.assertEqual((other["start_us"], other["experiments"]), (before["start_us"], before["experiments"]))
        self.assertIn("not in this plan; ", self.call("status").stdout)
        self.assertNotIn("targets of the plan before", self.call("plan", OTHER_TRACE).stderr)
        self.call("plan", TRACE)
        again = json.loads(self.call("status", "--json").stdout)
        self.assertEqual((again["targets"][0], again["others"]), (before, []))

    def test_a_device_that_there_is_not_is_refused_by_every_command(self):
        for command in [*READERS, ["ops"], ["doctor"], ["config"], ["devices"], ["explain", "race"], ["extract"], ["record"],
                        ["optimize"], ["profile", "x.py"], ["compile", "x.cu"], ["bench", "x.cu"], ["selftest"], ["worker"]]:
            for device in ("foo", "cuda:", "cuda:x", "cpu:1"):
                done = self.call(*command, "--device", device, code=2)
                self.assertIn(f"--device: device `{device}`: expected auto, cpu or cuda, or cuda:N", done.stderr)
                self.assertEqual(done.stdout, "")
        for command in ("profile", "optimize"):
            done = self.call(command, "x.py", "--torch-device", "foo", code=2)
            self.assertIn("--torch-device: device `foo`: expected auto, cpu or cuda", done.stderr)
        done = subprocess.run([BINARY, "config"], env=dict(self.environment, AUTOKERNEL_DEVICE="foo"), capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("AUTOKERNEL_DEVICE: device `foo`: expected", done.stderr)

    def test_a_broken_plan_names_the_remedy(self):
        plan = self.workspace / "plan.json"
        for broken in ("{", "[]", '{"schema": 99}', plan.read_text().replace('"rmsnorm"', '"nosuch"')):
            plan.write_text(broken)
            for command in ("plan", "status", "next"):
                done = self.call(command, code=2)
                self.assertIn("plan.json", done.stderr)
                self.assertIn("autokernel plan TRACE", done.stderr)
        self.assertIn("says nothing of the model", self.call("report").stderr)


if __name__ == "__main__":
    BINARY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
