#!/usr/bin/env python3
"""The tool's own speed on the CPU device, on the machine at hand: how long a user waits, not how fast kernels are.

    cmake --preset release -DAUTOKERNEL_BENCHMARKS=ON && cmake --build build/release
    benchmarks/cpu_speed.py [--build build/release] [--runs 9] [--out benchmarks/results]

Writes <out>/<processor>/cpu-speed.json: every figure is the median of its runs, with the least and the greatest.
Run it on an idle machine; the load average before and after is recorded.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
SIZES = {"rmsnorm": ["M=32,N=128", "M=256,N=512"], "softmax": ["ROWS=32,COLS=128", "ROWS=256,COLS=512"]}


def summary(values, unit, digits=3):
    return {"median": round(statistics.median(values), digits), "least": round(min(values), digits),
            "greatest": round(max(values), digits), "runs": len(values), "unit": unit}


class Speed:
    def __init__(self, build, runs):
        self.build, self.runs = pathlib.Path(build).resolve(), runs
        self.binary = str(self.build / "src" / "autokernel" / "cli" / "autokernel")
        self.folder = tempfile.TemporaryDirectory(prefix="ak-speed-")
        self.environment = dict(os.environ, AUTOKERNEL_CACHE=self.folder.name + "/cache")

    def call(self, *arguments, code=0, cache=None):
        environment = dict(self.environment, **({"AUTOKERNEL_CACHE": cache} if cache else {}))
        begin = time.perf_counter()
        done = subprocess.run([self.binary, *arguments], cwd=self.folder.name, env=environment, capture_output=True,
                              text=True)
        seconds = time.perf_counter() - begin
        if done.returncode != code:
            sys.exit(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return seconds, done.stdout

    def verdicts(self):
        """Whole process, from start to verdict, everything compiled before."""
        out = {}
        for op, sizes in SIZES.items():
            for kernel in sorted((ROOT / "ops" / op / "kernels").glob("*.cu")):
                arguments = ["bench", str(kernel), "--dtype", "f32", "--dims", sizes[0], "--dims", sizes[1]]
                self.call(*arguments)
                out[f"{op}/{kernel.stem}"] = summary([self.call(*arguments)[0] for _ in range(self.runs)], "s")
        return out

    def rejection(self):
        """A kernel that writes zeros, whole process, compiled before."""
        text = (ROOT / "ops" / "rmsnorm" / "kernels" / "starter.cu").read_text()
        wrong = pathlib.Path(self.folder.name) / "wrong.cu"
        wrong.write_text(re.sub(r"(y\[[^\]]*\] = )", r"\g<1>0 * ", text))
        arguments = ["bench", str(wrong), "--dtype", "f32", "--dims", "M=256,N=512"]
        self.call(*arguments, code=1)
        return summary([self.call(*arguments, code=1)[0] for _ in range(self.runs)], "s")

    def compiles(self):
        """`compile` of a candidate that no cache has, whole process; the device's headers are in the cache."""
        kernel = ROOT / "ops" / "rmsnorm" / "kernels" / "starter.cu"
        text, times = kernel.read_text(), []
        for run in range(self.runs + 1):
            changed = pathlib.Path(self.folder.name) / "compile.cu"
            changed.write_text(text + f"// {run}\n")
            times.append(self.call("compile", str(changed), "--dtype", "f32")[0])
        return summary(times[1:], "s")

    def overhead(self):
        """What a trial costs beside its verdict: the slope of a tune's wall time over its trials, compiled before,
        less the verdicts' own time."""
        kernel = str(ROOT / "ops" / "rmsnorm" / "kernels" / "registers.cu")
        sums = {}
        for budget in (2, 18, 2, 18):  # the first two compile
            workspace = f"{self.folder.name}/overhead-{budget}"
            _, text = self.call("tune", kernel, "--dims", "M=64,N=128", "--dtype", "f32", "--strategy", "exhaustive",
                                "--budget", str(budget), "--threshold", "1", "--fresh", "--json", "-w", workspace)
            answer = json.loads(text)
            with sqlite3.connect(workspace + "/ledger.db") as database:
                own, = database.execute("SELECT SUM(wall_s) FROM trials WHERE experiment = ?",
                                        (answer["experiment"],)).fetchone()
            sums[budget] = (answer["trials"], answer["wall_s"] - own)
        (few, few_s), (many, many_s) = sums[2], sums[18]
        if many == few:
            return None
        return {"value": round(1000 * (many_s - few_s) / (many - few), 2), "unit": "ms", "trials": many - few}

    def program(self, name, *arguments):
        path = self.build / "benchmarks" / name
        if not path.exists():
            sys.exit(f"{path} is missing: configure with -DAUTOKERNEL_BENCHMARKS=ON and build")
        return subprocess.run([path, *arguments], cwd=self.folder.name, capture_output=True, text=True, check=True).stdout

    def microbenchmarks(self):
        out = {}
        for each in json.loads(self.program("space_bench", "--benchmark_format=json", "--benchmark_min_time=0.3"))["benchmarks"]:
            out[f"space_bench/{each['name']}"] = {"value": round(each["real_time"], 4), "cpu": round(each["cpu_time"], 4),
                                                  "unit": each["time_unit"]}
        for what, median, slowest in re.findall(r"^(.*?) +\d+ times +median +([\d.]+) ms +99 % +([\d.]+) ms",
                                                self.program("ledger_bench"), re.MULTILINE):
            out[f"ledger_bench/{what}"] = {"value": float(median), "percentile_99": float(slowest), "unit": "ms"}
        return out


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown processor"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(ROOT / "build" / "release"))
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--out", default=str(ROOT / "benchmarks" / "results"))
    options = parser.parse_args()
    speed = Speed(options.build, options.runs)
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    result = {"schema": 1, "device": processor(), "kind": "cpu", "threads": os.cpu_count(), "commit": commit,
              "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
              "method": "whole processes by the wall clock, median of the runs; see benchmarks/cpu_speed.py",
              "load_before": os.getloadavg()[0]}
    for name in ("verdicts", "rejection", "compiles", "overhead", "microbenchmarks"):
        result[name] = getattr(speed, name)()
        print(name, json.dumps(result[name], indent=1), file=sys.stderr)
    result["load_after"] = os.getloadavg()[0]
    folder = pathlib.Path(options.out) / re.sub(r"[^a-z0-9]+", "-", processor().lower()).strip("-")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cpu-speed.json").write_text(json.dumps(result, indent=2) + "\n")
    print(folder / "cpu-speed.json")


if __name__ == "__main__":
    main()
