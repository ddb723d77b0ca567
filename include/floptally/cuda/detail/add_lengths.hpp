// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/cuda/detail/block.hpp>
#include <floptally/cuda/detail/block_sum.hpp>
#include <floptally/cuda/detail/length_lists.hpp>
#include <floptally/cuda/detail/refusals.hpp>
#include <floptally/cuda/detail/word_schema.hpp>
#include <floptally/cuda/device_tally_ref.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/statistic.hpp>

/// @file
/// The body of the kernel that adds lengths: one pass over them, whatever the number of masks.
///
/// A thread takes eight lengths at a time. Where all eight are plain, count, ΣL and ΣL² are in registers and Σ pairs of
/// each mask in a column of shared memory (block_sum.hpp), since an array that is indexed in a loop would lie in local
/// memory; nothing there can wrap within a round, so that nothing is compared. The rest, long lengths and what must be
/// refused, is read again one by one and added to the tally at once: it is rare.

namespace floptally::detail {

/// Groups of eight lengths that a thread takes before the block adds up. A group has eight squares below 2^48, and at
/// most 2^52 from `capped_rows` over both sides of a window: sums of so many groups stay below 2^62.
inline constexpr std::size_t groups_per_round = 1024;

/// The sums of one thread over one view in a round.
struct thread_sums {
    std::uint32_t count = 0;
    std::uint64_t tokens = 0;
    std::uint64_t squares = 0;

