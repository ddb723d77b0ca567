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
/// Splits of a pack's tokens over context-parallel ranks, and the alignment of slots that they need.

namespace floptally::inline v0_3 {

/// Returns the alignment of slots: pad every slot to a multiple of this number of tokens. Context-parallel ranks then
/// get equal shards, and tensor-parallel ranks (sequence parallelism) get equal parts of each shard. The number is
/// tp·cp·2, or tp without context parallelism. `extra` is another number that must divide every slot, such as 16 for
/// FP8; then the result is the least common multiple.
[[nodiscard]] constexpr std::uint64_t cp_alignment(std::uint64_t tp, std::uint64_t cp, std::uint64_t extra = 1) {
    require_positive(tp, "tp");
    require_positive(cp, "cp");
    require_positive(extra, "extra");
    const std::uint64_t shards = cp == 1 ? tp : checked(tp, "cp") * cp * 2;
    return checked(shards, "extra") * (extra / std::gcd(shards, extra));
}

/// Returns the smallest multiple of `alignment` that holds `length` tokens.
[[nodiscard]] constexpr std::uint64_t aligned_length(std::uint64_t length, std::uint64_t alignment) {
    require_positive(alignment, "alignment");
    const std::uint64_t rest = length % alignment;
    return rest == 0 ? length : checked(length, "length") + (alignment - rest);
}

/// Returns the boundaries of the slots of a pack in which each sequence is padded to a multiple of `alignment`.
template <integer_range Boundaries>
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

/// Throws if `tokens` is not a multiple of `shards`. The error names `field`. It calls the number of shards `divisor`,
/// such as "2 x cp".
constexpr void require_multiple(std::string_view field, std::uint64_t tokens, std::uint64_t shards,
                                std::string_view divisor) {
    if (tokens % shards != 0) {
        refuse(field, {"must be a multiple of ", divisor, " = ", shards, ", got ", tokens});
    }
}

/// Throws if `tokens` cannot be cut into 2cp equal chunks. With cp 1 any number is allowed.
constexpr void require_zigzag(std::string_view field, std::uint64_t tokens, std::uint64_t cp) {
    if (cp != 1) {
        require_multiple(field, tokens, 2 * cp, "2 x cp");
    }
}

}  // namespace detail

/// Returns the two ranges of a sequence that rank `rank` of `cp` has in a zigzag split. The sequence is cut into 2cp
/// chunks; the rank has chunk `rank` from the start and chunk `rank` from the end. Each rank then has equal causal
/// work. Both ranges are empty for a sequence without tokens.
///
/// With cp 1 the rank has both halves of the sequence. If the number of tokens is odd, the second half is longer.
[[nodiscard]] constexpr std::array<index_range, 2> zigzag_ranges(std::uint64_t tokens, std::uint64_t cp,
                                                                 std::uint64_t rank) {
    detail::require_cp_rank(cp, rank);
    detail::require_zigzag("tokens", tokens, cp);
    const std::uint64_t chunk = tokens / (2 * cp);
    const std::uint64_t last = cp == 1 ? tokens - chunk : chunk;
    return {{{rank * chunk, (rank + 1) * chunk}, {tokens - chunk * rank - last, tokens - chunk * rank}}};
}

/// Returns the range of tokens that rank `rank` of `cp` has if the sequence is cut into one piece for each rank.
[[nodiscard]] constexpr index_range contiguous_range(std::uint64_t tokens, std::uint64_t cp, std::uint64_t rank) {
    detail::require_cp_rank(cp, rank);
    detail::require_multiple("tokens", tokens, cp, "cp");
    const std::uint64_t shard = tokens / cp;
    return {rank * shard, (rank + 1) * shard};
}

/// A split of a pack's tokens over the ranks of a context-parallel group. All ranks hold equally many tokens.
class token_split {
  public:
    /// Returns a zigzag split of the whole pack as one sequence: rank r has chunks r and 2cp − 1 − r of 2cp. Chunks may
    /// end inside sequences of the pack.
    [[nodiscard]] static token_split zigzag(std::uint64_t tokens, std::uint64_t cp) {
        static_cast<void>(zigzag_ranges(tokens, cp, 0));
        return {{0, tokens}, cp, true};
    }

    /// Returns a split of the pack into one contiguous piece for each rank, as in Ulysses outside of attention.
    [[nodiscard]] static token_split contiguous(std::uint64_t tokens, std::uint64_t cp) {
        static_cast<void>(contiguous_range(tokens, cp, 0));
        return {{0, tokens}, cp, false};
    }

    /// Returns a zigzag split of each sequence of a pack, by the boundaries of its slots: Transformer Engine's THD
    /// layout. A BSHD batch is a pack of equal slots.
    template <integer_range Boundaries>
    [[nodiscard]] static token_split zigzag_of_each(const Boundaries& cu_seqlens_padded, std::uint64_t cp) {
        constexpr const char* field = "cu_seqlens_padded";
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

    /// Returns the ranges of tokens that a rank holds, ascending and without empty ranges. The rank's tokens are in
    /// this order.
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
                const std::array<index_range, 2> halves = zigzag_ranges(tokens, cp_, rank);
                hold(halves[0]);
                hold(halves[1]);
            } else {
                hold(contiguous_range(tokens, cp_, rank));
            }
        }
        return held;
    }

    /// Returns the indices of the tokens that a rank holds. Use them in `index_select` to cut the rank's shard out of
    /// the pack.
    [[nodiscard]] std::vector<std::uint64_t> indices(std::uint64_t rank) const {
        std::vector<std::uint64_t> held;
        append_indices(rank, held);
        return held;
    }

    /// Returns the tokens in the order in which an all-gather of the shards returns them, as indices into the pack.
    [[nodiscard]] std::vector<std::uint64_t> gathered_order() const {
        std::vector<std::uint64_t> tokens;
        for (std::uint64_t rank = 0; rank < cp_; ++rank) {
            append_indices(rank, tokens);
        }
        return tokens;
    }

    /// Returns the position of each token of the pack in an all-gather of the shards. Use these in `index_select` to
    /// restore the pack.
    [[nodiscard]] std::vector<std::uint64_t> restoring_order() const {
        const std::vector<std::uint64_t> gathered = gathered_order();
        std::vector<std::uint64_t> positions(gathered.size());
        std::uint64_t position = 0;
        for (const std::uint64_t token : gathered) {
            positions[token] = position++;
        }
        return positions;
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

    std::vector<std::uint64_t> boundaries_;  ///< boundaries of the sequences that are split, in tokens
    std::uint64_t cp_;
    bool zigzag_;
};

}  // namespace floptally
