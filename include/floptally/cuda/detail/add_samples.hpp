// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <floptally/batch/formats.hpp>
#include <floptally/cuda/detail/accumulator_schema.hpp>
#include <floptally/cuda/detail/block.hpp>
#include <floptally/cuda/detail/block_sum.hpp>
#include <floptally/cuda/detail/length_lists.hpp>
#include <floptally/cuda/detail/refusals.hpp>
#include <floptally/cuda/device_tally_ref.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/sequence.hpp>

/// @file
/// The kernel that adds samples one at a time, with any statistics and from any list. It is compiled once for each kind
/// of sample (sequence, grid, audio clip).

namespace floptally::inline v0_3::detail {

/// Reads number `index` of a list, such as the height of a grid. If the number cannot be a length, records the sample
/// as refused.
[[nodiscard]] inline FLOPTALLY_HOST_DEVICE bool take_part(const number_list& numbers, std::size_t index,
                                                          std::uint32_t& part, refusal_record* record,
                                                          std::uint32_t call) {
    const std::uint64_t number = numbers[index];
    part = static_cast<std::uint32_t>(number);
    // A negative number is refused too, because it is large as an unsigned integer.
    if (number > max_sequence_length) {
        refuse(record, {call, index}, {refused::length, numbers.field, numbers.is_signed ? refusal_head::is_signed : 0},
               number, 0);
    }
    return number <= max_sequence_length;
}

/// Sets one number of a sample. `part` is the number's position in the sample: 0, 1 or 2 for t, h or w of a grid.
inline FLOPTALLY_HOST_DEVICE void set_part(grid& to, std::uint32_t part, std::uint32_t number) {
    to.t = part == 0 ? number : to.t;
    to.h = part == 1 ? number : to.h;
    to.w = part == 2 ? number : to.w;
}
inline FLOPTALLY_HOST_DEVICE void set_part(audio_clip& to, std::uint32_t /*part*/, std::uint32_t number) {
    to.frames = number;
}

/// Samples in device memory: grids or audio clips without padding. One list has all numbers of all samples.
template <class Unit>
struct sample_list {
    static constexpr list_name name = std::is_same_v<Unit, grid> ? list_name::grid_thw : list_name::audio_frames;
    static constexpr std::uint32_t stride = std::is_same_v<Unit, grid> ? 3 : 1;  ///< number of integers in the list for
                                                                                 ///< each sample

    number_list numbers;
    std::uint32_t count;

    explicit sample_list(const any_list& all) : numbers(all.named(name)), count(samples_in(all.count / stride, name)) {}

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t size() const { return count; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool take(std::uint32_t i, std::uint32_t /*reals*/, Unit (&to)[2],
                                                  refusal_record* record, std::uint32_t call) const {
        FLOPTALLY_ROLLED
        for (std::uint32_t part = 0; part < stride; ++part) {
            std::uint32_t number = 0;
            if (!take_part(numbers, std::size_t{stride} * i + part, number, record, call)) {
                return false;
            }
            set_part(to[0], part, number);
        }
        to[1] = to[0];
        return true;
    }
};

/// A list of sequences with their lengths and slots. A sequence may also have numbers of past tokens, keys, context
/// tokens and targets. Its slot has the same numbers.
template <>
struct sample_list<sequence> {
    static constexpr list_name name = list_name::lengths;
    static constexpr std::uint32_t stride = 1;

    length_list lengths{};
    number_list parts[4]{};  ///< numbers of past tokens, keys, context tokens and targets, in the order of `list_name`
    std::uint32_t target_group = 0;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t size() const { return lengths.count; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool take(std::uint32_t i, std::uint32_t reals, sequence (&to)[2],
                                                  refusal_record* record, std::uint32_t call) const {
        sequence& slot = to[1];
        std::uint32_t length = 0;
        if (!lengths.take(i, reals, length, slot.length)) {
            lengths.refuse_sequence(i, reals, record, call);
            return false;
        }
        FLOPTALLY_ROLLED
        for (std::uint32_t part = 0; part < 4; ++part) {
            std::uint32_t number = 0;
            if (parts[part].numbers != nullptr && !take_part(parts[part], i, number, record, call)) {
                return false;
            }
            slot.past = part == 0 ? number : slot.past;
            slot.keys = part == 1 ? number : slot.keys;
            slot.context = part == 2 ? number : slot.context;
            slot.targets = part == 3 ? number : slot.targets;
        }
        slot.target_group = target_group;
        if (i < reals) {
            to[0] = slot;
            to[0].length = length;
        }
        return true;
    }
};
/// Returns the list of sequences with one more number for each sequence, taken from `numbers`. If `may_be_left_out` is
/// true, an empty `numbers` means 0 for every sequence.
[[nodiscard]] inline sample_list<sequence> with_part(sample_list<sequence> list, list_name part,
                                                     const any_list& numbers, bool may_be_left_out = false) {
    if (numbers.count != 0 || !may_be_left_out) {
        require_as_many(list.size(), name_of(list.lengths.real.field), numbers.count, name_of(part));
        list.parts[static_cast<std::size_t>(part) - static_cast<std::size_t>(list_name::past)] = numbers.named(part);
    }
    return list;
}
/// Returns HSTU sequences. `contextual` and `targets` may be empty.
[[nodiscard]] inline sample_list<sequence> hstu_samples(const any_list& lengths, const any_list& contextual,
                                                        const any_list& targets, std::uint32_t target_group) {
    const sample_list<sequence> list{.lengths = length_list_of(lengths), .target_group = target_group};
    return with_part(with_part(list, list_name::contextual, contextual, true), list_name::targets, targets, true);
}

/// The kernel that adds samples of type `Unit`. It is compiled with the statistics of the list `Statistics`.
template <class Statistics, class Unit>
struct add_samples {
    static constexpr std::uint32_t threads = 128;
    static constexpr std::uint32_t resident = 6;
    static constexpr std::uint32_t units = threads;

