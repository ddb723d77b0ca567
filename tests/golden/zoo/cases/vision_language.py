# SPDX-License-Identifier: Apache-2.0
"""Vision-language models: Qwen-VL kin (patches with grids), LLaVA kin (images in a text), and others."""

import feeds

TOKENS = dict(image_token_id=7, video_token_id=8, vision_start_token_id=9, vision_end_token_id=10)
ROPE = {"rope_type": "default", "mrope_section": [1, 1, 2]}


def qwen_vl(case):
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


def llava_kin(case):
    llama = dict(model_type="llama", vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=2,
                 num_attention_heads=6, num_key_value_heads=3)
    clip = dict(model_type="clip_vision_model", hidden_size=40, num_hidden_layers=4, num_attention_heads=5,
                intermediate_size=66, image_size=21, patch_size=7, num_channels=2)
    siglip = dict(clip, model_type="siglip_vision_model")
    token = dict(image_token_index=7)
    case("llava/generation", "LlavaForConditionalGeneration", text_config=llama, vision_config=clip, **token,
         _feed=feeds.image_text)
    case("llava/full-of-siglip", "LlavaForConditionalGeneration", text_config=llama, vision_config=siglip, **token,
         vision_feature_layer=-1, vision_feature_select_strategy="full", multimodal_projector_bias=False,
         _feed=feeds.image_text)
    case("llava/layers", "LlavaModel", text_config=llama, vision_config=clip, **token, vision_feature_layer=[1, -3],
         _feed=feeds.image_text)
    pins = [[21, 42], [42, 21], [42, 42]]
    case("llava_next/generation", "LlavaNextForConditionalGeneration", text_config=llama, vision_config=clip, **token,
         image_grid_pinpoints=pins, _feed=feeds.tiles)
    case("llava_onevision/generation", "LlavaOnevisionForConditionalGeneration", text_config=dict(
        llama, model_type="qwen2"), vision_config=siglip, **token, image_grid_pinpoints=pins, _feed=feeds.tiles)
    case("vipllava/generation", "VipLlavaForConditionalGeneration", text_config=llama, vision_config=clip, **token,
         vision_feature_layers=[-2, 1, 2], _feed=feeds.image_text)
    gemma = dict(model_type="gemma", vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=2,
                 num_attention_heads=6, num_key_value_heads=3, head_dim=10)
    case("paligemma/generation", "PaliGemmaForConditionalGeneration", text_config=gemma, **token, projection_dim=48,
         vision_config=dict(siglip, projection_dim=48), _feed=feeds.image_text)
    case("gemma3/generation", "Gemma3ForConditionalGeneration", text_config=dict(gemma, model_type="gemma3_text"),
         vision_config=dict(siglip, image_size=28), mm_tokens_per_image=4, **token, boi_token_index=8,
         eoi_token_index=9, _feed=feeds.image_text)
    qwen2 = dict(llama, model_type="qwen2")
    intern = dict(model_type="internvl_vision", hidden_size=40, num_hidden_layers=3, num_attention_heads=5,
                  intermediate_size=66, image_size=[28, 28], patch_size=[7, 7], num_channels=2)
    case("internvl/generation", "InternVLForConditionalGeneration", text_config=qwen2, vision_config=intern,
         image_token_id=7, _feed=feeds.image_text)
    even = dict(siglip, image_size=28)
    cohere = dict(llama, model_type="cohere2", sliding_window=6)
    case("aya_vision/generation", "AyaVisionForConditionalGeneration", text_config=cohere, vision_config=even, **token,
         alignment_intermediate_size=62, _feed=feeds.image_text)
    case("cohere2_vision/generation", "Cohere2VisionForConditionalGeneration", text_config=cohere, vision_config=even,
         image_token_id=7, alignment_intermediate_size=62, _feed=feeds.image_text)
    sam = dict(hidden_size=40, num_hidden_layers=2, num_attention_heads=5, mlp_dim=66, image_size=128, patch_size=8,
               num_channels=2, output_channels=12, window_size=3, global_attn_indexes=[1])
    case("got_ocr2/generation", "GotOcr2ForConditionalGeneration", text_config=qwen2, vision_config=sam, **token,
         _feed=feeds.image_text)
    llama4 = dict(hidden_size=40, num_hidden_layers=2, num_attention_heads=5, intermediate_size=160, image_size=28,
                  patch_size=7, num_channels=2, vision_output_dim=36, projector_input_dim=36, projector_output_dim=36)
    case("llama4/generation", "Llama4ForConditionalGeneration", image_token_index=7, vision_config=llama4,
         text_config=dict(vocab_size=101, hidden_size=48, intermediate_size=26, intermediate_size_mlp=70,
                          num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=3, head_dim=8,
                          num_local_experts=4, num_experts_per_tok=1, interleave_moe_layer_step=2),
         _feed=feeds.image_text)
    case("pixtral/model", "PixtralVisionModel", hidden_size=40, num_hidden_layers=2, num_attention_heads=5,
         intermediate_size=66, image_size=28, patch_size=3, num_channels=2, _feed=feeds.images_in_one_canvas)
    pixtral = dict(model_type="pixtral", hidden_size=40, num_hidden_layers=3, num_attention_heads=5, head_dim=8,
                   intermediate_size=66, image_size=28, patch_size=3, num_channels=2)
    mistral = dict(llama, model_type="mistral", head_dim=8)
    case("mistral3/generation", "Mistral3ForConditionalGeneration", text_config=mistral, vision_config=pixtral, **token,
         spatial_merge_size=2, _feed=feeds.images_in_one_canvas)
    case("llava/pixtral", "LlavaForConditionalGeneration", text_config=mistral, vision_config=pixtral, **token,
         vision_feature_layer=-1, vision_feature_select_strategy="full", _feed=feeds.images_in_one_canvas)


