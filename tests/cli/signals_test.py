#!/usr/bin/env python3
"""Ctrl-C and SIGTERM, for a command that saves nothing; tune, optimize and record have tests of their own.

    signals_test.py BINARY [unittest arguments]
"""
import pathlib
import signal
import subprocess
import sys
import time
import unittest

BINARY = ""


def catches(pid, number):
    """Whether the process has a handler for the signal by now."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    mask = int(next(line for line in status.splitlines() if line.startswith("SigCgt")).split()[1], 16)
    return bool(mask >> (number - 1) & 1)


class SignalsTest(unittest.TestCase):
    def test_the_first_signal_ends_it_at_once_and_says_so(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen([BINARY, "worker", "--device", "cpu"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            while process.poll() is None and not catches(process.pid, number):
                time.sleep(0.001)
            process.send_signal(number)  # it waits for a request that never comes
            _, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130)
            self.assertIn("interrupted", errors)


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    unittest.main()
