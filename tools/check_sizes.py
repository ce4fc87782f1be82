#!/usr/bin/env python3
"""Keeps files and functions short: files warn above 400 lines and fail above 600, functions aim at 40 and fail above 80.

Functions of C++ are found by their braces (comments and literals blanked out), those of Python by its parser.
"""
import argparse
import ast
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

FILE_WARN, FILE_FAIL = 400, 600
FUNCTION_AIM, FUNCTION_FAIL = 40, 80
SUFFIXES = {".cc", ".h", ".cuh", ".cu", ".py", ".sh"}
DATA_TABLES: set[str] = set()  # files that hold a table and nothing else; they may be long

LITERAL = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^()\\ ]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-zA-Z_])'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)
SCOPE = re.compile(r"^\s*(?:(?:inline\s+)?namespace\b|extern\b(?!.*\()|(?:template\s*<.*>\s*)?"
                   r"(?:typedef\s+)?(?:class|struct|union|enum)\b(?!.*\)\s*(?:const|noexcept|override|\s)*$))",
                   re.DOTALL)


class Function(NamedTuple):
    name: str
    line: int
    lines: int


def blank_literals(text: str) -> str:
    """Comments and literals become spaces; line breaks stay."""
    return LITERAL.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def is_function_head(head: str) -> bool:
    return "(" in head and not SCOPE.match(head) and not re.search(r"=\s*$", head)


def cpp_functions(text: str) -> list[Function]:
    """Bodies whose brace opens directly in a namespace or a class."""
    clean = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", lambda m: re.sub(r"[^\n]", " ", m.group()),
                   blank_literals(text), flags=re.MULTILINE)
    found: list[Function] = []
    inside = 0  # depth of braces inside of a function body or an initializer
    start, head_from, head = 0, 0, ""
    for place in re.finditer(r"[{};]", clean):
        mark, at = place.group(), place.start()
        if inside:
            inside += {"{": 1, "}": -1, ";": 0}[mark]
            if inside == 0:
                if is_function_head(head):
                    lines = clean.count("\n", start, at) + 1
                    found.append(Function(" ".join(head.split())[-60:], clean.count("\n", 0, start) + 1, lines))
                head_from = at + 1
        elif mark == "{":
            head = clean[head_from:at]
            if SCOPE.match(head):
                head_from = at + 1
            else:
                inside, start = 1, at
        else:
            head_from = at + 1
    return found


def python_functions(text: str) -> list[Function]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [Function(node.name, node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1)
            for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]


def functions(suffix: str, text: str) -> list[Function]:
    if suffix == ".py":
        return python_functions(text)
    return [] if suffix == ".sh" else cpp_functions(text)


def examine(name: str, text: str) -> tuple[list[str], list[str]]:
    """(warnings, failures) of one file."""
    warnings, failures = [], []
    lines = text.count("\n")
    if name not in DATA_TABLES:
        if lines > FILE_FAIL:
            failures.append(f"{name}: {lines} lines, more than {FILE_FAIL}")
        elif lines > FILE_WARN:
            warnings.append(f"{name}: {lines} lines, more than {FILE_WARN}")
    for function in functions(pathlib.PurePath(name).suffix, text):
        message = f"{name}:{function.line}: {function.name}: {function.lines} lines"
        if function.lines > FUNCTION_FAIL:
            failures.append(f"{message}, more than {FUNCTION_FAIL}")
        elif function.lines > FUNCTION_AIM:
            warnings.append(f"{message}, more than {FUNCTION_AIM}")
    return warnings, failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--warnings", action="store_true", help="print every warning")
    args = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root,
                            check=True, capture_output=True, text=True).stdout.split("\0")
    warnings, failures, count = [], [], 0
    for name in sorted(n for n in listed if pathlib.PurePath(n).suffix in SUFFIXES and (root / n).is_file()):
        if name.startswith("tests/fuzz/corpus/"):
            continue
        more_warnings, more_failures = examine(name, (root / name).read_text())
        warnings += more_warnings
        failures += more_failures
        count += 1
    for line in failures + (warnings if args.warnings else []):
        print(f"sizes: {line}")
    print(f"sizes: {count} files, {len(warnings)} above the aim, {len(failures)} too long")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
