# SPDX-License-Identifier: Apache-2.0
"""Pictures: what is drawn is what was counted, and a file has the same bytes every time."""

from __future__ import annotations

import inspect
import json
import math
import re
from pathlib import Path
from typing import Any

import floptally
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from floptally import plots  # noqa: E402
from floptally.kernel_times import read_kernel_times  # noqa: E402

DATA = Path(__file__).parents[2] / "examples" / "data"
CONFIG = DATA / "mistral-7b-v0.1.json"
PACK = {"cu_seqlens": [0, 3026, 7190, 7610], "cu_seqlens_padded": [0, 3072, 7296, 8192]}


def bars(figure: Any) -> list[list[float]]:
    """Widths of the bars, one list for each colour that was stacked."""
    return [[bar.get_width() for bar in container] for container in figure.axes[0].containers]


def texts(figure: Any) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def test_component_bars_add_up_to_executed_flops_of_each_component() -> None:
    step = floptally.flops(CONFIG, plan=floptally.Plan(recompute="full"), **PACK)
    figure = plots.component_bars(step)
    stacked = bars(figure)
    assert len(stacked) == 3
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == list(step.useful.components)
    for row, name in enumerate(names):
        assert stacked[0][row] == pytest.approx(step.useful.components[name].total / 1e12)
        assert stacked[1][row] == pytest.approx(
            (step.padded.components[name].total - step.useful.components[name].total) / 1e12
        )
        assert sum(column[row] for column in stacked) == pytest.approx(step.executed.components[name].total / 1e12)
    shown = figure.get_supxlabel()
    assert "convention exact" in shown and "7\u202f610 tokens in 8\u202f192 slots" in shown
    # Each segment begins where the one before it ends.
    lefts = [[bar.get_x() for bar in container] for container in figure.axes[0].containers]
    assert lefts[2][0] == pytest.approx(stacked[0][0] + stacked[1][0])


def test_component_bars_by_phase_show_the_forward_and_backward_flops_of_useful_or_padded_or_executed_work() -> None:
    step = floptally.flops(CONFIG, plan=floptally.Plan(recompute="full"), **PACK)
    for view in ("useful", "padded", "executed"):
        stacked = bars(plots.component_bars(step.to_dict(), by="phase", view=view))
        work = getattr(step, view)
        assert len(stacked) == (3 if view == "executed" else 2)
        assert sum(stacked[0]) == pytest.approx(work.forward / 1e12)
        assert sum(stacked[1]) == pytest.approx(work.backward / 1e12)


def test_the_plot_of_conventions_shows_every_convention_in_ascending_order() -> None:
    totals = plots.convention_totals(CONFIG, lengths=[4096, 512])
    assert set(totals) == {how.name for how in floptally.conventions()}
    assert totals["exact"] == floptally.flops(CONFIG, lengths=[4096, 512]).total
    figure = plots.convention_spread(totals)
    widths = [container[0].get_width() for container in figure.axes[0].containers]
    assert widths == sorted(widths) and len(widths) == len(totals)
    label = next(text for text in texts(figure) if text.startswith(f"{totals['torch_flop_counter'] / 1e12:.0f} T   +"))
    assert label.endswith(" %")


def test_the_utilization_plot_shows_the_logged_numbers_and_skips_evaluations(tmp_path: Path) -> None:
    log = [
        {"loss": 2.0, "step": 10, "train/mfu_pct": 30.0, "train/mfu_padded_pct": 33.0, "train/hfu_pct": 40.0},
        {"eval_loss": 1.9, "step": 10},
        {"loss": 1.8, "step": 20, "train/mfu_pct": 31.0, "train/mfu_padded_pct": 34.0, "train/hfu_pct": 41.0},
    ]
    figure = plots.utilization_over_time(log)
    lines = [(list(line.get_xdata()), list(line.get_ydata())) for line in figure.axes[0].lines]
    assert lines == [([10, 20], [40, 41]), ([10, 20], [33, 34]), ([10, 20], [30, 31])]
    assert figure.axes[0].get_ylim()[0] == 0
    assert sorted(texts(figure)) == ["HFU 41.0 %", "MFU 31.0 %", "padded MFU 34.0 %"]

    meter_lines = [
        {
            "convention": "palm",
            "step": None,
            "interval": {"rates": {"mfu_pct": 10.0 + i, "mfu_padded_pct": 12.0, "hfu_pct": 13.0}},
            "run": {"steps": str(5 * i), "rates": {"mfu_pct": 50.0}},
        }
        for i in (1, 2)
    ]
    file = tmp_path / "meter.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in meter_lines) + "\n", encoding="utf-8")
    figure = plots.utilization_over_time(file)
    mfu = figure.axes[0].lines[2]
    assert (list(mfu.get_xdata()), list(mfu.get_ydata())) == ([5, 10], [11, 12])
    assert "convention palm" in figure.get_supxlabel()
    assert list(plots.utilization_over_time(meter_lines, span="run").axes[0].lines[0].get_ydata()) == [50, 50]


