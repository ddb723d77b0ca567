// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <floptally/cuda/detail/block.hpp>
#include <floptally/cuda/detail/block_sum.hpp>
#include <floptally/cuda/detail/length_groups.hpp>
#include <floptally/cuda/detail/length_lists.hpp>
#include <floptally/cuda/detail/refusals.hpp>
#include <floptally/cuda/detail/word_schema.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/rules/statistic.hpp>

/// @file
/// The kernel that adds lengths where all masks are windows: one pass over them, whatever the number of masks.
///
/// A thread takes eight lengths at a time (length_groups.hpp). Eight of which one is not plain are read again one by
/// one.

namespace floptally::detail {

/// Groups of eight lengths that a thread takes before the block adds up. A group has eight squares below 2^48, and at
/// most 2^52 from a side of a window: sums of so many groups stay below 2^62.
inline constexpr std::uint32_t groups_per_round = 1024;

/// The kernel for lists of these shapes and at most so many sides of windows.
template <std::uint32_t Bytes, bool ByBoundaries, slots_by Slot, std::uint32_t SlotBytes, std::uint32_t Sides>
struct add_lengths {
    static constexpr std::uint32_t views = Slot == slots_by::sequence ? 1 : 2;
    static constexpr std::uint32_t threads = 256 / views;
    static constexpr std::uint32_t resident = 5 * views;
    static constexpr std::uint32_t units = threads * group_size;
    static constexpr std::uint32_t columns = 3 + Sides;  ///< of a view

    using list_type = length_list;
    using arguments = list_arguments<list_type>;

    [[nodiscard]] static std::size_t shared_words(const word_schema& /*schema*/) {
        return std::size_t{views} * columns * threads;
    }

    template <class Block>
    static FLOPTALLY_HOST_DEVICE void run(const Block& block, const arguments& given) {
        length_list list = given.list;  // as far as the compiler knows it
        list.real.bytes = Bytes;
        list.slots.bytes = SlotBytes;
        list.by_boundaries = ByBoundaries;
        list.slot = Slot;
        const std::uint32_t reals = list.find_real();
        const std::uint32_t groups = (list.count + list.lead + group_size - 1) / group_size;
        const std::uint32_t plain_groups = reals == length_list::wrong_number ? 0 : (reals + list.lead) / group_size;
        std::uint64_t* const own = block.shared() + block.thread();
        FLOPTALLY_ROLLED
        for (std::uint32_t base = block.index() * threads; base < groups;) {
            FLOPTALLY_ROLLED
            for (std::uint32_t column = 0; column < views * columns; ++column) {
                own[column * threads] = 0;
            }
            std::uint64_t in_registers[columns]{};  // of one view
            std::uint32_t taken = 0;                // groups, of which others than plain ones count themselves
            FLOPTALLY_ROLLED
            for (; base < groups && taken < groups_per_round; ++taken, base += block.count() * threads) {
                const std::uint32_t group = base + block.thread();
                std::uint32_t rows[views][group_size];
                if (group >= list.first_group && group < plain_groups && load(list, group, rows)) {
                    FLOPTALLY_UNROLLED
                    for (std::uint32_t seen = 0; seen < views; ++seen) {
                        add_rows_to<Sides>(
                            [&](std::uint32_t i) -> plain_sum& {
                                return views == 1 ? in_registers[i] : own[(seen * columns + i) * threads];
                            },
                            given.schema, rows[seen]);
                    }
                } else {
                    count_sequences(own, std::uint64_t{0} - group_size);
                    if (group < groups) {
                        move_to_columns(in_registers, own);
                        add_one_by_one(given, list, reals, group, own);
                    }
                }
            }
            move_to_columns(in_registers, own);
            count_sequences(own, std::uint64_t{taken} * group_size);
            finish(given, own);
            block_columns<Block>(block).add_to(views * columns,
                                               [&](std::uint32_t column, std::uint64_t sum, bool wraps) {
                                                   const std::uint32_t seen = column < columns ? 0 : 1;
                                                   const std::uint32_t word = word_of(given, column - seen * columns);
                                                   FLOPTALLY_ROLLED
                                                   for (std::uint32_t to = seen; to <= (views == 1 ? 1 : seen); ++to) {
                                                       add_word(given, to, word, sum, wraps);
                                                   }
                                               });
            block.sync();
        }
    }

  private:
    /// A sum that plain groups add to. Two views have more sums than there are registers: the sums of one are in memory
    /// before those of the other are read.
    using plain_sum = std::conditional_t<views == 1, std::uint64_t, volatile std::uint64_t>;

    /// Loads a group in which every sequence is real; false where one is not plain.
    [[nodiscard]] static FLOPTALLY_HOST_DEVICE bool load(const length_list& list, std::uint32_t group,
                                                         std::uint32_t (&rows)[views][group_size]) {
        group_flaws flaws;
        load_group<unsigned_of<Bytes>, ByBoundaries>(list.real_from_groups, list.last_row, group, rows[0], flaws);
        if constexpr (Slot == slots_by::boundaries) {
            load_group<unsigned_of<SlotBytes>, true>(list.slots_from_groups, list.last_row, group, rows[1], flaws);
        } else if constexpr (Slot == slots_by::row) {
            FLOPTALLY_UNROLLED
            for (std::uint32_t k = 0; k < group_size; ++k) {
                rows[1][k] = list.row_length - 1;
            }
            flaws.large |= list.row_length - 1;
        }
        if constexpr (views == 2) {
            FLOPTALLY_UNROLLED
            for (std::uint32_t k = 0; k < group_size; ++k) {
                flaws.negative |= rows[1][k] - rows[0][k];
            }
        }
        return flaws.is_plain();
    }

