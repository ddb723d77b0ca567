// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/audio_towers.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/error.hpp>
#include <floptally/model/audio.hpp>
#include <floptally/model/layer.hpp>

/// @file
/// What wav2vec 2.0 and its kin have around their layers: convolutions over the samples of a waveform, convolutions in
/// place of positions, adapters, and the layers of x-vectors.

namespace floptally::detail {

/// Convolutions of a class default.
struct conv_list {
    std::array<std::uint64_t, 13> width{};
    std::array<std::uint64_t, 13> kernel{};
    std::array<std::uint64_t, 13> stride{};
    std::size_t size = 0;
};

inline constexpr conv_list seven_convolutions{.width = {512, 512, 512, 512, 512, 512, 512},
                                              .kernel = {10, 3, 3, 3, 3, 2, 2},
                                              .stride = {5, 2, 2, 2, 2, 2, 2},
                                              .size = 7};
inline constexpr conv_list thirteen_convolutions{
    .width = {64, 128, 128, 128, 128, 256, 256, 256, 256, 512, 512, 512, 512},
    .kernel = {10, 3, 1, 3, 1, 3, 1, 3, 1, 2, 1, 2, 1},
    .stride = {5, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1},
    .size = 13};

/// The convolutions over the waveform, none of them padded.
template <const conv_list& Otherwise>
[[nodiscard]] convolution_stem wave_convolutions(const hf_model& model) {
    const auto listed = [&](std::string_view key, const std::array<std::uint64_t, 13>& values) {
        return read_list(model, key, std::span(values).first(Otherwise.size));
    };
    const std::vector<std::uint64_t> widths = listed("conv_dim", Otherwise.width);
    const std::vector<std::uint64_t> kernels = listed("conv_kernel", Otherwise.kernel);
    const std::vector<std::uint64_t> strides = listed("conv_stride", Otherwise.stride);
    require_as_many(widths.size(), "conv_dim", kernels.size(), model.config.field("conv_kernel"));
    require_as_many(widths.size(), "conv_dim", strides.size(), model.config.field("conv_stride"));
    if (widths.empty() || widths.size() > 16) {
        throw error(model.config.field("conv_dim"),
                    "must list 1 to 16 convolutions, got " + std::to_string(widths.size()));
    }
    const bool bias = model.config.flag("conv_bias", false);
    convolution_stem stem{.in_channels = 1};
    for (std::size_t i = 0; i < widths.size(); ++i) {
        stem.convolutions.push_back({.out_channels = widths[i],
                                     .kernel_size = static_cast<std::int64_t>(kernels[i]),
                                     .stride = static_cast<std::int64_t>(strides[i]),
                                     .bias = bias},
                                    "conv_dim");
    }
    return stem;
}
template <const conv_list& Otherwise>
[[nodiscard]] frame_rate wave_rate(const hf_model& model) {
    return wave_convolutions<Otherwise>(model).after();
}

[[nodiscard]] inline std::uint64_t last_width(const convolution_stem& stem) {
    return stem.convolutions[stem.convolutions.size() - 1].out_channels;
}

/// "group": one norm, after the first convolution; "layer": one after each.
[[nodiscard]] inline std::uint64_t normed_widths(const hf_model& model, const convolution_stem& stem, bool all) {
    const std::string norm = all ? "layer" : model.config.text("feat_extract_norm", "group");
    if (norm != "group" && norm != "layer") {
        throw error(model.config.field("feat_extract_norm"), R"(must be "group" or "layer", got ")" + norm + "\"");
    }
    std::uint64_t sum = 0;
    for (const convolution& one : stem.convolutions) {
        sum += one.out_channels;
    }
    return norm == "layer" ? sum : stem.convolutions[0].out_channels;
}

/// What stands for a masked frame in training; a class has it where its config masks at all.
[[nodiscard]] inline cost mask_embedding(const hf_model& model) {
    const auto rate = [&](std::string_view key, double otherwise) {
        const json* value = model.config.find(key);
        return value == nullptr || !value->is_number() ? otherwise : value->get<double>();
    };
    cost sum;
    if (rate("mask_time_prob", 0.05) > 0 || rate("mask_feature_prob", 0) > 0) {
        sum.add_parameters("embedding", term::position_embedding, model.sizes.hidden_size);
    }
    return sum;
}

