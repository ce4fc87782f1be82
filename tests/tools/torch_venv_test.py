#!/usr/bin/env python3
"""tools/torch_venv.py: a library loads although what it is linked with is not there."""
import ctypes
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import torch_venv  # noqa: E402


class StandIns(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def build(self, name, code, *more):
        source = self.folder / f"{name}.c"
        source.write_text(code)
        library = self.folder / f"lib{name}.so.1"
        subprocess.run(["gcc", "-w", "-shared", "-fPIC", f"-Wl,-soname,{library.name}", source, "-o", library,
                        *more], check=True)
        return library

    def library_without_its_dependencies(self):
        """Calls one function by a version and keeps the address of another, of two libraries that are then removed."""
        versions = self.folder / "v.map"
        versions.write_text("V_1 { global: lost; };\n")
        lost = self.build("lost", "int lost(void) { return 1; }", f"-Wl,--version-script={versions}")
        gone = self.build("gone", "int gone(void) { return 1; }")
        code = """int lost(void); int gone(void);
                  int (*kept)(void) = gone;
                  int seven(void) { return 7; }
                  int never(void) { return lost(); }"""
        library = self.build("user", code, lost, gone, f"-Wl,-rpath,{self.folder}")
        lost.unlink()
        gone.unlink()
        return library

    def test_a_library_does_not_load_without_what_it_is_linked_with(self):
        with self.assertRaises(OSError):
            ctypes.CDLL(str(self.library_without_its_dependencies()))

    def test_it_loads_with_stand_ins_and_its_own_functions_work(self):
        library = self.library_without_its_dependencies()
        self.assertEqual(torch_venv.write_stand_ins([library], self.folder), ["libgone.so.1", "liblost.so.1"])
        self.assertEqual(ctypes.CDLL(str(library)).seven(), 7)

    def test_libraries_of_the_system_and_given_ones_need_none(self):
        given = self.build("given", "int given(void) { return 1; }")
        user = self.build("other", "int given(void); int f(void) { return given(); }", given)
        self.assertEqual(torch_venv.write_stand_ins([given, user], self.folder), [])


if __name__ == "__main__":
    unittest.main()
