# SPDX-License-Identifier: Apache-2.0
"""Networks of convolutions: MobileNet, EfficientNet, MobileViT and their family. A grid is pixels."""

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
    choose_before, choose = choose, random.Random("pp_lcnet")
    for draw in range(4):
        stages, came = [], 8 * choose.randint(1, 3)
        net = dict(scale=choose.choice([0.25, 0.5, 1.5]), stem_channels=came, stem_stride=choose.choice([1, 2]), reduction=choose.choice([2, 4]),
                   divisor=choose.choice([4, 8]))
        for _ in range(5):
            blocks = []
            for place in range(choose.randint(1, 2)):
                width = choose.choice([came, 8 * choose.randint(1, 6)])
                blocks.append([choose.choice([1, 3, 5]) if draw else 3, came, width, 1 if place else choose.randint(1, 2), choose.random() < 0.5])
                came = width
            stages.append(blocks)
        net["block_configs"] = stages
        kind = ["ForImageClassification", "Backbone"][draw % 2]
        case(f"pp_lcnet/{draw}", "PPLCNet" + kind, **net, **(dict(class_expand=choose.randint(5, 20), num_labels=5) if draw % 2 == 0 else {}),
             _feed=sized(40 + draw), **({"_loss": ["feature_maps"]} if draw % 2 else {"_loss": ["last_hidden_state"]}))
        case(f"pp_lcnet_v3/{draw}", "PPLCNetV3Backbone", **net, conv_symmetric_num=choose.randint(1, 3), _feed=sized(50 + draw),
             _loss=["feature_maps"])
    case("pp_lcnet/default-blocks", "PPLCNetForImageClassification", scale=0.1, divisor=2, class_expand=9, num_labels=5, _feed=sized(40),
         _loss=["last_hidden_state"])
    case("pp_lcnet_v3/default-blocks", "PPLCNetV3Backbone", scale=0.1, divisor=2, conv_symmetric_num=2, _feed=sized(40), _loss=["feature_maps"])
    choose = random.Random("univnet")
    for draw in range(3):
        levels, p = choose.randint(1, 3), choose.randint(3, 6)
        net = dict(model_in_channels=p, model_hidden_channels=choose.randint(2, 5), num_mel_bins=choose.randint(3, 8),
                   resblock_kernel_sizes=[choose.choice([3, 5]) for _ in range(levels)], kernel_predictor_num_blocks=choose.randint(1, 3),
                   resblock_stride_sizes=[choose.randint(2, 4) for _ in range(levels)], kernel_predictor_hidden_channels=p,
                   resblock_dilation_sizes=[[1, 2, 3][:choose.randint(1, 3)] for _ in range(levels)], kernel_predictor_conv_size=choose.choice([1, 3]))
        case(f"univnet/{draw}", "UnivNetModel", **net, _loss=["waveforms"], _feed=spectrogram,
             _samples=tuple((choose.randint(1, 2), choose.randint(5, 9)) for _ in range(2)))
    choose = random.Random("superpoint")
    for draw in range(3):
        net = dict(encoder_hidden_sizes=[small(choose) for _ in range(4)], decoder_hidden_size=small(choose), descriptor_decoder_dim=small(choose),
                   keypoint_threshold=0.0, border_removal_distance=0)
        case(f"superpoint/{draw}", "SuperPointForKeypointDetection", **net, _loss=["scores", "descriptors"], _feed=sized(16 + draw))
    choose = random.Random("swiftformer")
    for draw in range(4):
        levels, pad = choose.randint(2, 4), choose.randint(0, 2)
        net = dict(num_channels=choose.randint(1, 3), depths=[choose.randint(1, 3) for _ in range(levels)], mlp_ratio=choose.randint(2, 4),
                   embed_dims=[small(choose) for _ in range(levels)], downsamples=[True] * levels, down_patch_size=2 * pad + 1,
                   down_stride=choose.randint(1, 2), down_pad=pad, use_layer_scale=draw % 2 == 0)
        case(f"swiftformer/{draw}", "SwiftFormer" + ["ForImageClassification", "Model"][draw // 2 % 2], **net, num_labels=5, _feed=sized(36 + draw))
    choose = random.Random("vibevoice_acoustic_tokenizer")
    for draw in range(3):
        ratios = [choose.randint(2, 4) for _ in range(choose.randint(1, 3))]
        hop = math.prod(ratios)
        net = dict(channels=choose.randint(1, 2), hidden_size=choose.randint(3, 8), kernel_size=choose.choice([3, 5, 7]), downsampling_ratios=ratios,
                   num_filters=choose.randint(2, 5), depths=[choose.randint(1, 3) for _ in range(len(ratios) + 1)], ffn_expansion=choose.randint(2, 4))
        clips = tuple((choose.randint(1, 2), choose.randint(2 * hop, 4 * hop)) for _ in range(2))
        case(f"vibevoice_acoustic_tokenizer/{draw}", "VibeVoiceAcousticTokenizerModel", **net, _loss=["audio"], _samples=clips,
             _feed=waves("input_values", "channels"))
        case(f"vibevoice_acoustic_tokenizer_encoder/{draw}", "VibeVoiceAcousticTokenizerEncoderModel", **net, _loss=["latents"], _samples=clips,
             _feed=waves("hidden_states", "channels"))
        case(f"vibevoice_acoustic_tokenizer_decoder/{draw}", "VibeVoiceAcousticTokenizerDecoderModel", **net, _loss=["audio"],
             _samples=tuple((choose.randint(1, 2), choose.randint(2, 5)) for _ in range(2)), _feed=waves("hidden_states", "hidden_size"))
    choose = random.Random("encodec")
    for draw in range(4):
        ratios = [choose.randint(2, 4) for _ in range(choose.randint(1, 3))]
        hop, bits = math.prod(ratios), choose.randint(3, 5)
        net = dict(audio_channels=choose.randint(1, 2), hidden_size=choose.randint(3, 8), num_filters=2 * choose.randint(1, 3), upsampling_ratios=ratios,
                   num_residual_layers=choose.randint(1, 2), norm_type=["weight_norm", "time_group_norm"][draw % 2], kernel_size=choose.choice([3, 5, 7]),
                   last_kernel_size=choose.choice([3, 5, 7]), residual_kernel_size=choose.choice([1, 3]), compress=choose.randint(1, 2),
                   num_lstm_layers=choose.randint(1, 2), use_conv_shortcut=draw > 1, codebook_size=2 ** bits, use_causal_conv=draw != 3,
                   sampling_rate=20 * hop, target_bandwidths=[0.02 * bits * choose.randint(1, 3), 0.2 * bits], pad_mode="reflect" if draw else "constant")
        case(f"encodec/{draw}", "EncodecModel", **net, _loss=["audio_values"], _feed=recurrent, _differences=first_step,
             _samples=tuple((choose.randint(1, 2), choose.randint(3 * hop, 5 * hop)) for _ in range(2)))
    choose = choose_before
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


def waves(name, channels):
    """A feed of clips, under this name, of as many channels as that key says."""
    def feed(model, run):
        import torch
        clips, samples = run
        return {name: torch.randn(clips, getattr(model.config, channels), samples)}, {"lengths": [], "audio_frames": [samples] * clips}

    return feed


def recurrent(model, run):
    """Clips for a model with LSTMs, which run as the products that they are: a kernel of oneDNN hides them."""
    import torch

    def plainly(forward):
        def run_plainly(*given):
            with torch.backends.mkldnn.flags(enabled=False):
                return forward(*given)
        return run_plainly

    for module in model.modules():
        if isinstance(module, torch.nn.LSTM):
            module.forward = plainly(module.forward)
    return waves("input_values", "audio_channels")(model, run)


def first_step(config, batch, length, fused, **shapes):
    """An LSTM's first state is zeros, which get no gradient."""
    h = config.num_filters * 2 ** len(config.upsampling_ratios)
    return {"first_step": {"forward": 0, "backward": -batch * config.num_lstm_layers * 2 * h * 4 * h,
                           "why": "recurrent layers begin with zeros"}}


def spectrogram(model, run):
    """Frames of a spectrogram."""
    import torch
    clips, frames = run
    return {"input_features": torch.randn(clips, frames, model.config.num_mel_bins)}, {"lengths": [], "audio_frames": [frames] * clips}


def divisible(value, by):
    made = max(by, int(value + by / 2) // by * by)
    return made + by if made < 0.9 * value else made
