// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/bytes/communication.hpp>
#include <floptally/bytes/detail/batch_units.hpp>
#include <floptally/bytes/detail/exchange_entries.hpp>
#include <floptally/bytes/detail/moved_elements.hpp>
#include <floptally/bytes/detail/tensor_flow.hpp>
#include <floptally/bytes/step_bytes.hpp>
#include <floptally/count/logits.hpp>
#include <floptally/count/plan_walk.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_entry.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/sharding.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/rank_work.hpp>
#include <floptally/step/memory.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Counts the bytes that one rank sends in a step, from a model's parts, a plan, a layout and the rank's tally.

namespace floptally::inline v0_3::detail {

// Finds the exchanges of tensor, expert and context parallelism in a part of a model. It derives them from the sharding
// of the part's entries and from the values that the entries read and write.

/// The groups of ranks that exchange activations: their sizes, and the method and bits of the exchanges.
struct activation_groups {
    const parallel_layout& layout;
    std::uint64_t gpus_per_node = 0;
    std::uint64_t tp = 1;
    std::uint64_t ep = 1;
    std::uint64_t etp = 1;
    std::uint64_t cp = 1;
    bool sequence_parallel = false;
    context_exchange context = context_exchange::ring;
    std::uint64_t bits = 16;
};

/// Finds the exchanges that one part of a model needs, and adds them to the exchanges of a rank.
class part_exchanges {
  public:
    part_exchanges(const activation_groups& groups, const weight_states& states, const batch_units& units,
                   exchange_entries& to, std::vector<std::string>& unsaid)
        : groups_(groups), states_(states), units_(units), to_(to), unsaid_(unsaid) {}

    void put(const model_part& part, std::size_t index) {
        part_ = &part;
        index_ = index;
        if (groups_.tp > 1) {
            put_tensor_parallel();
        }
        if (groups_.ep > 1 || groups_.etp > 1) {
            put_experts();
        }
        if (groups_.cp > 1 && part.in() == modality::text) {
            put_context_parallel();
        }
    }

  private:
    using moment = exchange_moment;

    [[nodiscard]] const cost& entries() const { return part_->cost; }

    void put_entry(const cost_entry& like, parallel_axis over, std::uint64_t ranks, collective operation, moment when,
                   std::uint64_t count, std::uint64_t of_adapter = 0) {
        to_.put(index_, entries(), like,
                {.over = over,
                 .operation = operation,
                 .ranks = ranks,
                 .when = when,
                 .bits = groups_.bits,
                 .between = between_nodes(over, operation)},
                count, of_adapter);
    }
    [[nodiscard]] node_share between_nodes(parallel_axis over, collective operation, bool keeps_own = false) const {
        const rank_group group = groups_.layout.group(over);
        return operation == collective::all_to_all
                   ? all_to_all_between_nodes(group, groups_.layout.rank(), groups_.gpus_per_node, keeps_own)
                   : ring_between_nodes(group, groups_.gpus_per_node);
    }
    void put_tp(const cost_entry& like, collective operation, moment when, std::uint64_t count,
                std::uint64_t of_adapter = 0) {
        put_entry(like, parallel_axis::tp, groups_.tp, operation, when, count, of_adapter);
    }

    void note_unsaid(const cost_entry& entry) {
        const std::string name(entries().components()[entry.component].view());
        if (std::find(unsaid_.begin(), unsaid_.end(), name) == unsaid_.end()) {
            unsaid_.push_back(name);
        }
    }

    [[nodiscard]] bool trains(const cost_entry& entry) const {
        for (std::uint64_t n = 0; n < part_->repeat; ++n) {
            const std::uint64_t layer = part_->first_layer == no_layer ? no_layer : part_->first_layer + n;
            if (states_.trains(*part_, layer, entry)) {
                return true;
            }
        }
        return false;
    }

