# SPDX-License-Identifier: Apache-2.0
"""Qwen2-VL and its descendants: patches with grids, merged into tokens of a text."""

import feeds

TOKENS = dict(image_token_id=7, video_token_id=8, vision_start_token_id=9, vision_end_token_id=10)
ROPE = {"rope_type": "default", "mrope_section": [1, 1, 2]}


def cases(case):
    text = dict(vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=3, num_attention_heads=6,
                num_key_value_heads=2, rope_parameters=ROPE)
    vision = dict(depth=3, in_channels=2, patch_size=3, spatial_merge_size=2, temporal_patch_size=2, num_heads=5)
    two = dict(vision, embed_dim=40, hidden_size=48, mlp_ratio=3)
    case("qwen2_vl/generation", "Qwen2VLForConditionalGeneration", text_config=text, vision_config=two, **TOKENS,
         _feed=feeds.patches)
    case("qwen2_vl/model-clip", "Qwen2VLModel", text_config=text, vision_config=two, **TOKENS, _feed=feeds.patches,
         _samples=((((3, 4, 6),), ((1, 8, 4),)),))
    half = dict(vision, hidden_size=40, intermediate_size=58, out_hidden_size=48, window_size=12,
                fullatt_block_indexes=[1])
    case("qwen2_5_vl/generation", "Qwen2_5_VLForConditionalGeneration", text_config=text, vision_config=half, **TOKENS,
         _feed=feeds.patches)
    case("qwen2_5_vl/ragged-windows", "Qwen2_5_VLForConditionalGeneration", text_config=text, **TOKENS,
         vision_config=dict(half, window_size=24), _feed=feeds.patches,
         _samples=((((2, 10, 6),), ((1, 8, 14),)),))
    three = dict(vision, hidden_size=40, intermediate_size=58, out_hidden_size=48, num_position_embeddings=36,
                 deepstack_visual_indexes=[0, 1])
    case("qwen3_vl/generation", "Qwen3VLForConditionalGeneration", text_config=dict(text, head_dim=8),
         vision_config=three, **TOKENS, _feed=feeds.patches)
    case("qwen3_vl/no-deepstack", "Qwen3VLModel", text_config=dict(text, head_dim=8),
         vision_config=dict(three, deepstack_visual_indexes=[]), **TOKENS, _feed=feeds.patches)
    experts = dict(text, head_dim=8, num_local_experts=5, num_experts=5, num_experts_per_tok=2,
                   moe_intermediate_size=26)
    case("qwen3_vl_moe/generation", "Qwen3VLMoeForConditionalGeneration", text_config=experts, vision_config=three,
         **TOKENS, _feed=feeds.patches)
    glm = dict(vision, hidden_size=40, out_hidden_size=48, intermediate_size=58, image_size=12)
    tokens = dict(image_token_id=7, video_token_id=8, image_start_token_id=9, image_end_token_id=10,
                  video_start_token_id=11, video_end_token_id=12)
    case("glm4v/generation", "Glm4vForConditionalGeneration", text_config=text, vision_config=glm, **tokens,
         _feed=feeds.patches)
    glm_experts = dict(text, rope_parameters=dict(ROPE, partial_rotary_factor=1.0), n_routed_experts=5,
                       n_shared_experts=2, num_experts_per_tok=2, moe_intermediate_size=26, first_k_dense_replace=1,
                       n_group=1, topk_group=1)
    case("glm4v_moe/generation", "Glm4vMoeForConditionalGeneration", text_config=glm_experts, vision_config=glm,
         **tokens, _feed=feeds.patches)
    case("glm_ocr/generation", "GlmOcrForConditionalGeneration", text_config=dict(text, num_nextn_predict_layers=0),
         vision_config=glm, **tokens, _feed=feeds.patches)
    hybrid = dict(text, head_dim=8, linear_num_value_heads=4, linear_num_key_heads=2, linear_key_head_dim=6,
                  linear_value_head_dim=10, num_hidden_layers=4)
    hybrid.pop("rope_parameters")
    case("qwen3_5/generation", "Qwen3_5ForConditionalGeneration", vision_config={
        key: value for key, value in three.items() if not key.startswith("deep")},
         text_config=dict(hybrid, rope_parameters=dict(ROPE, partial_rotary_factor=1.0)), **TOKENS,
         _feed=feeds.patches)
    paddle = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=5, intermediate_size=58, num_channels=2,
                  image_size=12, patch_size=3, spatial_merge_size=2)
    case("paddleocr_vl/generation", "PaddleOCRVLForConditionalGeneration", text_config=dict(text, head_dim=8),
         vision_config=paddle, **TOKENS, _feed=feeds.variant(feeds.patches, square=True))
