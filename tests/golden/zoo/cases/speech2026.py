# SPDX-License-Identifier: Apache-2.0
"""Speech and omni models of 2025 and 2026."""

import feeds
from cases.audio import of_chunks, of_parakeet


def of_heard(config, batch, length, fused, audio_frames, encoder_length=0):
    """A conformer of parakeet inside; `fused` is "mixed" where the decoder behind it runs in a kernel."""
    found = of_parakeet(config, batch, length, fused, audio_frames)
    if fused == "mixed":
        inside, frames = config.encoder_config, audio_frames[0]
        for _ in range(inside.subsampling_factor.bit_length() - 1):
            frames = (frames - 1) // 2 + 1
        product = 2 * inside.hidden_size * frames ** 2 * batch * inside.num_hidden_layers
        found["plain_encoder"] = {
            "forward": 0, "backward": -2 * product,
            "why": "the conformer's scores have a bias that takes a gradient, so they are not fused: its backward runs "
                   "neither of its two products of queries and keys a second time"}
    return found


def of_lasr(config, batch, length, fused, audio_frames):
    config = getattr(config, "encoder_config", config)
    frames = audio_frames[0]
    for _ in range(2):
        frames = (frames - config.subsampling_conv_kernel_size) // config.subsampling_conv_stride + 1
    depthwise = 2 * config.conv_kernel_size * config.hidden_size * frames * batch * config.num_hidden_layers
    return {"depthwise_convolution": {
        "forward": 0, "backward": (config.hidden_size - 1) * depthwise,
        "why": "the counter takes a weight gradient times the groups, which are the channels"}}


def masked_frames(seen, frames, per_pair, fused):
    """Scores of frames that a mask hides, of which `seen(query, key)` tells: no convention takes them as visible."""
    hidden = sum(not seen(query, key) for query in range(frames) for key in range(frames))
    return {"masked_frames": {"forward": per_pair * hidden, "backward": per_pair * hidden * 5 // 2 if fused else
                              per_pair * hidden * 2, "why": "scores of frames that the mask hides are multiplied too"}}


def of_streaming(config, batch, length, fused, audio_frames):
    """voxtral_realtime's tower, each of whose frames sees a window of those before."""
    audio, window = config, config.sliding_window
    return masked_frames(lambda query, key: 0 <= query - key < window, audio_frames[0] // 2,
                         4 * audio.num_attention_heads * audio.head_dim * audio.num_hidden_layers * batch, fused)


def of_delay(config, batch, length, fused, audio_frames=()):
    """voxtral_realtime: the gates of each layer, of one row for the whole step."""
    text = config.get_text_config()
    heard = of_streaming(config.audio_config, batch, length, fused, audio_frames) if audio_frames else {}
    product = 2 * text.hidden_size * 32 * text.num_hidden_layers
    return {**heard, "delay": {"forward": 2 * product, "backward": 3 * product,
                               "why": "the gates of the feed-forwards, made once a step from the delay of all its "
                                      "texts, which needs no gradient"}}


def of_granite(config, batch, length, fused, audio_frames):
    """granite_speech's encoder, which pads to whole blocks, and the queries of its projector."""
    audio = getattr(config, "encoder_config", config)
    inner, block = audio.num_heads * audio.dim_head, audio.context_size
    rest = -audio_frames[0] % block
    frames = audio_frames[0] + rest
    hidden = frames * block - (frames - block) * block - (block - rest) ** 2 if rest else 0
    padded = len(audio_frames) * audio.num_layers * (2 * audio.hidden_dim * 3 * inner * rest + 6 * inner * hidden)
    channels = audio.hidden_dim * audio.conv_expansion_factor
    depthwise = 2 * audio.conv_kernel_size * channels * audio_frames[0] * len(audio_frames) * audio.num_layers
    found = {"padded_blocks": {"forward": padded, "backward": 2 * padded,
                               "why": "frames are padded to whole blocks, in which every one sees every other"},
             "depthwise_convolution": {
                 "forward": 0, "backward": (channels - 1) * depthwise,
                 "why": "the counter takes a weight gradient times the groups, which are the channels"}}
    if audio is not config:
        made = config.projector_config
        queries, width = config.window_size // config.downsample_rate, made.hidden_size
        once = 5 * 2 * width ** 2 * queries + 4 * width * queries ** 2
        found["first_queries"] = {"forward": once, "backward": 2 * once,
                                  "why": "the first layer's learned queries, made once a step for all windows"}
    return found


