// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <floptally/balance/detail/items.hpp>

namespace floptally::inline v0_3::detail {

/// A bundle of up to two items of one rank. An exchange swaps it for a bundle of another rank.
template <class Load>
struct item_bundle {
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

    Load cost;
    std::uint32_t first = none;
    std::uint32_t second = none;
};

/// Improves an assignment by exchanges between the rank with the largest load and another rank, the lightest first. An
/// exchange is a move or a swap of one item for one. If neither helps, an exchange swaps up to two items for up to two.
/// Each exchange lowers the larger load of the two ranks, so that the largest load never grows. The search ends when no
/// exchange helps the heaviest rank, when the largest load is small enough, or when `budget` bundles were tried. If
/// items have several loads or sizes, the budget counts pairs of bundles.
template <class Load>
class balance_swaps {
  public:
    /// The most items of a rank for which pairs of items are tried. A rank with more items has thousands of pairs, and
    /// moving single items is precise enough.
    static constexpr std::size_t most_items_for_pairs = 64;
    /// Making and sorting a pair of items uses up as much of the budget as trying this many bundles.
    static constexpr std::uint64_t sorting = 8;

    /// Creates a search that improves the assignment `rank_of`. It ends when the largest load is at most `target`.
    balance_swaps(const balance_items<Load>& items, std::vector<std::uint32_t> rank_of, Load target,
                  std::uint64_t budget)
        : items_(items),
          rank_of_(std::move(rank_of)),
          target_(target),
          budget_(budget),
          equal_counts_(items.has_equal_counts()),
          by_cost_(items.loads == 1 && (!items.is_limited() || equal_counts_)),
          singles_(items.ranks),
          pairs_(items.ranks),
          sums_(items.loads_of(rank_of_)),
          room_(items.ranks, items.capacity) {
        std::vector<std::uint32_t> counts(items.ranks);
        for (const std::uint32_t rank : rank_of_) {
            ++counts[rank];
        }
        for (std::uint32_t rank = 0; rank < items.ranks; ++rank) {
            singles_[rank].reserve(counts[rank] + 1);
        }
        for (std::uint32_t item = 0; item < items.count(); ++item) {
            singles_[rank_of_[item]].push_back(single(item));
            room_[rank_of_[item]] -= items.sizes[item];
        }
        for (std::uint32_t rank = 0; rank < items.ranks; ++rank) {
            if (!equal_counts_) {
                singles_[rank].push_back({0, bundle::none, bundle::none});
            }
            order_.push_back(rank);
        }
        std::sort(order_.begin(), order_.end(), lighter());
    }

    void run() {
        while (peak() > target_ && (improve(1) || improve(2))) {
        }
    }

    [[nodiscard]] const std::vector<std::uint32_t>& rank_of() const { return rank_of_; }
    [[nodiscard]] Load peak() const { return peak(order_.back()); }

  private:
    using bundle = item_bundle<Load>;

    struct exchange {
        bundle from_heavy;
        bundle from_light;
    };

    [[nodiscard]] bundle single(std::uint32_t item) const {
        return {items_.costs[item * items_.loads], item, bundle::none};
    }

    [[nodiscard]] Load peak(std::uint32_t rank) const {
        const Load* loads = sums_.data() + rank * items_.loads;
        return items_.loads == 1 ? *loads : *std::max_element(loads, loads + items_.loads);
    }

    [[nodiscard]] auto lighter() const {
        return [this](std::uint32_t a, std::uint32_t b) { return std::pair(peak(a), a) < std::pair(peak(b), b); };
    }

    [[nodiscard]] bool spend(std::uint64_t tried) {
        const bool enough = budget_ >= tried;
        budget_ -= enough ? tried : budget_;
        return enough;
    }

    /// Makes one exchange that lowers the load of the heaviest rank. Each of the two ranks gives at most `most` items.
    /// Returns false if no exchange helps.
    bool improve(std::size_t most) {
        const std::uint32_t heavy = order_.back();
        for (std::size_t i = 0; i + 1 < order_.size(); ++i) {
            const std::uint32_t light = order_[i];
            if (most == 2 && (!find_pairs(heavy) || !find_pairs(light))) {
                continue;
            }
            const std::vector<bundle>& from_heavy = most == 1 ? singles_[heavy] : pairs_[heavy];
            const std::vector<bundle>& from_light = most == 1 ? singles_[light] : pairs_[light];
            if (!spend(by_cost_ ? from_heavy.size() + from_light.size() : from_heavy.size() * from_light.size())) {
                return false;
            }
            const std::optional<exchange> best = by_cost_ ? closest(from_heavy, from_light, sums_[heavy] - sums_[light])
                                                          : best_of_all(heavy, from_heavy, light, from_light);
            if (best) {
                apply(heavy, light, *best);
                return true;
            }
        }
        return false;
    }

    /// Fills `pairs_` of a rank with every pair of its items. Adds single items and the empty bundle too, unless all
    /// ranks must have equally many items.
    bool find_pairs(std::uint32_t rank) {
        const std::vector<bundle>& singles = singles_[rank];
        std::vector<bundle>& pairs = pairs_[rank];
        if (!pairs.empty() || singles.size() > most_items_for_pairs) {
            return !pairs.empty();
        }
        const std::size_t items = singles.size() - (equal_counts_ ? 0 : 1);
        if (!spend(sorting * (items * (items + 1) / 2 + 1))) {
            return false;
        }
        pairs.reserve(items * (items + 1) / 2 + 1);
        for (std::size_t i = 0; i < items; ++i) {
            for (std::size_t j = i + 1; j < items; ++j) {
                pairs.push_back(
                    {static_cast<Load>(singles[i].cost + singles[j].cost), singles[i].first, singles[j].first});
            }
        }
        if (!equal_counts_) {
            pairs.insert(pairs.end(), singles.begin(), singles.end());
        }
        if (by_cost_) {
            sort_few(pairs);
        }
        return !pairs.empty();
    }

