# SPDX-License-Identifier: Apache-2.0
"""Mixtures of experts with shared experts or dense first layers: glm4_moe, dots1, ernie4_5_moe, hunyuan_v1_moe,
exaone_moe, afmoe, hy_v3, solar_open, laguna, mellum, mimo_v2_flash."""

S, F = "sliding_attention", "full_attention"
D, E = "dense", "sparse"

def without(fields, *names):
    return {name: value for name, value in fields.items() if name not in names}

def cases(case):
    base = dict(vocab_size=61, hidden_size=40, intermediate_size=54, num_hidden_layers=3, num_attention_heads=6,
                num_key_value_heads=2, head_dim=10, moe_intermediate_size=14, num_experts_per_tok=3)
    one = dict(base, num_hidden_layers=1)
    # Experts of the default number and width are large: a small model around them.
    slim = dict(vocab_size=61, hidden_size=16, intermediate_size=54, num_hidden_layers=2, num_attention_heads=16,
                _shapes=((2, 11),), _attention=("eager",))

    glm = dict(base, n_routed_experts=7, n_shared_experts=2)
    case("glm4_moe/plain", "Glm4MoeForCausalLM", **glm)
    case("glm4_moe/bias-qk-norm-tied", "Glm4MoeForCausalLM", **glm, attention_bias=True, use_qk_norm=True,
         first_k_dense_replace=2, tie_word_embeddings=True, num_nextn_predict_layers=0)
    case("glm4_moe/head-dim-absent", "Glm4MoeForCausalLM", **without(glm, "head_dim"), first_k_dense_replace=0)
    case("glm4_moe/experts-and-kv-absent", None, **slim, head_dim=4)
    case("glm4_moe/both-names", "Glm4MoeForCausalLM", **dict(glm, num_hidden_layers=2), num_local_experts=5,
         num_mtp_layers=2)
    case("glm4_moe/no-shared", "Glm4MoeForCausalLM", **dict(glm, num_hidden_layers=2, n_shared_experts=0))
    case("glm4_moe/model", "Glm4MoeModel", **dict(glm, num_hidden_layers=2))

    case("dots1/plain", "Dots1ForCausalLM", **dict(glm, num_hidden_layers=2))
    case("dots1/windows-from-a-layer", "Dots1ForCausalLM", **glm, max_window_layers=1, sliding_window=4,
         first_k_dense_replace=1)
    case("dots1/window-null", "Dots1ForCausalLM", **dict(glm, num_hidden_layers=2), max_window_layers=1,
         sliding_window=None)
    case("dots1/layer-types-bias", "Dots1ForCausalLM", **glm, layer_types=[S, F, S], sliding_window=5,
         first_k_dense_replace=2, attention_bias=True)
    case("dots1/64-layers", "Dots1ForCausalLM", **dict(slim, num_hidden_layers=64, num_attention_heads=2),
         num_key_value_heads=1, first_k_dense_replace=64, sliding_window=3)
    case("dots1/kv-null-head-dim-absent-tied", "Dots1ForCausalLM",
         **dict(without(glm, "head_dim"), num_hidden_layers=1, num_key_value_heads=None), tie_word_embeddings=True)
    case("dots1/width-and-kv-absent", "Dots1Model", **dict(slim, num_attention_heads=32), head_dim=2,
         n_routed_experts=5, n_shared_experts=1, num_experts_per_tok=2)

    ernie = dict(without(base, "num_experts_per_tok"), moe_k=3, moe_num_experts=7, moe_num_shared_experts=3)
    case("ernie4_5_moe/plain", "Ernie4_5_MoeForCausalLM", **ernie)
    case("ernie4_5_moe/bias", "Ernie4_5_MoeForCausalLM", **ernie, use_bias=True, tie_word_embeddings=False)
    case("ernie4_5_moe/bias-no-shared", "Ernie4_5_MoeForCausalLM", **dict(ernie, moe_num_shared_experts=0),
         use_bias=True)
    case("ernie4_5_moe/interval", "Ernie4_5_MoeForCausalLM", **dict(ernie, num_hidden_layers=8), moe_layer_interval=2,
         moe_layer_start_index=3, moe_layer_end_index=5, _shapes=((2, 11),))
    case("ernie4_5_moe/last-layer", "Ernie4_5_MoeForCausalLM", **ernie, moe_layer_start_index=0,
         moe_layer_end_index=-1)
    case("ernie4_5_moe/experts-and-kv-absent", None, **slim, head_dim=4)
    case("ernie4_5_moe/alias", "Ernie4_5_MoeForCausalLM",
         **dict(without(ernie, "moe_k", "moe_num_experts", "head_dim"), num_hidden_layers=2), num_experts=5,
         num_experts_per_tok=2)
    case("ernie4_5_moe/model", "Ernie4_5_MoeModel", **dict(ernie, num_hidden_layers=2))

    hunyuan = dict(without(base, "moe_intermediate_size", "num_experts_per_tok"), num_experts=7, moe_topk=3)
    case("hunyuan_v1_moe/plain", "HunYuanMoEV1ForCausalLM", **hunyuan)
    case("hunyuan_v1_moe/experts-per-layer-bias", "HunYuanMoEV1ForCausalLM", **dict(hunyuan, moe_topk=[1, 4, 2]),
         attention_bias=True)
    case("hunyuan_v1_moe/experts-and-kv-absent-tied", "HunYuanMoEV1ForCausalLM",
         **dict(without(hunyuan, "num_experts", "moe_topk", "num_key_value_heads"), num_hidden_layers=1),
         tie_word_embeddings=True)
    case("hunyuan_v1_moe/alias", "HunYuanMoEV1ForCausalLM",
         **dict(without(hunyuan, "num_experts", "moe_topk"), num_hidden_layers=1), num_local_experts=5,
         num_experts_per_tok=2)
    case("hunyuan_v1_moe/model", "HunYuanMoEV1Model", **dict(hunyuan, num_hidden_layers=1, num_key_value_heads=None))
    case("hunyuan_v1_moe/sequence-classification", "HunYuanMoEV1ForSequenceClassification",
         **dict(hunyuan, num_hidden_layers=1), num_labels=5, pad_token_id=0)

    exaone = dict(base, num_experts=7, num_shared_experts=2)
    case("exaone_moe/plain", "ExaoneMoeForCausalLM", **dict(exaone, num_hidden_layers=5), sliding_window=4)
    case("exaone_moe/pattern", "ExaoneMoeForCausalLM", **exaone, sliding_window=5, sliding_window_pattern=2,
         first_k_dense_replace=2)
    case("exaone_moe/layer-types-tied", "ExaoneMoeForCausalLM", **exaone, sliding_window=3, layer_types=[S, F, S],
         mlp_layer_types=[E, D, E], first_k_dense_replace=3, tie_word_embeddings=True)

    case("exaone_moe/experts-and-kv-absent", None, **dict(slim, num_attention_heads=32), head_dim=4)
    case("exaone_moe/model-head-dim-absent", "ExaoneMoeModel", **dict(without(exaone, "head_dim"), num_hidden_layers=2))

    case("afmoe/plain", "AfmoeForCausalLM", **dict(exaone, num_hidden_layers=5), sliding_window=4)
    case("afmoe/period-bias", "AfmoeForCausalLM", **exaone, sliding_window=5, global_attn_every_n_layers=2,
         num_dense_layers=2, attention_bias=True, mup_enabled=True)
    case("afmoe/layer-types-tied", "AfmoeForCausalLM", **exaone, sliding_window=3, layer_types=[F, S, F],
         num_dense_layers=0, tie_word_embeddings=True)
    case("afmoe/experts-kv-head-dim-absent", None, **dict(slim, num_attention_heads=2))
    case("afmoe/model", "AfmoeModel", **dict(exaone, num_hidden_layers=2, num_key_value_heads=None),
         num_dense_layers=2)

    case("hy_v3/plain", "HYV3ForCausalLM", **exaone)
    case("hy_v3/biases-tied", "HYV3ForCausalLM", **exaone, attention_bias=True, mlp_bias=True,
         tie_word_embeddings=True)
    case("hy_v3/mlp-layer-types", "HYV3ForCausalLM", **dict(exaone, num_shared_experts=1), mlp_layer_types=[E, D, E],
         mlp_bias=True)
    case("hy_v3/experts-kv-head-dim-absent", None, **slim)
    case("hy_v3/alias", "HYV3ForCausalLM", **dict(without(exaone, "num_experts"), num_hidden_layers=2),
         num_local_experts=5)
    case("hy_v3/model", "HYV3Model", **dict(exaone, num_hidden_layers=2))

    solar = without(glm, "intermediate_size")
    case("solar_open/plain", "SolarOpenForCausalLM", **dict(solar, num_hidden_layers=2))
    case("solar_open/bias-tied", "SolarOpenForCausalLM", **dict(solar, num_hidden_layers=2), attention_bias=True,
         tie_word_embeddings=True, first_k_dense_replace=1, intermediate_size=54)
    case("solar_open/experts-kv-head-dim-absent", None, **dict(slim, num_hidden_layers=1))
    case("solar_open/model", "SolarOpenModel", **dict(without(solar, "n_routed_experts"), num_hidden_layers=1),
         num_local_experts=5)

    laguna = dict(base, num_experts=7, shared_expert_intermediate_size=22)
    case("laguna/plain", "LagunaForCausalLM", **laguna)
    case("laguna/heads-per-layer", "LagunaForCausalLM", **laguna, num_attention_heads_per_layer=[4, 2, 8],
         attention_bias=True)
    case("laguna/windows", "LagunaForCausalLM", **laguna, layer_types=[F, S, S], sliding_window=4)
    case("laguna/windows-and-heads-per-layer", "LagunaForCausalLM", **dict(laguna, num_hidden_layers=2),
         num_attention_heads_per_layer=[8, 2], layer_types=[S, F], sliding_window=5, _pairs=False)
    case("laguna/gate-per-element-tied", "LagunaForCausalLM", **laguna, gating="per-element",
         num_attention_heads_per_layer=[4, 6, 2], mlp_layer_types=[E, D, E], tie_word_embeddings=True)
    case("laguna/gate-per-head-no-shared", "LagunaForCausalLM",
         **dict(laguna, num_hidden_layers=2, shared_expert_intermediate_size=0), gating="per-head")
    case("laguna/gate-false", "LagunaForCausalLM", **one, num_experts=5, gating=False)
    case("laguna/experts-kv-head-dim-absent", None, **slim)
    case("laguna/model", "LagunaModel", **dict(laguna, num_hidden_layers=2))

    mellum = dict(base, num_experts=7)
    case("mellum/plain", "MellumForCausalLM", **dict(mellum, num_hidden_layers=2))
    case("mellum/layer-types-bias", "MellumForCausalLM", **mellum, layer_types=[S, F, S], sliding_window=4,
         mlp_layer_types=[E, D, E], attention_bias=True)
    case("mellum/declared-mtp-tied", "MellumForCausalLM", **dict(mellum, num_hidden_layers=1), num_mtp_layers=1,
         tie_word_embeddings=True)
    case("mellum/both-names", "MellumForCausalLM", **dict(mellum, num_hidden_layers=1), num_local_experts=5)
    case("mellum/experts-kv-head-dim-absent", None, **dict(slim, num_hidden_layers=1))
    case("mellum/model", "MellumModel", **dict(mellum, num_hidden_layers=1))

    mimo = dict(base, num_attention_heads=8, n_routed_experts=7, v_head_dim=6)
    case("mimo_v2_flash/plain", "MiMoV2FlashForCausalLM", **dict(mimo, num_hidden_layers=8), sliding_window=4,
         _shapes=((2, 11),))
    case("mimo_v2_flash/layer-types-bias", "MiMoV2FlashForCausalLM", **mimo, sliding_window=5, layer_types=[S, F, S],
         mlp_layer_types=[E, D, E], attention_bias=True)
    case("mimo_v2_flash/window-of-earlier-tokens-tied", "MiMoV2FlashForCausalLM", **mimo, sliding_window=7,
         sliding_window_size=3, tie_word_embeddings=True)
    case("mimo_v2_flash/experts-kv-head-dim-absent", None, **slim)
    case("mimo_v2_flash/model", "MiMoV2FlashModel", **dict(mimo, num_hidden_layers=2))
