// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cuda_runtime.h>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/cuda/cuda_error.hpp>
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
/// The kernels, each the body that its header has over the block of a launch; and how they are launched.

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

/// The kernels that this program has launches of, known before its main begins.
inline std::vector<const void*>& kernels_of_program() {
    static std::vector<const void*> all;
    return all;
}
template <auto Kernel>
inline const bool is_listed = [] {
    kernels_of_program().push_back(reinterpret_cast<const void*>(Kernel));
    return true;
}();

/// Loads them on the current device. Left alone, the runtime loads a kernel where it is first launched, which may wait
/// for the device and must not be in a capture.
inline void load_kernels() {
    for (const void* const kernel : kernels_of_program()) {
        cudaFuncAttributes unused{};
        require_cuda(cudaFuncGetAttributes(&unused, kernel), "cudaFuncGetAttributes");
    }
}

/// One launch on a stream of the current device, checked; `name` is what an error calls it.
template <auto Kernel, class... Arguments>
void launch(const launch_shape& shape, cudaStream_t stream, std::string_view name, Arguments&&... arguments) {
    static_cast<void>(&is_listed<Kernel>);
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(shape.blocks);
    config.blockDim = dim3(shape.threads);
    config.dynamicSmemBytes = shape.shared_words * sizeof(std::uint64_t);
    config.stream = stream;
    require_cuda(cudaLaunchKernelEx(&config, Kernel, std::forward<Arguments>(arguments)...), name);
}

}  // namespace floptally::detail