    using list_type = sample_list<Unit>;
    using arguments = list_arguments<list_type>;

    /// Returns the number of 64-bit words of shared memory: one for each thread, view and accumulator of the modality.
    [[nodiscard]] static std::size_t shared_words(const accumulator_schema& schema) {
        static_assert(
            2 * (accumulator_schema::fixed + accumulator_schema::max_masks) * threads * sizeof(std::uint64_t) <=
                48 * 1024,
            "a launch has 48 KiB of shared memory: lower `threads` or `max_masks`");
        return std::size_t{2} * schema.columns() * threads;
    }

    template <class Block>
    static FLOPTALLY_HOST_DEVICE void run(const Block& block, const arguments& args) {
        const accumulator_schema& schema = args.schema;
        const basic_device_tally_ref<Statistics> tally(&schema, args.accumulators,
                                                       record_after(schema, args.accumulators));
        std::uint32_t reals = 0;
        if constexpr (std::is_same_v<Unit, sequence>) {
            reals = args.list.lengths.find_real();
        }
        const block_columns<Block> sums(block);
        const std::uint32_t columns = schema.columns();
        FLOPTALLY_ROLLED
        for (std::uint32_t column = 0; column < 2 * columns; ++column) {
            sums.of_thread(column) = 0;
        }
        constexpr modality stream = modality_of(Unit{});
        FLOPTALLY_ROLLED
        for (std::uint32_t i = block.index() * threads + block.thread(); i < args.list.size();
             i += block.count() * threads) {
            Unit real_and_slot[2]{};
            if (!args.list.take(i, reals, real_and_slot, tally.refusals(), args.call)) {
                continue;
            }
            const bool counted =
                tally.is_valid(real_and_slot[0], real_and_slot[1]) &&
                take_amounts<Statistics>(
                    schema, real_and_slot[0], real_and_slot[1],
                    [&](std::uint32_t column, std::uint32_t view_index, std::uint32_t accumulator, uint128 sum) {
                        if (sums.add_overflows(column, sum)) {
                            atomic_or(&tally.refusals()->overflowed[view_index], std::uint64_t{1} << accumulator);
                        }
                    });
            if (!counted) {
                refuse(tally.refusals(), {args.call, std::uint64_t{i} * sample_list<Unit>::stride}, real_and_slot[0],
                       real_and_slot[1]);
            }
        }
        sums.add_to(2 * columns, [&](std::uint32_t column, std::uint64_t sum, bool wraps) {
            const std::uint32_t view_index = column < columns ? 0 : 1;
            const std::uint32_t accumulator = schema.accumulator_of(stream, column - view_index * columns);
            tally.add_to(view_index, accumulator, sum);
            if (wraps) {
                atomic_or(&tally.refusals()->overflowed[view_index], std::uint64_t{1} << accumulator);
            }
        });
    }
};

/// The kernel that adds the accumulators of a host tally to those on the device. It runs in one block.
struct add_counted {
    static constexpr std::uint32_t threads = 2 * warp_size;
    static constexpr std::uint32_t resident = 1;

    struct arguments {
        std::uint64_t counted[2 * accumulator_schema::most];
        accumulator_schema schema;
        std::uint64_t* accumulators;
    };

    template <class Block>
    static FLOPTALLY_HOST_DEVICE void run(const Block& block, const arguments& args) {
        const accumulator_schema& schema = args.schema;
        const basic_device_tally_ref<window_statistics> tally(&schema, args.accumulators,
                                                              record_after(schema, args.accumulators));
        for (std::uint32_t accumulator = block.thread(); accumulator < schema.size(); accumulator += threads) {
            tally.add_to(accumulator / schema.stride(), accumulator % schema.stride(), args.counted[accumulator]);
        }
    }
};

}  // namespace floptally::detail
