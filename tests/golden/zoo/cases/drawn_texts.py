# SPDX-License-Identifier: Apache-2.0
"""Texts whose sizes and flags are drawn at random: dots3_note_text, embedding_gemma2_text, and encoders of long texts:
nystromformer, yoso, splinter, longformer, led; visual_bert."""

import feeds
from cases.linear_attention import gated_delta_net
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


def boxes(config, batch, length):
    import torch
    return {"bbox": torch.rand(batch, length, 8)}


def bros(draw):
    config = encoder(draw)
    heads = draw.size(1, 2, of=2)
    config.update(num_attention_heads=heads, hidden_size=32 * heads * draw.size(1, 2), dim_bbox=8)
    return {**classed(draw, "Bros", "Model", "ForTokenClassification"), **config, "_inputs": boxes}


def padded_bytes(config, batch, length):
    import torch
    return {"inputs": torch.randint(6, config.vocab_size, (batch, length)), "input_ids": None}


def perceiver(draw):
    heads, cross, both, latents = draw.choice([1, 2]), draw.choice([1, 2]), draw.flag(), 4 * draw.size(3, 9)
    return {**classed(draw, "Perceiver", "ForMaskedLM", "ForSequenceClassification"), "num_latents": draw.size(3, 9),
            "d_latents": latents, "d_model": 8 * draw.size(2, 5), "num_blocks": draw.size(1, 2),
            "num_self_attends_per_block": draw.size(1, 3), "num_self_attention_heads": heads, "num_cross_attention_heads": cross,
            "self_attention_widening_factor": draw.size(1, 3), "cross_attention_widening_factor": draw.size(1, 3),
            "cross_attention_shape_for_attention": draw.choice(["q", "kv"]), "vocab_size": draw.size(40, 80),
            "max_position_embeddings": draw.size(11, 20), "num_labels": draw.size(3, 6), "qk_channels": 4 * draw.size(2, 6) if both else None,
            "v_channels": latents if both else None, "_inputs": padded_bytes, "_pairs": False}


def longt5(draw):
    return {**classed(draw, "LongT5", "ForConditionalGeneration", "Model", "EncoderModel"), "vocab_size": draw.size(50, 90),
            "d_model": draw.size(9, 30), "d_kv": draw.size(3, 8), "d_ff": draw.size(20, 60), "num_layers": draw.size(1, 3),
            "num_decoder_layers": draw.size(1, 3), "num_heads": draw.size(2, 4), "local_radius": draw.size(1, 4),
            "feed_forward_proj": draw.choice(["relu", "gated-gelu"]), "tie_word_embeddings": draw.flag(), "_pairs": False,
            "_attention": ("eager",)}


