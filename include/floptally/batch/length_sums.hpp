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

#include <floptally/integer/checked.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Lists of lengths and of boundaries, their errors, and the sums over the lengths that a tally adds. The sums are
/// computed in a plain form or in a block form, with equal results and equal errors.
///
/// - The plain form is the definition of the sums. It adds the statistics of each sequence one by one and checks each
///   addition. Constant evaluation uses the plain form, and all errors come from it.
/// - The block form adds up to 512 lengths at once (`length_block`). One test of the bitwise OR of all lengths shows
///   that all are valid and that no sum of the block overflows. If the test fails, or if a statistic throws, the plain
///   form adds the lengths instead.

namespace floptally::inline v0_3 {

/// A signed or unsigned integer of 32 or 64 bits.
template <class T>
concept integer = std::integral<T> && sizeof(T) >= 4 && sizeof(T) <= 8;

/// A contiguous range of 32- or 64-bit integers: std::vector, std::array, std::span, a C array.
template <class Range>
concept integer_range = requires(const Range& range) {
    std::span{range}.data();
}
&&integer<typename decltype(std::span{std::declval<const Range&>()})::value_type>;

/// The type of the integers of an `integer_range`.
template <integer_range Range>
using element_of = typename decltype(std::span{std::declval<const Range&>()})::value_type;

}  // namespace floptally

namespace floptally::inline v0_3::detail {

/// Throws the error for length i, which is negative or above 2^32 − 1.
template <integer T>
[[noreturn, gnu::cold, gnu::noinline]] void refuse_length(std::string_view field, std::size_t i, T length) {
    const std::string bound = std::cmp_less(length, 0) ? "at least 0" : "at most 4294967295";
    refuse(indexed(field, i), {"must be ", bound, ", got ", length});
}

/// Throws the error for boundary i, which is negative, below the previous boundary, or more than 2^32 − 1 above it.
template <integer T>
[[noreturn, gnu::cold, gnu::noinline]] void refuse_boundary(std::string_view field, std::size_t i, T before,
                                                            T boundary) {
    std::string bound = text_of({"at most 4294967295 above the boundary before it, ", before});
    if (std::cmp_less(boundary, 0)) {
        bound = "at least 0";
    } else if (boundary < before) {
        bound = text_of({"at least the boundary before it, ", before});
    }
    refuse(indexed(field, i), {"must be ", bound, ", got ", boundary});
}

/// Throws `error` if the first boundary is not 0.
template <integer T>
constexpr void require_start(std::string_view field, T boundary) {
    if (boundary != 0) {
        refuse(indexed(field, 0), {"must be 0, got ", boundary});
    }
}

/// Throws `error` if the slot between boundaries i and i + 1 is shorter than its sequence.
constexpr void require_slot(std::size_t i, std::uint64_t length, std::uint64_t slot,
                            std::string_view slots_field = "cu_seqlens_padded") {
    if (slot < length) {
        refuse(indexed(slots_field, i + 1),
               {"leaves a slot of ", slot, " tokens for a sequence of ", length, ": a slot must hold its sequence"});
    }
}

/// Throws `error` if a row is longer than the longest allowed sequence.
constexpr void require_row_length(std::uint64_t row_length) {
    if (row_length > max_sequence_length) {
        refuse("row_length", {"must be at most ", max_sequence_length, ", got ", row_length});
    }
}

/// Throws `error` if length i is longer than its row.
constexpr void require_in_row(std::string_view field, std::size_t i, std::uint64_t length, std::uint64_t row_length) {
    if (length > row_length) {
        refuse(indexed(field, i), {"must be at most the row_length, ", row_length, ", got ", length});
    }
}

/// Throws the error for two lists of boundaries whose sizes do not match.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_boundary_count(std::string_view field, std::size_t has,
                                                                         std::string_view other,
                                                                         std::size_t other_has) {
    refuse(field, {"must have as many boundaries as ", other, " (", other_has, "), got ", has});
}

