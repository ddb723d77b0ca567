# SPDX-License-Identifier: Apache-2.0
"""Detectors over a backbone, of sizes that are drawn at random."""

import feeds
from cases import vision
from draws import Draw, drawn

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


PYRAMID = ("stage2", "stage3", "stage4")


@feeds.feed((2, 16, 32), (1, 32, 16))
def even(model, run):
    """Images of `rows` x `columns` cells of two pixels, of which five halvings leave whole cells."""
    return halves(model, run)


@feeds.feed((2, 35, 50), (1, 41, 37))
def wide(model, run):
    """Images that leave cells after seven halvings."""
    return halves(model, run)


def rt_detr(draw, prefix="RTDetr"):
    heads, deep_heads, wide = draw.choice([(2, 4), (4, 2), (2, 3)]) + (12 * draw.size(1, 3),)
    kind = draw.turn("ForObjectDetection", "ForObjectDetection", "Model")
    loss = ["intermediate_logits", "intermediate_reference_points", "enc_topk_logits", "enc_topk_bboxes"]
    aux = draw.turn(True, True, True, False)
    if not aux:
        loss = LOSSES["ForObjectDetection"]
    inside = {**resnet(draw, PYRAMID), "model_type": "rt_detr_resnet"}
    inside["embedding_size"] = inside["hidden_sizes"][0]
    return {"class": prefix + kind, "_loss": loss if kind != "Model" else LOSSES[kind], "backbone_config": inside,
            "d_model": 12 * draw.size(1, 3), "encoder_hidden_dim": wide, "encoder_in_channels": inside["hidden_sizes"][1:],
            "encoder_layers": draw.turn(1, 2, 0), "decoder_layers": draw.size(1 if prefix == "RTDetr" else 2, 3), "encoder_attention_heads": heads,
            "decoder_attention_heads": deep_heads, "encoder_ffn_dim": draw.size(20, 60), "decoder_ffn_dim": draw.size(20, 60),
            "num_queries": draw.size(3, 9), "num_labels": draw.size(2, 7), "decoder_n_points": draw.size(1, 4),
            "decoder_in_channels": [wide] * 3, "hidden_expansion": draw.choice([0.5, 1.0]), "num_denoising": draw.choice([0, 100]), "auxiliary_loss": aux,
            "_feed": even, "_unfrozen": True, "_attention": ("eager",)}


def deformable_detr(draw):
    heads, deep_heads = draw.choice([(2, 4), (4, 2), (2, 2)])
    kind, (refines, two_stage) = draw.turn("ForObjectDetection", "Model", "ForObjectDetection"), draw.turn(*REFINES)
    inside = resnet(draw, draw.turn(PYRAMID, PYRAMID[1:], ("stage1",) + PYRAMID, PYRAMID[2:]))
    taken = len(inside["out_features"])
    return {"class": "DeformableDetr" + kind, "_loss": LOSSES[kind], "backbone_config": inside, "d_model": 64,
            "encoder_layers": draw.size(1, 3), "decoder_layers": draw.size(2, 3), "encoder_attention_heads": heads,
            "decoder_attention_heads": deep_heads, "encoder_ffn_dim": draw.size(20, 60), "decoder_ffn_dim": draw.size(20, 60),
            "num_queries": draw.size(3, 9), "num_labels": draw.size(2, 7), "encoder_n_points": draw.size(1, 4),
            "decoder_n_points": draw.size(1, 4), "num_feature_levels": taken + draw.turn(1, 3, 2, 0), "two_stage_num_proposals": draw.size(3, 9),
            "with_box_refine": refines and kind != "Model", "two_stage": two_stage and kind != "Model",
            "position_embedding_type": draw.choice(["sine", "learned"]), "_feed": wide, "_unfrozen": True, "_attention": ("eager",)}


REFINES = ((False, False), (False, False), (True, True), (True, False))


def rt_detr_resnet(draw):
    inside = {**resnet(draw), "downsample_in_first_stage": draw.flag()}
    if not inside["downsample_in_first_stage"]:
        inside["embedding_size"] = inside["hidden_sizes"][0]
    inside.pop("model_type")
    return {"class": "RTDetrResNetBackbone", **inside, "_feed": wide, "_loss": ["feature_maps"], "_attention": ("eager",)}


