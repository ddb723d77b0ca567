// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/dealing.hpp>

/// @file
/// The options of a framework's tensor parallelism, where the rows of a cost do not decide.

namespace floptally {

/// A split of the matrices of a component, or of one weight in it, in place of what their part says. Patterns are those
/// of `weight_setting::weights`; a component "encoder.mlp" is also known as "mlp".
struct weight_split {
    component_name weights;
    tensor_split split = tensor_split::even;
};

/// The work of ranks whose share of the key and value heads is less than one head.
enum class few_kv_heads : std::uint8_t {
    replicated,  ///< each computes the head that it needs: k and v run tp / heads times
    gathered     ///< each computes a part of a head, and the parts are gathered: nothing runs twice
};

/// The options of a framework's split of layers. Defaults are those of Megatron-Core.
struct tensor_options {
    bool sequence_parallel = false;  ///< weights that every rank stores whole run on 1 / tp of the tokens
    few_kv_heads kv = few_kv_heads::replicated;
    /// The vocabulary is padded to a multiple of this times tp (Megatron's default is 128).
    std::uint64_t make_vocab_size_divisible_by = 1;
    /// Splits in place of those of the rows (`cost_row::dealt`); of several that name a weight the last one holds.
    /// Towers are named in full: "vision.*" replicated is a tower without tensor parallelism.
    std::vector<weight_split> splits{};
};

}  // namespace floptally
