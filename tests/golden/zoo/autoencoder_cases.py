# SPDX-License-Identifier: Apache-2.0
"""The autoencoders of diffusers that are counted: for each a function that draws its arguments, and its inputs."""

import math

import torch

from diffusion_cases import even, flag


def widths_of(choose, most=3, by=4):
    return [by * choose.randint(1, 4) for _ in range(choose.randint(1, most))]


def pixels(channels, side, frames=lambda choose: None, **more):
    """Inputs of a run: a clip, or without `frames` images, whose sides need no multiple of what the model halves."""
    def inputs(choose, model):
        batch, t = choose.randint(1, 2), frames(choose)
        h, w = (choose.randint(2 * side, 3 * side + 1) for _ in range(2))
        shape = (batch, channels, h, w) if t is None else (batch, channels, t, h, w)
        return dict(more, grids=[[t or 1, h, w]] * batch, sample=torch.randn(shape))

    return inputs


def AutoencoderKL(choose):
    widths = widths_of(choose)
    down = [choose.choice(["DownEncoderBlock2D", "AttnDownEncoderBlock2D"]) for _ in widths]
    up = [choose.choice(["UpDecoderBlock2D", "AttnUpDecoderBlock2D"]) for _ in widths]
    config = dict(in_channels=choose.randint(1, 4), out_channels=choose.randint(1, 4), block_out_channels=widths,
                  down_block_types=down, up_block_types=up, layers_per_block=choose.randint(1, 2),
                  latent_channels=choose.randint(2, 6), norm_num_groups=2, use_quant_conv=flag(choose),
                  use_post_quant_conv=flag(choose), mid_block_add_attention=flag(choose))
    return config, pixels(config["in_channels"], 2 ** (len(widths) - 1))


def AutoencoderKLFlux2(choose):
    config, inputs = AutoencoderKL(choose)
    if flag(choose):
        config["decoder_block_out_channels"] = [4 * choose.randint(1, 4) for _ in config["block_out_channels"]]
    return config, inputs


def AutoencoderKLTemporalDecoder(choose):
    widths = widths_of(choose, by=32)
    config = dict(in_channels=choose.randint(1, 4), out_channels=choose.randint(1, 4), block_out_channels=widths,
                  down_block_types=["DownEncoderBlock2D"] * len(widths), layers_per_block=choose.randint(1, 2),
                  latent_channels=choose.randint(2, 6))
    inner = pixels(config["in_channels"], 2 ** (len(widths) - 1))

    def inputs(choose, model):
        made, frames = inner(choose, model), choose.randint(1, 3)
        (_, h, w), *_ = made["grids"]
        batch = len(made["grids"])
        return dict(made, grids=[[frames, h, w]] * batch, num_frames=frames,
                    sample=torch.randn(batch * frames, config["in_channels"], h, w))

    return config, inputs


def VQModel(choose):
    config, inputs = AutoencoderKL(choose)
    for name in ("use_quant_conv", "use_post_quant_conv"):
        config.pop(name)
    spatial = flag(choose)
    config.update(norm_type="spatial" if spatial else "group", num_vq_embeddings=choose.randint(5, 20),
                  vq_embed_dim=None if spatial or flag(choose) else choose.randint(2, 5))
    if spatial:
        config["norm_num_groups"] = 32
        config["block_out_channels"] = [32 * choose.randint(1, 2) for _ in config["block_out_channels"]]
    return config, inputs


def AsymmetricAutoencoderKL(choose):
    config, inputs = AutoencoderKL(choose)
    for name in ("use_quant_conv", "use_post_quant_conv", "mid_block_add_attention"):
        config.pop(name)
    config.update(down_block_out_channels=config.pop("block_out_channels"), layers_per_down_block=config.pop("layers_per_block"),
                  layers_per_up_block=choose.randint(1, 2), up_block_out_channels=[4 * choose.randint(1, 6) for _ in config["up_block_types"]])
    return config, inputs


def AutoencoderTiny(choose):
    levels = choose.randint(1, 3)
    config = dict(in_channels=choose.randint(1, 4), out_channels=choose.randint(1, 4), latent_channels=choose.randint(2, 6),
                  encoder_block_out_channels=[4 * choose.randint(1, 4)] * levels, upsampling_scaling_factor=choose.randint(2, 3),
                  decoder_block_out_channels=[4 * choose.randint(1, 4)] * levels,
                  num_encoder_blocks=[choose.randint(1, 2) for _ in range(levels)],
                  num_decoder_blocks=[choose.randint(1, 2) for _ in range(levels)])
    return config, pixels(config["in_channels"], 2 ** (levels - 1))


def causal(choose):
    """Frames of a clip of which the first stands alone."""
    return 1 + 4 * choose.randint(0, 2)


