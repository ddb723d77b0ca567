// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/count/breakdown.hpp>
#include <floptally/count/convention.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/count/padding.hpp>
#include <floptally/count/trained_parameters.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_entry.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/descriptors/sharding.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/hardware/accelerator.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/step/work_unit.hpp>
#include <floptally/text/text.hpp>

/// @file
/// The report of a step as plain data: model, plan, batch, FLOPs, MFU, notes.

namespace floptally::inline v0_3 {

/// The MFU of a step, with the measured time and the peak to which the MFU refers.
struct mfu_report {
    floptally::utilization utilization{};
    measurement step{};
    std::string accelerator{};  ///< name of the accelerator; may be empty if the user passed the peak
    std::string precision{};
    std::string peak_source{};
    floptally::peak_kind peak_kind = floptally::peak_kind::unsaid;
    source_quality peak_quality = source_quality::vendor_document;
    /// The mixed-precision MFU; empty if the whole model runs in one precision.
    std::optional<mixed_precision_rate> mixed{};
};

/// The numbers of parameters of a model.
struct weight_counts {
    std::uint64_t total = 0;  ///< number of stored parameters: those of all experts, and a tied embedding once
    /// Number of parameters that a token uses: of the experts only the chosen ones count. Empty if expert visits are
    /// measured.
    std::optional<std::uint64_t> active{};
    /// Number of parameters that train, including LoRA adapters; empty: the report has no plan.
    std::optional<std::uint64_t> trainable{};

    [[nodiscard]] friend constexpr bool operator==(const weight_counts&, const weight_counts&) = default;
};

/// Returns the numbers of parameters of a model. A token uses all weights except those of experts that it did not
/// choose. Each used weight of a matrix takes two FLOPs, so the number of active weights follows from the FLOPs.
[[nodiscard]] constexpr weight_counts weights_of(const cost& model) {
    weight_counts counts{.total = model.parameters(), .active = 0};
    for (const cost_entry& entry : model.entries()) {
        const bool of_tokens = entry.what == accumulator::tokens;
        if (entry.sharding.by == sharding_kind::experts && !of_tokens) {
            counts.active.reset();
            break;
        }
        const bool is_matrix = meaning_of(entry.kind).operands == term_operands::matrix;
        *counts.active += of_tokens && is_matrix ? std::min(entry.useful / 2, entry.parameters) : entry.parameters;
    }
    return counts;
}

/// A report of a step: its model, plan, batch, FLOPs and MFU. `to_table` shows it as a table, `to_json`
/// (report_json.hpp) as JSON.
struct report {
    std::string model_type{};
    convention counted_as = conventions::exact;
    training_plan plan{};
    weight_counts parameters{};
    mask_set masks{};  ///< the masks for which the report shows the numbers of pairs
    tally batch{};
    breakdown work{};
    /// Padded FLOPs by cause. Empty if there is no padding, or if it was not counted by cause.
    std::optional<padding_flops> padding{};
    std::optional<mfu_report> mfu{};
    std::vector<std::string> notes{};
    /// The unit that the table and the JSON show. `work` is always in FLOPs.
    work_unit unit = work_unit::flops;
};

/// Returns the notes of a report. Adds a warning if the FLOPs are an upper bound, if no vendor document states the
/// peak, or if the rates are impossible.
[[nodiscard]] inline std::vector<std::string> notes_of(const report& r) {
    std::vector<std::string> notes = r.notes;
    if (r.work.is_upper_bound()) {
        notes.emplace_back(
            "an upper bound: the plan trains parts of the model, and a part does not say what its entries read, or the "
            "cost has no parts");
    }
    if (r.mfu && r.mfu->peak_quality != source_quality::vendor_document) {
        notes.push_back(detail::text_of({"the peak is ", remark(r.mfu->peak_quality), ": ", r.mfu->peak_source}));
    }
    if (r.mfu) {
        const utilization& rates = r.mfu->utilization;
        std::string doubt = doubt_of(rates.hfu > 1 ? rates.hfu : rates.mfu, r.plan.counted);
        constexpr std::string_view more = "more FLOPs";
        if (r.unit == work_unit::macs && doubt.starts_with(more)) {
            doubt.replace(0, more.size(), "more MACs");
        }
        if (!doubt.empty()) {
            notes.push_back(std::move(doubt));
        }
    }
    return notes;
}

/// Returns the attention masks that the tally of a batch needs: those of the model, and others that the convention
/// needs.
[[nodiscard]] inline mask_set counted_masks(const cost& model, const flop_counter& counter) {
    mask_set all = model.masks();
    for (const statistic& needed : counter.masks()) {
        all.find_or_add(needed, "masks");
    }
    return all;
}

/// Returns the report of a batch of a model, without an MFU. `shown` are the masks whose pairs the report shows.
[[nodiscard]] inline report report_of(const model_config& model, const flop_counter& counter, const training_plan& plan,
                                      const tally& batch, const mask_set& shown) {
    report result;  // filled member by member, because g++ 12 cannot compile it as one initializer
    result.model_type = model.model_type;
    result.counted_as = counter.counted_as();
    result.plan = plan;
    result.parameters = weights_of(model.cost);
    if (!plan.weights.empty() && !model.parts.empty()) {
        result.parameters.trainable = trained_parameters(model.parts, plan).trainable;
    }
    result.masks = shown;
    result.batch = batch;
    result.work = counter.evaluate(batch);
    result.notes = model.notes;
    for (const cost_entry& entry : model.cost.entries()) {
        const bool has_measured =
            entry.useful != 0 && has_statistic(entry.what) && model.cost.masks()[entry.mask].is_measured();
        if (has_measured && counter.masks().find(model.cost.masks()[entry.mask]) == counter.masks().size()) {
            const std::string_view component = model.cost.components()[entry.component].view();
            std::string note =
                detail::text_of({component, ": convention ", counter.counted_as().name,
                                 " with this plan counts nothing of it: choose another, or leave it out"});
            if (std::find(result.notes.begin(), result.notes.end(), note) == result.notes.end()) {
                result.notes.push_back(std::move(note));
            }
        }
    }
    return result;
}

}  // namespace floptally
