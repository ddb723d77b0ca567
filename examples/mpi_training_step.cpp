// SPDX-License-Identifier: Apache-2.0
// A data-parallel training loop under mpirun. Every rank packs its own documents, and one reduction per step sums the
// tallies, so that every rank knows the MFU of all GPUs.

#include <cstdint>
#include <cstdio>
#include <exception>
#include <mpi.h>
#include <random>
#include <string>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/mpi.hpp>
#include <floptally/reduction.hpp>

namespace {

/// Boundaries of the documents that this rank packs into one sequence. A real loop takes them from its data loader.
std::vector<std::int32_t> next_row(std::mt19937& random) {
    std::vector<std::int32_t> cu_seqlens{0};
    for (std::int32_t end = 0; end <= 8192; end += static_cast<std::int32_t>(random() % 3000 + 1)) {
        cu_seqlens.push_back(end);
    }
    return cu_seqlens;
}

void train() {
    using namespace floptally;
    const flop_counter model(presets::mistral_7b);
    const double peak_tflops = accelerator_named("NVIDIA H100 80GB HBM3").peak_tflops(precision::bf16);

    // Once: this rank's place, and which part of the tally it holds. Here all ranks are data-parallel.
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const parallel_layout layout = layout_of({.dp = static_cast<std::uint64_t>(ranks)}, MPI_COMM_WORLD);
    const mpi_reducer everyone(MPI_COMM_WORLD);
    const tally_reduction reduction(model, scopes::microbatch, layout, everyone);

    std::mt19937 random(static_cast<unsigned>(layout.rank()));
    for (int step = 0; step < 3; ++step) {
        tally mine{model.masks()};
        for (int microbatch = 0; microbatch < 4; ++microbatch) {
            mine.add_cu_seqlens(next_row(random));
        }
        const tally all = reduction.sum(mine, everyone);
        const double seconds = 3.6;  // a training loop measures this

        const breakdown work = model.evaluate(all);
        const measurement on{.seconds = seconds, .gpus = layout.world_size(), .peak_tflops = peak_tflops};
        if (layout.rank() == 0) {
            std::printf("step %d  tokens %s  useful FLOPs %s  MFU %.1f %%\n", step,
                        std::to_string(all.get(view::useful, accumulator::tokens)).c_str(),
                        to_string(work.total(view::useful)).c_str(), 100 * utilize(work, all, on).mfu);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    try {
        train();
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "%s\n", problem.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
}