def d_fine(draw):
    made = rt_detr(draw, "DFine")
    del made["backbone_config"]
    outs = [4 * draw.size(2, 6) for _ in range(4)]
    inside = dict(model_type="hgnet_v2", num_channels=3, stem_channels=[3, 8, 12], stem_strides=[2, 1, 1, 2, 1],
                  stage_in_channels=[12, *outs[:-1]], stage_mid_channels=draw.some(4, 4, 8, 12), stage_out_channels=outs,
                  hidden_sizes=outs, stage_num_blocks=draw.some(4, 1, 2), stage_downsample=[False, True, True, True],
                  stage_downsample_strides=[2] * 4, stage_light_block=[False, draw.flag(), draw.flag(), True],
                  stage_kernel_size=draw.some(4, 3, 5), stage_numb_of_layers=draw.some(4, 1, 2), depths=[1] * 4, embedding_size=12,
                  use_learnable_affine_block=draw.flag(), out_features=list(PYRAMID))
    wide = made["encoder_hidden_dim"]
    return {**made, "backbone_config": inside, "encoder_in_channels": outs[1:], "depth_mult": draw.choice([0.34, 1.0]),
            "d_model": draw.turn(wide, made["d_model"]), "max_num_bins": draw.size(2, 4, of=2), "top_prob_values": draw.size(1, 3),
            "lqe_hidden_dim": draw.size(5, 9), "decoder_n_points": draw.turn([2, 3, 1], draw.size(1, 4)),
            "hidden_expansion": draw.choice([0.34, 0.5, 1.0]), "_feed": even_pixels}


def deimv2(draw):
    made = d_fine(draw)
    made = {**made, "class": made["class"].replace("DFine", "Deimv2"), "use_gateway": draw.flag(), "share_bbox_head": draw.flag(),
            "encoder_has_trailing_conv": draw.flag()}
    if draw.turn(True, False):
        heads = draw.size(1, 3)
        inside = dict(model_type="dinov3_vit", hidden_size=heads * 4 * draw.size(1, 2), num_attention_heads=heads, num_hidden_layers=4,
                      intermediate_size=draw.size(20, 40), image_size=64, patch_size=16, num_register_tokens=draw.size(0, 2),
                      out_indices=draw.choice([[1, 2, 4], [2, 3, 4], [1, 2, 3]]), apply_layernorm=draw.flag(), reshape_hidden_states=True)
        made.update(backbone_config=inside, spatial_tuning_adapter_inplanes=draw.size(2, 5), _feed=whole_patches)
    return made


@feeds.feed((2, 4, 6), (1, 6, 2))
def whole_patches(model, run):
    """Images of so many patches, even in number, of the tower inside."""
    return cells_of(model, run)


@feeds.feed((2, 32, 64), (1, 64, 32))
def even_pixels(model, run):
    """Images of whole cells after five halvings; a grid is pixels."""
    import torch
    images, rows, columns = run
    return ({"pixel_values": torch.randn(images, 3, rows, columns)}, {"lengths": [], "grids": [[1, rows, columns]] * images})


def swin(draw, outs=("stage1",) + PYRAMID):
    """Levels whose cells are whole windows of 2 x 2, of images of 32 x 32 patches."""
    heads = [draw.size(1, 3) for _ in range(LEVELS)]
    heads = [1, 2, draw.choice([1, 4]), 4]
    return dict(model_type="swin", image_size=64, patch_size=2, num_channels=3, embed_dim=4 * draw.size(1, 3),
                depths=draw.some(LEVELS, 1, 2), num_heads=heads, window_size=2, mlp_ratio=draw.choice([1.5, 2.0]),
                qkv_bias=draw.flag(), out_features=list(outs))


def convnext(draw):
    widths = draw.some(LEVELS, 4, 6, 8)
    return dict(model_type="convnext", num_channels=3, patch_size=2, hidden_sizes=widths, depths=draw.some(LEVELS, 1, 2),
                out_features=["stage1", *PYRAMID])


def of_backbone(model, images, rows, columns):
    """Images of so many cells of the grid of a backbone."""
    import torch
    inside = model.config.backbone_config
    side = {"resnet": 2, "hgnet_v2": 1}.get(inside.model_type) or inside.patch_size
    return torch.randn(images, 3, side * rows, side * columns), {"lengths": [], "grids": [[1, rows, columns]] * images}


@feeds.feed((2, 32, 48), (3, 48, 32))
def segmented(model, run):
    """Images and a label for each pixel."""
    import torch
    pixels, record = of_backbone(model, *run)
    return ({"pixel_values": pixels, "labels": torch.randint(0, model.config.num_labels, (pixels.shape[0], *pixels.shape[2:]))}, record)


def of_levels(config, batch, length, fused, grids, texts=None):
    """What the backbone inside executes beyond its own count."""
    inside = config.backbone_config
    return vision.DIFFERENCES[inside.model_type](inside, batch, length, fused, grids) if inside.model_type in vision.DIFFERENCES else {}


def upernet(draw):
    inside = draw.turn(swin, convnext, lambda draw: resnet(draw, ("stage1",) + PYRAMID))(draw)
    convs = draw.turn(1, 2, 1, 0)
    third = [inside["embed_dim"] * 4] if "embed_dim" in inside else inside["hidden_sizes"][2:3]
    return {"class": "UperNetForSemanticSegmentation", "backbone_config": inside, "hidden_size": draw.size(5, 12),
            "pool_scales": draw.choice([[1, 2, 3, 6], [1, 2, 3, 4]]), "use_auxiliary_head": draw.turn(True, True, False, True),
            "auxiliary_channels": third[0] if convs == 0 else draw.size(4, 9), "auxiliary_num_convs": convs,
            "auxiliary_concat_input": draw.turn(False, True), "num_labels": draw.size(3, 7), "_feed": segmented, "_loss": ["loss"],
            "_attention": ("eager",)}


