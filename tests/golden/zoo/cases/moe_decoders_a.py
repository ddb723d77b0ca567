# SPDX-License-Identifier: Apache-2.0
"""Decoders with experts: olmoe, flex_olmo, granitemoe, granitemoeshared, granitemoe_swa, phimoe, minimax_m2,
aria_text,
llama4_text, cohere2_moe, dbrx, jetmoe, zaya."""

S, F, C = "sliding_attention", "full_attention", "chunked_attention"


def without(config, *keys):
    return {key: value for key, value in config.items() if key not in keys}


def all_experts_run(config, batch, length, fused):
    """Three matrices of every expert see every token; a token chooses num_experts_per_tok of them."""
    not_chosen = config.num_local_experts - config.num_experts_per_tok
    product = 2 * 3 * config.hidden_size * config.intermediate_size
    layers = sum(index < config.num_hidden_layers for index in config.moe_layers)
    forward = layers * batch * length * not_chosen * product
    return {"all_experts": {"forward": forward, "backward": 2 * forward,
                            "why": "the experts run as one batched product in which every expert sees every token"}}


def convolutions_of_zaya(config, batch, length, fused):
    """The first convolution also runs on the padding that the second one needs, and the counter takes the weight
    gradient of a convolution once for each group; the half of the values that comes from the token before has a row of
    zeros before each sequence, whose backward is the weight gradient alone."""
    heads, kv_heads, width = config.num_attention_heads, config.num_key_value_heads, config.head_dim
    channels, layers = (heads + kv_heads) * width, config.num_hidden_layers
    padding, rows = batch * (config.cca_time1 - 1), batch * length
    by_channel = layers * 2 * config.cca_time0 * channels
    by_head = layers * 2 * config.cca_time1 * width * channels
    zeros = layers * batch * 2 * config.hidden_size * (kv_heads * width // 2)
    over_counted = (channels - 1) * by_channel * (rows + padding) + (heads + kv_heads - 1) * by_head * rows
    return {"padded_convolution": {"forward": by_channel * padding, "backward": 2 * by_channel * padding,
                                   "why": "the convolution runs on the padding before each sequence too"},
            "convolution_groups": {"forward": 0, "backward": over_counted,
                                   "why": "the counter takes a convolution's weight gradient once for each group"},
            "zero_row": {"forward": zeros, "backward": zeros,
                         "why": "a row of zeros before each sequence is projected to values"}}


DIFFERENCES = {"llama4_text": all_experts_run, "zaya": convolutions_of_zaya}


def cases(case):
    base = dict(vocab_size=61, hidden_size=48, intermediate_size=22, num_hidden_layers=2, num_attention_heads=4)
    gqa = dict(base, num_key_value_heads=2)
    moe = dict(gqa, num_experts=7, num_experts_per_tok=3)
    local = dict(gqa, num_local_experts=7, num_experts_per_tok=3)

    case("olmoe/plain", "OlmoeForCausalLM", **moe)
    case("olmoe/kv-and-experts-absent", "OlmoeForCausalLM", **dict(base, num_hidden_layers=1))
    case("olmoe/kv-null-bias-tied", "OlmoeForCausalLM", **dict(moe, num_key_value_heads=None), attention_bias=True,
         tie_word_embeddings=True)
    case("olmoe/alias-head-dim", "OlmoeForCausalLM", **local, head_dim=12)
    case("olmoe/both-names", "OlmoeForCausalLM", **local, num_experts=5)
    case("olmoe/clip", "OlmoeForCausalLM", **dict(moe, num_hidden_layers=1), clip_qkv=0.5)
    case("olmoe/model", "OlmoeModel", **dict(moe, num_hidden_layers=1))
    case("olmoe/defaults", "OlmoeForCausalLM", vocab_size=61, hidden_size=32, num_hidden_layers=1)

    case("flex_olmo/plain", "FlexOlmoForCausalLM", **moe, pad_token_id=0)
    case("flex_olmo/head-dim-bias-tied", "FlexOlmoForCausalLM", **moe, head_dim=10, attention_bias=True,
         tie_word_embeddings=True, pad_token_id=0)
    case("flex_olmo/kv-and-experts-absent", "FlexOlmoForCausalLM", **dict(base, num_hidden_layers=1), pad_token_id=0)
    case("flex_olmo/alias", "FlexOlmoForCausalLM", **dict(local, num_key_value_heads=None), pad_token_id=0)
    case("flex_olmo/model", "FlexOlmoModel", **dict(moe, num_hidden_layers=1), pad_token_id=0)

    for kind, name in (("granitemoe", "GraniteMoe"), ("granitemoeshared", "GraniteMoeShared"),
                       ("granitemoe_swa", "GraniteMoeSWA")):
        case(kind + "/plain", name + "ForCausalLM", **local)
        case(kind + "/head-dim-bias-tied", name + "ForCausalLM", **local, head_dim=10, attention_bias=True,
             tie_word_embeddings=True)
        case(kind + "/kv-and-experts-absent", name + "ForCausalLM", **dict(base, num_hidden_layers=1))
        case(kind + "/kv-null", name + "ForCausalLM", **dict(local, num_key_value_heads=None, num_hidden_layers=1))
        case(kind + "/model", name + "Model", **dict(local, num_hidden_layers=1))
    case("granitemoeshared/shared", "GraniteMoeSharedForCausalLM", **local, shared_intermediate_size=34)
    case("granitemoe_swa/shared", "GraniteMoeSWAForCausalLM", **dict(local, num_hidden_layers=6), sliding_window=5,
         shared_intermediate_size=34)
    case("granitemoe_swa/layer-types", "GraniteMoeSWAForCausalLM", **dict(local, num_hidden_layers=3),
         sliding_window=4, layer_types=[S, S, F])

    phi = dict(gqa, num_local_experts=7)
    case("phimoe/plain", "PhimoeForCausalLM", **phi, num_experts_per_tok=2)
    case("phimoe/experts-absent-head-bias", "PhimoeForCausalLM", **gqa, lm_head_bias=True, attention_bias=True)
    case("phimoe/window-tied", "PhimoeForCausalLM", **phi, sliding_window=5, tie_word_embeddings=True,
         lm_head_bias=False)
    case("phimoe/head-dim", "PhimoeForCausalLM", **phi, head_dim=10)
    case("phimoe/kv-absent", "PhimoeForCausalLM", **dict(base, num_attention_heads=16, hidden_size=64))
    case("phimoe/model", "PhimoeModel", **phi, lm_head_bias=True)
    case("phimoe/sequence-classification", "PhimoeForSequenceClassification", **phi, pad_token_id=0, num_labels=3,
         lm_head_bias=True)

    case("minimax_m2/plain", "MiniMaxM2ForCausalLM", **local, head_dim=10)
    case("minimax_m2/mtp-null", "MiniMaxM2ForCausalLM", **dict(local, num_hidden_layers=1), num_mtp_modules=None)
    case("minimax_m2/head-dim-absent-tied", "MiniMaxM2ForCausalLM", **local, tie_word_embeddings=True)
    case("minimax_m2/both-names", "MiniMaxM2ForCausalLM", **dict(local, num_hidden_layers=1), num_experts=5)
    case("minimax_m2/defaults", "MiniMaxM2ForCausalLM", vocab_size=61, hidden_size=32, num_hidden_layers=1,
         num_attention_heads=8, intermediate_size=18)
    case("minimax_m2/model", "MiniMaxM2Model", **dict(local, num_hidden_layers=1), head_dim=10)

    aria = dict(gqa, moe_num_experts=7, moe_topk=3)
    case("aria_text/plain", "AriaTextForCausalLM", **aria)
    case("aria_text/shared-bias-tied", "AriaTextForCausalLM", **aria, moe_num_shared_experts=3, mlp_bias=True,
         attention_bias=True, tie_word_embeddings=True)
    case("aria_text/head-dim", "AriaTextForCausalLM", **dict(aria, num_key_value_heads=None), head_dim=10)
    case("aria_text/null-and-absent", "AriaTextForCausalLM", **dict(base, num_hidden_layers=1), head_dim=None)
    case("aria_text/no-shared", "AriaTextForCausalLM", **dict(aria, num_hidden_layers=1), moe_num_shared_experts=0)
    case("aria_text/model", "AriaTextModel", **dict(aria, num_hidden_layers=1))

    llama4 = dict(local, num_hidden_layers=5, head_dim=10, intermediate_size_mlp=34, attention_chunk_size=4)
    case("llama4_text/plain", "Llama4ForCausalLM", **llama4)
    case("llama4_text/top-1-interleaved", "Llama4ForCausalLM", **dict(llama4, num_experts_per_tok=1),
         interleave_moe_layer_step=2, attention_bias=True)
    case("llama4_text/moe-layers", "Llama4ForCausalLM", **llama4, moe_layers=[0, 3, 9], interleave_moe_layer_step=4,
         tie_word_embeddings=True)
    case("llama4_text/all-dense", "Llama4ForCausalLM", **dict(llama4, num_hidden_layers=2), moe_layers=[])
    case("llama4_text/no-rope-layers", "Llama4ForCausalLM", **dict(llama4, num_hidden_layers=3),
         no_rope_layers=[0, 1, 0], no_rope_layer_interval=2)
    case("llama4_text/no-rope-interval", "Llama4ForCausalLM", **dict(llama4, num_hidden_layers=3), no_rope_layers=[],
         no_rope_layer_interval=2)
    case("llama4_text/layer-types", "Llama4ForCausalLM", **dict(llama4, num_hidden_layers=3), layer_types=[F, F, C],
         no_rope_layers=[0, 1, 0])
    case("llama4_text/defaults", "Llama4ForCausalLM", vocab_size=61, hidden_size=32, num_hidden_layers=2,
         num_attention_heads=16, intermediate_size=18, interleave_moe_layer_step=2)
    case("llama4_text/model", "Llama4TextModel", **dict(llama4, num_hidden_layers=1))

    cohere = dict(moe, num_hidden_layers=5, head_dim=10, sliding_window=4)
    case("cohere2_moe/plain", "Cohere2MoeForCausalLM", **cohere)
    case("cohere2_moe/dense-first", "Cohere2MoeForCausalLM", **cohere,
         first_k_dense_replace=3, prefix_dense_sliding_window_pattern=2, prefix_dense_intermediate_size=34,
         num_shared_experts=2, attention_bias=True)
    case("cohere2_moe/dense-first-by-default", "Cohere2MoeForCausalLM", **dict(cohere, num_hidden_layers=4),
         first_k_dense_replace=2, sliding_window_pattern=2, prefix_dense_intermediate_size=None)
    case("cohere2_moe/layer-types-untied", "Cohere2MoeForCausalLM", **dict(cohere, num_hidden_layers=3),
         layer_types=[F, S, F], mlp_layer_types=["sparse", "dense", "sparse"], prefix_dense_intermediate_size=34,
         num_shared_experts=1, tie_word_embeddings=False, rms_norm_eps=1e-5)
    case("cohere2_moe/window-and-kv-and-experts-absent", "Cohere2MoeForCausalLM", **dict(base, num_hidden_layers=1))
    case("cohere2_moe/model", "Cohere2MoeModel", **dict(cohere, num_hidden_layers=1))

    dbrx = dict(vocab_size=61, d_model=48, n_heads=4, n_layers=2)
    inner = dict(attn_config=dict(kv_n_heads=2, clip_qkv=8, rope_theta=500000),
                 ffn_config=dict(ffn_hidden_size=22, moe_num_experts=7, moe_top_k=3))
    case("dbrx/plain", "DbrxForCausalLM", **dbrx, **inner)
    # Without attn_config's rope_theta and clip_qkv the class does not run.
    case("dbrx/inner-absent", "DbrxForCausalLM", **dict(dbrx, n_layers=1), ffn_config=None,
         attn_config=dict(clip_qkv=8, rope_theta=500000))
    case("dbrx/long-names", "DbrxForCausalLM", **inner, vocab_size=61, d_model=40, num_attention_heads=4,
         num_hidden_layers=3, num_key_value_heads=4)
    case("dbrx/model", "DbrxModel", **dict(dbrx, n_layers=1), **inner)

    jet = dict(vocab_size=61, hidden_size=48, intermediate_size=22, num_hidden_layers=2, num_key_value_heads=2,
               kv_channels=10, num_local_experts=7, num_experts_per_tok=3)
    case("jetmoe/plain", "JetMoeForCausalLM", **jet)
    case("jetmoe/heads-untied", "JetMoeForCausalLM", **jet, num_attention_heads=5, tie_word_embeddings=False)
    case("jetmoe/alias-experts-absent", "JetMoeForCausalLM",
         **without(jet, "kv_channels", "num_local_experts", "num_experts_per_tok"), head_dim=14)
    case("jetmoe/defaults", "JetMoeForCausalLM", vocab_size=61, hidden_size=32, num_hidden_layers=1,
         intermediate_size=18)
    case("jetmoe/model", "JetMoeModel", **jet)
    case("jetmoe/sequence-classification", "JetMoeForSequenceClassification", **jet, pad_token_id=0, num_labels=3)

    zaya = dict(gqa, head_dim=10, moe_intermediate_size=22, num_experts=7, router_hidden_size=14, cca_time0=3,
                cca_time1=4)
    case("zaya/plain", "ZayaForCausalLM", **zaya)
    case("zaya/window-bias-untied", "ZayaForCausalLM", **dict(zaya, num_hidden_layers=3), sliding_window=5,
         layer_types=["hybrid", "hybrid_sliding", "hybrid"], attention_bias=True, lm_head_bias=True,
         tie_word_embeddings=False, num_experts_per_tok=1)
    case("zaya/defaults", "ZayaForCausalLM", vocab_size=61, hidden_size=32, num_hidden_layers=1,
         moe_intermediate_size=18)
    case("zaya/model", "ZayaModel", **dict(zaya, num_hidden_layers=1))
