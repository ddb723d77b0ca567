// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <floptally/batch/detail/given_lengths.hpp>
#include <floptally/batch/length_refusals.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/rules/length_block.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Sums over many lengths, as a tally adds them. Two forms give equal sums and equal errors:
///
/// - the plain form, which is the definition: each rule of each sequence, checked. It is for constant evaluation, and
///   every error comes from it;
/// - the block form: see length_block.hpp. It takes a block of lengths only where one OR over them proves that nothing
///   is wrong and nothing overflows. Any other block goes to the plain form, and so does a batch of which a user's rule
///   throws in a block.

namespace floptally::detail {

/// A contiguous range of 32- or 64-bit integers: std::vector, std::array, std::span, a C array.
template <class Range>
concept integer_range = requires(const Range& range) {
    std::span{range}.data();
}
&&integer<typename decltype(std::span{std::declval<const Range&>()})::value_type>;

/// The type of the integers of such a range.
template <integer_range Range>
using element_of = typename decltype(std::span{std::declval<const Range&>()})::value_type;

/// Sums over the lengths of a call, for a tally without masks.
struct fixed_sums {
    std::uint64_t count = 0;  ///< lengths above 0
    std::uint64_t tokens = 0;
    std::uint64_t squares = 0;

    /// Adds one length. Only the sum of squares can be the first to overflow in what the library counts: a length L
    /// adds at most L² tokens, and at most L² pairs under any of its masks.
    constexpr void add(std::uint32_t length) {
        squares = checked(squares, "squares") + std::uint64_t{length} * length;
        tokens += length;
        count += length != 0 ? 1U : 0U;
    }

    [[nodiscard]] friend constexpr bool operator==(const fixed_sums&, const fixed_sums&) = default;
};

/// The amount that a block of sequences, which are all of the text, adds to the word of a rule.
template <class N>
[[nodiscard]] std::uint64_t sum_over(const rule& which, const length_block<N>& block) {
    return which.in() == modality::text ? which.over(block) : 0;
}

/// Sums over the lengths of a call, with those of the masks in memory of the caller: one integer for each mask.
struct borrowed_sums : fixed_sums {
    using fixed_sums::add;

    std::uint64_t* pairs;
    std::size_t masks;

    constexpr borrowed_sums(const mask_set& of, std::uint64_t* memory) : pairs(memory), masks(of.size()) {
        for (std::size_t m = 0; m < masks; ++m) {
            pairs[m] = 0;
        }
    }
    /// Sums over one length.
    constexpr borrowed_sums(const mask_set& of, std::uint64_t* memory, std::uint32_t length)
        : pairs(memory), masks(of.size()) {
        add(length);
        for (std::size_t m = 0; m < masks; ++m) {
            pairs[m] = of[m].of_length(length);
        }
    }
    /// Sums over one block.
    template <class N>
    borrowed_sums(const mask_set& of, std::uint64_t* memory, const length_block<N>& block)
        : fixed_sums{block.count, block.tokens, block.squares}, pairs(memory), masks(of.size()) {
        for (std::size_t m = 0; m < masks; ++m) {
            pairs[m] = sum_over(of[m], block);
        }
    }

    /// Adds to the sum of mask `m`. No sum of the library's masks can wrap before that of squares; a user's rule may be
    /// larger.
    constexpr void add(std::size_t m, const rule& which, std::uint64_t amount) {
        pairs[m] += amount;
        if (pairs[m] < amount) {
            throw overflow(which.name(), "the sum does not fit 64 bits");
        }
    }
};

/// Such sums over sequences with a past.
struct past_sums : borrowed_sums {
    std::uint64_t cached = 0;

    constexpr explicit past_sums(const borrowed_sums& none) : borrowed_sums(none) {}
};

/// The memory in which the sums of a batch are made: the receiver's, for both views, one integer for each of these
/// masks.
class sum_space {
  public:
    constexpr sum_space(const mask_set& masks, std::uint64_t* useful, std::uint64_t* padded)
        : masks_(&masks), memory_{useful, padded} {}

    [[nodiscard]] constexpr const mask_set& masks() const { return *masks_; }
    /// Sums of nothing yet, or those of one length or one block.
    template <class... Unit>
    [[nodiscard]] constexpr borrowed_sums sums(view seen, const Unit&... unit) const {
        return {*masks_, memory_[static_cast<std::size_t>(seen)], unit...};
    }

