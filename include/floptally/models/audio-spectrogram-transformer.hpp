// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char audio_spectrogram_transformer[] = R"page(
page audio-spectrogram-transformer : base.tower prefix AST
with hidden_size 768, intermediate_size 3072, num_hidden_layers 12, num_attention_heads 12, qkv_bias yes
with patch_size 16, num_mel_bins 128, max_length 1024, frequency_stride 10, time_stride 10, architectures list?
bias   = .qkv_bias * 3*h + h
class_tokens = 2                                  # and one for distillation
# A spectrogram is an image of the vision tower; its patches overlap.
rows   = (.num_mel_bins - .patch_size) / .frequency_stride + 1
columns = (.max_length - .patch_size) / .time_stride + 1
bare   = size(.architectures) > 0 and .architectures[0] == "ASTModel"
stem:
  patches channels 1, side .patch_size, bias h
  positions count (rows * columns + 4) * h
once: norm count 2*h  if not bare                 # before the classifier
class ForAudioClassification: head out labels, bias, per_sequence
class Model:
require .num_mel_bins >= .patch_size: .num_mel_bins must be at least patch_size ({.patch_size})
require .max_length >= .patch_size: .max_length must be at least patch_size ({.patch_size})
)page";

}  // namespace floptally::models
