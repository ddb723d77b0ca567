// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <floptally/bytes/detail/batch_units.hpp>
#include <floptally/bytes/detail/exchange_rows.hpp>
#include <floptally/bytes/detail/moved_elements.hpp>
#include <floptally/bytes/detail/tensor_flow.hpp>
#include <floptally/count/plan_walk.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_row.hpp>
#include <floptally/descriptors/dealing.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The exchanges inside a part: of tensor, expert and context parallelism, from how its rows are dealt and which values
/// they read and make.

namespace floptally::detail {

/// The groups of a rank that exchange activations, and how.
struct activation_groups {
    std::uint64_t tp = 1;
    std::uint64_t ep = 1;
    std::uint64_t cp = 1;
    bool sequence_parallel = false;
    context_exchange context = context_exchange::ring;
    std::uint64_t bits = 16;
};

/// Puts the exchanges of one part into the rows of a rank.
class part_exchanges {
  public:
    part_exchanges(const activation_groups& groups, const weight_states& states, const batch_units& units,
                   exchange_rows& to, std::vector<std::string>& unsaid)
        : groups_(groups), states_(states), units_(units), to_(to), unsaid_(unsaid) {}

    void put(const model_part& part, std::size_t index) {
        part_ = &part;
        index_ = index;
        if (groups_.tp > 1) {
            put_tensor_parallel();
        }
        if (groups_.ep > 1 || groups_.tp > 1) {
            put_experts();
        }
        if (groups_.cp > 1 && part.in() == modality::text) {
            put_context_parallel();
        }
    }

  private:
    using moment = exchange_moment;

    [[nodiscard]] const cost& rows() const { return part_->cost; }

    void put_row(const cost_row& like, parallel_axis over, std::uint64_t ranks, collective how, moment when,
                 std::uint64_t count, std::uint64_t of_adapter = 0) {
        to_.put(index_, rows(), like, {.over = over, .how = how, .ranks = ranks, .when = when, .bits = groups_.bits},
                count, of_adapter);
    }
    void put_tp(const cost_row& like, collective how, moment when, std::uint64_t count, std::uint64_t of_adapter = 0) {
        put_row(like, parallel_axis::tp, groups_.tp, how, when, count, of_adapter);
    }

    void say(const cost_row& row) {
        const std::string name(rows().components()[row.component].view());
        if (std::find(unsaid_.begin(), unsaid_.end(), name) == unsaid_.end()) {
            unsaid_.push_back(name);
        }
    }

    [[nodiscard]] bool trains(const cost_row& row) const {
        for (std::uint64_t n = 0; n < part_->repeat; ++n) {
            const std::uint64_t layer = part_->first_layer == no_layer ? no_layer : part_->first_layer + n;
            if (states_.trains(*part_, layer, row)) {
                return true;
            }
        }
        return false;
    }

    void put_tensor_parallel() {
        const tensor_flow flow(rows());
        const moved_elements moved(rows(), units_);
        std::vector<const cost_row*> entered;
        for (const cost_row& row : rows().rows()) {
            const bool is_table = meaning_of(row.kind).operands == term_operands::table;
            if (row.padded == 0 || row.dealt.by == tensor_split::experts) {
                continue;
            }
            if (is_table && row.dealt.by == tensor_split::vocabulary && row.dealt.units != 0) {
                end_share(row, row.padded / 2 / row.dealt.units * units_.of(rows(), row), moment::backward_weights);
            } else if (moved_elements::is_matrix(row) && tensor_flow::is_split(row)) {
                const elements in = moved.read(row);
                const elements out = moved.written(row);
                if (row.per_rank.in == 0 || !in || !out || row.flow.reads == 0) {
                    say(row);
                } else if (flow.makes_summands(row)) {
                    end_share(row, *out, moment::backward);
                } else {
                    begin_share(row, entered, flow, *in);
                }
                if (row.kind == term::lm_head && row.dealt.by == tensor_split::vocabulary) {
                    put_loss(row);
                }
                if (trains(row) && !states_.is_trainable(*part_, part_->first_layer, row)) {
                    say(row);  // what an adapter's share exchanges is not known
                }
            }
        }
    }

