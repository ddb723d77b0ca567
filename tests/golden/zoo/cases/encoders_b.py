# SPDX-License-Identifier: Apache-2.0
"""modernbert, modernbert-decoder, eurobert, esmc, nomic_bert, gte, jina_embeddings_v3, albert, deberta-v2, deberta,
roformer, squeezebert, convbert, mobilebert, fnet; esmfold2."""

import feeds
from cases.encoders_a import HEADS, PRE_TRAINING, heads, language_models


def position_terms(config):
    return [term for term in ("c2p", "p2c") if term in (config.pos_att_type or [])]


def positions_of_deberta(config, batch, length, fused):
    """Linears on a table of positions, which all sequences of a batch share."""
    if not config.relative_attention:
        return {}
    v2 = config.model_type == "deberta-v2"
    span = config.max_relative_positions if config.max_relative_positions > 0 else config.max_position_embeddings
    if v2 and getattr(config, "position_buckets", -1) > 0:
        span = config.position_buckets
    rows = 2 * (span if v2 else min(length, span))
    one = config.num_hidden_layers * 2 * rows * config.hidden_size * config.hidden_size
    terms = len(position_terms(config))
    forward = 2 if getattr(config, "share_att_key", False) and v2 else terms
    return {"position projections": {
        "forward": forward * one, "backward": terms * 2 * one,
        "why": "the table of relative positions is projected once per layer and pass, whatever the batch",
    }}


@feeds.feed((1, 7, 19), (2, 12, 33))
def chains(model, run):
    """Chains of so many residues and atoms, each with an alignment of `msa_depth` rows. A run is (chains, residues, atoms)."""
    import torch
    from transformers.models.esmfold2.modeling_esmfold2 import EsmFold2AtomInputs
    batch, n, atoms = run
    config = model.config
    depth = getattr(config, "msa_depth", 1)
    yes = torch.ones(batch, depth, n, dtype=torch.bool)
    place = torch.arange(n).repeat(batch, 1)
    owner = torch.sort(torch.randint(0, n, (batch, atoms)))[0]
    inside = EsmFold2AtomInputs(
        ref_pos=torch.randn(batch, atoms, 3), ref_charge=torch.zeros(batch, atoms), ref_space_uid=owner, atom_to_token=owner,
        atom_attention_mask=torch.ones(batch, atoms, dtype=torch.bool), ref_element=torch.randint(0, config.max_atomic_number, (batch, atoms)),
        ref_atom_name_chars=torch.randint(0, config.char_vocab_size, (batch, atoms, config.max_chars)))
    inputs = dict(token_index=place, residue_index=place, asym_id=0 * place, sym_id=0 * place, entity_id=0 * place + 1, mol_type=0 * place,
                  res_type=torch.randint(2, 22, (batch, n)), token_bonds=torch.zeros(batch, n, n, 1), attention_mask=yes[:, 0],
                  atom_inputs=inside, msa=torch.randint(2, 22, (batch, depth, n)), msa_attention_mask=yes, has_deletion=~yes,
                  deletion_value=torch.zeros(batch, depth, n), input_ids=torch.randint(4, 24, (batch, n)))
    return inputs, {"lengths": [n] * batch, "encoder_length": atoms}


def layers_of_language_model(config, batch, length, fused, encoder_length):
    """The weighted sum over ESMC's layers is a product of a matrix and a vector."""
    layers = config.esmc_config.num_hidden_layers + 1
    once = 2 * layers * config.pairwise_hidden_size * batch * length
    return {"sum of layers": {"forward": -once, "backward": -2 * once,
                              "why": "ESMC's layers are averaged by aten.mv, an operator that FlopCounterMode does not count"}}


DIFFERENCES = {"deberta": positions_of_deberta, "deberta-v2": positions_of_deberta, "esmfold2": layers_of_language_model}


def without(config, *names):
    return {key: value for key, value in config.items() if key not in names}


