// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char convbert[] = R"page(
page convbert : roformer prefix ConvBert
with vocab_size 30522, embedding_size 768, max_position_embeddings 512, head_ratio 2, conv_kernel_size 9, num_groups 1
embedding = .embedding_size
# Half of the heads' channels are attention's, the others a convolution's whose kernel each token makes itself.
heads  = max(.num_attention_heads / .head_ratio, 1)
dim    = h / heads / 2
half   = heads * dim
kernel = .conv_kernel_size
divides = no
positions = .max_position_embeddings + .type_vocab_size
mixer:
  linear in h, out half, applied 3, as attention.qkv, split heads heads
  core heads heads, dim dim
  linear in h, out h, as attention.output, bias 3*half + h, split heads heads
  linear in kernel, out h, as convolution                         # depthwise
  linear in h, out half, applied 2, as convolution                # across channels; what is convolved
  linear in half, out heads * kernel, as convolution              # the kernels
  state per half * kernel, as convolution
  bias count 2*half + heads*kernel
feed:
  linear in h / .num_groups, out f, as mlp, split even
  linear in f / .num_groups, out h, as mlp, bias f + h, split even
once:
  norm count 2 * embedding
  linear in embedding, out h, as embedding.projection, bias h, split replicated  if embedding != h
class ForMaskedLM:
  head out embedding, bias, norm 2
  head in embedding, out v, bias, words
classes Model ForSequenceClassification ForMultipleChoice ForTokenClassification ForQuestionAnswering
require h % (2 * heads) == 0: .hidden_size must be a multiple of 2 x num_attention_heads / head_ratio (2 x {heads})
require kernel % 2 == 1: .conv_kernel_size must be odd
require h % .num_groups == 0 and f % .num_groups == 0: .num_groups must divide hidden_size and intermediate_size
require not .is_decoder: .is_decoder is not supported; must be false or absent
)page";

}  // namespace floptally::models
