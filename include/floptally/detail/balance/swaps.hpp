// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <floptally/detail/balance/items.hpp>

namespace floptally::detail {

/// Up to two items of one rank, which may change places with up to two of another.
template <class Load>
struct item_bundle {
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

    Load cost;
    std::uint32_t first = none;
    std::uint32_t second = none;
};

/// Makes an assignment better by exchanges between the rank with the largest load and another, the lightest first: a
/// move, a swap of one item for one, and where neither helps, of up to two for up to two. Each lowers the larger peak
/// of the two ranks, so that the largest load never grows. It ends where nothing helps the heaviest rank, where
/// the largest load is small enough, or where `budget` bundles (pairs of bundles, where items have several loads or
/// sizes) have been looked at.
template <class Load>
class balance_swaps {
  public:
    /// Twos are not tried with ranks of more items: one for one is fine enough there, and they would be thousands.
    static constexpr std::size_t most_for_twos = 64;
    /// What making and sorting a bundle of two costs, in looks at one.
    static constexpr std::uint64_t sorting = 8;

    /// `enough`: the peak at which it ends.
    balance_swaps(const balance_items<Load>& items, std::vector<std::uint32_t> rank_of, Load enough,
                  std::uint64_t budget)
        : items_(items),
          rank_of_(std::move(rank_of)),
          enough_(enough),
          budget_(budget),
          equal_counts_(items.has_equal_counts()),
          by_cost_(items.loads == 1 && (!items.is_limited() || equal_counts_)),
          ones_(items.ranks),
          twos_(items.ranks),
          sums_(items.loads_of(rank_of_)),
          room_(items.ranks, items.capacity) {
        std::vector<std::uint32_t> counts(items.ranks);
        for (const std::uint32_t rank : rank_of_) {
            ++counts[rank];
        }
        for (std::uint32_t rank = 0; rank < items.ranks; ++rank) {
            ones_[rank].reserve(counts[rank] + 1);
        }
        for (std::uint32_t item = 0; item < items.count(); ++item) {
            ones_[rank_of_[item]].push_back(one(item));
            room_[rank_of_[item]] -= items.is_limited() ? items.sizes[item] : 0;
        }
        for (std::uint32_t rank = 0; rank < items.ranks; ++rank) {
            if (!equal_counts_) {
                ones_[rank].push_back({0, bundle::none, bundle::none});
            }
            order_.push_back(rank);
        }
        std::sort(order_.begin(), order_.end(), lighter());
    }

    void run() {
        while (peak() > enough_ && (improve(1) || improve(2))) {
        }
    }

    [[nodiscard]] const std::vector<std::uint32_t>& rank_of() const { return rank_of_; }
    [[nodiscard]] Load peak() const { return peak(order_.back()); }

  private:
    using bundle = item_bundle<Load>;

    struct exchange {
        bundle from_heavy{};
        bundle from_light{};
        Load peak = 0;  ///< of both ranks afterwards
    };

    [[nodiscard]] bundle one(std::uint32_t item) const {
        return {items_.costs[item * items_.loads], item, bundle::none};
    }

    [[nodiscard]] Load peak(std::uint32_t rank) const {
        const Load* of = sums_.data() + rank * items_.loads;
        return items_.loads == 1 ? *of : *std::max_element(of, of + items_.loads);
    }

    [[nodiscard]] auto lighter() const {
        return [this](std::uint32_t a, std::uint32_t b) {
            const Load of_a = peak(a);
            const Load of_b = peak(b);
            return of_a != of_b ? of_a < of_b : a < b;
        };
    }

    [[nodiscard]] bool spend(std::uint64_t looked_at) {
        const bool enough = budget_ >= looked_at;
        budget_ -= enough ? looked_at : budget_;
        return enough;
    }

    /// One exchange of bundles of at most `most` items that helps the heaviest rank.
    bool improve(std::size_t most) {
        const std::uint32_t heavy = order_.back();
        for (std::size_t i = 0; i + 1 < order_.size(); ++i) {
            const std::uint32_t light = order_[i];
            if (most == 2 && (!find_twos(heavy) || !find_twos(light))) {
                continue;
            }
            const std::vector<bundle>& from_heavy = most == 1 ? ones_[heavy] : twos_[heavy];
            const std::vector<bundle>& from_light = most == 1 ? ones_[light] : twos_[light];
            if (!spend(by_cost_ ? from_heavy.size() + from_light.size() : from_heavy.size() * from_light.size())) {
                return false;
            }
            exchange best{{}, {}, peak(heavy)};
            if (by_cost_) {
                closest(from_heavy, from_light, sums_[heavy] - sums_[light], sums_[light], best);
            } else {
                best_of_all(heavy, from_heavy, light, from_light, best);
            }
            if (best.peak < peak(heavy)) {
                apply(heavy, light, best);
                return true;
            }
        }
        return false;
    }

    /// Fills `twos_` of a rank: with equal counts every two items, else one and none too.
    bool find_twos(std::uint32_t rank) {
        const std::vector<bundle>& ones = ones_[rank];
        std::vector<bundle>& twos = twos_[rank];
        if (!twos.empty() || ones.size() > most_for_twos) {
            return !twos.empty();
        }
        const std::size_t items = ones.size() - (equal_counts_ ? 0 : 1);
        if (!spend(sorting * (items * (items + 1) / 2 + 1))) {
            return false;
        }
        twos.reserve(items * (items + 1) / 2 + 1);
        for (std::size_t i = 0; i < items; ++i) {
            for (std::size_t j = i + 1; j < items; ++j) {
                twos.push_back({static_cast<Load>(ones[i].cost + ones[j].cost), ones[i].first, ones[j].first});
            }
        }
        if (!equal_counts_) {
            twos.insert(twos.end(), ones.begin(), ones.end());
        }
        if (by_cost_) {
            sort_few(twos);
        }
        return !twos.empty();
    }

