// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char mamba[] = R"page(
page mamba : base.decoder prefix Mamba
with vocab_size 50280, hidden_size 768, num_hidden_layers 32, num_attention_heads 1, tie_word_embeddings yes
with expand 2, intermediate_size number?, state_size 16, conv_kernel 4, time_step_rank number or text absent
with use_bias no, use_conv_bias yes
with layer_types null, layers_block_type null, layers_num_experts null
inner  = .intermediate_size ?? .expand * h
s      = .state_size
dt     = is_number(.time_step_rank) ? .time_step_rank : ceil(h, 16)
norms  = h
# A for each number of the state; D and the bias of dt for each channel.
mixer:
  mamba inner inner, state s, dt dt, kernel .conv_kernel,
        bias inner * (s + 2) + .use_conv_bias * inner + .use_bias * (2*inner + h)
feed:
require not is_text(.time_step_rank) or .time_step_rank == "auto": .time_step_rank must be an integer or "auto"
classes ForCausalLM Model
)page";

}  // namespace floptally::models
