// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/bytes/byte_counter.hpp>
#include <floptally/bytes/communication.hpp>
#include <floptally/bytes/communication_counter.hpp>
#include <floptally/bytes/detail/batch_units.hpp>
#include <floptally/bytes/detail/exchange_entries.hpp>
#include <floptally/bytes/detail/expert_layers.hpp>
#include <floptally/bytes/detail/model_units.hpp>
#include <floptally/bytes/rank_memory.hpp>
#include <floptally/bytes/training_layout.hpp>
#include <floptally/count/convention.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/count/logits.hpp>
#include <floptally/count/plan_walk.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/pipeline_schedule.hpp>
#include <floptally/parallel/pipeline_split.hpp>
#include <floptally/parallel/rank_work.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/step/memory.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Predicts the memory and the time of a step under any layout.

namespace floptally::inline v0_3 {

/// The memory of a layout's fullest stage, and whether it fits.
struct layout_memory {
    std::uint64_t stage = 0;  ///< the pipeline stage whose ranks hold the most memory
    rank_memory held{};       ///< the memory that a rank of this stage holds
    double gib = 0;           ///< GiB that this rank needs, including the reserve
    bool fits = false;        ///< false if one GPU has less memory than `gib`

    [[nodiscard]] double gib_without_reserve() const { return static_cast<double>(held.total()) / 1073741824; }
};

/// The predicted time and memory of a step under a layout.
struct layout_prediction {
    training_layout layout{};
    layout_memory memory{};
    double seconds = 0;            ///< predicted time of the step
    double bound = 0;              ///< a lower bound of the step time: kernels run at their peak, and computation hides
                                   ///< all exchanges
    double mfu = 0;                ///< useful FLOPs ÷ (`seconds` x peak of all GPUs)
    double bubble = 0;             ///< the fraction of the step's time in which the busiest stage waits for others
    double exposed_exchanges = 0;  ///< seconds of exchanges that no computation hides, on the slowest stage
    double optimizer = 0;          ///< seconds of the optimizer step
    /// For each group of ranks, the seconds of exchanges in passes that no computation hides: the sum over all
    /// microbatches, averaged over the stages.
    std::array<double, parallel_axis_count> exposed_in_passes{};
};

}  // namespace floptally

namespace floptally::inline v0_3::detail {

/// The seconds that each pass of a model unit (such as one layer) takes, for one microbatch on one rank.
struct pass_seconds {
    double forward = 0;
    double backward_data = 0;  ///< seconds of this pass, with recompute
    double backward_weights = 0;
    double core_forward = 0;   ///< the seconds of `forward` that attention cores take
    double core_backward = 0;  ///< the seconds of `backward_data` that attention cores take

    void add(const pass_seconds& other, double times) {
        forward += other.forward * times;
        backward_data += other.backward_data * times;
        backward_weights += other.backward_weights * times;
        core_forward += other.core_forward * times;
        core_backward += other.core_backward * times;
    }
    [[nodiscard]] double all() const { return forward + backward_data + backward_weights; }
};

/// The seconds of each phase of one component, for one microbatch on one rank: index by `phase`.
using phase_seconds = std::array<double, 4>;

/// The work of a model unit (such as one layer) for each microbatch, or for only one if all microbatches are alike.
struct unit_work {
    std::vector<component_name> components{};
    std::vector<char> is_core{};  ///< for each component: 1 if it is an attention core
    /// For each microbatch and component, the seconds of the component's FLOPs at peak rate.
    std::vector<std::vector<phase_seconds>> at_peak{};
};

/// For each microbatch and each component of a `unit_work`, the seconds that the component's bytes take at the
/// bandwidth of the memory. One more component at the end has all bytes of components without FLOPs, such as norms.
using unit_traffic = std::vector<std::vector<phase_seconds>>;

/// Returns the seconds of a model unit's passes. A component takes the time of its FLOPs or the time of its bytes,
/// whichever is longer. `shares` is the number of context-parallel ranks that share the FLOPs of `work`.
[[nodiscard]] inline pass_seconds passes_of(const unit_work& work, const unit_traffic& traffic, std::size_t kind,
                                            double shares, double efficiency) {
    pass_seconds passes;
    const std::vector<phase_seconds>& at_peak = work.at_peak[kind];
    for (std::size_t i = 0; i <= at_peak.size(); ++i) {
        const auto time = [&](phase during) {
            const auto index = static_cast<std::size_t>(during);
            const double bytes = traffic.empty() ? 0 : traffic[kind][i][index];
            return i == at_peak.size() ? bytes : std::max(at_peak[i][index] / shares / efficiency, bytes);
        };
        const double forward = time(phase::forward);
        const double backward = time(phase::backward_data) + time(phase::recompute);
        passes.forward += forward;
        passes.backward_data += backward;
        passes.backward_weights += time(phase::backward_weights);
        if (i < at_peak.size() && work.is_core[i] != 0) {
            passes.core_forward += forward;
            passes.core_backward += backward;
        }
    }
    return passes;
}

/// The bytes that ranks exchange to run a model unit (such as one layer) for one microbatch, by group of ranks and
/// pass.
struct pass_bytes {
    /// The second index is the pass: forward, backward_data with recompute, backward_weights.
    double bytes[parallel_axis_count][3] = {};

    void add(const pass_bytes& other, double times) {
        for (std::size_t axis = 0; axis < parallel_axis_count; ++axis) {
            for (std::size_t pass = 0; pass < 3; ++pass) {
                bytes[axis][pass] += other.bytes[axis][pass] * times;
            }
        }
    }
};

/// The bytes that two consecutive chunks exchange for one microbatch: hidden states forward, their gradients backward.
struct message_bytes {
    double forward = 0;
    double backward = 0;
};

/// The bytes of weights and gradients that ranks exchange for a model unit (such as one layer), by group of ranks.
struct state_bytes_sent {
    double reduced[parallel_axis_count] = {};   ///< bytes of reduced gradients
    double gathered[parallel_axis_count] = {};  ///< bytes of gathered weights
    double once[parallel_axis_count] = {};      ///< bytes that are exchanged once a step at every ZeRO stage

    void add(const state_bytes_sent& other, double times) {
        for (std::size_t axis = 0; axis < parallel_axis_count; ++axis) {
            reduced[axis] += other.reduced[axis] * times;
            gathered[axis] += other.gathered[axis] * times;
            once[axis] += other.once[axis] * times;
        }
    }
};

/// A cache of values that were computed for the units of a model (such as one layer). A key of the cache holds the
/// sizes of a layout on which the values depend.
template <std::size_t Sizes, class Value>
class unit_cache {
  public:
    using key = std::array<std::uint64_t, Sizes>;

    /// Returns the values of all model units for these layout sizes. A value is empty until it is computed.
    [[nodiscard]] std::vector<std::optional<Value>>& of(const key& sizes) { return known_[sizes]; }

    template <class Make>
    [[nodiscard]] static const Value& get(std::vector<std::optional<Value>>& values, std::size_t unit, Make make) {
        if (unit >= values.size()) {
            values.resize(unit + 1);
        }
        if (!values[unit]) {
            values[unit].emplace(make());
        }
        return *values[unit];
    }

  private:
    std::map<key, std::vector<std::optional<Value>>> known_;
};

}  // namespace floptally::detail