/// Throws the error for a number of real sequences that is negative or above the number of all sequences.
template <integer T>
[[noreturn, gnu::cold, gnu::noinline]] void refuse_real_sequences(T num_real_seqs, std::uint64_t sequences) {
    const std::string bound = std::cmp_greater(num_real_seqs, sequences)
                                  ? text_of({"at most the ", sequences, " sequences of cu_seqlens"})
                                  : "at least 0";
    refuse("num_real_seqs", {"must be ", bound, ", got ", num_real_seqs});
}

/// A list of lengths in memory. Every list of lengths has these functions.
///
/// - `checked(i)`: length i; throws `error` if it is invalid;
/// - `unchecked(i)`: length i modulo 2^32 or 2^64 (the width of T), for a vectorized loop;
/// - `unwrapped(first, n)`: true if the n unchecked lengths are the true lengths. Call it only if their sum is below
///   2^31;
/// - `total(first, n, unchecked_sum)`: the sum of n lengths, from boundaries if the list has them. Without boundaries
///   the sum is `unchecked_sum`, the sum of the unchecked lengths.
template <integer T>
struct plain_lengths {
    const T* lengths;
    const char* field;

    [[nodiscard]] constexpr std::uint32_t checked(std::size_t i) const {
        if (std::cmp_less(lengths[i], 0) || std::cmp_greater(lengths[i], max_sequence_length)) {
            refuse_length(field, i, lengths[i]);
        }
        return static_cast<std::uint32_t>(lengths[i]);
    }

    [[nodiscard]] std::make_unsigned_t<T> unchecked(std::size_t i) const {
        return static_cast<std::make_unsigned_t<T>>(lengths[i]);
    }

    [[nodiscard]] bool unwrapped(std::size_t, std::size_t) const { return true; }

    [[nodiscard]] std::uint64_t total(std::size_t, std::size_t, std::uint32_t unchecked_sum) const {
        return unchecked_sum;
    }
};

/// A list of lengths that are the differences of boundaries. The first boundary is 0.
template <integer T>
struct boundary_lengths {
    const T* boundaries;
    const char* field;

    [[nodiscard]] constexpr std::uint32_t checked(std::size_t i) const {
        if (boundaries[i + 1] < boundaries[i] ||
            std::cmp_greater(boundaries[i + 1] - boundaries[i], max_sequence_length)) {
            refuse_boundary(field, i + 1, boundaries[i], boundaries[i + 1]);
        }
        return static_cast<std::uint32_t>(boundaries[i + 1] - boundaries[i]);
    }

    [[nodiscard]] std::make_unsigned_t<T> unchecked(std::size_t i) const {
        using bits_type = std::make_unsigned_t<T>;
        return static_cast<bits_type>(boundaries[i + 1]) - static_cast<bits_type>(boundaries[i]);
    }

    /// Returns true if no boundary is below the previous one. It compares only the first and the last boundary. This is
    /// enough if the lengths modulo 2^32 or 2^64 have a sum below 2^31: a decreasing step would then make the last
    /// boundary smaller than the first.
    [[nodiscard]] bool unwrapped(std::size_t first, std::size_t n) const {
        return boundaries[first] <= boundaries[first + n];
    }

    [[nodiscard]] std::uint64_t total(std::size_t first, std::size_t n, std::uint32_t /*unchecked_sum*/) const {
        return static_cast<std::uint64_t>(boundaries[first + n] - boundaries[first]);
    }
};

/// Sums over the lengths that are added in one call: their number, tokens and squares, but not the pairs of masks.
struct fixed_sums {
    std::uint64_t count = 0;  ///< number of lengths above 0
    std::uint64_t tokens = 0;
    std::uint64_t squares = 0;

