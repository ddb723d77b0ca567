// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char wav2vec2[] = R"page(
page wav2vec2 : base.tower prefix Wav2Vec2
with hidden_size 768, intermediate_size 3072, num_hidden_layers 12, num_attention_heads 12, vocab_size 32
with conv_dim [512, 512, 512, 512, 512, 512, 512] of numbers
with conv_kernel [10, 3, 3, 3, 3, 2, 2] of numbers, conv_stride [5, 2, 2, 2, 2, 2, 2] of numbers
with conv_bias no, feat_extract_norm "group" of group layer
with num_conv_pos_embeddings 128, num_conv_pos_embedding_groups 16, mask_time_prob 0.05 from 0, mask_feature_prob 0.0
with mask_time_min_masks any?, mask_feature_min_masks any?
with codevector_dim any?, proj_codevector_dim any?, num_codevector_groups any?      # of its pre-training, whose class is
with num_codevectors_per_group any?, num_negatives any?                             # none of those below
with add_adapter no, output_hidden_size number?, num_adapter_layers 3 from 0, adapter_kernel_size 3, adapter_stride 2
with do_stable_layer_norm no, adapter_attn_dim number?, layerdrop 0.1 from 0
with use_weighted_layer_sum no, classifier_proj_size 256
with xvector_output_dim 512, tdnn_dim [512, 512, 512, 512, 1500] of numbers, tdnn_kernel [5, 3, 3, 1, 1] of numbers
with tdnn_dilation [1, 2, 3, 1, 1] of numbers
with architectures list?
stands = "audio"
bias   = 4*h
wide   = last(.conv_dim)
reach  = field(.conv_kernel, .conv_stride)      # samples that a frame is made of, and from one to the next
hop    = product(.conv_stride)
units  = frames(reach, hop)
attends = frame_squares(reach, hop)
per_unit = 0                                    # samples, of any number: none of them is a token of a text
normed = .feat_extract_norm == "layer" ? sum(.conv_dim) : .conv_dim[0]
kernel = .num_conv_pos_embeddings
groups = .num_conv_pos_embedding_groups
convolved = 1                                   # how often frames are convolved in place of a table of positions
projection_norm = 2*wide
position_norm = kernel                          # weights of that convolution are a product of lengths and directions
masks  = .mask_time_prob > 0.0 or .mask_feature_prob > 0.0
stem:
  convolutions channels 1, kernels .conv_kernel, out .conv_dim, strides .conv_stride, biased .conv_bias, norm 2*normed
  linear in wide, out h, as stem projection, from x, norm projection_norm, bias h, over units, attends units,
         split repeated
  linear in kernel * (h / groups), out h, as positions, no_lora, norm position_norm, bias h, over units,
         attends units, times convolved
  positions count h  if masks                   # what stands for a masked frame
# Two small linears after each layer, for one language each.
more:
  linear in h, out .adapter_attn_dim, as adapter linear_1, from x, to down, norm 2*h  if adapts
  linear in .adapter_attn_dim, out h, as adapter linear_2, from down, bias .adapter_attn_dim + h  if adapts
adapts = .do_stable_layer_norm and given(.adapter_attn_dim)
# An adapter after the layers: convolutions of stride 2, a half of whose channels gates the other.
adapted = .add_adapter ? .output_hidden_size ?? h : h
after_layers = .add_adapter ? .num_adapter_layers : 0
kernels = repeated([[[.adapter_kernel_size], after_layers]])
reach_after = after_layers == 0 ? reach : reach + (field(kernels, .adapter_stride, 1) - 1) * hop
last_units = frames(reach_after, hop * power(.adapter_stride, after_layers))
after:
  linear in h, out adapted, as adapter proj, units units, norm 2*adapted, bias adapted  if adapted != h
  convolutions channels adapted, as adapter, kernels kernels, out 2*adapted, strides .adapter_stride, paddings 1,
               biased, gated, inside, field reach, stride hop  if after_layers > 0
  linear in h, out .tdnn_dim[0], as lm_head, units units, bias .tdnn_dim[0], split replicated  if xvector
  convolutions channels .tdnn_dim[0], as lm_head, kernels .tdnn_kernel, out .tdnn_dim, dilations .tdnn_dilation,
               biased, inside, field reach, stride hop  if xvector
  linear in 2 * last(.tdnn_dim), out .xvector_output_dim, per_sequence, as lm_head, bias .xvector_output_dim,
         split replicated  if xvector
  linear in .xvector_output_dim, out .xvector_output_dim, per_sequence, as lm_head, bias .xvector_output_dim,
         split replicated  if xvector
  positions count .xvector_output_dim * labels  if xvector       # the weight of the loss
# Some of it is there in some classes only, whatever their head: x-vectors, and a weight for each hidden state.
asked  = size(.architectures) > 0 ? .architectures[0] : ""
xvector = asked ends "ForXVector"
classifies = xvector or asked ends "Classification"
once: bias count layers + 1  if classifies and .use_weighted_layer_sum
class ForCTC: head in adapted, out .vocab_size, bias
class Model:
class ForSequenceClassification:
  head out .classifier_proj_size, bias
  head in .classifier_proj_size, out labels, bias, per_sequence
class ForAudioFrameClassification: head out labels, bias
class ForXVector:
note .layerdrop > 0.0: layerdrop skips layers at random in training: counted as if none were skipped
require size(.conv_kernel) == size(.conv_dim): .conv_kernel must have as many numbers as conv_dim ({size(.conv_dim)})
require size(.conv_stride) == size(.conv_dim): .conv_stride must have as many numbers as conv_dim ({size(.conv_dim)})
require h % groups == 0: .num_conv_pos_embedding_groups must divide hidden_size ({h})
require not (.add_adapter and classifies): .add_adapter must be false in a class that classifies
)page";

}  // namespace floptally::models
