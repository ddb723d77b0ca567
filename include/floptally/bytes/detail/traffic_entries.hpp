// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/bytes/detail/batch_units.hpp>
#include <floptally/bytes/detail/expert_layers.hpp>
#include <floptally/bytes/detail/moved_elements.hpp>
#include <floptally/bytes/step_bytes.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_entry.hpp>
#include <floptally/descriptors/sharding.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/mask_set.hpp>

/// @file
/// Counts the elements that a part of a model moves for a batch, as entries of a cost. Each such entry is a copy of a
/// matrix product's entry, so that a plan runs it as often as the matrix product.

namespace floptally::inline v0_3::detail {

/// The cached keys that the new tokens of a batch attend to.
struct cached_past {
    const mask_set& masks;
    std::span<const std::uint64_t> keys;  ///< number of cached keys that new tokens attend to, for each mask
    std::uint64_t sequences;              ///< number of sequences that have cached tokens
};

/// Costs to which `put_weights` adds entries: for the weights that a forward reads, and for the gradients of weights
/// that a backward writes.
struct weight_traffic {
    cost& read;
    cost& gradients;
    cost& expert;  ///< weights of one expert of each layer and matrix, if the number of distinct experts was measured
    /// Gradients of one expert of each layer and matrix, if the number of distinct experts was measured.
    cost& expert_gradients;
    cost& uniform;  ///< weights that are read if tokens choose experts uniformly
};

/// Adds entries to costs that count the elements moved by parts of a model.
class traffic_entries {
  public:
    /// Creates entries for the elements that one batch moves. `alike` is true if all `batches` microbatches have
    /// equally many tokens.
    traffic_entries(const cost& whole, const tally& batch, std::uint64_t batches, bool alike, const cached_past& past)
        : whole_(whole), units_(batch), batches_(batches), single_visits_(alike ? batches : 1), past_(past) {}

    [[nodiscard]] static bool has_cache(const cost_entry& entry) {
        return (entry.kind == term::scores || entry.kind == term::index_scores) && entry.what == accumulator::pairs &&
               entry.in == modality::text;
    }

    /// Adds the weights of a part. If `is_measured` is false and several tokens choose experts, the number of visited
    /// experts is unknown. The names of the components with experts are then added to `at_most`, because their bytes
    /// are an upper bound.
    void put_weights(const cost& part, const weight_traffic& to, bool is_measured,
                     std::vector<std::string>& at_most) const {
        for (const cost_entry& entry : part.entries()) {
            const term_operands operands = meaning_of(entry.kind).operands;
            const std::uint64_t visits = has_weight(entry.kind) ? units_.count(part, entry) : 0;
            if (visits == 0) {
                continue;
            }
            const expert_choice choice = expert_choice::of(entry);
            if (choice.experts != 0 && is_measured) {
                put(part, entry, entry.kind, choice.size, to.expert);
                put(part, entry, entry.kind, choice.size, to.expert_gradients);
                continue;
            }
            const std::uint64_t all = checked(batches_, "bytes") * stored(part, entry);
            std::uint64_t touched = all;
            if (operands == term_operands::matrix) {
                touched = std::min(all, saturating(entry.padded / 2, visits));
                if (entry.parameters > entry.padded / 2 && visits > single_visits_) {
                    note_component(part, entry, at_most);
                }
            } else if (operands == term_operands::table && entry.sharding.by == sharding_kind::vocabulary &&
                       entry.sharding.units != 0) {
                touched = checked(entry.padded / 2 / entry.sharding.units, "bytes") * visits;
            }
            const adapter of_entry = adapters_touched(entry, visits);
            put(part, entry, entry.kind, touched, to.read, of_entry);
            put(part, entry, entry.kind, operands == term_operands::table ? all : touched, to.gradients, of_entry);
            put(part, entry, entry.kind, choice.experts == 0 ? touched : on_average(choice, visits), to.uniform,
                of_entry);
        }
    }

