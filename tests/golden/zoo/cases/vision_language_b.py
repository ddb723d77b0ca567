# SPDX-License-Identifier: Apache-2.0
"""Vision-language models with connectors of their own: resamplers and Q-Formers, pixel shuffle, cross attention."""

import feeds
from cases.encoder_decoders import relative_bias



def canvas(config, grids, fused, square):
    """SigLIP's layers on images padded to the largest of the run, and how many patches are padding."""
    vision = getattr(config, "vision_config", config)
    h, layers, patches = vision.hidden_size, vision.num_hidden_layers, [t * rows * columns for t, rows, columns in grids]
    sides = [max(side) for side in zip(*((rows, columns) for _, rows, columns in grids))]
    slots = max(sides) ** 2 if square else sides[0] * sides[1]
    rows = slots * len(grids) - sum(patches)
    pairs = slots ** 2 * len(grids) - sum(count ** 2 for count in patches)
    stem = 2 * rows * vision.num_channels * vision.patch_size ** 2 * h
    weights = 2 * rows * (4 * h * h + 2 * h * vision.intermediate_size) * layers
    core = 2 * pairs * h * layers
    return rows, {"padded_images": {
        "forward": stem + weights + 2 * core, "backward": stem + 2 * weights + (5 if fused else 4) * core,
        "why": "images are padded to the largest of the batch, and the tower runs on the padding"}}


def shuffled(config, batch, length, fused, grids):
    rows, named = canvas(config, grids, fused, square=True)
    forward = 2 * rows * config.vision_config.hidden_size * config.text_config.hidden_size
    named["padded_projector"] = {"forward": forward, "backward": 2 * forward, "why": "the projector sees the padding"}
    return named


def resampled(config, batch, length, fused, grids):
    rows, named = canvas(config, grids, fused, square=False)
    h, inner, perceiver = config.text_config.hidden_size, config.text_config.intermediate_size, config.perceiver_config
    width, depth = perceiver.resampler_n_heads * perceiver.resampler_head_dim, perceiver.resampler_depth
    weights = 2 * rows * (2 * config.vision_config.hidden_size * inner + inner * h)
    weights += depth * 2 * rows * 2 * h * perceiver.num_key_value_heads * perceiver.resampler_head_dim
    core = depth * 2 * rows * perceiver.resampler_n_latents * width
    named["padded_projector"] = {
        "forward": weights + 2 * core, "backward": 2 * weights + (5 if fused else 4) * core,
        "why": "the projector sees the padding, and latents attend it"}
    return named


