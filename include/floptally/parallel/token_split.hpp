// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/length_sums.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/index_range.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Splits of a row's tokens over context-parallel ranks, and the alignment of slots that they need.

namespace floptally {

/// The alignment of slots with which context-parallel ranks get equal shards, and tensor-parallel ranks (sequence
/// parallelism) equal parts of these: tp·cp·2, and tp without context parallelism. `extra` is one more number that must
/// divide it, such as FP8's 16; the result is the least common multiple.
[[nodiscard]] constexpr std::uint64_t cp_alignment(std::uint64_t tp, std::uint64_t cp, std::uint64_t extra = 1) {
    require_positive(tp, "tp");
    require_positive(cp, "cp");
    require_positive(extra, "extra");
    const std::uint64_t shards = cp == 1 ? tp : checked(tp, "cp") * cp * 2;
    return checked(shards, "extra") * (extra / std::gcd(shards, extra));
}

/// The smallest multiple of `alignment` that holds `length` tokens.
[[nodiscard]] constexpr std::uint64_t aligned_length(std::uint64_t length, std::uint64_t alignment) {
    require_positive(alignment, "alignment");
    const std::uint64_t rest = length % alignment;
    return rest == 0 ? length : checked(length, "length") + (alignment - rest);
}

/// Boundaries of the slots of a pack in which each sequence is padded to a multiple of `alignment`.
template <detail::integer_range Boundaries>
[[nodiscard]] inline std::vector<std::uint64_t> aligned_cu_seqlens(const Boundaries& cu_seqlens,
                                                                   std::uint64_t alignment) {
    const std::span boundaries{cu_seqlens};
    const auto lengths = detail::between(boundaries.data(), boundaries.size(), "cu_seqlens");
    std::vector<std::uint64_t> slots{0};
    for (std::size_t i = 0; i + 1 < boundaries.size(); ++i) {
        slots.push_back(checked(slots.back(), "cu_seqlens") + aligned_length(lengths.checked(i), alignment));
    }
    return slots;
}

namespace detail {

constexpr void require_cp(std::uint64_t cp) {
    if (cp == 0 || cp > 0xFFFF'FFFFU) {
        refuse("cp", {"must be from 1 to 4294967295, got ", cp});
    }
}

constexpr void require_cp_rank(std::uint64_t cp, std::uint64_t rank) {
    require_cp(cp);
    require_below(cp, "cp", rank, "cp_rank");
}

/// Throws where `tokens` is no multiple of `shards`, which the error calls `divisor`.
constexpr void require_multiple(std::string_view field, std::uint64_t tokens, std::uint64_t shards,
                                std::string_view divisor) {
    if (tokens % shards != 0) {
        refuse(field, {"must be a multiple of ", divisor, " = ", shards, ", got ", tokens});
    }
}

/// Throws where `tokens` cannot be cut into 2cp equal chunks. One rank alone needs none.
constexpr void require_zigzag(std::string_view field, std::uint64_t tokens, std::uint64_t cp) {
    if (cp != 1) {
        require_multiple(field, tokens, 2 * cp, "2 x cp");
    }
}

}  // namespace detail

/// The two ranges of a sequence that rank `rank` of `cp` holds in a zigzag split: of 2cp chunks the one at `rank`, and
/// the one as far from the end. Together they have equal causal work on each rank. Both are empty for a sequence of no
/// token.
///
/// One rank alone (cp 1) has both halves of any number of tokens; of an odd number the second is longer.
[[nodiscard]] constexpr std::array<index_range, 2> zigzag_ranges(std::uint64_t tokens, std::uint64_t cp,
                                                                 std::uint64_t rank) {
    detail::require_cp_rank(cp, rank);
    detail::require_zigzag("tokens", tokens, cp);
    const std::uint64_t chunk = tokens / (2 * cp);
    const std::uint64_t last = cp == 1 ? tokens - chunk : chunk;
    return {{{rank * chunk, (rank + 1) * chunk}, {tokens - chunk * rank - last, tokens - chunk * rank}}};
}

/// The range of tokens that rank `rank` of `cp` holds where each has one run of them.
[[nodiscard]] constexpr index_range contiguous_range(std::uint64_t tokens, std::uint64_t cp, std::uint64_t rank) {
    detail::require_cp_rank(cp, rank);
    detail::require_multiple("tokens", tokens, cp, "cp");
    const std::uint64_t shard = tokens / cp;
    return {rank * shard, (rank + 1) * shard};
}

/// A split of a row's tokens over the ranks of a context-parallel group. All ranks hold equally many.
class token_split {
  public:
    /// A zigzag split of the row as one sequence: chunks may end inside the sequences of a pack.
    [[nodiscard]] static token_split zigzag(std::uint64_t tokens, std::uint64_t cp) {
        static_cast<void>(zigzag_ranges(tokens, cp, 0));
        return {{0, tokens}, cp, true};
    }

