// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <pybind11/pybind11.h>
#include <string_view>

#include <floptally/rules/mask.hpp>
#include <floptally/rules/mask_set.hpp>

namespace floptally::detail::python {

/// A mask by its text form: for a pickle. A callable must have been registered before, under the same name.
[[nodiscard]] mask mask_of_text(std::string_view text);

/// Tokens of a sequence.
[[nodiscard]] std::uint32_t to_length(pybind11::handle value, std::string_view field);

/// The masks of a list of `Mask`.
[[nodiscard]] mask_set to_masks(pybind11::handle list);

}  // namespace floptally::detail::python