def modernbert(case):
    once = dict(_attention=("eager",), _shapes=((3, 7),))
    tiny = dict(vocab_size=61, hidden_size=48, intermediate_size=70, num_hidden_layers=5, num_attention_heads=4,
                local_attention=6, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2)
    case("modernbert/masked-lm", "ModernBertForMaskedLM", **tiny)
    case("modernbert/masked-lm-untied", "ModernBertForMaskedLM", **tiny, tie_word_embeddings=False, decoder_bias=False,
         **once)
    case("modernbert/every-second-global", "ModernBertForMaskedLM", **dict(tiny, local_attention=3),
         global_attn_every_n_layers=2)
    case("modernbert/layer-types", "ModernBertForMaskedLM", **dict(tiny, num_hidden_layers=3),
         layer_types=["sliding_attention", "full_attention", "sliding_attention"], **once)
    case("modernbert/sliding-window", "ModernBertForMaskedLM", **dict(tiny, sliding_window=2), **once)
    case("modernbert/local-attention-absent", "ModernBertForMaskedLM", **without(tiny, "local_attention"), **once)
    biases = dict(attention_bias=True, mlp_bias=True, norm_bias=True, classifier_bias=True)
    case("modernbert/biases", "ModernBertForMaskedLM", **tiny, **biases, **once)
    case("modernbert/no-architectures", None, **dict(tiny, num_hidden_layers=2), **once)
    heads(case, "modernbert", "ModernBert", tiny, HEADS)
    case("modernbert/sequence-classification-mean", "ModernBertForSequenceClassification", **tiny, num_labels=5,
         classifier_pooling="mean", classifier_bias=True, norm_bias=True, **once)

    name, prefix = "modernbert-decoder", "ModernBertDecoder"
    case(f"{name}/causal-lm", prefix + "ForCausalLM", **tiny)
    case(f"{name}/every-second-global", prefix + "ForCausalLM", **dict(tiny, local_attention=9),
         global_attn_every_n_layers=2, **once)
    case(f"{name}/layer-types", prefix + "ForCausalLM", **dict(tiny, num_hidden_layers=3),
         layer_types=["sliding_attention", "full_attention", "sliding_attention"], **once)
    case(f"{name}/sliding-window", prefix + "ForCausalLM", **dict(tiny, sliding_window=2), **once)
    case(f"{name}/biases-untied", prefix + "ForCausalLM", **tiny, **biases, tie_word_embeddings=False, **once)
    case(f"{name}/model", prefix + "Model", **tiny, **once)
    case(f"{name}/sequence-classification", prefix + "ForSequenceClassification", **tiny, num_labels=5, **once)
    case(f"{name}/sequence-classification-bias", prefix + "ForSequenceClassification", **tiny, num_labels=5,
         classifier_bias=True, **once)


