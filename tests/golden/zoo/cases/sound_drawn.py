# SPDX-License-Identifier: Apache-2.0
"""Models of sound whose sizes and flags are drawn at random."""

import feeds
from cases.audio import of_waveform
from cases.speech2026 import codec
from draws import drawn

ENCODEC = dict(model_type="encodec", hidden_size=8, num_filters=2, codebook_size=16, codebook_dim=8, upsampling_ratios=[2, 2],
               num_lstm_layers=1)


@feeds.feed((2, 9, 4), (3, 5, 7))
def behind_a_melody(model, run):
    """musicgen_melody: codes behind a text and a melody. A run is (texts, frames of codes, tokens of a text)."""
    import torch
    texts, length, keys = run
    config = model.config
    ids = torch.randint(5, config.text_encoder.vocab_size - 1, (texts, keys))
    return ({"input_ids": ids, "attention_mask": torch.ones_like(ids),
             "input_features": torch.rand(texts, config.chroma_length, config.num_chroma),
             "decoder_input_ids": torch.randint(0, config.decoder.vocab_size - 1, (texts * config.decoder.num_codebooks, length))},
            {"lengths": [config.chroma_length + keys + length] * texts, "grids": [], "encoder_length": keys})


def musicgen_melody(draw):
    heads = draw.size(2, 4)
    width = heads * draw.size(3, 6, of=2)
    text = dict(model_type="t5", vocab_size=draw.size(50, 90), d_model=draw.choice([width, 24]), d_kv=draw.size(3, 8),
                d_ff=draw.size(20, 60), num_layers=draw.size(1, 3), num_heads=draw.size(2, 4),
                feed_forward_proj=draw.choice(["relu", "gated-gelu"]))
    decoder = dict(model_type="musicgen_melody_decoder", vocab_size=draw.size(20, 40), hidden_size=width, num_attention_heads=heads,
                   num_hidden_layers=draw.size(1, 3), ffn_dim=draw.size(20, 60), num_codebooks=draw.size(1, 3))
    decoder.update(pad_token_id=decoder["vocab_size"], bos_token_id=decoder["vocab_size"])
    return {"class": "MusicgenMelodyForConditionalGeneration", "text_encoder": text, "decoder": decoder, "audio_encoder": ENCODEC,
            "num_chroma": draw.choice([12, width, draw.size(3, 9)]), "chroma_length": draw.size(3, 9), "_parameters": codec,
            "_attention": ("eager",), "_feed": behind_a_melody}


@feeds.feed((2, 11, 4), (1, 9, 7), (1, 6, 6))
def trained_frames(model, run):
    """csm: a text of codes, of which the last frames of each train the small decoder. A run is (texts, length, frames)."""
    import torch
    texts, length, frames = run
    config = model.config
    ids = torch.randint(1, config.vocab_size - 1, (texts, length, config.num_codebooks))
    labels = ids.clone()
    labels[:, :length - frames] = -100
    return ({"input_ids": ids, "labels": labels, "use_cache": False},
            {"lengths": [length] * texts, "grids": [], "measured": {"frames": texts * frames}})


def csm(draw):
    heads, deep_heads, codes, words = draw.choice([2, 4]), draw.choice([2, 4]), draw.size(2, 5), draw.size(20, 40)
    width = heads * draw.size(3, 6, of=2)
    depth = dict(num_codebooks=codes, backbone_hidden_size=width, vocab_size=words, hidden_size=deep_heads * draw.size(3, 6, of=2),
                 intermediate_size=draw.size(20, 60), num_hidden_layers=draw.size(1, 3), num_attention_heads=deep_heads,
                 num_key_value_heads=draw.choice([deep_heads, 2]), attention_bias=draw.flag(), mlp_bias=draw.flag())
    if draw.flag():
        depth["head_dim"] = draw.size(2, 5, of=2)
    return {"class": "CsmForConditionalGeneration", "num_codebooks": codes, "vocab_size": words, "text_vocab_size": draw.size(30, 60),
              "hidden_size": width, "intermediate_size": draw.size(20, 60), "num_hidden_layers": draw.size(1, 3),
              "num_attention_heads": heads, "num_key_value_heads": draw.choice([heads, 2]), "attention_bias": draw.flag(),
              "mlp_bias": draw.flag(), "depth_decoder_config": depth, "codec_config": ENCODEC,
              "tie_codebooks_embeddings": draw.turn(True, True, False), "_feed": trained_frames, "_loss": ["loss"],
              "_parameters": codec, "_attention": ("eager",)}


