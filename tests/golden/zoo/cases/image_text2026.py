# SPDX-License-Identifier: Apache-2.0
"""Image-text models that the other groups do not have: readers of documents, contrastive family, and single families."""

import feeds
from cases.qwen_vl import GLM_TOKENS
from cases.qwen_vl import TEXT as GLM_TEXT
from cases.qwen_vl import CLIPS, ROPE, hybrid
from cases.qwen_vl import VISION as GLM_VISION
from cases.vision import contrasted, pieces, windows
from cases.vision_language import CLIP, GEMMA, INTERN, LLAMA, MISTRAL, PIXTRAL, QWEN2, SIGLIP, TOKEN, one_sequence

QWEN3 = dict(LLAMA, model_type="qwen3", head_dim=10)

GLIMMER = feeds.variant(feeds.patches, values=54)
GLIMMER_ALONE = feeds.variant(feeds.patches_alone, values_name="pixel_values", values=54)
DELTA = dict(GLM_TEXT, model_type="qwen3_5_text", head_dim=8, num_hidden_layers=4, linear_num_key_heads=2,
             linear_num_value_heads=4, linear_key_head_dim=6, linear_value_head_dim=10, rope_parameters=dict(ROPE, partial_rotary_factor=1.0))


def plain(config):
    """Without model_type, for what has only one."""
    return {name: value for name, value in config.items() if name != "model_type"}


def cases(case):
    document_readers(case)
    janus_family(case)
    ernie(case)
    query_towers(case)
    florence(case)
    captions(case)
    documents(case)
    retrievers(case)
    got(case)
    packed_family(case)
    images_as_words(case)
    deepseek_ocr(case)
    granite(case)
    kosmos(case)
    step(case)
    one_stream(case)
    kosmos_documents(case)
    minicpm(case)
    borrowed(case)
    contrastive(case)


def document_readers(case):
    case("lighton_ocr/generation", "LightOnOcrForConditionalGeneration", text_config=QWEN3, vision_config=PIXTRAL,
         image_token_id=7, _feed=feeds.images_in_one_canvas)
    case("lighton_ocr/untied", "LightOnOcrForConditionalGeneration", text_config=dict(QWEN3, tie_word_embeddings=True),
         vision_config=PIXTRAL, image_token_id=7, tie_word_embeddings=False, spatial_merge_size=1,
         _feed=feeds.images_in_one_canvas)
    case("lighton_ocr/model", "LightOnOcrModel", text_config=QWEN3, vision_config=PIXTRAL, image_token_id=7,
         _feed=feeds.images_in_one_canvas)
    intern = plain(INTERN)
    case("qianfan_ocr/generation", "QianfanOCRForConditionalGeneration", text_config=QWEN3, vision_config=intern,
         image_token_id=7, _feed=feeds.image_text)
    case("qianfan_ocr/tied", "QianfanOCRForConditionalGeneration", text_config=QWEN3, image_token_id=7,
         vision_config=dict(intern, attention_bias=False), tie_word_embeddings=True, _feed=feeds.image_text)
    case("qianfan_ocr_vision/model", "QianfanOCRVisionModel", **intern, _feed=feeds.pixels)


def janus_family(case):
    case("deepseek_vl/generation", "DeepseekVLForConditionalGeneration", text_config=LLAMA, vision_config=SIGLIP,
         image_token_id=7, _feed=feeds.image_text)
    case("deepseek_vl/untied", "DeepseekVLForConditionalGeneration", text_config=LLAMA, vision_config=CLIP,
         image_token_id=7, tie_word_embeddings=False, _feed=feeds.image_text)
    case("deepseek_vl/model", "DeepseekVLModel", text_config=MISTRAL, vision_config=dict(SIGLIP, vision_use_head=False),
         image_token_id=7, _feed=feeds.image_text)
    janus = dict(plain(SIGLIP), projection_dim=48, mlp_ratio=1.7)
    del janus["intermediate_size"]
    codes = dict(base_channels=32, channel_multiplier=[1, 2], latent_channels=32, num_embeddings=20, num_res_blocks=1,
                 projection_dim=12, image_token_embed_dim=12)
    case("janus/generation", "JanusForConditionalGeneration", text_config=LLAMA, vision_config=janus, vq_config=codes,
         image_token_id=7, _feed=feeds.image_text, _parameters=maker_of_images)
    case("janus/untied", "JanusForConditionalGeneration", text_config=LLAMA, vq_config=codes, image_token_id=7,
         vision_config=dict(janus, depth=1, attention_bias=False), tie_word_embeddings=False,
         _feed=feeds.image_text, _parameters=maker_of_images)
    case("janus/deeper", "JanusModel", text_config=LLAMA, vq_config=codes, image_token_id=7,
         vision_config=dict(janus, depth=4), _feed=feeds.image_text, _parameters=maker_of_images)
    case("janus_vision_model/model", "JanusVisionModel", **janus, _feed=feeds.pixels)


def maker_of_images(config):
    """What janus has besides to make images: its autoencoder, the embeddings of its tokens and their head."""
    import torch
    import transformers
    with torch.device("meta"):
        model = transformers.JanusModel(config)
    count = sum(weight.numel() for name in ("vqmodel", "generation_embeddings", "generation_aligner", "generation_head")
                for weight in getattr(model, name).parameters())
    return {"maker_of_images": {"count": count, "why": "images are read, not made: the autoencoder, the embeddings of "
                                                       "its tokens and their head stand idle"}}


