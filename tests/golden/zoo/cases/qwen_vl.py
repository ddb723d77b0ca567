# SPDX-License-Identifier: Apache-2.0
"""Images of any size: patches with grids, merged into tokens of a text. Qwen2-VL, its descendants and its family."""

import feeds
from cases.linear_attention import gated_delta_net

TOKENS = dict(image_token_id=7, video_token_id=8, vision_start_token_id=9, vision_end_token_id=10)
GLM_TOKENS = dict(image_token_id=7, video_token_id=8, image_start_token_id=9, image_end_token_id=10,
                  video_start_token_id=11, video_end_token_id=12)
ROPE = {"rope_type": "default", "mrope_section": [1, 1, 2]}
TEXT = dict(vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=3, num_attention_heads=6,
            num_key_value_heads=2, rope_parameters=ROPE)
VISION = dict(depth=3, in_channels=2, patch_size=3, spatial_merge_size=2, temporal_patch_size=2, num_heads=5)
CLIPS = ((((3, 4, 6),), ((1, 8, 4),)),)
RAGGED = ((((2, 10, 6),), ((1, 8, 14),)), (((1, 2, 18), (3, 6, 2)),))


def hybrid(config, batch, length, fused, grids):
    return gated_delta_net(config.text_config, batch, length, fused)


DIFFERENCES = {"qwen3_5": hybrid, "qwen3_5_moe": hybrid}


def without(config, *names):
    return {key: value for key, value in config.items() if key not in names}


def merge_sizes(name):
    """Images are not merged: 1 for each."""
    def of(grids):
        import torch
        return {name: torch.ones(len(grids), dtype=torch.long)}
    return of


def qwen2(case):
    tower = dict(VISION, embed_dim=40, hidden_size=48, mlp_ratio=3)
    case("qwen2_vl/generation", "Qwen2VLForConditionalGeneration", text_config=TEXT, vision_config=tower, **TOKENS,
         _feed=feeds.patches)
    case("qwen2_vl/model-clip", "Qwen2VLModel", text_config=TEXT, vision_config=tower, **TOKENS, _feed=feeds.patches,
         _samples=CLIPS)
    case("qwen2_vl/flat", "Qwen2VLForConditionalGeneration", **TEXT, tie_word_embeddings=True, vision_config=dict(
        tower, model_type="qwen2_vl", in_chans=7), **TOKENS, _feed=feeds.patches)
    case("qwen2_vl/windows-in-text", "Qwen2VLForConditionalGeneration", vision_config=dict(
        tower, spatial_merge_size=1), text_config=dict(TEXT, use_sliding_window=True, sliding_window=5,
                                                       max_window_layers=1, tie_word_embeddings=True),
         **TOKENS, _feed=feeds.patches)
    case("qwen2_vl_text/model", "Qwen2VLTextModel", **TEXT)
    case("qwen2_vl_text/windows", "Qwen2VLTextModel", **TEXT, use_sliding_window=True, sliding_window=5,
         max_window_layers=1)
    half = dict(VISION, hidden_size=40, intermediate_size=58, out_hidden_size=48, window_size=12,
                fullatt_block_indexes=[1])
    case("qwen2_5_vl/generation", "Qwen2_5_VLForConditionalGeneration", text_config=TEXT, vision_config=half, **TOKENS,
         _feed=feeds.patches)
    case("qwen2_5_vl/ragged-windows", "Qwen2_5_VLForConditionalGeneration", text_config=TEXT, **TOKENS,
         vision_config=dict(half, window_size=24), _feed=feeds.patches, _samples=RAGGED)
    case("qwen2_5_vl/rounded-windows", "Qwen2_5_VLModel", text_config=TEXT, **TOKENS,
         vision_config=dict(half, window_size=23, fullatt_block_indexes=[]), _feed=feeds.patches, _samples=RAGGED)
    case("qwen2_5_vl/flat", "Qwen2_5_VLForConditionalGeneration", **TEXT, **TOKENS, vision_config=dict(
        without(half, "fullatt_block_indexes"), depth=9, model_type="qwen2_5_vl"), _feed=feeds.patches,
         _samples=RAGGED)
    case("qwen2_5_vl_text/model", "Qwen2_5_VLTextModel", **TEXT)
    case("qwen2_5_vl_text/windows", "Qwen2_5_VLTextModel", **TEXT, use_sliding_window=True, sliding_window=5,
         max_window_layers=2)
    case("exaone4_5/generation", "Exaone4_5_ForConditionalGeneration", vision_config=dict(
        half, num_heads=10, num_key_value_heads=2), image_token_id=7, video_token_id=8, text_config=dict(
            without(TEXT, "rope_parameters"), model_type="exaone4", sliding_window=6), _feed=feeds.patches,
         _samples=RAGGED)


