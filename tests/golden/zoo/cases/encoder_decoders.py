# SPDX-License-Identifier: Apache-2.0
"""t5, mt5, umt5, switch_transformers; nllb-moe, prophetnet; bart, mbart, plbart, mvp, marian, pegasus, m2m_100, blenderbot, blenderbot-small."""

SAME = ((2, 11, 11), (3, 7, 7))  # a classifier finds the last token of the decoder by the encoder's


def relative_bias(config, batch, length, fused, encoder_length=None):
    """scaled_dot_product_attention does not fuse under a bias that needs a gradient."""
    if fused != "mixed":
        return {}
    per_pair = 2 * batch * config.num_heads * config.d_kv
    sides = [(config.num_layers, encoder_length or length)]
    if encoder_length is not None:
        sides.append((config.num_decoder_layers, length))
    return {"relative bias": {
        "forward": 0, "backward": -sum(layers * per_pair * tokens * tokens for layers, tokens in sides),
        "why": "self attention under a bias that needs a gradient is not fused: its backward runs QKᵀ no second time",
    }}


def rows_for_all(config, batch, length, fused, encoder_length=None):
    """Two experts get a row for each token and expert, in place of each token's own two."""
    rows = 0
    for layers, step, tokens in ((config.encoder_layers, config.encoder_sparse_step, encoder_length or length),
                                 (config.decoder_layers, config.decoder_sparse_step, length)):
        rows += (layers // step if step else 0) * batch * tokens * (config.num_experts - 2)
    work = 4 * config.d_model * config.encoder_ffn_dim * rows
    return {"moe.experts": {"forward": work, "backward": 2 * work,
                            "why": "the first two experts get a row for each token and expert"}}


DIFFERENCES = {name: relative_bias for name in ("t5", "mt5", "umt5", "switch_transformers")}
DIFFERENCES["nllb-moe"] = rows_for_all


def masked_streams(config, batch, length, fused, encoder_length=None):
    """Every stream is multiplied with all of the text and with all of itself."""
    pairs = (2 * config.ngram + 1) - (config.ngram + 2)
    work = 4 * config.hidden_size * config.num_decoder_layers * batch * length * length * pairs
    return {"attention.core": {"forward": work, "backward": 2 * work,
                               "why": "pairs that streams do not see are computed and masked"}}


DIFFERENCES["prophetnet"] = masked_streams


def one_end(config, batch, length, encoder_length):
    """The encoder's tokens with one end of sequence in each row."""
    import torch
    ids = torch.randint(5, config.vocab_size - 1, (batch, encoder_length))
    ids[:, -1] = config.eos_token_id
    return {"input_ids": ids}


def t5_family(case):
    t5 = dict(vocab_size=103, d_model=40, d_kv=7, num_heads=3, num_layers=3, num_decoder_layers=2, d_ff=62,
              relative_attention_num_buckets=10, decoder_start_token_id=0)
    without = lambda *names: {key: value for key, value in t5.items() if key not in names}
    case("t5/generation", "T5ForConditionalGeneration", **t5)
    case("t5/gated", "T5ForConditionalGeneration", **t5, feed_forward_proj="gated-gelu", tie_word_embeddings=False)
    case("t5/gated-by-saved-flag", "T5ForConditionalGeneration", **t5, is_gated_act=True)
    case("t5/defaults-absent", None, **without("d_kv", "num_heads", "num_decoder_layers",
                                               "relative_attention_num_buckets"))
    case("t5/long-names", "T5ForConditionalGeneration", **without("d_model", "num_heads", "num_layers", "d_kv"),
         hidden_size=40, num_attention_heads=3, num_hidden_layers=4, head_dim=7, is_decoder=True)
    case("t5/decoder-layers-null", "T5Model", **dict(t5, num_decoder_layers=None))
    case("t5/encoder", "T5EncoderModel", **t5)
    case("t5/sequence-classification", "T5ForSequenceClassification", **t5, num_labels=5, _inputs=one_end,
         _shapes=SAME)
    case("t5/token-classification", "T5ForTokenClassification", **t5, num_labels=5)
    case("t5/question-answering", "T5ForQuestionAnswering", **t5)
    switch = dict(vocab_size=97, d_model=36, d_kv=5, num_heads=3, d_ff=46, num_experts=5, relative_attention_num_buckets=10,
                  decoder_start_token_id=0)
    case("switch_transformers/generation", "SwitchTransformersForConditionalGeneration", **switch, num_layers=4, num_decoder_layers=3,
         num_sparse_encoder_layers=2, num_sparse_decoder_layers=3, router_bias=True)
    case("switch_transformers/model", "SwitchTransformersModel", **switch, num_layers=5, num_decoder_layers=4,
         num_sparse_encoder_layers=0, num_sparse_decoder_layers=5)
    case("switch_transformers/encoder", "SwitchTransformersEncoderModel", **switch, num_layers=5, num_sparse_encoder_layers=2)
    case("switch_transformers/defaults-absent", None, **{key: value for key, value in switch.items() if key != "num_experts"}, num_layers=3,
         num_decoder_layers=None)
    nllb = dict(vocab_size=89, d_model=24, encoder_layers=4, decoder_layers=3, encoder_attention_heads=4, decoder_attention_heads=3,
                encoder_ffn_dim=34, decoder_ffn_dim=34, max_position_embeddings=64)
    case("nllb-moe/generation", "NllbMoeForConditionalGeneration", **nllb, num_experts=5, encoder_sparse_step=2, decoder_sparse_step=1)
    case("nllb-moe/model", "NllbMoeModel", **nllb, num_experts=3, encoder_sparse_step=0, decoder_sparse_step=2, router_bias=True)
    case("nllb-moe/defaults-absent", None, **dict(nllb, encoder_layers=5), num_experts=2)
    case("nllb-moe/random", "NllbMoeForConditionalGeneration", **nllb, num_experts=4, encoder_sparse_step=1, decoder_sparse_step=0,
         second_expert_policy="random", tie_word_embeddings=False)
    streams = dict(vocab_size=71, hidden_size=24, num_encoder_layers=3, num_encoder_attention_heads=3, encoder_ffn_dim=34, num_decoder_layers=2,
                   num_decoder_attention_heads=4, decoder_ffn_dim=46, max_position_embeddings=64, num_buckets=8)
    case("prophetnet/generation", "ProphetNetForConditionalGeneration", **streams)
    case("prophetnet/one-stream", "ProphetNetForConditionalGeneration", **streams, ngram=1)
    case("prophetnet/model", "ProphetNetModel", **streams, tie_word_embeddings=False)
    case("prophetnet/decoder", "ProphetNetForCausalLM", **streams, tie_word_embeddings=False, _pairs=False)
    case("prophetnet/decoder-tied", "ProphetNetForCausalLM", **streams, _pairs=False)
    case("prophetnet/defaults-absent", "ProphetNetForConditionalGeneration", **{key: value for key, value in streams.items() if key != "num_buckets"})
    for name, prefix in (("mt5", "MT5"), ("umt5", "UMT5")):
        case(name + "/generation", prefix + "ForConditionalGeneration", **t5)
        case(name + "/plain-defaults-absent", None, feed_forward_proj="relu",
             **without("d_kv", "num_heads", "num_decoder_layers", "relative_attention_num_buckets"))
        case(name + "/model", prefix + "Model", **t5, tie_word_embeddings=False)
        case(name + "/encoder", prefix + "EncoderModel", **t5)
        case(name + "/sequence-classification", prefix + "ForSequenceClassification", **t5, num_labels=5,
             _inputs=one_end, _shapes=SAME)
        case(name + "/token-classification", prefix + "ForTokenClassification", **t5, num_labels=5)
        case(name + "/question-answering", prefix + "ForQuestionAnswering", **t5)


def bart_family(case):
    bart = dict(vocab_size=103, d_model=48, encoder_layers=3, decoder_layers=2, encoder_ffn_dim=70, decoder_ffn_dim=54,
                encoder_attention_heads=4, decoder_attention_heads=6, max_position_embeddings=29, pad_token_id=1,
                bos_token_id=0, eos_token_id=2, decoder_start_token_id=2)
    types = {"bart": "Bart", "mbart": "MBart", "plbart": "PLBart", "mvp": "Mvp", "marian": "Marian",
             "pegasus": "Pegasus", "m2m_100": "M2M100", "blenderbot": "Blenderbot",
             "blenderbot-small": "BlenderbotSmall"}
    for name, prefix in types.items():
        generator = prefix + ("MTModel" if name == "marian" else "ForConditionalGeneration")
        case(name + "/generation", generator, **bart)
        case(name + "/untied", generator, **bart, tie_word_embeddings=False)
        case(name + "/model", prefix + "Model", **bart, tie_word_embeddings=False)
        case(name + "/heads-positions-absent", None, **dict(
            {key: value for key, value in bart.items() if "heads" not in key and key != "max_position_embeddings"},
            encoder_layers=1, decoder_layers=1, d_model=96), _class=generator)
        if name != "m2m_100":
            case(name + "/decoder", prefix + "ForCausalLM", **bart)
        if name in ("bart", "mbart", "plbart", "mvp"):
            case(name + "/sequence-classification", prefix + "ForSequenceClassification", **bart, _inputs=one_end,
                 _shapes=SAME)
            case(name + "/labels", prefix + "ForSequenceClassification", **bart, num_labels=5, _inputs=one_end,
                 _shapes=SAME)
        if name in ("bart", "mbart", "mvp"):
            case(name + "/question-answering", prefix + "ForQuestionAnswering", **bart)

    case("bart/long-names", "BartForConditionalGeneration", hidden_size=48, num_hidden_layers=4,
         num_attention_heads=3, is_decoder=True,
         **{key: value for key, value in bart.items()
            if key not in ("d_model", "encoder_layers", "encoder_attention_heads")})
    case("bart/both-names", "BartForConditionalGeneration", **bart, num_hidden_layers=4)
    case("bart/decoder-untied", "BartForCausalLM", **bart, tie_word_embeddings=False)
    case("marian/own-tables", "MarianMTModel", **bart, decoder_vocab_size=113, share_encoder_decoder_embeddings=False)
    case("marian/own-tables-untied", "MarianMTModel", **bart, decoder_vocab_size=113,
         share_encoder_decoder_embeddings=False, tie_word_embeddings=False)
    case("marian/decoder-vocabulary-null", "MarianMTModel", **bart, decoder_vocab_size=None,
         share_encoder_decoder_embeddings=False)


def cases(case):
    t5_family(case)
    bart_family(case)
