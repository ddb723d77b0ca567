// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <floptally/cuda/device_tally_ref.hpp>
#include <floptally/detail/cuda/atomic_word.hpp>
#include <floptally/detail/cuda/block_sum.hpp>
#include <floptally/detail/cuda/length_lists.hpp>
#include <floptally/detail/cuda/padded_boundaries.hpp>
#include <floptally/detail/cuda/refusals.hpp>
#include <floptally/detail/cuda/word_schema.hpp>
#include <floptally/host_device.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistic.hpp>
#include <floptally/statistics/rule.hpp>

/// @file
/// The body of the kernel that adds lengths: one pass over them, whatever the number of masks.
///
/// A thread keeps count, ΣL and ΣL² in registers and Σ pairs of each mask in a word of shared memory of its own, since
/// an array that is indexed in a loop would lie in local memory. At the end a block adds up its threads and then adds
/// one number to each word of the tally.

namespace floptally::detail {

/// Eight lengths below `plain_limit`, as a rule's `over` takes them: what `length_block` is to the host.
struct plain_group {
    static constexpr bool in_kernel = true;

    std::uint32_t lengths[group_size];
    std::uint32_t tokens = 0;
    std::uint64_t squares = 0;

    FLOPTALLY_HOST_DEVICE void add_up() {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
        for (std::size_t k = 0; k < group_size; ++k) {
            tokens += lengths[k];
            squares += std::uint64_t{lengths[k]} * lengths[k];
        }
    }
    /// Σ of min(i, cap) over the rows i < L of each: all of them, (L² − L)/2, without e + … + 1 where e rows are above.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint64_t capped_ramps(std::int32_t cap) const {
        const std::uint32_t first = cap < 0 ? 0xFFFF'FFFFU : static_cast<std::uint32_t>(cap) + 1;
        std::uint32_t above = 0;
        std::uint64_t above_squares = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
        for (std::size_t k = 0; k < group_size; ++k) {
            const std::uint32_t e = (lengths[k] > first ? lengths[k] : first) - first;
            above += e;
            above_squares += std::uint64_t{e} * e;
        }
        return (squares - tokens - above_squares - above) / 2;
    }
};

/// What one thread has of one view.
struct thread_sums {
    std::uint64_t count = 0;
    std::uint64_t tokens = 0;
    std::uint64_t squares = 0;
    bool wraps = false;  ///< of the squares: a length L adds at most L² tokens

    FLOPTALLY_HOST_DEVICE void add(const plain_group& group) {
        std::uint32_t present = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
        for (std::size_t k = 0; k < group_size; ++k) {
            present += group.lengths[k] != 0 ? 1U : 0U;
        }
        count += present;
        tokens += group.tokens;
        squares += group.squares;
        wraps = wraps || squares < group.squares;
    }
    FLOPTALLY_HOST_DEVICE void add(std::uint32_t length) {
        const std::uint64_t square = std::uint64_t{length} * length;
        count += length != 0 ? 1U : 0U;
        tokens += length;
        squares += square;
        wraps = wraps || squares < square;
    }
};

/// One of eight by a number that is known at run time only: registers have no address.
[[nodiscard]] inline FLOPTALLY_HOST_DEVICE std::uint32_t nth(const std::uint32_t* eight, std::uint32_t k) {
    std::uint32_t found = eight[0];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (std::uint32_t i = 1; i < group_size; ++i) {
        found = k == i ? eight[i] : found;
    }
    return found;
}

/// Words of shared memory for a block of so many threads.
template <class List>
[[nodiscard]] std::size_t shared_words_of_lengths(const word_schema& schema, std::size_t threads) {
    return schema.size() + List::views * schema.mask_count * threads;
}

/// Σ of a rule over a group in one go, where the rule is one that can; else says false.
template <class... Rules>
[[nodiscard]] FLOPTALLY_HOST_DEVICE bool over_group(const rule& what, rule_list<Rules...> /*list*/,
                                                    const plain_group& group, std::uint64_t& sum) {
    const auto is = [&]<class Rule>(rule_list<Rule>) {
        if constexpr (adds_to_words<Rule, sequence> && requires(const Rule& made) { made.over(group); }) {
            if (what.id() == id_of<Rule>) {
                sum = rule_from<Rule>(what.parameters()).over(group);
                return true;
            }
        }
        return false;
    };
    return (is(rule_list<Rules>{}) || ...);
}

