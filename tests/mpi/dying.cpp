// SPDX-License-Identifier: Apache-2.0
//
// Run by mpirun, which ends a job of which a process dies: rank 1 is killed as it comes to the collective call that
// argv[1] names. No other rank may get past it; one that waits in vain is what the time limit of the test is for.

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <floptally/balance/exchange_plan.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/mpi.hpp>
#include <floptally/parallel/reduction.hpp>
#include <floptally/step/meter.hpp>

namespace {

using namespace floptally;

void run(const std::string& call, int rank) {
    const auto come_to = [&](const char* name) {
        if (call == name && rank == 1) {
            std::raise(SIGKILL);
        }
    };
    come_to("construct");
    const mpi_reducer everyone(MPI_COMM_WORLD);
    const parallel_layout layout = layout_of({.dp = 4}, MPI_COMM_WORLD);
    const flop_counter model(presets::mistral_7b.cost());
    come_to("agree");
    const tally_reduction reduction(model, scopes::microbatch, layout, everyone);
    meter m(model, {.peak_tflops = 989}, reduction.by(everyone));
    m.begin_step();
    m.microbatch().add_lengths(std::vector<int>{5, 7});
    come_to("sum");
    m.end_step(1);
    extremes ends;
    ends.add(7);
    come_to("max");
    static_cast<void>(reduce(ends, scopes::microbatch, layout, everyone));

    const exchange_plan plan(std::vector<std::uint64_t>{0, 1, 2, 3}, std::vector<std::uint32_t>{1, 2, 3, 0},
                             std::vector<std::uint64_t>{1, 1, 1, 1}, 4, {.bytes_per_element = 8});
    const rank_exchange mine = plan.for_rank(static_cast<std::uint64_t>(rank));
    const std::vector<std::byte> sent(mine.send.bytes());
    std::vector<std::byte> received(mine.receive.bytes());
    const mpi_exchanger exchanger(MPI_COMM_WORLD);
    come_to("exchange");
    exchanger.run(mine, sent, received);
    come_to("start");
    mpi_exchange under_way = exchanger.start(mine, sent, received);
    come_to("wait");
    under_way.wait();
    come_to("next");
    std::array<std::uint64_t, 1> integer{1};
    everyone.sum(integer);
    std::puts("a rank got to the end");
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    run(argc > 1 ? argv[1] : "", rank);
    MPI_Finalize();
}
