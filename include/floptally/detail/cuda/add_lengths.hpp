// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

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

/// @file
/// The body of the kernel that adds lengths: one pass over them, whatever the number of masks.
///
/// A thread keeps count, ΣL and ΣL² in registers and Σ pairs of each mask in a word of shared memory of its own, since
/// an array that is indexed in a loop would lie in local memory. At the end a block adds up its threads and then adds
/// one number to each word of the tally.

namespace floptally::detail {

/// What one thread has of one view.
struct thread_sums {
    std::uint64_t count = 0;
    std::uint64_t tokens = 0;
    std::uint64_t squares = 0;
    bool wraps = false;  ///< of the squares: a length L adds at most L² tokens

    /// Four lengths below `plain_limit`.
    FLOPTALLY_HOST_DEVICE void add_plain(const std::uint32_t* lengths) {
        std::uint64_t sum = 0;
        for (std::size_t k = 0; k < 4; ++k) {
            count += lengths[k] != 0 ? 1U : 0U;
            tokens += lengths[k];
            sum += std::uint64_t{lengths[k]} * lengths[k];
        }
        squares += sum;
        wraps = wraps || squares < sum;
    }
    FLOPTALLY_HOST_DEVICE void add(std::uint32_t length) {
        const std::uint64_t square = std::uint64_t{length} * length;
        count += length != 0 ? 1U : 0U;
        tokens += length;
        squares += square;
        wraps = wraps || squares < square;
    }
};

/// One of four by a number that is known at run time only: registers have no address.
[[nodiscard]] inline FLOPTALLY_HOST_DEVICE std::uint32_t nth(const std::uint32_t* four, std::uint32_t k) {
    const std::uint32_t low = (k & 1U) == 0 ? four[0] : four[1];
    const std::uint32_t high = (k & 1U) == 0 ? four[2] : four[3];
    return k < 2 ? low : high;
}

/// Words of shared memory for a block of so many threads.
template <class List>
[[nodiscard]] std::size_t shared_words_of_lengths(const word_schema& schema, std::size_t threads) {
    return schema.size() + List::views * schema.mask_count * threads;
}

/// Adds Σ pairs of four lengths under each mask of the text to the words of this thread.
template <class Block, class Ref>
FLOPTALLY_HOST_DEVICE void add_pairs(const Block& block, const Ref& into, std::uint32_t seen,
                                     const std::uint32_t* lengths, std::uint64_t* pairs) {
    const word_schema& schema = into.schema();
    for (std::uint32_t m = 0; m < schema.mask_count; ++m) {
        if (schema.masks[m].in() != modality::text) {
            continue;
        }
        std::uint64_t sum = pairs[m * block.threads() + block.thread()];
        bool wraps = false;
        // Asked once for four lengths, and each struct has a loop of its own: what stays the same in it is kept in
        // registers there only.
        with_struct_of(schema.masks[m], typename Ref::rules{}, [&]<class Rule>(const Rule& made) {
            if constexpr (adds_to_words<Rule, sequence>) {
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
                for (std::uint32_t k = 0; k < 4; ++k) {
                    const auto more = static_cast<std::uint64_t>(made(sequence{.length = nth(lengths, k)}));
                    sum += more;
                    wraps = wraps || sum < more;
                }
            }
        });
        pairs[m * block.threads() + block.thread()] = sum;
        if (wraps) {
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
    const std::size_t all = std::size_t{block.count()} * block.threads() * 4;
    std::size_t first = (std::size_t{block.index()} * block.threads() + block.thread()) * 4;
    typename List::four next{};
    if (first < list.size()) {
        next = list.load(first);
    }
    for (; first < list.size(); first += all) {
        const typename List::four loaded = next;
        if (first + all < list.size()) {
            next = list.load(first + all);  // two loads are under way
        }
        std::uint32_t lengths[List::views][4];
        const bool plain = list.is_plain(loaded, first);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
        for (std::size_t k = 0; k < 4; ++k) {
            refusal why{refused::length, 0, 0};
            const bool counts = plain || list.find(loaded, k, first + k, why);
            if (!counts) {
                refuse(into.refusals(), {call, first + k}, why);
            }
            lengths[0][k] = counts ? list.real(loaded, k) : 0;
            if constexpr (List::views == 2) {
                lengths[1][k] = counts ? list.slot(loaded, k) : 0;
            }
        }
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
        for (std::uint32_t seen = 0; seen < List::views; ++seen) {
            if (plain) {
                sums[seen].add_plain(lengths[seen]);
            } else {
                for (std::size_t k = 0; k < 4; ++k) {
                    sums[seen].add(lengths[seen][k]);
                }
            }
            add_pairs(block, into, seen, lengths[seen], pairs + seen * view_pairs);
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
