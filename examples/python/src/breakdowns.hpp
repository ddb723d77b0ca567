// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <pybind11/pybind11.h>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/count/breakdown.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/step/report.hpp>

#include "costs.hpp"

namespace floptally::detail::python {

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
    std::optional<mfu_report> mfu{};  ///< where a step was measured, …
    pybind11::object measured_by{};   ///< … the keywords that said it, for a waterfall
};

}  // namespace floptally::detail::python