/// Adds Σ pairs under each mask of the text to the words of this thread: of a group, or of one length.
template <class Block, class Ref, class Lengths>
FLOPTALLY_HOST_DEVICE void add_pairs(const Block& block, const Ref& into, std::uint32_t seen, const Lengths& lengths,
                                     std::uint64_t* pairs) {
    const word_schema& schema = into.schema();
    const rule* const end = schema.masks + schema.mask_count;
    std::uint64_t* word = pairs + block.thread();
    for (const rule* next = schema.masks; next != end; ++next, word += block.threads()) {
        const rule& mask = *next;
        if (mask.in() != modality::text) {
            continue;
        }
        std::uint64_t sum = *word;
        bool wraps = false;
        const auto add = [&](std::uint64_t more) {
            sum += more;
            wraps = wraps || sum < more;
        };
        if constexpr (std::is_same_v<Lengths, plain_group>) {
            if (std::uint64_t more = 0; over_group(mask, typename Ref::rules{}, lengths, more)) {
                add(more);
            } else {
                // Asked once for eight lengths, and each struct has a loop of its own: what stays the same in it is
                // kept in registers there only.
                with_struct_of(mask, typename Ref::rules{}, [&]<class Rule>(const Rule& made) {
                    if constexpr (adds_to_words<Rule, sequence>) {
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
                        for (std::uint32_t k = 0; k < group_size; ++k) {
                            add(static_cast<std::uint64_t>(made(sequence{.length = nth(lengths.lengths, k)})));
                        }
                    }
                });
            }
        } else {
            with_struct_of(mask, typename Ref::rules{}, [&]<class Rule>(const Rule& made) {
                if constexpr (adds_to_words<Rule, sequence>) {
                    add(static_cast<std::uint64_t>(made(sequence{.length = lengths})));
                }
            });
        }
        *word = sum;
        if (wraps) {
            const auto m = static_cast<std::uint32_t>(next - schema.masks);
            atomic_or(&into.refusals()->overflowed[seen], std::uint64_t{1} << (schema.before_masks + m));
        }
    }
}

template <class Block, class List, class Ref>
FLOPTALLY_HOST_DEVICE void add_lengths(const Block& block, const List& list, const Ref& into, std::uint32_t call) {
    const word_schema& schema = into.schema();
    const Ref local = into.local(block.shared());
    std::uint64_t* const pairs = block.shared() + schema.size();
    const std::uint32_t view_pairs = schema.mask_count * block.threads();
    local.clear(block.thread(), block.threads());
    for (std::uint32_t m = 0; m < List::views * schema.mask_count; ++m) {
        pairs[m * block.threads() + block.thread()] = 0;
    }
    block.sync();

    thread_sums sums[List::views];
    const std::size_t all = std::size_t{block.count()} * block.threads() * group_size;
    for (std::size_t first = (std::size_t{block.index()} * block.threads() + block.thread()) * group_size;
         first < list.size(); first += all) {
        const typename List::group loaded = list.load(first);
        if (list.is_plain(loaded, first)) {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
            for (std::uint32_t seen = 0; seen < List::views; ++seen) {
                plain_group group;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
                for (std::size_t k = 0; k < group_size; ++k) {
                    group.lengths[k] = list.real(loaded, k);
                    if constexpr (List::views == 2) {
                        group.lengths[k] = seen == 0 ? group.lengths[k] : list.slot(loaded, k);
                    }
                }
                group.add_up();
                sums[seen].add(group);
                add_pairs(block, into, seen, group, pairs + seen * view_pairs);
            }
            continue;
        }
        // Rare: long lengths, and what must be refused. Read again, one by one.
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
        for (std::size_t i = first; i < first + group_size && i < list.size(); ++i) {
            refusal why{refused::length, 0, 0};
            if (!list.find(i, why)) {
                refuse(into.refusals(), {call, i}, why);
                continue;
            }
            sums[0].add(list.real(i));
            add_pairs(block, into, 0, list.real(i), pairs);
            if constexpr (List::views == 2) {
                sums[1].add(list.slot(i));
                add_pairs(block, into, 1, list.slot(i), pairs + view_pairs);
            }
        }
    }

#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (std::uint32_t seen = 0; seen < List::views; ++seen) {
        constexpr auto squares = static_cast<std::uint32_t>(statistic::squares);
        add_warp(block, local, seen, static_cast<std::uint32_t>(statistic::count), sums[seen].count);
        add_warp(block, local, seen, static_cast<std::uint32_t>(statistic::tokens), sums[seen].tokens);
        add_warp(block, local, seen, squares, sums[seen].squares);
        if (sums[seen].wraps) {
            atomic_or(&into.refusals()->overflowed[seen], std::uint64_t{1} << squares);
        }
        for (std::uint32_t m = 0; m < schema.mask_count; ++m) {
            const std::uint64_t own = pairs[seen * view_pairs + m * block.threads() + block.thread()];
            add_warp(block, local, seen, schema.before_masks + m, own);
        }
    }
    block.sync();
    if constexpr (List::views == 2) {
        into.merge(local, block.thread(), block.threads());
    } else {  // every sequence fills its slot
        for (std::uint32_t word = block.thread(); word < schema.stride(); word += block.threads()) {
            into.add_to(0, word, local.words()[word]);
            into.add_to(1, word, local.words()[word]);
        }
    }
}

/// The same of a pack whose number of real sequences may be known to the device alone. Where it is wrong, nothing of
/// the pack is counted.
template <class Block, class T, class S, class N, class Ref>
FLOPTALLY_HOST_DEVICE void add_pack(const Block& block, const padded_boundaries<T, S>& pack,
                                    const real_sequences<N>& num_real, const Ref& into, std::uint32_t call) {
    if (!num_real.is_valid(pack.size())) {
        if (block.index() == 0 && block.thread() == 0) {
            refuse(into.refusals(), {call, 0}, num_real.why(pack.size()), pack.size());
        }
        return;
    }
    add_lengths(block, pack.of(num_real.number()), into, call);
}

}  // namespace floptally::detail
