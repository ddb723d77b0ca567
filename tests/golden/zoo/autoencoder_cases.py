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


def in_time(frames_of, channels, side, conditioned):
    """Inputs of a clip, and the time that a decoder is told."""
    inner = whole(channels, side, frames_of)

    def inputs(choose, model):
        made = inner(choose, model)
        if conditioned:
            made["temb"] = torch.rand(len(made["grids"]))
        return made

    return inputs


def ltx_decoder(choose, conditioned):
    """Of a decoder whose levels may each widen before they double: which wants what came to be as wide."""
    levels = choose.randint(1, 4)
    widths, factors, scaling = [], [], []
    came = 8 * choose.randint(1, 3)
    for level in range(levels):
        factor = choose.choice([1, 1, 2])
        scales = factor == 2 or flag(choose)
        width = came if factor == 2 or level == 0 or conditioned else 8 * choose.randint(1, 3)
        widths.append(width)
        factors.append(factor)
        scaling.append(scales)
        came = width // factor
        if came % 8:
            break
    turned = lambda values: values[::-1]
    layers = [choose.randint(1, 2) for _ in range(len(widths) + 1)]
    noise = [flag(choose) for _ in layers] if all(a == b for a, b in zip(widths, widths[1:])) and set(factors) == {1} else [False] * len(layers)
    return dict(decoder_block_out_channels=turned(widths), upsample_factor=turned(factors), decoder_layers_per_block=layers,
                decoder_spatio_temporal_scaling=turned(scaling), decoder_inject_noise=noise, upsample_residual=[False] * len(widths))


def AutoencoderKLLTXVideo(choose):
    levels, folds, conditioned = choose.randint(1, 3), flag(choose), choose.randint(0, 2) == 0
    widths = [8 * choose.randint(1, 3) for _ in range(levels + folds)]
    kinds = [choose.choice(["conv", "spatial", "temporal", "spatiotemporal"]) for _ in range(levels)]
    if folds:
        widths = [8]
        for kind in kinds:
            widths.append(widths[-1] * (1 if kind == "conv" else choose.randint(1, 2)))
    config = dict(in_channels=choose.randint(1, 3), out_channels=choose.randint(1, 3), latent_channels=choose.randint(2, 5),
                  block_out_channels=widths, layers_per_block=[choose.randint(1, 2) for _ in range(levels + 1)],
                  down_block_types=["LTXVideo095DownBlock3D" if folds else "LTXVideoDownBlock3D"] * (levels + folds),
                  downsample_type=kinds if folds else ["conv"] * levels, timestep_conditioning=conditioned,
                  spatio_temporal_scaling=[folds or flag(choose) for _ in range(levels)], patch_size=choose.choice([1, 2]),
                  **ltx_decoder(choose, conditioned))
    side = config["patch_size"] * 2 ** levels
    return config, in_time(lambda choose: 1 + 2 ** levels * choose.randint(0, 2), config["in_channels"], side, conditioned)


def AutoencoderKLLTX2Video(choose):
    config, _ = AutoencoderKLLTXVideo(choose)
    conditioned, levels = flag(choose), choose.randint(1, 3)
    widths, kinds = [config["latent_channels"]], []
    for _ in range(levels):
        kinds.append(choose.choice(["conv", "spatial", "temporal", "spatiotemporal"]))
        widths.append(widths[-1] * (1 if kinds[-1] == "conv" else choose.randint(1, 2)))
    widths = [8 * width for width in widths]
    config.update(ltx_decoder(choose, conditioned), latent_channels=widths[0], block_out_channels=widths[1:], downsample_type=kinds,
                  down_block_types=["LTX2VideoDownBlock3D"] * levels, timestep_conditioning=conditioned,
                  layers_per_block=[choose.randint(1, 2) for _ in range(levels + 1)],
                  spatio_temporal_scaling=True if flag(choose) else [True] * levels)
    ups = len(config["upsample_factor"])
    config.update(decoder_spatio_temporal_scaling=True if flag(choose) else [True] * ups, upsample_residual=False,
                  upsample_type=[choose.choice(["spatial", "temporal", "spatiotemporal"]) for _ in range(ups)],
                  decoder_spatial_padding_mode="zeros")
    if not any(config["decoder_inject_noise"]):
        config["decoder_inject_noise"] = False
    side = config["patch_size"] * 2 ** levels
    return config, in_time(lambda choose: 1 + 2 ** levels * choose.randint(0, 2), config["in_channels"], side, conditioned)