    FLOPTALLY_HOST_DEVICE void add(const std::uint32_t (&lengths)[group_size]) {
        std::uint32_t more = 0;
        std::uint32_t zeros = 0;
        FLOPTALLY_UNROLLED
        for (std::size_t k = 0; k < group_size; ++k) {
            zeros += (lengths[k] - 1) >> 31U;  // below 2^31, so that only 0 becomes negative
            more += lengths[k];
            squares += std::uint64_t{lengths[k]} * lengths[k];
        }
        tokens += more;
        count += static_cast<std::uint32_t>(group_size) - zeros;
    }
    /// Adds these sums to the columns of this thread and sets them to 0.
    template <class Block>
    FLOPTALLY_HOST_DEVICE void move_to(const block_columns<Block>& sums, std::uint32_t seen) {
        sums.own(seen, static_cast<std::uint32_t>(statistic::count)) += count;
        sums.own(seen, static_cast<std::uint32_t>(statistic::tokens)) += tokens;
        sums.own(seen, static_cast<std::uint32_t>(statistic::squares)) += squares;
        *this = {};
    }
};

/// A side of a window in which row i < L sees min(i, r − 1) keys has (n² − (2r − 1)n)/2 + (r − 1)L pairs, where n is
/// min(L, r). Adds twice that without the last term, a number that is not positive, to `sum` modulo 2^64.
[[nodiscard]] inline FLOPTALLY_HOST_DEVICE std::uint64_t capped_rows(const std::uint32_t (&lengths)[group_size],
                                                                     std::uint32_t rows, std::uint64_t sum) {
    std::uint32_t capped = 0;
    FLOPTALLY_UNROLLED
    for (std::size_t k = 0; k < group_size; ++k) {
        const std::uint32_t n = lengths[k] < rows ? lengths[k] : rows;
        capped += n;
        sum += std::uint64_t{n} * n;
    }
    const auto factor = 1 - 2 * static_cast<std::int32_t>(rows);
    return sum + static_cast<std::uint64_t>(std::int64_t{factor} * static_cast<std::int32_t>(capped));
}
/// The pairs of a window: from twice the sum that `capped_rows` makes of its sides, the term that it leaves out, and
/// each query itself.
[[nodiscard]] inline FLOPTALLY_HOST_DEVICE std::uint64_t pairs_of(const capped_window& window, std::uint64_t capped,
                                                                  std::uint64_t tokens) {
    const std::uint64_t keys = std::uint64_t{window.left} - 1 + (window.right != 0 ? window.right - 1 : 0);
    return (capped + 2 * keys * tokens) / 2 + tokens;
}

/// Σ of a word over those of the eight lengths from `first` on whose bit is set in `chosen`; they are read again one by
/// one.
template <class Rules, class List>
[[nodiscard]] FLOPTALLY_HOST_DEVICE uint128 sum_of(const word_schema& schema, std::uint32_t word, const List& list,
                                                   std::uint32_t seen, std::size_t first, std::uint32_t chosen) {
    uint128 sum = 0;
    // Each struct has a loop of its own, so that its constants are kept in registers in that loop only.
    const auto add_each = [&](const auto& amount) {
        FLOPTALLY_ROLLED
        for (std::uint32_t k = 0; k < group_size; ++k) {
            if ((chosen >> k & 1U) != 0) {
                sum += amount(sequence{.length = list.length(first + k, seen)});
            }
        }
    };
    if (word < schema.before_masks) {
        add_each([&](const sequence& s) { return amount_of(static_cast<statistic>(word), s); });
        return sum;
    }
    with_struct_of(schema.masks[word - schema.before_masks], Rules{}, [&]<class Rule>(const Rule& made) {
        if constexpr (adds_to_words<Rule, sequence>) {
            add_each(made);
        }
    });
    return sum;
}

/// A bit for each right length of a group that is not plain. The others are refused.
template <class List, class Ref>
[[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t right_ones(const List& list, const Ref& into, std::uint32_t call,
                                                             std::size_t first) {
    std::uint32_t right = 0;
    FLOPTALLY_ROLLED
    for (std::uint32_t k = 0; k < in_group(first, list.size()); ++k) {
        refusal why{refused::length, 0};
        if (list.find(first + k, why)) {
            right |= std::uint32_t{1} << k;
        } else {
            refuse(into.refusals(), {call, first + k}, why);
        }
    }
    return right;
}

/// The body of the kernel that adds a list of lengths.
template <class Block, class List, class Ref>
FLOPTALLY_HOST_DEVICE void add_list(const Block& block, List list, const Ref& into, std::uint32_t call) {
    if constexpr (refusal why{refused::length, 0}; requires { list.begin(why); }) {
        if (!list.begin(why)) {  // then nothing is counted
            if (block.index() == 0 && block.thread() == 0) {
                refuse(into.refusals(), {call, 0}, why, list.size());
            }
            return;
        }
    }
    constexpr std::uint32_t views = List::shape.views;
    const word_schema& schema = into.schema();
    const block_columns<Block> sums(block, schema, views);
    const std::size_t all = std::size_t{block.count()} * block.threads() * group_size;
    FLOPTALLY_ROLLED
    for (std::size_t round = 0; round < list.size(); round += groups_per_round * all) {
        sums.clear();
        thread_sums own[views];
        const auto to_columns = [&] {
            FLOPTALLY_UNROLLED
            for (std::uint32_t seen = 0; seen < views; ++seen) {
                own[seen].move_to(sums, seen);
            }
        };
        const std::size_t next_round = round + groups_per_round * all;
        const std::size_t end = next_round < list.size() ? next_round : list.size();
        FLOPTALLY_ROLLED
        for (std::size_t first = round + (std::size_t{block.index()} * block.threads() + block.thread()) * group_size;
             first < end; first += all) {
            std::uint32_t group[views][group_size];
            const bool plain = list.load(first, group);
            if (plain) {
                FLOPTALLY_UNROLLED
                for (std::uint32_t seen = 0; seen < views; ++seen) {
                    own[seen].add(group[seen]);
                    FLOPTALLY_ROLLED
                    for (std::uint32_t i = 0; i < schema.window_count; ++i) {
                        const capped_window& window = schema.windows[i];
                        std::uint64_t& sum = sums.own(seen, window.column);
                        std::uint64_t more = capped_rows(group[seen], window.left, sum);
                        if (window.right != 0) {
                            more = capped_rows(group[seen], window.right, more);
                        }
                        sum = more;
                    }
                }
                if constexpr (List::bytes > 8) {
                    to_columns();  // numbers of 64 bits in two lists need the registers
                }
                if (schema.others == 0) {
                    continue;
                }
            }
            to_columns();  // what follows takes many registers
            const std::uint32_t chosen =
                plain ? (std::uint32_t{1} << in_group(first, list.size())) - 1 : right_ones(list, into, call, first);
            FLOPTALLY_ROLLED
            for (std::uint32_t seen = 0; seen < (plain ? views : 2); ++seen) {
                FLOPTALLY_ROLLED
                for (std::uint32_t column = 0; column < schema.columns(); ++column) {
                    const std::uint32_t word = schema.word_of(modality::text, column);
                    if (plain ? (schema.others >> column & 1U) == 0 : !schema.is_of(modality::text, word)) {
                        continue;
                    }
                    const uint128 more = sum_of<typename Ref::rules>(schema, word, list, seen, first, chosen);
                    if (!plain) {
                        into.add_to(seen, word, more);
                    } else if (sums.add_overflows(seen, column, more)) {
                        atomic_or(&into.refusals()->overflowed[seen], std::uint64_t{1} << word);
                    }
                }
            }
        }
        to_columns();
        for (std::uint32_t seen = 0; seen < views; ++seen) {
            const std::uint64_t tokens = sums.own(seen, static_cast<std::uint32_t>(statistic::tokens));
            for (std::uint32_t i = 0; i < schema.window_count; ++i) {
                std::uint64_t& sum = sums.own(seen, schema.windows[i].column);
                sum = pairs_of(schema.windows[i], sum, tokens);
            }
        }
        sums.add_to(into, modality::text);
        block.sync();
    }
}

}  // namespace floptally::detail
