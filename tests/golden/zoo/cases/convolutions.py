# SPDX-License-Identifier: Apache-2.0
"""Networks of convolutions: MobileNet, EfficientNet, MobileViT and their kin. A grid is pixels."""

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
    for draw in range(3):
        levels = 3
        net = dict(num_channels=choose.randint(1, 3), width_coefficient=0.05 + 0.05 * draw, depth_coefficient=[1.0, 1.3, 1.1][draw],
                   depth_divisor=choose.choice([2, 4]), kernel_sizes=[choose.choice([3, 5]) for _ in range(levels)],
                   in_channels=[32, 64, 80], out_channels=[64, 80, 120], strides=[[1, 2, 2], [2, 1, 2], [2, 2, 1]][draw],
                   num_block_repeats=[1, 2, 2], expand_ratios=[1, choose.randint(2, 4), choose.randint(1, 3)],
                   squeeze_expansion_ratio=0.25, depthwise_padding=[[], [4], [2]][draw])
        net["hidden_dim"] = divisible(1280 * net["width_coefficient"], net["depth_divisor"])
        case(f"efficientnet/{draw}", "EfficientNet" + ["ForImageClassification", "Model", "Model"][draw], **net, num_labels=5,
             _feed=sized(30 + draw))
    for draw, kind in enumerate(("ForImageClassification", "Model", "ForSemanticSegmentation")):
        heads = choose.randint(1, 3)
        net = dict(num_channels=choose.randint(1, 3), patch_size=[2, 3, 2][draw], hidden_sizes=[heads * small(choose) for _ in range(3)],
                   neck_hidden_sizes=[small(choose) for _ in range(7)], num_attention_heads=heads, mlp_ratio=choose.choice([1.5, 2.0]),
                   expand_ratio=choose.choice([1.5, 3.0]), output_stride=[32, 16, 8][draw], qkv_bias=draw != 1, aspp_out_channels=12)
        case(f"mobilevit/{draw}", "MobileViT" + kind, **net, num_labels=5, _feed=sized(60 + draw))


def divisible(value, by):
    made = max(by, int(value + by / 2) // by * by)
    return made + by if made < 0.9 * value else made