namespace floptally::inline v0_3 {

/// Returns the precision settings of a step whose layers run their matrices in FP8 or FP4. Components without such
/// matrices (attention cores, routers, the lm_head) run at `other_peak_tflops`.
[[nodiscard]] inline std::vector<precision_setting> settings_of_other_components(std::span<const model_part> model,
                                                                                 double other_peak_tflops) {
    std::vector<std::string> matrices;
    std::vector<std::string> others;
    for (const model_part& part : model) {
        for (const cost_entry& entry : part.cost.entries()) {
            const bool is_quantized = (part.role == part_role::layer || part.role == part_role::encoder) &&
                                      entry.kind != term::router && detail::moved_elements::is_matrix(entry);
            const std::string name(part.cost.components()[entry.component].view());
            std::vector<std::string>& list = is_quantized ? matrices : others;
            if (std::find(list.begin(), list.end(), name) == list.end()) {
                list.push_back(name);
            }
        }
    }
    std::vector<precision_setting> settings;
    for (const std::string& name : others) {
        if (std::find(matrices.begin(), matrices.end(), name) == matrices.end()) {
            settings.push_back({.component = name, .peak_tflops = other_peak_tflops});
        }
    }
    return settings;
}

/// Predicts the memory and the time of a step under any layout. The rules that follow hold for every layout.
///
/// - The matrix products of a component take their executed FLOPs ÷ (peak of its precision x efficiency), or the bytes
///   that they move ÷ the memory's bandwidth, whichever is longer. Weights are read for each microbatch.
/// - An exchange takes its bytes ÷ bandwidth, minus the time that the trainer hides behind computation. Exchanges of
///   activations make the passes of a microbatch longer. Exchanges of gradients and weights come after the pipeline.
/// - The pipeline's schedule is simulated with all passes. So the time includes the bubble, and the imbalance of
///   stages, microbatches and replicas.
///
/// The predictor takes its counts from `rank_parts`, `memory_of`, `communication_of` and `pipeline_order`. It keeps
/// these counts for each unit of a model (such as one layer), so that thousands of layouts share them.
class layout_predictor {
  public:
    /// Makes a predictor for one model, plan and cluster. `lengths` are the lengths of all sequences in a global batch.
    /// `memory` has the options that all layouts share: optimizer, bits, kernels, recomputed and offloaded modules, the
    /// split of layers. A layout sets the other options itself: `sharded`, `microbatches`, `schedule`, `token_ranks`,
    /// sequence parallelism, and the plan's `recomputed`.
    layout_predictor(std::span<const model_part> model, const mask_set& masks, std::vector<std::uint64_t> lengths,
                     const training_plan& plan, const memory_options& memory, const training_cluster& cluster,
                     const trainer_habits& trainer = trainers::megatron,
                     context_exchange context = context_exchange::ring)
        : plan_(plan),
          units_(with_head(model, plan), plan),
          experts_(units_.model()),
          masks_(masks),
          lengths_(std::move(lengths)),
          memory_(memory),
          cluster_(cluster),
          trainer_(trainer),
          context_(context) {
        require();
        is_even_ = std::all_of(lengths_.begin(), lengths_.end(), [&](auto n) { return n == lengths_.front(); });
        tally all(masks_);
        all.add_lengths(lengths_);
        useful_ = to_double(flop_counter(units_.model(), conventions::exact, plan_).evaluate(all).total());
        if (cluster_.other_peak_tflops != cluster_.peak_tflops && cluster_.other_peak_tflops != 0) {
            settings_ = settings_of_other_components(units_.model(), cluster_.other_peak_tflops);
        }
        if (memory_.ranks.pipeline.layers == layer_split::automatic) {
            memory_.ranks.pipeline.layers = trainer_.layers;
        }
    }

    [[nodiscard]] const training_cluster& cluster() const { return cluster_; }
    /// Sets the efficiency: the fraction of the peak that matrix products reach, from 0 to 1. The predictor keeps all
    /// counts that it has already made.
    void set_efficiency(double efficiency) {
        cluster_.efficiency = efficiency;
        require();
    }
    [[nodiscard]] const trainer_habits& trainer() const { return trainer_; }
    [[nodiscard]] const training_plan& plan() const { return plan_; }
    [[nodiscard]] std::span<const std::uint64_t> lengths() const { return lengths_; }
    [[nodiscard]] std::span<const model_part> model() const { return units_.model(); }

    /// Returns the training plan of a layout.
    [[nodiscard]] training_plan plan_of(const training_layout& layout) const {
        training_plan own = plan_;
        own.recomputed = layout.recomputed;
        return own;
    }
    /// Returns the options with which `memory_of` counts a layout.
    [[nodiscard]] memory_options memory_options_of(const training_layout& layout) const {
        memory_options own = memory_;
        own.sharded = layout.sharded;
        own.microbatches = layout.microbatches;
        own.schedule = layout.schedule;
        own.token_ranks = layout.sizes.cp;
        own.ranks.tensor.sequence_parallel = layout.sequence_parallel;
        return own;
    }
    /// Returns the options with which `communication_of` counts a layout.
    [[nodiscard]] communication_options communication_options_of(const training_layout& layout) const {
        return {.ranks = memory_options_of(layout).ranks,
                .sharded = layout.sharded,
                .context = context_,
                .microbatches = layout.microbatches,
                .token_ranks = layout.sizes.cp,
                .bits = memory_.bits,
                .gpus_per_node = cluster_.network.gpus_per_node,
                .gathered_bits = memory_.gathered_bits};
    }
    /// Returns how a layout splits the layers over the chunks of its pipeline.
    [[nodiscard]] pipeline_split split_of_layers(const training_layout& layout) const {
        return split_of(units_.model(), layout.sizes, memory_.ranks);
    }

    /// Returns the memory of a layout's fullest stage. Throws `error` if the layout is impossible, or if the global
    /// batch is not dp x microbatch x accumulation.
    [[nodiscard]] layout_memory fit(const training_layout& layout) {
        require(layout);
        const parallel_layout first(layout.sizes, layout.sizes.world_size(), 0);
        return fit(layout, first, stages_of(layout));
    }

    /// Returns the predicted step of a layout. Throws the same errors as `fit`.
    [[nodiscard]] layout_prediction predict(const training_layout& layout) {
        require(layout);
        const parallel_layout first(layout.sizes, layout.sizes.world_size(), 0);
        const stages& pipeline = stages_of(layout);
        layout_prediction predicted{.layout = layout, .memory = fit(layout, first, pipeline)};
        run(layout, first, pipeline, predicted);
        return predicted;
    }

    /// Returns the predicted step of a layout that fits. For a layout that does not fit, returns only the memory.
    [[nodiscard]] layout_prediction predict_if_it_fits(const training_layout& layout) {
        require(layout);
        const parallel_layout first(layout.sizes, layout.sizes.world_size(), 0);
        const stages& pipeline = stages_of(layout);
        layout_prediction predicted{.layout = layout, .memory = fit(layout, first, pipeline)};
        if (predicted.memory.fits) {
            run(layout, first, pipeline, predicted);
        }
        return predicted;
    }