def kernel_results(**other: Any) -> dict[str, Any]:
    times = [
        {"batch": batch, "sequence_length": length, "phase": phase, "milliseconds": 0.5 * batch}
        for batch in (1, 2)
        for length in (3, 5)
        for phase in ("fwd", "bwd", "e2e")
        if (batch, length, phase) not in ((2, 5, "fwd"), (1, 3, "bwd"))
    ]
    times.append({"batch": 1, "sequence_length": 3, "phase": "bwd", "milliseconds": None, "reason": "no memory"})
    config = {"model_type": "floptally", "hidden_size": 6, "layers": [{"parts": [{"type": "attention", "num_heads": 2}]}]}
    return {"kernel": "k", "device": "d", "times": times, "config": config, "components": ["attention.core"], **other}


def overlaps(figure: Any) -> list[tuple[str, str]]:
    """Pairs of texts of a figure that stand one on the other; a cell's text that leaves its cell is one with its panel."""
    from matplotlib.text import Text

    figure.draw_without_rendering()
    shown = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    boxes = [(text.get_text(), text.get_window_extent()) for text in shown]
    found = [
        (one, other)
        for place, (one, box) in enumerate(boxes)
        for other, second in boxes[:place]
        if box.x0 + 1 < second.x1 and second.x0 + 1 < box.x1 and box.y0 + 1 < second.y1 and second.y0 + 1 < box.y1
    ]
    for axes in figure.axes:
        for text in axes.texts if axes.images else []:
            x, y = text.get_position()
            (left, low), (right, high) = sorted(axes.transData.transform([(x - 0.5, y + 0.5), (x + 0.5, y - 0.5)]).tolist())
            box = text.get_window_extent()
            if box.x0 < left or box.x1 > right or box.y0 < low or box.y1 > high:
                found.append((text.get_text(), axes.get_title(loc="left")))
    return found


def wide_results(batches: list[int], lengths: list[int], reason: str, phases: tuple[str, ...] = ("fwd", "bwd", "e2e")) -> Any:
    times: list[dict[str, Any]] = [
        {"batch": batch, "sequence_length": length, "phase": phase, "milliseconds": 1e-8 * batch * length**2}
        if batch * length <= 65536
        else {"batch": batch, "sequence_length": length, "phase": phase, "milliseconds": None, "reason": reason}
        for batch in batches
        for length in lengths
        for phase in phases
    ]
    return {"kernel": "a kernel", "device": "a device", "times": times, "batch_sizes": batches, "sequence_lengths": lengths}


@pytest.mark.parametrize("reason", ["out of memory", "no kernel for heads of 512", "unsupported_configuration_of_heads"])
@pytest.mark.parametrize("size", [([1], [256]), ([1, 2, 4, 8, 16, 32], [128, 512, 2048, 4096, 8192, 16384, 65536, 131072])])
def test_texts_of_a_heatmap_do_not_overlap(size: tuple[list[int], list[int]], reason: str) -> None:
    for phases in (("fwd", "bwd", "e2e"), ("fwd",)):
        figure = plots.kernel_heatmap(wide_results(*size, reason, phases), show="milliseconds")
        assert overlaps(figure) == []
        cells = [" ".join(text.get_text().split()) for axes in figure.axes if axes.images for text in axes.texts]
        if len(size[0]) > 1:  # in its cells, or below where it has no room
            assert reason in cells or (f"hatched: not measured: {reason}" in figure.get_supxlabel() and "–" in cells)


