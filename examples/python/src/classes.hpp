// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <pybind11/numpy.h>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/decoding.hpp>
#include <floptally/batch/integer_view.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/bytes/byte_report.hpp>
#include <floptally/conventions/all.hpp>
#include <floptally/count/breakdown.hpp>
#include <floptally/count/convention.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_entry.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/hardware/memory_bandwidth.hpp>
#include <floptally/hardware/peak.hpp>
#include <floptally/input/add_input.hpp>
#include <floptally/input/model_input.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/step/meter.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/step/report.hpp>
#include <floptally/step/report_table.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/table.hpp>
#include <floptally/waterfall/component_times.hpp>
#include <floptally/waterfall/trace.hpp>
#include <floptally/waterfall/waterfall.hpp>

#include "arrays.hpp"
#include "binding.hpp"

/// @file
/// Declarations that the extension's units share: the values behind Python's classes, functions that read them from
/// arguments, and the function of each unit that creates its classes.

namespace floptally::python {

/// A mask by its text form, for a pickle. A callable must be registered under the same name before.
[[nodiscard]] mask mask_of_text(std::string_view text);

/// Tokens of a sequence.
[[nodiscard]] std::uint32_t to_length(py::handle value, std::string_view field);

/// The masks in a list of `Mask`.
[[nodiscard]] mask_set to_masks(py::handle list);

/// The preset of this name, or the object itself.
[[nodiscard]] const convention& to_convention(py::handle how);

/// The plan of an object that outlives the reference, or a plan that trains everything.
[[nodiscard]] const training_plan& to_plan(py::handle plan);

inline constexpr const char* statistic_names[] = {"count", "tokens", "keys", "squares", "cached", "crossed", "routed"};

/// One entry of a cost, with what it refers to.
struct whole_entry {
    component_name component;
    std::string weight;
    cost_entry entry;
    mask attends;

    /// The name of its accumulator, or its Mask.
    [[nodiscard]] py::object unit() const;
};

/// Entries of a cost; and a cost from a list of `Entry` objects, or of tuples of their first arguments.
[[nodiscard]] std::vector<whole_entry> whole_entries(const cost& model);
[[nodiscard]] cost cost_of_entries(py::handle entries);

/// A model folded for a convention and a plan. Computed once, cached by its cost, and shared by all results that it
/// counted.
struct folded_model {
    folded_model(std::shared_ptr<const model_config> config, const convention& how, const training_plan& trains);

    std::shared_ptr<const model_config> model;
    training_plan plan;
    flop_counter counter;
    mask_set masks;  ///< those of the model, and others that the convention needs
};

/// Python's `Cost`: a model, immutable, with the default plan and a cache of folded models.
class model_cost {
  public:
    explicit model_cost(model_config model, training_plan plan = {})
        : model_cost(std::make_shared<const model_config>(std::move(model)), std::move(plan)) {}
    model_cost(std::shared_ptr<const model_config> model, training_plan plan)
        : model_(std::move(model)), plan_(std::move(plan)) {}

    [[nodiscard]] const model_config& model() const { return *model_; }
    [[nodiscard]] const training_plan& plan() const { return plan_; }
    [[nodiscard]] model_cost with_plan(training_plan plan) const {
        model_cost other(*this);
        other.plan_ = std::move(plan);
        return other;
    }
    [[nodiscard]] const cost& full_cost() const { return model_->cost; }

    /// Folding is the expensive part of a count, so the last few results are cached.
    [[nodiscard]] std::shared_ptr<const folded_model> folded(const convention& how, const training_plan& plan) const;

    /// Equality: the same weights in the same places with the same plan do the same work. Type names and notes may
    /// differ.
    [[nodiscard]] friend bool operator==(const model_cost& a, const model_cost& b) {
        return a.full_cost() == b.full_cost() && a.plan() == b.plan();
    }

  private:
    std::shared_ptr<const model_config> model_;
    training_plan plan_;
    mutable std::vector<std::shared_ptr<const folded_model>> kept_;  // only accessed under the GIL
};

/// The model's own plan, with what the passed plan adds to it. Throws if the two contradict each other.
[[nodiscard]] training_plan to_plan(py::handle plan, const model_cost& model);

/// Requests from a list of (prompt, generated) or (prompt, generated, cached), and the prompt tokens in one prefill
/// pass.
[[nodiscard]] std::vector<request> to_requests(py::handle list);
[[nodiscard]] std::uint32_t to_prefill_chunk(py::handle tokens);

/// Where a batch goes: a model needs one and runs one pass over it; a tally takes any part.
enum class input_for : std::uint8_t { model, tally };

/// The keyword arguments that describe a batch, and the memory that they refer to.
class input_arguments {
  public:
    input_arguments(const arguments& args, const mask_set& masks, input_for receiver = input_for::model);

    [[nodiscard]] const model_input& input() const { return input_; }

    /// The batch's requests, if it has nothing else.
    [[nodiscard]] bool has_requests_alone() const { return input_.has_requests_alone(); }

    /// The batch's sequences with a past; nullopt if a tally may have some.
    [[nodiscard]] std::optional<std::vector<sequence>> cached() const;
    /// The batch as a tally of `masks`. Large batches are counted without the GIL.
    [[nodiscard]] tally counted(const model_config& model, const mask_set& masks) const;
    /// Adds the batch to a tally with any masks. It is counted separately, without the GIL if large, and then added at
    /// once, so that no thread sees a part of it.
    void add_to(tally& to) const;

  private:
    integer_view keep(py::handle value, const char* field, std::size_t columns = 0);
    void read_lengths();
    void read_boundaries();
    void read_grids(py::handle grid_thw, const char* field, std::vector<grid>& to);
    /// Reads the keywords that have a tally of their own.
    void read_counted(const mask_set& masks);
    /// Adds the number of passes: one, unless `measured` says otherwise. A tally has its own.
    void add_pass(py::handle accumulators, const mask_set& masks);