    /// Sorts bundles by descending cost, stably. The bundles consist of runs that are already sorted, so an insertion
    /// sort moves few of them.
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

    /// Returns the best exchange of bundles for items with one load. It moves a load that is as close as possible to
    /// half the `gap` between the two ranks. Both lists are sorted by descending cost. If an exchange moves too much,
    /// the search goes on to the next bundle of the heavy rank, else to the next bundle of the light rank. The skipped
    /// bundles could only be further from half the gap.
    [[nodiscard]] static std::optional<exchange> closest(const std::vector<bundle>& from_heavy,
                                                         const std::vector<bundle>& from_light, Load gap) {
        const bundle* a = from_heavy.data();
        const bundle* b = from_light.data();
        const bundle* const end_of_a = a + from_heavy.size();
        const bundle* const end_of_b = b + from_light.size();
        const bundle* best_from_heavy = a;
        const bundle* best_from_light = b;
        Load least = gap;  // twice the distance of the best exchange's moved load from half the gap; starts at `gap`
        while (a != end_of_a && b != end_of_b) {
            const Load give = 2 * a->cost;
            const Load want = 2 * b->cost + gap;
            const bool too_large = give > want;
            const Load off = too_large ? give - want : want - give;
            const bool closer = off < least;
            least = closer ? off : least;
            best_from_heavy = closer ? a : best_from_heavy;
            best_from_light = closer ? b : best_from_light;
            a += too_large ? 1 : 0;
            b += too_large ? 0 : 1;
        }
        return least < gap ? std::optional(exchange{*best_from_heavy, *best_from_light}) : std::nullopt;
    }

    /// Returns the best exchange among all pairs of bundles, for items with several loads or with sizes.
    [[nodiscard]] std::optional<exchange> best_of_all(std::uint32_t heavy, const std::vector<bundle>& from_heavy,
                                                      std::uint32_t light,
                                                      const std::vector<bundle>& from_light) const {
        std::optional<exchange> best;
        Load least = peak(heavy);
        for (const bundle& a : from_heavy) {
            for (const bundle& b : from_light) {
                const std::uint64_t heavy_size = size_of(a);
                const std::uint64_t light_size = size_of(b);
                if (items_.is_limited() &&
                    (heavy_size > room_[light] + light_size || light_size > room_[heavy] + heavy_size)) {
                    continue;
                }
                Load after = 0;
                for (std::size_t load = 0; load < items_.loads && after < least; ++load) {
                    const Load give = cost_of(a, load);
                    const Load take = cost_of(b, load);
                    after = std::max<Load>(after, sums_[heavy * items_.loads + load] - give + take);
                    after = std::max<Load>(after, sums_[light * items_.loads + load] + give - take);
                }
                if (after < least) {
                    least = after;
                    best = exchange{a, b};
                }
            }
        }
        return best;
    }

    [[nodiscard]] std::uint64_t size_of(const bundle& items) const {
        return (items.first == bundle::none ? 0 : items_.sizes[items.first]) +
               (items.second == bundle::none ? 0 : items_.sizes[items.second]);
    }

    [[nodiscard]] Load cost_of(const bundle& items, std::size_t load) const {
        return static_cast<Load>((items.first == bundle::none ? 0 : items_.costs_of(items.first)[load]) +
                                 (items.second == bundle::none ? 0 : items_.costs_of(items.second)[load]));
    }

    void apply(std::uint32_t heavy, std::uint32_t light, const exchange& chosen) {
        for (const std::uint32_t rank : {heavy, light}) {
            order_.erase(std::lower_bound(order_.begin(), order_.end(), rank, lighter()));
            pairs_[rank].clear();
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
        const auto place = [item](std::vector<bundle>& singles) {
            return std::lower_bound(singles.begin(), singles.end(), item,
                                    [](const bundle& own, std::uint32_t other) { return own.first < other; });
        };
        singles_[from].erase(place(singles_[from]));
        singles_[to].insert(place(singles_[to]), single(item));
        for (std::size_t load = 0; load < items_.loads; ++load) {
            sums_[from * items_.loads + load] -= items_.costs_of(item)[load];
            sums_[to * items_.loads + load] += items_.costs_of(item)[load];
        }
        room_[from] += items_.sizes[item];
        room_[to] -= items_.sizes[item];
    }

    const balance_items<Load>& items_;
    std::vector<std::uint32_t> rank_of_;
    Load target_;
    std::uint64_t budget_;
    bool equal_counts_;
    bool by_cost_;  ///< true if items have one load, and capacity is unlimited or all ranks have equally many
                    ///< items; `closest` then finds the best exchange
    std::vector<std::vector<bundle>> singles_;  ///< for each rank, a bundle for each single item; then an empty bundle,
                                                ///< unless all ranks have equally many items
    std::vector<std::vector<bundle>> pairs_;    ///< for each rank, its pairs of items as bundles; empty until needed
    std::vector<Load> sums_;
    /// Free capacity of each rank. The unsigned number may wrap around in the middle of an exchange. If capacity is
    /// unlimited, the number has no meaning.
    std::vector<std::uint64_t> room_;
    std::vector<std::uint32_t> order_;  ///< ranks by ascending load
};

}  // namespace floptally::detail
