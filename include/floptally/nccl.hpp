// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nccl.h>
#include <span>
#include <string_view>
#include <thread>

#include <floptally/balance/exchange_agreement.hpp>
#include <floptally/balance/exchange_plan.hpp>
#include <floptally/cuda/cuda_error.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Reductions and exchanges of samples through NCCL, over a communicator that the training already has. nccl.h brings
/// the CUDA runtime.

namespace floptally {

namespace detail {

inline void require_nccl(ncclResult_t result, std::string_view call, const char* file = __builtin_FILE(),
                         int line = __builtin_LINE()) {
    if (result != ncclSuccess) {
        throw_failed_call(call, ncclGetErrorString(result), file, line);
    }
}

/// Has a communicator failed in this process? Its kernels run until it is aborted, and cudaFree would wait for them.
inline std::atomic<bool> communicator_failed = false;

/// Throws where a call on a communicator failed. One that does not block (`ncclConfig_t::blocking` 0, as some trainers
/// make theirs) says that the call is in progress: it has to be waited for before anything else is asked of it.
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

/// Waits for all that a stream has to do, and throws where the communicator says that `call` failed meanwhile. A rank
/// that died leaves the stream waiting for ever: the communicator alone knows.
inline void finish(ncclComm_t group, cudaStream_t stream, std::string_view call, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
    bool runs = true;
    for (auto began = std::chrono::steady_clock::now(); runs;) {
        const cudaError_t now = cudaStreamQuery(stream);
        forget_cuda_error(now);
        runs = now == cudaErrorNotReady;
        require_cuda(runs ? cudaSuccess : now, "cudaStreamQuery", file, line);
        ncclResult_t later = ncclSuccess;
        require_nccl(ncclCommGetAsyncError(group, &later), "ncclCommGetAsyncError", file, line);
        require_nccl(group, later, call, file, line);
        if (runs && std::chrono::steady_clock::now() - began > std::chrono::milliseconds(1)) {
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
    }
}

}  // namespace detail

/// Adds up words over the ranks of an NCCL communicator, on a stream, in device memory of its own. Each call waits for
/// the stream: a reduction is asked for once a step, and its result is read by the host.
///
/// It belongs to the device that is current where it is constructed; communicator and stream are the caller's and must
/// outlive it. Where NCCL says that a rank is gone, the call throws: the caller then aborts the communicator
/// (`ncclCommAbort`), whose kernels still wait. A reducer that ends before that waits for nothing: its few kilobytes
/// are left to the process.
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
            forget_cuda_error(cudaFree(words_));
        }
    }

    void sum(std::span<std::uint64_t> words) { all_reduce(words, ncclSum); }
    void max(std::span<std::uint64_t> words) { all_reduce(words, ncclMax); }

  private:
    static constexpr std::size_t first_capacity = 1024;  // words: more than a tally's message has

    void reserve(std::size_t capacity) {
        if (capacity <= capacity_) {
            return;
        }
        require_cuda(cudaFree(words_), "cudaFree");
        words_ = nullptr;
        capacity_ = 0;
        void* memory = nullptr;
        require_cuda(cudaMalloc(&memory, capacity * sizeof(std::uint64_t)), "cudaMalloc");
        words_ = static_cast<std::uint64_t*>(memory);
        capacity_ = capacity;
    }

    void all_reduce(std::span<std::uint64_t> words, ncclRedOp_t operation) {
        reserve(words.size());
        const std::size_t bytes = words.size_bytes();
        require_cuda(cudaMemcpyAsync(words_, words.data(), bytes, cudaMemcpyHostToDevice, stream_),
                     "cudaMemcpyAsync to the device");
        detail::require_nccl(group_,
                             ncclAllReduce(words_, words_, words.size(), ncclUint64, operation, group_, stream_),
                             "ncclAllReduce");
        detail::finish(group_, stream_, "ncclAllReduce");  // before the copy, which would wait for a rank that died
        require_cuda(cudaMemcpyAsync(words.data(), words_, bytes, cudaMemcpyDeviceToHost, stream_),
                     "cudaMemcpyAsync to the host");
        require_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    }

    ncclComm_t group_;
    cudaStream_t stream_;
    std::uint64_t* words_ = nullptr;
    std::size_t capacity_ = 0;
};

