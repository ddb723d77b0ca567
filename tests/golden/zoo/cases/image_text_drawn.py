# SPDX-License-Identifier: Apache-2.0
"""Image-text models whose sizes and flags are drawn at random."""

import feeds
from cases.convolutions import divisible
from cases.vision import contrasted
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


def clip(draw):
    """A tower with one class token."""
    made = tower(draw)
    del made["num_channels"]
    return made


@feeds.feed((1, 1, 0), (1, 1, 3), (2, 0, 2))
def images_and_clips(model, run):
    """video_llava: an image, then a clip of so many frames, in each text. A run is (texts, images, frames)."""
    import torch
    texts, images, frames = run
    config = model.config
    values, grids = feeds.image_batch(config, texts * (images + frames))
    height, width = grids[0][1:]
    kept = int(config.vision_feature_select_strategy == "full")
    rows = [[height * width + kept] * images + [frames * (height * width + 1)] * (frames > 0) for _ in range(texts)]
    inputs, lengths = feeds.text_around(model, rows, config.image_token_id)
    if frames:
        inputs["input_ids"][:, 1 + images * (rows[0][0] + 1):-5][inputs["input_ids"][
            :, 1 + images * (rows[0][0] + 1):-5] == config.image_token_id] = config.video_token_id
        inputs["pixel_values_videos"] = values[:texts * frames].unflatten(0, (texts, frames))
    if images:
        inputs["pixel_values"] = values[texts * frames:]
    return inputs, {"lengths": lengths, "measured": {"placeholders": texts * sum(rows[0])},
                    "grids": [[1, height, width]] * (texts * images) + [[frames, height, width]] * (texts * (frames > 0))}


def video_llava(draw):
    layers = draw.choice([-1, -2, [-1, -2]])
    return {"class": "VideoLlava" + draw.turn("ForConditionalGeneration", "Model"), "text_config": dict(
        decoder(draw), model_type="llama"), "vision_config": dict(clip(draw), model_type="clip_vision_model"),
        "image_token_index": 7, "video_token_index": 8, "vision_feature_layer": layers,
        "vision_feature_select_strategy": draw.turn("default", "default", "full"), "multimodal_projector_bias": draw.flag(),
        "_feed": images_and_clips}


@feeds.feed((2, 9, 1), (1, 7, 3))
def gated_images(model, run):
    """idefics: texts that attend their images. A run is (texts, length, images of each)."""
    import torch
    texts, length, images = run
    config = model.config
    values, grids = feeds.image_batch(config, texts * images)
    keys = images * (config.perceiver_config.resampler_n_latents if config.use_resampler else grids[0][1] * grids[0][2] + 1)
    return ({"input_ids": feeds.words(config, texts, length), "pixel_values": values.unflatten(0, (texts, images)),
             "image_attention_mask": torch.ones(texts, length, images, dtype=torch.long), "use_cache": False},
            {"lengths": [length] * texts, "grids": grids, "encoder_length": keys})


def idefics(draw):
    made = decoder(draw)
    del made["num_key_value_heads"]
    every = draw.size(1, 2)
    made["num_hidden_layers"] = every * draw.size(1, 2)
    vision = clip(draw)
    vision["embed_dim"] = vision.pop("hidden_size")
    heads = draw.size(1, 3)
    return {"class": "Idefics" + draw.turn("ForVisionText2Text", "Model"), **made, "cross_layer_interval": every,
            "additional_vocab_size": draw.size(0, 3), "qk_layer_norms": draw.flag(), "alpha_type": draw.choice(["float", "vector"]),
            "use_resampler": draw.turn(True, True, False, True), "vision_config": vision, "tie_word_embeddings": False,
            "perceiver_config": dict(use_resampler=True, resampler_n_latents=draw.size(2, 5), resampler_depth=draw.size(1, 3),
                                     resampler_n_heads=heads, resampler_head_dim=draw.size(3, 7),
                                     qk_layer_norms_perceiver=draw.flag()), "_feed": gated_images, "_unfrozen": True}


