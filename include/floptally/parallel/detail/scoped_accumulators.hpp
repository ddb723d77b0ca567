// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/context_shard.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/statistic_scope.hpp>
#include <floptally/parallel/tally_scope.hpp>
#include <floptally/parallel/verified_sum.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/measured.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

namespace floptally::inline v0_3::detail {

/// The scope of the accumulators of a tower that the model does not have. They are zero on all ranks.
inline constexpr statistic_scope nothing_scope = statistic_scope{}
                                                     .along(parallel_axis::dp, placement::replicated)
                                                     .trusting_replicas()
                                                     .along_virtual_stages(placement::sharded);

/// Returns the name of an accumulator that a caller fills with a measured number (`measured(name)`).
[[nodiscard]] inline std::string measured_name(const statistic& measured_amount) {
    return std::string(measured_amount.as<unit_statistics::measured>().accumulator());
}

/// Returns the name and the scope of each accumulator of a tally, in the tally's order.
[[nodiscard]] inline std::vector<verified_sum::accumulator> scoped_accumulators(const tally& like,
                                                                                const tally_scope& scope) {
    const std::size_t stride = like.accumulators().size() / 2;
    const std::size_t masks = stride - like.masks().size();
    const std::size_t fixed = tally::fixed_accumulators;
    std::vector<verified_sum::accumulator> accumulators;
    for (std::size_t i = 0; i < 2 * stride; ++i) {
        const std::size_t position = i % stride;
        const accumulator which = position < masks ? static_cast<accumulator>(position % fixed) : accumulator::pairs;
        const modality tower =
            position < masks ? static_cast<modality>(position / fixed) : like.masks()[position - masks].in();
        std::string name = i < stride ? "" : "padded ";
        const statistic_scope* value_scope = &scope.of(tower, which);
        if (position < masks) {
            name.append(qualified(tower, name_of(which)));
        } else {
            const statistic& counted = like.masks()[position - masks];
            name.append(counted.is_measured() ? "" : "pairs ").append(counted.name());
            value_scope = counted.is_measured() ? &scope.of_measured(measured_name(counted), tower) : value_scope;
        }
        accumulators.push_back({std::move(name), like.masks().has(tower) ? *value_scope : nothing_scope});
    }
    scope.require_measured([&](std::string_view name) {
        for (const statistic& counted : like.masks()) {
            if (counted.is_measured() && measured_name(counted) == name) {
                return true;
            }
        }
        return false;
    });
    return accumulators;
}

/// Returns whether the accumulator at `index` of a tally is a sum over the tokens of the text (not of a tower). Under
/// context parallelism each rank has a part of such a sum. Returns false for measured accumulators: each rank has the
/// number that it measured.
[[nodiscard]] inline bool is_sum_over_text(const tally& like, std::size_t index) {
    const std::size_t stride = like.accumulators().size() / 2;
    const std::size_t masks = stride - like.masks().size();
    const std::size_t position = index % stride;
    return position < masks
               ? position < tally::fixed_accumulators && static_cast<accumulator>(position) != accumulator::routed
               : like.masks()[position - masks].in() == modality::text && !like.masks()[position - masks].is_measured();
}

/// Returns the mark for a tally that was summed along `axes` of a layout.
[[nodiscard]] inline added_up added_up_over(axis_set axes, const parallel_layout& layout) {
    std::uint32_t bits = 0;
    for (const parallel_axis axis : dense_axes) {
        bits |= axes.contains(axis) && layout.size(axis) > 1 ? 1U << static_cast<unsigned>(axis) : 0U;
    }
    return {bits, layout.sizes().vpp > 1};
}

/// Checks the values of a tally or ratio before a sum over ranks, and returns them unchanged. Throws if they were
/// already summed over the same ranks, because a second sum would count these ranks twice. A second sum is allowed
/// along an axis with replicated values: there the sum is divided by the number of ranks. `record` is the word for the
/// values in the error, such as "tally".
inline std::span<const std::uint64_t> not_added_up(const added_up& before, std::span<const std::uint64_t> values,
                                                   const verified_sum& sum, std::string_view record) {
    if (!before.is_marked()) {
        return values;
    }
    const parallel_layout& layout = sum.layout();
    const std::string twice = text_of({" by its scope, but this ", record, " was added up over "});
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] == 0) {
            continue;
        }
        const auto& [name, scope] = sum.accumulators()[i];
        for (const parallel_axis axis : dense_axes) {
            if (before.over(static_cast<std::uint32_t>(axis)) && layout.size(axis) > 1 && !scope.is_copied(axis)) {
                refuse(name, {scope.where(axis), twice, name_of(axis), " before: reduce it only once"});
            }
        }
        if (before.over_visits() && layout.sizes().vpp > 1 && scope.along_virtual_stages() == placement::replicated) {
            refuse(name, {"is replicated over vpp", twice, "vpp before: reduce it only once"});
        }
    }
    return values;
}

/// Throws if a tally is marked as one rank's shard of context parallelism (`context_shard`) and the scope or the layout
/// contradicts the mark. Without this check the error would stay unnoticed if all shards have equal values, as replicas
/// have.
inline void require_shard(const tally& mine, const verified_sum& sum) {
    const context_shard& shard = mine.shard_of_context();
    const parallel_layout& layout = sum.layout();
    const std::uint64_t cp = layout.size(parallel_axis::cp);
    const std::uint64_t own_rank = layout.coordinate(parallel_axis::cp);
    const std::string shard_text = text_of({"this tally is the shard of cp rank ", shard.rank(), " of ", shard.cp()});
    if (cp == shard.cp() && own_rank != shard.rank()) {
        refuse("cp_rank", {shard_text, ", but this rank is ", own_rank, ": add up this rank's own shard"});
    }
    for (std::size_t i = 0; i < mine.accumulators().size(); ++i) {
        if (mine.accumulators()[i] == 0 || !is_sum_over_text(mine, i)) {
            continue;
        }
        const auto& [name, scope] = sum.accumulators()[i];
        if (cp > 1 && scope.along(parallel_axis::cp) != placement::sharded) {
            refuse(name, {scope.where(parallel_axis::cp), " by its scope, but ", shard_text,
                          ": use scopes::context_slice, which is sharded over cp"});
        }
        if (scope.parts(layout) < shard.cp()) {
            refuse(name, {"has ", scope.parts(layout), " parts by its scope, but ", shard_text,
                          ": set cp = ", shard.cp(), " in the layout and shard the scope over cp"});
        }
    }
}

}  // namespace floptally::detail
