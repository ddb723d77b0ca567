// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <floptally/bytes/layout_predictor.hpp>
#include <floptally/bytes/rank_memory.hpp>
#include <floptally/bytes/training_layout.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/cost_entry.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/sharding.hpp>
#include <floptally/lists/index_range.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/parallel/pipeline_schedule.hpp>
#include <floptally/parallel/pipeline_split.hpp>
#include <floptally/parallel/rank_work.hpp>
#include <floptally/search/measured_step.hpp>
#include <floptally/step/layout_text.hpp>
#include <floptally/step/memory.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Searches all layouts of a model on a cluster for those that fit the memory, sorted by predicted step time.

namespace floptally::inline v0_3 {

/// The options of a search. The search tries only layouts with the values that are set here.
struct search_options {
    std::optional<std::uint64_t> dp{};
    std::optional<std::uint64_t> cp{};
    std::optional<std::uint64_t> tp{};
    std::optional<std::uint64_t> pp{};
    std::optional<std::uint64_t> vpp{};
    std::optional<std::uint64_t> ep{};
    std::optional<std::uint64_t> etp{};
    std::optional<std::uint64_t> dp_replicate{};
    std::optional<std::uint64_t> microbatch{};
    std::optional<zero_stage> sharded{};
    std::optional<recompute> recomputed{};
    std::optional<pipeline_schedule> schedule{};
    std::optional<bool> sequence_parallel{};  ///< empty: sequence parallelism is on if tp is above 1
    std::uint64_t largest_microbatch = 8;     ///< largest number of sequences in a microbatch
    std::uint64_t largest_tp = 0;             ///< largest number of tensor-parallel ranks; 0: as many as a node has
                                              ///< GPUs
    std::uint64_t largest_vpp = 24;           ///< largest number of chunks per pipeline rank
    /// Smallest number of tokens of a sequence on each context-parallel rank, because kernels with fewer tokens are
    /// slow. If `cp` is set, ranks may have fewer tokens.
    std::uint64_t least_context = 2048;
    /// A function that the search calls from time to time. Its arguments are the number of layouts tried so far and the
    /// number of all layouts.
    std::function<void(std::uint64_t, std::uint64_t)> progress{};
};

/// The result of a search: the layouts that fit the memory, fastest first.
struct layout_search {
    std::vector<layout_prediction> found{};
    std::uint64_t tried = 0;       ///< number of tried layouts; each has as many ranks as there are GPUs
    std::uint64_t impossible = 0;  ///< number of layouts that do not divide the model, batch or ranks evenly
    std::uint64_t too_large = 0;   ///< number of layouts that do not fit the memory
    std::vector<std::string> assumed{};
    /// A measured step to compare the layouts with. `search_layouts` leaves it empty.
    std::optional<measured_step> measured{};

    /// Returns the indices in `found` of the layouts that no other layout beats in both time and memory, fastest first.
    [[nodiscard]] std::vector<std::size_t> pareto_front() const {
        std::vector<std::size_t> front;
        for (std::size_t i = 0; i < found.size(); ++i) {
            if (front.empty() || found[i].memory.gib < found[front.back()].memory.gib) {
                front.push_back(i);
            }
        }
        return front;
    }
};

}  // namespace floptally

namespace floptally::inline v0_3::detail {

[[nodiscard]] inline std::vector<std::uint64_t> divisors_of(std::uint64_t number) {
    std::vector<std::uint64_t> all;
    for (std::uint64_t i = 1; i * i <= number; ++i) {
        if (number % i == 0) {
            all.push_back(i);
            if (i * i != number) {
                all.push_back(number / i);
            }
        }
    }
    std::sort(all.begin(), all.end());
    return all;
}

/// Lists the layouts that a search tries.
class layout_candidates {
  public:
    layout_candidates(const layout_predictor& predictor, const search_options& options)
        : options_(options), trainer_(predictor.trainer()), gpus_(predictor.cluster().gpus) {
        samples_ = predictor.lengths().size();
        layers_ = num_layers(predictor.model());
        node_ = predictor.cluster().network.gpus_per_node;
        shortest_ = *std::min_element(predictor.lengths().begin(), predictor.lengths().end());
        for (const model_part& part : predictor.model()) {
            for (const cost_entry& entry : part.cost.entries()) {
                if (entry.sharding.by == sharding_kind::experts) {
                    experts_ = std::max(experts_, entry.sharding.units);
                }
            }
        }
        collect();
    }

    [[nodiscard]] const std::vector<training_layout>& all() const { return all_; }

