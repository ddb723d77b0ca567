// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <set>
#include <tuple>
#include <vector>

#include <floptally/parallel/pipeline_schedule.hpp>

/// @file
/// A simulation of a pipeline by events: passes end, and whoever waited for them begins. It knows nothing of the
/// library's clock but the order of the passes, and it counts what each rank holds.

namespace pipeline_simulation {

using floptally::pipeline_pass;
using kind = pipeline_pass::kind;

struct result {
    double makespan = 0;
    std::vector<double> busy{};
    /// The most chunks' activations that each rank holds at once: from the beginning of a forward to the end of the
    /// last pass that reads them, the gradient of the weights.
    std::vector<std::uint64_t> held{};
    std::vector<double> span{};  ///< of each rank, from the beginning of its first pass to the end of its last
};

/// `length` is the time of a pass. Where `split`, the gradient of the weights is a pass of its own.
template <class Length>
result simulate(const std::vector<std::vector<pipeline_pass>>& ranks, std::uint64_t chunks, bool split, Length length) {
    struct end {
        double at;
        std::size_t rank;
        bool operator<(const end& other) const { return at > other.at; }  // the earliest on top
    };
    std::set<std::tuple<kind, std::uint64_t, std::uint64_t>> ended;
    const auto has = [&](kind what, std::uint64_t chunk, std::uint64_t microbatch) {
        return ended.count({what, chunk, microbatch}) != 0;
    };
    const auto may_begin = [&](const pipeline_pass& pass) {
        if (pass.type == kind::forward) {
            return pass.chunk == 0 || has(kind::forward, pass.chunk - 1, pass.microbatch);
        }
        if (pass.type == kind::backward_weights) {
            return has(kind::backward_data, pass.chunk, pass.microbatch);
        }
        return has(kind::forward, pass.chunk, pass.microbatch) &&
               (pass.chunk + 1 == chunks || has(kind::backward_data, pass.chunk + 1, pass.microbatch));
    };
    result simulated{0, std::vector<double>(ranks.size(), 0), std::vector<std::uint64_t>(ranks.size(), 0),
                     std::vector<double>(ranks.size(), 0)};
    std::vector<double> began(ranks.size(), 0);
    std::vector<std::size_t> next(ranks.size(), 0);
    std::vector<bool> runs(ranks.size(), false);
    std::vector<std::uint64_t> held(ranks.size(), 0);
    std::priority_queue<end> ends;
    double now = 0;
    for (;;) {
        for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
            if (!runs[rank] && next[rank] < ranks[rank].size() && may_begin(ranks[rank][next[rank]])) {
                const pipeline_pass& pass = ranks[rank][next[rank]];
                const double takes = length(pass);
                held[rank] += pass.type == kind::forward ? 1U : 0U;
                simulated.held[rank] = std::max(simulated.held[rank], held[rank]);
                simulated.busy[rank] += takes;
                began[rank] = next[rank] == 0 ? now : began[rank];
                runs[rank] = true;
                ends.push({now + takes, rank});
            }
        }
        if (ends.empty()) {
            break;
        }
        now = ends.top().at;
        const std::size_t rank = ends.top().rank;
        ends.pop();
        const pipeline_pass& pass = ranks[rank][next[rank]++];
        ended.insert({pass.type, pass.chunk, pass.microbatch});
        held[rank] -= pass.type == (split ? kind::backward_weights : kind::backward_data) ? 1U : 0U;
        runs[rank] = false;
        simulated.span[rank] = now - began[rank];
    }
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        if (next[rank] != ranks[rank].size()) {
            simulated.makespan = -1;  // a rank waits for ever
            return simulated;
        }
    }
    simulated.makespan = now;
    return simulated;
}

}  // namespace pipeline_simulation
