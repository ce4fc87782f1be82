#!/usr/bin/env python3
"""Compiles every header alone: each must include what it uses."""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys

DEFINED_BY_CMAKE = ['-DAUTOKERNEL_VERSION="0"']
ROOT = pathlib.Path(__file__).resolve().parent.parent


def headers(root: pathlib.Path) -> list[str]:
    """Include paths, e.g. autokernel/base/file.h and autokernel/optimizer.h."""
    found = [str(p.relative_to(root / "src")) for p in (root / "src").rglob("*.h")]
    found += [str(p.relative_to(root / "include")) for p in (root / "include").glob("autokernel/*.h")]
    return sorted(found)


def command(compiler: str, source: pathlib.Path, generated: pathlib.Path) -> list[str]:
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}", f"-I{generated}",
             *DEFINED_BY_CMAKE]
    if shutil.which("ccache"):  # a cache keeps objects, not answers of -fsyntax-only
        return ["ccache", compiler, *flags, "-O0", "-c", str(source), "-o", str(source.with_suffix(".o"))]
    return [compiler, *flags, "-fsyntax-only", str(source)]


def compile_alone(header: str, compiler: str, out: pathlib.Path, generated: pathlib.Path) -> str | None:
    """The compiler's message, or nothing when the header stands alone. Twice: its guard is checked as well."""
    source = out / (header.replace("/", "_") + ".cc")
    source.write_text(f'#include "{header}"\n#include "{header}"\n')
    done = subprocess.run(command(compiler, source, generated), capture_output=True, text=True)
    return None if done.returncode == 0 else f"{header}\n{done.stderr}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generated", type=pathlib.Path, default=ROOT / "build/release/generated")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/headers")
    parser.add_argument("--compiler", default="g++")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    names = headers(ROOT)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = pool.map(lambda h: compile_alone(h, args.compiler, args.out, args.generated.resolve()), names)
        failures = [answer for answer in answers if answer]
    for failure in failures:
        print(f"headers: {failure}")
    print(f"headers: {len(names)} compiled alone, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
