// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/image_stems.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/detail/hf/vision_towers.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/attention.hpp>
#include <floptally/model/component_name.hpp>
#include <floptally/model/feed_forward.hpp>
#include <floptally/model/layer.hpp>

/// @file
/// Towers that learn from what is hidden of an image or a clip: MAE, VideoMAE, V-JEPA 2.

namespace floptally::detail {

/// Layers beside those of the family: a decoder, a predictor, a pooler.
struct hf_side_layers {
    std::uint64_t layers = 0;
    std::uint64_t width = 0;
    std::uint64_t num_heads = 0;
    std::uint64_t head_dim = 0;
    std::uint64_t intermediate_size = 0;
    std::uint64_t qkv_bias = 0;

    /// All of them.
    [[nodiscard]] cost over_tokens(const rule& attends) const {
        const layer where{0, width, attends};
        const cost one = gqa{.num_heads = num_heads,
                             .num_kv_heads = num_heads,
                             .head_dim = head_dim,
                             .elementwise = {.norm = 4 * width, .bias = qkv_bias + width}}
                             .cost(where) +
                         mlp{intermediate_size, {.bias = intermediate_size + width}}.cost(where);
        return layers * one;
    }
};

[[nodiscard]] inline linear over_rows(std::uint64_t in, std::uint64_t out, std::string_view weight,
                                      const dealing& dealt = {}) {
    return {.in_features = in, .out_features = out, .weight = weight, .reads = value::stream, .dealt = dealt};
}

[[nodiscard]] inline std::uint64_t head_dim_of(const hf_model& model, std::string_view key, std::uint64_t width,
                                               std::uint64_t heads) {
    if (width % heads != 0) {
        throw error(model.config.field(key),
                    "must divide its width (" + std::to_string(width) + "), got " + std::to_string(heads));
    }
    return width / heads;
}

// ---- MAE ----

/// The share of the patches that the encoder does not see, in parts per million.
[[nodiscard]] inline std::int64_t hidden_share(const hf_model& model) {
    const double ratio = read_number(model, "mask_ratio", 0.75);
    const double millionths = std::round(ratio * 1e6);
    if (!(ratio >= 0) || !(ratio < 1) || millionths / 1e6 != ratio) {
        throw error(model.config.field("mask_ratio"), "must be from 0 to below 1 with at most six decimals, got " +
                                                          shown(*model.config.find("mask_ratio")));
    }
    return static_cast<std::int64_t>(millionths);
}

/// What is kept, and the class token.
[[nodiscard]] inline cost mae_attention(const hf_model& model, const hf_layer& at) {
    const std::int64_t hidden = hidden_share(model);
    return read_gqa(model)
        .cost({at.where.index, at.where.hidden_size, mask::kept_squares(hidden, 1)})
        .over(mask::kept_patches(hidden, 1));
}
[[nodiscard]] inline cost mae_dense(const hf_model& model, const hf_layer& at) {
    return dense_part(model, at).over(mask::kept_patches(hidden_share(model), 1));
}

/// The decoder sees a token for every patch, and learns the pixels of those that the encoder did not see.
[[nodiscard]] inline cost mae_decoder(const hf_model& model) {
    const std::uint64_t width = model.read({{"decoder_hidden_size"}, 512});
    const std::uint64_t heads = model.read({{"decoder_num_attention_heads"}, 16});
    const hf_area patch = read_area(model, vit_stem.patch, false);
    const std::uint64_t pixels = checked_multiply(patch.height * patch.width, model.read(vit_stem.channels), "lm_head");
    const hf_side_layers decoder{
        .layers = model.read({{"decoder_num_hidden_layers"}, 8}),
        .width = width,
        .num_heads = heads,
        .head_dim = model.config.contains("head_dim") ? model.sizes.head_dim
                                                      : head_dim_of(model, "decoder_num_attention_heads", width, heads),
        .intermediate_size = model.read({{"decoder_intermediate_size"}, 2048}),
        .qkv_bias = 0,
    };
    hf_side_layers biased = decoder;
    biased.qkv_bias = model.has(if_qkv_bias) ? 3 * decoder.num_heads * decoder.head_dim : 0;
    cost after = biased.over_tokens(mask::bidirectional());
    after.add("lm_head", over_rows(width, pixels, "decoder_pred", dealing::replicated()));
    cost sum;
    sum.add("decoder.embedding", over_rows(model.sizes.hidden_size, width, "decoder_embed"),
            mask::kept_patches(hidden_share(model), 1));
    sum += after.with_prefix_tokens(1);
    const std::uint64_t positions = image_grid(model, vit_stem).frame_patches() + 2;  // and the mask token
    sum.add_parameters("embedding", term::position_embedding, checked_multiply(positions, width, "embedding"));
    sum.add_parameters("norm", term::norm, 2 * width);
    sum.add_parameters("bias", term::bias, width + pixels);
    return sum;
}

inline constexpr std::array mae_heads{
    head{.suffix = "ForPreTraining", .linears = {}, .more = mae_decoder},
    head{"Model", {}},
};

// ---- clips: every patch sees those of all frames ----

template <hf_part Attention>
[[nodiscard]] cost over_clips(const hf_model& model, const hf_layer& at) {
    hf_layer whole = at;
    whole.where.attends = mask::clip_squares();
    return Attention(model, whole);
}

/// One row for each clip.
[[nodiscard]] inline cost classifier_of_clips(const hf_model& model) {
    const std::uint64_t labels = labels_width(model);
    linear weight = over_rows(model.sizes.hidden_size, labels, "classifier", dealing::replicated());
    weight.kind = term::lm_head;
    cost sum;
    sum.add("lm_head", weight, mask::clips());
    sum.add_parameters("bias", term::bias, labels);
    return sum;
}

inline constexpr image_stem videomae_stem{.pairs = true,
                                          .positions = {},  // not learned
                                          .class_rows = 0,
                                          .frames = {{"num_frames"}, 16},
                                          .tubelet = {{"tubelet_size"}, 2}};

/// Keys have no bias.
[[nodiscard]] inline cost videomae_attention(const hf_model& model, const hf_layer& at) {
    gqa part = read_gqa(model);
    part.elementwise.bias =
        (model.config.flag("qv_bias", true) ? 2 * part.num_heads * part.head_dim : 0) + at.where.hidden_size;
    return part.cost(at.where);
}

/// A norm of the tokens, or in the classifier of their mean.
template <bool Classifier>
[[nodiscard]] cost videomae_head(const hf_model& model) {
    cost sum = Classifier ? classifier_of_clips(model) : cost{};
    const bool norm = Classifier || !model.config.flag("use_mean_pooling", true);
    sum.add_parameters("norm", term::norm, norm ? 2 * model.sizes.hidden_size : 0);
    return sum;
}
inline constexpr std::array videomae_heads{
    head{.suffix = "ForVideoClassification", .linears = {}, .more = videomae_head<true>},
    head{.suffix = "Model", .linears = {}, .more = videomae_head<false>},
};

// ---- V-JEPA 2 ----

inline constexpr image_stem vjepa_stem{.image = {{"crop_size"}, 256},
                                       .channels = {{"in_chans"}, 3},
                                       .positions = {},
                                       .class_rows = 0,
                                       .frames = {{"frames_per_clip"}, 64},
                                       .tubelet = {{"tubelet_size"}, 2}};

inline void adjust_vjepa_width(hf_model& model) {
    model.sizes.intermediate_size = truncated(read_factor(model, "mlp_ratio", 4.0), model.sizes.hidden_size);
}

/// Sees each patch twice: as context, and as a target that it makes from the context.
[[nodiscard]] inline cost vjepa_predictor(const hf_model& model) {
    const std::uint64_t h = model.sizes.hidden_size;
    const std::uint64_t width = model.read({{"pred_hidden_size"}, 384});
    const std::uint64_t heads = model.read({{"pred_num_attention_heads"}, 12});
    const hf_side_layers predictor{
        .layers = model.read({{"pred_num_hidden_layers"}, 12}),
        .width = width,
        .num_heads = heads,
        .head_dim = head_dim_of(model, "pred_num_attention_heads", width, heads),
        .intermediate_size = truncated(read_factor(model, "pred_mlp_ratio", 4.0), width),
        .qkv_bias = model.has(if_qkv_bias) ? 3 * width : 0,
    };
    const cost once = predictor.over_tokens(mask::clip_squares());
    cost sum = once + once.with_shared_weights();
    sum.add("attention.core", attention_core{2 * predictor.layers * heads, predictor.head_dim, predictor.head_dim},
            mask::clip_squares());  // (2n)² pairs are four n²
    sum.add("predictor", over_rows(h, width, "predictor_embeddings"));
    sum.add("predictor", over_rows(width, h, "proj"));
    sum.add_parameters("embedding", term::position_embedding,
                       checked_multiply(model.read({{"pred_num_mask_tokens"}, 10}), width, "embedding"));
    sum.add_parameters("norm", term::norm, 2 * width);
    sum.add_parameters("bias", term::bias, width + h);
    return sum.renamed(
        [](const component_name& own) { return own.is_elementwise() ? own : component_name("predictor"); });
}

/// Layers over all tokens, then one query of each clip, without a matrix after its attention.
[[nodiscard]] inline cost vjepa_pooler(const hf_model& model) {
    const std::uint64_t h = model.sizes.hidden_size;
    const std::uint64_t heads = model.sizes.num_heads;
    const std::uint64_t head_dim = model.sizes.head_dim;
    const hf_side_layers before{.layers = model.read({{"num_pooler_layers"}, 3}),
                                .width = h,
                                .num_heads = heads,
                                .head_dim = head_dim,
                                .intermediate_size = 4 * h,
                                .qkv_bias = 3 * h};
    cost sum = before.over_tokens(mask::clip_squares());
    sum.add("pooling", over_rows(h, h, "q_proj"), mask::clips());
    sum.add("pooling", over_rows(h, h, "k_proj"));
    sum.add("pooling", over_rows(h, h, "v_proj"));
    sum.add("pooling", attention_core{heads, head_dim, head_dim}, statistic::tokens, 1);
    sum.add("pooling", over_rows(h, 4 * h, "up_proj"), mask::clips());
    sum.add("pooling", over_rows(4 * h, h, "down_proj"), mask::clips());
    sum.add_parameters("embedding", term::position_embedding, h);
    sum.add_parameters("norm", term::norm, 4 * h);
    sum.add_parameters("bias", term::bias, 8 * h);
    return sum + classifier_of_clips(model);
}

inline constexpr std::array vjepa_heads{
    head{.suffix = "Model", .linears = {}, .more = vjepa_predictor, .more_detached = true},
    head{.suffix = "ForVideoClassification", .linears = {}, .more = vjepa_pooler},
};

inline constexpr std::array masked_towers{
    with_head_dim(vit_like({.model_type = "vit_mae",
                            .class_prefix = "ViTMAE",
                            .heads = mae_heads,
                            .qkv_bias = if_qkv_bias,
                            .attention = mae_attention,
                            .dense = mae_dense,
                            .stem = stem_of<vit_stem>,
                            .input = fixed_images<vit_stem>})),
    vit_like({.model_type = "videomae",
              .class_prefix = "VideoMAE",
              .heads = videomae_heads,
              .final_norm = false,
              .attention = over_clips<videomae_attention>,
              .stem = stem_of<videomae_stem>,
              .input = fixed_images<videomae_stem>}),
    vit_like({.model_type = "vjepa2",
              .class_prefix = "VJEPA2",
              .heads = vjepa_heads,
              .hidden_size = 1024,
              .intermediate_size = 4096,
              .num_hidden_layers = 24,
              .num_attention_heads = 16,
              .qkv_bias = if_qkv_bias,
              .attention = over_clips<gqa_part>,
              .resolve = adjust_vjepa_width,
              .stem = stem_of<vjepa_stem>,
              .input = fixed_images<vjepa_stem>}),
};

}  // namespace floptally::detail