def padded_tiles(config, batch, length, fused, grids, encoder_length=0):
    """Every image is padded to max_num_tiles tiles, every tile to a multiple of 8 tokens; the mask of tiles is a
    product. The text sees the padding tiles too."""
    vision = getattr(config, "vision_config", config)
    h, layers, most = vision.hidden_size, vision.num_hidden_layers + vision.num_global_layers, vision.max_num_tiles
    rows, pairs, squares, patches, keys = 0, 0, 0, 0, 0
    for tiles, height, width in grids:
        real, slots = height * width + 1, -(-(height * width + 1) // 8) * 8
        rows += most * slots - tiles * real
        pairs += (most * slots) ** 2 - (tiles * real) ** 2
        squares += (most * slots) ** 2
        patches += (most - tiles) * height * width
        keys += (most - tiles) * real
    stem = 2 * patches * vision.num_channels * vision.patch_size ** 2 * h
    weights = layers * 2 * rows * (4 * h * h + 2 * h * vision.intermediate_size)
    core = layers * 2 * pairs * h
    if vision is not config:
        text = config.text_config
        crossed = sum(layer < text.num_hidden_layers for layer in text.cross_attention_layers)
        kv_width = text.num_key_value_heads * (text.hidden_size // text.num_attention_heads)
        weights += 2 * keys * text.hidden_size * (vision.vision_output_dim + crossed * 2 * kv_width)
        core += crossed * 2 * length * keys * text.hidden_size  # as many keys in every text
    return {
        "padded_tiles": {
            "forward": stem + weights + 2 * core, "backward": stem + 2 * weights + (5 if fused else 4) * core,
            "why": "every image is padded to max_num_tiles tiles, every tile to a multiple of 8 tokens"},
        "mask_product": {
            "forward": 2 * squares, "backward": 0,
            "why": "the mask of tiles is a product of two vectors"}}


def bias_of_text(config, batch, length, fused, grids, encoder_length):
    return relative_bias(config.text_config, batch, length, fused, encoder_length)


DIFFERENCES = {"idefics2": resampled, "idefics3": shuffled, "smolvlm": shuffled,
               "mllama": padded_tiles, "mllama_vision_model": padded_tiles}


LLAMA = dict(model_type="llama", vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=2,
             num_attention_heads=6, num_key_value_heads=3, pad_token_id=0)
MISTRAL = dict(LLAMA, model_type="mistral")
SIGLIP = dict(hidden_size=40, num_hidden_layers=2, num_attention_heads=5, intermediate_size=66, image_size=28,
              patch_size=3, num_channels=2)
SQUARE = feeds.variant(feeds.masked_canvas, square=True)


def idefics_family(case):
    perceiver = dict(hidden_size=48, resampler_n_latents=3, resampler_depth=2, resampler_n_heads=4,
                     resampler_head_dim=10, num_key_value_heads=2)
    case("idefics2/generation", "Idefics2ForConditionalGeneration", text_config=MISTRAL, vision_config=SIGLIP,
         image_token_id=7, _feed=feeds.masked_canvas, perceiver_config=perceiver)
    case("idefics2/defaults", "Idefics2Model", text_config=dict(MISTRAL, num_key_value_heads=2), image_token_id=7,
         vision_config=dict(SIGLIP, num_channels=3), _feed=feeds.masked_canvas,
         perceiver_config=dict(hidden_size=80, resampler_depth=1, num_key_value_heads=8))
    case("idefics2_vision/model", "Idefics2VisionTransformer", **SIGLIP, _feed=feeds.pixels)
    case("idefics3/generation", "Idefics3ForConditionalGeneration", text_config=LLAMA, vision_config=SIGLIP,
         image_token_id=7, scale_factor=2, _feed=SQUARE)
    case("idefics3/tied", "Idefics3ForConditionalGeneration", text_config=dict(LLAMA, tie_word_embeddings=True),
         vision_config=SIGLIP, image_token_id=7, tie_word_embeddings=True,
         _feed=feeds.variant(SQUARE, ((((1, 8, 8),), ((1, 8, 8),))), (((1, 8, 8), (1, 8, 8)),)), scale_factor=4)
    case("smolvlm/generation", "SmolVLMForConditionalGeneration", text_config=LLAMA, vision_config=SIGLIP,
         image_token_id=7, scale_factor=2, _feed=SQUARE)
    case("smolvlm/model", "SmolVLMModel", text_config=dict(LLAMA, head_dim=10), vision_config=SIGLIP,
         image_token_id=7, _feed=SQUARE)


    case("idefics3_vision/model", "Idefics3VisionTransformer", **SIGLIP, _feed=feeds.pixels)
    case("smolvlm_vision/model", "SmolVLMVisionTransformer", **SIGLIP, _feed=feeds.pixels)


def cross_attended(case):
    text = dict(vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=3, num_attention_heads=6,
                num_key_value_heads=3, cross_attention_layers=[1], pad_token_id=0)
    ratios = [[1, 1], [1, 2], [1, 3], [1, 4], [2, 1], [2, 2], [3, 1], [4, 1]]
    vision = dict(hidden_size=40, num_hidden_layers=3, num_global_layers=2, attention_heads=5, intermediate_size=66,
                  image_size=21, patch_size=7, num_channels=2, max_num_tiles=4, intermediate_layers_indices=[0, 2],
                  vision_output_dim=120, supported_aspect_ratios=ratios)
    case("mllama/generation", "MllamaForConditionalGeneration", image_token_index=100, text_config=text,
         vision_config=vision, _feed=feeds.cross_attended)
    case("mllama/padding", "MllamaForConditionalGeneration", image_token_index=100, text_config=text,
         vision_config=dict(vision, num_hidden_layers=2, num_global_layers=0, intermediate_layers_indices=[0, 1]),
         _feed=feeds.variant(feeds.cross_attended, (2, 2), (1, 1), padded=1))
    case("mllama/defaults", "MllamaModel", image_token_index=100,
         text_config=dict(text, num_hidden_layers=4, cross_attention_layers=None),
         vision_config=dict(vision, num_global_layers=1, max_num_tiles=2, vision_output_dim=80,
                            intermediate_layers_indices=[1], supported_aspect_ratios=ratios[:3]),
         _feed=feeds.cross_attended)
    case("mllama/lists-absent", "MllamaModel", image_token_index=100, text_config=text,
         vision_config=dict({name: value for name, value in vision.items() if name not in (
             "intermediate_layers_indices", "supported_aspect_ratios")}, num_hidden_layers=32, vision_output_dim=240),
         _feed=feeds.cross_attended)
    case("mllama_vision_model/model", "MllamaVisionModel", **vision, _feed=feeds.cross_attended)
    case("mllama_vision_model/lists-absent", "MllamaVisionModel", hidden_size=40, num_hidden_layers=32,
         num_global_layers=1, attention_heads=5, intermediate_size=66, image_size=21, patch_size=7, num_channels=2,
         vision_output_dim=240, _feed=feeds.cross_attended)
    case("mllama_text_model/generation", "MllamaForCausalLM", **dict(text, cross_attention_layers=[0, 2, 7]),
         _feed=feeds.cross_states)


def query_models(case):
    vision = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=5, intermediate_size=66, image_size=21,
                  patch_size=7)
    former = dict(hidden_size=36, num_hidden_layers=3, num_attention_heads=4, intermediate_size=50)
    opt = dict(model_type="opt", vocab_size=101, hidden_size=48, ffn_dim=70, num_hidden_layers=2,
               num_attention_heads=6, word_embed_proj_dim=48, max_position_embeddings=64)
    case("blip-2/generation", "Blip2ForConditionalGeneration", vision_config=vision, qformer_config=former,
         text_config=opt, num_query_tokens=5, image_token_index=7, _feed=feeds.image_text)
    case("blip-2/each-layer", "Blip2Model", vision_config=dict(vision, qkv_bias=False), num_query_tokens=3,
         qformer_config=dict(former, cross_attention_frequency=1, encoder_hidden_size=99),
         text_config=dict(LLAMA, tie_word_embeddings=True), image_token_index=7, _feed=feeds.image_text)
    t5 = dict(model_type="t5", vocab_size=101, d_model=48, d_kv=7, d_ff=70, num_layers=2, num_decoder_layers=3,
              num_heads=6, feed_forward_proj="gated-gelu", tie_word_embeddings=False)
    case("blip-2/text-to-text", "Blip2ForConditionalGeneration", vision_config=vision, qformer_config=former,
         text_config=t5, num_query_tokens=5, image_token_index=7, _feed=feeds.image_text_to_text,
         _differences=bias_of_text)
    case("blip_2_vision_model/model", "Blip2VisionModel", **vision, _feed=feeds.pixels)


def cases(case):
    idefics_family(case)
    cross_attended(case)
    query_models(case)
