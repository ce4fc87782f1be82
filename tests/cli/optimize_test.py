#!/usr/bin/env python3
"""The campaign on a model's trace, as a rehearsal on the CPU device: optimize, status, next; interrupted and resumed.

    optimize_test.py BINARY [unittest arguments]
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import traces  # noqa: E402

BINARY = ""


def softmax(rows, columns, us):
    return "aten::_softmax", [[rows, columns]], {1: -1, 2: False}, us


# Two sites of one family and dtype, too large for the CPU device: the second one's references are in the cache. Few rows: the
# CPU device pays for blocks and barriers.
SITES = traces.trace(softmax(4, 1 << 22, 90), *[softmax(2, 1 << 22, 40)] * 3)


class OptimizeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cache = tempfile.TemporaryDirectory(prefix="ak-optimize-cache-")

    @classmethod
    def tearDownClass(cls):
        cls.cache.cleanup()

    def setUp(self):
        outer = tempfile.TemporaryDirectory(prefix="ak-optimize-")
        self.addCleanup(outer.cleanup)
        self.folder = pathlib.Path(outer.name)
        (self.folder / "trace.json").write_text(json.dumps(SITES))

    def command(self, *arguments):
        return subprocess.Popen([BINARY, *arguments], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, env=dict(os.environ, AUTOKERNEL_CACHE=self.cache.name, AUTOKERNEL_DEVICE="cpu"))

    def call(self, *arguments, code=0):
        process = self.command(*arguments)
        out, err = process.communicate(timeout=400)
        self.assertEqual(process.returncode, code, out + err)
        return out, err

    def test_a_campaign_from_a_trace(self):
        out, err = self.call("optimize", "trace.json", "--top", "2", "--budget", "6", "--strategy", "random", "--json")
        answer = json.loads(out)
        self.assertEqual((answer["schema"], answer["rehearsal"], answer["projection"]), (1, True, None))
        self.assertIn("rehearsal", answer["no_projection"])
        self.assertEqual(len(answer["targets"]), 2)
        self.assertIn("rehearsal:", err)
        touched = [each for each in answer["targets"] if each["experiments"] > 0]
        self.assertTrue(touched)
        for each in touched:
            self.assertIsNone(each["failure"], each)
            self.assertGreater(each["start_us"], 0)
            self.assertGreaterEqual(each["speedup"], 1)
            self.assertTrue((self.folder / each["kernel"]).is_file())
        self.assertEqual(answer["stopped"], "the budget is spent")
        searches = [each for each in json.loads(self.call("log", "--json")[0])["experiments"] if each["proposer"] != "start"]
        self.assertTrue(searches)
        for each in searches:  # a search that its budget cut does not read as one of the whole space
            self.assertRegex(each["description"], r"over \d+ configs, seed \d+; \d+ of them measured \(\d+ trials are done\): ")

        status = json.loads(self.call("status", "--top", "2", "--json")[0])
        self.assertEqual({each["id"] for each in status["targets"]}, {each["id"] for each in answer["targets"]})
        upcoming = json.loads(self.call("next", "--top", "2", "--json")[0])["next"]
        self.assertEqual(upcoming["id"], status["targets"][0]["id"])
        self.assertTrue((self.folder / upcoming["kernel"]).is_file())
        self.assertIn("of floor", self.call("status", "--top", "2")[0])

        report = self.call("report")[0]
        self.assertTrue(report.startswith("the model\n"), report)
        self.assertIn("No time of the model is projected: a rehearsal", report)
        for each in touched:
            self.assertIn(each["site"], report)
        self.assertIn("No time of the model is projected", (self.folder / ".autokernel/reports/report.html").read_text())

        # The plan of the workspace is enough to go on.
        again = json.loads(self.call("optimize", "--top", "2", "--budget", "3", "--strategy", "random", "--json")[0])
        before = sum(each["experiments"] for each in answer["targets"])
        self.assertGreater(sum(each["experiments"] for each in again["targets"]), before)

        # An edit that was not recorded is nobody's to take back.
        kernel = self.folder / touched[0]["kernel"]
        kernel.write_text(kernel.read_text() + "// tried by hand\n")
        out, err = self.call("optimize", "--top", "1", "--budget", "2", "--strategy", "random", "--json")
        self.assertIn("record --target", err)
        self.assertIn("edited and not recorded", json.loads(out)["targets"][0]["failure"] or err)
        self.assertTrue(kernel.read_text().endswith("// tried by hand\n"))

    def test_an_interrupted_campaign_goes_on(self):
        process = self.command("optimize", "trace.json", "--top", "1", "--budget", "12", "--strategy", "random", "--json")
        ledger = self.folder / ".autokernel" / "ledger.db"
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None:
            if ledger.exists() and "tune:random" in self.command("log").communicate()[0]:  # it may be empty yet
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130)
        log = json.loads(self.call("log", "--json")[0])["experiments"]
        self.assertEqual([each["decision"] for each in log], ["start", "interrupted"])
        self.assertIsNone(log[1]["objective_us"])
        # Nothing reads as if the search had ended.
        [target] = json.loads(self.call("status", "--top", "1", "--json")[0])["targets"]
        self.assertIsNotNone(target["unfinished_trials"])
        self.assertIn("a search was interrupted after", self.call("status", "--top", "1")[0])
        report = self.call("report")[0]
        self.assertIn("not finished (interrupted)", report)
        self.assertIn("experiment 2 was interrupted: it has no decision yet", report)
        self.assertNotIn("the starter stays", report)
        answer = json.loads(self.call("optimize", "--top", "1", "--budget", "12", "--strategy", "random", "--json")[0])
        log = json.loads(self.call("log", "--json")[0])["experiments"]
        self.assertNotIn("interrupted", [each["decision"] for each in log])
        self.assertEqual(log[1]["experiment"], 2)
        self.assertGreater(answer["targets"][0]["trials"], 0)

    def test_bad_input(self):
        out, err = self.call("optimize", "nosuch.json", code=2)
        self.assertIn("nosuch.json", err)
        out, err = self.call("optimize", code=2)
        self.assertIn("there is no plan yet", err)
        out, err = self.call("optimize", "model.py:Net", code=2)
        self.assertIn("cannot profile model.py:Net", err)  # no such file, or no PyTorch to read it
        out, err = self.call("optimize", "trace.json", "--input", "1x1024:int64", code=2)
        self.assertIn("no model is named", err)
        out, err = self.call("status", code=2)
        self.assertIn("there is no workspace", err)
        out, err = self.call("optimize", "trace.json", "--strategy", "luck", code=2)
        self.assertIn("unknown strategy", err)
        self.assertFalse((self.folder / ".autokernel").exists())


if __name__ == "__main__":
    BINARY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