/// Adds up words of the device over the ranks of an NCCL communicator, in place, on whatever stream it is told, and
/// does not wait: for a `device_reduction`. The communicator is the caller's and must outlive it.
class nccl_stream_reducer {
  public:
    explicit nccl_stream_reducer(ncclComm_t group) : group_(group) {}

    void sum_async(std::span<std::uint64_t> device_words, cudaStream_t stream) const {
        detail::require_nccl(group_,
                             ncclAllReduce(device_words.data(), device_words.data(), device_words.size(), ncclUint64,
                                           ncclSum, group_, stream),
                             "ncclAllReduce");
    }

  private:
    ncclComm_t group_;
};

namespace detail {

/// A stream of our own, beside all others.
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

/// One payload of an exchange: what a rank sends and receives, and where, in device memory.
struct nccl_payload {
    const rank_exchange& how;
    std::span<const std::byte> send{};
    std::span<std::byte> receive{};
};

/// Carries out exchanges over an NCCL communicator, on a stream: what is queued there before has filled the sending
/// buffer, what is queued after finds the samples, and other streams compute meanwhile. Communicator, stream and
/// buffers are the caller's and must outlive the exchange. It belongs to the device that is current where it is
/// constructed, and starting is collective.
///
/// Before anything is queued the ranks agree that all of them can: what one rank alone finds wrong with its exchange or
/// its buffers, all throw. A rank that has no memory for a buffer comes with an empty one, so that the others know.
class nccl_exchanger {
  public:
    explicit nccl_exchanger(ncclComm_t group, cudaStream_t stream = nullptr)
        : group_(group), stream_(stream), agreement_(group, agreement_stream_.get()) {
        detail::require_nccl(ncclCommUserRank(group_, &rank_), "ncclCommUserRank");
        detail::require_nccl(ncclCommCount(group_, &ranks_), "ncclCommCount");
    }

    /// Queues the messages of one rank, of several payloads as one group. The agreement before is waited for by the
    /// host, on a stream of its own: until every rank is here, and the communicator done with what it was given before.
    /// So it cannot stand between the caller's own ncclGroupStart and ncclGroupEnd, and several payloads that are to
    /// move together go in one call.
    void start(std::span<const nccl_payload> payloads) {
        prepare_together(static_cast<std::uint64_t>(rank_), agreement_, [&] {
            for (const nccl_payload& payload : payloads) {
                require_exchange(payload.how, static_cast<std::uint64_t>(rank_), static_cast<std::uint64_t>(ranks_),
                                 payload.send, payload.receive);
            }
        });
        detail::require_nccl(ncclGroupStart(), "ncclGroupStart");
        ncclResult_t queued = ncclSuccess;
        const char* call = "";
        for (const nccl_payload& payload : payloads) {
            for (int peer = 0; peer < ranks_ && queued == ncclSuccess; ++peer) {
                const auto with = static_cast<std::size_t>(peer);
                if (payload.how.send.counts[with] != 0) {
                    call = "ncclSend";
                    queued = ncclSend(payload.send.data() + payload.how.send.displacements[with],
                                      payload.how.send.counts[with], ncclUint8, peer, group_, stream_);
                }
                queued = queued == ncclInProgress ? ncclSuccess : queued;  // the end of the group waits
                if (queued == ncclSuccess && payload.how.receive.counts[with] != 0) {
                    call = "ncclRecv";
                    queued = ncclRecv(payload.receive.data() + payload.how.receive.displacements[with],
                                      payload.how.receive.counts[with], ncclUint8, peer, group_, stream_);
                }
                queued = queued == ncclInProgress ? ncclSuccess : queued;
            }
        }
        const ncclResult_t ended = ncclGroupEnd();  // also after a failed call, or the thread's group stays open
        detail::require_nccl(queued, call);
        detail::require_nccl(group_, ended, "ncclGroupEnd");
    }

    void start(const rank_exchange& how, std::span<const std::byte> send, std::span<std::byte> receive) {
        const std::array<nccl_payload, 1> payload{{{how, send, receive}}};
        start(payload);
    }

    /// Returns when all exchanges that were queued are done, or throws what became of them.
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
