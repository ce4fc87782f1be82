#!/usr/bin/env python3
"""How long `autokernel plan TRACE` takes, and how much memory: whole processes, from the file to the stored plan.

    benchmarks/trace_speed.py [--binary build/release/src/autokernel/cli/autokernel] [--events 5000000] [--runs 3]
                              [--out benchmarks/results]

The samples of tests/data/traces, and one of them repeated (each time with later times and other ids, so that all of it
must be attributed) until it has that many events, plain and gzipped. Goals: 5 million events in 15 s and 2 GB; a sample in
100 ms. Writes <out>/<processor>/trace-speed.json: medians with the least and the greatest, peak resident memory, and
the load average, since an idle machine is the one to measure on.
"""
import argparse
import datetime
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from cpu_speed import ROOT, processor, summary

TRACES = ROOT / "tests" / "data" / "traces"
REPEATED = "llama_gqa_bf16_1x1024.json.gz"
NUMBERS = re.compile(r'("(ts|correlation|id|External id)": )(\d+)')


def write_repeated(path, events):
    """The sample many times over; returns how many events it has."""
    text = gzip.decompress((TRACES / REPEATED).read_bytes()).decode()
    begin, end = text.index("[", text.index('"traceEvents"')) + 1, text.rindex("]")
    of_one = len(json.loads(text)["traceEvents"])
    pieces = NUMBERS.split(text[begin:end])  # text, `"ts": `, name, number, text, ...
    rounds = -(-events // of_one)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text[:begin])
        for turn in range(rounds):
            parts = list(pieces)
            for i in range(3, len(parts), 4):
                step = 100_000 if parts[i - 1] == "ts" else 1_000_000
                parts[i], parts[i - 1] = str(int(parts[i]) + turn * step), ""
            out.write(("," if turn else "") + "".join(parts))
        out.write(text[end:])
    return rounds * of_one


def plan(binary, trace, workspace):
    """Wall seconds and peak resident megabytes of one process."""
    begin = time.perf_counter()
    process = subprocess.Popen([binary, "plan", trace, "--json", "-q", "-w", workspace], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    if os.waitstatus_to_exitcode(status) != 0 or not json.loads(out)["sites"]:
        sys.exit(f"plan {trace}: exit code {os.waitstatus_to_exitcode(status)}")
    return seconds, usage.ru_maxrss / 1024


def measure(binary, trace, workspace, runs):
    plan(binary, trace, workspace)  # the file is in the page cache from here on
    times, memory = zip(*(plan(binary, trace, workspace) for _ in range(runs)))
    return {"wall": summary(times, "s"), "peak_memory_mb": round(max(memory)), "bytes": os.path.getsize(trace)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(ROOT / "build/release/src/autokernel/cli/autokernel"))
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out", default=str(ROOT / "benchmarks" / "results"))
    options = parser.parse_args()
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    result = {"schema": 1, "device": processor(), "kind": "cpu", "threads": os.cpu_count(), "commit": commit,
              "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
              "method": "autokernel plan TRACE --json as a whole process, the file in the page cache; wall clock, median of "
                        "the runs; peak resident memory by wait4; see benchmarks/trace_speed.py",
              "load_before": os.getloadavg()[0], "samples": {}}
    with tempfile.TemporaryDirectory(prefix="ak-traces-") as folder:
        workspace = folder + "/ws"
        for sample in sorted(TRACES.glob("*.json.gz")):
            result["samples"][sample.name] = measure(options.binary, str(sample), workspace, 3 * options.runs)
        large = folder + "/large.json"
        events = write_repeated(large, options.events)
        result["large"] = dict(measure(options.binary, large, workspace, options.runs), events=events, sample=REPEATED)
        subprocess.run(["gzip", "-1", large], check=True)
        result["large_gzip"] = dict(measure(options.binary, large + ".gz", workspace, options.runs), events=events)
    result["load_after"] = os.getloadavg()[0]
    target = pathlib.Path(options.out) / re.sub(r"[^a-z0-9]+", "-", processor().lower()).strip("-")
    target.mkdir(parents=True, exist_ok=True)
    (target / "trace-speed.json").write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
