# SPDX-License-Identifier: Apache-2.0
"""Models around any two models, of sizes that are drawn at random."""

import feeds
from cases.vision import contrasted
from cases.audio import of_waveform
from draws import drawn


def tower(draw, *types):
    heads = draw.size(2, 4)
    kind = draw.choice(types)
    side = draw.size(2, 4, of=2)
    return dict(model_type=kind, hidden_size=heads * draw.size(4, 8, of=2), num_attention_heads=heads,
                num_hidden_layers=draw.size(1, 3), image_size=side * draw.size(2, 4), patch_size=side, num_channels=3,
                **({"mlp_ratio": draw.choice([2, 3])} if kind.startswith("dinov2") else {"intermediate_size": draw.size(20, 60)}))


def encoder(draw, *types):
    heads = draw.size(2, 4)
    return dict(model_type=draw.choice(types), vocab_size=draw.size(50, 90), hidden_size=heads * draw.size(4, 8, of=2),
                num_attention_heads=heads, num_hidden_layers=draw.size(1, 3), intermediate_size=draw.size(20, 60),
                max_position_embeddings=draw.size(30, 50), pad_token_id=1)


def dual(draw):
    return {"class": "VisionTextDualEncoderModel", "vision_config": tower(draw, "vit", "deit", "dinov2"),
            "text_config": encoder(draw, "bert", "roberta"), "projection_dim": draw.size(9, 40), "_feed": feeds.contrastive,
            "_loss": ["logits_per_image"], "_differences": lambda config, *shapes, **more: contrasted(config.projection_dim)(config, *shapes, **more)}


@feeds.feed((2, 5, 61), (3, 7, 44))
def waves_to_text(model, run):
    """speech-encoder-decoder: a run is (texts, length, samples of a clip)."""
    import torch
    texts, length, samples = run
    values = torch.randn(texts, samples)
    with torch.no_grad():
        keys = model.encoder(values).last_hidden_state.shape[1]
    return ({"input_values": values, "decoder_input_ids": feeds.words(model.config.decoder, texts, length)},
            {"lengths": [length] * texts, "audio_frames": [samples] * texts, "encoder_length": keys})


def speech(draw):
    heads = draw.size(2, 4)
    sound = dict(model_type=draw.choice(["wav2vec2", "hubert"]), hidden_size=heads * draw.size(2, 4, of=4), num_attention_heads=heads,
                 num_hidden_layers=draw.size(1, 3), intermediate_size=draw.size(20, 60), conv_dim=draw.some(2, 8, 12),
                 conv_kernel=[3, 3], conv_stride=[2, 2], num_conv_pos_embeddings=draw.choice([4, 5]),
                 num_conv_pos_embedding_groups=2, layerdrop=0.0, num_feat_extract_layers=2)
    words = encoder(draw, "bert", "roberta")
    if draw.flag():
        words.update(hidden_size=sound["hidden_size"], num_attention_heads=heads)
    if sound["model_type"] == "wav2vec2" and draw.flag():
        sound.update(add_adapter=True, num_adapter_layers=1, output_hidden_size=draw.choice([sound["hidden_size"], 24]))
    words.update(is_decoder=True, add_cross_attention=True)
    return {"class": "SpeechEncoderDecoderModel", "encoder": sound, "decoder": words, "_feed": waves_to_text, "_attention": ("eager",),
            "_differences": lambda config, batch, length, fused, audio_frames, encoder_length: of_waveform(
                config.encoder, batch, length, fused, audio_frames)}


def pair_of_texts(config, batch, length, encoder_length):
    import torch
    return {"input_ids": torch.randint(5, config.encoder.vocab_size - 1, (batch, encoder_length)),
            "decoder_input_ids": torch.randint(5, config.decoder.vocab_size - 1, (batch, length))}


def texts(draw):
    read, made = encoder(draw, "bert", "roberta", "electra", "distilbert"), encoder(draw, "bert", "roberta")
    if read["model_type"] == "distilbert":
        read = dict(model_type="distilbert", vocab_size=read["vocab_size"], dim=read["hidden_size"], n_heads=read["num_attention_heads"],
                    n_layers=read["num_hidden_layers"], hidden_dim=read["intermediate_size"], max_position_embeddings=40)
    made.update(is_decoder=True, add_cross_attention=True)
    if draw.place in (2, 5):  # its layers attend another width
        width = read.get("dim") or read["hidden_size"]
        made = dict(model_type="trocr", vocab_size=made["vocab_size"], d_model=made["hidden_size"], is_decoder=True,
                    decoder_attention_heads=made["num_attention_heads"], decoder_layers=2, decoder_ffn_dim=30, pad_token_id=1,
                    max_position_embeddings=40, cross_attention_hidden_size=width, decoder_layerdrop=0.0)
    elif draw.flag():
        made.update(hidden_size=read.get("dim") or read["hidden_size"], num_attention_heads=read.get("n_heads") or read["num_attention_heads"])
    return {"class": "EncoderDecoderModel", "encoder": read, "decoder": made, "_inputs": pair_of_texts, "_pairs": False,
            "_shapes": ((2, 11, 5), (3, 7, 9)), "_attention": ("eager",), "_loss": ["logits"]}


def cases(case):
    drawn(case, "encoder-decoder", 8, texts)
    drawn(case, "speech-encoder-decoder", 6, speech)
    drawn(case, "vision-text-dual-encoder", 5, dual)
