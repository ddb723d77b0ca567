// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/cuda/device_tally_ref.hpp>
#include <floptally/detail/cuda/add_lengths.hpp>
#include <floptally/detail/cuda/add_units.hpp>
#include <floptally/detail/cuda/block.hpp>
#include <floptally/detail/cuda/dot_product.hpp>
#include <floptally/detail/cuda/fill_message.hpp>
#include <floptally/detail/cuda/padded_boundaries.hpp>
#include <floptally/detail/cuda/take_snapshot.hpp>

/// @file
/// The kernels: each is the body that its header has, over the block of a launch.

namespace floptally::detail {

template <class List, class Ref>
__global__ void add_lengths_kernel(List list, Ref into, std::uint32_t call) {
    add_lengths(cuda_block{}, list, into, call);
}

template <class T, class S, class N, class Ref>
__global__ void add_pack_kernel(padded_boundaries<T, S> pack, real_sequences<N> num_real, Ref into,
                                std::uint32_t call) {
    add_pack(cuda_block{}, pack, num_real, into, call);
}

template <class List, class Ref>
__global__ void add_units_kernel(List list, Ref into, std::uint32_t call) {
    add_units(cuda_block{}, list, into, call);
}

/// Words that the host has counted.
struct counted_words {
    std::uint64_t words[2 * word_schema::most];
};

template <class Ref>
__global__ void add_counted_kernel(counted_words counted, Ref into) {
    for (std::uint32_t word = threadIdx.x; word < into.size(); word += blockDim.x) {
        into.add_to(word / into.schema().stride(), word % into.schema().stride(), counted.words[word]);
    }
}

template <class Unused = void>
__global__ void take_snapshot_kernel(std::uint64_t* words, snapshot_slots slots, bool reset) {
    take_snapshot(cuda_block{}, words, slots, reset);
}

template <class Unused = void>
__global__ void evaluate_kernel(const std::uint64_t* words, const refusal_record* record, const dot_coefficients* model,
                                std::uint64_t* to) {
    evaluate_on_device(cuda_block{}, words, *record, *model, to);
}

template <class Unused = void>
__global__ void fill_message_kernel(const std::uint64_t* words, const refusal_record* record, message_parts parts,
                                    bool refuses, std::uint64_t* to) {
    fill_message(cuda_block{}, words, *record, parts, refuses, to);
}

}  // namespace floptally::detail
