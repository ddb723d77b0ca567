// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include <floptally/models/afmoe.hpp>
#include <floptally/models/aimv2.hpp>
#include <floptally/models/aimv2_text_model.hpp>
#include <floptally/models/aimv2_vision_model.hpp>
#include <floptally/models/albert.hpp>
#include <floptally/models/altclip.hpp>
#include <floptally/models/altclip_text_model.hpp>
#include <floptally/models/altclip_vision_model.hpp>
#include <floptally/models/apertus.hpp>
#include <floptally/models/arcee.hpp>
#include <floptally/models/aria.hpp>
#include <floptally/models/aria_text.hpp>
#include <floptally/models/audio-spectrogram-transformer.hpp>
#include <floptally/models/audioflamingo3.hpp>
#include <floptally/models/audioflamingo3_encoder.hpp>
#include <floptally/models/axk1.hpp>
#include <floptally/models/axk2.hpp>
#include <floptally/models/aya_vision.hpp>
#include <floptally/models/baichuan.hpp>
#include <floptally/models/bailing_hybrid.hpp>
#include <floptally/models/bamba.hpp>
#include <floptally/models/bart.hpp>
#include <floptally/models/base.hpp>
#include <floptally/models/beam.hpp>
#include <floptally/models/beit.hpp>
#include <floptally/models/bert-generation.hpp>
#include <floptally/models/bert.hpp>
#include <floptally/models/big_bird.hpp>
#include <floptally/models/biogpt.hpp>
#include <floptally/models/bitnet.hpp>
#include <floptally/models/blenderbot-small.hpp>
#include <floptally/models/blenderbot.hpp>
#include <floptally/models/blip-2.hpp>
#include <floptally/models/blip.hpp>
#include <floptally/models/blip_2_vision_model.hpp>
#include <floptally/models/blip_vision_model.hpp>
#include <floptally/models/bloom.hpp>
#include <floptally/models/camembert.hpp>
#include <floptally/models/canary.hpp>
#include <floptally/models/chameleon.hpp>
#include <floptally/models/chinese_clip.hpp>
#include <floptally/models/chinese_clip_text_model.hpp>
#include <floptally/models/chinese_clip_vision_model.hpp>
#include <floptally/models/clip.hpp>
#include <floptally/models/clip_text_model.hpp>
#include <floptally/models/clip_vision_model.hpp>
#include <floptally/models/codegen.hpp>
#include <floptally/models/cohere.hpp>
#include <floptally/models/cohere2.hpp>
#include <floptally/models/cohere2_moe.hpp>
#include <floptally/models/cohere2_vision.hpp>
#include <floptally/models/cohere_asr.hpp>
#include <floptally/models/cohere_compass_text.hpp>
#include <floptally/models/colmodernvbert.hpp>
#include <floptally/models/colpali.hpp>
#include <floptally/models/colqwen2.hpp>
#include <floptally/models/convbert.hpp>
#include <floptally/models/convnext.hpp>
#include <floptally/models/convnextv2.hpp>
#include <floptally/models/cosmos3_edge.hpp>
#include <floptally/models/cosmos3_edge_text.hpp>
#include <floptally/models/cosmos3_edge_vision.hpp>
#include <floptally/models/cpmant.hpp>
#include <floptally/models/ctrl.hpp>
#include <floptally/models/cwm.hpp>
#include <floptally/models/data2vec-audio.hpp>
#include <floptally/models/data2vec-text.hpp>
#include <floptally/models/data2vec-vision.hpp>
#include <floptally/models/dbrx.hpp>
#include <floptally/models/deberta-v2.hpp>
#include <floptally/models/deberta.hpp>
#include <floptally/models/deepseek.hpp>
#include <floptally/models/deepseek_ocr2.hpp>
#include <floptally/models/deepseek_ocr2_text.hpp>
#include <floptally/models/deepseek_ocr2_vision.hpp>
#include <floptally/models/deepseek_v2.hpp>
#include <floptally/models/deepseek_v3.hpp>
#include <floptally/models/deepseek_v32.hpp>
#include <floptally/models/deepseek_v4.hpp>
#include <floptally/models/deepseek_vl.hpp>
#include <floptally/models/deit.hpp>
#include <floptally/models/dia.hpp>
#include <floptally/models/diffllama.hpp>
#include <floptally/models/dinov2.hpp>
#include <floptally/models/dinov2_with_registers.hpp>
#include <floptally/models/dinov3_convnext.hpp>
#include <floptally/models/dinov3_vit.hpp>
#include <floptally/models/distilbert.hpp>
#include <floptally/models/doge.hpp>
#include <floptally/models/donut-swin.hpp>
#include <floptally/models/dots1.hpp>
#include <floptally/models/dpr.hpp>
#include <floptally/models/electra.hpp>
#include <floptally/models/emu3.hpp>
#include <floptally/models/emu3_text_model.hpp>
#include <floptally/models/ernie.hpp>
#include <floptally/models/ernie4_5.hpp>
#include <floptally/models/ernie4_5_moe.hpp>
#include <floptally/models/ernie4_5_vl_moe.hpp>
#include <floptally/models/ernie4_5_vl_moe_text.hpp>
#include <floptally/models/ernie4_5_vl_moe_vision.hpp>
#include <floptally/models/esm.hpp>
#include <floptally/models/esmc.hpp>
#include <floptally/models/eurobert.hpp>
#include <floptally/models/exaone.hpp>
#include <floptally/models/exaone4.hpp>
#include <floptally/models/exaone4_5.hpp>
#include <floptally/models/exaone4_5_vision.hpp>
#include <floptally/models/exaone_moe.hpp>
#include <floptally/models/falcon.hpp>
#include <floptally/models/falcon_h1.hpp>
#include <floptally/models/falcon_mamba.hpp>
#include <floptally/models/flaubert.hpp>
#include <floptally/models/flex_olmo.hpp>
#include <floptally/models/flint.hpp>
#include <floptally/models/florence2.hpp>
#include <floptally/models/florence_vision.hpp>
#include <floptally/models/fnet.hpp>
#include <floptally/models/focalnet.hpp>
#include <floptally/models/fsmt.hpp>
#include <floptally/models/fun_asr_nano.hpp>
#include <floptally/models/fun_asr_nano_encoder.hpp>
#include <floptally/models/fuyu.hpp>
#include <floptally/models/gemma.hpp>
#include <floptally/models/gemma2.hpp>
#include <floptally/models/gemma3.hpp>
#include <floptally/models/gemma3_text.hpp>
#include <floptally/models/gemma3n.hpp>
#include <floptally/models/gemma3n_audio.hpp>
#include <floptally/models/gemma3n_text.hpp>
#include <floptally/models/gemma3n_vision.hpp>
#include <floptally/models/gemma4.hpp>
#include <floptally/models/gemma4_audio.hpp>
#include <floptally/models/gemma4_text.hpp>
#include <floptally/models/gemma4_unified.hpp>
#include <floptally/models/gemma4_unified_text.hpp>
#include <floptally/models/gemma4_vision.hpp>
#include <floptally/models/git.hpp>
#include <floptally/models/git_vision_model.hpp>
#include <floptally/models/glm.hpp>
#include <floptally/models/glm4.hpp>
#include <floptally/models/glm46v.hpp>
#include <floptally/models/glm4_moe.hpp>
#include <floptally/models/glm4_moe_lite.hpp>
#include <floptally/models/glm4v.hpp>
#include <floptally/models/glm4v_moe.hpp>
#include <floptally/models/glm4v_moe_text.hpp>
#include <floptally/models/glm4v_moe_vision.hpp>
#include <floptally/models/glm4v_text.hpp>
#include <floptally/models/glm4v_vision.hpp>
#include <floptally/models/glm5_next.hpp>
#include <floptally/models/glm5_next_text.hpp>
#include <floptally/models/glm5_next_vision.hpp>
#include <floptally/models/glm_moe_dsa.hpp>
#include <floptally/models/glm_ocr.hpp>
#include <floptally/models/glm_ocr_text.hpp>
#include <floptally/models/glm_ocr_vision.hpp>
#include <floptally/models/glmasr.hpp>
#include <floptally/models/glmasr_encoder.hpp>
#include <floptally/models/glmga.hpp>
#include <floptally/models/glpn.hpp>
#include <floptally/models/got_ocr2.hpp>
#include <floptally/models/got_ocr2_vision.hpp>
#include <floptally/models/gpt-sw3.hpp>
#include <floptally/models/gpt2.hpp>
#include <floptally/models/gpt_bigcode.hpp>
#include <floptally/models/gpt_neo.hpp>
#include <floptally/models/gpt_neox.hpp>
#include <floptally/models/gpt_neox_japanese.hpp>
#include <floptally/models/gpt_oss.hpp>
#include <floptally/models/gptj.hpp>
#include <floptally/models/granite.hpp>
#include <floptally/models/granite4_vision.hpp>
#include <floptally/models/granite4_vision_text.hpp>
#include <floptally/models/granite_speech.hpp>
#include <floptally/models/granite_speech_encoder.hpp>
#include <floptally/models/granite_speech_plus.hpp>
#include <floptally/models/granite_speech_plus_encoder.hpp>
#include <floptally/models/granite_swa.hpp>
#include <floptally/models/granitemoe.hpp>
#include <floptally/models/granitemoe_swa.hpp>
#include <floptally/models/granitemoehybrid.hpp>
#include <floptally/models/granitemoeshared.hpp>
#include <floptally/models/gte.hpp>
#include <floptally/models/helium.hpp>
#include <floptally/models/hiera.hpp>
#include <floptally/models/hrm_text.hpp>
#include <floptally/models/hubert.hpp>
#include <floptally/models/hunyuan_v1_dense.hpp>
#include <floptally/models/hunyuan_v1_moe.hpp>
#include <floptally/models/hunyuan_vl.hpp>
#include <floptally/models/hunyuan_vl_text.hpp>
#include <floptally/models/hy_v3.hpp>
#include <floptally/models/hy_v4.hpp>
#include <floptally/models/hyperclovax.hpp>
#include <floptally/models/hyperclovax_vision_v2.hpp>
#include <floptally/models/ibert.hpp>
#include <floptally/models/idefics2.hpp>
#include <floptally/models/idefics2_vision.hpp>
#include <floptally/models/idefics3.hpp>
#include <floptally/models/idefics3_vision.hpp>
#include <floptally/models/ijepa.hpp>
#include <floptally/models/imagegpt.hpp>
#include <floptally/models/inkling_text.hpp>
#include <floptally/models/instructblip.hpp>
#include <floptally/models/instructblip_vision_model.hpp>
#include <floptally/models/instructblipvideo.hpp>
#include <floptally/models/instructblipvideo_vision_model.hpp>
#include <floptally/models/internlm.hpp>
#include <floptally/models/internlm2.hpp>
#include <floptally/models/internlm3.hpp>
#include <floptally/models/internvl.hpp>
#include <floptally/models/internvl_vision.hpp>
#include <floptally/models/iquestcoder.hpp>
#include <floptally/models/jais2.hpp>
#include <floptally/models/jamba.hpp>
#include <floptally/models/janus.hpp>
#include <floptally/models/janus_vision_model.hpp>
#include <floptally/models/jetmoe.hpp>
#include <floptally/models/jina_embeddings_v3.hpp>
#include <floptally/models/kimi_k2.hpp>
#include <floptally/models/kimi_k25.hpp>
#include <floptally/models/kimi_k25_vision.hpp>
#include <floptally/models/kimi_linear.hpp>
#include <floptally/models/kimi_vl.hpp>
#include <floptally/models/kolibri1.hpp>
#include <floptally/models/kosmos-2.5.hpp>
#include <floptally/models/kosmos-2.hpp>
#include <floptally/models/kyutai_speech_to_text.hpp>
#include <floptally/models/laguna.hpp>
#include <floptally/models/lasr_ctc.hpp>
#include <floptally/models/lasr_encoder.hpp>
#include <floptally/models/layoutlm.hpp>
#include <floptally/models/lfm2.hpp>
#include <floptally/models/lfm2_moe.hpp>
#include <floptally/models/lfm2_vl.hpp>
#include <floptally/models/lfm3.hpp>
#include <floptally/models/lfm3_vl.hpp>
#include <floptally/models/lfm3_vl_vision.hpp>
#include <floptally/models/lighton_ocr.hpp>
#include <floptally/models/lilt.hpp>
#include <floptally/models/llama.hpp>
#include <floptally/models/llama4.hpp>
#include <floptally/models/llama4_text.hpp>
#include <floptally/models/llama4_vision_model.hpp>
#include <floptally/models/llava.hpp>
#include <floptally/models/llava_next.hpp>
#include <floptally/models/llava_next_video.hpp>
#include <floptally/models/llava_onevision.hpp>
#include <floptally/models/longcat_flash.hpp>
#include <floptally/models/m2m_100.hpp>
#include <floptally/models/mamba.hpp>
#include <floptally/models/mamba2.hpp>
#include <floptally/models/marian.hpp>
#include <floptally/models/markuplm.hpp>
#include <floptally/models/maskformer-swin.hpp>
#include <floptally/models/mbart.hpp>
#include <floptally/models/megatron-bert.hpp>
#include <floptally/models/mellum.hpp>
#include <floptally/models/metaclip_2.hpp>
#include <floptally/models/metaclip_2_text_model.hpp>
#include <floptally/models/metaclip_2_vision_model.hpp>
#include <floptally/models/mimo_v2_flash.hpp>
#include <floptally/models/minicpm.hpp>
#include <floptally/models/minicpm3.hpp>
#include <floptally/models/minicpm_ocr.hpp>
#include <floptally/models/minicpm_ocr_vision.hpp>
#include <floptally/models/minicpmv4_6.hpp>
#include <floptally/models/minicpmv4_6_vision.hpp>
#include <floptally/models/minicpmv4_7.hpp>
#include <floptally/models/minicpmv4_7_vision.hpp>
#include <floptally/models/minimax.hpp>
#include <floptally/models/minimax_m2.hpp>
#include <floptally/models/minimax_m3_vl.hpp>
#include <floptally/models/minimax_m3_vl_text.hpp>
#include <floptally/models/ministral.hpp>
#include <floptally/models/ministral3.hpp>
#include <floptally/models/mistral.hpp>
#include <floptally/models/mistral3.hpp>
#include <floptally/models/mistral4.hpp>
#include <floptally/models/mistral_large4.hpp>
#include <floptally/models/mistral_large4_text.hpp>
#include <floptally/models/mixtral.hpp>
#include <floptally/models/mlcd.hpp>
#include <floptally/models/mlcd_vision_model.hpp>
#include <floptally/models/mllama.hpp>
#include <floptally/models/mllama_text_model.hpp>
#include <floptally/models/mllama_vision_model.hpp>
#include <floptally/models/mobilebert.hpp>
#include <floptally/models/modernbert-decoder.hpp>
#include <floptally/models/modernbert.hpp>
#include <floptally/models/modernvbert.hpp>
#include <floptally/models/molmo2.hpp>
#include <floptally/models/molmo2_text.hpp>
#include <floptally/models/moonshine.hpp>
#include <floptally/models/moonshine_streaming.hpp>
#include <floptally/models/moshi.hpp>
#include <floptally/models/moss_transcribe_diarize.hpp>
#include <floptally/models/moss_transcribe_diarize_audio.hpp>
#include <floptally/models/mpnet.hpp>
#include <floptally/models/mpt.hpp>
#include <floptally/models/mt5.hpp>
#include <floptally/models/muse_glimmer.hpp>
#include <floptally/models/muse_glimmer_text.hpp>
#include <floptally/models/muse_glimmer_vision.hpp>
#include <floptally/models/musicflamingo.hpp>
#include <floptally/models/musicgen.hpp>
#include <floptally/models/mvp.hpp>
#include <floptally/models/nanochat.hpp>
#include <floptally/models/nemotron.hpp>
#include <floptally/models/nemotron_h.hpp>
#include <floptally/models/neomme.hpp>
#include <floptally/models/nomic_bert.hpp>
#include <floptally/models/olmo.hpp>
#include <floptally/models/olmo2.hpp>
#include <floptally/models/olmo3.hpp>
#include <floptally/models/olmo_hybrid.hpp>
#include <floptally/models/olmoe.hpp>
#include <floptally/models/openai-gpt.hpp>
#include <floptally/models/openai_privacy_filter.hpp>
#include <floptally/models/opt.hpp>
#include <floptally/models/ovis2.hpp>
#include <floptally/models/ovis2_vision.hpp>
#include <floptally/models/owlv2.hpp>
#include <floptally/models/owlv2_text_model.hpp>
#include <floptally/models/owlv2_vision_model.hpp>
#include <floptally/models/owlvit.hpp>
#include <floptally/models/owlvit_text_model.hpp>
#include <floptally/models/owlvit_vision_model.hpp>
#include <floptally/models/paddleocr_vl.hpp>
#include <floptally/models/paligemma.hpp>
#include <floptally/models/parakeet_ctc.hpp>
#include <floptally/models/parakeet_encoder.hpp>
#include <floptally/models/pegasus.hpp>
#include <floptally/models/persimmon.hpp>
#include <floptally/models/phi.hpp>
#include <floptally/models/phi3.hpp>
#include <floptally/models/phi4_multimodal.hpp>
#include <floptally/models/phi4_multimodal_vision.hpp>
#include <floptally/models/phimoe.hpp>
#include <floptally/models/pix2struct.hpp>
#include <floptally/models/pix2struct_text_model.hpp>
#include <floptally/models/pix2struct_vision_model.hpp>
#include <floptally/models/pixio.hpp>
#include <floptally/models/pixtral.hpp>
#include <floptally/models/plbart.hpp>
#include <floptally/models/poolformer.hpp>
#include <floptally/models/pop2piano.hpp>
#include <floptally/models/pp_chart2table.hpp>
#include <floptally/models/pvt.hpp>
#include <floptally/models/pvt_v2.hpp>
#include <floptally/models/qianfan_ocr.hpp>
#include <floptally/models/qianfan_ocr_vision.hpp>
#include <floptally/models/qwen.hpp>
#include <floptally/models/qwen2.hpp>
#include <floptally/models/qwen2_5_omni.hpp>
#include <floptally/models/qwen2_5_omni_audio_encoder.hpp>
#include <floptally/models/qwen2_5_omni_text.hpp>
#include <floptally/models/qwen2_5_omni_thinker.hpp>
#include <floptally/models/qwen2_5_omni_vision_encoder.hpp>
#include <floptally/models/qwen2_5_vl.hpp>
#include <floptally/models/qwen2_5_vl_text.hpp>
#include <floptally/models/qwen2_5_vl_vision.hpp>
#include <floptally/models/qwen2_audio.hpp>
#include <floptally/models/qwen2_audio_encoder.hpp>
#include <floptally/models/qwen2_moe.hpp>
#include <floptally/models/qwen2_vl.hpp>
#include <floptally/models/qwen2_vl_text.hpp>
#include <floptally/models/qwen3.hpp>
#include <floptally/models/qwen3_5.hpp>
#include <floptally/models/qwen3_5_moe.hpp>
#include <floptally/models/qwen3_5_moe_text.hpp>
#include <floptally/models/qwen3_5_moe_vision.hpp>
#include <floptally/models/qwen3_5_text.hpp>
#include <floptally/models/qwen3_5_vision.hpp>
#include <floptally/models/qwen3_asr.hpp>
#include <floptally/models/qwen3_asr_encoder.hpp>
#include <floptally/models/qwen3_moe.hpp>
#include <floptally/models/qwen3_next.hpp>
#include <floptally/models/qwen3_omni_moe.hpp>
#include <floptally/models/qwen3_omni_moe_audio_encoder.hpp>
#include <floptally/models/qwen3_omni_moe_text.hpp>
#include <floptally/models/qwen3_omni_moe_thinker.hpp>
#include <floptally/models/qwen3_omni_moe_vision_encoder.hpp>
#include <floptally/models/qwen3_vl.hpp>
#include <floptally/models/qwen3_vl_moe.hpp>
#include <floptally/models/qwen3_vl_moe_text.hpp>
#include <floptally/models/qwen3_vl_moe_vision.hpp>
#include <floptally/models/qwen3_vl_text.hpp>
#include <floptally/models/qwen3_vl_vision.hpp>
#include <floptally/models/qwen4_exp.hpp>
#include <floptally/models/qwen4_exp_text.hpp>
#include <floptally/models/qwen4_exp_vision.hpp>
#include <floptally/models/radio.hpp>
#include <floptally/models/recurrent_gemma.hpp>
#include <floptally/models/regnet.hpp>
#include <floptally/models/rembert.hpp>
#include <floptally/models/resnet.hpp>
#include <floptally/models/roberta-prelayernorm.hpp>
#include <floptally/models/roberta.hpp>
#include <floptally/models/roc_bert.hpp>
#include <floptally/models/roformer.hpp>
#include <floptally/models/rwkv.hpp>
#include <floptally/models/sam.hpp>
#include <floptally/models/sam_hq_vision_model.hpp>
#include <floptally/models/sam_vision_model.hpp>
#include <floptally/models/sapiens2.hpp>
#include <floptally/models/seamless_m4t.hpp>
#include <floptally/models/seamless_m4t_v2.hpp>
#include <floptally/models/seed_oss.hpp>
#include <floptally/models/segformer.hpp>
#include <floptally/models/sew-d.hpp>
#include <floptally/models/sew.hpp>
#include <floptally/models/shieldgemma2.hpp>
#include <floptally/models/siglip.hpp>
#include <floptally/models/siglip2.hpp>
#include <floptally/models/siglip2_text_model.hpp>
#include <floptally/models/siglip2_vision_model.hpp>
#include <floptally/models/siglip_text_model.hpp>
#include <floptally/models/siglip_vision_model.hpp>
#include <floptally/models/smollm3.hpp>
#include <floptally/models/smolvlm.hpp>
#include <floptally/models/smolvlm_vision.hpp>
#include <floptally/models/solar_open.hpp>
#include <floptally/models/speech_to_text.hpp>
#include <floptally/models/squeezebert.hpp>
#include <floptally/models/stablelm.hpp>
#include <floptally/models/starcoder2.hpp>
#include <floptally/models/step3p7.hpp>
#include <floptally/models/swin.hpp>
#include <floptally/models/swinv2.hpp>
#include <floptally/models/t5.hpp>
#include <floptally/models/t5gemma.hpp>
#include <floptally/models/tapas.hpp>
#include <floptally/models/timesformer.hpp>
#include <floptally/models/tipsv2.hpp>
#include <floptally/models/tipsv2_text_model.hpp>
#include <floptally/models/tipsv2_vision_model.hpp>
#include <floptally/models/trocr.hpp>
#include <floptally/models/ultrabert.hpp>
#include <floptally/models/umt5.hpp>
#include <floptally/models/unispeech-sat.hpp>
#include <floptally/models/unispeech.hpp>
#include <floptally/models/vaultgemma.hpp>
#include <floptally/models/video_llama_3.hpp>
#include <floptally/models/video_llama_3_vision.hpp>
#include <floptally/models/videomae.hpp>
#include <floptally/models/vilt.hpp>
#include <floptally/models/vipllava.hpp>
#include <floptally/models/vision-encoder-decoder.hpp>
#include <floptally/models/vit.hpp>
#include <floptally/models/vit_mae.hpp>
#include <floptally/models/vit_msn.hpp>
#include <floptally/models/vitdet.hpp>
#include <floptally/models/vitpose_backbone.hpp>
#include <floptally/models/vivit.hpp>
#include <floptally/models/vjepa2.hpp>
#include <floptally/models/voxtral.hpp>
#include <floptally/models/voxtral_encoder.hpp>
#include <floptally/models/voxtral_realtime.hpp>
#include <floptally/models/voxtral_realtime_encoder.hpp>
#include <floptally/models/voxtral_realtime_text.hpp>
#include <floptally/models/wav2vec2-bert.hpp>
#include <floptally/models/wav2vec2-conformer.hpp>
#include <floptally/models/wav2vec2.hpp>
#include <floptally/models/wavlm.hpp>
#include <floptally/models/whisper.hpp>
#include <floptally/models/xglm.hpp>
#include <floptally/models/xlm-roberta-xl.hpp>
#include <floptally/models/xlm-roberta.hpp>
#include <floptally/models/xlm.hpp>
#include <floptally/models/xlnet.hpp>
#include <floptally/models/xlstm.hpp>
#include <floptally/models/xmod.hpp>
#include <floptally/models/yolos.hpp>
#include <floptally/models/youtu.hpp>
#include <floptally/models/zamba.hpp>
#include <floptally/models/zamba2.hpp>
#include <floptally/models/zaya.hpp>

