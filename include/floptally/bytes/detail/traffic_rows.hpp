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
#include <floptally/descriptors/cost_row.hpp>
#include <floptally/descriptors/dealing.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/statistic.hpp>

/// @file
/// The elements that one pass of a part moves for a batch, as rows of a cost: a plan runs them as often as the products
/// that move them.

namespace floptally::detail {

/// The keys that sequences find cached.
struct cached_past {
    const mask_set& masks;
    std::span<const std::uint64_t> keys;  ///< that new tokens see, by mask
    std::uint64_t sequences;              ///< with a past
};

/// Rows of the weights that a forward reads, and of the gradients that a backward writes.
struct weight_traffic {
    cost& read;
    cost& gradients;
    cost& expert;            ///< one expert of each choice, where the distinct ones were measured
    cost& expert_gradients;  ///< likewise
    cost& uniform;           ///< what is read where tokens choose experts uniformly
};

class traffic_rows {
  public:
    /// `alike`: each of the batches has as many tokens.
    traffic_rows(const cost& whole, const tally& batch, std::uint64_t batches, bool alike, const cached_past& past)
        : whole_(whole), units_(batch), batches_(batches), single_visits_(alike ? batches : 1), past_(past) {}

    [[nodiscard]] static bool has_cache(const cost_row& row) {
        return (row.kind == term::scores || row.kind == term::index_scores) && row.what == statistic::pairs &&
               row.in == modality::text;
    }

    /// Weights. Of experts that several tokens choose among it is not known how many are visited, unless that
    /// `is_measured`: a component of them goes into `at_most`.
    void put_weights(const cost& part, const weight_traffic& to, bool is_measured,
                     std::vector<std::string>& at_most) const {
        for (const cost_row& row : part.rows()) {
            const term_operands operands = meaning_of(row.kind).operands;
            const std::uint64_t visits = has_weight(row.kind) ? units_.of(part, row) : 0;
            if (visits == 0) {
                continue;
            }
            const expert_choice choice = expert_choice::of(row);
            if (choice.experts != 0 && is_measured) {
                put(part, row, row.kind, choice.size, to.expert);
                put(part, row, row.kind, choice.size, to.expert_gradients);
                continue;
            }
            const std::uint64_t all = checked(batches_, "bytes") * stored(part, row);
            std::uint64_t touched = all;
            if (operands == term_operands::matrix) {
                touched = std::min(all, saturating(row.padded / 2, visits));
                if (row.parameters > row.padded / 2 && visits > single_visits_) {
                    say(part, row, at_most);
                }
            } else if (operands == term_operands::table && row.dealt.by == tensor_split::vocabulary &&
                       row.dealt.units != 0) {
                touched = checked(row.padded / 2 / row.dealt.units, "bytes") * visits;
            }
            const adapter beside = adapters_touched(row, visits);
            put(part, row, row.kind, touched, to.read, beside);
            put(part, row, row.kind, operands == term_operands::table ? all : touched, to.gradients, beside);
            put(part, row, row.kind, choice.experts == 0 ? touched : on_average(choice, visits), to.uniform, beside);
        }
    }

    /// Operands and results of adapters: `of_rank` has those that are as wide as its rank, `of_any` the others.
    void put_adapters(const cost& part, cost& of_rank, cost& of_any) const {
        const moved_elements moved(part, units_);
        for (const cost_row& row : part.rows()) {
            if (row.padded == 0 || !moved_elements::is_matrix(row) || row.per_rank.in == 0) {
                continue;
            }
            const std::uint64_t applied = row.per_rank.in / 2 * row.per_rank.padded_out / row.padded;
            const std::uint64_t inner = checked(applied, "bytes") * units_.of(part, row);
            put(part, row, row.kind, 0, of_rank, {.in = inner, .padded_out = inner});
            put(part, row, row.kind, 0, of_any,
                {.in = moved.read(row).value_or(0), .padded_out = moved.written(row).value_or(0)});
        }
    }

    /// Operands and results. A component whose rows do not say how wide they are goes into `unsaid`, or into `at_most`.
    void put_activations(const cost& part, cost& to, std::vector<std::string>& unsaid,
                         std::vector<std::string>& at_most) const {
        const moved_elements moved(part, units_);
        std::vector<std::uint32_t> cores;
        for (const cost_row& row : part.rows()) {
            const auto put_or_say = [&](term kind, const cost_row& like, const elements& amount) {
                if (moved.took_bound() && amount) {
                    say(part, row, at_most);
                }
                if (amount) {
                    put(part, like, kind, *amount, to);
                } else {
                    say(part, row, unsaid);
                }
            };
            if (row.padded == 0) {
                continue;
            }
            if (moved_elements::is_matrix(row)) {
                put_or_say(row.kind, row, sum_of(moved.read(row), moved.written(row)));
            } else if (moved_elements::is_core(row)) {
                if (std::find(cores.begin(), cores.end(), row.component) == cores.end()) {
                    cores.push_back(row.component);
                    const moved_elements::core core = moved.core_of(row.component);
                    cost_row kernel = row;
                    kernel.flow = {.reads = static_cast<value::set>(core.q | core.k),
                                   .also_reads = core.v,
                                   .fused_with = static_cast<value::set>(core.q | core.k | core.v)};
                    put_or_say(term::values, kernel, sum_of(moved.core_operands(core), moved.core_result(core)));
                }
            } else if (row.kind == term::index_scores) {
                put_or_say(row.kind, row, moved.read(row));
            } else if (moved_elements::is_state(row)) {
                put_or_say(row.kind, row, moved.read(row));
                put_or_say(term::gating, row, moved.written(row));  // its backward reads one gradient of it
            } else if (meaning_of(row.kind).operands == term_operands::table &&
                       row.dealt.by == tensor_split::vocabulary && row.dealt.units != 0) {
                put_or_say(row.kind, row, checked(row.padded / 2 / row.dealt.units, "bytes") * units_.of(part, row));
            }
        }
    }

