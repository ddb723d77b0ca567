# SPDX-License-Identifier: Apache-2.0
"""The command that shows what installed releases have and floptally has not read."""

from __future__ import annotations

import importlib.util
import json
import pathlib
from typing import Any

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def upstream() -> Any:
    spec = importlib.util.spec_from_file_location("upstream", SOURCE / "tests/upstream.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PEER = '''
TABLE = {"H100": 989e12}
def model_flops(layers):
    """Counts."""
    return 6 * layers
def other(layers):
    return layers
'''


def run(upstream: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, text: str, *arguments: str) -> int:
    (tmp_path / "peer.py").write_text(text)
    monkeypatch.setattr(upstream, "FUNCTIONS", {"pytest": ("peer", "peer.py")})
    monkeypatch.setattr(upstream, "file_of", lambda package, path: tmp_path / path)
    monkeypatch.setattr(upstream, "transformers_lines", lambda state, seen: ())
    monkeypatch.setattr(upstream, "diffusers_lines", lambda: ())
    monkeypatch.setattr(upstream, "STATE", tmp_path / "upstream.json")
    monkeypatch.setattr(upstream, "OUTPUT", tmp_path / "upstream.txt")
    return int(upstream.main(list(arguments)))


def test_a_changed_function_of_another_flop_counter_is_reported_until_it_is_accepted(upstream: Any, monkeypatch: Any, tmp_path: pathlib.Path, capsys: Any) -> None:
    assert run(upstream, monkeypatch, tmp_path, PEER, "--accept") == 0
    assert run(upstream, monkeypatch, tmp_path, PEER.replace("Counts.", "Counts FLOPs.")) == 0, "a docstring is no change"
    assert run(upstream, monkeypatch, tmp_path, PEER.replace("return layers", "return 2 * layers")) == 0, "no function that counts"
    changed = PEER.replace("6 *", "8 *")
    assert run(upstream, monkeypatch, tmp_path, changed) == 1
    assert "pytest | function changed | peer.py: model_flops" in capsys.readouterr().out
    run(upstream, monkeypatch, tmp_path, changed, "--accept")
    assert run(upstream, monkeypatch, tmp_path, changed) == 0


def test_a_new_accelerator_in_another_flop_counter_is_reported(upstream: Any, monkeypatch: Any, tmp_path: pathlib.Path, capsys: Any) -> None:
    run(upstream, monkeypatch, tmp_path, PEER, "--accept")
    assert run(upstream, monkeypatch, tmp_path, PEER.replace('{"H100"', '{"B300": 1, "H100"')) == 1
    assert "pytest | device new | peer.py: B300" in capsys.readouterr().out


def test_a_changed_default_in_transformers_is_reported(upstream: Any) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed")
    state = json.loads(upstream.STATE.read_text())
    state["defaults"]["llama"]["num_hidden_layers"] = 31
    lines = [line for line in upstream.transformers_lines(state, {}) if line[2].startswith("llama:")]
    assert ("transformers", "default changed", "llama: num_hidden_layers 31 -> 32") in lines