  private:
    const mask_set* masks_;
    std::uint64_t* memory_[2];
};

/// Adds lengths first … last − 1, one by one.
template <class List>
constexpr void add_plainly(const List& list, std::size_t first, std::size_t last, const mask_set& masks,
                           borrowed_sums& sums) {
    fixed_sums fixed = sums;
    for (std::size_t i = first; i < last; ++i) {
        const std::uint32_t length = list.checked(i);
        fixed.add(length);
        for (std::size_t m = 0; m < masks.size(); ++m) {
            sums.add(m, masks[m], masks[m].of_length(length));
        }
    }
    static_cast<fixed_sums&>(sums) = fixed;
}

/// Adds a block; false where it must go to the plain form, and nothing is added. Inlined by force in the one loop that
/// calls it, since compilers would not.
template <class N, class List>
[[nodiscard, gnu::always_inline]] inline bool add_block(const List& list, std::size_t first, std::size_t n,
                                                        const mask_set& masks, borrowed_sums& sums) {
    length_block<N> block;
    if (!block.load(list, first, n) || sums.squares + block.squares < sums.squares) {
        return false;
    }
    sums.count += block.count;
    sums.tokens += block.tokens;
    sums.squares += block.squares;
    for (std::size_t m = 0; m < masks.size(); ++m) {
        sums.add(m, masks[m], sum_over(masks[m], block));
    }
    return true;
}

template <class List>
[[gnu::noinline]] void add_blocks(const List& list, std::size_t n, const mask_set& masks, borrowed_sums& sums) {
    for (std::size_t first = 0; first < n; first += block_size) {
        const std::size_t size = smaller(n - first, block_size);
        if (!add_block<std::int16_t>(list, first, size, masks, sums) &&
            !add_block<std::int32_t>(list, first, size, masks, sums)) {
            add_plainly(list, first, first + size, masks, sums);
        }
    }
}

/// The sums of the first `n` lengths. One block, which most batches are, is summed in memory that nothing clears first.
template <class List>
[[nodiscard]] constexpr borrowed_sums sums_of(const List& list, std::size_t n, const sum_space& space, view seen) {
    if (!std::is_constant_evaluated()) {
        try {
            length_block<std::int16_t> block;
            if (n <= block_size && block.load(list, 0, n)) {
                return space.sums(seen, block);
            }
            borrowed_sums sums = space.sums(seen);
            add_blocks(list, n, space.masks(), sums);
            return sums;
        } catch (const error&) {  // which the plain form says in its words: a user's rule that overflows or refuses
        }
    }
    borrowed_sums sums = space.sums(seen);
    add_plainly(list, 0, n, space.masks(), sums);
    return sums;
}

/// The number of lengths below which a sum one by one is faster, where there are no masks.
inline constexpr std::size_t short_input = 8;

/// Gives `commit` the sums of `n` lengths, which all fill their slots, for both views. Few lengths without masks are
/// summed in registers.
template <class List, class Commit>
constexpr void commit_sums(const List& list, std::size_t n, const sum_space& space, Commit commit) {
    if (n < short_input && space.masks().empty()) {
        fixed_sums sums;
        for (std::size_t i = 0; i < n; ++i) {
            sums.add(list.checked(i));
        }
        commit(sums, sums);
        return;
    }
    const borrowed_sums sums =
        n == 1 ? space.sums(view::useful, list.checked(0)) : sums_of(list, n, space, view::useful);
    commit(sums, sums);
}

/// The lengths between `n` boundaries. A first boundary other than 0 is an error.
template <integer T>
[[nodiscard, gnu::always_inline]] constexpr boundary_lengths<T> between(const T* boundaries, std::size_t n,
                                                                        std::string_view field) {
    if (n == 0) {
        refuse(field, {"needs at least one boundary"});
    }
    if (boundaries[0] != 0) {
        require_start(field, boundaries[0]);
    }
    return {boundaries, field};
}

/// Throws where lengths first … last − 1 could not be added to `sums`, and adds nothing.
template <class List>
constexpr void check_more(const List& list, std::size_t first, std::size_t last, const fixed_sums& sums) {
    fixed_sums more = sums;
    for (std::size_t i = first; i < last; ++i) {
        more.add(list.checked(i));
    }
}

/// Throws where one of the first `sequences` slots is shorter than its sequence.
template <integer T, integer S>
constexpr void require_room(const T* cu_seqlens, const S* cu_seqlens_padded, std::size_t sequences,
                            std::string_view slots_field) {
    for (std::size_t i = 0; i < sequences; ++i) {
        const auto length = static_cast<std::uint64_t>(cu_seqlens[i + 1] - cu_seqlens[i]);
        const auto slot = static_cast<std::uint64_t>(cu_seqlens_padded[i + 1] - cu_seqlens_padded[i]);
        if (slot < length) {
            require_slot(i, length, slot, slots_field);
        }
    }
}

}  // namespace floptally::detail
