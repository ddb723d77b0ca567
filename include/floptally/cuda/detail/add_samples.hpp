// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <floptally/batch/lengths.hpp>
#include <floptally/cuda/detail/block.hpp>
#include <floptally/cuda/detail/block_sum.hpp>
#include <floptally/cuda/detail/length_lists.hpp>
#include <floptally/cuda/detail/refusals.hpp>
#include <floptally/cuda/detail/word_schema.hpp>
#include <floptally/cuda/device_tally_ref.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/sequence.hpp>

/// @file
/// The kernel that adds samples one by one, under any rules: of every list, and compiled once for each kind of sample.

namespace floptally::detail {

/// Reads number `at` of a list as a part of a sample; where it can be no length, refuses it.
[[nodiscard]] inline FLOPTALLY_HOST_DEVICE bool take_part(const number_list& from, std::size_t at, std::uint32_t& to,
                                                          refusal_record* record, std::uint32_t call) {
    const std::uint64_t number = from[at];
    to = static_cast<std::uint32_t>(number);
    if (number > max_sequence_length) {  // a negative one is too
        refuse(record, {call, at}, {refused::length, from.field, from.is_signed ? refusal_head::is_signed : 0}, number,
               0);
    }
    return number <= max_sequence_length;
}

/// Sets part `part` of a sample, in the order that its list has them in.
inline FLOPTALLY_HOST_DEVICE void set_part(grid& to, std::uint32_t part, std::uint32_t number) {
    to.t = part == 0 ? number : to.t;
    to.h = part == 1 ? number : to.h;
    to.w = part == 2 ? number : to.w;
}
inline FLOPTALLY_HOST_DEVICE void set_part(audio_clip& to, std::uint32_t /*part*/, std::uint32_t number) {
    to.frames = number;
}

/// Samples in device memory: here grids or clips of sound, which fill their slots, with the parts of each in one list.
template <class Unit>
struct sample_list {
    static constexpr list_name name = std::is_same_v<Unit, grid> ? list_name::grid_thw : list_name::audio_frames;
    static constexpr std::uint32_t stride = std::is_same_v<Unit, grid> ? 3 : 1;  ///< numbers of a sample in a list

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

/// Sequences by their lengths and slots, and parts that both have.
template <>
struct sample_list<sequence> {
    static constexpr list_name name = list_name::lengths;
    static constexpr std::uint32_t stride = 1;

    length_list lengths{};
    number_list parts[4]{};  ///< past, keys, context, targets: in the order of `list_name`
    std::uint32_t target_group = 0;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t size() const { return lengths.count; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool take(std::uint32_t i, std::uint32_t reals, sequence (&to)[2],
                                                  refusal_record* record, std::uint32_t call) const {
        sequence& slot = to[1];
        std::uint32_t length = 0;
        if (!lengths.take(i, reals, length, slot.length)) {
            lengths.refuse_one(i, reals, record, call);
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
/// Sequences with a list of one more part, one for each; an empty one that may be left out is all zeros.
[[nodiscard]] inline sample_list<sequence> with_part(sample_list<sequence> list, list_name part,
                                                     const any_list& numbers, bool may_be_left_out = false) {
    if (numbers.count != 0 || !may_be_left_out) {
        require_as_many(list.size(), name_of(list.lengths.real.field), numbers.count, name_of(part));
        list.parts[static_cast<std::size_t>(part) - static_cast<std::size_t>(list_name::past)] = numbers.named(part);
    }
    return list;
}
/// Samples of HSTU, of which `contextual` and `targets` may be left out.
[[nodiscard]] inline sample_list<sequence> hstu_samples(const any_list& lengths, const any_list& contextual,
                                                        const any_list& targets, std::uint32_t target_group) {
    const sample_list<sequence> list{.lengths = listed_lengths(lengths), .target_group = target_group};
    return with_part(with_part(list, list_name::contextual, contextual, true), list_name::targets, targets, true);
}

/// The kernel for samples of a kind, by rules of a list.
template <class Rules, class Unit>
struct add_samples {
    static constexpr std::uint32_t threads = 128;
    static constexpr std::uint32_t resident = 6;
    static constexpr std::uint32_t units = threads;

    using list_type = sample_list<Unit>;
    using arguments = list_arguments<list_type>;

    /// Columns of both views for every word of the modality.
    [[nodiscard]] static std::size_t shared_words(const word_schema& schema) {
        static_assert(2 * (word_schema::fixed + word_schema::max_masks) * threads * sizeof(std::uint64_t) <= 48 * 1024,
                      "more shared memory than a launch has without asking");
        return std::size_t{2} * schema.columns() * threads;
    }

    template <class Block>
    static FLOPTALLY_HOST_DEVICE void run(const Block& block, const arguments& given) {
        const word_schema& schema = given.schema;
        const basic_device_tally_ref<Rules> into(&schema, given.words, record_after(schema, given.words));
        std::uint32_t reals = 0;
        if constexpr (std::is_same_v<Unit, sequence>) {
            reals = given.list.lengths.find_real();
        }
        const block_columns<Block> sums(block);
        const std::uint32_t columns = schema.columns();
        FLOPTALLY_ROLLED
        for (std::uint32_t column = 0; column < 2 * columns; ++column) {
            sums.own(column) = 0;
        }
        constexpr modality in = modality_of(Unit{});
        FLOPTALLY_ROLLED
        for (std::uint32_t i = block.index() * threads + block.thread(); i < given.list.size();
             i += block.count() * threads) {
            Unit both[2]{};
            if (!given.list.take(i, reals, both, into.refusals(), given.call)) {
                continue;
            }
            const bool counted =
                into.is_valid(both[0], both[1]) &&
                take_amounts<Rules>(schema, both[0], both[1],
                                    [&](std::uint32_t column, std::uint32_t seen, std::uint32_t word, uint128 sum) {
                                        if (sums.add_overflows(column, sum)) {
                                            atomic_or(&into.refusals()->overflowed[seen], std::uint64_t{1} << word);
                                        }
                                    });
            if (!counted) {
                refuse(into.refusals(), {given.call, std::uint64_t{i} * sample_list<Unit>::stride}, both[0], both[1]);
            }
        }
        sums.add_to(2 * columns, [&](std::uint32_t column, std::uint64_t sum, bool wraps) {
            const std::uint32_t seen = column < columns ? 0 : 1;
            const std::uint32_t word = schema.word_of(in, column - seen * columns);
            into.add_to(seen, word, sum);
            if (wraps) {
                atomic_or(&into.refusals()->overflowed[seen], std::uint64_t{1} << word);
            }
        });
    }
};

/// The kernel that adds the words of a tally that the host has counted, by one block.
struct add_counted {
    static constexpr std::uint32_t threads = 2 * warp_size;
    static constexpr std::uint32_t resident = 1;

    struct arguments {
        std::uint64_t counted[2 * word_schema::most];
        word_schema schema;
        std::uint64_t* words;
    };

    template <class Block>
    static FLOPTALLY_HOST_DEVICE void run(const Block& block, const arguments& given) {
        const word_schema& schema = given.schema;
        const basic_device_tally_ref<window_rules> into(&schema, given.words, record_after(schema, given.words));
        for (std::uint32_t word = block.thread(); word < schema.size(); word += threads) {
            into.add_to(word / schema.stride(), word % schema.stride(), given.counted[word]);
        }
    }
};

}  // namespace floptally::detail
