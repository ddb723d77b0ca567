// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <floptally/breakdown.hpp>
#include <floptally/convention.hpp>
#include <floptally/mask_set.hpp>
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

}  // namespace floptally