def of_gemma_sound(config, batch, length, fused, audio_frames=(), grids=()):
    """gemma4's tower: chunks of frames with their neighbours, and distances that are projected once a step."""
    audio = getattr(config, "audio_config", config)
    if not audio_frames:
        return {}
    frames, h, layers, clips = audio_frames[0], audio.hidden_size, audio.num_hidden_layers, len(audio_frames)
    for _ in range(2):
        frames = (frames - 1) // 2 + 1
    left, right, chunk = audio.attention_context_left, audio.attention_context_right, audio.attention_chunk_size
    context, blocks = chunk + left - 1 + right, -(-frames // chunk)
    pairs = sum(-(right - 1) <= query - key <= left - 2 or query == key for query in range(frames)
                for key in range(frames))
    distances = context // 2 + 1
    whole = 2 * h * blocks * chunk * (2 * context + distances) * clips * layers
    seen = 2 * h * pairs * clips * layers
    once = 2 * h * h * distances * layers
    depthwise = 2 * audio.conv_kernel_size * h * frames * clips * layers
    found = {"chunks": {"forward": whole - 3 * seen, "backward": 2 * (whole - 3 * seen),
                        "why": "padded chunks of queries against all their neighbours, and all distances for each"},
             "distances": {"forward": once, "backward": once,
                           "why": "the positions of the window, projected once a step"},
             "depthwise_convolution": {
                 "forward": 0, "backward": (h - 1) * depthwise,
                 "why": "the counter takes a weight gradient times the groups, which are the channels"}}
    return found


def of_squares(config, batch, length, fused, audio_frames=(), grids=()):
    """gemma4_unified: images are padded to a number of squares."""
    vision, rows = config.vision_config, 36 * len(grids) - sum(t * h * w for t, h, w in grids)
    if not grids:
        return {}
    padded = 2 * rows * (3 * vision.model_patch_size ** 2 + config.text_config.hidden_size) * vision.mm_embed_dim
    return {"padded_images": {"forward": padded, "backward": 2 * padded,
                              "why": "every image is padded to the same number of squares"}}


def of_gemma3n(config, batch, length, fused, audio_frames):
    """gemma3n's tower, which runs as gemma4's does, and whose frames see one more."""
    frames, h, layers, clips = audio_frames[0], config.hidden_size, config.conf_num_hidden_layers, len(audio_frames)
    for _ in range(2):
        frames = (frames - 1) // 2 + 1
    left, right = config.conf_attention_context_left - 1, config.conf_attention_context_right
    chunk = config.conf_attention_chunk_size
    blocks, distances = -(-frames // chunk), left + right + 1
    pairs = sum(-right <= query - key <= left for query in range(frames) for key in range(frames))
    whole = 2 * h * blocks * chunk * (2 * (chunk + left + right) + distances) * clips * layers
    seen, once = 2 * h * 3 * pairs * clips * layers, 2 * h * h * distances * layers
    return {"chunks": {"forward": whole - seen, "backward": 2 * (whole - seen),
                       "why": "padded chunks of queries against all their neighbours, and all distances for each"},
            "distances": {"forward": once, "backward": once,
                          "why": "the positions of the window, projected once a step"},
            "depthwise_convolution": {
                "forward": 0, "backward": (h - 1) * 2 * config.conf_conv_kernel_size * h * frames * clips * layers,
                "why": "the counter takes a weight gradient times the groups, which are the channels"}}


def of_memory(config, batch, length, fused, audio_frames):
    """fun_asr_nano's layers."""
    audio = getattr(config, "audio_config", config)
    h = audio.hidden_size
    depthwise = 2 * audio.fsmn_kernel_size * h * sum(audio_frames) * audio.num_hidden_layers
    return {"depthwise_convolution": {
        "forward": 0, "backward": (h - 1) * depthwise,
        "why": "the counter takes a weight gradient times the groups, which are the channels"}}


def of_phi(config, batch, length, fused, audio_frames=(), grids=()):
    """phi4_multimodal: a row between the two parts of an image, and the conformer's convolutions."""
    audio, found = getattr(config, "audio_config", config), {}
    if grids:
        width, wide = config.hidden_size, config.vision_config.hidden_size
        rows = 2 * (wide + width) * width * (len(grids) // 2)
        found["separators"] = {"forward": rows, "backward": 2 * rows,
                               "why": "a learned row between the whole image and the small one passes the projector"}
    if not audio_frames:
        return found
    h, layers, clips, taps = audio.hidden_size, audio.num_blocks, len(audio_frames), audio.kernel_size
    frames, bins, dense = audio_frames[0], audio.input_size, 0
    for halving in range(audio.time_reduction.bit_length() - 1):
        frames, bins = (frames + 1) // 2, (bins + 1) // 2
        dense += 2 * 9 * audio.nemo_conv_channels * frames * bins * clips if halving else 0
    out, more = audio.depthwise_multiplier * h, taps - 1
    wide, across = 2 * taps * out, 2 * out * h
    extra = (wide + across) * more * clips * layers
    found["convolution"] = {
        "forward": extra, "backward": 2 * extra + (h - 1) * wide * (frames + more) * clips * layers,
        "why": "both of its convolutions run on kernel - 1 more frames, cut off afterwards, and the counter takes a "
               "weight gradient times the groups, which are the channels"}
    found["subsampling"] = {"forward": 0, "backward": (audio.nemo_conv_channels - 1) * dense,
                            "why": "the counter takes a weight gradient times the groups, which are the channels"}
    if fused == "mixed":
        found["plain_sound"] = {
            "forward": 0, "backward": -2 * h * frames ** 2 * clips * layers,
            "why": "the conformer's scores have a bias that takes a gradient, so they are not fused: its backward runs "
                   "QKᵀ no second time"}
    return found


def of_seamless(config, batch, length, fused, audio_frames=(), encoder_length=0):
    """seamless_m4t's conformer."""
    if not audio_frames:
        return {}
    h, layers, clips, frames = config.hidden_size, config.speech_encoder_layers, len(audio_frames), audio_frames[0]
    depthwise = 2 * config.conv_depthwise_kernel_size * h * frames * clips * layers
    found = {"depthwise_convolution": {
        "forward": 0, "backward": (h - 1) * depthwise,
        "why": "the counter takes a weight gradient times the groups, which are the channels"}}
    if config.position_embeddings_type == "relative":
        projected = 2 * h ** 2 * (2 * frames - 1 - 2 * clips * frames) * layers
        scores = 2 * h * clips * frames * (frames - 1) * layers
        found["relative_positions"] = {
            "forward": projected + scores, "backward": projected + 2 * scores,
            "why": "2 x frames - 1 positions are projected once for the whole batch, and every query is multiplied "
                   "with all of them, of which as many as frames are then taken"}
    if fused == "mixed":
        plain = 2 * h * frames ** 2 * clips * layers * (2 if "relative" in str(config.position_embeddings_type) else 1)
        found["plain_encoder"] = {
            "forward": 0, "backward": -plain,
            "why": "the conformer's attention is not fused: its backward runs no product of queries a second time"}
    return found


DIFFERENCES = {"seamless_m4t": of_seamless, "seamless_m4t_v2": of_seamless,
               "phi4_multimodal": of_phi,
               "gemma3n_audio": of_gemma3n, "fun_asr_nano": of_memory, "fun_asr_nano_encoder": of_memory,
               "gemma4_audio": of_gemma_sound, "gemma4": of_gemma_sound, "gemma4_unified": of_squares,
               **{name: of_granite for name in ("granite_speech", "granite_speech_encoder", "granite_speech_plus",
                                                "granite_speech_plus_encoder")},
               "qwen3_omni_moe_thinker": of_chunks, "qwen3_omni_moe": of_chunks, "qwen2_5_omni": of_chunks,
               "parakeet_ctc": of_heard, "cohere_asr": of_heard, "canary": of_heard, "lasr_encoder": of_lasr,
               "lasr_ctc": of_lasr, "voxtral_realtime": of_delay,
               "voxtral_realtime_encoder": of_streaming}


def qwen_omni(case):
    text = dict(vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=2, num_attention_heads=6,
                num_key_value_heads=3, rope_parameters=dict(rope_type="default", rope_theta=10000.0,
                                                            mrope_section=[2, 1, 1]))
    sparse = dict(text, num_hidden_layers=3, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=22,
                  mlp_only_layers=[1])
    audio = dict(num_mel_bins=10, d_model=40, encoder_layers=3, encoder_attention_heads=5, encoder_ffn_dim=66)
    audio3 = dict(audio, output_dim=48, downsample_hidden_size=12, n_window_infer=230, max_source_positions=30)
    vision = dict(depth=3, hidden_size=24, num_heads=3, intermediate_size=38, out_hidden_size=48, patch_size=5)
    deep = dict(vision, num_position_embeddings=49, deepstack_visual_indexes=[0, 2])
    tokens = dict(audio_token_id=7, image_token_id=8, video_token_id=9, audio_start_token_id=6)
    thinker = dict(text_config=sparse, audio_config=audio3, vision_config=deep, **tokens)
    case("qwen3_omni_moe_thinker/generation", "Qwen3OmniMoeThinkerForConditionalGeneration", **thinker,
         _feed=feeds.omni)
    case("qwen3_omni_moe_thinker/tied", "Qwen3OmniMoeThinkerForConditionalGeneration", **{
        **thinker, "text_config": dict(sparse, head_dim=10)}, tie_word_embeddings=True, _feed=feeds.omni)
    case("qwen3_omni_moe_thinker/model", "Qwen3OmniMoeThinkerModel", **thinker, _feed=feeds.omni)
    case("qwen3_omni_moe/thinker", None, thinker_config=thinker, enable_audio_output=False,
         _class="Qwen3OmniMoeThinkerForConditionalGeneration", _feed=feeds.omni)
    case("qwen3_omni_moe_text/model", "Qwen3OmniMoeThinkerTextModel", **sparse)
    case("qwen3_omni_moe_text/every-second", "Qwen3OmniMoeThinkerTextModel", **dict(sparse, decoder_sparse_step=2),
         attention_bias=True)
    case("qwen3_omni_moe_vision_encoder/encoder", "Qwen3OmniMoeVisionEncoder", **dict(
        deep, deepstack_visual_indexes=[]), _loss=["pooler_output"], _feed=feeds.patches_alone)
    case("qwen2_5_omni/thinker", None, thinker_config=dict(
        text_config=text, audio_config=dict(audio, n_window=6, max_source_positions=30, output_dim=48),
        vision_config=dict(vision, window_size=20, fullatt_block_indexes=[1]), audio_token_index=7,
        image_token_index=8, video_token_index=9, audio_start_token_id=6, audio_end_token_id=5),
         _class="Qwen2_5OmniThinkerForConditionalGeneration", _feed=feeds.seen_and_heard)
    case("qwen2_5_omni_text/model", "Qwen2_5OmniThinkerTextModel", **text)
    case("qwen2_5_omni_text/window", "Qwen2_5OmniThinkerTextModel", **text, use_sliding_window=True, sliding_window=4,
         max_window_layers=1)
    case("qwen2_5_omni_vision_encoder/encoder", "Qwen2_5OmniVisionEncoder", **vision, window_size=20,
         fullatt_block_indexes=[1], _loss=["pooler_output"], _feed=feeds.patches_alone)


def row_of(config):
    import torch
    return torch.randn(1, config.hidden_size)


def conformers(case):
    parakeet = dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=6,
                    intermediate_size=70, conv_kernel_size=5, subsampling_conv_channels=10, num_mel_bins=16,
                    max_position_embeddings=40)
    features = feeds.variant(feeds.features, (2, 41), (3, 25), width="num_mel_bins")
    case("parakeet_ctc/ctc", "ParakeetForCTC", vocab_size=23, encoder_config=dict(
        parakeet, model_type="parakeet_encoder"), _feed=features)
    lasr = dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=6, intermediate_size=70, conv_kernel_size=6,
                subsampling_conv_channels=10, num_mel_bins=16)
    case("lasr_encoder/model", "LasrEncoder", **lasr, _feed=features)
    case("lasr_encoder/biases", "LasrEncoder", **dict(lasr, conv_kernel_size=5), attention_bias=True,
         convolution_bias=True, subsampling_conv_kernel_size=3, layerdrop=0.0, _feed=features)
    case("lasr_ctc/ctc", "LasrForCTC", vocab_size=23, encoder_config=lasr, _feed=features)
    decoder = dict(hidden_size=40, intermediate_size=58, num_hidden_layers=3, num_attention_heads=4,
                   max_position_embeddings=30)
    tokens = dict(pad_token_id=2, bos_token_id=4, eos_token_id=3, decoder_start_token_id=4)
    granite = dict(hidden_dim=40, num_layers=4, num_heads=5, feedforward_mult=2, input_dim=14, output_dim=11,
                   context_size=10, max_pos_emb=12, conv_kernel_size=5)
    alone = feeds.variant(feeds.windows_of_features, name="hidden_states")
    plain = dict(_attention=("eager",))  # the encoder asks for PyTorch's plain attention whatever is said
    case("granite_speech_encoder/encoder", "GraniteSpeechCTCEncoder", **granite, _feed=alone, **plain)
    case("granite_speech_encoder/wide", "GraniteSpeechCTCEncoder", **dict(granite, num_layers=3), dim_head=6,
         conv_expansion_factor=3, _feed=alone, **plain)
    case("granite_speech_plus_encoder/encoder", "GraniteSpeechPlusCTCEncoder", **granite, cat_hidden_layers=[0, 2],
         _feed=alone, **plain)
    text = dict(model_type="granite", vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=2,
                num_attention_heads=6, num_key_value_heads=3)
    queries = dict(model_type="blip_2_qformer", hidden_size=36, intermediate_size=50, num_hidden_layers=3,
                   num_attention_heads=4, encoder_hidden_size=40)
    heard = dict(text_config=text, audio_token_index=7, window_size=6, downsample_rate=3, **plain,
                 _feed=feeds.windows_of_features)
    case("granite_speech/generation", "GraniteSpeechForConditionalGeneration", encoder_config=granite,
         projector_config=queries, **heard)
    case("granite_speech/untied", "GraniteSpeechForConditionalGeneration", encoder_config=granite,
         projector_config=dict(queries, num_hidden_layers=1), tie_word_embeddings=False, **heard)
    case("granite_speech_plus/generation", "GraniteSpeechPlusForConditionalGeneration", encoder_config=dict(
        granite, cat_hidden_layers=[2, 3]), projector_config=dict(
            queries, encoder_hidden_size=120, cross_attention_frequency=1), **heard)
    case("granite_speech_plus/model", "GraniteSpeechPlusModel", encoder_config=granite, projector_config=queries,
         **heard)
    case("cohere_asr/generation", "CohereAsrForConditionalGeneration", vocab_size=101, **decoder, **tokens,
         encoder_config=parakeet, _feed=feeds.features_to_text)
    case("cohere_asr/tied", "CohereAsrForConditionalGeneration", vocab_size=101, **decoder, **tokens, head_dim=6,
         num_key_value_heads=2, attention_bias=False, tie_word_embeddings=True, encoder_config=dict(
             parakeet, model_type="parakeet_encoder"), _feed=feeds.features_to_text)
    case("cohere_asr/model", "CohereAsrModel", vocab_size=101, **decoder, **tokens, encoder_config=parakeet,
         _feed=feeds.features_to_text)
    of_decoder = dict(decoder, hidden_size=48, num_key_value_heads=4, head_dim=10, vocab_size=101)
    case("canary/generation", "CanaryForConditionalGeneration", vocab_size=101, decoder_config=of_decoder, **tokens,
         encoder_config=parakeet, _feed=feeds.features_to_text)
    case("canary/untied", "CanaryForConditionalGeneration", vocab_size=101, decoder_config=dict(
        of_decoder, attention_bias=False, num_key_value_heads=2), **tokens, tie_word_embeddings=False,
         encoder_config=parakeet, _feed=feeds.features_to_text)
    case("canary/model", "CanaryModel", vocab_size=101, decoder_config=of_decoder, **tokens, encoder_config=parakeet,
         _feed=feeds.features_to_text)


def sound_before_text(case):
    qwen2 = dict(model_type="qwen2", vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=2,
                 num_attention_heads=6, num_key_value_heads=3)
    long = dict(num_mel_bins=10, hidden_size=40, num_hidden_layers=3, num_attention_heads=5, intermediate_size=80,
                max_source_positions=16)
    for name, bias in (("generation", True), ("without-biases", False)):
        case("musicflamingo/" + name, "MusicFlamingoForConditionalGeneration", text_config=qwen2, audio_config=dict(
            long, model_type="audioflamingo3_encoder"), projector_bias=bias, audio_token_id=7,
             _feed=feeds.timed_audio_text)
    case("musicflamingo/older", "MusicFlamingoModel", text_config=qwen2, audio_config=dict(
        long, model_type="musicflamingo_encoder"), audio_token_id=7, _feed=feeds.timed_audio_text)
    qwen3 = dict(qwen2, model_type="qwen3", head_dim=10)
    moss = feeds.variant(feeds.timed_audio_text, samples=320)
    case("moss_transcribe_diarize/generation", "MossTranscribeDiarizeForConditionalGeneration", text_config=qwen3,
         audio_config=long, audio_token_id=7, audio_chunk_size=320, _feed=moss)
    case("moss_transcribe_diarize/by-3", "MossTranscribeDiarizeForConditionalGeneration", text_config=qwen3,
         audio_config=dict(long, max_source_positions=15), audio_token_id=7, audio_merge_size=3, audio_chunk_size=320,
         tie_word_embeddings=False, projector_bias=False, _feed=moss)
    case("moss_transcribe_diarize/model", "MossTranscribeDiarizeModel", text_config=qwen3, audio_config=long,
         audio_token_id=7, audio_chunk_size=320, _feed=moss)
    case("moss_transcribe_diarize_audio/model", "MossTranscribeDiarizeAudioModel", **long, _feed=feeds.mel)
    memory = dict(hidden_size=40, num_attention_heads=5, intermediate_size=66, num_hidden_layers=4, num_mel_bins=6,
                  num_stacked_frames=3, num_timestamp_prediction_layers=1, fsmn_kernel_size=5,
                  max_position_embeddings=19)
    small = {key: value for key, value in qwen3.items() if key != "model_type"}
    adaptor = dict(hidden_size=48, num_attention_heads=4, intermediate_size=12, num_hidden_layers=3,
                   projector_hidden_size=34)
    case("fun_asr_nano_encoder/encoder", "FunAsrNanoEncoder", **memory,
         _feed=feeds.stacked_features)
    case("fun_asr_nano/generation", "FunAsrNanoForConditionalGeneration", text_config=small, audio_config=memory, adaptor_config=adaptor, audio_token_id=7, _feed=feeds.stacked_features)
    case("fun_asr_nano/untied", "FunAsrNanoForConditionalGeneration", text_config=qwen3, audio_config=dict(
        memory, num_timestamp_prediction_layers=4), adaptor_config=adaptor, audio_token_id=7,
         tie_word_embeddings=False, _feed=feeds.stacked_features)
    case("fun_asr_nano/model", "FunAsrNanoModel", text_config=qwen3, audio_config=memory, adaptor_config=adaptor, audio_token_id=7, _feed=feeds.stacked_features)
    streaming = dict(num_mel_bins=10, hidden_size=40, num_hidden_layers=3, num_attention_heads=5, head_dim=6,
                     intermediate_size=80, sliding_window=7)
    mistral = dict(qwen2, model_type="voxtral_realtime_text", head_dim=10, sliding_window=5)
    case("voxtral_realtime_encoder/encoder", "VoxtralRealtimeEncoder", **streaming, _feed=feeds.streamed)
    text = {key: value for key, value in mistral.items() if key != "model_type"}
    for window in (5, None):
        case(f"voxtral_realtime_text/window-{window}", "VoxtralRealtimeTextModel", **dict(
            text, sliding_window=window), _inputs=lambda config, batch, length: {"t_cond": row_of(config)},
             _differences=of_delay)
    case("voxtral_realtime/generation", "VoxtralRealtimeForConditionalGeneration", text_config=mistral,
         audio_config=dict(streaming, model_type="voxtral_realtime_encoder"), _feed=feeds.streamed)
    case("voxtral_realtime/untied", "VoxtralRealtimeForConditionalGeneration", text_config=mistral,
         audio_config=streaming, tie_word_embeddings=False, downsample_factor=2, _feed=feeds.streamed)
    case("voxtral_realtime/model", "VoxtralRealtimeModel", text_config=mistral, audio_config=streaming,
         _feed=feeds.streamed)


def gemma(case):
    three = dict(hidden_size=40, conf_num_hidden_layers=2, conf_num_attention_heads=5, sscp_conv_channel_size=[12, 6],
                 conf_attention_chunk_size=4, conf_attention_context_left=5, input_feat_size=14)
    case("gemma3n_audio/model", "Gemma3nAudioEncoder", **three, _feed=feeds.masked_features)
    case("gemma3n_audio/ahead", "Gemma3nAudioEncoder", **dict(three, conf_attention_context_right=3),
         conf_conv_kernel_size=3, conf_reduction_factor=1, sscp_conv_kernel_size=[[3, 3], [3, 3]],
         sscp_conv_stride_size=[[2, 2], [2, 2]], _feed=feeds.masked_features)
    text = dict(vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=3, num_attention_heads=6,
                num_key_value_heads=3, head_dim=10, global_head_dim=10, sliding_window=3,
                layer_types=["sliding_attention", "full_attention", "full_attention"])
    vision = dict(hidden_size=40, intermediate_size=66, num_hidden_layers=2, num_attention_heads=6,
                  num_key_value_heads=3, head_dim=8, patch_size=3, position_embedding_size=19, pooling_kernel_size=2)
    tokens = dict(image_token_id=7, video_token_id=8, audio_token_id=9, boi_token_id=10, eoi_token_id=11,
                  boa_token_id=12, eoa_token_index=13)
    audio = dict(hidden_size=40, num_hidden_layers=2, num_attention_heads=5, subsampling_conv_channels=[12, 6],
                 attention_chunk_size=4, attention_context_left=5, output_proj_dims=26)
    case("gemma4_audio/model", "Gemma4AudioModel", **audio, _feed=feeds.masked_features)
    case("gemma4_audio/ahead", "Gemma4AudioModel", **dict(audio, attention_context_right=3, subsampling_conv_channels=[
        18, 6]), conv_kernel_size=3, use_clipped_linears=False, _feed=feeds.masked_features)
    layered = dict(text, vocab_size_per_layer_input=101, hidden_size_per_layer_input=12)
    alone = dict(_attention=("eager",))  # of the tower there is nothing else
    case("gemma4/sound", "Gemma4ForConditionalGeneration", text_config=layered, audio_config=audio, **tokens, **alone,
         _feed=feeds.masked_features)
    case("gemma4/sound-beside-a-tower-for-images", "Gemma4Model", text_config=dict(
        text, hidden_size_per_layer_input=0), audio_config=audio, vision_config=vision, **tokens, **alone,
         _feed=feeds.masked_features)
    plain = dict(text, layer_types=["sliding_attention", "sliding_attention", "full_attention"])
    case("gemma4_unified_text/causal", "Gemma4UnifiedForCausalLM", **plain, _pairs=True)
    case("gemma4_unified_text/model", "Gemma4UnifiedTextModel", **dict(plain, attention_k_eq_v=True, use_double_wide_mlp=True,
         num_hidden_layers=9, layer_types=["sliding_attention", "full_attention"] * 4 + ["full_attention"],
         num_kv_shared_layers=3))
    squares = dict(patch_size=3, pooling_kernel_size=2, mm_embed_dim=38, mm_posemb_size=15, output_proj_dims=38)
    case("gemma4_unified/images", "Gemma4UnifiedForConditionalGeneration", text_config=plain, vision_config=squares,
         **tokens, _feed=feeds.positioned_squares)
    case("gemma4_unified/images-see", "Gemma4UnifiedModel", text_config=plain, vision_config=squares, **tokens,
         _feed=feeds.positioned_squares, _pairs=True, _samples=((((1, 4, 6),), ((1, 6, 4),)),))
    case("gemma4_unified/images-of-the-past", "Gemma4UnifiedModel", text_config=dict(
        plain, use_bidirectional_attention=None), vision_config=squares, **tokens,
         _feed=feeds.positioned_squares, _pairs=True, _samples=((((1, 4, 6),), ((1, 6, 4),)),))
    case("gemma4_unified/sound", "Gemma4UnifiedForConditionalGeneration", text_config=plain, audio_config=dict(
        audio_embed_dim=20), **tokens, tie_word_embeddings=False,
         _feed=feeds.variant(feeds.masked_features, bins=20))


def phi(case):
    text = dict(vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=2, num_attention_heads=6,
                num_key_value_heads=3, pad_token_id=0, max_position_embeddings=400,
                original_max_position_embeddings=400)
    vision = dict(hidden_size=40, intermediate_size=66, num_hidden_layers=3, num_attention_heads=5, image_size=28,
                  crop_size=28, patch_size=7, image_token_id=7)
    audio = dict(hidden_size=40, intermediate_size=34, num_blocks=2, num_attention_heads=5, input_size=14,
                 ext_pw_out_channel=40, depthwise_separable_out_channel=40, nemo_conv_channels=10,
                 bias_max_distance=9, audio_token_id=8)
    case("phi4_multimodal/causal", "Phi4MultimodalForCausalLM", **text, vision_config=vision, audio_config=audio,
         _feed=feeds.pieces_and_sound)
    case("phi4_multimodal/tied", "Phi4MultimodalForCausalLM", **text, tie_word_embeddings=True, vision_config=dict(
        vision, feature_layer=-1), audio_config=dict(audio, time_reduction=4, depthwise_multiplier=2, kernel_size=4,
                                                     bias_symmetric=True, bias_max_distance=19), _feed=feeds.pieces_and_sound)
    case("phi4_multimodal_vision/model", "Phi4MultimodalVisionModel", **dict(vision, crop_size=28), _feed=feeds.pixels)
    for factor in (2, 16):
        case(f"phi4_multimodal/by-{factor}", "Phi4MultimodalModel", **text, vision_config=dict(vision, feature_layer=2),
             audio_config=dict(audio, time_reduction=factor), _feed=feeds.pieces_and_sound)


def seamless(case):
    sizes = dict(vocab_size=101, hidden_size=48, encoder_layers=2, encoder_ffn_dim=70, encoder_attention_heads=4,
                 decoder_layers=3, decoder_ffn_dim=54, decoder_attention_heads=6, speech_encoder_layers=2,
                 speech_encoder_attention_heads=4, speech_encoder_intermediate_size=58, feature_projection_input_dim=20,
                 conv_depthwise_kernel_size=5, adaptor_kernel_size=8, adaptor_stride=8, max_position_embeddings=40)
    for name, prefix, kind in (("seamless_m4t", "SeamlessM4T", "rotary"), ("seamless_m4t_v2", "SeamlessM4Tv2", "rotary")):
        case(name + "/speech", prefix + "ForSpeechToText", **sizes, _feed=feeds.features_and_decoder)
        case(name + "/untied", prefix + "ForSpeechToText", **dict(sizes, adaptor_kernel_size=5, adaptor_stride=3),
             tie_word_embeddings=False, position_embeddings_type=kind, _feed=feeds.features_and_decoder)
        case(name + "/no-adapter", prefix + "ForSpeechToText", **sizes, add_adapter=False, speech_encoder_layerdrop=0.0,
             _feed=feeds.features_and_decoder)
        case(name + "/text", prefix + "ForTextToText", **sizes)
        case(name + "/untied-text", prefix + "ForTextToText", **sizes, tie_word_embeddings=False)


def codec(config):
    import transformers
    codec = getattr(config, "audio_encoder", None) or config.codec_config
    model = transformers.AutoModel.from_config(codec)
    return {"codec": {"count": sum(one.numel() for one in model.parameters()),
                      "why": "the codec makes codes of the sound before a step"}}


def words_and_codes(config, batch, length):
    import torch
    of_words = torch.randint(5, config.vocab_size - 1, (batch, length, 1))
    of_sound = torch.randint(0, config.codebook_vocab_size - 1, (batch, length, config.num_codebooks))
    return {"input_ids": torch.cat([of_words, of_sound], dim=-1)}


def music(case):
    mimi = dict(model_type="mimi", hidden_size=16, num_filters=4, codebook_size=16, codebook_dim=8, num_quantizers=2,
                vector_quantization_hidden_dimension=8, num_semantic_quantizers=1, num_hidden_layers=1,
                num_attention_heads=2, num_key_value_heads=2, head_dim=8, intermediate_size=16,
                upsampling_ratios=[2, 2], upsample_groups=16)
    kyutai = dict(vocab_size=101, hidden_size=48, ffn_dim=70, num_hidden_layers=2, num_attention_heads=6,
                  num_key_value_heads=3, head_dim=10, num_codebooks=2, codebook_vocab_size=17, audio_pad_token_id=116,
                  sliding_window=5, codec_config=mimi, _inputs=words_and_codes)
    case("kyutai_speech_to_text/generation", "KyutaiSpeechToTextForConditionalGeneration", **kyutai, _parameters=codec)
    case("kyutai_speech_to_text/model", "KyutaiSpeechToTextModel", **kyutai)
    case("moshi/causal", "MoshiForCausalLM", vocab_size=101, hidden_size=48, ffn_dim=70, num_hidden_layers=2,
         num_attention_heads=6, num_key_value_heads=3, head_dim=10, sliding_window=5, num_codebooks=2)
    case("moshi/model", "MoshiModel", vocab_size=101, hidden_size=48, ffn_dim=70, num_hidden_layers=2,
         num_attention_heads=6, num_codebooks=2, sliding_window=3)
    t5 = dict(model_type="t5", vocab_size=73, d_model=40, d_kv=7, d_ff=62, num_layers=2, num_heads=4)
    encodec = dict(model_type="encodec", hidden_size=8, num_filters=2, codebook_size=16, codebook_dim=8, upsampling_ratios=[2, 2],
                   num_lstm_layers=1)
    decoder = dict(model_type="musicgen_decoder", vocab_size=31, hidden_size=48, ffn_dim=70, num_hidden_layers=3,
                   num_attention_heads=6, num_codebooks=2, pad_token_id=30, bos_token_id=30)
    shared = dict(audio_encoder=encodec, _parameters=codec, _attention=("eager",),  # a codec knows no other
                  _feed=feeds.text_and_codes)
    case("musicgen/generation", "MusicgenForConditionalGeneration", text_encoder=t5, decoder=decoder, **shared)
    case("musicgen/of-one-width", "MusicgenForConditionalGeneration", text_encoder=dict(
        t5, d_model=48, feed_forward_proj="gated-gelu"), decoder=decoder, **shared)
    case("musicgen/layers-dropped", "MusicgenForConditionalGeneration", text_encoder=dict(t5, d_model=48), decoder=dict(
        decoder, cross_attention_hidden_size=48, layerdrop=0.1), **shared)


def cases(case):
    music(case)
    seamless(case)
    phi(case)
    gemma(case)
    qwen_omni(case)
    conformers(case)
    sound_before_text(case)
