# SPDX-License-Identifier: Apache-2.0
"""The checklist of a release, on a copy of the files that it reads."""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = "include/floptally/text/version.hpp"
FILES = [HEADER, "CITATION.cff", ".ci/release", ".ci/address", "docs/changelog.md", "tests/golden/released.json"]
COMMIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"]


@pytest.fixture
def tree(tmp_path: pathlib.Path) -> pathlib.Path:
    """A release that is ready: 2.0.0 with the numbers of 1.9.0."""
    for file in FILES:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    parts = (("MAJOR", 2), ("MINOR", 0), ("PATCH", 0))
    versions = "".join(f"#define FLOPTALLY_VERSION_{name} {number}\n" for name, number in parts)
    (tmp_path / HEADER).write_text(versions + "#define FLOPTALLY_NUMBERS_VERSION 4\n")
    (tmp_path / "CITATION.cff").write_text("title: floptally\nversion: 2.0.0\n")
    (tmp_path / "docs/changelog.md").write_text("# Changelog\n\n## Unreleased\n\n## 2.0.0\n\nMuch.\n\n## 1.9.0\n")
    (tmp_path / ".ci/address").write_text("FLOPTALLY_REPOSITORY=a\nFLOPTALLY_CONTACT=b\n")
    (tmp_path / "tests/golden/released.json").write_text(json.dumps({"version": "1.9.0", "numbers_version": 4, "counts": {}}))
    for command in (["git", "init", "-q"], ["git", "add", "-A"], COMMIT):
        subprocess.run(command, cwd=tmp_path, check=True)
    return tmp_path


def says(tree: pathlib.Path, *options: str) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, ".ci/release", *options], cwd=tree, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr, done.stdout


def replace(file: str, old: str, new: str) -> Callable[[pathlib.Path], None]:
    def change(tree: pathlib.Path) -> None:
        text = (tree / file).read_text()
        assert old in text
        (tree / file).write_text(text.replace(old, new))

    return change


def test_a_dry_run_of_a_ready_release_lists_its_steps_and_changes_nothing(tree: pathlib.Path) -> None:
    code, errors, steps = says(tree, "--dry-run")
    assert (code, errors) == (0, "")
    assert steps.splitlines()[0] == "floptally 2.0.0, numbers 4"
    assert [line.split()[0] for line in steps.splitlines() if line.startswith("  ")] == [
        ".ci/run", "build/gcc-release/tests/floptally_tests", ".ci/wheels", "git", "git",
    ]  # fmt: skip
    assert subprocess.run(["git", "status", "--porcelain"], cwd=tree, capture_output=True, text=True, check=True).stdout == ""
    assert subprocess.run(["git", "tag"], cwd=tree, capture_output=True, text=True, check=True).stdout == ""


NEXT = replace(HEADER, "NUMBERS_VERSION 4", "NUMBERS_VERSION 5")


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ([replace("CITATION.cff", "2.0.0", "1.9.0")], "CITATION.cff: must say version 2.0.0"),
        ([replace(HEADER, "NUMBERS_VERSION 4", "NUMBERS_VERSION 6")], f"{HEADER}: the numbers are of version 6, those of 1.9.0 of 4"),
        ([replace(HEADER, "#define FLOPTALLY_N", '#define FLOPTALLY_VERSION_SUFFIX ".dev0"\n#define FLOPTALLY_N')],
         f'{HEADER}: FLOPTALLY_VERSION_SUFFIX must be "" in a release, and ".dev0" after it'),
        ([NEXT], 'docs/changelog.md: must say under "numbers 5" which counts changed, and why'),
        ([replace("docs/changelog.md", "Much.", "")], "docs/changelog.md: has nothing under 2.0.0"),
        (
            [replace("docs/changelog.md", "## Unreleased\n", "## Unreleased\n\nMore.\n")],
            'docs/changelog.md: what is under "Unreleased" belongs under 2.0.0',
        ),
        ([replace(".ci/address", "CONTACT=b", "CONTACT=")], ".ci/address: FLOPTALLY_CONTACT is not set: set it, or pass --unpublished"),
    ],
)
def test_the_release_check_reports_a_missing_release_step(tree: pathlib.Path, changes: list[Callable[[pathlib.Path], None]], fault: str) -> None:
    for change in changes:
        change(tree)
    subprocess.run([*COMMIT[:-1], "second", "-a"], cwd=tree, check=True)
    assert says(tree, "--dry-run")[:2] == (1, fault + "\n")
    code, errors, steps = says(tree)  # nothing is begun
    assert (code, errors, steps) == (1, fault + "\n", "")


