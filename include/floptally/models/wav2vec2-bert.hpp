// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char wav2vec2_bert[] = R"page(
page wav2vec2-bert : wav2vec2-conformer prefix Wav2Vec2Bert
with hidden_size 1024, intermediate_size 4096, num_hidden_layers 24, num_attention_heads 16
with feature_projection_input_dim 160, use_intermediate_ffn_before_adapter no, add_adapter no
with position_embeddings_type "relative_key"? of relative relative_key rotary
with left_max_position_embeddings 64 from 0, right_max_position_embeddings 8 from 0
without conv_dim, conv_kernel, conv_stride, conv_bias, feat_extract_norm, num_conv_pos_embeddings, num_conv_pos_embedding_groups
without codevector_dim, proj_codevector_dim, num_codevector_groups, num_codevectors_per_group, num_negatives
without output_hidden_size, num_adapter_layers, adapter_kernel_size, adapter_stride
without xvector_output_dim, tdnn_dim, tdnn_kernel, tdnn_dilation
final_norm = 0
inputs = .feature_projection_input_dim
by_distance = .position_embeddings_type == "relative_key"
rows_of_distance = .left_max_position_embeddings + .right_max_position_embeddings + 1
units  = null
attends = null
last_units = null
stem:
  linear in inputs, out h, as stem projection, from x, norm 2*inputs, bias h, split repeated
  positions count h  if masks
mixer:
  gqa heads heads, dim dim, bias bias
  linear in h, out h, applied 2, stored 1, input, no_lora, as attention.positions, bias 2*h  if relative
  scores as attention.positions, per h  if relative or by_distance
  positions count rows_of_distance * dim  if by_distance
after:
classes ForCTC Model ForSequenceClassification ForAudioFrameClassification
require not .add_adapter: .add_adapter is not supported; must be false or absent
require not .use_intermediate_ffn_before_adapter: .use_intermediate_ffn_before_adapter is not supported; must be false or absent
)page";

}  // namespace floptally::models
