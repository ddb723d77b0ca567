// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/batch/tally.hpp>
#include <floptally/batch/tally_accumulators.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/text/error.hpp>

namespace floptally::inline v0_3::detail {

/// The measured accumulators that a cost needs in a tally: visits of experts, or named accumulators.
struct measured_needs {
    bool routed = false;
    bool accumulators = false;
    /// The number of masks whose pairs the cost counts. They are the first masks of the cost. The masks after them are
    /// there only because of `cost::keep`.
    std::size_t counted = ~std::size_t{0};
};

/// The accumulators of a tally in the order of a cost's masks. If the tally has the same masks, the table points to the
/// tally's accumulators, otherwise it copies them. The copy allocates memory only for more masks than usual models
/// have.
class accumulator_table {
  public:
    constexpr accumulator_table(const mask_set& masks, const measured_needs& needs, const tally& batch) {
        if (needs.routed) {
            require_routed(batch);
        }
        if (needs.accumulators) {
            require_measured(masks, needs, batch);
        }
        if (masks == batch.masks()) {
            useful = batch.data();
            padded = useful + tally_accumulators::stride_of(masks);
            return;
        }
        map(masks, needs, batch);
    }

    [[noreturn]] static void refuse_unrouted() {
        throw error("routed",
                    "this cost counts experts by measured visits, and the tally has none: call "
                    "add_routed with the visits of the batch");
    }

    [[noreturn]] static void refuse_unmeasured(const statistic& measured) {
        throw error(measured.name(), "the cost needs this amount, but the tally lacks it: pass it to add_measured");
    }

    const std::uint64_t* useful = nullptr;
    const std::uint64_t* padded = nullptr;

  private:
    /// Copies the tally's accumulators into the order of the cost's masks. Not inlined, because most tallies need no
    /// copy.
    [[gnu::noinline]] constexpr void map(const mask_set& masks, const measured_needs& needs, const tally& batch) {
        const std::size_t first = tally_accumulators::before_masks(masks);
        const std::size_t stride = tally_accumulators::stride_of(masks);
        std::uint64_t* const mapped = 2 * stride <= few ? few_ : many_.resized(2 * stride);
        for (const view seen : {view::useful, view::padded}) {
            std::uint64_t* const target = mapped + (seen == view::useful ? 0 : stride);
            for (std::size_t place = 0; place < first; ++place) {
                target[place] = batch.get(seen, static_cast<accumulator>(place % tally_accumulators::fixed),
                                          static_cast<modality>(place / tally_accumulators::fixed));
            }
            for (std::size_t i = 0; i < masks.size(); ++i) {
                target[first + i] = i < needs.counted ? batch.pairs(seen, masks[i]) : 0;
            }
        }
        useful = mapped;
        padded = mapped + stride;
    }

    /// Throws `error` if a tally has tokens but no visits of experts. Otherwise the experts' FLOPs would be missing.
    static constexpr void require_routed(const tally& batch) {
        for (const view seen : {view::useful, view::padded}) {
            if (batch.get(seen, accumulator::tokens) != 0 && batch.get(seen, accumulator::routed) == 0) {
                refuse_unrouted();
            }
        }
    }

    /// Throws `error` if a tally has tokens, patches or frames of a modality but lacks a measured accumulator of this
    /// modality.
    static constexpr void require_measured(const mask_set& masks, const measured_needs& needs, const tally& batch) {
        for (std::size_t i = 0; i < needs.counted; ++i) {
            const statistic& measured = masks[i];
            for (const view seen : {view::useful, view::padded}) {
                if (measured.is_measured() && batch.get(seen, accumulator::tokens, measured.in()) != 0 &&
                    batch.pairs(seen, measured) == 0 && !batch.has_measured(measured)) {
                    refuse_unmeasured(measured);
                }
            }
        }
    }

    static constexpr std::size_t few = 128;

    std::uint64_t few_[few];
    list<std::uint64_t> many_;
};

}  // namespace floptally::detail
