# SPDX-License-Identifier: Apache-2.0
"""Decoders built as Llama is: llama, mistral, phi3, olmo2, granite, starcoder2."""

S, F = "sliding_attention", "full_attention"
LABELS = {"0": "A", "1": "B", "2": "C"}


def cases(case):
    base = dict(vocab_size=61, hidden_size=48, intermediate_size=70, num_hidden_layers=2, num_attention_heads=4)
    gqa = dict(base, num_key_value_heads=2)

    case("llama/kv-absent", "LlamaForCausalLM", **base)
    case("llama/gqa-untied", "LlamaForCausalLM", **gqa, tie_word_embeddings=False)
    case("llama/gqa-tied", "LlamaForCausalLM", **gqa, tie_word_embeddings=True)
    case("llama/head-dim", "LlamaForCausalLM", **gqa, head_dim=10)
    case("llama/nulls-and-biases", "LlamaForCausalLM", **base, num_key_value_heads=None, head_dim=None,
         attention_bias=True, mlp_bias=True)
    case("llama/mqa-mlp-bias", "LlamaForCausalLM", **base, num_key_value_heads=1, mlp_bias=True)
    case("llama/attention-bias-head-dim", "LlamaForCausalLM", **gqa, head_dim=14, attention_bias=True)
    case("llama/ignored-fields", "LlamaForCausalLM", **gqa, pretraining_tp=2, max_position_embeddings=5,
         sliding_window=4, rope_scaling={"rope_type": "linear", "factor": 2.0}, rope_theta=500000.0)
    case("llama/no-architectures", None, **dict(gqa, vocab_size=59))
    case("llama/model", "LlamaModel", **gqa)
    case("llama/sequence-classification", "LlamaForSequenceClassification", **gqa, pad_token_id=0, id2label=LABELS)
    case("llama/sequence-classification-default-labels", "LlamaForSequenceClassification", **gqa, pad_token_id=0)
    case("llama/token-classification", "LlamaForTokenClassification", **gqa, num_labels=5)
    case("llama/token-classification-no-bias", "LlamaForTokenClassification", **gqa, num_labels=5,
         token_classification_bias=False)
    case("llama/labels-twice", "LlamaForTokenClassification", **gqa, num_labels=5, id2label=LABELS)
    case("llama/question-answering", "LlamaForQuestionAnswering", **gqa, num_labels=7)

    case("mistral/window", "MistralForCausalLM", **gqa, sliding_window=5)
    case("mistral/window-absent", "MistralForCausalLM", **gqa)
    case("mistral/window-null", "MistralForCausalLM", **gqa, sliding_window=None)
    case("mistral/window-1", "MistralForCausalLM", **gqa, sliding_window=1, tie_word_embeddings=True)
    case("mistral/kv-absent", "MistralForCausalLM", **dict(base, num_attention_heads=16, hidden_size=96),
         sliding_window=5)
    case("mistral/head-dim", "MistralForCausalLM", **gqa, head_dim=10, sliding_window=4)
    case("mistral/head-dim-floor", "MistralForCausalLM", **dict(gqa, hidden_size=50), head_dim=None, sliding_window=4)
    case("mistral/layer-types", "MistralForCausalLM", **dict(gqa, num_hidden_layers=3), head_dim=12, sliding_window=4,
         layer_types=[F, S, F])
    case("mistral/biases-ignored", "MistralForCausalLM", **gqa, attention_bias=True, mlp_bias=True, sliding_window=None)
    case("mistral/model", "MistralModel", **gqa, sliding_window=5)
    case("mistral/sequence-classification", "MistralForSequenceClassification", **gqa, sliding_window=5,
         pad_token_id=0, num_labels=5)
    case("mistral/token-classification", "MistralForTokenClassification", **gqa, sliding_window=5)
    case("mistral/question-answering", "MistralForQuestionAnswering", **gqa, sliding_window=5)

    case("phi3/kv-absent", "Phi3ForCausalLM", **base, pad_token_id=0)
    case("phi3/gqa-window", "Phi3ForCausalLM", **gqa, pad_token_id=0, sliding_window=5)
    case("phi3/window-null-tied", "Phi3ForCausalLM", **gqa, pad_token_id=0, sliding_window=None,
         tie_word_embeddings=True)
    case("phi3/head-dim", "Phi3ForCausalLM", **gqa, pad_token_id=0, head_dim=10, partial_rotary_factor=1.0)
    case("phi3/kv-null-floor", "Phi3ForCausalLM", **dict(base, hidden_size=50), num_key_value_heads=None,
         pad_token_id=0)
    case("phi3/model", "Phi3Model", **gqa, pad_token_id=0, sliding_window=5)
    case("phi3/sequence-classification", "Phi3ForSequenceClassification", **gqa, pad_token_id=0, num_labels=3)
    case("phi3/token-classification", "Phi3ForTokenClassification", **gqa, pad_token_id=0, num_labels=3)

    case("olmo2/kv-absent", "Olmo2ForCausalLM", **base)
    case("olmo2/gqa-tied", "Olmo2ForCausalLM", **gqa, tie_word_embeddings=True)
    case("olmo2/attention-bias", "Olmo2ForCausalLM", **gqa, attention_bias=True)
    case("olmo2/head-dim", "Olmo2ForCausalLM", **gqa, head_dim=10)
    case("olmo2/kv-null", "Olmo2ForCausalLM", **dict(base, num_hidden_layers=3), num_key_value_heads=None)
    case("olmo2/model", "Olmo2Model", **gqa)
    case("olmo2/sequence-classification", "Olmo2ForSequenceClassification", **gqa, num_labels=3)

    case("granite/kv-absent", "GraniteForCausalLM", **base)
    case("granite/gqa-tied", "GraniteForCausalLM", **gqa, tie_word_embeddings=True, embedding_multiplier=12.0,
         logits_scaling=16.0, residual_multiplier=0.22, attention_multiplier=0.0078125)
    case("granite/biases", "GraniteForCausalLM", **gqa, attention_bias=True, mlp_bias=True)
    case("granite/attention-bias", "GraniteForCausalLM", **gqa, attention_bias=True)
    case("granite/head-dim", "GraniteForCausalLM", **gqa, head_dim=10)
    case("granite/model", "GraniteModel", **base, num_key_value_heads=None)

    case("starcoder2/kv-absent", "Starcoder2ForCausalLM", **base)
    case("starcoder2/window-untied", "Starcoder2ForCausalLM", **base, num_key_value_heads=1, sliding_window=5,
         tie_word_embeddings=False)
    case("starcoder2/no-bias", "Starcoder2ForCausalLM", **base, num_key_value_heads=4, use_bias=False)
    case("starcoder2/head-dim", "Starcoder2ForCausalLM", **gqa, head_dim=10)
    case("starcoder2/head-dim-null", "Starcoder2ForCausalLM", **dict(gqa, hidden_size=50), head_dim=None,
         sliding_window=None)
    case("starcoder2/model", "Starcoder2Model", **gqa, sliding_window=4)
    case("starcoder2/sequence-classification", "Starcoder2ForSequenceClassification", **gqa, pad_token_id=0,
         num_labels=3)
    case("starcoder2/token-classification", "Starcoder2ForTokenClassification", **gqa, num_labels=3)