    /// Adds the operands and results of a part's adapters. Elements whose number depends on the adapter's rank go to
    /// `of_rank`, the others to `of_any`.
    void put_adapters(const cost& part, cost& of_rank, cost& of_any) const {
        const moved_elements moved(part, units_);
        for (const cost_entry& entry : part.entries()) {
            if (entry.padded == 0 || !moved_elements::is_matrix(entry) || entry.per_rank.in == 0) {
                continue;
            }
            const std::uint64_t applied = entry.per_rank.in / 2 * entry.per_rank.padded_out / entry.padded;
            const std::uint64_t inner = checked(applied, "bytes") * units_.count(part, entry);
            put(part, entry, entry.kind, 0, of_rank, {.in = inner, .padded_out = inner});
            put(part, entry, entry.kind, 0, of_any,
                {.in = moved.read(entry).value_or(0), .padded_out = moved.written(entry).value_or(0)});
        }
    }

    /// Adds the operands and results of a part's matrix products and other operations. Adds the names of components
    /// with unknown widths to `unsaid`, and the names of components whose widths are upper bounds to `at_most`.
    void put_activations(const cost& part, cost& to, std::vector<std::string>& unsaid,
                         std::vector<std::string>& at_most) const {
        const moved_elements moved(part, units_);
        std::vector<std::uint32_t> cores;
        for (const cost_entry& entry : part.entries()) {
            const auto put_or_say = [&](term kind, const cost_entry& like, const elements& amount) {
                if (moved.took_bound() && amount) {
                    note_component(part, entry, at_most);
                }
                if (amount) {
                    put(part, like, kind, *amount, to);
                } else {
                    note_component(part, entry, unsaid);
                }
            };
            if (entry.padded == 0) {
                continue;
            }
            if (moved_elements::is_matrix(entry)) {
                put_or_say(entry.kind, entry, sum_of(moved.read(entry), moved.written(entry)));
            } else if (moved_elements::is_core(entry)) {
                if (std::find(cores.begin(), cores.end(), entry.component) == cores.end()) {
                    cores.push_back(entry.component);
                    const moved_elements::core core = moved.core_of(entry.component);
                    cost_entry kernel = entry;
                    kernel.flow = {.reads = static_cast<value::set>(core.q | core.k),
                                   .also_reads = core.v,
                                   .fused_with = static_cast<value::set>(core.q | core.k | core.v)};
                    put_or_say(term::values, kernel, sum_of(moved.core_operands(core), moved.core_result(core)));
                }
            } else if (entry.kind == term::index_scores) {
                put_or_say(entry.kind, entry, moved.read(entry));
            } else if (moved_elements::is_state(entry)) {
                put_or_say(entry.kind, entry, moved.read(entry));
                // The gate's backward reads the gradient of the gate's result once.
                put_or_say(term::gating, entry, moved.written(entry));
            } else if (meaning_of(entry.kind).operands == term_operands::table &&
                       entry.sharding.by == sharding_kind::vocabulary && entry.sharding.units != 0) {
                put_or_say(entry.kind, entry,
                           checked(entry.padded / 2 / entry.sharding.units, "bytes") * units_.count(part, entry));
            }
        }
    }

    /// Adds the cached keys, values and recurrent states that a part reads.
    void put_cache(const cost& part, cost& to, std::vector<std::string>& at_most) const {
        const moved_elements moved(part, units_);
        for (const cost_entry& entry : part.entries()) {
            if (has_cache(entry)) {
                const std::uint64_t keys = past_.keys[past_.masks.find(part.masks()[entry.mask])];
                const std::uint64_t width = moved.cached_per_key(entry);
                if (moved.took_bound() && keys != 0) {
                    note_component(part, entry, at_most);
                }
                put(part, entry, entry.kind == term::scores ? term::values : entry.kind, checked(width, "bytes") * keys,
                    to);
            } else if (moved_elements::is_state(entry) && entry.in == modality::text) {
                // The entry counts FLOPs for each element of the state: 6 for a delta rule, else 4 (a multiply-add to
                // write the element and one to read it).
                const std::uint64_t state = entry.padded / (entry.kind == term::delta_rule ? 6 : 4);
                put(part, entry, entry.kind, 2 * (checked(state, "bytes") * past_.sequences), to);
            }
        }
    }