    void put_tensor_parallel() {
        const tensor_flow flow(entries());
        const moved_elements moved(entries(), units_);
        std::vector<const cost_entry*> entered;
        for (const cost_entry& entry : entries().entries()) {
            const bool is_table = meaning_of(entry.kind).operands == term_operands::table;
            if (entry.padded == 0 || entry.sharding.by == sharding_kind::experts) {
                continue;
            }
            if (is_table && entry.sharding.by == sharding_kind::vocabulary && entry.sharding.units != 0) {
                end_shard(entry, entry.padded / 2 / entry.sharding.units * units_.count(entries(), entry),
                          moment::backward_weights);
            } else if (moved_elements::is_matrix(entry) && tensor_flow::is_split(entry)) {
                const elements in = moved.read(entry);
                const elements out = moved.written(entry);
                if (entry.per_rank.in == 0 || !in || !out || entry.flow.reads == 0) {
                    note_unsaid(entry);
                } else if (flow.makes_summands(entry)) {
                    end_shard(entry, *out, moment::backward);
                } else {
                    begin_shard(entry, entered, flow, *in);
                }
                if (entry.kind == term::lm_head && entry.sharding.by == sharding_kind::vocabulary) {
                    put_loss(entry);
                }
                if (trains(entry) && !states_.is_trainable(*part_, part_->first_layer, entry)) {
                    note_unsaid(entry);  // the exchanges of a sharded adapter are unknown
                }
            }
        }
    }

    /// Adds the all-reduce of a row-split matrix's result. With sequence parallelism the backward also all-gathers the
    /// gradient of the result. Without it each rank already has the whole gradient.
    void end_shard(const cost_entry& entry, std::uint64_t out, moment when) {
        put_tp(entry, groups_.sequence_parallel ? collective::reduce_scatter : collective::all_reduce, moment::forward,
               out);
        if (groups_.sequence_parallel) {
            put_tp(entry, collective::all_gather, when, out);
        }
    }

    /// Adds the exchanges for a value that every rank reads whole: its gradient is summed over the ranks. With sequence
    /// parallelism the value is gathered for the forward, and again for the gradient of weights. Matrices of one
    /// component that read the same value share these exchanges.
    void begin_shard(const cost_entry& entry, std::vector<const cost_entry*>& entered, const tensor_flow& flow,
                     std::uint64_t in) {
        for (const cost_entry* const known : entered) {
            const bool same = known->component == entry.component && known->flow.reads == entry.flow.reads &&
                              known->weight != entry.weight && known->what == entry.what && known->in == entry.in;
            if (same && flow.needed_whole(*known) == flow.needed_whole(entry)) {
                return;
            }
        }
        entered.push_back(&entry);
        const std::uint64_t width = std::max(in, width_in_core(entry, flow));
        put_tp(entry, groups_.sequence_parallel ? collective::reduce_scatter : collective::all_reduce,
               moment::backward_data, width);
        if (groups_.sequence_parallel) {
            put_tp(entry, collective::all_gather, moment::forward, width);
            const cost_entry* trained_reader = &entry;
            for (const cost_entry& other : entries().entries()) {
                const bool alike = other.component == entry.component && other.flow.reads == entry.flow.reads &&
                                   moved_elements::is_matrix(other) && trains(other);
                trained_reader = alike && !trains(*trained_reader) ? &other : trained_reader;
            }
            put_tp(*trained_reader, collective::all_gather, moment::backward_weights, in, in);
        }
    }

    /// Returns how many elements of the value that a matrix reads are also read directly by an attention core. In MLA
    /// these are the elements of the latent with rotary positions. Returns 0 if no core reads the value.
    [[nodiscard]] std::uint64_t width_in_core(const cost_entry& entry, const tensor_flow& flow) const {
        const moved_elements moved(entries(), units_);
        const value::set whole = flow.needed_whole(entry);
        for (const cost_entry& core : entries().entries()) {
            if (core.kind == term::scores && (flow.needed_whole(core) & whole & ~value::stream) != 0) {
                for (const cost_entry& maker : entries().entries()) {
                    if (moved_elements::is_matrix(maker) && (maker.flow.writes & whole) != 0) {
                        return moved.written(maker).value_or(0);
                    }
                }
            }
        }
        return 0;
    }

