// SPDX-License-Identifier: Apache-2.0
//
// The one function behind every count, run in a kernel: the device must give the host's bits.

#include <cstdint>
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

#include <floptally/mask.hpp>

namespace {

constexpr int skipped = 77;

__global__ void count_pairs(floptally::mask attends, const floptally::sequence* sequences, std::uint64_t* pairs,
                            int n) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) {
        pairs[i] = attends.pairs(sequences[i]);
    }
}

bool check(cudaError_t status, const char* call) {
    if (status != cudaSuccess) {
        std::printf("%s: %s\n", call, cudaGetErrorString(status));
    }
    return status == cudaSuccess;
}

}  // namespace

int main() {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::printf("skipped: no CUDA device\n");
        return skipped;
    }
    using floptally::mask;
    std::vector<floptally::sequence> sequences;
    for (std::uint32_t length : {0U, 1U, 7U, 399U, 400U, 401U, 46341U, 4294967295U}) {
        sequences.push_back({length, 0, 5});
        sequences.push_back({length / 2, length / 3, 1000});
        sequences.push_back({length / 2, length / 3, 0, length / 7, length / 5, 3});
    }
    const int n = static_cast<int>(sequences.size());
    floptally::sequence* device_sequences = nullptr;
    std::uint64_t* device_pairs = nullptr;
    if (!check(cudaMalloc(&device_sequences, sequences.size() * sizeof(sequences[0])), "cudaMalloc") ||
        !check(cudaMalloc(&device_pairs, sequences.size() * sizeof(std::uint64_t)), "cudaMalloc") ||
        !check(cudaMemcpy(device_sequences, sequences.data(), sequences.size() * sizeof(sequences[0]),
                          cudaMemcpyHostToDevice),
               "cudaMemcpy")) {
        return 1;
    }
    int wrong = 0;
    for (const mask& attends :
         {mask::bidirectional(), mask::causal(), mask::sliding_window(400), mask::window(64, 3), mask::window(-1, 5),
          mask::chunked(7), mask::top_k(11), mask::compressed_keys(4), mask::cross_attention(), mask::box(400),
          mask::hstu(), mask::hstu({.max_attn_len = 400, .min_full_attn_seq_len = 7}),
          mask::hstu({.is_causal = false, .contextual = false}), mask::hstu_history_squares_of(mask::hstu()),
          mask::hstu_others_of(mask::hstu()), mask::hstu_part(floptally::hstu_rows::targets, 2)}) {
        count_pairs<<<1, 128>>>(attends, device_sequences, device_pairs, n);
        std::vector<std::uint64_t> pairs(sequences.size());
        if (!check(cudaMemcpy(pairs.data(), device_pairs, pairs.size() * sizeof(pairs[0]), cudaMemcpyDeviceToHost),
                   "kernel")) {
            return 1;
        }
        for (std::size_t i = 0; i < sequences.size(); ++i) {
            wrong += pairs[i] == attends.pairs(sequences[i]) ? 0 : 1;
        }
    }
    std::printf("%d of %d sequences differ\n", wrong, n);
    return wrong == 0 ? 0 : 1;
}
