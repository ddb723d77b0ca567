# SPDX-License-Identifier: Apache-2.0
"""Decoders whose MLP has two matrices: the family of GPT-2, the early ones, and later ones; XLM, FlauBERT, XLNet."""


def xlnet(config, batch, length, fused):
    layer = 2 * batch * length * config.d_model  # n_head x d_head is d_model
    return {
        "positions of both signs": {
            "forward": config.n_layer * layer * length, "backward": 2 * config.n_layer * layer * length,
            "why": "every query is multiplied with 2 x length positions, of which length are then taken"},
        "positions are constants": {
            "forward": 0, "backward": -2 * config.n_layer * layer * config.d_model,
            "why": "the projection of the 2 x length positions passes no gradient on"}}


DIFFERENCES = {"xlnet": xlnet}


def cases(case):
    case("gpt-sw3/plain", "GPT2LMHeadModel", vocab_size=61, n_positions=29, n_embd=48, n_layer=2, n_head=4)
    case("gpt-sw3/classification", "GPT2ForSequenceClassification", vocab_size=61, n_positions=29, n_embd=48, n_layer=2,
         n_head=4, n_inner=70, pad_token_id=0, num_labels=3)

    gpt = dict(vocab_size=61, n_embd=48, n_layer=3, n_head=4)
    rotary = dict(gpt, n_positions=29, rotary_dim=6)
    case("gptj/plain", "GPTJForCausalLM", **rotary)
    case("gptj/inner-tied", "GPTJForCausalLM", **rotary, n_inner=70, tie_word_embeddings=True)
    case("gptj/long-names", "GPTJForCausalLM", vocab_size=61, hidden_size=40, num_hidden_layers=2,
         num_attention_heads=5, max_position_embeddings=31, rotary_dim=4, n_inner=None)
    case("gptj/model", "GPTJModel", **rotary, n_inner=70)
    case("gptj/sequence-classification", "GPTJForSequenceClassification", **rotary, pad_token_id=0, num_labels=3)
    case("gptj/question-answering", "GPTJForQuestionAnswering", **rotary)

    case("codegen/plain", "CodeGenForCausalLM", **rotary)
    case("codegen/inner-tied", "CodeGenForCausalLM", **rotary, n_inner=70, tie_word_embeddings=True)
    case("codegen/model", "CodeGenModel", **rotary, n_ctx=29, n_inner=70)

    case("gpt_bigcode/plain", "GPTBigCodeForCausalLM", **gpt, n_positions=29)
    case("gpt_bigcode/heads-inner-untied", "GPTBigCodeForCausalLM", **gpt, n_positions=29, multi_query=False,
         n_inner=70, tie_word_embeddings=False)
    case("gpt_bigcode/kv-ignored", "GPTBigCodeForCausalLM", **gpt, n_positions=31, multi_query=True,
         num_key_value_heads=2)
    case("gpt_bigcode/positions-absent", "GPTBigCodeForCausalLM", vocab_size=61, hidden_size=36, num_hidden_layers=1,
         num_attention_heads=6)
    case("gpt_bigcode/model", "GPTBigCodeModel", **gpt, n_positions=29, n_inner=None)
    case("gpt_bigcode/sequence-classification", "GPTBigCodeForSequenceClassification", **gpt, n_positions=29,
         pad_token_id=0, num_labels=3)
    case("gpt_bigcode/token-classification", "GPTBigCodeForTokenClassification", **gpt, n_positions=29, num_labels=5)

    neo = dict(vocab_size=61, hidden_size=48, num_heads=4, max_position_embeddings=29)
    five = dict(neo, num_layers=5, attention_types=[[["global", "local"], 2], [["local"], 1]])
    case("gpt_neo/local-and-global", "GPTNeoForCausalLM", **five, window_size=4)
    case("gpt_neo/untied-inner", "GPTNeoForCausalLM", **dict(five, num_layers=3, attention_types=[[["local"], 3]]),
         window_size=5, intermediate_size=70, tie_word_embeddings=False)
    case("gpt_neo/all-defaults-of-attention", "GPTNeoForCausalLM", vocab_size=61, hidden_size=12,
         num_attention_heads=2, max_position_embeddings=29, window_size=3)
    case("gpt_neo/window-absent", "GPTNeoForCausalLM", vocab_size=61, hidden_size=36, num_hidden_layers=2,
         num_attention_heads=6, attention_types=[[["local", "global"], 1]], intermediate_size=None)
    case("gpt_neo/model", "GPTNeoModel", **five, window_size=6)
    case("gpt_neo/sequence-classification", "GPTNeoForSequenceClassification", **five, window_size=4, pad_token_id=0,
         num_labels=3)
    case("gpt_neo/token-classification", "GPTNeoForTokenClassification", **five, window_size=4, num_labels=3)
    case("gpt_neo/question-answering", "GPTNeoForQuestionAnswering", **five, window_size=4)

    case("openai-gpt/plain", "OpenAIGPTLMHeadModel", **gpt, n_positions=29)
    case("openai-gpt/untied", "OpenAIGPTLMHeadModel", **gpt, n_positions=29, tie_word_embeddings=False)
    case("openai-gpt/long-names", "OpenAIGPTLMHeadModel", vocab_size=61, hidden_size=40, num_hidden_layers=2,
         num_attention_heads=5)
    case("openai-gpt/model", "OpenAIGPTModel", **gpt, n_positions=29)
    case("openai-gpt/double-heads", "OpenAIGPTDoubleHeadsModel", **gpt, n_positions=29, num_labels=5)
    case("openai-gpt/double-heads-hidden", "OpenAIGPTDoubleHeadsModel", **gpt, n_positions=29,
         summary_proj_to_labels=False, summary_type="mean")
    case("openai-gpt/sequence-classification", "OpenAIGPTForSequenceClassification", **gpt, n_positions=29,
         pad_token_id=0, num_labels=3)

    case("ctrl/plain", "CTRLLMHeadModel", **gpt, n_positions=29, dff=70)
    case("ctrl/untied", "CTRLLMHeadModel", **gpt, n_positions=29, dff=70, tie_word_embeddings=False)
    case("ctrl/long-names-dff-absent", "CTRLLMHeadModel", vocab_size=61, hidden_size=20, num_hidden_layers=1,
         num_attention_heads=5)
    case("ctrl/model", "CTRLModel", **gpt, n_positions=29, dff=70)
    case("ctrl/sequence-classification", "CTRLForSequenceClassification", **gpt, n_positions=29, dff=70,
         pad_token_id=0, num_labels=3)

    base = dict(vocab_size=61, hidden_size=48, num_hidden_layers=3, num_attention_heads=4)
    case("gpt_neox_japanese/plain", "GPTNeoXJapaneseForCausalLM", **base)
    case("gpt_neox_japanese/multiple-untied", "GPTNeoXJapaneseForCausalLM", **base, intermediate_multiple_size=3,
         rotary_pct=0.5, tie_word_embeddings=False)
    case("gpt_neox_japanese/intermediate-ignored", "GPTNeoXJapaneseForCausalLM", **dict(base, num_hidden_layers=1),
         intermediate_size=70)
    case("gpt_neox_japanese/model", "GPTNeoXJapaneseModel", **base)

    bloom = dict(vocab_size=61, hidden_size=40, n_layer=3, n_head=5)
    case("bloom/plain", "BloomForCausalLM", **bloom)
    case("bloom/untied-long-names", "BloomForCausalLM", vocab_size=61, n_embed=48, num_hidden_layers=4,
         num_attention_heads=6, intermediate_size=70, tie_word_embeddings=False)
    case("bloom/layers-and-heads-absent", "BloomForCausalLM", vocab_size=61)
    case("bloom/slow-but-exact", "BloomForCausalLM", **bloom, slow_but_exact=True, pretraining_tp=2,
         apply_residual_connection_post_layernorm=True)
    case("bloom/model", "BloomModel", **bloom)
    case("bloom/sequence-classification", "BloomForSequenceClassification", **bloom, pad_token_id=0, num_labels=3)
    case("bloom/token-classification", "BloomForTokenClassification", **bloom, num_labels=3)
    case("bloom/question-answering", "BloomForQuestionAnswering", **bloom)

    case("falcon/plain", "FalconForCausalLM", **base)
    case("falcon/architecture-null", "FalconForCausalLM", **base, new_decoder_architecture=None)
    case("falcon/multi-query-ignores-kv", "FalconForCausalLM", **base, num_kv_heads=4, bias=True, ffn_hidden_size=70)
    case("falcon/all-heads-in-sequence", "FalconForCausalLM", **base, multi_query=False, parallel_attn=False, bias=True)
    case("falcon/new", "FalconForCausalLM", **base, new_decoder_architecture=True, num_kv_heads=2, ffn_hidden_size=70)
    case("falcon/new-kv-absent", "FalconForCausalLM", **base, new_decoder_architecture=True, multi_query=False)
    case("falcon/new-one-norm-untied", "FalconForCausalLM", **base, new_decoder_architecture=True, num_kv_heads=1,
         num_ln_in_parallel_attn=1, tie_word_embeddings=False)
    case("falcon/alibi", "FalconForCausalLM", **base, alibi=True, multi_query=False)
    case("falcon/old-name", "FalconForCausalLM", vocab_size=61, n_embed=36, num_hidden_layers=2, num_attention_heads=6)
    case("falcon/model", "FalconModel", **base)
    case("falcon/sequence-classification", "FalconForSequenceClassification", **base, pad_token_id=0, num_labels=3)
    case("falcon/token-classification", "FalconForTokenClassification", **base, num_labels=3)
    case("falcon/question-answering", "FalconForQuestionAnswering", **base, bias=True)

    opt = dict(base, ffn_dim=70, max_position_embeddings=29)
    case("opt/plain", "OPTForCausalLM", **opt)
    case("opt/projected", "OPTForCausalLM", **opt, word_embed_proj_dim=20)
    case("opt/projected-untied-norm-after", "OPTForCausalLM", **opt, word_embed_proj_dim=56, do_layer_norm_before=False,
         tie_word_embeddings=False)
    case("opt/no-bias-no-affine", "OPTForCausalLM", **opt, enable_bias=False, layer_norm_elementwise_affine=False)
    case("opt/no-final-norm", "OPTForCausalLM", **opt, __remove_final_layer_norm=True, word_embed_proj_dim=None)
    case("opt/ffn-and-positions-absent", "OPTForCausalLM", vocab_size=61, hidden_size=36, num_hidden_layers=1,
         num_attention_heads=3)
    case("opt/model", "OPTModel", **opt, word_embed_proj_dim=20)
    case("opt/sequence-classification", "OPTForSequenceClassification", **opt, word_embed_proj_dim=20, pad_token_id=0,
         num_labels=3)
    case("opt/question-answering", "OPTForQuestionAnswering", **opt, word_embed_proj_dim=20)

    mpt = dict(vocab_size=61, d_model=48, n_layers=3, n_heads=4)
    case("mpt/plain", "MptForCausalLM", **mpt)
    case("mpt/ignored-untied", "MptForCausalLM", **mpt, expansion_ratio=3, no_bias=False, max_seq_len=31,
         attn_config=dict(attn_type="multiquery_attention", qk_ln=True, clip_qkv=6.0, kv_n_heads=2),
         tie_word_embeddings=False)
    case("mpt/long-names", "MptForCausalLM", vocab_size=61, hidden_size=40, num_hidden_layers=2,
         num_attention_heads=5, intermediate_size=70)
    case("mpt/model", "MptModel", **mpt)
    case("mpt/sequence-classification", "MptForSequenceClassification", **mpt, pad_token_id=0, num_labels=3)
    case("mpt/token-classification", "MptForTokenClassification", **mpt, num_labels=3)
    case("mpt/question-answering", "MptForQuestionAnswering", **mpt)

    wide = dict(base, intermediate_size=70)
    case("biogpt/plain", "BioGptForCausalLM", **wide, max_position_embeddings=29)
    case("biogpt/untied-positions-absent", "BioGptForCausalLM", **dict(base, num_hidden_layers=1, hidden_size=36),
         tie_word_embeddings=False, scale_embedding=False)
    case("biogpt/model", "BioGptModel", **wide, max_position_embeddings=29)
    case("biogpt/sequence-classification", "BioGptForSequenceClassification", **wide, max_position_embeddings=29,
         pad_token_id=0, num_labels=3)
    case("biogpt/token-classification", "BioGptForTokenClassification", **wide, max_position_embeddings=29,
         num_labels=3)

    xglm = dict(vocab_size=61, d_model=48, ffn_dim=70, num_layers=3, attention_heads=4, max_position_embeddings=29)
    case("xglm/plain", "XGLMForCausalLM", **xglm)
    case("xglm/long-names-untied", "XGLMForCausalLM", vocab_size=61, hidden_size=40, num_hidden_layers=1,
         num_attention_heads=5, tie_word_embeddings=False)
    case("xglm/model", "XGLMModel", **xglm)

    gqa = dict(wide, num_key_value_heads=2)
    case("phi/plain", "PhiForCausalLM", **wide)
    case("phi/gqa-tied-norms", "PhiForCausalLM", **gqa, qk_layernorm=True, tie_word_embeddings=True)
    case("phi/head-dim", "PhiForCausalLM", **gqa, head_dim=20)
    case("phi/kv-null-floor", "PhiForCausalLM", **dict(wide, hidden_size=50), num_key_value_heads=None,
         qk_layernorm=True)
    case("phi/intermediate-absent", "PhiForCausalLM", **dict(base, num_hidden_layers=1))
    case("phi/model", "PhiModel", **gqa)
    case("phi/sequence-classification", "PhiForSequenceClassification", **gqa, pad_token_id=0, num_labels=3)
    case("phi/token-classification", "PhiForTokenClassification", **gqa, num_labels=3)

    case("nemotron/plain", "NemotronForCausalLM", **gqa)
    case("nemotron/biases-tied", "NemotronForCausalLM", **gqa, attention_bias=True, mlp_bias=True,
         tie_word_embeddings=True)
    case("nemotron/head-dim", "NemotronForCausalLM", **gqa, head_dim=10, mlp_bias=True)
    case("nemotron/floor", "NemotronForCausalLM", **dict(gqa, hidden_size=50), head_dim=None)
    case("nemotron/model", "NemotronModel", **gqa)
    case("nemotron/sequence-classification", "NemotronForSequenceClassification", **gqa, pad_token_id=0, num_labels=3)
    case("nemotron/token-classification", "NemotronForTokenClassification", **gqa, num_labels=3)
    case("nemotron/question-answering", "NemotronForQuestionAnswering", **gqa)

    case("persimmon/plain", "PersimmonForCausalLM", **wide)
    case("persimmon/tied-no-norms", "PersimmonForCausalLM", **wide, qk_layernorm=False, tie_word_embeddings=True)
    case("persimmon/kv-ignored", "PersimmonForCausalLM", **gqa)
    case("persimmon/intermediate-absent", "PersimmonForCausalLM",
         **dict(base, num_hidden_layers=1, hidden_size=32))
    case("persimmon/model", "PersimmonModel", **wide)
    case("persimmon/sequence-classification", "PersimmonForSequenceClassification", **wide, pad_token_id=0,
         num_labels=3)
    case("persimmon/token-classification", "PersimmonForTokenClassification", **wide, num_labels=3)

    case("arcee/kv-absent", "ArceeForCausalLM", **wide)
    case("arcee/biases-tied", "ArceeForCausalLM", **gqa, attention_bias=True, mlp_bias=True, tie_word_embeddings=True)
    case("arcee/head-dim", "ArceeForCausalLM", **gqa, head_dim=10, mlp_bias=True)
    case("arcee/nulls", "ArceeForCausalLM", **wide, num_key_value_heads=None, head_dim=None)
    case("arcee/model", "ArceeModel", **gqa)
    case("arcee/sequence-classification", "ArceeForSequenceClassification", **gqa, pad_token_id=0, num_labels=3)
    case("arcee/token-classification", "ArceeForTokenClassification", **gqa, num_labels=3)
    case("arcee/question-answering", "ArceeForQuestionAnswering", **gqa)

    case("apertus/kv-absent", "ApertusForCausalLM", **wide)
    case("apertus/bias-tied", "ApertusForCausalLM", **gqa, attention_bias=True, tie_word_embeddings=True)
    case("apertus/head-dim-other-activation", "ApertusForCausalLM", **gqa, head_dim=10, hidden_act="gelu")
    case("apertus/kv-null-floor", "ApertusForCausalLM", **dict(wide, hidden_size=50), num_key_value_heads=None)
    case("apertus/model", "ApertusModel", **gqa)
    case("apertus/token-classification", "ApertusForTokenClassification", **gqa, num_labels=3)

    case("jais2/kv-absent", "Jais2ForCausalLM", **wide)
    case("jais2/no-bias-tied", "Jais2ForCausalLM", **gqa, attention_bias=False, mlp_bias=False,
         tie_word_embeddings=True)
    case("jais2/head-dim", "Jais2ForCausalLM", **gqa, head_dim=10, mlp_bias=False)
    case("jais2/nulls", "Jais2ForCausalLM", **wide, num_key_value_heads=None, head_dim=None)
    case("jais2/model", "Jais2Model", **gqa)

    case("nanochat/kv-absent", "NanoChatForCausalLM", **wide)
    case("nanochat/bias-tied", "NanoChatForCausalLM", **gqa, attention_bias=True, tie_word_embeddings=True)
    case("nanochat/head-dim", "NanoChatForCausalLM", **gqa, head_dim=10)
    case("nanochat/kv-null-floor", "NanoChatForCausalLM", **dict(wide, hidden_size=50), num_key_value_heads=None)
    case("nanochat/model", "NanoChatModel", **gqa)

    xlm = dict(vocab_size=61, emb_dim=48, n_layers=3, n_heads=4, max_position_embeddings=29)
    for kind, prefix in (("xlm", "XLM"), ("flaubert", "Flaubert")):
        case(kind + "/plain", prefix + "WithLMHeadModel", **xlm)
        case(kind + "/causal-untied-languages", prefix + "WithLMHeadModel", **xlm, causal=True, n_langs=7,
             tie_word_embeddings=False)
        case(kind + "/long-names", prefix + "WithLMHeadModel", n_words=61, hidden_size=40, num_hidden_layers=2,
             num_attention_heads=5, n_langs=3, use_lang_emb=False, sinusoidal_embeddings=True)
        case(kind + "/model", prefix + "Model", **xlm)
        case(kind + "/sequence-classification", prefix + "ForSequenceClassification", **xlm, num_labels=3)
        case(kind + "/summary-hidden", prefix + "ForSequenceClassification", **xlm, summary_proj_to_labels=False,
             summary_type="mean")
        case(kind + "/token-classification", prefix + "ForTokenClassification", **xlm, num_labels=3)
        case(kind + "/question-answering", prefix + "ForQuestionAnsweringSimple", **xlm)
        case(kind + "/no-summary", prefix + "ForSequenceClassification", **xlm, summary_use_proj=False, num_labels=48)
        case(kind + "/no-summary-of-choices", prefix + "ForMultipleChoice", **xlm, summary_use_proj=False, num_labels=48,
             _choices=True)
        case(kind + "/multiple-choice", prefix + "ForMultipleChoice", **xlm, num_labels=5, _choices=True)

    xl = dict(vocab_size=61, d_model=48, n_layer=3, n_head=4, d_inner=70)
    case("xlnet/plain", "XLNetLMHeadModel", **xl)
    case("xlnet/untied-head-dim", "XLNetLMHeadModel", **xl, d_head=12, mem_len=5, clamp_len=4, use_mems_train=True,
         tie_word_embeddings=False)
    case("xlnet/long-names-inner-absent", "XLNetLMHeadModel", n_token=61, hidden_size=20, num_hidden_layers=1,
         num_attention_heads=5, d_head=4)
    case("xlnet/both-directions-in-a-batch", "XLNetLMHeadModel", **xl, bi_data=True, _shapes=((2, 11), (4, 7)))
    case("xlnet/model", "XLNetModel", **xl)
    case("xlnet/sequence-classification", "XLNetForSequenceClassification", **xl, num_labels=3)
    case("xlnet/no-summary", "XLNetForSequenceClassification", **xl, summary_use_proj=False, num_labels=3)
    case("xlnet/no-summary-of-choices", "XLNetForMultipleChoice", **xl, summary_use_proj=False, _choices=True)
    case("xlnet/token-classification", "XLNetForTokenClassification", **xl, num_labels=3)
    case("xlnet/question-answering", "XLNetForQuestionAnsweringSimple", **xl)
    case("xlnet/multiple-choice", "XLNetForMultipleChoice", **xl, _choices=True)
