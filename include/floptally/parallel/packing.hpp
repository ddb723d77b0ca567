// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/batch/formats.hpp>
#include <floptally/batch/integer_view.hpp>
#include <floptally/batch/length_sums.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/parallel/token_split.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Packing of samples into packs of a capacity, as data loaders do.

namespace floptally::inline v0_3 {

/// One pack [1, T] of samples, one after another.
struct pack {
    /// Indices of the pack's samples, in ascending order. The samples stand in the pack in this order.
    std::vector<std::uint64_t> samples{};
    std::vector<std::uint64_t> cu_seqlens{0};         ///< boundaries of the samples in tokens, without padding
    std::vector<std::uint64_t> cu_seqlens_padded{0};  ///< boundaries of the samples' slots in tokens, with padding

    /// Returns the pack as a batch source, for `tally`, `split_tally` and `placed_sequences`.
    [[nodiscard]] packed_slots<std::uint64_t, std::uint64_t> source() const { return {cu_seqlens, cu_seqlens_padded}; }
    /// The number of tokens T, with padding.
    [[nodiscard]] std::uint64_t tokens() const { return cu_seqlens_padded.back(); }

    [[nodiscard]] friend bool operator==(const pack&, const pack&) = default;
};

/// The result of packing samples: the packs, and the position of each sample in them.
struct packing {
    std::vector<pack> packs{};
    std::vector<std::uint64_t> pack_of{};    ///< index of the pack of each sample
    std::vector<std::uint64_t> offset_of{};  ///< where each sample's slot begins in its pack, in tokens

    [[nodiscard]] friend bool operator==(const packing&, const packing&) = default;
};

/// Options for packing samples: the alignment of slots and the number of packs.
struct packing_options {
    std::uint64_t alignment = 1;  ///< slots begin at multiples of this number of tokens, for example `cp_alignment(tp,
                                  ///< cp)`
    std::uint64_t min_packs = 0;  ///< smallest number of packs, for example to fill a pipeline or to match other ranks
    std::uint64_t divisor = 1;    ///< the number of packs is a multiple of this number
};

namespace detail {

/// Returns the length of each sample's slot in tokens: the sample's length, rounded up to a multiple of `alignment`.
template <integer_range Lengths>
[[nodiscard]] std::vector<std::uint64_t> aligned_slots(const Lengths& lengths, std::uint64_t alignment) {
    const std::span all{lengths};
    const plain_lengths<typename decltype(all)::value_type> length_view{all.data(), "lengths"};
    std::vector<std::uint64_t> slots;
    slots.reserve(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        slots.push_back(aligned_length(length_view.checked(i), alignment));
        if (slots.back() > max_sequence_length) {
            refuse(indexed("lengths", i),
                   {"must be at most ", max_sequence_length, " tokens after alignment, got ", slots.back()});
        }
    }
    return slots;
}

/// Packs of one capacity. A tree over their free tokens finds the first pack with room in log n steps.
class first_fit_packs {
  public:
    first_fit_packs(std::size_t most_packs, std::uint64_t capacity)
        : leaves_(std::bit_ceil(most_packs)), most_free_(2 * leaves_, capacity) {}

    /// Puts a slot of `slot` tokens into the first pack with room, and returns the index of that pack. At least one
    /// pack must have room.
    [[nodiscard]] std::size_t take_slot(std::uint64_t slot) {
        std::size_t node = 1;
        while (node < leaves_) {
            node = 2 * node + (most_free_[2 * node] < slot ? 1U : 0U);
        }
        const std::size_t pack = node - leaves_;
        most_free_[node] -= slot;
        for (node /= 2; node != 0; node /= 2) {
            most_free_[node] = std::max(most_free_[2 * node], most_free_[2 * node + 1]);
        }
        return pack;
    }

