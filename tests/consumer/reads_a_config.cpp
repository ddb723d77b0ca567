// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <sstream>

#include <floptally/json.hpp>

// The other unit of this program that sees the reader of configs.
std::size_t known_types();

int main() {
    std::istringstream config(R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256})");
    return floptally::read_config(config).cost.parameters() == 8'030'261'248 && known_types() > 300 ? 0 : 1;
}
