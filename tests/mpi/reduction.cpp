// SPDX-License-Identifier: Apache-2.0
//
// Run by mpirun. `same_bytes`: a batch sharded unevenly, with a rank that has nothing, is the tally that one process
// counts. `schema`: the last rank disagrees, and every rank gets the error that the name in argv[2] says.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include <floptally/conventions/all.hpp>
#include <floptally/count/convention.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/mpi.hpp>
#include <floptally/parallel/reduction.hpp>

#include "../error_of.hpp"
#include "../expect.hpp"

namespace {

using namespace floptally;

bool same_bytes(const tally& a, const tally& b) {
    return a.accumulators().size() == b.accumulators().size() &&
           std::memcmp(a.accumulators().data(), b.accumulators().data(),
                       a.accumulators().size() * sizeof(std::uint64_t)) == 0;
}

/// Sequence i of the batch, and the replica that has it: replica 0 most of them, the last none.
constexpr std::uint32_t lengths[] = {1, 8192, 4097, 17, 5000, 300, 301, 12000, 64, 4096, 2, 9000};
std::uint64_t replica_of(std::size_t i, std::uint64_t replicas) {
    return replicas == 1 ? 0 : i % 3 == 0 ? (replicas - 2) * (i % 2) : 0;
}

void count_same_bytes(const flop_counter& model) {
    tally all{model.masks()};
    all.add_lengths(lengths);
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const auto world = static_cast<std::uint64_t>(ranks);
    std::vector<parallel_sizes> layouts{{.dp = world}, {.tp = world}, {.cp = world}, {.pp = world}};
    if (world % 2 == 0) {
        layouts.push_back({.dp = world / 2, .tp = 2});
        layouts.push_back({.dp = world / 2, .pp = 2});
        layouts.push_back({.dp = 2, .cp = world / 2});
    }
    for (const parallel_sizes& sizes : layouts) {
        const parallel_layout layout = layout_of(sizes, MPI_COMM_WORLD);
        tally mine{model.masks()};
        for (std::size_t i = 0; i < std::size(lengths); ++i) {
            if (replica_of(i, sizes.dp) == layout.coordinates().dp) {
                mine.add(sequence{lengths[i]});
            }
        }
        const mpi_reducer everyone(MPI_COMM_WORLD);
        const tally_reduction reduction(model, scopes::microbatch, layout, everyone);
        for (int step = 0; step < 3; ++step) {
            expect(same_bytes(reduction.sum(mine, everyone), all), "the tally of all ranks");
        }
        expect(model.total_flops(reduction.sum(mine, everyone)) == model.total_flops(all), "FLOPs");

        const mpi_reducer replicas(MPI_COMM_WORLD, layout, parallel_axis::dp);
        expect(
            same_bytes(reduce(mine, scopes::microbatch.trusting_replicas(), layout, replicas, conventions::exact), all),
            "over dp");
        const std::string strict = error_of(
            [&] { static_cast<void>(reduce(mine, scopes::microbatch, layout, replicas, conventions::exact)); });
        expect((strict == "no error") == (sizes.dp == world), "replicas that were not compared: " + strict);

        const ratio part = mine.get(view::useful, accumulator::tokens) == 0
                               ? ratio()
                               : ratio(1, mine.get(view::useful, accumulator::tokens));
        expect(reduce(part, scopes::microbatch, layout, everyone).denominator() ==
                   all.get(view::useful, accumulator::tokens),
               "a ratio");
        extremes ends;
        for (std::size_t i = 0; i < std::size(lengths); ++i) {
            if (replica_of(i, sizes.dp) == layout.coordinates().dp) {
                ends.add(lengths[i]);
            }
        }
        expect(reduce(ends, scopes::microbatch, layout, everyone) == extremes(std::size(lengths), 1, 12000), "ends");
    }
}

void disagree(const flop_counter& model, const std::string& what) {
    const parallel_layout layout = layout_of({.dp = 4}, MPI_COMM_WORLD);
    const bool is_odd = layout.rank() == 3;
    tally mine{is_odd && what == "masks" ? mask_set{} : model.masks()};
    mine.add(sequence{100});
    const parallel_layout believed = is_odd && what == "layout" ? layout_of({.tp = 4}, MPI_COMM_WORLD) : layout;
    const statistic_scope scope = is_odd && what == "scope" ? scopes::last_stage : scopes::microbatch;
    const convention how = is_odd && what == "convention" ? conventions::megatron : conventions::exact;
    const mpi_reducer everyone(MPI_COMM_WORLD);
    const std::string seen = error_of([&] { static_cast<void>(reduce(mine, scope, believed, everyone, {}, how)); });
    expect(seen == what + ": the ranks have different values, so nothing was added up: configure all ranks alike",
           seen);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const flop_counter model(presets::mistral_7b.cost());
    if (argc > 2 && std::string(argv[1]) == "schema") {
        disagree(model, argv[2]);
    } else {
        count_same_bytes(model);
    }
    int all_failures = 0;
    MPI_Allreduce(&failures, &all_failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all_failures == 0 ? 0 : 1;
}