def test_texts_of_pictures_without_a_heatmap_do_not_overlap() -> None:
    step = floptally.flops(CONFIG, plan=floptally.Plan(recompute="full"), lengths=[512, 9000], row_length=20000)
    assert overlaps(plots.component_bars(step)) == overlaps(plots.component_bars(step, by="phase")) == []
    assert overlaps(plots.convention_spread(plots.convention_totals(CONFIG, lengths=[4096, 512]))) == []
    log = [{"step": 1, "mfu_pct": 40.0, "mfu_padded_pct": 40.1, "hfu_pct": 40.2}]
    assert overlaps(plots.utilization_over_time(log)) == []


def test_percentages_at_component_bars_are_shares_of_the_total_flops() -> None:
    step = floptally.flops(CONFIG, plan=floptally.Plan(recompute="full"), lengths=[512, 1024, 9000], row_length=9000)
    figure = plots.component_bars(step)
    assert figure.axes[0].get_title(loc="left") == "mistral: 495 TFLOP useful"
    shares = [f"{100 * one.total / step.total:.1f} %" for one in step.useful.components.values()]
    assert [text.split("  ")[1] for text in texts(figure)] == shares
    assert sum(float(share[:-2]) for share in shares) == pytest.approx(100, abs=0.3)
    executed = plots.component_bars(step, by="phase")
    assert executed.axes[0].get_title(loc="left") == f"mistral: {step.executed_total / 1e15:.2f} PFLOP executed"


def test_the_roofline_plot_has_a_point_per_component_below_its_roof() -> None:
    moved = floptally.flops(CONFIG, lengths=[4096]).bytes()
    figure = plots.roofline(moved, peak_tflops=989, memory_tbps=3.35)
    axes = figure.axes[0]
    with_flops = {name: one for name, one in moved.components.items() if one.flops}
    points = {text.get_text().split("  ")[0]: text.xy for text in axes.texts}
    assert set(points) == set(with_flops)
    for name, (intensity, height) in points.items():
        assert intensity == pytest.approx(with_flops[name].flops / with_flops[name].total)
        assert height == pytest.approx(min(989, 3.35 * intensity))
    assert "norm" in figure.get_supxlabel()
    decode = floptally.flops(CONFIG, new_tokens=[(1, 900)], plan=floptally.Plan(phase="forward")).bytes()
    assert all(y < 989 for _, y in (text.xy for text in plots.roofline(decode, peak_tflops=989, memory_tbps=3.35).axes[0].texts))


def waterfalls() -> list[floptally.Waterfall]:
    """A usual one; one with names of a caller's, a gain, much that is not known; one with nothing but a peak and kernels."""
    work = floptally.flops(CONFIG, plan=floptally.Plan(recompute="full"), lengths=[512, 9000], row_length=20000)
    usual = work.waterfall(seconds=2, gpus=4, peak_tflops=989, pp=4, microbatches=8, idle_gpus=0, apart={"data wait": 0.11})
    names = {"a": 0.004, "exposed communication of the gradients of all experts over the slower network": 0.1, "": 0.1,
             "loading": 0.02, "x" * 60: 0.02, "checkpoint": 0.03}  # fmt: skip
    many = work.waterfall(seconds=4, gpus=2, peak_tflops=500, precisions="mlp=1000", apart=names)
    plain = floptally.flops(CONFIG, lengths=[4096], plan=floptally.Plan(flash_attention=False))
    return [usual, many, plain.waterfall(seconds=2, gpus=1, peak_tflops=989, masked_tiles=0)]


