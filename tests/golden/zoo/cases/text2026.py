# SPDX-License-Identifier: Apache-2.0
"""Texts of 2026 and texts left out before: kolibri1, flint, beam, lfm3, ultrabert, cohere_compass_text, axk2,
hrm_text, openai_privacy_filter, fsmt; cpmant; and family of older ones: layoutlm, tapas, dpr, markuplm, imagegpt."""

S, F, CONV = "sliding_attention", "full_attention", "conv"
LABELS = {"0": "A", "1": "B", "2": "C"}


def short_convolution(config, batch, length, fused):
    """A convolution over kernel - 1 positions too many, whose weight gradient the counter takes as dense."""
    kernel, channels = config.conv_L_cache, config.hidden_size
    layers = sum(kind == CONV for kind in config.layer_types)
    padding = 2 * batch * kernel * channels * (kernel - 1) * layers
    weight_gradient = 2 * batch * kernel * channels * (length + kernel - 1) * layers
    return {"conv_padding": {"forward": padding, "backward": 2 * padding,
                             "why": "kernel - 1 more positions, cut off afterwards"},
            "conv_groups": {"forward": 0, "backward": (channels - 1) * weight_gradient,
                            "why": "the counter takes a depthwise weight gradient as dense"}}


DIFFERENCES = {"lfm3": short_convolution}


def decoders(case, base, gqa):
    kolibri = dict(vocab_size=61, hidden_size=48, num_hidden_layers=6, num_attention_heads=4, num_key_value_heads=2,
                   head_dim=10, sliding_window=5, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=14,
                   shared_expert_intermediate_size=22)
    case("kolibri1/plain", "Kolibri1ForCausalLM", **kolibri)
    case("kolibri1/layer-types-tied", "Kolibri1ForCausalLM", **dict(kolibri, num_hidden_layers=2), layer_types=[F, S],
         tie_word_embeddings=True)
    case("kolibri1/model", "Kolibri1Model", **dict(kolibri, num_hidden_layers=2))

    flint = dict(gqa, num_hidden_layers=6, head_dim=10, sliding_window=5, num_experts=5, num_experts_per_tok=2,
                 moe_intermediate_size=14, shared_expert_intermediate_size=22)
    case("flint/plain", "FlintForCausalLM", **flint)
    case("flint/dense-layers", "FlintForCausalLM", **dict(flint, num_hidden_layers=3), mlp_only_layers=[1],
         layer_types=[S, F, S], attention_bias=True)
    case("flint/every-second-no-experts-model", "FlintModel", **dict(flint, num_experts=0, num_hidden_layers=2))
    case("flint/every-second", "FlintForCausalLM", **dict(flint, num_hidden_layers=4), decoder_sparse_step=2,
         mlp_only_layers=[])

    beam = dict(gqa, num_hidden_layers=7, head_dim=10, sliding_window=5, num_experts=8, num_experts_per_tok=2,
                moe_intermediate_size=14, n_group=4, topk_group=2)
    case("beam/plain", "BeamForCausalLM", **beam)
    case("beam/layer-types-bias", "BeamForCausalLM", **dict(beam, num_hidden_layers=2), layer_types=[F, S],
         mlp_layer_types=["sparse", "dense"], attention_bias=True, tie_word_embeddings=True)
    case("beam/model", "BeamModel", **dict(beam, num_hidden_layers=4))

    lfm = dict(gqa, pad_token_id=0, num_hidden_layers=6, head_dim=10, sliding_window=5)
    case("lfm3/plain", "Lfm3ForCausalLM", **lfm)
    case("lfm3/bare", "Lfm3ForCausalLM", **dict(lfm, num_hidden_layers=3), layer_types=[F, CONV, S],
         use_sandwich_norm=False, use_attention_gate=False, attention_bias=True, conv_bias=True, conv_L_cache=3,
         tie_word_embeddings=False)
    case("lfm3/model", "Lfm3Model", **dict(lfm, num_hidden_layers=2))

    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 2, 2]}
    compass = dict(gqa, rope_parameters={F: rope, S: rope}, sliding_window=5)
    case("cohere_compass_text/full", "CohereCompassForCausalLM", **compass)
    case("cohere_compass_text/windows", "CohereCompassForCausalLM", **compass, layer_types=[S, F],
         attention_bias=True, head_dim=16, tie_word_embeddings=False)
    case("cohere_compass_text/model", "CohereCompassTextModel", **compass)
    case("cohere_compass_text/classification", "CohereCompassTextForSequenceClassification", **compass, num_labels=3,
         pad_token_id=0)


