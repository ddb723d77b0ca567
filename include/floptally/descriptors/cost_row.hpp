// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/descriptors/dealing.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/text/error.hpp>

/// @file
/// A row of a cost, and the descriptions that it is made from: `linear`, `attention_core`, `dataflow`.

namespace floptally {

/// Values inside one part of a layer, which its rows read and make. They decide where a backward pass
/// stops (`training_plan::weights`) and change nothing else.
namespace value {

/// A set of values, a bit for each.
using set = std::uint16_t;
inline constexpr set stream = 1;   ///< what enters the part: the hidden states before it
inline constexpr set context = 2;  ///< the output of the other side of an encoder-decoder, or a second stream
inline constexpr set time = 4;     ///< what is known of a sample as a whole; the context where no row makes it
/// The values that stay when a part is over: layers read them after what makes them.
inline constexpr set carried = stream | context | time;
/// The n-th value that the part makes, 0 to 12, in any order. A residual sum of the part's result needs none.
[[nodiscard]] constexpr set made(unsigned n) {
    if (n > 12) {
        detail::refuse("value", {"must be from 0 to 12, the 13 values that a part makes, got ", n});
    }
    return static_cast<set>(8U << n);
}

}  // namespace value

/// The values that a row reads and makes. A row that names none is taken to read all that its part has, so that its
/// gradients are never missed.
struct dataflow {
    value::set reads = 0;
    value::set also_reads = 0;  ///< the second operand, where both are activations
    value::set fused_with = 0;  ///< what a fused kernel multiplies in the same pass: of scores, the values
    value::set writes = 0;

    [[nodiscard]] friend constexpr bool operator==(const dataflow&, const dataflow&) = default;
};

/// The addition of one unit of LoRA's rank to a row: a matrix A [rank, in] and a matrix B [out, rank] beside each
/// matrix that is applied. All zero: no adapter fits, as beside a convolution.
struct adapter {
    std::uint64_t in = 0;          ///< forward FLOPs of A per unit
    std::uint64_t out = 0;         ///< of B
    std::uint64_t padded_out = 0;  ///< of B, as wide as the padded weight
    std::uint64_t parameters = 0;  ///< of both

    [[nodiscard]] friend constexpr bool operator==(const adapter&, const adapter&) = default;
};

/// One row: FLOPs of a forward pass per unit of a statistic.
struct cost_row {
    std::uint32_t component = 0;  ///< index into `cost::components()`
    std::uint32_t mask = 0;       ///< index into `cost::masks()`, for `statistic::pairs`
    statistic what = statistic::tokens;
    term kind = term::linear;
    modality in = modality::text;
    std::uint64_t useful = 0;      ///< FLOPs per unit of real tokens or pairs
    std::uint64_t padded = 0;      ///< FLOPs per unit of padded slots: a padded vocabulary is wider
    std::uint64_t parameters = 0;  ///< weights stored: all experts, not only those a token visits
    std::uint32_t weight = 0;      ///< 0: without a name; else one more than an index into `cost::weights()`
    std::uint32_t groups = 1;      ///< of the channels of a convolution, each multiplied with its own group alone
    dataflow flow{};
    adapter per_rank{};
    dealing dealt{};  ///< to the ranks of tensor and expert parallelism

    /// This row with the weights of another, which counts them.
    [[nodiscard]] constexpr cost_row with_shared_weights() const {
        cost_row row = *this;
        row.parameters = row.per_rank.parameters = 0;
        return row;
    }
    /// This row where its result does not reach the loss.
    [[nodiscard]] constexpr cost_row detached() const {
        cost_row row = *this;
        row.kind = meaning_of(row.kind).when_detached;
        return row;
    }

    [[nodiscard]] friend constexpr bool operator==(const cost_row&, const cost_row&) = default;
};

/// A weight matrix [out_features, in_features] applied to every unit of a statistic: 2·in·out FLOPs each.
/// Biases are additions, not products: by definition they are not counted (`term::bias` keeps their number only).
struct linear {
    std::uint64_t in_features = 0;
    std::uint64_t out_features = 0;
    std::uint64_t applied = 1;              ///< how many such matrices a unit passes through
    std::uint64_t stored = 0;               ///< how many exist; 0: as many as are applied (experts: all of them)
    std::uint64_t padded_out_features = 0;  ///< 0: not padded
    statistic rows = statistic::tokens;
    term kind = term::linear;
    bool shared = false;        ///< the weights are another row's, which counts the parameters
    std::string_view weight{};  ///< its name in its component, as users of adapters write it: "q_proj"
    value::set reads = 0;
    value::set writes = 0;
    bool adaptable = true;     ///< LoRA can stand beside it: a plain matrix, neither a convolution nor blocks
    std::uint32_t groups = 1;  ///< of a convolution, whose `in_features` are those of one group
    dealing dealt{};           ///< how tensor parallelism splits it; its columns and rows need no number
};

/// The attention core of `num_heads` query heads: QKᵀ over `qk_head_dim`, PV over `v_head_dim`.
/// GQA repeats keys and values, so only query heads count.
struct attention_core {
    std::uint64_t num_heads = 0;
    std::uint64_t qk_head_dim = 0;
    std::uint64_t v_head_dim = 0;
    value::set q = 0;
    value::set k = 0;
    value::set v = 0;
    value::set writes = 0;
};

}  // namespace floptally
