// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/batch/batch_sums.hpp>
#include <floptally/batch/decoding.hpp>
#include <floptally/batch/formats.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/bytes/detail/element_entries.hpp>
#include <floptally/bytes/detail/expert_layers.hpp>
#include <floptally/bytes/detail/traffic_entries.hpp>
#include <floptally/bytes/step_bytes.hpp>
#include <floptally/count/logits.hpp>
#include <floptally/count/plan_walk.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/parts_of.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/seen_keys.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/sequence_masks.hpp>
#include <floptally/statistics/sparse_masks.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Counts the bytes of weights, gradients, activations and cached keys that a batch moves, from a model's parts.

namespace floptally::inline v0_3::detail {

/// Returns how many cached (past) keys the new tokens of a sequence attend to. If the mask depends on the data, it
/// returns the largest possible number.
[[nodiscard]] constexpr std::uint64_t past_keys(const statistic& attends, const sequence& s) {
    if (s.past == 0 || s.length == 0 || attends.reads_other_side() || attends.is_of_other_side()) {
        return 0;
    }
    std::uint64_t past = s.past;
    if (attends.is<mask_statistics::compressed_keys>()) {
        past /= static_cast<std::uint64_t>(attends.as<mask_statistics::compressed_keys>().ratio);
    }
    if (!attends.says_which_keys()) {
        return std::min(past, attends.pairs(s));
    }
    seen_keys keys;
    attends.add_keys(s, s.past, std::uint64_t{s.past} + s.length, keys);
    return keys.before(past);
}

/// The number of cached (past) keys that a run of decode passes attends to, summed over the passes. Each pass has one
/// new token. Some tokens are cached before the first pass. `exists` is false if the mask has no closed form for this
/// number.
struct decoded_keys {
    bool exists = false;
    std::uint64_t keys = 0;
};
[[nodiscard]] constexpr decoded_keys decoded_past_keys(const statistic& attends, const pass_run& run) {
    const sequence all = run.whole();
    // For masks that choose keys by the data, this returns the largest possible number of cached keys. Queries before
    // position `seeing_all` attend to all keys, their own included. A query's own key is not cached, so one pair is
    // subtracted for each such query of the run.
    const auto chosen = [&](std::uint64_t seeing_all) -> decoded_keys {
        const std::uint64_t end = std::min<std::uint64_t>(std::uint64_t{all.past} + all.length, seeing_all);
        return {true, attends.pairs(all) - (end > all.past ? end - all.past : 0)};
    };
    const auto product = [](std::int32_t a, std::int64_t b) { return static_cast<std::uint64_t>(a * b); };
    if (attends.is<mask_statistics::top_k>()) {
        return chosen(product(attends.as<mask_statistics::top_k>().keys, 1));
    }
    if (attends.is<mask_statistics::best_blocks>()) {
        const auto best = attends.as<mask_statistics::best_blocks>();
        return chosen(product(best.block, best.blocks));
    }
    if (attends.is<mask_statistics::best_pools>()) {
        const auto best = attends.as<mask_statistics::best_pools>();
        return chosen(product(best.pool, std::int64_t{best.pools} + 1) - 1);
    }
    if (attends.is<mask_statistics::best_compressed_keys>()) {
        return {true, attends.pairs(all)};
    }
    // A query reads the compressed blocks that were complete at the previous token. Their number equals the number of
    // pairs of the same queries with one cached token less.
    if (attends.is<mask_statistics::compressed_keys>()) {
        return {true, attends.pairs({.length = all.length, .past = all.past - 1})};
    }
    if (attends.is<mask_statistics::chunked>() ||
        (attends.is<mask_statistics::band>() && attends.as<mask_statistics::band>().right == 0)) {
        return {true, attends.pairs(all) - all.length};  // All pairs count except those of a token with itself.
    }
    return {};
}

/// Returns how many cached (past) keys the passes of a run attend to, summed over the passes.
[[nodiscard]] constexpr std::uint64_t past_keys(const statistic& attends, const pass_run& run) {
    const pass_run later = run.past == 0 ? run.after(1) : run;
    if (run.tokens == 1 && later.passes != 0) {
        if (const decoded_keys all = decoded_past_keys(attends, later); all.exists) {
            return all.keys;
        }
    }
    checked sum(0, "past");
    for (std::uint32_t n = 0; n < run.passes; ++n) {
        sum += past_keys(attends, run.pass(n));
    }
    return sum;
}

/// Counts the cached (past) keys to which a sequence or a run of passes attends under mask `i`. If `i` equals the
/// number of masks, counts the passes that have cached tokens instead. A sequence is one pass.
struct cached_sums {
    const mask_set& masks;