def encoders(case, base, gqa):
    ultra = dict(gqa, num_hidden_layers=3, sliding_window=2, prediction_head_size=26)
    case("ultrabert/masked", "UltrabertForMaskedLM", **ultra)
    case("ultrabert/masked-tied-full", "UltrabertForMaskedLM", **dict(ultra, num_hidden_layers=2), layer_types=[F, S],
         tie_word_embeddings=True, attention_bias=True, mlp_bias=True, head_dim=10)
    case("ultrabert/model", "UltrabertModel", **ultra)
    for pooling in ("cls", "mean"):
        case("ultrabert/classification-" + pooling, "UltrabertForSequenceClassification", **ultra, num_labels=3,
             classifier_pooling=pooling)
    case("ultrabert/token-classification", "UltrabertForTokenClassification", **ultra, id2label=LABELS)
    case("ultrabert/question-answering", "UltrabertForQuestionAnswering", **ultra)

    private = dict(gqa, pad_token_id=0, eos_token_id=0, head_dim=10, sliding_window=3, num_local_experts=5, num_experts_per_tok=2)
    case("openai_privacy_filter/labels", "OpenAIPrivacyFilterForTokenClassification", **private, id2label=LABELS)
    case("openai_privacy_filter/usual-labels", "OpenAIPrivacyFilterForTokenClassification", **private,
         attention_bias=False)
    case("openai_privacy_filter/model", "OpenAIPrivacyFilterModel", **private)


def deeper(case, base):
    axk = dict(base, num_hidden_layers=3, num_key_value_heads=4, q_lora_rank=14, kv_lora_rank=10, qk_nope_head_dim=8,
               qk_rope_head_dim=4, v_head_dim=6, n_routed_experts=6, num_experts_per_tok=2, moe_intermediate_size=14,
               index_n_heads=3, index_head_dim=8, index_topk=5, gated_norm_rank=7)
    case("axk2/plain", "AXK2ForCausalLM", **axk)
    case("axk2/groups", "AXK2ForCausalLM", **axk, n_group=2, topk_group=1, attention_bias=True, num_experts=6)
    case("axk2/every-second", "AXK2ForCausalLM", **axk, first_k_dense_replace=0, moe_layer_freq=2)
    case("axk2/layer-types-model", "AXK2Model", **axk, mlp_layer_types=["sparse", "sparse", "dense"])
    case("axk2/classification", "AXK2ForSequenceClassification", **axk, num_labels=3, pad_token_id=0)
    case("axk2/token-classification", "AXK2ForTokenClassification", **axk, num_labels=3)

    hrm = dict(base, head_dim=10)
    case("hrm_text/usual", "HrmTextForCausalLM", **hrm)
    case("hrm_text/cycles", "HrmTextForCausalLM", **hrm, H_cycles=3, L_cycles=4, L_bp_cycles=[2, 4], attention_bias=True,
         mlp_bias=True, tie_word_embeddings=True, prefix_lm=False)
    case("hrm_text/once", "HrmTextForCausalLM", **hrm, H_cycles=1, L_cycles=1, L_bp_cycles=[1])
    case("hrm_text/model", "HrmTextModel", **hrm, L_bp_cycles=[3, 3])


def boxed(config, batch, length):
    """LiLT has no box of its own where none is given."""
    import torch
    return {"bbox": torch.zeros(batch, length, 4, dtype=torch.long)}


