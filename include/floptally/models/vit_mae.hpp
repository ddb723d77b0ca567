// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char vit_mae[] = R"page(
page vit_mae : vit prefix ViTMAE
with mask_ratio 0.75 from 0 to 1, decoder_hidden_size 512, decoder_num_hidden_layers 8, decoder_num_attention_heads 16
with decoder_intermediate_size 2048
without encoder_stride, pooler_output_size
# The encoder sees the patches that are kept, and a class token.
hidden = round(.mask_ratio * 1000000.0)          # patches of a million
seen   = kept(hidden, 1)
class_tokens = 0
mixer: gqa heads heads, dim dim, bias bias, sees kept_squares(hidden, 1), over seen
feed:  mlp inner f, bias f + h, over seen
# The decoder sees a token for every patch, and learns the pixels of those that the encoder did not see.
w      = .decoder_hidden_size
n      = .decoder_num_hidden_layers
dheads = .decoder_num_attention_heads
ddim   = .head_dim ?? w / dheads
df     = .decoder_intermediate_size
pixels = .patch_size * .patch_size * .num_channels      # of squares only
class ForPreTraining:
  linear in h, out w, as decoder.embedding decoder_embed, from x, units seen
  gqa heads dheads, dim ddim, width w, sees both, norm 4*w, bias .qkv_bias * 3*dheads*ddim + w, times n, prefix 1
  mlp inner df, width w, bias df + w, times n, prefix 1
  linear in w, out pixels, as lm_head decoder_pred, from x, prefix 1, split replicated
  positions count (rows*columns + 2) * w         # and the mask token
  norm count 2*w
  bias count w + pixels
class Model:
require .mask_ratio < 1.0 and hidden / 1000000.0 == .mask_ratio: .mask_ratio must be from 0 to below 1 with at most six decimals
require given(.head_dim) or w % dheads == 0: .decoder_num_attention_heads must divide its width ({w})
)page";

}  // namespace floptally::models
