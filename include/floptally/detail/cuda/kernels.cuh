// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/cuda/device_tally_ref.hpp>
#include <floptally/detail/cuda/add_lengths.hpp>
#include <floptally/detail/cuda/add_units.hpp>
#include <floptally/detail/cuda/attention_rows.hpp>
#include <floptally/detail/cuda/block.hpp>
#include <floptally/detail/cuda/fill_message.hpp>
#include <floptally/detail/cuda/refusals.hpp>
#include <floptally/detail/cuda/snapshots.hpp>
#include <floptally/detail/cuda/word_schema.hpp>

/// @file
/// The kernels: each is the body that its header has, over the block of a launch.

namespace floptally::detail {

/// What a kernel adds to: the words of both views and the record behind them, by a schema among its parameters, which
/// lie in constant memory.
template <class Rules>
[[nodiscard]] __device__ basic_device_tally_ref<Rules> tally_at(const word_schema& schema, std::uint64_t* words) {
    return {&schema, words, reinterpret_cast<refusal_record*>(words + schema.size())};
}

/// A list of lengths, a pack, units, or rows of flags.
template <class Rules, class List>
__global__ void __launch_bounds__(List::shape.threads, List::shape.resident)
    add_list_kernel(List list, const __grid_constant__ word_schema schema, std::uint64_t* words, std::uint32_t call) {
    add_list(cuda_block{}, list, tally_at<Rules>(schema, words), call);
}

/// Words that the host has counted.
struct counted_words {
    std::uint64_t words[2 * word_schema::most];
};

template <class Rules>
__global__ void add_counted_kernel(const __grid_constant__ counted_words counted,
                                   const __grid_constant__ word_schema schema, std::uint64_t* words) {
    const basic_device_tally_ref<Rules> into = tally_at<Rules>(schema, words);
    for (std::uint32_t word = threadIdx.x; word < into.size(); word += blockDim.x) {
        into.add_to(word / schema.stride(), word % schema.stride(), counted.words[word]);
    }
}

template <class Unused = void>
__global__ void take_snapshot_kernel(std::uint64_t* words, snapshot_slots slots, bool reset) {
    take_snapshot(cuda_block{}, words, slots, reset);
}

template <class Unused = void>
__global__ void fill_message_kernel(const std::uint64_t* words, const refusal_record* record, message_parts parts,
                                    bool refuses, std::uint64_t* to) {
    fill_message(cuda_block{}, words, *record, parts, refuses, to);
}

}  // namespace floptally::detail
