// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/bytes/rank_memory.hpp>

#include "binding.hpp"

/// @file
/// Options that a fit and a search of layouts both read.

namespace floptally::python {

/// What all ranks hold alike: optimizer, bits, kernels, recomputed and offloaded modules, the split of layers.
[[nodiscard]] memory_options memory_options_of(const arguments& args);

void bind_search(pybind11::module_& module);

}  // namespace floptally::python
