// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <floptally/nccl.hpp>

/// @file
/// The ranks of a test: one on each GPU of this machine, as threads of one process, or processes that share the GPUs.

namespace gpu_ranks {

/// The problem that `run(communicator, stream, rank, ranks)` reports on one rank: empty where there is none.
template <class Run>
std::string run_rank(int device, std::uint64_t rank, std::uint64_t ranks, ncclUniqueId id, Run run) {
    using namespace floptally;
    try {
        require_cuda(cudaSetDevice(device), "cudaSetDevice");
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

inline bool is_clean(std::uint64_t rank, const std::string& problem) {
    if (!problem.empty()) {
        std::fprintf(stderr, "rank %d: %s\n", static_cast<int>(rank), problem.c_str());
    }
    return problem.empty();
}

inline int number_of_gpus() {
    int devices = 0;
    return cudaGetDeviceCount(&devices) == cudaSuccess ? devices : 0;
}

template <class Run>
int run_threads(Run run) {
    const int devices = number_of_gpus();
    if (devices == 0) {
        return 77;
    }
    ncclUniqueId id;
    floptally::detail::require_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
    const auto ranks = static_cast<std::uint64_t>(devices);
    std::vector<std::string> problems(ranks);
    std::vector<std::thread> threads;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] { problems[rank] = run_rank(static_cast<int>(rank), rank, ranks, id, run); });
    }
    bool clean = true;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
        threads[rank].join();
        clean = is_clean(rank, problems[rank]) && clean;
    }
    return clean ? 0 : 1;
}

/// What one process does: the first of them makes the group's name and writes it into the others' pipes.
template <class Run>
int run_process(std::uint64_t rank, const std::vector<std::array<int, 2>>& pipes, Run run) {
    const int devices = number_of_gpus();
    if (devices == 0) {
        return 77;
    }
    ncclUniqueId id{};
    if (rank == 0) {
        floptally::detail::require_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
        for (const auto& [reads, writes] : pipes) {
            if (write(writes, &id, sizeof(id)) != static_cast<ssize_t>(sizeof(id))) {
                return 1;
            }
        }
    } else if (read(pipes[rank][0], &id, sizeof(id)) != static_cast<ssize_t>(sizeof(id))) {
        return 1;
    }
    const int device = static_cast<int>(rank) % devices;
    return is_clean(rank, run_rank(device, rank, pipes.size(), id, run)) ? 0 : 1;
}

/// The exit statuses of processes, as `waitpid` gives them. NCCL takes two ranks of one machine on one GPU for a
/// mistake, so that each of them says that it is a machine of its own, which the loopback joins.
template <class Run>
std::vector<int> run_processes(std::uint64_t ranks, Run run) {
    std::vector<std::array<int, 2>> pipes(ranks);
    for (auto& ends : pipes) {
        if (pipe(ends.data()) != 0) {
            return {1};
        }
    }
    std::vector<pid_t> processes;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
        processes.push_back(fork());  // before the runtime of CUDA is asked for anything
        if (processes.back() == 0) {
            setenv("NCCL_HOSTID", std::to_string(rank).c_str(), 1);
            setenv("NCCL_SOCKET_IFNAME", "lo", 0);
            std::_Exit(run_process(rank, pipes, run));
        }
    }
    std::vector<int> statuses;
    for (const pid_t process : processes) {
        statuses.push_back(1);
        waitpid(process, &statuses.back(), 0);
    }
    return statuses;
}

/// The exit status of a test, whose arguments are none, or "processes" and how many: 77 without a GPU, 1 where a rank
/// has a problem, which is printed.
template <class Run>
int main_of(int argc, const char* const* argv, Run run) {
    int status = 0;
    if (argc > 2 && std::string_view(argv[1]) == "processes") {
        for (const int number : run_processes(std::strtoull(argv[2], nullptr, 10), run)) {
            status = WIFEXITED(number) ? std::max(status, WEXITSTATUS(number)) : 1;
        }
    } else {
        status = run_threads(run);
    }
    if (status == 77) {
        std::puts("skipped: no GPU");
    }
    return status;
}

}  // namespace gpu_ranks
