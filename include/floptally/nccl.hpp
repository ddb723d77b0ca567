// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <nccl.h>
#include <span>
#include <string_view>

#include <floptally/detail/failed_call.hpp>

/// @file
/// Reductions through NCCL, over a communicator that the training already has. nccl.h brings the CUDA runtime.

namespace floptally {

namespace detail {

inline void require_nccl(ncclResult_t result, std::string_view call, const char* file = __builtin_FILE(),
                         int line = __builtin_LINE()) {
    if (result != ncclSuccess) {
        throw_failed_call(call, ncclGetErrorString(result), file, line);
    }
}

inline void require_cuda(cudaError_t result, std::string_view call, const char* file = __builtin_FILE(),
                         int line = __builtin_LINE()) {
    if (result != cudaSuccess) {
        throw_failed_call(call, cudaGetErrorString(result), file, line);
    }
}

}  // namespace detail

/// Adds up words over the ranks of an NCCL communicator, on a stream, in device memory of its own. Each call waits for
/// the stream: a reduction is asked for once a step, and its result is read by the host.
///
/// It belongs to the device that is current where it is constructed; communicator and stream are the caller's and must
/// outlive it.
class nccl_reducer {
  public:
    explicit nccl_reducer(ncclComm_t group, cudaStream_t stream = nullptr) : group_(group), stream_(stream) {
        int ranks = 0;
        detail::require_nccl(ncclCommCount(group_, &ranks), "ncclCommCount");
        reserve(first_capacity);
    }

    nccl_reducer(const nccl_reducer&) = delete;
    nccl_reducer& operator=(const nccl_reducer&) = delete;
    ~nccl_reducer() { cudaFree(words_); }

    void sum(std::span<std::uint64_t> words) { all_reduce(words, ncclSum); }
    void max(std::span<std::uint64_t> words) { all_reduce(words, ncclMax); }

  private:
    static constexpr std::size_t first_capacity = 1024;  // words: more than a tally's message has

    void reserve(std::size_t capacity) {
        if (capacity <= capacity_) {
            return;
        }
        detail::require_cuda(cudaFree(words_), "cudaFree");
        words_ = nullptr;
        capacity_ = 0;
        void* memory = nullptr;
        detail::require_cuda(cudaMalloc(&memory, capacity * sizeof(std::uint64_t)), "cudaMalloc");
        words_ = static_cast<std::uint64_t*>(memory);
        capacity_ = capacity;
    }

    void all_reduce(std::span<std::uint64_t> words, ncclRedOp_t operation) {
        reserve(words.size());
        const std::size_t bytes = words.size_bytes();
        detail::require_cuda(cudaMemcpyAsync(words_, words.data(), bytes, cudaMemcpyHostToDevice, stream_),
                             "cudaMemcpyAsync to the device");
        detail::require_nccl(ncclAllReduce(words_, words_, words.size(), ncclUint64, operation, group_, stream_),
                             "ncclAllReduce");
        detail::require_cuda(cudaMemcpyAsync(words.data(), words_, bytes, cudaMemcpyDeviceToHost, stream_),
                             "cudaMemcpyAsync to the host");
        detail::require_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
        ncclResult_t later = ncclSuccess;
        detail::require_nccl(ncclCommGetAsyncError(group_, &later), "ncclCommGetAsyncError");
        detail::require_nccl(later, "ncclAllReduce");
    }

    ncclComm_t group_;
    cudaStream_t stream_;
    std::uint64_t* words_ = nullptr;
    std::size_t capacity_ = 0;
};

}  // namespace floptally