  private:
    std::size_t leaves_;
    // A binary tree: each node stores the largest number of free tokens of a pack below it. The root has index 1, and
    // the packs are the leaves.
    std::vector<std::uint64_t> most_free_;
};

/// Adds packs until there are `wanted`. Each new pack takes the largest sample of the fullest pack that has two samples
/// or more. In each of `packs` the samples must be in descending order of length.
inline void open_packs(std::vector<std::vector<std::size_t>>& packs, std::size_t wanted,
                       std::span<const std::uint64_t> slots) {
    struct filled_pack {
        std::uint64_t tokens;
        std::size_t pack;
        [[nodiscard]] bool operator<(const filled_pack& other) const {  // the queue serves the fullest pack first
            return tokens != other.tokens ? tokens < other.tokens : pack > other.pack;
        }
    };
    std::priority_queue<filled_pack> fullest;
    for (std::size_t pack = 0; pack < packs.size(); ++pack) {
        std::uint64_t tokens = 0;
        for (const std::size_t sample : packs[pack]) {
            tokens += slots[sample];
        }
        std::reverse(packs[pack].begin(),
                     packs[pack].end());  // puts samples in ascending order, so that pop_back takes the largest
        fullest.push({tokens, pack});
    }
    while (packs.size() < wanted) {
        const filled_pack from = fullest.top();
        fullest.pop();
        if (packs[from.pack].size() > 1) {
            const std::size_t moved = packs[from.pack].back();
            packs[from.pack].pop_back();
            packs.push_back({moved});
            fullest.push({from.tokens - slots[moved], from.pack});
        }
    }
}

}  // namespace detail

/// Packs samples by your own assignment. `pack_of` has the index of the pack for each sample, such as
/// `assignment::rank_of`. A pack may be empty.
template <integer_range Lengths, integer_range Packs>
[[nodiscard]] packing pack_by_assignment(const Lengths& lengths, const Packs& pack_of, std::uint64_t packs,
                                         std::uint64_t alignment = 1) {
    const std::vector<std::uint64_t> slots = detail::aligned_slots(lengths, alignment);
    packing result;
    result.pack_of = detail::nonnegative_below(packs, "packs", pack_of, "pack_of");
    require_as_many(slots.size(), "lengths", result.pack_of.size(), "pack_of");
    result.packs.resize(packs);
    result.offset_of.reserve(slots.size());
    const std::span sample_lengths{lengths};
    for (std::size_t i = 0; i < slots.size(); ++i) {
        pack& pack = result.packs[result.pack_of[i]];
        result.offset_of.push_back(pack.tokens());
        pack.samples.push_back(i);
        pack.cu_seqlens.push_back(pack.cu_seqlens.back() + static_cast<std::uint64_t>(sample_lengths[i]));
        pack.cu_seqlens_padded.push_back(checked(pack.tokens(), "lengths") + slots[i]);
    }
    return result;
}

/// Packs samples into packs of at most `capacity` tokens by first-fit decreasing. The function takes the samples from
/// the longest slot to the shortest (equal slots by index) and puts each sample into the first pack with room. The
/// number of packs is at most 11/9 of the smallest possible number plus 6/9 (Dósa 2007). If `min_packs` and `divisor`
/// require more packs, samples are moved out of the fullest packs, so that no pack is empty. Packing takes O(n log n)
/// time.
template <integer_range Lengths>
[[nodiscard]] packing pack_by_capacity(const Lengths& lengths, std::uint64_t capacity,
                                       const packing_options& options = {}) {
    require_positive(options.divisor, "divisor");
    const std::vector<std::uint64_t> slots = detail::aligned_slots(lengths, options.alignment);
    for (std::size_t i = 0; i < slots.size(); ++i) {
        if (slots[i] > capacity) {
            detail::refuse(indexed("lengths", i),
                           {"must fit the capacity of ", capacity, " tokens, got ", slots[i], " after alignment"});
        }
    }
    std::vector<std::size_t> descending(slots.size());
    std::iota(descending.begin(), descending.end(), std::size_t{0});
    std::stable_sort(descending.begin(), descending.end(),
                     [&](std::size_t a, std::size_t b) { return slots[a] > slots[b]; });
    detail::first_fit_packs fit(slots.size(), capacity);
    std::vector<std::vector<std::size_t>> packs;
    for (const std::size_t sample : descending) {
        const std::size_t pack = fit.take_slot(slots[sample]);
        packs.resize(std::max(packs.size(), pack + 1));
        packs[pack].push_back(sample);
    }
    const std::uint64_t wanted =
        aligned_length(std::max<std::uint64_t>(packs.size(), options.min_packs), options.divisor);
    if (wanted > slots.size()) {
        detail::refuse(
            packs.size() < options.min_packs ? "min_packs" : "divisor",
            {"asks for ", wanted, " packs, but there are only ", slots.size(), " samples: pass a smaller number"});
    }
    detail::open_packs(packs, wanted, slots);
    std::vector<std::uint64_t> pack_of(slots.size());
    for (std::size_t pack = 0; pack < packs.size(); ++pack) {
        for (const std::size_t sample : packs[pack]) {
            pack_of[sample] = pack;
        }
    }
    return pack_by_assignment(lengths, pack_of, packs.size(), options.alignment);
}

}  // namespace floptally
