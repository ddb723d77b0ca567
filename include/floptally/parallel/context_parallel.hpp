// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <floptally/batch/context_share.hpp>
#include <floptally/batch/split_tally.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/batch/tally_words.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/index_range.hpp>
#include <floptally/parallel/packed_row.hpp>
#include <floptally/parallel/token_split.hpp>
#include <floptally/rules/mask.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The attended pairs and the tally of each rank of a context-parallel group.

namespace floptally {

/// Attended pairs of the queries `rows.first` … `rows.last` − 1 of a sequence with all of its keys; rows after its end
/// have none. The rows of `mask::encoder` and its windows are those of the other side.
///
/// The rows from x on see the keys they would see if the x before them were cached: they are a sequence with x more of
/// past. That holds for every mask, also for those that look ahead, since the end stays where it is. A range is the
/// difference of two such sequences; a rule that counts less of more rows has no such difference, and throws.
[[nodiscard]] constexpr std::uint64_t pairs_of_rows(const rule& which, const sequence& s, const index_range& rows) {
    const bool other_side = which.is_of_other_side();
    const std::uint64_t end = other_side ? s.keys : s.length;
    const index_range asked = rows.clipped(end);
    if (asked.first >= asked.last) {
        return 0;
    }
    if (which.is<mask_rules::encoder_window>()) {  // the same band over a sequence of the other side's tokens
        return pairs_of_rows(which.as<mask_rules::encoder_window>().own(), {.length = s.keys}, asked);
    }
    if (other_side) {
        return asked.size() * s.keys;
    }
    const auto from = [&](std::uint64_t row) {
        sequence rest = s;
        rest.length = static_cast<std::uint32_t>(end - row);
        rest.past = static_cast<std::uint32_t>(s.past + row);
        return which.pairs(rest);
    };
    const std::uint64_t more = from(asked.first);
    const std::uint64_t less = from(asked.last);
    if (more < less) {
        detail::refuse(which.name(),
                       {"counts ", more, " from row ", asked.first, " of ", end, " on and ", less, " from row ",
                        asked.last, " on: a rule that counts less of more rows has no share of a rank"});
    }
    return more - less;
}

/// A row of slots split over the ranks of a context-parallel group.
///
/// The split is exact: Σ over all ranks of `tally_of` is, word for word, the tally of the row, and so is every FLOP
/// that is counted from it, whatever the masks and the convention.
class context_parallel_row {
  public:
    /// A row of which each rank has the other side of cross attention whole. The other side's own work is counted once,
    /// by the rank that has the first token of the sequence.
    context_parallel_row(packed_row row, token_split tokens)
        : context_parallel_row(std::move(row), std::move(tokens), std::optional<token_split>{}) {}

    /// A row whose other side is split too, by a split of its own.
    context_parallel_row(packed_row row, token_split tokens, token_split other_side)
        : context_parallel_row(std::move(row), std::move(tokens), std::optional(std::move(other_side))) {}

    [[nodiscard]] std::uint64_t cp() const { return tokens_.cp(); }
    [[nodiscard]] const packed_row& row() const { return row_; }
    [[nodiscard]] const token_split& split() const { return tokens_; }

    /// The tokens of a rank: real ones, or slots.
    [[nodiscard]] std::uint64_t tokens(std::uint64_t rank, view seen) const {
        std::uint64_t sum = 0;
        each_part(rank, [&](const slotted_sequence& placed, const index_range& rows) {
            sum += rows.clipped(seen_by(placed, seen).length).size();
        });
        return sum;
    }

    /// The attended pairs of a rank's queries.
    [[nodiscard]] std::uint64_t pairs(std::uint64_t rank, const rule& which, view seen) const {
        checked sum(0, "pairs");
        const auto add = [&](const slotted_sequence& placed, const index_range& rows) {
            sum += pairs_of_rows(which, seen_by(placed, seen), rows);
        };
        if (which.is_of_other_side()) {
            each_key_part(rank, add);
        } else {
            each_part(rank, add);
        }
        return sum;
    }

    /// The tokens (below, the pairs) of every rank, as `imbalance_of` takes them.
    [[nodiscard]] std::vector<std::uint64_t> tokens(view seen) const {
        return of_all_ranks([&](std::uint64_t rank) { return tokens(rank, seen); });
    }
    [[nodiscard]] std::vector<std::uint64_t> pairs(const rule& which, view seen) const {
        return of_all_ranks([&](std::uint64_t rank) { return pairs(rank, which, seen); });
    }

    /// A rank's share of the row's statistics.
    ///
    /// Σn, Σn·past, Σn·k and Σ pairs are those of its rows. Of n², the rows a … b − 1 have b² − a²: the share with
    /// which (Σn² + Σn)/2 + Σn·past are their causal pairs. `count` is with the rank that has the first token. For a
    /// model that attends both ways, `square_rows` is mask::bidirectional(): each row has n of the n², so that Σn² +
    /// Σn·past are their pairs; the sum over ranks is unchanged.
    ///
    /// Its tallies record whose share they are, which a reduction compares with its scope.
    [[nodiscard]] split_tally tally_of(std::uint64_t rank, const mask_set& masks,
                                       const rule& square_rows = mask::causal()) const {
        const bool whole_rows = square_rows == mask::bidirectional();
        if (!whole_rows && square_rows != mask::causal()) {
            throw error("square_rows", "must be causal or bidirectional, got " + square_rows.name());
        }
        shares real{tally{masks}};
        shares mock = real;
        const auto side_of = [&](const slotted_sequence& placed) -> shares& {
            return placed.real.length == 0 ? mock : real;
        };
        each_part(rank, [&](const slotted_sequence& placed, const index_range& rows) {
            for (const view seen : {view::useful, view::padded}) {
                side_of(placed).add_rows(seen, seen_by(placed, seen), rows, whole_rows);
            }
        });
        each_key_part(rank, [&](const slotted_sequence& placed, const index_range& rows) {
            for (const view seen : {view::useful, view::padded}) {
                side_of(placed).add_key_rows(seen, seen_by(placed, seen), rows);
            }
        });
        const context_share held(cp(), rank);
        return {real.sum(held), mock.sum(held)};
    }