    /// Returns the assumptions that all predictions make, one sentence each.
    [[nodiscard]] std::vector<std::string> assumed() const {
        const auto number = [](double value) { return detail::general_decimal(value, 4); };
        std::vector<std::string> list;
        list.push_back(detail::text_of({"kernels reach ", number(100 * cluster_.efficiency), " % of the peak of ",
                                        number(cluster_.peak_tflops), " TFLOP/s, in matrices of any width"}));
        if (!settings_.empty()) {
            list.push_back(detail::text_of({"attention cores, routers and the lm_head run at a peak of ",
                                            number(cluster_.other_peak_tflops), " TFLOP/s"}));
        }
        if (cluster_.network.within_nodes) {
            list.push_back(detail::text_of({"a GPU sends ", number(*cluster_.network.within_nodes),
                                            " GB/s within a node of ", cluster_.network.gpus_per_node, " and ",
                                            number(*cluster_.network.between_nodes), " GB/s to other nodes"}));
        }
        std::string hidden;
        std::string shown;
        for (std::size_t axis = 0; axis < parallel_axis_count; ++axis) {
            append_item(trainer_.hidden[axis] > 0 ? hidden : shown, parallel_axis_names[axis]);
        }
        list.push_back(detail::text_of(
            {"hidden behind computation: exchanges over ", hidden, "; not hidden: ", shown, "; as ", trainer_.note}));
        list.push_back("tokens choose experts uniformly; context-parallel ranks have equal work");
        list.push_back(cluster_.memory_tbps
                           ? detail::text_of({"the optimizer moves its state at ", number(*cluster_.memory_tbps),
                                              " TB/s, and products move their operands as fast at most; "
                                              "norms and other element-wise kernels take no time"})
                           : std::string("the optimizer takes no time; no kernel is bound by memory"));
        if (experts_.choice.experts != 0 && trainer_.sends_token_once) {
            list.push_back("a token goes once to each node that has experts which it chose");
        }
        if (!(memory_.kernels.recomputed == layer_modules{})) {
            list.push_back("modules that are computed again take no time");
        }
        list.push_back("ranks of a stage wait only for the causes listed here; messages have no latency");
        return list;
    }

  private:
    /// The chunks of a pipeline and its ranks, as lists of model units (such as one layer).
    struct stages {
        std::vector<detail::chunk_units> chunks{};
        std::vector<detail::chunk_units> ranks{};  ///< for each rank, the model units of all its chunks
    };
    using axis_seconds = std::array<double, parallel_axis_count>;  ///< seconds for each sent byte, by group of ranks

    [[nodiscard]] static std::vector<model_part> with_head(std::span<const model_part> model,
                                                           const training_plan& plan) {
        const listed_parts parts = with_logits(model, plan.logits);
        return {parts.begin(), parts.begin() + parts.size()};
    }

    void require() const {
        if (lengths_.empty()) {
            throw error("lengths", "has no sequence: pass the sequences of a global batch");
        }
        require_positive(cluster_.gpus, "gpus");
        detail::require_peak(cluster_.peak_tflops, "peak_tflops");
        detail::require_finite_positive(cluster_.efficiency, "efficiency");
        if (cluster_.efficiency > 1) {
            detail::refuse(
                "efficiency",
                {"must be at most 1, since it is the part of the peak FLOP/s that matrix products reach, got ",
                 detail::shortest_decimal(cluster_.efficiency)});
        }
        detail::require_finite_positive(cluster_.memory_gib, "memory_gib");
        cluster_.network.require_nodes();
        detail::require_memory_options(plan_, memory_);
        if (plan_.counted != counted_passes::train) {
            throw error("phase", "must be train: a layout is searched for training steps");
        }
        for (const model_part& part : units_.model()) {
            for (const cost_entry& entry : part.cost.entries()) {
                if (entry.what == accumulator::routed) {
                    throw error("routed",
                                "expert visits that were measured in one layout do not hold for another: pass a model "
                                "without measured visits, whose tokens are assumed to choose experts uniformly");
                }
            }
        }
    }
    void require(const training_layout& layout) const {
        const parallel_sizes& sizes = layout.sizes;
        if (sizes.world_size() != cluster_.gpus) {
            detail::refuse("layout", {"has dp x cp x tp x pp = ", sizes.world_size(), " ranks for ", cluster_.gpus,
                                      " GPUs: change one of them"});
        }
        const std::uint64_t samples = std::uint64_t{checked(sizes.dp, "global_batch") * layout.microbatch};
        if (samples == 0 || std::uint64_t{checked(samples, "global_batch") * layout.microbatches} != lengths_.size()) {
            detail::refuse("global_batch", {"must be dp x microbatch x accumulation, got ", lengths_.size(), " for ",
                                            sizes.dp, " x ", layout.microbatch, " x ", layout.microbatches});
        }
    }

    /// Returns the chunks and ranks of a layout's pipeline. They are the same for all layouts with equal pp and vpp.
    [[nodiscard]] const stages& stages_of(const training_layout& layout) {
        stages& known = stages_[{layout.sizes.pp, layout.sizes.vpp}];
        if (known.chunks.empty()) {
            known.chunks = units_.chunks_of(split_of_layers(layout));
            known.ranks.resize(layout.sizes.pp);
            for (std::size_t chunk = 0; chunk < known.chunks.size(); ++chunk) {
                known.ranks[chunk % layout.sizes.pp].add(known.chunks[chunk]);
            }
        }
        return known;
    }

    /// Returns the published order of passes of the layout's pipeline schedule, such as 1F1B.
    [[nodiscard]] const pipeline_order& order_of(const training_layout& layout) {
        const pipeline_schedule schedule = schedule_of(layout);
        const std::array<std::uint64_t, 4> key{static_cast<std::uint64_t>(schedule), layout.sizes.pp, layout.sizes.vpp,
                                               layout.microbatches};
        const auto found = orders_.find(key);
        if (found != orders_.end()) {
            return found->second;
        }
        pipeline_order order(schedule, layout.sizes.pp, layout.sizes.vpp, layout.microbatches);
        // Later layouts with the same schedule and equally many chunks and microbatches reuse this order. All stored
        // orders together take at most some 100 MB.
        passes_kept_ += order.chunks() * order.microbatches();
        if (passes_kept_ > 2'000'000) {
            orders_.clear();
            passes_kept_ = order.chunks() * order.microbatches();
        }
        return orders_.emplace(key, std::move(order)).first->second;
    }
    [[nodiscard]] static pipeline_schedule schedule_of(const training_layout& layout) {
        return layout.schedule == pipeline_schedule::one_f_one_b && layout.sizes.vpp > 1
                   ? pipeline_schedule::interleaved
                   : layout.schedule;
    }

    /// Returns the lengths of one microbatch of `samples` sequences.
    [[nodiscard]] std::span<const std::uint64_t> lengths_of(std::uint64_t microbatch, std::uint64_t samples) const {
        return std::span(lengths_).subspan(microbatch * samples, samples);
    }
    /// Returns the tally of one microbatch of `samples` sequences.
    [[nodiscard]] tally batch_of(std::uint64_t microbatch, std::uint64_t samples) const {
        tally batch(masks_);
        batch.add_lengths(lengths_of(microbatch, samples));
        return batch;
    }
    /// The tallies of all microbatches, each with the same number of sequences.
    struct batches {
        std::vector<tally> all{};    ///< tally of each microbatch, or only one tally if all are alike
        std::size_t fullest = 0;     ///< index of the microbatch with the most tokens
        std::vector<double> part{};  ///< for each microbatch, its tokens ÷ the tokens of the fullest microbatch
    };
    [[nodiscard]] const batches& batches_of(std::uint64_t samples) {
        batches& known = batches_[samples];
        if (known.all.empty()) {
            const std::uint64_t count = is_even_ ? 1 : lengths_.size() / samples;
            std::vector<std::uint64_t> tokens;
            for (std::uint64_t i = 0; i < count; ++i) {
                known.all.push_back(batch_of(i, samples));
                tokens.push_back(known.all.back().get(view::padded, accumulator::tokens));
                known.fullest = tokens[i] > tokens[known.fullest] ? i : known.fullest;
            }
            for (const std::uint64_t own : tokens) {
                known.part.push_back(static_cast<double>(own) / static_cast<double>(tokens[known.fullest]));
            }
        }
        return known;
    }

