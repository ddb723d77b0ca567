// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <floptally/cost.hpp>
#include <floptally/stage.hpp>

namespace floptally {

/// How the core of multi-head latent attention is computed: with keys and values of every head, as in training, or over
/// the latent itself, as a decoder with a cache does.
enum class mla_core : std::uint8_t { expanded, absorbed };

/// What a config leaves open.
struct read_options {
    mla_core mla = mla_core::expanded;
    std::uint64_t mtp_layers = 0;  ///< layers of multi-token prediction that are trained
    std::uint64_t padded_vocab_size =
        0;  ///< of the lm_head as kernels run it, in the padded view; 0: as the config says
};

/// A model as a config describes it.
struct model_config {
    std::string model_type;
    floptally::cost cost;
    std::vector<std::string> notes;  ///< what the reader decided where the config is silent
    std::vector<stage> stages;       ///< the same cost in forward order, for plans that treat layers differently
};

/// The stages of a descriptor in forward order: what `folded_cost` needs for a plan with rules.
template <class Model>
[[nodiscard]] std::vector<stage> stages_of(const Model& model) {
    std::vector<stage> stages;
    model.for_each_stage([&stages](const stage& next) { stages.push_back(next); });
    return stages;
}

}  // namespace floptally
