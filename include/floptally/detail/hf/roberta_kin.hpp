// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/roberta_heads.hpp>
#include <floptally/detail/hf/roberta_parts.hpp>

/// @file
/// Encoders with BERT's layers: full attention, an MLP of two matrices, biases everywhere.

namespace floptally::detail {

/// Fills in what BERT's kin share: BERT-base's sizes where the row says no other, and norms after each part.
[[nodiscard]] constexpr hf_family bert_kin(hf_family row) {
    const auto otherwise = [](std::uint64_t& size, std::uint64_t usual) { size = size == derived ? usual : size; };
    otherwise(row.vocab_size, 30522);
    otherwise(row.hidden_size, 768);
    otherwise(row.intermediate_size, 3072);
    otherwise(row.num_hidden_layers, 12);
    otherwise(row.num_attention_heads, 12);
    row.positions = row.positions == 0 ? 512 : row.positions;
    row.encoder = row.heads_divide_hidden = row.tie_word_embeddings = true;
    row.has_kv_heads = row.has_head_dim = row.final_norm = false;
    row.embedding_norm = row.output_bias = row.mlp_bias = always;
    row.qkv_bias = row.qkv_bias.key.empty() ? always : row.qkv_bias;
    row.mlp = mlp_kind::plain;
    row.norm = norm_kind::layer;
    return row;
}

/// The same with norms before each part, so one after the last layer.
[[nodiscard]] constexpr hf_family pre_norm_bert_kin(hf_family row, bool embedding_norm) {
    row = bert_kin(row);
    row.final_norm = true;
    row.embedding_norm = {"", embedding_norm};
    return row;
}

/// The same with an embedding of another width, whose norm is counted by `once`.
[[nodiscard]] constexpr hf_family narrow_bert_kin(hf_family row, bool tied) {
    row = bert_kin(row);
    row.embedding_norm = {};
    row.tie_word_embeddings = tied;
    return row;
}

inline constexpr std::array roberta_kin{
    bert_kin({.model_type = "roberta",
              .class_prefix = "Roberta",
              .heads = all_bert_kin_heads.first(7),
              .vocab_size = 50265,
              .segments = 2}),
    bert_kin(
        {.model_type = "camembert", .class_prefix = "Camembert", .heads = all_bert_kin_heads.first(7), .segments = 2}),
    bert_kin({.model_type = "xlm-roberta",
              .class_prefix = "XLMRoberta",
              .heads = all_bert_kin_heads.first(7),
              .segments = 2}),
    pre_norm_bert_kin({.model_type = "xlm-roberta-xl",
                       .class_prefix = "XLMRobertaXL",
                       .heads = all_bert_kin_heads.first(7),
                       .vocab_size = 250880,
                       .hidden_size = 2560,
                       .intermediate_size = 10240,
                       .num_hidden_layers = 36,
                       .num_attention_heads = 32,
                       .positions = 514,
                       .segments = 1},
                      false),
    pre_norm_bert_kin({.model_type = "roberta-prelayernorm",
                       .class_prefix = "RobertaPreLayerNorm",
                       .heads = all_bert_kin_heads.first(7),
                       .vocab_size = 50265,
                       .segments = 2},
                      true),
    bert_kin({.model_type = "data2vec-text",
              .class_prefix = "Data2VecText",
              .heads = all_bert_kin_heads.first(7),
              .segments = 2}),
    bert_kin({.model_type = "ernie",
              .class_prefix = "Ernie",
              .heads = bert_kin_heads,
              .segments = 2,
              .once = ernie_task_types}),
    pre_norm_bert_kin({.model_type = "megatron-bert",
                       .class_prefix = "MegatronBert",
                       .heads = bert_kin_heads,
                       .vocab_size = 29056,
                       .hidden_size = 1024,
                       .intermediate_size = 4096,
                       .num_hidden_layers = 24,
                       .num_attention_heads = 16,
                       .segments = 2},
                      false),
    narrow_bert_kin({.model_type = "electra",
                     .class_prefix = "Electra",
                     .heads = electra_heads,
                     .embedding_width = electra_width,
                     .hidden_size = 256,
                     .intermediate_size = 1024,
                     .num_attention_heads = 4,
                     .segments = 2,
                     .once = electra_embedding},
                    true),
    narrow_bert_kin({.model_type = "rembert",
                     .class_prefix = "RemBert",
                     .heads = rembert_heads,
                     .vocab_size = 250300,
                     .embedding_width = rembert_width,
                     .hidden_size = 1152,
                     .intermediate_size = 4608,
                     .num_hidden_layers = 32,
                     .num_attention_heads = 18,
                     .segments = 2,
                     .once = widened_embedding,
                     .resolve = refuse_tied},
                    false),
    bert_kin({.model_type = "distilbert",
              .class_prefix = "DistilBert",
              .heads = distilbert_heads,
              .also = {.hidden_size = "dim", .num_hidden_layers = "n_layers", .num_attention_heads = "n_heads"},
              .intermediate_keys = {"hidden_dim"},
              .num_hidden_layers = 6,
              .resolve = refuse_decoder}),
    bert_kin({.model_type = "mpnet",
              .class_prefix = "MPNet",
              .heads = all_bert_kin_heads.first(6),
              .vocab_size = 30527,
              .once = mpnet_position_bias,
              .resolve = refuse_decoder}),
    bert_kin({.model_type = "ibert",
              .class_prefix = "IBert",
              .heads = all_bert_kin_heads.first(6),
              .segments = 2,
              .resolve = require_floats}),
    bert_kin({.model_type = "bert-generation",
              .class_prefix = "BertGeneration",
              .heads = bert_generation_heads,
              .vocab_size = 50358,
              .hidden_size = 1024,
              .intermediate_size = 4096,
              .num_hidden_layers = 24,
              .num_attention_heads = 16}),
    bert_kin({.model_type = "xmod",
              .class_prefix = "Xmod",
              .heads = all_bert_kin_heads.first(7),
              .segments = 2,
              .more = xmod_adapters,
              .once = xmod_final_norm}),
    bert_kin({.model_type = "roc_bert",
              .class_prefix = "RoCBert",
              .heads = roc_bert_heads,
              .segments = 2,
              .once = roc_bert_inputs}),
    bert_kin({.model_type = "big_bird",
              .class_prefix = "BigBird",
              .heads = big_bird_heads,
              .vocab_size = 50358,
              .positions = 4096,
              .segments = 2,
              .qkv_bias = {"use_bias", true},
              .resolve = require_full_attention}),
};

}  // namespace floptally::detail
