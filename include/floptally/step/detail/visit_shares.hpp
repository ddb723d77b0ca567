// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/statistic.hpp>

/// @file
/// Divides measured visits to experts among groups of a model's layers, because one measured number covers all layers.

namespace floptally::inline v0_3::detail {

/// Splits the measured visits to experts over groups of a model's layers. The share of a group is proportional to its
/// number of layers with experts. The shares of all groups add up to all visits.
class visit_shares {
  public:
    visit_shares() = default;
    /// Takes a list of all parts of the model for each group of layers. The list of a group marks the parts of other
    /// groups as `elsewhere`.
    explicit visit_shares(const std::vector<std::vector<model_part>>& groups) {
        for (std::size_t group = 0; group < groups.size(); ++group) {
            for (const model_part& part : groups[group]) {
                std::vector<statistic> seen;
                for (const cost_entry& entry : part.cost.entries()) {
                    if (part.elsewhere || entry.what != accumulator::routed) {
                        continue;
                    }
                    const statistic& visits = part.cost.masks()[entry.mask];
                    bool is_new = true;
                    for (const statistic& known : seen) {
                        is_new = is_new && !(known == visits);
                    }
                    if (is_new) {
                        seen.push_back(visits);
                        count(visits, groups.size())[group] += part.repeat;
                    }
                }
            }
        }
    }

    /// Returns the tally `batch` with each number of expert visits reduced to the share of one group of layers.
    [[nodiscard]] tally share_of(const tally& batch, std::size_t group) const {
        if (layers_.empty()) {
            return batch;
        }
        std::vector<std::uint64_t> amounts(batch.accumulators().begin(), batch.accumulators().end());
        const std::size_t stride = amounts.size() / 2;
        for (const auto& [visits, layers] : layers_) {
            std::uint64_t all = 0;
            std::uint64_t before = 0;
            for (std::size_t i = 0; i < layers.size(); ++i) {
                all += layers[i];
                before += i < group ? layers[i] : 0;
            }
            const std::size_t index = batch.masks().find(visits);
            const bool is_moment = visits.is_polynomial();
            if (all == 0 || (!is_moment && index == batch.masks().size())) {
                continue;
            }
            const std::size_t at = is_moment ? tally_accumulators::index_of(visits.in(), accumulator::routed)
                                             : tally_accumulators::before_masks(batch.masks()) + index;
            for (const std::size_t place : {at, stride + at}) {
                const auto share = [&](std::uint64_t of_layers) {
                    return static_cast<std::uint64_t>(uint128{amounts[place]} * of_layers / all);
                };
                amounts[place] = share(before + layers[group]) - share(before);
            }
        }
        return batch.with_accumulators({amounts.data(), amounts.size()});
    }

  private:
    /// Returns a list with one number for each group of layers: how many of its layers have the statistic `visits`.
    [[nodiscard]] std::vector<std::uint64_t>& count(const statistic& visits, std::size_t groups) {
        for (auto& [known, layers] : layers_) {
            if (known == visits) {
                return layers;
            }
        }
        layers_.emplace_back(visits, std::vector<std::uint64_t>(groups, 0));
        return layers_.back().second;
    }

    std::vector<std::pair<statistic, std::vector<std::uint64_t>>> layers_{};
};

}  // namespace floptally::detail