    /// Adds the exchange of a loss over a sharded vocabulary: for each token the largest logit, the label's logit and
    /// the sum of exponentials, in 32 bits.
    void put_loss(const cost_entry& head) {
        to_.put(index_, entries(), head,
                {.operation = collective::all_reduce,
                 .ranks = groups_.tp,
                 .when = moment::backward,
                 .bits = 32,
                 .between = between_nodes(parallel_axis::tp, collective::all_reduce)},
                3 * checked(units_.count(entries(), head), "loss"));
    }

    /// Adds the copies of tokens that go to the ranks of their experts and come back. It counts all copies of a rank's
    /// tokens as sent. This is an upper bound: copies for the rank's own experts do not leave it.
    void put_experts() {
        const moved_elements moved(entries(), units_);
        const tensor_flow flow(entries());
        std::vector<const cost_entry*> entered;
        for (const cost_entry& entry : entries().entries()) {
            if (entry.sharding.by != sharding_kind::experts || entry.padded == 0 || !moved_elements::is_matrix(entry)) {
                continue;
            }
            const elements in = moved.read(entry);
            const elements out = moved.written(entry);
            if (entry.what == accumulator::routed || entry.per_rank.in == 0 || entry.flow.reads == 0 || !in || !out) {
                note_unsaid(entry);
                continue;
            }
            const bool ends = flow.makes_summands(entry);
            const bool is_new = std::none_of(entered.begin(), entered.end(), [&](const cost_entry* known) {
                return known->component == entry.component && known->flow.reads == entry.flow.reads;
            });
            if (!ends && is_new) {
                entered.push_back(&entry);
            }
            if (ends || is_new) {
                put_copies(entry, ends ? *out : *in, ends);
            }
        }
    }

    /// Adds the exchanges of `copies` copies of tokens. The tp ranks divide these tokens, and each sends its part to
    /// the ranks of the chosen experts. The etp ranks of an expert then gather the copies that all of them received.
    void put_copies(const cost_entry& entry, std::uint64_t copies, bool ends) {
        if (groups_.tp > 1 && !groups_.sequence_parallel) {
            throw error("sequence_parallel",
                        "must be on where tensor-parallel ranks share experts, or each of them would send every token: "
                        "turn it on");
        }
        const std::uint64_t of_rank = copies / groups_.tp + (copies % groups_.tp != 0 ? 1 : 0);
        if (groups_.ep > 1) {
            const exchange kind{.over = parallel_axis::ep,
                                .operation = collective::all_to_all,
                                .ranks = groups_.ep,
                                .when = moment::forward,
                                .bits = groups_.bits,
                                .is_bound = true,
                                .between = between_nodes(parallel_axis::ep, collective::all_to_all, true)};
            exchange back = kind;
            back.when = ends ? moment::backward : moment::backward_data;
            to_.put(index_, entries(), entry, kind, of_rank);
            to_.put(index_, entries(), entry, back, of_rank);
        }
        if (groups_.etp > 1) {
            const std::uint64_t gathered = checked(of_rank, "bytes") * groups_.etp;
            const auto put_etp = [&](collective operation, moment when) {
                put_entry(entry, parallel_axis::etp, groups_.etp, operation, when, gathered);
            };
            put_etp(ends ? collective::reduce_scatter : collective::all_gather, moment::forward);
            put_etp(ends ? collective::all_gather : collective::reduce_scatter,
                    ends ? moment::backward : moment::backward_data);
        }
    }