/// From the width of the convolutions to that of the layers.
[[nodiscard]] inline cost feature_projection(std::uint64_t in, std::uint64_t out, bool norm) {
    cost sum;
    sum.add("stem", linear{.in_features = in,
                           .out_features = out,
                           .weight = "projection",
                           .reads = value::stream,
                           .dealt = dealing::repeated()});
    sum.add_parameters("norm", term::norm, norm ? 2 * in : 0);
    sum.add_parameters("bias", term::bias, out);
    return sum;
}

/// A convolution along the frames that leaves as many, in place of a table of positions.
[[nodiscard]] inline cost positional_convolution(const hf_model& model, std::uint64_t kernel) {
    const std::uint64_t h = model.sizes.hidden_size;
    const std::uint64_t groups = model.config.dimension({"num_conv_pos_embedding_groups"}, 16);
    if (h % groups != 0) {
        throw error(model.config.field("num_conv_pos_embedding_groups"),
                    "must divide hidden_size (" + std::to_string(h) + "), got " + std::to_string(groups));
    }
    cost sum;
    sum.add("positions", linear{.in_features = checked_multiply(kernel, h / groups, "positions"),
                                .out_features = h,
                                .adaptable = false});
    sum.add_parameters("bias", term::bias, h);
    return sum;
}

// ---- adapters ----

[[nodiscard]] inline bool has_adapter(const hf_model& model) { return model.config.flag("add_adapter", false); }
[[nodiscard]] inline std::uint64_t adapted_width(const hf_model& model) {
    return has_adapter(model) && model.config.has_value("output_hidden_size")
               ? model.config.dimension({"output_hidden_size"})
               : model.sizes.hidden_size;
}

/// One convolution of an adapter; a gate halves what it makes.
[[nodiscard]] inline convolution_stem adapter_convolution(const hf_model& model, frame_rate before) {
    const std::uint64_t width = adapted_width(model);
    const auto size = [&](std::string_view key, std::uint64_t otherwise) {
        return static_cast<std::int64_t>(model.config.dimension({key}, otherwise));
    };
    return {.in_channels = width,
            .convolutions = {{.out_channels = 2 * width,
                              .kernel_size = size("adapter_kernel_size", 3),
                              .stride = size("adapter_stride", 2),
                              .padding = 1,
                              .bias = true}},
            .before = before,
            .at_input = false};
}
[[nodiscard]] inline std::uint64_t adapter_layers(const hf_model& model) {
    return has_adapter(model) ? model.config.integer({"num_adapter_layers"}, 3, 0, max_layers) : 0;
}

template <const conv_list& Otherwise>
[[nodiscard]] frame_rate adapted_rate(const hf_model& model) {
    frame_rate rate = wave_rate<Otherwise>(model);
    for (std::uint64_t i = 0; i < adapter_layers(model); ++i) {
        rate = adapter_convolution(model, rate).after();
    }
    return rate;
}

template <const conv_list& Otherwise>
[[nodiscard]] cost wave_adapter(const hf_model& model) {
    frame_rate rate = wave_rate<Otherwise>(model);
    const std::uint64_t width = adapted_width(model);
    cost sum;
    if (width != model.sizes.hidden_size) {
        sum.add("adapter", linear{.in_features = model.sizes.hidden_size, .out_features = width, .weight = "proj"},
                rate.frames());
        sum.add_parameters("norm", term::norm, 2 * width);
        sum.add_parameters("bias", term::bias, width);
    }
    for (std::uint64_t i = 0; i < adapter_layers(model); ++i) {
        const convolution_stem next = adapter_convolution(model, rate);
        sum += next.cost("adapter");
        rate = next.after();
    }
    return sum;
}

