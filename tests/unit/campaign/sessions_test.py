#!/usr/bin/env python3
"""A tune that is killed, interrupted, started twice or has no room: what the workspace remembers (needs the binary).

    sessions_test.py BINARY [unittest arguments]
"""
import json
import os
import pathlib
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import tinynorm  # noqa: E402

BINARY = ""
KILLS = 20
DEADLINE_S = 120

KERNEL = tinynorm.kernel({"LANES": [1, 2, 4, 8], "WORK": [20, 1, 2, 3, 4, 5]}, passes="WORK")
CONFIGS = 24
FEW = 8
PROBLEMS = ["M=256,N=256", "M=255,N=257"]  # long enough to be timed


class Session(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.outer = tempfile.TemporaryDirectory(prefix="ak-sessions-")
        cls.base = pathlib.Path(cls.outer.name)
        tinynorm.write_family(cls.base / "ops" / "tinynorm", sweep="M = 8, N = 48", primary="M = 4, N = 64")
        (cls.base / "norm.cu").write_text(KERNEL)
        cls.mark = f"ak-sessions-{os.getpid()}"
        cls.environment = dict(os.environ, AUTOKERNEL_CACHE=str(cls.base / "cache"), AK_TEST_MARK=cls.mark)

    @classmethod
    def tearDownClass(cls):
        cls.outer.cleanup()

    def setUp(self):
        self.workspace = self.base / self.id().rsplit(".", 1)[1]

    def command(self, *more, budget=FEW):
        dims = [argument for problem in PROBLEMS for argument in ("--dims", problem)]
        return [BINARY, "tune", str(self.base / "norm.cu"), "--ops", str(self.base / "ops"), *dims, "--strategy", "random",
                "--seed", "5", "--budget", str(budget), "-w", str(self.workspace), *more]

    def start(self, *more, budget=FEW):
        return subprocess.Popen(self.command(*more, budget=budget), env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def run_tune(self, *more, budget=FEW):
        return subprocess.run(self.command(*more, budget=budget), env=self.environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=DEADLINE_S)

    def autokernel(self, *arguments):
        return subprocess.run([BINARY, *arguments, "-w", str(self.workspace)], env=self.environment, capture_output=True,
                              text=True, timeout=DEADLINE_S)

    def query(self, sql):
        """Rows of the ledger; none while there is no ledger yet."""
        path = self.workspace / "ledger.db"
        if not path.exists():
            return []
        try:
            database = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
            try:
                return database.execute(sql).fetchall()
            finally:
                database.close()
        except sqlite3.OperationalError:
            return []

    def rows(self):
        return self.query("SELECT id, experiment, problem_id, config, passed, median_us, recorded_at FROM trials "
                          "ORDER BY id")

    def wait_for_rows(self, process, count):
        end = time.monotonic() + DEADLINE_S
        while len(self.rows()) < count and process.poll() is None:
            self.assertLess(time.monotonic(), end, "no progress")
            time.sleep(0.01)

    def marked(self):
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and self.mark.encode() in (entry / "environ").read_bytes():
                    found.append((int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ")))
            except OSError:
                pass
        return found

    def assert_nothing_runs(self):
        end = time.monotonic() + 20
        while (left := self.marked()) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(left, [], "processes were left behind")

    def assert_consistent(self):
        """No trial twice, no config half recorded, none failed."""
        seen = {}
        for _, experiment, problem, config, passed, *_ in self.rows():
            self.assertTrue(passed, self.query("SELECT config, failure FROM trials WHERE NOT passed"))
            seen.setdefault((experiment, config), []).append(problem)
        for (experiment, config), problems in seen.items():
            self.assertEqual(len(problems), len(set(problems)), f"experiment {experiment} repeats {config}")
            self.assertEqual(len(problems), len(PROBLEMS), f"experiment {experiment} has half of {config}")

    def git(self, *arguments):
        return subprocess.run(["git", "-C", str(self.workspace), *arguments], capture_output=True, text=True,
                              check=True).stdout.strip()

    def assert_refs_agree(self):
        refs = dict(reversed(line.split()) for line in self.git("show-ref").splitlines())
        branch = None
        for number, decision, commit in self.query("SELECT id, decision, commit_id FROM experiments ORDER BY id"):
            self.assertNotEqual(decision, "running")
            self.assertEqual(self.git("cat-file", "-t", commit), "commit")
            if decision in ("start", "kept"):
                branch = commit
            else:
                self.assertEqual(refs[f"refs/autokernel/rejected/{number}"], commit)
        self.assertEqual(refs["refs/heads/autokernel/tune"], branch)
        self.assertEqual(self.git("fsck", "--no-dangling"), "")

    def test_kill_9_at_random_moments_loses_and_repeats_nothing(self):
        moments = random.Random(20)
        before = []
        kills = 0
        while kills < KILLS:
            process = self.start(budget=CONFIGS)
            self.wait_for_rows(process, len(before) + moments.choice([0, 0, 0, 2, 2, 4]))
            time.sleep(moments.uniform(0, 0.25))
            ended = process.poll() is not None
            process.kill()
            _, errors = process.communicate(timeout=DEADLINE_S)
            if ended:
                self.assertEqual(process.returncode, 0, errors)
                break
            kills += 1
            after = self.rows()
            self.assertEqual(after[:len(before)], before, f"kill {kills} changed what was recorded")
            before = after
            self.assert_consistent()
            self.assert_nothing_runs()
        self.assertGreater(kills, KILLS // 2, "the run ended before it was killed often enough")

        done = self.run_tune("--json", budget=CONFIGS)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual(self.rows()[:len(before)], before)
        self.assert_consistent()
        if not ended:
            self.assertEqual(result["trials"], CONFIGS)
        experiments = self.query("SELECT id, proposer, decision FROM experiments ORDER BY id")
        starts = [row for row in experiments if row[2] == "start"]
        tunes = [row for row in experiments if row[1] == "tune:random"]
        self.assertEqual(len(starts), 1, experiments)
        self.assertEqual(len(tunes), 2 if ended else 1, experiments)
        configs = self.query(f"SELECT count(DISTINCT config), count(*) FROM trials WHERE experiment = {tunes[0][0]}")
        self.assertEqual(configs, [(CONFIGS, CONFIGS * len(PROBLEMS))])
        self.assert_refs_agree()

    def test_a_second_run_is_refused_with_the_pid_of_the_first_and_readers_are_not(self):
        first = self.start()
        try:
            self.wait_for_rows(first, 1)
            second = self.run_tune()
            self.assertEqual(second.returncode, 3, second.stderr)
            self.assertIn(str(first.pid), second.stderr)
            self.assertEqual(self.autokernel("log").returncode, 0)
        finally:
            first.send_signal(signal.SIGINT)
            _, errors = first.communicate(timeout=DEADLINE_S)
        self.assertEqual(first.returncode, 130, errors)

    def test_ctrl_c_saves_and_the_same_command_resumes(self):
        first = self.start()
        self.wait_for_rows(first, 3 * len(PROBLEMS))  # of the start and two configs
        first.send_signal(signal.SIGINT)
        _, errors = first.communicate(timeout=DEADLINE_S)
        self.assertEqual(first.returncode, 130, errors)
        self.assertIn("the same command goes on", errors)
        self.assert_nothing_runs()
        before = self.rows()
        second = self.run_tune("--json")
        self.assertEqual(second.returncode, 0, second.stderr)
        self.assertIn("resuming experiment", second.stderr)
        result = json.loads(second.stdout)
        self.assertGreaterEqual(result["resumed_trials"], 2)
        self.assertEqual(result["trials"], FEW)
        self.assertEqual(self.rows()[:len(before)], before)
        self.assert_consistent()
        self.assert_refs_agree()

    def test_a_second_ctrl_c_ends_at_once(self):
        process = self.start()
        self.wait_for_rows(process, 1)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, 130)
        self.assert_nothing_runs()

    def test_fresh_starts_anew_and_closes_what_was_left(self):
        first = self.start()
        self.wait_for_rows(first, 2 * len(PROBLEMS))
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=DEADLINE_S)
        second = self.run_tune("--fresh", "--json", budget=2)
        self.assertEqual(second.returncode, 0, second.stderr)
        self.assertEqual(json.loads(second.stdout)["resumed_trials"], 0)
        decisions = self.query("SELECT decision FROM experiments ORDER BY id")
        self.assertEqual([row[0] for row in decisions[:3]], ["start", "failed", "start"])
        self.assert_refs_agree()

    def test_a_workspace_that_cannot_be_written_is_an_error_of_the_environment(self):
        self.workspace = pathlib.Path("/proc/autokernel")
        done = self.run_tune()
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("/proc/autokernel", done.stderr)

    def test_a_file_system_mounted_read_only_is_told(self):
        done = self.run_in_mount("mount -t tmpfs -o ro none \"$0\"")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("read-only", done.stderr)

    def test_a_full_disk_is_told(self):
        done = self.run_in_mount("mount -t tmpfs -o size=64k none \"$0\"")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr, "(?i)no space left|disk is full|full")

    def run_in_mount(self, mount):
        folder = self.base / "mounted"
        folder.mkdir(exist_ok=True)
        probe = subprocess.run(["unshare", "-m", "sh", "-c", mount, str(folder)], capture_output=True, text=True)
        if probe.returncode != 0:
            self.skipTest(f"cannot mount here: {probe.stderr.strip()}")
        self.workspace = folder / "ws"
        return subprocess.run(["unshare", "-m", "sh", "-c", f"{mount} && shift 0 && exec \"$@\"", str(folder),
                               *self.command(budget=3)], env=self.environment, capture_output=True, text=True,
                              timeout=DEADLINE_S)


if __name__ == "__main__":
    BINARY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