    /// Adds to the number of sequences of every view, modulo 2^64.
    static FLOPTALLY_HOST_DEVICE void count_sequences(std::uint64_t* own, std::uint64_t number) {
        FLOPTALLY_UNROLLED
        for (std::uint32_t seen = 0; seen < views; ++seen) {
            own[seen * columns * threads] += number;
        }
    }
    /// Moves a thread's sums from registers, where it has them, to its columns, so that what is rare has the registers.
    static FLOPTALLY_HOST_DEVICE void move_to_columns(std::uint64_t (&sums)[columns], std::uint64_t* own) {
        if constexpr (views == 1) {
            FLOPTALLY_UNROLLED
            for (std::uint32_t i = 1; i < columns; ++i) {
                own[i * threads] += sums[i];
                sums[i] = 0;
            }
        }
    }
    /// Makes the sums of the lengths themselves: L = m + 1, L² = m² + 2m + 1, and a side has n(n + 1)/2 + keys·(m − n)
    /// pairs.
    static FLOPTALLY_HOST_DEVICE void finish(const arguments& given, std::uint64_t* own) {
        FLOPTALLY_ROLLED
        for (std::uint32_t seen = 0; seen < views; ++seen, own += columns * threads) {
            const std::uint64_t last_rows = own[threads];
            const std::uint64_t tokens = last_rows + own[0];
            own[threads] = tokens;
            own[2 * threads] += last_rows + tokens;
            FLOPTALLY_ROLLED
            for (std::uint32_t i = 0; i != Sides; ++i) {
                const window_side& window = given.schema.sides[i];
                std::uint64_t& sum = own[(3 + i) * threads];
                sum = (sum + 2 * std::uint64_t{window.plain_keys} * last_rows) / 2 + (window.is_left ? tokens : 0);
            }
        }
    }

    /// Adds the sequences of a group that is not plain: refuses the wrong ones, and adds long ones at once, since they
    /// do not fit the sums of a round.
    static FLOPTALLY_HOST_DEVICE void add_one_by_one(const arguments& given, const length_list& list,
                                                     std::uint32_t reals, std::uint32_t group, std::uint64_t* own) {
        const std::uint32_t begin = group * group_size;
        FLOPTALLY_ROLLED
        for (std::uint32_t at = begin < list.lead ? list.lead : begin; at < begin + group_size; ++at) {
            const std::uint32_t i = at - list.lead;
            std::uint32_t length = 0;
            std::uint32_t slot = 0;
            if (i < list.count && !list.take(i, reals, length, slot)) {
                list.refuse_one(i, reals, given.refusals(), given.call);
            } else if (slot > plain_limit) {
                add_long(given, length, slot);
            } else {
                FLOPTALLY_ROLLED
                for (std::uint32_t seen = 0; seen < views; ++seen) {
                    const std::uint32_t rows[] = {(seen == 0 ? length : slot) - 1};
                    if (rows[0] != ~std::uint32_t{0}) {
                        own[seen * columns * threads] += 1;
                        add_rows_to<Sides>(
                            [&](std::uint32_t k) -> std::uint64_t& { return own[(seen * columns + k) * threads]; },
                            given.schema, rows);
                    }
                }
            }
        }
    }
    static FLOPTALLY_HOST_DEVICE void add_long(const arguments& given, std::uint32_t length, std::uint32_t slot) {
        const std::uint32_t of_view = 3 + given.schema.side_count;
        FLOPTALLY_ROLLED
        for (std::uint32_t column = 0; column < 2 * of_view; ++column) {
            const std::uint32_t seen = column < of_view ? 0 : 1;
            const std::uint32_t of = column - seen * of_view;
            const std::uint32_t tokens = seen == 0 ? length : slot;
            std::uint64_t amount = of == 0 ? 1 : std::uint64_t{tokens} * (of == 1 ? 1 : tokens);
            if (of >= 3) {
                const window_side& window = given.schema.sides[of - 3];
                const std::uint32_t last = tokens - 1;
                const std::uint32_t n = last < window.keys ? last : window.keys;
                amount = std::uint64_t{n} * (n + 1) / 2 + std::uint64_t{window.keys} * (last - n) +
                         (window.is_left ? tokens : 0);
            }
            add_word(given, seen, word_of(given, of), tokens == 0 ? 0 : amount);
        }
    }

    /// The word of a column: of the sequences, tokens and squares, then of the sides.
    [[nodiscard]] static FLOPTALLY_HOST_DEVICE std::uint32_t word_of(const arguments& given, std::uint32_t column) {
        return column >= 3   ? given.schema.sides[column - 3].word
               : column == 0 ? static_cast<std::uint32_t>(statistic::count)
               : column == 1 ? static_cast<std::uint32_t>(statistic::tokens)
                             : static_cast<std::uint32_t>(statistic::squares);
    }
    static FLOPTALLY_HOST_DEVICE void add_word(const arguments& given, std::uint32_t seen, std::uint32_t word,
                                               std::uint64_t amount, bool wraps = false) {
        if (add_overflows(given.words + seen * given.schema.stride() + word, amount) || wraps) {
            atomic_or(&given.refusals()->overflowed[seen], std::uint64_t{1} << word);
        }
    }
};

}  // namespace floptally::detail
