# SPDX-License-Identifier: Apache-2.0
"""gemma, gemma2, gemma3_text."""

S, F = "sliding_attention", "full_attention"


def cases(case):
    base = dict(vocab_size=61, hidden_size=48, intermediate_size=70, num_hidden_layers=2, num_attention_heads=4)
    gqa = dict(base, num_key_value_heads=2, head_dim=10)

    case("gemma/plain", "GemmaForCausalLM", **gqa)
    case("gemma/untied-bias", "GemmaForCausalLM", **gqa, tie_word_embeddings=False, attention_bias=True)
    case("gemma/head-dim-absent", "GemmaForCausalLM", **base, num_key_value_heads=1)
    case("gemma/kv-absent", "GemmaForCausalLM", **dict(base, num_attention_heads=16, num_hidden_layers=1), head_dim=6)
    case("gemma/model", "GemmaModel", **gqa)
    case("gemma/sequence-classification", "GemmaForSequenceClassification", **gqa, num_labels=3)
    case("gemma/token-classification", "GemmaForTokenClassification", **gqa, num_labels=3)

    more = dict(gqa, num_hidden_layers=5)
    case("gemma2/plain", "Gemma2ForCausalLM", **more, sliding_window=5)
    case("gemma2/layer-types-untied", "Gemma2ForCausalLM", **more, sliding_window=4, layer_types=[F, S, F, F, S],
         tie_word_embeddings=False)
    case("gemma2/window-absent-bias", "Gemma2ForCausalLM", **gqa, attention_bias=True)
    case("gemma2/head-dim-and-kv-absent", "Gemma2ForCausalLM", **base, sliding_window=5)
    case("gemma2/model", "Gemma2Model", **gqa, sliding_window=5)
    case("gemma2/sequence-classification", "Gemma2ForSequenceClassification", **gqa, sliding_window=5, num_labels=3)
    case("gemma2/token-classification", "Gemma2ForTokenClassification", **gqa, sliding_window=5, num_labels=3)

    seven = dict(gqa, num_hidden_layers=7)
    case("gemma3_text/plain", "Gemma3ForCausalLM", **seven, sliding_window=5)
    case("gemma3_text/pattern", "Gemma3ForCausalLM", **seven, sliding_window=4, sliding_window_pattern=3)
    case("gemma3_text/layer-types-untied", "Gemma3ForCausalLM", **dict(gqa, num_hidden_layers=3), sliding_window=4,
         sliding_window_pattern=2, layer_types=[F, S, S], tie_word_embeddings=False)
    case("gemma3_text/window-absent-bias", "Gemma3ForCausalLM", **gqa, attention_bias=True)
    case("gemma3_text/head-dim-and-kv-absent", "Gemma3ForCausalLM", **base, sliding_window=5)
    case("gemma3_text/bidirectional", "Gemma3ForCausalLM", **dict(gqa, num_hidden_layers=3), sliding_window=5,
         sliding_window_pattern=2, use_bidirectional_attention=True)
    case("gemma3_text/model", "Gemma3TextModel", **gqa, sliding_window=5)
    case("gemma3_text/sequence-classification", "Gemma3TextForSequenceClassification", **gqa, sliding_window=5,
         num_labels=3)