def test_a_release_with_uncommitted_changes_or_with_an_existing_tag_fails_with_an_error(tree: pathlib.Path) -> None:
    replace("docs/changelog.md", "Much.", "Much, and more.")(tree)
    assert says(tree)[:2] == (1, "git: there are changes that are not committed\n")
    subprocess.run(["git", "checkout", "-q", "."], cwd=tree, check=True)
    subprocess.run(["git", "tag", "v2.0.0"], cwd=tree, check=True)
    assert says(tree)[:2] == (1, "git: v2.0.0 is a tag already\n")


def test_a_release_that_changes_flop_counts_needs_the_version_of_a_breaking_change(tree: pathlib.Path) -> None:
    NEXT(tree)
    replace("docs/changelog.md", "## Unreleased\n", "## Unreleased\n\nnumbers 5: windows have one key more.\n")(tree)
    assert says(tree, "--check") == (0, "", "")
    replace(HEADER, "MAJOR 2", "MAJOR 1")(tree)
    replace(HEADER, "MINOR 0", "MINOR 10")(tree)
    replace("CITATION.cff", "2.0.0", "1.10.0")(tree)
    assert says(tree, "--check")[:2] == (1, f"{HEADER}: other numbers are a breaking change, which 1.9.0 to 1.10.0 is not\n")
    replace(HEADER, "MAJOR 1", "MAJOR 0")(tree)
    replace("CITATION.cff", "1.10.0", "0.10.0")(tree)
    released = "tests/golden/released.json"
    replace(released, "1.9.0", "0.9.4")(tree)
    assert says(tree, "--check") == (0, "", "")


def test_version_numbers_in_all_files_of_the_repository_agree() -> None:
    assert says(ROOT, "--check") == (0, "", "")


def test_the_version_of_a_build_from_a_clone_or_an_archive_or_a_source_distribution_contains_the_commit(tmp_path: pathlib.Path) -> None:
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    if not (ROOT / ".git").exists() or head.returncode != 0:
        pytest.skip("needs a clone")
    provider = "examples/python/build_version"

    def version_of(tree: pathlib.Path) -> tuple[str, str]:
        """The version and the commit that a build of this tree says."""
        command = [sys.executable, "-c", "import floptally_build_version; print(floptally_build_version.version())"]
        done = subprocess.run(command, cwd=tree / provider, capture_output=True, text=True, check=True)
        release, _, commit = done.stdout.strip().partition("+g")
        return release, commit

    release, commit = version_of(ROOT)
    if not release.endswith(".dev0"):
        pytest.skip("a release says no commit")
    assert len(commit) == 12 and head.stdout.startswith(commit)
    archive = subprocess.run(["git", "archive", "HEAD", HEADER, provider], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "x", "-C", str(tmp_path)], input=archive.stdout, check=True)
    said, archived = version_of(tmp_path)
    assert said == release and len(archived) >= 7 and head.stdout.startswith(archived)
    # Without git's archive the header has no commit; a source distribution has it in PKG-INFO.
    (tmp_path / HEADER).write_text((ROOT / HEADER).read_text())
    assert version_of(tmp_path) == (release, "")
    (tmp_path / "PKG-INFO").write_text(f"Name: floptally\nVersion: {release}+g{commit}\n")
    assert version_of(tmp_path) == (release, commit)


def test_a_release_without_an_address_is_a_changelog_and_a_tag_without_wheels(tree: pathlib.Path) -> None:
    replace(".ci/address", "REPOSITORY=a", "REPOSITORY=")(tree)
    subprocess.run([*COMMIT[:-1], "second", "-a"], cwd=tree, check=True)
    code, errors, steps = says(tree, "--dry-run", "--unpublished")
    assert (code, errors) == (0, "")
    assert [line.split()[0] for line in steps.splitlines()[1:]] == [".ci/run", "build/gcc-release/tests/floptally_tests", "git", "git"]