    /// A split of the row into one run of tokens for each rank, as Ulysses has it outside of attention.
    [[nodiscard]] static token_split contiguous(std::uint64_t tokens, std::uint64_t cp) {
        static_cast<void>(contiguous_range(tokens, cp, 0));
        return {{0, tokens}, cp, false};
    }

    /// A zigzag split of each sequence of a pack, by the boundaries of its slots: Transformer Engine's THD layout. A
    /// BSHD batch is a pack of equal slots.
    template <detail::integer_range Boundaries>
    [[nodiscard]] static token_split zigzag_of_each(const Boundaries& cu_seqlens_padded, std::uint64_t cp) {
        constexpr std::string_view field = "cu_seqlens_padded";
        detail::require_cp(cp);
        const std::span padded{cu_seqlens_padded};
        const auto slots = detail::between(padded.data(), padded.size(), field);
        std::vector<std::uint64_t> boundaries{0};
        for (std::size_t i = 0; i + 1 < padded.size(); ++i) {
            const std::uint32_t slot = slots.checked(i);
            detail::require_zigzag(indexed(field, i + 1).append(" - ").append(indexed(field, i)), slot, cp);
            boundaries.push_back(boundaries.back() + slot);
        }
        return {std::move(boundaries), cp, true};
    }

    [[nodiscard]] std::uint64_t cp() const { return cp_; }
    [[nodiscard]] std::uint64_t tokens() const { return boundaries_.back(); }
    [[nodiscard]] std::uint64_t tokens_per_rank() const { return tokens() / cp_; }

    /// The ranges of tokens that a rank holds, ascending and without empty ones: the order of its own tokens.
    [[nodiscard]] std::vector<index_range> ranges(std::uint64_t rank) const {
        detail::require_cp_rank(cp_, rank);
        std::vector<index_range> held;
        for (std::size_t i = 0; i + 1 < boundaries_.size(); ++i) {
            const std::uint64_t start = boundaries_[i];
            const auto hold = [&](const index_range& range) {
                if (range.size() != 0) {
                    held.push_back({start + range.first, start + range.last});
                }
            };
            const std::uint64_t tokens = boundaries_[i + 1] - start;
            if (zigzag_) {
                const std::array<index_range, 2> both = zigzag_ranges(tokens, cp_, rank);
                hold(both[0]);
                hold(both[1]);
            } else {
                hold(contiguous_range(tokens, cp_, rank));
            }
        }
        return held;
    }

    /// The tokens that a rank holds, with which `index_select` makes its shard of the row.
    [[nodiscard]] std::vector<std::uint64_t> indices(std::uint64_t rank) const {
        std::vector<std::uint64_t> held;
        append_indices(rank, held);
        return held;
    }

    /// The token at each place of an all-gather of the shards.
    [[nodiscard]] std::vector<std::uint64_t> gathered_order() const {
        std::vector<std::uint64_t> tokens;
        for (std::uint64_t rank = 0; rank < cp_; ++rank) {
            append_indices(rank, tokens);
        }
        return tokens;
    }

    /// The place of each token in an all-gather of the shards, with which `index_select` restores the row.
    [[nodiscard]] std::vector<std::uint64_t> restoring_order() const {
        const std::vector<std::uint64_t> gathered = gathered_order();
        std::vector<std::uint64_t> places(gathered.size());
        std::uint64_t place = 0;
        for (const std::uint64_t token : gathered) {
            places[token] = place++;
        }
        return places;
    }

    [[nodiscard]] friend bool operator==(const token_split&, const token_split&) = default;

  private:
    token_split(std::vector<std::uint64_t> boundaries, std::uint64_t cp, bool zigzag)
        : boundaries_(std::move(boundaries)), cp_(cp), zigzag_(zigzag) {}

    void append_indices(std::uint64_t rank, std::vector<std::uint64_t>& all) const {
        for (const index_range& range : ranges(rank)) {
            for (std::uint64_t token = range.first; token < range.last; ++token) {
                all.push_back(token);
            }
        }
    }

    std::vector<std::uint64_t> boundaries_;  ///< of the sequences that are split
    std::uint64_t cp_;
    bool zigzag_;
};

}  // namespace floptally
