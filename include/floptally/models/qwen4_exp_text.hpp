// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char qwen4_exp_text[] = R"page(
page qwen4_exp_text : qwen3_next prefix Qwen4Exp
with vocab_size 248320, num_hidden_layers 40
with layer_types list? each of indexed_attention full_attention linear_attention
with indexer_n_heads number?, indexer_kv_heads number?, indexer_head_dim number?, indexer_budget number?
with indexer_compress_ratio number?, hc_count 4 from 2, hc_lowrank 320
with ple_layer_ids list? from 1 to 10000 of numbers, ple_embed_dim number?, ple_conv_kernel_size 4, ngram_size 3 from 2
with number_of_conv_states any?       # saved by files: of a cache
with heads_per_ngram 8, ngram_vocab_size_base 20000000 to 2147483647, make_ngram_vocab_size_divisible_by 128
without intermediate_size, decoder_sparse_step, mlp_only_layers, num_nextn_predict_layers
full   = given(type) ? type != "linear_attention" : (i + 1) % .full_attention_interval == 0
mtp    = null
n      = .hc_count                    # streams of the residual
norms  = 0
final_norm = 0
# A query sees the best pools of keys and what is behind the last whole one. Each score is of a pool, summed over heads.
pool   = .indexer_compress_ratio
budget = .indexer_budget
id     = .indexer_head_dim
# Embeddings of this layer's own, looked up by hashes of the last tokens, one table for each head.
ids    = .ple_layer_ids
has    = given(ids) and ids has i + 1
e      = .ple_embed_dim ?? h
tables = (.ngram_size - 1) * .heads_per_ngram
rows   = hashed_rows(ids, i + 1, tables, .ngram_vocab_size_base, .make_ngram_vocab_size_divisible_by)
mixer:
  gqa heads heads, kv kv, dim dim, gate heads*dim, norm 2*dim, bias bias, sees best_pools(pool, budget / pool)  if full
  indexer heads .indexer_n_heads, dim id, q h, ratio pool, no_weights, fused_sum, norm 2*id                     if full
  delta_net keys .linear_num_key_heads, key_dim .linear_key_head_dim,
            values values, value_dim .linear_value_head_dim, kernel .linear_conv_kernel_dim,
            norm .linear_value_head_dim, bias 2*values  if not full
feed:
  experts of .num_experts, top .num_experts_per_tok, inner .moe_intermediate_size,
          shared .shared_expert_intermediate_size, shared_gate
before:
  table count rows * (e / tables)                                                                          if has
  linear in e, out n*h, as ple key_proj, from x, split replicated                                          if has
  linear in e, out h, as ple value_proj, from x, split replicated, norm 3*n*h                              if has
  linear in .ple_conv_kernel_size, out n*h, as ple.convolution conv1d, from x, no_lora, split replicated   if has
into_mixer: gated_streams streams n, rank .hc_lowrank, norm n*h
into_feed:  gated_streams streams n, rank .hc_lowrank, norm n*h
after: gated_streams streams n, rank .hc_lowrank, last, norm n*h
require not full or given(.indexer_n_heads): .indexer_n_heads must be given
require not full or given(id): .indexer_head_dim must be given
require not full or given(.indexer_budget): .indexer_budget must be given
require not full or given(.indexer_compress_ratio): .indexer_compress_ratio must be given
require not full or .indexer_kv_heads == 1: .indexer_kv_heads must be 1
require not full or budget % pool == 0: .indexer_budget must be a multiple of indexer_compress_ratio ({pool})
require not given(ids) or largest(ids) <= layers: .ple_layer_ids must be of layers, counted from 1, of which there are {layers}
require not has or not full: .ple_layer_ids must be of layers of linear attention
require not given(ids) or size(ids) * tables <= 1024: .heads_per_ngram must make at most 1024 tables in all layers of ple_layer_ids
require not has or e % tables == 0: .ple_embed_dim must be a multiple of the number of tables ({tables})
class ForCausalLM: head out v, words
class TextModel:
)page";

}  // namespace floptally::models
