// SPDX-License-Identifier: Apache-2.0
// Balances two microbatches of real documents under mpirun. FLOPs decide which rank trains on which document. Documents
// move while the previous microbatch computes, and results return to the ranks that loaded them. Ends with an error if
// a document is lost, doubled or changed.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mpi.h>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <floptally/balance.hpp>
#include <floptally/floptally.hpp>
#include <floptally/mpi.hpp>

#include "document_lengths.hpp"

namespace {

constexpr std::uint64_t window = 2;

/// The token ids of a document. Only the rank that loads it, and the check of the results, call this.
std::vector<std::int32_t> tokens_of(std::uint64_t document, std::uint64_t length) {
    std::vector<std::int32_t> ids(length);
    for (std::uint64_t i = 0; i < length; ++i) {
        ids[i] = static_cast<std::int32_t>((document * 2'654'435'761 + i * i) % 32'000);
    }
    return ids;
}

/// Prints the TFLOPs of each rank in each microbatch. Returns the duration of a step in which all ranks wait for the
/// slowest rank of every microbatch.
double print_loads(const char* when, const floptally::assignment& slots, std::uint64_t ranks) {
    double slowest = 0;
    for (std::uint64_t microbatch = 0; microbatch < window; ++microbatch) {
        std::printf("%-6s  microbatch %d  TFLOPs", when, static_cast<int>(microbatch));
        double most = 0;
        for (std::uint64_t rank = 0; rank < ranks; ++rank) {
            const double load = static_cast<double>(slots.loads[microbatch * ranks + rank]) / 1e12;
            std::printf(" %7.0f", load);
            most = std::max(most, load);
        }
        std::printf("\n");
        slowest += most;
    }
    return slowest;
}

void require(bool holds, const std::string& problem) {
    if (!holds) {
        throw std::runtime_error(problem);
    }
}

/// The samples of one microbatch and their bytes. They must not move until the exchange is over.
struct moving_samples {
    floptally::rank_exchange exchange;
    std::vector<std::byte> sent;
    std::vector<std::byte> received;
};

moving_samples loaded_by(const floptally::rank_exchange& exchange) {
    const auto token_bytes = [&exchange, place = std::size_t{0}](std::uint64_t document) mutable {
        const std::vector<std::int32_t> tokens =
            tokens_of(document, exchange.send.sizes[place++] / sizeof(std::int32_t));
        const std::span<const std::byte> bytes = std::as_bytes(std::span(tokens));
        return std::vector<std::byte>(bytes.begin(), bytes.end());
    };
    return {exchange, floptally::filled_buffer(exchange.send, token_bytes),
            std::vector<std::byte>(exchange.receive.bytes())};
}

/// A number computed from a document's tokens, instead of a training step.
std::uint64_t result_of(std::span<const std::int32_t> tokens) {
    std::uint64_t sum = tokens.size();
    for (const std::int32_t token : tokens) {
        sum = sum * 31 + static_cast<std::uint64_t>(token);
    }
    return sum;
}

/// The documents that this rank trained on.
struct trained_samples {
    std::vector<std::uint64_t> times;    ///< how often each document of the batch was trained on
    std::vector<std::uint64_t> results;  ///< the result of each document that this rank loaded
    floptally::tally tokens;
};

/// The documents that have arrived, packed into one [1, T] row.
void train_on(const moving_samples& arrived, trained_samples& trained) {
    std::vector<std::uint64_t> lengths;
    for (std::size_t place = 0; place < arrived.exchange.receive.samples.size(); ++place) {
        const std::uint64_t document = arrived.exchange.receive.samples[place];
        const auto bytes = arrived.exchange.receive.sample(std::span<const std::byte>(arrived.received), place);
        std::vector<std::int32_t> tokens(bytes.size() / sizeof(std::int32_t));
        std::memcpy(tokens.data(), bytes.data(), bytes.size());
        require(tokens == tokens_of(document, tokens.size()), "a document arrived changed");
        ++trained.times[document];
        trained.results[document] = result_of(tokens);
        lengths.push_back(tokens.size());
    }
    const auto packed = floptally::pack_by_assignment(lengths, std::vector<std::uint64_t>(lengths.size(), 0), 1);
    trained.tokens.add_cu_seqlens(packed.packs[0].cu_seqlens);
}

/// Returns results to the ranks that loaded the documents. These compare them.
void return_results(const floptally::rank_exchange& back, const std::vector<std::uint64_t>& results,
                    const std::vector<std::uint32_t>& lengths, const floptally::mpi_exchanger& exchanger) {
    std::vector<std::byte> returned(back.receive.bytes());
    exchanger.run(back,
                  floptally::filled_buffer(back.send,
                                           [&](std::uint64_t document) {
                                               return std::as_bytes(std::span(results))
                                                   .subspan(document * sizeof(std::uint64_t), sizeof(std::uint64_t));
                                           }),
                  returned);
    for (std::size_t place = 0; place < back.receive.samples.size(); ++place) {
        const std::uint64_t document = back.receive.samples[place];
        std::uint64_t result = 0;
        std::memcpy(&result, returned.data() + back.receive.offsets[place], sizeof result);
        require(result == result_of(tokens_of(document, lengths[document])), "a result came back changed");
    }
}

void train() {
    using namespace floptally;
    int world_size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    const auto ranks = static_cast<std::uint64_t>(world_size);
    const std::uint64_t rank = layout_of({.dp = ranks}, MPI_COMM_WORLD).rank();

    // Every rank computes all of this: lengths, costs, and which ranks load and train each document. A slot is
    // microbatch · ranks + rank.
    const std::vector<std::uint32_t> lengths = document_lengths();
    const flop_counter model(presets::mistral_7b);
    const std::vector<flops> costs = sample_costs(model, lengths);
    const assignment loaded = contiguous(costs, window * ranks);
    const assignment balanced = partition(costs, window * ranks, {.mode = balance_mode::free});
    if (rank == 0) {
        const double before = print_loads("before", loaded, ranks);
        const double after = print_loads("after", balanced, ranks);
        std::printf("a step waits for %.0f TFLOPs before, %.0f after: %.3f times as fast\n", before, after,
                    before / after);
    }

    std::vector<std::uint64_t> owners;
    owners.reserve(lengths.size());
    for (const std::uint32_t slot : loaded.rank_of) {
        owners.push_back(slot % ranks);
    }
    const exchange_plan plan(owners, balanced.rank_of, lengths, ranks,
                             {.bytes_per_element = sizeof(std::int32_t), .window = window});
    const exchange_plan way_back =
        plan.inverse().with_sizes(std::vector<int>(lengths.size(), 1), sizeof(std::uint64_t));
    const mpi_exchanger exchanger(MPI_COMM_WORLD);
    std::vector<moving_samples> microbatches;
    std::vector<mpi_exchange> under_way;
    under_way.reserve(window);
    for (std::uint64_t microbatch = 0; microbatch < window; ++microbatch) {
        microbatches.push_back(loaded_by(plan.for_rank(rank, microbatch)));
    }
    for (moving_samples& samples : microbatches) {
        under_way.push_back(exchanger.start(samples.exchange, samples.sent, samples.received));
    }
    const std::vector<std::uint64_t> none(lengths.size());
    trained_samples trained{.times = none, .results = none, .tokens = tally{model.masks()}};
    for (std::uint64_t microbatch = 0; microbatch < window; ++microbatch) {
        under_way[microbatch].wait();  // the next microbatch moves while this one trains
        train_on(microbatches[microbatch], trained);
        return_results(way_back.for_rank(rank, microbatch), trained.results, lengths, exchanger);
    }

    const mpi_reducer everyone(MPI_COMM_WORLD);
    std::vector<std::uint64_t> all = trained.times;
    all.push_back(model.total_flops(trained.tokens).low());
    everyone.sum(all);
    require(flops{all.back()} == std::accumulate(costs.begin(), costs.end(), flops{}), "FLOPs were lost");
    all.pop_back();
    require(all == std::vector<std::uint64_t>(lengths.size(), 1), "a document was lost or doubled");
    if (rank == 0) {
        std::printf("%d documents, each trained once and none changed\n", static_cast<int>(lengths.size()));
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