def ernie(case):
    text = dict(GLM_TEXT, moe_num_experts=4, moe_k=2, moe_intermediate_size=[26, 14], moe_num_shared_experts=2,
                mlp_layer_types=["sparse", "dense", "sparse"])
    tower = dict(depth=3, hidden_size=40, intermediate_size=58, num_heads=5, in_channels=2, patch_size=3)
    tokens = dict(image_token_id=7, video_token_id=8, image_start_token_id=9, image_end_token_id=10,
                  video_start_token_id=11, video_end_token_id=12, vision_config=tower)
    case("ernie4_5_vl_moe/generation", "Ernie4_5_VLMoeForConditionalGeneration", text_config=text, **tokens,
         _feed=feeds.patches_by_kind)
    case("ernie4_5_vl_moe/clips", "Ernie4_5_VLMoeForConditionalGeneration", **tokens, tie_word_embeddings=False,
         text_config=dict(text, use_bias=True, tie_word_embeddings=False), _feed=feeds.patches_by_kind,
         _samples=((((4, 4, 6),), ((2, 8, 4),)), (((2, 4, 4), (6, 4, 4)),)))
    case("ernie4_5_vl_moe/usual-layers", "Ernie4_5_VLMoeModel", **tokens, _feed=feeds.patches_by_kind, text_config=dict(
        {key: value for key, value in text.items() if key not in ("mlp_layer_types", "moe_intermediate_size")},
        moe_num_shared_experts=0))
    case("ernie4_5_vl_moe_text/model", "Ernie4_5_VLMoeTextModel", **text, _feed=feeds.two_kinds)
    alone = dict(grid_name="grid_thw", values_name="hidden_states")
    case("ernie4_5_vl_moe_vision/model", "Ernie4_5_VLMoeVisionTransformerPretrainedModel", **tower,
         _feed=feeds.variant(feeds.patches_alone, **alone))


