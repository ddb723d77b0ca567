# SPDX-License-Identifier: Apache-2.0
"""A label for a text, or for each of its tokens: classes that trainers make of any model with an lm_head."""


def cases(case):
    case.like("qwen_vl", "qwen3_5/generation", "reward", architectures=["Qwen3_5ForSequenceClassification"], num_labels=1,
              text_config={"pad_token_id": 0})
    case.like("qwen_vl", "qwen3_5/generation", "tokens", architectures=["Qwen3_5ForTokenClassification"], num_labels=5)
    case.like("vision_language", "gemma3/generation", "reward", architectures=["Gemma3ForSequenceClassification"], num_labels=3)
    case.like("image_text2026", "modernvbert/masked", "reward", architectures=["ModernVBertForSequenceClassification"], num_labels=3)
    case.like("image_text2026", "modernvbert/masked", "tokens", architectures=["ModernVBertForTokenClassification"], num_labels=4)
    case.like("audio", "qwen3_asr/generation", "tokens", architectures=["Qwen3ASRForTokenClassification"], num_labels=4)
