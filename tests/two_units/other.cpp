// SPDX-License-Identifier: Apache-2.0
#include <floptally/floptally.hpp>
#include <floptally/fmt.hpp>
#include <floptally/json.hpp>
#include <floptally/parallel/context_parallel.hpp>
#include <floptally/parallel/head_split.hpp>
#include <floptally/parallel/rank_work.hpp>
#include <floptally/parallel/reduction.hpp>
#include <floptally/report_json.hpp>
#include <floptally/step/component_rates.hpp>
#include <floptally/step/experiment_table.hpp>
#include <floptally/step/meter_json.hpp>
#include <floptally/step/module_utilization.hpp>

floptally::flops other_unit(const floptally::tally& batch);

floptally::flops other_unit(const floptally::tally& batch) {
    return floptally::evaluate(floptally::presets::llama_3_8b.cost(), batch).total();
}
