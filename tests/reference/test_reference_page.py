#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What reference_page.py refuses, shown with copies of the sources that have one mistake each."""

import pathlib
import re
import shutil
import tempfile
import unittest
from unittest import mock

import cpp_source
import page_text
import pairs
import python_pages
import python_source
import reference_page


class Case(unittest.TestCase):
    def enter(self, context):  # enterContext is of Python 3.11
        entered = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return entered


class Mistakes(Case):
    def setUp(self):
        folder = pathlib.Path(self.enter(tempfile.TemporaryDirectory()))
        self.headers, self.package = folder / "floptally", folder / "package"
        shutil.copytree(cpp_source.HEADERS, self.headers, ignore=shutil.ignore_patterns("*.spec"))
        shutil.copytree(python_source.PACKAGE, self.package, ignore=shutil.ignore_patterns("__pycache__"))
        self.enter(mock.patch.object(cpp_source, "HEADERS", self.headers))
        self.enter(mock.patch.object(python_source, "PACKAGE", self.package))

    @staticmethod
    def problems():
        found = []
        reference_page.all_pages(found)
        return found

    @staticmethod
    def change(path, before, after):
        text = path.read_text(encoding="utf-8")
        assert before in text, f"{path} has no {before!r}"
        path.write_text(text.replace(before, after, 1), encoding="utf-8")

    def test_sources_without_a_mistake_have_no_problem(self):
        self.assertEqual(self.problems(), [])

    def test_a_public_function_without_a_comment_is_a_problem(self):
        path = self.headers / "step/utilization.hpp"
        self.change(path, "/// The rates of a step.\n", "double new_rate(const cost& model);\n\n/// The rates of a step.\n")
        self.assertEqual(self.problems(), ["step/utilization.hpp: new_rate has no comment: say in /// what it does"])

    def test_a_member_function_of_the_core_without_a_comment_is_a_problem(self):
        path = self.headers / "step/meter.hpp"
        self.change(path, "    /// Starts a new interval. Call it after each line of a log.\n", "")
        self.assertEqual(self.problems(), ["step/meter.hpp: meter::reset_interval has no comment: say in /// what it does"])

    def test_a_public_class_without_a_partner_in_python_and_without_a_reason_is_a_problem(self):
        path = self.headers / "meter.hpp"
        self.change(path, "#include <floptally/text/macros_end.hpp>",
                    "namespace floptally::inline v0_3 {\n\n/// Watches.\nstruct new_watch {};\n\n}  // namespace floptally\n")
        self.assertEqual(self.problems(), ["new_watch of C++ (meter.hpp) has no partner in Python: say which, or why (pairs.py)"])

    def test_a_public_header_without_a_sentence_is_an_error(self):
        self.change(self.headers / "meter.hpp", "/// @file\n", "/// @\n")
        with self.assertRaisesRegex(SystemExit, "meter.hpp: has no comment that begins with /// @file"):
            self.problems()

    def test_a_python_function_without_a_docstring_or_a_partner_is_a_problem(self):
        self.change(self.package / "_conventions.py", "def conventions(", "def new_names() -> None: ...\n\n\ndef conventions(")
        self.change(self.package / "__init__.py", '    "conventions",\n', '    "conventions",\n    "new_names",\n')
        self.change(self.package / "__init__.py", "import Convention, conventions", "import Convention, conventions, new_names")
        self.assertEqual(self.problems(), ["floptally.new_names has no docstring"])
        self.change(self.package / "_conventions.py", "new_names() -> None: ...", 'new_names() -> None:\n    """Returns names."""')
        self.assertEqual(self.problems(), ["floptally.new_names has no partner in C++: say which, or why (pairs.py)"])

    def test_a_pair_of_a_name_that_is_gone_is_a_problem(self):
        with mock.patch.object(pairs, "STATED", (*pairs.STATED, ("tally", "Talley"), ("meters", "Meter"))):
            self.assertEqual(self.problems(), ["pairs.py: Python has no public Talley", "pairs.py: C++ has no public meters"])

    def test_a_name_that_users_meet_first_without_an_example_is_a_problem(self):
        with mock.patch.object(python_pages, "FIRST", (*python_pages.FIRST, "verify")):
            self.assertEqual(self.problems(), ["verify has no example in tests/reference/examples.py"])


class Reading(Case):
    def read(self, text):
        folder = pathlib.Path(self.enter(tempfile.TemporaryDirectory()))
        (folder / "one.hpp").write_text(f"/// @file\n/// One.\n\nnamespace floptally {{\n{text}\n}}\n", encoding="utf-8")
        with mock.patch.object(cpp_source, "HEADERS", folder):
            return {entry.name: entry for entry in cpp_source.entries_of(folder / "one.hpp")}

    def test_comments_before_and_behind_a_declaration_belong_to_it(self):
        found = self.read("/// A pair.\nstruct pair {\n    int a = 0;  ///< the first,\n                ///< in m\n"
                          "    /// The second.\n    int b = 0;\n};\n"
                          "enum class side { left, ///< the left one\n right  ///< the other\n};")  # fmt: skip
        self.assertEqual({name: entry.comment for name, entry in found.items()}, {
            "pair": "A pair.", "pair::a": "the first, in m", "pair::b": "The second.",
            "side": "", "side::left": "the left one", "side::right": "the other"})  # fmt: skip

    def test_errors_of_a_body_have_their_field_and_their_text(self):
        found = self.read('void f(int n) {\n    if (n < 0) throw error("n", "must be at least 0, got " + std::to_string(n));\n'
                          '    refuse("n", {"is \\"", n, "\\": pass less"});\n}')  # fmt: skip
        self.assertEqual(found["f"].errors, [("error", "n", "must be at least 0, got …"), ("error", "n", 'is "…": pass less')])

    def test_every_link_of_a_page_leads_to_an_anchor_of_the_page_that_it_names(self):
        pages = reference_page.all_pages([])
        anchors = {}
        for name, text in pages.items():
            headings = re.findall(r"(?m)^#+ (.*)$", re.sub(r"(?ms)^```.*?^```$", "", text))
            anchors[name] = {*map(page_text.slug, headings), *re.findall(r'<a id="([^"]*)">', text)}
        for name, text in pages.items():
            for there, anchor in re.findall(r"\]\(((?:cpp|python)\w*\.md)?#([^)]+)\)", text):
                self.assertIn(anchor, anchors[there or name], f"{name}: {there}#{anchor}")


if __name__ == "__main__":
    unittest.main()
