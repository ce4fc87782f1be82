"""Tests of the checkers under tools/: each must find what it is for, and leave good code alone."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_headers  # noqa: E402
import check_layers  # noqa: E402
import check_sizes  # noqa: E402
import check_words  # noqa: E402


class Layers(unittest.TestCase):
    def setUp(self):
        self.deps = {"core": {"base"}, "kernel": {"core"}, "device": {"core"}, "device/cpu": {"device"}}

    def violations(self, file, text):
        return check_layers.include_violations(file, text, self.deps)

    def test_a_library_may_use_what_lies_below_what_it_depends_on(self):
        self.assertEqual([], self.violations("kernel/space.cc", '#include "autokernel/base/expr.h"\n'))

    def test_an_include_of_a_higher_library_is_a_violation(self):
        self.assertIn("may not use kernel", self.violations("core/a.cc", '#include "autokernel/kernel/space.h"')[0])

    def test_an_include_of_a_sister_is_a_violation(self):
        text = '#include "autokernel/device/cuda/nvrtc.h"'
        self.assertIn("may not use device/cuda", self.violations("device/cpu/a.cc", text)[0])

    def test_an_allowed_library_that_cmake_does_not_link_is_a_violation(self):
        self.deps = {"kernel": set()}
        self.assertIn("do not reach core", self.violations("kernel/a.cc", '#include "autokernel/core/config.h"')[0])

    def test_toml_is_read_in_one_file(self):
        self.assertEqual([], self.violations("base/toml.cc", "#include <toml++/toml.h>"))
        self.assertTrue(self.violations("base/file.cc", "#include <toml++/toml.h>"))
        self.assertTrue(self.violations("kernel/parse.cc", "  #  include <toml++/toml.h>"))

    def test_the_full_json_header_stays_out_of_headers(self):
        self.assertTrue(self.violations("core/config.h", "#include <nlohmann/json.hpp>"))
        self.assertEqual([], self.violations("core/config.h", "#include <nlohmann/json_fwd.hpp>"))
        self.assertEqual([], self.violations("core/config.cc", "#include <nlohmann/json.hpp>"))

    def test_headers_of_the_cuda_toolkit_are_included_nowhere(self):
        self.assertTrue(self.violations("device/cpu/a.cc", "#include <cuda.h>"))

    def test_boost_context_belongs_to_the_cpu_device(self):
        self.assertEqual([], self.violations("device/cpu/fiber.cc", "#include <boost/context/fiber.hpp>"))
        self.assertTrue(self.violations("device/fiber.cc", "#include <boost/context/fiber.hpp>"))

    def test_deps_are_read_from_cmake(self):
        text = "ak_library(NAME device_cpu # the CPU\n  SOURCES a.cc b.cc\n  DEPS device base\n  PRIVATE ak_seccomp)"
        self.assertEqual({"device/cpu": {"device", "base"}}, check_layers.declared_deps(text))

    def test_a_declared_dependency_upwards_is_a_violation(self):
        self.assertIn("may not depend on worker", check_layers.deps_violations({"core": {"worker"}})[0])

    def test_a_library_outside_of_the_table_is_a_violation(self):
        self.assertIn("not in the layer table", check_layers.deps_violations({"misc": set()})[0])

    def test_the_table_has_no_cycle(self):
        for library, used in check_layers.LAYERS.items():
            for dep in used:
                self.assertNotIn(library, check_layers.closure(dep, check_layers.LAYERS))


class Sizes(unittest.TestCase):
    def test_a_function_is_measured_from_its_brace_to_its_end(self):
        text = "namespace a {\nint f(int x) {\n  if (x) {\n    return 1;\n  }\n  return 0;\n}\n}\n"
        self.assertEqual([("int f(int x)", 2, 6)], [tuple(f) for f in check_sizes.cpp_functions(text)])

    def test_methods_in_a_class_are_functions(self):
        text = "struct A final : B {\n  void f() const override {\n  }\n  int x_ = 0;\n};\n"
        self.assertEqual([3 - 1], [f.lines for f in check_sizes.cpp_functions(text)])

    def test_braces_in_comments_and_literals_do_not_count(self):
        text = 'void f() {\n  g("}{", \'{\', R"x(}})x");  // }\n  /* } */\n}\nvoid h() {\n}\n'
        self.assertEqual([4, 2], [f.lines for f in check_sizes.cpp_functions(text)])

    def test_digit_separators_are_no_character_literals(self):
        self.assertEqual([3], [f.lines for f in check_sizes.cpp_functions("int f() {\n  return 1'000'000;\n}\n")])

    def test_tables_and_enums_are_no_functions(self):
        self.assertEqual([], check_sizes.cpp_functions("constexpr int k[] = {\n1,\n2,\n};\nenum class E { kA };\n"))

    def test_macros_with_unbalanced_braces_are_skipped(self):
        text = "#define OPEN namespace { \\\n  {\nvoid f() {\n}\n"
        self.assertEqual([2], [f.lines for f in check_sizes.cpp_functions(text)])

    def test_a_long_function_fails_and_a_longer_one_than_the_aim_warns(self):
        body = "void f() {\n" + "  g();\n" * 81 + "}\n"
        self.assertTrue(check_sizes.examine("a.cc", body)[1])
        body = "void f() {\n" + "  g();\n" * 50 + "}\n"
        self.assertEqual((1, 0), tuple(map(len, check_sizes.examine("a.cc", body))))

    def test_a_long_file_fails(self):
        self.assertTrue(check_sizes.examine("a.cc", "\n" * 601)[1])
        self.assertEqual((1, 0), tuple(map(len, check_sizes.examine("a.cc", "\n" * 401))))

    def test_python_functions_are_measured_by_its_parser(self):
        self.assertEqual([("f", 1, 3)], [tuple(f) for f in check_sizes.python_functions("def f():\n  a = 1\n  b = 2\n")])


class Words(unittest.TestCase):
    def test_an_unknown_host_is_found(self):
        self.assertEqual(1, len(check_words.findings("a.md", "see https:" + "//registry.invalid/x")))

    def test_a_listed_host_is_fine(self):
        self.assertEqual([], check_words.findings("a.md", "https://github.com/x"))

    def test_a_folder_of_one_machine_is_found(self):
        self.assertEqual(1, len(check_words.findings("a.md", "cd /" + "work/x")))

    def test_standard_folders_and_relative_paths_are_fine(self):
        self.assertEqual([], check_words.findings("a.md", "/usr/lib /tmp/x build/work/x $HOME/work/x"))


class Headers(unittest.TestCase):
    def test_public_and_internal_headers_are_listed_by_include_path(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in ("src/autokernel/base/a.h", "include/autokernel/b.h", "include/autokernel/device/c.cuh"):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text("")
            self.assertEqual(["autokernel/b.h", "autokernel/base/a.h"], check_headers.headers(root))

    def test_a_header_that_needs_another_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "bad.h").write_text("#pragma once\nstd::string f();\n")
            self.assertIn("bad.h", check_headers.compile_alone("bad.h", "g++", root, root) or "")


if __name__ == "__main__":
    unittest.main()
