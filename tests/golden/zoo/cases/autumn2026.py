# SPDX-License-Identifier: Apache-2.0
"""Types of autumn 2026 and of before, which had been left: nemotron_h_omni, luke, t5gemma2, diffusion_gemma,
xclip, groupvit."""

import feeds
from cases import audio, state_space
from cases.vision2026 import contrasted
from cases.vision_language import padded_slots


# ---------------------------------------------------------------------------------------------------------------------
# nemotron_h_omni.


@feeds.feed((((4, 6), (2, 4)), ()), (((6, 2),), (83, 61)), ((), (57,)))
def seen_and_heard(model, run):
    """One text with images of any even grid and clips. A run is (grids, mel frames of each clip)."""
    import torch
    grids, clips = run
    config = model.config
    inputs, blocks = {}, []
    if grids:
        count = sum(h * w for h, w in grids)
        inputs.update(pixel_values=torch.randn(count, 3 * config.vision_config.patch_size ** 2),
                      image_grid_hw=torch.tensor(grids))
        blocks += [(config.image_token_id, h * w // 4) for h, w in grids]
    if clips:  # clips of one batch are alike, so that none is padded
        longest = max(clips)
        inputs["input_features"] = torch.randn(len(clips), longest, config.audio_config.num_mel_bins)
        rows = feeds.ask(model, "get_audio_features", {"input_features": inputs["input_features"]})
        blocks += [(config.audio_token_id, rows.pooler_output.shape[0])]
        clips = [longest] * len(clips)
    ids = [part for token, size in blocks for part in (feeds.words(config, 2), torch.full((size,), token))]
    ids = torch.cat([*ids, feeds.words(config, 3)])[None]
    record = {"lengths": [ids.shape[1]], "grids": [[1, h, w] for h, w in grids]}
    if clips:
        record["audio_frames"] = clips
    return {**inputs, "input_ids": ids, "use_cache": False}, record


def of_omni(config, batch, length, fused, grids=(), audio_frames=()):
    """What its text and its encoder execute besides."""
    found = dict(state_space.mamba2(config.text_config, batch, length, fused))
    if audio_frames:
        clips = len(audio_frames)
        found.update(audio.of_parakeet(config.audio_config, clips, 0, fused, audio_frames))
    return found


# ---------------------------------------------------------------------------------------------------------------------
# luke.


@feeds.feed((2, 11, 3), (3, 7, 2))
def with_entities(model, run):
    """Texts with entities, each of which stands at two words. A run is (texts, words of each, entities of each)."""
    import torch
    texts, length, entities = run
    config = model.config
    ids = torch.randint(3, config.entity_vocab_size, (texts, entities))
    inputs = {"input_ids": feeds.words(config, texts, length), "entity_ids": ids,
              "entity_position_ids": torch.randint(0, length, (texts, entities, 2))}
    if type(model).__name__.endswith("MultipleChoice"):
        inputs = {name: values[None] for name, values in inputs.items()}
    if type(model).__name__.endswith("SpanClassification"):
        spans = torch.randint(0, length, (2, texts, entities))
        inputs.update(entity_start_positions=spans[0], entity_end_positions=spans[1])
    return inputs, {"lengths": [length] * texts, "measured": {
        "entities": texts * entities, "entity_pairs": texts * (2 * length * entities + entities ** 2)}}


# ---------------------------------------------------------------------------------------------------------------------
# t5gemma2.


@feeds.feed((2, 7, 1), (1, 11, 2), (3, 5, 0))
def two_sides(model, run):
    """A text with images for the encoder, and one for the decoder. A run is (texts, words of the decoder, images of each)."""
    import torch
    texts, length, images = run
    config = model.config
    decoder = config.decoder
    inputs = {"decoder_input_ids": torch.randint(5, decoder.vocab_size - 1, (texts, length)), "use_cache": False}
    rows = [[]] * texts
    if images:
        inputs["pixel_values"], grids = feeds.image_batch(config.encoder, texts * images)
        side = config.encoder.vision_config.image_size // config.encoder.vision_config.patch_size
        wanted = int(config.encoder.mm_tokens_per_image ** 0.5)
        rows = [[(side // (side // wanted)) ** 2] * images] * texts
    token = config.encoder.image_token_index
    ids = [torch.cat([part for size in each for part in (torch.randint(9, 60, (2,)), torch.full((size,), token))] +
                     [torch.randint(9, 60, (4,))]) for each in rows]
    inputs["input_ids"] = torch.stack(ids)
    record = {"lengths": [length] * texts, "encoder_length": inputs["input_ids"].shape[1]}
    if images:
        record["grids"] = grids
    return inputs, record


# ---------------------------------------------------------------------------------------------------------------------
# diffusion_gemma.


@feeds.feed((2, 11, 8, (), False), (1, 3, 5, (), True), (2, 4, 7, ((4, 6),), True))
def canvas_and_text(model, run):
    """Clean texts, and the canvas after each. A run is (texts, words of each, tokens of a canvas, images of each, whether the
    logits of a pass before enter). The canvas sees all that is cached: in layers with a window the last keys alone."""
    import torch
    texts, length, canvas, images, conditioned = run
    config = model.config
    words, token, reach = config.text_config.vocab_size, config.image_token_id, config.text_config.sliding_window - 1
    ids, inputs, record = torch.randint(9, words, (texts, length)), {}, {}
    if images:
        grids = [[1, *size] for size in images] * texts
        at = [[(x, y) for y in range(h) for x in range(w)] + [(-1, -1)] * (36 - h * w) for _, h, w in grids]
        inputs = {"pixel_values": torch.rand(len(grids), 36, 3 * config.vision_config.patch_size ** 2),
                  "image_position_ids": torch.tensor(at)}
        seen = sum(h * w for h, w in images) // config.vision_config.pooling_kernel_size ** 2
        ids, record = torch.cat([ids[:, :2], torch.full((texts, seen), token), ids[:, 2:]], 1), {"grids": grids}
    if conditioned:
        inputs["self_conditioning_logits"] = torch.randn(texts, canvas, words)
    before = ids.shape[1]
    inputs.update(input_ids=ids, decoder_input_ids=torch.randint(9, words, (texts, canvas)))
    return inputs, {**record, "lengths": [canvas] * texts, "encoder_length": before, "measured": {
        "canvas_pairs": texts * canvas * (before + canvas), "window_pairs": texts * canvas * (min(before, reach) + canvas),
        "conditioned": texts * canvas * conditioned}}


def of_canvas(config, batch, length, fused, grids=(), **more):
    """Its tower runs as gemma4's does."""
    return padded_slots(config, batch, length, fused, grids)


# ---------------------------------------------------------------------------------------------------------------------
# xclip.


@feeds.feed(1, 2)
def frames_in_a_row(model, clips):
    """The frames of all clips as one batch of pictures. A run is the number of clips."""
    config = feeds.vision_of(model.config)
    values, grids = feeds.image_batch(config, clips * config.num_frames)
    return {"pixel_values": values}, {"lengths": [], "grids": [[config.num_frames, *grids[0][1:]]] * clips}


@feeds.feed((1, 3, 7), (2, 2, 5))
def clips_and_texts(model, run):
    """Clips and texts, all of which meet. A run is (clips, texts, words of each)."""
    import torch
    clips, texts, length = run
    config = model.config
    frames = config.vision_config.num_frames
    values, grids = feeds.image_batch(config.vision_config, clips * frames)
    return ({"pixel_values": values.unflatten(0, (clips, frames)), "input_ids": torch.randint(5, 60, (texts, length))},
            {"lengths": [length] * texts, "grids": [[frames, *grids[0][1:]]] * clips, "measured": {"prompts": clips * texts}})


DIFFERENCES = {"nemotron_h_omni": of_omni, "diffusion_gemma": of_canvas}


def cases(case):
    text = dict(model_type="nemotron_h", vocab_size=71, hidden_size=48, intermediate_size=38, num_attention_heads=6,
                num_key_value_heads=2, head_dim=10, mamba_num_heads=6, mamba_head_dim=5, n_groups=2, ssm_state_size=7,
                chunk_size=4, conv_kernel=3, n_routed_experts=5, num_experts_per_tok=3, moe_intermediate_size=22,
                moe_shared_expert_intermediate_size=34, hybrid_override_pattern="ME*-")
    tower = dict(model_type="radio", hidden_size=40, num_hidden_layers=2, num_attention_heads=5, mlp_ratio=3.0, patch_size=7,
                 max_img_size=49, num_cls_tokens=2, num_registers=3, video_temporal_patch_size=2)
    sound = dict(hidden_size=36, num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=6, intermediate_size=54,
                 conv_kernel_size=5, subsampling_conv_channels=11, num_mel_bins=16, projection_hidden_size=26,
                 projection_bias=True)
    omni = dict(text_config=text, vision_config=tower, vision_hidden_size=40, projector_hidden_size=52, image_token_id=7,
                audio_token_id=8, _feed=seen_and_heard)
    case("nemotron_h_omni/images-and-sound", "NemotronH_Omni_Reasoning_V3", **omni, audio_config=sound, _attention=("eager",))
    case("nemotron_h_omni/images", "NemotronH_Omni_Reasoning_V3", **omni, audio_config=None, _samples=((((4, 6), (2, 4)), ()),))
    case("nemotron_h_omni/prediction", "NemotronH_Omni_Reasoning_V3",
         **dict(omni, text_config=dict(text, num_nextn_predict_layers=1)), audio_config=dict(sound, projection_bias=False,
         attention_bias=True), _attention=("eager",))

    luke = dict(vocab_size=71, entity_vocab_size=37, hidden_size=48, entity_emb_size=20, num_hidden_layers=2,
                num_attention_heads=6, intermediate_size=70, max_position_embeddings=40, pad_token_id=1, _feed=with_entities)
    for name in ("EntityClassification", "EntityPairClassification", "EntitySpanClassification",
                 "SequenceClassification", "TokenClassification", "QuestionAnswering"):
        case(f"luke/{name.lower()}", f"LukeFor{name}", **luke)
    case("luke/model", "LukeModel", **luke)
    case("luke/multiplechoice", "LukeForMultipleChoice", **luke)
    both = ["logits", "entity_logits"]
    case("luke/masked", "LukeForMaskedLM", **luke, _loss=both)
    case("luke/plain", "LukeForMaskedLM", **dict(luke, use_entity_aware_attention=False, entity_emb_size=48), _loss=both)
    case("luke/untied", "LukeForMaskedLM", **luke, tie_word_embeddings=False, _loss=both)

    side = dict(vocab_size=71, hidden_size=48, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2, head_dim=10,
                intermediate_size=70, sliding_window=4, layer_types=["sliding_attention", "full_attention", "sliding_attention"])
    eyes = dict(model_type="siglip_vision_model", hidden_size=40, num_hidden_layers=2, num_attention_heads=5, intermediate_size=54,
                image_size=28, patch_size=7, vision_use_head=False)
    both = dict(encoder=dict(text_config=side, vision_config=eyes, mm_tokens_per_image=4), image_token_index=7,
                decoder=dict(side, num_hidden_layers=2, layer_types=["sliding_attention", "full_attention"]), _feed=two_sides)
    case("t5gemma2/generation", "T5Gemma2ForConditionalGeneration", **both)
    case("t5gemma2/model", "T5Gemma2Model", **both)
    case("t5gemma2/sequence-classification", "T5Gemma2ForSequenceClassification", **both, num_labels=3)
    case("t5gemma2/token-classification", "T5Gemma2ForTokenClassification", **both, num_labels=3)
    case("t5gemma2/patterns", "T5Gemma2ForConditionalGeneration",
         **dict(both, encoder=dict(text_config={k: v for k, v in dict(side, num_hidden_layers=7, sliding_window=5, attention_bias=True,
                num_attention_heads=4).items() if k != "layer_types"}, vision_config=dict(eyes, vision_use_head=True), mm_tokens_per_image=9)))

    sliding, full = "sliding_attention", "full_attention"
    text = dict(vocab_size=71, hidden_size=48, intermediate_size=70, num_hidden_layers=4, num_attention_heads=6, num_key_value_heads=3,
                head_dim=10, global_head_dim=14, num_global_key_value_heads=2, sliding_window=6, num_experts=5, top_k_experts=2,
                moe_intermediate_size=22, layer_types=[sliding, full, sliding, full])
    eyes = dict(model_type="gemma4_vision", hidden_size=40, intermediate_size=66, num_hidden_layers=2, num_attention_heads=6,
                num_key_value_heads=3, head_dim=8, patch_size=3, position_embedding_size=19, pooling_kernel_size=2)
    canvas = dict(vision_config=eyes, image_token_id=7, canvas_length=8, _feed=canvas_and_text, _attention=("eager",))
    case("diffusion_gemma/blocks", "DiffusionGemmaForBlockDiffusion", text_config=text, **canvas)
    case("diffusion_gemma/model", "DiffusionGemmaModel", text_config=dict(text, attention_bias=True), **canvas)
    case("diffusion_gemma/kinds-absent", "DiffusionGemmaForBlockDiffusion", **canvas, text_config={
        name: value for name, value in dict(text, num_hidden_layers=7, use_bidirectional_attention="vision").items()
        if name not in ("layer_types", "num_global_key_value_heads")})

    text = dict(vocab_size=71, hidden_size=48, num_hidden_layers=2, num_attention_heads=6, intermediate_size=70,
                max_position_embeddings=19)
    case("xclip_text_model/model", "XCLIPTextModel", **text)
    clip = dict(hidden_size=40, num_hidden_layers=2, num_attention_heads=5, intermediate_size=54, image_size=21, patch_size=7,
                num_frames=3, _feed=frames_in_a_row)
    case("xclip_vision_model/model", "XCLIPVisionModel", **clip)
    case("xclip_vision_model/four", "XCLIPVisionModel", **dict(clip, num_frames=4, num_attention_heads=8, image_size=14))
    whole = dict({name: value for name, value in clip.items() if name != "_feed"}, mit_hidden_size=24, mit_intermediate_size=38,
                 mit_num_attention_heads=4)
    case("xclip/model", "XCLIPModel", text_config=text, vision_config=whole, projection_dim=24, prompt_num_attention_heads=6,
         _feed=clips_and_texts, _loss=["logits_per_video"])
    case("xclip/deeper", "XCLIPModel", text_config=text, vision_config=dict(whole, mit_num_hidden_layers=2, num_frames=2),
         projection_dim=24, prompt_num_attention_heads=3, prompt_layers=3, _feed=clips_and_texts, _loss=["logits_per_video"])

    case("groupvit_text_model/model", "GroupViTTextModel", **text)
    groups = dict(hidden_size=40, num_attention_heads=5, intermediate_size=54, image_size=28, patch_size=7, num_hidden_layers=4,
                  depths=[2, 1, 1], num_group_tokens=[5, 3, 0], num_output_groups=[5, 4, 4], assign_mlp_ratio=[0.5, 3.0])
    case("groupvit_vision_model/model", "GroupViTVisionModel", **groups, _feed=feeds.pixels)
    case("groupvit_vision_model/two-stages", "GroupViTVisionModel", **dict(groups, depths=[1, 2], num_hidden_layers=3, num_group_tokens=[4, 2],
         num_output_groups=[4, 3], assign_mlp_ratio=[1.0, 2.0]), _feed=feeds.pixels)
    case("groupvit/model", "GroupViTModel", text_config=text, vision_config=groups, projection_dim=26, projection_intermediate_dim=33,
         _loss=["logits_per_image"], _feed=feeds.contrastive, _differences=contrasted(26))
