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

#include <floptally/batch/adds_batches.hpp>
#include <floptally/batch/batch_sums.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/bytes/detail/element_rows.hpp>
#include <floptally/bytes/detail/expert_layers.hpp>
#include <floptally/bytes/detail/past_keys.hpp>
#include <floptally/bytes/detail/traffic_rows.hpp>
#include <floptally/bytes/step_bytes.hpp>
#include <floptally/count/logits.hpp>
#include <floptally/count/plan_walk.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/parts_of.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Weights, gradients, activations and cached keys of a batch in bytes, from a model's parts.

namespace floptally {

/// Bytes that a batch moves between memory and units, under a model of integers:
///
/// - Each product reads its operands once and writes its result once. Gate and up read the same input, each for itself.
/// - Element-wise work is fused into the products beside it: norms, activations, rotary embeddings, softmax and loss
///   move nothing but their weights. A look-up reads a row of its table for each token and writes it.
/// - Attention is one fused kernel, whatever the plan says: it reads q, k and v and writes its output, scores stay on
///   chip; its backward moves twice that. Keys and values are as many as their own heads.
/// - Weights are read once for each of `batches` (microbatches of all replicas) in each pass, of experts at most as
///   many as tokens visit; a gradient of each weight is written as often.
/// - The cache is read by new tokens once for each sequence, the keys of its past that they see. A recurrent state is
///   read and written once for each sequence that has a past, and else stays on chip.
/// - An adapter (LoRA) is two products beside its own: A reads X and writes a value as wide as its rank, B reads that
///   and writes a summand of Y.
///
/// Optimizers, the short convolutions' past and collectives are not in it. Slots count as
/// they are processed, padding and recompute included. It takes a batch as a tally does.
class byte_counter : public adds_batches<byte_counter> {
  public:
    /// Bytes of a model's parts under a plan. `batches`: microbatches of all replicas, each of which reads the weights.
    explicit byte_counter(std::span<const model_part> parts, const training_plan& plan = {},
                          const element_bits& bits = {}, std::uint64_t batches = 1)
        : byte_counter(parts, cost{}, plan, bits, batches) {}

    /// Bytes of a model with a cost and its parts as members: a `model_config`. Its tally keeps what the cost keeps.
    template <model_record Model>
    explicit byte_counter(const Model& model, const training_plan& plan = {}, const element_bits& bits = {},
                          std::uint64_t batches = 1)
        : byte_counter(detail::array_view<model_part>(model.parts), static_cast<const cost&>(model.cost), plan, bits,
                       batches) {}

    /// As `tally::add`; a batch that is refused adds nothing.
    template <batch_source Source>
    void add(const Source& source) {
        seen_.add(source, detail::cached_sums{masks_});
    }
    /// Adds a batch that was counted before, in a tally of the same masks. `cached`: those of its sequences with a
    /// past.
    void add_counted(const tally& counted, std::span<const sequence> cached = {}) {
        seen_.add_counted(counted, cached, detail::cached_sums{masks_});
    }
    /// As `tally::add_measured`.
    void add_measured(std::string_view word, std::uint64_t useful, std::uint64_t padded) {
        seen_.batch().add_measured(word, useful, padded);
    }

    /// As `tally::add_routed`.
    void add_routed(std::uint64_t useful, std::uint64_t padded) { seen_.batch().add_routed(useful, padded); }

    /// Adds distinct experts whose weights were read, over all layers and batches, as a router's choices tell. Without
    /// them weights of experts are an upper bound: as many as tokens visit, or all.
    void add_distinct_experts(std::uint64_t count) {
        distinct_experts_ = checked(distinct_experts_.value_or(0), "distinct_experts") + count;
    }

    /// Says that each of `batches` has as many tokens, as steps that decode the same requests have: where that is one,
    /// it is known which experts' weights are read once.
    void mark_alike() { alike_ = true; }

    /// Adds another batch of the same model.
    byte_counter& operator+=(const byte_counter& other) {
        seen_ += other.seen_;
        if (other.distinct_experts_) {
            add_distinct_experts(*other.distinct_experts_);
        }
        return *this;
    }
    /// Counts nothing again.
    void clear() {
        seen_.clear();
        distinct_experts_.reset();
    }

    /// The batch as it was added.
    [[nodiscard]] const tally& total() const { return seen_.batch(); }
    /// The masks of that tally.
    [[nodiscard]] const mask_set& masks() const { return seen_.batch().masks(); }

