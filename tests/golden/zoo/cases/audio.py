# SPDX-License-Identifier: Apache-2.0
"""Audio models: whisper, wav2vec2 and family, audio towers before a language model."""

import feeds


# ---------------------------------------------------------------------------------------------------------------------
# What the implementations run beyond the model.


def after(length, kernels, strides, padding=0):
    """What each of these convolutions leaves of a length."""
    lengths = []
    for kernel, stride in zip(kernels, strides):
        length = (length + 2 * padding - kernel) // stride + 1
        lengths.append(length)
    return lengths


def extra_positions(width, groups, kernel, frames, extra):
    """A convolution along the frames that is run on more positions than stay; its weight gradient is counted for all
    pairs of channels, which only those of a group have."""
    product = 2 * kernel * width // groups * width
    return {"forward": product * extra, "backward": product * (2 * extra + (groups - 1) * (frames + extra)),
            "why": "an even kernel makes one frame too many, cut off afterwards; the counter takes a weight gradient "
                   "times the groups"}


def of_waveform(config, batch, length, fused, audio_frames):
    """wav2vec2 and its family."""
    lengths = after(audio_frames[0], config.conv_kernel, config.conv_stride)
    frames = lengths[-1]
    first = 2 * config.conv_kernel[0] * config.conv_dim[0] * lengths[0] * batch
    found = {"gradient_to_the_waveform": {
        "forward": 0, "backward": first,
        "why": "the waveform is made to take a gradient in training, for the sake of checkpointing"}}
    if config.model_type == "wav2vec2-conformer":
        return {**found, **of_conformer(config, batch, length, fused, [frames] * batch)}
    layers, kernel, squeeze = 1, config.num_conv_pos_embeddings, getattr(config, "squeeze_factor", 1)
    if config.model_type == "data2vec-audio":
        layers, kernel = config.num_conv_pos_embeddings, config.conv_pos_kernel_size
    kept = frames // squeeze
    run = (frames + 2 * (kernel // 2) - kernel) // squeeze + 1
    found["convolution_of_positions"] = extra_positions(
        config.hidden_size, config.num_conv_pos_embedding_groups, kernel, layers * batch * kept,
        layers * batch * (run - kept))
    return found


def of_conformer(config, batch, length, fused, audio_frames):
    """wav2vec2-conformer, wav2vec2-bert and parakeet; audio_frames are those of the layers."""
    frames, layers = audio_frames[0], config.num_hidden_layers
    parakeet = config.model_type.startswith("parakeet")
    kernel = config.conv_kernel_size if parakeet else config.conv_depthwise_kernel_size
    depthwise = 2 * kernel * config.hidden_size * frames * batch * layers
    found = {"depthwise_convolution": {
        "forward": 0, "backward": (config.hidden_size - 1) * depthwise,
        "why": "the counter takes a weight gradient times the groups, which are the channels"}}
    if parakeet or config.position_embeddings_type == "relative":
        rows = (batch if parakeet else 1) * (2 * frames - 1) - 2 * batch * frames
        projected = 2 * config.hidden_size ** 2 * rows * layers
        scores = 2 * config.hidden_size * batch * frames * (frames - 1) * layers
        found["relative_positions"] = {
            "forward": projected + scores, "backward": projected + 2 * scores,
            "why": "2 x frames - 1 positions are projected" + ("" if parakeet else " once for the whole batch") +
                   ", and every query is multiplied with all of them, of which as many as frames are then taken"}
    return found


def of_parakeet(config, batch, length, fused, audio_frames):
    config = getattr(config, "encoder_config", config)
    steps, kernel, channels = [], config.subsampling_conv_kernel_size, config.subsampling_conv_channels
    padding, factor, frames, bins = (kernel - 1) // 2, config.subsampling_factor, audio_frames[0], config.num_mel_bins
    while factor > 1:
        frames, bins = (after(size, [kernel], [config.subsampling_conv_stride], padding)[0] for size in (frames, bins))
        steps.append(2 * kernel ** 2 * channels * frames * bins * batch)
        factor //= 2
    return {**of_conformer(config, batch, length, fused, [frames] * batch),
            "subsampling": {"forward": 0, "backward": (channels - 1) * sum(steps[1:]),
                            "why": "the counter takes a weight gradient times the groups, which are the channels"}}


def of_chunks(config, batch, length, fused, audio_frames, grids=()):
    """qwen2_5_omni and qwen3_omni_moe: chunks of 2 x n_window frames, all padded to the longest before convolutions;
    those of qwen3_asr to 2 x n_window, and each clip to as many chunks as the longest has."""
    config = getattr(config, "audio_config", config)
    side, found = 2 * config.n_window, 0
    chunks = [min(side, frames - start) for frames in audio_frames for start in range(0, frames, side)]
    deep = config.model_type.startswith("qwen3")
    strides, channels = ((2, 2, 2), config.downsample_hidden_size) if deep else ((1, 2), config.d_model)
    bins, width = (config.num_mel_bins, 1) if deep else (1, config.num_mel_bins)
    whole = config.model_type == "qwen3_asr_encoder"
    slots, longest = (len(audio_frames) * -(-max(audio_frames) // side), side) if whole else (len(chunks), max(chunks))
    forward = backward = 0
    lengths = chunks
    for step, stride in enumerate(strides):
        lengths = [(one - 1) // stride + 1 for one in lengths]
        longest = (longest - 1) // stride + 1
        bins = (bins + 1) // 2 if deep else 1
        extra = 2 * (9 if deep else 3) * width * channels * bins * (slots * longest - sum(lengths))
        forward, backward, width = forward + extra, backward + (1 if step == 0 else 2) * extra, channels
    if deep:
        extra = 2 * bins * channels * config.d_model * (slots * longest - sum(lengths))
        forward, backward = forward + extra, backward + 2 * extra
    return {"padded_chunks": {"forward": forward, "backward": backward,
                              "why": "all chunks are padded to " + ("whole ones" if whole else "the longest") +
                                     " before the convolutions"}}


def of_moonshine(config, batch, length, fused, audio_frames, encoder_length):
    """Both sides have the heads of the encoder: its config is one object, which each attention changes."""
    multiple, heads = config.pad_head_dim_to_multiple_of or 1, config.decoder_num_attention_heads
    head_dim = config.hidden_size // heads
    padding = -head_dim % multiple
    pairs = (config.encoder_num_hidden_layers * encoder_length ** 2 +
             config.decoder_num_hidden_layers * length * (length + encoder_length))
    extra = 4 * heads * padding * batch * pairs
    return {"padded_head_dim": {"forward": extra, "backward": extra * 5 // 2 if fused else extra * 2,
                                "why": "head dims are padded to pad_head_dim_to_multiple_of"}}


WAVES = ["wav2vec2", "hubert", "wavlm", "unispeech", "unispeech-sat", "data2vec-audio", "wav2vec2-conformer", "sew"]
DIFFERENCES = {**{name: of_waveform for name in WAVES}, "wav2vec2-bert": of_conformer,
               "parakeet_encoder": of_parakeet, "qwen2_5_omni_audio_encoder": of_chunks,
               "qwen3_omni_moe_audio_encoder": of_chunks, "qwen3_asr_encoder": of_chunks, "qwen3_asr": of_chunks,
               "qwen2_5_omni_thinker": of_chunks, "moonshine": of_moonshine}


def whisper(case):
    sizes = dict(vocab_size=103, d_model=48, encoder_layers=3, decoder_layers=2, encoder_ffn_dim=70, decoder_ffn_dim=54,
                 encoder_attention_heads=4, decoder_attention_heads=6, max_source_positions=13,
                 max_target_positions=19, num_mel_bins=10, pad_token_id=1, bos_token_id=2, eos_token_id=2,
                 decoder_start_token_id=3)
    case("whisper/generation", "WhisperForConditionalGeneration", **sizes, _feed=feeds.speech_to_text)
    case("whisper/model", "WhisperModel", **sizes, _feed=feeds.speech_to_text)
    case("whisper/classification", "WhisperForAudioClassification", **sizes, classifier_proj_size=22, num_labels=5,
         _feed=feeds.mel)
    case("whisper/classification-of-all-layers", "WhisperForAudioClassification", **sizes, classifier_proj_size=22,
         num_labels=5, use_weighted_layer_sum=True, _feed=feeds.mel)
    case("whisper/decoder", "WhisperForCausalLM", **sizes)


def wav2vec2_family(case):
    sizes = dict(vocab_size=31, hidden_size=48, num_hidden_layers=2, num_attention_heads=6, intermediate_size=70,
                 conv_dim=[12, 14, 20], conv_kernel=[10, 3, 2], conv_stride=[5, 2, 2], num_feat_extract_layers=3,
                 num_conv_pos_embeddings=6, num_conv_pos_embedding_groups=4, classifier_proj_size=22)
    types = {"wav2vec2": "Wav2Vec2", "hubert": "Hubert", "wavlm": "WavLM", "unispeech": "UniSpeech",
             "unispeech-sat": "UniSpeechSat", "data2vec-audio": "Data2VecAudio",
             "wav2vec2-conformer": "Wav2Vec2Conformer", "sew": "SEW"}
    for name, prefix in types.items():
        more = dict(conv_depthwise_kernel_size=5) if name == "wav2vec2-conformer" else {}
        if name == "data2vec-audio":
            more = dict(conv_pos_kernel_size=5, num_conv_pos_embeddings=2)
        family = dict(sizes, **more)
        case(name + "/ctc", prefix + "ForCTC", **family, _feed=feeds.waveform)
        case(name + "/model", prefix + "Model", **family, _feed=feeds.waveform)
        case(name + "/classification", prefix + "ForSequenceClassification", **family, num_labels=5,
             _feed=feeds.waveform)
    case("wav2vec2/stable-layer-norm", "Wav2Vec2ForCTC", **sizes, do_stable_layer_norm=True, feat_extract_norm="layer",
         conv_bias=True, _feed=feeds.waveform)
    case("wav2vec2/adapter", "Wav2Vec2ForCTC", **sizes, add_adapter=True, num_adapter_layers=2, output_hidden_size=26,
         _feed=feeds.waveform)
    case("wav2vec2/adapter-of-the-same-width", "Wav2Vec2Model", **sizes, add_adapter=True, num_adapter_layers=1,
         adapter_kernel_size=4, adapter_stride=3, _feed=feeds.waveform)
    case("wav2vec2/language-adapters", "Wav2Vec2ForSequenceClassification", **sizes, do_stable_layer_norm=True,
         adapter_attn_dim=14, use_weighted_layer_sum=True, mask_time_prob=0.0, _feed=feeds.waveform)
    case("wav2vec2/defaults", "Wav2Vec2Model", **{name: sizes[name] for name in (
        "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")},
         _feed=feeds.variant(feeds.waveform, (1, 1111)))
    case("hubert/batch-norm", "HubertForCTC", **sizes, conv_pos_batch_norm=True, feat_proj_layer_norm=False,
         _feed=feeds.waveform)
    case("sew/squeezed-by-3", "SEWForCTC", **{**sizes, "num_conv_pos_embeddings": 7}, squeeze_factor=3,
         feat_extract_norm="layer", _feed=feeds.waveform)
    for name in ("sew", "wav2vec2-conformer"):
        case(name + "/no-masks", types[name] + "Model", **sizes, mask_time_prob=0.0, mask_feature_prob=0.0,
             _feed=feeds.waveform)
    case("wav2vec2/no-architectures", None, **sizes, _class="Wav2Vec2ForCTC", _feed=feeds.waveform)
    case("sew/of-the-width-of-the-layers", "SEWModel", **{**sizes, "conv_dim": [12, 14, 48]}, _feed=feeds.waveform)
    for kind in ("rotary", None):
        case(f"wav2vec2-conformer/{kind or 'no'}-positions", "Wav2Vec2ConformerModel", **sizes,
             conv_depthwise_kernel_size=5, position_embeddings_type=kind, _feed=feeds.waveform)
    for name in ("wavlm", "unispeech-sat", "data2vec-audio", "wav2vec2-conformer"):
        case(name + "/xvector", types[name] + "ForXVector", **sizes, tdnn_dim=[24, 26, 28], tdnn_kernel=[3, 2, 1],
             tdnn_dilation=[1, 2, 1], xvector_output_dim=18, num_labels=5, _feed=feeds.waveform)
    case("wav2vec2/frames", "Wav2Vec2ForAudioFrameClassification", **sizes, num_labels=5, _feed=feeds.waveform)
    case("wav2vec2/xvector", "Wav2Vec2ForXVector", **sizes, tdnn_dim=[24, 26, 28], tdnn_kernel=[3, 2, 1],
         tdnn_dilation=[1, 2, 1], xvector_output_dim=18, num_labels=5, _feed=feeds.waveform)
    bert = dict(vocab_size=31, hidden_size=48, num_hidden_layers=2, num_attention_heads=6, intermediate_size=70,
                feature_projection_input_dim=20, conv_depthwise_kernel_size=5, left_max_position_embeddings=4,
                right_max_position_embeddings=3)
    features = feeds.variant(feeds.features, width="feature_projection_input_dim")
    case("wav2vec2-bert/ctc", "Wav2Vec2BertForCTC", **bert, _feed=features)
    case("wav2vec2-bert/no-positions-no-masks", "Wav2Vec2BertModel", **bert, position_embeddings_type=None,
         mask_time_prob=0.0, mask_feature_prob=0.0, _feed=features)
    case("wav2vec2-bert/model", "Wav2Vec2BertModel", **bert, position_embeddings_type="relative", _feed=features)


def other_encoders(case):
    ast = dict(hidden_size=40, num_hidden_layers=2, num_attention_heads=5, intermediate_size=66, patch_size=8,
               frequency_stride=5, time_stride=6, max_length=32, num_mel_bins=23,
               _no_resolved="its max_length, of a spectrogram, goes with the max_length of generated text")
    case("audio-spectrogram-transformer/classification", "ASTForAudioClassification", **ast, num_labels=5,
         _feed=feeds.spectrogram)
    case("audio-spectrogram-transformer/model", "ASTModel", **ast, _feed=feeds.spectrogram)
    case("audio-spectrogram-transformer/without-biases", "ASTModel", **{**ast, "num_mel_bins": 38}, qkv_bias=False,
         _feed=feeds.spectrogram)
    parakeet = dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=6,
                    intermediate_size=70, conv_kernel_size=5, subsampling_conv_channels=10, num_mel_bins=16,
                    max_position_embeddings=40)
    features = feeds.variant(feeds.features, (2, 41), (3, 25), width="num_mel_bins")
    case("parakeet_encoder/model", "ParakeetEncoder", **parakeet, _feed=features)
    for factor in (2, 4, 16):
        case(f"parakeet_encoder/by-{factor}", "ParakeetEncoder", **parakeet, subsampling_factor=factor,
             attention_bias=factor != 4, convolution_bias=factor != 4, _feed=features)


def audio_language(case):
    llama = dict(model_type="llama", vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=2,
                 num_attention_heads=6, num_key_value_heads=3)
    qwen2 = dict(llama, model_type="qwen2")
    tower = dict(num_mel_bins=10, d_model=40, encoder_layers=3, encoder_attention_heads=5, encoder_ffn_dim=66,
                 max_source_positions=14)
    long = dict(num_mel_bins=10, hidden_size=40, num_hidden_layers=3, num_attention_heads=5, intermediate_size=80,
                max_source_positions=16)
    case("qwen2_audio/generation", "Qwen2AudioForConditionalGeneration", text_config=qwen2, audio_config=dict(
        tower, model_type="qwen2_audio_encoder"), audio_token_index=7,
         _feed=feeds.variant(feeds.audio_text, rows=lambda frames: frames // 4))
    case("voxtral/generation", "VoxtralForConditionalGeneration", text_config=llama, audio_config=long,
         audio_token_id=7, _feed=feeds.audio_text)
    case("audioflamingo3/generation", "AudioFlamingo3ForConditionalGeneration", text_config=qwen2, audio_config=long,
         audio_token_id=7, _feed=feeds.audio_text)
    case("glmasr/generation", "GlmAsrForConditionalGeneration", text_config=llama, audio_token_id=7,
         audio_config={("max_position_embeddings" if key == "max_source_positions" else key): value
                       for key, value in dict(long, intermediate_size=160).items()}, _feed=feeds.audio_text)
    case("qwen2_audio/model", "Qwen2AudioModel", text_config=dict(qwen2, tie_word_embeddings=True), audio_config=dict(
        tower, model_type="qwen2_audio_encoder", max_source_positions=15), audio_token_index=7,
         tie_word_embeddings=True, _feed=feeds.variant(feeds.audio_text, rows=lambda frames: (frames // 2 - 2) // 2 + 1))
    case("voxtral/head-dim-of-the-class", "VoxtralModel", text_config=dict(
        vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=2, num_attention_heads=8),
         audio_config=dict(long, intermediate_size=160), audio_token_id=7, _feed=feeds.audio_text)
    case("audioflamingo3/without-biases", "AudioFlamingo3ForConditionalGeneration", text_config=qwen2,
         audio_config=long, projector_bias=False, audio_token_id=7, _feed=feeds.audio_text)


def towers(case):
    """The encoders by themselves."""
    long = dict(num_mel_bins=10, hidden_size=40, num_hidden_layers=3, num_attention_heads=5, intermediate_size=86)
    case("qwen2_audio_encoder/encoder", "Qwen2AudioEncoder", num_mel_bins=10, d_model=40, encoder_layers=3,
         encoder_attention_heads=5, encoder_ffn_dim=66, max_source_positions=14, _feed=feeds.mel)
    case("voxtral_encoder/encoder", "VoxtralEncoder", **long, max_source_positions=14, _feed=feeds.mel)
    case("audioflamingo3_encoder/encoder", "AudioFlamingo3Encoder", **long, max_source_positions=14, _feed=feeds.mel,
         _inputs=lambda config, batch, length, audio_frames: {"input_features_mask": ones(batch, audio_frames[0])})
    case("glmasr_encoder/encoder", "GlmAsrEncoder", **long, num_key_value_heads=1, head_dim=6,
         _feed=feeds.variant(feeds.mel, frames=22))


    omni = dict(num_mel_bins=10, d_model=40, encoder_layers=3, encoder_attention_heads=5, encoder_ffn_dim=66,
                output_dim=28)
    case("qwen2_5_omni_audio_encoder/encoder", "Qwen2_5OmniAudioEncoder", **omni, n_window=6, max_source_positions=14,
         _feed=feeds.packed_mel)
    case("qwen3_omni_moe_audio_encoder/encoder", "Qwen3OmniMoeAudioEncoder", **omni, downsample_hidden_size=12,
         n_window_infer=230, max_source_positions=30, _feed=feeds.variant(feeds.packed_mel, (230, 137), (400,)))
    asr = dict(omni, downsample_hidden_size=12, n_window_infer=200)
    case("qwen3_asr_encoder/encoder", "Qwen3ASREncoder", **asr, _feed=feeds.masked_mel)
    heard = dict(audio_config=dict(asr, model_type="qwen3_asr_encoder", output_dim=48), audio_token_id=7, text_config=dict(
        model_type="qwen3", vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=2,
        num_attention_heads=6, num_key_value_heads=3, head_dim=10))
    case("qwen3_asr/generation", "Qwen3ASRForConditionalGeneration", **heard, _feed=feeds.heard)
    case("qwen3_asr/untied-model", "Qwen3ASRModel", **heard, tie_word_embeddings=False, _feed=feeds.heard)
    case("qwen3_omni_moe_audio_encoder/52", "Qwen3OmniMoeAudioEncoder", **{**omni, "num_mel_bins": 19},
         downsample_hidden_size=12, n_window=52, n_window_infer=104, max_source_positions=30,
         _feed=feeds.variant(feeds.packed_mel, (230, 137), (99,)))


    text = dict(vocab_size=101, hidden_size=48, intermediate_size=70, num_hidden_layers=2, num_attention_heads=6,
                num_key_value_heads=3)
    text["rope_parameters"] = dict(rope_type="default", rope_theta=10000.0, mrope_section=[2, 1, 1])
    vision = dict(depth=3, hidden_size=24, num_heads=3, intermediate_size=38, out_hidden_size=48, patch_size=5,
                  window_size=20, fullatt_block_indexes=[1])
    case("qwen2_5_omni_thinker/generation", "Qwen2_5OmniThinkerForConditionalGeneration", text_config=text,
         audio_config=dict(omni, n_window=6, max_source_positions=30, output_dim=48), vision_config=vision,
         audio_token_index=7, image_token_index=8, video_token_index=9, audio_start_token_id=6, audio_end_token_id=5,
         _feed=feeds.seen_and_heard)


def ones(*shape):
    import torch
    return torch.ones(*shape, dtype=torch.long)


def translators(case):
    sizes = dict(vocab_size=103, d_model=48, encoder_layers=3, decoder_layers=2, encoder_ffn_dim=70, decoder_ffn_dim=54,
                 encoder_attention_heads=4, decoder_attention_heads=6, max_source_positions=29,
                 max_target_positions=19, pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2,
                 input_feat_per_channel=10, conv_channels=26)
    case("speech_to_text/generation", "Speech2TextForConditionalGeneration", **sizes,
         _feed=feeds.speech_features)
    moonshine = dict(vocab_size=103, hidden_size=48, intermediate_size=70, encoder_num_hidden_layers=2,
                     decoder_num_hidden_layers=3, encoder_num_attention_heads=4, decoder_num_attention_heads=6,
                     encoder_num_key_value_heads=4, decoder_num_key_value_heads=6, max_position_embeddings=40,
                     pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2)
    case("moonshine/generation", "MoonshineForConditionalGeneration", **moonshine, _feed=feeds.speech_waveform)
    absent = {name: value for name, value in moonshine.items() if not name.endswith("key_value_heads")}
    case("moonshine/biases", "MoonshineForConditionalGeneration", **absent, attention_bias=True,
         tie_word_embeddings=False, pad_head_dim_to_multiple_of=16, _feed=feeds.speech_waveform)
    case("speech_to_text/one-convolution", "Speech2TextModel", **{**sizes, "input_channels": 2}, num_conv_layers=1,
         conv_kernel_sizes=[3], _feed=feeds.speech_features)
    case("speech_to_text/untied", "Speech2TextForConditionalGeneration", **sizes, num_conv_layers=3,
         conv_kernel_sizes=[3, 5, 7], tie_word_embeddings=False, _feed=feeds.speech_features)


def cases(case):
    whisper(case)
    wav2vec2_family(case)
    other_encoders(case)
    audio_language(case)
    towers(case)
    translators(case)