def of_blocks(config, batch, length, fused, encoder_length=None):
    """A block of queries meets three of keys, on the padding up to whole blocks too."""
    length, block = encoder_length or length, config.local_radius + 1
    pairs = -(-length // block) * block * 3 * block - length ** 2
    products = 4 * config.num_layers * config.num_heads * config.d_kv * batch * pairs
    return {"blocks": {"forward": products, "backward": 2 * products,
                       "why": "blocks are multiplied in place of the square"}}


def plain_text(draw):
    heads = draw.choice([2, 4])
    return dict(vocab_size=draw.size(50, 90), hidden_size=draw.size(5, 9, of=8), num_attention_heads=heads,
                num_key_value_heads=draw.choice([1, 2]), head_dim=draw.size(2, 6, of=2), num_hidden_layers=draw.size(2, 6),
                pad_token_id=0, attention_bias=draw.flag(), tie_word_embeddings=draw.flag())


def routed(draw):
    return dict(moe_intermediate_size=draw.size(9, 30), num_experts_per_tok=draw.size(1, 3))


def sarvam_moe(draw):
    experts, shared, bias = draw.choice(["n_routed_experts", "num_experts"]), draw.choice(["n_shared_experts", "num_shared_experts"]), draw.flag()
    config = {**plain_text(draw), **routed(draw), experts: draw.size(4, 9), shared: draw.size(1, 2)}
    if draw.flag():
        config["use_qkv_bias"] = config.pop("attention_bias")
    return {**config, "class": draw.turn("Glm4MoeForCausalLM", "Glm4MoeModel"), "intermediate_size": draw.size(40, 90),
            "first_k_dense_replace": draw.size(0, 2), "use_qk_norm": draw.flag()}


def sarvam_mla(draw):
    experts, shared = draw.choice(["n_routed_experts", "num_experts"]), draw.choice(["n_shared_experts", "num_shared_experts"])
    config = {**plain_text(draw), **routed(draw), experts: draw.size(4, 9), shared: draw.size(1, 2)}
    for name in ("num_key_value_heads", "head_dim"):
        del config[name]
    return {**config, "class": draw.turn("DeepseekV3ForCausalLM", "DeepseekV3Model"), "intermediate_size": draw.size(40, 90),
            "first_k_dense_replace": draw.size(0, 2), "q_lora_rank": draw.choice([None, 21]), "kv_lora_rank": draw.size(9, 30),
            "qk_nope_head_dim": draw.size(3, 7, of=2), "qk_rope_head_dim": draw.size(1, 3, of=4), "v_head_dim": draw.size(5, 20),
            "_attention": ("eager",)}


def dory(draw):
    config = plain_text(draw)
    first, last = draw.size(0, 1), draw.size(1, 2)
    config["num_hidden_layers"] = first + last + draw.size(1, 3)
    if draw.flag():
        config["layer_types"] = draw.some(config["num_hidden_layers"], S, F)
    if draw.flag():
        config["n_recurrent_layers"] = config["num_hidden_layers"] - first - last
    return {**config, "class": draw.turn("DoryForCausalLM", "DoryModel"), "intermediate_size": draw.size(40, 90), "mlp_bias": draw.flag(),
            "sliding_window": draw.size(2, 6), "n_input_layers": first, "n_output_layers": last, "n_recurrent_loops": draw.size(1, 3),
            "_pairs": False}


def lara_mini(draw):
    config = {**plain_text(draw), **routed(draw)}
    if draw.flag():
        config["layer_types"] = draw.some(config["num_hidden_layers"], S, F, "linear_attention")
    keys = draw.size(1, 2)
    return {**config, "class": draw.turn("LaraMiniForCausalLM", "LaraMiniModel"), "linear_num_key_heads": keys,
            "linear_num_value_heads": keys * draw.size(1, 3), "linear_key_head_dim": draw.size(3, 9), "linear_value_head_dim": draw.size(3, 9),
            "linear_conv_kernel_dim": draw.size(2, 4), "sliding_window": draw.size(2, 6), "num_experts": draw.size(4, 9),
            "shared_expert_intermediate_size": draw.size(9, 30), "_pairs": False}


def apertus(draw):
    config = plain_text(draw)
    kept = draw.turn(None, 21, None)
    return {**config, "class": draw.turn("Apertus1p5TextForCausalLM", "Apertus1p5TextForCausalLM", "Apertus1p5TextModel"),
            "intermediate_size": draw.size(40, 90), "output_vocab_size": kept,
            "tie_word_embeddings": config["tie_word_embeddings"] and kept is None}


def cases(case):
    drawn(case, "apertus1p5_text", 5, apertus)
    drawn(case, "sarvam_moe", 5, sarvam_moe)
    drawn(case, "sarvam_mla", 5, sarvam_mla)
    drawn(case, "dory", 6, dory)
    drawn(case, "lara_mini", 6, lara_mini)
    drawn(case, "longt5", 6, longt5)
    drawn(case, "bros", 4, bros)
    drawn(case, "perceiver", 8, perceiver)
    drawn(case, "visual_bert", 4, visual_bert)
    drawn(case, "led", 6, led)
    drawn(case, "dots3_note_text", 12, dots3)
    drawn(case, "embedding_gemma2_text", 5, embedding_gemma2)
    drawn(case, "nystromformer", 8, nystromformer)
    drawn(case, "yoso", 6, yoso)
    drawn(case, "splinter", 3, splinter)
    drawn(case, "longformer", 5, longformer)


DIFFERENCES = {"lara_mini": gated_delta_net, "longformer": of_longformer, "led": of_led, "longt5": of_blocks}
