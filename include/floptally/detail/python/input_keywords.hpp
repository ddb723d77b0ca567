// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <floptally/error.hpp>

/// @file
/// The keywords that say what a batch is: one list for the signatures and the help of all that take them.

namespace floptally::detail::python {

/// A keyword of what counts a batch.
struct input_keyword {
    const char* name;
    const char* meaning;
};

inline constexpr input_keyword input_keywords[] = {
    {"lengths", "[n] tokens of each sequence; of an encoder-decoder, of its decoder."},
    {"row_length", "with `lengths`: tokens that each row of a BSHD batch is padded to."},
    {"encoder_lengths", "[n] tokens on the encoder's side of each of `lengths`."},
    {"cu_seqlens", "[n + 1] boundaries of a packed row: 0, L1, L1 + L2, ..."},
    {"cu_seqlens_padded", "[n + 1] boundaries of the slots that kernels process."},
    {"cu_seqlens_real",
     "[m + 1] boundaries of the real sequences alone, where `cu_seqlens` has mock sequences after them."},
    {"num_real_seqs", "sequences after these are mock sequences: padded, not useful."},
    {"attention_mask", "[batch, tokens] of 0 and 1: ones are useful, the shape is padded."},
    {"new_tokens", "(n, past) of each sequence: n new tokens after past cached ones."},
    {"sequences", "(contextual, history, targets[, group]) of each sequence of an HSTU model."},
    {"grid_thw", "[n, 3] frames, rows and columns of patches, before merging, of each image or clip."},
    {"images", "how many images of the fixed size that the config states."},
    {"audio_frames", "[n] frames of each clip that enters an audio tower."},
    {"routed", "(useful, padded) visits of tokens to experts over all layers, as measured."},
    {"measured", "{name: useful} or {name: (useful, padded)} of the words Mask.measured(name) that the cost has."},
    {"tally", "a batch that was counted before."}};

/// "lengths=None, row_length=None, …" for a signature.
[[nodiscard]] inline std::string input_signature() {
    std::string text;
    for (const input_keyword& one : input_keywords) {
        append_item(text, std::string(one.name) + "=None");
    }
    return text;
}

/// A line for each, for the help of a function.
[[nodiscard]] inline std::string input_help() {
    std::string text;
    for (const input_keyword& one : input_keywords) {
        text.append("    ").append(one.name).append(": ").append(one.meaning).append("\n");
    }
    return text;
}

}  // namespace floptally::detail::python
