// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/rules/mask_set.hpp>

#include "binding.hpp"

namespace floptally::detail::python {

/// The masks of a tally by the arguments cost_or_masks, convention and plan: those that a cost needs, or a list of
/// them.
[[nodiscard]] mask_set masks_for(const arguments& given);

}  // namespace floptally::detail::python
