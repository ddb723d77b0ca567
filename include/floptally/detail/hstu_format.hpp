// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/floptally_masks.hpp>
#include <floptally/detail/message.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/hstu.hpp>
#include <floptally/model/hstu_mask.hpp>
#include <floptally/model_config.hpp>

namespace floptally::detail {

/// Reads the config of an HSTU model (`"model_type": "hstu"`, docs/config_format.md). No library has a file format for
/// it, so the keys are those of recsys-examples and generative-recommenders. Every key is read or refused.
class hstu_format {
  public:
    hstu_format(const config_fields& config, const read_options& options) : config_(config), options_(options) {}

    [[nodiscard]] model_config read() const {
        config_.allow_only({"model_type",
                            "name",
                            "hidden_size",
                            "num_layers",
                            "num_attention_heads",
                            "dim_per_head",
                            "kv_channels",
                            "attention_dim",
                            "linear_dim",
                            "output_blocks",
                            "residual",
                            "mask",
                            "is_causal",
                            "contextual_mask",
                            "max_attn_len",
                            "min_full_attn_seq_len",
                            "windowed_targets",
                            "targets_share_place",
                            "learnable_input_layernorm",
                            "preprocessing_mlps",
                            "prediction_mlps"});
        if (options_.mtp_layers != 0) {
            refuse("mtp", {"hstu has no multi-token prediction"});
        }
        if (options_.padded_vocab_size != 0) {
            refuse("padded_vocab_size", {"hstu has no vocabulary"});
        }
        hstu model;
        model.hidden_size = config_.dimension({"hidden_size"});
        model.num_layers = config_.integer({"num_layers"}, required, 1, max_layers);
        model.layer = read_layer(model.hidden_size);
        model.masks = read_attended();
        read_mlps("preprocessing_mlps", hstu_rows::items, model.preprocessing);
        read_mlps("prediction_mlps", hstu_rows::targets, model.prediction);
        model_config read;
        read.model_type = config_.text("name", "hstu");
        read.cost = model.cost();
        read.parts = parts_of(model);
        return read;
    }

  private:
    [[nodiscard]] hstu_layer read_layer(std::uint64_t hidden_size) const {
        const std::string_view both = config_.spelling({"dim_per_head", "kv_channels"});
        const std::uint64_t dim = config_.contains(both) ? config_.dimension({both}) : required;
        if (config_.contains("kv_channels") && config_.dimension({"kv_channels"}) != dim) {
            refuse(config_.field("kv_channels"), {"must be dim_per_head (", dim, ") where both are given, got ",
                                                  config_.shown(*config_.find("kv_channels"))});
        }
        hstu_layer layer;
        layer.num_heads = config_.dimension({"num_attention_heads"});
        layer.attention_dim = config_.dimension({"attention_dim"}, dim);
        layer.linear_dim = config_.dimension({"linear_dim"}, dim);
        layer.output_blocks = config_.integer({"output_blocks"}, 1, 1, 3);
        layer.residual = config_.flag("residual", true);
        // Weights and biases of the norms of the input, where it has them, and of the attention's result.
        layer.elementwise.norm = 2 * (config_.flag("learnable_input_layernorm", true) ? hidden_size : 0) +
                                 2 * layer.num_heads * layer.linear_dim;
        layer.elementwise.bias = 2 * layer.num_heads * (layer.linear_dim + layer.attention_dim);
        return layer;
    }

    [[nodiscard]] mask read_attended() const {
        const config_node* given = config_.find("mask");
        if (given != nullptr && !is_text(*given, "hstu")) {
            for (const std::string_view key : {"is_causal", "contextual_mask", "max_attn_len", "min_full_attn_seq_len",
                                               "windowed_targets", "targets_share_place"}) {
                if (config_.contains(key)) {
                    refuse(config_.field(key), {"needs the mask \"hstu\""});
                }
            }
            return read_mask(config_);
        }
        const auto tokens = [this](std::string_view key) {
            return static_cast<std::int64_t>(config_.integer({key}, 0, 0, 0x7FFF'FFFF));
        };
        hstu_mask rule;
        rule.is_causal = config_.flag("is_causal", true);
        rule.contextual = config_.flag("contextual_mask", true);
        rule.max_attn_len = tokens("max_attn_len");
        rule.min_full_attn_seq_len = tokens("min_full_attn_seq_len");
        // In both implementations the rows without a limit end with the targets.
        rule.windowed_targets = config_.flag("windowed_targets", rule.min_full_attn_seq_len == 0);
        rule.targets_share_place = config_.flag("targets_share_place", false);
        for (const std::string_view key : {"windowed_targets", "targets_share_place"}) {
            if (config_.contains(key) && rule.max_attn_len == 0) {
                refuse(config_.field(key), {"needs a max_attn_len above 0"});
            }
        }
        return mask::hstu(rule);
    }

    void read_mlps(std::string_view key, hstu_rows rows, std::array<hstu_mlp, hstu::max_mlps>& mlps) const {
        const config_node* given = config_.array(key);
        const std::size_t number = given == nullptr ? 0 : given->count;
        if (number > mlps.size()) {
            refuse(config_.field(key), {"must be at most ", mlps.size(), ", got ", number});
        }
        for (std::size_t i = 0; i < number; ++i) {
            mlps[i] = read_mlp(
                config_fields(config_.tree(), config_.tree().child(*given, i), indexed(config_.field(key), i)), rows);
        }
    }

    [[nodiscard]] static hstu_mlp read_mlp(const config_fields& of, hstu_rows rows) {
        of.allow_only({"rows", "stride", "input_size", "layer_sizes", "bias"});
        hstu_mlp mlp;
        mlp.rows = of.contains("rows") ? read_rows(of) : rows;
        mlp.stride = of.integer({"stride"}, 1, 1, 0x7FFF'FFFF);
        mlp.input_size = of.integer({"input_size"}, 0, 1, max_dimension);
        mlp.bias = of.flag("bias", true);
        const config_node* sizes = of.array("layer_sizes");
        if (sizes == nullptr || sizes->count == 0 || sizes->count > mlp.layer_sizes.size()) {
            refuse(of.field("layer_sizes"), {"must list from 1 to ", mlp.layer_sizes.size(), " widths",
                                             (sizes == nullptr ? "" : ", got " + of.shown(*sizes))});
        }
        for (std::size_t i = 0; i < sizes->count; ++i) {
            mlp.layer_sizes[i] =
                of.as_integer(of.tree().child(*sizes, i), indexed(of.field("layer_sizes"), i), 1, max_dimension);
        }
        return mlp;
    }

    [[nodiscard]] static hstu_rows read_rows(const config_fields& of) {
        for (const hstu_rows part :
             {hstu_rows::all, hstu_rows::context, hstu_rows::items, hstu_rows::history, hstu_rows::targets}) {
            if (is_text(*of.find("rows"), name_of(part))) {
                return part;
            }
        }
        refuse(of.field("rows"), {"must be \"all\", \"context\", \"items\", \"history\" or \"targets\", got ",
                                  of.shown(*of.find("rows"))});
    }

    [[nodiscard]] static bool is_text(const config_node& given, std::string_view word) {
        return given.is == config_node::kind::text && given.text == word;
    }

    const config_fields& config_;
    read_options options_;
};

}  // namespace floptally::detail
