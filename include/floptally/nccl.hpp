// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/text/macros_begin.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nccl.h>
#include <span>
#include <string_view>
#include <thread>

#include <floptally/balance/exchange_plan.hpp>
#include <floptally/cuda/cuda_error.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Reductions and exchanges of samples through NCCL, over a communicator that the training already has. The header
/// nccl.h includes the CUDA runtime.

namespace floptally::inline v0_3 {

namespace detail {

inline void require_nccl(ncclResult_t result, std::string_view call, const char* file = __builtin_FILE(),
                         int line = __builtin_LINE()) {
    if (result != ncclSuccess) {
        throw_failed_call(call, ncclGetErrorString(result), file, line);
    }
}

/// True after a communicator of this process has failed. Kernels of a failed communicator run until it is aborted, and
/// cudaFree would wait for them.
inline std::atomic<bool> communicator_failed = false;

/// Waits until an NCCL call has ended, and throws if it failed. A non-blocking communicator (`ncclConfig_t::blocking`
/// 0, used by some trainers) may report that the call is in progress. The communicator accepts no other call until
/// then.
inline void require_nccl(ncclComm_t group, ncclResult_t result, std::string_view call,
                         const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    while (result == ncclInProgress) {
        std::this_thread::yield();
        require_nccl(ncclCommGetAsyncError(group, &result), "ncclCommGetAsyncError", file, line);
    }
    if (result != ncclSuccess) {
        communicator_failed = true;
    }
    require_nccl(result, call, file, line);
}

/// Waits for all work of a stream. Throws if the communicator reports meanwhile that `call` failed. If another rank
/// dies, the stream never finishes, and only the communicator reports the failure.
inline void finish(ncclComm_t group, cudaStream_t stream, std::string_view call, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
    bool runs = true;
    for (auto start = std::chrono::steady_clock::now(); runs;) {
        const cudaError_t state = cudaStreamQuery(stream);
        forget_cuda_error(state);
        runs = state == cudaErrorNotReady;
        require_cuda(runs ? cudaSuccess : state, "cudaStreamQuery", file, line);
        ncclResult_t async_result = ncclSuccess;
        require_nccl(ncclCommGetAsyncError(group, &async_result), "ncclCommGetAsyncError", file, line);
        require_nccl(group, async_result, call, file, line);
        if (runs && std::chrono::steady_clock::now() - start > std::chrono::milliseconds(1)) {
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
    }
}

}  // namespace detail

/// Adds up integers over the ranks of an NCCL communicator, on a stream, in device memory that the reducer allocates.
/// Each call waits for the stream, because the host reads the result. This is acceptable, because there is only one
/// reduction for each step.
///
/// The reducer uses the CUDA device that is current in its constructor. The caller owns the communicator and the
/// stream; both must outlive the reducer. If NCCL reports that a rank is gone, the call throws. Then abort the
/// communicator (`ncclCommAbort`), because its kernels still wait. A reducer that is destroyed before the abort does
/// not wait for these kernels; it does not free its few kilobytes of device memory.
class nccl_reducer {
  public:
    explicit nccl_reducer(ncclComm_t group, cudaStream_t stream = nullptr) : group_(group), stream_(stream) {
        int ranks = 0;
        detail::require_nccl(ncclCommCount(group_, &ranks), "ncclCommCount");
        reserve(first_capacity);
    }

    nccl_reducer(const nccl_reducer&) = delete;
    nccl_reducer& operator=(const nccl_reducer&) = delete;
    ~nccl_reducer() {
        if (!detail::communicator_failed) {
            forget_cuda_error(cudaFree(integers_));
        }
    }

    void sum(std::span<std::uint64_t> integers) { all_reduce(integers, ncclSum); }
    void max(std::span<std::uint64_t> integers) { all_reduce(integers, ncclMax); }

  private:
    static constexpr std::size_t first_capacity = 1024;  // number of integers that fit the first allocation; the
                                                         // message of a tally has fewer

    void reserve(std::size_t capacity) {
        if (capacity <= capacity_) {
            return;
        }
        require_cuda(cudaFree(integers_), "cudaFree");
        integers_ = nullptr;
        capacity_ = 0;
        void* memory = nullptr;
        require_cuda(cudaMalloc(&memory, capacity * sizeof(std::uint64_t)), "cudaMalloc");
        integers_ = static_cast<std::uint64_t*>(memory);
        capacity_ = capacity;
    }

    void all_reduce(std::span<std::uint64_t> integers, ncclRedOp_t operation) {
        reserve(integers.size());
        const std::size_t bytes = integers.size_bytes();
        require_cuda(cudaMemcpyAsync(integers_, integers.data(), bytes, cudaMemcpyHostToDevice, stream_),
                     "cudaMemcpyAsync to the device");
        detail::require_nccl(
            group_, ncclAllReduce(integers_, integers_, integers.size(), ncclUint64, operation, group_, stream_),
            "ncclAllReduce");
        // Waits here first, because the copy below would wait forever if a rank has died.
        detail::finish(group_, stream_, "ncclAllReduce");
        require_cuda(cudaMemcpyAsync(integers.data(), integers_, bytes, cudaMemcpyDeviceToHost, stream_),
                     "cudaMemcpyAsync to the host");
        require_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    }

