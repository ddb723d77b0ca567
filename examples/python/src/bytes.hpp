// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <pybind11/pybind11.h>
#include <vector>

#include <floptally/count/training_plan.hpp>
#include <floptally/waterfall/waterfall.hpp>

#include "breakdowns.hpp"

namespace floptally::detail::python {

/// What components need at the memory's bandwidth, by the keywords of a step; none where that is not known or their
/// bytes cannot be counted. What was given for it alone must be of use.
[[nodiscard]] std::optional<time_at_memory> memory_of(const counted_work& work, const pybind11::dict& said,
                                                      const training_plan& plan,
                                                      const std::vector<work_at_peak>& at_peaks);

}  // namespace floptally::detail::python
