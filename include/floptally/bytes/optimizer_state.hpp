// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/integer/checked.hpp>

/// @file
/// The state that an optimizer stores for each weight beside it, and the bytes that a step of it moves.

namespace floptally {

/// Numbers that an optimizer stores for each element of a weight.
struct optimizer_state {
    const char* name = "adamw";
    std::uint64_t master_bits = 32;    ///< of a copy of the weight; 0: it steps the weight itself
    std::uint64_t moments = 2;         ///< of a weight
    std::uint64_t matrix_moments = 2;  ///< of a weight matrix that is neither a table nor the lm_head
    std::uint64_t moment_bits = 32;
    std::uint64_t block = 0;            ///< elements of a moment that share a scale of 32 bits; 0: no scales
    std::uint64_t least_in_blocks = 0;  ///< a smaller tensor keeps moments of 32 bits

    /// Bits of the moments of a tensor.
    [[nodiscard]] constexpr std::uint64_t moment_bits_of(std::uint64_t elements, bool is_matrix) const {
        const bool in_blocks = block != 0 && elements >= least_in_blocks;
        const std::uint64_t bits = block != 0 && !in_blocks ? 32 : moment_bits;
        const std::uint64_t scales = in_blocks ? elements / block + (elements % block != 0 ? 1 : 0) : 0;
        return (is_matrix ? matrix_moments : moments) * (checked(elements, "optimizer") * bits + 32 * scales);
    }
    /// Bits of all that is stored of a tensor beside it.
    [[nodiscard]] constexpr std::uint64_t bits_of(std::uint64_t elements, bool is_matrix) const {
        return checked(elements, "optimizer") * master_bits + moment_bits_of(elements, is_matrix);
    }
    /// Bits that a step reads and writes: the gradient once, what is stored once each way, and the weight, written from
    /// its copy or each way.
    [[nodiscard]] constexpr std::uint64_t moved_bits(std::uint64_t elements, bool is_matrix, std::uint64_t weight_bits,
                                                     std::uint64_t gradient_bits) const {
        const std::uint64_t of_weight = (master_bits == 0 ? 2 : 1) * weight_bits;
        return checked(elements, "optimizer") * (gradient_bits + of_weight) +
               2 * checked(bits_of(elements, is_matrix), "optimizer");
    }
};

/// Optimizers by name.
namespace optimizer_states {

/// AdamW with a 32-bit copy of the weights (arXiv:1910.02054, section 3.1: 4 + 4 + 4 bytes).
inline constexpr optimizer_state adamw{};
/// AdamW that steps 32-bit weights themselves, as PyTorch's does.
inline constexpr optimizer_state adamw_without_master{.name = "adamw_without_master", .master_bits = 0};
/// AdamW with moments of 8 bits in blocks of 256, as bitsandbytes keeps them (arXiv:2110.02861; a tensor of fewer than
/// 4096 elements keeps 32 bits). It steps the weights themselves.
inline constexpr optimizer_state adamw_8bit{
    .name = "adamw_8bit", .master_bits = 0, .moment_bits = 8, .block = 256, .least_in_blocks = 4096};
/// Muon (K. Jordan, 2024): one moment of a matrix, AdamW's two of the rest.
inline constexpr optimizer_state muon{.name = "muon", .matrix_moments = 1};
/// Gradient descent, without and with momentum.
inline constexpr optimizer_state sgd{.name = "sgd", .master_bits = 0, .moments = 0, .matrix_moments = 0};
inline constexpr optimizer_state sgd_momentum{
    .name = "sgd_momentum", .master_bits = 0, .moments = 1, .matrix_moments = 1};

/// All of them.
inline constexpr optimizer_state all[] = {adamw, adamw_without_master, adamw_8bit, muon, sgd, sgd_momentum};

}  // namespace optimizer_states

}  // namespace floptally
