#!/usr/bin/env python3
"""Compares every #include in src/autokernel and every DEPS in CMake with the layer table below.

The table says which libraries a library may use; what those may use, it may use too. Third-party headers stay in
their rooms. Exit code 1 and one line per violation.
"""
import argparse
import pathlib
import re
import sys

# library -> what it may use (the table of ARCHITECTURE.md; names are folders below src/autokernel)
LAYERS: dict[str, set[str]] = {
    "base": set(),
    "core": {"base"},
    "kernel": {"core"},
    "op": {"core"},
    "stats": {"core"},
    "roofline": {"core"},
    "device": {"core"},
    "device/cuda": {"device"},
    "device/cpu": {"device"},
    "search": {"kernel", "stats"},
    "ledger": {"core"},
    "plan": {"op", "kernel", "roofline"},
    "harness": {"device", "kernel", "op", "stats", "roofline"},
    "worker": {"harness"},
    "agent": {"kernel", "op", "ledger"},
    "torch": {"plan", "worker", "ledger"},
    "campaign": {"torch", "agent", "search", "worker", "ledger", "plan"},
    "ship": {"worker", "ledger", "op"},
    "report": {"ledger", "roofline"},
    "api": {"campaign", "ship", "report", "device/cpu", "device/cuda"},
    "cli": {"api"},
}

# A pattern of third-party headers -> the files of src/autokernel that may include them.
ROOMS: list[tuple[str, str]] = [
    (r"toml(\+\+|\.hpp)", r"base/toml\.cc"),
    (r"CLI(11)?(/|\.hpp)", r"cli/.*\.cc"),
    (r"(SQLiteCpp/|sqlite3\.h)", r"ledger/.*\.cc"),
    (r"boost/context/", r"device/cpu/.*\.cc"),
    (r"boost/", r"agent/.*\.cc"),
    (r"Eigen/", r"search/.*\.cc"),
    (r"(seccomp\.h|linux/landlock\.h)", r"base/.*\.cc"),
    (r"xxhash\.h", r"base/.*\.cc"),
    (r"zlib\.h", r"plan/byte_source\.cc"),
    (r"nlohmann/json\.hpp", r".*\.cc"),
    (r"(cuda|cuda_runtime(_api)?|nvrtc|nvml)\.h", r"(?!)"),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
LIBRARY_CALL = re.compile(r"ak_library\s*\(([^)]*)\)")
KEYWORDS = {"NAME", "SOURCES", "DEPS", "PRIVATE"}


def closure(library: str, table: dict[str, set[str]]) -> set[str]:
    """The library and everything that it may use, directly or through others."""
    seen: set[str] = set()
    todo = [library]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += table.get(name, set())
    return seen


def library_of(path: str) -> str | None:
    """`device/cpu/jail.h` -> device/cpu; `device/device.h` -> device; nothing for files of no library."""
    parts = path.split("/")
    for length in (2, 1):
        name = "/".join(parts[:length])
        if len(parts) > length and name in LAYERS:
            return name
    return None


def declared_deps(cmake_text: str) -> dict[str, set[str]]:
    """{library: DEPS} of the ak_library calls of one CMakeLists.txt, as folders (device_cpu -> device/cpu)."""
    folder = {name.replace("/", "_"): name for name in LAYERS}
    found: dict[str, set[str]] = {}
    for call in LIBRARY_CALL.finditer(re.sub(r"#.*", "", cmake_text)):
        words: dict[str, list[str]] = {keyword: [] for keyword in KEYWORDS}
        keyword = ""
        for word in call.group(1).split():
            if word in KEYWORDS:
                keyword = word
            elif keyword:
                words[keyword].append(word)
        name = (words["NAME"] or ["?"])[0]
        found[folder.get(name, name)] = {folder.get(dep, dep) for dep in words["DEPS"]}
    return found


def room_violation(file: str, header: str) -> str | None:
    for pattern, allowed in ROOMS:
        if re.match(pattern, header):
            return None if re.fullmatch(allowed, file) else f"<{header}> may not be included here"
    return None


def include_violations(file: str, text: str, deps: dict[str, set[str]]) -> list[str]:
    """What is wrong with the includes of one file; `file` is relative to src/autokernel."""
    library = library_of(file)
    if library is None:
        return [f"{file}: belongs to no library of the layer table"]
    allowed = closure(library, LAYERS)
    linked = closure(library, deps)
    found = []
    for _, header in INCLUDE.findall(text):
        if not header.startswith("autokernel/"):
            problem = room_violation(file, header)
            if problem:
                found.append(f"{file}: {problem}")
            continue
        used = library_of(header.removeprefix("autokernel/"))
        if used is None:  # generated embeddings and the public headers
            continue
        if used not in allowed:
            found.append(f"{file}: {library} may not use {used} ({header})")
        elif used not in linked:
            found.append(f"{file}: {header}, but the DEPS of {library} do not reach {used}")
    return found


def deps_violations(deps: dict[str, set[str]]) -> list[str]:
    found = []
    for library, used in sorted(deps.items()):
        if library not in LAYERS:
            found.append(f"CMake: library {library} is not in the layer table")
            continue
        for dep in sorted(used - closure(library, LAYERS)):
            found.append(f"CMake: {library} may not depend on {dep}")
    return found


def check(source: pathlib.Path) -> tuple[int, list[str]]:
    deps: dict[str, set[str]] = {}
    for cmake in sorted(source.rglob("CMakeLists.txt")):
        deps |= declared_deps(cmake.read_text())
    found = deps_violations(deps)
    files = sorted(p for suffix in ("*.cc", "*.h") for p in source.rglob(suffix))
    for path in files:
        found += include_violations(str(path.relative_to(source)), path.read_text(), deps)
    return len(files), found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    root = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--source", type=pathlib.Path, default=root / "src" / "autokernel")
    count, found = check(parser.parse_args().source)
    for line in found:
        print(f"layers: {line}")
    print(f"layers: {count} files, {len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
