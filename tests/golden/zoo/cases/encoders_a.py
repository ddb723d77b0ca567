# SPDX-License-Identifier: Apache-2.0
"""BERT's and RoBERTa's family: roberta, camembert, xlm-roberta, xlm-roberta-xl, roberta-prelayernorm, data2vec-text,
ernie, megatron-bert, electra, rembert, distilbert, mpnet, ibert, bert-generation, xmod, roc_bert, big_bird."""

HEADS = {"model": "Model", "sequence-classification": "ForSequenceClassification",
         "multiple-choice": "ForMultipleChoice", "token-classification": "ForTokenClassification",
         "question-answering": "ForQuestionAnswering"}
PRE_TRAINING = {"pre-training": "ForPreTraining", "next-sentence": "ForNextSentencePrediction"}


def two_languages(config, batch, length):
    import torch
    return {"lang_ids": torch.arange(batch) % 2}


def heads(case, model_type, prefix, config, names):
    """One case for each class in `names`; the layers below them are those of the language models' cases."""
    options = dict(_attention=("eager",), _shapes=((3, 7),))
    for name, suffix in names.items():
        labels = dict(num_labels=5) if "classification" in name else {}
        choices = dict(_choices=True) if "choice" in name else {}
        case(f"{model_type}/{name}", prefix + suffix, **config, **labels, **choices, **options)


def language_models(case, model_type, prefix, config, decoder=True):
    """The masked LM as written, untied and with the class's own positions; the decoder's class."""
    once = dict(_shapes=((3, 7),))
    case(f"{model_type}/masked-lm", prefix + "ForMaskedLM", **config)
    case(f"{model_type}/masked-lm-untied", prefix + "ForMaskedLM", **config, tie_word_embeddings=False, **once)
    case(f"{model_type}/positions-types-absent", prefix + "ForMaskedLM", **once,
         **{key: value for key, value in config.items() if key not in ("max_position_embeddings", "type_vocab_size")})
    if decoder:
        case(f"{model_type}/decoder", prefix + "ForCausalLM", **config, is_decoder=True)


