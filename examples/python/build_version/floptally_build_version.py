# SPDX-License-Identifier: Apache-2.0
"""The version of a wheel or a source distribution, for scikit-build-core: that of version.hpp. Between releases it names
the commit: "0.3.0.dev0+g1a2b3c4d5e6f"."""

from __future__ import annotations

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]


def commit() -> str:
    """The commit of a clone, of an archive that git made, or of an unpacked source distribution; empty elsewhere."""
    if (ROOT / ".git").exists():
        command = ["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""
    header = (ROOT / "include/floptally/text/version.hpp").read_text(encoding="utf-8")
    archived = re.search(r'^#define FLOPTALLY_ARCHIVED_COMMIT "([0-9a-f]+)"', header, re.MULTILINE)
    info = ROOT / "PKG-INFO"
    distributed = re.search(r"^Version: .*\+g([0-9a-f]+)$", info.read_text(encoding="utf-8"), re.MULTILINE) if info.exists() else None
    found = archived or distributed
    return found[1] if found else ""


def version() -> str:
    header = (ROOT / "include/floptally/text/version.hpp").read_text(encoding="utf-8")
    numbers = re.findall(r"^#define FLOPTALLY_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header, re.MULTILINE)
    suffix = re.search(r'^#define FLOPTALLY_VERSION_SUFFIX "(.*)"', header, re.MULTILINE)
    assert len(numbers) == 3 and suffix is not None, "version.hpp has no version"
    of = commit() if suffix[1] else ""
    return ".".join(numbers) + suffix[1] + (f"+g{of}" if of else "")


def dynamic_metadata(field: str, settings: dict[str, object] | None = None, project: object = None) -> str:
    """The hook that scikit-build-core calls."""
    assert field == "version", field
    return version()
