// SPDX-License-Identifier: Apache-2.0
//
// Two ranks that are processes share a GPU: rank 1 is killed as it comes to the call that argv[1] names. The other gets
// an error of NCCL's there, and aborts its communicator. Exits 77 without a GPU.

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <floptally/balance/exchange_plan.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/nccl.hpp>
#include <floptally/parallel/reduction.hpp>
#include <floptally/step/meter.hpp>

#include "gpu_ranks.hpp"

namespace {

using namespace floptally;
using seconds_clock = std::chrono::steady_clock;

/// What a rank does up to its death, or to the death of the other.
class life {
  public:
    life(std::string dies_in, std::uint64_t rank) : dies_in_(std::move(dies_in)), dies_(rank == 1) {}

    void come_to(const std::string& call) {
        at_ = call;
        since_ = seconds_clock::now();
        if (dies_ && call == dies_in_) {
            std::raise(SIGKILL);
        }
    }

    /// The problem of the other rank, which should have seen `seen`.
    [[nodiscard]] std::string after(const error& seen) const {
        const double seconds = std::chrono::duration<double>(seconds_clock::now() - since_).count();
        std::printf("%s, %.3f s after it was called: %s\n", at_.c_str(), seconds, seen.what());
        return at_ == dies_in_ && std::string(seen.what()).rfind("nccl", 0) == 0 ? "" : seen.what();
    }

  private:
    std::string dies_in_;
    bool dies_;
    std::string at_{};
    seconds_clock::time_point since_{};
};

void live(life& rank_life, ncclComm_t group, cudaStream_t stream, std::uint64_t rank) {
    nccl_reducer everyone(group, stream);
    const parallel_layout layout({.dp = 2}, 2, rank);
    const flop_counter model(presets::mistral_7b.cost());
    rank_life.come_to("agree");
    const tally_reduction reduction(model, scopes::microbatch, layout, everyone);
    meter m(model, {.peak_tflops = 989}, reduction.by(everyone));
    m.begin_step();
    m.microbatch().add_lengths(std::vector<int>{5, 7});
    rank_life.come_to("sum");
    m.end_step(1);

    const exchange_plan plan(std::vector<std::uint64_t>{0, 1}, std::vector<std::uint32_t>{1, 0},
                             std::vector<std::uint64_t>{1, 1}, 2, {.bytes_per_element = 8});
    const rank_exchange mine = plan.for_rank(rank);
    void* memory = nullptr;
    require_cuda(cudaMalloc(&memory, mine.send.bytes() + mine.receive.bytes()), "cudaMalloc");
    auto* const sent = static_cast<std::byte*>(memory);
    nccl_exchanger exchanger(group, stream);
    const auto start = [&] {
        exchanger.start(mine, {sent, mine.send.bytes()}, {sent + mine.send.bytes(), mine.receive.bytes()});
    };
    start();
    exchanger.wait();
    rank_life.come_to("start");
    start();
    rank_life.come_to("wait");
    exchanger.wait();
}

}  // namespace

int main(int argc, char** argv) {
    const std::string call = argc > 1 ? argv[1] : "sum";
    const auto run = [&](ncclComm_t group, cudaStream_t stream, std::uint64_t rank, std::uint64_t) -> std::string {
        life mine(call, rank);
        std::string problem = "nobody died";
        try {
            live(mine, group, stream, rank);
        } catch (const error& seen) {
            problem = mine.after(seen);
        }
        std::fflush(stdout);
        detail::require_nccl(ncclCommAbort(group), "ncclCommAbort");
        std::_Exit(gpu_ranks::is_clean(rank, problem) ? 0 : 1);  // the stream still waits for the rank that is gone
    };
    const std::vector<int> statuses = gpu_ranks::run_processes(2, run);
    if (WIFEXITED(statuses[1]) && WEXITSTATUS(statuses[1]) == 77) {
        std::puts("skipped: no GPU");
        return 77;
    }
    const bool was_killed = WIFSIGNALED(statuses[1]) && WTERMSIG(statuses[1]) == SIGKILL;
    return was_killed && WIFEXITED(statuses[0]) ? WEXITSTATUS(statuses[0]) : 1;
}