    /// Calls `each(unit, times)` for each model unit (such as one layer) of a chunk or of a rank. `times` says how
    /// often the unit occurs.
    template <class Each>
    void for_each_unit(const detail::chunk_units& own, Each each) {
        for (const auto& [unit, count] : own.layers) {
            each(unit, count);
        }
        if (own.others != 0) {
            each(units_.unit_of(own.others), std::uint64_t{1});
        }
    }

    [[nodiscard]] std::vector<model_part> shared(std::size_t unit, const training_layout& layout,
                                                 const tensor_options& options) const {
        return tensor_parts(units_.parts_of(unit), layout.sizes.tp, 0, layout.sizes.ep, options,
                            layout.sizes.expert_tp());
    }

    [[nodiscard]] layout_memory fit(const training_layout& layout, const parallel_layout& first,
                                    const stages& pipeline) {
        const parallel_sizes& sizes = layout.sizes;
        const memory_options options = memory_options_of(layout);
        const training_plan plan = plan_of(layout);
        const std::uint64_t sharing = first.sharding_group(false).size();
        const std::uint64_t expert_sharing = first.sharding_group(true).size();
        const std::uint64_t together = layout.sequence_parallel ? 1 : 0;
        auto& states = states_.of({sizes.tp, sizes.ep, sizes.expert_tp(), together, sharing, expert_sharing,
                                   static_cast<std::uint64_t>(layout.sharded)});
        auto& kept = kept_.of({sizes.tp, sizes.expert_tp(), together, sizes.cp, layout.microbatch,
                               static_cast<std::uint64_t>(layout.recomputed)});
        auto& buffers = buffers_.of({sizes.tp, sizes.ep, sizes.expert_tp(), together, sizes.cp, layout.microbatch,
                                     static_cast<std::uint64_t>(layout.recomputed)});
        const batches& microbatches = batches_of(layout.microbatch);
        const tally& fullest = microbatches.all[microbatches.fullest];
        const auto units = [&] { return detail::batch_units(fullest, sizes.cp); };
        std::vector<std::uint64_t> kept_by_chunk;
        std::vector<detail::chunk_sums> chunks;
        for (const detail::chunk_units& chunk : pipeline.chunks) {
            detail::chunk_sums& sum = chunks.emplace_back();
            for_each_unit(chunk, [&](std::size_t unit, std::uint64_t times) {
                sum.add(decltype(kept_)::get(kept, unit,
                                             [&] {
                                                 detail::chunk_sums own;
                                                 std::vector<std::string> unsaid;
                                                 const std::vector<model_part> parts =
                                                     tensor_parts(units_.parts_of(unit), 1, 0, 1, options.ranks.tensor);
                                                 const detail::batch_units counted = units();
                                                 detail::put_kept(parts, counted, plan, options, sizes, unsaid, own);
                                                 detail::put_outputs(parts, counted, sizes.tp, own);
                                                 return own;
                                             }),
                        times);
            });
            kept_by_chunk.push_back(sum.kept_bytes());
        }
        const std::vector<std::uint64_t> most_held = held_at_once(layout, kept_by_chunk);
        layout_memory fullest_stage;
        std::vector<detail::chunk_sums> own_chunks;
        for (std::uint64_t stage = 0; stage < sizes.pp; ++stage) {
            detail::state_sums state;
            detail::buffer_sums buffer;
            for_each_unit(pipeline.ranks[stage], [&](std::size_t unit, std::uint64_t times) {
                state.add(decltype(states_)::get(states, unit,
                                                 [&] {
                                                     detail::state_sums own;
                                                     detail::put_states(shared(unit, layout, options.ranks.tensor),
                                                                        first, plan, options, own);
                                                     return own;
                                                 }),
                          times);
                buffer.add(decltype(buffers_)::get(buffers, unit, [&] {
                    detail::buffer_sums own;
                    const detail::batch_units counted = units();
                    detail::put_buffers(shared(unit, layout, options.ranks.tensor), sizes, counted,
                                        options.ranks.tensor.sequence_parallel, own);
                    detail::put_recomputed(tensor_parts(units_.parts_of(unit), 1, 0, 1, options.ranks.tensor), counted,
                                           plan, options, sizes, own);
                    return own;
                }));
            });
            own_chunks.clear();
            for (std::size_t chunk = stage; chunk < chunks.size(); chunk += sizes.pp) {
                own_chunks.push_back(chunks[chunk]);
            }
            rank_memory held = detail::memory_from(state, own_chunks, buffer, most_held[stage],
                                                   pipeline.ranks[stage].num_layers(), stage, first, plan, options);
            if (stage == 0 || held.total() > fullest_stage.held.total()) {
                fullest_stage.stage = stage;
                fullest_stage.held = std::move(held);
            }
        }
        fullest_stage.gib = fullest_stage.gib_without_reserve() + cluster_.reserve_gib;
        fullest_stage.fits = fullest_stage.gib <= cluster_.memory_gib;
        return fullest_stage;
    }

    /// Returns the most bytes of activations that each rank holds at once.
    [[nodiscard]] std::vector<std::uint64_t> held_at_once(const training_layout& layout,
                                                          std::span<const std::uint64_t> kept_by_chunk) {
        if (layout.sizes.pp == 1 && layout.sizes.vpp == 1 && layout.schedule != pipeline_schedule::gpipe) {
            return {kept_by_chunk[0]};
        }
        training_layout first_rounds = layout;
        first_rounds.microbatches =
            detail::microbatches_until_full(layout.schedule, layout.sizes.pp, layout.microbatches);
        return order_of(first_rounds).most_held(kept_by_chunk);
    }

    /// Returns the seconds that a rank needs for each sent byte, by group of ranks.
    [[nodiscard]] axis_seconds seconds_of_a_byte(const parallel_layout& rank, zero_stage sharded) const {
        axis_seconds seconds{};
        const group_bandwidths& network = cluster_.network;
        for (std::size_t i = 0; i < parallel_axis_count; ++i) {
            const auto axis = static_cast<parallel_axis>(i);
            if (const std::optional<double> gbps = network.of(axis)) {
                seconds[i] = 1e-9 / *gbps;
            } else if (network.within_nodes) {
                const double between = part_between_nodes(rank, axis, sharded);
                const auto [inside, outside] = axis == parallel_axis::ep && trainer_.sends_token_once && between > 0
                                                   ? sent_once(rank.group(axis), between)
                                                   : std::pair(1 - between, between);
                seconds[i] = 1e-9 * std::max(inside / *network.within_nodes, outside / *network.between_nodes);
            }
        }
        return seconds;
    }
    /// Returns the bytes that cross links within nodes, and between nodes, for each byte of token copies that a rank
    /// sends to experts. A token goes once to each node of its chosen experts, and is copied to their ranks there.
    /// `between` is the fraction of the copies that go to other nodes.
    [[nodiscard]] std::pair<double, double> sent_once(const rank_group& group, double between) const {
        std::vector<std::uint64_t> nodes;
        for (const std::uint64_t rank : group) {
            const std::uint64_t node = rank / cluster_.network.gpus_per_node;
            if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) {
                nodes.push_back(node);
            }
        }
        const double count = static_cast<double>(nodes.size());
        const double experts = static_cast<double>(experts_.choice.experts);
        const std::uint64_t chosen = experts_.choice.chosen;
        if (chosen == 0 || !experts_.are_alike) {
            return {1 - between, between};
        }
        double none = 1;  // the probability that no chosen expert is on one given node
        for (std::uint64_t i = 0; i < chosen; ++i) {
            const double left = experts - static_cast<double>(i);
            none *= std::max(left - experts / count, 0.0) / left;
        }
        const double copies = static_cast<double>(chosen) * (count - 1) / count;
        const double once = (count - 1) * (1 - none) / copies;
        const double ranks_of_node = static_cast<double>(group.size()) / count;
        return {1 - between + between * (ranks_of_node - 1) / ranks_of_node, between * once};
    }