  private:
    /// The words of a tally that is being added up.
    class shares {
      public:
        explicit shares(const tally& empty) : masks_(empty.masks()), words_(empty.words().size()) {}

        // The fixed words cannot wrap: those of the row did not when it was made.
        void add_rows(view seen, const sequence& s, const index_range& all, bool whole_rows) {
            const index_range rows = all.clipped(s.length);
            const std::uint64_t n = rows.size();
            word(seen, statistic::count) += all.first == 0 && s.length != 0 ? 1U : 0U;
            word(seen, statistic::tokens) += n;
            word(seen, statistic::squares) +=
                whole_rows ? n * s.length : rows.last * rows.last - rows.first * rows.first;
            word(seen, statistic::cached) += n * s.past;
            word(seen, statistic::crossed) += n * s.keys;
            add_pairs(seen, s, rows, false);
        }

        void add_key_rows(view seen, const sequence& s, const index_range& all) {
            const index_range rows = all.clipped(s.keys);
            word(seen, statistic::keys) += rows.size();
            add_pairs(seen, s, rows, true);
        }

        [[nodiscard]] tally sum(const context_share& held) const {
            tally all = tally::from_words(masks_, words_);
            all.mark_share(held);
            return all;
        }

      private:
        void add_pairs(view seen, const sequence& s, const index_range& rows, bool other_side) {
            for (std::size_t i = 0; i < masks_.size(); ++i) {
                if (masks_[i].in() == modality::text && (masks_[i].is_of_other_side()) == other_side) {
                    std::uint64_t& sum = words_[offset(seen) + detail::tally_words::before_masks(masks_) + i];
                    sum = checked(sum, "pairs") + pairs_of_rows(masks_[i], s, rows);
                }
            }
        }

        [[nodiscard]] std::uint64_t& word(view seen, statistic what) {
            return words_[offset(seen) + static_cast<std::size_t>(what)];
        }
        [[nodiscard]] std::size_t offset(view seen) const { return seen == view::useful ? 0 : words_.size() / 2; }

        mask_set masks_;
        std::vector<std::uint64_t> words_;
    };

    context_parallel_row(packed_row row, token_split tokens, std::optional<token_split> other_side)
        : row_(std::move(row)), tokens_(std::move(tokens)), other_side_(std::move(other_side)) {
        require_size("split", tokens_, row_.tokens());
        if (other_side_) {
            require_size("other_side", *other_side_, row_.key_boundaries().back());
            if (other_side_->cp() != cp()) {
                throw error("other_side", "is split over " + std::to_string(other_side_->cp()) +
                                              " ranks, the row over " + std::to_string(cp()));
            }
        }
    }

    static void require_size(const char* field, const token_split& split, std::uint64_t slots) {
        if (split.tokens() != slots) {
            throw error(field,
                        "is of " + std::to_string(split.tokens()) + " tokens, the row has " + std::to_string(slots));
        }
    }

    [[nodiscard]] static const sequence& seen_by(const slotted_sequence& placed, view seen) {
        return seen == view::useful ? placed.real : placed.slot;
    }

    /// Calls `visit(sequence, its rows)` for all rows that a rank holds between boundaries.
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
                const index_range rows{std::max(held.first, start) - start,
                                       std::min(held.last, boundaries[cut + 1]) - start};
                if (rows.size() != 0) {
                    visit(row_.sequences()[cut], rows);
                }
            }
        }
    }

    template <class Visit>
    void each_part(std::uint64_t rank, Visit visit) const {
        each_held(tokens_, row_.boundaries(), rank, visit);
    }

    /// Calls `visit(sequence, its rows)` for a rank's rows of the other side. A sequence without a slot, whose first
    /// token no rank has, belongs to rank 0.
    template <class Visit>
    void each_key_part(std::uint64_t rank, Visit visit) const {
        if (other_side_) {
            each_held(*other_side_, row_.key_boundaries(), rank, visit);
            return;
        }
        each_part(rank, [&](const slotted_sequence& placed, const index_range& rows) {
            if (rows.first == 0) {
                visit(placed, {0, placed.slot.keys});
            }
        });
        for (const slotted_sequence& placed : row_.sequences()) {
            if (rank == 0 && placed.slot.length == 0) {
                visit(placed, {0, placed.slot.keys});
            }
        }
    }

    template <class Load>
    [[nodiscard]] std::vector<std::uint64_t> of_all_ranks(Load load) const {
        std::vector<std::uint64_t> loads;
        for (std::uint64_t rank = 0; rank < cp(); ++rank) {
            loads.push_back(load(rank));
        }
        return loads;
    }

    packed_row row_;
    token_split tokens_;
    std::optional<token_split> other_side_;
};

}  // namespace floptally