    /// Adds one length. Only the sum of squares is checked for overflow. A length L adds at most L² tokens and, for the
    /// library's masks, at most L² pairs, so these sums cannot overflow before the squares.
    constexpr void add(std::uint32_t length) {
        squares = checked(squares, "squares") + std::uint64_t{length} * length;
        tokens += length;
        count += length != 0 ? 1U : 0U;
    }

    [[nodiscard]] friend constexpr bool operator==(const fixed_sums&, const fixed_sums&) = default;
};

/// Sums over the lengths that are added in one call, including the pairs of each mask. The caller owns the memory for
/// the pairs, one integer for each mask.
struct borrowed_sums : fixed_sums {
    using fixed_sums::add;

    std::uint64_t* pairs;
    std::size_t masks;

    constexpr borrowed_sums(const mask_set& for_masks, std::uint64_t* memory) : pairs(memory), masks(for_masks.size()) {
        for (std::size_t m = 0; m < masks; ++m) {
            pairs[m] = 0;
        }
    }
    /// Creates the sums over one length.
    constexpr borrowed_sums(const mask_set& for_masks, std::uint64_t* memory, std::uint32_t length)
        : pairs(memory), masks(for_masks.size()) {
        add(length);
        for (std::size_t m = 0; m < masks; ++m) {
            pairs[m] = for_masks[m].of_length(length);
        }
    }
    /// Creates the sums over one block of lengths.
    borrowed_sums(const mask_set& for_masks, std::uint64_t* memory, const length_block& block)
        : fixed_sums{block.count, block.tokens, block.squares}, pairs(memory), masks(for_masks.size()) {
        for (std::size_t m = 0; m < masks; ++m) {
            pairs[m] = for_masks[m].over(block);
        }
    }

    /// Adds an amount to the sum of mask `m`. Throws `overflow` above 64 bits. This happens only for a user's
    /// statistic: with the library's masks the sum of squares overflows before the pairs.
    constexpr void add(std::size_t m, const statistic& which, std::uint64_t amount) {
        pairs[m] += amount;
        if (pairs[m] < amount) {
            throw overflow(which.name(), "the sum does not fit 64 bits: count fewer samples");
        }
    }
};

/// Sums over sequences that have cached tokens (a past).
struct past_sums : borrowed_sums {
    std::uint64_t cached = 0;

    constexpr explicit past_sums(const borrowed_sums& sums) : borrowed_sums(sums) {}
};

/// The masks of a tally, and the memory in which sums over lengths are computed. The memory belongs to the tally and
/// has one integer for each mask and view.
class sum_space {
  public:
    constexpr sum_space(const mask_set& masks, std::uint64_t* useful, std::uint64_t* padded)
        : masks_(&masks), memory_{useful, padded} {}

    [[nodiscard]] constexpr const mask_set& masks() const { return *masks_; }
    /// Returns new sums in the memory of one view. They start at 0, or at the sums over the length or block that is
    /// passed as `unit`.
    template <class... Unit>
    [[nodiscard]] constexpr borrowed_sums sums(view seen, const Unit&... unit) const {
        return {*masks_, memory_[static_cast<std::size_t>(seen)], unit...};
    }

  private:
    const mask_set* masks_;
    std::uint64_t* memory_[2];
};

/// Adds the lengths first … last − 1 to the sums, one by one (the plain form).
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

/// Fills a block with the lengths first … first + n − 1. Returns false if a length is too long for a block or is
/// invalid. Compilers vectorize the loop with SSE2: g++ from -O3, clang from -O2.
template <class List>
[[nodiscard, gnu::always_inline]] inline bool fill(length_block& block, const List& list, std::size_t first,
                                                   std::size_t n) {
    // `__restrict` is correct, because the list and the block do not overlap.
    std::uint32_t* const __restrict lengths = block.lengths;
    decltype(list.unchecked(0)) bits = 0;
    std::uint32_t empty = 0;
    std::uint32_t tokens = 0;
    std::uint64_t squares = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const auto length = list.unchecked(first + i);
        const auto narrow = static_cast<std::uint32_t>(length);
        bits |= length;
        empty += narrow == 0 ? 1U : 0U;
        tokens += narrow;
        squares += std::uint64_t{narrow} * narrow;
        lengths[i] = narrow;
    }
    if (bits > length_block::longest || !list.unwrapped(first, n)) {
        return false;
    }
    block.size = n;
    block.count = n - empty;
    block.tokens = list.total(first, n, tokens);
    block.squares = squares;
    return true;
}

