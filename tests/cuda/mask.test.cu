// SPDX-License-Identifier: Apache-2.0
//
// The function that every count uses, run in a kernel: the device must give the host's bits, for masks of the library
// and a caller's own. Without a device the program exits with 77: skipped.

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <initializer_list>
#include <vector>

#include <floptally/cuda/device_tally_ref.hpp>
#include <floptally/statistics/library_statistics.hpp>
#include <floptally/statistics/mask.hpp>

#include "../own_masks.hpp"
#include "gpu_test.hpp"

namespace {

using floptally::mask;
using floptally::require_cuda;

using own_statistics = floptally::library_statistics::with<dilated_window, block_sparse>;

/// All ones where the kernel does not know the mask.
__global__ void count_pairs(mask attends, const floptally::sequence* sequences, std::uint64_t* pairs, int n) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) {
        floptally::uint128 amount = 0;
        const bool counted = floptally::device_amount<own_statistics>(attends, sequences[i], amount);
        pairs[i] = counted ? static_cast<std::uint64_t>(amount) : ~std::uint64_t{0};
    }
}

void pairs_are_those_of_the_host() {
    std::vector<floptally::sequence> sequences;
    for (std::uint32_t length : {0U, 1U, 7U, 399U, 400U, 401U, 46341U, 4294967295U}) {
        sequences.push_back({length, 0, 5});
        sequences.push_back({length / 2, length / 3, 1000});
        sequences.push_back({length / 2, length / 3, 0, length / 7, length / 5, 3});
    }
    const gpu_test::device_copy<floptally::sequence> on_device(sequences);
    std::vector<std::uint64_t> pairs(sequences.size());
    std::uint64_t* counted = nullptr;
    require_cuda(cudaMalloc(&counted, pairs.size() * sizeof(pairs[0])), "cudaMalloc");
    for (const mask& attends : std::initializer_list<mask>{
             mask::bidirectional(), mask::causal(), mask::sliding_window(400), mask::window(64, 3), mask::window(-1, 5),
             mask::chunked(7), mask::top_k(11), mask::compressed_keys(4), mask::cross_attention(), mask::box(400),
             mask::hstu(), mask::hstu({.max_attn_len = 400, .min_full_attn_seq_len = 7}),
             mask::hstu({.is_causal = false, .contextual = false}), floptally::recsys_examples::history_squares{0},
             floptally::recsys_examples::other_pairs{0}, floptally::unit::hstu_part(floptally::hstu_rows::targets, 2),
             dilated_window{4, 3}, block_sparse{gpu_test::size(64, 1 << 14), 2, 1}}) {  // which loops over blocks
        count_pairs<<<1, 128>>>(attends, on_device.get(), counted, static_cast<int>(sequences.size()));
        require_cuda(cudaGetLastError(), "count_pairs");
        require_cuda(cudaMemcpy(pairs.data(), counted, pairs.size() * sizeof(pairs[0]), cudaMemcpyDeviceToHost),
                     "cudaMemcpy");
        for (std::size_t i = 0; i < sequences.size(); ++i) {
            expect(pairs[i] == attends.pairs(sequences[i]), attends.name());
        }
    }
    require_cuda(cudaFree(counted), "cudaFree");
}

}  // namespace

int main(int argc, char** argv) { return gpu_test::run(argc, argv, pairs_are_those_of_the_host); }
