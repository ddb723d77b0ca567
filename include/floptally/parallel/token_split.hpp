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

#include <floptally/detail/checked.hpp>
#include <floptally/detail/length_sums.hpp>
#include <floptally/error.hpp>
#include <floptally/parallel/index_range.hpp>

namespace floptally {

/// What slots are aligned to so that context-parallel ranks get equal shards, and tensor-parallel ones (sequence
/// parallelism) equal parts of those: tp·cp·2, tp without context parallelism, where one rank has all tokens and any
/// number of them can be split. `extra` is one more number that must divide it, as FP8's 16: the least common multiple.
[[nodiscard]] constexpr std::uint64_t cp_alignment(std::uint64_t tp, std::uint64_t cp, std::uint64_t extra = 1) {
    require_positive(tp, "tp");
    require_positive(cp, "cp");
    require_positive(extra, "extra");
    const std::uint64_t shards = cp == 1 ? tp : checked_multiply(checked_multiply(tp, cp, "cp"), 2, "cp");
    return checked_multiply(shards, extra / std::gcd(shards, extra), "extra");
}

/// The smallest multiple of `alignment` that holds `length` tokens.
[[nodiscard]] constexpr std::uint64_t aligned_length(std::uint64_t length, std::uint64_t alignment) {
    require_positive(alignment, "alignment");
    const std::uint64_t rest = length % alignment;
    return rest == 0 ? length : checked_add(length, alignment - rest, "length");
}

/// Boundaries of the slots of a pack in which each sequence is padded to a multiple of `alignment`.
template <detail::integer_range Boundaries>
[[nodiscard]] inline std::vector<std::uint64_t> aligned_cu_seqlens(const Boundaries& cu_seqlens,
                                                                   std::uint64_t alignment) {
    const std::span given{cu_seqlens};
    const auto lengths = detail::between(given.data(), given.size(), "cu_seqlens");
    std::vector<std::uint64_t> slots{0};
    for (std::size_t i = 0; i + 1 < given.size(); ++i) {
        slots.push_back(checked_add(slots.back(), aligned_length(lengths.checked(i), alignment), "cu_seqlens"));
    }
    return slots;
}

namespace detail {

constexpr void require_cp(std::uint64_t cp) {
    if (cp == 0 || cp > 0xFFFF'FFFFU) {
        throw error("cp", "must be from 1 to 4294967295, got " + std::to_string(cp));
    }
}

constexpr void require_cp_rank(std::uint64_t cp, std::uint64_t rank) {
    require_cp(cp);
    require_below(cp, "cp", rank, "cp_rank");
}

/// Throws where `tokens` are no multiple of `shards` shards, which the error calls `divisor`.
constexpr void require_multiple(std::string_view field, std::uint64_t tokens, std::uint64_t shards,
                                std::string_view divisor) {
    if (tokens % shards != 0) {
        throw error(field, std::string("must be a multiple of ")
                               .append(divisor)
                               .append(" = ")
                               .append(std::to_string(shards))
                               .append(", got ")
                               .append(std::to_string(tokens)));
    }
}

/// 2cp equal chunks, two for each rank: nothing to divide where there is one rank.
constexpr void require_zigzag(std::string_view field, std::uint64_t tokens, std::uint64_t cp) {
    if (cp != 1) {
        require_multiple(field, tokens, 2 * cp, "2 x cp");
    }
}

}  // namespace detail

/// What rank `rank` of `cp` holds of a sequence in a zigzag split: of 2cp chunks the one at `rank`, and the one as far
/// from the end. Both ends together have the same causal work on each rank. Empty ranges for a sequence of no token.
///
/// One rank alone (cp 1) has both halves, whatever the number of tokens; the second is the longer one where it is odd.
[[nodiscard]] constexpr std::array<index_range, 2> zigzag_ranges(std::uint64_t tokens, std::uint64_t cp,
                                                                 std::uint64_t rank) {
    detail::require_cp_rank(cp, rank);
    detail::require_zigzag("tokens", tokens, cp);
    const std::uint64_t chunk = tokens / (2 * cp);
    const std::uint64_t last = cp == 1 ? tokens - chunk : chunk;
    return {{{rank * chunk, (rank + 1) * chunk}, {tokens - chunk * rank - last, tokens - chunk * rank}}};
}

/// What rank `rank` of `cp` holds where each has one run of tokens.
[[nodiscard]] constexpr index_range contiguous_range(std::uint64_t tokens, std::uint64_t cp, std::uint64_t rank) {
    detail::require_cp_rank(cp, rank);
    detail::require_multiple("tokens", tokens, cp, "cp");
    const std::uint64_t shard = tokens / cp;
    return {rank * shard, (rank + 1) * shard};
}

/// Which rank of a context-parallel group holds which tokens of a row. All hold equally many.
class token_split {
  public:
    /// The row as one sequence, or a pack as if it were one: chunks end where they end, also inside sequences.
    [[nodiscard]] static token_split zigzag(std::uint64_t tokens, std::uint64_t cp) {
        static_cast<void>(zigzag_ranges(tokens, cp, 0));
        return {{0, tokens}, cp, true};
    }

