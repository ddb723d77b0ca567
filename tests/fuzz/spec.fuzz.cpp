// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a spec with a small config, and any JSON as the config of each spec of the library: a cost or a
// floptally::error. Nothing else may happen.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include <floptally/floptally.hpp>
#include <floptally/json.hpp>

#include "fuzz_input.hpp"

namespace {

void count(const nlohmann::json& config, const floptally::read_options& options) {
    try {
        const floptally::cost model = floptally::read_config(config, options).cost;
        const floptally::flop_counter counted(model);
        floptally::tally batch{model.masks()};
        batch.add({.length = 100, .keys = 7}, {.length = 128, .keys = 8});
        const floptally::breakdown work = counted.evaluate(batch);
        require(work.total(floptally::view::useful) <= work.total(floptally::view::padded));
    } catch (const floptally::error& problem) {
        require(!problem.field().empty() && !problem.problem().empty());
    }
}

const nlohmann::json& small_config() {
    static const nlohmann::json config = nlohmann::json::parse(
        R"({"vocab_size": 96, "hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 3,
            "num_attention_heads": 4, "layer_types": ["full_attention", "sliding_attention", "full_attention"]})");
    return config;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) {
        return 0;
    }
    // The first byte says which it is, of a config with the second the spec; the rest is the text.
    const std::string text(reinterpret_cast<const char*>(data + 2), size - 2);
    if ((data[0] & 1U) == 0) {
        count(small_config(), {.specs = {text}, .strict = (data[0] & 2U) != 0});
        return 0;
    }
    nlohmann::json config = nlohmann::json::parse(text, nullptr, false);
    if (config.is_object()) {
        const auto& specs = floptally::detail::specs::model_specs;
        const unsigned spec = data[1] + 256U * (data[0] >> 1U);
        static_assert(std::size(specs) <= 256U * 128U);  // else there are specs that no input names
        config["model_type"] = floptally::detail::specs::name_of_spec(specs[spec % std::size(specs)]);
        count(config, {});
    }
    return 0;
}
