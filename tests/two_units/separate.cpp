// SPDX-License-Identifier: Apache-2.0
//
// Compiled with FLOPTALLY_SEPARATE_COMPILATION: it declares the reader of configs, and a library has the definitions.

#include <nlohmann/json.hpp>
#include <string>

#include <floptally/count/flop_counter.hpp>
#include <floptally/json.hpp>
#include <floptally/text/error.hpp>

std::string separate_unit(const std::string& config, const floptally::tally& batch);

std::string separate_unit(const std::string& config, const floptally::tally& batch) {
    try {
        const floptally::model_config model = floptally::read_config(nlohmann::json::parse(config));
        return model.model_type + " " + to_string(floptally::evaluate(model.cost, batch).total());
    } catch (const floptally::error& e) {
        return e.what();
    }
}
