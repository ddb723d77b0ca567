// SPDX-License-Identifier: Apache-2.0
//
// One rank on each GPU of this machine, or processes that share the GPUs (gpu_ranks.hpp); each counts its own lengths.
// Exits 77 without a GPU.

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <floptally/conventions/all.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/nccl.hpp>
#include <floptally/parallel/reduction.hpp>

#include "gpu_ranks.hpp"

namespace {

using namespace floptally;

std::string reduce_on(ncclComm_t group, cudaStream_t stream, std::uint64_t rank, std::uint64_t ranks) {
    const mask_set masks = presets::mistral_7b.cost().masks();
    tally mine{masks};
    tally all{masks};
    for (std::uint32_t i = 0; i < 100; ++i) {
        const sequence sample{(i * i * 7 + 1) % 9000};
        all.add(sample);
        if (i * i % ranks == rank) {  // uneven, and nothing for some
            mine.add(sample);
        }
    }
    std::string problem;
    nccl_reducer over(group, stream);
    const parallel_layout layout({.dp = ranks}, ranks, rank);
    const tally_reduction reduction(masks, scopes::microbatch, layout, over, conventions::exact);
    for (int step = 0; step < 3; ++step) {
        problem = reduction.sum(mine, over) == all ? problem : "the tally of all ranks differs";
    }
    std::vector<std::uint64_t> large(100'000, ~std::uint64_t{0} - rank);
    over.max(large);
    problem = large.back() == ~std::uint64_t{0} ? problem : "MAX is not that of unsigned integers";
    try {
        const convention& how = rank + 1 == ranks && ranks > 1 ? conventions::megatron : conventions::exact;
        static_cast<void>(reduce(mine, scopes::microbatch, layout, over, {}, how));
        problem = ranks == 1 ? problem : "a rank with another convention was not seen";
    } catch (const error& expected) {
        problem = ranks > 1 && expected.field() == "convention" ? problem : expected.what();
    }
    return problem;
}

}  // namespace

int main(int argc, char** argv) {
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
    return gpu_ranks::main_of(argc, argv, reduce_on);
}
