# SPDX-License-Identifier: Apache-2.0
"""What CI may leave out, whose code its workflows run, and the commits that contributing.md cites."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_ci_can_skip_only_stages_that_exist() -> None:
    environment = os.environ | {"FLOPTALLY_CI_SKIP": "cuda hip"}
    done = subprocess.run(["bash", ".ci/run"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == 'FLOPTALLY_CI_SKIP: "hip" is no stage that can be skipped; must be of: z3 nvdisasm ptxas torch jax cuda\n'


def test_every_skippable_ci_stage_checks_whether_it_is_skipped() -> None:
    script = (ROOT / ".ci/run").read_text()
    names = re.search(r'can_skip="(.*)"', script)
    assert names is not None
    assert set(names[1].split()) == set(re.findall(r"is_skipped (\w+)", script))
    assert script.rstrip().splitlines()[-1] == 'stage "passed; skipped: ${FLOPTALLY_CI_SKIP:-nothing}"'


def test_workflows_pin_every_action_to_a_commit() -> None:
    used = [(file.name, use) for file in ROOT.glob(".github/workflows/*.yml") for use in re.findall(r"uses: (.*)", file.read_text())]
    assert len(used) > 3
    assert [(file, use) for file, use in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", use)] == []


def test_the_weekly_workflow_runs_only_stages_that_exist_in_the_ci_script() -> None:
    listed = re.search(r"stage: \[(.*)\]", (ROOT / ".github/workflows/long.yml").read_text())
    assert listed is not None
    known = re.findall(r"^(\w+)\(\) \{", (ROOT / ".ci/long").read_text(), re.MULTILINE)
    assert [stage for stage in listed[1].split(", ") if stage not in known] == []


def test_every_commit_that_the_speed_table_cites_is_in_the_history() -> None:
    cited = sorted(set(re.findall(r"^\| `[\w.]+` at ([0-9a-f]{7}) \|", (ROOT / "docs/contributing.md").read_text(), re.MULTILINE)))
    assert len(cited) >= 5

    def git(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)

    if not (ROOT / ".git").exists() or git("rev-parse", "--is-shallow-repository").stdout != "false\n":
        pytest.skip("needs the whole git history")
    assert [commit for commit in cited if git("merge-base", "--is-ancestor", commit, "HEAD").returncode != 0] == []


def test_tests_listed_as_passed_before_are_skipped_unless_their_file_checks_for_installed_packages(tmp_path: pathlib.Path) -> None:
    passed, other = "tests/python/test_tally.py", "tests/python/test_how_to_trainers.py"
    assert "find_spec" not in (ROOT / passed).read_text() and "find_spec" in (ROOT / other).read_text()

    def listed(*options: str) -> list[str]:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--collect-only", "-q", *options, passed, other]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        return [line for line in done.stdout.splitlines() if "::" in line]

    every = listed()
    assert {test.partition("::")[0] for test in every} == {passed, other}
    first, second = next(test for test in every if test.startswith(passed)), next(test for test in every if test.startswith(other))
    (tmp_path / "passed").write_text(f"{first}\n{second}\n")
    assert listed(f"--passed-before={tmp_path / 'passed'}") == [test for test in every if test != first]


def test_ci_runs_long_checks_and_wheel_builds_on_a_schedule_and_runs_the_self_test_of_each_wheel() -> None:
    long, wheels = ((ROOT / ".github/workflows" / name).read_text() for name in ("long.yml", "wheels.yml"))
    assert "schedule: [{cron:" in long and "schedule: [{cron:" in wheels
    assert "constraints" not in long.partition("jobs:")[2]  # the newest releases
    assert "macos-14" in wheels and "cibuildwheel --output-dir" in wheels
    build = re.search(r"^\[tool\.cibuildwheel\]\n((?:(?!\[).*\n)*)", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert build is not None and re.search(r'^test-command = ".*floptally\.selftest', build[1], re.MULTILINE)
