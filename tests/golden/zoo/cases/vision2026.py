# SPDX-License-Identifier: Apache-2.0
"""More towers of vision: aimv2, mlcd, pixio, tipsv2, vivit, vitpose; convolutions: resnet, regnet; levels: poolformer."""

import feeds
from cases.vision import contrasted, windows


def whole_windows(config, batch, length, fused, grids):
    """Windows at the border are filled with zeros, which are projected and attended as patches are."""
    sam = hasattr(config, "global_attn_indexes")
    relative = config.use_rel_pos if sam else config.use_relative_position_embeddings
    cut = [layer for layer in range(config.num_hidden_layers) if config.window_size > 0
           and (layer not in config.global_attn_indexes if sam else layer in config.window_block_indices)]
    width, side = config.hidden_size, config.window_size
    linears = cores = 0
    for _, height, columns in grids if cut else ():
        slots = -(-height // side) * side * -(-columns // side) * side
        seen, lines = 1, 0
        for axis, other in ((height, columns), (columns, height)):
            squares = axis // side * side ** 2 + (axis % side) ** 2
            seen *= squares
            lines += other * squares
        linears += 2 * (slots - height * columns) * 4 * width * width
        cores += 2 * 2 * width * (slots * side * side - seen)
        cores += 2 * width * (slots * 2 * side - lines) if relative else 0
    extra = len(cut) * (linears + cores)
    return {"padding": {"forward": extra, "backward": 2 * extra,
                        "why": "every window is whole, and the zeros that fill it are computed"}}


DIFFERENCES = {"sam_vision_model": whole_windows, "sam_hq_vision_model": whole_windows, "vitdet": whole_windows,
               "donut-swin": windows, "maskformer-swin": windows}


def towers(case):
    tower = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=5, intermediate_size=66, image_size=28,
                 patch_size=7, num_channels=2)
    case("aimv2_vision_model/model", "Aimv2VisionModel", **tower, use_head=False, _feed=feeds.pixels)
    case("aimv2_vision_model/pooling-behind-the-loss", "Aimv2VisionModel", **tower, _attention=("sdpa",),
         _feed=feeds.pixels)
    case("aimv2_vision_model/biases-native", "Aimv2VisionModel", **tower, qkv_bias=True, mlp_bias=True, is_native=True,
         use_head=False, _samples=((2, (1, 3, 5)),), _feed=feeds.pixels)
    text = dict(vocab_size=101, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=54,
                max_position_embeddings=19, eos_token_id=2)
    case("aimv2_text_model/model", "Aimv2TextModel", **text, _inputs=attended)
    case("aimv2_text_model/biases", "Aimv2TextModel", **text, qkv_bias=True, mlp_bias=True, _inputs=attended)
    case("aimv2/model", "Aimv2Model", text_config=text, vision_config=tower, projection_dim=26, _attention=("sdpa",),
         _loss=["logits_per_image"], _feed=feeds.contrastive, _inputs=attended_texts, _differences=contrasted(26))
    case("mlcd_vision_model/model", "MLCDVisionModel", **tower, _feed=feeds.pixels)
    case("mlcd/model", "MLCDVisionModel", **tower, _feed=feeds.pixels)
    dino = {key: value for key, value in tower.items() if key != "intermediate_size"}
    case("pixio/model", "PixioModel", **dino, mlp_ratio=3, n_cls_tokens=3, _feed=feeds.pixels)
    case("pixio/any-size", "PixioModel", **dino, qkv_bias=False, _feed=feeds.pixels,
         _samples=((2, (1, 3, 5)), (1, (1, 6, 2))))
    case("tipsv2_vision_model/model", "Tipsv2VisionModel", **dino, mlp_ratio=3, num_register_tokens=2,
         _feed=feeds.pixels)
    case("tipsv2_vision_model/gated", "Tipsv2VisionModel", **dino, use_swiglu_ffn=True, _feed=feeds.pixels)
    case("radio/model", "RadioModel", **dict(dino, num_channels=3), mlp_ratio=3.0, num_cls_tokens=2, num_registers=3, max_img_size=49,
         summary_idxs=[0, 1], _feed=feeds.pixels)
    case("radio/gated", "RadioModel", **dict(dino, num_channels=3), use_swiglu_ffn=True, qkv_bias=False, max_img_size=28, num_cls_tokens=1, num_registers=0,
         summary_idxs=[0], _samples=((2, (1, 3, 2)),), _feed=feeds.pixels)
    people = dict(tower, num_register_tokens=2)
    case("sapiens2/model", "Sapiens2Model", **people, num_key_value_heads_per_layer=[5, 1, 5], _feed=feeds.pixels)
    case("sapiens2/plain", "Sapiens2Model", **people, use_gated_mlp=False, use_qk_norm=False, use_mask_token=True,
         key_bias=False, mlp_bias=False, _feed=feeds.pixels)
    case("sapiens2/shared-between", "Sapiens2Model", **dict(people, hidden_size=48, num_attention_heads=4),
         num_first_full_attention_layers=1, num_last_full_attention_layers=1, num_key_value_attention_heads=1,
         _feed=feeds.pixels)
    case("sapiens2/usual-share", "Sapiens2Model", **dict(people, hidden_size=64, num_attention_heads=16),
         num_first_full_attention_layers=1, num_last_full_attention_layers=1, _feed=feeds.pixels)
    case("tipsv2/model", "Tipsv2Model", text_config=dict(text, hidden_size=40), vision_config=dict(dino, mlp_ratio=3),
         _loss=["logits_per_image"], _feed=feeds.contrastive, _differences=contrasted(40))
    case("tipsv2_text_model/model", "Tipsv2TextModel", **text)
    video = {key: value for key, value in tower.items() if key != "patch_size"}
    video.update(num_frames=4, tubelet_size=[2, 7, 7])
    case("vivit/classification", "VivitForVideoClassification", **video, num_labels=5, _feed=feeds.frames)
    case("vivit/model", "VivitModel", **video, pooler_output_size=26, _feed=feeds.frames)
    case("vivit/no-biases", "VivitModel", **dict(video, tubelet_size=[1, 14, 7]), qkv_bias=False, _feed=feeds.frames)
    pose = dict(dino, image_size=[28, 21], patch_size=[7, 7], mlp_ratio=3)
    case("vitpose_backbone/backbone", "VitPoseBackbone", **pose, _loss=["feature_maps"], _feed=feeds.pixels)
    case("vitpose_backbone/no-biases", "VitPoseBackbone", **pose, qkv_bias=False, _loss=["feature_maps"],
         _feed=feeds.pixels)


