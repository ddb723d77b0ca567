# SPDX-License-Identifier: Apache-2.0
"""Texts around a tower of timm that transformers' own checkpoints name, of sizes that are drawn at random."""

import feeds
from draws import drawn

CORES = (("tiny_patch16_384", 16), ("small_patch16_384", 16), ("base_patch16_224", 16), ("large_patch14_336", 14), ("gigantic_patch14_448", 14))


@feeds.feed((1, 2), (2, 1))
def tiles(model, run):
    """Images of the size that the tower's arguments say, each a tile. A run is (texts, images of each)."""
    import torch
    config = model.config
    texts, images = run
    name, patch = next(core for core in CORES if core[0] in config.vision_config.architecture)
    height, width = feeds.pair(config.vision_config.model_args.get("img_size") or int(name.rpartition("_")[2]))
    side, ratio = height // patch, config.projector_pooling_ratio
    rows = [[(side // ratio) ** 2] * images] * texts
    inputs, lengths = feeds.text_around(model, rows, config.image_token_id)
    return ({**inputs, "pixel_values": torch.randn(texts, images, config.vision_config.model_args.get("in_chans", 3), height, width)},
            {"lengths": lengths, "grids": [[1, side, side]] * (texts * images)})


def perception_lm(draw):
    name, patch = draw.turn(*CORES)
    heads, giant = 2 * draw.size(1, 2), name.startswith("gigantic")
    tower = dict(embed_dim=heads * 4 * draw.size(2, 4), depth=draw.size(1, 3), num_heads=heads, global_pool="", ref_feat_shape=[5, 5],
                 **draw.turn(dict(mlp_ratio=2.5), {}, {}, {}, {}, {}), **draw.turn({}, dict(init_values=0.1)),
                 **draw.turn(dict(use_post_transformer_norm=False), {}, dict(use_post_transformer_norm=True)),
                 **draw.turn(dict(img_size=[5 * patch, 5 * patch]), dict(img_size=6 * patch), dict(img_size=[4 * patch, 4 * patch])),
                 **draw.turn({}, {}, dict(class_token=True), dict(class_token=False, in_chans=2)))
    if draw.place >= len(CORES):  # as the class has them
        tower = {key: value for key, value in tower.items() if key not in ("num_heads", "img_size", "depth")}
        tower["embed_dim"] = 48
    text = dict(model_type="llama", vocab_size=draw.size(60, 90), hidden_size=4 * draw.size(4, 8), intermediate_size=draw.size(20, 60),
                num_hidden_layers=draw.size(1, 2), num_attention_heads=2, num_key_value_heads=1, tie_word_embeddings=draw.flag())
    return {"class": "PerceptionLM" + draw.turn("ForConditionalGeneration", "ForConditionalGeneration", "Model"), "text_config": text,
            "vision_config": {"model_type": "timm_wrapper", "architecture": "vit_pe_core_" + name, "model_args": tower},
            "projector_pooling_ratio": draw.turn(1, 2), "vision_use_cls_token": tower.get("class_token", not giant), "image_token_id": 7,
            "video_token_id": 8, "tie_word_embeddings": draw.turn(None, True, False), "_feed": tiles, "_attention": ("sdpa",)}


def cases(case):
    drawn(case, "perception_lm", 6, perception_lm)
