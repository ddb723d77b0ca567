// SPDX-License-Identifier: Apache-2.0
#include <floptally/floptally.hpp>

int main() {
    constexpr floptally::constant_cost model = floptally::presets::llama_3_8b.cost();
    floptally::tally batch{model.masks()};
    batch.add(floptally::sequence{.length = 8192});
    const bool is_exact = floptally::evaluate(model, batch).total() == floptally::flops{421'651'971'833'856};
    const floptally::flops squares = floptally::evaluate(model, batch, floptally::conventions::torchtitan).total();
    return is_exact && squares > floptally::flops{421'651'971'833'856} ? 0 : 1;
}