def test_waterfall_bars_step_down_by_the_percentage_points_of_the_table() -> None:
    for made in waterfalls():
        shown = [line for line in made.lines[1:-1] if line.is_known and f"{line.points:.2f}" not in ("0.00", "-0.00")]
        figure = plots.waterfall(made)
        axes = figure.axes[0]
        bars = [container[0] for container in axes.containers]
        assert len(bars) == len(shown) + 3
        level = 100.0
        for bar, line in zip(bars[1:-1], [*shown, made.lines[-1]], strict=True):
            ends = sorted((bar.get_x(), bar.get_x() + bar.get_width()))
            assert ends == pytest.approx(sorted((level, level + line.points)), abs=1e-9)
            level += line.points
        assert bars[-1].get_width() == pytest.approx(level) == pytest.approx(100 * made.mfu)
        assert axes.get_xlim()[1] > max(bar.get_x() + max(bar.get_width(), 0) for bar in bars) - 1e-9
        # Each number stands in the table, as it stands here.
        numbers = ["100.00", *(f"{line.points:.2f}" for line in [*shown, made.lines[-1]]), f"{100 * made.mfu:.2f}"]
        assert [text.get_text().replace("−", "-").replace("+", "") for text in axes.texts] == numbers
        assert all(re.search(rf" {re.escape(number)}(  |$)", str(made), re.MULTILINE) for number in numbers)
        assert [label.get_text() for label in axes.get_yticklabels()][::len(bars) - 1] == ["peak", "measured MFU"]
        unknown = [line.name for line in made.lines if not line.is_known]
        said = " ".join(figure.get_supxlabel().split())
        assert all(name in said for name in unknown) and ("not known" in said) == bool(unknown)
        assert bars == [] or plots.waterfall(made.to_dict()).axes[0].texts[1].get_text() == axes.texts[1].get_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [3, 3.5, 7.2])
def test_texts_of_a_waterfall_picture_do_not_overlap_and_stay_inside_the_picture(theme: Any, width: float) -> None:
    from matplotlib.colors import to_rgb
    from matplotlib.text import Text

    for result in waterfalls():
        figure = plots.waterfall(result, theme=theme, width=width, about="a model and its batch", title=None)
        assert overlaps(figure) == []
        assert figure.get_size_inches()[0] == width
        paper = sum(to_rgb(figure.get_facecolor()))
        for text in figure.findobj(Text):
            if text.get_visible() and text.get_text().strip():
                box = text.get_window_extent()
                assert box.x0 >= -1 and box.x1 <= figure.bbox.x1 + 1, text.get_text()
                assert abs(sum(to_rgb(text.get_color())) - paper) > 1, "dark on light, or light on dark"


def test_the_waterfall_picture_names_the_three_largest_causes_of_lost_mfu() -> None:
    from matplotlib.text import Text

    for result in waterfalls():
        figure = plots.waterfall(result)
        dearest = sorted((line for line in result.lines[1:] if line.gpu_nanoseconds > 0), key=lambda line: line.points)[:3]
        caption = " ".join(" ".join(text.get_text().split()) for text in figure.findobj(Text))
        named = ", ".join(f"{' '.join(line.name.split())} {-line.points:.2f}" for line in dearest)
        assert f"most: {named}" in caption
        bold = [label.get_text() for label in figure.axes[0].get_yticklabels() if label.get_fontweight() == "bold"]
        assert len(bold) == len(dearest) + 1 and bold[-1] == "measured MFU"


def test_heatmap_cells_show_flops_per_second_and_missing_cells_show_no_number() -> None:
    results = kernel_results()
    figure = plots.kernel_heatmap(results)
    panels = [axes for axes in figure.axes if axes.images]
    assert [axes.get_title(loc="left") for axes in panels] == ["forward", "backward", "forward + backward"]
    products = {"fwd": 2, "bwd": 4, "e2e": 6}
    for axes, phase in zip(panels, ("fwd", "bwd", "e2e"), strict=True):
        shown = axes.images[0].get_array()
        for row, batch in enumerate((1, 2)):
            for column, length in enumerate((3, 5)):
                if (batch, length, phase) in ((2, 5, "fwd"), (1, 3, "bwd")):
                    assert shown.mask[row, column]
                    continue
                pairs = sum(1 for query in range(length) for key in range(length) if key <= query)
                work = products[phase] * 2 * 6 * pairs * batch  # multiply-adds of 2 heads x 3
                assert shown[row, column] == pytest.approx(work / (0.5 * batch * 1e-3) / 1e6)
    assert figure.axes[-1].get_ylabel() == "MFLOPS"
    words = {phase: [text.get_text() for text in axes.texts] for axes, phase in zip(panels, products, strict=True)}
    assert words["fwd"].count("missing") == 1 and words["bwd"].count("no memory") == 1
    assert "missing" not in words["e2e"] and len(words["e2e"]) == 4