def dpt(draw):
    heads, patch, kind = draw.size(2, 4), draw.size(2, 4), draw.turn("ForDepthEstimation", "ForSemanticSegmentation", "ForDepthEstimation")
    width, layers = heads * draw.size(3, 6, of=2), draw.size(4, 6)
    taken = sorted(draw.sample(range(layers), 4))
    made = {"class": "DPT" + kind, "readout_type": draw.turn("project", "add", "ignore", "project"),
            "neck_hidden_sizes": draw.some(4, 6, 8, 10), "fusion_hidden_size": draw.size(3, 6, of=2),
            "use_batch_norm_in_fusion_residual": draw.flag(), "use_auxiliary_head": draw.flag(), "num_labels": draw.size(3, 7),
            "_attention": ("eager",)}
    tower = dict(hidden_size=width, num_attention_heads=heads, num_hidden_layers=layers, image_size=patch * 5, patch_size=patch,
                 num_channels=3)
    if draw.flag():
        made["use_bias_in_fusion_residual"] = draw.flag()
    if kind == "ForSemanticSegmentation":
        both = draw.turn(False, True)
        made.update(_loss=["loss" if both else "logits"], use_auxiliary_head=both, _feed=labelled if both else squares)
    else:
        made.update(_loss=["predicted_depth"], _feed=squares)
    if draw.turn(True, True, False):
        return {**made, **tower, "intermediate_size": draw.size(20, 40), "backbone_out_indices": taken, "qkv_bias": draw.flag()}
    return {**made, "backbone_config": dict(tower, model_type="dinov2", mlp_ratio=2, reshape_hidden_states=False,
                                            out_indices=[k + 1 for k in taken])}


@feeds.feed(2, 3)
def squares(model, images):
    """Images of the tower's own size."""
    inside = model.config.backbone_config or model.config
    values, grids = feeds.image_batch(inside, images)
    return {"pixel_values": values}, {"lengths": [], "grids": grids}


@feeds.feed(2, 3)
def labelled(model, images):
    import torch
    inputs, record = squares(model, images)
    pixels = inputs["pixel_values"]
    return {**inputs, "labels": torch.randint(0, model.config.num_labels, (images, *pixels.shape[2:]))}, record


def beit(draw, prefix="Beit"):
    heads, patch, layers, both = draw.size(2, 4), draw.size(2, 4), draw.size(4, 6), draw.turn(True, False)
    width, convs = heads * draw.size(2, 4), draw.turn(1, 2, 0)
    return {"class": prefix + "ForSemanticSegmentation", "hidden_size": width, "num_attention_heads": heads, "num_hidden_layers": layers,
            "intermediate_size": draw.size(20, 40), "image_size": patch * draw.size(5, 7), "patch_size": patch, "num_channels": 3,
            "out_indices": sorted(draw.sample(range(1, layers + 1), 4)), "pool_scales": draw.choice([[1, 2, 3, 6], [1, 2, 3, 4]]),
            "use_auxiliary_head": both, "auxiliary_channels": draw.size(4, 9) if convs else width, "auxiliary_num_convs": convs,
            "auxiliary_concat_input": draw.flag(), "use_mean_pooling": draw.flag(), "use_relative_position_bias": draw.flag(),
            "num_labels": draw.size(3, 7), "_feed": labelled_tower if both else feeds.pixels, "_loss": ["loss" if both else "logits"],
            "_attention": ("eager",)}


@feeds.feed(2, 3)
def labelled_tower(model, images):
    import torch
    values, grids = feeds.image_batch(model.config, images)
    return ({"pixel_values": values, "labels": torch.randint(0, model.config.num_labels, (images, *values.shape[2:]))},
            {"lengths": [], "grids": grids})


@feeds.feed((2, 8), (1, 16))
def square_cells(model, run):
    """Images of so many patches on each side."""
    import torch
    images, side = run
    return ({"pixel_values": torch.randn(images, 3, *[side * model.config.patch_size] * 2)}, {"lengths": [], "grids": [[1, side, side]] * images})


def masked_images(draw, prefix):
    levels = draw.size(2, 3)
    made = {"class": prefix + "ForMaskedImageModeling", "image_size": 32, "patch_size": 2, "num_channels": 3, "embed_dim": 4 * draw.size(1, 3),
            "depths": draw.some(levels, 1, 2), "mlp_ratio": draw.choice([1.5, 2.0]), "encoder_stride": draw.size(2, 5), "_feed": square_cells,
            "_loss": ["reconstruction"], "_attention": ("eager",)}
    if prefix == "FocalNet":
        return {**made, "focal_levels": draw.some(levels, 1, 2), "focal_windows": draw.some(levels, 3, 5), "use_conv_embed": draw.flag(), "patch_size": 4}
    return {**made, "num_heads": draw.some(levels, 1, 2), "window_size": 2, "qkv_bias": draw.flag()}