/// Adds n lengths in blocks. If a block has a length of 2²² or more, adds the block's lengths one by one.
template <class List>
[[gnu::noinline]] void add_blocks(const List& list, std::size_t n, const mask_set& masks, borrowed_sums& sums) {
    length_block block;
    for (std::size_t first = 0; first < n; first += length_block::most) {
        const std::size_t size = smaller(n - first, length_block::most);
        if (!fill(block, list, first, size) || sums.squares + block.squares < sums.squares) {
            add_plainly(list, first, first + size, masks, sums);
            continue;
        }
        sums.count += block.count;
        sums.tokens += block.tokens;
        sums.squares += block.squares;
        for (std::size_t m = 0; m < masks.size(); ++m) {
            sums.add(m, masks[m], masks[m].over(block));
        }
    }
}

/// Returns the sums of the first `n` lengths. Most batches fit one block. The sums of a single block are written
/// without clearing the memory first.
template <class List>
[[nodiscard]] constexpr borrowed_sums sums_of(const List& list, std::size_t n, const sum_space& space, view seen) {
    if (!std::is_constant_evaluated()) {
        try {
            length_block block;
            if (n <= length_block::most && fill(block, list, 0, n)) {
                return space.sums(seen, block);
            }
            borrowed_sums sums = space.sums(seen);
            add_blocks(list, n, space.masks(), sums);
            return sums;
        } catch (const error&) {  // a user's statistic threw; the code below throws the exact error
        }
    }
    borrowed_sums sums = space.sums(seen);
    add_plainly(list, 0, n, space.masks(), sums);
    return sums;
}

/// If a tally without masks gets fewer lengths than this, adding them one by one is faster.
inline constexpr std::size_t short_input = 8;

/// Adds the sums over `n` sequences without padding to both views (useful and padded) of a tally's accumulators. If
/// there are few lengths and no masks, the sums stay in registers.
template <class List, class Accumulators>
[[gnu::always_inline]] constexpr void add_filled(List list, std::size_t n, Accumulators& accumulators) {
    const sum_space space = accumulators.space();
    if (n < short_input && space.masks().empty()) {
        fixed_sums sums;
        for (std::size_t i = 0; i < n; ++i) {
            sums.add(list.checked(i));
        }
        accumulators.commit(sums, sums);
        return;
    }
    const borrowed_sums sums =
        n == 1 ? space.sums(view::useful, list.checked(0)) : sums_of(list, n, space, view::useful);
    accumulators.commit(sums, sums);
}

/// Returns the lengths between `n` boundaries. Throws `error` unless the first boundary is 0.
template <integer T>
[[nodiscard, gnu::always_inline]] constexpr boundary_lengths<T> between(const T* boundaries, std::size_t n,
                                                                        const char* field) {
    if (n == 0) {
        refuse(field, {"must have at least one boundary, the 0 at its beginning, got none"});
    }
    if (boundaries[0] != 0) {
        require_start(field, boundaries[0]);
    }
    return {boundaries, field};
}

/// Throws the error that adding the lengths first … last − 1 to `sums` would throw. Adds nothing.
template <class List>
constexpr void check_more(const List& list, std::size_t first, std::size_t last, const fixed_sums& sums) {
    fixed_sums more = sums;
    for (std::size_t i = first; i < last; ++i) {
        more.add(list.checked(i));
    }
}

/// Throws `error` if one of the first `sequences` slots is shorter than its sequence.
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
