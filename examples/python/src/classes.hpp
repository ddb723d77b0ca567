// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
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
#include <floptally/descriptors/cost_row.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/hardware/memory_bandwidth.hpp>
#include <floptally/hardware/peak.hpp>
#include <floptally/input/add_input.hpp>
#include <floptally/input/model_input.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/rules/mask.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/statistic.hpp>
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
/// Declarations that units of the extension share: the values behind Python's classes, what reads them of arguments,
/// and the function of each unit that makes its classes.

namespace floptally::detail::python {

/// A mask by its text form: for a pickle. A callable must have been registered before, under the same name.
[[nodiscard]] mask mask_of_text(std::string_view text);

/// Tokens of a sequence.
[[nodiscard]] std::uint32_t to_length(py::handle value, std::string_view field);

/// The masks of a list of `Mask`.
[[nodiscard]] mask_set to_masks(py::handle list);

/// A preset by its name, or the object itself.
[[nodiscard]] const convention& to_convention(py::handle how);

/// The plan of an object that lives as long as it is read, or the one of a step that trains everything.
[[nodiscard]] const training_plan& to_plan(py::handle plan);

inline constexpr const char* statistic_words[] = {"count", "tokens", "keys", "squares", "cached", "crossed", "routed"};

/// One row of a cost with what it refers to.
struct whole_row {
    component_name component;
    std::string weight;
    cost_row row;
    mask attends;

    /// The word of its statistic, or its Mask.
    [[nodiscard]] py::object unit() const;
};

/// Rows of a cost, and a cost of a list of `Row` objects or of tuples of their first arguments.
[[nodiscard]] std::vector<whole_row> whole_rows(const cost& model);
[[nodiscard]] cost cost_of_rows(py::handle rows);

/// A model as it is counted by a convention and a plan: folded once, kept by its cost and shared by all that it
/// counted.
struct folded_model {
    folded_model(std::shared_ptr<const model_config> config, const convention& how, const training_plan& trains);

    std::shared_ptr<const model_config> model;
    training_plan plan;
    flop_counter counter;
    mask_set masks;  ///< of the model, and those that the convention asks for besides
};

/// Python's `Cost`: a model as a config describes it, immutable, the plan by which it trains where none is given, and
/// what it was last folded to.
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
    [[nodiscard]] const cost& of() const { return model_->cost; }

    /// Folding is the dear part of a count: the last few are kept.
    [[nodiscard]] std::shared_ptr<const folded_model> folded(const convention& how, const training_plan& plan) const;

    /// Equality: weights in the same places, trained alike, do the same work; names of types and notes may differ.
    [[nodiscard]] friend bool operator==(const model_cost& a, const model_cost& b) {
        return a.of() == b.of() && a.plan() == b.plan();
    }

  private:
    std::shared_ptr<const model_config> model_;
    training_plan plan_;
    mutable std::vector<std::shared_ptr<const folded_model>> kept_;  // under the GIL
};

/// A plan that is given, else the one that the model has.
[[nodiscard]] const training_plan& to_plan(py::handle plan, const model_cost& model);

/// Requests of a list of (prompt, generated) or (prompt, generated, cached), and how many tokens of a prompt are
/// prefilled at once.
[[nodiscard]] std::vector<request> to_requests(py::handle list);
[[nodiscard]] std::uint32_t to_prefill_chunk(py::handle given);

/// The receiver of a batch: a model, which needs one and runs a pass over it, or a tally, to which any part is added.
enum class input_for : std::uint8_t { model, tally };

/// The keyword arguments that say what a batch is, and what they point to.
class input_arguments {
  public:
    input_arguments(const arguments& given, const mask_set& masks, input_for receiver = input_for::model);

    [[nodiscard]] const model_input& input() const { return input_; }

    /// Its requests, where it is nothing else.
    [[nodiscard]] bool has_requests_alone() const { return input_.has_requests_alone(); }

    /// Its sequences that have a past; none where what was counted before may have some.
    [[nodiscard]] std::optional<std::vector<sequence>> cached() const;
    /// The batch as a tally of `masks`, counted without the GIL where it is long.
    [[nodiscard]] tally counted(const model_config& model, const mask_set& masks) const;
    /// Adds the batch to a tally of any masks: counted apart, without the GIL where it is long, and then at once, so
    /// that no thread ever sees a part.
    void add_to(tally& to) const;

  private:
    integer_view keep(py::handle value, const char* field, std::size_t columns = 0);
    void read_lengths();
    void read_boundaries();
    void read_grids(py::handle grid_thw, const char* field, std::vector<grid>& to);
    /// Reads what makes a tally of its own.
    void read_counted(const mask_set& masks);
    /// Adds a pass: what is given as samples is one pass of the model, unless `measured` says how many there were; a
    /// tally has its own.
    void add_pass(py::handle words, const mask_set& masks);