    /// A sum over ranks; of its gradient each has the whole, or with sequence parallelism a part and gathers it.
    void end_share(const cost_row& row, std::uint64_t out, moment when) {
        put_tp(row, groups_.sequence_parallel ? collective::reduce_scatter : collective::all_reduce, moment::forward,
               out);
        if (groups_.sequence_parallel) {
            put_tp(row, collective::all_gather, when, out);
        }
    }

    /// A value that every rank reads whole: a sum of its gradients, and with sequence parallelism it is gathered for
    /// the forward and for the gradient of weights. Matrices of one component that read the same value share it.
    void begin_share(const cost_row& row, std::vector<const cost_row*>& entered, const tensor_flow& flow,
                     std::uint64_t in) {
        for (const cost_row* const known : entered) {
            const bool same = known->component == row.component && known->flow.reads == row.flow.reads &&
                              known->weight != row.weight && known->what == row.what && known->in == row.in;
            if (same && flow.needed_whole(*known) == flow.needed_whole(row)) {
                return;
            }
        }
        entered.push_back(&row);
        const std::uint64_t width = std::max(in, width_in_core(row, flow));
        put_tp(row, groups_.sequence_parallel ? collective::reduce_scatter : collective::all_reduce,
               moment::backward_data, width);
        if (groups_.sequence_parallel) {
            put_tp(row, collective::all_gather, moment::forward, width);
            const cost_row* trained = &row;
            for (const cost_row& other : rows().rows()) {
                const bool alike = other.component == row.component && other.flow.reads == row.flow.reads &&
                                   moved_elements::is_matrix(other) && trains(other);
                trained = alike && !trains(*trained) ? &other : trained;
            }
            put_tp(*trained, collective::all_gather, moment::backward_weights, in, in);
        }
    }

    /// Elements of a value that a core of shared heads reads too: of a latent the part with positions, which the matrix
    /// does not read.
    [[nodiscard]] std::uint64_t width_in_core(const cost_row& row, const tensor_flow& flow) const {
        const moved_elements moved(rows(), units_);
        const value::set whole = flow.needed_whole(row);
        for (const cost_row& core : rows().rows()) {
            if (core.kind == term::scores && (flow.needed_whole(core) & whole & ~value::stream) != 0) {
                for (const cost_row& maker : rows().rows()) {
                    if (moved_elements::is_matrix(maker) && (maker.flow.writes & whole) != 0) {
                        return moved.written(maker).value_or(0);
                    }
                }
            }
        }
        return 0;
    }

    /// The largest logit, that of the label, and the sum of exponentials of each token, in 32 bits.
    void put_loss(const cost_row& head) {
        to_.put(index_, rows(), head,
                {.how = collective::all_reduce, .ranks = groups_.tp, .when = moment::backward, .bits = 32},
                3 * checked(units_.of(rows(), head), "loss"));
    }

    /// Copies of tokens go to the ranks of their experts and come back: of a rank's copies any number may leave it.
    void put_experts() {
        const moved_elements moved(rows(), units_);
        const tensor_flow flow(rows());
        std::vector<const cost_row*> entered;
        for (const cost_row& row : rows().rows()) {
            if (row.dealt.by != tensor_split::experts || row.padded == 0 || !moved_elements::is_matrix(row)) {
                continue;
            }
            const elements in = moved.read(row);
            const elements out = moved.written(row);
            if (row.what == statistic::routed || row.per_rank.in == 0 || row.flow.reads == 0 || !in || !out) {
                say(row);
                continue;
            }
            const bool ends = flow.makes_summands(row);
            const bool is_new = std::none_of(entered.begin(), entered.end(), [&](const cost_row* known) {
                return known->component == row.component && known->flow.reads == row.flow.reads;
            });
            if (!ends && is_new) {
                entered.push_back(&row);
            }
            if (ends || is_new) {
                put_copies(row, ends ? *out : *in, ends);
            }
        }
    }