    /// Keys, values and states of the past.
    void put_cache(const cost& part, cost& to, std::vector<std::string>& at_most) const {
        const moved_elements moved(part, units_);
        for (const cost_row& row : part.rows()) {
            if (has_cache(row)) {
                const std::uint64_t keys = past_.keys[past_.masks.find(part.masks()[row.mask])];
                const std::uint64_t width = moved.cached_per_key(row);
                if (moved.took_bound() && keys != 0) {
                    say(part, row, at_most);
                }
                put(part, row, row.kind == term::scores ? term::values : row.kind, checked(width, "bytes") * keys, to);
            } else if (moved_elements::is_state(row) && row.in == modality::text) {
                // FLOPs of one element: a delta rule's six, else a multiply-add to write it and one to read it.
                const std::uint64_t state = row.padded / (row.kind == term::delta_rule ? 6 : 4);
                put(part, row, row.kind, 2 * (checked(state, "bytes") * past_.sequences), to);
            }
        }
    }

  private:
    /// Elements that are read where each token of a batch chooses its experts uniformly.
    [[nodiscard]] std::uint64_t on_average(const expert_choice& choice, std::uint64_t visits) const {
        const auto batches = static_cast<double>(batches_);
        const double experts =
            batches * uniform_distinct_experts(choice.experts, choice.chosen, static_cast<double>(visits) / batches);
        return static_cast<std::uint64_t>(std::llround(experts * static_cast<double>(choice.size)));
    }

    static void say(const cost& part, const cost_row& row, std::vector<std::string>& names) {
        const std::string component(part.components()[row.component].view());
        if (std::find(names.begin(), names.end(), component) == names.end()) {
            names.push_back(component);
        }
    }

    /// Elements of an adapter's two matrices that are read for each unit of its rank: of experts as those beside it.
    [[nodiscard]] adapter adapters_touched(const cost_row& row, std::uint64_t visits) const {
        if (row.per_rank.in == 0 || row.padded == 0 || row.parameters == 0) {
            return {};
        }
        const auto touched = [&](std::uint64_t flops) {
            const uint128 stored = uint128{flops / 2} * row.parameters / (row.padded / 2);
            return std::min<std::uint64_t>(checked(batches_, "bytes") * static_cast<std::uint64_t>(stored),
                                           saturating(flops / 2, visits));
        };
        return {.in = touched(row.per_rank.in), .padded_out = touched(row.per_rank.padded_out)};
    }

    /// A row of so many elements, and those of an adapter beside it, which runs as often as `like` does.
    static void put(const cost& part, const cost_row& like, term kind, std::uint64_t amount, cost& to,
                    const adapter& beside = {}) {
        if (amount == 0 && beside.in == 0) {
            return;
        }
        const bool measured = like.what == statistic::routed;  // one number for all layers
        cost_row row{.what = measured ? like.what : statistic::count,
                     .kind = kind,
                     .in = like.in,
                     .useful = amount,
                     .padded = amount,
                     .flow = like.flow,
                     .per_rank = beside};
        row.flow.writes = 0;
        to.add_row(part.components()[like.component], part.weight_name(like), row,
                   measured ? part.masks()[like.mask] : rule{});
    }

    /// Weights stored by all rows of a measured word, or by this one; of a weight that another row counts, what it is.
    [[nodiscard]] std::uint64_t stored(const cost& part, const cost_row& row) const {
        if (row.what == statistic::routed) {
            for (const cost_row& all : whole_.rows()) {
                if (all.what == row.what && whole_.masks()[all.mask] == part.masks()[row.mask]) {
                    return all.parameters;
                }
            }
        }
        if (row.parameters != 0 || !moved_elements::is_matrix(row)) {
            return row.parameters;
        }
        for (const cost_row& other : part.rows()) {
            const bool same = other.component == row.component && other.weight == row.weight && other.kind == row.kind;
            if (same && other.parameters != 0) {
                return 0;  // the same matrix over other units
            }
        }
        return row.padded / 2;
    }

    static std::uint64_t saturating(std::uint64_t a, std::uint64_t b) {
        const uint128 product = uint128{a} * b;
        return (product >> 64) != 0 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(product);
    }

    const cost& whole_;
    batch_units units_;
    std::uint64_t batches_;
    std::uint64_t single_visits_;  ///< so many visits are at most one of each batch
    cached_past past_;
};

}  // namespace floptally::detail