def rotary(case):
    once = dict(_attention=("eager",), _shapes=((3, 7),))
    labels = {name: HEADS[name] for name in ("model", "sequence-classification", "token-classification")}
    tiny = dict(vocab_size=61, hidden_size=48, intermediate_size=70, num_hidden_layers=3, num_attention_heads=4,
                pad_token_id=0, bos_token_id=1, eos_token_id=2)

    eurobert = dict(tiny, num_key_value_heads=2)
    case("eurobert/masked-lm", "EuroBertForMaskedLM", **eurobert)
    case("eurobert/masked-lm-tied-biases", "EuroBertForMaskedLM", **eurobert, tie_word_embeddings=True,
         attention_bias=True, mlp_bias=True, **once)
    case("eurobert/head-dim", "EuroBertForMaskedLM", **tiny, head_dim=14, **once)
    case("eurobert/nulls", "EuroBertForMaskedLM", **tiny, num_key_value_heads=None, head_dim=None, **once)
    heads(case, "eurobert", "EuroBert", eurobert, labels)
    case("eurobert/sequence-classification-bos", "EuroBertForSequenceClassification", **eurobert, num_labels=5,
         classifier_pooling="bos", **once)

    case("esmc/masked-lm", "EsmcForMaskedLM", **tiny)
    case("esmc/biases", "EsmcForMaskedLM", **tiny, attention_bias=True, mlp_bias=True, **once)
    heads(case, "esmc", "Esmc", tiny, labels)

    for model_type, prefix in (("nomic_bert", "NomicBert"), ("gte", "Gte"), ("jina_embeddings_v3", "JinaEmbeddingsV3")):
        config = dict(tiny, type_vocab_size=3)
        case(f"{model_type}/masked-lm", prefix + "ForMaskedLM", **config)
        case(f"{model_type}/masked-lm-untied", prefix + "ForMaskedLM", **config, tie_word_embeddings=False, **once)
        case(f"{model_type}/types-absent", prefix + "ForMaskedLM", **tiny, **once)
        case(f"{model_type}/head-dim", prefix + "ForMaskedLM", **tiny, head_dim=14, **once)
        heads(case, model_type, prefix, config, labels)
    case("gte/no-types", "GteForMaskedLM", **tiny, type_vocab_size=0, **once)
    heads(case, "jina_embeddings_v3", "JinaEmbeddingsV3", config, {"question-answering": "ForQuestionAnswering"})


def albert(case):
    once = dict(_attention=("eager",), _shapes=((3, 7),))
    tiny = dict(vocab_size=61, embedding_size=20, hidden_size=48, intermediate_size=70, num_hidden_layers=5,
                num_attention_heads=4, max_position_embeddings=29, type_vocab_size=3)
    language_models(case, "albert", "Albert", tiny, decoder=False)
    heads(case, "albert", "Albert", tiny, HEADS)
    case("albert/pre-training", "AlbertForPreTraining", **tiny, num_labels=5,
         _loss=["prediction_logits", "sop_logits"], **once)
    case("albert/two-groups-of-three", "AlbertForMaskedLM", **tiny, num_hidden_groups=2, inner_group_num=3, **once)
    case("albert/as-many-groups-as-layers", "AlbertForMaskedLM", **tiny, num_hidden_groups=5, **once)
    case("albert/embedding-of-the-layers-width", "AlbertForMaskedLM", **dict(tiny, embedding_size=48), **once)
    case("albert/embedding-size-absent", "AlbertForMaskedLM", **without(tiny, "embedding_size"), **once)


def deberta(case):
    once = dict(_shapes=((3, 7),))
    tiny = dict(vocab_size=61, hidden_size=48, intermediate_size=70, num_hidden_layers=3, num_attention_heads=4,
                max_position_embeddings=29)
    relative = dict(tiny, relative_attention=True, position_biased_input=False, pos_att_type=["c2p", "p2c"])
    labels = without(HEADS, "multiple-choice")
    for model_type, prefix in (("deberta-v2", "DebertaV2"), ("deberta", "Deberta")):
        case(f"{model_type}/masked-lm", prefix + "ForMaskedLM", **relative)
        case(f"{model_type}/absolute-untied", prefix + "ForMaskedLM", **tiny, tie_word_embeddings=False, **once)
        case(f"{model_type}/c2p-types", prefix + "ForMaskedLM", **dict(relative, pos_att_type="C2P | other"),
             type_vocab_size=3, max_relative_positions=13)
        case(f"{model_type}/p2c-and-positions", prefix + "ForMaskedLM",
             **dict(relative, pos_att_type="p2c", position_biased_input=True), max_relative_positions=-1, **once)
        case(f"{model_type}/no-terms", prefix + "ForMaskedLM", **without(relative, "pos_att_type"), **once)
        case(f"{model_type}/terms-without-relative-attention", prefix + "ForMaskedLM", **tiny, pos_att_type=["c2p"],
             **once)
        case(f"{model_type}/narrow-embedding", prefix + "ForMaskedLM", **relative, embedding_size=20, **once)
        case(f"{model_type}/short-span", prefix + "ForMaskedLM", **relative, max_relative_positions=5)
        heads(case, model_type, prefix, relative, labels)
    heads(case, "deberta-v2", "DebertaV2", relative, {"multiple-choice": "ForMultipleChoice"})
    case("deberta-v2/version-three", "DebertaV2ForMaskedLM", **relative, position_buckets=9, norm_rel_ebd="layer_norm",
         share_att_key=True, max_relative_positions=-1)
    case("deberta-v2/shared-key-one-term", "DebertaV2ForMaskedLM", **dict(relative, pos_att_type="p2c"),
         share_att_key=True, **once)
    case("deberta-v2/convolution", "DebertaV2ForMaskedLM", **relative, position_buckets=9, conv_kernel_size=3,
         conv_act="gelu", **once)
    case("deberta-v2/convolution-in-groups", "DebertaV2ForMaskedLM", **tiny, conv_kernel_size=5, conv_groups=4,
         **once)