  private:
    /// Returns how many elements of the experts' weights are read on average if each token of a batch chooses its
    /// experts uniformly.
    [[nodiscard]] std::uint64_t on_average(const expert_choice& choice, std::uint64_t visits) const {
        const auto batches = static_cast<double>(batches_);
        const double experts =
            batches * uniform_distinct_experts(choice.experts, choice.chosen, static_cast<double>(visits) / batches);
        return static_cast<std::uint64_t>(std::llround(experts * static_cast<double>(choice.size)));
    }

    static void note_component(const cost& part, const cost_entry& entry, std::vector<std::string>& names) {
        const std::string component(part.components()[entry.component].view());
        if (std::find(names.begin(), names.end(), component) == names.end()) {
            names.push_back(component);
        }
    }

    /// Returns how many elements of an adapter's two matrices are read, for an adapter of rank 1. Adapters of experts
    /// are read as often as their experts.
    [[nodiscard]] adapter adapters_touched(const cost_entry& entry, std::uint64_t visits) const {
        if (entry.per_rank.in == 0 || entry.padded == 0 || entry.parameters == 0) {
            return {};
        }
        const auto touched = [&](std::uint64_t flops) {
            const uint128 stored = uint128{flops / 2} * entry.parameters / (entry.padded / 2);
            return std::min<std::uint64_t>(checked(batches_, "bytes") * static_cast<std::uint64_t>(stored),
                                           saturating(flops / 2, visits));
        };
        return {.in = touched(entry.per_rank.in), .padded_out = touched(entry.per_rank.padded_out)};
    }

    /// Adds an entry of `amount` elements that runs as often as the entry `like`. `adapted` has the elements of the
    /// entry's adapter.
    static void put(const cost& part, const cost_entry& like, term kind, std::uint64_t amount, cost& to,
                    const adapter& adapted = {}) {
        if (amount == 0 && adapted.in == 0) {
            return;
        }
        // True if one measured number of expert visits covers all layers.
        const bool measured = like.what == accumulator::routed;
        cost_entry entry{.what = measured ? like.what : accumulator::count,
                         .kind = kind,
                         .in = like.in,
                         .useful = amount,
                         .padded = amount,
                         .flow = like.flow,
                         .per_rank = adapted};
        entry.flow.writes = 0;
        to.add_entry(part.components()[like.component], part.weight_name(like), entry,
                     measured ? part.masks()[like.mask] : statistic{});
    }

    /// Returns the number of stored weight elements of an entry. If the entry counts by measured visits of experts,
    /// returns the sum over all layers with the same measured statistic. If another part stores the weight, returns the
    /// size of that weight.
    [[nodiscard]] std::uint64_t stored(const cost& part, const cost_entry& entry) const {
        if (entry.what == accumulator::routed) {
            for (const cost_entry& all : whole_.entries()) {
                if (all.what == entry.what && whole_.masks()[all.mask] == part.masks()[entry.mask]) {
                    return all.parameters;
                }
            }
        }
        if (entry.parameters != 0 || !moved_elements::is_matrix(entry)) {
            return entry.parameters;
        }
        for (const cost_entry& other : part.entries()) {
            const bool same =
                other.component == entry.component && other.weight == entry.weight && other.kind == entry.kind;
            if (same && other.parameters != 0) {
                return 0;  // This entry applies the weight of another entry to other tokens.
            }
        }
        return entry.padded / 2;
    }

    static std::uint64_t saturating(std::uint64_t a, std::uint64_t b) {
        const uint128 product = uint128{a} * b;
        return (product >> 64) != 0 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(product);
    }

    const cost& whole_;
    batch_units units_;
    std::uint64_t batches_;
    std::uint64_t single_visits_;  ///< A batch with at most this many visits to experts has at most one visit in each
                                   ///< microbatch.
    cached_past past_;
};

}  // namespace floptally::detail
