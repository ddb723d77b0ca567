# SPDX-License-Identifier: Apache-2.0
"""What the pictures of masks, views and ranks show is what the library counts."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import pytest

import floptally
from conftest import SOURCE


@pytest.fixture(scope="module")
def pictures() -> ModuleType:
    """The script that draws them. It draws with matplotlib, which this test does not need."""
    spec = importlib.util.spec_from_file_location("pictures", SOURCE / "examples" / "pictures.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["pictures"] = module
    spec.loader.exec_module(module)
    return module


def test_each_row_of_a_drawn_mask_has_as_many_keys_as_the_library_counts(pictures: ModuleType) -> None:
    tokens = pictures.TOKENS
    queries = floptally.TokenSplit.contiguous(tokens, tokens)  # a rank for each query
    for mask in pictures.MASKS:
        assert sum(mask.documents) == tokens
        rows = [[int(mask.sees(q, k)) for k in range(tokens)] for q in range(tokens)]
        pack = floptally.ContextParallelPack(queries, cu_seqlens=pictures.boundaries(mask.documents))
        assert [row.count(1) for row in rows] == pack.pairs(mask.library), mask.title
        assert sum(map(bool, sum(rows, []))) == pictures.pairs_of(mask), mask.title
        if mask.title not in ("packed documents", "image in causal text"):
            assert mask.library.name == mask.title
    assert len({mask.title for mask in pictures.MASKS}) == len(pictures.MASKS) == 8


def test_an_image_in_causal_text_adds_its_later_tokens_to_each_of_its_queries(pictures: ModuleType) -> None:
    (image,) = [mask for mask in pictures.MASKS if mask.grid_thw]
    ((frames, height, width),) = image.grid_thw
    assert frames == 1 and height * width == len(pictures.IMAGE)
    added = [[k for k in range(pictures.TOKENS) if image.sees(q, k) == 2] for q in range(pictures.TOKENS)]
    assert added == [list(range(q + 1, pictures.IMAGE.stop)) if q in pictures.IMAGE else [] for q in range(pictures.TOKENS)]


def test_cells_of_the_views_are_as_many_as_the_tokens_and_pairs_of_the_library(pictures: ModuleType) -> None:
    work, tokens = pictures.packed_work(), range(sum(pictures.SLOTS))
    seen = [(q, k) for q in tokens for k in range(q + 1) if pictures.document_of(q, pictures.SLOTS) == pictures.document_of(k, pictures.SLOTS)]
    kinds = {"useful": {0}, "padded": {0, 1, 2}}
    for view, counted in kinds.items():
        assert sum(pictures.kind_of(token) in counted for token in tokens) == work.statistics["tokens"][view]
        assert sum(pictures.kind_of(q) in counted for q, _ in seen) == work.statistics["pairs"][0]["value"][view]
    assert work.padding is not None and all(work.padding[name] for name in ("useful", "in_slots", "mock"))
    assert work.useful.total < work.padded.total < work.executed.total and work.executed.recompute


def test_the_drawn_pairs_of_each_rank_are_those_that_the_library_counts(pictures: ModuleType) -> None:
    loads = {name: pictures.rank_pairs(split) for name, split in pictures.SPLITS.items()}
    for name, split in pictures.SPLITS.items():
        assert loads[name] == [sum(int(token) + 1 for token in split.indices(rank)) for rank in range(split.cp)]
    assert len(set(loads["zigzag"])) == 1 and loads["contiguous"] == sorted(set(loads["contiguous"]))


def test_numbers_in_the_alternative_texts_of_the_pictures_are_those_that_the_pictures_show(pictures: ModuleType) -> None:
    sums = pictures.packed_work().statistics
    tokens, pairs = sums["tokens"], sums["pairs"][0]["value"]
    counting, parallel = ((SOURCE / "docs" / page).read_text() for page in ("counting.md", "parallel.md"))
    assert f"Useful has the {tokens['useful']} tokens and {pairs['useful']} pairs of three documents" in counting
    assert f"a mock sequence: {tokens['padded']} tokens and {pairs['padded']} pairs" in counting
    first, second, third, last = pictures.rank_pairs(pictures.SPLITS["contiguous"])
    (even,) = set(pictures.rank_pairs(pictures.SPLITS["zigzag"]))
    assert f"Contiguous ranks have {first}, {second}, {third} and {last} pairs, zigzag ranks {even} each" in parallel
