# SPDX-License-Identifier: Apache-2.0
"""Gated decoders with parts of their own: gemma3n_text, gemma4_text (layers that reuse keys and values), diffllama,
doge."""

S, F = "sliding_attention", "full_attention"


def repeated_scores(config, batch, length, fused):
    """DiffLlama runs the attention once for each half of the values, so QKT and its softmax twice."""
    product = 2 * config.num_attention_heads * config.head_dim * length * length * batch * config.num_hidden_layers
    return {"second QKT": {"forward": product, "backward": (3 if fused else 2) * product,
                           "why": "the two halves of the values go through the attention one after the other, "
                                  "each time with the same queries and keys"}}


DIFFERENCES = {"diffllama": repeated_scores}


def cases(case):
    base = dict(vocab_size=61, hidden_size=48, intermediate_size=70, num_hidden_layers=2, num_attention_heads=4)
    gqa = dict(base, num_key_value_heads=2)

    nano = dict(gqa, num_hidden_layers=5, head_dim=10, sliding_window=5, vocab_size_per_layer_input=53,
                hidden_size_per_layer_input=6, laurel_rank=7, altup_num_inputs=3)
    case("gemma3n_text/none-shared", "Gemma3nForCausalLM", **nano, num_kv_shared_layers=0)
    case("gemma3n_text/shared", "Gemma3nForCausalLM", **dict(nano, num_hidden_layers=7), num_kv_shared_layers=2)
    case("gemma3n_text/widths-layer-types-bias", "Gemma3nForCausalLM",
         **dict(nano, num_hidden_layers=4, intermediate_size=[70, 66, 58, 74]), layer_types=[F, S, S, F],
         num_kv_shared_layers=2, attention_bias=True, tie_word_embeddings=False)
    case("gemma3n_text/defaults", "Gemma3nForCausalLM", vocab_size=61, hidden_size=48, intermediate_size=70,
         num_hidden_layers=21, num_attention_heads=4, vocab_size_per_layer_input=53)
    case("gemma3n_text/no-inputs-of-layers", "Gemma3nForCausalLM", **dict(nano, hidden_size_per_layer_input=0),
         num_kv_shared_layers=0)
    case("gemma3n_text/model", "Gemma3nTextModel", **nano, num_kv_shared_layers=0, altup_active_idx=1)

    # Where heads of windows and of full layers differ in size, pairs do not tell the share of the core.
    four = dict(gqa, num_hidden_layers=7, head_dim=10, sliding_window=5, vocab_size_per_layer_input=67,
                hidden_size_per_layer_input=6, global_head_dim=14, _pairs=False)
    two = dict(four, num_hidden_layers=2)
    case("gemma4_text/plain", "Gemma4ForCausalLM", **four)
    case("gemma4_text/one-head-dim", "Gemma4ForCausalLM", **dict(four, global_head_dim=10, _pairs=True))
    case("gemma4_text/shared-double-wide", "Gemma4ForCausalLM", **dict(four, num_hidden_layers=9),
         num_kv_shared_layers=3, use_double_wide_mlp=True)
    case("gemma4_text/shared-usual-width", "Gemma4ForCausalLM", **dict(four, num_hidden_layers=4),
         layer_types=[S, F, S, F], num_kv_shared_layers=1, tie_word_embeddings=False, attention_bias=True)
    case("gemma4_text/keys-are-values-of-the-usual-heads", "Gemma4ForCausalLM", **dict(four, num_hidden_layers=3),
         attention_k_eq_v=True, layer_types=[F, S, F])
    case("gemma4_text/keys-are-values", "Gemma4ForCausalLM", **dict(four, num_hidden_layers=3), attention_k_eq_v=True,
         num_global_key_value_heads=1, layer_types=[F, S, F], attention_bias=True)
    case("gemma4_text/global-kv-heads-ignored", "Gemma4ForCausalLM", **two, num_global_key_value_heads=1,
         use_bidirectional_attention="vision")
    case("gemma4_text/experts", "Gemma4ForCausalLM", **two, enable_moe_block=True, num_experts=5, top_k_experts=2,
         moe_intermediate_size=22)
    case("gemma4_text/no-layer-inputs", "Gemma4ForCausalLM", **dict(two, hidden_size_per_layer_input=0))
    case("gemma4_text/per-layer-config", "Gemma4ForCausalLM", **dict(four, num_hidden_layers=3),
         layer_types=[S, F, F], per_layer_config={"1": {"head_dim": 12, "num_key_value_heads": 4},
                                                  "02": {"head_dim": 12, "num_key_value_heads": 4}})
    case("gemma4_text/defaults", "Gemma4ForCausalLM", **base, vocab_size_per_layer_input=67, _pairs=False)
    case("gemma4_text/model", "Gemma4TextModel", **two)

    case("diffllama/kv-absent", "DiffLlamaForCausalLM", **base)
    case("diffllama/gqa-tied", "DiffLlamaForCausalLM", **gqa, tie_word_embeddings=True, head_dim=10)
    case("diffllama/attention-bias", "DiffLlamaForCausalLM", **gqa, attention_bias=True, head_dim=14)
    case("diffllama/nulls-model", "DiffLlamaModel", **base, num_key_value_heads=None, head_dim=None)
    case("diffllama/sequence-classification", "DiffLlamaForSequenceClassification", **gqa, num_labels=3,
         pad_token_id=0)
    case("diffllama/token-classification", "DiffLlamaForTokenClassification", **gqa, num_labels=3)
    case("diffllama/question-answering", "DiffLlamaForQuestionAnswering", **gqa)

    case("doge/kv-absent", "DogeForCausalLM", **base)
    case("doge/best-keys", "DogeForCausalLM", **gqa, keep_window_size=6, tie_word_embeddings=True)
    case("doge/window", "DogeForCausalLM", **gqa, sliding_window=4, head_dim=10)
    case("doge/biases", "DogeForCausalLM", **gqa, attention_bias=True, mlp_bias=True)
    case("doge/experts", "DogeForCausalLM", **gqa, is_moe=True, num_experts=41, num_experts_per_tok=3)
    case("doge/experts-bias-model", "DogeModel", **gqa, is_moe=True, num_experts=25, num_experts_per_tok=2,
         mlp_bias=True)
    case("doge/experts-default", "DogeForCausalLM", **dict(gqa, num_hidden_layers=1), is_moe=True)
    case("doge/sequence-classification", "DogeForSequenceClassification", **gqa, num_labels=3, pad_token_id=0)
