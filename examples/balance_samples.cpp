// SPDX-License-Identifier: Apache-2.0
// Assigns the documents of a batch to data parallel ranks so that ranks have about equal FLOPs. The lengths are those
// of the manual pages in examples/data; the model is Mistral-7B.

#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include <floptally/balance.hpp>
#include <floptally/floptally.hpp>

#include "document_lengths.hpp"

namespace {

void print(const char* name, const floptally::load_spread& spread) {
    const std::string over_min = spread.max_over_min ? std::to_string(*spread.max_over_min) : "-";
    std::printf("%-8s %10.6f %10s %14.6f\n", name, spread.max_over_mean.ratio(), over_min.c_str(),
                spread.range_over_max);
}

void balance(std::vector<std::uint32_t> lengths, std::uint64_t ranks) {
    using namespace floptally;
    lengths.resize(lengths.size() - lengths.size() % ranks);  // the same count on each rank

    // The cost of a document is its FLOPs, as MFU counts them.
    const flop_counter model(presets::mistral_7b);
    const std::vector<flops> costs = sample_costs(model, lengths);
    const assignment balanced = partition(costs, ranks);

    // Every rank adds its own lengths to its tally. Together the tallies are the batch.
    tally all{model.masks()};
    for (std::size_t rank = 0; rank < balanced.ranks(); ++rank) {
        tally own{model.masks()};
        for (const std::uint32_t sample : balanced.samples_of(rank)) {
            own.add(sequence{.length = lengths[sample]});
        }
        if (model.total_flops(own).value() != balanced.loads[rank]) {
            throw std::logic_error("a rank's samples are not its load");
        }
        all += own;
        std::printf("rank %zu: %zu documents, %s tokens, %s FLOPs\n", rank, balanced.samples_of(rank).size(),
                    std::to_string(own.get(view::useful, accumulator::tokens)).c_str(),
                    to_string(model.total_flops(own)).c_str());
    }
    tally batch{model.masks()};
    batch.add_lengths(lengths);
    if (!(batch == all)) {
        throw std::logic_error("a document was lost or doubled");
    }

    const balance_report report = balance_report_of(costs, balanced);
    std::printf("\n%-8s %10s %10s %14s\n", "", "max/mean", "max/min", "(max-min)/max");
    print("before", report.before[0]);
    print("after", report.after[0]);
    std::printf("\n%zu of %zu documents moved, predicted speed-up %.3f\n", report.moved, report.samples,
                report.predicted_speedup);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const std::uint64_t ranks = argc > 1 ? std::stoull(argv[1]) : 8;
        balance(document_lengths(), ranks);
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "balance_samples: %s\n", problem.what());
        return 1;
    }
}
