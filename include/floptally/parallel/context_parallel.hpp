// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <floptally/batch/context_shard.hpp>
#include <floptally/batch/split_tally.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/batch/tally_accumulators.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/index_range.hpp>
#include <floptally/parallel/placed_sequences.hpp>
#include <floptally/parallel/token_split.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The attended pairs and the tally of each rank of a context-parallel group.

namespace floptally::inline v0_3 {

/// Returns the attended pairs of the queries `queries.first` … `queries.last` − 1 of a sequence with all keys of that
/// sequence. Queries after the end of the sequence have no pairs. For `mask::encoder` and its windows the queries are
/// the encoder's tokens.
///
/// The function subtracts two numbers: the pairs of all queries from `queries.first` on, minus the pairs of all queries
/// from `queries.last` on. In both, the tokens before the first query are treated as cached (`past`). So the queries
/// attend to the same keys under every mask. Some statistics are not 0 even for a text without queries, such as
/// `unit::powers(0, 2)`. That amount belongs to the range that begins at query 0. The function throws if a statistic is
/// smaller for more queries, because the difference would be negative.
[[nodiscard]] constexpr std::uint64_t pairs_of_queries(const statistic& which, const sequence& s,
                                                       const index_range& queries) {
    const bool other_side = which.is_of_other_side();
    const std::uint64_t end = other_side ? s.keys : s.length;
    const index_range range = queries.clipped(end);
    const bool is_empty = range.first >= range.last;
    if (is_empty && (other_side || queries.first != 0)) {
        return 0;
    }
    // The pairs are those of a window over the encoder's s.keys tokens.
    if (which.is<mask_statistics::encoder_window>()) {
        return pairs_of_queries(which.as<mask_statistics::encoder_window>().own(), {.length = s.keys}, range);
    }
    if (other_side) {
        return range.size() * s.keys;
    }
    const auto pairs_from = [&](std::uint64_t query) {
        sequence rest = s;
        rest.length = static_cast<std::uint32_t>(end - query);
        rest.past = static_cast<std::uint32_t>(s.past + query);
        return which.pairs(rest);
    };
    const std::uint64_t without_queries = queries.first == 0 ? pairs_from(end) : 0;
    if (is_empty) {
        return without_queries;
    }
    const std::uint64_t more = pairs_from(range.first);
    const std::uint64_t less = pairs_from(range.last);
    if (more < less) {
        detail::refuse(
            which.name(),
            {"counts ", more, " for queries ", range.first, " to ", end, ", but ", less, " for queries ", range.last,
             " to ", end,
             ": a statistic that is split over ranks must not count less for more queries; use another statistic"});
    }
    return more - less + without_queries;
}

/// A pack of sequences that is split over the ranks of a context-parallel group.
///
/// The split is exact. The tallies of all ranks (`tally_of`) add up to the tally of the pack, accumulator by
/// accumulator. The FLOPs of all ranks also add up to those of the pack, for any masks and any convention.
class context_parallel_pack {
  public:
    /// Makes a pack where each rank holds all keys of cross attention (the encoder's output). The work of the encoder
    /// counts once, on the rank that has the first token of the sequence.
    context_parallel_pack(placed_sequences pack, token_split tokens)
        : context_parallel_pack(std::move(pack), std::move(tokens), std::optional<token_split>{}) {}

    /// Makes a pack where the keys of cross attention are split over the ranks too. `other_side` is the split of these
    /// keys.
    context_parallel_pack(placed_sequences pack, token_split tokens, token_split other_side)
        : context_parallel_pack(std::move(pack), std::move(tokens), std::optional(std::move(other_side))) {}

    [[nodiscard]] std::uint64_t cp() const { return tokens_.cp(); }
    [[nodiscard]] const placed_sequences& pack() const { return pack_; }
    [[nodiscard]] const token_split& split() const { return tokens_; }

    /// Returns the number of tokens of a rank: real tokens in the useful view, tokens with padding in the padded view.
    [[nodiscard]] std::uint64_t tokens(std::uint64_t rank, view seen) const {
        std::uint64_t sum = 0;
        each_part(rank, [&](const slotted_sequence& placed, const index_range& queries) {
            sum += queries.clipped(view_of(placed, seen).length).size();
        });
        return sum;
    }