def others(case):
    once = dict(_shapes=((3, 7),))
    tiny = dict(vocab_size=61, hidden_size=48, intermediate_size=70, num_hidden_layers=2, num_attention_heads=4,
                max_position_embeddings=29, type_vocab_size=3, pad_token_id=1)
    narrow = dict(tiny, embedding_size=20)
    language_models(case, "roformer", "RoFormer", narrow)
    heads(case, "roformer", "RoFormer", narrow, HEADS)
    case("roformer/embedding-size-absent", "RoFormerForMaskedLM", **tiny, **once)
    case("roformer/embedding-size-null", "RoFormerForMaskedLM", **tiny, embedding_size=None, rotary_value=True, **once)
    case("roformer/multiple-choice-projection", "RoFormerForMultipleChoice", **narrow, summary_use_proj=True,
         summary_type="first", _choices=True, **once)

    groups = dict(tiny, embedding_size=48, intermediate_size=72)
    language_models(case, "squeezebert", "SqueezeBert", groups, decoder=False)
    heads(case, "squeezebert", "SqueezeBert", groups, HEADS)
    case("squeezebert/other-groups", "SqueezeBertForMaskedLM", **groups, q_groups=1, k_groups=2, v_groups=3,
         post_attention_groups=6, intermediate_groups=8, output_groups=12)

    language_models(case, "convbert", "ConvBert", narrow, decoder=False)
    heads(case, "convbert", "ConvBert", narrow, HEADS)
    case("convbert/embedding-size-absent", "ConvBertForMaskedLM", **tiny, **once)
    case("convbert/kernel-ratio-groups", "ConvBertForMaskedLM", **dict(narrow, num_attention_heads=9), head_ratio=3,
         conv_kernel_size=5, num_groups=2)
    case("convbert/one-head", "ConvBertForMaskedLM", **narrow, head_ratio=5)
    case("convbert/embedding-of-the-layers-width", "ConvBertForMaskedLM", **dict(tiny, embedding_size=48), **once)


