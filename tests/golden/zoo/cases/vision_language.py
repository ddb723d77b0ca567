# SPDX-License-Identifier: Apache-2.0
"""Vision-language models: LLaVA and its descendants, images in a text."""

import feeds
from cases.moe_decoders_a import all_experts_run


def one_sequence(config, batch, length, fused, grids):
    """Pixtral runs all images as one sequence, under a mask that keeps them apart."""
    vision = getattr(config, "vision_config", config)
    patches = [t * h * w for t, h, w in grids]
    masked = sum(patches) ** 2 - sum(count ** 2 for count in patches)
    products = 2 * vision.hidden_size * masked
    layers = vision.num_hidden_layers
    chosen = getattr(config, "vision_feature_layer", -1)
    chosen = chosen[0] if isinstance(chosen, list) else chosen
    used = chosen if chosen >= 0 else layers + 1 + chosen
    side = max(h for _, h, _ in grids) * max(w for _, _, w in grids) * len(grids)
    padding = 2 * vision.num_channels * vision.patch_size ** 2 * vision.hidden_size * (side - sum(patches))
    # Two products forward; backward two for each, and one that a fused kernel computes again.
    return {
        "images_as_one_sequence": {
            "forward": 2 * products * layers, "backward": (5 if fused else 4) * products * used,
            "why": "the images of a batch are one sequence; pairs between different images are computed and masked"},
        "padded_canvas": {
            "forward": padding, "backward": padding,
            "why": "patches are made of images padded to the largest; the padding is cut away before the layers"}}


def of_pixtral(config, batch, length, fused, grids):
    return one_sequence(config, batch, length, fused, grids) if config.vision_config.model_type == "pixtral" else {}


