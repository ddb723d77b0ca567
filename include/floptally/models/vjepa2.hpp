// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char vjepa2[] = R"page(
page vjepa2 : base.tower prefix VJEPA2
with hidden_size 1024, num_hidden_layers 24, num_attention_heads 16, mlp_ratio 4.0 to 1024, qkv_bias yes
with crop_size 256, patch_size 16, in_chans 3, frames_per_clip 64, tubelet_size 2
with pred_hidden_size 384, pred_num_attention_heads 12, pred_num_hidden_layers 12, pred_mlp_ratio 4.0 to 1024
with pred_num_mask_tokens 10, num_pooler_layers 3
without intermediate_size
f      = floor(.mlp_ratio * h)
rows   = .crop_size / .patch_size
frames = .frames_per_clip / .tubelet_size
sees   = clip_squares()                          # every patch sees those of all frames
bias   = .qkv_bias * 3*h + h
stem:  patches channels .in_chans, side .patch_size, frames .tubelet_size, bias h
# The predictor sees each patch twice: as context, and as a target that it makes from the context.
p      = .pred_hidden_size
n      = .pred_num_hidden_layers
pheads = .pred_num_attention_heads
pf     = floor(.pred_mlp_ratio * p)
pbias  = .qkv_bias * 3*p + p
class Model:
  gqa heads pheads, dim p / pheads, width p, norm 4*p, bias pbias, times n, detached, named "predictor"
  mlp inner pf, width p, bias pf + p, times n, detached, named "predictor"
  gqa heads pheads, dim p / pheads, width p, norm 4*p, bias pbias, times n, detached, shared_weights, named "predictor"
  mlp inner pf, width p, bias pf + p, times n, detached, shared_weights, named "predictor"
  core heads 2*n*pheads, dim p / pheads, detached, named "predictor"           # (2n)^2 pairs are four n^2
  linear in h, out p, as predictor predictor_embeddings, from x, detached
  linear in p, out h, as predictor proj, from x, detached
  positions count .pred_num_mask_tokens * p, detached
  norm count 2*p, detached
  bias count p + h, detached
# Layers over all tokens, then one query of each clip, without a matrix after its attention.
class ForVideoClassification:
  gqa heads heads, dim dim, norm 4*h, bias 4*h, times .num_pooler_layers
  mlp inner 4*h, bias 5*h, times .num_pooler_layers
  linear in h, out h, as pooling q_proj, from x, units clips()
  linear in h, out h, as pooling k_proj, from x
  linear in h, out h, as pooling v_proj, from x
  core heads heads, dim dim, pairs 1, as pooling
  linear in h, out 4*h, as pooling up_proj, from x, units clips()
  linear in 4*h, out h, as pooling down_proj, from x, units clips()
  positions count h
  norm count 4*h
  bias count 8*h
  linear in h, out labels, head, as lm_head classifier, from x, units clips(), bias labels, split replicated
require p % pheads == 0: .pred_num_attention_heads must divide its width ({p})
require rows > 0: .crop_size must be at least patch_size
require frames > 0: .frames_per_clip must be at least tubelet_size ({.tubelet_size})
)page";

}  // namespace floptally::models
