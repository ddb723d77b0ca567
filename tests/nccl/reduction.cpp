// SPDX-License-Identifier: Apache-2.0
//
// One rank on each GPU of this machine, as threads of one process; each counts its own lengths. Exits 77 without a GPU.

#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include <floptally/nccl.hpp>
#include <floptally/presets.hpp>
#include <floptally/reduction.hpp>

namespace {

using namespace floptally;

std::string run_rank(std::uint64_t rank, std::uint64_t ranks, ncclUniqueId id) {
    try {
        detail::require_cuda(cudaSetDevice(static_cast<int>(rank)), "cudaSetDevice");
        ncclComm_t group = nullptr;
        detail::require_nccl(ncclCommInitRank(&group, static_cast<int>(ranks), id, static_cast<int>(rank)),
                             "ncclCommInitRank");
        cudaStream_t stream = nullptr;
        detail::require_cuda(cudaStreamCreate(&stream), "cudaStreamCreate");
        const mask_set masks = presets::mistral_7b.cost().masks();
        tally mine{masks};
        tally all{masks};
        for (std::uint32_t i = 0; i < 100; ++i) {
            const sequence one{(i * i * 7 + 1) % 9000};
            all.add(one);
            if (i * i % ranks == rank) {  // uneven, and nothing for some
                mine.add(one);
            }
        }
        std::string problem;
        {
            nccl_reducer over(group, stream);
            const parallel_layout layout({.dp = ranks}, ranks, rank);
            const tally_reduction reduction(masks, scopes::microbatch, layout, over);
            for (int step = 0; step < 3; ++step) {
                problem = reduction.sum(mine, over) == all ? problem : "the tally of all ranks differs";
            }
            std::vector<std::uint64_t> large(100'000, ~std::uint64_t{0} - rank);
            over.max(large);
            problem = large.back() == ~std::uint64_t{0} ? problem : "MAX is not that of unsigned words";
            try {
                const convention& how = rank + 1 == ranks && ranks > 1 ? conventions::megatron : conventions::exact;
                static_cast<void>(reduce(mine, scopes::microbatch, layout, over, {}, how));
                problem = ranks == 1 ? problem : "a rank with another convention was not seen";
            } catch (const error& expected) {
                problem = ranks > 1 && expected.field() == "convention" ? problem : expected.what();
            }
        }
        detail::require_cuda(cudaStreamDestroy(stream), "cudaStreamDestroy");
        detail::require_nccl(ncclCommDestroy(group), "ncclCommDestroy");
        return problem;
    } catch (const std::exception& problem) {
        return problem.what();
    }
}

}  // namespace

int main() {
    try {
        detail::require_nccl(ncclInvalidArgument, "ncclAllReduce");
        return 1;
    } catch (const error& problem) {
        const std::string text = problem.what();
        if (text.rfind("ncclAllReduce: ", 0) != 0 || text.find("reduction.cpp:") == std::string::npos) {
            std::fprintf(stderr, "a failed call reads: %s\n", text.c_str());
            return 1;
        }
    }
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::puts("skipped: no GPU");
        return 77;
    }
    ncclUniqueId id;
    detail::require_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
    const auto ranks = static_cast<std::uint64_t>(devices);
    std::vector<std::string> problems(ranks);
    std::vector<std::thread> threads;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] { problems[rank] = run_rank(rank, ranks, id); });
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
