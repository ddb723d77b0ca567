// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char ernie4_5_vl_moe_text[] = R"page(
# Each layer has experts for tokens of text and others, of another width, for those of images, with a router for each. Which
# token is which says moe_mm_token_type_ids: the visits of each kind are measured.
page ernie4_5_vl_moe_text : ernie4_5_moe prefix Ernie4_5_VLMoe
with moe_intermediate_size list?, mlp_layer_types list? each of dense sparse
without moe_layer_interval, moe_layer_start_index, moe_layer_end_index
widths  = given(.moe_intermediate_size) ? .moe_intermediate_size : [1536, 512]
sparse  = given(.mlp_layer_types) ? .mlp_layer_types[i] == "sparse" : i > 0
inner   = widths[0]
pixels  = widths[1]
top     = .num_experts_per_tok // .moe_k
feed:
  experts of experts, top top, inner inner, shared shared, visits measured("text_visits"),
          bias 2*experts + (.use_bias and shared > 0 ? 2*shared + h : 0)  if sparse
  # A token asks one router: the other's product is in the first's count.
  linear in h, out experts, applied 0, stored 1, as moe.router image_gate, router, split replicated  if sparse
  linear in h, out pixels, applied 3, stored 3*experts, as moe.experts image_experts, units measured("image_visits"),
         split experts experts, inner pixels  if sparse
  gated inner f, bias .use_bias * (2*f + h)  if not sparse
class ForConditionalGeneration: head out v, words
class TextModel:
require size(widths) == 2: .moe_intermediate_size must be two widths: of experts of text, of experts of images
require top <= experts: .moe_k must be at most moe_num_experts ({experts})
note yes: experts of text and of images are counted by the visits of each, summed over layers: add_measured("text_visits", …), add_measured("image_visits", …)
)page";

}  // namespace floptally::models