@feeds.feed((2, 9), (1, 7))
def pages_of_words(model, run):
    """layoutlmv3: words with their boxes, and the image of their page. A run is (pages, words)."""
    import torch
    pages, length = run
    config = model.config
    side = config.input_size // config.patch_size
    values = torch.randn(pages, config.num_channels, config.input_size, config.input_size)
    return ({"input_ids": feeds.words(config, pages, length), "pixel_values": values,
             "bbox": torch.randint(0, config.max_2d_position_embeddings // 2, (pages, length, 1)).expand(-1, -1, 4),
             "attention_mask": torch.ones(pages, length, dtype=torch.long)},
            {"lengths": [], "grids": [[1, side, side]] * pages, "texts": [length] * pages})


def layoutlmv3(draw):
    heads, patch, some = draw.size(2, 4), draw.size(2, 4), draw.size(1, 3)
    other = heads * draw.size(2, 4, of=2)
    kind = draw.turn("ForTokenClassification", "ForQuestionAnswering", "ForSequenceClassification", "Model")
    return {"class": "LayoutLMv3" + kind, "vocab_size": draw.size(50, 90), "hidden_size": 4 * heads * some + 2 * other,
            "coordinate_size": heads * some, "shape_size": other, "num_attention_heads": heads, "num_hidden_layers": draw.size(1, 3),
            "intermediate_size": draw.size(20, 60), "max_position_embeddings": draw.size(30, 50), "type_vocab_size": draw.size(1, 3),
            "max_2d_position_embeddings": 1024, "has_relative_attention_bias": draw.flag(),
            "has_spatial_attention_bias": draw.flag(), "rel_pos_bins": draw.size(4, 9, of=2), "rel_2d_pos_bins": draw.size(4, 9, of=2),
            "input_size": patch * draw.size(2, 4), "patch_size": patch, "num_labels": 2 if kind == "ForQuestionAnswering" else draw.choice([3, 5, 12]),
            "_feed": pages_of_words, "_attention": ("eager",)}


@feeds.feed((2, 9, 4), (3, 5, 7))
def seen_regions(model, run):
    """lxmert: texts and regions of their images. A run is (texts, words, regions of each)."""
    import torch
    texts, length, regions = run
    config = model.config
    inputs = {"input_ids": feeds.words(config, texts, length), "visual_feats": torch.randn(texts, regions, config.visual_feat_dim),
              "visual_pos": torch.rand(texts, regions, config.visual_pos_dim)}
    if "PreTraining" in type(model).__name__:
        ones = torch.ones(texts, regions)
        labels = {"obj": ones.long(), "attr": ones.long(), "feat": torch.randn(texts, regions, config.visual_feat_dim)}
        inputs.update(labels=inputs["input_ids"], matched_label=torch.ones(texts, dtype=torch.long), ans=torch.ones(texts, dtype=torch.long),
                      obj_labels={name: (label, ones) for name, label in labels.items()})
    return inputs, {"lengths": [length] * texts, "grids": [], "encoder_length": regions}


def lxmert(draw):
    heads = draw.size(2, 4)
    kind = draw.turn("ForPreTraining", "Model", "ForQuestionAnswering")
    losses = {"ForPreTraining": ["loss"], "Model": ["language_output", "vision_output"],
              "ForQuestionAnswering": ["question_answering_score"]}
    return {"class": "Lxmert" + kind, "vocab_size": draw.size(50, 90), "hidden_size": heads * draw.size(3, 6, of=2),
            "num_attention_heads": heads, "intermediate_size": draw.size(20, 60), "l_layers": draw.size(1, 3),
            "x_layers": draw.size(1, 2), "r_layers": draw.size(1, 2), "visual_feat_dim": draw.size(5, 20),
            "max_position_embeddings": draw.size(30, 50), "type_vocab_size": draw.size(1, 3), "num_qa_labels": draw.size(3, 9),
            "num_object_labels": draw.size(3, 9), "num_attr_labels": draw.size(3, 9), "task_qa": draw.place != 3,
            "task_obj_predict": True, "visual_obj_loss": draw.place != 3, "visual_attr_loss": draw.place != 0,
            "visual_feat_loss": draw.place != 0, "_feed": seen_regions, "_loss": losses[kind], "_attention": ("eager",)}


@feeds.feed((2, 9, 1), (1, 7, 2))
def robots(model, run):
    """pi0: what a robot's cameras see and its order, in an image each. A run is (texts, words, cameras)."""
    import torch
    texts, length, cameras = run
    config = model.config
    values, grids = feeds.image_batch(config.vlm_config, texts * cameras)
    tokens = grids[0][1] * grids[0][2]
    ids = torch.randint(9, 50, (texts, length + cameras * tokens))
    ids[:, :cameras * tokens] = config.vlm_config.image_token_id
    return ({"input_ids": ids, "pixel_values": values.unflatten(0, (texts, cameras)), "attention_mask": torch.ones_like(ids),
             "pixel_attention_mask": torch.ones(texts, cameras, dtype=torch.bool), "state": torch.randn(texts, config.max_state_dim),
             "actions": torch.randn(texts, config.chunk_size, config.max_action_dim), "timestep": torch.rand(texts)},
            {"lengths": [ids.shape[1]] * texts, "grids": grids})


def pi0(draw):
    text = decoder(draw)
    text.update(model_type="gemma", head_dim=draw.size(2, 5, of=2))
    heads = draw.choice([2, 4])
    expert = dict(model_type="gemma", hidden_size=draw.size(5, 9, of=4), intermediate_size=draw.size(20, 60), head_dim=text["head_dim"],
                  num_hidden_layers=text["num_hidden_layers"], num_attention_heads=max(heads, text["num_key_value_heads"]),
                  num_key_value_heads=text["num_key_value_heads"])
    if draw.flag():
        text["attention_bias"] = True
    expert["attention_bias"] = draw.flag()
    vision = dict(clip(draw), model_type="siglip_vision_model", vision_use_head=False)
    return {"class": "PI0ForConditionalGeneration", "vlm_config": dict(
        model_type="paligemma", text_config=text, vision_config=vision, projection_dim=text["hidden_size"], image_token_id=7),
        "dit_config": expert, "chunk_size": draw.size(3, 9), "max_state_dim": draw.size(3, 9), "max_action_dim": draw.size(3, 9),
        "_feed": robots, "_loss": ["loss"]}


@feeds.feed((2, 9), (1, 7))
def words_and_pictures(model, run):
    """flava: texts with an image each. A run is (texts, words)."""
    texts, length = run
    config = model.config
    values, grids = feeds.image_batch(config.image_config, texts)
    import torch
    return ({"input_ids": torch.randint(5, config.text_config.vocab_size - 1, (texts, length)), "pixel_values": values},
            {"lengths": [], "grids": grids, "texts": [length] * texts})


def flava(draw):
    def side(**more):
        heads = draw.size(2, 4)
        return dict(hidden_size=heads * draw.size(3, 6, of=2), num_attention_heads=heads, num_hidden_layers=draw.size(1, 3),
                    intermediate_size=draw.size(20, 60), qkv_bias=draw.flag(), **more)
    patch = draw.size(2, 4)
    return {"class": "FlavaModel", "image_config": side(image_size=patch * draw.size(2, 4), patch_size=patch, mask_token=draw.flag()),
            "text_config": side(vocab_size=draw.size(40, 80), type_vocab_size=draw.size(1, 3), max_position_embeddings=draw.size(20, 40)),
            "multimodal_config": side(use_cls_token=draw.flag()), "projection_dim": draw.size(5, 20), "_feed": words_and_pictures,
            "_loss": ["image_embeddings", "text_embeddings", "multimodal_embeddings"], "_attention": ("eager",)}


def align(draw):
    levels = 3
    net = dict(num_channels=draw.size(1, 3), width_coefficient=0.05 + 0.05 * draw.place, depth_coefficient=draw.turn(1.0, 1.3, 1.1),
               depth_divisor=draw.choice([2, 4]), kernel_sizes=draw.some(levels, 3, 5), in_channels=[32, 64, 80],
               out_channels=[64, 80, 120], strides=draw.choice([[1, 2, 2], [2, 1, 2], [2, 2, 1]]), num_block_repeats=[1, 2, 2],
               expand_ratios=[1, draw.size(2, 4), draw.size(1, 3)], squeeze_expansion_ratio=0.25, depthwise_padding=draw.turn([], [2]))
    net["hidden_dim"] = divisible(1280 * net["width_coefficient"], net["depth_divisor"])
    text = decoder(draw)
    del text["num_key_value_heads"]
    text.update(max_position_embeddings=draw.size(20, 40), type_vocab_size=draw.size(1, 3))
    width = divisible(120 * net["width_coefficient"], net["depth_divisor"])
    return {"class": "AlignModel", "text_config": text, "vision_config": net, "projection_dim": width, "_feed": texts_and_pixels,
            "_loss": ["logits_per_text"], "_attention": ("eager",),
            "_differences": contrasted(width)}


@feeds.feed((2, 9, 3, (30, 41)), (3, 5, 2, (37, 33)))
def texts_and_pixels(model, run):
    """align: texts and images, whose grids are pixels. A run is (texts, length, images, (height, width))."""
    import torch
    texts, length, images, size = run
    values = torch.randn(images, model.config.vision_config.num_channels, *size)
    return ({"input_ids": feeds.words(model.config.text_config, texts, length), "pixel_values": values},
            {"lengths": [length] * texts, "grids": [[1, *size]] * images})


def ultravbert(draw):
    text = decoder(draw)
    text.update(model_type="ultrabert", prediction_head_size=draw.size(5, 20), sliding_window=draw.size(1, 4),
                max_position_embeddings=60)
    side = draw.size(1, 3)
    vision = dict(tower(draw, side), model_type="siglip_vision_model", vision_use_head=draw.flag())
    return {"class": "UltraVBert" + draw.turn("ForMaskedLM", "Model"), "text_config": text, "vision_config": vision,
            "pixel_shuffle_factor": side, "image_token_id": 7, "tie_word_embeddings": draw.flag(), "_feed": feeds.image_rows}


def cases(case):
    drawn(case, "align", 3, align)
    drawn(case, "ultravbert", 5, ultravbert)
    drawn(case, "pi0", 5, pi0)
    drawn(case, "flava", 5, flava)
    drawn(case, "video_llava", 6, video_llava)
    drawn(case, "idefics", 6, idefics)
    drawn(case, "layoutlmv3", 6, layoutlmv3)
    drawn(case, "lxmert", 6, lxmert)
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


def plain_queries(config, batch, length, fused, grids, encoder_length):
    """The rows that see images are multiplied plainly, whatever the text's attention is."""
    asked = config.perceiver_config
    if not fused or not config.use_resampler:
        return {}
    rows = asked.resampler_n_latents
    keys = sum(height * width + 1 + rows for _, height, width in grids)
    products = asked.resampler_depth * 2 * 2 * asked.resampler_n_heads * asked.resampler_head_dim * rows * keys
    return {"queries": {"forward": 0, "backward": -products // 2,
                        "why": "attention of the learned rows is plain"}}


def blocks_of_actions(config, batch, length, fused, grids):
    """The counter takes the state's row as if it saw the actions."""
    expert = config.dit_config
    products = expert.num_hidden_layers * 4 * expert.num_attention_heads * expert.head_dim * batch * config.chunk_size
    return {"state": {"forward": products, "backward": products * 5 // 2 if fused else products * 2,
                      "why": "every mask is counted as its square"}}


DIFFERENCES = {"idefics": plain_queries, "pi0": blocks_of_actions}
