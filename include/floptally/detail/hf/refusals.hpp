// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/error.hpp>

namespace floptally::detail {

[[noreturn]] inline void refuse(const hf_model& model, std::string_view key, const char* accepted) {
    throw error(model.config.field(key), model.refusal(accepted, *model.config.find(key)));
}

/// Throws at a field that changes the matmuls in a way that no family here follows.
inline void refuse_unsupported(const hf_model& model) {
    const config_fields& config = model.config;
    const hf_family& family = model.family;
    for (const std::string_view key : {"add_cross_attention", "is_folding_model"}) {
        if (config.flag(key, false)) {
            refuse(model, key, "false");
        }
    }
    if (!family.bidirectional_switch && model.bidirectional_is_on()) {
        refuse(model, "use_bidirectional_attention", "false");
    }
    if (!config.flag("is_causal", true)) {
        refuse(model, "is_causal", "true");
    }
    for (const std::string_view key : {"per_layer_config", "pruned_heads"}) {
        const bool honoured = family.per_layer_config && key == "per_layer_config";
        if (!honoured && config.has_value(key) && !config.find(key)->empty()) {
            refuse(model, key, "empty");
        }
    }
    if (family.encoder && family.embedding_width == hidden_width && config.has_value("embedding_size")) {
        refuse(model, "embedding_size", "null");
    }
}

}  // namespace floptally::detail