    const arguments& given_;
    model_input input_;
    std::array<std::optional<integers>, 12> kept_;
    std::size_t kept_count_ = 0;
    std::size_t integers_ = 0;
    bool gives_routed_ = false;
    bool gives_tally_ = false;
};

/// Throws if a call describes its sequences twice (by lengths, boundaries and an attention mask), or a part of what it
/// does not have.
void require_one_batch(const arguments& args);

/// Throws if requests would be counted as a training step.
void require_forward(const model_input& batch, const training_plan& plan);

/// The masks of a tally, from the arguments cost_or_masks, convention and plan: those that a cost needs, or a list.
[[nodiscard]] mask_set masks_for(const arguments& args);

/// Python's `Breakdown`: the count of a batch. A report is created when one is shown.
struct counted_work {
    counted_work(std::shared_ptr<const folded_model> folded, tally counted, bool only_kept_masks = false)
        : as(std::move(folded)),
          batch(std::move(counted)),
          work(as->counter.evaluate(batch)),
          shows_kept_masks(only_kept_masks) {}

    [[nodiscard]] const mask_set& masks() const { return shows_kept_masks ? batch.masks() : as->model->cost.masks(); }
    [[nodiscard]] std::string_view convention_name() const { return as->counter.counted_as().name; }
    [[nodiscard]] report whole() const;

    std::shared_ptr<const folded_model> as;
    tally batch;
    breakdown work;
    bool shows_kept_masks;  ///< and not the model's; a convention may count those by other accumulators
    std::optional<padding_flops> padding{};  ///< padded FLOPs by cause, if known
    /// Sequences with a past, which read a cache. Nullopt if a tally was passed, since it does not know.
    std::optional<std::vector<sequence>> cached{};
    /// Requests, if the batch has nothing else, and the prompt tokens in one prefill pass.
    std::vector<request> requests{};
    std::uint32_t prefill_chunk = whole_prompt;
    std::optional<mfu_report> mfu{};  ///< set by measure(), …
    py::object measured_by{};         ///< … with its keywords, for a waterfall
};

/// The name of an Accelerator, or a name; nullopt if it is None.
[[nodiscard]] std::optional<std::string> to_product(py::handle part);

/// The peak, by the arguments accelerator, peak_tflops, peak_kind, precision and clock_mhz.
[[nodiscard]] chosen_peak peak_of(const arguments& args);
/// The precisions argument with the peaks of an accelerator ("" without one).
[[nodiscard]] std::optional<std::vector<precision_setting>> precisions_of(const arguments& args,
                                                                          const std::string& product);

/// Warns with a text, unless it is empty. Python shows it once for each place.
void warn(const std::string& text);

/// Warns if an MFU is above 100 %: the time, the number of GPUs or the peak must be wrong.
void warn_above_peak(double mfu);
/// Also warns if it is far too small.
void warn_if_absurd(double mfu, counted_passes counted);

/// Times that components need at the memory's bandwidth, by the keywords of a step. Nullopt if the bandwidth is unknown
/// or the bytes cannot be counted. Throws if a keyword for it has no use. microbatches: of all pipelines, each reads
/// the weights; 0 if unknown. has_elementwise: the time of element-wise kernels is known.
[[nodiscard]] std::optional<time_at_memory> memory_of(const counted_work& work, const arguments& said,
                                                      const training_plan& plan,
                                                      const std::vector<work_at_peak>& at_peaks,
                                                      std::uint64_t microbatches, bool has_elementwise);

/// The FLOPs of a `MaskedTiles` of the same batch; nullopt if it is None.
[[nodiscard]] std::optional<std::vector<work_at_peak>> tiles_at_peaks(py::handle tiled, const counted_work& work,
                                                                      double peak_tflops,
                                                                      const std::vector<precision_setting>& settings);
/// The batch of each context-parallel rank, by a `ContextShards` of the same batch; the whole batch if it is None.
[[nodiscard]] std::vector<tally> shards_of(py::handle sharded, const counted_work& work);
/// Throws an error of `field` if two batches have different text sums.
void require_same_batch(const char* field, const tally& here, const tally& there, const char* sum, const char* advice);

/// A table in the form that floptally/_html.py takes.
[[nodiscard]] std::string table_json(const table& shown);
[[nodiscard]] std::string report_json(const report& shown);
[[nodiscard]] std::string meter_json(const meter& source);
/// Continues the run of a saved state, also one that was counted by another plan or convention. Returns false for such
/// a state.
bool resume_meter(meter& target, const std::string& state);
void save_meter(const meter& source, const std::string& path);
bool load_meter(meter& target, const std::string& path);
/// A JSON object as a Python dict.
[[nodiscard]] py::dict json_object(const std::string& text);

void bind_masks(py::module_& module);
void bind_plans(py::module_& module);
void bind_entries(py::module_& module);
void bind_costs(py::module_& module);
void bind_tallies(py::module_& module);
void bind_device_tallies(py::module_& module);
void bind_breakdowns(py::module_& module);
void bind_counts(py::module_& module);
void bind_comparisons(py::module_& module);
void bind_bytes(py::module_& module);
void bind_masked_tiles(py::module_& module);
void bind_context_shards(py::module_& module);
void bind_traces(py::module_& module);
void bind_waterfalls(py::module_& module);
void bind_accelerators(py::module_& module);
void bind_meters(py::module_& module);
void bind_balance(py::module_& module);
void bind_ranks(py::module_& module);
void bind_shares(py::module_& module);
void bind_logs(py::module_& module);
void bind_reader(py::module_& module);
void bind_expect(py::module_& module);

}  // namespace floptally::python