@feeds.feed((2, 8, 16), (1, 24, 8))
def fours(model, run):
    """Images of so many cells of four pixels, of which three halvings leave whole cells."""
    import torch
    images, rows, columns = run
    return {"pixel_values": torch.randn(images, 3, 4 * rows, 4 * columns)}, {"lengths": [], "grids": [[1, rows, columns]] * images}


def glpn(draw):
    heads, deep = draw.some(4, 1, 2), 2 * draw.size(2, 5)
    return {"class": "GLPNForDepthEstimation", "num_channels": 3, "depths": draw.some(4, 1, 2), "num_attention_heads": heads,
            "hidden_sizes": [draw.choice([deep, 4 * draw.size(1, 4)]) for _ in heads], "sr_ratios": draw.choice([[8, 4, 2, 1], [4, 2, 1, 1]]),
            "mlp_ratios": draw.some(4, 2, 3), "decoder_hidden_size": deep, "max_depth": 7, "_feed": fours, "_loss": ["predicted_depth"],
            "_attention": ("eager",)}


@feeds.feed(2, 3)
def prompted(model, images):
    import torch
    inputs, record = backbone_pixels(model, images)
    return {**inputs, "prompt_depth": torch.rand(images, 1, 7, 9)}, record


@feeds.feed((2, 32, 48), (1, 48, 32))
def cells_of(model, run):
    """Images of so many cells of the backbone inside."""
    pixels, record = of_backbone(model, *run)
    return {"pixel_values": pixels}, record


SEGMENTED = {"ForUniversalSegmentation": ["class_queries_logits", "masks_queries_logits", "auxiliary_logits"],
             "ForInstanceSegmentation": ["class_queries_logits", "masks_queries_logits"]}


def mask2former(draw):
    kind, heads = draw.turn("ForUniversalSegmentation", "ForUniversalSegmentation", "Model"), draw.size(1, 4, of=2)
    inside = draw.turn(swin, lambda draw: resnet(draw, ("stage1",) + PYRAMID))(draw)
    return {"class": "Mask2Former" + kind, "backbone_config": inside, "feature_size": 64, "mask_feature_size": draw.size(4, 9),
            "hidden_dim": draw.turn(64, 16), "encoder_feedforward_dim": draw.size(20, 60), "encoder_layers": draw.size(1, 3),
            "decoder_layers": draw.turn(6, 2, 3, 4), "num_attention_heads": 4 if heads == 6 else heads,
            "dim_feedforward": draw.size(20, 60), "num_queries": draw.size(3, 9), "enforce_input_projection": draw.flag(),
            "num_labels": draw.size(2, 7), "output_auxiliary_logits": True, "_feed": cells_of,
            "_loss": SEGMENTED.get(kind, ["masks_queries_logits"]), "_attention": ("eager",)}


def maskformer(draw):
    kind = draw.turn("ForInstanceSegmentation", "ForInstanceSegmentation", "Model")
    inside = draw.turn(swin, lambda draw: resnet(draw, ("stage1",) + PYRAMID))(draw)
    decoder = dict(model_type="detr", d_model=draw.turn(24, 64 if "hidden_sizes" in inside else 8 * inside["embed_dim"]),
                   decoder_layers=draw.size(1, 3), decoder_attention_heads=draw.choice([2, 4]), decoder_ffn_dim=draw.size(20, 60),
                   num_queries=draw.size(3, 9), encoder_attention_heads=2)
    return {"class": "MaskFormer" + kind, "backbone_config": inside, "fpn_feature_size": 64, "mask_feature_size": draw.size(4, 9),
            "decoder_config": decoder, "num_labels": draw.size(2, 7),
            "_feed": cells_of, "_attention": ("eager",),
            "_loss": SEGMENTED.get(kind, ["pixel_decoder_last_hidden_state", "transformer_decoder_last_hidden_state"])}


@feeds.feed((2, 16, 24), (1, 19, 23))
def boxed(model, run):
    """Images and a box in each."""
    import torch
    inputs, record = halves(model, run)
    labels = [{"class_labels": torch.zeros(1, dtype=torch.long), "boxes": torch.rand(1, 4)} for _ in range(run[0])]
    return {**inputs, "labels": labels}, record


def dab_detr(draw):
    made = detr(draw, "DabDetr")
    made["class"] = "DabDetr" + draw.turn("ForObjectDetection", "Model", "ForObjectDetection")
    made["hidden_size"] = 24 * draw.size(1, 2)
    del made["d_model"], made["position_embedding_type"]
    aux = draw.turn(False, False, True)
    made["_loss"] = ["loss"] if aux else LOSSES[made["class"].removeprefix("DabDetr")]
    return {**made, "auxiliary_loss": aux, "_feed": boxed if aux else halves, "activation_function": draw.turn("prelu", "relu"),
            "normalize_before": draw.flag(), "keep_query_pos": draw.flag()}


