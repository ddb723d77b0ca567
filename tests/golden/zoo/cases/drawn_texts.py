# SPDX-License-Identifier: Apache-2.0
"""Texts whose sizes and flags are drawn at random: dots3_note_text, embedding_gemma2_text, and encoders of long texts:
nystromformer, yoso, splinter, longformer, led; visual_bert."""

import feeds
from draws import drawn

S, F, I = "sliding_attention", "full_attention", "indexed_attention"


def dots3(draw):
    layers = draw.size(2, 7)
    nope, rope = draw.size(3, 7, of=2), draw.size(1, 3, of=4)
    config = dict(vocab_size=draw.size(50, 90), hidden_size=draw.size(5, 9, of=8), intermediate_size=draw.size(40, 90),
                  num_hidden_layers=layers, num_attention_heads=draw.size(2, 4), q_lora_rank=draw.size(9, 30),
                  kv_lora_rank=draw.size(9, 30), qk_nope_head_dim=nope, qk_rope_head_dim=rope, head_dim=nope + rope,
                  v_head_dim=draw.size(5, 20), n_routed_experts=draw.size(4, 9), num_experts_per_tok=draw.size(1, 3),
                  moe_intermediate_size=draw.size(9, 30), index_n_heads=draw.size(1, 4), index_head_dim=16,
                  index_topk=draw.size(3, 6), pad_token_id=0, attention_bias=draw.flag(), swa_num_attention_heads=draw.size(1, 4))
    config["num_key_value_heads"] = config["num_attention_heads"]
    config["swa_num_key_value_heads"] = config["swa_num_attention_heads"]
    sliding = dict(swa_q_lora_rank=draw.size(9, 30), swa_kv_lora_rank=draw.size(9, 30),
                   swa_qk_nope_head_dim=draw.size(3, 7, of=2), swa_v_head_dim=draw.size(5, 20))
    sliding["swa_head_dim"] = sliding["swa_qk_nope_head_dim"] + draw.size(1, 3, of=4)
    config.update(sliding)
    if draw.flag():
        config["swa_qk_rope_head_dim"] = sliding["swa_head_dim"] - sliding["swa_qk_nope_head_dim"]
    config["sliding_window" if draw.flag() else "sliding_window_size"] = draw.size(2, 6)
    if draw.flag():
        config["layer_types"] = draw.some(layers, S, F, I)
    if draw.flag():
        config["use_dsa"] = draw.flag()
    if draw.flag():
        config["use_sliding_window"] = draw.flag()
    if draw.turn(True, False, False):
        config["mlp_layer_types"] = draw.some(layers, "dense", "sparse")
    elif draw.turn(True, True, False, True):
        config["moe_layer_freq"] = draw.turn(2, draw.some(layers, 0, 1))
        config["first_k_dense_replace"] = draw.size(0, 2)
    config["moe_shared_expert_intermediate_size" if draw.flag() else "shared_experts_intermediate_size"] = draw.size(9, 30)
    config["n_shared_experts"] = draw.size(1, 2)
    return {"class": draw.choice(["Dots3NoteForCausalLM", "Dots3NoteTextModel"]), **config,
            "tie_word_embeddings": draw.flag(), "_attention": ("eager",), "_pairs": False}


def embedding_gemma2(draw):
    layers = draw.size(1, 7)
    config = dict(vocab_size=draw.size(50, 90), hidden_size=draw.size(5, 9, of=8), intermediate_size=draw.size(40, 90),
                  num_hidden_layers=layers, num_attention_heads=4, num_key_value_heads=2, head_dim=draw.size(2, 6, of=2),
                  sliding_window=draw.size(1, 4), global_head_dim=draw.size(2, 8, of=2),
                  num_global_key_value_heads=draw.choice([1, 2, 4]), hidden_size_per_layer_input=draw.size(9, 30),
                  embedding_dim=draw.size(9, 30), attention_bias=draw.flag())
    if draw.flag():
        config["layer_types"] = draw.some(layers, S, F)
    elif draw.flag():
        config["sliding_window_pattern"] = draw.size(1, 3)
    config["_pairs"] = draw.flag()  # where the heads of all layers are as wide, so that pairs stand for products
    if config["_pairs"]:
        config["global_head_dim"] = config["head_dim"]
    return {"class": "EmbeddingGemma2TextModel", **config}


def encoder(draw):
    heads = draw.size(2, 4)
    return dict(vocab_size=draw.size(50, 90), hidden_size=heads * draw.size(3, 6, of=2), num_attention_heads=heads,
                num_hidden_layers=draw.size(1, 3), intermediate_size=draw.size(40, 90),
                max_position_embeddings=draw.size(30, 50), type_vocab_size=draw.size(1, 3), pad_token_id=1,
                num_labels=draw.size(2, 6))


def classed(draw, prefix, *suffixes):
    suffix = draw.turn(*suffixes)
    return {"class": prefix + suffix, **({"_choices": True} if suffix == "ForMultipleChoice" else {})}