    void put_context_parallel() {
        const moved_elements moved(entries(), units_);
        std::vector<std::uint32_t> done;
        for (const cost_entry& entry : entries().entries()) {
            if (entry.padded != 0 && moved_elements::is_state(entry)) {
                // The bytes are unknown, because kernels differ in how they pass a state from one rank's tokens to the
                // next.
                note_unsaid(entry);
            }
            const bool is_new = std::find(done.begin(), done.end(), entry.component) == done.end();
            if (entry.kind != term::scores || entry.padded == 0 || !is_new) {
                continue;
            }
            done.push_back(entry.component);
            const moved_elements::core core = moved.core_of(entry.component);
            const elements keys = keys_of(moved, core, entry);
            const elements both = moved.core_operands(core);
            const elements result = moved.core_result(core);
            if (core.over == nullptr || core.over->reads_other_side() || core.over->is_of_other_side() || !keys ||
                !both || !result) {
                note_unsaid(entry);
                continue;
            }
            const std::uint64_t shares = shares_of_keys(entries(), entry, groups_.tp);
            // This copy of the entry stands for the whole attention kernel. The kernel's backward runs if any of its
            // operands needs a gradient.
            cost_entry kernel = entry;
            kernel.flow.fused_with = static_cast<value::set>(core.q | core.k | core.v);
            put_core(kernel, *keys / shares, *both - *keys, *result);
        }
    }

