// SPDX-License-Identifier: Apache-2.0
#include "together.hpp"  // every header, as tests/CMakeLists.txt lists them

floptally::flops other_unit(const floptally::tally& batch);

floptally::flops other_unit(const floptally::tally& batch) {
    return floptally::evaluate(floptally::presets::llama_3_8b.cost(), batch).total();
}