/// @file
/// Every page that comes with the library, by the name of its file. `tests/pages.test.cpp` compares it with the folder.

namespace floptally::detail::pages {

struct model_page {
    std::string_view name;
    std::string_view text;
};

inline constexpr model_page model_pages[] = {
    {"afmoe", {models::afmoe, sizeof models::afmoe - 1}},
    {"aimv2", {models::aimv2, sizeof models::aimv2 - 1}},
    {"aimv2_text_model", {models::aimv2_text_model, sizeof models::aimv2_text_model - 1}},
    {"aimv2_vision_model", {models::aimv2_vision_model, sizeof models::aimv2_vision_model - 1}},
    {"albert", {models::albert, sizeof models::albert - 1}},
    {"altclip", {models::altclip, sizeof models::altclip - 1}},
    {"altclip_text_model", {models::altclip_text_model, sizeof models::altclip_text_model - 1}},
    {"altclip_vision_model", {models::altclip_vision_model, sizeof models::altclip_vision_model - 1}},
    {"apertus", {models::apertus, sizeof models::apertus - 1}},
    {"arcee", {models::arcee, sizeof models::arcee - 1}},
    {"aria", {models::aria, sizeof models::aria - 1}},
    {"aria_text", {models::aria_text, sizeof models::aria_text - 1}},
    {"audio-spectrogram-transformer",
     {models::audio_spectrogram_transformer, sizeof models::audio_spectrogram_transformer - 1}},
    {"audioflamingo3", {models::audioflamingo3, sizeof models::audioflamingo3 - 1}},
    {"audioflamingo3_encoder", {models::audioflamingo3_encoder, sizeof models::audioflamingo3_encoder - 1}},
    {"axk1", {models::axk1, sizeof models::axk1 - 1}},
    {"axk2", {models::axk2, sizeof models::axk2 - 1}},
    {"aya_vision", {models::aya_vision, sizeof models::aya_vision - 1}},
    {"baichuan", {models::baichuan, sizeof models::baichuan - 1}},
    {"bailing_hybrid", {models::bailing_hybrid, sizeof models::bailing_hybrid - 1}},
    {"bamba", {models::bamba, sizeof models::bamba - 1}},
    {"bart", {models::bart, sizeof models::bart - 1}},
    {"base", {models::base, sizeof models::base - 1}},
    {"beam", {models::beam, sizeof models::beam - 1}},
    {"beit", {models::beit, sizeof models::beit - 1}},
    {"bert", {models::bert, sizeof models::bert - 1}},
    {"bert-generation", {models::bert_generation, sizeof models::bert_generation - 1}},
    {"big_bird", {models::big_bird, sizeof models::big_bird - 1}},
    {"biogpt", {models::biogpt, sizeof models::biogpt - 1}},
    {"bitnet", {models::bitnet, sizeof models::bitnet - 1}},
    {"blenderbot", {models::blenderbot, sizeof models::blenderbot - 1}},
    {"blenderbot-small", {models::blenderbot_small, sizeof models::blenderbot_small - 1}},
    {"blip", {models::blip, sizeof models::blip - 1}},
    {"blip-2", {models::blip_2, sizeof models::blip_2 - 1}},
    {"blip_2_vision_model", {models::blip_2_vision_model, sizeof models::blip_2_vision_model - 1}},
    {"blip_vision_model", {models::blip_vision_model, sizeof models::blip_vision_model - 1}},
    {"bloom", {models::bloom, sizeof models::bloom - 1}},
    {"camembert", {models::camembert, sizeof models::camembert - 1}},
    {"canary", {models::canary, sizeof models::canary - 1}},
    {"chameleon", {models::chameleon, sizeof models::chameleon - 1}},
    {"chinese_clip", {models::chinese_clip, sizeof models::chinese_clip - 1}},
    {"chinese_clip_text_model", {models::chinese_clip_text_model, sizeof models::chinese_clip_text_model - 1}},
    {"chinese_clip_vision_model", {models::chinese_clip_vision_model, sizeof models::chinese_clip_vision_model - 1}},
    {"clip", {models::clip, sizeof models::clip - 1}},
    {"clip_text_model", {models::clip_text_model, sizeof models::clip_text_model - 1}},
    {"clip_vision_model", {models::clip_vision_model, sizeof models::clip_vision_model - 1}},
    {"codegen", {models::codegen, sizeof models::codegen - 1}},
    {"cohere", {models::cohere, sizeof models::cohere - 1}},
    {"cohere2", {models::cohere2, sizeof models::cohere2 - 1}},
    {"cohere2_moe", {models::cohere2_moe, sizeof models::cohere2_moe - 1}},
    {"cohere2_vision", {models::cohere2_vision, sizeof models::cohere2_vision - 1}},
    {"cohere_asr", {models::cohere_asr, sizeof models::cohere_asr - 1}},
    {"cohere_compass_text", {models::cohere_compass_text, sizeof models::cohere_compass_text - 1}},
    {"colmodernvbert", {models::colmodernvbert, sizeof models::colmodernvbert - 1}},
    {"colpali", {models::colpali, sizeof models::colpali - 1}},
    {"colqwen2", {models::colqwen2, sizeof models::colqwen2 - 1}},
    {"convbert", {models::convbert, sizeof models::convbert - 1}},
    {"convnext", {models::convnext, sizeof models::convnext - 1}},
    {"convnextv2", {models::convnextv2, sizeof models::convnextv2 - 1}},
    {"cosmos3_edge", {models::cosmos3_edge, sizeof models::cosmos3_edge - 1}},
    {"cosmos3_edge_text", {models::cosmos3_edge_text, sizeof models::cosmos3_edge_text - 1}},
    {"cosmos3_edge_vision", {models::cosmos3_edge_vision, sizeof models::cosmos3_edge_vision - 1}},
    {"cpmant", {models::cpmant, sizeof models::cpmant - 1}},
    {"ctrl", {models::ctrl, sizeof models::ctrl - 1}},
    {"cwm", {models::cwm, sizeof models::cwm - 1}},
    {"data2vec-audio", {models::data2vec_audio, sizeof models::data2vec_audio - 1}},
    {"data2vec-text", {models::data2vec_text, sizeof models::data2vec_text - 1}},
    {"data2vec-vision", {models::data2vec_vision, sizeof models::data2vec_vision - 1}},
    {"dbrx", {models::dbrx, sizeof models::dbrx - 1}},
    {"deberta", {models::deberta, sizeof models::deberta - 1}},
    {"deberta-v2", {models::deberta_v2, sizeof models::deberta_v2 - 1}},
    {"deepseek", {models::deepseek, sizeof models::deepseek - 1}},
    {"deepseek_ocr2", {models::deepseek_ocr2, sizeof models::deepseek_ocr2 - 1}},
    {"deepseek_ocr2_text", {models::deepseek_ocr2_text, sizeof models::deepseek_ocr2_text - 1}},
    {"deepseek_ocr2_vision", {models::deepseek_ocr2_vision, sizeof models::deepseek_ocr2_vision - 1}},
    {"deepseek_v2", {models::deepseek_v2, sizeof models::deepseek_v2 - 1}},
    {"deepseek_v3", {models::deepseek_v3, sizeof models::deepseek_v3 - 1}},
    {"deepseek_v32", {models::deepseek_v32, sizeof models::deepseek_v32 - 1}},
    {"deepseek_v4", {models::deepseek_v4, sizeof models::deepseek_v4 - 1}},
    {"deepseek_vl", {models::deepseek_vl, sizeof models::deepseek_vl - 1}},
    {"deit", {models::deit, sizeof models::deit - 1}},
    {"dia", {models::dia, sizeof models::dia - 1}},
    {"diffllama", {models::diffllama, sizeof models::diffllama - 1}},
    {"dinov2", {models::dinov2, sizeof models::dinov2 - 1}},
    {"dinov2_with_registers", {models::dinov2_with_registers, sizeof models::dinov2_with_registers - 1}},
    {"dinov3_convnext", {models::dinov3_convnext, sizeof models::dinov3_convnext - 1}},
    {"dinov3_vit", {models::dinov3_vit, sizeof models::dinov3_vit - 1}},
    {"distilbert", {models::distilbert, sizeof models::distilbert - 1}},
    {"doge", {models::doge, sizeof models::doge - 1}},
    {"donut-swin", {models::donut_swin, sizeof models::donut_swin - 1}},
    {"dots1", {models::dots1, sizeof models::dots1 - 1}},
    {"dpr", {models::dpr, sizeof models::dpr - 1}},
    {"electra", {models::electra, sizeof models::electra - 1}},
    {"emu3", {models::emu3, sizeof models::emu3 - 1}},
    {"emu3_text_model", {models::emu3_text_model, sizeof models::emu3_text_model - 1}},
    {"ernie", {models::ernie, sizeof models::ernie - 1}},
    {"ernie4_5", {models::ernie4_5, sizeof models::ernie4_5 - 1}},
    {"ernie4_5_moe", {models::ernie4_5_moe, sizeof models::ernie4_5_moe - 1}},
    {"ernie4_5_vl_moe", {models::ernie4_5_vl_moe, sizeof models::ernie4_5_vl_moe - 1}},
    {"ernie4_5_vl_moe_text", {models::ernie4_5_vl_moe_text, sizeof models::ernie4_5_vl_moe_text - 1}},
    {"ernie4_5_vl_moe_vision", {models::ernie4_5_vl_moe_vision, sizeof models::ernie4_5_vl_moe_vision - 1}},
    {"esm", {models::esm, sizeof models::esm - 1}},
    {"esmc", {models::esmc, sizeof models::esmc - 1}},
    {"eurobert", {models::eurobert, sizeof models::eurobert - 1}},
    {"exaone", {models::exaone, sizeof models::exaone - 1}},
    {"exaone4", {models::exaone4, sizeof models::exaone4 - 1}},
    {"exaone4_5", {models::exaone4_5, sizeof models::exaone4_5 - 1}},
    {"exaone4_5_vision", {models::exaone4_5_vision, sizeof models::exaone4_5_vision - 1}},
    {"exaone_moe", {models::exaone_moe, sizeof models::exaone_moe - 1}},
    {"falcon", {models::falcon, sizeof models::falcon - 1}},
    {"falcon_h1", {models::falcon_h1, sizeof models::falcon_h1 - 1}},
    {"falcon_mamba", {models::falcon_mamba, sizeof models::falcon_mamba - 1}},
    {"flaubert", {models::flaubert, sizeof models::flaubert - 1}},
    {"flex_olmo", {models::flex_olmo, sizeof models::flex_olmo - 1}},
    {"flint", {models::flint, sizeof models::flint - 1}},
    {"florence2", {models::florence2, sizeof models::florence2 - 1}},
    {"florence_vision", {models::florence_vision, sizeof models::florence_vision - 1}},
    {"fnet", {models::fnet, sizeof models::fnet - 1}},
    {"focalnet", {models::focalnet, sizeof models::focalnet - 1}},
    {"fsmt", {models::fsmt, sizeof models::fsmt - 1}},
    {"fun_asr_nano", {models::fun_asr_nano, sizeof models::fun_asr_nano - 1}},
    {"fun_asr_nano_encoder", {models::fun_asr_nano_encoder, sizeof models::fun_asr_nano_encoder - 1}},
    {"fuyu", {models::fuyu, sizeof models::fuyu - 1}},
    {"gemma", {models::gemma, sizeof models::gemma - 1}},
    {"gemma2", {models::gemma2, sizeof models::gemma2 - 1}},
    {"gemma3", {models::gemma3, sizeof models::gemma3 - 1}},
    {"gemma3_text", {models::gemma3_text, sizeof models::gemma3_text - 1}},
    {"gemma3n", {models::gemma3n, sizeof models::gemma3n - 1}},
    {"gemma3n_audio", {models::gemma3n_audio, sizeof models::gemma3n_audio - 1}},
    {"gemma3n_text", {models::gemma3n_text, sizeof models::gemma3n_text - 1}},
    {"gemma3n_vision", {models::gemma3n_vision, sizeof models::gemma3n_vision - 1}},
    {"gemma4", {models::gemma4, sizeof models::gemma4 - 1}},
    {"gemma4_audio", {models::gemma4_audio, sizeof models::gemma4_audio - 1}},
    {"gemma4_text", {models::gemma4_text, sizeof models::gemma4_text - 1}},
    {"gemma4_unified", {models::gemma4_unified, sizeof models::gemma4_unified - 1}},
    {"gemma4_unified_text", {models::gemma4_unified_text, sizeof models::gemma4_unified_text - 1}},
    {"gemma4_vision", {models::gemma4_vision, sizeof models::gemma4_vision - 1}},
    {"git", {models::git, sizeof models::git - 1}},
    {"git_vision_model", {models::git_vision_model, sizeof models::git_vision_model - 1}},
    {"glm", {models::glm, sizeof models::glm - 1}},
    {"glm4", {models::glm4, sizeof models::glm4 - 1}},
    {"glm46v", {models::glm46v, sizeof models::glm46v - 1}},
    {"glm4_moe", {models::glm4_moe, sizeof models::glm4_moe - 1}},
    {"glm4_moe_lite", {models::glm4_moe_lite, sizeof models::glm4_moe_lite - 1}},
    {"glm4v", {models::glm4v, sizeof models::glm4v - 1}},
    {"glm4v_moe", {models::glm4v_moe, sizeof models::glm4v_moe - 1}},
    {"glm4v_moe_text", {models::glm4v_moe_text, sizeof models::glm4v_moe_text - 1}},
    {"glm4v_moe_vision", {models::glm4v_moe_vision, sizeof models::glm4v_moe_vision - 1}},
    {"glm4v_text", {models::glm4v_text, sizeof models::glm4v_text - 1}},
    {"glm4v_vision", {models::glm4v_vision, sizeof models::glm4v_vision - 1}},
    {"glm5_next", {models::glm5_next, sizeof models::glm5_next - 1}},
    {"glm5_next_text", {models::glm5_next_text, sizeof models::glm5_next_text - 1}},
    {"glm5_next_vision", {models::glm5_next_vision, sizeof models::glm5_next_vision - 1}},
    {"glm_moe_dsa", {models::glm_moe_dsa, sizeof models::glm_moe_dsa - 1}},
    {"glm_ocr", {models::glm_ocr, sizeof models::glm_ocr - 1}},
    {"glm_ocr_text", {models::glm_ocr_text, sizeof models::glm_ocr_text - 1}},
    {"glm_ocr_vision", {models::glm_ocr_vision, sizeof models::glm_ocr_vision - 1}},
    {"glmasr", {models::glmasr, sizeof models::glmasr - 1}},
    {"glmasr_encoder", {models::glmasr_encoder, sizeof models::glmasr_encoder - 1}},
    {"glmga", {models::glmga, sizeof models::glmga - 1}},
    {"glpn", {models::glpn, sizeof models::glpn - 1}},
    {"got_ocr2", {models::got_ocr2, sizeof models::got_ocr2 - 1}},
    {"got_ocr2_vision", {models::got_ocr2_vision, sizeof models::got_ocr2_vision - 1}},
    {"gpt-sw3", {models::gpt_sw3, sizeof models::gpt_sw3 - 1}},
    {"gpt2", {models::gpt2, sizeof models::gpt2 - 1}},
    {"gpt_bigcode", {models::gpt_bigcode, sizeof models::gpt_bigcode - 1}},
    {"gpt_neo", {models::gpt_neo, sizeof models::gpt_neo - 1}},
    {"gpt_neox", {models::gpt_neox, sizeof models::gpt_neox - 1}},
    {"gpt_neox_japanese", {models::gpt_neox_japanese, sizeof models::gpt_neox_japanese - 1}},
    {"gpt_oss", {models::gpt_oss, sizeof models::gpt_oss - 1}},
    {"gptj", {models::gptj, sizeof models::gptj - 1}},
    {"granite", {models::granite, sizeof models::granite - 1}},
    {"granite4_vision", {models::granite4_vision, sizeof models::granite4_vision - 1}},
    {"granite4_vision_text", {models::granite4_vision_text, sizeof models::granite4_vision_text - 1}},
    {"granite_speech", {models::granite_speech, sizeof models::granite_speech - 1}},
    {"granite_speech_encoder", {models::granite_speech_encoder, sizeof models::granite_speech_encoder - 1}},
    {"granite_speech_plus", {models::granite_speech_plus, sizeof models::granite_speech_plus - 1}},
    {"granite_speech_plus_encoder",
     {models::granite_speech_plus_encoder, sizeof models::granite_speech_plus_encoder - 1}},
    {"granite_swa", {models::granite_swa, sizeof models::granite_swa - 1}},
    {"granitemoe", {models::granitemoe, sizeof models::granitemoe - 1}},
    {"granitemoe_swa", {models::granitemoe_swa, sizeof models::granitemoe_swa - 1}},
    {"granitemoehybrid", {models::granitemoehybrid, sizeof models::granitemoehybrid - 1}},
    {"granitemoeshared", {models::granitemoeshared, sizeof models::granitemoeshared - 1}},
    {"gte", {models::gte, sizeof models::gte - 1}},
    {"helium", {models::helium, sizeof models::helium - 1}},
    {"hiera", {models::hiera, sizeof models::hiera - 1}},
    {"hrm_text", {models::hrm_text, sizeof models::hrm_text - 1}},
    {"hubert", {models::hubert, sizeof models::hubert - 1}},
    {"hunyuan_v1_dense", {models::hunyuan_v1_dense, sizeof models::hunyuan_v1_dense - 1}},
    {"hunyuan_v1_moe", {models::hunyuan_v1_moe, sizeof models::hunyuan_v1_moe - 1}},
    {"hunyuan_vl", {models::hunyuan_vl, sizeof models::hunyuan_vl - 1}},
    {"hunyuan_vl_text", {models::hunyuan_vl_text, sizeof models::hunyuan_vl_text - 1}},
    {"hy_v3", {models::hy_v3, sizeof models::hy_v3 - 1}},
    {"hy_v4", {models::hy_v4, sizeof models::hy_v4 - 1}},
    {"hyperclovax", {models::hyperclovax, sizeof models::hyperclovax - 1}},
    {"hyperclovax_vision_v2", {models::hyperclovax_vision_v2, sizeof models::hyperclovax_vision_v2 - 1}},
    {"ibert", {models::ibert, sizeof models::ibert - 1}},
    {"idefics2", {models::idefics2, sizeof models::idefics2 - 1}},
    {"idefics2_vision", {models::idefics2_vision, sizeof models::idefics2_vision - 1}},
    {"idefics3", {models::idefics3, sizeof models::idefics3 - 1}},
    {"idefics3_vision", {models::idefics3_vision, sizeof models::idefics3_vision - 1}},
    {"ijepa", {models::ijepa, sizeof models::ijepa - 1}},
    {"imagegpt", {models::imagegpt, sizeof models::imagegpt - 1}},
    {"inkling_text", {models::inkling_text, sizeof models::inkling_text - 1}},
    {"instructblip", {models::instructblip, sizeof models::instructblip - 1}},
    {"instructblip_vision_model", {models::instructblip_vision_model, sizeof models::instructblip_vision_model - 1}},
    {"instructblipvideo", {models::instructblipvideo, sizeof models::instructblipvideo - 1}},
    {"instructblipvideo_vision_model",
     {models::instructblipvideo_vision_model, sizeof models::instructblipvideo_vision_model - 1}},
    {"internlm", {models::internlm, sizeof models::internlm - 1}},
    {"internlm2", {models::internlm2, sizeof models::internlm2 - 1}},
    {"internlm3", {models::internlm3, sizeof models::internlm3 - 1}},
    {"internvl", {models::internvl, sizeof models::internvl - 1}},
    {"internvl_vision", {models::internvl_vision, sizeof models::internvl_vision - 1}},
    {"iquestcoder", {models::iquestcoder, sizeof models::iquestcoder - 1}},
    {"jais2", {models::jais2, sizeof models::jais2 - 1}},
    {"jamba", {models::jamba, sizeof models::jamba - 1}},
    {"janus", {models::janus, sizeof models::janus - 1}},
    {"janus_vision_model", {models::janus_vision_model, sizeof models::janus_vision_model - 1}},
    {"jetmoe", {models::jetmoe, sizeof models::jetmoe - 1}},
    {"jina_embeddings_v3", {models::jina_embeddings_v3, sizeof models::jina_embeddings_v3 - 1}},
    {"kimi_k2", {models::kimi_k2, sizeof models::kimi_k2 - 1}},
    {"kimi_k25", {models::kimi_k25, sizeof models::kimi_k25 - 1}},
    {"kimi_k25_vision", {models::kimi_k25_vision, sizeof models::kimi_k25_vision - 1}},
    {"kimi_linear", {models::kimi_linear, sizeof models::kimi_linear - 1}},
    {"kimi_vl", {models::kimi_vl, sizeof models::kimi_vl - 1}},
    {"kolibri1", {models::kolibri1, sizeof models::kolibri1 - 1}},
    {"kosmos-2", {models::kosmos_2, sizeof models::kosmos_2 - 1}},
    {"kosmos-2.5", {models::kosmos_2_5, sizeof models::kosmos_2_5 - 1}},
    {"kyutai_speech_to_text", {models::kyutai_speech_to_text, sizeof models::kyutai_speech_to_text - 1}},
    {"laguna", {models::laguna, sizeof models::laguna - 1}},
    {"lasr_ctc", {models::lasr_ctc, sizeof models::lasr_ctc - 1}},
    {"lasr_encoder", {models::lasr_encoder, sizeof models::lasr_encoder - 1}},
    {"layoutlm", {models::layoutlm, sizeof models::layoutlm - 1}},
    {"lfm2", {models::lfm2, sizeof models::lfm2 - 1}},
    {"lfm2_moe", {models::lfm2_moe, sizeof models::lfm2_moe - 1}},
    {"lfm2_vl", {models::lfm2_vl, sizeof models::lfm2_vl - 1}},
    {"lfm3", {models::lfm3, sizeof models::lfm3 - 1}},
    {"lfm3_vl", {models::lfm3_vl, sizeof models::lfm3_vl - 1}},
    {"lfm3_vl_vision", {models::lfm3_vl_vision, sizeof models::lfm3_vl_vision - 1}},
    {"lighton_ocr", {models::lighton_ocr, sizeof models::lighton_ocr - 1}},
    {"lilt", {models::lilt, sizeof models::lilt - 1}},
    {"llama", {models::llama, sizeof models::llama - 1}},
    {"llama4", {models::llama4, sizeof models::llama4 - 1}},
    {"llama4_text", {models::llama4_text, sizeof models::llama4_text - 1}},
    {"llama4_vision_model", {models::llama4_vision_model, sizeof models::llama4_vision_model - 1}},
    {"llava", {models::llava, sizeof models::llava - 1}},
    {"llava_next", {models::llava_next, sizeof models::llava_next - 1}},
    {"llava_next_video", {models::llava_next_video, sizeof models::llava_next_video - 1}},
    {"llava_onevision", {models::llava_onevision, sizeof models::llava_onevision - 1}},
    {"longcat_flash", {models::longcat_flash, sizeof models::longcat_flash - 1}},
    {"m2m_100", {models::m2m_100, sizeof models::m2m_100 - 1}},
    {"mamba", {models::mamba, sizeof models::mamba - 1}},
    {"mamba2", {models::mamba2, sizeof models::mamba2 - 1}},
    {"marian", {models::marian, sizeof models::marian - 1}},
    {"markuplm", {models::markuplm, sizeof models::markuplm - 1}},
    {"maskformer-swin", {models::maskformer_swin, sizeof models::maskformer_swin - 1}},
    {"mbart", {models::mbart, sizeof models::mbart - 1}},
    {"megatron-bert", {models::megatron_bert, sizeof models::megatron_bert - 1}},
    {"mellum", {models::mellum, sizeof models::mellum - 1}},
    {"metaclip_2", {models::metaclip_2, sizeof models::metaclip_2 - 1}},
    {"metaclip_2_text_model", {models::metaclip_2_text_model, sizeof models::metaclip_2_text_model - 1}},
    {"metaclip_2_vision_model", {models::metaclip_2_vision_model, sizeof models::metaclip_2_vision_model - 1}},
    {"mimo_v2_flash", {models::mimo_v2_flash, sizeof models::mimo_v2_flash - 1}},
    {"minicpm", {models::minicpm, sizeof models::minicpm - 1}},
    {"minicpm3", {models::minicpm3, sizeof models::minicpm3 - 1}},
    {"minicpm_ocr", {models::minicpm_ocr, sizeof models::minicpm_ocr - 1}},
    {"minicpm_ocr_vision", {models::minicpm_ocr_vision, sizeof models::minicpm_ocr_vision - 1}},
    {"minicpmv4_6", {models::minicpmv4_6, sizeof models::minicpmv4_6 - 1}},
    {"minicpmv4_6_vision", {models::minicpmv4_6_vision, sizeof models::minicpmv4_6_vision - 1}},
    {"minicpmv4_7", {models::minicpmv4_7, sizeof models::minicpmv4_7 - 1}},
    {"minicpmv4_7_vision", {models::minicpmv4_7_vision, sizeof models::minicpmv4_7_vision - 1}},
    {"minimax", {models::minimax, sizeof models::minimax - 1}},
    {"minimax_m2", {models::minimax_m2, sizeof models::minimax_m2 - 1}},
    {"minimax_m3_vl", {models::minimax_m3_vl, sizeof models::minimax_m3_vl - 1}},
    {"minimax_m3_vl_text", {models::minimax_m3_vl_text, sizeof models::minimax_m3_vl_text - 1}},
    {"ministral", {models::ministral, sizeof models::ministral - 1}},
    {"ministral3", {models::ministral3, sizeof models::ministral3 - 1}},
    {"mistral", {models::mistral, sizeof models::mistral - 1}},
    {"mistral3", {models::mistral3, sizeof models::mistral3 - 1}},
    {"mistral4", {models::mistral4, sizeof models::mistral4 - 1}},
    {"mistral_large4", {models::mistral_large4, sizeof models::mistral_large4 - 1}},
    {"mistral_large4_text", {models::mistral_large4_text, sizeof models::mistral_large4_text - 1}},
    {"mixtral", {models::mixtral, sizeof models::mixtral - 1}},
    {"mlcd", {models::mlcd, sizeof models::mlcd - 1}},
    {"mlcd_vision_model", {models::mlcd_vision_model, sizeof models::mlcd_vision_model - 1}},
    {"mllama", {models::mllama, sizeof models::mllama - 1}},
    {"mllama_text_model", {models::mllama_text_model, sizeof models::mllama_text_model - 1}},
    {"mllama_vision_model", {models::mllama_vision_model, sizeof models::mllama_vision_model - 1}},
    {"mobilebert", {models::mobilebert, sizeof models::mobilebert - 1}},
    {"modernbert", {models::modernbert, sizeof models::modernbert - 1}},
    {"modernbert-decoder", {models::modernbert_decoder, sizeof models::modernbert_decoder - 1}},
    {"modernvbert", {models::modernvbert, sizeof models::modernvbert - 1}},
    {"molmo2", {models::molmo2, sizeof models::molmo2 - 1}},
    {"molmo2_text", {models::molmo2_text, sizeof models::molmo2_text - 1}},
    {"moonshine", {models::moonshine, sizeof models::moonshine - 1}},
    {"moonshine_streaming", {models::moonshine_streaming, sizeof models::moonshine_streaming - 1}},
    {"moshi", {models::moshi, sizeof models::moshi - 1}},
    {"moss_transcribe_diarize", {models::moss_transcribe_diarize, sizeof models::moss_transcribe_diarize - 1}},
    {"moss_transcribe_diarize_audio",
     {models::moss_transcribe_diarize_audio, sizeof models::moss_transcribe_diarize_audio - 1}},
    {"mpnet", {models::mpnet, sizeof models::mpnet - 1}},
    {"mpt", {models::mpt, sizeof models::mpt - 1}},
    {"mt5", {models::mt5, sizeof models::mt5 - 1}},
    {"muse_glimmer", {models::muse_glimmer, sizeof models::muse_glimmer - 1}},
    {"muse_glimmer_text", {models::muse_glimmer_text, sizeof models::muse_glimmer_text - 1}},
    {"muse_glimmer_vision", {models::muse_glimmer_vision, sizeof models::muse_glimmer_vision - 1}},
    {"musicflamingo", {models::musicflamingo, sizeof models::musicflamingo - 1}},
    {"musicgen", {models::musicgen, sizeof models::musicgen - 1}},
    {"mvp", {models::mvp, sizeof models::mvp - 1}},
    {"nanochat", {models::nanochat, sizeof models::nanochat - 1}},
    {"nemotron", {models::nemotron, sizeof models::nemotron - 1}},
    {"nemotron_h", {models::nemotron_h, sizeof models::nemotron_h - 1}},
    {"neomme", {models::neomme, sizeof models::neomme - 1}},
    {"nomic_bert", {models::nomic_bert, sizeof models::nomic_bert - 1}},
    {"olmo", {models::olmo, sizeof models::olmo - 1}},
    {"olmo2", {models::olmo2, sizeof models::olmo2 - 1}},
    {"olmo3", {models::olmo3, sizeof models::olmo3 - 1}},
    {"olmo_hybrid", {models::olmo_hybrid, sizeof models::olmo_hybrid - 1}},
    {"olmoe", {models::olmoe, sizeof models::olmoe - 1}},
    {"openai-gpt", {models::openai_gpt, sizeof models::openai_gpt - 1}},
    {"openai_privacy_filter", {models::openai_privacy_filter, sizeof models::openai_privacy_filter - 1}},
    {"opt", {models::opt, sizeof models::opt - 1}},
    {"ovis2", {models::ovis2, sizeof models::ovis2 - 1}},
    {"ovis2_vision", {models::ovis2_vision, sizeof models::ovis2_vision - 1}},
    {"owlv2", {models::owlv2, sizeof models::owlv2 - 1}},
    {"owlv2_text_model", {models::owlv2_text_model, sizeof models::owlv2_text_model - 1}},
    {"owlv2_vision_model", {models::owlv2_vision_model, sizeof models::owlv2_vision_model - 1}},
    {"owlvit", {models::owlvit, sizeof models::owlvit - 1}},
    {"owlvit_text_model", {models::owlvit_text_model, sizeof models::owlvit_text_model - 1}},
    {"owlvit_vision_model", {models::owlvit_vision_model, sizeof models::owlvit_vision_model - 1}},
    {"paddleocr_vl", {models::paddleocr_vl, sizeof models::paddleocr_vl - 1}},
    {"paligemma", {models::paligemma, sizeof models::paligemma - 1}},
    {"parakeet_ctc", {models::parakeet_ctc, sizeof models::parakeet_ctc - 1}},
    {"parakeet_encoder", {models::parakeet_encoder, sizeof models::parakeet_encoder - 1}},
    {"pegasus", {models::pegasus, sizeof models::pegasus - 1}},
    {"persimmon", {models::persimmon, sizeof models::persimmon - 1}},
    {"phi", {models::phi, sizeof models::phi - 1}},
    {"phi3", {models::phi3, sizeof models::phi3 - 1}},
    {"phi4_multimodal", {models::phi4_multimodal, sizeof models::phi4_multimodal - 1}},
    {"phi4_multimodal_vision", {models::phi4_multimodal_vision, sizeof models::phi4_multimodal_vision - 1}},
    {"phimoe", {models::phimoe, sizeof models::phimoe - 1}},
    {"pix2struct", {models::pix2struct, sizeof models::pix2struct - 1}},
    {"pix2struct_text_model", {models::pix2struct_text_model, sizeof models::pix2struct_text_model - 1}},
    {"pix2struct_vision_model", {models::pix2struct_vision_model, sizeof models::pix2struct_vision_model - 1}},
    {"pixio", {models::pixio, sizeof models::pixio - 1}},
    {"pixtral", {models::pixtral, sizeof models::pixtral - 1}},
    {"plbart", {models::plbart, sizeof models::plbart - 1}},
    {"poolformer", {models::poolformer, sizeof models::poolformer - 1}},
    {"pop2piano", {models::pop2piano, sizeof models::pop2piano - 1}},
    {"pp_chart2table", {models::pp_chart2table, sizeof models::pp_chart2table - 1}},
    {"pvt", {models::pvt, sizeof models::pvt - 1}},
    {"pvt_v2", {models::pvt_v2, sizeof models::pvt_v2 - 1}},
    {"qianfan_ocr", {models::qianfan_ocr, sizeof models::qianfan_ocr - 1}},
    {"qianfan_ocr_vision", {models::qianfan_ocr_vision, sizeof models::qianfan_ocr_vision - 1}},
    {"qwen", {models::qwen, sizeof models::qwen - 1}},
    {"qwen2", {models::qwen2, sizeof models::qwen2 - 1}},
    {"qwen2_5_omni", {models::qwen2_5_omni, sizeof models::qwen2_5_omni - 1}},
    {"qwen2_5_omni_audio_encoder", {models::qwen2_5_omni_audio_encoder, sizeof models::qwen2_5_omni_audio_encoder - 1}},
    {"qwen2_5_omni_text", {models::qwen2_5_omni_text, sizeof models::qwen2_5_omni_text - 1}},
    {"qwen2_5_omni_thinker", {models::qwen2_5_omni_thinker, sizeof models::qwen2_5_omni_thinker - 1}},
    {"qwen2_5_omni_vision_encoder",
     {models::qwen2_5_omni_vision_encoder, sizeof models::qwen2_5_omni_vision_encoder - 1}},
    {"qwen2_5_vl", {models::qwen2_5_vl, sizeof models::qwen2_5_vl - 1}},
    {"qwen2_5_vl_text", {models::qwen2_5_vl_text, sizeof models::qwen2_5_vl_text - 1}},
    {"qwen2_5_vl_vision", {models::qwen2_5_vl_vision, sizeof models::qwen2_5_vl_vision - 1}},
    {"qwen2_audio", {models::qwen2_audio, sizeof models::qwen2_audio - 1}},
    {"qwen2_audio_encoder", {models::qwen2_audio_encoder, sizeof models::qwen2_audio_encoder - 1}},
    {"qwen2_moe", {models::qwen2_moe, sizeof models::qwen2_moe - 1}},
    {"qwen2_vl", {models::qwen2_vl, sizeof models::qwen2_vl - 1}},
    {"qwen2_vl_text", {models::qwen2_vl_text, sizeof models::qwen2_vl_text - 1}},
    {"qwen3", {models::qwen3, sizeof models::qwen3 - 1}},
    {"qwen3_5", {models::qwen3_5, sizeof models::qwen3_5 - 1}},
    {"qwen3_5_moe", {models::qwen3_5_moe, sizeof models::qwen3_5_moe - 1}},
    {"qwen3_5_moe_text", {models::qwen3_5_moe_text, sizeof models::qwen3_5_moe_text - 1}},
    {"qwen3_5_moe_vision", {models::qwen3_5_moe_vision, sizeof models::qwen3_5_moe_vision - 1}},
    {"qwen3_5_text", {models::qwen3_5_text, sizeof models::qwen3_5_text - 1}},
    {"qwen3_5_vision", {models::qwen3_5_vision, sizeof models::qwen3_5_vision - 1}},
    {"qwen3_asr", {models::qwen3_asr, sizeof models::qwen3_asr - 1}},
    {"qwen3_asr_encoder", {models::qwen3_asr_encoder, sizeof models::qwen3_asr_encoder - 1}},
    {"qwen3_moe", {models::qwen3_moe, sizeof models::qwen3_moe - 1}},
    {"qwen3_next", {models::qwen3_next, sizeof models::qwen3_next - 1}},
    {"qwen3_omni_moe", {models::qwen3_omni_moe, sizeof models::qwen3_omni_moe - 1}},
    {"qwen3_omni_moe_audio_encoder",
     {models::qwen3_omni_moe_audio_encoder, sizeof models::qwen3_omni_moe_audio_encoder - 1}},
    {"qwen3_omni_moe_text", {models::qwen3_omni_moe_text, sizeof models::qwen3_omni_moe_text - 1}},
    {"qwen3_omni_moe_thinker", {models::qwen3_omni_moe_thinker, sizeof models::qwen3_omni_moe_thinker - 1}},
    {"qwen3_omni_moe_vision_encoder",
     {models::qwen3_omni_moe_vision_encoder, sizeof models::qwen3_omni_moe_vision_encoder - 1}},
    {"qwen3_vl", {models::qwen3_vl, sizeof models::qwen3_vl - 1}},
    {"qwen3_vl_moe", {models::qwen3_vl_moe, sizeof models::qwen3_vl_moe - 1}},
    {"qwen3_vl_moe_text", {models::qwen3_vl_moe_text, sizeof models::qwen3_vl_moe_text - 1}},
    {"qwen3_vl_moe_vision", {models::qwen3_vl_moe_vision, sizeof models::qwen3_vl_moe_vision - 1}},
    {"qwen3_vl_text", {models::qwen3_vl_text, sizeof models::qwen3_vl_text - 1}},
    {"qwen3_vl_vision", {models::qwen3_vl_vision, sizeof models::qwen3_vl_vision - 1}},
    {"qwen4_exp", {models::qwen4_exp, sizeof models::qwen4_exp - 1}},
    {"qwen4_exp_text", {models::qwen4_exp_text, sizeof models::qwen4_exp_text - 1}},
    {"qwen4_exp_vision", {models::qwen4_exp_vision, sizeof models::qwen4_exp_vision - 1}},
    {"radio", {models::radio, sizeof models::radio - 1}},
    {"recurrent_gemma", {models::recurrent_gemma, sizeof models::recurrent_gemma - 1}},
    {"regnet", {models::regnet, sizeof models::regnet - 1}},
    {"rembert", {models::rembert, sizeof models::rembert - 1}},
    {"resnet", {models::resnet, sizeof models::resnet - 1}},
    {"roberta", {models::roberta, sizeof models::roberta - 1}},
    {"roberta-prelayernorm", {models::roberta_prelayernorm, sizeof models::roberta_prelayernorm - 1}},
    {"roc_bert", {models::roc_bert, sizeof models::roc_bert - 1}},
    {"roformer", {models::roformer, sizeof models::roformer - 1}},
    {"rwkv", {models::rwkv, sizeof models::rwkv - 1}},
    {"sam", {models::sam, sizeof models::sam - 1}},
    {"sam_hq_vision_model", {models::sam_hq_vision_model, sizeof models::sam_hq_vision_model - 1}},
    {"sam_vision_model", {models::sam_vision_model, sizeof models::sam_vision_model - 1}},
    {"sapiens2", {models::sapiens2, sizeof models::sapiens2 - 1}},
    {"seamless_m4t", {models::seamless_m4t, sizeof models::seamless_m4t - 1}},
    {"seamless_m4t_v2", {models::seamless_m4t_v2, sizeof models::seamless_m4t_v2 - 1}},
    {"seed_oss", {models::seed_oss, sizeof models::seed_oss - 1}},
    {"segformer", {models::segformer, sizeof models::segformer - 1}},
    {"sew", {models::sew, sizeof models::sew - 1}},
    {"sew-d", {models::sew_d, sizeof models::sew_d - 1}},
    {"shieldgemma2", {models::shieldgemma2, sizeof models::shieldgemma2 - 1}},
    {"siglip", {models::siglip, sizeof models::siglip - 1}},
    {"siglip2", {models::siglip2, sizeof models::siglip2 - 1}},
    {"siglip2_text_model", {models::siglip2_text_model, sizeof models::siglip2_text_model - 1}},
    {"siglip2_vision_model", {models::siglip2_vision_model, sizeof models::siglip2_vision_model - 1}},
    {"siglip_text_model", {models::siglip_text_model, sizeof models::siglip_text_model - 1}},
    {"siglip_vision_model", {models::siglip_vision_model, sizeof models::siglip_vision_model - 1}},
    {"smollm3", {models::smollm3, sizeof models::smollm3 - 1}},
    {"smolvlm", {models::smolvlm, sizeof models::smolvlm - 1}},
    {"smolvlm_vision", {models::smolvlm_vision, sizeof models::smolvlm_vision - 1}},
    {"solar_open", {models::solar_open, sizeof models::solar_open - 1}},
    {"speech_to_text", {models::speech_to_text, sizeof models::speech_to_text - 1}},
    {"squeezebert", {models::squeezebert, sizeof models::squeezebert - 1}},
    {"stablelm", {models::stablelm, sizeof models::stablelm - 1}},
    {"starcoder2", {models::starcoder2, sizeof models::starcoder2 - 1}},
    {"step3p7", {models::step3p7, sizeof models::step3p7 - 1}},
    {"swin", {models::swin, sizeof models::swin - 1}},
    {"swinv2", {models::swinv2, sizeof models::swinv2 - 1}},
    {"t5", {models::t5, sizeof models::t5 - 1}},
    {"t5gemma", {models::t5gemma, sizeof models::t5gemma - 1}},
    {"tapas", {models::tapas, sizeof models::tapas - 1}},
    {"timesformer", {models::timesformer, sizeof models::timesformer - 1}},
    {"tipsv2", {models::tipsv2, sizeof models::tipsv2 - 1}},
    {"tipsv2_text_model", {models::tipsv2_text_model, sizeof models::tipsv2_text_model - 1}},
    {"tipsv2_vision_model", {models::tipsv2_vision_model, sizeof models::tipsv2_vision_model - 1}},
    {"trocr", {models::trocr, sizeof models::trocr - 1}},
    {"ultrabert", {models::ultrabert, sizeof models::ultrabert - 1}},
    {"umt5", {models::umt5, sizeof models::umt5 - 1}},
    {"unispeech", {models::unispeech, sizeof models::unispeech - 1}},
    {"unispeech-sat", {models::unispeech_sat, sizeof models::unispeech_sat - 1}},
    {"vaultgemma", {models::vaultgemma, sizeof models::vaultgemma - 1}},
    {"video_llama_3", {models::video_llama_3, sizeof models::video_llama_3 - 1}},
    {"video_llama_3_vision", {models::video_llama_3_vision, sizeof models::video_llama_3_vision - 1}},
    {"videomae", {models::videomae, sizeof models::videomae - 1}},
    {"vilt", {models::vilt, sizeof models::vilt - 1}},
    {"vipllava", {models::vipllava, sizeof models::vipllava - 1}},
    {"vision-encoder-decoder", {models::vision_encoder_decoder, sizeof models::vision_encoder_decoder - 1}},
    {"vit", {models::vit, sizeof models::vit - 1}},
    {"vit_mae", {models::vit_mae, sizeof models::vit_mae - 1}},
    {"vit_msn", {models::vit_msn, sizeof models::vit_msn - 1}},
    {"vitdet", {models::vitdet, sizeof models::vitdet - 1}},
    {"vitpose_backbone", {models::vitpose_backbone, sizeof models::vitpose_backbone - 1}},
    {"vivit", {models::vivit, sizeof models::vivit - 1}},
    {"vjepa2", {models::vjepa2, sizeof models::vjepa2 - 1}},
    {"voxtral", {models::voxtral, sizeof models::voxtral - 1}},
    {"voxtral_encoder", {models::voxtral_encoder, sizeof models::voxtral_encoder - 1}},
    {"voxtral_realtime", {models::voxtral_realtime, sizeof models::voxtral_realtime - 1}},
    {"voxtral_realtime_encoder", {models::voxtral_realtime_encoder, sizeof models::voxtral_realtime_encoder - 1}},
    {"voxtral_realtime_text", {models::voxtral_realtime_text, sizeof models::voxtral_realtime_text - 1}},
    {"wav2vec2", {models::wav2vec2, sizeof models::wav2vec2 - 1}},
    {"wav2vec2-bert", {models::wav2vec2_bert, sizeof models::wav2vec2_bert - 1}},
    {"wav2vec2-conformer", {models::wav2vec2_conformer, sizeof models::wav2vec2_conformer - 1}},
    {"wavlm", {models::wavlm, sizeof models::wavlm - 1}},
    {"whisper", {models::whisper, sizeof models::whisper - 1}},
    {"xglm", {models::xglm, sizeof models::xglm - 1}},
    {"xlm", {models::xlm, sizeof models::xlm - 1}},
    {"xlm-roberta", {models::xlm_roberta, sizeof models::xlm_roberta - 1}},
    {"xlm-roberta-xl", {models::xlm_roberta_xl, sizeof models::xlm_roberta_xl - 1}},
    {"xlnet", {models::xlnet, sizeof models::xlnet - 1}},
    {"xlstm", {models::xlstm, sizeof models::xlstm - 1}},
    {"xmod", {models::xmod, sizeof models::xmod - 1}},
    {"yolos", {models::yolos, sizeof models::yolos - 1}},
    {"youtu", {models::youtu, sizeof models::youtu - 1}},
    {"zamba", {models::zamba, sizeof models::zamba - 1}},
    {"zamba2", {models::zamba2, sizeof models::zamba2 - 1}},
    {"zaya", {models::zaya, sizeof models::zaya - 1}},
};

/// The text of a file of pages; empty where there is none.
[[nodiscard]] inline std::string_view find_model_page(std::string_view name) {
    std::size_t first = 0;
    std::size_t last = sizeof model_pages / sizeof *model_pages;
    while (first < last) {
        const std::size_t middle = first + (last - first) / 2;
        if (model_pages[middle].name == name) {
            return model_pages[middle].text;
        }
        (model_pages[middle].name < name ? first : last) = model_pages[middle].name < name ? middle + 1 : middle;
    }
    return {};
}

}  // namespace floptally::detail::pages