/// Two small linears after each layer, for one language each (arXiv:2305.13516): where the norms stand before the
/// parts.
[[nodiscard]] inline cost attention_adapter(const hf_model& model, const hf_layer& at) {
    cost sum;
    if (model.config.flag("do_stable_layer_norm", false) && model.config.has_value("adapter_attn_dim")) {
        const std::uint64_t h = at.where.hidden_size;
        const std::uint64_t width = model.config.dimension({"adapter_attn_dim"});
        sum.add("adapter", linear{.in_features = h,
                                  .out_features = width,
                                  .weight = "linear_1",
                                  .reads = value::stream,
                                  .writes = value::made(0)});
        sum.add("adapter",
                linear{.in_features = width, .out_features = h, .weight = "linear_2", .reads = value::made(0)});
        sum.add_parameters("bias", term::bias, width + h);
        sum.add_parameters("norm", term::norm, 2 * h);
    }
    return sum;
}

// ---- heads ----

/// What enters are samples, or features of another kind: of any number, none of them a token.
[[nodiscard]] inline tower_input samples(const hf_model&) { return {}; }

/// Whether the class makes one result of a clip, or of each frame, from the layers' outputs.
[[nodiscard]] inline bool is_class_of_clips(const hf_model& model) {
    const json* named = model.config.array("architectures");
    if (named == nullptr || named->empty() || !named->front().is_string()) {
        return false;
    }
    const std::string name = named->front().get<std::string>();
    return name.ends_with("Classification") || name.ends_with("ForXVector");
}

/// Those classes may take a weighted sum of all hidden states.
[[nodiscard]] inline cost clip_layer_weights(const hf_model& model) {
    return is_class_of_clips(model) ? layer_weights(model) : cost{};
}

[[nodiscard]] inline std::uint64_t xvector_width(const hf_model& model) {
    return model.config.dimension({"xvector_output_dim"}, 512);
}

/// x-vectors (Snyder et al., ICASSP 2018): dilated convolutions, then mean and deviation over the frames of a clip.
template <const conv_list& Otherwise>
[[nodiscard]] cost xvector(const hf_model& model) {
    constexpr std::array<std::uint64_t, 5> widths_otherwise{512, 512, 512, 512, 1500};
    constexpr std::array<std::uint64_t, 5> kernels_otherwise{5, 3, 3, 1, 1};
    constexpr std::array<std::uint64_t, 5> dilations_otherwise{1, 2, 3, 1, 1};
    const std::vector<std::uint64_t> widths = read_list(model, "tdnn_dim", widths_otherwise);
    const std::vector<std::uint64_t> kernels = read_list(model, "tdnn_kernel", kernels_otherwise);
    const std::vector<std::uint64_t> dilations = read_list(model, "tdnn_dilation", dilations_otherwise);
    require_as_many(widths.size(), "tdnn_dim", kernels.size(), model.config.field("tdnn_kernel"));
    require_as_many(widths.size(), "tdnn_dim", dilations.size(), model.config.field("tdnn_dilation"));
    if (widths.empty()) {
        throw error(model.config.field("tdnn_dim"), "must list at least one layer");
    }
    const frame_rate rate = wave_rate<Otherwise>(model);
    convolution_stem layers{.in_channels = widths[0], .before = rate, .at_input = false};
    for (std::size_t i = 0; i < widths.size(); ++i) {
        layers.convolutions.push_back({.out_channels = widths[i],
                                       .kernel_size = static_cast<std::int64_t>(kernels[i]),
                                       .dilation = static_cast<std::int64_t>(dilations[i]),
                                       .bias = true},
                                      "tdnn_dim");
    }
    const std::uint64_t width = xvector_width(model);
    cost sum;
    sum.add("lm_head",
            linear{.in_features = model.sizes.hidden_size, .out_features = widths[0], .dealt = dealing::replicated()},
            rate.frames());
    sum += layers.cost("lm_head");
    sum.add("lm_head", linear{.in_features = 2 * widths.back(),
                              .out_features = width,
                              .rows = statistic::count,
                              .dealt = dealing::replicated()});
    sum.add(
        "lm_head",
        linear{.in_features = width, .out_features = width, .rows = statistic::count, .dealt = dealing::replicated()});
    sum.add_parameters("bias", term::bias, widths[0] + 2 * width);
    // The weight of the loss, which no class multiplies without labels.
    sum.add_parameters("embedding", term::position_embedding, checked_multiply(width, labels_width(model), "lm_head"));
    return sum;
}

}  // namespace floptally::detail
