// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <floptally/detail/checked.hpp>
#include <floptally/detail/cuda/refusals.hpp>
#include <floptally/detail/cuda/word_schema.hpp>
#include <floptally/detail/tally_words.hpp>
#include <floptally/flop_counter.hpp>
#include <floptally/host_device.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/statistic.hpp>

namespace floptally::detail {

/// A folded cost for a device: what each word of each view is worth.
struct dot_coefficients {
    std::uint64_t of_view[3][word_schema::most]{};
    std::uint32_t stride = 0;
    bool needs_routed = false;

    dot_coefficients() = default;
    explicit dot_coefficients(const flop_counter& model) : needs_routed(model.needs_routed()) {
        if (model.needs_measured_words()) {
            throw error("measured", "FLOPs of named words are evaluated on the host: read the tally");
        }
        word_schema::require_few(model.masks());
        for (const view seen : {view::useful, view::padded, view::executed}) {
            const std::span<const std::uint64_t> values = model.coefficients(seen);
            stride = static_cast<std::uint32_t>(values.size());
            for (std::size_t word = 0; word < values.size(); ++word) {
                of_view[static_cast<std::size_t>(seen)][word] = values[word];
            }
        }
    }
};

/// FLOPs as words that add up over ranks by an ordinary SUM: each view in four words of 32 bits, which 2^32 ranks do
/// not fill, and what was wrong, as numbers that add up too.
struct flops_words {
    static constexpr std::uint32_t limbs = 4;
    static constexpr std::uint32_t left_out = 3 * limbs;
    static constexpr std::uint32_t overflowed = left_out + 1;
    static constexpr std::uint32_t unrouted = overflowed + 1;
    static constexpr std::uint32_t count = unrouted + 1;
};

/// The body of the kernel that evaluates a tally, by one block: a thread for each view.
template <class Block>
FLOPTALLY_HOST_DEVICE void evaluate_on_device(const Block& block, const std::uint64_t* words,
                                              const refusal_record& record, const dot_coefficients& model,
                                              std::uint64_t* to) {
    constexpr std::uint32_t tokens = tally_words::index_of(modality::text, statistic::tokens);
    constexpr std::uint32_t routed = tally_words::index_of(modality::text, statistic::routed);
    for (std::uint32_t seen = block.thread(); seen < 3; seen += block.threads()) {
        const std::uint64_t* const values = words + (seen == 0 ? 0 : model.stride);
        uint128 sum = 0;
        for (std::uint32_t word = 0; word < model.stride; ++word) {
            sum += uint128{values[word]} * model.of_view[seen][word];
        }
        for (std::uint32_t limb = 0; limb < flops_words::limbs; ++limb) {
            to[seen * flops_words::limbs + limb] = static_cast<std::uint32_t>(sum >> (32U * limb));
        }
    }
    if (block.thread() == 0) {
        const std::uint64_t* const padded = words + model.stride;
        const bool lacks_visits =
            (words[tokens] != 0 && words[routed] == 0) || (padded[tokens] != 0 && padded[routed] == 0);
        to[flops_words::left_out] = record.left_out;
        to[flops_words::overflowed] = (record.overflowed[0] | record.overflowed[1]) != 0 ? 1 : 0;
        to[flops_words::unrouted] = model.needs_routed && lacks_visits ? 1 : 0;
    }
}

}  // namespace floptally::detail
