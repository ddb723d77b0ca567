# SPDX-License-Identifier: Apache-2.0
"""Detectors over a backbone, of sizes that are drawn at random."""

import feeds
from draws import drawn

LEVELS = 4


def resnet(draw, outs=("stage4",)):
    base = draw.choice([8, 16])
    return dict(model_type="resnet", num_channels=3, embedding_size=draw.size(4, 8), layer_type=draw.choice(["basic", "bottleneck"]),
                hidden_sizes=[base, 2 * base, 3 * base, 4 * base], depths=draw.some(LEVELS, 1, 2),
                downsample_in_bottleneck=draw.flag(), out_features=list(outs))


@feeds.feed((2, 16, 24), (1, 19, 23))
def halves(model, run):
    """Images of `rows` x `columns` cells of two pixels. A run is (images, rows, columns)."""
    import torch
    images, rows, columns = run
    return ({"pixel_values": torch.randn(images, 3, 2 * rows, 2 * columns)},
            {"lengths": [], "grids": [[1, rows, columns]] * images})


LOSSES = {"ForObjectDetection": ["logits", "pred_boxes"], "Model": ["last_hidden_state"]}


def detr(draw, prefix="Detr"):
    heads, deep_heads = draw.choice([(2, 4), (4, 2), (3, 6)])
    kind = draw.choice(["ForObjectDetection", "Model"])
    return {"class": prefix + kind, "_attention": ("eager",), "_loss": LOSSES[kind],
            "d_model": 12 * draw.size(1, 3), "encoder_layers": draw.size(1, 3), "decoder_layers": draw.size(1, 3),
            "encoder_attention_heads": heads, "decoder_attention_heads": deep_heads,
            "encoder_ffn_dim": draw.size(20, 60), "decoder_ffn_dim": draw.size(20, 60), "num_queries": draw.size(3, 9),
            "position_embedding_type": draw.choice(["sine", "learned"]), "num_labels": draw.size(2, 7),
            "backbone_config": resnet(draw), "_feed": halves, "_unfrozen": True}


def vitpose(draw):
    heads, patch = draw.size(2, 4), [draw.size(6, 8), draw.size(6, 8)]
    simple = draw.turn(True, False)
    inside = dict(model_type="vitpose_backbone", hidden_size=heads * draw.size(3, 6, of=2), num_attention_heads=heads,
                  num_hidden_layers=draw.size(1, 3), image_size=[patch[0] * 3, patch[1] * 2], patch_size=patch, mlp_ratio=2,
                  num_channels=3)
    return {"class": "VitPoseForPoseEstimation", "backbone_config": {**inside, "out_indices": [inside["num_hidden_layers"]]},
            "scale_factor": draw.size(2, 4), "use_simple_decoder": simple, "num_labels": draw.size(3, 9),
            "_feed": backbone_pixels, "_loss": ["heatmaps"], "_attention": ("eager",)}


@feeds.feed(2, 3)
def backbone_pixels(model, images):
    """Images of the size that the config of the tower inside says. A run is their number."""
    values, grids = feeds.image_batch(model.config.backbone_config, images)
    return {"pixel_values": values}, {"lengths": [], "grids": grids}


def depth_anything(draw):
    heads, patch = draw.size(2, 4), draw.size(2, 4)
    width, layers = heads * draw.size(3, 6, of=2), draw.size(4, 6)
    taken = sorted(draw.sample(range(1, layers + 1), 4))
    inside = dict(model_type="dinov2", hidden_size=width, num_attention_heads=heads, num_hidden_layers=layers,
                  image_size=patch * draw.size(3, 5), patch_size=patch, mlp_ratio=2, num_channels=3, reshape_hidden_states=False,
                  out_indices=taken, apply_layernorm=draw.flag())
    return {"class": "DepthAnythingForDepthEstimation", "backbone_config": inside, "patch_size": patch,
            "reassemble_hidden_size": width, "neck_hidden_sizes": draw.some(4, 6, 8, 10), "fusion_hidden_size": draw.size(3, 6, of=2),
            "head_hidden_size": draw.size(3, 8), "_feed": backbone_pixels, "_loss": ["predicted_depth"], "_attention": ("eager",)}


def cases(case):
    tower = dict(hidden_size=24, num_attention_heads=3, num_hidden_layers=2, image_size=15, patch_size=5, mlp_ratio=2)
    case("dinov2/backbone", "Dinov2Backbone", **tower, _feed=feeds.pixels, _loss=["feature_maps"])
    case("dinov2_with_registers/backbone", "Dinov2WithRegistersBackbone", **tower, num_register_tokens=3, _feed=feeds.pixels,
         _loss=["feature_maps"])
    drawn(case, "vitpose", 4, vitpose)
    drawn(case, "depth_anything", 4, depth_anything)
    drawn(case, "detr", 5, detr)
    drawn(case, "table-transformer", 4, lambda draw: detr(draw, "TableTransformer"))
    drawn(case, "conditional_detr", 5, lambda draw: detr(draw, "ConditionalDetr"))
