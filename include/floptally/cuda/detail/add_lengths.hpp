// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <floptally/cuda/detail/accumulator_schema.hpp>
#include <floptally/cuda/detail/block.hpp>
#include <floptally/cuda/detail/block_sum.hpp>
#include <floptally/cuda/detail/length_groups.hpp>
#include <floptally/cuda/detail/length_lists.hpp>
#include <floptally/cuda/detail/refusals.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/statistics/accumulator.hpp>

/// @file
/// The kernel that adds lengths if all masks are windows. It reads the lengths once for any number of masks. A thread
/// takes a group of eight lengths at a time (length_groups.hpp). If a group is not plain (a length is too large or
/// invalid), the thread reads its lengths again one at a time.

namespace floptally::inline v0_3::detail {

/// The number of groups of eight lengths that a thread adds before the block adds up the sums of its threads. The
/// squares of a group are below 2^48, and a window side adds at most 2^52 for each group. The sums of this many groups
/// stay below 2^62.
inline constexpr std::uint32_t groups_per_round = 1024;

/// The kernel that adds lists of lengths. The integers of a list have `Bytes` bytes, those of slots `SlotBytes` bytes.
/// All windows together may have at most `Sides` sides (left or right of the query).
template <std::uint32_t Bytes, bool ByBoundaries, slots_by Slot, std::uint32_t SlotBytes, std::uint32_t Sides>
struct add_lengths {
    static constexpr std::uint32_t views = Slot == slots_by::sequence ? 1 : 2;
    static constexpr std::uint32_t threads = 256 / views;
    static constexpr std::uint32_t resident = 5 * views;
    static constexpr std::uint32_t units = threads * group_size;
    static constexpr std::uint32_t columns = 3 + Sides;  ///< number of sums for one view (useful or padded)

    using list_type = length_list;
    using arguments = list_arguments<list_type>;

    [[nodiscard]] static std::size_t shared_words(const accumulator_schema& /*schema*/) {
        return std::size_t{views} * columns * threads;
    }

    template <class Block>
    static FLOPTALLY_HOST_DEVICE void run(const Block& block, const arguments& args) {
        // `list` is a copy, so that the compiler knows the values of the members that are set below.
        length_list list = args.list;
        list.real.bytes = Bytes;
        list.slots.bytes = SlotBytes;
        list.by_boundaries = ByBoundaries;
        list.slot = Slot;
        const std::uint32_t reals = list.find_real();
        const std::uint32_t groups = (list.count + list.lead + group_size - 1) / group_size;
        const std::uint32_t plain_groups = reals == length_list::wrong_number ? 0 : (reals + list.lead) / group_size;
        std::uint64_t* const sums_of_thread = block.shared() + block.thread();
        FLOPTALLY_ROLLED
        for (std::uint32_t base = block.index() * threads; base < groups;) {
            FLOPTALLY_ROLLED
            for (std::uint32_t column = 0; column < views * columns; ++column) {
                sums_of_thread[column * threads] = 0;
            }
            std::uint64_t in_registers[columns]{};  // the sums of a thread, in registers; used if there is only one
                                                    // view
            std::uint32_t taken = 0;                // number of groups since the block last added up its sums
            FLOPTALLY_ROLLED
            for (; base < groups && taken < groups_per_round; ++taken, base += block.count() * threads) {
                const std::uint32_t group = base + block.thread();
                std::uint32_t rows[views][group_size];
                if (group >= list.first_group && group < plain_groups && load(list, group, rows)) {
                    FLOPTALLY_UNROLLED
                    for (std::uint32_t view_index = 0; view_index < views; ++view_index) {
                        add_rows_to<Sides>(
                            [&](std::uint32_t i) -> plain_sum& {
                                return views == 1 ? in_registers[i]
                                                  : sums_of_thread[(view_index * columns + i) * threads];
                            },
                            args.schema, rows[view_index]);
                    }
                } else {
                    count_sequences(sums_of_thread, std::uint64_t{0} - group_size);
                    if (group < groups) {
                        move_to_columns(in_registers, sums_of_thread);
                        add_one_by_one(args, list, reals, group, sums_of_thread);
                    }
                }
            }
            move_to_columns(in_registers, sums_of_thread);
            count_sequences(sums_of_thread, std::uint64_t{taken} * group_size);
            finish(args, sums_of_thread);
            block_columns<Block>(block).add_to(
                views * columns, [&](std::uint32_t column, std::uint64_t sum, bool wraps) {
                    const std::uint32_t view_index = column < columns ? 0 : 1;
                    const std::uint32_t accumulator = accumulator_of(args, column - view_index * columns);
                    FLOPTALLY_ROLLED
                    for (std::uint32_t to = view_index; to <= (views == 1 ? 1 : view_index); ++to) {
                        add_accumulator(args, to, accumulator, sum, wraps);
                    }
                });
            block.sync();
        }
    }

  private:
    /// The type of a sum over plain groups (all lengths are valid and not too large). The sums of two views do not fit
    /// into registers together. With `volatile` the compiler stores the sums of one view before it loads those of the
    /// other.
    using plain_sum = std::conditional_t<views == 1, std::uint64_t, volatile std::uint64_t>;

    /// Loads a group of real sequences. Returns false if the group is not plain (a length is too large or invalid).
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

