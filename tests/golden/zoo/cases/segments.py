# SPDX-License-Identifier: Apache-2.0
"""What segments by prompts, SAM 2 and its family, of sizes that are drawn at random."""

import feeds
from draws import drawn


def hiera(draw):
    """A tower of four levels, or of another number: of windows, some of them not whole at the border."""
    levels = draw.turn(4, 3, 4, 5)
    heads = [draw.size(1, 3) for _ in range(levels)]
    widths = [heads[0] * draw.size(2, 3, of=2)]
    for level in range(1, levels):
        widths.append(heads[level] * -(-(widths[-1] + draw.size(2, 12)) // heads[level]))
    blocks = [draw.size(1, 3) for _ in range(levels)]
    windows = [4] + [draw.choice([2, 4, 6]) for _ in range(levels - 1)]
    pooled = draw.turn(3, 2, 3, 3)
    entered = [sum(blocks[:level]) for level in range(1, min(levels, pooled + 1))]   # layers that pool their queries, in windows
    others = [layer for layer in range(1, sum(blocks)) if layer not in entered]
    return dict(hidden_size=widths[0], num_channels=draw.size(1, 3), image_size=[128, 128 * draw.size(1, 2)], blocks_per_stage=blocks,
                embed_dim_per_stage=widths, num_attention_heads_per_stage=heads, window_size_per_stage=windows,
                global_attention_blocks=sorted(draw.sample(others, min(len(others), draw.size(0, 2)))),
                num_query_pool_stages=pooled, mlp_ratio=draw.choice([2.0, 3.5, 4.0]),
                window_positional_embedding_background_size=[draw.size(3, 7), draw.size(3, 7)],
                **draw.turn({}, {}, dict(patch_kernel_size=5, patch_stride=[4, 4], patch_padding=2), {}))


def pieces(cells, window):
    return [window] * (cells // window) + ([cells % window] if cells % window else [])


def is_taken(neck, level):
    """Whether a level reaches what the neck returns: it is returned, or added to one that does."""
    return level < neck.num_feature_levels or (level - 1 in neck.fpn_top_down_levels and is_taken(neck, level - 1))


def windows_of_hiera(config, batch, length, fused, grids, measured=None):
    """Windows at the border are whole, filled with zeros; each cell multiplies its own heads with each other, for nothing."""
    neck = getattr(config, "vision_config", config)
    config = getattr(neck, "backbone_config", neck)
    widths, pooled, layer = config.embed_dim_per_stage, config.num_query_pool_stages, 0
    linears = cores = idle = without = 0
    for level, count in enumerate(config.blocks_per_stage):
        before = linears, cores
        for place in range(count):
            enters = level > 0 and place == 0
            pools = enters and level <= pooled
            width, narrow = widths[level], widths[level - enters]
            window = 0 if layer in config.global_attention_blocks else config.window_size_per_stage[level - enters]
            heads = config.num_attention_heads_per_stage[level]
            side = 2 ** (min(level, pooled) - pools)
            for _, *axes in grids:
                axes = [axis // side for axis in axes]
                slots, seen = 1, 1
                for axis in axes:
                    slots *= -(-axis // window) * window if window else axis
                    seen *= sum(piece ** 2 for piece in pieces(axis, window)) if window else axis ** 2
                cells, pairs = axes[0] * axes[1], slots * window * window if window else seen
                share = 4 if pools else 1
                linears += 2 * (slots - cells) * 3 * narrow * width + 2 * (slots - cells) // share * width * width
                cores += 2 * 2 * width * (pairs - seen) // share
                idle += 2 * slots * heads * width
            layer += 1
        if neck is not config and not is_taken(neck, level):
            without += 2 * (linears - before[0] + cores - before[1]) + ((cores - before[1]) // 2 if fused else 0)
    return {"padded_windows": {"forward": linears + cores, "backward": 2 * (linears + cores) + (cores // 2 if fused else 0) - without,
                               "why": "every window is whole: cells beyond the border are computed and seen"},
            "heads_of_a_cell": {"forward": idle, "backward": 0,
                                "why": "heads of a cell are multiplied with each other, for nothing"}}


def channels_of(tower):
    return tower.num_channels if hasattr(tower, "num_channels") else tower.model_args["in_chans"]


@feeds.feed((2, (1, 32, 48)), (1, (1, 40, 24)))
def cells(model, run):
    """Images of so many cells of four pixels."""
    import torch
    images, (_, height, width) = run
    tower = getattr(model.config, "backbone_config", model.config)
    return ({"pixel_values": torch.randn(images, channels_of(tower), 4 * height, 4 * width)},
            {"lengths": [], "grids": [[1, height, width]] * images})


def sam2_hiera(draw):
    return {"class": "Sam2HieraDetModel", **hiera(draw), "_feed": cells}


def neck(draw):
    inside = {"model_type": "sam2_hiera_det_model", **hiera(draw)}
    while len(inside["blocks_per_stage"]) != 4 or inside["num_query_pool_stages"] != 3:
        draw.place += 1
        inside = {"model_type": "sam2_hiera_det_model", **hiera(draw)}
    return inside


def sam2_vision(draw):
    place = draw.place
    inside = neck(draw)
    draw.place = place
    return {"class": "Sam2VisionModel", "backbone_config": inside, "backbone_channel_list": inside["embed_dim_per_stage"][::-1],
            "fpn_hidden_size": draw.size(1, 4, of=4), **draw.turn({}, dict(num_feature_levels=2), dict(fpn_kernel_size=3, fpn_padding=1),
                                                                 dict(fpn_top_down_levels=[0, 1], num_feature_levels=2), dict(num_feature_levels=4),
                                                                 dict(fpn_top_down_levels=[0, 1, 2], num_feature_levels=1),
                                                                 dict(fpn_top_down_levels=[1], num_feature_levels=1)),
            "_loss": ["fpn_hidden_states"], "_feed": cells}


def prompts_of(draw, width, image, patch):
    """Encoder and decoder of prompts of that width."""
    return {"prompt_encoder_config": dict(hidden_size=width, image_size=image, patch_size=patch, mask_input_channels=4 * draw.size(1, 3)),
            "mask_decoder_config": dict(
                hidden_size=width, mlp_dim=draw.size(20, 60), num_hidden_layers=draw.turn(2, 1, 3, 4), num_attention_heads=draw.size(1, 2, of=2),
                iou_head_hidden_dim=draw.size(10, 30), iou_head_depth=draw.size(2, 4), num_multimask_outputs=draw.size(2, 4),
                attention_downsample_rate=draw.choice([1, 2]))}


@feeds.feed((1, 2, 3), (2, 3, 1))
def prompted(model, run):
    """As feeds.prompted, over the cells of a tower inside, of four pixels where it has no patches."""
    import torch
    images, prompts, points = run
    tower = model.config.vision_config.backbone_config
    side = getattr(tower, "patch_size", 4)
    height, width = feeds.pair(model.config.prompt_encoder_config.image_size)
    values = torch.randn(images, channels_of(tower), height, width)
    count, tokens = images * prompts, points + 1
    return ({"pixel_values": values, "input_points": torch.rand(images, prompts, points, 2) * 40,
             "input_labels": torch.ones(images, prompts, points, dtype=torch.int)},
            {"lengths": [], "grids": [[1, height // side, width // side]] * images, "measured": {
                "prompts": count, "prompt_points": count * tokens, "prompt_squares": count * tokens ** 2, "passes": 1}})


def sam2(draw):
    vision = {name: value for name, value in sam2_vision(draw).items() if name != "class" and not name.startswith("_")}
    width, side = 16 * draw.size(1, 2), 4 * draw.turn(32, 24)
    vision["backbone_config"]["image_size"] = [side, side]
    vision.update(fpn_hidden_size=width, num_feature_levels=3, backbone_feature_sizes=[[side // scale] * 2 for scale in (4, 8, 16)],
                  fpn_top_down_levels=draw.turn([2, 3], [0, 1], [1, 2], []))
    return {"class": "Sam2Model", "vision_config": vision, **prompts_of(draw, width, side, 16), "_feed": prompted,
            "_loss": ["pred_masks", "iou_scores", "object_score_logits"], "_attention": ("eager",)}


def sam3_vit(draw):
    heads, layers, patch = draw.size(2, 4), draw.size(2, 4), draw.size(3, 5)
    return {"class": "Sam3ViTModel", "hidden_size": heads * draw.size(2, 4, of=4), "intermediate_size": draw.size(20, 60),
            "num_hidden_layers": layers, "num_attention_heads": heads, "num_channels": draw.size(1, 3), "patch_size": patch,
            "image_size": patch * draw.size(5, 7), "pretrain_image_size": patch * draw.size(2, 4), "window_size": draw.turn(3, 4, 5, 0),
            "global_attn_indexes": sorted(draw.sample(range(layers), draw.size(1, 2))), "_feed": squares}


@feeds.feed(2, 1)
def squares(model, images):
    """Images of the size that the tower's config says. A run is their number."""
    import torch
    tower = getattr(model.config, "backbone_config", model.config)
    side = tower.image_size // tower.patch_size
    return ({"pixel_values": torch.randn(images, tower.num_channels, tower.image_size, tower.image_size)},
            {"lengths": [], "grids": [[1, side, side]] * images})


def sam3_vision(draw):
    inside = {name: value for name, value in sam3_vit(draw).items() if name != "class" and not name.startswith("_")}
    return {"class": "Sam3VisionModel", "backbone_config": {"model_type": "sam3_vit_model", **inside}, "fpn_hidden_size": draw.size(1, 4, of=4),
            "_feed": squares, "_loss": ["fpn_hidden_states"]}


def windows_of_vit(config, batch, length, fused, grids, measured=None):
    """Windows at the border are whole, filled with zeros."""
    config = getattr(config, "vision_config", config)
    config = getattr(config, "backbone_config", config)
    width, side, linears, cores = config.hidden_size, config.window_size, 0, 0
    for layer in range(config.num_hidden_layers):
        for _, *axes in grids if side > 0 and layer not in config.global_attn_indexes else ():
            slots, seen = 1, 1
            for axis in axes:
                slots *= -(-axis // side) * side
                seen *= sum(piece ** 2 for piece in pieces(axis, side))
            linears += 2 * (slots - axes[0] * axes[1]) * 4 * width * width
            cores += 2 * 2 * width * (slots * side * side - seen)
    return {"padded_windows": {"forward": linears + cores, "backward": 2 * (linears + cores) + (cores // 2 if fused else 0),
                               "why": "every window is whole: cells beyond the border are computed and seen"}}


def sam3_tracker(draw):
    vision = {name: value for name, value in sam3_vision(draw).items() if name != "class" and not name.startswith("_")}
    tower, width = vision["backbone_config"], 16 * draw.size(1, 2)
    cells = tower["image_size"] // tower["patch_size"]
    vision.update(fpn_hidden_size=width, backbone_feature_sizes=[[cells * scale] * 2 for scale in (4, 2, 1)])
    return {"class": "Sam3TrackerModel", "vision_config": vision, **prompts_of(draw, width, tower["image_size"], tower["patch_size"]),
            "_feed": prompted, "_loss": ["pred_masks", "iou_scores", "object_score_logits"], "_attention": ("eager",)}


def edgetam_vision(draw):
    widths = [2 * draw.size(2, 5), 2 * draw.size(2, 5), 2 * draw.size(2, 30), draw.turn(48, 46, 82)]
    return {"class": "EdgeTamVisionModel", "backbone_channel_list": widths[::-1], "fpn_hidden_size": draw.size(1, 4, of=4),
            "backbone_config": {"model_type": "timm_wrapper", "num_classes": 2, "architecture": draw.turn("repvit_m1.dist_in1k", "repvit_m1"), "model_args": dict(
                in_chans=draw.size(1, 3), features_only=True, out_indices=[0, 1, 2, 3], embed_dim=widths, depth=[draw.size(1, 3) for _ in range(4)])},
            "_loss": ["fpn_hidden_states"], "_feed": cells, "_attention": ("eager",)}


def edgetam(draw):
    vision = {name: value for name, value in edgetam_vision(draw).items() if name != "class" and not name.startswith("_")}
    width, side = 16 * draw.size(1, 2), 4 * draw.turn(16, 24)
    vision.update(fpn_hidden_size=width, backbone_feature_sizes=[[side // scale] * 2 for scale in (4, 8, 16)])
    return {"class": "EdgeTamModel", "vision_config": vision, **prompts_of(draw, width, side, 16), "_feed": prompted,
            "_loss": ["pred_masks", "iou_scores", "object_score_logits"], "_attention": ("eager",)}


DIFFERENCES = {"sam3_tracker": windows_of_vit, "sam3_vit_model": windows_of_vit, "sam3_vision_model": windows_of_vit, "sam2": windows_of_hiera, "sam2_video": windows_of_hiera, "sam2_hiera_det_model": windows_of_hiera, "sam2_vision_model": windows_of_hiera}


def cases(case):
    drawn(case, "sam2_hiera_det_model", 4, sam2_hiera)
    drawn(case, "sam2_vision_model", 7, sam2_vision)
    drawn(case, "sam2", 4, sam2)
    drawn(case, "sam2_video", 1, sam2)
    drawn(case, "sam3_vit_model", 4, sam3_vit)
    drawn(case, "sam3_vision_model", 3, sam3_vision)
    drawn(case, "sam3_tracker", 4, sam3_tracker)
    drawn(case, "edgetam_vision_model", 3, edgetam_vision)
    drawn(case, "edgetam", 3, edgetam)