def eomt(draw):
    heads, patch = draw.size(2, 4), draw.size(2, 4)
    return {"class": "EomtForUniversalSegmentation", "hidden_size": heads * draw.size(3, 6, of=2), "num_attention_heads": heads,
            "num_hidden_layers": draw.size(3, 4), "image_size": patch * draw.size(3, 5), "patch_size": patch, "mlp_ratio": 2,
            "num_register_tokens": draw.size(0, 3), "num_queries": draw.size(3, 9), "num_blocks": draw.size(1, 3),
            "num_upscale_blocks": draw.turn(2, 1, 3), "use_swiglu_ffn": draw.flag(), "num_labels": draw.size(2, 7), "_feed": feeds.pixels,
            "_loss": ["class_queries_logits", "masks_queries_logits"], "_attention": ("eager",), "_differences": earlier_masks}


def earlier_masks(config, batch, length, fused, grids):
    """The loss of this run takes the last masks alone, and training those of the layers before too."""
    h, n, cells = config.hidden_size, config.num_queries, sum(rows * columns for _, rows, columns in grids)
    twice = 2 * len(grids) * n * h * (config.num_labels + 1 + 3 * h) + 2 * n * h * 4 ** config.num_upscale_blocks * cells
    grouped = 0
    for up in range(config.num_upscale_blocks):
        twice += 2 * h * 4 * h * 4 ** up * cells
        grouped += 2 * 9 * h * 4 ** (up + 1) * cells
    return {"earlier_masks": {"forward": 0, "backward": -config.num_blocks * (2 * twice + (1 + h) * grouped),
                              "why": "the loss of the run takes the last masks alone"}}


def eomt_dinov3(draw):
    made = eomt(draw)
    for name in ("mlp_ratio", "use_swiglu_ffn"):
        del made[name]
    made["hidden_size"] = made["num_attention_heads"] * 4 * draw.size(1, 2)
    return {**made, "class": "EomtDinov3ForUniversalSegmentation", "intermediate_size": draw.size(20, 60), "use_gated_mlp": draw.flag(),
            "key_bias": draw.flag(), "mlp_bias": draw.flag(), "query_bias": draw.flag()}


def mgp_str(draw):
    heads, patch = draw.choice([2, 4]), draw.size(2, 4)
    kind = draw.turn("ForSceneTextRecognition", "ForSceneTextRecognition", "Model")
    return {"class": "Mgpstr" + kind, "hidden_size": heads * 8 * draw.size(1, 2), "num_attention_heads": heads,
            "num_hidden_layers": draw.size(1, 3), "image_size": [patch * draw.size(1, 3), patch * draw.size(2, 5)], "patch_size": patch,
            "mlp_ratio": draw.choice([1.5, 3.0]), "qkv_bias": draw.flag(), "max_token_length": draw.size(3, 9),
            "num_character_labels": draw.size(5, 9), "num_bpe_labels": draw.size(10, 20), "num_wordpiece_labels": draw.size(10, 20),
            "_feed": feeds.pixels, "_loss": ["logits"] if kind != "Model" else ["last_hidden_state"], "_attention": ("eager",)}


@feeds.feed((2, 8, 12), (1, 16, 8))
def whole_windows(model, run):
    """Images of whole windows of four."""
    import torch
    images, rows, columns = run
    return ({"pixel_values": torch.randn(images, model.config.num_channels, rows, columns)}, {"lengths": [], "grids": [[1, rows, columns]] * images})


def masked_windows(config, batch, length, fused, grids):
    """Shifted windows run whole, and two small matrices make the biases of the scores, once for all images."""
    cores = biases = inputs = 0
    for depth, heads in zip(config.depths, config.num_heads):
        for index in range(depth):
            window = config.window_size
            shift = window // 2 if index % 2 and config.image_size > window else 0
            inputs += 2 * (2 * window - 1) ** 2 * 2 * 512
            biases += 2 * (2 * window - 1) ** 2 * 512 * heads
            for _, *axes in grids:
                seen = [sum(piece ** 2 for piece in vision.pieces(axis, window, shift)) for axis in axes]
                cores += 4 * config.embed_dim * (axes[0] * axes[1] * window ** 2 - seen[0] * seen[1])
    return {"masked": {"forward": cores, "backward": 2 * cores,
                       "why": "every window is whole, and masked or shifted-in cells are computed"},
            "biases": {"forward": inputs + biases, "backward": inputs + 2 * biases,
                       "why": "two small matrices make the biases of the scores, once for all images"}}


