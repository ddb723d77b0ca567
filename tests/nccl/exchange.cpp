// SPDX-License-Identifier: Apache-2.0
//
// One rank on each GPU of this machine, or processes that share the GPUs (gpu_ranks.hpp): ragged samples move between
// their memories, as one group of several payloads, and come back. Exits 77 without a GPU.

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <floptally/balance/canonical_groups.hpp>
#include <floptally/balance/exchange_plan.hpp>
#include <floptally/nccl.hpp>
#include <floptally/parallel/packing.hpp>

#include "../sample_payload.hpp"
#include "gpu_ranks.hpp"

namespace {

using namespace floptally;
using numbers = std::vector<std::uint64_t>;

/// Bytes on the GPU that is current.
class device_bytes {
  public:
    explicit device_bytes(std::size_t size) : size_(size) {
        if (size != 0) {
            require_cuda(cudaMalloc(&memory_, size), "cudaMalloc");
        }
    }
    explicit device_bytes(const bytes& from) : device_bytes(from.size()) {
        require_cuda(cudaMemcpy(memory_, from.data(), size_, cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    device_bytes(const device_bytes&) = delete;
    device_bytes& operator=(const device_bytes&) = delete;
    ~device_bytes() { cudaFree(memory_); }

    [[nodiscard]] std::span<std::byte> span() const { return {static_cast<std::byte*>(memory_), size_}; }
    [[nodiscard]] bytes read() const {
        bytes host(size_);
        require_cuda(cudaMemcpy(host.data(), memory_, size_, cudaMemcpyDeviceToHost), "cudaMemcpy");
        return host;
    }

  private:
    void* memory_ = nullptr;
    std::size_t size_;
};

/// A random plan, equal on every rank, since the generator is: from the first rank and some others, to all of them.
exchange_plan random_plan(std::uint64_t seed, std::size_t n, std::uint64_t ranks) {
    std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
    const std::uint64_t with_samples = 1 + random() % ranks;
    numbers owners(n);
    numbers destinations(n);
    numbers sizes(n);
    for (std::size_t i = 0; i < n; ++i) {
        owners[i] = random() % with_samples;
        destinations[i] = random() % ranks;
        sizes[i] = random() % 10'000;
    }
    return {owners, destinations, sizes, ranks};
}

std::string exchange_and_return(nccl_exchanger& over, const exchange_plan& plan, std::uint64_t rank) {
    const exchange_plan other = plan.with_sizes(numbers(plan.owners().size(), 3), 4);
    const rank_exchange first = plan.for_rank(rank);
    const rank_exchange second = other.for_rank(rank);
    const bytes sent = filled_with_payloads(first);
    const device_bytes first_send(sent);
    const device_bytes second_send(filled_with_payloads(second));
    const device_bytes first_receive(first.receive.bytes());
    const device_bytes second_receive(second.receive.bytes());
    const device_bytes returned(sent.size());

    const std::array<nccl_payload, 2> together{
        {{first, first_send.span(), first_receive.span()}, {second, second_send.span(), second_receive.span()}}};
    over.start(together);
    over.start(plan.inverse().for_rank(rank), first_receive.span(), returned.span());
    over.wait();
    if (!received_payloads(first, first_receive.read())) {
        return "the first payload is not what was sent";
    }
    if (!received_payloads(second, second_receive.read())) {
        return "the second payload is not what was sent";
    }
    return returned.read() == sent ? "" : "what came back is not what was sent";
}

std::string exchange_on(ncclComm_t group, cudaStream_t stream, std::uint64_t rank, std::uint64_t ranks) {
    nccl_exchanger over(group, stream);
    std::string problem;
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{50}, std::size_t{300}}) {
        const std::string seen = exchange_and_return(over, random_plan(n, n, ranks), rank);
        problem = seen.empty() ? problem : seen;
    }
    try {
        over.start(random_plan(1, 1, ranks + 1).for_rank(rank), {}, {});
        problem = "a plan for other ranks was not refused";
    } catch (const error& expected) {
        problem = expected.field() == "ranks" ? problem : expected.what();
    }
    // A buffer of the wrong size on the last rank alone is an error on every rank, and the next exchange works.
    const exchange_plan plan = random_plan(2, 20, ranks);
    const rank_exchange mine = plan.for_rank(rank);
    const bool is_wrong = rank + 1 == ranks;
    const device_bytes send(filled_with_payloads(mine));
    const device_bytes receive(mine.receive.bytes() + (is_wrong ? 8 : 0));
    try {
        over.start(mine, send.span(), receive.span());
        problem = "a wrong buffer of the last rank was not refused";
    } catch (const error& expected) {
        problem = expected.field() == (is_wrong ? "receive" : "exchange") ? problem : expected.what();
    }
    const std::string after = exchange_and_return(over, plan, rank);
    return after.empty() ? problem : after;
}

}  // namespace

int main(int argc, char** argv) { return gpu_ranks::main_of(argc, argv, exchange_on); }
