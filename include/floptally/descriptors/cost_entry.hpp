// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/descriptors/sharding.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/text/error.hpp>

/// @file
/// `cost_entry`: one entry of a cost; and the descriptions that entries are made from: `linear`, `attention_core`,
/// `dataflow`.

namespace floptally::inline v0_3 {

/// The values (tensors) inside one part of a layer that its entries read and write. They decide only which gradients a
/// backward needs (`training_plan::weights`).
namespace value {

/// A set of values (tensors), one bit for each.
using set = std::uint16_t;
inline constexpr set stream = 1;   ///< the input of the layer's part: the hidden states
inline constexpr set context = 2;  ///< the output of an encoder, or a second stream of hidden states
/// An embedding of a whole sample, such as that of the timestep. If no entry writes it, `context` is used instead.
inline constexpr set time = 4;
/// The values that later parts of a model read too.
inline constexpr set carried = stream | context | time;
/// Returns the bit of intermediate value n (0 to 12) inside a part. Number the values as you like. The sum of a part's
/// result and the residual needs no number.
[[nodiscard]] constexpr set local(unsigned n) {
    if (n > 12) {
        detail::refuse("value", {"must be from 0 to 12, since a part has at most 13 intermediate values, got ", n});
    }
    return static_cast<set>(8U << n);
}

}  // namespace value

/// The values that an entry reads and writes. If no value is set, the entry is assumed to read every value of its part.
/// So no gradient is missed.
struct dataflow {
    value::set reads = 0;
    value::set also_reads = 0;  ///< the second operand of a product of two activations
    value::set fused_with = 0;  ///< for QKᵀ: the values (V) of the attention, if one fused kernel computes QKᵀ and PV
    value::set writes = 0;

    [[nodiscard]] friend constexpr bool operator==(const dataflow&, const dataflow&) = default;
};

/// The cost of a LoRA adapter of rank 1 for an entry: matrices A [rank, in] and B [out, rank] for each applied matrix.
/// All members are 0 if LoRA cannot adapt the entry, as for a convolution.
struct adapter {
    std::uint64_t in = 0;          ///< forward FLOPs of the LoRA matrix A per token, patch, frame, …
    std::uint64_t out = 0;         ///< forward FLOPs of the LoRA matrix B per token, patch, frame, …
    std::uint64_t padded_out = 0;  ///< as `out`, but in padded slots; larger for a padded vocabulary
    std::uint64_t parameters = 0;  ///< number of weights of A and B

    /// Returns false if LoRA cannot adapt the entry. A rank's shard of a narrow adapter may have only one of A and B.
    [[nodiscard]] constexpr bool exists() const { return in != 0 || out != 0; }
    [[nodiscard]] friend constexpr bool operator==(const adapter&, const adapter&) = default;
};

/// One entry of a cost: the FLOPs of a forward pass for each token, pair, … that an accumulator counts.
struct cost_entry {
    std::uint32_t component = 0;  ///< index into `cost::components()`
    std::uint32_t mask = 0;       ///< index into `cost::masks()`, for accumulators `pairs` and `routed`
    accumulator what = accumulator::tokens;
    term kind = term::linear;
    modality in = modality::text;
    std::uint64_t useful = 0;  ///< forward FLOPs per real token, pair, … that `what` counts
    std::uint64_t padded = 0;  ///< forward FLOPs per token, pair, … of the padded slots; larger than `useful` for a
                               ///< padded vocabulary
    std::uint64_t parameters = 0;  ///< number of stored weights, including experts that a token does not visit
    std::uint32_t weight = 0;      ///< index into `cost::weights()` + 1; 0: the weight has no name
    /// Number of channel groups of a convolution. For a delta rule with a decay for each channel: the width of a head.
    std::uint32_t groups = 1;
    dataflow flow{};
    adapter per_rank{};
    tensor_sharding sharding{};  ///< how tensor and expert parallelism shard the entry

    /// Returns this entry without its stored weights, because another entry counts them.
    [[nodiscard]] constexpr cost_entry with_shared_weights() const {
        cost_entry entry = *this;
        entry.parameters = entry.per_rank.parameters = 0;
        return entry;
    }
    /// Returns this entry without a backward pass, for a result that does not reach the loss.
    [[nodiscard]] constexpr cost_entry detached() const {
        cost_entry entry = *this;
        entry.kind = meaning_of(entry.kind).when_detached;
        return entry;
    }

    [[nodiscard]] friend constexpr bool operator==(const cost_entry&, const cost_entry&) = default;
};

/// A weight matrix [out_features, in_features] that is applied to every token (or to what another accumulator counts):
/// 2·in·out FLOPs each. Additions of biases count no FLOPs. Entries of kind `term::bias` have only the number of
/// biases.
struct linear {
    std::uint64_t in_features = 0;
    std::uint64_t out_features = 0;
    std::uint64_t applied = 1;              ///< number of equal matrices that each token passes through
    std::uint64_t stored = 0;               ///< number of stored matrices (all experts); 0: as many as are applied
    std::uint64_t padded_out_features = 0;  ///< out_features after padding, for padded slots; 0: not padded
    accumulator rows = accumulator::tokens;
    term kind = term::linear;
    bool shared = false;        ///< true: another entry has the same weights and counts them
    std::string_view weight{};  ///< name within the component, as in LoRA's target modules: "q_proj"
    value::set reads = 0;
    value::set writes = 0;
    bool adaptable = true;     ///< true: LoRA can adapt the matrix; false for convolutions and block-diagonal matrices
    std::uint32_t groups = 1;  ///< groups of a convolution; `in_features` are those of one group
    /// The sharding of the matrix over tensor-parallel ranks. If `sharding.units` is 0, the columns or the rows of the
    /// matrix are divided among the ranks.
    tensor_sharding sharding{};
};

/// The attention core of `num_heads` query heads: QKᵀ over `qk_head_dim`, PV over `v_head_dim`. With GQA, query heads
/// share keys and values. This does not change the FLOPs.
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