def swin2sr(draw):
    upsampler, up = draw.turn(("pixelshuffle", 2), ("pixelshuffle", 3), ("pixelshuffledirect", 4), ("nearest+conv", 4), ("pixelshuffle_aux", 4),
                              ("", 1), ("pixelshuffle", 8))
    kind, blocks, channels = draw.turn(*["ForImageSuperResolution"] * 7, "Model"), draw.size(1, 2), 3 if upsampler == "pixelshuffle_aux" else draw.choice([1, 3])
    return {"class": "Swin2SR" + kind, "image_size": draw.turn(16, 4), "num_channels": channels, "embed_dim": 12 * draw.size(1, 2),
            "depths": draw.some(blocks, 1, 2), "num_heads": draw.some(blocks, 2, 3), "window_size": 4, "mlp_ratio": draw.choice([1.5, 2.0]),
            "qkv_bias": draw.flag(), "upscale": up, "upsampler": upsampler, "resi_connection": draw.turn("1conv", "3conv", "1conv"),
            "_feed": whole_windows, "_loss": ["reconstruction"] if kind != "Model" else ["last_hidden_state"], "_attention": ("eager",),
            "_differences": masked_windows}


def rf_detr_dinov2(draw):
    heads, patch, windows, layers = draw.size(2, 4), draw.size(2, 4), draw.turn(2, 1, 3), draw.size(3, 4)
    outs = sorted({*draw.sample(range(1, layers), draw.size(1, 2)), layers})
    return {"class": "RfDetrDinov2Backbone", "hidden_size": heads * draw.size(3, 6, of=2), "num_attention_heads": heads,
            "num_hidden_layers": layers, "image_size": patch * 6, "patch_size": patch, "mlp_ratio": 2, "num_windows": windows,
            "use_swiglu_ffn": draw.flag(), "qkv_bias": draw.flag(), "out_indices": outs, "_feed": feeds.pixels, "_loss": ["feature_maps"],
            "_attention": ("eager",)}


@feeds.feed(2, 1)
def boxed_pixels(model, images):
    """Images of the tower's own size and a box in each."""
    import torch
    inputs, record = backbone_pixels(model, images)
    labels = [{"class_labels": torch.zeros(1, dtype=torch.long), "boxes": torch.rand(1, 4)} for _ in range(images)]
    return {**inputs, "labels": labels}, record


def rf_detr(draw):
    inside = {**rf_detr_dinov2(draw), "model_type": "rf_detr_dinov2"}
    inside = {name: value for name, value in inside.items() if name != "class" and not name.startswith("_")}
    kind, aux = draw.turn("ForObjectDetection", "ForObjectDetection", "Model"), draw.turn(True, False, False)
    own, cross = draw.choice([(2, 4), (4, 2), (2, 3)])
    loss = ["loss"] if aux else ["logits", "pred_boxes", "enc_outputs_class", "enc_outputs_coord_logits"]
    return {"class": "RfDetr" + kind, "backbone_config": inside, "hidden_expansion": draw.choice([0.5, 0.25]), "c2f_num_blocks": draw.size(1, 3),
            "decoder_ffn_dim": draw.size(20, 60), "decoder_n_points": draw.size(1, 4), "decoder_layers": draw.size(1, 3),
            "decoder_self_attention_heads": own, "decoder_cross_attention_heads": cross, "num_queries": draw.size(3, 9),
            "attention_bias": draw.flag(), "group_detr": draw.size(1, 4), "d_model": 12 * draw.size(1, 2), "auxiliary_loss": aux,
            "num_labels": draw.size(2, 7), "_loss": loss if kind != "Model" else ["last_hidden_state"],
            "_feed": boxed_pixels if aux else backbone_pixels, "_attention": ("eager",)}


@feeds.feed((2, 32, 48), (1, 48, 32))
def with_task(model, run):
    """Images, the task as numbers and, in training, a text for each query that is not learned."""
    import torch
    pixels, record = of_backbone(model, *run)
    config = model.config
    inputs = {"pixel_values": pixels, "task_inputs": torch.rand(run[0], config.task_seq_len)}
    if config.is_training:
        inputs["text_inputs"] = torch.randint(0, config.text_encoder_vocab_size,
                                              (run[0], config.num_queries - config.text_encoder_n_ctx, config.text_encoder_context_length))
    return inputs, record


