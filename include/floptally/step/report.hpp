// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/count/breakdown.hpp>
#include <floptally/count/convention.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/count/padding.hpp>
#include <floptally/count/trained_parameters.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_row.hpp>
#include <floptally/descriptors/dealing.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/hardware/accelerator.hpp>
#include <floptally/rules/mask.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/text.hpp>

/// @file
/// A report as plain data: model, plan, batch, FLOPs, MFU, notes.

namespace floptally {

/// MFU, and the measurement and peak that it is stated against.
struct mfu_report {
    floptally::utilization utilization{};
    measurement step{};
    std::string accelerator{};  ///< empty where the peak was given by the user
    std::string precision{};
    std::string peak_source{};
    floptally::peak_kind peak_kind = floptally::peak_kind::unsaid;
    source_quality peak_quality = source_quality::vendor_document;
    std::optional<mixed_precision_rate> mixed{};  ///< where parts of the model run in precisions of their own
};

/// Numbers of weights.
struct weight_counts {
    std::uint64_t total = 0;  ///< stored: all experts, a tied embedding once
    /// Weights that a token passes, with the chosen experts alone; none where the choice is measured.
    std::optional<std::uint64_t> active{};
    std::optional<std::uint64_t> trainable{};  ///< with a gradient, adapters included, where a plan says what trains

    [[nodiscard]] friend constexpr bool operator==(const weight_counts&, const weight_counts&) = default;
};

/// The numbers of weights of a model. A token passes all weights but the experts that it did not choose: a matrix is
/// two FLOPs for each weight that a token passes, so the FLOPs say how many these are.
[[nodiscard]] constexpr weight_counts weights_of(const cost& model) {
    weight_counts counts{.total = model.parameters(), .active = 0};
    for (const cost_row& row : model.rows()) {
        const bool of_tokens = row.what == statistic::tokens;
        if (row.dealt.by == tensor_split::experts && !of_tokens) {
            counts.active.reset();
            break;
        }
        const bool is_matrix = meaning_of(row.kind).operands == term_operands::matrix;
        *counts.active += of_tokens && is_matrix ? std::min(row.useful / 2, row.parameters) : row.parameters;
    }
    return counts;
}

/// The contents of a report. `report_table.hpp` shows it as a table, `report_json.hpp` as JSON.
struct report {
    std::string model_type{};
    convention counted_as = conventions::exact;
    training_plan plan{};
    weight_counts parameters{};
    mask_set masks{};  ///< masks whose pairs are shown
    tally batch{};
    breakdown work{};
    std::optional<padding_flops> padding{};  ///< FLOPs of padding by cause, where these were counted
    std::optional<mfu_report> mfu{};
    std::vector<std::string> notes{};
};

/// The MFU below which seconds, GPUs or the peak are probably in another unit: 0.1 % of a step that trains, and 0.001 %
/// of a forward alone, which may wait for memory.
[[nodiscard]] constexpr double least_plausible_mfu(counted_passes counted) {
    return counted == counted_passes::forward ? 1e-5 : 1e-3;
}

/// The doubt about an MFU that is absurd, above the peak or far below every step's; empty for any other. 0 is of a
/// batch without tokens.
[[nodiscard]] inline std::string doubt_of(double mfu, counted_passes counted) {
    if (mfu > 1) {
        return "more FLOPs than the peak allows: seconds, gpus or the peak cannot all be right";
    }
    if (mfu > 0 && mfu < least_plausible_mfu(counted)) {
        return detail::text_of({"an MFU of ", detail::general_decimal(100 * mfu, 3), " % is below ",
                                detail::general_decimal(100 * least_plausible_mfu(counted), 3),
                                " %: seconds, gpus or the peak may be in another unit"});
    }
    return {};
}

/// The notes of a report: its own, and warnings where its FLOPs are an upper bound, its peak is from no document, or
/// its rates are impossible.
[[nodiscard]] inline std::vector<std::string> notes_of(const report& r) {
    std::vector<std::string> notes = r.notes;
    if (r.work.is_upper_bound()) {
        notes.emplace_back(
            "an upper bound: the plan trains parts of the model, and a part does not say what its rows read, or the "
            "cost has no parts");
    }
    if (r.mfu && r.mfu->peak_quality != source_quality::vendor_document) {
        notes.push_back(detail::text_of({"the peak is ", remark(r.mfu->peak_quality), ": ", r.mfu->peak_source}));
    }
    if (r.mfu) {
        const utilization& rates = r.mfu->utilization;
        const std::string doubt = doubt_of(rates.hfu > 1 ? rates.hfu : rates.mfu, r.plan.counted);
        if (!doubt.empty()) {
            notes.push_back(doubt);
        }
    }
    return notes;
}

/// The masks that a batch is counted with: those of the model, which its report shows, and those that a convention asks
/// for besides.
[[nodiscard]] inline mask_set counted_masks(const cost& model, const flop_counter& as) {
    mask_set all = model.masks();
    for (const rule& needed : as.masks()) {
        all.find_or_add(needed, "masks");
    }
    return all;
}

/// The report of a batch of a model, without an MFU. `shown` are the masks of the batch that the report shows.
[[nodiscard]] inline report report_of(const model_config& model, const flop_counter& as, const training_plan& plan,
                                      const tally& batch, const mask_set& shown) {
    report made;  // field by field, since g++ 12 fails on one initializer
    made.model_type = model.model_type;
    made.counted_as = as.counted_as();
    made.plan = plan;
    made.parameters = weights_of(model.cost);
    if (!plan.weights.empty() && !model.parts.empty()) {
        made.parameters.trainable = trained_parameters(model.parts, plan).trainable;
    }
    made.masks = shown;
    made.batch = batch;
    made.work = as.evaluate(batch);
    made.notes = model.notes;
    return made;
}

}  // namespace floptally