  private:
    [[nodiscard]] static bool allows(const std::optional<std::uint64_t>& fixed, std::uint64_t size) {
        return !fixed || *fixed == size;
    }

    void collect() {
        const std::uint64_t node = node_ == 0 ? gpus_ : node_;
        const std::uint64_t most_tp = options_.largest_tp == 0 ? node : options_.largest_tp;
        for (const std::uint64_t tp : divisors_of(gpus_)) {
            const bool tries_tp =
                options_.tp ? *options_.tp == tp : tp == 1 || (trainer_.has_tensor_parallel && tp <= most_tp);
            for (const std::uint64_t cp : tries_tp ? divisors_of(gpus_ / tp) : std::vector<std::uint64_t>{}) {
                // each sequence has 2 cp chunks, and a chunk needs at least one token for each tensor-parallel rank
                const bool is_long = options_.cp || cp == 1 || shortest_ / cp >= options_.least_context;
                if (!allows(options_.cp, cp) || (cp > 1 && shortest_ / (2 * cp) < tp) || !is_long) {
                    continue;
                }
                for (const std::uint64_t pp : divisors_of(gpus_ / tp / cp)) {
                    const bool tries_pp =
                        options_.pp ? *options_.pp == pp : pp == 1 || (trainer_.has_pipelines && pp <= layers_ + 2);
                    const std::uint64_t dp = gpus_ / tp / cp / pp;
                    if (tries_pp && allows(options_.dp, dp) && samples_ % dp == 0) {
                        put_experts({.dp = dp, .cp = cp, .tp = tp, .pp = pp});
                    }
                }
            }
        }
    }

    void put_experts(parallel_sizes sizes) {
        if (experts_ == 0) {
            if (allows(options_.ep, 1)) {
                put_chunks(sizes);
            }
            return;
        }
        std::vector<std::uint64_t> shards{1};
        if (sizes.tp != 1) {
            shards.push_back(sizes.tp);
        }
        if (options_.etp) {
            shards = {*options_.etp};
        }
        for (const std::uint64_t ep : divisors_of(experts_)) {
            for (const std::uint64_t etp : shards) {
                if (allows(options_.ep, ep) && sizes.stage_ranks() % (ep * etp) == 0) {
                    sizes.ep = ep;
                    sizes.etp = etp;
                    put_chunks(sizes);
                }
            }
        }
    }

    /// Returns true if a search tries this number of chunks per rank. If pp divides the number of layers, chunks must
    /// have equally many layers. Otherwise the number of chunks per rank must be a power of two, or give equal chunks
    /// when embedding or loss count as layers.
    [[nodiscard]] bool tries_chunks(const parallel_sizes& sizes, std::uint64_t vpp) const {
        const std::uint64_t chunks = sizes.pp * vpp;
        if (options_.vpp) {
            return *options_.vpp == vpp;
        }
        return vpp == 1 || (sizes.pp > 1 && chunks <= layers_ + 2 &&
                            (layers_ % sizes.pp == 0 ? layers_ % chunks == 0
                                                     : (layers_ + 1) % chunks == 0 || (layers_ + 2) % chunks == 0 ||
                                                           (vpp & (vpp - 1)) == 0));
    }

    void put_chunks(parallel_sizes sizes) {
        for (std::uint64_t vpp = 1; vpp <= std::max(options_.largest_vpp, options_.vpp.value_or(1)); ++vpp) {
            if (tries_chunks(sizes, vpp)) {
                sizes.vpp = vpp;
                put_batches(sizes);
            }
        }
    }

    void put_batches(parallel_sizes sizes) {
        const std::uint64_t own = samples_ / sizes.dp;
        for (const std::uint64_t microbatch : divisors_of(own)) {
            const bool tries =
                options_.microbatch ? *options_.microbatch == microbatch : microbatch <= options_.largest_microbatch;
            if (!tries) {
                continue;
            }
            std::vector<pipeline_schedule> schedules{pipeline_schedule::one_f_one_b};
            if (trainer_.has_zero_bubble && sizes.pp > 1 && sizes.vpp == 1) {
                schedules.push_back(pipeline_schedule::zero_bubble);
            }
            if (options_.schedule) {
                schedules = {*options_.schedule};
            }
            for (const pipeline_schedule schedule : schedules) {
                put_states({.sizes = sizes,
                            .microbatch = microbatch,
                            .microbatches = own / microbatch,
                            .schedule = sizes.vpp > 1 && schedule == pipeline_schedule::one_f_one_b
                                            ? pipeline_schedule::interleaved
                                            : schedule,
                            .sequence_parallel = options_.sequence_parallel.value_or(sizes.tp > 1)});
            }
        }
    }