def oneformer(draw):
    kind, trains, aux = draw.turn("ForUniversalSegmentation", "ForUniversalSegmentation", "Model"), draw.turn(False, True), draw.turn(True, True, True, False)
    inside = resnet(draw, ("stage1",) + PYRAMID) if trains else draw.turn(swin, swin, swin, lambda draw: resnet(draw, ("stage1",) + PYRAMID))(draw)
    name = "transformer_decoder_{}_predictions" if kind == "Model" else "{}_queries_logits"
    loss = [name.format("class"), name.format("mask" if kind == "Model" else "masks")]
    if aux:
        loss.append("transformer_decoder_auxiliary_predictions" if kind == "Model" else "auxiliary_predictions")
    wide, width = draw.choice([32, 64]), draw.choice([32, 64])
    if trains:
        loss.append("text_queries")
        width = 64
    return {"class": "OneFormer" + kind, "backbone_config": inside, "conv_dim": wide, "mask_dim": wide, "hidden_dim": width,
            "encoder_feedforward_dim": draw.size(20, 60), "encoder_layers": draw.size(1, 2), "decoder_layers": draw.turn(6, 2, 3, 4),
            "num_attention_heads": draw.choice([2, 4]), "dim_feedforward": draw.size(20, 60), "num_queries": draw.size(5, 9),
            "enforce_input_proj": draw.flag(), "num_labels": draw.size(2, 7), "output_auxiliary_logits": True, "use_auxiliary_loss": aux,
            "use_task_norm": draw.flag(), "task_seq_len": draw.size(5, 9), "query_dec_layers": draw.size(1, 3), "is_training": trains,
            "text_encoder_width": 64, "text_encoder_context_length": draw.size(5, 9), "text_encoder_num_layers": draw.size(1, 2),
            "text_encoder_vocab_size": draw.size(20, 30), "text_encoder_proj_layers": draw.size(1, 3), "text_encoder_n_ctx": draw.size(0, 3),
            "dropout": 0.0, "_feed": with_task, "_loss": loss, "_attention": ("eager",)}