    /// Returns the attended pairs of a rank's queries in the view `seen`.
    [[nodiscard]] std::uint64_t pairs(std::uint64_t rank, const statistic& which, view seen) const {
        checked sum(0, "pairs");
        const auto add = [&](const slotted_sequence& placed, const index_range& queries) {
            sum += pairs_of_queries(which, view_of(placed, seen), queries);
        };
        if (which.is_of_other_side()) {
            each_key_part(rank, add);
        } else {
            each_part(rank, add);
        }
        return sum;
    }

    /// Returns the number of tokens of every rank. You can pass the result to `imbalance_of`. `pairs(which, seen)`
    /// returns the number of attended pairs of every rank.
    [[nodiscard]] std::vector<std::uint64_t> tokens(view seen) const {
        return loads_of_ranks([&](std::uint64_t rank) { return tokens(rank, seen); });
    }
    [[nodiscard]] std::vector<std::uint64_t> pairs(const statistic& which, view seen) const {
        return loads_of_ranks([&](std::uint64_t rank) { return pairs(rank, which, seen); });
    }

    /// Returns a rank's shard of the pack's tally.
    ///
    /// The shard counts the rank's queries, and for them the attended pairs, the cached tokens and the encoder's
    /// tokens. Each sequence counts in `accumulator::count` on the rank that has its first token.
    ///
    /// In `accumulator::squares` each rank gets a part of the square of a sequence's length. By default, a rank with
    /// the queries from a to b − 1 adds b² − a², which fits causal attention. If the model attends in both directions,
    /// pass `mask::bidirectional()` as `square_rows`. A rank then adds the sequence's length for each of its queries.
    /// In both cases the ranks' values add up to the square, and each rank's FLOPs are exact.
    ///
    /// The tally is marked with the rank and the number of ranks. A reduction throws if this mark contradicts the
    /// scopes or the layout of the reduction.
    [[nodiscard]] split_tally tally_of(std::uint64_t rank, const mask_set& masks,
                                       const statistic& square_rows = mask::causal()) const {
        const bool bidirectional = square_rows == mask::bidirectional();
        if (!bidirectional && square_rows != mask::causal()) {
            throw error("square_rows", "must be causal or bidirectional, got " + square_rows.name());
        }
        shard_sums real{tally{masks}};
        shard_sums mock = real;
        const auto side_of = [&](const slotted_sequence& placed) -> shard_sums& {
            return placed.real.length == 0 ? mock : real;
        };
        each_part(rank, [&](const slotted_sequence& placed, const index_range& queries) {
            for (const view seen : {view::useful, view::padded}) {
                side_of(placed).add_queries(seen, view_of(placed, seen), queries, bidirectional);
            }
        });
        each_key_part(rank, [&](const slotted_sequence& placed, const index_range& queries) {
            for (const view seen : {view::useful, view::padded}) {
                side_of(placed).add_keys(seen, view_of(placed, seen), queries);
            }
        });
        const cp_rank shard{.cp = cp(), .rank = rank};
        return {real.sum(shard), mock.sum(shard)};
    }

  private:
    /// Adds up the accumulators of one rank's tally.
    class shard_sums {
      public:
        explicit shard_sums(const tally& empty) : masks_(empty.masks()), accumulators_(empty.accumulators().size()) {}

        // Adds without overflow checks: the sums of one rank are at most those of the whole pack, and these did not
        // overflow.
        void add_queries(view seen, const sequence& s, const index_range& range, bool bidirectional) {
            const index_range queries = range.clipped(s.length);
            const std::uint64_t n = queries.size();
            accumulator_of(seen, accumulator::count) += range.first == 0 && s.length != 0 ? 1U : 0U;
            accumulator_of(seen, accumulator::tokens) += n;
            accumulator_of(seen, accumulator::squares) +=
                bidirectional ? n * s.length : queries.last * queries.last - queries.first * queries.first;
            accumulator_of(seen, accumulator::cached) += n * s.past;
            accumulator_of(seen, accumulator::crossed) += n * s.keys;
            add_pairs(seen, s, range, false);
        }

        void add_keys(view seen, const sequence& s, const index_range& range) {
            const index_range keys = range.clipped(s.keys);
            accumulator_of(seen, accumulator::keys) += keys.size();
            add_pairs(seen, s, range, true);
        }

        [[nodiscard]] tally sum(const cp_rank& shard) const {
            tally all = tally::from_accumulators(masks_, accumulators_);
            all.mark_shard(shard);
            return all;
        }