def cases(case):
    tiny = dict(vocab_size=61, hidden_size=48, intermediate_size=70, num_hidden_layers=2, num_attention_heads=4,
                max_position_embeddings=29, type_vocab_size=3, pad_token_id=1)
    for model_type, prefix in (("roberta", "Roberta"), ("camembert", "Camembert"), ("xlm-roberta", "XLMRoberta"),
                               ("xlm-roberta-xl", "XLMRobertaXL"), ("roberta-prelayernorm", "RobertaPreLayerNorm"),
                               ("data2vec-text", "Data2VecText"), ("ernie", "Ernie"),
                               ("megatron-bert", "MegatronBert")):
        language_models(case, model_type, prefix, tiny)
        heads(case, model_type, prefix, tiny, HEADS)
    case("roberta/no-architectures", None, **dict(tiny, hidden_size=40))
    case("roberta/model-decoder", "RobertaModel", **tiny, is_decoder=True)
    case("roberta/causal-lm-of-an-encoder", "RobertaForCausalLM", **tiny)
    for model_type, prefix in (("ernie", "Ernie"), ("megatron-bert", "MegatronBert")):
        heads(case, model_type, prefix, tiny, PRE_TRAINING)
    case("ernie/task-types", "ErnieForMaskedLM", **tiny, use_task_id=True, task_type_vocab_size=7)
    case("ernie/task-types-absent", "ErnieForMaskedLM", **tiny, use_task_id=True)

    narrow = dict(tiny, embedding_size=20)
    language_models(case, "electra", "Electra", narrow)
    heads(case, "electra", "Electra", narrow, dict(HEADS, **{"pre-training": "ForPreTraining"}))
    case("electra/generator-of-the-layers-width", "ElectraForMaskedLM", **dict(tiny, embedding_size=48))
    case("electra/embedding-size-absent", "ElectraForPreTraining", **tiny)
    case("electra/multiple-choice-no-projection", "ElectraForMultipleChoice", **narrow, summary_use_proj=False,
         _choices=True)
    case("electra/multiple-choice-mean", "ElectraForMultipleChoice", **narrow, summary_type="mean", _choices=True)

    narrow = dict(tiny, input_embedding_size=20, output_embedding_size=28)
    language_models(case, "rembert", "RemBert", narrow)
    heads(case, "rembert", "RemBert", narrow, HEADS)
    case("rembert/embedding-sizes-absent", "RemBertForMaskedLM", **tiny)

    distilbert = dict(vocab_size=61, dim=48, hidden_dim=70, n_layers=2, n_heads=4, max_position_embeddings=29)
    language_models(case, "distilbert", "DistilBert", distilbert, decoder=False)
    heads(case, "distilbert", "DistilBert", distilbert, HEADS)
    case("distilbert/long-names", "DistilBertForMaskedLM", vocab_size=61, hidden_size=48, hidden_dim=70,
         num_hidden_layers=3, num_attention_heads=6, max_position_embeddings=29)
    case("distilbert/sinusoidal", "DistilBertForMaskedLM", **distilbert, sinusoidal_pos_embds=True)
    case("distilbert/layers-heads-absent", "DistilBertForMaskedLM", vocab_size=61, dim=24, hidden_dim=38)

    mpnet = {key: value for key, value in tiny.items() if key != "type_vocab_size"}
    language_models(case, "mpnet", "MPNet", mpnet, decoder=False)
    heads(case, "mpnet", "MPNet", mpnet, HEADS)
    case("mpnet/buckets", "MPNetForMaskedLM", **mpnet, relative_attention_num_buckets=45)

    language_models(case, "ibert", "IBert", tiny, decoder=False)
    heads(case, "ibert", "IBert", tiny, HEADS)

    case("bert-generation/decoder", "BertGenerationDecoder", **mpnet, is_decoder=True)
    case("bert-generation/decoder-untied", "BertGenerationDecoder", **mpnet, is_decoder=True,
         tie_word_embeddings=False)
    case("bert-generation/decoder-that-sees-all", "BertGenerationDecoder", **mpnet)
    case("bert-generation/encoder", "BertGenerationEncoder", **mpnet)

    xmod = dict(tiny, languages=["en_XX", "de_DE", "fr_XX"], default_language="de_DE", adapter_reduction_factor=5)
    language_models(case, "xmod", "Xmod", xmod)
    heads(case, "xmod", "Xmod", xmod, HEADS)
    case("xmod/pre-norm", "XmodForMaskedLM", **xmod, pre_norm=True)
    case("xmod/adapter-norm", "XmodForMaskedLM", **xmod, adapter_layer_norm=True, ln_before_adapter=False)
    case("xmod/adapter-without-norm", "XmodForMaskedLM", **xmod, adapter_reuse_layer_norm=False)
    case("xmod/adapters-absent", "XmodForMaskedLM", **tiny, default_language="en_XX")
    case("xmod/a-language-twice", "XmodForMaskedLM", **dict(xmod, languages=["en_XX", "de_DE", "en_XX"]))
    case("xmod/no-languages", "XmodForMaskedLM", **dict(xmod, languages=[], default_language=None),
         _inputs=two_languages)
    case("xmod/two-languages-in-a-batch", "XmodForMaskedLM", **dict(xmod, default_language=None),
         _inputs=two_languages)

    roc_bert = dict(tiny, pronunciation_vocab_size=31, pronunciation_embed_dim=22, shape_vocab_size=37,
                    shape_embed_dim=26)
    language_models(case, "roc_bert", "RoCBert", roc_bert)
    heads(case, "roc_bert", "RoCBert", roc_bert, dict(HEADS, **{"pre-training": "ForPreTraining"}))
    case("roc_bert/words-only", "RoCBertForMaskedLM", **roc_bert, enable_pronunciation=False, enable_shape=False)
    case("roc_bert/shapes", "RoCBertForMaskedLM", **roc_bert, enable_pronunciation=False)
    case("roc_bert/not-mixed", "RoCBertForMaskedLM", **roc_bert, concat_input=False)
    case("roc_bert/tables-absent", "RoCBertForMaskedLM", **tiny)

    big_bird = dict(tiny, attention_type="original_full", sep_token_id=2)
    language_models(case, "big_bird", "BigBird", big_bird)
    heads(case, "big_bird", "BigBird", big_bird, dict(HEADS, **{"pre-training": "ForPreTraining"}))
    case("big_bird/question-answering-labels", "BigBirdForQuestionAnswering", **big_bird, num_labels=5)
    case("big_bird/model-decoder", "BigBirdModel", **big_bird, is_decoder=True)
    case("big_bird/no-bias", "BigBirdForMaskedLM", **big_bird, use_bias=False)