def plain_cores(config, batch, length, fused, grids):
    """Attention outside of texts runs as plain products, whose backward makes no scores again."""
    extra = of_levels(config, batch, length, fused, grids)
    if fused == "mixed":
        n, made, again = config.num_queries, config.num_queries - 1, 0
        for _, rows, columns in grids:
            cells = [-(-rows // side) * -(-columns // side) for side in (16, 8, 4, 2)]
            again += config.query_dec_layers * (made * made + made * cells[3])
            again += sum(n * n + n * cells[layer % 3] for layer in range(config.decoder_layers - 1))
        extra["plain"] = {"forward": 0, "backward": -2 * config.hidden_dim * again,
                          "why": "attention outside of texts runs as plain products, whose backward makes no scores again"}
    return extra


@feeds.feed((2, 32, 80, 9), (1, 80, 32, 14))
def named(model, run):
    """Images of so many cells of the backbone, and the words of what to look for: phrases between stops (1012)."""
    import torch
    images, rows, columns, words = run
    pixels, record = of_backbone(model, images, rows, columns)
    ids = torch.randint(5, 100, (images, words))
    ids[:, 0], ids[:, 3], ids[:, -2], ids[:, -1] = 101, 1012, 1012, 102
    return {"pixel_values": pixels, "input_ids": ids}, {**record, "lengths": [words] * images, "texts": [words] * images}


def grounding_dino(draw, prefix="GroundingDino"):
    heads, deep_heads, bert_heads = draw.choice([2, 4, 8]), draw.choice([2, 4, 8]), draw.size(1, 3)
    kind = draw.turn("ForObjectDetection", "ForObjectDetection", "Model")
    inside = draw.turn(swin, swin, resnet)(draw, draw.turn(PYRAMID, PYRAMID[1:], ("stage1",) + PYRAMID, PYRAMID[2:]))
    taken = len(inside["out_features"])
    text = dict(model_type="bert", hidden_size=bert_heads * 2 * draw.size(2, 4), num_attention_heads=bert_heads, vocab_size=1020,
                num_hidden_layers=draw.size(1, 2), intermediate_size=draw.size(20, 40), max_position_embeddings=40)
    made = {"class": prefix + kind, "_loss": ["logits", "pred_boxes", "encoder_logits"] if kind != "Model" else LOSSES[kind],
            "backbone_config": inside, "text_config": text, "d_model": 32 * draw.size(1, 2), "encoder_layers": draw.size(1, 2),
            "decoder_layers": draw.size(2, 3), "encoder_attention_heads": heads, "decoder_attention_heads": deep_heads,
            "encoder_ffn_dim": 16 * draw.size(1, 4), "decoder_ffn_dim": draw.size(20, 60), "num_queries": draw.size(3, 9),
            "encoder_n_points": draw.size(1, 4), "decoder_n_points": draw.size(1, 4), "num_feature_levels": taken + draw.turn(1, 0, 2, 3, 1),
            "decoder_bbox_embed_share": draw.flag(), "position_embedding_type": draw.choice(["sine", "learned"]), "fusion_droppath": 0.0,
            "_feed": named, "_unfrozen": True, "_attention": ("eager",)}
    if prefix == "MMGroundingDino":
        made["decoder_cls_embed_share"] = draw.flag()
    return made


@feeds.feed((2, 4, 6), (1, 5, 3))
def plain_cells(model, run):
    """Images of so many patches of a tower without levels."""
    return cells_of(model, run)


def over_swin(made, outs, **changes):
    """The detector over Swin: the backbone gives each level that it hands on a norm of its own."""
    inside = swin(Draw("swin/30"), outs)
    if "encoder_in_channels" in made:
        changes["encoder_in_channels"] = [inside["embed_dim"] * 2 ** level for level in (1, 2, 3)]
    made = {**made, **changes, "backbone_config": inside, "_feed": cells_of, "_differences": of_levels}
    return made.pop("class"), made


DIFFERENCES = {kind: of_levels for kind in ("upernet", "mask2former", "maskformer", "grounding-dino", "mm-grounding-dino")}
DIFFERENCES.update(vision.DIFFERENCES, oneformer=plain_cores)


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
    drawn(case, "rt_detr_resnet", 4, rt_detr_resnet)
    drawn(case, "rt_detr", 6, rt_detr)
    drawn(case, "deformable_detr", 6, deformable_detr)
    drawn(case, "rt_detr_v2", 4, lambda draw: rt_detr(draw, "RTDetrV2"))
    drawn(case, "d_fine", 5, d_fine)
    drawn(case, "upernet", 6, upernet)
    drawn(case, "dpt", 6, dpt)
    drawn(case, "prompt_depth_anything", 3, lambda draw: {**depth_anything(draw), "class": "PromptDepthAnythingForDepthEstimation", "_feed": prompted})
    drawn(case, "mask2former", 5, mask2former)
    drawn(case, "maskformer", 5, maskformer)
    drawn(case, "dab-detr", 5, dab_detr)
    drawn(case, "eomt", 4, eomt)
    drawn(case, "eomt_dinov3", 3, eomt_dinov3)
    drawn(case, "mgp-str", 4, mgp_str)
    drawn(case, "swin2sr", 8, swin2sr)
    drawn(case, "rf_detr_dinov2", 3, rf_detr_dinov2)
    drawn(case, "rf_detr", 5, rf_detr)
    drawn(case, "deimv2", 8, deimv2)
    drawn(case, "beit", 5, beit)
    drawn(case, "data2vec-vision", 4, lambda draw: beit(draw, "Data2VecVision"))
    drawn(case, "glpn", 4, glpn)
    drawn(case, "swin", 3, lambda draw: masked_images(draw, "Swin"))
    drawn(case, "swinv2", 3, lambda draw: masked_images(draw, "Swinv2"))
    drawn(case, "focalnet", 3, lambda draw: masked_images(draw, "FocalNet"))
    drawn(case, "oneformer", 8, oneformer)
    drawn(case, "grounding-dino", 7, grounding_dino)
    one = grounding_dino(Draw("grounding-dino/30"))
    one["backbone_config"]["out_features"] = ["stage4"]
    case("grounding-dino/one-level", one.pop("class"), **{**one, "num_feature_levels": 1})
    drawn(case, "mm-grounding-dino", 5, lambda draw: grounding_dino(draw, "MMGroundingDino"))
    case("rt_detr_resnet/as-wide", "RTDetrResNetBackbone", num_channels=3, embedding_size=16, layer_type="bottleneck",
         hidden_sizes=[16, 16, 40, 40], depths=[1, 2, 1, 1], out_features=["stage4"], _feed=wide, _loss=["feature_maps"], _attention=("eager",))
    for model_type, draw, outs in (("detr", detr, PYRAMID[2:]), ("rt_detr", rt_detr, PYRAMID), ("d_fine", d_fine, PYRAMID)):
        architecture, made = over_swin(draw(Draw(model_type + "/30")), outs)
        case(model_type + "/swin", architecture, **made)
    made = {**detr(Draw("detr/31")), "_feed": cells_of}
    made.update(backbone_config={**convnext(Draw("convnext/31")), "out_features": ["stage4"]})
    case("detr/convnext", made.pop("class"), **made)
    made = {**detr(Draw("detr/32")), "_feed": plain_cells}
    made.update(backbone_config=dict(tower, model_type="dinov2", out_indices=[2]))
    case("detr/plain-tower", made.pop("class"), **made)
    textnet_sizes = dict(model_type="textnet", stem_out_channels=6, hidden_sizes=[6, 8, 8, 10, 12], conv_layer_strides=[[1], [2], [2, 1], [2]],
                         conv_layer_kernel_sizes=[[[3, 3]], [[3, 1]], [[3, 3], [1, 3]], [[3, 3]]])
    bit_sizes = dict(model_type="bit", num_channels=3, embedding_size=8, hidden_sizes=[8, 16, 24, 32], depths=[1, 2, 1, 1], num_groups=4)
    for place, inside in enumerate((textnet_sizes, dict(model_type="pp_lcnet", scale=0.25), bit_sizes)):
        made = {**detr(Draw(f"detr/{33 + place}")), "backbone_config": inside, "_feed": even_pixels}
        case("detr/" + inside["model_type"], made.pop("class"), **made)
    case("dpt/tower", "DPTModel", hidden_size=24, num_attention_heads=3, num_hidden_layers=2, intermediate_size=40, image_size=15, patch_size=5,
         backbone_out_indices=[0, 1, 1, 1], _feed=squares, _attention=("eager",))