def davit(config, batch, length, fused, grids, encoder_length=0):
    """DaViT pads each level to whole windows and runs them all."""
    vision = getattr(config, "vision_config", config)
    linears = cores = channels = 0
    side = vision.window_size
    for level, (depth, width, groups) in enumerate(zip(vision.depths, vision.embed_dim, vision.num_groups)):
        for _, *axes in grids:
            cells = [-(-axis // 2 ** level) for axis in axes]
            tokens, slots = cells[0] * cells[1], (-(-cells[0] // side) * side) * (-(-cells[1] // side) * side)
            seen = [sum(piece ** 2 for piece in pieces(axis, side, 0)) for axis in cells]
            linears += depth * 2 * (slots - tokens) * 4 * width * width
            cores += depth * 2 * 2 * width * (slots * side * side - seen[0] * seen[1])
            channels += depth * 2 * width * width // groups * tokens
    return {"padded_windows": {"forward": linears + cores, "backward": 2 * linears + (5 if fused else 4) * cores // 2,
                               "why": "every window is whole: cells beyond the border are computed and seen"},
            "plain_channels": {"forward": 0, "backward": -channels if fused else 0,
                               "why": "attention of channels is not fused: its backward runs QKᵀ no second time"}}


def florence(case):
    tower = dict(in_channels=2, embed_dim=[8, 12, 20], depths=[1, 2, 1], num_heads=[2, 3, 5], num_groups=[4, 2, 5],
                 patch_size=[7, 3, 3], patch_stride=[4, 2, 2], patch_padding=[3, 1, 1],
                 patch_prenorm=[False, True, True], window_size=3, mlp_ratio=2.5, projection_dim=48,
                 max_position_embeddings=9)
    bart = dict(model_type="bart", vocab_size=101, d_model=48, encoder_layers=2, decoder_layers=3,
                encoder_attention_heads=4, decoder_attention_heads=6, encoder_ffn_dim=70, decoder_ffn_dim=60,
                max_position_embeddings=64)
    seen = feeds.variant(feeds.image_text_to_text, grid=(1, 11, 6), patch=4)
    case("florence2/generation", "Florence2ForConditionalGeneration", text_config=bart, vision_config=tower,
         image_token_id=7, _feed=seen)
    case("florence2/untied", "Florence2ForConditionalGeneration", text_config=bart, tie_word_embeddings=False,
         vision_config=dict(tower, qkv_bias=False, patch_prenorm=[True, False, True]), image_token_id=7,
         _feed=feeds.variant(feeds.image_text_to_text, grid=(1, 12, 8), patch=4))
    case("florence2/tables-of-their-own", "Florence2Model", text_config=dict(bart, tie_word_embeddings=False),
         vision_config=dict({key: value for key, value in tower.items() if not key.startswith("patch_")},
                            embed_dim=[8, 12, 20, 24], depths=[1, 1, 1, 1], num_heads=[2, 3, 5, 4],
                            num_groups=[4, 2, 5, 3]),
         image_token_id=7, _feed=seen)
    case("florence_vision/model", "Florence2VisionBackbone", **tower, _feed=feeds.variant(
        feeds.pixels, (2, (1, 9, 6)), (1, (1, 7, 10)), patch=4, name="hidden_states"))


def of_encoder(config, batch, length, fused, grids, encoder_length):
    return windows(config.encoder, batch, length, fused, grids) if config.encoder.model_type == "donut-swin" else {}


def captions(case):
    """Towers before decoders."""
    vit = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=5, intermediate_size=66, image_size=28,
               patch_size=7, num_channels=2)
    swin = dict(image_size=48, patch_size=4, num_channels=2, embed_dim=12, depths=[1, 2], num_heads=[2, 3],
                window_size=3, mlp_ratio=3.0)
    trocr = dict(model_type="trocr", vocab_size=101, d_model=48, decoder_layers=3, decoder_attention_heads=6,
                 decoder_ffn_dim=70, max_position_embeddings=64, is_decoder=True, add_cross_attention=True)
    bart = dict(vocab_size=101, d_model=48, encoder_layers=2, decoder_layers=3, encoder_attention_heads=4,
                decoder_attention_heads=6, encoder_ffn_dim=70, decoder_ffn_dim=60, max_position_embeddings=64,
                is_decoder=True, add_cross_attention=True)
    bert = dict(LLAMA, is_decoder=True, add_cross_attention=True, max_position_embeddings=64)
    del bert["num_key_value_heads"]
    gpt2 = dict(model_type="gpt2", vocab_size=101, n_embd=48, n_layer=3, n_head=6, n_inner=70, n_positions=64,
                add_cross_attention=True)
    towers = {"vit": dict(vit, model_type="vit"), "deit": dict(vit, model_type="deit"),
              "swin": dict(swin, model_type="donut-swin")}
    for name, tower, decoder in (
            ("trocr", "vit", trocr), ("trocr-of-its-width", "deit", dict(trocr, cross_attention_hidden_size=40)),
            ("donut", "swin", dict(bart, model_type="mbart")), ("bart", "vit", dict(bart, model_type="bart")),
            ("bert", "vit", dict(bert, model_type="bert")), ("roberta", "vit", dict(bert, model_type="roberta")),
            ("gpt2", "vit", gpt2), ("same-width", "vit", dict(trocr, d_model=40, decoder_attention_heads=4))):
        case("vision-encoder-decoder/" + name, "VisionEncoderDecoderModel", encoder=towers[tower], decoder=decoder,
             _feed=feeds.captions, _attention=("eager", "sdpa") if tower == "vit" and decoder["model_type"] != "trocr" else ("eager",))
    rgb = dict({key: value for key, value in vit.items() if key != "num_channels"})
    blip = dict(vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=3, num_attention_heads=6,
                max_position_embeddings=64, encoder_hidden_size=40)
    case("blip/captions", "BlipForConditionalGeneration", text_config=blip, vision_config=rgb, _feed=feeds.attended)
    case("blip/untied", "BlipForConditionalGeneration", text_config=dict(blip, tie_word_embeddings=False), vision_config=rgb, tie_word_embeddings=False,
         _feed=feeds.attended)
    case("blip_vision_model/model", "BlipVisionModel", **rgb, _feed=feeds.pixels)
    git = dict(vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=3, num_attention_heads=6,
               max_position_embeddings=64, vision_config=vit)
    case("git/captions", "GitForCausalLM", **git, _feed=feeds.prepended, _pairs=True)
    case("git/tied-clips", "GitForCausalLM", **git, num_image_with_embedding=2, tie_word_embeddings=True, _pairs=True,
         _feed=feeds.prepended, _samples=((11, 2, 2), (7, 3, 2)))
    case("git/model", "GitModel", **git, _feed=feeds.prepended)
    case("git_vision_model/model", "GitVisionModel", **vit, _feed=feeds.pixels)
    alone = {key: value for key, value in trocr.items() if key not in ("model_type", "add_cross_attention")}
    case("trocr/generation", "TrOCRForCausalLM", **alone)
    case("trocr/sines", "TrOCRForCausalLM", **alone, use_learned_position_embeddings=False, layernorm_embedding=False,
         cross_attention_hidden_size=36, tie_word_embeddings=False)


def documents(case):
    tower = dict(hidden_size=40, patch_embed_hidden_size=27, d_ff=66, d_kv=7, num_hidden_layers=3,
                 num_attention_heads=5, seq_len=30)
    text = dict(vocab_size=101, hidden_size=48, d_ff=70, d_kv=8, num_layers=3, num_heads=6,
                relative_attention_num_buckets=8, initializer_range=0.02)
    case("pix2struct/generation", "Pix2StructForConditionalGeneration", text_config=text,
         vision_config=dict(tower, hidden_size=48), _feed=feeds.flat_patches)
    case("pix2struct/tied", "Pix2StructForConditionalGeneration", text_config=text,
         vision_config=dict(tower, hidden_size=48), tie_word_embeddings=True, _feed=feeds.flat_patches)
    case("pix2struct_text_model/generation", "Pix2StructTextModel", **text, _feed=feeds.encoder_states)
    case("pix2struct_vision_model/model", "Pix2StructVisionModel", **tower, _feed=feeds.flat_patches,
         _samples=((0, 2, (1, 4, 6)), (0, 1, (1, 2, 9))))


def plain_text_core(config, batch, length, fused, grids=(), encoder_length=0):
    """pix2struct's text attends itself by plain products, and the image by a fused kernel."""
    text = getattr(config, "text_config", config)
    product = 2 * batch * length * length * text.num_heads * text.d_kv * text.num_layers
    return {"plain_text_core": {"forward": 0, "backward": -product if fused else 0,
                                "why": "the text's own core is not fused: its backward runs QKᵀ no second time"}}


def retrievers(case):
    vectors = dict(_loss=["embeddings"])
    case("colpali/retrieval", "ColPaliForRetrieval", embedding_dim=20, **vectors, _feed=feeds.retrieved, vlm_config=dict(
        model_type="paligemma", text_config=GEMMA, **TOKEN, projection_dim=48,
        vision_config=dict(SIGLIP, projection_dim=48)))
    qwen = dict(GLM_TEXT, model_type="qwen2_vl_text")
    tower = dict(GLM_VISION, embed_dim=40, mlp_ratio=2, hidden_size=48)
    case("colqwen2/retrieval", "ColQwen2ForRetrieval", embedding_dim=20, **vectors, _feed=feeds.retrieved_patches,
         vlm_config=dict(model_type="qwen2_vl", text_config=qwen, vision_config=tower, image_token_id=7,
                         video_token_id=8, vision_start_token_id=9, vision_end_token_id=10))
    bert = dict(model_type="modernbert", vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=4,
                num_attention_heads=6, local_attention=8, pad_token_id=0)
    even = dict(SIGLIP, image_size=28)
    both = dict(text_config=bert, vision_config=even, image_token_id=7, pixel_shuffle_factor=2)
    case("modernvbert/masked", "ModernVBertForMaskedLM", **both, _feed=feeds.image_rows)
    case("modernvbert/tied", "ModernVBertForMaskedLM", **dict(both, text_config=dict(
        bert, decoder_bias=False, classifier_bias=True)), tie_word_embeddings=True, _feed=feeds.image_rows)
    case("modernvbert/model", "ModernVBertModel", **dict(both, vision_config=dict(even, vision_use_head=False)),
         _feed=feeds.image_rows)
    case("colmodernvbert/retrieval", "ColModernVBertForRetrieval", embedding_dim=20, **vectors,
         _feed=feeds.variant(feeds.retrieved, rows=True), vlm_config=dict(both, model_type="modernvbert"))


def sam(config, batch, length, fused, grids, has_kernel=False):
    """SAM's encoder pads its windows and runs them whole; with biases of its scores, or where the class has no fused
    kernel, by plain products."""
    vision = getattr(config, "vision_config", config)
    width, side = vision.hidden_size, vision.window_size
    linears = cores = positions = products = 0
    for layer in range(vision.num_hidden_layers):
        whole = layer in vision.global_attn_indexes
        for _, *axes in grids:
            tokens = axes[0] * axes[1]
            slots = tokens if whole else (-(-axes[0] // side) * side) * (-(-axes[1] // side) * side)
            seen = [axis ** 2 if whole else sum(piece ** 2 for piece in pieces(axis, side, 0)) for axis in axes]
            pairs = tokens ** 2 if whole else slots * side * side
            linears += 2 * (slots - tokens) * 4 * width * width
            cores += 2 * 2 * width * (pairs - seen[0] * seen[1])
            positions += 2 * (slots - tokens) * 2 * side * width * vision.use_rel_pos
            products += 2 * width * seen[0] * seen[1]
    plain = vision.use_rel_pos or not has_kernel
    again = 0 if plain or not fused else cores // 2
    return {"padded_windows": {"forward": linears + cores + positions,
                               "backward": 2 * (linears + cores + positions) + again,
                               "why": "every window is whole: cells beyond the border are computed and seen"},
            "plain_tower": {"forward": 0, "backward": -products if fused and plain else 0,
                            "why": "the tower's core is not fused: its backward runs QKᵀ no second time"}}


def got(case):
    tower = dict(hidden_size=40, output_channels=18, num_hidden_layers=3, num_attention_heads=5, num_channels=2,
                 image_size=49, patch_size=7, window_size=3, global_attn_indexes=[1], mlp_dim=66)
    token = dict(image_token_index=7)
    case("got_ocr2/generation", "GotOcr2ForConditionalGeneration", text_config=QWEN2, vision_config=tower, **token,
         _feed=feeds.image_text)
    case("got_ocr2/untied", "GotOcr2ForConditionalGeneration", text_config=QWEN2, **token, tie_word_embeddings=False,
         vision_config=dict(tower, image_size=42, use_abs_pos=False, use_rel_pos=False, qkv_bias=False),
         _feed=feeds.image_text)
    case("got_ocr2/model", "GotOcr2Model", text_config=QWEN2, vision_config=tower, **token, _feed=feeds.image_text)
    case("got_ocr2_vision/encoder", "GotOcr2VisionEncoder", **tower, _feed=feeds.pixels)
    case("pp_chart2table/generation", "GotOcr2ForConditionalGeneration", text_config=QWEN2, vision_config=tower, **token,
         _feed=feeds.image_text)


def packed_family(case):
    """Towers whose images are packed, of any size."""
    qwen = dict(depth=3, hidden_size=40, intermediate_size=58, num_heads=5, in_channels=2, patch_size=3,
                temporal_patch_size=2, spatial_merge_size=2, window_size=12, fullatt_block_indexes=[1],
                out_hidden_size=34, model_type="qwen2_5_vl_vision")
    tokens = dict(image_token_id=7, video_token_id=8)
    clova = dict(LLAMA, model_type="hyperclovax")
    case("hyperclovax_vision_v2/generation", "HyperCLOVAXVisionV2ForConditionalGeneration", text_config=clova,
         vision_config=dict(qwen, num_heads=10), **tokens, _feed=feeds.patches)
    case("hyperclovax_vision_v2/untied-clips", "HyperCLOVAXVisionV2ForConditionalGeneration", text_config=clova,
         vision_config=dict(qwen, num_heads=10, model_type="qwen2_5_vl"), tie_word_embeddings=False, **tokens,
         _feed=feeds.patches, _samples=CLIPS)
    case("hyperclovax_vision_v2/model", "HyperCLOVAXVisionV2Model", text_config=clova,
         vision_config=dict(qwen, num_heads=10), **tokens, _feed=feeds.patches)
    edge = dict(vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=3, num_attention_heads=6,
                num_key_value_heads=2, head_dim=8,
                rope_parameters={"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 2]})
    tower = dict(hidden_size=40, intermediate_size=58, num_hidden_layers=3, num_attention_heads=5, num_channels=2,
                 patch_size=3, num_patches=36)
    both = dict(text_config=edge, vision_config=tower, projector_hidden_size=62, **tokens)
    case("cosmos3_edge/generation", "Cosmos3EdgeForConditionalGeneration", **both, _feed=feeds.patches)
    case("cosmos3_edge/biased-clips", "Cosmos3EdgeModel", **dict(both, text_config=dict(
        edge, mlp_bias=True, attention_bias=True)), _feed=feeds.patches, _samples=CLIPS)
    case("cosmos3_edge_text/model", "Cosmos3EdgeTextModel", **edge)
    alone = dict(values_name="pixel_values")
    case("cosmos3_edge_vision/model", "Cosmos3EdgeVisionModel", **tower, _feed=feeds.variant(
        feeds.patches_alone, **alone))
    glimmer = dict(LLAMA, head_dim=8, sliding_window=6, num_hidden_layers=3)
    del glimmer["model_type"]
    wide = dict(hidden_size=40, intermediate_size=58, num_hidden_layers=3, num_attention_heads=5, patch_size=3,
                pos_emb_height=4, pos_emb_width=4)
    listed = dict(wide, layer_types=["window_attention", "full_attention", "window_attention"])
    both = dict(text_config=glimmer, vision_config=wide, out_hidden_size=160, projector_hidden_size=62, **tokens)
    case("muse_glimmer/generation", "MuseGlimmerForConditionalGeneration", **both, _feed=GLIMMER)
    case("muse_glimmer/tied-lists", "MuseGlimmerForConditionalGeneration", **dict(both, vision_config=listed, text_config=dict(
        glimmer, layer_types=["full_attention", "sliding_attention", "sliding_attention"], attention_bias=True)),
         tie_word_embeddings=True, _feed=GLIMMER)
    case("muse_glimmer/model", "MuseGlimmerModel", **both, _feed=GLIMMER)
    case("muse_glimmer_text/model", "MuseGlimmerTextModel", **glimmer)
    case("muse_glimmer_vision/model", "MuseGlimmerVisionModel", **wide, _feed=GLIMMER_ALONE)


def autoencoder(name):
    """The autoencoder that makes tokens of images, which a text of tokens leaves idle."""
    def unused(config):
        import torch
        import transformers
        with torch.device("meta"):
            model = getattr(transformers, name)(config)
        return {"autoencoder": {"count": sum(weight.numel() for weight in model.vqmodel.parameters()),
                                "why": "tokens of images are made by an autoencoder, which stands idle here"}}
    return unused


def images_as_words(case):
    codes = dict(embed_dim=8, num_embeddings=20, latent_channels=32, resolution=16, base_channels=32,
                 channel_multiplier=[1, 2], num_res_blocks=1)
    words = {"<image>": 7, "IMGIMGBBZ": 9}
    text = {key: value for key, value in LLAMA.items() if key != "model_type"}
    idle = dict(_parameters=autoencoder("ChameleonModel"), vq_config=codes, vocabulary_map=words)
    case("chameleon/generation", "ChameleonForConditionalGeneration", **text, **idle)
    case("chameleon/tied-swin", "ChameleonForConditionalGeneration", **text, **idle, swin_norm=True,
         attention_bias=True, tie_word_embeddings=True)
    case("chameleon/model", "ChameleonModel", **text, **idle)
    codes = dict(codebook_size=20, embed_dim=4, latent_channels=4, base_channels=32, channel_multiplier=[1, 1],
                 num_res_blocks=1, attn_resolutions=[1], hidden_size=32)
    text["pad_token_id"] = 0
    idle = dict(_parameters=autoencoder("Emu3Model"), vq_config=codes, vocabulary_map=words, text_config=text)
    case("emu3/generation", "Emu3ForConditionalGeneration", **idle)
    case("emu3/tied", "Emu3ForConditionalGeneration", **idle, tie_word_embeddings=True)
    case("emu3/model", "Emu3Model", **idle)
    case("emu3_text_model/generation", "Emu3ForCausalLM", **text)
    case("emu3_text_model/tied", "Emu3ForCausalLM", **text, attention_bias=True, mlp_bias=True, tie_word_embeddings=True)
    persimmon = dict(model_type="persimmon", vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=3,
                     num_attention_heads=6)
    case("fuyu/generation", "FuyuForCausalLM", text_config=persimmon, patch_size=3, num_channels=2, image_token_id=7,
         _feed=feeds.raw_patches)
    beside = {key: value for key, value in persimmon.items() if key != "model_type"}
    case("fuyu/text-beside", "FuyuForCausalLM", **beside, patch_size=3, num_channels=2, image_token_id=7,
         _feed=feeds.raw_patches)
    case("fuyu/model-tied", "FuyuModel", text_config=persimmon, patch_size=3, num_channels=2, image_token_id=7,
         tie_word_embeddings=True, _feed=feeds.raw_patches)
    case("fuyu/tied", "FuyuForCausalLM", text_config=persimmon, patch_size=3, num_channels=2, image_token_id=7,
         tie_word_embeddings=True, _feed=feeds.raw_patches)


def queried_cells(config, batch, length, fused, grids):
    """The second encoder runs all pairs of cells and queries, of which cells see no query and queries no later one."""
    vision = getattr(config, "vision_config", config)
    encoder, first = vision.encoder_config, vision.sam_config
    hidden = 0
    for _, rows, columns in grids:
        cells = rows * columns // 16
        hidden += cells * cells + cells * (cells - 1) // 2
    product = 2 * encoder.hidden_size * hidden * encoder.num_hidden_layers
    return {**sam(first, batch, length, fused, grids, has_kernel=True),
            "masked_queries": {"forward": 2 * product, "backward": (5 if fused else 4) * product,
                               "why": "pairs that cells and queries do not see are computed and masked"}}


def deepseek_ocr(case):
    first = dict(hidden_size=12, output_channels=6, num_hidden_layers=2, num_attention_heads=2, num_channels=2,
                 image_size=96, patch_size=2, window_size=10, global_attn_indexes=[1], mlp_dim=18,
                 downsample_channels=[10, 16])
    second = dict(hidden_size=16, intermediate_size=26, num_hidden_layers=2, num_attention_heads=4,
                  num_key_value_heads=2)
    text = dict(vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=3, num_attention_heads=6,
                num_key_value_heads=3, n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=26,
                mlp_layer_types=["dense", "sparse", "sparse"])
    both = dict(text_config=text, vision_config=dict(sam_config=first, encoder_config=second), image_token_id=7)
    case("deepseek_ocr2/generation", "DeepseekOcr2ForConditionalGeneration", **both, _feed=feeds.image_pages,
         _samples=((1, 1),))
    plain_first = dict(first, use_abs_pos=False, use_rel_pos=False, qkv_bias=False)
    del plain_first["mlp_dim"]
    case("deepseek_ocr2/biased", "DeepseekOcr2Model", **dict(both, text_config=dict(
        text, attention_bias=True, mlp_bias=True), vision_config=dict(sam_config=plain_first, encoder_config=second)),
         _feed=feeds.image_pages, _samples=((1,),))
    case("deepseek_ocr2/tied", "DeepseekOcr2ForConditionalGeneration", **both, tie_word_embeddings=True,
         _feed=feeds.image_pages, _samples=((1,),))
    case("deepseek_ocr2_vision/model", "DeepseekOcr2VisionModel", sam_config=first, encoder_config=second,
         _feed=feeds.variant(feeds.pixels, (1, (1, 48, 48)), patch=2))
    case("deepseek_ocr2_vision/usual-width", "DeepseekOcr2VisionModel", encoder_config=dict(
        second, hidden_size=896, num_hidden_layers=1), sam_config={
            key: value for key, value in first.items() if key != "downsample_channels"},
         _feed=feeds.variant(feeds.pixels, (1, (1, 48, 48)), patch=2))
    case("deepseek_ocr2_text/model", "DeepseekOcr2TextModel", **text)


def granite(case):
    text = {key: value for key, value in LLAMA.items() if key != "model_type"}
    tower = dict(hidden_size=64, intermediate_size=66, num_hidden_layers=3, num_attention_heads=4, image_size=48,
                 patch_size=3, num_channels=2)
    both = dict(text_config=dict(text, num_hidden_layers=6), vision_config=dict(tower, model_type="clip_vision_model"),
                image_token_index=7, downsample_rate="4/8", image_grid_pinpoints=[[48, 96], [96, 48], [96, 96]],
                qformer_config=dict(model_type="blip_2_qformer", num_hidden_layers=1, intermediate_size=50))
    case("granite4_vision/generation", "Granite4VisionForConditionalGeneration", **both,
         deepstack_layer_map=[[-2, 0], [1, 5]], spatial_target_layers=[1, 2, 3, 4], _feed=feeds.tiles)
    case("granite4_vision/siglip-tied", "Granite4VisionForConditionalGeneration", **dict(
        both, vision_config=dict(tower, model_type="siglip_vision_model", vision_use_head=False), qformer_config=dict(
            model_type="blip_2_qformer", num_hidden_layers=3, intermediate_size=50, cross_attention_frequency=2)),
         deepstack_layer_map=[[-1, 0]], spatial_target_layers=[1, 3], vision_feature_select_strategy="full",
         tie_word_embeddings=True, _feed=feeds.tiles)
    case("granite4_vision/usual-targets", "Granite4VisionModel", **dict(both, text_config=dict(
        text, num_hidden_layers=22)), deepstack_layer_map=[[-2, 0]], _feed=feeds.tiles, _samples=((((30, 41),),),))
    case("granite4_vision_text/model", "Granite4VisionTextModel", **text)


def kosmos(case):
    text = dict(vocab_size=101, embed_dim=48, layers=3, ffn_dim=70, attention_heads=6, max_position_embeddings=64)
    both = dict(text_config=text, vision_config=plain(CLIP), latent_query_num=5)
    case("kosmos-2/generation", "Kosmos2ForConditionalGeneration", **both, _feed=feeds.marked)
    case("kosmos-2/untied", "Kosmos2ForConditionalGeneration", **dict(both, text_config=dict(
        text, tie_word_embeddings=False)), tie_word_embeddings=False, _feed=feeds.marked)
    case("kosmos-2/model", "Kosmos2Model", **both, _feed=feeds.marked)


def plain_tower(config, batch, length, fused, grids):
    """Kosmos-2.5's tower attends by plain products, its text by a fused kernel."""
    vision = config.vision_config
    pairs = sum((rows * columns) ** 2 for _, rows, columns in grids)
    product = 2 * pairs * vision.num_attention_heads * vision.head_dim * vision.num_hidden_layers
    return {"plain_tower": {"forward": 0, "backward": -product if fused else 0,
                            "why": "the tower's core is not fused: its backward runs QKᵀ no second time"}}


def kosmos_documents(case):
    text = dict(vocab_size=101, embed_dim=48, layers=3, ffn_dim=70, attention_heads=6, max_position_embeddings=64)
    tower = dict(hidden_size=40, patch_embed_hidden_size=27, intermediate_size=66, head_dim=7, num_hidden_layers=3,
                 num_attention_heads=5, max_num_patches=30)
    both = dict(text_config=text, vision_config=tower, latent_query_num=5)
    case("kosmos-2.5/generation", "Kosmos2_5ForConditionalGeneration", **both, _feed=feeds.marked_patches)
    case("kosmos-2.5/untied", "Kosmos2_5ForConditionalGeneration", **dict(both, text_config=dict(
        text, tie_word_embeddings=False)), tie_word_embeddings=False, _feed=feeds.marked_patches)
    case("kosmos-2.5/model", "Kosmos2_5Model", **both, _feed=feeds.marked_patches)


def step(case):
    text = dict(vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=5, num_attention_heads=6,
                num_key_value_heads=3, head_dim=8, n_routed_experts=5, num_experts_per_tok=2, moe_intermediate_size=26,
                share_expert_dim=22, pad_token_id=1, sliding_window=4)
    slid = dict(text, layer_types=["full_attention", "sliding_attention", "full_attention",
                                                     "sliding_attention", "full_attention"])
    tower = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=5, image_size=35, patch_size=7,
                 num_channels=2, mlp_ratio=1.5)
    both = dict(vision_config=tower, image_token_id=7)
    case("step3p7/generation", "Step3p7ForConditionalGeneration", text_config=text, **both, _feed=feeds.image_text)
    case("step3p7/windows-tied", "Step3p7ForConditionalGeneration", text_config=dict(
        slid, num_sliding_attention_heads=9, mlp_layer_types=["sparse", "dense", "sparse", "dense", "sparse"]),
         **both, projector_bias=True, tie_word_embeddings=True, _feed=feeds.image_text)
    older = dict(num_channels=2, image_size=35, patch_size=7, mlp_ratio=1.5, width=40, layers=2, heads=5)
    plain_text = {key: value for key, value in slid.items() if key not in (
        "n_routed_experts", "num_experts_per_tok", "share_expert_dim", "num_key_value_heads")}
    case("step3p7/older-names", "Step3p7Model", vision_config=older, image_token_id=7, _feed=feeds.image_text,
         text_config=dict(plain_text, num_attention_groups=3, moe_num_experts=5, moe_top_k=2, share_expert_dims=22,
                          moe_layers_enum=[1, 3], attention_other_setting={"num_attention_heads": 12}))
    case("step3p7/windows-of-all-heads", "Step3p7Model", text_config=slid, **both, _feed=feeds.image_text)
    case("step3p7/layers-as-text", "Step3p7Model", text_config=dict(text, moe_layers_enum="3,4"), **both,
         _feed=feeds.image_text)


def one_stream(case):
    vilt = dict(vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=3, num_attention_heads=6,
                image_size=28, patch_size=7, num_channels=2)
    case("vilt/questions", "ViltForQuestionAnswering", **vilt, num_labels=5, _feed=feeds.one_stream)
    case("vilt/retrieval", "ViltForImageAndTextRetrieval", **vilt, qkv_bias=False, _feed=feeds.one_stream)
    case("vilt/model", "ViltModel", **vilt, _feed=feeds.one_stream)


def minicpm(case):
    tower = dict(hidden_size=40, intermediate_size=58, num_hidden_layers=4, num_attention_heads=5, num_channels=2,
                 image_size=24, patch_size=3)
    for name, prefix in (("minicpmv4_6", "MiniCPMV4_6"), ("minicpmv4_7", "MiniCPMV4_7"), ("minicpm_ocr", "MiniCPMOcr")):
        inserted = dict(tower, insert_layer_id=1)
        both = dict(text_config=DELTA, vision_config=inserted, image_token_id=7, video_token_id=8, insert_layer_id=1)
        case(name + "/generation", prefix + "ForConditionalGeneration", **both, _feed=feeds.patches_in_a_row)
        case(name + "/tied-by-the-other-way", prefix + "ForConditionalGeneration", **dict(both, text_config=dict(
            DELTA, tie_word_embeddings=True)), tie_word_embeddings=name != "minicpm_ocr", _feed=feeds.patches_in_a_row)
        case(name + "/model", prefix + "Model", **both, _feed=feeds.patches_in_a_row)
        case(name + "_vision/model", prefix + "VisionModel", **inserted, window_kernel_size=[2, 2],
             _feed=feeds.patches_in_a_row)


def query_towers(case):
    vision = dict(hidden_size=40, num_hidden_layers=3, num_attention_heads=5, intermediate_size=66, image_size=21,
                  patch_size=7)
    case("instructblip_vision_model/model", "InstructBlipVisionModel", **vision, _feed=feeds.pixels)
    case("instructblipvideo_vision_model/model", "InstructBlipVideoVisionModel", **vision, qkv_bias=False,
         _feed=feeds.pixels)


def borrowed(case):
    tower = dict(GLM_VISION, hidden_size=40, intermediate_size=58, out_hidden_size=48, image_size=12,
                 model_type="glm4v_vision")
    case("glmga/generation", "Glm46VForConditionalGeneration", text_config=dict(GLM_TEXT, model_type="glm4v_text"),
         vision_config=tower, **GLM_TOKENS, _feed=feeds.patches)
    text = dict(GEMMA, model_type="gemma3_text")
    case("shieldgemma2/classification", "ShieldGemma2ForImageClassification", text_config=text, mm_tokens_per_image=4,
         **TOKEN, boi_token_index=8, eoi_token_index=9, yes_token_index=11, no_token_index=12,
         vision_config=dict(SIGLIP, image_size=28), _feed=feeds.image_text)
    case("shieldgemma2/untied", "ShieldGemma2ForImageClassification", text_config=dict(text, tie_word_embeddings=False),
         mm_tokens_per_image=4, **TOKEN, boi_token_index=8, eoi_token_index=9, yes_token_index=11, no_token_index=12,
         vision_config=dict(SIGLIP, image_size=28), _feed=feeds.image_text)


def contrastive(case):
    tower = dict(plain(CLIP), num_hidden_layers=3)
    text = dict(vocab_size=101, hidden_size=48, num_hidden_layers=3, num_attention_heads=6, intermediate_size=70)
    family = {"chinese_clip": ("ChineseCLIP", text), "altclip": ("AltCLIP", dict(text, project_dim=34))}
    for name, (prefix, texts) in family.items():
        case(name + "/model", prefix + "Model", text_config=texts, vision_config=tower, projection_dim=26,
             _loss=["logits_per_image", "logits_per_text"], _feed=feeds.contrastive, _differences=contrasted(26))
        case(name + "_text_model/model", prefix + "TextModel", **texts)
        case(name + "_vision_model/model", prefix + "VisionModel", **tower, _feed=feeds.pixels)
    text = dict(text, max_position_embeddings=16)
    for name, prefix in (("owlvit", "OwlViT"), ("owlv2", "Owlv2")):
        both = dict(text_config=text, vision_config=tower, projection_dim=48)
        case(name + "/model", prefix + "Model", **both, _loss=["logits_per_image", "logits_per_text"],
             _feed=feeds.contrastive, _differences=contrasted(48))
        case(name + "/detection", prefix + "ForObjectDetection", **both, _feed=feeds.contrastive,
             _samples=((6, 11, 3), (4, 7, 2)), _differences=queried,
             _loss=["logits", "pred_boxes", *(["objectness_logits"] if name == "owlv2" else [])])
        case(name + "_text_model/model", prefix + "TextModel", **text)
        case(name + "_vision_model/model", prefix + "VisionModel", **tower, _feed=feeds.pixels)


def queried(config, batch, length, fused, grids):
    """The likeness of each patch to each query of its image, and of each text to each image, which no loss reads."""
    patches = grids[0][1] * grids[0][2]
    product = 2 * patches * batch * config.text_config.hidden_size
    pairs = 2 * batch * len(grids) * config.projection_dim
    return {"queries": {"forward": product, "backward": 2 * product,
                        "why": "patches x queries of an image: not a sum over samples"},
            "similarity": {"forward": pairs, "backward": 0,
                           "why": "texts x images of the whole batch: not a sum over samples"}}


DIFFERENCES = {"kosmos-2.5": plain_tower, "deepseek_ocr2": queried_cells, "deepseek_ocr2_vision": queried_cells, "got_ocr2": sam, "got_ocr2_vision": sam, "pp_chart2table": sam, "pix2struct": plain_text_core, "pix2struct_text_model": plain_text_core, "donut-swin": windows, "vision-encoder-decoder": of_encoder, "florence2": davit, "florence_vision": davit,
               "lighton_ocr": one_sequence, "minicpmv4_6": hybrid, "minicpmv4_7": hybrid, "minicpm_ocr": hybrid}