def family_of_bert(case, base):
    ant = dict(vocab_size=61, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, dim_head=10, dim_ff=70,
               prompt_types=4, prompt_length=3, segment_types=5, position_bias_num_buckets=8,
               position_bias_max_distance=16, _pairs=False)
    case("cpmant/words", "CpmAntForCausalLM", **ant)
    case("cpmant/model", "CpmAntModel", **ant)
    bert = dict(base, max_position_embeddings=40)
    boxes = dict(bert, max_2d_position_embeddings=30)
    case("layoutlm/masked", "LayoutLMForMaskedLM", **boxes)
    case("layoutlm/masked-untied", "LayoutLMForMaskedLM", **boxes, tie_word_embeddings=False)
    case("layoutlm/model", "LayoutLMModel", **boxes)
    case("layoutlm/classification", "LayoutLMForSequenceClassification", **boxes, num_labels=3)
    case("layoutlm/token-classification", "LayoutLMForTokenClassification", **boxes, num_labels=3)
    case("layoutlm/question-answering", "LayoutLMForQuestionAnswering", **boxes)
    two = dict(boxes, channel_shrink_ratio=3, _inputs=boxed)
    case("lilt/model", "LiltModel", **two)
    case("lilt/classification", "LiltForSequenceClassification", **two, num_labels=3)
    case("lilt/token-classification", "LiltForTokenClassification", **two, num_labels=3)
    case("lilt/question-answering", "LiltForQuestionAnswering", **dict(two, num_hidden_layers=1))
    cells = dict(bert, type_vocab_sizes=[3, 9, 9, 2, 9, 9, 5])
    case("tapas/masked", "TapasForMaskedLM", **cells)
    case("tapas/model", "TapasModel", **cells)
    case("tapas/classification", "TapasForSequenceClassification", **cells, num_labels=3)
    for side in ("ContextEncoder", "QuestionEncoder"):
        case("dpr/" + side.lower(), "DPR" + side, **bert, _loss=["pooler_output"])
        case("dpr/projected-" + side.lower(), "DPR" + side, **bert, projection_dim=14, _loss=["pooler_output"])
    pages = dict(bert, max_depth=5, xpath_unit_hidden_size=6, max_xpath_tag_unit_embeddings=13, tag_pad_id=12,
                 max_xpath_subs_unit_embeddings=17, subs_pad_id=16)
    case("markuplm/model", "MarkupLMModel", **pages)
    case("markuplm/classification", "MarkupLMForSequenceClassification", **pages, num_labels=3)
    case("markuplm/token-classification", "MarkupLMForTokenClassification", **pages, num_labels=3)
    case("markuplm/question-answering", "MarkupLMForQuestionAnswering", **pages)
    colours = dict(vocab_size=61, n_embd=48, n_layer=2, n_head=4, n_positions=40)
    case("imagegpt/modeling", "ImageGPTForCausalImageModeling", **colours)
    case("imagegpt/model", "ImageGPTModel", **colours, n_inner=70)
    case("imagegpt/classification", "ImageGPTForImageClassification", **colours, num_labels=3)


def two_sides(case):
    fsmt = dict(src_vocab_size=67, tgt_vocab_size=61, d_model=48, encoder_layers=2, decoder_layers=3, langs=["en", "de"],
                encoder_attention_heads=4, decoder_attention_heads=6, encoder_ffn_dim=70, decoder_ffn_dim=66,
                max_position_embeddings=32)
    case("fsmt/translation", "FSMTForConditionalGeneration", **fsmt)
    case("fsmt/tied", "FSMTForConditionalGeneration", **fsmt, tie_word_embeddings=True)
    case("fsmt/model", "FSMTModel", **fsmt)


def cases(case):
    base = dict(vocab_size=61, hidden_size=48, intermediate_size=70, num_hidden_layers=2, num_attention_heads=4)
    gqa = dict(base, num_key_value_heads=2)
    decoders(case, base, gqa)
    deeper(case, base)
    encoders(case, base, gqa)
    family_of_bert(case, base)
    two_sides(case)
