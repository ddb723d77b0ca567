// SPDX-License-Identifier: Apache-2.0
#include <floptally/component_rates.hpp>
#include <floptally/context_parallel.hpp>
#include <floptally/experiment_table.hpp>
#include <floptally/floptally.hpp>
#include <floptally/fmt.hpp>
#include <floptally/head_split.hpp>
#include <floptally/json.hpp>
#include <floptally/meter_json.hpp>
#include <floptally/module_utilization.hpp>
#include <floptally/rank_work.hpp>
#include <floptally/reduction.hpp>

floptally::flops other_unit(const floptally::tally& batch);

floptally::flops other_unit(const floptally::tally& batch) {
    return floptally::evaluate(floptally::presets::llama_3_8b.cost(), batch).total();
}