def test_a_heatmap_row_without_a_measurement_is_shown_as_missing() -> None:
    figure = plots.kernel_heatmap(kernel_results(batch_sizes=[1, 2, 64]))
    panel = figure.axes[0]
    assert panel.images[0].get_array().shape == (3, 2)
    assert [text.get_text() for text in panel.texts].count("missing") == 3


def test_a_time_heatmap_needs_no_config_and_an_mfu_heatmap_needs_a_peak() -> None:
    plain = kernel_results()
    del plain["config"], plain["components"]
    figure = plots.kernel_heatmap(plain, show="milliseconds")
    assert figure.axes[0].images[0].get_array()[1, 0] == 1.0
    with pytest.raises(floptally.Error, match="^config: must be in the file"):
        plots.kernel_heatmap(plain)
    with pytest.raises(floptally.Error, match="^peak_tflops: must be in the file"):
        plots.kernel_heatmap(kernel_results(), show="mfu_pct")
    half = plots.kernel_heatmap(kernel_results(peak_tflops=2e-6), show="mfu_pct").axes[0].images[0].get_array()
    rate = plots.kernel_heatmap(kernel_results()).axes[0].images[0].get_array()
    assert half[0, 0] == pytest.approx(100 * rate[0, 0] * 1e-6 / 2e-6)  # MFLOPS


def test_hstu_kernel_heatmaps_count_contextual_tokens_and_targets() -> None:
    config = {"model_type": "hstu", "hidden_size": 8, "num_layers": 1, "num_attention_heads": 2, "dim_per_head": 4}
    results = {
        "times": [{"batch": 3, "sequence_length": 9, "phase": "fwd", "milliseconds": 1}],
        "config": config,
        "components": ["hstu.qk", "hstu.pv"],
        "contextual": 2,
        "targets": 3,
    }
    work = floptally.flops(config, sequences=[(2, 4, 3)] * 3).useful.components
    assert read_kernel_times(results).flops(3, 9, "fwd") == work["hstu.qk"].forward + work["hstu.pv"].forward
    with pytest.raises(floptally.Error, match="^sequence_lengths: must be at least contextual [+] targets, 5, got 4$"):
        read_kernel_times(results).flops(1, 4, "fwd")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"times": []}, "times: must be a list of at least one kernel time"),
        ({"times": [3]}, "times[0]: must be an object, got 3"),
        ({"phases": 1}, "phases: is an unknown key of a results file; known ones are "),
        ({"components": None}, "components: must be a list of component names, got None"),
        ({"components": []}, "components: must be in the file together with config"),
        ({"batch_sizes": [1]}, "batch_sizes: must list every value that times has: add 2"),
        ({"sequence_lengths": [3, 5, 0]}, "sequence_lengths[2]: must be an integer of at least 1, got 0"),
        ({"peak_tflops": 0}, "peak_tflops: must be a finite number above 0, got 0"),
        ({"targets": -1}, "targets: must be an integer of at least 0, got -1"),
        ({"components": ["mlp"]}, "components: must be components of the config (attention.qkv, attention.core, attention.output)"),
    ],
)
def test_an_invalid_file_of_kernel_results_is_an_error_that_names_the_field(change: dict[str, Any], text: str) -> None:
    with pytest.raises(floptally.Error) as raised:
        plots.kernel_heatmap(kernel_results(**change))
    assert str(raised.value).startswith(text)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"phase": "forward"}, "times[0].phase: must be \"fwd\", \"bwd\" or \"e2e\", got 'forward'"),
        ({"milliseconds": 0}, "times[0].milliseconds: must be a finite number above 0, got 0"),
        ({"milliseconds": float("nan")}, "times[0].milliseconds: must be a finite number above 0, got nan"),
        ({"batch": True}, "times[0].batch: must be an integer of at least 1, got True"),
        ({"seconds": 1}, "times[0].seconds: is an unknown key of a results file; known ones are batch, "),
        ({"sequence_length": 5}, "times[2]: repeats an earlier measurement: keep one of batch 1, sequence_length 5"),
    ],
)
def test_an_invalid_cell_of_a_heatmap_is_an_error_that_names_the_cell(change: dict[str, Any], text: str) -> None:
    results = kernel_results()
    results["times"][0].update(change)
    with pytest.raises(floptally.Error) as raised:
        read_kernel_times(results)
    assert str(raised.value).startswith(text)


