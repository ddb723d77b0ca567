# SPDX-License-Identifier: Apache-2.0
"""The types of docs/limitations.md against the mappings of transformers: no type of them is missing in silence."""

from __future__ import annotations

import json
import pathlib
import re

import pytest

import floptally

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PAGE = SOURCE / "docs" / "limitations.md"
VERSION = re.search(r"What transformers ([0-9.]+) maps", PAGE.read_text()).group(1)


def reasons(title: str = "Types that are not read") -> dict[str, str]:
    """The listed types or classes, each with its reason: bullets of the form "* **Reason**: `type`, `type`."."""
    found: dict[str, str] = {}
    lists = PAGE.read_text().split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]
    for bullet in re.split(r"\n\* ", lists)[1:]:
        text = " ".join(re.split(r"\n\n", bullet)[0].split())
        form = re.fullmatch(r"\*\*([^*`]+)\*\*: ((?:`[^` ]+`(?:, |\.))+)", text)
        assert form, f"docs/limitations.md: not of the form \"* **Reason**: `type`, `type`.\": {text[:100]}"
        for name in re.findall(r"`([^`]+)`", form.group(2)):
            assert name not in found, f"docs/limitations.md lists {name} twice"
            found[name] = form.group(1)
    return found


def installed() -> str:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    return str(transformers.__version__)


def only_of_the_page() -> None:
    """Skips where another release is installed: its mappings have more types, or fewer."""
    if installed() != VERSION:
        pytest.skip(f"transformers is {installed()}, docs/limitations.md is of {VERSION}; see tests/upstream.py")


def mapped() -> dict[str, set[str]]:
    """Every model type that a mapping of the installed release has, with the classes of a model that it leads to."""
    installed()
    auto = pytest.importorskip("transformers.models.auto.modeling_auto", reason="transformers cannot be imported")
    mappings = [name for name in dir(auto) if name.endswith("MAPPING_NAMES") and name != "CONFIG_MAPPING_NAMES"]
    assert len(mappings) > 30
    found: dict[str, set[str]] = {name: set() for name in auto.CONFIG_MAPPING_NAMES}
    for name in mappings:
        for model_type, classes in getattr(auto, name).items():
            found.setdefault(model_type, set()).update([classes] if isinstance(classes, str) else filter(None, classes))
    return found


def test_model_types_without_a_model_class_are_found_in_the_config_mapping_of_transformers() -> None:
    without_class = {name for name, classes in mapped().items() if not classes}
    assert {"sam_prompt_encoder", "t5_gemma_module"} & without_class, "no type without a class: CONFIG_MAPPING_NAMES is left out"


def test_every_transformers_model_type_is_read_or_listed_as_not_read() -> None:
    missing = sorted(set(mapped()) - set(floptally.models()) - set(reasons()))
    assert not missing, "add to docs/limitations.md, each with its reason, or write its page: " + " ".join(missing)


def test_no_model_type_on_the_list_of_unread_types_can_be_read() -> None:
    both = sorted(set(reasons()) & set(floptally.models()))
    assert not both, "remove from docs/limitations.md, as these are read: " + " ".join(both)


def test_every_model_type_listed_as_not_read_is_in_transformers() -> None:
    only_of_the_page()
    unknown = sorted(set(reasons()) - set(mapped()))
    assert not unknown, "remove from docs/limitations.md, which no mapping has: " + " ".join(unknown)


def test_every_model_class_of_a_supported_model_type_can_be_read_or_is_listed_as_not_read() -> None:
    only_of_the_page()
    classes = mapped()
    from transformers import CONFIG_MAPPING

    unread = set()
    for model_type in sorted(set(classes) & set(floptally.models())):
        try:
            written = json.loads(CONFIG_MAPPING[model_type]().to_json_string(use_diff=False))
        except Exception:  # a config that has no defaults
            written = {}
        for name in classes[model_type]:
            for config in (written, {}):  # defaults may be refused for another key than the class
                try:
                    floptally.cost({**config, "model_type": model_type, "architectures": [name]})
                except floptally.Error as wrong:
                    if "unknown class" in str(wrong):
                        unread.add(name)
    listed = set(reasons("Classes that are not read"))
    assert sorted(unread - listed) == [], "add to docs/limitations.md, each with its reason, or to its page"
    assert sorted(listed - unread) == [], "remove from docs/limitations.md: these are read, or in no mapping"


@pytest.mark.parametrize("title", ["Types that are not read", "Classes that are not read"])
def test_the_docs_page_limitations_gives_a_reason_for_every_model_type_that_cannot_be_read(title: str) -> None:
    for name, reason in reasons(title).items():
        assert len(reason.split()) > 4, f"docs/limitations.md: {name}: the reason is too short: {reason}"
        for word in ("not yet", "yet", "later", "todo", "planned", "soon"):
            found = re.search(rf"\b{word}\b", reason.lower())
            assert not found, f"docs/limitations.md: {name}: {word!r} is no reason"
