// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <floptally/checked.hpp>
#include <floptally/detail/cuda/refusals.hpp>
#include <floptally/detail/tally_words.hpp>
#include <floptally/detail/word_table.hpp>
#include <floptally/error.hpp>
#include <floptally/flops.hpp>
#include <floptally/folded_cost.hpp>
#include <floptally/host_device.hpp>
#include <floptally/statistic.hpp>
#include <floptally/tower.hpp>

namespace floptally {

/// All FLOPs of a batch.
struct flops_by_view {
    flops useful{};
    flops padded{};
    flops executed{};

    [[nodiscard]] friend constexpr bool operator==(const flops_by_view&, const flops_by_view&) = default;
};

namespace detail {

/// A folded cost for a device: what each word of each view is worth.
struct dot_coefficients {
    std::uint64_t of_view[3][tally_words::most]{};
    std::uint32_t stride = 0;
    bool needs_routed = false;

    dot_coefficients() = default;
    explicit dot_coefficients(const folded_cost& model) : needs_routed(model.needs_routed()) {
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
    constexpr std::uint32_t tokens = tally_words::index_of(tower::text, statistic::tokens);
    constexpr std::uint32_t routed = tally_words::index_of(tower::text, statistic::routed);
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

}  // namespace detail

/// The FLOPs that a `device_flops` has, of one rank or as a SUM over ranks; or the error that its kernel could not
/// throw.
[[nodiscard]] inline flops_by_view flops_of_device(std::span<const std::uint64_t> words) {
    using layout = detail::flops_words;
    if (words.size() != layout::count) {
        throw error("words", "must be " + std::to_string(layout::count) + " of a device_flops, got " +
                                 std::to_string(words.size()));
    }
    if (words[layout::overflowed] != 0) {
        throw overflow("device", "a sum of the tally does not fit 64 bits: read the tally, whose error says which");
    }
    if (words[layout::left_out] != 0) {
        throw error("device", std::to_string(words[layout::left_out]) +
                                  " sequences were left out: read the tally, whose error says why");
    }
    if (words[layout::unrouted] != 0) {
        detail::word_table::refuse_unrouted();
    }
    const auto of = [&words](view seen) {
        flops sum;
        for (std::uint32_t limb = layout::limbs; limb-- > 0;) {
            const std::uint64_t word = words[static_cast<std::size_t>(seen) * layout::limbs + limb];
            const uint128 shifted = uint128{word} << (32U * limb);
            if (shifted >> (32U * limb) != word) {
                throw overflow("flops", "the sum over ranks does not fit 128 bits");
            }
            sum += flops{shifted};
        }
        return sum;
    };
    return {of(view::useful), of(view::padded), of(view::executed)};
}

}  // namespace floptally
