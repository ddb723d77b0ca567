# SPDX-License-Identifier: Apache-2.0
"""Sparse attention of 2026: compressed keys, best blocks and pools, and what stands around it (hyper-connections).

The classes multiply every query with every key, compressed ones too, and mask afterwards; index scores are of all keys,
later ones too. The library counts what is attended, or scored, and what is beyond is named here.
"""

from cases.linear_attention import conv, gated_delta_net, kimi_delta

WINDOW, SPARSE, HEAVY = "sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"


def triangle(n):
    return n * (n + 1) // 2


def blocks(length, ratio):
    """Pairs of all queries with the whole blocks of `ratio` tokens that stand before them."""
    return sum((position + 1) // ratio for position in range(length))


def best(length, ratio, keys):
    return sum(min(keys, (position + 1) // ratio) for position in range(length))


def beyond(flops_a_pair, executed, counted, why):
    """What a core runs for keys that no query attends."""
    extra = flops_a_pair * (executed - counted)
    return {"forward": extra, "backward": 2 * extra, "why": why}


def deepseek_v4(config, batch, length, fused):
    heads, dim = config.num_attention_heads, config.head_dim
    fine, coarse = config.compress_rates[SPARSE], config.compress_rates[HEAVY]
    named = {}
    pair = batch * 2 * heads * 2 * dim
    sparse, heavy = config.layer_types.count(SPARSE), config.layer_types.count(HEAVY)
    if sparse:
        whole = length // fine
        named["best_compressed_keys"] = beyond(
            sparse * pair, length * whole, best(length, fine, config.index_topk),
            "every query against every compressed key, under a mask of the best")
        index = sparse * batch * 2 * config.index_n_heads * config.index_head_dim
        named["index_scores"] = {
            "forward": index * (length * whole - blocks(length, fine)), "backward": 0,
            "why": "scores of later blocks too, masked afterwards"}
        if whole == 0:
            named["unused_sparse_compressor"] = unused_compressor(config, batch, length, sparse, 2)
    if heavy:
        whole = length // coarse
        named["compressed_keys"] = beyond(
            heavy * pair, length * whole, blocks(length, coarse),
            "every query against every compressed key, under a mask")
        if whole == 0:
            named["unused_heavy_compressor"] = unused_compressor(config, batch, length, heavy, 1)
    return named


def unused_compressor(config, batch, length, layers, width):
    """No whole block: both matrices run forward, and nothing uses what they make."""
    forward = layers * 2 * 2 * batch * length * config.hidden_size * width * config.head_dim
    return {"forward": 0, "backward": -2 * forward,
            "why": "a text without a whole block: both matrices run, and nothing uses what they make"}


def grouped_pair(config):
    """FLOPs of a pair in all heads: of queries and keys as wide as values."""
    return 4 * config.num_attention_heads * config.head_dim


def latent_pair(config):
    return 2 * config.num_attention_heads * (config.qk_nope_head_dim + config.qk_rope_head_dim + config.v_head_dim)


def pooled_scores(config, batch, length, layers, scored):
    """Index scores of `scored` pools for each query, later ones too; the sum over the heads is a product as well."""
    pair = batch * 2 * (config.index_n_heads * config.index_head_dim + config.index_n_heads)
    return {"forward": layers * pair * (length * scored - blocks(length, config.index_kpool)), "backward": 0,
            "why": "scores of later pools too, masked afterwards"}


def glm5_next(config, batch, length, fused):
    indexed = sum(layer == "indexed_attention" and kind == "full"
                  for layer, kind in zip(config.layer_types, config.indexer_types))
    named = {}
    if "linear_attention" in config.layer_types:
        named.update(kimi_delta(config, batch, length, fused))
    if indexed:
        named["index_scores"] = pooled_scores(config, batch, length, indexed, length // config.index_kpool)
    return named


def qwen4_exp(config, batch, length, fused):
    named = gated_delta_net(config, batch, length, fused) if "linear_attention" in config.layer_types else {}
    embedded = len(config.ple_layer_ids)
    if embedded:
        channels = config.hc_count * config.hidden_size
        named["embedding_conv_groups"] = {
            "forward": 0, "backward": embedded * 2 * batch * length * config.ple_conv_kernel_size * channels
            * (channels - 1), "why": "the counter takes a depthwise weight gradient as dense"}
    return named


DIFFERENCES = {"deepseek_v4": deepseek_v4, "glm5_next_text": glm5_next, "qwen4_exp_text": qwen4_exp}


def cases(case):
    base = dict(vocab_size=61, hidden_size=40, moe_intermediate_size=22, num_hidden_layers=4, num_attention_heads=4,
                head_dim=12, q_lora_rank=14, o_groups=2, o_lora_rank=9, n_routed_experts=7, num_experts_per_tok=3,
                sliding_window=5, hc_mult=3, index_n_heads=3, index_head_dim=6, index_topk=2,
                qk_rope_head_dim=4, pad_token_id=0)
    rates = {SPARSE: 2, HEAVY: 4}
    seen = dict(_pair_flops=grouped_pair, _cached=((1, 3), (7, 6), (9, 1), (13, 20)))
    case("deepseek_v4/plain", "DeepseekV4ForCausalLM", **base, compress_rates=rates,
         layer_types=[WINDOW, SPARSE, HEAVY, SPARSE], _shapes=((2, 11), (3, 7), (1, 24)), **seen)
    case("deepseek_v4/window-only", "DeepseekV4ForCausalLM", **base, layer_types=[WINDOW] * 4)
    case("deepseek_v4/published-names", "DeepseekV4ForCausalLM", **dict(base, num_hidden_layers=3),
         compress_ratios=[0, 4, 128, 0], num_hash_layers=1, num_nextn_predict_layers=1, n_shared_experts=1,
         _shapes=((2, 11), (1, 130)), _pair_flops=grouped_pair, _cached=((125, 140),))
    case("deepseek_v4/rates-apart", "DeepseekV4ForCausalLM", **base, compress_rate_csa=3, compress_rate_hca=5,
         mlp_layer_types=["moe", "hash_moe", "moe", "moe"], tie_word_embeddings=True)
    case("deepseek_v4/no-whole-block", "DeepseekV4ForCausalLM", **base, layer_types=[HEAVY, SPARSE, SPARSE, WINDOW],
         compress_rates={SPARSE: 8, HEAVY: 16}, _shapes=((2, 7), (2, 11)))
    case("deepseek_v4/kinds-absent", "DeepseekV4ForCausalLM", **dict(base, num_hidden_layers=5, index_topk=64),
         mlp_bias=True, _shapes=((2, 11), (1, 140)))
    case("deepseek_v4/absent", "DeepseekV4ForCausalLM", vocab_size=61, hidden_size=32, num_hidden_layers=2,
         moe_intermediate_size=22, n_routed_experts=8, _shapes=((1, 11),))
    case("deepseek_v4/other-names", "DeepseekV4ForCausalLM", **{
        key: value for key, value in base.items() if key not in ("moe_intermediate_size", "n_routed_experts")},
         intermediate_size=26, num_local_experts=6, layer_types=[WINDOW, SPARSE, WINDOW, WINDOW])
    case("deepseek_v4/model", "DeepseekV4Model", **base, compress_rates=rates,
         layer_types=[SPARSE, WINDOW, HEAVY, SPARSE])
    minimax(case)
    hy_v4(case)
    qwen4(case)
    glm5(case)
    mistral(case)


MINIMAX = dict(vocab_size=101, hidden_size=40, intermediate_size=22, num_hidden_layers=3, num_attention_heads=6,
               num_key_value_heads=2, head_dim=12, dense_intermediate_size=58, shared_intermediate_size=26,
               num_local_experts=5, num_experts_per_tok=3, rotary_dim=4, index_n_heads=2, index_head_dim=6,
               index_block_size=3, index_topk_blocks=2, pad_token_id=0,
               rope_parameters={"rope_type": "default", "partial_rotary_factor": 0.5})


def minimax(case):
    full, few = "full_attention", "minimax_m3_sparse"
    case("minimax_m3_vl_text/plain", "MiniMaxM3VLForCausalLM", **MINIMAX, layer_types=[full, few, few],
         mlp_layer_types=["dense", "sparse", "sparse"], _shapes=((2, 11), (3, 7), (1, 16)), _pair_flops=grouped_pair,
         _cached=((1, 3), (7, 6), (9, 1), (5, 14)))
    case("minimax_m3_vl_text/kinds-absent", "MiniMaxM3VLForCausalLM", **dict(MINIMAX, num_key_value_heads=3),
         tie_word_embeddings=True)
    case("minimax_m3_vl_text/published-names", "MiniMaxM3VLForCausalLM", **MINIMAX, moe_layer_freq=[0, 1, 1],
         sparse_attention_config={
             "sparse_num_index_heads": 3, "sparse_index_dim": 8, "sparse_block_size": 2, "sparse_topk_blocks": 3,
             "sparse_local_block": 2, "sparse_attention_freq": [0, 1, 0]})
    case("minimax_m3_vl_text/indexer-without-values", "MiniMaxM3VLForCausalLM", **MINIMAX, moe_layer_freq=[0, 1, 1],
         sparse_attention_config={"sparse_num_index_heads": 3, "sparse_attention_freq": [0, 1, 0],
                                  "sparse_disable_index_value": [0, 1, 0], "use_sparse_attention": True})
    case("minimax_m3_vl_text/absent", "MiniMaxM3VLForCausalLM", vocab_size=61, hidden_size=32, num_hidden_layers=2,
         intermediate_size=22, num_local_experts=8, layer_types=[full, few], _shapes=((1, 11), (1, 2100)),
         _attention=("eager",), _pairs=False)
    case("minimax_m3_vl_text/model", "MiniMaxM3VLTextModel", **MINIMAX, layer_types=[few, full, few])


def hy_v4(case):
    base = dict(vocab_size=61, hidden_size=40, intermediate_size=70, moe_intermediate_size=22, num_hidden_layers=6,
                num_attention_heads=4, q_lora_rank=13, kv_lora_rank=14, qk_nope_head_dim=10, qk_rope_head_dim=4,
                v_head_dim=9, n_routed_experts=7, num_experts_per_tok=3, index_topk=4, index_head_dim=6,
                index_n_heads=3, hc_mult=3, pad_token_id=0)
    case("hy_v4/plain", "HYV4ForCausalLM", **base, _pair_flops=latent_pair, _cached=((1, 3), (7, 6), (9, 1)))
    case("hy_v4/kinds", "HYV4ForCausalLM", **dict(base, num_hidden_layers=3), attention_bias=True, n_shared_experts=2,
         indexer_types=["full", "shared", "full"], mlp_layer_types=["sparse", "dense", "sparse"],
         tie_word_embeddings=True)
    case("hy_v4/absent", "HYV4ForCausalLM", vocab_size=61, hidden_size=32, num_hidden_layers=2, intermediate_size=70,
         moe_intermediate_size=22, n_routed_experts=8, num_attention_heads=2, num_key_value_heads=1, pad_token_id=0,
         _shapes=((1, 11),))
    case("hy_v4/model", "HYV4Model", **base)


QWEN4 = dict(vocab_size=101, hidden_size=40, num_attention_heads=4, num_key_value_heads=2, head_dim=12,
             num_hidden_layers=3, linear_num_key_heads=2, linear_num_value_heads=6, linear_key_head_dim=7,
             linear_value_head_dim=9, moe_intermediate_size=22, shared_expert_intermediate_size=26, num_experts=5,
             num_experts_per_tok=3, hc_count=3, hc_lowrank=8, indexer_n_heads=3, indexer_kv_heads=1,
             indexer_head_dim=16, indexer_budget=4, indexer_compress_ratio=2, eos_token_id=1, pad_token_id=0)
FEW, LINEAR = "indexed_attention", "linear_attention"


def qwen4(case):
    case("qwen4_exp_text/plain", "Qwen4ExpForCausalLM", **QWEN4, layer_types=[LINEAR, FEW, FEW],
         _shapes=((2, 11), (3, 7), (1, 70)), _pair_flops=grouped_pair, _cached=((1, 3), (7, 6), (9, 1), (4, 15)))
    case("qwen4_exp_text/interval-absent", "Qwen4ExpForCausalLM", **dict(QWEN4, num_hidden_layers=5),
         attention_bias=True, linear_conv_kernel_dim=3, tie_word_embeddings=True)
    case("qwen4_exp_text/embeddings", "Qwen4ExpForCausalLM", **QWEN4, layer_types=[LINEAR, "full_attention", LINEAR],
         ple_layer_ids=[3, 1], ple_embed_dim=24, ngram_size=3, heads_per_ngram=2, ngram_vocab_size_base=50,
         make_ngram_vocab_size_divisible_by=16, ple_conv_kernel_size=3)
    case("qwen4_exp_text/embeddings-absent", "Qwen4ExpForCausalLM", **QWEN4, full_attention_interval=2,
         ple_layer_ids=[1], ngram_size=2, ngram_vocab_size_base=11)
    case("qwen4_exp_text/model", "Qwen4ExpTextModel", **QWEN4, layer_types=[FEW, LINEAR, LINEAR])


GLM5 = dict(vocab_size=101, hidden_size=40, intermediate_size=58, moe_intermediate_size=22, num_hidden_layers=4,
            num_attention_heads=4, num_key_value_heads=4, q_lora_rank=13, kv_lora_rank=14, qk_nope_head_dim=10,
            v_head_dim=9, n_routed_experts=7, num_experts_per_tok=3, index_topk=4, index_head_dim=6, index_n_heads=3,
            index_kpool=2, linear_head_dim=8, linear_num_heads=3, hc_mult=3, pad_token_id=0)


def glm5(case):
    case("glm5_next_text/plain", "Glm5NextTextModel", **GLM5, layer_types=[LINEAR, FEW, FEW, FEW],
         indexer_types=["full", "full", "shared", "full"], _shapes=((2, 11), (3, 7), (1, 70)),
         _pair_flops=latent_pair, _cached=((1, 3), (7, 6), (9, 1), (4, 15)))
    case("glm5_next_text/kinds-absent", "Glm5NextTextModel", **dict(GLM5, num_hidden_layers=5), attention_bias=True,
         n_shared_experts=2)
    case("glm5_next_text/published-names", "Glm5NextTextModel", **dict(GLM5, num_hidden_layers=3), index_topk_freq=2,
         layer_types=["full_attention", "full_attention", LINEAR], linear_attn_config={
             "head_dim": 6, "num_heads": 5, "short_conv_kernel_size": 3}, mlp_layer_types=["sparse", "dense", "sparse"])
    case("glm5_next_text/absent", "Glm5NextTextModel", vocab_size=61, hidden_size=32, num_hidden_layers=4,
         intermediate_size=58, n_routed_experts=8, moe_intermediate_size=22, num_attention_heads=2,
         num_key_value_heads=2, pad_token_id=0, _shapes=((1, 40),), _attention=("eager",))


MISTRAL = dict(vocab_size=101, hidden_size=40, intermediate_size=58, moe_intermediate_size=22, num_hidden_layers=5,
               num_attention_heads=4, num_key_value_heads=4, kv_lora_rank=14, qk_nope_head_dim=10, qk_rope_head_dim=4,
               v_head_dim=9, n_routed_experts=7, num_experts_per_tok=3, index_topk=4, index_head_dim=6,
               index_n_heads=3, pad_token_id=0)


def mistral(case):
    case("mistral_large4_text/plain", "MistralLarge4TextModel", **MISTRAL, _pair_flops=latent_pair,
         _cached=((1, 3), (7, 6), (9, 1)))
    case("mistral_large4_text/shared-keys", "MistralLarge4TextModel", **MISTRAL, attention_bias=True,
         kv_source_layers=[0, 0, 2, 0, 2], no_rope_layers=[1, 1, 0, 1, 0], first_k_dense_replace=2,
         indexer_types=["full", "shared", "full", "shared", "full"])
    case("mistral_large4_text/published-names", "MistralLarge4TextModel", **MISTRAL, index_topk_pattern="FSSFS",
         no_rope_layer_interval=2, n_shared_experts=2, mlp_layer_types=["sparse", "dense", "sparse", "dense", "sparse"])
    case("mistral_large4_text/absent", "MistralLarge4TextModel", vocab_size=61, hidden_size=32, num_hidden_layers=2,
         intermediate_size=58, n_routed_experts=8, moe_intermediate_size=22, num_attention_heads=2,
         num_key_value_heads=2, _shapes=((1, 11),), _attention=("eager",))
