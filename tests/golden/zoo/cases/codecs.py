# SPDX-License-Identifier: Apache-2.0
"""Codecs of sound whose frames attend: sizes and flags drawn at random."""

import math

import feeds
from cases.speech2026 import masked_frames
from draws import drawn


@feeds.feed()
def waves(model, run):
    """A run is (clips, samples, or vectors, of each)."""
    import torch
    clips, samples = run
    config = model.config
    decodes = type(model).__name__.endswith("DecoderModel")
    name, channels = ("latents", config.hidden_size) if decodes else ("input_values", config.audio_channels)
    return {name: torch.randn(clips, channels, samples)}, {"lengths": [], "audio_frames": [samples] * clips}


def of_mimi(draw, kind):
    ratios = [8, 6, 5, 4] if draw.place == 4 else draw.some(draw.size(1, 3), 2, 3, 4)
    hop, heads, dim = math.prod(ratios), draw.choice([2, 4]), draw.size(1, 3, of=2)
    groups = draw.choice([1, 2, 4])
    width = 4 * heads * draw.size(1, 3)
    vectors = draw.choice([width, draw.size(3, 9)])
    config = {"class": "Mimi" + kind + "Model", "sampling_rate": hop * draw.size(10, 50) - draw.choice([0, 0, 1]),
              "audio_channels": draw.size(1, 2), "hidden_size": width, "num_filters": draw.size(1, 3, of=2),
              "num_residual_layers": draw.size(1, 2), "upsampling_ratios": ratios, "kernel_size": draw.choice([3, 5, 7]),
              "last_kernel_size": draw.choice([3, 5]), "residual_kernel_size": draw.choice([1, 3]), "use_causal_conv": draw.place != 1,
              "compress": draw.size(1, 2), "codebook_size": 2 ** draw.size(2, 6), "codebook_dim": vectors,
              "vector_quantization_hidden_dimension": vectors, "num_quantizers": draw.size(2, 4), "use_conv_shortcut": draw.flag(),
              "upsample_groups": groups, "num_hidden_layers": draw.size(1, 3), "intermediate_size": draw.size(5, 30),
              "num_attention_heads": heads, "num_key_value_heads": draw.choice([heads, 2]), "sliding_window": draw.size(2, 5),
              "attention_bias": draw.flag(), "pad_mode": draw.choice(["constant", "replicate"])}
    if draw.flag():
        config["head_dim"] = dim
    if draw.place == 2:
        config["frame_rate"] = math.ceil(config["sampling_rate"] / hop) / 3
    slower = 3 if draw.place == 2 else 2 * hop * math.ceil(config["sampling_rate"] / hop) // config["sampling_rate"]
    clip = (3, 7) if kind == "Decoder" else (3 * hop * slower, 7 * hop * slower)
    if draw.place == 4:  # the class's own
        config.pop("upsampling_ratios")
    config.update(_loss=["latents" if kind == "Encoder" else "audio_values"], _feed=waves,
                  _samples=tuple((draw.size(1, 3), draw.size(*clip)) for _ in range(2)))
    return config


def of_pocket(draw, kind):
    """A mimi whose latents are vectors."""
    config = of_mimi(draw, kind)
    for name in ("codebook_size", "codebook_dim", "vector_quantization_hidden_dimension", "num_quantizers", "frame_rate"):
        config.pop(name, None)
    slower = draw.size(2, 4)
    clip = (3, 7) if kind == "Decoder" else (3 * math.prod(config["upsampling_ratios"]) * slower, 7 * math.prod(config["upsampling_ratios"]) * slower)
    config.update({"class": config["class"].replace("Mimi", "PocketTTSAudioTokenizer"), "audio_channels": 1, "latent_stride": slower,
                   "latent_dim": draw.size(3, 9), "_samples": tuple((draw.size(1, 3), draw.size(*clip)) for _ in range(2))})
    return config


def cases(case):
    for kind in ("", "Encoder", "Decoder"):
        side = "_" + kind.lower() if kind else ""
        drawn(case, "mimi" + side, 5, lambda draw: of_mimi(draw, kind))
        drawn(case, "pocket_tts_audio_tokenizer" + side, 4, lambda draw: of_pocket(draw, kind))


def masked_side(config, clips, frames, fused):
    """What a side's transformer multiplies beyond its window."""
    per_pair = 4 * config.num_attention_heads * config.head_dim * config.num_hidden_layers * clips
    return masked_frames(lambda query, key: 0 <= query - key < config.sliding_window, frames, per_pair, fused)["masked_frames"]


def of_encoder(config, batch, length, fused, audio_frames):
    frames = math.ceil(audio_frames[0] / math.prod(config.upsampling_ratios))
    return {"encoder": masked_side(config, len(audio_frames), frames, fused)}


def of_decoder(config, batch, length, fused, audio_frames):
    return {"decoder": masked_side(config, len(audio_frames), config.latent_stride * audio_frames[0], fused)}


def of_codec(config, batch, length, fused, audio_frames):
    """Neither does the encoder have a backward, nor the counter a formula for torch.cdist."""
    clips, hop = len(audio_frames), math.prod(config.upsampling_ratios)
    codes = math.ceil(audio_frames[0] / (hop * config.latent_stride))
    products = 2 * clips * codes * config.num_quantizers * config.vector_quantization_hidden_dimension * config.codebook_size
    encoder = of_encoder(config, batch, length, fused, audio_frames)["encoder"]
    return {"distances": {"forward": -products, "backward": 0, "why": "the counter has no formula for distances to codes"},
            "encoder": {**encoder, "backward": 0}, **of_decoder(config, batch, length, fused, [codes] * clips)}


def of_whole(config, batch, length, fused, audio_frames):
    codes = math.ceil(audio_frames[0] / (math.prod(config.upsampling_ratios) * config.latent_stride))
    return {**of_encoder(config, batch, length, fused, audio_frames), **of_decoder(config, batch, length, fused, [codes] * len(audio_frames))}


DIFFERENCES = {"pocket_tts_audio_tokenizer": of_whole, "pocket_tts_audio_tokenizer_encoder": of_encoder,
               "pocket_tts_audio_tokenizer_decoder": of_decoder,
               "mimi": of_codec, "mimi_encoder": of_encoder, "mimi_decoder": of_decoder}
