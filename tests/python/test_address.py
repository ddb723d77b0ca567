# SPDX-License-Identifier: Apache-2.0
"""The public address has one switch, tried on a copy of the files with an address that nobody has."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAYS = ("pyproject.toml", "CITATION.cff", "docs/security.md", "README.md", "docs/install.md")
REPOSITORY, CONTACT = "https://forge.invalid/owner/floptally", "holes@forge.invalid"


@pytest.fixture
def tree(tmp_path: pathlib.Path) -> pathlib.Path:
    for file in (*SAYS, ".ci/address", ".ci/set_address"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    assert set_address(tmp_path, "", "")[0] == 0  # also once this project has an address
    return tmp_path


def set_address(tree: pathlib.Path, *arguments: str) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, ".ci/set_address", *arguments], cwd=tree, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_every_file_that_names_the_repository_has_the_same_repository_address() -> None:
    assert set_address(ROOT, "--check") == (0, "\n", "")


def test_one_command_writes_the_address_of_the_repository_into_every_file_and_another_removes_it(tree: pathlib.Path) -> None:
    empty = {file: (tree / file).read_text() for file in (*SAYS, ".ci/address")}
    assert not any("forge.invalid" in text for text in empty.values())
    for _ in range(2):  # the second time changes nothing
        code, _, errors = set_address(tree, REPOSITORY, CONTACT)
        assert (code, errors) == (0, "")
        pyproject = (tree / "pyproject.toml").read_text()
        assert pyproject.count("[project.urls]") == 1 and f'\nRepository = "{REPOSITORY}"\n' in pyproject
        assert (tree / "CITATION.cff").read_text().count(f"\nrepository-code: {REPOSITORY}\n") == 1
        assert (tree / "docs/security.md").read_text().count(f"write to <{CONTACT}>. A wrong") == 1
        assert (tree / "README.md").read_text().count(f"in a clone of {REPOSITORY}.\n") == 1
        assert (tree / "docs/install.md").read_text().count(f"GIT_REPOSITORY {REPOSITORY} GIT_TAG main") == 1
        assert set_address(tree, "--check")[0] == 0
    assert set_address(tree, "", "")[0] == 0
    assert {file: (tree / file).read_text() for file in empty} == empty


def test_the_repository_address_check_lists_every_file_with_a_different_address(tree: pathlib.Path) -> None:
    set_address(tree, REPOSITORY, CONTACT)
    (tree / "CITATION.cff").write_text((tree / "CITATION.cff").read_text().replace("forge.", "forgery."))
    assert set_address(tree, "--check") == (1, "", "CITATION.cff: another address than .ci/address says; run .ci/set_address\n")


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ((REPOSITORY,), "pass REPOSITORY and CONTACT, or --check"),
        (("--check", REPOSITORY, CONTACT), "pass REPOSITORY and CONTACT, or --check"),
        (("forge.invalid/owner", CONTACT), "REPOSITORY: 'forge.invalid/owner' must be like https://host/owner/name, without .git"),
        ((f"{REPOSITORY}.git", CONTACT), f"REPOSITORY: '{REPOSITORY}.git' must be like https://host/owner/name, without .git"),
        ((REPOSITORY, "holes"), "CONTACT: 'holes' must be an e-mail address"),
    ],
)
def test_a_malformed_repository_address_is_an_error_that_changes_no_file(tree: pathlib.Path, arguments: tuple[str, ...], fault: str) -> None:
    before = (tree / ".ci/address").read_text()
    code, _, errors = set_address(tree, *arguments)
    assert code == 2 and errors.rstrip().endswith(f"set_address: error: {fault}")
    assert (tree / ".ci/address").read_text() == before