    /// Adds `number` to the number of sequences in every view, modulo 2^64.
    static FLOPTALLY_HOST_DEVICE void count_sequences(std::uint64_t* sums_of_thread, std::uint64_t number) {
        FLOPTALLY_UNROLLED
        for (std::uint32_t view_index = 0; view_index < views; ++view_index) {
            sums_of_thread[view_index * columns * threads] += number;
        }
    }
    /// Moves a thread's sums from registers to shared memory, to free registers for rarely used code.
    static FLOPTALLY_HOST_DEVICE void move_to_columns(std::uint64_t (&sums)[columns], std::uint64_t* sums_of_thread) {
        if constexpr (views == 1) {
            FLOPTALLY_UNROLLED
            for (std::uint32_t i = 1; i < columns; ++i) {
                sums_of_thread[i * threads] += sums[i];
                sums[i] = 0;
            }
        }
    }
    /// Converts sums over m = L − 1 (the index of a sequence's last token) to sums over lengths: L = m + 1 and L² = m²
    /// + 2m + 1. A window side of `keys` keys has n(n + 1)/2 + keys·(m − n) pairs, with n = min(m, keys).
    static FLOPTALLY_HOST_DEVICE void finish(const arguments& args, std::uint64_t* sums_of_thread) {
        FLOPTALLY_ROLLED
        for (std::uint32_t view_index = 0; view_index < views; ++view_index, sums_of_thread += columns * threads) {
            const std::uint64_t last_rows = sums_of_thread[threads];
            const std::uint64_t tokens = last_rows + sums_of_thread[0];
            sums_of_thread[threads] = tokens;
            sums_of_thread[2 * threads] += last_rows + tokens;
            FLOPTALLY_ROLLED
            for (std::uint32_t i = 0; i != Sides; ++i) {
                const window_side& window = args.schema.sides[i];
                std::uint64_t& sum = sums_of_thread[(3 + i) * threads];
                sum = (sum + 2 * std::uint64_t{window.plain_keys} * last_rows) / 2 + (window.is_left ? tokens : 0);
            }
        }
    }

    /// Adds the sequences of a group one by one, because a length of the group is too large or invalid. Records invalid
    /// sequences as refused. Adds long sequences directly to the accumulators, because they could overflow a thread's
    /// sums.
    static FLOPTALLY_HOST_DEVICE void add_one_by_one(const arguments& args, const length_list& list,
                                                     std::uint32_t reals, std::uint32_t group,
                                                     std::uint64_t* sums_of_thread) {
        const std::uint32_t begin = group * group_size;
        FLOPTALLY_ROLLED
        for (std::uint32_t position = begin < list.lead ? list.lead : begin; position < begin + group_size;
             ++position) {
            const std::uint32_t i = position - list.lead;
            std::uint32_t length = 0;
            std::uint32_t slot = 0;
            if (i < list.count && !list.take(i, reals, length, slot)) {
                list.refuse_sequence(i, reals, args.refusals(), args.call);
            } else if (slot > plain_limit) {
                add_long(args, length, slot);
            } else {
                FLOPTALLY_ROLLED
                for (std::uint32_t view_index = 0; view_index < views; ++view_index) {
                    const std::uint32_t rows[] = {(view_index == 0 ? length : slot) - 1};
                    if (rows[0] != ~std::uint32_t{0}) {
                        sums_of_thread[view_index * columns * threads] += 1;
                        add_rows_to<Sides>(
                            [&](std::uint32_t k) -> std::uint64_t& {
                                return sums_of_thread[(view_index * columns + k) * threads];
                            },
                            args.schema, rows);
                    }
                }
            }
        }
    }
    static FLOPTALLY_HOST_DEVICE void add_long(const arguments& args, std::uint32_t length, std::uint32_t slot) {
        const std::uint32_t view_columns = 3 + args.schema.side_count;
        FLOPTALLY_ROLLED
        for (std::uint32_t column = 0; column < 2 * view_columns; ++column) {
            const std::uint32_t view_index = column < view_columns ? 0 : 1;
            const std::uint32_t view_column = column - view_index * view_columns;
            const std::uint32_t tokens = view_index == 0 ? length : slot;
            std::uint64_t amount = view_column == 0 ? 1 : std::uint64_t{tokens} * (view_column == 1 ? 1 : tokens);
            if (view_column >= 3) {
                const window_side& window = args.schema.sides[view_column - 3];
                const std::uint32_t last = tokens - 1;
                const std::uint32_t n = last < window.keys ? last : window.keys;
                amount = std::uint64_t{n} * (n + 1) / 2 + std::uint64_t{window.keys} * (last - n) +
                         (window.is_left ? tokens : 0);
            }
            add_accumulator(args, view_index, accumulator_of(args, view_column), tokens == 0 ? 0 : amount);
        }
    }

    /// Returns the index of the accumulator for a column. The columns are: sequences, tokens, squares of lengths, then
    /// the window sides.
    [[nodiscard]] static FLOPTALLY_HOST_DEVICE std::uint32_t accumulator_of(const arguments& args,
                                                                            std::uint32_t column) {
        return column >= 3   ? args.schema.sides[column - 3].accumulator
               : column == 0 ? static_cast<std::uint32_t>(accumulator::count)
               : column == 1 ? static_cast<std::uint32_t>(accumulator::tokens)
                             : static_cast<std::uint32_t>(accumulator::squares);
    }
    static FLOPTALLY_HOST_DEVICE void add_accumulator(const arguments& args, std::uint32_t view_index,
                                                      std::uint32_t accumulator, std::uint64_t amount,
                                                      bool wraps = false) {
        if (add_overflows(args.accumulators + view_index * args.schema.stride() + accumulator, amount) || wraps) {
            atomic_or(&args.refusals()->overflowed[view_index], std::uint64_t{1} << accumulator);
        }
    }
};

}  // namespace floptally::detail