      private:
        void add_pairs(view seen, const sequence& s, const index_range& queries, bool other_side) {
            for (std::size_t i = 0; i < masks_.size(); ++i) {
                if (masks_[i].in() == modality::text && (masks_[i].is_of_other_side()) == other_side) {
                    std::uint64_t& sum =
                        accumulators_[offset(seen) + detail::tally_accumulators::before_masks(masks_) + i];
                    sum = checked(sum, "pairs") + pairs_of_queries(masks_[i], s, queries);
                }
            }
        }

        [[nodiscard]] std::uint64_t& accumulator_of(view seen, accumulator which) {
            return accumulators_[offset(seen) + static_cast<std::size_t>(which)];
        }
        [[nodiscard]] std::size_t offset(view seen) const {
            return seen == view::useful ? 0 : accumulators_.size() / 2;
        }

        mask_set masks_;
        std::vector<std::uint64_t> accumulators_;
    };

    context_parallel_pack(placed_sequences pack, token_split tokens, std::optional<token_split> other_side)
        : pack_(std::move(pack)), tokens_(std::move(tokens)), other_side_(std::move(other_side)) {
        require_size("split", tokens_, pack_.tokens());
        if (other_side_) {
            require_size("other_side", *other_side_, pack_.key_boundaries().back());
            if (other_side_->cp() != cp()) {
                throw error("other_side", "must be split over cp = " + std::to_string(cp()) +
                                              " ranks, as the pack is, got " + std::to_string(other_side_->cp()));
            }
        }
    }

    static void require_size(const char* field, const token_split& split, std::uint64_t slots) {
        if (split.tokens() != slots) {
            throw error(field, "must have the " + std::to_string(slots) + " tokens of the pack, got " +
                                   std::to_string(split.tokens()));
        }
    }

    [[nodiscard]] static const sequence& view_of(const slotted_sequence& placed, view seen) {
        return seen == view::useful ? placed.real : placed.slot;
    }

    /// Calls `visit(sequence, queries)` for each range of consecutive tokens of one sequence that a rank has. Sequence
    /// i lies between `boundaries[i]` and `boundaries[i + 1]`.
    template <class Visit>
    void each_held(const token_split& split, const std::vector<std::uint64_t>& boundaries, std::uint64_t rank,
                   Visit visit) const {
        std::size_t i = 0;
        for (const index_range& held : split.ranges(rank)) {
            while (boundaries[i + 1] <= held.first) {
                ++i;
            }
            for (std::size_t cut = i; boundaries[cut] < held.last; ++cut) {
                const std::uint64_t start = boundaries[cut];
                const index_range queries{std::max(held.first, start) - start,
                                          std::min(held.last, boundaries[cut + 1]) - start};
                if (queries.size() != 0) {
                    visit(pack_.sequences()[cut], queries);
                }
            }
        }
    }

    /// Calls `visit(sequence, queries)` for a rank's tokens. A sequence with an empty slot has no first token, so rank
    /// 0 counts the sequence, with no queries.
    template <class Visit>
    void each_part(std::uint64_t rank, Visit visit) const {
        each_held(tokens_, pack_.boundaries(), rank, visit);
        for (const slotted_sequence& placed : pack_.sequences()) {
            if (rank == 0 && placed.slot.length == 0) {
                visit(placed, index_range{});
            }
        }
    }

    /// Calls `visit(sequence, tokens)` for a rank's encoder tokens, the keys of cross attention. Rank 0 counts the
    /// sequences with an empty slot.
    template <class Visit>
    void each_key_part(std::uint64_t rank, Visit visit) const {
        if (other_side_) {
            each_held(*other_side_, pack_.key_boundaries(), rank, visit);
            return;
        }
        each_part(rank, [&](const slotted_sequence& placed, const index_range& queries) {
            if (queries.first == 0) {
                visit(placed, {0, placed.slot.keys});
            }
        });
    }

    template <class Load>
    [[nodiscard]] std::vector<std::uint64_t> loads_of_ranks(Load load) const {
        std::vector<std::uint64_t> loads;
        for (std::uint64_t rank = 0; rank < cp(); ++rank) {
            loads.push_back(load(rank));
        }
        return loads;
    }

    placed_sequences pack_;
    token_split tokens_;
    std::optional<token_split> other_side_;
};

}  // namespace floptally