    /// Returns which fraction of the bytes that a rank sends over a group goes to other nodes.
    [[nodiscard]] double part_between_nodes(const parallel_layout& rank, parallel_axis axis, zero_stage sharded) const {
        const std::uint64_t node = cluster_.network.gpus_per_node;
        const auto ratio = [](const detail::node_share& share) {
            return share.whole == 0 ? 0.0 : static_cast<double>(share.amount) / static_cast<double>(share.whole);
        };
        const bool is_split = sharded != zero_stage::none;
        switch (axis) {
            case parallel_axis::pp: {
                const rank_group group = rank.group(axis);
                const std::uint64_t stage = rank.coordinate(axis);
                return ratio(detail::message_between_nodes(rank.rank(), group[(stage + 1) % group.size()], node));
            }
            case parallel_axis::dp:
                return ratio(detail::ring_between_nodes(
                    is_split ? rank.sharding_group(false) : rank.group(parallel_axis::dp | parallel_axis::cp), node));
            case parallel_axis::expert_dp:
                return ratio(detail::ring_between_nodes(is_split ? rank.sharding_group(true) : rank.group(axis), node));
            case parallel_axis::dp_replicate:
                return ratio(detail::ring_between_nodes(rank.replica_group(false), node));
            case parallel_axis::ep:
                return rank.size(axis) == 1
                           ? 0
                           : ratio(detail::all_to_all_between_nodes(rank.group(axis), rank.rank(), node, false));
            case parallel_axis::cp:
                if (context_ == context_exchange::ulysses && rank.size(axis) > 1) {
                    return ratio(detail::all_to_all_between_nodes(rank.group(axis), rank.rank(), node, false));
                }
                break;
            default:
                break;
        }
        return ratio(detail::ring_between_nodes(rank.group(axis), node));
    }