def padded_slots(config, batch, length, fused, grids=(), slots=36):
    """Gemma-4's tower runs on images padded to a number of patches, and its pooling is a product."""
    vision = getattr(config, "vision_config", config)
    if vision is None:
        return {}
    h, layers, heads = vision.hidden_size, vision.num_hidden_layers, vision.num_attention_heads * vision.head_dim
    patches = [t * rows * columns for t, rows, columns in grids]
    rows = slots * len(patches) - sum(patches)
    pairs = slots ** 2 * len(patches) - sum(count ** 2 for count in patches)
    stem = 2 * 3 * vision.patch_size ** 2 * h * rows
    weights = h * (2 * heads + 2 * vision.num_key_value_heads * vision.head_dim + 3 * vision.intermediate_size)
    core = 2 * heads * pairs
    pooling = 2 * len(patches) * slots * (slots // vision.pooling_kernel_size ** 2) * h
    return {
        "padded_images": {
            "forward": stem + layers * (2 * weights * rows + 2 * core),
            "backward": stem + layers * (4 * weights * rows + (5 if fused else 4) * core),
            "why": "every image is padded to the same number of patches, on which the tower runs"},
        "pooling_product": {
            "forward": pooling, "backward": pooling,
            "why": "patches are averaged by a product with a matrix of zeros and ones"}}


def padded_patches(config, batch, length, fused, grids, slots=40):
    """siglip2 runs on images padded to one number of patches, its pooling head too."""
    vision = config.vision_config
    width, layers = vision.hidden_size, vision.num_hidden_layers
    rows, pairs = (sum(slots ** power - (t * h * w) ** power for t, h, w in grids) for power in (1, 2))
    stem = 2 * rows * vision.num_channels * vision.patch_size ** 2 * width
    weights = 2 * rows * (4 * width * width + 2 * width * vision.intermediate_size) * layers
    core = 2 * pairs * width * layers
    pooling = 2 * rows * (2 * width * width + 2 * width) if vision.vision_use_head else 0
    return {"padded_images": {
        "forward": stem + weights + 2 * core + pooling,
        "backward": stem + 2 * weights + (5 if fused else 4) * core,
        "why": "every image is padded to the same number of patches, on which the tower runs"}}


def experts_of_text(config, batch, length, fused, grids):
    return all_experts_run(config.text_config, batch, length, fused)


DIFFERENCES = {"llama4": experts_of_text, "pixtral": one_sequence, "mistral3": one_sequence, "llava": of_pixtral,
               "lfm2_vl": padded_patches, "gemma4": padded_slots, "gemma4_vision": padded_slots}


LLAMA = dict(model_type="llama", vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=2,
             num_attention_heads=6, num_key_value_heads=3)
QWEN2 = dict(LLAMA, model_type="qwen2")
COHERE = dict(LLAMA, model_type="cohere2", sliding_window=6)
MISTRAL = dict(LLAMA, model_type="mistral", head_dim=8)
GEMMA = dict(LLAMA, model_type="gemma", head_dim=10)
CLIP = dict(model_type="clip_vision_model", hidden_size=40, num_hidden_layers=4, num_attention_heads=5,
            intermediate_size=66, image_size=21, patch_size=7, num_channels=2)
SIGLIP = dict(CLIP, model_type="siglip_vision_model")
PIXTRAL = dict(model_type="pixtral", hidden_size=40, num_hidden_layers=3, num_attention_heads=5, head_dim=8,
               intermediate_size=66, image_size=28, patch_size=3, num_channels=2)
INTERN = dict(model_type="internvl_vision", hidden_size=40, num_hidden_layers=3, num_attention_heads=5,
              intermediate_size=66, image_size=[28, 28], patch_size=[7, 7], num_channels=2)
TOKEN = dict(image_token_index=7)
TILES = dict(TOKEN, video_token_index=8, image_grid_pinpoints=[[21, 42], [42, 21], [42, 42]])


def llava_family(case):
    case("llava/generation", "LlavaForConditionalGeneration", text_config=LLAMA, vision_config=CLIP, **TOKEN,
         _feed=feeds.image_text)
    case("llava/full", "LlavaForConditionalGeneration", text_config=dict(LLAMA, tie_word_embeddings=True),
         vision_config=CLIP, **TOKEN, vision_feature_layer=3, vision_feature_select_strategy="full",
         _feed=feeds.image_text)
    case("llava/full-of-siglip", "LlavaForConditionalGeneration", text_config=LLAMA, vision_config=SIGLIP, **TOKEN,
         vision_feature_layer=-1, vision_feature_select_strategy="full", multimodal_projector_bias=False,
         _feed=feeds.image_text)
    case("llava/layers", "LlavaModel", text_config=LLAMA, vision_config=CLIP, **TOKEN, vision_feature_layer=[1, -3],
         _feed=feeds.image_text)
    case("llava/pixtral", "LlavaForConditionalGeneration", text_config=MISTRAL, vision_config=PIXTRAL, **TOKEN,
         vision_feature_layer=-1, vision_feature_select_strategy="full", _feed=feeds.images_in_one_canvas)
    case("llava/pixtral-layer", "LlavaModel", text_config=MISTRAL, vision_config=PIXTRAL, **TOKEN,
         vision_feature_select_strategy="full", _feed=feeds.images_in_one_canvas)
    case("llava_next/generation", "LlavaNextForConditionalGeneration", text_config=LLAMA, vision_config=CLIP, **TILES,
         _feed=feeds.tiles)
    case("llava_next/siglip-layers", "LlavaNextModel", text_config=MISTRAL, vision_config=SIGLIP, **TILES,
         vision_feature_layer=[-3, 2], vision_feature_select_strategy="full", multimodal_projector_bias=False,
         _feed=feeds.tiles)
    case("llava_next_video/tiles", "LlavaNextVideoForConditionalGeneration", text_config=LLAMA, vision_config=CLIP,
         **TILES, _feed=feeds.tiles)
    case("llava_next_video/clips", "LlavaNextVideoForConditionalGeneration", text_config=LLAMA, vision_config=CLIP,
         **TILES, spatial_pool_mode="max", _feed=feeds.clip_text)
    case("llava_next_video/stride", "LlavaNextVideoModel", text_config=LLAMA, **TILES, _feed=feeds.clip_text,
         vision_config=dict(CLIP, image_size=49), spatial_pool_stride=3)
    case("llava_onevision/generation", "LlavaOnevisionForConditionalGeneration", text_config=QWEN2,
         vision_config=SIGLIP, **TILES, _feed=feeds.tiles)
    case("llava_onevision/clips", "LlavaOnevisionModel", text_config=QWEN2,
         vision_config=dict(SIGLIP, vision_use_head=False), **TILES, vision_feature_layer=-2, _feed=feeds.clip_text)
    case("vipllava/generation", "VipLlavaForConditionalGeneration", text_config=LLAMA, vision_config=CLIP, **TOKEN,
         vision_feature_layers=[-2, 1, 2], _feed=feeds.image_text)
    case("vipllava/layer", "VipLlavaModel", text_config=LLAMA, vision_config=CLIP, **TOKEN, vision_feature_layer=-3,
         _feed=feeds.image_text)
    case("vipllava/usual-layers", "VipLlavaModel", text_config=LLAMA, vision_config=dict(CLIP, num_hidden_layers=11),
         **TOKEN, _feed=feeds.image_text)


def merging(case):
    case("pixtral/model", "PixtralVisionModel", hidden_size=40, num_hidden_layers=2, num_attention_heads=5,
         intermediate_size=66, image_size=28, patch_size=3, num_channels=2, _feed=feeds.images_in_one_canvas)
    case("mistral3/generation", "Mistral3ForConditionalGeneration", text_config=MISTRAL, vision_config=PIXTRAL, **TOKEN,
         spatial_merge_size=2, _feed=feeds.images_in_one_canvas)
    case("mistral3/layer", "Mistral3Model", text_config=MISTRAL, vision_config=PIXTRAL, **TOKEN,
         vision_feature_layer=[-2], multimodal_projector_bias=True, _feed=feeds.images_in_one_canvas)
    case("internvl_vision/model", "InternVLVisionModel", **{name: value for name, value in INTERN.items()
                                                            if name != "model_type"}, _feed=feeds.pixels)
    case("internvl_vision/variant", "InternVLVisionModel", hidden_size=40, num_hidden_layers=2, num_attention_heads=5,
         intermediate_size=66, image_size=[28, 21], patch_size=7, num_channels=2, attention_bias=True,
         use_qk_norm=True, norm_type="rms_norm", use_mean_pooling=False, use_mask_token=True,
         use_absolute_position_embeddings=False, _feed=feeds.pixels)
    case("internvl/generation", "InternVLForConditionalGeneration", text_config=QWEN2, vision_config=INTERN,
         image_token_id=7, _feed=feeds.image_text)
    case("internvl/layer", "InternVLModel", text_config=QWEN2, image_token_id=7, vision_feature_layer=-3,
         vision_config=dict(INTERN, image_size=56, patch_size=7), downsample_ratio=0.25, tie_word_embeddings=False,
         _feed=feeds.image_text)
    even = dict(SIGLIP, image_size=28)
    case("aya_vision/generation", "AyaVisionForConditionalGeneration", text_config=COHERE, vision_config=even, **TOKEN,
         alignment_intermediate_size=62, _feed=feeds.image_text)
    case("aya_vision/usual-width", "AyaVisionModel", text_config=COHERE, **TOKEN, downsample_factor=3,
         vision_config=dict(SIGLIP, image_size=42, vision_use_head=False), vision_feature_layer=-2,
         _feed=feeds.image_text)
    case("cohere2_vision/generation", "Cohere2VisionForConditionalGeneration", text_config=COHERE, vision_config=even,
         image_token_id=7, alignment_intermediate_size=62, _feed=feeds.image_text)
    case("cohere2_vision/model", "Cohere2VisionModel", text_config=COHERE, image_token_id=7, downsample_factor=3,
         vision_config=dict(SIGLIP, image_size=42, vision_use_head=False), alignment_intermediate_size=54,
         _feed=feeds.image_text)


    padded = {name: value for name, value in SIGLIP.items() if name != "image_size"}
    padded.update(model_type="siglip2_vision_model", num_patches=36)
    lfm2 = dict(LLAMA, model_type="lfm2", block_auto_adjust_ff_dim=False)
    case("lfm2_vl/generation", "Lfm2VlForConditionalGeneration", text_config=lfm2, vision_config=padded,
         image_token_id=7, projector_hidden_size=62, _feed=feeds.padded_text)
    case("lfm2_vl/no-head", "Lfm2VlForConditionalGeneration", text_config=lfm2, image_token_id=7, tie_embedding=False,
         vision_config=dict(padded, vision_use_head=False), projector_hidden_size=62, projector_bias=False,
         projector_use_layernorm=False, _feed=feeds.padded_text)
    adapted = dict(hidden_size=40, num_hidden_layers=2, num_attention_heads=5, intermediate_size=160, image_size=28,
                   patch_size=7, num_channels=2, vision_output_dim=36, projector_input_dim=36, projector_output_dim=36)
    experts = dict(vocab_size=101, hidden_size=48, intermediate_size=26, intermediate_size_mlp=70,
                   num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=3, head_dim=8,
                   num_local_experts=4, num_experts_per_tok=1, interleave_moe_layer_step=2)
    case("llama4_vision_model/model", "Llama4VisionModel", **adapted, _feed=feeds.pixels)
    case("llama4/generation", "Llama4ForConditionalGeneration", **TOKEN, vision_config=adapted, text_config=experts,
         _feed=feeds.image_text)
    case("llama4/tied", "Llama4ForConditionalGeneration", **TOKEN, tie_word_embeddings=False,
         vision_config=dict(adapted, pixel_shuffle_ratio=0.25, intermediate_size=640),
         text_config=dict(experts, tie_word_embeddings=True),
         _feed=feeds.image_text)
    ovis = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=5, intermediate_size=66, image_size=28,
                patch_size=7, num_channels=2, vocab_size=59)
    tokens = dict(image_token_id=7, visual_indicator_token_ids=[8, 9, 10, 11, 12], vocab_size=101, hidden_size=48)
    case("ovis2/generation", "Ovis2ForConditionalGeneration", text_config=QWEN2, vision_config=ovis, **tokens,
         _feed=feeds.image_text)
    case("ovis2/stride", "Ovis2Model", text_config=QWEN2, **tokens, _feed=feeds.image_text,
         vision_config=dict(ovis, hidden_stride=2, qkv_bias=True, mlp_bias=True, num_visual_indicator_tokens=3,
                            tokenize_function="st_argmax"))
    case("ovis2_vision/model", "Ovis2VisionModel", **ovis, _feed=feeds.pixels, _loss=["pooler_output"])