    /// By descending cost, and as they were made where that is equal: bundles are made in runs that are in order, of
    /// which an insertion sort has little to move.
    static void sort_few(std::vector<bundle>& bundles) {
        for (std::size_t i = 1; i < bundles.size(); ++i) {
            const bundle moved = bundles[i];
            std::size_t place = i;
            for (; place > 0 && bundles[place - 1].cost < moved.cost; --place) {
                bundles[place] = bundles[place - 1];
            }
            bundles[place] = moved;
        }
    }

    /// Of one load: the difference next to half the `gap` between the two ranks is the best one. Both lists come by
    /// descending cost, so that a difference that is too large asks for the next bundle of the heavy rank, and one that
    /// is too small for the next of the light one: whatever is passed over is further off.
    static void closest(const std::vector<bundle>& from_heavy, const std::vector<bundle>& from_light, Load gap,
                        Load light, exchange& best) {
        const bundle* a = from_heavy.data();
        const bundle* b = from_light.data();
        const bundle* const end_of_a = a + from_heavy.size();
        const bundle* const end_of_b = b + from_light.size();
        const bundle* given = a;
        const bundle* taken = b;
        Load least = gap;  // twice as far from half the gap as none for none
        while (a != end_of_a && b != end_of_b) {
            const Load give = 2 * a->cost;
            const Load want = 2 * b->cost + gap;
            const bool too_large = give > want;
            const Load off = too_large ? give - want : want - give;
            const bool closer = off < least;
            least = closer ? off : least;
            given = closer ? a : given;
            taken = closer ? b : taken;
            a += too_large ? 1 : 0;
            b += too_large ? 0 : 1;
        }
        const Load after = light + (gap + least) / 2;
        if (least < gap && after < best.peak) {
            best = {*given, *taken, after};
        }
    }

    /// Several loads, or sizes: every pair of bundles.
    void best_of_all(std::uint32_t heavy, const std::vector<bundle>& from_heavy, std::uint32_t light,
                     const std::vector<bundle>& from_light, exchange& best) const {
        for (const bundle& a : from_heavy) {
            for (const bundle& b : from_light) {
                const std::uint64_t given = size_of(a);
                const std::uint64_t taken = size_of(b);
                if (items_.is_limited() && (given > room_[light] + taken || taken > room_[heavy] + given)) {
                    continue;
                }
                Load after = 0;
                for (std::size_t load = 0; load < items_.loads && after < best.peak; ++load) {
                    const Load give = cost_of(a, load);
                    const Load take = cost_of(b, load);
                    after = std::max<Load>(after, sums_[heavy * items_.loads + load] - give + take);
                    after = std::max<Load>(after, sums_[light * items_.loads + load] + give - take);
                }
                if (after < best.peak) {
                    best = {a, b, after};
                }
            }
        }
    }

    [[nodiscard]] std::uint64_t size_of(const bundle& of) const {
        return (of.first == bundle::none ? 0 : items_.sizes[of.first]) +
               (of.second == bundle::none ? 0 : items_.sizes[of.second]);
    }

    [[nodiscard]] Load cost_of(const bundle& of, std::size_t load) const {
        return static_cast<Load>((of.first == bundle::none ? 0 : items_.of(of.first)[load]) +
                                 (of.second == bundle::none ? 0 : items_.of(of.second)[load]));
    }

    void apply(std::uint32_t heavy, std::uint32_t light, const exchange& chosen) {
        for (const std::uint32_t rank : {heavy, light}) {
            order_.erase(std::lower_bound(order_.begin(), order_.end(), rank, lighter()));
        }
        move(chosen.from_heavy.first, heavy, light);
        move(chosen.from_heavy.second, heavy, light);
        move(chosen.from_light.first, light, heavy);
        move(chosen.from_light.second, light, heavy);
        for (const std::uint32_t rank : {heavy, light}) {
            order_.insert(std::lower_bound(order_.begin(), order_.end(), rank, lighter()), rank);
        }
    }

    void move(std::uint32_t item, std::uint32_t from, std::uint32_t to) {
        if (item == bundle::none) {
            return;
        }
        rank_of_[item] = to;
        const auto place = [item](std::vector<bundle>& ones) {
            return std::lower_bound(ones.begin(), ones.end(), item,
                                    [](const bundle& own, std::uint32_t other) { return own.first < other; });
        };
        ones_[from].erase(place(ones_[from]));
        ones_[to].insert(place(ones_[to]), one(item));
        twos_[from].clear();
        twos_[to].clear();
        for (std::size_t load = 0; load < items_.loads; ++load) {
            sums_[from * items_.loads + load] -= items_.of(item)[load];
            sums_[to * items_.loads + load] += items_.of(item)[load];
        }
        if (items_.is_limited()) {
            room_[from] += items_.sizes[item];
            room_[to] -= items_.sizes[item];
        }
    }

    const balance_items<Load>& items_;
    std::vector<std::uint32_t> rank_of_;
    Load enough_;
    std::uint64_t budget_;
    bool equal_counts_;
    bool by_cost_;                           ///< nothing but one cost decides
    std::vector<std::vector<bundle>> ones_;  ///< of each rank, in the order of items; last none, where that may be
    std::vector<std::vector<bundle>> twos_;  ///< of each rank; empty where not needed yet
    std::vector<Load> sums_;
    std::vector<std::uint64_t> room_;   ///< may wrap between the two halves of an exchange
    std::vector<std::uint32_t> order_;  ///< ranks by their peaks
};

}  // namespace floptally::detail
