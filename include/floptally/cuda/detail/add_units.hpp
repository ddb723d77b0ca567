// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <floptally/batch/length_refusals.hpp>
#include <floptally/cuda/detail/block.hpp>
#include <floptally/cuda/detail/block_sum.hpp>
#include <floptally/cuda/detail/length_lists.hpp>
#include <floptally/cuda/detail/refusals.hpp>
#include <floptally/cuda/detail/word_schema.hpp>
#include <floptally/cuda/device_tally_ref.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/rules/sequence.hpp>

namespace floptally::detail {

/// A list of sequences with parts, of grids or of clips of sound in device memory, each of which fills its slot. Each
/// of its `Parts` is read from a list of numbers, with a stride.
template <integer T, class Unit, std::uint32_t Unit::*... Parts>
struct listed_units {
    static constexpr block_shape shape{.threads = 256, .resident = 3, .units = 256, .views = 1};
    using unit = Unit;
    struct list {
        const T* numbers;   ///< null: all zeros
        const char* field;  ///< as errors call it, a text of the host
        std::size_t first = 0;
    };

    list parts[sizeof...(Parts)];
    std::size_t count;
    std::size_t stride = 1;
    Unit like{};  ///< every other member of the units

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::size_t size() const { return count; }
    /// Reads unit `i` into `to` where its parts can be lengths; else refuses it and returns false.
    template <class Ref>
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool take(std::size_t i, Unit& to, std::uint32_t call, const Ref& into) const {
        const auto takes = [&](const list& from, std::uint32_t& part) {
            if (from.numbers == nullptr) {
                return true;
            }
            const std::size_t at = stride * i + from.first;
            const T number = from.numbers[at];
            if (!is_length(number)) {
                refuse(into.refusals(), {call, at}, {refused::length, number, 0, from.field});
                return false;
            }
            part = static_cast<std::uint32_t>(number);
            return true;
        };
        to = like;
        const list* next = parts;
        return (takes(*next++, to.*Parts) && ...);
    }
};

/// A list of HSTU samples: their total lengths, and the contextual tokens and targets among them.
template <integer T>
[[nodiscard]] auto hstu_samples(const T* lengths, const std::type_identity_t<T>* contextual,
                                const std::type_identity_t<T>* targets, std::size_t count, std::uint32_t target_group) {
    return listed_units<T, sequence, &sequence::length, &sequence::context, &sequence::targets>{
        .parts = {{lengths, "lengths"}, {contextual, "contextual"}, {targets, "targets"}},
        .count = count,
        .like = {.target_group = target_group}};
}
/// A list of images and clips in the layout of `grid_thw`, three numbers each.
template <integer T>
[[nodiscard]] auto listed_grids(const T* thw, std::size_t count) {
    constexpr const char* field = "grid_thw";
    return listed_units<T, grid, &grid::t, &grid::h, &grid::w>{
        .parts = {{thw, field, 0}, {thw, field, 1}, {thw, field, 2}}, .count = count, .stride = 3};
}
/// A list of clips of sound by their frames.
template <integer T>
[[nodiscard]] auto listed_clips(const T* frames, std::size_t count) {
    return listed_units<T, audio_clip, &audio_clip::frames>{.parts = {{frames, "audio_frames"}}, .count = count};
}

/// The body of the kernel that adds units other than plain lengths: a thread takes one unit a round.
template <class Block, class T, class Unit, std::uint32_t Unit::*... Parts, class Ref>
FLOPTALLY_HOST_DEVICE void add_list(const Block& block, const listed_units<T, Unit, Parts...>& list, const Ref& into,
                                    std::uint32_t call) {
    const word_schema& schema = into.schema();
    const block_columns<Block> sums(block, schema, 1);
    sums.clear();
    constexpr modality in = modality_of(Unit{});
    const std::size_t all = std::size_t{block.count()} * block.threads();
    for (std::size_t i = std::size_t{block.index()} * block.threads() + block.thread(); i < list.size(); i += all) {
        Unit real{};
        if (!list.take(i, real, call, into)) {
            continue;
        }
        if (!into.is_valid(real, real)) {
            refuse(into.refusals(), {call, i * list.stride}, {real, real});
            continue;
        }
        FLOPTALLY_ROLLED
        for (std::uint32_t column = 0; column < schema.columns(); ++column) {
            const std::uint32_t word = schema.word_of(in, column);
            if (schema.is_of(in, word) &&
                sums.add_overflows(0, column, amount_of<typename Ref::rules>(schema, word, real))) {
                atomic_or(&into.refusals()->overflowed[0], std::uint64_t{1} << word);
            }
        }
    }
    sums.add_to(into, in);
}

}  // namespace floptally::detail
