# SPDX-License-Identifier: Apache-2.0
"""Fixtures that the tests of the Python package share."""

from __future__ import annotations

import collections
import contextlib
import functools
import gc
import importlib.util
import json
import os
import pathlib
import random
import re
import sys
import weakref
from collections.abc import Generator
from typing import Any

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small models, and a test for each core beside

import floptally
from floptally import selftest

SOURCE = pathlib.Path(__file__).resolve().parents[2]

#: True runs all cases of tests of which CI runs a few.
EVERY = bool(os.environ.get("FLOPTALLY_EVERY"))

#: Packages that some tests need and a small machine may lack.
OPTIONAL = ("torch", "transformers", "accelerate", "lightning", "matplotlib", "peft", "trl", "datasets", "diffusers", "jax", "flax", "equinox")


def _skip_without(missing: ModuleNotFoundError) -> None:
    """Skips a test that needs a package which is not installed. A package that is installed and broken fails it."""
    package = (missing.name or "").partition(".")[0]
    if package in OPTIONAL and importlib.util.find_spec(package) is None:
        pytest.skip(f"needs {package}, which is not installed")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    try:
        return (yield)
    except ModuleNotFoundError as missing:
        _skip_without(missing)
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    try:
        return (yield)
    except ModuleNotFoundError as missing:
        _skip_without(missing)
        raise


#: A test file with one of these asks which packages are installed, so that its tests can differ between environments.
LOOKS_AT_PACKAGES = re.compile(r"find_spec|except ImportError|in sys\.modules|sys\.modules\.get")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--passed-before", type=pathlib.Path, metavar="FILE",
                     help="leave out tests that FILE lists, one id a line, unless their file looks at what is installed")  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "one_in(n): runs every nth case; with FLOPTALLY_EVERY=1 (.ci/long cases) all of them")


def _of_few(items: list[pytest.Item]) -> list[pytest.Item]:
    """Returns the cases of tests with the mark `one_in(n)` that only `.ci/long cases` runs."""
    seen: collections.Counter[str] = collections.Counter()
    left_out = []
    for item in items:
        mark = item.get_closest_marker("one_in")
        if mark is not None:
            test = item.nodeid.partition("[")[0]
            if seen[test] % mark.args[0] != 0:
                left_out.append(item)
            seen[test] += 1
    return left_out


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not EVERY:
        left_out = _of_few(items)
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]
    if config.option.passed_before is None:
        return
    passed = set(config.option.passed_before.read_text().splitlines())
    differ = functools.cache(lambda file: LOOKS_AT_PACKAGES.search(file.read_text()) is not None)
    left_out = [item for item in items if item.nodeid in passed and not differ(item.path)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]


LLAMA_3_8B = {**selftest.LLAMA_3_8B, "architectures": ["LlamaForCausalLM"]}


def golden(name: str) -> Any:
    """A file of tests/golden."""
    return json.loads((SOURCE / "tests" / "golden" / name).read_text())


@pytest.fixture(scope="session")
def source() -> pathlib.Path:
    return SOURCE


@pytest.fixture(scope="session")
def llama() -> floptally.Cost:
    return floptally.cost(LLAMA_3_8B)


@pytest.fixture(scope="session")
def mistral() -> floptally.Cost:
    """With a window, so that a tally keeps pairs."""
    return floptally.cost(SOURCE / "examples" / "data" / "mistral-7b-v0.1.json")


@pytest.fixture(scope="session")
def program() -> str:
    """The executable floptally, which CI names."""
    path = os.environ.get("FLOPTALLY_PROGRAM")
    if not path:
        pytest.skip("FLOPTALLY_PROGRAM does not name the executable floptally")
    return path


def process_state(model: Any) -> dict[str, Any]:
    """What a count must leave as it was: the model, random states and settings, by names."""
    import torch
    from torch.nn.modules import module as modules
    from torch.utils import _device

    cuda = torch.backends.cuda
    found: dict[str, Any] = {
        "random": random.getstate(),
        "torch.random": torch.get_rng_state().tolist(),
        "dtype": torch.get_default_dtype(),
        "device": _device.CURRENT_DEVICE,
        "gradients": (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_anomaly_enabled()),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "autocast": [(torch.is_autocast_enabled(one), torch.get_autocast_dtype(one)) for one in ("cpu", "cuda")],
        "attention": (cuda.flash_sdp_enabled(), cuda.mem_efficient_sdp_enabled(), cuda.math_sdp_enabled(), cuda.cudnn_sdp_enabled()),
        "fast paths": (torch.backends.mha.get_fastpath_enabled(), torch._C._get_mkldnn_enabled()),
        "hooks of all modules": {key: len(value) for key, value in vars(modules).items() if key.startswith("_global_") and isinstance(value, dict)},
    }
    if "numpy" in sys.modules:
        kind, keys, *rest = sys.modules["numpy"].random.get_state()
        found["numpy.random"] = (kind, keys.tolist(), rest)
    if isinstance(model, torch.nn.Module):
        for name, one in model.named_modules():
            hooks = (one._forward_hooks, one._forward_pre_hooks, one._backward_hooks, one._backward_pre_hooks, one._forward_hooks_with_kwargs)
            found[f"module {name}"] = (type(one), one.training, [list(each) for each in hooks])
        for name, tensor in (*model.named_parameters(), *model.named_buffers()):
            found[f"tensor {name}"] = (id(tensor), tensor.data_ptr() if not tensor.is_meta else 0, tensor.requires_grad, id(tensor.grad))
    return found


@contextlib.contextmanager
def no_fake_tensor_left() -> Generator[None, None, None]:
    """Fails if a fake tensor that is made inside is alive afterwards."""
    kind = sys.modules["torch"]._subclasses.fake_tensor.FakeTensor
    new, made = kind.__new__, []

    def noted(*args: Any, **kwargs: Any) -> Any:
        one = new(*args, **kwargs)
        made.append(weakref.ref(one))
        return one

    kind.__new__ = staticmethod(noted)
    try:
        yield
    finally:
        kind.__new__ = staticmethod(new)
        if any(one() is not None for one in made):
            gc.collect()
        assert not any(one() is not None for one in made)


@pytest.fixture(autouse=True)
def counts_leave_the_process_as_it_was(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Any:
    """Around every call of from_torch and verify: no state, hook or setting differs afterwards, no fake tensor is left,
    and no traceback is printed."""
    if "torch" not in sys.modules:
        yield
        return
    capture = request.getfixturevalue("capsys" if "capsys" in request.fixturenames else "capfd")
    calls = 0

    def watched(function: Any) -> Any:
        @functools.wraps(function)
        def call(model: Any = None, *args: Any, **kwargs: Any) -> Any:
            nonlocal calls
            calls += 1
            before = process_state(model)
            try:
                with no_fake_tensor_left():
                    return function(model, *args, **kwargs)
            finally:
                after = process_state(model)
                assert {key for key in before if before[key] != after.get(key)} == set()

        return call

    for name in ("from_torch", "verify"):
        monkeypatch.setattr(floptally, name, watched(getattr(floptally, name)))
    yield
    # A handler of another library may log to the captured stream of an earlier test, which is closed: no matter of a count.
    printed = [text.replace("--- Logging error ---\nTraceback", "") for text in capture.readouterr()]
    assert calls == 0 or not any("Traceback (most recent call last)" in text for text in printed)