def attended(config, batch, length):
    """Without a mask of the tokenizer the class sees later tokens too."""
    import torch
    return {"attention_mask": torch.ones(batch, length, dtype=torch.long)}


def attended_texts(config, batch, length, grids):
    return attended(config, batch, length)


def levels(case):
    halves = feeds.variant(feeds.pixels, (2, (1, 12, 16)), (1, (1, 19, 23)), patch=2)
    net = dict(num_channels=2, embedding_size=12, hidden_sizes=[16, 24, 40], depths=[2, 1, 2])
    for kind in ("basic", "bottleneck"):
        case("resnet/" + kind, "ResNetForImageClassification", **net, layer_type=kind, num_labels=5, _feed=halves)
        case("resnet/downsampled-early-" + kind, "ResNetModel", **net, layer_type=kind, downsample_in_first_stage=True,
             downsample_in_bottleneck=True, _feed=halves)
    for kind in ("x", "y"):
        case("regnet/" + kind, "RegNetForImageClassification", **net, layer_type=kind, groups_width=8, num_labels=5,
             _feed=halves)
        case("regnet/late-" + kind, "RegNetModel", **net, layer_type=kind, groups_width=50,
             downsample_in_first_stage=False, _feed=halves)
    pool = dict(num_channels=2, hidden_sizes=[12, 20, 28, 36], depths=[1, 2, 1, 1])
    fours = feeds.variant(feeds.pixels, (2, (1, 12, 16)), (1, (1, 9, 13)), patch=4)
    case("poolformer/classification", "PoolFormerForImageClassification", **pool, num_labels=5, _feed=fours)
    case("poolformer/model", "PoolFormerModel", **pool, use_layer_scale=False, mlp_ratio=3.0, _feed=fours)
    case("poolformer/strides", "PoolFormerModel", **pool, strides=[4, 3, 1, 2], patch_sizes=[7, 5, 3, 3],
         padding=[2, 2, 1, 1], _feed=fours)
    swin = dict(image_size=48, patch_size=4, num_channels=2, embed_dim=12, depths=[1, 2], num_heads=[2, 3],
                window_size=5, mlp_ratio=3.0)
    case("donut-swin/classification", "DonutSwinForImageClassification", **swin, num_labels=5, _feed=feeds.pixels)
    case("donut-swin/model", "DonutSwinModel", **swin, qkv_bias=False, _feed=feeds.pixels)
    case("maskformer-swin/model", "MaskFormerSwinModel", **swin, _feed=feeds.pixels)


