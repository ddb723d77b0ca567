// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include <floptally/nccl.hpp>

/// @file
/// One rank on each GPU of this machine, as threads of one process.

/// The problem that `run(communicator, stream, rank, ranks)` reports on one rank: empty where there is none.
template <class Run>
std::string run_rank(std::uint64_t rank, std::uint64_t ranks, ncclUniqueId id, Run run) {
    using namespace floptally;
    try {
        require_cuda(cudaSetDevice(static_cast<int>(rank)), "cudaSetDevice");
        ncclComm_t group = nullptr;
        detail::require_nccl(ncclCommInitRank(&group, static_cast<int>(ranks), id, static_cast<int>(rank)),
                             "ncclCommInitRank");
        cudaStream_t stream = nullptr;
        require_cuda(cudaStreamCreate(&stream), "cudaStreamCreate");
        const std::string problem = run(group, stream, rank, ranks);
        require_cuda(cudaStreamDestroy(stream), "cudaStreamDestroy");
        detail::require_nccl(ncclCommDestroy(group), "ncclCommDestroy");
        return problem;
    } catch (const std::exception& problem) {
        return problem.what();
    }
}

/// The exit status of a test that runs on every GPU: 77 without one, 1 where a rank has a problem, which is printed.
template <class Run>
int run_on_every_gpu(Run run) {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::puts("skipped: no GPU");
        return 77;
    }
    ncclUniqueId id;
    floptally::detail::require_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
    const auto ranks = static_cast<std::uint64_t>(devices);
    std::vector<std::string> problems(ranks);
    std::vector<std::thread> threads;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] { problems[rank] = run_rank(rank, ranks, id, run); });
    }
    int failed = 0;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
        threads[rank].join();
        if (!problems[rank].empty()) {
            std::fprintf(stderr, "rank %d: %s\n", static_cast<int>(rank), problems[rank].c_str());
            failed = 1;
        }
    }
    return failed;
}