    std::uint64_t operator()(const sequence& s, std::size_t i) const {
        return i < masks.size() ? past_keys(masks[i], s) : s.past != 0 && s.length != 0 ? 1 : 0;
    }
    std::uint64_t operator()(const pass_run& run, std::size_t i) const {
        return i < masks.size() ? past_keys(masks[i], run) : run.passes - (run.past == 0 ? 1U : 0U);
    }
};

}  // namespace floptally::detail

namespace floptally::inline v0_3 {

/// Counts the bytes that a batch moves between a device's memory and its compute units. The counts are integers under
/// the assumptions that follow.
///
/// - A matrix product reads each operand once and writes its result once. Gate and up each read their common input.
/// - Element-wise work is fused into adjacent matrix products: norms, activations, rotary embeddings, softmax and loss
///   move only their weights. A look-up reads an entry of its table for each token and writes it.
/// - Attention is one fused kernel under every plan. It reads q, k and v and writes its output; scores stay on chip.
///   Its backward moves twice as many bytes. Keys and values count with their own number of heads.
/// - Weights are read once in each pass of each of the `batches` (microbatches of all replicas). At most as many
///   experts are read as tokens visit. The gradient of a weight is written as often as the weight is read.
/// - The new tokens of a sequence read the cache once: the cached keys that they attend to. A recurrent state is read
///   and written once for each sequence with a past; otherwise it stays on chip.
/// - An adapter (LoRA) is two more matrix products: A reads X and writes a value as wide as the adapter's rank. B reads
///   that value and writes a summand of Y.
///
/// The counter leaves out optimizers, collectives, and the cached inputs of short convolutions. It counts all tokens
/// that run: padding and recompute are included. Add batches as you add them to a tally.
class byte_counter : public adds_batches<byte_counter> {
  public:
    /// Creates a counter for a model's parts under a plan. `batches` is the number of microbatches of all replicas;
    /// each microbatch reads the weights. Throws `error` for 0 batches, for bits outside 1 to 64, and for adapters of
    /// experts with measured visits.
    explicit byte_counter(std::span<const model_part> parts, const training_plan& plan = {},
                          const element_bits& bits = {}, std::uint64_t batches = 1)
        : byte_counter(parts, cost{}, plan, bits, batches) {}

    /// Creates a counter for a model that has a cost and parts as members, such as a `model_config`. The counter's
    /// tally has the accumulators that this cost needs.
    template <model_record Model>
    explicit byte_counter(const Model& model, const training_plan& plan = {}, const element_bits& bits = {},
                          std::uint64_t batches = 1)
        : byte_counter(array_view<model_part>(model.parts), static_cast<const cost&>(model.cost), plan, bits, batches) {
    }

    /// Adds a batch, as `tally::add` does. A batch that throws adds nothing.
    template <batch_source Source>
    void add(const Source& source) {
        seen_.add(source, detail::cached_sums{masks_});
    }
    /// Adds a tally that has the same masks. `cached` lists the tally's sequences that have cached (past) tokens.
    void add_counted(const tally& counted, std::span<const sequence> cached = {}) {
        seen_.add_counted(counted, cached, detail::cached_sums{masks_});
    }
    /// Adds a measured number, as `tally::add_measured` does.
    void add_measured(std::string_view name, const useful_and_padded& amount) {
        seen_.batch().add_measured(name, amount);
    }

    /// Adds routed tokens, as `tally::add_routed` does.
    void add_routed(const useful_and_padded& visits) { seen_.batch().add_routed(visits); }

    /// Adds the measured number of distinct experts whose weights were read, summed over all layers and batches.
    /// Without it the bytes of experts' weights are an upper bound: each visit of a token is assumed to read another
    /// expert, until all experts are read.
    void add_distinct_experts(std::uint64_t count) {
        distinct_experts_ = checked(distinct_experts_.value_or(0), "distinct_experts") + count;
    }