def test_picture_files_have_the_same_bytes_every_time(tmp_path: Path) -> None:
    for name in ("first", "second"):
        plots.kernel_heatmap(kernel_results(), path=tmp_path / name)
        plots.component_bars(floptally.flops(CONFIG, lengths=[512]), path=tmp_path / f"{name}.bars")
        plots.waterfall(waterfalls()[1], theme="dark", path=tmp_path / f"{name}.fall")
    for ending in (".png", ".svg", ".bars.png", ".bars.svg", ".fall.png", ".fall.svg"):
        assert (tmp_path / f"first{ending}").read_bytes() == (tmp_path / f"second{ending}").read_bytes()
    assert (tmp_path / "first.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "first.svg").read_text(encoding="utf-8")
    assert svg.lstrip().startswith("<?xml") and "<dc:date>" not in svg
    plots.component_bars(floptally.flops(CONFIG, lengths=[512]), path=tmp_path / "deep" / "only.svg")
    assert [file.name for file in (tmp_path / "deep").iterdir()] == ["only.svg"]
    with pytest.raises(floptally.Error, match="^path: must end in .png or .svg"):
        plots.component_bars(floptally.flops(CONFIG, lengths=[512]), path=tmp_path / "a.pdf")


def test_a_plot_can_be_drawn_into_axes_of_the_caller() -> None:
    from matplotlib.figure import Figure

    mine = Figure()
    left, right = mine.subplots(1, 2)
    step = floptally.flops(CONFIG, lengths=[512])
    assert plots.component_bars(step, ax=left) is mine
    assert plots.convention_spread({"exact": 10, "palm": 12}, ax=right) is mine
    own = Figure().subplots()
    assert plots.waterfall(waterfalls()[0], ax=own).axes == [own] and own.containers
    assert left.containers and right.containers and mine.get_supxlabel() == ""
    assert plots.kernel_heatmap(kernel_results(), ax=list(Figure().subplots(1, 3))).axes
    with pytest.raises(floptally.Error, match="^ax: must be 3 axes"):
        plots.kernel_heatmap(kernel_results(), ax=[left])


def test_invalid_plot_input_is_an_error_that_names_the_field() -> None:
    step = floptally.flops(CONFIG, lengths=[512])
    wrong: list[tuple[Any, str]] = [
        (lambda: plots.component_bars({}), 'step: must be a Breakdown or its to_dict(), got a dict without "flops"'),
        (lambda: plots.component_bars(step, by="layer"), 'by: must be "view" or "phase", got "layer"'),
        (lambda: plots.component_bars(step, by="phase", view="real"), 'view: must be "useful", "padded" or "executed"'),
        (lambda: plots.convention_spread({"palm": 1}), 'reference: must be a convention in totals (palm), got "exact"'),
        (lambda: plots.utilization_over_time([{"loss": 1}]), "records: must have mfu_pct"),
        (lambda: plots.waterfall({}), 'waterfall: must be a Waterfall or its to_dict(), got a dict without its "lines"'),
        (lambda: plots.waterfall(waterfalls()[0], theme="blue"), 'theme: must be "light" or "dark", got "blue"'),
        (lambda: plots.waterfall(waterfalls()[0], theme=["dark"]), "theme: must be"),
        (lambda: plots.waterfall(waterfalls()[0], width=1), "width: must be from 3 to 40 inches, got 1"),
        (lambda: plots.roofline({}, peak_tflops=1, memory_tbps=1), 'byte_counts: must be a Bytes or its to_dict(), got a dict'),
        (lambda: plots.roofline(step.bytes(), peak_tflops=0, memory_tbps=1), "peak_tflops: must be a finite number above 0"),
        (lambda: plots.comparison_bars([]), "rows: must have at least one run"),
        (lambda: plots.kernel_heatmap(kernel_results(), show="time"), 'show: must be "tflops", "mfu_pct" or'),
    ]
    for draw, text in wrong:
        with pytest.raises(floptally.Error) as raised:
            draw()
        assert str(raised.value).startswith(text)


class Row:
    def __init__(self, name: str, tflops: float, best: float) -> None:
        self.name, self.tflops_per_gpu, self.best_tflops_per_gpu = name, tflops, best
        self.mfu_pct, self.speed_up = tflops / 10, 1.0


def every_picture(theme: Any, **axes: Any) -> dict[str, Any]:
    step = floptally.flops(CONFIG, plan=floptally.Plan(recompute="full"), **PACK)
    log = [{"step": i, "mfu_pct": 30.0 + i, "mfu_padded_pct": 33.0, "hfu_pct": 40.0} for i in range(3)]
    return {
        "component_bars": plots.component_bars(step, theme=theme),
        "by phase": plots.component_bars(step, by="phase", theme=theme),
        "convention_spread": plots.convention_spread(plots.convention_totals(CONFIG, lengths=[512]), theme=theme),
        "utilization_over_time": plots.utilization_over_time(log, theme=theme),
        "comparison_bars": plots.comparison_bars([Row("a", 200, 220), Row("b", 3, 90)], theme=theme),
        "kernel_heatmap": plots.kernel_heatmap(kernel_results(), theme=theme),
        "roofline": plots.roofline(step.bytes(), peak_tflops=989, memory_tbps=3.35, theme=theme),
        "waterfall": plots.waterfall(step.measure(4, gpus=1, accelerator="H100 SXM").waterfall(), theme=theme),
    }


def contrast(one: Any, other: Any) -> float:
    """WCAG's, of two colours."""
    from matplotlib.colors import to_rgb

    def luminance(color: Any) -> float:
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_picture_has_a_light_and_a_dark_theme(theme: Any) -> None:
    from matplotlib.text import Text

    paper = {"light": "white", "dark": "#16181D"}[theme]
    for name, figure in every_picture(theme).items():
        assert contrast(figure.get_facecolor(), paper) == 1, name
        figure.draw_without_rendering()
        for axes in figure.axes:
            assert contrast(axes.get_facecolor(), paper) == 1, name
        on_paper = [*figure.axes[0].get_xticklabels(), *figure.axes[0].get_yticklabels(), figure.axes[0].title]
        on_paper += [text for text in figure.findobj(Text) if text.get_text() and text.get_bbox_patch() is not None]
        for text in on_paper:
            assert contrast(text.get_color(), paper) > 4, (name, text.get_text())
        for bar in figure.axes[0].patches:
            if bar.get_fill():
                assert contrast(bar.get_facecolor(), paper) > 1.9, name
    with pytest.raises(floptally.Error, match='theme: must be "light" or "dark", got "grey"'):
        plots.component_bars(floptally.flops(CONFIG, lengths=[5]), theme="grey")  # type: ignore[arg-type]


def test_the_number_of_useful_flops_is_printed_at_the_end_of_the_bar_of_useful_flops() -> None:
    step = floptally.flops(CONFIG, plan=floptally.Plan(recompute="full"), **PACK)
    for figure in (
        plots.component_bars(step),
        plots.comparison_bars([Row("a", 200, 220), Row("b", 3, 90), Row("c", 150, 300)]),
    ):
        figure.draw_without_rendering()
        axes = figure.axes[0]
        places = {round(text.xy[1]): text for text in axes.texts if text.xycoords == "data"}
        first = [bar for bar in axes.patches if bar.get_x() == 0]
        inside = 0
        for row, bar in enumerate(first):
            box = places[row].get_window_extent()
            left, right = (axes.transData.transform((x, row))[0] for x in (0, bar.get_width()))
            if box.x1 < right:  # in the bar, at its end
                inside += 1
                assert left < box.x0 and right - box.x1 < 12
            else:  # no room in it, or nothing after it
                stacked = any(one.get_y() == bar.get_y() and one.get_x() > 0 and one.get_width() > 0 for one in axes.patches)
                assert box.x0 > right and (right - left < box.width + 12 or not stacked)
        assert inside >= 1


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_plot_of_a_comparison_shows_the_terms_of_the_comparison_as_bars(theme: Any, tmp_path: Path) -> None:
    result = floptally.cost(CONFIG).compare(lengths=[9000, 512], observed="1.1PFLOP")
    figure = result.plot(theme=theme, path=tmp_path / "made.png")
    assert (tmp_path / "made.png").stat().st_size > 10_000
    axes = figure.axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    totals = [result.conventions[name].total for name in names]
    assert totals == sorted(totals) and len(names) == len(result.conventions)
    ends = dict.fromkeys(range(len(names)), 0.0)
    for bar in axes.patches:
        ends[round(bar.get_y() + bar.get_height() / 2)] += bar.get_width()
    for row, name in enumerate(names):
        assert ends[row] == pytest.approx(100 * (result.conventions[name].total / result.exact - 1), abs=1e-9), name
    said = {text.get_text() for legend in figure.legends for text in legend.get_texts()}
    assert said == {term for line in result.conventions.values() for term in line.terms}
    assert "dashed: 1.1PFLOP" in figure.get_supxlabel()
    with pytest.raises(floptally.Error, match="comparison: must be a Comparison"):
        plots.comparison({})


def test_published_runs_are_drawn_at_their_exact_mfu_with_a_median_for_each_row() -> None:
    runs = floptally.published_runs()
    figure = plots.published_mfu(runs)
    axes = figure.axes[0]
    points = sorted(x for kind in axes.collections for x in kind.get_offsets()[:, 0])
    assert points == pytest.approx(sorted(100 * run.mfu for run in runs.runs))
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert sum(int(re.findall(r"\((\d+)\)$", label)[0]) for label in labels) == len(runs.runs)
    assert len(axes.lines) == len(labels)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["dense", "MoE", "hybrid", "hybrid MoE"]


def test_the_gap_between_published_and_exact_mfu_is_labelled_with_its_cause() -> None:
    runs = floptally.published_runs()
    figure = plots.published_gaps(runs)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert any(label.startswith("counts as palm (") for label in labels)
    assert any(label.startswith("as bionemo, with 16 groups of keys and values instead of 8 (") for label in labels)
    assert any("; over 2237 of 4500 TFLOP/s" in label for label in labels)
    gaps = sorted(x for points in figure.axes[0].collections for x in points.get_offsets()[:, 0])
    printed = [run for run in runs.runs if run.published is not None]
    assert gaps == pytest.approx(sorted(100 * (run.published / run.mfu - 1) for run in printed))


@pytest.mark.parametrize("draw", [plots.published_mfu, plots.published_gaps])
def test_a_plot_of_published_runs_refuses_any_other_type_of_object(draw: Any) -> None:
    with pytest.raises(floptally.Error, match="expectation: must be a result of floptally.expect"):
        draw({"runs": []})


def test_layouts_are_drawn_by_time_and_memory_and_those_of_the_pareto_front_are_named() -> None:
    cost = floptally.cost(
        {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 32000, "hidden_size": 2048,
         "intermediate_size": 5632, "num_hidden_layers": 8, "num_attention_heads": 16, "num_key_value_heads": 8}
    )  # fmt: skip
    found = cost.search(lengths=[4096], global_batch=64, gpus=16, accelerator="H100 SXM", top=10_000)
    axes = plots.layouts(found).axes[0]
    drawn = [(float(seconds), float(gib)) for gib, seconds in axes.collections[0].get_offsets()]
    assert drawn == [pytest.approx(point) for point in found.points]
    front = [one for one in found.layouts if one.is_on_front]
    assert list(axes.lines[0].get_ydata()) == pytest.approx([one.seconds for one in front])
    assert list(axes.lines[0].get_xdata()) == pytest.approx([one.memory_gib for one in front])
    numbers, names = axes.texts[:-1], axes.texts[-1].get_text().splitlines()
    assert [text.get_text() for text in numbers] == [str(number) for number in range(1, len(names) + 1)]
    assert names[0].startswith("1  dp ")


def test_a_plot_of_searched_layouts_refuses_any_other_type_of_object() -> None:
    with pytest.raises(floptally.Error, match="search: must be the result of Cost.search, got"):
        plots.layouts(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("draw", [draw for name in plots.__all__ if inspect.isfunction(draw := getattr(plots, name))])
def test_every_plot_refuses_a_value_that_is_not_a_report_and_names_the_argument(draw: Any) -> None:
    more = {"peak_tflops": 989.0, "memory_tbps": 3.35} if draw is plots.roofline else {}
    for value in (None, "no such file", 3, True, [], [None], ["a"], {}, {"a": 1}, object(), b"x", math.nan, -1):
        with pytest.raises(floptally.Error, match="^[a-z]"):
            draw(value, **more)
