// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cuda_runtime.h>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/cuda/cuda_error.hpp>
#include <floptally/cuda/detail/add_lengths.hpp>
#include <floptally/cuda/detail/add_units.hpp>
#include <floptally/cuda/detail/attention_rows.hpp>
#include <floptally/cuda/detail/block.hpp>
#include <floptally/cuda/detail/fill_message.hpp>
#include <floptally/cuda/detail/refusals.hpp>
#include <floptally/cuda/detail/snapshots.hpp>
#include <floptally/cuda/detail/word_schema.hpp>
#include <floptally/cuda/device_tally_ref.hpp>

/// @file
/// The kernels, each of which runs the body from its header over a block, and their launches.

namespace floptally::detail {

/// The tally that a kernel adds to: the words of both views and the record after them. Its schema is among the kernel's
/// parameters, which lie in constant memory.
template <class Rules>
[[nodiscard]] __device__ basic_device_tally_ref<Rules> tally_at(const word_schema& schema, std::uint64_t* words) {
    return {&schema, words, reinterpret_cast<refusal_record*>(words + schema.size())};
}

/// The kernel that adds a list: of lengths, a pack, units, or rows of flags.
template <class Rules, class List>
__global__ void __launch_bounds__(List::shape.threads, List::shape.resident)
    add_list_kernel(List list, const __grid_constant__ word_schema schema, std::uint64_t* words, std::uint32_t call) {
    add_list(cuda_block{}, list, tally_at<Rules>(schema, words), call);
}

/// The words of a tally that the host has counted, as a kernel takes them.
struct counted_words {
    std::uint64_t words[2 * word_schema::most];
};

/// The kernel that adds the words of a tally that the host has counted.
template <class Rules>
__global__ void add_counted_kernel(const __grid_constant__ counted_words counted,
                                   const __grid_constant__ word_schema schema, std::uint64_t* words) {
    const basic_device_tally_ref<Rules> into = tally_at<Rules>(schema, words);
    for (std::uint32_t word = threadIdx.x; word < into.size(); word += blockDim.x) {
        into.add_to(word / schema.stride(), word % schema.stride(), counted.words[word]);
    }
}

/// The kernel of `take_snapshot`.
template <class Unused = void>
__global__ void take_snapshot_kernel(std::uint64_t* words, snapshot_slots slots, bool reset) {
    take_snapshot(cuda_block{}, words, slots, reset);
}

/// The kernel of `fill_message`.
template <class Unused = void>
__global__ void fill_message_kernel(const std::uint64_t* words, const refusal_record* record, message_parts parts,
                                    bool refuses, std::uint64_t* to) {
    fill_message(cuda_block{}, words, *record, parts, refuses, to);
}

/// The kernels that this program launches, listed before its main begins.
inline std::vector<const void*>& kernels_of_program() {
    static std::vector<const void*> all;
    return all;
}
/// True once a kernel is in that list, which its mention here puts it on.
template <auto Kernel>
inline const bool is_listed = [] {
    kernels_of_program().push_back(reinterpret_cast<const void*>(Kernel));
    return true;
}();

/// Loads the kernels on the current device. Otherwise the runtime loads a kernel at its first launch, which may wait
/// for the device and is not allowed in a capture.
inline void load_kernels() {
    for (const void* const kernel : kernels_of_program()) {
        cudaFuncAttributes unused{};
        require_cuda(cudaFuncGetAttributes(&unused, kernel), "cudaFuncGetAttributes");
    }
}

/// Launches a kernel on a stream of the current device and checks the launch; `name` is the name in errors.
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
