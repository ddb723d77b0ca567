# SPDX-License-Identifier: Apache-2.0
"""qwen2, qwen3."""

S, F = "sliding_attention", "full_attention"


def cases(case):
    base = dict(vocab_size=61, hidden_size=48, intermediate_size=70, num_hidden_layers=4, num_attention_heads=4)
    gqa = dict(base, num_key_value_heads=2)
    two = dict(gqa, num_hidden_layers=2)

    case("qwen2/plain", "Qwen2ForCausalLM", **gqa)
    case("qwen2/tied-window-off", "Qwen2ForCausalLM", **gqa, tie_word_embeddings=True, use_sliding_window=False,
         sliding_window=5, max_window_layers=1)
    case("qwen2/window", "Qwen2ForCausalLM", **gqa, use_sliding_window=True, sliding_window=5, max_window_layers=1)
    case("qwen2/window-null", "Qwen2ForCausalLM", **gqa, use_sliding_window=True, sliding_window=None,
         max_window_layers=1)
    case("qwen2/max-window-layers-absent", "Qwen2ForCausalLM", **gqa, use_sliding_window=True, sliding_window=5)
    case("qwen2/layer-types", "Qwen2ForCausalLM", **gqa, use_sliding_window=True, sliding_window=4,
         max_window_layers=0, layer_types=[S, F, F, S])
    case("qwen2/layer-types-legacy-name", "Qwen2ForCausalLM", **two, layer_types=["attention", F])
    case("qwen2/kv-absent", "Qwen2ForCausalLM",
         **dict(base, num_attention_heads=32, hidden_size=64, num_hidden_layers=1))
    case("qwen2/kv-null", "Qwen2ForCausalLM", **dict(base, num_hidden_layers=2), num_key_value_heads=None)
    case("qwen2/head-dim", "Qwen2ForCausalLM", **two, head_dim=10)
    case("qwen2/head-dim-floor", "Qwen2ForCausalLM", **dict(two, hidden_size=50))
    case("qwen2/model", "Qwen2Model", **two)
    case("qwen2/sequence-classification", "Qwen2ForSequenceClassification", **two, pad_token_id=0, num_labels=3)
    case("qwen2/token-classification", "Qwen2ForTokenClassification", **two, num_labels=3)
    case("qwen2/question-answering", "Qwen2ForQuestionAnswering", **two)

    case("qwen3/head-dim", "Qwen3ForCausalLM", **two, head_dim=10)
    case("qwen3/head-dim-absent-tied", "Qwen3ForCausalLM", **two, tie_word_embeddings=True)
    case("qwen3/attention-bias", "Qwen3ForCausalLM", **two, head_dim=14, attention_bias=True)
    case("qwen3/window", "Qwen3ForCausalLM", **gqa, head_dim=10, use_sliding_window=True, sliding_window=4,
         max_window_layers=3)
    case("qwen3/layer-types", "Qwen3ForCausalLM", **gqa, head_dim=10, use_sliding_window=True, sliding_window=5,
         layer_types=[S, S, F, S])
    case("qwen3/kv-absent", "Qwen3ForCausalLM", **dict(base, num_attention_heads=32, num_hidden_layers=1), head_dim=6)
    case("qwen3/kv-null", "Qwen3ForCausalLM", **dict(base, num_hidden_layers=1), num_key_value_heads=None, head_dim=10)
    case("qwen3/model", "Qwen3Model", **two, head_dim=10)
    case("qwen3/sequence-classification", "Qwen3ForSequenceClassification", **two, head_dim=10, pad_token_id=0)
    case("qwen3/token-classification", "Qwen3ForTokenClassification", **two, head_dim=10, num_labels=3)
    case("qwen3/question-answering", "Qwen3ForQuestionAnswering", **two, head_dim=10)
