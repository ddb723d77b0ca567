// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/batch/tally.hpp>
#include <floptally/batch/tally_words.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/text/error.hpp>

namespace floptally::detail {

/// The measured counts that a cost multiplies: visits of experts, words of other names.
struct measured_needs {
    bool routed = false;
    bool words = false;
    std::size_t counted = ~std::size_t{0};  ///< so many masks are multiplied; those after them are only kept
};

/// The words of a batch in the order of a cost: the tally's own where it was built with the same masks, else a copy. A
/// copy allocates memory only where there are more masks than models have.
class word_table {
  public:
    constexpr word_table(const mask_set& masks, const measured_needs& needs, const tally& batch) {
        if (needs.routed) {
            require_routed(batch);
        }
        if (needs.words) {
            require_measured(masks, needs, batch);
        }
        if (masks == batch.masks()) {
            useful = batch.data();
            padded = useful + tally_words::stride_of(masks);
            return;
        }
        map(masks, needs, batch);
    }

    [[noreturn]] static void refuse_unrouted() {
        throw error("routed",
                    "this cost counts experts by measured visits, and the tally has none: call "
                    "add_routed");
    }

    [[noreturn]] static void refuse_unmeasured(const rule& word) {
        throw error(word.name(), "this cost counts it, and the tally has none: call add_measured");
    }

    const std::uint64_t* useful = nullptr;
    const std::uint64_t* padded = nullptr;

  private:
    /// Copies the words into the order of the cost; a function of its own, since most tallies need no copy.
    [[gnu::noinline]] constexpr void map(const mask_set& masks, const measured_needs& needs, const tally& batch) {
        const std::size_t first = tally_words::before_masks(masks);
        const std::size_t stride = tally_words::stride_of(masks);
        std::uint64_t* const mapped = 2 * stride <= few ? few_ : many_.resized(2 * stride);
        for (const view seen : {view::useful, view::padded}) {
            std::uint64_t* const to = mapped + (seen == view::useful ? 0 : stride);
            for (std::size_t word = 0; word < first; ++word) {
                to[word] = batch.get(seen, static_cast<statistic>(word % tally_words::fixed),
                                     static_cast<modality>(word / tally_words::fixed));
            }
            for (std::size_t i = 0; i < masks.size(); ++i) {
                to[first + i] = i < needs.counted ? batch.pairs(seen, masks[i]) : 0;
            }
        }
        useful = mapped;
        padded = mapped + stride;
    }

    /// Throws where tokens were counted and their experts were not: FLOPs would silently miss the experts.
    static constexpr void require_routed(const tally& batch) {
        for (const view seen : {view::useful, view::padded}) {
            if (batch.get(seen, statistic::tokens) != 0 && batch.get(seen, statistic::routed) == 0) {
                refuse_unrouted();
            }
        }
    }

    /// Throws where the tokens, patches or frames of a modality were counted and a measured word of it was not.
    static constexpr void require_measured(const mask_set& masks, const measured_needs& needs, const tally& batch) {
        for (std::size_t i = 0; i < needs.counted; ++i) {
            const rule& word = masks[i];
            for (const view seen : {view::useful, view::padded}) {
                if (word.is_measured() && batch.get(seen, statistic::tokens, word.in()) != 0 &&
                    batch.pairs(seen, word) == 0) {
                    refuse_unmeasured(word);
                }
            }
        }
    }

    static constexpr std::size_t few = 128;

    std::uint64_t few_[few];
    list<std::uint64_t> many_;
};

}  // namespace floptally::detail