def gemma(case):
    case("paligemma/generation", "PaliGemmaForConditionalGeneration", text_config=GEMMA, **TOKEN, projection_dim=48,
         vision_config=dict(SIGLIP, projection_dim=48), _feed=feeds.image_text)
    case("paligemma/gemma2", "PaliGemmaForConditionalGeneration", **TOKEN, projection_dim=48,
         text_config=dict(GEMMA, model_type="gemma2", sliding_window=6), tie_word_embeddings=False,
         vision_config=dict(SIGLIP, vision_use_head=False), _attention=("eager",), _feed=feeds.image_text)
    text = dict(GEMMA, model_type="gemma3_text")
    tokens = dict(TOKEN, boi_token_index=8, eoi_token_index=9)
    case("gemma3/generation", "Gemma3ForConditionalGeneration", text_config=text, mm_tokens_per_image=4, **tokens,
         vision_config=dict(SIGLIP, image_size=28), _feed=feeds.image_text)
    case("gemma3/rest", "Gemma3Model", **tokens, mm_tokens_per_image=5, _feed=feeds.image_text,
         _samples=((1, 1), (2, 2)), _pairs=True,
         text_config=dict(text, sliding_window=3, layer_types=["sliding_attention", "full_attention"]),
         vision_config=dict(SIGLIP, image_size=35, vision_use_head=False))


