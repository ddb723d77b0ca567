# SPDX-License-Identifier: Apache-2.0
"""Networks of convolutions: MobileNet, EfficientNet, MobileViT and their kin. A grid is pixels."""

import math
import random

import feeds


def sized(least, most=None):
    """Images of drawn sizes, which need no multiple of what a network halves."""
    choose = random.Random(least)
    most = most or 2 * least
    runs = tuple((choose.randint(2, 3), (1, choose.randint(least, most), choose.randint(least, most))) for _ in range(2))
    return feeds.variant(feeds.pixels, *runs, patch=1)


def small(choose):
    """A number of channels."""
    return 4 * choose.randint(1, 4)


def cases(case):
    choose = random.Random("convolutions")
    for draw in range(3):
        net = dict(num_channels=choose.randint(1, 3), depth_multiplier=choose.choice([0.0625, 0.1, 0.25]),
                   min_depth=choose.randint(3, 9), tf_padding=draw != 1)
        case(f"mobilenet_v1/{draw}", ["MobileNetV1ForImageClassification", "MobileNetV1Model"][draw % 2], **net,
             num_labels=5, _feed=sized(40 + draw))
    for draw, kind in enumerate(("ForImageClassification", "Model", "ForSemanticSegmentation", "ForImageClassification")):
        net = dict(num_channels=choose.randint(1, 3), depth_multiplier=choose.choice([0.1, 0.25, 0.35]),
                   min_depth=choose.randint(3, 9), depth_divisible_by=choose.choice([2, 4]), expand_ratio=choose.choice([2.0, 3.5]),
                   output_stride=[32, 16, 8, 32][draw], first_layer_is_expansion=draw % 2 == 0, finegrained_output=draw == 1,
                   tf_padding=draw != 1)
        case(f"mobilenet_v2/{draw}", "MobileNetV2" + kind, **net, num_labels=5, _feed=sized(50 + draw))
    case("mobilenet_v2/as-wide", "MobileNetV2Model", num_channels=2, depth_multiplier=1.0, expand_ratio=1.0, _feed=sized(33))
    for draw in range(4):
        levels = 3
        net = dict(num_channels=choose.randint(1, 3), width_coefficient=0.05 + 0.05 * draw, depth_coefficient=[1.0, 1.3, 1.1, 1.1][draw],
                   depth_divisor=choose.choice([2, 4]), kernel_sizes=[choose.choice([3, 5]) for _ in range(levels)],
                   in_channels=[32, 64, 80], out_channels=[64, 80, 120], strides=[[1, 2, 2], [2, 1, 2], [2, 2, 1], [1, 2, 2]][draw],
                   num_block_repeats=[1, 2, 2], expand_ratios=[1, choose.randint(2, 4), choose.randint(1, 3)],
                   squeeze_expansion_ratio=0.25, depthwise_padding=[[], [2], [2], [4]][draw])
        net["hidden_dim"] = divisible(1280 * net["width_coefficient"], net["depth_divisor"])
        case(f"efficientnet/{draw}", "EfficientNet" + ["ForImageClassification", "Model"][draw % 2], **net, num_labels=5,
             _feed=sized(30 + draw))
    for draw, kind in enumerate(("ForImageClassification", "Model", "ForSemanticSegmentation")):
        heads = choose.randint(1, 3)
        net = dict(num_channels=choose.randint(1, 3), patch_size=[2, 3, 2][draw], hidden_sizes=[heads * small(choose) for _ in range(3)],
                   neck_hidden_sizes=[small(choose) for _ in range(7)], num_attention_heads=heads, mlp_ratio=choose.choice([1.5, 2.0]),
                   expand_ratio=choose.choice([1.5, 3.0]), output_stride=[32, 16, 8][draw], qkv_bias=draw != 1, aspp_out_channels=12)
        case(f"mobilevit/{draw}", "MobileViT" + kind, **net, num_labels=5, _feed=sized(60 + draw))
    for draw in range(3):
        ratios = [choose.choice([2, 4, 6]) for _ in range(choose.randint(1, 3))]
        hop = math.prod(ratios)
        net = dict(encoder_hidden_size=choose.randint(2, 6), downsampling_ratios=ratios, codebook_size=choose.choice([8, 16]),
                   decoder_hidden_size=2 ** len(ratios) * choose.randint(1, 4), n_codebooks=choose.randint(1, 3),
                   codebook_dim=choose.randint(2, 5))
        case(f"dac/{draw}", "DacModel", **net, _loss=["audio_values"], _feed=sound,
             _samples=tuple((choose.randint(1, 2), choose.randint(2 * hop, 4 * hop)) for _ in range(2)))
    for draw, kind in enumerate(("ForImageClassification", "Model", "ForImageClassificationWithTeacher")):
        keys = choose.choice([4, 8])
        net = dict(image_size=[64, 80, 112][draw], num_channels=choose.randint(1, 3), hidden_sizes=[8 * choose.randint(1, 4) for _ in range(3)],
                   num_attention_heads=[choose.randint(1, 3) for _ in range(3)], depths=[choose.randint(1, 2) for _ in range(3)],
                   key_dim=[keys, choose.randint(3, 9), choose.randint(3, 9)], mlp_ratio=[0 if draw == 1 else 2, choose.randint(1, 2), choose.randint(1, 2)],
                   attention_ratio=[choose.randint(1, 3) for _ in range(3)])
        case(f"levit/{draw}", "Levit" + kind, **net, num_labels=5, _feed=feeds.variant(feeds.pixels, 2, 3, patch=1))
    for draw in range(5):
        kind = ["ForImageClassification", "Model", "Backbone", "Model", "Model"][draw]
        last = choose.choice([32, 64])
        net = dict(num_channels=choose.randint(1, 3), embedding_size=8 * choose.randint(1, 2), depths=[choose.randint(1, 2) for _ in range(3)],
                   hidden_sizes=[8 * choose.randint(1, 4), 8 * choose.randint(1, 6), last], num_groups=2,
                   layer_type=["preactivation", "bottleneck"][draw % 2], global_padding=[None, "SAME", "same", None, None][draw],
                   embedding_dynamic_padding=draw in (2, 3), output_stride=[32, 8, 32, 32, 4][draw])
        case(f"bit/{draw}", "Bit" + kind, **net, num_labels=5, _feed=sized(36 + draw),
             **({"_loss": ["feature_maps"]} if kind == "Backbone" else {}))
    for draw, kind in enumerate(("ForImageClassification", "Backbone", "ForImageClassification")):
        levels = 3
        many = lambda least, most, by=1: [by * choose.randint(least, most) for _ in range(levels)]
        outs, channels = many(2, 6, 4), choose.randint(1, 3)
        net = dict(num_channels=channels, stem_channels=[channels, 8, 12], stem_strides=[2, 1, 1, [2, 1, 2][draw], 1],
                   stage_in_channels=[12, *outs[:-1]], stage_mid_channels=many(1, 3, 4), stage_out_channels=outs, hidden_sizes=outs,
                   stage_num_blocks=many(1, 2), stage_downsample=[draw == 1, True, draw != 2], stage_downsample_strides=[2] * levels,
                   stage_light_block=[draw == 2, False, True], stage_kernel_size=[3, 5, 3], stage_numb_of_layers=[1, 2, 1 + draw],
                   use_learnable_affine_block=draw != 0, depths=many(1, 1), embedding_size=12)
        case(f"hgnet_v2/{draw}", "HGNetV2" + kind, **net, num_labels=5, _feed=sized(40 + draw),
             **({"_loss": ["feature_maps"]} if kind == "Backbone" else {}))
    for draw, kind in enumerate(("ForImageClassification", "Model", "ForSemanticSegmentation")):
        net = dict(num_channels=choose.randint(1, 3), patch_size=[2, 3, 2][draw], expand_ratio=choose.choice([1.5, 2.0]),
                   output_stride=[32, 16, 8][draw], aspp_out_channels=12, n_attn_blocks=[choose.randint(1, 2) for _ in range(3)],
                   base_attn_unit_dims=[choose.choice([64, 96, 128]) for _ in range(3)], width_multiplier=[0.1, 0.25, 0.2][draw],
                   ffn_multiplier=choose.randint(2, 3))
        case(f"mobilevitv2/{draw}", "MobileViTV2" + kind, **net, num_labels=5, _feed=sized(70 + draw))
    case("mobilevitv2/wider", "MobileViTV2Model", width_multiplier=2.25, n_attn_blocks=[1, 1, 1], base_attn_unit_dims=[16, 16, 16],
         _feed=sized(40))
    widths = [small(choose) for _ in range(5)]
    case("textnet/classification", "TextNetForImageClassification", stem_num_channels=3, stem_out_channels=widths[0], hidden_sizes=widths,
         num_labels=5, _feed=feeds.variant(sized(44), patch=1))
    case("textnet/model", "TextNetModel", stem_num_channels=3, stem_out_channels=8, hidden_sizes=[8, 8, 8, 12, 16], stem_kernel_size=5,
         stem_stride=1, conv_layer_kernel_sizes=[[[3, 3]], [[1, 5], [3, 1]], [[3, 3]], [[5, 3], [1, 3]]],
         conv_layer_strides=[[1], [2, 1], [3], [1, 2]], _feed=sized(45))
    case("textnet/backbone", "TextNetBackbone", stem_num_channels=3, stem_out_channels=widths[1], hidden_sizes=widths[1:] + widths[:1],
         _loss=["feature_maps"], _feed=sized(46))


def sound(model, run):
    """Clips of one channel."""
    import torch
    clips, samples = run
    return {"input_values": torch.randn(clips, 1, samples)}, {"lengths": [], "audio_frames": [samples] * clips}


def divisible(value, by):
    made = max(by, int(value + by / 2) // by * by)
    return made + by if made < 0.9 * value else made
