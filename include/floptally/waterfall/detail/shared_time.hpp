// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace floptally::detail {

/// A stretch of time that something runs for.
struct timed_stretch {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint64_t key = 0;
    bool gives_way = false;  ///< to all that does not: communication and copies to computation
    bool is_copy = false;
};

/// Calls `each(key, nanoseconds)` so that every moment from `begin` to `end` is counted once: those that run at once
/// share it evenly, the first to begin have the nanoseconds that are left over. Returns the moments that nothing has.
template <class Each>
std::int64_t share_time(std::vector<timed_stretch> stretches, std::int64_t begin, std::int64_t end, Each each) {
    for (timed_stretch& stretch : stretches) {
        stretch.begin = std::max(stretch.begin, begin);
        stretch.end = std::min(stretch.end, end);
    }
    stretches.erase(std::remove_if(stretches.begin(), stretches.end(),
                                   [](const timed_stretch& stretch) { return stretch.end <= stretch.begin; }),
                    stretches.end());
    std::stable_sort(stretches.begin(), stretches.end(),
                     [](const timed_stretch& a, const timed_stretch& b) { return a.begin < b.begin; });
    std::vector<timed_stretch> running;  // in the order in which they began
    std::int64_t idle = 0;
    std::size_t next = 0;
    for (std::int64_t now = begin; now < end;) {
        running.erase(std::remove_if(running.begin(), running.end(),
                                     [now](const timed_stretch& stretch) { return stretch.end <= now; }),
                      running.end());
        while (next < stretches.size() && stretches[next].begin <= now) {
            running.push_back(stretches[next++]);
        }
        std::int64_t until = next < stretches.size() ? stretches[next].begin : end;
        std::int64_t first = 0;  // of those that do not give way
        for (const timed_stretch& stretch : running) {
            until = std::min(until, stretch.end);
            first += stretch.gives_way ? 0 : 1;
        }
        const bool all = first == 0;
        const std::int64_t sharers = all ? static_cast<std::int64_t>(running.size()) : first;
        std::int64_t left = sharers == 0 ? 0 : (until - now) % sharers;
        for (const timed_stretch& stretch : running) {
            if (all || !stretch.gives_way) {
                each(stretch.key, (until - now) / sharers + (left > 0 ? 1 : 0));
                --left;
            }
        }
        idle += sharers == 0 ? until - now : 0;
        now = until;
    }
    return idle;
}

/// The moments in which something that gives way runs beside something that does not. Copies are not among them.
[[nodiscard]] inline std::int64_t hidden_time(const std::vector<timed_stretch>& stretches, std::int64_t from,
                                              std::int64_t until) {
    std::vector<std::pair<std::int64_t, std::pair<int, int>>> edges;
    for (const timed_stretch& stretch : stretches) {
        const std::int64_t begin = std::max(stretch.begin, from);
        const std::int64_t end = std::min(stretch.end, until);
        if (begin < end && !stretch.is_copy) {
            const std::pair<int, int> one{stretch.gives_way ? 1 : 0, stretch.gives_way ? 0 : 1};
            edges.push_back({begin, one});
            edges.push_back({end, {-one.first, -one.second}});
        }
    }
    std::sort(edges.begin(), edges.end());
    std::int64_t hidden = 0;
    std::pair<int, int> running{};
    for (std::size_t i = 0; i < edges.size(); ++i) {
        hidden += running.first > 0 && running.second > 0 ? edges[i].first - edges[i - 1].first : 0;
        running.first += edges[i].second.first;
        running.second += edges[i].second.second;
    }
    return hidden;
}

}  // namespace floptally::detail