    void put_core(const cost_entry& kernel, std::uint64_t keys, std::uint64_t queries, std::uint64_t result) {
        const std::uint64_t all = checked(keys, "bytes") * groups_.cp;
        const auto put_cp = [&](collective operation, moment when, std::uint64_t count) {
            put_entry(kernel, parallel_axis::cp, groups_.cp, operation, when, count);
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

    /// Returns the elements of keys and values of the rank's own tokens. If one matrix produces queries, keys and
    /// values, the queries are subtracted.
    [[nodiscard]] elements keys_of(const moved_elements& moved, const moved_elements::core& core,
                                   const cost_entry& entry) const {
        if (core.q != 0 && (core.k & core.q) == core.q) {
            return checked(moved.cached_per_key(entry), "bytes") * units_.count(entries(), cost_entry{.in = entry.in});
        }
        return moved.core_keys(core);
    }

    const activation_groups& groups_;
    const weight_states& states_;
    const batch_units& units_;
    exchange_entries& to_;
    std::vector<std::string>& unsaid_;
    const model_part* part_ = nullptr;
    std::size_t index_ = 0;
};

}  // namespace floptally::detail

namespace floptally::inline v0_3 {

/// Options that decide how ranks exchange tensors.
struct communication_options {
    rank_options ranks{};                   ///< how the model is split over ranks, including sequence parallelism
    zero_stage sharded = zero_stage::none;  ///< the states that data-parallel ranks shard (ZeRO)
    context_exchange context = context_exchange::ring;
    std::uint64_t microbatches = 1;  ///< microbatches that the rank runs in a step
    /// Number of ranks that share the tally's tokens: cp if the tally has whole sequences, else 1.
    std::uint64_t token_ranks = 1;
    /// Bits of a sent element: of activations, of gradients when they are summed over ranks, and of gathered weights.
    element_bits bits{};
    /// Consecutive ranks on one node, such as 8 or 72, to split the bytes into those within and between nodes. 0:
    /// unknown.
    std::uint64_t gpus_per_node = 0;
    std::uint64_t gathered_bits = 0;  ///< bits of a gathered weight; 0: `bits.weights`
};

namespace detail {

/// Adds the exchanges of weights and of their gradients over data-parallel ranks. `parts` are the rank's share of the
/// model.
inline void put_data_parallel(std::span<const model_part> parts, const parallel_layout& layout,
                              const communication_options& options, exchange_entries& to) {
    const parallel_sizes& sizes = layout.sizes();
    const bool each_microbatch = options.sharded >= zero_stage::gradients;
    const auto is_here = [](term kind) {
        return [kind](const model_part& part) {
            return !part.elsewhere && std::any_of(part.cost.entries().begin(), part.cost.entries().end(),
                                                  [kind](const cost_entry& entry) { return entry.kind == kind; });
        };
    };
    const bool has_head = std::any_of(parts.begin(), parts.end(), is_here(term::lm_head));
    const bool has_table = std::any_of(parts.begin(), parts.end(), is_here(term::tied_embedding));
    const bool is_tied = std::any_of(parts.begin(), parts.end(), [](const model_part& part) {
        return std::any_of(part.cost.entries().begin(), part.cost.entries().end(),
                           [](const cost_entry& entry) { return entry.kind == term::tied_embedding; });
    });
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const cost& part = parts[i].cost;
        for (const cost_entry& entry :
             parts[i].elsewhere ? std::span<const cost_entry>{}
                                : std::span<const cost_entry>(part.entries().begin(), part.entries().end())) {
            if (!has_weight(entry.kind)) {
                continue;
            }
            const bool of_experts = entry.sharding.by == sharding_kind::experts;
            const bool is_split = options.sharded != zero_stage::none;
            const rank_group all = of_experts ? layout.group(parallel_axis::expert_dp)
                                              : layout.group(parallel_axis::dp | parallel_axis::cp);
            const rank_group sharing = is_split ? layout.sharding_group(of_experts) : all;
            const auto between = [&](const rank_group& group) {
                return ring_between_nodes(group, options.gpus_per_node);
            };
            exchange kind{.over = of_experts ? parallel_axis::expert_dp : parallel_axis::dp,
                          .operation = is_split ? collective::reduce_scatter : collective::all_reduce,
                          .ranks = sharing.size(),
                          .when = exchange_moment::backward_weights,
                          .bits = options.bits.gradients,
                          .times = each_microbatch ? options.microbatches : 1,
                          .is_of_adapters = true,
                          .between = between(sharing)};
            // A tied embedding table has two copies if the lm_head is on another stage. The two stages then all-reduce
            // its gradient.
            const bool is_copy = entry.kind == term::tied_embedding && !has_head;
            const std::uint64_t stored = is_copy ? entry.padded / 2 : entry.parameters;
            const std::uint64_t of_adapter = entry.per_rank.parameters;
            to.put(i, part, entry, kind, stored, of_adapter);
            if (is_split && sizes.dp_replicate > 1) {
                // The replicas all-reduce their shards of the gradients.
                exchange of_replicas = kind;
                of_replicas.over = parallel_axis::dp_replicate;
                of_replicas.operation = collective::all_reduce;
                of_replicas.ranks = sizes.dp_replicate;
                of_replicas.between = between(layout.replica_group(of_experts));
                const auto shard = [&](std::uint64_t weights) {
                    return weights / sharing.size() + (weights % sharing.size() != 0 ? 1 : 0);
                };
                to.put(i, part, entry, of_replicas, shard(stored), shard(of_adapter));
            }
            if (is_copy || (entry.kind == term::lm_head && is_tied && !has_table)) {
                exchange of_copies = kind;
                of_copies.over = parallel_axis::pp;
                of_copies.operation = collective::all_reduce;
                of_copies.ranks = 2;
                of_copies.times = 1;
                const rank_group stages = layout.group(parallel_axis::pp);
                of_copies.between = message_between_nodes(stages[0], stages[stages.size() - 1], options.gpus_per_node);
                to.put(i, part, entry, of_copies, stored);
            }
            if (options.ranks.tensor.sequence_parallel && entry.sharding.by == sharding_kind::replicated) {
                exchange of_tokens = kind;
                of_tokens.over = parallel_axis::tp;
                of_tokens.operation = collective::all_reduce;
                of_tokens.ranks = sizes.tp;
                of_tokens.times = 1;
                of_tokens.between = between(layout.group(parallel_axis::tp));
                to.put(i, part, entry, of_tokens, stored, of_adapter);
            }
            kind.operation = collective::all_gather;
            kind.bits = options.gathered_bits == 0 ? options.bits.weights : options.gathered_bits;
            kind.times = options.sharded == zero_stage::weights ? options.microbatches : 1;
            if (options.sharded == zero_stage::weights) {
                kind.when = exchange_moment::first_forward;
                to.put(i, part, entry, kind, stored, of_adapter);
                kind.when = exchange_moment::backward;
                to.put(i, part, entry, kind, stored, of_adapter);
            } else if (is_split) {
                to.put(i, part, entry, kind, stored, of_adapter);
            }
        }
    }
}

/// Adds the hidden states that each chunk of layers sends to the next, and the gradients that come back. `parts` are
/// split over pipeline ranks, but not over tensor-parallel ranks.
inline void put_pipeline(std::span<const model_part> parts, const parallel_layout& layout,
                         const communication_options& options, const training_plan& plan, const batch_units& units,
                         communication& into) {
    const std::uint64_t tp = options.ranks.tensor.sequence_parallel ? layout.sizes().tp : 1;
    // The parts of all ranks are needed, because the gradients that a rank sends back belong to its first layer.
    std::vector<model_part> all;
    struct boundary {
        std::size_t first;
        std::size_t last;
        bool is_before_others;  ///< true: the rank sends hidden states; false: it sends their gradients
        std::uint64_t times = 1;
    };
    std::vector<boundary> boundaries;
    const model_part* before = nullptr;
    for_each_run(parts, [&](std::span<const model_part> run) {
        const bool is_layer = run.front().first_layer != no_layer && run.front().role != part_role::tower;
        const bool is_cut = is_layer && before != nullptr && before->elsewhere != run.front().elsewhere;
        before = is_layer ? &run.front() : before;
        if (is_cut) {
            boundaries.push_back({all.size(), all.size() + run.size(), run.front().elsewhere});
        }
        for (const bool is_first : {true, false}) {
            for (model_part part : run) {
                part.elsewhere = false;
                // Cuts the part into its first layer and the remaining layers.
                if (is_cut) {
                    part.first_layer += is_first ? 0 : 1;
                    part.repeat = is_first ? 1 : part.repeat - 1;
                }
                if (is_cut ? part.repeat != 0 : is_first) {
                    all.push_back(part);
                }
            }
        }
        if (is_layer && run.front().role == part_role::encoder) {
            into.unsaid.emplace_back("cross_attention");
        }
    });
    // A chunk without layers also passes on hidden states and gradients. It has no entry that shows this, so it is
    // counted separately.
    const std::uint64_t own = layout.coordinate(parallel_axis::pp);
    const std::uint64_t num_chunks = layout.sizes().pp * layout.sizes().vpp;
    for (const bool forward : {true, false}) {
        std::uint64_t sends = 0;
        for (std::uint64_t chunk = own; chunk < num_chunks; chunk += layout.sizes().pp) {
            sends += chunk != (forward ? num_chunks - 1 : 0) ? 1 : 0;
        }
        for (const boundary& cut : boundaries) {
            sends -= cut.is_before_others == forward && sends != 0 ? 1 : 0;
        }
        for (std::size_t i = parts.size(); i-- > 0 && sends != 0;) {
            const bool is_layer = parts[i].first_layer != no_layer && parts[i].role == part_role::layer;
            if (is_layer && states_read_by(parts[i].cost, units).reader != nullptr) {
                model_part last = parts[i];
                last.first_layer += last.repeat - 1;
                last.repeat = 1;
                last.elsewhere = false;
                all.push_back(last);
                boundaries.push_back({all.size() - 1, all.size(), forward, sends});
                sends = 0;
            }
        }
    }
    exchange_entries entries(all);
    for (const boundary& cut : boundaries) {
        hidden_states states;
        for (std::size_t i = cut.first; i < cut.last && states.reader == nullptr; ++i) {
            states = states_read_by(all[i].cost, units);
            if (states.reader != nullptr) {
                const rank_group stages = layout.group(parallel_axis::pp);
                const std::uint64_t stage = layout.coordinate(parallel_axis::pp);
                const std::uint64_t pp = stages.size();
                const exchange kind{
                    .over = parallel_axis::pp,
                    .operation = collective::send,
                    .ranks = pp,
                    .when = cut.is_before_others ? exchange_moment::first_forward : exchange_moment::backward_data,
                    .bits = options.bits.activations,
                    .times = cut.times,
                    .between =
                        message_between_nodes(layout.rank(), stages[(stage + (cut.is_before_others ? 1 : pp - 1)) % pp],
                                              options.gpus_per_node)};
                entries.put(i, all[i].cost, *states.reader, kind, states.of_rank(tp));
            }
        }
        if (states.reader == nullptr) {
            into.unsaid.emplace_back("pipeline");
        }
    }
    entries.count(plan, into);
}

}  // namespace detail

/// Counts the bytes that the layout's rank sends in a step. Each collective runs as a ring (`sent_elements`).
///
/// - Tensor parallel: A column-split matrix reads a value that each rank has whole: the ranks all-reduce its gradient.
///   The ranks also all-reduce the result of a row-split matrix. Matrices that read the same value (q, k and v; gate
///   and up) share one all-reduce. A sharded vocabulary adds an exchange of the look-up's result, and of three numbers
///   a token for the loss. Sequence parallelism replaces each all-reduce by an all-gather and a reduce-scatter. The
///   value is then gathered again for the gradient of weights, and gradients of replicated weights are added up.
/// - Experts: Each copy of a token goes to the rank of its expert and back (all-to-all). The router decides how many
///   copies leave a rank: `bytes` counts all of them, `uniform` counts (n - 1) / n. The etp ranks of an expert gather
///   the copies and scatter the results, as Megatron-Core's all-to-all dispatcher does.
/// - Context parallel: Keys and values move as `context_exchange` says.
/// - Data parallel: Gradients are added up over dp x cp, those of experts over expert_dp. `sharded` decides which
///   gradients and weights are scattered and gathered. With `dp_replicate` this happens within each replica, and the
///   replicas then add up their shards of the gradients.
/// - Pipeline: Each chunk of layers sends hidden states to the next, and gradients come back. With sequence
///   parallelism each tensor parallel rank sends its share. The first and the last stage add up the gradients of a tied
///   table.
///
/// `own` is the tally of the rank's own tokens of the whole step. With context parallelism it has the rank's share, or
/// all tokens if `token_ranks` says how many ranks share them. Throws `error` for missing parts, for 0 microbatches and
/// for `tensor_options::splits`.
[[nodiscard]] inline communication communication_of(std::span<const model_part> parts, const tally& own,
                                                    const parallel_layout& layout, const training_plan& plan = {},
                                                    const communication_options& options = {}) {
    require_positive(options.microbatches, "microbatches");
    const listed_parts with_head = with_logits(parts, plan.logits);
    const std::span<const model_part> model(with_head.begin(), with_head.size());
    if (model.empty()) {
        throw error("parts", "are missing: pass the model's parts, which say what each matrix reads and writes");
    }
    if (!options.ranks.tensor.splits.empty() && layout.sizes().tp > 1) {
        throw error("tensor_options::splits",
                    "cannot be used to count communication: set the sharding of each entry (linear::sharding) instead");
    }
    const parallel_sizes& sizes = layout.sizes();
    const parallel_layout pipeline({.pp = sizes.pp, .vpp = sizes.vpp}, sizes.pp, layout.coordinates().pp);
    const std::vector<model_part> whole = rank_parts(model, pipeline, options.ranks);
    const std::vector<model_part> shared = rank_parts(model, layout, options.ranks);
    const detail::weight_states states(plan);
    const detail::batch_units units(own, options.token_ranks);
    const detail::activation_groups groups{.layout = layout,
                                           .gpus_per_node = options.gpus_per_node,
                                           .tp = sizes.tp,
                                           .ep = sizes.ep,
                                           .etp = sizes.expert_tp(),
                                           .cp = sizes.cp,
                                           .sequence_parallel = options.ranks.tensor.sequence_parallel,
                                           .context = options.context,
                                           .bits = options.bits.activations};
    communication sent;
    detail::exchange_entries entries(whole);
    detail::part_exchanges exchanges(groups, states, units, entries, sent.unsaid);
    for (std::size_t i = 0; i < whole.size(); ++i) {
        if (!whole[i].elsewhere) {
            exchanges.put(whole[i], i);
        }
    }
    detail::put_data_parallel(shared, layout, options, entries);
    entries.count(plan, sent);
    if (sizes.pp > 1) {
        detail::put_pipeline(whole, layout, options, plan, units, sent);
    }
    return sent;
}

}  // namespace floptally