    /// Returns the bytes that ranks exchange to run a model unit (such as one layer) for the fullest microbatch, by
    /// pass.
    [[nodiscard]] detail::pass_bytes exchanged(std::size_t unit, const training_layout& layout, const tally& batch,
                                               const training_plan& plan, const communication_options& options) const {
        const parallel_sizes& sizes = layout.sizes;
        // The bytes of activations depend only on the sizes of groups, so rank 0 of a single pipeline stage is enough.
        const parallel_sizes of_stage{
            .dp = sizes.dp, .cp = sizes.cp, .tp = sizes.tp, .ep = sizes.ep, .etp = sizes.expert_tp()};
        const parallel_layout rank(of_stage, of_stage.world_size(), 0);
        const std::vector<model_part> parts = tensor_parts(units_.parts_of(unit), 1, 0, 1, options.ranks.tensor);
        const detail::weight_states states(plan);
        const detail::batch_units units(batch, options.token_ranks);
        const detail::activation_groups groups{.layout = rank,
                                               .tp = sizes.tp,
                                               .ep = sizes.ep,
                                               .etp = sizes.expert_tp(),
                                               .cp = sizes.cp,
                                               .sequence_parallel = layout.sequence_parallel,
                                               .context = context_,
                                               .bits = options.bits.activations};
        communication sent;
        detail::exchange_entries entries(parts);
        detail::part_exchanges exchanges(groups, states, units, entries, sent.unsaid);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if (!parts[i].elsewhere) {
                exchanges.put(parts[i], i);
            }
        }
        entries.count(plan, sent);
        detail::pass_bytes bytes;
        for (const communicated_bytes& entry : sent.entries) {
            const std::size_t pass = entry.during == phase::forward            ? 0
                                     : entry.during == phase::backward_weights ? 2
                                                                               : 1;
            bytes.bytes[static_cast<std::size_t>(entry.over)][pass] += to_double(flops{entry.expected()});
        }
        return bytes;
    }

    /// Returns the bytes of weights and gradients that ranks exchange for a model unit (such as one layer).
    [[nodiscard]] detail::state_bytes_sent exchanged_states(std::size_t unit, const training_layout& layout,
                                                            const parallel_layout& first, const training_plan& plan,
                                                            communication_options options) const {
        options.microbatches = 1;
        options.gpus_per_node = 0;
        const std::vector<model_part> parts = shared(unit, layout, options.ranks.tensor);
        communication sent;
        detail::exchange_entries entries(parts);
        detail::put_data_parallel(parts, first, options, entries);
        entries.count(plan, sent);
        detail::state_bytes_sent bytes;
        for (const communicated_bytes& entry : sent.entries) {
            const auto axis = static_cast<std::size_t>(entry.over);
            const bool is_once = entry.over == parallel_axis::tp || entry.over == parallel_axis::pp;
            (is_once                                     ? bytes.once
             : entry.operation == collective::all_gather ? bytes.gathered
                                                         : bytes.reduced)[axis] += to_double(flops{entry.bytes});
        }
        return bytes;
    }

    /// Returns the work of a model unit (such as one layer) for each microbatch, without context parallelism.
    [[nodiscard]] detail::unit_work work_of(std::size_t unit, const training_layout& layout, const training_plan& plan,
                                            const batches& microbatches, const tensor_options& options) const {
        const std::vector<model_part> parts = tensor_parts(units_.parts_of(unit), layout.sizes.tp, 0, 1, options, 1);
        const flop_counter counter(parts, conventions::exact, plan);
        detail::unit_work work;
        for (const tally& batch : microbatches.all) {
            const breakdown counted = counter.evaluate(batch);
            std::vector<detail::phase_seconds>& seconds = work.at_peak.emplace_back();
            for (const component_flops& component : counted.components()) {
                if (work.at_peak.size() == 1) {
                    work.components.push_back(component.name);
                    work.is_core.push_back(is_core(parts, component.name) ? 1 : 0);
                }
                detail::phase_seconds& own = seconds.emplace_back();
                for (std::size_t during = 0; during < own.size(); ++during) {
                    own[during] = to_double(component.get(view::executed, static_cast<phase>(during))) /
                                  (1e12 * peak_of(component.name.view()));
                }
            }
        }
        return work;
    }
    /// Returns the time of the bytes that a model unit (such as one layer) moves through the memory of a rank, for each
    /// microbatch. Weights are read in every microbatch.
    [[nodiscard]] detail::unit_traffic traffic_of(std::size_t unit, const training_layout& layout,
                                                  const training_plan& plan, const batches& microbatches,
                                                  const tensor_options& options, const detail::unit_work& work) const {
        const std::vector<model_part> parts = shared(unit, layout, options);
        detail::unit_traffic traffic;
        for (std::uint64_t kind = 0; kind < microbatches.all.size(); ++kind) {
            byte_counter counter(parts, plan, bits_in_kernels());
            counter.add_lengths(lengths_of(kind, layout.microbatch));
            std::vector<detail::phase_seconds>& seconds = traffic.emplace_back(work.components.size() + 1);
            const step_bytes moved = counter.count();
            for (const component_bytes& component : moved.components) {
                std::size_t index = 0;
                while (index < work.components.size() && !(work.components[index] == component.name)) {
                    ++index;
                }
                for (std::size_t during = 0; during < seconds[index].size(); ++during) {
                    const auto of = [&](byte_kind which) {
                        return to_double(flops{component.get(static_cast<phase>(during), which)});
                    };
                    seconds[index][during] +=
                        (of(byte_kind::weights) + of(byte_kind::gradients) +
                         (of(byte_kind::activations) + of(byte_kind::cache)) / static_cast<double>(layout.sizes.cp)) /
                        (1e12 * *cluster_.memory_tbps);
                }
            }
        }
        return traffic;
    }
    /// Returns the bits of the values that kernels move. A precision that is n times as fast as 16 bits has 16 / n
    /// bits, and at least 4.
    [[nodiscard]] element_bits bits_in_kernels() const {
        const double faster = settings_.empty() ? 1 : cluster_.peak_tflops / cluster_.other_peak_tflops;
        const auto bits = [faster](std::uint64_t own) {
            return std::clamp(static_cast<std::uint64_t>(16 / std::max(faster, 1.0)), std::uint64_t{4}, own);
        };
        return {.weights = bits(std::max<std::uint64_t>(memory_.bits.weights, 4)),
                .gradients = memory_.bits.gradients,
                .activations = bits(std::max<std::uint64_t>(memory_.bits.activations, 4)),
                .cache = memory_.bits.cache};
    }
    /// Returns true if the component is an attention core, for which context-parallel ranks exchange keys and values.
    [[nodiscard]] static bool is_core(std::span<const model_part> parts, const component_name& component) {
        return std::any_of(parts.begin(), parts.end(), [&](const model_part& part) {
            return std::any_of(part.cost.entries().begin(), part.cost.entries().end(), [&](const cost_entry& entry) {
                return entry.kind == term::scores && part.cost.components()[entry.component] == component;
            });
        });
    }
    [[nodiscard]] double peak_of(std::string_view component) const {
        for (const precision_setting& setting : settings_) {
            if (setting.component == component) {
                return setting.peak_tflops;
            }
        }
        return cluster_.peak_tflops;
    }

    /// Returns the bytes that two consecutive chunks exchange: hidden states forward, and their gradients backward.
    /// `unit` is the first layer of the second chunk.
    [[nodiscard]] detail::message_bytes message_of(std::size_t unit, const training_layout& layout, const tally& batch,
                                                   const training_plan& plan) const {
        const std::vector<model_part> parts = units_.parts_of(unit);
        const detail::batch_units units(batch, layout.sizes.cp);
        const std::uint64_t tp = layout.sequence_parallel ? layout.sizes.tp : 1;
        communication sent;
        detail::exchange_entries entries(parts);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const detail::hidden_states states =
                parts[i].elsewhere ? detail::hidden_states{} : detail::states_read_by(parts[i].cost, units);
            if (states.reader != nullptr) {
                for (const auto when :
                     {detail::exchange_moment::first_forward, detail::exchange_moment::backward_data}) {
                    entries.put(i, parts[i].cost, *states.reader,
                                {.over = parallel_axis::pp,
                                 .operation = collective::send,
                                 .ranks = 2,
                                 .when = when,
                                 .bits = memory_.bits.activations},
                                states.of_rank(tp));
                }
                break;
            }
        }
        entries.count(plan, sent);
        detail::message_bytes bytes;
        for (const communicated_bytes& entry : sent.entries) {
            (entry.during == phase::forward ? bytes.forward : bytes.backward) += to_double(flops{entry.bytes});
        }
        return bytes;
    }
    [[nodiscard]] static std::uint64_t tokens_of(const tally& batch) {
        return batch.get(view::padded, accumulator::tokens);
    }

    /// The seconds that a stage spends outside its passes.
    struct stage_times {
        double exposed = 0;  ///< seconds of exchanges of gradients and weights that no pass hides
        double sent = 0;     ///< seconds of all exchanges, hidden or not
    };

    void run(const training_layout& layout, const parallel_layout& first, const stages& pipeline,
             layout_prediction& predicted) {
        const parallel_sizes& sizes = layout.sizes;
        const training_plan plan = plan_of(layout);
        const communication_options options = communication_options_of(layout);
        const batches& microbatches = batches_of(layout.microbatch);
        const tally& fullest = microbatches.all[microbatches.fullest];
        const std::uint64_t together = layout.sequence_parallel ? 1 : 0;
        const auto recomputed = static_cast<std::uint64_t>(layout.recomputed);
        auto& work = work_.of({sizes.tp, together, layout.microbatch, recomputed});
        const std::array<std::uint64_t, 7> of_tokens{sizes.tp, sizes.cp,          sizes.ep,  sizes.expert_tp(),
                                                     together, layout.microbatch, recomputed};
        auto& bytes = exchanged_.of(of_tokens);
        auto& traffic = traffic_.of(of_tokens);
        auto& states = sent_states_.of({sizes.tp, sizes.ep, sizes.expert_tp(), together,
                                        first.sharding_group(false).size(), first.sharding_group(true).size(),
                                        sizes.dp_replicate, static_cast<std::uint64_t>(layout.sharded)});
        const std::span<const axis_seconds> byte_seconds = byte_seconds_of(layout, first);
        const std::size_t chunks = pipeline.chunks.size();
        const std::size_t kinds = microbatches.all.size();
        const double shown_part = 1 - (sizes.vpp > 1 ? trainer_.hidden_interleaved
                                                     : trainer_.hidden[static_cast<std::size_t>(parallel_axis::pp)]);
        // For each chunk and the next one, the seconds of the messages forward and of the messages back.
        auto& messages = messages_.of({sizes.tp, sizes.cp, together, layout.microbatch});
        std::vector<detail::message_bytes> between(chunks - 1);
        std::size_t entered = pipeline.chunks.front().layers.empty() ? 0 : pipeline.chunks.front().layers.front().first;
        for (std::size_t chunk = 0; chunk + 1 < chunks; ++chunk) {
            const auto& layers = pipeline.chunks[chunk + 1].layers;
            entered = layers.empty() ? entered : layers.front().first;
            const detail::message_bytes& own =
                decltype(messages_)::get(messages, entered, [&] { return message_of(entered, layout, fullest, plan); });
            const double of_byte = byte_seconds[chunk % sizes.pp][static_cast<std::size_t>(parallel_axis::pp)];
            between[chunk] = {own.forward * of_byte, own.backward * of_byte};
        }
        // Seconds of a forward and of a backward. `work_seconds` has them for each chunk and each different microbatch
        // at the cluster's efficiency, and `peak` at 100 % efficiency. `exposed` has, for each chunk, the seconds of
        // the fullest microbatch's exchanges that no computation hides.
        std::vector<detail::pass_seconds> peak(chunks * kinds);
        std::vector<detail::pass_seconds> work_seconds(chunks * kinds);
        std::vector<detail::pass_seconds> exposed(chunks);
        std::vector<axis_seconds> sent(chunks, axis_seconds{});
        for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
            detail::pass_bytes moved;
            for_each_unit(pipeline.chunks[chunk], [&](std::size_t unit, std::uint64_t times) {
                const double number = static_cast<double>(times);
                const detail::unit_work& own = decltype(work_)::get(
                    work, unit, [&] { return work_of(unit, layout, plan, microbatches, options.ranks.tensor); });
                static const detail::unit_traffic none;
                const detail::unit_traffic& moves =
                    !cluster_.memory_tbps ? none : decltype(traffic_)::get(traffic, unit, [&] {
                        return traffic_of(unit, layout, plan, microbatches, options.ranks.tensor, own);
                    });
                const double shares = static_cast<double>(sizes.cp);
                for (std::size_t kind = 0; kind < kinds; ++kind) {
                    const std::size_t index = kind * chunks + chunk;
                    peak[index].add(detail::passes_of(own, moves, kind, shares, 1), number);
                    work_seconds[index].add(detail::passes_of(own, moves, kind, shares, cluster_.efficiency), number);
                }
                if (sizes.tp > 1 || sizes.cp > 1 || sizes.ep > 1 || sizes.expert_tp() > 1) {
                    moved.add(decltype(exchanged_)::get(
                                  bytes, unit, [&] { return exchanged(unit, layout, fullest, plan, options); }),
                              number);
                }
            });
            const detail::pass_seconds& own = work_seconds[microbatches.fullest * chunks + chunk];
            // Attention cores hide the exchanges of context parallelism. All other work of a pass hides the exchanges
            // of tensor parallelism. Time of a pass that hides neither can hide the exchanges over other groups.
            const double cores[3] = {own.core_forward, own.core_backward, 0};
            const double all[3] = {own.forward, own.backward_data, own.backward_weights};
            double passes[3] = {};
            for (std::size_t pass = 0; pass < 3; ++pass) {
                double hidden = 0;
                for (std::size_t axis = 0; axis < parallel_axis_count; ++axis) {
                    const double seconds = moved.bytes[axis][pass] * byte_seconds[chunk % sizes.pp][axis];
                    const double most = axis == static_cast<std::size_t>(parallel_axis::cp)   ? cores[pass]
                                        : axis == static_cast<std::size_t>(parallel_axis::tp) ? all[pass] - cores[pass]
                                                                                              : all[pass] - hidden;
                    const double behind = std::min(seconds * trainer_.hidden[axis], std::max(most, 0.0));
                    passes[pass] += seconds - behind;
                    hidden += behind;
                    sent[chunk][axis] += seconds;
                    predicted.exposed_in_passes[axis] +=
                        (seconds - behind) * static_cast<double>(layout.microbatches) / static_cast<double>(sizes.pp);
                }
            }
            const double to_next = chunk + 1 < chunks ? between[chunk].forward : 0;
            const double to_last = chunk != 0 ? between[chunk - 1].backward : 0;
            exposed[chunk].forward = passes[0] + to_next * shown_part;
            exposed[chunk].backward_data = passes[1] + to_last * shown_part;
            exposed[chunk].backward_weights = passes[2];
            predicted.exposed_in_passes[static_cast<std::size_t>(parallel_axis::pp)] +=
                (to_next + to_last) * shown_part * static_cast<double>(layout.microbatches) /
                static_cast<double>(sizes.pp);
            sent[chunk][static_cast<std::size_t>(parallel_axis::pp)] += to_next + to_last;
        }
        const double after = after_passes(layout, first, pipeline, work_seconds, exposed, sent, microbatches,
                                          byte_seconds, states, plan, options, predicted);
        const double passes = seconds_of_passes(layout, work_seconds, exposed, microbatches);
        predicted.seconds = passes + after;
        predicted.mfu =
            useful_ / (predicted.seconds * static_cast<double>(cluster_.gpus) * cluster_.peak_tflops * 1e12);
        predicted.bound = std::max(longest_work(layout, peak, {}, microbatches), slowest_exchange_);
        predicted.bubble = std::max(0.0, 1 - longest_work(layout, work_seconds, exposed, microbatches) / passes);
    }

    /// Returns the time after all passes: the optimizer, and the exchanges of gradients and weights that no pass hides.
    [[nodiscard]] double after_passes(const training_layout& layout, const parallel_layout& first,
                                      const stages& pipeline, std::span<const detail::pass_seconds> work,
                                      std::span<const detail::pass_seconds> exposed, std::span<const axis_seconds> sent,
                                      const batches& microbatches, const std::span<const axis_seconds> byte_seconds,
                                      std::vector<std::optional<detail::state_bytes_sent>>& states,
                                      const training_plan& plan, const communication_options& options,
                                      layout_prediction& predicted) {
        const parallel_sizes& sizes = layout.sizes;
        const std::size_t chunks = pipeline.chunks.size();
        const double count = static_cast<double>(layout.microbatches);
        const double exchanged = full_microbatches(layout, microbatches);
        const double reduces = layout.sharded >= zero_stage::gradients ? count : 1;
        const double gathers = layout.sharded == zero_stage::weights ? count : 1;
        double latest = 0;
        slowest_exchange_ = 0;
        for (std::uint64_t stage = 0; stage < sizes.pp; ++stage) {
            detail::state_bytes_sent moved;
            for_each_unit(pipeline.ranks[stage], [&](std::size_t unit, std::uint64_t times) {
                moved.add(decltype(sent_states_)::get(
                              states, unit, [&] { return exchanged_states(unit, layout, first, plan, options); }),
                          static_cast<double>(times));
            });
            detail::pass_seconds own;
            axis_seconds exchanges{};
            for (std::size_t chunk = stage; chunk < chunks; chunk += sizes.pp) {
                own.add(work[microbatches.fullest * chunks + chunk], 1);
                own.add(exposed[chunk], 1);
                for (std::size_t axis = 0; axis < parallel_axis_count; ++axis) {
                    exchanges[axis] += sent[chunk][axis] * exchanged;
                }
            }
            const double backward = own.backward_data + own.backward_weights;
            double shown = 0;
            const auto add = [&](std::size_t axis, double bytes, double hidden, double behind) {
                const double seconds = bytes * byte_seconds[stage][axis];
                shown += std::max(seconds * (1 - hidden), seconds - behind);
                exchanges[axis] += seconds;
            };
            for (std::size_t axis = 0; axis < parallel_axis_count; ++axis) {
                const double hidden = trainer_.hidden[axis];
                add(axis, moved.reduced[axis] * reduces, hidden, backward * reduces);
                add(axis, moved.gathered[axis] * gathers, hidden,
                    layout.sharded == zero_stage::weights ? (own.forward + backward) * gathers : own.forward);
                add(axis, moved.once[axis], 0, 0);
            }
            const double optimizer = optimizer_seconds(layout, first, pipeline.ranks[stage], plan);
            if (stage == 0 || shown + optimizer > latest) {
                latest = shown + optimizer;
                predicted.exposed_exchanges = shown;
                predicted.optimizer = optimizer;
            }
            slowest_exchange_ = std::max(slowest_exchange_, *std::max_element(exchanges.begin(), exchanges.end()));
        }
        return latest;
    }

    /// Returns the work of the busiest replica as a number of full microbatches: its tokens ÷ the tokens of the fullest
    /// one.
    [[nodiscard]] static double full_microbatches(const training_layout& layout, const batches& microbatches) {
        if (microbatches.all.size() == 1) {
            return static_cast<double>(layout.microbatches);
        }
        double most = 0;
        for (std::uint64_t replica = 0; replica < layout.sizes.dp; ++replica) {
            double sum = 0;
            for (std::uint64_t i = 0; i < layout.microbatches; ++i) {
                sum += microbatches.part[i * layout.sizes.dp + replica];
            }
            most = std::max(most, sum);
        }
        return most;
    }

    /// Returns the seconds that a stage needs to move the optimizer's state through the memory.
    [[nodiscard]] double optimizer_seconds(const training_layout& layout, const parallel_layout& first,
                                           const detail::chunk_units& stage, const training_plan& plan) {
        if (!cluster_.memory_tbps) {
            return 0;
        }
        const parallel_sizes& sizes = layout.sizes;
        const memory_options options = memory_options_of(layout);
        auto& states = states_.of({sizes.tp, sizes.ep, sizes.expert_tp(), layout.sequence_parallel ? 1U : 0U,
                                   first.sharding_group(false).size(), first.sharding_group(true).size(),
                                   static_cast<std::uint64_t>(layout.sharded)});
        detail::state_sums sum;
        for_each_unit(stage, [&](std::size_t unit, std::uint64_t times) {
            sum.add(decltype(states_)::get(states, unit,
                                           [&] {
                                               detail::state_sums own;
                                               detail::put_states(shared(unit, layout, options.ranks.tensor), first,
                                                                  plan, options, own);
                                               return own;
                                           }),
                    times);
        });
        return to_double(flops{sum.moved_bits / 8}) / (*cluster_.memory_tbps * 1e12);
    }

    /// Appends the passes of all chunks for one microbatch to `to`, in picoseconds.
    static void append_passes(std::vector<chunk_work>& to, std::span<const detail::pass_seconds> work,
                              std::span<const detail::pass_seconds> exposed, double part) {
        const auto units = [part](double seconds, double exchange) {
            return static_cast<std::uint64_t>(std::llround(1e12 * (seconds + exchange * part)));
        };
        for (std::size_t chunk = 0; chunk < exposed.size(); ++chunk) {
            const detail::pass_seconds& own = work[chunk];
            const detail::pass_seconds& more = exposed[chunk];
            to.push_back({units(own.forward, more.forward), units(own.backward_data, more.backward_data),
                          units(own.backward_weights, more.backward_weights)});
        }
    }

    /// Returns the seconds from the start to the end of the last pass of the slowest replica.
    [[nodiscard]] double seconds_of_passes(const training_layout& layout, std::span<const detail::pass_seconds> work,
                                           std::span<const detail::pass_seconds> exposed, const batches& microbatches) {
        const std::size_t chunks = exposed.size();
        const bool are_alike = microbatches.all.size() == 1;
        std::uint64_t longest = 0;
        std::vector<chunk_work> passes;
        for (std::uint64_t replica = 0; replica < (are_alike ? 1 : layout.sizes.dp); ++replica) {
            passes.clear();
            for (std::uint64_t i = 0; i < (are_alike ? 1 : layout.microbatches); ++i) {
                const std::size_t batch = are_alike ? 0 : i * layout.sizes.dp + replica;
                append_passes(passes, work.subspan(batch * chunks, chunks), exposed, microbatches.part[batch]);
            }
            longest = std::max(longest, makespan(layout, passes, chunks));
        }
        return static_cast<double>(longest) * 1e-12;
    }

    /// Returns the time of one replica's passes in picoseconds, simulated by its schedule. Without a pipeline, passes
    /// run one after the other.
    [[nodiscard]] std::uint64_t makespan(const training_layout& layout, std::span<const chunk_work> work,
                                         std::size_t chunks) {
        if (chunks == 1) {
            checked sum(0, "seconds");
            for (const chunk_work& one : work) {
                const std::uint64_t passes = checked(one.forward, "seconds") + one.backward_data + one.backward_weights;
                sum += work.size() == 1 ? std::uint64_t{checked(passes, "seconds") * layout.microbatches} : passes;
            }
            return sum;
        }
        const pipeline_schedule schedule = schedule_of(layout);
        return schedule == pipeline_schedule::zero_bubble
                   ? pipeline_order::fitted(schedule, layout.sizes.pp, layout.sizes.vpp, layout.microbatches, work)
                         .run(work)
                         .makespan
                   : order_of(layout).run(work).makespan;
    }

    /// Returns the seconds that the busiest stage needs for its passes, including their exposed exchanges.
    [[nodiscard]] static double longest_work(const training_layout& layout, std::span<const detail::pass_seconds> work,
                                             std::span<const detail::pass_seconds> exposed,
                                             const batches& microbatches) {
        const std::size_t kinds = microbatches.all.size();
        const std::size_t chunks = work.size() / kinds;
        double longest = 0;
        for (std::uint64_t replica = 0; replica < (kinds == 1 ? 1 : layout.sizes.dp); ++replica) {
            for (std::uint64_t stage = 0; stage < layout.sizes.pp; ++stage) {
                double sum = 0;
                for (std::uint64_t i = 0; i < (kinds == 1 ? 1 : layout.microbatches); ++i) {
                    const std::size_t batch = kinds == 1 ? 0 : i * layout.sizes.dp + replica;
                    for (std::size_t chunk = stage; chunk < chunks; chunk += layout.sizes.pp) {
                        sum += work[batch * chunks + chunk].all() +
                               (exposed.empty() ? 0 : exposed[chunk].all() * microbatches.part[batch]);
                    }
                }
                longest = std::max(longest, sum * (kinds == 1 ? static_cast<double>(layout.microbatches) : 1));
            }
        }
        return longest;
    }

    /// Returns the seconds for each sent byte, for a rank of each stage. Stages differ if a node ends in the middle of
    /// a stage.
    [[nodiscard]] std::span<const axis_seconds> byte_seconds_of(const training_layout& layout,
                                                                const parallel_layout& first) {
        const parallel_sizes& sizes = layout.sizes;
        std::vector<axis_seconds>& known =
            byte_seconds_[{sizes.dp, sizes.cp, sizes.tp, sizes.pp, sizes.ep, sizes.expert_tp(), sizes.dp_replicate,
                           static_cast<std::uint64_t>(layout.sharded)}];
        if (known.empty()) {
            const std::uint64_t node = cluster_.network.gpus_per_node;
            const std::uint64_t ranks = sizes.stage_ranks();
            const bool are_alike = node == 0 || ranks % node == 0;
            for (std::uint64_t stage = 0; stage < sizes.pp; ++stage) {
                known.push_back(stage != 0 && are_alike
                                    ? known.front()
                                    : seconds_of_a_byte(first.at(first.rank_of({.pp = stage})), layout.sharded));
            }
        }
        return known;
    }

    training_plan plan_;
    detail::model_units units_;
    detail::expert_layers experts_;
    mask_set masks_;
    std::vector<std::uint64_t> lengths_;
    memory_options memory_;
    training_cluster cluster_;
    trainer_habits trainer_;
    context_exchange context_;
    bool is_even_ = true;
    double useful_ = 0;
    /// seconds that the slowest group of ranks of any stage needs to send its bytes, for the layout that was predicted
    /// last
    double slowest_exchange_ = 0;
    std::vector<precision_setting> settings_{};
    std::map<std::pair<std::uint64_t, std::uint64_t>, stages> stages_{};
    std::map<std::uint64_t, batches> batches_{};
    std::map<std::array<std::uint64_t, 4>, pipeline_order> orders_{};
    std::uint64_t passes_kept_ = 0;  ///< number of forward passes in `orders_`
    std::map<std::array<std::uint64_t, 8>, std::vector<axis_seconds>> byte_seconds_{};
    detail::unit_cache<7, detail::state_sums> states_{};
    detail::unit_cache<6, detail::chunk_sums> kept_{};
    detail::unit_cache<7, detail::buffer_sums> buffers_{};
    detail::unit_cache<4, detail::unit_work> work_{};
    detail::unit_cache<7, detail::unit_traffic> traffic_{};
    detail::unit_cache<7, detail::pass_bytes> exchanged_{};
    detail::unit_cache<8, detail::state_bytes_sent> sent_states_{};
    detail::unit_cache<4, detail::message_bytes> messages_{};
};

}  // namespace floptally
