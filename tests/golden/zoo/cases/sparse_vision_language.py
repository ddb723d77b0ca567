# SPDX-License-Identifier: Apache-2.0
"""Sparse decoders with a tower: MiniMax-M3-VL, Qwen4, GLM-5 and Mistral Large 4."""

import feeds
from cases import sparse_decoders
from cases.qwen_vl import CLIPS, GLM_TOKENS, TOKENS, VISION
from cases.vision_language import PIXTRAL, TOKEN, one_sequence

WIDTH = sparse_decoders.QWEN4["hidden_size"]


def qwen4_exp(config, batch, length, fused, grids):
    return sparse_decoders.qwen4_exp(config.text_config, batch, length, fused)


def plain_core(text, layers, batch, length, fused):
    """Latent attention has wider queries than values: no kernel fuses it, though the tower's is fused."""
    if fused is not True and fused != "mixed":
        return {}
    width = text.num_attention_heads * (text.qk_nope_head_dim + text.qk_rope_head_dim)
    return {"plain_text_core": {
        "forward": 0, "backward": -layers * 2 * batch * width * length * length,
        "why": "queries are wider than values, so the text's core is not fused: its backward runs QKᵀ no second time"}}


def glm5_next(config, batch, length, fused, grids):
    text = config.text_config
    return {**sparse_decoders.glm5_next(text, batch, length, fused),
            **plain_core(text, text.layer_types.count("indexed_attention"), batch, length, fused)}


def mistral_large4(config, batch, length, fused, grids):
    return {**one_sequence(config, batch, length, fused, grids),
            **plain_core(config.text_config, config.text_config.num_hidden_layers, batch, length, fused)}


DIFFERENCES = {"qwen4_exp": qwen4_exp, "glm5_next": glm5_next, "mistral_large4": mistral_large4}


def cases(case):
    minimax(case)
    qwen4(case)
    glm5(case)
    mistral(case)


def minimax(case):
    text = dict(sparse_decoders.MINIMAX, layer_types=["full_attention", "minimax_m3_sparse", "minimax_m3_sparse"])
    tower = dict(hidden_size=30, intermediate_size=58, num_hidden_layers=3, num_attention_heads=5, num_channels=2,
                 patch_size=3, temporal_patch_size=2, spatial_merge_size=2)
    tokens = dict(image_token_index=7, video_token_index=8)
    case("minimax_m3_vl/generation", "MiniMaxM3SparseForConditionalGeneration", text_config=text, vision_config=tower,
         projector_hidden_size=26, **tokens, _feed=feeds.patches)
    case("minimax_m3_vl/clips-tied", "MiniMaxM3SparseForConditionalGeneration", text_config=dict(
        text, tie_word_embeddings=True), vision_config=dict(tower, spatial_merge_size=1), projector_hidden_size=26,
         **tokens, _feed=feeds.patches, _samples=CLIPS)
    case("minimax_m3_vl/model", "MiniMaxM3VLModel", text_config=text, vision_config=tower, projector_hidden_size=26,
         **tokens, _feed=feeds.patches, _samples=CLIPS)


def qwen4(case):
    text = dict(sparse_decoders.QWEN4, layer_types=["linear_attention", "indexed_attention", "linear_attention"],
                rope_parameters={"rope_type": "default", "mrope_section": [2, 2, 2], "partial_rotary_factor": 1.0})
    tower = dict(VISION, hidden_size=40, intermediate_size=58, out_hidden_size=WIDTH, num_position_embeddings=36)
    case("qwen4_exp/generation", "Qwen4ExpForConditionalGeneration", text_config=text, vision_config=tower, **TOKENS,
         _feed=feeds.patches)
    case("qwen4_exp/clips", "Qwen4ExpModel", text_config=text, vision_config=tower, **TOKENS, _feed=feeds.patches,
         _samples=CLIPS)
    case("qwen4_exp_vision/model", "Qwen4ExpVisionModel", **tower, _feed=feeds.patches_alone,
         _loss=["pooler_output"])


def glm5(case):
    text = dict(sparse_decoders.GLM5, layer_types=["linear_attention", *["indexed_attention"] * 3])
    tower = dict(VISION, hidden_size=40, intermediate_size=58, out_hidden_size=40, projection_intermediate_size=26)
    case("glm5_next/generation", "Glm5NextForConditionalGeneration", text_config=text, vision_config=tower,
         **GLM_TOKENS, _feed=feeds.patches)
    case("glm5_next/no-biases-tied", "Glm5NextForConditionalGeneration", text_config=dict(
        text, tie_word_embeddings=True), vision_config=dict(tower, attention_bias=False), tie_word_embeddings=True,
         **GLM_TOKENS, _feed=feeds.patches)
    case("glm5_next/clips", "Glm5NextModel", text_config=text, vision_config=tower, **GLM_TOKENS, _feed=feeds.patches,
         _samples=CLIPS)
    case("glm5_next_vision/model", "Glm5NextVisionModel", **tower, _feed=feeds.patches_alone,
         _loss=["pooler_output"])


def mistral(case):
    text = dict(sparse_decoders.MISTRAL, model_type="mistral_large4_text")
    case("mistral_large4/generation", "MistralLarge4ForConditionalGeneration", text_config=text,
         vision_config=PIXTRAL, **TOKEN, spatial_merge_size=2, _feed=feeds.images_in_one_canvas)
    case("mistral_large4/layer", "MistralLarge4Model", text_config=dict(text, kv_source_layers=[0, 1, 1, 3, 1]),
         vision_config=PIXTRAL, **TOKEN, vision_feature_layer=[-2], multimodal_projector_bias=True,
         _feed=feeds.images_in_one_canvas)
