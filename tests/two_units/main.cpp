// SPDX-License-Identifier: Apache-2.0
//
// Every header in two units of one program: a function that is not inline would be a duplicate symbol.

#include <floptally/floptally.hpp>
#include <floptally/fmt.hpp>
#include <floptally/json.hpp>
#include <floptally/parallel/context_parallel.hpp>
#include <floptally/parallel/head_split.hpp>
#include <floptally/parallel/rank_work.hpp>
#include <floptally/parallel/reduction.hpp>
#include <floptally/step/component_rates.hpp>
#include <floptally/step/experiment_table.hpp>
#include <floptally/step/meter_json.hpp>
#include <floptally/step/module_utilization.hpp>

floptally::flops other_unit(const floptally::tally& batch);

int main() {
    floptally::tally batch;
    batch.add(floptally::sequence{.length = 8192});
    const floptally::flops here = floptally::evaluate(floptally::presets::llama_3_8b.cost(), batch).total();
    return here == other_unit(batch) && here == floptally::flops{421'651'971'833'856} ? 0 : 1;
}
