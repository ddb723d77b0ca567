# SPDX-License-Identifier: Apache-2.0
"""gpt2, gpt_neox."""


def cases(case):
    two = dict(vocab_size=61, n_positions=29, n_embd=48, n_layer=2, n_head=4)
    case("gpt2/plain", "GPT2LMHeadModel", **two)
    case("gpt2/inner-untied", "GPT2LMHeadModel", **two, n_inner=70, tie_word_embeddings=False)
    case("gpt2/inner-null", "GPT2LMHeadModel", **dict(two, n_layer=3), n_inner=None)
    case("gpt2/long-names", "GPT2LMHeadModel", vocab_size=61, max_position_embeddings=29, hidden_size=48,
         num_hidden_layers=2, num_attention_heads=6, intermediate_size=70)
    case("gpt2/both-names", "GPT2LMHeadModel", **two, hidden_size=40, num_hidden_layers=3, num_attention_heads=5,
         max_position_embeddings=31)
    case("gpt2/defaults-positions-layers-heads", "GPT2LMHeadModel", vocab_size=61, n_embd=24)
    case("gpt2/reorder-and-upcast", "GPT2LMHeadModel", **two, reorder_and_upcast_attn=True,
         scale_attn_by_inverse_layer_idx=True)
    case("gpt2/dropout-kept", "GPT2LMHeadModel", **two, n_ctx=29, attn_pdrop=0.1, _dropout=True)
    case("gpt2/model", "GPT2Model", **two)
    case("gpt2/double-heads", "GPT2DoubleHeadsModel", **two, num_labels=5)
    case("gpt2/double-heads-choices", "GPT2DoubleHeadsModel", **dict(two, n_layer=1), _choices=True)
    case("gpt2/double-heads-hidden", "GPT2DoubleHeadsModel", **two, summary_proj_to_labels=False,
         summary_type="mean")
    case("gpt2/double-heads-no-projection", "GPT2DoubleHeadsModel", **two, summary_use_proj=False)
    case("gpt2/sequence-classification", "GPT2ForSequenceClassification", **two, pad_token_id=0, num_labels=3)
    case("gpt2/token-classification", "GPT2ForTokenClassification", **two, num_labels=3)
    case("gpt2/question-answering", "GPT2ForQuestionAnswering", **two)

    neox = dict(vocab_size=61, hidden_size=48, intermediate_size=70, num_hidden_layers=2, num_attention_heads=6)
    case("gpt_neox/plain", "GPTNeoXForCausalLM", **neox)
    case("gpt_neox/no-attention-bias-tied", "GPTNeoXForCausalLM", **neox, attention_bias=False,
         tie_word_embeddings=True, rotary_pct=1.0, use_parallel_residual=False)
    case("gpt_neox/intermediate-absent", "GPTNeoXForCausalLM", vocab_size=61, hidden_size=32, num_hidden_layers=1,
         num_attention_heads=4)
    case("gpt_neox/kv-ignored", "GPTNeoXForCausalLM", **neox, num_key_value_heads=2)
    case("gpt_neox/model", "GPTNeoXModel", **neox)
    case("gpt_neox/sequence-classification", "GPTNeoXForSequenceClassification", **neox, pad_token_id=0, num_labels=3)
    case("gpt_neox/token-classification", "GPTNeoXForTokenClassification", **neox, num_labels=3)
    case("gpt_neox/question-answering", "GPTNeoXForQuestionAnswering", **neox)