def qwen3(case):
    text = dict(TEXT, head_dim=8)
    tower = dict(VISION, hidden_size=40, intermediate_size=58, out_hidden_size=48, num_position_embeddings=36,
                 deepstack_visual_indexes=[0, 1])
    case("qwen3_vl/generation", "Qwen3VLForConditionalGeneration", text_config=text, vision_config=tower, **TOKENS,
         _feed=feeds.patches)
    case("qwen3_vl/no-deepstack", "Qwen3VLModel", text_config=dict(text, attention_bias=True), **TOKENS,
         vision_config=dict(tower, deepstack_visual_indexes=[]), _feed=feeds.patches)
    case("qwen3_vl/clip-tied", "Qwen3VLForConditionalGeneration", text_config=text, vision_config=dict(
        tower, deepstack_visual_indexes=[2], spatial_merge_size=3), tie_word_embeddings=True, **TOKENS,
         _feed=feeds.patches, _samples=((((3, 3, 6),), ((1, 9, 6), (2, 3, 3))),))
    case("qwen3_vl_text/model", "Qwen3VLTextModel", **text)
    experts = dict(text, num_local_experts=5, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=26)
    case("qwen3_vl_moe/generation", "Qwen3VLMoeForConditionalGeneration", text_config=experts, vision_config=tower,
         **TOKENS, _feed=feeds.patches)
    case("qwen3_vl_moe/dense-layers", "Qwen3VLMoeModel", text_config=dict(
        without(experts, "head_dim"), mlp_only_layers=[1]), vision_config=tower, **TOKENS, _feed=feeds.patches)
    case("qwen3_vl_moe_text/model", "Qwen3VLMoeTextModel", **dict(experts, decoder_sparse_step=2))
    tower = without(tower, "deepstack_visual_indexes")
    delta = dict(text, linear_num_value_heads=4, linear_num_key_heads=2, linear_key_head_dim=6,
                 linear_value_head_dim=10, num_hidden_layers=4,
                 rope_parameters=dict(ROPE, partial_rotary_factor=1.0))
    case("qwen3_5/generation", "Qwen3_5ForConditionalGeneration", vision_config=tower, text_config=delta, **TOKENS,
         _feed=feeds.patches)
    case("qwen3_5/model", "Qwen3_5Model", vision_config=tower, text_config=dict(delta, full_attention_interval=2),
         **TOKENS, _feed=feeds.patches, _samples=CLIPS)
    case("qwen3_5_moe/generation", "Qwen3_5MoeForConditionalGeneration", vision_config=tower, text_config=dict(
        delta, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=26, shared_expert_intermediate_size=22),
         **TOKENS, _feed=feeds.patches)


def glm(case):
    tower = dict(VISION, hidden_size=40, out_hidden_size=48, intermediate_size=58, image_size=12)
    case("glm4v/generation", "Glm4vForConditionalGeneration", text_config=TEXT, vision_config=tower, **GLM_TOKENS,
         _feed=feeds.patches)
    case("glm4v/tied-biased", "Glm4vForConditionalGeneration", vision_config=dict(tower, attention_bias=True),
         text_config=dict(TEXT, tie_word_embeddings=True), **GLM_TOKENS, _feed=feeds.patches)
    case("glm4v/model", "Glm4vModel", text_config=TEXT, vision_config=dict(tower, spatial_merge_size=1), **GLM_TOKENS,
         _feed=feeds.patches)
    case("glm4v_text/model", "Glm4vTextModel", **TEXT)
    case("glm46v/generation", "Glm46VForConditionalGeneration", text_config=dict(TEXT, model_type="glm4v_text"),
         vision_config=dict(tower, model_type="glm4v_vision"), **GLM_TOKENS, _feed=feeds.patches)
    experts = dict(TEXT, rope_parameters=dict(ROPE, partial_rotary_factor=1.0), n_routed_experts=5, n_shared_experts=2,
                   num_experts_per_tok=2, moe_intermediate_size=26, first_k_dense_replace=1, n_group=1, topk_group=1)
    case("glm4v_moe/generation", "Glm4vMoeForConditionalGeneration", text_config=experts, vision_config=tower,
         **GLM_TOKENS, _feed=feeds.patches)
    case("glm4v_moe_text/model", "Glm4vMoeTextModel", **experts, head_dim=8, attention_bias=False)
    case("glm_ocr/generation", "GlmOcrForConditionalGeneration", text_config=dict(TEXT, num_nextn_predict_layers=0),
         vision_config=tower, **GLM_TOKENS, _feed=feeds.patches)
    case("glm_ocr/tied", "GlmOcrForConditionalGeneration", text_config=dict(
        TEXT, head_dim=8, tie_word_embeddings=True), vision_config=dict(tower, attention_bias=False), **GLM_TOKENS,
         _feed=feeds.patches, _samples=CLIPS)
    case("glm_ocr_text/model", "GlmOcrTextModel", **TEXT)


