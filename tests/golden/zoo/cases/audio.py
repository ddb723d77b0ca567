# SPDX-License-Identifier: Apache-2.0
"""Audio models: whisper."""

import feeds


def whisper(case):
    sizes = dict(vocab_size=103, d_model=48, encoder_layers=3, decoder_layers=2, encoder_ffn_dim=70, decoder_ffn_dim=54,
                 encoder_attention_heads=4, decoder_attention_heads=6, max_source_positions=13,
                 max_target_positions=19, num_mel_bins=10, pad_token_id=1, bos_token_id=2, eos_token_id=2,
                 decoder_start_token_id=3)
    case("whisper/generation", "WhisperForConditionalGeneration", **sizes, _feed=feeds.speech_to_text)


def cases(case):
    whisper(case)
