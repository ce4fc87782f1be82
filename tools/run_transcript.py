#!/usr/bin/env python3
"""Runs a transcript: shell commands with the output and the exit code that each must have (tests/cli/README.md)."""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

SKIPPED = 77  # ctest's SKIP_RETURN_CODE
ANY = "..."


@dataclass
class Step:
    line: int
    command: str
    out: list[str] = field(default_factory=list)
    err: list[str] = field(default_factory=list)
    exit_code: int = 0


@dataclass
class Transcript:
    steps: list[Step] = field(default_factory=list)
    needs: list[str] = field(default_factory=list)
    deadline_s: float = 60


def parse(text: str) -> Transcript:
    script = Transcript()
    step: Step | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("$ "):
            step = Step(number, line[2:])
            script.steps.append(step)
        elif step is None:
            if match := re.fullmatch(r"#\s*needs:\s*(.+)", line):
                script.needs += match.group(1).split()
            elif match := re.fullmatch(r"#\s*deadline:\s*(\d+)\s*s", line):
                script.deadline_s = float(match.group(1))
            elif line.strip() and not line.startswith("#"):
                raise ValueError(f"line {number}: output before the first command: {line}")
        elif line.startswith("> ") and not step.out and not step.err:
            step.command += "\n" + line[2:]
        elif match := re.fullmatch(r"\[exit (\d+)\]", line):
            step.exit_code = int(match.group(1))
        elif line.startswith("2> ") or line == "2>":
            step.err.append(line[3:])
        else:
            step.out.append(line)
    for step in script.steps:  # blank lines between steps are layout
        while step.out and not step.out[-1]:
            step.out.pop()
    return script


def line_matches(pattern: str, line: str) -> bool:
    return re.fullmatch(".*".join(re.escape(part) for part in pattern.split(ANY)), line) is not None


def matches(patterns: list[str], lines: list[str]) -> bool:
    """A line `...` stands for any number of lines, `...` within a line for any text. Quadratic, not exponential."""
    reachable = {0}  # numbers of lines that the patterns so far may have consumed
    for pattern in patterns:
        if pattern.strip() == ANY:
            reachable = set(range(min(reachable), len(lines) + 1)) if reachable else set()
        else:
            reachable = {n + 1 for n in reachable if n < len(lines) and line_matches(pattern, lines[n])}
    return len(lines) in reachable


def describe(what: str, expected: list[str], actual: list[str]) -> str:
    rows = [f"  expected {what}:"] + [f"    | {line}" for line in expected]
    return "\n".join(rows + [f"  actual {what}:"] + [f"    | {line}" for line in actual])


def run_step(step: Step, folder: pathlib.Path, environment: dict[str, str], deadline_s: float) -> str | None:
    """What is wrong, or nothing."""
    try:
        done = subprocess.run(["/bin/sh", "-c", step.command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=deadline_s)
    except subprocess.TimeoutExpired:
        return f"  did not end within {deadline_s:.0f} s"
    out = done.stdout.decode(errors="replace").replace(str(folder), "$PWD").splitlines()
    err = done.stderr.decode(errors="replace").replace(str(folder), "$PWD").splitlines()
    while out and not out[-1]:
        out.pop()
    problems = []
    if done.returncode != step.exit_code:
        problems.append(f"  exit code {done.returncode}, expected {step.exit_code}")
        if not step.err:
            problems.append(describe("error output", [ANY], err))
    if not matches(step.out, out):
        problems.append(describe("output", step.out, out))
    if step.err and not matches(step.err, err):
        problems.append(describe("error output", step.err, err))
    return "\n".join(problems) or None


def environment_for(binary: pathlib.Path | None, folder: pathlib.Path, bin_folder: pathlib.Path,
                    repo: pathlib.Path) -> dict[str, str]:
    """Nothing of the user's: own home, own cache, own PATH entry for the binary."""
    path = os.environ.get("PATH", "/usr/bin:/bin")
    if binary:
        (bin_folder / "autokernel").symlink_to(binary)
        path = f"{bin_folder}:{path}"
    kept = {name: os.environ[name] for name in ("TMPDIR", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "TSAN_OPTIONS")
            if name in os.environ}
    return kept | {"PATH": path, "HOME": str(bin_folder), "AUTOKERNEL_CACHE": str(bin_folder / "cache"),
                   "REPO": str(repo), "LC_ALL": "C.UTF-8", "TERM": "dumb", "GIT_CONFIG_GLOBAL": "/dev/null"}


def run(script: Transcript, name: str, binary: pathlib.Path | None, repo: pathlib.Path) -> int:
    for program in script.needs:
        if not shutil.which(program):
            print(f"{name}: skipped, needs {program}")
            return SKIPPED
    with tempfile.TemporaryDirectory(prefix="ak-cli-") as outer:
        folder, bin_folder = pathlib.Path(outer) / "work", pathlib.Path(outer) / "bin"
        folder.mkdir()
        bin_folder.mkdir()
        environment = environment_for(binary, folder, bin_folder, repo)
        for step in script.steps:
            problem = run_step(step, folder, environment, script.deadline_s)
            if problem:
                print(f"{name}:{step.line}: $ {step.command}\n{problem}")
                return 1
    print(f"{name}: {len(script.steps)} commands as expected")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=pathlib.Path)
    parser.add_argument("transcript", type=pathlib.Path)
    args = parser.parse_args()
    try:
        script = parse(args.transcript.read_text())
    except ValueError as error:
        print(f"{args.transcript.name}: {error}")
        return 1
    binary = args.binary.resolve() if args.binary else None
    repo = pathlib.Path(__file__).resolve().parent.parent
    return run(script, args.transcript.name, binary, repo)


if __name__ == "__main__":
    sys.exit(main())
