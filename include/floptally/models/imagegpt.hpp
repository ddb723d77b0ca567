// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char imagegpt[] = R"page(
page imagegpt : gpt2 prefix ImageGPT
with vocab_size 513, n_embd 512, n_layer 24, n_head 8, tie_word_embeddings no
without summary_type, summary_use_proj, summary_proj_to_labels
norms  = 2*h
final_norm = h
# A token is one of 512 colours; the last of the vocabulary begins an image and is never predicted.
class ForCausalImageModeling: head out v - 1
class Model:
class ForImageClassification: head out labels, per_sequence
require not .tie_word_embeddings: .tie_word_embeddings is not supported; must be false: the head has one row less
)page";

}  // namespace floptally::models