    /// The bytes of what was added.
    [[nodiscard]] step_bytes count() const {
        const std::span<const std::uint64_t> past = seen_.sums();
        const detail::traffic_rows rows(whole_, seen_.batch(), batches_, alike_,
                                        {masks_, past.first(masks_.size()), past.back()});
        const detail::expert_layers experts(parts_);
        if (distinct_experts_) {
            experts.require_possible(*distinct_experts_, seen_.batch().get(view::padded, statistic::tokens), batches_);
        }
        constexpr std::size_t expert = byte_kind_count;  // the lists after those of the kinds
        std::vector<model_part> moved[expert + 4];
        step_bytes result;
        for (const model_part& part : parts_) {
            model_part blank = part;  // with what flows where, which decides about gradients
            blank.cost = part.cost.with_rows(detail::blank_of);
            for (auto& parts : moved) {
                parts.push_back(blank);
            }
            if (!part.elsewhere) {
                rows.put_weights(part.cost,
                                 {moved[0].back().cost, moved[1].back().cost, moved[expert].back().cost,
                                  moved[expert + 1].back().cost, moved[expert + 2].back().cost},
                                 distinct_experts_.has_value(), result.read_at_most);
                rows.put_activations(part.cost, moved[2].back().cost, result.unsaid, result.at_most);
                rows.put_adapters(part.cost, moved[2].back().cost, moved[expert + 3].back().cost);
                rows.put_cache(part.cost, moved[3].back().cost, result.read_at_most);
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
    byte_counter(const detail::array_view<model_part>& parts, const cost& whole, const training_plan& plan,
                 const element_bits& bits, std::uint64_t batches)
        : parts_(parts.begin(), parts.end()),
          whole_(with_masks_of(with_logits(cost_of(parts), plan.logits), whole)),
          plan_(plan),
          bits_(bits),
          batches_(batches),
          seen_(whole_.masks(), "past") {
        require_positive(batches, "batches");
        if (parts.empty() && !whole.rows().empty()) {
            throw error("parts", "are missing: what flows where is said by a model's parts");
        }
        for (std::size_t kind = 0; kind < byte_kind_count; ++kind) {
            const std::uint64_t given = bits.of(static_cast<byte_kind>(kind));
            if (given == 0 || given > 64) {
                detail::refuse(detail::text_of({name(static_cast<byte_kind>(kind)), "_bits"}),
                               {"must be from 1 to 64, got ", given});
            }
        }
        const detail::weight_states states(plan_);
        for (model_part& part : parts_) {
            part.cost = with_logits(part.cost, plan.logits);
            for (const cost_row& row : part.cost.rows()) {
                if (row.what == statistic::routed && states.state_of(part, part.first_layer, row).adapts(row)) {
                    throw error("plan", "bytes of adapters beside experts of measured visits are not counted");
                }
                if (detail::traffic_rows::has_cache(row)) {
                    masks_.find_or_add(part.cost.masks()[row.mask], "masks");
                }
            }
        }
        seen_.resize(masks_.size() + 1);
    }

    /// The cost with its masks in the order of the whole model's, so that the tallies of both are alike.
    static cost with_masks_of(const cost& parts, const cost& whole) {
        cost sum;
        for (const rule& units : whole.masks()) {
            sum.keep(units);
        }
        return sum += parts;
    }

    void collect(std::span<const model_part> parts, byte_kind kind, step_bytes& into, const training_plan& plan,
                 const detail::layer_share& of = {}) const {
        const cost blank;
        const detail::plan_walk walk(parts, blank, detail::bytes_convention, plan);
        std::vector<flops> sums(walk.components.size() * 4);
        for (const detail::planned_row& planned : walk.rows) {
            if (planned.row.what != statistic::count && planned.row.what != statistic::routed) {
                continue;  // of an adapter beside a row without elements
            }
            const bool of_table = meaning_of(planned.row.kind).operands == term_operands::table;
            const bool of_gradient = kind == byte_kind::gradients;
            const bool of_weights = kind == byte_kind::weights;
            const auto add = [&](phase during, std::uint64_t times) {
                sums[planned.component * 4 + static_cast<std::size_t>(during)] += times * flops{planned.row.padded};
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
                const uint128 bits = (bits_.of(kind) * (of.times * sums[i * 4 + during])).value();
                const uint128 unit = uint128{8} * of.layers;
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
    mask_set masks_;  ///< of what is cached
    detail::batch_sums seen_;
    std::optional<std::uint64_t> distinct_experts_{};
};

}  // namespace floptally
