// SPDX-License-Identifier: Apache-2.0
//
// Run by mpirun: ragged samples move between processes, waited for at once and beside other work, and come back.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <floptally/balance/canonical_groups.hpp>
#include <floptally/balance/exchange_plan.hpp>
#include <floptally/mpi.hpp>
#include <floptally/parallel/packing.hpp>

#include "../error_of.hpp"
#include "../expect.hpp"
#include "../sample_payload.hpp"

namespace {

using namespace floptally;
using numbers = std::vector<std::uint64_t>;

numbers random_numbers(std::mt19937& random, std::size_t n, std::uint64_t below) {
    numbers values(n);
    for (std::uint64_t& amount : values) {
        amount = random() % below;
    }
    return values;
}

/// A random plan, equal on every rank, since the generator is.
exchange_plan random_plan(std::mt19937& random, std::size_t n, std::uint64_t ranks, std::uint64_t window,
                          std::uint64_t longest) {
    const std::uint64_t with_samples = 1 + random() % ranks;  // the ranks above it have none, and may get some
    return {random_numbers(random, n, with_samples),
            random_numbers(random, n, ranks * window),
            random_numbers(random, n, longest),
            ranks,
            {.window = window}};
}

void exchange_and_return(const mpi_exchanger& everyone, const exchange_plan& plan, std::uint64_t rank) {
    for (std::uint64_t microbatch = 0; microbatch < plan.window(); ++microbatch) {
        const rank_exchange mine = plan.for_rank(rank, microbatch);
        const bytes sent = filled_with_payloads(mine);
        bytes received(mine.receive.bytes());
        everyone.run(mine, sent, received);
        expect(received_payloads(mine, received), "what MPI_Alltoallv brought");

        const rank_exchange back = plan.inverse().for_rank(rank, microbatch);
        bytes returned(back.receive.bytes());
        everyone.start(back, received, returned).wait();
        expect(returned == sent, "what came back");
    }
}

/// All microbatches on their way together; each is used when it is there.
void exchange_ahead(const mpi_exchanger& everyone, const exchange_plan& plan, std::uint64_t rank) {
    std::vector<rank_exchange> all;
    std::vector<bytes> sent;
    std::vector<bytes> received;
    std::vector<mpi_exchange> under_way;
    for (std::uint64_t microbatch = 0; microbatch < plan.window(); ++microbatch) {
        all.push_back(plan.for_rank(rank, microbatch));
        sent.push_back(filled_with_payloads(all.back()));
        received.emplace_back(all.back().receive.bytes());
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        under_way.push_back(everyone.start(all[i], sent[i], received[i]));
    }
    const mpi_reducer reducer(MPI_COMM_WORLD);
    for (std::size_t i = 0; i < all.size(); ++i) {
        numbers integer{rank};
        reducer.max(integer);  // another collective, in between
        expect(integer[0] + 1 == plan.ranks(), "a reduction beside an exchange");
        while (!under_way[i].done()) {
        }
        under_way[i].wait();
        expect(under_way[i].done(), "what is there stays there");
        expect(received_payloads(all[i], received[i]), "what MPI_Ialltoallv brought");
    }
}

/// Rank 0 comes late: nobody's exchange begins without it, and then every way to wait for it brings what was sent.
void exchange_with_late_rank(const mpi_exchanger& everyone, std::uint64_t rank, std::uint64_t ranks) {
    numbers owners;
    numbers destinations;
    for (std::uint64_t i = 0; i < ranks * ranks; ++i) {
        owners.push_back(i % ranks);
        destinations.push_back(i / ranks);
    }
    const exchange_plan plan(owners, destinations, numbers(owners.size(), 100'000), ranks);
    const rank_exchange mine = plan.for_rank(rank);
    const bytes sent = filled_with_payloads(mine);
    const auto exchanged = [&](const auto& until_it_is_there) {
        bytes received(mine.receive.bytes());
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        // All ranks are processes of one machine, so that they share one steady clock.
        const auto ticks = [] { return std::int64_t{std::chrono::steady_clock::now().time_since_epoch().count()}; };
        std::int64_t arrival_of_rank_0 = ticks();
        {
            mpi_exchange under_way = everyone.start(mine, sent, received);
            const std::int64_t started = ticks();
            until_it_is_there(under_way, received);
            MPI_Bcast(&arrival_of_rank_0, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
            expect(started >= arrival_of_rank_0, "nothing begins before rank 0 does");
        }
        expect(received_payloads(mine, received), "what a late rank sent");
    };
    exchanged([&](mpi_exchange& under_way, const bytes& received) {
        under_way.wait();
        expect(received_payloads(mine, received), "what was waited for");
    });
    exchanged([&](mpi_exchange& under_way, const bytes& received) {
        while (!under_way.done()) {
        }
        expect(received_payloads(mine, received), "what was asked for");
    });
    exchanged([&](mpi_exchange& under_way, const bytes& received) {
        mpi_exchange moved = std::move(under_way);
        moved.wait();
        expect(received_payloads(mine, received), "what was moved");
    });
    exchanged([](mpi_exchange&, const bytes&) {});  // nobody waits: the end of the exchange does
}

/// Bad input of the last rank alone is an error on every rank: on that rank the error itself, on the others one that
/// names the rank. The next exchange works.
void refuse_together(const mpi_exchanger& everyone, std::uint64_t rank, std::uint64_t ranks) {
    const exchange_plan plan(numbers{0, ranks - 1}, numbers{ranks - 1, 0}, numbers{50, 60}, ranks);
    const rank_exchange mine = plan.for_rank(rank);
    const bytes sent = filled_with_payloads(mine);
    bytes received(mine.receive.bytes());
    const bool is_wrong = rank + 1 == ranks;
    const auto expect_refusal = [&](const std::string& text, const std::string& own, const std::string& what) {
        expect(is_wrong ? text.rfind(own, 0) == 0
                        : text == "exchange: rank " + std::to_string(ranks - 1) +
                                      " failed, so nothing was sent: look at the error of that rank",
               what + ": " + text);
        everyone.run(mine, sent, received);
        expect(received_payloads(mine, received), "an exchange after " + what);
    };
    bytes larger(received.size() + 8);
    expect_refusal(error_of([&] { everyone.run(mine, sent, is_wrong ? larger : received); }), "receive: must have ",
                   "a large receiving buffer on one rank");
    expect_refusal(
        error_of([&] { everyone.start(mine, is_wrong ? std::span<const std::byte>() : sent, received).wait(); }),
        "send: must have ", "no sending buffer on one rank");
    expect_refusal(
        error_of([&] {
            std::byte* none = nullptr;
            everyone.start(mine, sent, is_wrong ? std::span(none, received.size()) : std::span(received)).wait();
        }),
        "receive: must not be null", "a null buffer on one rank");
    expect_refusal(error_of([&] { everyone.run(is_wrong ? plan.for_rank(0) : mine, sent, received); }),
                   ranks == 1 ? "no error" : "rank: must be ", "the exchange of another rank on one rank");
}

void refuse(const mpi_exchanger& everyone, std::uint64_t rank, std::uint64_t ranks) {
    const exchange_plan plan(numbers{0}, numbers{ranks - 1}, numbers{5}, ranks);
    const rank_exchange mine = plan.for_rank(rank);
    const bytes sent = filled_with_payloads(mine);
    bytes received(mine.receive.bytes() + 8);
    expect(error_of([&] { everyone.run(mine, sent, received); }).rfind("receive: must have ", 0) == 0,
           "a large buffer");
    expect(error_of([&] { everyone.start(plan.for_rank((rank + 1) % ranks), sent, received).wait(); })
                   .rfind(ranks == 1 ? "receive: must have "
                                     : "rank: must be " + std::to_string(rank) + ", the rank of this process, ",
                          0) == 0,
           "the exchange of another rank");
    const exchange_plan smaller(numbers{}, numbers{}, numbers{}, ranks + 1);
    expect(error_of([&] { everyone.run(smaller.for_rank(rank), {}, {}); }) ==
               "ranks: must be as many as ranks of the communicator (" + std::to_string(ranks) + "), got " +
                   std::to_string(ranks + 1),
           "a plan for other ranks");
    mpi_reducer reducer(MPI_COMM_WORLD);
    expect(error_of([&] { require_same_plan(plan, reducer); }) == "no error", "one plan on all ranks");
    expect(error_of([&] { require_same_plan(rank == 0 ? plan.with_sizes(numbers{6}) : plan, reducer); }) ==
               (ranks == 1 ? "no error"
                           : "sizes: the ranks have different values, so nothing was sent: configure all ranks alike"),
           "a rank with a plan of its own");
    expect(error_of([] {
               floptally::detail::require_mpi(MPI_ERR_COUNT, "MPI_Alltoallv");
           }).rfind("MPI_Alltoallv: ", 0) == 0,
           "a failed call");
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    {
        const parallel_layout layout = [] {
            int ranks = 0;
            MPI_Comm_size(MPI_COMM_WORLD, &ranks);
            return layout_of({.dp = static_cast<std::uint64_t>(ranks)}, MPI_COMM_WORLD);
        }();
        const mpi_exchanger everyone(MPI_COMM_WORLD);
        std::mt19937 random(2026);
        for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{30}, std::size_t{200}}) {
            for (const std::uint64_t longest : {std::uint64_t{1}, std::uint64_t{100}, std::uint64_t{100'000}}) {
                exchange_and_return(everyone, random_plan(random, n, layout.world_size(), 2, longest), layout.rank());
                exchange_ahead(everyone, random_plan(random, n, layout.world_size(), 3, longest), layout.rank());
            }
        }
        exchange_with_late_rank(everyone, layout.rank(), layout.world_size());
        refuse_together(everyone, layout.rank(), layout.world_size());
        refuse(everyone, layout.rank(), layout.world_size());
    }
    int all_failures = 0;
    MPI_Allreduce(&failures, &all_failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all_failures == 0 ? 0 : 1;
}
