"""Tests of tools/run_transcript.py."""
import contextlib
import io
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import run_transcript  # noqa: E402


def outcome(text):
    """(exit code, what was printed)"""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = run_transcript.run(run_transcript.parse(text), "t", None, pathlib.Path("/nowhere"))
    return code, printed.getvalue()


class Transcript(unittest.TestCase):
    def test_equal_output_passes(self):
        self.assertEqual(0, outcome("# about\n\n$ echo a; echo b\na\nb\n\n$ true\n")[0])

    def test_other_output_fails_and_shows_both(self):
        code, printed = outcome("$ echo a\nb\n")
        self.assertEqual(1, code)
        self.assertIn("| a", printed)
        self.assertIn("| b", printed)

    def test_output_that_is_not_expected_fails(self):
        self.assertEqual(1, outcome("$ echo a\n")[0])

    def test_exit_codes_are_compared(self):
        self.assertEqual(0, outcome("$ exit 3\n[exit 3]\n")[0])
        self.assertEqual(1, outcome("$ exit 3\n")[0])
        self.assertEqual(1, outcome("$ true\n[exit 1]\n")[0])

    def test_dots_in_a_line_stand_for_any_text(self):
        self.assertEqual(0, outcome("$ echo took 12.3 s\ntook ... s\n")[0])
        self.assertEqual(1, outcome("$ echo took 12.3 ms.\ntook ... s\n")[0])

    def test_a_line_of_dots_stands_for_any_number_of_lines(self):
        self.assertEqual(0, outcome("$ seq 9\n1\n...\n9\n")[0])
        self.assertEqual(0, outcome("$ echo 1\n...\n1\n...\n")[0])
        self.assertEqual(1, outcome("$ seq 9\n1\n...\n8\n")[0])

    def test_error_output_is_compared_when_it_is_given(self):
        self.assertEqual(0, outcome("$ echo bad >&2\n")[0])
        self.assertEqual(0, outcome("$ echo bad >&2\n2> bad\n")[0])
        self.assertEqual(1, outcome("$ echo bad >&2\n2> good\n")[0])

    def test_continuation_lines_make_one_command(self):
        self.assertEqual(0, outcome("$ cat <<END\n> a\n> END\na\n")[0])

    def test_commands_share_a_fresh_folder(self):
        self.assertEqual(0, outcome("$ ls\n$ touch x\n$ ls\nx\n")[0])
        self.assertEqual(0, outcome("$ ls\n")[0])

    def test_the_folder_is_shown_by_its_name(self):
        self.assertEqual(0, outcome("$ pwd\n$PWD\n")[0])

    def test_a_command_that_hangs_fails(self):
        code, printed = outcome("# deadline: 1 s\n$ sleep 30\n")
        self.assertEqual(1, code)
        self.assertIn("did not end", printed)

    def test_a_missing_program_skips_with_the_reason(self):
        code, printed = outcome("# needs: no-such-program\n$ true\n")
        self.assertEqual(run_transcript.SKIPPED, code)
        self.assertIn("no-such-program", printed)

    def test_output_before_the_first_command_is_an_error(self):
        with self.assertRaises(ValueError):
            run_transcript.parse("hello\n$ true\n")


if __name__ == "__main__":
    unittest.main()
