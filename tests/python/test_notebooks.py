# SPDX-License-Identifier: Apache-2.0
"""The notebooks of examples/notebooks run, and print what they show; results show as tables and pictures in a notebook.

    python tests/python/test_notebooks.py    # writes what the cells print into the notebooks
"""

from __future__ import annotations

import importlib.util
import json
import pathlib
import re
import sys
from typing import Any

import pytest

import floptally
from conftest import SOURCE
from shown import without_commit

NOTEBOOKS = sorted((SOURCE / "examples" / "notebooks").glob("*.ipynb"))
#: A picture in HTML, whose lines are of a version of matplotlib.
SVG = re.compile(r"<svg.*?</svg>", re.DOTALL)


def executed(notebook: Any, folder: pathlib.Path) -> Any:
    """Runs all cells of a notebook in a folder by a kernel of this Python. Returns the notebook with what they print."""
    from nbclient import NotebookClient

    where = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources=where, record_timing=False).execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "stream":
                output.text = without_commit(output.text)
            for kind, data in output.get("data", {}).items():
                if kind.startswith("text/"):
                    output.data[kind] = without_commit(data)
    return notebook


def shown(cell: Any) -> list[tuple[str, str]]:
    """What a cell shows, as (kind, text). Text of one stream is one entry. A picture has no text."""
    found: list[tuple[str, str]] = []
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            before = found.pop()[1] if found and found[-1][0] == output.name else ""
            found.append((output.name, before + output.text))
            continue
        assert output.output_type in ("execute_result", "display_data"), output
        for kind, data in sorted(output.data.items()):
            found.append((kind, SVG.sub("<svg>", data) if kind.startswith("text/") else ""))
    return found


def needed() -> None:
    for package in ("nbclient", "ipykernel", "matplotlib"):
        pytest.importorskip(package, reason=f"needs {package}, which is not installed")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_notebook_of_the_examples_runs_and_prints_what_it_shows(path: pathlib.Path) -> None:
    needed()
    import nbformat

    stored = nbformat.read(path, as_version=4)
    now = executed(nbformat.read(path, as_version=4), path.parent)
    assert any(kind == "image/png" for cell in stored.cells for kind, _ in shown(cell)), "a notebook has a picture"
    for before, after in zip(stored.cells, now.cells, strict=True):
        assert shown(before) == shown(after), after.source
        assert before.get("execution_count") == after.get("execution_count")


def test_there_are_notebooks_of_two_questions_and_they_name_no_file_that_is_not_there() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["which_convention_is_my_dashboard", "why_is_my_mfu_low"]
    for path in NOTEBOOKS:
        text = "".join("".join(cell["source"]) for cell in json.loads(path.read_text())["cells"])
        for link in re.findall(r"\]\((?!http)([^)#]+)", text) + re.findall(r'Path\("([^"]+)"\)', text):
            assert (path.parent / link).exists(), (path.name, link)


CELLS = """
import floptally
model = floptally.cost({CONFIG!r})
work = model.flops(lengths=[512], plan=floptally.Plan(recompute="full"))
meter = floptally.Meter(model, gpus=1, accelerator="H100 SXM")
with meter.step(0.25):
    meter.add(lengths=[512])
---
work
---
work.measure(0.25, gpus=1, accelerator="H100 SXM")
---
meter
---
meter.run
---
work.waterfall(seconds=0.25, gpus=1, accelerator="H100 SXM")
---
model.compare(lengths=[512])
---
work.fit(dp=8)
---
import floptally.plots
floptally.plots.component_bars(work)
"""


def test_a_notebook_shows_results_as_tables_and_pictures(tmp_path: pathlib.Path) -> None:
    needed()
    from nbformat import v4

    text = CELLS.replace("{CONFIG!r}", repr(str(SOURCE / "examples/data/mistral-7b-v0.1.json")))
    notebook = v4.new_notebook(cells=[v4.new_code_cell(cell.strip()) for cell in text.split("---\n")])
    _, work, measured, meter, run, fall, compared, fit, figure = (dict(shown(cell)) for cell in executed(notebook, tmp_path).cells)
    for one in (work, measured, meter, fall, compared):
        assert one["text/html"].count("<table>") == 1 and one["text/html"].endswith("<svg>")
    for one in (run, fit):
        assert one["text/html"].startswith("<table>") and "<svg>" not in one["text/html"]
    assert "MFU" in measured["text/html"] and "attention.core" in work["text/html"]
    assert "image/png" in figure and "text/html" not in figure


