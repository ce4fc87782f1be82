#!/usr/bin/env python3
"""Makes a .venv with PyTorch for tests on the CPU; says first what will be downloaded. A second run does nothing.

  tools/torch_venv.py [FOLDER]        default: .venv

PyTorch's wheel for Linux is built for CUDA and loads 4 GB of CUDA libraries at import, none of which the CPU needs. So the wheel
comes alone, with the small CUDA runtime, and libraries that trap when they are called stand in for the others. Should
the import fail nevertheless, all that PyTorch asks for is installed.
"""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

TORCH = "torch==2.11.0"
RUNTIME = "nvidia-cuda-runtime==13.0.96"  # runs at import, to register kernels
PURE = ["typing_extensions", "sympy", "networkx", "jinja2", "fsspec", "filelock", "setuptools"]
SYSTEM = re.compile(r"^(ld-linux.*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|gomp)\.so.*)$")
WORKS = """
import torch
x = torch.ones(1, 1, 4, 4, dtype=torch.float64)
assert torch.nn.functional.scaled_dot_product_attention(x, x, x).sum() == 16
assert torch.nn.functional.conv2d(x, x).item() == 16 and (x.float() @ x.float()).sum() == 64
print(torch.__version__)
"""


def output_of(*command) -> str:
    return subprocess.run([str(each) for each in command], check=True, capture_output=True, text=True).stdout


def dynamic_symbols(library: pathlib.Path) -> tuple[set, set]:
    """Names that a library cannot do without and has, each NAME or NAME@VERSION."""
    wanted, has = set(), set()
    for line in output_of("nm", "-D", "--with-symbol-versions", library).splitlines():
        *_, kind, name = line.split()
        if kind not in "vw":  # weak ones may be missing, and some are called at load where they are there
            (wanted if kind == "U" else has).add(name.replace("@@", "@"))
    return wanted, has


def versions_from(library: pathlib.Path) -> dict:
    """Version name -> the library that it is expected from."""
    source, versions = "", {}
    for line in output_of("readelf", "-VW", library).splitlines():
        if found := re.search(r"File: (\S+)", line):
            source = found[1]
        elif source and (found := re.search(r"Name: (\S+)\s+Flags", line)):
            versions[found[1]] = source
    return versions


def write_stand_in(path: pathlib.Path, names: dict) -> None:
    """A library whose functions trap; names: version (or "") -> functions."""
    code = "".join(f"void {name}(void) {{ __builtin_trap(); }}\n" for each in names.values() for name in each)
    script = "".join(f"{version} {{ global: {'; '.join(each)}; }};\n" for version, each in names.items() if version)
    with tempfile.TemporaryDirectory() as folder:
        source, exported = pathlib.Path(folder, "stand_in.c"), pathlib.Path(folder, "exported.map")
        source.write_text(code)
        exported.write_text(script or "{ global: *; };\n")
        output_of("gcc", "-w", "-shared", "-fPIC", "-nostdlib", f"-Wl,-soname,{path.name}",
                  f"-Wl,--version-script={exported}", source, "-o", path)


def write_stand_ins(libraries: list, folder: pathlib.Path) -> list:
    """Stands in, in `folder`, for what the libraries want of libraries that are neither of them nor the system's."""
    present = {library.name for library in libraries}
    needed, versions, wanted, has = set(), {}, set(), set()
    for library in libraries:
        needed |= set(re.findall(r"NEEDED.*\[(.*)\]", output_of("readelf", "-dW", library)))
        versions |= versions_from(library)
        more_wanted, more = dynamic_symbols(library)
        wanted |= more_wanted
        has |= more
    has |= {name.partition("@")[0] for name in has}
    missing = sorted(name for name in needed if name not in present and not SYSTEM.match(name))
    names = {library: collections.defaultdict(list) for library in missing}
    for symbol in sorted(wanted - has):
        name, _, version = symbol.partition("@")
        if versions.get(version) in names:
            names[versions[version]][version].append(name)
        elif not version and missing:
            names[missing[0]][""].append(name)  # from any of them; the loader does not ask which
    for library in missing:
        write_stand_in(folder / library, names[library])
    return missing


def works(python: pathlib.Path) -> str:
    """PyTorch's version; empty if it does not work there."""
    if not python.exists():
        return ""
    result = subprocess.run([python, "-W", "ignore", "-c", WORKS], capture_output=True, text=True)
    return result.stdout.strip() if result.returncode == 0 else ""


def install_small(python: pathlib.Path) -> None:
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", TORCH, RUNTIME], check=True)
    subprocess.run([*pip, *PURE], check=True, stderr=subprocess.DEVNULL)  # pip warns of what PyTorch lacks: on purpose
    site = pathlib.Path(output_of(python, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))").strip())
    folder = site / "nvidia" / "cu13" / "lib"
    libraries = [*(site / "torch" / "lib").glob("*.so*"), *folder.glob("libcudart.so*")]
    write_stand_ins(libraries, folder)


def main() -> int:
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".venv").absolute()
    python = folder / "bin" / "python"
    if version := works(python):
        print(f"torch: {folder.name} has PyTorch {version}")
        return 0
    print(f"torch: downloading PyTorch, about 550 MB (1.1 GB in {folder.name}); TORCH=0 leaves out the tests that need it",
          flush=True)
    try:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        install_small(python)
        if not works(python):
            print("torch: it does not load without its CUDA libraries; downloading those too, about 4.2 GB", flush=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", "--force-reinstall", TORCH], check=True)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"torch: {error}", file=sys.stderr)
        print("torch: python3-venv (tools/setup.sh installs it) and a package index are needed; or run make test TORCH=0",
              file=sys.stderr)
        return 3
    version = works(python)
    print(f"torch: {folder.name} has PyTorch {version}" if version else f"torch: PyTorch does not work in {folder}")
    return 0 if version else 3


if __name__ == "__main__":
    sys.exit(main())
