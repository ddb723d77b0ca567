// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char lilt[] = R"page(
page lilt : bert prefix Lilt
with max_2d_position_embeddings 1024, channel_shrink_ratio 4
without is_decoder
sees   = both
# A narrower stream of boxes runs beside that of words, and each adds its scores to the other's.
r      = .channel_shrink_ratio
w      = h / r
last   = i + 1 == layers          # where what the boxes make of it reaches no loss, but by the scores
first_norm = 2*h + 2*w
norms  = 4*h + 4*w
positions = .max_position_embeddings + .type_vocab_size
once:
  positions count 4 * .max_2d_position_embeddings * (h / 6) + .max_position_embeddings * w
  linear in h, out w, as layout box_linear_embeddings, from x, to boxes, bias w
mixer:
  gqa heads heads, dim dim, bias 4*h
  gqa heads heads, dim dim / r, width w, bias 4*w, named "layout"      if not last
  linear in w, as layout qk_proj, bias 2*w, out 2*w                    if last
  scores as layout.core, per w                                         if last
  linear in w, as layout v_proj, bias w, detached, out w               if last
  scores per w, values, as layout.core, detached                       if last
  linear in w, as layout o_proj, bias w, detached, out w               if last
feed:
  mlp inner f, bias f + h
  mlp inner f / r, width w, bias f / r + w, named "layout"             if not last
  mlp inner f / r, width w, bias f / r + w, named "layout", detached   if last
class Model: head out h, bias, per_sequence, detached
class ForSequenceClassification:
  head out h, bias, per_sequence
  head out labels, bias, per_sequence
class ForTokenClassification: head out labels, bias
class ForQuestionAnswering: head out labels, bias
require h % r == 0 and dim % r == 0: .channel_shrink_ratio must divide the size of a head ({dim})
require h % 6 == 0: .hidden_size must be divisible by 6, the numbers of a box
)page";

}  // namespace floptally::models