    /// Declares that each of the `batches` has the same number of tokens, as in steps that decode the same requests. If
    /// each batch has one token, the number of experts that are read is then known.
    void mark_alike() { alike_ = true; }

    /// Adds the batches of another counter for the same model.
    byte_counter& operator+=(const byte_counter& other) {
        seen_ += other.seen_;
        if (other.distinct_experts_) {
            add_distinct_experts(*other.distinct_experts_);
        }
        return *this;
    }
    /// Removes all batches that were added.
    void clear() {
        seen_.clear();
        distinct_experts_.reset();
    }

    /// Returns the tally of the added batches.
    [[nodiscard]] const tally& total() const { return seen_.batch(); }
    /// Returns the masks of the tally of the added batches.
    [[nodiscard]] const mask_set& masks() const { return seen_.batch().masks(); }

    /// Returns the bytes of all added batches. Throws `error` if the number of distinct experts
    /// (`add_distinct_experts`) is impossible for this model and batch.
    [[nodiscard]] step_bytes count() const {
        const std::span<const std::uint64_t> past = seen_.sums();
        const detail::traffic_entries entries(whole_, seen_.batch(), batches_, alike_,
                                              {masks_, past.first(masks_.size()), past.back()});
        const detail::expert_layers experts(parts_);
        if (distinct_experts_) {
            experts.require_possible(*distinct_experts_, seen_.batch().get(view::padded, accumulator::tokens),
                                     batches_);
        }
        // The lists in `moved` for weights, gradients, activations and cache come first. `expert` is the index of the
        // list after them.
        constexpr std::size_t expert = byte_kind_count;
        std::vector<model_part> moved[expert + 4];
        step_bytes result;
        for (const model_part& part : parts_) {
            // The copy has no FLOPs, but keeps the values that its entries read and write. They decide which gradients
            // the plan computes.
            model_part blank = part;
            blank.cost = part.cost.with_entries(detail::blank_of);
            for (auto& parts : moved) {
                parts.push_back(blank);
            }
            if (!part.elsewhere) {
                entries.put_weights(part.cost,
                                    {moved[0].back().cost, moved[1].back().cost, moved[expert].back().cost,
                                     moved[expert + 1].back().cost, moved[expert + 2].back().cost},
                                    distinct_experts_.has_value(), result.read_at_most);
                entries.put_activations(part.cost, moved[2].back().cost, result.unsaid, result.at_most);
                entries.put_adapters(part.cost, moved[2].back().cost, moved[expert + 3].back().cost);
                entries.put_cache(part.cost, moved[3].back().cost, result.read_at_most);
            }
        }
        for (std::size_t kind = 0; kind < byte_kind_count; ++kind) {
            collect(moved[kind], static_cast<byte_kind>(kind), result, plan_);
        }
        collect(moved[expert + 3], byte_kind::activations, result, detail::with_rank_one(plan_));
        if (distinct_experts_) {
            const detail::layer_share of_layers{*distinct_experts_, experts.layers};
            collect(moved[expert], byte_kind::weights, result, plan_, of_layers);
            collect(moved[expert + 1], byte_kind::gradients, result, plan_, of_layers);
        } else if (experts.layers != 0 && experts.are_all && !result.read_at_most.empty()) {
            step_bytes estimate;
            collect(moved[expert + 2], byte_kind::weights, estimate, plan_);
            result.uniform_weights = estimate.total(byte_kind::weights);
        }
        for (const std::string& name : result.read_at_most) {
            if (std::find(result.at_most.begin(), result.at_most.end(), name) == result.at_most.end()) {
                result.at_most.push_back(name);
            }
        }
        return result;
    }

