// SPDX-License-Identifier: Apache-2.0
//
// Every header in two units of one program: a function that is not inline would be a duplicate symbol. A third unit has
// declarations of the reader of configs only, and the library that is linked its definitions: both forms, side by side.

#include <sstream>
#include <string>

#include "together.hpp"  // every header, as tests/CMakeLists.txt lists them

floptally::flops other_unit(const floptally::tally& batch);
std::string separate_unit(const std::string& config, const floptally::tally& batch);

namespace {

/// The model and its FLOPs, or what is wrong.
std::string read_here(const std::string& config, const floptally::tally& batch) {
    try {
        std::istringstream text(config);
        const floptally::model_config model = floptally::read_config(text);
        return model.model_type + " " + to_string(floptally::evaluate(model.cost, batch).total());
    } catch (const floptally::error& e) {
        return e.what();
    }
}

}  // namespace

int main() {
    floptally::tally batch;
    batch.add(floptally::sequence{.length = 8192});
    const floptally::flops here = floptally::evaluate(floptally::presets::llama_3_8b.cost(), batch).total();
    if (here != other_unit(batch) || here != floptally::flops{421'651'971'833'856}) {
        return 1;
    }
    const std::string config = R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 128256,
        "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8})";
    if (read_here(config, batch) != "llama 421651971833856" ||
        separate_unit(config, batch) != read_here(config, batch)) {
        return 2;
    }
    // An error that the library throws is caught by both, with the same text.
    const std::string wrong = R"({"model_type": "llama", "hidden_size": -1})";
    return read_here(wrong, batch).find("hidden_size") != std::string::npos &&
                   separate_unit(wrong, batch) == read_here(wrong, batch)
               ? 0
               : 3;
}