    void put_states(training_layout layout) {
        const std::uint64_t data = layout.sizes.dp;
        std::vector<std::uint64_t> replicas{1};
        const std::uint64_t inside = layout.sizes.tp * layout.sizes.cp;
        if (trainer_.has_replicas && node_ != 0 && data * inside > node_ && node_ % inside == 0) {
            replicas.push_back(data * inside / node_);
        }
        if (options_.dp_replicate) {
            replicas = {*options_.dp_replicate};
        }
        for (std::size_t stage = 0; stage < trainer_.shards.size(); ++stage) {
            layout.sharded = static_cast<zero_stage>(stage);
            if (options_.sharded ? *options_.sharded != layout.sharded : !trainer_.shards[stage]) {
                continue;
            }
            for (const std::uint64_t replicate : replicas) {
                layout.sizes.dp_replicate = replicate;
                for (const recompute recomputed : {recompute::none, recompute::attention, recompute::full}) {
                    if (!options_.recomputed || *options_.recomputed == recomputed) {
                        layout.recomputed = recomputed;
                        all_.push_back(layout);
                    }
                }
            }
        }
    }

    const search_options& options_;
    const trainer_habits& trainer_;
    std::uint64_t gpus_;
    std::uint64_t node_ = 0;
    std::uint64_t samples_ = 0;
    std::uint64_t layers_ = 0;
    std::uint64_t experts_ = 0;
    std::uint64_t shortest_ = 0;
    std::vector<training_layout> all_{};
};

}  // namespace floptally::detail