def others(case):
    llama = dict(model_type="llama", vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=2,
                 num_attention_heads=6, num_key_value_heads=3, pad_token_id=0)
    vision = dict(hidden_size=40, num_hidden_layers=2, num_attention_heads=5, intermediate_size=66, image_size=28,
                  patch_size=3, num_channels=2)
    case("idefics2/generation", "Idefics2ForConditionalGeneration", text_config=dict(llama, model_type="mistral"),
         vision_config=vision, image_token_id=7, _feed=feeds.masked_canvas,
         perceiver_config=dict(hidden_size=48, resampler_n_latents=3, resampler_depth=2, resampler_n_heads=4,
                               resampler_head_dim=10, num_key_value_heads=2))
    square = feeds.variant(feeds.masked_canvas, square=True)
    case("idefics3/generation", "Idefics3ForConditionalGeneration", text_config=llama, vision_config=vision,
         image_token_id=7, scale_factor=2, _feed=square)
    case("smolvlm/generation", "SmolVLMForConditionalGeneration", text_config=llama, vision_config=vision,
         image_token_id=7, scale_factor=2, _feed=square)
    case("mllama/generation", "MllamaForConditionalGeneration", image_token_index=100,
         text_config=dict(vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=3,
                          num_attention_heads=6, num_key_value_heads=3, cross_attention_layers=[1], pad_token_id=0),
         vision_config=dict(hidden_size=40, num_hidden_layers=3, num_global_layers=2, attention_heads=5,
                            intermediate_size=66, image_size=21, patch_size=7, num_channels=2, max_num_tiles=4,
                            intermediate_layers_indices=[0, 2], vision_output_dim=120,
                            supported_aspect_ratios=[[1, 1], [1, 2], [1, 3], [1, 4], [2, 1], [2, 2], [3, 1], [4, 1]]),
         _feed=feeds.cross_attended)


def cases(case):
    qwen_vl(case)
    llava_kin(case)
    others(case)
