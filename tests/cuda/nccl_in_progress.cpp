// SPDX-License-Identifier: Apache-2.0
//
// A communicator of NCCL that does not block: its calls are in progress when they return, and nothing may be asked of
// it until they are not. NCCL is four functions here, for one rank, over the CUDA runtime of the host (on_host/).

#include <cstdint>
#include <cstring>
#include <nccl.h>
#include <span>
#include <string>
#include <vector>

#include <floptally/nccl.hpp>

#include "../error_of.hpp"
#include "../expect.hpp"
#include "on_host/host_runtime.hpp"

namespace {

int polls_left = 0;  // until the call before is done
int good_ends = 0;   // before it ends otherwise
ncclResult_t ends_as = ncclSuccess;
int sums = 0;

}  // namespace

extern "C" {
ncclResult_t ncclCommCount(const ncclComm_t /*group*/, int* count) {
    *count = 1;
    return ncclSuccess;
}
ncclResult_t ncclAllReduce(const void* /*from*/, void* /*to*/, size_t /*count*/, ncclDataType_t /*type*/,
                           ncclRedOp_t /*operation*/, ncclComm_t /*group*/, cudaStream_t /*stream*/) {
    if (polls_left > 0) {
        return ncclInvalidUsage;
    }
    ++sums;
    polls_left = 5;
    return ncclInProgress;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t /*group*/, ncclResult_t* now) {
    const bool in_progress = polls_left > 0 && --polls_left > 0;
    *now = in_progress ? ncclInProgress : good_ends > 0 ? ncclSuccess : ends_as;
    good_ends -= !in_progress && good_ends > 0 ? 1 : 0;
    return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t result) { return result == ncclRemoteError ? "a rank is gone" : "?"; }
}

int main() {
    using namespace floptally;
    nccl_reducer waits(nullptr);
    std::vector<std::uint64_t> integers{3, 5, 8};
    expect(error_of([&] {
               waits.sum(integers);
               waits.max(integers);
           }) == "no error" &&
               sums == 2 && integers == std::vector<std::uint64_t>{3, 5, 8},
           "sums over a communicator that does not block");
    const auto allocations = [] {  // of a reducer from its beginning to its end
        return on_host::counts_of([] { nccl_reducer{nullptr}; }).allocations;
    };
    const std::uint64_t with_an_end = allocations();
    // A rank dies in the sum: the stream never ends, and NCCL says so later.
    floptally_host_fail_next("cudaStreamQuery", cudaErrorNotReady);
    ends_as = ncclRemoteError;
    good_ends = 1;
    const std::vector<std::uint64_t> before = integers;
    const std::string gone = error_of([&] { waits.sum(integers); });
    expect(gone.rfind("ncclAllReduce: a rank is gone", 0) == 0 && integers == before, gone);
    floptally_host_fail_next("cudaStreamSynchronize", cudaErrorLaunchTimeout);  // as it would wait for ever
    good_ends = 1;
    const std::string asked_first = error_of([&] { waits.sum(integers); });
    expect(asked_first == gone, asked_first);
    forget_cuda_error(cudaStreamSynchronize(nullptr));
    ends_as = ncclSuccess;
    // A stream that takes its time is waited for.
    floptally_host_fail_next("cudaStreamQuery", cudaErrorNotReady);
    const std::string late = error_of([&] { waits.sum(integers); });
    expect(late == "no error" && integers == before, late);
    sums = 2;
    const nccl_stream_reducer on_stream(nullptr);
    expect(error_of([&] {
               on_stream.sum_async(integers, nullptr);
               on_stream.sum_async(integers, nullptr);
           }) == "no error" &&
               sums == 4,
           "sums on a stream");
    ends_as = ncclRemoteError;
    const std::string failed = error_of([&] { on_stream.sum_async(integers, nullptr); });
    expect(failed.rfind("ncclAllReduce: a rank is gone", 0) == 0, failed);
    expect(allocations() == with_an_end - 1, "after a rank died, no reducer waits in cudaFree");
    return failures == 0 ? 0 : 1;
}