def seen_before(width, grid, samples, attentions, fused=True):
    """What full attention multiplies beyond that of a frame and those before it."""
    t, h, w = grid
    pairs = (t * h * w) ** 2 - (h * w) ** 2 * t * (t + 1) // 2
    forward = samples * attentions * 4 * width * pairs
    return {"causal_mask": {"forward": forward, "backward": forward * 5 // 2 if fused else forward * 2,
                            "why": "the kernel gets a mask of frames; the counter takes all pairs"}}


def AutoencoderKLHunyuanVideo(choose):
    widths = [4 * choose.randint(1, 3) for _ in range(choose.randint(2, 5))]
    if flag(choose):
        widths = [4 * choose.randint(1, 3) for _ in range(5)]  # of whose samplers one has nothing to do
    top = len(widths) - 1
    ratio = 2 if top == 4 else 2 ** choose.randint(1, top)
    config = dict(in_channels=choose.randint(1, 4), out_channels=choose.randint(1, 4), latent_channels=choose.randint(2, 5),
                  down_block_types=["HunyuanVideoDownBlock3D"] * len(widths), up_block_types=["HunyuanVideoUpBlock3D"] * len(widths),
                  block_out_channels=widths, layers_per_block=choose.randint(1, 2), norm_num_groups=2,
                  spatial_compression_ratio=ratio, mid_block_add_attention=flag(choose))

    def inputs(choose, model):
        made = pixels(config["in_channels"], ratio, causal)(choose, model)
        (t, h, w), *_ = made["grids"]
        fold = 2 ** min(top, 2)
        latent = ((t - 1) // fold + 1, -(-h // ratio), -(-w // ratio))
        if config["mid_block_add_attention"]:
            made["differences"] = seen_before(widths[-1], latent, len(made["grids"]), 2)
        return made

    return config, inputs


def AutoencoderKLHunyuanImage(choose):
    widths = [32 * choose.randint(1, 2)]
    for _ in range(choose.randint(1, 3)):
        widths.append(widths[-1] * choose.randint(1, 2))
    ratio = 2 ** choose.randint(1, len(widths) - 1)
    config = dict(in_channels=choose.randint(1, 4), out_channels=choose.randint(1, 4), latent_channels=choose.choice([4, 8]),
                  block_out_channels=widths, layers_per_block=choose.randint(1, 2), spatial_compression_ratio=ratio,
                  sample_size=64, downsample_match_channel=flag(choose), upsample_match_channel=flag(choose))
    if not (config["downsample_match_channel"] and config["upsample_match_channel"]):
        config["block_out_channels"] = widths[:1] * len(widths)  # a shortcut reads what it should not
    return config, whole(config["in_channels"], ratio)


def whole(channels, side, frames=None, most=2):
    """Inputs of a run of up to `most` samples whose sides are multiples of `side`."""
    def inputs(choose, model):
        batch, t = choose.randint(1, most), frames and frames(choose)
        h, w = (side * choose.randint(1, 3) for _ in range(2))
        shape = (batch, channels, h, w) if t is None else (batch, channels, t, h, w)
        return dict(grids=[[t or 1, h, w]] * batch, sample=torch.randn(shape))

    return inputs


def AutoencoderKLHunyuanVideo15(choose):
    config, _ = AutoencoderKLHunyuanImage(choose)
    config.pop("sample_size")
    ratio = config["spatial_compression_ratio"]
    config["temporal_compression_ratio"] = choose.choice([fold for fold in (2, 4) if fold <= ratio])

    def inputs(choose, model):
        made = whole(config["in_channels"], ratio, causal, most=1)(choose, model)  # its mask takes one sample
        (t, h, w), *_ = made["grids"]
        latent = ((t - 1) // config["temporal_compression_ratio"] + 1, h // ratio, w // ratio)
        return dict(made, differences=seen_before(config["block_out_channels"][-1], latent, len(made["grids"]), 2, fused=False))

    return config, inputs


def AutoencoderKLCogVideoX(choose):
    widths = widths_of(choose)
    config = dict(in_channels=choose.randint(1, 4), out_channels=choose.randint(1, 4), latent_channels=choose.randint(2, 5),
                  down_block_types=["CogVideoXDownBlock3D"] * len(widths), up_block_types=["CogVideoXUpBlock3D"] * len(widths),
                  block_out_channels=widths, layers_per_block=choose.randint(1, 2), norm_num_groups=2,
                  temporal_compression_ratio=choose.choice([2, 4]))
    return config, pixels(config["in_channels"], 2 ** (len(widths) - 1), lambda choose: choose.choice([1, 9, 17]))


def AutoencoderKLMagvit(choose):
    widths = [4 * choose.randint(1, 4) for _ in range(choose.randint(2, 4))]
    levels, halved = len(widths), choose.randint(0, min(2, len(widths) - 1))

    def kinds(way):
        picked = {1, 2} if levels == 4 else set(choose.sample(range(levels - 1), halved))
        return [f"Spatial{'Temporal' if level in picked else ''}{way}Block3D" for level in range(levels)]

    config = dict(in_channels=choose.randint(1, 4), out_channels=choose.randint(1, 4), latent_channels=choose.randint(2, 5),
                  down_block_types=kinds("Down"), up_block_types=kinds("Up"), block_out_channels=widths,
                  layers_per_block=choose.randint(1, 2), norm_num_groups=2, spatial_group_norm=flag(choose))
    return config, pixels(config["in_channels"], 2 ** (levels - 1), causal)


def AutoencoderKLMochi(choose):
    levels = choose.randint(2, 3)
    draw = lambda most, count: [choose.randint(1, most) for _ in range(count)]
    config = dict(in_channels=15, out_channels=choose.randint(1, 4), latent_channels=choose.randint(2, 5),
                  encoder_block_out_channels=[32 * one for one in draw(2, levels)], layers_per_block=draw(2, levels + 1),
                  decoder_block_out_channels=[32 * one for one in draw(2, levels)], temporal_expansions=draw(3, levels - 1),
                  spatial_expansions=draw(2, levels - 1), add_attention_block=[flag(choose) for _ in range(levels + 1)])
    spaces, times = ([1], [1])
    for s, t in zip(config["spatial_expansions"], config["temporal_expansions"]):
        spaces.append(spaces[-1] * s)
        times.append(times[-1] * t)

    def inputs(choose, model):
        made = pixels(3, spaces[-1], lambda choose: choose.randint(times[-1] + 1, 3 * times[-1]))(choose, model)
        (t, h, w), *_ = made["grids"]
        forward = 0
        for block, (layers, attends) in enumerate(zip(config["layers_per_block"], config["add_attention_block"])):
            at = min(block, levels - 1)
            frames, places = (t - 1) // times[at] + 1, (h // spaces[at]) * (w // spaces[at])
            width = config["encoder_block_out_channels"][at]
            forward += attends * len(made["grids"]) * layers * 4 * width * places * frames * (frames - 1) // 2
        return dict(made, differences={"causal_mask": {
            "forward": forward, "backward": forward * 5 // 2,
            "why": "the kernel gets a causal mask; the counter takes all pairs"}})

    return config, inputs


def AutoencoderDC(choose):
    levels = choose.randint(2, 4)
    widths = [16 * 2 ** choose.randint(0, 1)]
    for _ in range(levels - 1):
        widths.append(widths[-1] * choose.randint(1, 2))
    kinds = [choose.choice(["ResBlock", "EfficientViTBlock"]) for _ in range(levels)]
    layers = lambda: [choose.choice([0, 1, 2]), *[choose.randint(1, 2) for _ in range(levels - 1)]]
    scales = [[choose.choice([3, 5])] if flag(choose) else [] for _ in range(levels)]
    config = dict(in_channels=choose.choice([3, 4]), latent_channels=choose.choice([4, 8]), attention_head_dim=choose.choice([2, 4]),
                  encoder_block_types=choose.choice(["ResBlock", kinds]), decoder_block_types=kinds,
                  encoder_block_out_channels=widths, decoder_block_out_channels=widths, encoder_layers_per_block=layers(),
                  decoder_layers_per_block=layers(), encoder_qkv_multiscales=scales, decoder_qkv_multiscales=scales,
                  upsample_block_type=choose.choice(["pixel_shuffle", "interpolate"]),
                  downsample_block_type=choose.choice(["pixel_unshuffle", "Conv"]))
    if flag(choose):
        config.update(encoder_layers_per_block=[0, *config["encoder_layers_per_block"][1:]], downsample_block_type="Conv")

    def inputs(choose, model):
        batch, side = choose.randint(1, 2), 2 ** (levels - 1)
        h, w = 3 * side, side * choose.randint(2, 3)
        return dict(grids=[[1, h, w]] * batch, sample=torch.randn(batch, config["in_channels"], h, w))

    return config, inputs


def AutoencoderOobleck(choose):
    levels = choose.randint(1, 3)
    ratios = [even(choose, 1, 3) for _ in range(levels)]
    width = even(choose, 2, 6)
    config = dict(encoder_hidden_size=width, downsampling_ratios=ratios, decoder_channels=even(choose, 2, 6),
                  channel_multiples=[choose.randint(1, 4) for _ in range(levels)], decoder_input_channels=width // 2,
                  audio_channels=choose.randint(1, 3))

    def inputs(choose, model):
        batch, hop = choose.randint(1, 2), math.prod(ratios)
        frames = choose.randint(2 * hop, 4 * hop)
        return dict(audio_frames=[frames] * batch, sample=torch.randn(batch, config["audio_channels"], frames))

    return config, inputs


def AutoencoderKLWan(choose):
    levels = choose.randint(2, 4)
    halved = choose.choice([[0, 1], [0, 1], [0], [1], []]) if levels > 2 else choose.choice([[0], []])
    residual = flag(choose)
    mult = choose.choice([[1, 2, 2, 4], [1, 2, 4, 4], [1 if residual else 2, 2, 2, 4]])[:levels]
    config = dict(base_dim=4 * choose.randint(1, 3), decoder_base_dim=choose.choice([None, 8]), z_dim=choose.randint(2, 5),
                  dim_mult=mult, num_res_blocks=choose.randint(1, 2), patch_size=choose.choice([None, 2]) if residual else None,
                  temperal_downsample=[level in halved for level in range(levels - 1)], is_residual=residual,
                  latents_mean=[0.0], latents_std=[1.0])
    if residual:
        config["dim_mult"] = [*mult[:-1], mult[-2]]
    side = 2 ** (levels - 1) * (config["patch_size"] or 1)
    config.update(in_channels=3 * (config["patch_size"] or 1) ** 2, out_channels=3 * (config["patch_size"] or 1) ** 2)

    def inputs(choose, model):
        made = pixels(3, side, causal)(choose, model)
        if residual:
            h, w = (side * choose.randint(1, 2) for _ in range(2))
            batch, c, t, *_ = made["sample"].shape
            made.update(grids=[[t, h, w]] * batch, sample=torch.randn(batch, c, t, h, w))
        return made

    return config, inputs


def AutoencoderKLQwenImage(choose):
    config, _ = AutoencoderKLWan(choose)
    for name in ("decoder_base_dim", "is_residual", "in_channels", "out_channels", "patch_size"):
        config.pop(name)
    config.update(input_channels=3)
    return config, pixels(3, 2 ** (len(config["dim_mult"]) - 1), causal)


def AutoencoderKLHunyuanImageRefiner(choose):
    config, _ = AutoencoderKLHunyuanVideo15(choose)
    return config, whole(config["in_channels"], config["spatial_compression_ratio"], lambda choose: choose.randint(1, 3))


def LongCatAudioDiTVae(choose):
    levels = choose.randint(1, 3)
    strides, width = [even(choose, 1, 2) for _ in range(levels)], 4 * choose.randint(1, 2)
    mults = [2 ** choose.randint(0, 1)]
    for _ in range(levels - 1):
        mults.append(mults[-1] * 2 ** choose.randint(0, 1))
    if flag(choose):
        strides, mults, levels = None, None, 5
    config = dict(in_channels=choose.randint(1, 2), channels=width, c_mults=mults, strides=strides, latent_dim=2, encoder_latent_dim=4,
                  act_fn=choose.choice([None, None, "snake", "elu"]), use_snake=choose.choice([None, None, True, False]))

    def inputs(choose, model):
        batch, hop = choose.randint(1, 2), math.prod(strides or [2] * levels)
        frames = hop * choose.randint(2, 4)
        return dict(audio_frames=[frames] * batch, sample=torch.randn(batch, config["in_channels"], frames))

    return config, inputs


def AutoencoderKLKVAE(choose):
    mults = [choose.randint(1, 2) for _ in range(choose.randint(1, 3))]
    config = dict(in_channels=choose.randint(1, 4), channels=32, num_enc_blocks=choose.randint(1, 2), ch_mult=mults,
                  num_dec_blocks=choose.randint(1, 2), z_channels=choose.randint(2, 5))

    def inputs(choose, model):
        batch, side = choose.randint(1, 2), 2 ** (len(mults) - 1)
        h, w = (side * choose.randint(2, 4) for _ in range(2))
        return dict(grids=[[1, h, w]] * batch, sample=torch.randn(batch, config["in_channels"], h, w))

    return config, inputs


def MiniMaxMusic3Vocoder(choose):
    levels = choose.randint(1, 3)
    config = dict(latent_channels=even(choose, 1, 4), decoder_input_dim=choose.randint(3, 9), upsampling_ratios=[even(choose, 1, 3) for _ in range(levels)],
                  decoder_hidden_dim=2 ** levels * choose.randint(1, 3))

    def inputs(choose, model):
        batch, frames = choose.randint(1, 2), choose.randint(2, 6)
        return dict(audio_frames=[frames] * batch, latents=torch.randn(batch, config["latent_channels"], frames),
                    call=lambda model, latents, return_dict: model(latents))

    return config, inputs


LongCatAudioDiTVae.draws = 8
# More draws, where some ways of a page are seldom taken.
AutoencoderDC.draws = AutoencoderKLHunyuanVideo.draws = AutoencoderKLMagvit.draws = AutoencoderKLWan.draws = 8

CLASSES = [name for name, value in list(globals().items()) if name[0].isupper() and callable(value)]
