# SPDX-License-Identifier: Apache-2.0
"""Image-text models whose sizes and flags are drawn at random."""

import feeds
from draws import drawn


def decoder(draw):
    heads = draw.choice([2, 4])
    return dict(vocab_size=draw.size(80, 110), hidden_size=heads * draw.size(4, 8, of=2), num_attention_heads=heads,
                num_key_value_heads=draw.choice([heads, 2]), num_hidden_layers=draw.size(1, 4), intermediate_size=draw.size(20, 60),
                pad_token_id=0, bos_token_id=1, eos_token_id=2)


def tower(draw, side=1):
    heads = draw.size(2, 4)
    patch = draw.size(2, 4)
    return dict(hidden_size=heads * draw.size(3, 7, of=2), num_attention_heads=heads, num_hidden_layers=draw.size(2, 4),
                intermediate_size=draw.size(20, 60), patch_size=patch, image_size=patch * side * draw.size(2, 3),
                num_channels=3)


def docling_tower(draw):
    side = draw.choice([2, 4])
    made = tower(draw, side)
    if draw.place == 3:  # the layers that are taken where the config does not say
        return dict(made, scale_factor=side, num_hidden_layers=11, out_hidden_size=8)
    return dict(made, scale_factor=side, use_fine_route=draw.flag(), out_hidden_size=draw.size(3, 6, of=4),
                deepstack_visual_indexes=list(range(draw.size(1, made["num_hidden_layers"]))))


@feeds.feed((1, 1), (2, 2))
def rows_of_tiles(model, counts):
    """granite_docling: tiles of the config's size, as many in each text. A run is their number in each."""
    import torch
    values, grids = feeds.image_batch(model.config, sum(counts))
    tiles = {"pixel_values": values.unflatten(0, (len(counts), counts[0])),
             "pixel_attention_mask": torch.ones(len(counts), counts[0], dtype=torch.bool)}
    rows = feeds.placeholders(model, "get_image_features", tiles, [1] * len(counts))
    inputs, lengths = feeds.text_around(model, rows, feeds.placeholder_of(model.config))
    return {**inputs, **tiles}, {"lengths": lengths, "grids": grids}


def docling(draw):
    text, vision = decoder(draw), docling_tower(draw)
    vision["out_hidden_size"] = text["hidden_size"]
    return {"class": "GraniteDocling" + draw.choice(["ForConditionalGeneration", "Model"]), "text_config": dict(
        text, num_hidden_layers=4), "vision_config": vision, "image_token_id": 7, "tie_word_embeddings": draw.flag(),
        "_feed": rows_of_tiles}


def cases(case):
    tower = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=5, intermediate_size=58, num_channels=2, patch_size=3,
                 spatial_merge_size=2, max_image_size=12)
    for name, width in (("model", 26), ("wider", 48)):
        case("hunyuan_vl_vision/" + name, "HunYuanVLVisionTransformer", **tower, text_hidden_size=width, _loss=["pooler_output"],
             _feed=feeds.variant(feeds.patches_alone, values_name="pixel_values"))
    drawn(case, "granite_docling_text", 3, lambda draw: {
        "class": "GraniteDoclingTextModel", **decoder(draw), "attention_bias": draw.flag(), "mlp_bias": draw.flag()})
    drawn(case, "granite_docling_vision", 4, lambda draw: {
        "class": "GraniteDoclingVisionModel", **docling_tower(draw), "_feed": feeds.pixels,
        "_loss": ["pooler_output", "deepstack_features"]})
    drawn(case, "granite_docling", 4, docling)