def gemma4(case):
    text = dict(vocab_size=101, vocab_size_per_layer_input=101, hidden_size=48, intermediate_size=70,
                num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=3, head_dim=10, global_head_dim=14,
                hidden_size_per_layer_input=12, sliding_window=3,
                layer_types=["sliding_attention", "full_attention", "full_attention"])
    vision = dict(hidden_size=40, intermediate_size=66, num_hidden_layers=2, num_attention_heads=6,
                  num_key_value_heads=3, head_dim=8, patch_size=3, position_embedding_size=19, pooling_kernel_size=2)
    tokens = dict(image_token_id=7, video_token_id=8, audio_token_id=9, boi_token_id=10, eoi_token_id=11,
                  boa_token_id=12, eoa_token_index=13)
    case("gemma4_vision/model", "Gemma4VisionModel", **vision, _feed=feeds.positioned)
    case("gemma4/generation", "Gemma4ForConditionalGeneration", text_config=text, vision_config=vision, **tokens,
         _feed=feeds.positioned)
    case("gemma4/bidirectional-images", "Gemma4Model", **tokens, _feed=feeds.positioned, vision_config=vision,
         text_config=dict(text, use_bidirectional_attention="vision", hidden_size_per_layer_input=0,
                          global_head_dim=10), _pairs=True, _samples=((((1, 4, 6),), ((1, 6, 4),)),))
    case("gemma4/text-only", "Gemma4ForConditionalGeneration", text_config=text, **tokens, tie_word_embeddings=False,
         _pairs=False)


def cases(case):
    gemma4(case)
    llava_family(case)
    merging(case)
    gemma(case)