    ncclComm_t group_;
    cudaStream_t stream_;
    std::uint64_t* integers_ = nullptr;
    std::size_t capacity_ = 0;
};

/// Adds up integers in device memory over the ranks of an NCCL communicator, in place, on the stream of each call. A
/// call does not wait for the result, as a `device_reduction` requires. The caller owns the communicator. It must
/// outlive this reducer.
class nccl_stream_reducer {
  public:
    explicit nccl_stream_reducer(ncclComm_t group) : group_(group) {}

    void sum_async(std::span<std::uint64_t> device_accumulators, cudaStream_t stream) const {
        detail::require_nccl(group_,
                             ncclAllReduce(device_accumulators.data(), device_accumulators.data(),
                                           device_accumulators.size(), ncclUint64, ncclSum, group_, stream),
                             "ncclAllReduce");
    }

  private:
    ncclComm_t group_;
};

namespace detail {

/// A CUDA stream that this object creates and destroys. It does not synchronize with the default stream.
class own_stream {
  public:
    own_stream() {
        require_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    }
    own_stream(const own_stream&) = delete;
    own_stream& operator=(const own_stream&) = delete;
    ~own_stream() { forget_cuda_error(cudaStreamDestroy(stream_)); }

    [[nodiscard]] cudaStream_t get() const { return stream_; }

  private:
    cudaStream_t stream_ = nullptr;
};

}  // namespace detail

/// The data of one exchange: what this rank sends and receives, and its buffers in device memory.
struct nccl_payload {
    const rank_exchange& exchange;
    std::span<const std::byte> send{};
    std::span<std::byte> receive{};
};

/// Carries out exchanges of samples over an NCCL communicator, on a stream. Queue the work that fills the sending
/// buffer on this stream before the exchange, and the work that reads the received samples after it. Other streams can
/// compute meanwhile. The caller owns communicator, stream and buffers; they must outlive the exchange. The CUDA device
/// is the one that is current in the constructor. Starting an exchange is collective.
///
/// Before queueing anything, the ranks check that all of them can take part. If the plan or the buffers of one rank are
/// wrong, all ranks throw. A rank that could not allocate a buffer passes an empty buffer, so that all ranks throw.
class nccl_exchanger {
  public:
    explicit nccl_exchanger(ncclComm_t group, cudaStream_t stream = nullptr)
        : group_(group), stream_(stream), agreement_(group, agreement_stream_.get()) {
        detail::require_nccl(ncclCommUserRank(group_, &rank_), "ncclCommUserRank");
        detail::require_nccl(ncclCommCount(group_, &ranks_), "ncclCommCount");
    }

    /// Queues the messages of this rank as one NCCL group. Pass all payloads that move together in one call. The host
    /// first waits, on a separate stream, until every rank has called `start` and the communicator has finished its
    /// earlier work. Do not call `start` between your own ncclGroupStart and ncclGroupEnd.
    void start(std::span<const nccl_payload> payloads) {
        prepare_together(static_cast<std::uint64_t>(rank_), agreement_, [&] {
            for (const nccl_payload& payload : payloads) {
                require_exchange(payload.exchange, static_cast<std::uint64_t>(rank_),
                                 static_cast<std::uint64_t>(ranks_), payload.send, payload.receive);
            }
        });
        detail::require_nccl(ncclGroupStart(), "ncclGroupStart");
        ncclResult_t queued = ncclSuccess;
        const char* call = "";
        for (const nccl_payload& payload : payloads) {
            for (int peer = 0; peer < ranks_ && queued == ncclSuccess; ++peer) {
                const auto peer_rank = static_cast<std::size_t>(peer);
                if (payload.exchange.send.counts[peer_rank] != 0) {
                    call = "ncclSend";
                    queued = ncclSend(payload.send.data() + payload.exchange.send.displacements[peer_rank],
                                      payload.exchange.send.counts[peer_rank], ncclUint8, peer, group_, stream_);
                }
                queued = queued == ncclInProgress ? ncclSuccess : queued;  // a call in progress is not an error,
                                                                           // because ncclGroupEnd waits for it
                if (queued == ncclSuccess && payload.exchange.receive.counts[peer_rank] != 0) {
                    call = "ncclRecv";
                    queued = ncclRecv(payload.receive.data() + payload.exchange.receive.displacements[peer_rank],
                                      payload.exchange.receive.counts[peer_rank], ncclUint8, peer, group_, stream_);
                }
                queued = queued == ncclInProgress ? ncclSuccess : queued;
            }
        }
        const ncclResult_t ended = ncclGroupEnd();  // ends the NCCL group even after an error
        detail::require_nccl(queued, call);
        detail::require_nccl(group_, ended, "ncclGroupEnd");
    }

    void start(const rank_exchange& exchange, std::span<const std::byte> send, std::span<std::byte> receive) {
        const std::array<nccl_payload, 1> payload{{{exchange, send, receive}}};
        start(payload);
    }

    /// Waits until all queued exchanges are done. Throws if one of them failed.
    void wait() const { detail::finish(group_, stream_, "ncclSend and ncclRecv"); }

  private:
    ncclComm_t group_;
    cudaStream_t stream_;
    detail::own_stream agreement_stream_{};
    nccl_reducer agreement_;
    int rank_ = 0;
    int ranks_ = 0;
};

}  // namespace floptally

#include <floptally/text/macros_end.hpp>