HEADS = ("ForMaskedLM", "Model", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering",
         "ForMultipleChoice")


def nystromformer(draw):
    length, landmarks = draw.choice([(12, 4), (12, 12), (15, 3), (8, 2)])
    config = dict(encoder(draw), segment_means_seq_len=length, num_landmarks=landmarks,
                  conv_kernel_size=draw.choice([3, 5]), _shapes=((2, length),), _pairs=False)
    return {**classed(draw, "Nystromformer", *HEADS), **config}


def yoso(draw):
    return {**classed(draw, "Yoso", *HEADS), **encoder(draw), "conv_window": draw.choice([None, 3, 5]), "_pairs": False}


def splinter(draw):
    config = encoder(draw)
    del config["num_labels"]
    return {**classed(draw, "Splinter", "Model", "ForQuestionAnswering"), **config, "question_token_id": 4}


def chunks(config, batch, length, width, heads, layers, own):
    """The class pads a text to whole windows and multiplies pieces of two half windows."""
    windows = config.attention_window
    windows = [windows] * layers if isinstance(windows, int) else windows
    padded = -(-length // max(windows)) * max(windows)
    linears = layers * 2 * batch * (padded - length) * own
    full = 0
    for window in windows:
        half = window // 2
        scores, values = (padded // half - 1) * window ** 2, padded * 3 * half
        full += 2 * batch * width * (scores + values - 2 * length ** 2)
    return {"padding": {"forward": linears, "backward": 2 * linears,
                        "why": "the padding up to whole windows is computed"},
            "chunks": {"forward": full, "backward": 2 * full,
                       "why": "windows are multiplied in pieces of two half windows"}}


def long_attention(draw, layers):
    one = draw.flag()
    return draw.size(2, 4, of=2) if one else draw.some(layers, 4, 8)


def longformer(draw):
    config = encoder(draw)
    config["attention_window"] = long_attention(draw, config["num_hidden_layers"])
    return {**classed(draw, "Longformer", "ForMaskedLM", "Model", "ForTokenClassification"), **config, "_pairs": False,
            "_attention": ("eager",), "sep_token_id": 2}


def of_longformer(config, batch, length, fused):
    h, f = config.hidden_size, config.intermediate_size
    made = chunks(config, batch, length, h, config.num_attention_heads, config.num_hidden_layers, 4 * h * h + 2 * h * f)
    return made


def led(draw):
    sides = draw.choice([(2, 4), (4, 2), (3, 6)])
    layers = draw.size(1, 3)
    return {**classed(draw, "LED", "ForConditionalGeneration", "Model", "ForQuestionAnswering"),
            "vocab_size": draw.size(50, 90), "d_model": 12 * draw.size(2, 4), "encoder_layers": layers,
            "decoder_layers": draw.size(1, 3), "encoder_attention_heads": sides[0], "decoder_attention_heads": sides[1],
            "encoder_ffn_dim": draw.size(40, 90), "decoder_ffn_dim": draw.size(40, 90), "pad_token_id": 1,
            "max_encoder_position_embeddings": draw.size(30, 50), "max_decoder_position_embeddings": draw.size(20, 40),
            "attention_window": long_attention(draw, layers), "tie_word_embeddings": draw.flag(), "_pairs": False,
            "_attention": ("eager",)}


def of_led(config, batch, length, fused, encoder_length):
    h, f = config.d_model, config.encoder_ffn_dim
    return chunks(config, batch, encoder_length, h, config.encoder_attention_heads, config.encoder_layers, 4 * h * h + 2 * h * f)


@feeds.feed((2, 9, 4), (3, 5, 7))
def regions(model, run):
    """visual_bert: regions of an image behind a text, counted with it. A run is (texts, words, regions of each)."""
    import torch
    texts, length, count = run
    return ({"input_ids": feeds.words(model.config, texts, length),
             "visual_embeds": torch.randn(texts, count, model.config.visual_embedding_dim),
             "attention_mask": torch.ones(texts, length, dtype=torch.long),
             "visual_attention_mask": torch.ones(texts, count, dtype=torch.long)},
            {"lengths": [length + count] * texts, "grids": [], "measured": {"regions": texts * count}})


def visual_bert(draw):
    config = encoder(draw)
    del config["num_labels"]
    return {**classed(draw, "VisualBert", "Model", "ForPreTraining"), **config, "visual_embedding_dim": draw.size(5, 20),
            "_feed": regions, "_attention": ("eager",)}


def cases(case):
    drawn(case, "visual_bert", 4, visual_bert)
    drawn(case, "led", 6, led)
    drawn(case, "dots3_note_text", 12, dots3)
    drawn(case, "embedding_gemma2_text", 5, embedding_gemma2)
    drawn(case, "nystromformer", 8, nystromformer)
    drawn(case, "yoso", 6, yoso)
    drawn(case, "splinter", 3, splinter)
    drawn(case, "longformer", 5, longformer)


DIFFERENCES = {"longformer": of_longformer, "led": of_led}