def reduced(case):
    tiny = dict(num_channels=2, hidden_sizes=[8, 12, 20, 24], depths=[1, 2, 1, 1], num_attention_heads=[1, 2, 5, 3])
    fours = feeds.variant(feeds.pixels, (2, (1, 16, 24)), (1, (1, 19, 17)), patch=4)
    case("segformer/segmentation", "SegformerForSemanticSegmentation", **tiny, decoder_hidden_size=14, num_labels=5,
         _feed=feeds.variant(feeds.pixels, (2, (1, 16, 24)), (1, (1, 19, 33)), patch=4))
    case("segformer/classification", "SegformerForImageClassification", **tiny, num_labels=5, _feed=fours)
    case("segformer/ratios", "SegformerModel", **tiny, sr_ratios=[4, 3, 1, 1], mlp_ratios=[2, 3, 4, 4],
         strides=[4, 3, 2, 1], patch_sizes=[7, 5, 3, 3], _feed=fours)
    case("glpn/model", "GLPNModel", **tiny, _feed=fours)
    case("pvt_v2/classification", "PvtV2ForImageClassification", **tiny, num_labels=5, mlp_ratios=[4, 3, 4, 4],
         _feed=fours)
    case("pvt_v2/pooled-keys", "PvtV2Model", **tiny, linear_attention=True, qkv_bias=False, _feed=fours)
    case("pvt/classification", "PvtForImageClassification", **tiny, image_size=128, num_labels=5,
         mlp_ratios=[4, 3, 4, 4], _feed=feeds.variant(feeds.pixels, (2, (1, 32, 32)), patch=4))
    case("pvt/model", "PvtModel", **tiny, image_size=128, qkv_bias=False, sequence_reduction_ratios=[4, 3, 1, 1],
         _feed=feeds.variant(feeds.pixels, (2, (1, 32, 32)), patch=4))
    clips = dict(hidden_size=40, num_hidden_layers=2, num_attention_heads=5, intermediate_size=66, image_size=28,
                 patch_size=7, num_channels=2, num_frames=3)
    for kind in ("divided_space_time", "space_only", "joint_space_time"):
        case("timesformer/" + kind, "TimesformerForVideoClassification", **clips, attention_type=kind, num_labels=5,
             _feed=feeds.frames)
    case("timesformer/model", "TimesformerModel", **clips, qkv_bias=False, _feed=feeds.frames)


def windowed(case):
    sam = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=5, image_size=77, patch_size=7, num_channels=2,
               window_size=3, global_attn_indexes=[1], output_channels=12)
    for name, prefix in (("sam", "Sam"), ("sam_hq", "SamHQ")):
        kind = name + "_vision_model"
        case(kind + "/model", prefix + "VisionModel", **sam, mlp_ratio=3.0, _attention=("eager",), _feed=feeds.pixels)
        case(kind + "/bare", prefix + "VisionModel", **sam, mlp_dim=66, use_rel_pos=False, use_abs_pos=False,
             qkv_bias=False, _attention=("eager",), _feed=feeds.pixels)
        case(kind + "/no-windows", prefix + "VisionModel", **dict(sam, window_size=0), _attention=("eager",),
             _feed=feeds.pixels)
    det = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=5, image_size=56, patch_size=7, num_channels=2,
               pretrain_image_size=28)
    case("vitdet/plain", "VitDetModel", **det, mlp_ratio=3, _feed=feeds.pixels)
    case("vitdet/windows", "VitDetModel", **det, window_size=3, window_block_indices=[0, 2], residual_block_indices=[1],
         use_relative_position_embeddings=True, qkv_bias=False,
         _feed=feeds.pixels)
    case("vitdet/windows-of-no-layer", "VitDetModel", **det, window_size=3, _feed=feeds.pixels)


def units(case):
    net = dict(image_size=32, patch_size=4, num_channels=2, embed_dim=6, depths=[1, 2], focal_levels=[2, 3],
               focal_windows=[3, 5], mlp_ratio=3.0)
    case("focalnet/classification", "FocalNetForImageClassification", **net, num_labels=5, _feed=feeds.pixels)
    case("focalnet/convolved-patches", "FocalNetModel", **net, use_conv_embed=True, use_layerscale=True,
         use_post_layernorm_in_modulation=True, _feed=feeds.pixels)
    case("focalnet/far-any-size", "FocalNetModel", **dict(net, focal_levels=[1, 4]), _feed=feeds.pixels,
         _samples=((2, (1, 9, 6)), (1, (1, 7, 11))))
    hiera = dict(embed_dim=8, image_size=[64, 96], num_channels=2, depths=[1, 2, 2, 1], num_heads=[1, 2, 4, 2], mlp_ratio=3.0)
    fours = feeds.variant(feeds.pixels, patch=4)
    case("hiera/classification", "HieraForImageClassification", **hiera, num_labels=5, _feed=fours)
    case("hiera/all-see-all", "HieraModel", **hiera, masked_unit_attention=[False] * 4, _feed=fours)
    case("hiera/all-units", "HieraModel", **hiera, masked_unit_attention=[True] * 4, _feed=fours)
    case("hiera/fewer-pools", "HieraModel", **dict(hiera, depths=[2, 1, 1], num_heads=[1, 2, 4]), num_query_pool=1,
         masked_unit_attention=[True, True, False], _feed=fours)


def cases(case):
    units(case)
    windowed(case)
    reduced(case)
    towers(case)
    levels(case)