def wavelets(channels, cells, halvings, padded):
    """What filters of two numbers multiply, along frames, rows and columns, that make patches of pixels or pixels of patches."""
    work, more = 0, 1 if padded else 0
    t, h, w = cells
    for _ in range(halvings):
        t, h, w = t // 2, h // 2, w // 2
        work += channels * 4 * t * (2 * (2 * h + more) * (2 * w + more) + 4 * h * (2 * w + more) + 8 * h * w)
        channels *= 8
    return work


def AutoencoderKLCosmos(choose):
    levels, patch = choose.randint(1, 4), choose.choice([1, 2, 4])
    ratio = lambda most=2: patch * 2 ** choose.randint(0, most)
    widths = lambda: [8 * choose.randint(1, 3) for _ in range(levels + 1)]
    resolution = 64
    config = dict(in_channels=choose.randint(1, 3), out_channels=choose.randint(1, 3), latent_channels=choose.randint(2, 5),
                  encoder_block_out_channels=widths(), decode_block_out_channels=widths(), num_layers=choose.randint(1, 2),
                  attention_resolutions=[resolution // patch // 2 ** choose.randint(0, levels)], resolution=resolution,
                  patch_size=patch, patch_type=choose.choice(["haar", "rearrange"]), spatial_compression_ratio=ratio(most=choose.randint(0, 2)),
                  temporal_compression_ratio=ratio(most=choose.randint(0, 2)))

    def inputs(choose, model):
        # Two clips of several frames: of fewer, some of the attentions run as plain products.
        side, slow = config["spatial_compression_ratio"], config["temporal_compression_ratio"]
        t, h, w = 1 + slow * choose.randint(1, 2), side * choose.randint(2, 3), side * choose.randint(2, 3)
        return dict(grids=[[t, h, w]] * 2, sample=torch.randn(2, config["in_channels"], t, h, w), differences=seen_by(model, t, h, w))

    def seen_by(model, t, h, w):
        """What runs beside the count, from the shapes of the cells that the temporal attentions see."""
        masked, cells = 0, {}

        def see(module, given):
            cells[module] = given[0].shape

        hooks = [one.register_forward_pre_hook(see) for name, one in model.named_modules()
                 if name.rpartition(".temp_attentions.")[2].isdigit() or name == "decoder.conv_out"]
        with torch.no_grad():
            model(torch.zeros(2, config["in_channels"], t, h, w))
        for hook in hooks:
            hook.remove()
        _, _, frames, rows, columns = cells.pop(model.decoder.conv_out)
        for _, width, f, r, c in cells.values():
            masked += 2 * 4 * width * r * c * (f * (f - 1) // 2)
        steps = int(math.log2(patch)) if config["patch_type"] == "haar" else 0
        made = 2 * wavelets(config["out_channels"], (frames * patch, rows * patch, columns * patch), steps, False)
        return {"causal_mask": {"forward": masked, "backward": masked * 5 // 2,
                                "why": "the kernel gets a mask of frames; the counter takes all pairs"},
                "wavelets": {"forward": 2 * wavelets(config["in_channels"], (t - 1 + patch, h, w), steps, True) + made, "backward": made,
                             "why": "fixed filters of pixels run as convolutions"}}

    return config, inputs


def AutoencoderKLLTX2Audio(choose):
    axis = choose.choice(["none", "width", "height", "none", "width-compatibility", "width"])
    grouped = axis == "none" and flag(choose)
    mults = [choose.randint(1, 3) for _ in range(choose.randint(1, 3))]
    side = 2 ** (len(mults) - 1)
    config = dict(base_channels=32 if grouped else 4 * choose.randint(1, 3), output_channels=choose.randint(1, 3), ch_mult=mults,
                  num_res_blocks=choose.randint(1, 2), attn_resolutions=choose.choice([None, [16], [32, 8]]), resolution=32,
                  in_channels=choose.randint(1, 3), latent_channels=choose.randint(2, 5), causality_axis=axis, norm_type="group" if grouped else "pixel",
                  mid_block_add_attention=flag(choose), mel_bins=choose.randint(side, 3 * side + 1))

    def inputs(choose, model):
        batch, frames = choose.randint(1, 2), choose.randint(2 * side, 4 * side + 1)
        return dict(audio_frames=[frames] * batch, sample=torch.randn(batch, config["in_channels"], frames, config["mel_bins"]))

    return config, inputs


def AutoencoderKLKVAEVideo(choose):
    mults = [choose.randint(1, 2) for _ in range(choose.randint(1, 3))]
    times = choose.choice([1, 2, 4])
    config = dict(ch=32, ch_mult=mults, num_res_blocks=choose.randint(1, 2), in_channels=choose.randint(1, 3), out_ch=choose.randint(1, 3),
                  z_channels=choose.randint(2, 5), temporal_compress_times=times)
    side = 2 ** (len(mults) - 1)
    if side < times:
        config["temporal_compress_times"] = side
    return config, whole(config["in_channels"], 2 * side, lambda choose: choose.choice([1, 5, 9, 17, 25]), most=1)


def AutoencoderKLQwenImage21(choose):
    config, _ = AutoencoderKLWan(choose)
    if flag(choose):
        config.update(dim_mult=[1, 2, 2, 4, 4], temperal_downsample=[False, True, True, True])
    levels, base = len(config["dim_mult"]), config["base_dim"]
    timed = config["temperal_downsample"]
    widths = [base * mult for mult in config["dim_mult"]]
    up_widths = [(config["decoder_base_dim"] or base) * mult for mult in config["dim_mult"]]
    idle = sum(w * w + w for w, time in zip(widths, timed) if time) + sum(2 * w * w + 2 * w for w, time in zip(up_widths[1:], timed) if time)
    config["_unused"] = {"time_conv": {"count": idle, "why": "a picture has one frame"}} if idle else {}
    side = 2 ** (levels - 1) * (config["patch_size"] or 1)
    return config, whole(3, side, lambda choose: 1)


def waveform(channels, least):
    """Inputs of a run: clips of so many samples, to thrice as many."""
    def inputs(choose, model):
        batch, frames = choose.randint(1, 2), choose.randint(least, 3 * least)
        shape = (batch, channels, frames) if channels else (batch, frames)
        return dict(audio_frames=[frames] * batch, sample=torch.randn(shape))

    return inputs


def MMAudioVAE(choose):
    n_fft = choose.randint(12, 24)
    hop = choose.randint(4, n_fft // 2)
    config = dict(mel_bins=choose.randint(2, 6), latent_channels=choose.randint(2, 5), hidden_channels=4 * choose.randint(1, 3),
                  channel_multipliers=[choose.randint(1, 3) for _ in range(choose.randint(1, 3))], layers_per_block=choose.randint(1, 2),
                  n_fft=n_fft, hop_length=hop, sample_rate=8000)
    return config, waveform(None, 3 * n_fft)


def AutoencoderKLKVAEAudio(choose):
    levels, heads = choose.randint(1, 3), choose.randint(1, 3)
    rates = [choose.randint(2, 5) for _ in range(levels)]
    config = dict(encoder_dim=choose.randint(2, 5), encoder_rates=rates, latent_dim=8 * heads, codebook_dim=choose.randint(2, 5),
                  decoder_dim=2 ** levels * choose.randint(1, 3), decoder_rates=rates[::-1], num_channels=choose.randint(1, 2),
                  attn_num_heads=heads)
    return config, waveform(config["num_channels"], 2 * math.prod(rates))


LongCatAudioDiTVae.draws = 8
# More draws, where some ways of a page are seldom taken.
AutoencoderDC.draws = AutoencoderKLHunyuanVideo.draws = AutoencoderKLMagvit.draws = AutoencoderKLWan.draws = 8
AutoencoderKLLTXVideo.draws = AutoencoderKLLTX2Video.draws = 10
AutoencoderKLCosmos.draws = AutoencoderKLLTX2Audio.draws = 13

CLASSES = [name for name, value in list(globals().items()) if name[0].isupper() and callable(value)]