  private:
    byte_counter(const array_view<model_part>& parts, const cost& whole, const training_plan& plan,
                 const element_bits& bits, std::uint64_t batches)
        : parts_(parts.begin(), parts.end()),
          whole_(with_masks_of(with_logits(cost_of(parts), plan.logits), whole)),
          plan_(plan),
          bits_(bits),
          batches_(batches),
          seen_(whole_.masks(), "past") {
        require_positive(batches, "batches");
        if (parts.empty() && !whole.entries().empty()) {
            throw error("parts", "are missing: pass the model's parts, which say what each matrix reads and writes");
        }
        for (std::size_t kind = 0; kind < byte_kind_count; ++kind) {
            const std::uint64_t kind_bits = bits.of(static_cast<byte_kind>(kind));
            if (kind_bits == 0 || kind_bits > 64) {
                detail::refuse(detail::text_of({name(static_cast<byte_kind>(kind)), "_bits"}),
                               {"must be from 1 to 64, got ", kind_bits});
            }
        }
        const detail::weight_states states(plan_);
        for (model_part& part : parts_) {
            part.cost = with_logits(part.cost, plan.logits);
            for (const cost_entry& entry : part.cost.entries()) {
                if (entry.what == accumulator::routed && states.state_of(part, part.first_layer, entry).adapts(entry)) {
                    throw error("plan",
                                "trains adapters of experts whose visits are measured, and the bytes of such adapters "
                                "cannot be counted: leave these adapters out");
                }
                if (detail::traffic_entries::has_cache(entry)) {
                    masks_.find_or_add(part.cost.masks()[entry.mask], "masks");
                }
            }
        }
        seen_.resize(masks_.size() + 1);
    }

    /// Returns the cost `parts` with all masks of the whole model, in the order of `whole`. One tally can then evaluate
    /// both `parts` and `whole`.
    static cost with_masks_of(const cost& parts, const cost& whole) {
        cost sum;
        for (const statistic& mask : whole.masks()) {
            sum.keep(mask);
        }
        return sum += parts;
    }

    void collect(std::span<const model_part> parts, byte_kind kind, step_bytes& into, const training_plan& plan,
                 const detail::layer_share& share = {}) const {
        const cost blank;
        const detail::plan_walk walk(parts, blank, detail::bytes_convention, plan);
        std::vector<flops> sums(walk.components.size() * 4);
        for (const detail::planned_entry& planned : walk.entries) {
            if (planned.entry.what != accumulator::count && planned.entry.what != accumulator::routed) {
                continue;  // The plan added this entry for an adapter. It counts no elements.
            }
            const bool of_table = meaning_of(planned.entry.kind).operands == term_operands::table;
            const bool of_gradient = kind == byte_kind::gradients;
            const bool of_weights = kind == byte_kind::weights;
            const auto add = [&](phase during, std::uint64_t times) {
                sums[planned.component * 4 + static_cast<std::size_t>(during)] += times * flops{planned.entry.padded};
            };
            if (!of_gradient) {
                add(phase::forward, std::uint64_t{planned.run.forward} + planned.run.executed_more[0]);
                add(phase::backward_data,
                    of_table ? 0 : std::uint64_t{planned.run.backward_data} + planned.run.executed_more[1]);
                add(phase::recompute, planned.run.recomputed_forward);
            }
            if (!of_weights) {
                add(phase::backward_weights,
                    std::uint64_t{planned.run.backward_weights} + planned.run.executed_more[2]);
            }
        }
        for (std::size_t i = 0; i < walk.components.size(); ++i) {
            for (std::size_t during = 0; during < 4; ++during) {
                const uint128 bits = (bits_.of(kind) * (share.times * sums[i * 4 + during])).value();
                const uint128 unit = uint128{8} * share.layers;
                if (bits != 0) {
                    component_of(into, walk.components[i]).bytes[during][static_cast<std::size_t>(kind)] +=
                        bits / unit + (bits % unit != 0 ? 1 : 0);
                }
            }
        }
    }

    static component_bytes& component_of(step_bytes& all, const component_name& name) {
        for (component_bytes& known : all.components) {
            if (known.name == name) {
                return known;
            }
        }
        all.components.push_back({.name = name});
        return all.components.back();
    }

    std::vector<model_part> parts_;
    cost whole_;
    training_plan plan_;
    element_bits bits_;
    std::uint64_t batches_;
    bool alike_ = false;
    mask_set masks_;  ///< the masks for which cached keys are counted
    detail::batch_sums seen_;
    std::optional<std::uint64_t> distinct_experts_{};
};

}  // namespace floptally
