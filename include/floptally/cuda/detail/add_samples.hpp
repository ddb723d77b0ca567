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

/// Samples in device memory: the parts of each are numbers of lists.
template <class Unit>
struct sample_list;

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

/// Sequences by their lengths and slots, and parts that both have.
template <>
struct sample_list<sequence> {
    static constexpr const char* field = "lengths";
    static constexpr std::uint32_t stride = 1;  ///< numbers of a sample in a list

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
template <>
struct sample_list<grid> {
    static constexpr const char* field = "grid_thw";
    static constexpr std::uint32_t stride = 3;

    number_list thw{};
    std::uint32_t count = 0;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t size() const { return count; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool take(std::uint32_t i, std::uint32_t /*reals*/, grid (&to)[2],
                                                  refusal_record* record, std::uint32_t call) const {
        grid& made = to[0];
        FLOPTALLY_ROLLED
        for (std::uint32_t part = 0; part < 3; ++part) {
            std::uint32_t number = 0;
            if (!take_part(thw, std::size_t{3} * i + part, number, record, call)) {
                return false;
            }
            made.t = part == 0 ? number : made.t;
            made.h = part == 1 ? number : made.h;
            made.w = part == 2 ? number : made.w;
        }
        to[1] = made;
        return true;
    }
};
template <>
struct sample_list<audio_clip> {
    static constexpr const char* field = "audio_frames";
    static constexpr std::uint32_t stride = 1;

    number_list frames{};
    std::uint32_t count = 0;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t size() const { return count; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool take(std::uint32_t i, std::uint32_t /*reals*/, audio_clip (&to)[2],
                                                  refusal_record* record, std::uint32_t call) const {
        const bool right = take_part(frames, i, to[0].frames, record, call);
        to[1] = to[0];
        return right;
    }
};

/// Sequences with a list of one more part, one for each.
[[nodiscard]] inline sample_list<sequence> with_part(sample_list<sequence> list, list_name part,
                                                     const any_list& numbers) {
    require_as_many(list.size(), name_of(list.lengths.real.field), numbers.count, name_of(part));
    list.parts[static_cast<std::size_t>(part) - static_cast<std::size_t>(list_name::past)] = numbers.named(part);
    return list;
}
/// Samples of HSTU: an empty list of `contextual` or `targets` is all zeros.
[[nodiscard]] inline sample_list<sequence> hstu_samples(const any_list& lengths, const any_list& contextual,
                                                        const any_list& targets, std::uint32_t target_group) {
    sample_list<sequence> list{.lengths = listed_lengths(lengths), .target_group = target_group};
    if (contextual.count != 0) {
        list = with_part(list, list_name::contextual, contextual);
    }
    if (targets.count != 0) {
        list = with_part(list, list_name::targets, targets);
    }
    return list;
}
/// Images and clips in the layout of `grid_thw`, three numbers each.
[[nodiscard]] inline sample_list<grid> grid_samples(const any_list& thw) {
    return {thw.named(list_name::grid_thw), samples_in(thw.count / 3, list_name::grid_thw)};
}
/// Clips of sound by their frames.
[[nodiscard]] inline sample_list<audio_clip> clip_samples(const any_list& frames) {
    return {frames.named(list_name::audio_frames), samples_in(frames.count, list_name::audio_frames)};
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
