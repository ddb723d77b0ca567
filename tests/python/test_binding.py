# SPDX-License-Identifier: Apache-2.0
"""How the extension reads calls: by pybind11's public interface, with errors of its own."""

from __future__ import annotations

import copy
import pickle
import re
import sys
import sysconfig

import numpy as np
import pytest

import floptally
from conftest import SOURCE


def test_the_python_binding_uses_only_the_public_interface_of_pybind11_and_limits_the_pybind11_version() -> None:
    files = [*(SOURCE / "examples" / "python" / "src").glob("*.?pp")]
    assert len(files) > 20
    private = re.compile(r"\b(py|pybind11)::detail\b|METH_FASTCALL|PyMethodDef|PyGetSetDef|pybind11/detail/")
    assert [(file.name, found[0]) for file in files for found in private.finditer(file.read_text())] == []
    needs = re.search(r'"pybind11([^"]*)"', (SOURCE / "pyproject.toml").read_text())
    assert needs and re.fullmatch(r">=[\d.]+,<[\d.]+", needs[1]), needs


@pytest.fixture
def llama() -> floptally.Cost:
    return floptally.cost({"model_type": "llama"})


def test_a_keyword_argument_whose_name_is_built_at_run_time_is_accepted(llama: floptally.Cost) -> None:
    name = "".join(["len", "gths"])
    assert name is not sys.intern("lengths")
    assert llama.total_flops(**{name: [5]}) == llama.total_flops(lengths=[5])  # type: ignore[arg-type, misc]
    with pytest.raises(TypeError, match="unexpected keyword argument 'lenghts'; did you mean 'lengths'"):
        llama.total_flops(**{"".join(["len", "ghts"]): [5]})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("seq_lens", "did you mean 'lengths'"),
        ("sequence_lengths", "did you mean 'lengths'"),
        ("tokens", "did you mean 'lengths'"),
        ("input_ids", "tokens are counted, not their ids: pass lengths=, attention_mask=, cu_seqlens=$"),
        ("labels", "tokens are counted, not their ids: pass lengths=, attention_mask=, logits=$"),
        ("position_ids", "sequences are counted, not their positions: pass lengths=, cu_seqlens=$"),
        ("pixel_values", "sizes of pictures are counted, not their values: pass grid_thw=, pixels=, images=$"),
        ("image_grid_thw", "did you mean 'grid_thw'"),
        ("input_features", "frames are counted, not their values: pass audio_frames=$"),
    ],
)
def test_the_error_for_a_trainer_keyword_such_as_input_ids_names_the_argument_to_pass_instead(llama: floptally.Cost, name: str, hint: str) -> None:
    meter = floptally.Meter(llama, gpus=1, peak_tflops=989)
    for call in (llama.flops, llama.total_flops, meter.add):
        with pytest.raises(TypeError, match=f"got an unexpected keyword argument '{name}'; {hint}"):
            call(**{name: [5]})  # type: ignore[operator]
    with pytest.raises(TypeError, match="unexpected keyword argument 'input_ids'; tokens are counted, not their ids: pass lengths=$"):
        floptally.Tally(llama).add_padded(input_ids=[5], row_length=9)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'pixel_values'$"):
        floptally.Plan(pixel_values=[5])  # type: ignore[call-arg]


def test_a_batch_passed_by_position_is_a_type_error(llama: floptally.Cost) -> None:
    meter = floptally.Meter(llama, gpus=1, peak_tflops=989)
    for call, name in ((llama.flops, "flops"), (llama.total_flops, "total_flops"), (meter.add, "add")):
        with pytest.raises(TypeError, match=rf"^{name}\(\) takes 0 positional arguments but 1 was given$"):
            call([5])  # type: ignore[call-arg, arg-type]
    with pytest.raises(TypeError, match=r"^add_padded\(\) got multiple values for argument 'lengths'$"):
        floptally.Tally(llama).add_padded([5], lengths=[5])  # type: ignore[misc]


def test_using_an_object_before_the_init_of_its_base_class_has_run_is_a_type_error(llama: floptally.Cost) -> None:
    class Early(floptally.Tally):
        def __init__(self) -> None:
            self.add_lengths([5])
            super().__init__(llama)

    class Late(floptally.Tally):
        def __init__(self) -> None:
            super().__init__(llama)
            self.add_lengths([5])

    assert Late().tokens == 5
    with pytest.raises(TypeError, match=r"^Early.__init__\(\) has not been called$"):
        Early()
    with pytest.raises(TypeError, match=r"^Meter.__init__\(\) has not been called$"):
        _ = floptally.Meter.__new__(floptally.Meter).run
    tally = floptally.Tally(llama)
    with pytest.raises(TypeError, match=r"^Tally.__init__\(\) has not been called$"):
        tally += floptally.Tally.__new__(floptally.Tally)
    for wrong in (5, None):
        with pytest.raises(TypeError, match=f"must be a floptally.Cost, got {wrong}"):
            floptally.Cost.flops(wrong, lengths=[5])  # type: ignore[arg-type]


def test_calling_init_on_an_existing_object_does_not_change_its_value(llama: floptally.Cost) -> None:
    tally = floptally.Tally(llama)
    tally.add_lengths([5, 7])
    tally.__init__(llama)  # type: ignore[misc]
    assert tally.tokens == 12


def test_copies_of_an_object_of_a_subclass_keep_its_attributes(llama: floptally.Cost) -> None:
    tally = Named(llama)
    tally.add_lengths([5, 7])
    tally.name = "rollout"
    for again in (copy.copy(tally), copy.deepcopy(tally), pickle.loads(pickle.dumps(tally))):
        assert type(again) is Named and again.name == "rollout" and again == tally


class Named(floptally.Tally):
    name = ""


def test_non_contiguous_arrays_are_an_error(llama: floptally.Cost) -> None:
    with pytest.raises(floptally.Error, match="lengths: must be C-contiguous"):
        llama.total_flops(lengths=np.arange(1, 20, dtype=np.int32)[::2])


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="needs a free-threaded Python")
def test_free_threaded_python_turns_the_gil_on_for_the_extension() -> None:
    assert sys._is_gil_enabled()  # type: ignore[attr-defined]
