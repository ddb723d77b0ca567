// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <floptally/batch/mask_set.hpp>
#include <floptally/breakdown.hpp>
#include <floptally/convention.hpp>
#include <floptally/cost.hpp>
#include <floptally/flop_counter.hpp>
#include <floptally/mask.hpp>
#include <floptally/model_config.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/tally.hpp>
#include <floptally/training_plan.hpp>
#include <floptally/utilization.hpp>

namespace floptally {

/// MFU and what it was measured against.
struct mfu_report {
    floptally::utilization utilization{};
    measurement step{};
    std::string accelerator{};  ///< empty where the peak was given by the user
    std::string precision{};
    std::string peak_source{};
    std::optional<mixed_precision_rate> mixed{};  ///< where parts of the model run in precisions of their own
};

/// All that a report shows, as plain data. `fmt.hpp` prints it as a table, `json.hpp` as JSON.
struct report {
    std::string model_type{};
    convention counted_as = conventions::exact;
    training_plan plan{};
    mask_set masks{};  ///< whose pairs are shown
    tally batch{};
    breakdown work{};
    std::optional<mfu_report> mfu{};
    std::vector<std::string> notes{};
};

/// The notes of a report, the last of which says so where its FLOPs are an upper bound.
[[nodiscard]] inline std::vector<std::string> notes_of(const report& r) {
    std::vector<std::string> notes = r.notes;
    if (r.work.is_upper_bound()) {
        notes.emplace_back(
            "an upper bound: the plan trains parts of the model, and a part does not say what its rows read, or the "
            "cost has no parts");
    }
    return notes;
}

/// What a batch is counted with: the masks of the model, which its report shows, and those that a convention asks for
/// besides.
[[nodiscard]] inline mask_set counted_masks(const cost& model, const flop_counter& as) {
    mask_set all = model.masks();
    for (const rule& needed : as.masks()) {
        all.find_or_add(needed, "masks");
    }
    return all;
}

/// The report of a batch of a model, without an MFU; `shown` are masks of the batch.
[[nodiscard]] inline report report_of(const model_config& model, const flop_counter& as, const training_plan& plan,
                                      const tally& batch, const mask_set& shown) {
    return {.model_type = model.model_type,
            .counted_as = as.counted_as(),
            .plan = plan,
            .masks = shown,
            .batch = batch,
            .work = as.evaluate(batch),
            .mfu = {},
            .notes = model.notes};
}

}  // namespace floptally