def mobilebert(case):
    once = dict(_attention=("eager",), _shapes=((3, 7),))
    tiny = dict(vocab_size=61, hidden_size=50, intermediate_size=70, num_hidden_layers=3, num_attention_heads=4,
                max_position_embeddings=29, type_vocab_size=3, embedding_size=22, intra_bottleneck_size=36,
                num_feedforward_networks=3)
    language_models(case, "mobilebert", "MobileBert", tiny, decoder=False)
    heads(case, "mobilebert", "MobileBert", tiny, HEADS)
    heads(case, "mobilebert", "MobileBert", tiny, PRE_TRAINING)
    case("mobilebert/one-mlp", "MobileBertForMaskedLM", **dict(tiny, num_feedforward_networks=1), **once)
    case("mobilebert/bottleneck-attention", "MobileBertForMaskedLM", **tiny, use_bottleneck_attention=True, **once)
    case("mobilebert/bottleneck-attention-alone", "MobileBertForMaskedLM", **tiny, use_bottleneck_attention=True,
         key_query_shared_bottleneck=False, **once)
    case("mobilebert/no-bottleneck", "MobileBertForMaskedLM", **dict(tiny, hidden_size=44), use_bottleneck=False,
         normalization_type="layer_norm", **once)
    case("mobilebert/no-trigrams", "MobileBertForMaskedLM", **tiny, trigram_input=False, **once)
    case("mobilebert/embedding-of-the-layers-width", "MobileBertForMaskedLM", **dict(tiny, embedding_size=50),
         trigram_input=False, **once)
    case("mobilebert/no-pooler", "MobileBertForSequenceClassification", **tiny, classifier_activation=False, **once)
    for name in ("Model", "ForPreTraining", "ForNextSentencePrediction", "ForMultipleChoice"):
        case(f"mobilebert/no-pooler-{name}", "MobileBert" + name, **tiny, classifier_activation=False,
             **dict(once, _choices=True) if name == "ForMultipleChoice" else once)
    case("mobilebert/sizes-absent", "MobileBertForMaskedLM", vocab_size=61, num_hidden_layers=2, **once)


def fnet(case):
    tiny = dict(vocab_size=61, hidden_size=50, intermediate_size=70, num_hidden_layers=3, max_position_embeddings=29,
                type_vocab_size=3)
    language_models(case, "fnet", "FNet", tiny, decoder=False)
    heads(case, "fnet", "FNet", tiny, HEADS)
    heads(case, "fnet", "FNet", tiny, PRE_TRAINING)


def esmfold2(case):
    atoms = dict(hidden_size=64, num_attention_heads=2, output_dim=16, num_hidden_layers=2, intermediate_size=40)
    language = dict(model_type="esmc", vocab_size=40, hidden_size=32, intermediate_size=24, num_hidden_layers=3, num_attention_heads=4)
    step = dict(hidden_size=32, fourier_dim=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, pair_intermediate_size=20,
                atom_encoder=dict(atoms, hidden_size=32, num_attention_heads=1, output_dim=32, num_hidden_layers=1))
    tiny = dict(hidden_size=12, pairwise_hidden_size=8, single_inputs_size=16 + 2 * 33 + 1, pair_transition_intermediate_size=24,
                sliding_window=8, num_loops=2, max_atoms_per_token=5, folding_trunk_num_hidden_layers=2, parcae_num_coda_layers=1,
                atom_encoder=atoms, structure_head=dict(num_distogram_bins=30, diffusion_module=step), esmc_config=language,
                confidence_head=dict(num_hidden_layers=2, num_plddt_bins=10, num_pde_bins=9, num_pae_bins=7, distogram_bins=11),
                msa_encoder=dict(hidden_size=20, outer_hidden_size=6, num_hidden_layers=2, num_attention_heads=2, head_dim=4,
                                 intermediate_size=12), lm_encoder=dict(num_hidden_layers=1),
                _feed=chains, _loss=["distogram_logits"])
    case("esmfold2/one-row", "EsmFold2Model", **tiny)
    case("esmfold2/alignment", "EsmFold2Model", **dict(tiny, msa_depth=3, num_loops=1, chunk_size=4, lm_encoder=dict(num_hidden_layers=2),
         esmc_config=dict(language, attention_bias=True, mlp_bias=True, num_hidden_layers=1)))
    case("esmfold2/no-alignment-once", "EsmFold2Model", **dict(tiny, num_loops=0, msa_encoder=dict(tiny["msa_encoder"], enabled=False),
         num_res_types=35, single_inputs_size=16 + 2 * 35 + 1, num_relative_residx_bins=4, num_relative_chain_bins=1,
         max_atomic_number=100, char_vocab_size=50, max_chars=3))


def cases(case):
    modernbert(case)
    rotary(case)
    albert(case)
    deberta(case)
    others(case)
    mobilebert(case)
    fnet(case)
    esmfold2(case)