    /// The same, one run of tokens a rank; what Ulysses has outside of attention.
    [[nodiscard]] static token_split contiguous(std::uint64_t tokens, std::uint64_t cp) {
        static_cast<void>(contiguous_range(tokens, cp, 0));
        return {{0, tokens}, cp, false};
    }

    /// Each sequence of a pack on its own, by the boundaries of the slots: Transformer Engine's THD layout. A BSHD
    /// batch is a pack of equal slots.
    template <detail::integer_range Boundaries>
    [[nodiscard]] static token_split zigzag_of_each(const Boundaries& cu_seqlens_padded, std::uint64_t cp) {
        constexpr std::string_view field = "cu_seqlens_padded";
        detail::require_cp(cp);
        const std::span given{cu_seqlens_padded};
        const auto slots = detail::between(given.data(), given.size(), field);
        std::vector<std::uint64_t> boundaries{0};
        for (std::size_t i = 0; i + 1 < given.size(); ++i) {
            const std::uint32_t slot = slots.checked(i);
            detail::require_zigzag(indexed(field, i + 1).append(" - ").append(indexed(field, i)), slot, cp);
            boundaries.push_back(boundaries.back() + slot);
        }
        return {std::move(boundaries), cp, true};
    }

    [[nodiscard]] std::uint64_t cp() const { return cp_; }
    [[nodiscard]] std::uint64_t tokens() const { return boundaries_.back(); }
    [[nodiscard]] std::uint64_t tokens_per_rank() const { return tokens() / cp_; }

    /// What a rank holds, ascending and none of it empty: the order of its own tokens.
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

    /// The same, token by token: what `index_select` takes to make the rank's shard of the row.
    [[nodiscard]] std::vector<std::uint64_t> indices(std::uint64_t rank) const {
        std::vector<std::uint64_t> held;
        append_indices(rank, held);
        return held;
    }

    /// The tokens of all ranks one after another: what an all-gather of the shards has at each place.
    [[nodiscard]] std::vector<std::uint64_t> gathered_order() const {
        std::vector<std::uint64_t> tokens;
        for (std::uint64_t rank = 0; rank < cp_; ++rank) {
            append_indices(rank, tokens);
        }
        return tokens;
    }

    /// Its inverse: where an all-gather has each token, so that `index_select` restores the row.
    [[nodiscard]] std::vector<std::uint64_t> restoring_order() const {
        const std::vector<std::uint64_t> gathered = gathered_order();
        std::vector<std::uint64_t> places(gathered.size());
        for (std::size_t place = 0; place < gathered.size(); ++place) {
            places[gathered[place]] = place;
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

    std::vector<std::uint64_t> boundaries_;  ///< of what is split on its own
    std::uint64_t cp_;
    bool zigzag_;
};

}  // namespace floptally