    const arguments& given_;
    model_input input_;
    std::array<std::optional<integers>, 12> kept_;
    std::size_t kept_count_ = 0;
    std::size_t integers_ = 0;
    bool gives_routed_ = false;
    bool gives_tally_ = false;
};

/// Throws where one call names its sequences twice, by lengths, by boundaries and by an attention mask, or a part of
/// what it does not have.
void require_one_batch(const arguments& given);

/// Throws where requests would be counted as a step that trains.
void require_forward(const model_input& batch, const training_plan& plan);

/// The masks of a tally by the arguments cost_or_masks, convention and plan: those that a cost needs, or a list of
/// them.
[[nodiscard]] mask_set masks_for(const arguments& given);

/// Python's `Breakdown`: what was counted of a batch. A report is made of it where one is shown.
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
    bool shows_kept_masks;  ///< and not those of the model, which a convention may count by other words
    std::optional<padding_flops> padding{};  ///< what the padded view is spent on, where that is known
    /// Sequences with a past, which reads a cache; none where it was counted before, and nobody knows.
    std::optional<std::vector<sequence>> cached{};
    /// Requests, where the batch is nothing else, and how many tokens of a prompt are prefilled at once.
    std::vector<request> requests{};
    std::uint32_t prefill_chunk = whole_prompt;
    std::optional<mfu_report> mfu{};  ///< where a step was measured, …
    py::object measured_by{};         ///< … the keywords that said it, for a waterfall
};

/// The name of an Accelerator, or a name; none where it is None.
[[nodiscard]] std::optional<std::string> to_product(py::handle part);

/// By the arguments accelerator, peak_tflops, peak_kind, precision and clock_mhz.
[[nodiscard]] chosen_peak peak_of(const arguments& given);
/// Precisions of what runs in others than the rest, by the peaks of a product ("" where there is none).
[[nodiscard]] std::optional<std::vector<precision_setting>> precisions_of(const arguments& given,
                                                                          const std::string& product);

/// Says a text, where there is one, as a warning: once at each place.
void warn(const std::string& text);

/// An MFU above 100 % is a wrong time, a wrong number of GPUs or a wrong peak.
void warn_above_peak(double mfu);
/// Warns of one that is far too small as well.
void warn_if_absurd(double mfu, counted_passes counted);

/// Times that components need at the memory's bandwidth, by the keywords of a step; none where that is not known or
/// their bytes cannot be counted. What was given for it alone must be of use. `microbatches`: of all pipelines, each of
/// which reads the weights; 0 where there is none. `has_elementwise`: the time of such kernels is known.
[[nodiscard]] std::optional<time_at_memory> memory_of(const counted_work& work, const arguments& said,
                                                      const training_plan& plan,
                                                      const std::vector<work_at_peak>& at_peaks,
                                                      std::uint64_t microbatches, bool has_elementwise);

/// The FLOPs of a `MaskedTiles` that is of this work; none where it is None.
[[nodiscard]] std::optional<std::vector<work_at_peak>> tiles_at_peaks(py::handle given, const counted_work& work,
                                                                      double peak_tflops,
                                                                      const std::vector<precision_setting>& settings);
/// The batch of each rank of context parallelism by a `ContextShares` of this work; the whole where it is None.
[[nodiscard]] std::vector<tally> shares_of(py::handle given, const counted_work& work);
/// An error of `field` where two batches have other sums of text.
void require_same_batch(const char* field, const tally& here, const tally& there, const char* sum, const char* advice);

/// A table as floptally/_html.py sets it.
[[nodiscard]] std::string table_json(const table& made);
[[nodiscard]] std::string report_json(const report& made);
[[nodiscard]] std::string meter_json(const meter& kept);
void resume_meter(meter& kept, const std::string& state);
void save_meter(const meter& kept, const std::string& path);
void load_meter(meter& kept, const std::string& path);
/// A JSON object as Python's dict.
[[nodiscard]] py::dict json_object(const std::string& text);

/// A trace from a file, packed by gzip too. May be called without the GIL.
[[nodiscard]] trace load_trace(const std::filesystem::path& path);

void bind_masks(py::module_& module);
void bind_plans(py::module_& module);
void bind_rows(py::module_& module);
void bind_costs(py::module_& module);
void bind_tallies(py::module_& module);
void bind_device_tallies(py::module_& module);
void bind_breakdowns(py::module_& module);
void bind_counts(py::module_& module);
void bind_bytes(py::module_& module);
void bind_masked_tiles(py::module_& module);
void bind_context_shares(py::module_& module);
void bind_traces(py::module_& module);
void bind_waterfalls(py::module_& module);
void bind_accelerators(py::module_& module);
void bind_meters(py::module_& module);
void bind_balance(py::module_& module);
void bind_ranks(py::module_& module);
void bind_shares(py::module_& module);
void bind_logs(py::module_& module);
void bind_reader(py::module_& module);

}  // namespace floptally::detail::python
