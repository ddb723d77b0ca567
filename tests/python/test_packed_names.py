# SPDX-License-Identifier: Apache-2.0
"""A packed batch under every name that trainers have for its documents: counted pair by pair, or refused by name."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import floptally
import numpy as np
import pytest
from floptally import callbacks

CONFIG = {
    "model_type": "llama", "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2,
    "num_key_value_heads": 1, "vocab_size": 32, "max_position_embeddings": 64, "architectures": ["LlamaForCausalLM"],
}  # fmt: skip


def pairs_of(slots: list[Any]) -> int:
    """Pairs that causal attention within documents attends, one by one. None is no document."""
    return sum(
        slots[key] is not None and slots[key] == slots[query] for query in range(len(slots)) for key in range(query + 1)
    )


def documents_of(rows: list[list[int]], width: int) -> list[Any]:
    """The document of each slot of rows one after another."""
    found: list[Any] = []
    for row, lengths in enumerate(rows):
        here = [(row, place) for place, length in enumerate(lengths) for _ in range(length)]
        found += here + [None] * (width - len(here))
    return found


def read(batch: dict[str, Any]) -> tuple[int, int, int]:
    """Causal pairs, real tokens and slots of what is read of a batch."""
    found = callbacks.batch_arguments(batch)
    tally = floptally.Tally([floptally.Mask.causal()])
    if "cu_seqlens" in found:
        tally.add_cu_seqlens(**found)
    elif "attention_mask" in found:
        tally.add_attention_mask(found["attention_mask"])
    else:
        tally.add_lengths(found["lengths"])
    return tally.pairs(floptally.Mask.causal()), tally.tokens, tally.get("tokens", "padded")


def per_slot(rows: list[list[int]], width: int, first: int, padding: int) -> np.ndarray[Any, Any]:
    """The number of its document in each slot."""
    return np.array(
        [
            [first + place for place, length in enumerate(lengths) for _ in range(length)]
            + [padding] * (width - sum(lengths))
            for lengths in rows
        ]
    )


def places(rows: list[list[int]], width: int, first: int = 0) -> np.ndarray[Any, Any]:
    """The place of each slot in its document; padding counts on."""
    return np.array(
        [[first + at for length in (*lengths, width - sum(lengths)) for at in range(length)] for lengths in rows]
    )


def bounds(lengths: list[int]) -> np.ndarray[Any, Any]:
    return np.append(0, np.cumsum(lengths)).astype(np.int32)


def table(rows: list[list[int]], filler: int) -> np.ndarray[Any, Any]:
    """Lengths [rows, most documents]."""
    most = max(map(len, rows)) + 1
    return np.array([lengths + [filler] * (most - len(lengths)) for lengths in rows])


def whole_forms(lengths: list[int]) -> dict[str, dict[str, Any]]:
    """One packed sequence without padding, under each name."""
    width = sum(lengths)
    ids = np.arange(1, width + 1)[None]
    rows = [lengths]
    alike = bounds(lengths)
    forms: dict[str, dict[str, Any]] = {
        name: {name: alike}
        for name in (
            "cu_seq_lens_q", "cu_seq_lens_k", "cu_seqlens", "cu_seq_lens", "cu_seqlens_q", "cu_seqlens_k", "cu_seqlens_kv",
            "cu_seqlens_cpu", "linear_attn_cu_seq_lens_q",
        )
    }  # fmt: skip
    forms["flash"] = {"cu_seq_lens_q": alike, "cu_seq_lens_k": alike, "max_length_q": max(lengths), "max_length_k": 9}
    forms["argmin"] = {"cu_seqlens": np.append(alike, [-1] * 5), "cu_seqlens_argmin": np.array([len(alike)])}
    forms["filled boundaries"] = {"cu_seqlens": np.append(alike, [-1] * 5)[None], "max_seqlen": np.array(9)}
    forms["record"] = {"packed_seq_params": SimpleNamespace(qkv_format="thd", cu_seqlens_q=alike, cu_seqlens_kv=alike)}
    forms["mapping"] = {"packed_seq_params": {"cu_seqlens_q": alike, "max_seqlen_q": 9}}
    forms["LLaMA-Factory"] = {"packing_params": {"sequence_boundaries": alike.tolist(), "right_padding_length": 0}}
    for name in ("seq_lens", "seq_lengths", "sequence_lengths", "sub_seq_lengths", "packed_sample_seqlens", "doc_lens"):
        forms[f"{name} in one list"] = {name: np.array(lengths)}
        forms[f"{name} by row"] = {name: [lengths]}
        forms[f"{name} filled"] = {name: table(rows, -1000 if name == "seq_lens" else 0)}
    for name in ("seq_idx", "sequence_id", "segment_ids", "document_ids", "doc_ids"):
        forms[name] = {name: per_slot(rows, width, 0, -1)}
    for name in ("inputs_segmentation", "input_segment_ids", "decoder_segment_ids"):
        forms[name] = {name: per_slot(rows, width, 1, 0)}
    for name in ("segment_ids", "document_ids"):
        forms[f"{name} from one"] = {name: per_slot(rows, width, 1, 0)}
    for name in ("position_ids", "text_position_ids", "positions", "input_pos", "inputs_position", "input_positions"):
        forms[name] = {name: places(rows, width)}
    forms["positions of one row"] = {"positions": places(rows, width)[0]}
    forms["mrope"] = {"mrope_positions": np.broadcast_to(places(rows, width), (3, width))}
    forms["position_ids_start"] = {"position_ids": places(rows, width, first=2)}
    forms["a mask"] = {"attention_mask": per_slot(rows, width, 1, 0)}
    forms["beside a mask of ones"] = {"attention_mask": np.ones((1, width)), "segment_ids": per_slot(rows, width, 0, -1)}
    return {name: {"input_ids": ids, "labels": ids, **form} for name, form in forms.items()}


CASES = [[3, 2], [1, 1, 1], [5], [4, 1, 6, 2], [1, 9]]


@pytest.mark.parametrize("lengths", CASES, ids=str)
def test_packed_sequences_are_read_from_every_known_argument_name(lengths: list[int]) -> None:
    right = (pairs_of(documents_of([lengths], sum(lengths))), sum(lengths), sum(lengths))
    found = {name: read(batch) for name, batch in whole_forms(lengths).items()}
    assert len(found) > 40
    assert found == dict.fromkeys(found, right)


def padded_forms(rows: list[list[int]], width: int) -> dict[str, dict[str, Any]]:
    """Rows that have padding, under each name that can say it."""
    ids = np.arange(1, width * len(rows) + 1).reshape(len(rows), width)
    labels = ids.copy()
    for row, lengths in enumerate(rows):
        ids[row, sum(lengths) :] = 0
        labels[row, sum(lengths) :] = -100
    forms: dict[str, dict[str, Any]] = {}
    for name, filler in (("seq_lens", -1000), ("seq_lens", 0), ("doc_lens", 0), ("seq_lengths", 0)):
        forms[f"{name} filled with {filler}"] = {name: table(rows, filler)}
    forms["lists"] = {"seq_lengths": rows}
    forms["slots"] = {
        "seq_lens": table(rows, -1000),
        "seq_lens_padded": table([[*lengths[:-1], width - sum(lengths[:-1])] for lengths in rows], -1000),
    }
    for name in ("seq_idx", "sequence_id", "segment_ids", "document_ids"):
        forms[name] = {name: per_slot(rows, width, 0, -1)}
    for name in ("inputs_segmentation", "input_segment_ids", "decoder_segment_ids", "segment_ids", "document_ids"):
        forms[f"{name} from one"] = {name: per_slot(rows, width, 1, 0)}
    ones = (per_slot(rows, width, 1, 0) > 0).astype(np.int64)
    forms["a mask"] = {"attention_mask": per_slot(rows, width, 1, 0)}
    forms["ids beside a mask"] = {"attention_mask": ones, "document_ids": per_slot(rows, width, 0, 7)}
    forms["positions beside a mask"] = {"attention_mask": ones, "position_ids": places(rows, width)}
    forms["positions with a document of padding"] = {"position_ids": places(rows, width)}
    forms["positions with zeros"] = {"position_ids": places(rows, width) * ones}
    forms["lengths with a document of padding"] = {"seq_lens": [[*lengths, width - sum(lengths)] for lengths in rows]}
    if len(rows) == 1:
        lengths = rows[0]
        slots = [*lengths, width - sum(lengths)]
        forms["boundaries that end before the row"] = {"cu_seqlens": bounds(lengths)}
        forms["boundaries with a document of padding"] = {"cu_seqlens": bounds(slots)}
        forms["tail"] = {"cu_seq_lens_q": bounds(slots), "tail_padding_length": np.array(slots[-1], dtype=np.int32)}
        forms["tail of the last"] = {
            "cu_seq_lens_q": bounds([*lengths[:-1], width - sum(lengths[:-1])]), "tail_padding_length": np.array(slots[-1]),
        }  # fmt: skip
        forms["right padding"] = {
            "packing_params": {"sequence_boundaries": bounds(slots).tolist(), "right_padding_length": slots[-1]}
        }
        forms["mock"] = {"cu_seq_lens_q": bounds(slots), "num_real_seqs": np.array(len(lengths))}
        forms["mock and short"] = {"cu_seq_lens_q": bounds([*lengths, 1]), "num_real_seqs": np.array(len(lengths))}
        last = [*lengths[:-1], width - sum(lengths[:-1])]
        forms["slots of boundaries"] = {"cu_seqlens": bounds(lengths), "cu_seqlens_padded": bounds(last)}
        forms["Megatron-Bridge"] = {
            "cu_seqlens": np.append(bounds(last), [-1] * 3), "cu_seqlens_argmin": np.array([len(last) + 1]),
            "cu_seqlens_unpadded": np.append(bounds(lengths), [-1] * 3), "cu_seqlens_unpadded_argmin": np.array([len(last) + 1]),
        }  # fmt: skip
    return {name: {"input_ids": ids, "labels": labels, **form} for name, form in forms.items()}


@pytest.mark.parametrize(
    ("rows", "width"), [([[3, 2]], 8), ([[1, 1]], 4), ([[6]], 9), ([[2, 3], [4, 1]], 7), ([[1], [3, 3], [2, 2, 1]], 9)], ids=str
)
def test_padding_in_packed_sequences_is_not_counted_as_a_document(rows: list[list[int]], width: int) -> None:
    tokens = sum(map(sum, rows))
    right = (pairs_of(documents_of(rows, width)), tokens, width * len(rows))
    found = {name: read(batch) for name, batch in padded_forms(rows, width).items()}
    assert len(found) > 15
    assert found == dict.fromkeys(found, right)


def test_random_packed_sequences_are_read_from_every_known_argument_name() -> None:
    chance = random.Random(71)
    for _ in range(60):
        width = chance.randint(6, 24)
        rows = []
        for _ in range(chance.randint(1, 3)):
            lengths: list[int] = []
            while sum(lengths) < width - 2 and len(lengths) < 5:
                lengths.append(chance.randint(1, width - 2 - sum(lengths)))
            rows.append(lengths)
        right = (pairs_of(documents_of(rows, width)), sum(map(sum, rows)), width * len(rows))
        for name, batch in padded_forms(rows, width).items():
            assert read(batch) == right, (name, rows, width)


def test_cu_seqlens_per_row_and_token_ids_in_a_jagged_nested_tensor_are_read() -> None:
    rows = [[3, 5], [1, 1, 6]]
    filled = np.array([[0, 3, 8, -1], [0, 1, 2, 8]])
    right = (pairs_of(documents_of(rows, 8)), 16, 16)
    assert read({"input_ids": np.zeros((2, 8)), "cu_seqlens": filled}) == right
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    ids = torch.nested.nested_tensor([torch.arange(n) for n in (3, 5, 1)], layout=torch.jagged)
    assert read({"input_ids": ids}) == (pairs_of(documents_of([[3, 5, 1]], 9)), 9, 9)
    assert read({"input_ids": ids, "labels": ids})[0] == pairs_of(documents_of([[3, 5, 1]], 9))


def test_a_context_parallel_shard_with_cu_seqlens_of_whole_sequences_counts_the_whole_sequences() -> None:
    assert read({"input_ids": np.zeros((1, 4)), "cu_seqlens": bounds([3, 5])}) == (6 + 15, 8, 8)
    with pytest.raises(floptally.Error, match="^cu_seqlens: must end at 5, the slots of the batch, got 8$"):
        read({"input_ids": np.zeros((1, 5)), "cu_seqlens": bounds([3, 5])})


@pytest.mark.parametrize(
    "name",
    [
        "cu_seq_starts", "my_segments", "document_starts", "doc_index", "pack_info", "sample_ids", "packed_lengths",
        "seq_starts", "sequence_boundaries_2", "block_mask", "token_positions", "packed_seq_params",
    ],
)  # fmt: skip
def test_an_unknown_packing_argument_is_an_error_that_names_the_argument(name: str) -> None:
    value = SimpleNamespace() if name in ("packed_seq_params", "block_mask") else np.array([[0, 3, 8]])
    for beside in ({}, {"attention_mask": np.ones((1, 8))}, {"position_ids": np.arange(8)[None]}):
        with pytest.raises(floptally.Error, match=f"^{name}: looks like boundaries of packed documents but is not one of"):
            callbacks.batch_arguments({"input_ids": np.zeros((1, 8)), **beside, name: value})
    known = callbacks.batch_arguments({"input_ids": np.zeros((1, 8)), "cu_seqlens": bounds([3, 5]), name: value})
    assert known["cu_seqlens"].tolist() == [0, 3, 8]  # what is known says it


def test_batch_arguments_with_names_similar_to_packing_arguments_are_ignored() -> None:
    others = {
        "start_positions": np.array([3]), "end_positions": np.array([5]), "offset_mapping": np.zeros((1, 8, 2), dtype=int),
        "token_type_ids": np.zeros((1, 8), dtype=int), "special_tokens_mask": np.zeros((1, 8), dtype=int), "labels": np.zeros((1, 8)),
        "cache_position": np.arange(8), "max_seqlen": 8, "num_items_in_batch": np.array(8), "logits_to_keep": 3,
        "position_embeddings": np.zeros((1, 8, 4)), "image_position_ids": np.zeros((1, 8), dtype=int), "length": np.array([8]),
        "bool_masked_pos": np.zeros((1, 8), dtype=bool), "idx": np.array([4]), "use_cache": False, "bbox": np.zeros((1, 8, 4), dtype=int),
    }  # fmt: skip
    assert read({"input_ids": np.zeros((1, 8)), **others}) == (36, 8, 8)
    assert read({"input_ids": np.zeros((1, 8)), **others, "attention_mask": np.ones((1, 8))}) == (36, 8, 8)


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ({"cu_seq_lens_q": bounds([3, 5]), "cu_seq_lens_k": bounds([4, 4])},
         "cu_seq_lens_k: must equal cu_seq_lens_q; if queries"),
        ({"cu_seqlens": bounds([3, 9])}, "cu_seqlens: must end at 8, the slots of the batch, got 12"),
        ({"cu_seqlens": np.array([0, 1.5, 8])}, "cu_seqlens: must have whole numbers as boundaries: pass integers"),
        ({"cu_seqlens": bounds([3, 5]), "tail_padding_length": 6}, "tail_padding_length: must be from 0 to 5, the tokens of"),
        ({"seq_lens": np.array([3, 6])}, "seq_lens: must add up to at most the 8 slots of a row, got 9 in row 0"),
        ({"seq_lens": np.array([[3, 0, 5]])}, "seq_lens: must be above 0, except for zeros that fill the end of row 0"),
        ({"seq_lens": np.array([[3], [2]])}, "seq_lens: must have a list for each of 1 rows, got 2"),
        ({"seq_lens": np.array([3, 2]), "seq_lens_padded": np.array([4])}, "seq_lens_padded: must have a padded length for each document"),
        ({"seq_lens": np.array([3, 2]), "seq_lens_padded": np.array([4, 1])}, "seq_lens_padded: must have a padded length for each"),
        ({"segment_ids": np.array([[1, 1, 2, 2, 1, 1, 0, 0]])}, "segment_ids: the tokens of a document must be consecutive"),
        ({"seq_idx": np.zeros((1, 7), dtype=int)}, "seq_idx: must have the shape \\[1, 8\\] of the tokens, got \\[1, 7\\]"),
        ({"inputs_segmentation": np.full((1, 8), -1)}, "inputs_segmentation: must be at least 0, got -1"),
        ({"position_ids": np.array([[0, 1, 2, 3, 1, 2, 3, 4]])},
         "position_ids: must begin again at 0 where a document begins, but the positions in row 0 decrease to "
         "another number: pass arguments=, a function that turns the batch into keywords of Meter.add"),
    ],
)  # fmt: skip
def test_packing_arguments_that_cannot_be_read_are_an_error(batch: dict[str, Any], message: str) -> None:
    with pytest.raises(floptally.Error, match=f"^{message}"):
        callbacks.batch_arguments({"input_ids": np.zeros((1, 8)), **batch})


# ---- the library's own collators ----


class Tokenizer:
    """As much of a tokenizer as a collator asks for."""

    pad_token_id, mask_token_id, padding_side, pad_token, mask_token, name_or_path = 0, 3, "right", "<pad>", "<mask>", ""
    deprecation_warnings: dict[str, bool] = {}
    model_input_names = ("input_ids", "attention_mask")

    def __len__(self) -> int:
        return 32

    def pad(self, features: Any, return_tensors: str = "pt", **_: Any) -> dict[str, Any]:
        import torch

        width = max(len(each["input_ids"]) for each in features)
        found: dict[str, Any] = {}
        for key in features[0]:
            filler = {"attention_mask": 0}.get(key, 0)
            found[key] = torch.tensor([list(each[key]) + [filler] * (width - len(each[key])) for each in features])
        if "attention_mask" not in found:
            found["attention_mask"] = torch.tensor(
                [[1] * len(each["input_ids"]) + [0] * (width - len(each["input_ids"])) for each in features]
            )
        return found

    def get_special_tokens_mask(self, ids: Any, **_: Any) -> list[int]:
        return [0] * len(ids)

    def convert_tokens_to_ids(self, _: Any) -> int:
        return 3


LENGTHS = [3, 8, 5, 2]


def features(**more: Any) -> list[dict[str, Any]]:
    return [
        {"input_ids": [4 + at % 20 for at in range(length)], **{key: make(length) for key, make in more.items()}}
        for length in LENGTHS
    ]


@pytest.mark.parametrize("flash", [False, True])
@pytest.mark.parametrize("idx", [False, True])
@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize("start", [0, 2])
def test_flattened_batches_of_the_transformers_collator_are_read(flash: bool, idx: bool, positions: bool, start: int) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    import inspect

    options = {"return_flash_attn_kwargs": flash, "return_seq_idx": idx, "return_position_ids": positions, "position_ids_start": start}
    known = inspect.signature(transformers.DataCollatorWithFlattening.__init__).parameters
    if start and "position_ids_start" not in known:
        pytest.skip("this transformers begins positions at 0")
    collate = transformers.DataCollatorWithFlattening(**{key: value for key, value in options.items() if key in known})
    whole = not (flash or idx or positions)  # nothing says documents, and the model attends to one sequence
    right = pairs_of(documents_of([[18] if whole else LENGTHS], 18))
    assert read(collate(features())) == (right, 18, 18)


def test_padded_batches_of_transformers_collators_are_read() -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    right = (sum(n * (n + 1) // 2 for n in LENGTHS), 18, 32)
    tokens: Any = Tokenizer()
    by_name = {
        "padding": (transformers.DataCollatorWithPadding(tokens), features()),
        "causal": (transformers.DataCollatorForLanguageModeling(tokens, mlm=False), features()),
        "masked": (transformers.DataCollatorForLanguageModeling(tokens), features()),
        "tokens": (transformers.DataCollatorForTokenClassification(tokens), features(labels=lambda n: [1] * n)),
        "seq2seq": (transformers.DataCollatorForSeq2Seq(tokens), features(labels=lambda n: [1] * n)),
    }
    cost = floptally.cost(CONFIG)
    for name, (collate, arguments) in by_name.items():
        batch = collate(arguments)
        assert read(batch) == right, name
        found = callbacks.batch_arguments(batch, cost=cost)
        assert list(found) == ["attention_mask"], name
    choices = transformers.DataCollatorForMultipleChoice(tokens)
    arguments = [{"input_ids": [[4] * a, [5] * b], "label": 0} for a, b in ((3, 8), (5, 2))]
    batch = choices(arguments)
    assert batch["input_ids"].ndim == 3 and read(batch) == right
    whole = transformers.default_data_collator([{"input_ids": [1, 2, 3], "label": 1}, {"input_ids": [1, 2, 3], "label": 0}])
    assert read(whole) == (12, 6, 6)


# ---- encoder-decoders ----

SIDES = {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 2, "num_decoder_layers": 1, "num_heads": 2, "vocab_size": 32}
T5 = {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"], **SIDES}


def t5_by_hand(encoder: list[int], decoder: list[int]) -> int:
    """FLOPs of a step of T5, product by product: 2·m·n·k each, forward and two of the backward."""
    d, inner, ff, words = 16, 16, 24, 32
    mlp, projection = 2 * 2 * d * ff, 2 * d * inner
    flops = 0
    for seen, result in zip(encoder, decoder, strict=True):
        flops += 2 * (seen * (4 * projection + mlp) + seen * seen * 4 * inner)  # two layers, each sees all
        flops += result * (4 * projection + mlp) + pairs_of([0] * result) * 4 * inner
        flops += result * 2 * projection + seen * 2 * projection + result * seen * 4 * inner  # across
        flops += result * 2 * d * words
    return 3 * flops


ENCODER, DECODER = [3, 7, 1, 5], [4, 2, 6, 1]


def seq2seq(side: str = "right", **more: Any) -> dict[str, Any]:
    """As DataCollatorForSeq2Seq makes it, without a model that shifts the labels."""
    labels = [[5] * n + [-100] * (6 - n) if side == "right" else [-100] * (6 - n) + [5] * n for n in DECODER]
    mask = [[1] * n + [0] * (7 - n) for n in ENCODER]
    return {"input_ids": np.ones((4, 7), dtype=int), "attention_mask": np.array(mask), "labels": np.array(labels), **more}


def test_t5_is_counted_from_its_default_batches() -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    cost = floptally.cost(T5)
    right = t5_by_hand(ENCODER, DECODER)
    collate = transformers.DataCollatorForSeq2Seq(Tokenizer())
    arguments = [{"input_ids": [5] * n, "labels": [5] * m} for n, m in zip(ENCODER, DECODER, strict=True)]
    shifted = np.where(seq2seq()["labels"] == -100, 0, 5)
    batches = {
        "collator": collate(arguments),
        "labels": seq2seq(),
        "padded on the left": seq2seq("left"),
        "shifted": seq2seq(decoder_input_ids=shifted),
        "decoder's mask": seq2seq(decoder_input_ids=shifted, decoder_attention_mask=(seq2seq()["labels"] != -100).astype(int)),
    }
    begun = batches["decoder's mask"]  # whose first token has no loss, and runs
    batches["first label left out"] = {**begun, "labels": np.where(np.arange(6) == 0, -100, begun["labels"])}
    for name, batch in batches.items():
        assert cost.total_flops(**callbacks.batch_arguments(batch, cost=cost)) == right, name
        assert cost.total_flops(**callbacks.batch_arguments(batch)) == right, name  # labels that are not as long as the text
    alike = {"input_ids": np.ones((2, 3), dtype=int), "labels": np.ones((2, 3), dtype=int)}
    assert cost.total_flops(**callbacks.batch_arguments(alike, cost=cost)) == t5_by_hand([3, 3], [3, 3])
    masked_inside = {**alike, "labels": np.array([[5, -100, 5], [-100, -100, -100]])}
    assert callbacks.batch_arguments(masked_inside, cost=cost)["lengths"].tolist() == [3, 0]
    classes = {**seq2seq(), "labels": np.array([0, 1, 0, 1])}  # the decoder is given the text, shifted
    assert cost.total_flops(**callbacks.batch_arguments(classes, cost=cost)) == t5_by_hand(ENCODER, ENCODER)
    with pytest.raises(floptally.Error, match="^cu_seqlens: must be absent for a model with an encoder and a decoder"):
        callbacks.batch_arguments(seq2seq(cu_seqlens=bounds([3, 4])), cost=cost)


WHISPER = {
    "model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"], "d_model": 16, "encoder_layers": 2,
    "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24, "vocab_size": 64, "num_mel_bins": 8, "max_source_positions": 12, "max_target_positions": 20,
}  # fmt: skip


def test_whisper_is_counted_from_its_default_batches() -> None:
    cost = floptally.cost(WHISPER)
    labels = np.array([[5, 5, 5, -100], [5, -100, -100, -100]])
    batch = {"input_features": np.zeros((2, 8, 24)), "labels": labels}
    found = callbacks.batch_arguments(batch, cost=cost)
    assert found.pop("row_length") == 4  # padded labels run in the decoder
    assert {key: value.tolist() for key, value in found.items()} == {"audio_frames": [24, 24], "lengths": [3, 1]}
    alone = callbacks.batch_arguments(batch)
    assert alone.pop("row_length") == 4
    assert {key: value.tolist() for key, value in alone.items()} == {"audio_frames": [24, 24], "lengths": [3, 1]}
    shifted = {**batch, "decoder_input_ids": np.ones((2, 4), dtype=int)}
    assert callbacks.batch_arguments(shifted, cost=cost)["lengths"].tolist() == [3, 1]
    # Its encoder runs on all of a clip, whatever the processor says of it.
    clipped = {**batch, "attention_mask": (np.arange(24) < [[24], [9]]).astype(int)}
    assert callbacks.batch_arguments(clipped, cost=cost)["audio_frames"].tolist() == [24, 24]
    # By hand: two convolutions of three taps, an encoder of 12 places, and a decoder.
    d, ff, words, places = 16, 24, 64, 12
    flops = 0
    for result in (3, 1):
        stem = 24 * 2 * 3 * 8 * d + places * 2 * 3 * d * d
        encoder = 2 * (places * (4 * 2 * d * d + 2 * 2 * d * ff) + places * places * 4 * d)
        decoder = result * (4 * 2 * d * d + 2 * 2 * d * ff) + pairs_of([0] * result) * 4 * d
        across = result * 2 * 2 * d * d + places * 2 * 2 * d * d + result * places * 4 * d
        flops += 3 * (stem + encoder + decoder + across + result * 2 * d * words) - 24 * 2 * 3 * 8 * d  # sound has no gradient
    assert cost.total_flops(**found) == flops
    with pytest.raises(floptally.Error, match="^labels: is missing, but the tokens of the decoder are counted from labels"):
        callbacks.batch_arguments({"input_features": np.zeros((2, 8, 24))}, cost=cost)
    with pytest.raises(floptally.Error, match="^input_features: must be "):
        callbacks.batch_arguments({**batch, "input_features": np.zeros((2, 8))}, cost=cost)


def test_images_of_the_size_in_the_config_are_counted_and_other_sizes_are_an_error() -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    config = transformers.ViTConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, image_size=8, patch_size=4
    )
    model = transformers.ViTForImageClassification(config)
    cost = floptally.cost(model)
    adapter = callbacks.MeterAdapter(floptally.Meter(cost, gpus=1, peak_tflops=1e-3), clock=iter(range(99)).__next__)
    adapter.watch(model)
    adapter.begin()
    adapter.add({"pixel_values": np.zeros((3, 3, 8, 8), dtype=np.float32), "labels": np.zeros(3, dtype=int)})
    adapter.end()
    d, ff, places = 16, 24, 5  # four patches, and a class token
    forward = 4 * 2 * d * 48 + places * (4 * 2 * d * d + 2 * 2 * d * ff) + places * places * 4 * d + 2 * d * 2
    assert adapter.meter.run.useful == 3 * (3 * forward - 4 * 2 * d * 48)
    other = callbacks.MeterAdapter(floptally.Meter(cost, gpus=1, peak_tflops=1e-3))
    other.watch(model)
    other.begin()
    with pytest.raises(floptally.Error, match=r"^pixel_values: must be images \[n, channels, 8, 8\], or \[samples, n, …\], of the size"):
        other.add({"pixel_values": np.zeros((3, 3, 12, 12), dtype=np.float32)})


def test_a_batch_without_a_required_input_is_an_error() -> None:
    text = {"input_ids": np.ones((1, 9), dtype=int), "attention_mask": np.ones((1, 9), dtype=int)}
    config = {
        "model_type": "qwen2_vl", "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2,
        "num_key_value_heads": 1, "vocab_size": 32, "architectures": ["Qwen2VLForConditionalGeneration"],
        "vision_config": {"depth": 1, "embed_dim": 16, "hidden_size": 16, "num_heads": 2, "mlp_ratio": 2},
    }  # fmt: skip
    cost = floptally.cost(config)
    grid = callbacks.batch_arguments({**text, "pixel_values": np.zeros((16, 8)), "image_grid_thw": [[1, 4, 4]]}, cost=cost)
    assert grid["grid_thw"].tolist() == [[1, 4, 4]] and cost.total_flops(**grid) > cost.total_flops(lengths=[9])
    for key, value in (("pixel_values", np.zeros((16, 8))), ("pixel_values_videos", np.zeros((16, 8))), ("images_seqlens", [16])):
        with pytest.raises(floptally.Error, match=f"^{key}: must "):
            callbacks.batch_arguments({**text, key: value}, cost=cost)
        plain = callbacks.batch_arguments({**text, key: value}, cost=floptally.cost(CONFIG))
        assert list(plain) == ["attention_mask"]  # a text's model has no use for them