def merged_outside(case):
    tower = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=5, intermediate_size=58, num_channels=2,
                 patch_size=3)
    ocr = dict(tower, image_size=12, spatial_merge_size=2)
    square = feeds.variant(feeds.patches, square=True)
    case("paddleocr_vl/generation", "PaddleOCRVLForConditionalGeneration", text_config=dict(TEXT, head_dim=8),
         vision_config=ocr, **TOKENS, _feed=square)
    case("paddleocr_vl/flat", "PaddleOCRVLForConditionalGeneration", **dict(TEXT, head_dim=10, use_bias=True,
                                                                           rope_parameters=dict(
                                                                               ROPE, mrope_section=[1, 2, 2])),
         vision_config=dict(ocr, model_type="paddleocr_vl"), tie_word_embeddings=False, **TOKENS, _feed=square,
         _samples=CLIPS)
    qwen = dict(without(TEXT, "rope_parameters"), model_type="qwen2")
    sizes = feeds.variant(feeds.patches, more=merge_sizes("image_merge_sizes"))
    case("video_llama_3/generation", "VideoLlama3ForConditionalGeneration", text_config=qwen, vision_config=tower,
         image_token_id=7, video_token_id=8, _feed=sizes)
    case("video_llama_3/tied-model", "VideoLlama3Model", text_config=dict(qwen, tie_word_embeddings=True),
         vision_config=tower, image_token_id=7, video_token_id=8, _feed=sizes)
    hunyuan = dict(tower, spatial_merge_size=2, max_image_size=12)
    plain = dict(TEXT, head_dim=8)
    tokens = dict(image_token_id=7, im_start_id=8, im_end_id=9, im_newline_id=10)
    case("hunyuan_vl/generation", "HunYuanVLForConditionalGeneration", text_config=plain, vision_config=hunyuan,
         **tokens, _feed=feeds.patches)
    case("hunyuan_vl/flat", "HunYuanVLForConditionalGeneration", **dict(
        without(plain, "head_dim"), attention_head_dim=10, attention_bias=True, rope_parameters=dict(
            ROPE, mrope_section=[1, 2, 2])), vision_config=hunyuan, **tokens,
         _feed=feeds.patches)
    case("hunyuan_vl_text/model", "HunYuanVLTextModel", **plain)
    latent = dict(model_type="deepseek_v3", vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=2,
                  num_attention_heads=6, num_key_value_heads=6, q_lora_rank=20, kv_lora_rank=18, qk_nope_head_dim=8,
                  qk_rope_head_dim=6, v_head_dim=14, n_routed_experts=5, num_experts_per_tok=2, n_group=1,
                  topk_group=1, n_shared_experts=1, moe_intermediate_size=26, first_k_dense_replace=1)
    kimi = dict(without(tower, "num_channels"), pos_emb_height=4, pos_emb_width=4)
    case("kimi_k25/generation", "Kimi_K25ForConditionalGeneration", text_config=latent, vision_config=kimi,
         projection_hidden_size=40, **TOKENS, _feed=square)
    case("kimi_k25/clip", "Kimi_K25Model", text_config=latent, vision_config=dict(kimi, merge_kernel_size=[2, 2]),
         projection_hidden_size=40, tie_word_embeddings=False, **TOKENS, _feed=square)


def towers(case):
    alone = feeds.patches_alone
    merged = dict(_loss=["pooler_output"])
    tower = dict(VISION, hidden_size=40, intermediate_size=58, out_hidden_size=52)
    case("qwen2_5_vl_vision/alone", "Qwen2_5_VisionTransformerPretrainedModel", **tower, window_size=12,
         fullatt_block_indexes=[0, 2], **merged, _feed=alone)
    case("exaone4_5_vision/alone", "Exaone4_5_VisionModel", **dict(tower, num_heads=10), num_key_value_heads=5,
         window_size=12, fullatt_block_indexes=[0, 2], **merged, _feed=alone)
    table = dict(tower, num_position_embeddings=25)
    case("qwen3_vl_vision/alone", "Qwen3VLVisionModel", **table, deepstack_visual_indexes=[], **merged, _feed=alone)
    case("qwen3_vl_moe_vision/alone", "Qwen3VLMoeVisionModel", **table, deepstack_visual_indexes=[], **merged,
         _feed=alone)
    case("qwen3_5_vision/alone", "Qwen3_5VisionModel", **table, **merged, _feed=alone)
    case("qwen3_5_moe_vision/alone", "Qwen3_5MoeVisionModel", **table, **merged, _feed=alone)
    image = dict(tower, image_size=13)
    case("glm4v_vision/alone", "Glm4vVisionModel", **image, **merged, _feed=alone)
    case("glm4v_moe_vision/alone", "Glm4vMoeVisionModel", **image, **merged, _feed=alone)
    case("glm_ocr_vision/alone", "GlmOcrVisionModel", **image, **merged, _feed=alone)
    outside = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=5, intermediate_size=58, patch_size=3)
    case("video_llama_3_vision/alone", "VideoLlama3VisionModel", **outside, num_channels=2, _feed=feeds.variant(
        alone, values_name="pixel_values", more=merge_sizes("merge_sizes")))
    case("kimi_k25_vision/alone", "Kimi_K25VisionModel", **outside, pos_emb_height=4, pos_emb_width=4,
         _feed=feeds.variant(alone, values_name="pixel_values", square=True), _samples=((((3, 4, 6),), ((3, 8, 4),)), (((1, 2, 18), (1, 6, 2)),)))


def cases(case):
    qwen2(case)
    qwen3(case)
    glm(case)
    merged_outside(case)
    towers(case)
