# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/expect.md from the table of published runs.

    python examples/expect_page.py            # writes them into the page
    python examples/expect_page.py --check    # exits 1 where the page has other tables
"""

from __future__ import annotations

import pathlib
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median, quantiles

import floptally
from floptally.plots.published import gap_reason

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "expect.md"


def rows_of(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of Markdown; columns after the first are numbers."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def spread(values: Sequence[float]) -> tuple[str, str, str]:
    """Lower quartile, median and upper quartile in per cent."""
    low, middle, high = quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    return f"{100 * low:.1f}", f"{100 * middle:.1f}", f"{100 * high:.1f}"


def by_accelerator(runs: Sequence[floptally.PublishedRun]) -> str:
    groups = defaultdict(list)
    for run in runs:
        if "cut model" not in run.marks:
            groups[run.accelerator, run.precision, run.kind].append(run.mfu)
    return rows_of(
        ("accelerator, precision, kind of model", "runs", "lower quartile", "median", "upper quartile"),
        ((f"{part}, {precision}, {kind}", len(mfus), *spread(mfus)) for (part, precision, kind), mfus in sorted(groups.items())),
    )


def by_reason(runs: Sequence[floptally.PublishedRun]) -> str:
    groups = defaultdict(list)
    for run in runs:
        if run.published is not None:
            groups[gap_reason(run)].append(100 * (run.published / run.mfu - 1))
    lines = sorted(groups.items(), key=lambda line: (-median(line[1]), line[0]))
    return rows_of(
        ("how the source counts", "runs", "printed more than exact, %"),
        ((reason, len(gaps), f"{median(gaps):.1f}") for reason, gaps in lines),
    )


def by_source() -> str:
    found = floptally.published_runs().to_dict()
    counts = defaultdict(int)
    for run in found["runs"]:
        counts[run["source"]] += 1
    rows = []
    for source in found["sources"].values():
        commit = source.get("commit", "")[:8]
        where = f"`{source['where']}`" if "://" not in source["where"] else f"<{source['where']}>"
        rows.append((f"{source['title']}: {where}{f' at {commit}' if commit else ''}", source["date"], source["terms"],
                     counts[source["title"]]))  # fmt: skip
    return rows_of(("source", "date", "licence or terms", "runs"), rows)


def written(text: str) -> str:
    """The page with new tables between its marks."""
    runs = floptally.published_runs().runs
    for name, table in (("accelerators", by_accelerator(runs)), ("reasons", by_reason(runs)), ("sources", by_source())):
        text, found = re.subn(
            rf"(<!-- {name}: .*? -->\n)\n.*?\n(\n<!-- end -->)", lambda mark, new=table: f"{mark[1]}\n{new}\n{mark[2]}", text, flags=re.S
        )
        if found != 1:
            raise SystemExit(f"{PAGE}: must have one mark <!-- {name}: … --> and its <!-- end -->")
    return text


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    if "--check" in sys.argv[1:]:
        sys.exit(0 if written(page) == page else f"{PAGE}: the tables are old: run python examples/expect_page.py")
    PAGE.write_text(written(page), encoding="utf-8")