    void put_copies(const cost_row& row, std::uint64_t copies, bool ends) {
        if (groups_.tp > 1 && !groups_.sequence_parallel) {
            throw error("sequence_parallel",
                        "must be on where tensor parallel ranks share experts: else each would send every token");
        }
        const std::uint64_t of_rank = copies / groups_.tp + (copies % groups_.tp != 0 ? 1 : 0);
        const exchange kind{.over = parallel_axis::ep,
                            .how = collective::all_to_all,
                            .ranks = groups_.ep,
                            .when = moment::forward,
                            .bits = groups_.bits,
                            .is_bound = true};
        exchange back = kind;
        back.when = ends ? moment::backward : moment::backward_data;
        to_.put(index_, rows(), row, kind, of_rank);
        to_.put(index_, rows(), row, back, of_rank);
        put_tp(row, ends ? collective::reduce_scatter : collective::all_gather, moment::forward, copies);
        put_tp(row, ends ? collective::all_gather : collective::reduce_scatter, back.when, copies);
    }

    void put_context_parallel() {
        const moved_elements moved(rows(), units_);
        std::vector<std::uint32_t> done;
        for (const cost_row& row : rows().rows()) {
            if (row.padded != 0 && moved_elements::is_state(row)) {
                say(row);  // a state goes from one share of tokens to the next in as many ways as there are kernels
            }
            const bool is_new = std::find(done.begin(), done.end(), row.component) == done.end();
            if (row.kind != term::scores || row.padded == 0 || !is_new) {
                continue;
            }
            done.push_back(row.component);
            const moved_elements::core core = moved.core_of(row.component);
            const elements keys = keys_of(moved, core, row);
            const elements both = moved.core_operands(core);
            const elements result = moved.core_result(core);
            if (core.over == nullptr || core.over->reads_other_side() || core.over->is_of_other_side() || !keys ||
                !both || !result) {
                say(row);
                continue;
            }
            const std::uint64_t shares = shares_of_keys(rows(), row, groups_.tp);
            cost_row kernel = row;  // its backward runs where any of its operands needs a gradient
            kernel.flow.fused_with = static_cast<value::set>(core.q | core.k | core.v);
            put_core(kernel, *keys / shares, *both - *keys, *result);
        }
    }

    void put_core(const cost_row& kernel, std::uint64_t keys, std::uint64_t queries, std::uint64_t result) {
        const std::uint64_t all = checked(keys, "bytes") * groups_.cp;
        const auto put_cp = [&](collective how, moment when, std::uint64_t count) {
            put_row(kernel, parallel_axis::cp, groups_.cp, how, when, count);
        };
        switch (groups_.context) {
            case context_exchange::ring:
                put_cp(collective::send, moment::forward, all - keys);
                put_cp(collective::send, moment::backward_data, 2 * checked(all - keys, "bytes"));
                break;
            case context_exchange::all_gather:
                put_cp(collective::all_gather, moment::forward, all);
                put_cp(collective::all_gather, moment::backward_data, all);
                put_cp(collective::reduce_scatter, moment::backward_data, all);
                break;
            case context_exchange::ulysses:
                const std::uint64_t own = checked(keys, "bytes") + (queries + result) / groups_.tp;
                put_cp(collective::all_to_all, moment::forward, own);
                put_cp(collective::all_to_all, moment::backward_data, own);
                break;
        }
    }

    /// Keys and values of the rank's own tokens; where one matrix makes the queries too, without these.
    [[nodiscard]] elements keys_of(const moved_elements& moved, const moved_elements::core& core,
                                   const cost_row& row) const {
        if (core.q != 0 && (core.k & core.q) == core.q) {
            return checked(moved.cached_per_key(row), "bytes") * units_.of(rows(), cost_row{.in = row.in});
        }
        return moved.core_keys(core);
    }

    const activation_groups& groups_;
    const weight_states& states_;
    const batch_units& units_;
    exchange_rows& to_;
    std::vector<std::string>& unsaid_;
    const model_part* part_ = nullptr;
    std::size_t index_ = 0;
};

}  // namespace floptally::detail
