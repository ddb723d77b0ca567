# SPDX-License-Identifier: Apache-2.0
"""esm, bert."""


def pooler(config, batch, length, fused):
    return {"pooler": {
        "forward": 0, "backward": 2 * 2 * batch * config.hidden_size * config.hidden_size,
        "why": "this loss also reaches pooler_output; the loss on last_hidden_state leaves the pooler forward only",
    }}


def cases(case):
    esm = dict(vocab_size=33, pad_token_id=1, mask_token_id=32, hidden_size=48, intermediate_size=70,
               num_hidden_layers=3, num_attention_heads=4, max_position_embeddings=29)
    case("esm/absolute", "EsmForMaskedLM", **esm)
    case("esm/rotary-token-dropout", "EsmForMaskedLM", **esm, position_embedding_type="rotary", token_dropout=True,
         emb_layer_norm_before=False)
    case("esm/norm-before-untied", "EsmForMaskedLM", **esm, emb_layer_norm_before=True, tie_word_embeddings=False)
    case("esm/relative-key", "EsmForMaskedLM", **esm, position_embedding_type="relative_key")
    case("esm/positions-absent", "EsmForMaskedLM",
         **{key: value for key, value in esm.items() if key != "max_position_embeddings"})
    case("esm/decoder", "EsmForMaskedLM", **esm, is_decoder=True)
    case("esm/no-architectures", None, **dict(esm, num_hidden_layers=2))
    case("esm/model", "EsmModel", **esm)
    case("esm/sequence-classification", "EsmForSequenceClassification", **esm, num_labels=5)
    case("esm/token-classification", "EsmForTokenClassification", **esm, num_labels=5)

    bert = dict(vocab_size=61, hidden_size=48, intermediate_size=70, num_hidden_layers=2, num_attention_heads=4,
                max_position_embeddings=29)
    case("bert/masked-lm", "BertForMaskedLM", **bert)
    case("bert/masked-lm-untied", "BertForMaskedLM", **bert, tie_word_embeddings=False)
    case("bert/masked-lm-types-positions-absent", "BertForMaskedLM", type_vocab_size=3,
         position_embedding_type="relative_key",
         **{key: value for key, value in bert.items() if key != "max_position_embeddings"})
    case("bert/lm-head-decoder", "BertLMHeadModel", **bert, is_decoder=True)
    case("bert/lm-head", "BertLMHeadModel", **bert)
    case("bert/pre-training", "BertForPreTraining", **bert)
    case("bert/pre-training-untied", "BertForPreTraining", **bert, tie_word_embeddings=False)
    case("bert/next-sentence", "BertForNextSentencePrediction", **bert)
    case("bert/sequence-classification", "BertForSequenceClassification", **bert, num_labels=5)
    case("bert/multiple-choice", "BertForMultipleChoice", **bert, num_labels=5, _choices=True)
    case("bert/token-classification", "BertForTokenClassification", **bert, num_labels=5)
    case("bert/question-answering", "BertForQuestionAnswering", **bert)
    case("bert/model", "BertModel", **bert)
    case("bert/model-loss-on-pooler", "BertModel", **bert, _loss=["last_hidden_state", "pooler_output"],
         _differences=pooler)
    case("bert/heads-layers-absent", "BertForMaskedLM", vocab_size=61, hidden_size=24, intermediate_size=38)
