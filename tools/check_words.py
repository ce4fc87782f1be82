#!/usr/bin/env python3
"""The repository speaks of the product alone: no folders of somebody's machine, no hosts but those listed here."""
import pathlib
import re
import subprocess
import sys

# Hosts that a reader may be sent to. Downloads come from the system's package manager, never from an address.
HOSTS = {
    "arxiv.org", "developer.nvidia.com", "docs.nvidia.com", "docs.pytorch.org", "doi.org", "example.com",
    "example.org", "gcc.gnu.org", "github.com", "keepachangelog.com", "localhost", "pytorch.org", "semver.org",
    "www.apache.org", "www.conventionalcommits.org", "www.w3.org", "docs.kernel.org", "prng.di.unimi.it",
    "127.0.0.1",
}
ADDRESS = re.compile(r"\b(?:https?|ftp|git|ssh)://([A-Za-z0-9.-]+)")
MACHINE_PATH = re.compile(r"(?<![\w./$}*-])/(?:work|workspace|mnt|Users|home/(?!me/|user/)[a-z]+|root)/[\w.]+")
BINARY = {".png", ".db", ".bin", ".gz", ".cubin"}


def findings(name: str, text: str) -> list[str]:
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        for host in ADDRESS.findall(line):
            if host.lower().rstrip(".") not in HOSTS:
                found.append(f"{name}:{number}: the address of {host}")
        for path in MACHINE_PATH.findall(line):
            found.append(f"{name}:{number}: {path} is a folder of one machine")
    return found


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root,
                            check=True, capture_output=True, text=True).stdout.split("\0")
    found, count = [], 0
    for name in sorted(filter(None, listed)):
        path = root / name
        skip = name.startswith(("tests/fuzz/corpus/", "tests/tools/")) or path.suffix in BINARY
        if skip or not path.is_file():
            continue
        count += 1
        found += findings(name, path.read_text(errors="replace"))
    for line in found:
        print(f"words: {line}")
    print(f"words: {count} files, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