def test_a_meter_shows_its_last_step_interval_and_run_in_a_notebook(mistral: floptally.Cost) -> None:
    meter = floptally.Meter(mistral, gpus=1, accelerator="H100 SXM")
    assert "no step has ended" in meter._repr_html_() and "<td" not in meter._repr_html_()
    assert "no step has ended" in meter.run._repr_html_()
    for seconds in (0.5, 0.25):
        with meter.step(seconds):
            meter.add(lengths=[4096])
        meter.reset_interval() if seconds == 0.5 else None
    html = SVG.sub("", meter._repr_html_())
    rows = {cells[0]: cells[1:] for cells in (re.findall(r"<t[hd][^>]*>([^<]*)<", row) for row in html.split("</tr>")) if cells}
    assert rows[""] == ["last step", "interval", "run"]
    assert rows["steps"] == ["1", "1", "2"] and rows["seconds"] == ["0.25", "0.25", "0.75"] and rows["tokens"] == ["4 096", "4 096", "8 192"]
    assert rows["MFU"] == [f"{100 * one.mfu:.2f} %" for one in (meter.last_step, meter.interval, meter.run)]
    assert f'title="{meter.run.useful}"' in html and "H100 SXM, 989 TFLOP/s" in html
    assert f"{100 * meter.run.hfu:.2f} %" in meter.run._repr_html_()


def test_a_meter_without_a_peak_shows_no_mfu_and_says_why(mistral: floptally.Cost) -> None:
    with pytest.warns(RuntimeWarning, match="peak"):
        meter = floptally.Meter(mistral, gpus=1, accelerator="A GPU that nobody knows")
    with meter.step(0.5):
        meter.add(lengths=[4096])
    html = meter._repr_html_()
    assert "no MFU: the peak of the accelerator is unknown" in html and ">MFU<" not in html and "tokens/s" in html
    assert ">MFU<" not in meter.run._repr_html_()


def test_html_of_results_escapes_names_and_has_no_colours_of_its_own(mistral: floptally.Cost) -> None:
    hostile = floptally.Cost.from_entries([('<b>&"x"', "tokens", "linear", 2)], model_type="<script>alert(1)</script>")
    meter = floptally.Meter(hostile, gpus=1, peak_tflops=1e-6)
    with meter.step(1.0):
        meter.add(lengths=[512])
    work = hostile.flops(lengths=[512])
    fall = work.waterfall(seconds=1, gpus=1, peak_tflops=1, apart={"<i>a": 0.25, "$\\frac{": 0.25})
    for html in (work._repr_html_(), meter._repr_html_(), fall._repr_html_()):
        assert "<script>" not in html and "<b>" not in html and "<i>" not in html
        assert "background" not in SVG.sub("", html) and "color" not in SVG.sub("", html)
        pictures = SVG.findall(html)
        assert len(pictures) == (importlib.util.find_spec("matplotlib") is not None) or "frac" in html
        for picture in pictures:  # neither a white page nor black text
            assert "currentColor" in picture and "#222222" not in picture and "<style" not in picture
            assert re.search(r'id="patch_1">\s*<path[^>]*style="fill: none"', picture), "the page of the figure"


def test_without_matplotlib_results_are_tables(monkeypatch: pytest.MonkeyPatch, mistral: floptally.Cost) -> None:
    for name in [name for name in sys.modules if name.startswith(("matplotlib", "floptally.plots"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    html = mistral.flops(lengths=[512])._repr_html_()
    assert html.startswith("<table>") and "<svg" not in html


if __name__ == "__main__":
    import nbformat

    for file in NOTEBOOKS:
        nbformat.write(executed(nbformat.read(file, as_version=4), file.parent), file)