namespace floptally::inline v0_3 {

/// Returns the layouts that a search with these options tries, whether they are possible or not. Sizes are divisors of
/// the numbers of GPUs, sequences and experts. Experts have one tensor-parallel rank, or as many as the dense layers.
/// If pp divides the number of layers, all chunks have equally many layers. Otherwise the number of chunks per rank is
/// a power of two, or gives equal chunks when embedding and loss count as layers.
[[nodiscard]] inline std::vector<training_layout> layouts_to_try(const layout_predictor& predictor,
                                                                 const search_options& options = {}) {
    return detail::layout_candidates(predictor, options).all();
}

/// Tries all layouts that the options allow and returns those that fit, fastest first. Times count as equal if they
/// differ by less than 0.001 % of the fastest. Among these, the layout with the smallest tp·cp·pp·vpp·ep comes first,
/// then the one with less memory.
[[nodiscard]] inline layout_search search_layouts(layout_predictor& predictor, const search_options& options = {}) {
    layout_search search{.assumed = predictor.assumed()};
    const std::vector<training_layout> layouts = layouts_to_try(predictor, options);
    constexpr std::uint64_t step = 1024;
    for (const training_layout& layout : layouts) {
        if (options.progress && search.tried % step == 0) {
            options.progress(search.tried, layouts.size());
        }
        ++search.tried;
        const bool is_interleaved = layout.schedule == pipeline_schedule::interleaved;
        if (is_interleaved && layout.microbatches % layout.sizes.pp != 0) {
            ++search.impossible;
            continue;
        }
        try {
            layout_prediction predicted = predictor.predict_if_it_fits(layout);
            if (predicted.memory.fits) {
                search.found.push_back(std::move(predicted));
            } else {
                ++search.too_large;
            }
        } catch (const error&) {
            ++search.impossible;
        }
    }
    if (options.progress) {
        options.progress(layouts.size(), layouts.size());
    }
    double soonest = 0;
    for (const layout_prediction& found : search.found) {
        soonest = soonest == 0 ? found.seconds : std::min(soonest, found.seconds);
    }
    // A prediction is not exact to a thousandth of a per cent, so smaller differences do not count.
    const auto rank_of = [soonest](const layout_prediction& found) {
        const parallel_sizes& sizes = found.layout.sizes;
        return std::tuple(std::llround(found.seconds / soonest * 1e5),
                          sizes.tp * sizes.cp * sizes.pp * sizes.vpp * sizes.ep, found.memory.gib);
    };
    std::stable_sort(search.found.begin(), search.found.end(),
                     [&](const layout_prediction& a, const layout_prediction& b) { return rank_of(a) < rank_of(b); });
    return search;
}

/// Returns a text about one layout. If the layout is impossible, the text says which numbers do not divide evenly. If
/// the layout does not fit, the text says which rank lacks how many GiB. If the layout fits, the text says how long a
/// step takes and how many layouts are faster.
[[nodiscard]] inline std::string explain(layout_predictor& predictor, const layout_search& search,
                                         const training_layout& layout) {
    const auto number = [](double value, int digits) { return detail::fixed_decimal(value, digits); };
    const std::string name = to_string(layout);
    layout_prediction predicted;
    try {
        predicted = predictor.predict(layout);
    } catch (const error& problem) {
        return detail::text_of({name, ": impossible. ", problem.what()});
    }
    const layout_memory& memory = predicted.memory;
    if (!memory.fits) {
        std::string parts;
        for (const auto& [kind, bytes] :
             {std::pair("weights", memory.held.weights), std::pair("gradients", memory.held.gradients),
              std::pair("optimizer", memory.held.optimizer), std::pair("activations", memory.held.activations),
              std::pair("logits", memory.held.logits), std::pair("buffers", memory.held.buffers)}) {
            append_item(parts, detail::text_of({kind, " ", number(static_cast<double>(bytes) / 1073741824, 2)}));
        }
        return detail::text_of({name, ": does not fit. A rank of stage ", memory.stage, " needs ",
                                number(memory.gib, 2), " GiB of ", number(predictor.cluster().memory_gib, 2), ", ",
                                number(memory.gib - predictor.cluster().memory_gib, 2), " GiB too many: ", parts,
                                predictor.cluster().reserve_gib == 0
                                    ? std::string()
                                    : ", reserve " + number(predictor.cluster().reserve_gib, 2)});
    }
    std::size_t sooner = 0;
    bool is_listed = false;
    for (const layout_prediction& other : search.found) {
        sooner += other.seconds < predicted.seconds ? 1 : 0;
        is_listed = is_listed || other.layout == layout;
    }
    std::string text = detail::text_of({name, ": fits, and a step takes ", number(predicted.seconds, 4), " s"});
    if (!search.found.empty()) {
        const double more = 100 * (predicted.seconds / search.found.front().seconds - 1);
        text += detail::text_of(
            {"; ", sooner, " of ", search.found.size(), " layouts are sooner, the first by ", number(more, 1), " %"});
    }
    return text + (is_listed ? "" : "; the search does not try it with these options");
}

/// Returns a pipeline's split of layers as Megatron's layout text. Returns an empty text if all chunks have equally
/// many layers.
[[nodiscard]] inline std::string layout_text_of(const layout_predictor& predictor, const training_layout& layout) {
    const pipeline_split split = predictor.split_of_layers(layout);
    if (split.described().empty()) {
        return {};
    }
    std::uint64_t predictions = 0;  // number of layers for multi-token prediction, on the last chunk
    for (const model_part& part : predictor.model()) {
        predictions += part.name.view() == "mtp" && part.role == part_role::head ? 1U : 0U;
    }
    std::string text = "E";
    for (const index_range& chunk : split.chunks()) {
        const bool is_last = chunk.last == split.num_layers() && &chunk == &split.chunks().back();
        detail::append(text, {chunk.size() == 0 ? std::string() : detail::text_of({"t*", chunk.size()}),
                              is_last ? (predictions == 0 ? "L" : detail::text_of({"m*", predictions, "L"})) : "|"});
    }
    return text;
}

/// Returns a layout as the settings of a trainer. Adds the batch, recompute and the split of layers if the format has
/// settings for them.
[[nodiscard]] inline std::string settings_of(const layout_predictor& predictor, const training_layout& layout,
                                             layout_format format) {
    std::string text = to_text(
        trainer_layout{.sizes = layout.sizes, .sharded = layout.sharded, .sequence_parallel = layout.sequence_parallel},
        format);
    const std::uint64_t samples = layout.microbatch * layout.microbatches;
    if (format == layout_format::megatron) {
        text.pop_back();  // removes the end of the line
        detail::append(text,
                       {" --micro-batch-size ", layout.microbatch, " --global-batch-size ", samples * layout.sizes.dp});
        text += layout.recomputed == recompute::full ? " --recompute-granularity full --recompute-method uniform "
                                                       "--recompute-num-layers 1"
                : layout.recomputed == recompute::attention ? " --recompute-granularity selective"
                                                            : "";
        if (const std::string split = layout_text_of(predictor, layout); !split.empty()) {
            detail::append(text, {" --pipeline-model-parallel-layout '", split, "'"});
        }
        text += "\n";
    } else if (format == layout_format::torchtitan) {
        detail::append(text, {"\n[training]\nlocal_batch_size = ", layout.microbatch * layout.microbatches,
                              "\nglobal_batch_size = ", samples * layout.sizes.dp, "\n"});
    }
    return text;
}

}  // namespace floptally
