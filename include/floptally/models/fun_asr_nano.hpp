// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char fun_asr_nano[] = R"page(
page fun_asr_nano : base.composite prefix FunAsrNano
with tie_word_embeddings yes
with adaptor_config.hidden_size 1024, adaptor_config.num_attention_heads 8, adaptor_config.intermediate_size 256
with adaptor_config.num_hidden_layers 2, adaptor_config.projector_hidden_size 2048
inner text .text_config: fun_asr_nano.text, absent fun_asr_nano.text, older qwen3
inner audio .audio_config: fun_asr_nano_encoder
wide   = .adaptor_config.projector_hidden_size
h      = .adaptor_config.hidden_size
f      = .adaptor_config.intermediate_size
heads  = .adaptor_config.num_attention_heads
deep   = .adaptor_config.num_hidden_layers
all    = frames(1, 1)
squares = frame_squares(1, 1)
audio_units = all
# Two linears, and layers of their own before the text.
audio_projector:
  linear in audio.h, out wide, as projector linear_1, from x, to a, bias wide, over all, attends squares, split columns
  linear in wide, out h, as projector linear_2, from a, to b, bias h, over all, attends squares, split rows
  linear in h, out h, as adaptor q_proj, from b, to q, times deep, over all, attends squares, split heads heads
  linear in h, out h, as adaptor k_proj, from b, to k, times deep, over all, attends squares, split kv_heads heads
  linear in h, out h, as adaptor v_proj, from b, to v, times deep, over all, attends squares, split kv_heads heads
  core heads heads, dim h / heads, as adaptor, from q k v, to out, sees squares, times deep
  linear in h, out h, as adaptor o_proj, from out, times deep, over all, attends squares, split heads heads
  linear in h, out f, as adaptor fc1, from b, to up, times deep, over all, attends squares, split columns
  linear in f, out h, as adaptor fc2, from up, times deep, over all, attends squares, split rows
  norm count deep * 4*h
  bias count deep * (5*h + f)
require h == text.h: .adaptor_config.hidden_size must be that of the text ({text.h})
require f == text.h / 4: .adaptor_config.intermediate_size must be a quarter of the text's hidden_size ({text.h})

page fun_asr_nano.text : qwen3
with hidden_size 1024, intermediate_size 3072, num_hidden_layers 28, num_attention_heads 16, num_key_value_heads 8?
)page";

}  // namespace floptally::models