@feeds.feed((2, 9, 3), (3, 5, 2))
def texts_and_sounds(model, run):
    """clap: texts and sounds. A run is (texts, length, sounds)."""
    import torch
    texts, length, sounds = run
    audio = model.config.audio_config
    frames = audio.spec_size * (audio.spec_size // audio.num_mel_bins)
    return ({"input_ids": feeds.words(model.config.text_config, texts, length),
             "input_features": torch.randn(sounds, audio.patch_embed_input_channels, frames, audio.num_mel_bins)},
            {"lengths": [length] * texts, "audio_frames": [frames] * sounds})


def clap(draw):
    levels, cut = draw.size(2, 3), draw.size(2, 3)
    heads = [draw.size(1, 2) * 2 ** level for level in range(levels)]
    first = 4 * draw.size(1, 2)
    patch = draw.size(1, 2)
    side = patch * cut * 2 ** (levels - 1) * draw.size(1, 2)
    audio = dict(window_size=cut, num_mel_bins=side // draw.choice([1, 2]), spec_size=side, patch_size=patch, patch_stride=[patch, patch],
                 depths=[draw.size(1, 3) for _ in range(levels)], num_attention_heads=heads, patch_embeds_hidden_size=first,
                 hidden_size=first * 2 ** (levels - 1), qkv_bias=draw.flag(), mlp_ratio=draw.choice([2.0, 3.0]),
                 enable_patch_layer_norm=draw.flag(), patch_embed_input_channels=1)
    text_heads = draw.size(2, 4)
    text = dict(vocab_size=draw.size(50, 90), hidden_size=text_heads * draw.size(3, 6, of=2), num_attention_heads=text_heads,
                num_hidden_layers=draw.size(1, 3), intermediate_size=draw.size(20, 60), max_position_embeddings=draw.size(20, 40),
                type_vocab_size=draw.size(1, 3))
    return {"class": "ClapModel", "text_config": text, "audio_config": audio, "projection_dim": draw.size(5, 20),
            "_feed": texts_and_sounds, "_loss": ["logits_per_text", "logits_per_audio"], "_attention": ("eager",)}


def of_clap(config, batch, length, fused, audio_frames):
    """Both products of all texts with all sounds; shifted windows, of which the counter takes the whole."""
    audio, similar = config.audio_config, 4 * batch * len(audio_frames) * config.projection_dim
    whole = 0
    for level, depth in enumerate(audio.depths):
        side, cut = audio.spec_size // audio.patch_stride[0] // 2 ** level, audio.window_size
        shift = cut // 2 if cut < side else 0
        seen = (side // cut - 1) * cut ** 2 + shift ** 2 + (cut - shift) ** 2
        pairs = (side * side * cut * cut - seen ** 2) * (depth // 2)
        whole += 4 * audio.patch_embeds_hidden_size * 2 ** level * pairs * len(audio_frames)
    return {"similarity": {"forward": similar, "backward": 2 * similar, "why": "texts x sounds of the whole batch: not a sum over samples"},
            "shifts": {"forward": whole, "backward": 2 * whole, "why": "a window over the edge is multiplied whole"}}


@feeds.feed((2, 9, 4), (1, 7, 6))
def words_to_spectra(model, run):
    """speecht5: words, and a spectrum. A run is (texts, tokens of the decoder, words)."""
    import torch
    texts, length, words = run
    config = model.config
    labels = torch.randn(texts, length * config.reduction_factor, config.num_mel_bins)
    return ({"input_ids": torch.randint(5, config.vocab_size - 1, (texts, words)), "labels": labels,
             "speaker_embeddings": torch.randn(texts, config.speaker_embedding_dim)},
            {"lengths": [length] * texts, "grids": [], "encoder_length": words})


@feeds.feed((2, 9, 61), (1, 7, 44))
def waves_to_either(model, run):
    """speecht5: waves, and words or a spectrum. A run is (clips, tokens of the decoder, samples of a clip)."""
    import torch
    clips, length, samples = run
    config = model.config
    keys = samples
    for kernel, stride in zip(config.conv_kernel, config.conv_stride):
        keys = (keys - kernel) // stride + 1
    inputs = {"input_values": torch.randn(clips, samples)}
    if "ToText" in type(model).__name__:
        inputs["decoder_input_ids"] = torch.randint(5, config.vocab_size - 1, (clips, length))
    else:
        inputs.update(labels=torch.randn(clips, length * config.reduction_factor, config.num_mel_bins),
                      speaker_embeddings=torch.randn(clips, config.speaker_embedding_dim))
    return inputs, {"lengths": [length] * clips, "audio_frames": [samples] * clips, "encoder_length": keys}


def speecht5(draw):
    kind = draw.turn("ForTextToSpeech", "ForSpeechToText", "ForSpeechToSpeech")
    heads, deep_heads = draw.choice([(2, 4), (4, 2)])
    post = draw.turn(1, 2, 3, 4)
    return {"class": "SpeechT5" + kind, "vocab_size": draw.size(30, 60), "hidden_size": 8 * draw.size(2, 5), "encoder_layers": draw.size(1, 3),
            "decoder_layers": draw.size(1, 3), "encoder_attention_heads": heads, "decoder_attention_heads": deep_heads,
            "encoder_ffn_dim": draw.size(20, 60), "decoder_ffn_dim": draw.size(20, 60), "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0,
            "conv_dim": draw.some(2, 8, 12), "conv_kernel": [3, 3], "conv_stride": [2, 2], "conv_bias": draw.flag(),
            "feat_extract_norm": draw.choice(["group", "layer"]), "num_conv_pos_embeddings": draw.choice([4, 5]),
            "num_conv_pos_embedding_groups": 2, "num_mel_bins": draw.size(4, 9), "speech_decoder_prenet_layers": draw.size(1, 3),
            "speech_decoder_prenet_units": draw.size(5, 20), "speaker_embedding_dim": draw.size(5, 20),
            "speech_decoder_postnet_layers": post, "speech_decoder_postnet_units": draw.size(5, 20), "speech_decoder_postnet_kernel": 3,
            "reduction_factor": draw.size(1, 3), "encoder_max_relative_position": draw.size(9, 30), "use_guided_attention_loss": False,
            "speech_decoder_postnet_dropout": 0.0, "pad_token_id": 1, "_attention": ("eager",),
            "_feed": words_to_spectra if kind == "ForTextToSpeech" else waves_to_either,
            "_loss": {"ForTextToSpeech": ["loss"], "ForSpeechToSpeech": ["spectrogram"], "ForSpeechToText": ["logits"]}[kind]}


def of_speech(config, batch, length, fused, encoder_length, audio_frames=None, **shapes):
    if not audio_frames:
        return {}
    found = of_waveform(config, batch, length, fused, audio_frames)
    return found


def waves_alone(draw):
    heads = draw.choice([2, 4])
    return dict(hidden_size=heads * 2 * draw.size(2, 5), num_attention_heads=heads, num_hidden_layers=draw.size(1, 3),
                intermediate_size=draw.size(20, 60), conv_dim=draw.some(2, 8, 12), conv_kernel=[3, 3], conv_stride=[2, 2],
                conv_bias=draw.flag(), num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2, layerdrop=0.0)


@feeds.feed((2, 61), (1, 44))
def waves(model, run):
    """omniasr_audio: a run is (clips, samples of each)."""
    import torch
    clips, samples = run
    return {"input_values": torch.randn(clips, 1, samples)}, {"lengths": [], "audio_frames": [samples] * clips}


@feeds.feed((2, 9, 61), (1, 7, 44))
def words_and_waves(model, run):
    """omniasr: a clip in each text. A run is (texts, words, samples of a clip)."""
    import torch
    texts, length, samples = run
    config = model.config
    frames = samples
    for kernel, stride in zip(config.audio_config.conv_kernel, config.audio_config.conv_stride):
        frames = (frames - kernel) // stride + 1
    inputs, lengths = feeds.text_around(model, [[frames]] * texts, config.audio_token_id, length)
    return {**inputs, "input_values": torch.randn(texts, 1, samples)}, {"lengths": lengths, "audio_frames": [samples] * texts}


def omniasr(draw):
    heads = draw.choice([2, 4])
    text = dict(model_type="llama", vocab_size=draw.size(50, 90), hidden_size=heads * draw.size(4, 8, of=2), num_attention_heads=heads,
                num_key_value_heads=draw.choice([heads, 2]), num_hidden_layers=draw.size(1, 3), intermediate_size=draw.size(20, 60))
    return {"class": "OmniASR" + draw.turn("ForConditionalGeneration", "Model"), "audio_config": waves_alone(draw), "text_config": text,
            "audio_token_id": 7, "_feed": words_and_waves}


def of_omniasr(config, batch, length, fused, audio_frames, **shapes):
    """The convolution of positions makes a position more, and its weight's gradient is taken over all channels."""
    audio = getattr(config, "audio_config", config)
    found = of_waveform(audio, batch, length, fused, audio_frames)
    return {"convolution_of_positions": found["convolution_of_positions"]}


@feeds.feed((2, 9), (3, 5))
def codes_in_time(model, run):
    """bark: a run is (texts, length); its last decoder is told which code it makes."""
    import torch
    texts, length = run
    config = model.config
    if "Fine" not in type(model).__name__:
        return {"input_ids": torch.randint(0, config.input_vocab_size, (texts, length)), "use_cache": False}, {"lengths": [length] * texts}
    ids = torch.randint(0, config.input_vocab_size, (texts, length, config.n_codes_total))
    return {"codebook_idx": config.n_codes_total - 1, "input_ids": ids}, {"lengths": [length] * texts}


def bark(draw):
    def decoder(kind, **more):
        heads, words = draw.size(2, 4), draw.size(20, 40)
        return dict(model_type=kind, input_vocab_size=words, output_vocab_size=draw.size(20, 40), num_layers=draw.size(1, 3), num_heads=heads,
                    hidden_size=heads * draw.size(2, 6), block_size=draw.size(12, 20), bias=draw.flag(), **more)

    codes = draw.size(3, 6)
    fine = decoder("fine_acoustics", n_codes_total=codes, n_codes_given=draw.size(1, 2), tie_word_embeddings=draw.turn(True, False))
    if fine["tie_word_embeddings"]:
        fine["output_vocab_size"] = fine["input_vocab_size"]
    return {"class": "Bark" + draw.turn("SemanticModel", "CoarseModel", "FineModel"), "semantic_config": decoder("semantic"),
            "coarse_acoustics_config": decoder("coarse_acoustics"), "fine_acoustics_config": fine, "codec_config": ENCODEC,
            "_feed": codes_in_time, "_attention": ("eager",)}


def cases(case):
    drawn(case, "bark", 7, bark)
    drawn(case, "omniasr_audio", 4, lambda draw: {"class": "OmniASRAudioModel", **waves_alone(draw), "_feed": waves})
    drawn(case, "omniasr", 4, omniasr)
    drawn(case, "clap", 5, clap)
    drawn(case, "speecht5", 9, speecht5)
    drawn(case, "musicgen_melody", 5, musicgen_melody)
    drawn(case, "csm", 6, csm)


def whole_frames(config, batch, length, fused, measured=None, **shapes):
    """The counter takes a frame's codes as if each saw all."""
    depth = config.depth_decoder_config
    if not measured:
        return {}
    codes = config.num_codebooks
    pairs = measured["frames"] * (codes * codes - codes * (codes + 1) // 2)
    products = depth.num_hidden_layers * 4 * depth.num_attention_heads * depth.head_dim * pairs
    return {"squares": {"forward": products, "backward": products * 5 // 2 if fused else products * 2,
                        "why": "every mask is counted as its square"}}


DIFFERENCES = {"csm": whole_frames, "clap": of_clap, "omniasr": of_omniasr, "omniasr_audio": of_omniasr, "speecht5": of_speech}
