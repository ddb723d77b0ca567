# SPDX-License-Identifier: Apache-2.0
"""Vision-language models: qwen2_vl, llava."""

import feeds


def qwen_vl(case):
    text = dict(vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=3, num_attention_heads=6,
                num_key_value_heads=2, rope_parameters={"rope_type": "default", "mrope_section": [1, 1, 2]})
    vision = dict(depth=2, embed_dim=40, hidden_size=48, mlp_ratio=3, num_heads=5, in_channels=2, patch_size=3,
                  spatial_merge_size=2, temporal_patch_size=2)
    tokens = dict(image_token_id=7, video_token_id=8, vision_start_token_id=9, vision_end_token_id=10)
    case("qwen2_vl/generation", "Qwen2VLForConditionalGeneration", text_config=text, vision_config=vision, **tokens,
         _feed=feeds.patches)


def llava_kin(case):
    llama = dict(model_type="llama", vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=2,
                 num_attention_heads=6, num_key_value_heads=3)
    clip = dict(model_type="clip_vision_model", hidden_size=40, num_hidden_layers=4, num_attention_heads=5,
                intermediate_size=66, image_size=21, patch_size=7, num_channels=2)
    case("llava/generation", "LlavaForConditionalGeneration", text_config=llama, vision_config=clip,
         image_token_index=7, _feed=feeds.image_text)


def cases(case):
    qwen_vl(case)
    llava_kin(case)
