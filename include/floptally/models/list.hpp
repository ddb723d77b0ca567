// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

/// @file
/// All model specs of the library, sorted by name. Each spec file is one string literal, from `R"spec(` to `)spec"`. So
/// the compiler can include the file here. The reader of specs skips the first and the last line of the file. Spec
/// files have no license header; the license above applies to them. `tests/spec_language/spec.test.cpp` compares this
/// list with the spec files in the folder.

namespace floptally::inline v0_3::detail::specs {

// clang-format off
inline constexpr const char* model_specs[] = {
#include <floptally/models/AllegroTransformer3DModel.spec>
,
#include <floptally/models/AnyFlowTransformer3DModel.spec>
,
#include <floptally/models/AsymmetricAutoencoderKL.spec>
,
#include <floptally/models/AuraFlowTransformer2DModel.spec>
,
#include <floptally/models/AutoencoderDC.spec>
,
#include <floptally/models/AutoencoderKL.spec>
,
#include <floptally/models/AutoencoderKLCogVideoX.spec>
,
#include <floptally/models/AutoencoderKLCosmos.spec>
,
#include <floptally/models/AutoencoderKLFlux2.spec>
,
#include <floptally/models/AutoencoderKLHunyuanImage.spec>
,
#include <floptally/models/AutoencoderKLHunyuanImageRefiner.spec>
,
#include <floptally/models/AutoencoderKLHunyuanVideo.spec>
,
#include <floptally/models/AutoencoderKLHunyuanVideo15.spec>
,
#include <floptally/models/AutoencoderKLKVAE.spec>
,
#include <floptally/models/AutoencoderKLKVAEAudio.spec>
,
#include <floptally/models/AutoencoderKLKVAEVideo.spec>
,
#include <floptally/models/AutoencoderKLLTX2Audio.spec>
,
#include <floptally/models/AutoencoderKLLTX2Video.spec>
,
#include <floptally/models/AutoencoderKLLTXVideo.spec>
,
#include <floptally/models/AutoencoderKLMagvit.spec>
,
#include <floptally/models/AutoencoderKLMochi.spec>
,
#include <floptally/models/AutoencoderKLQwenImage.spec>
,
#include <floptally/models/AutoencoderKLQwenImage21.spec>
,
#include <floptally/models/AutoencoderKLTemporalDecoder.spec>
,
#include <floptally/models/AutoencoderKLWan.spec>
,
#include <floptally/models/AutoencoderOobleck.spec>
,
#include <floptally/models/AutoencoderTiny.spec>
,
#include <floptally/models/BriaFiboTransformer2DModel.spec>
,
#include <floptally/models/BriaTransformer2DModel.spec>
,
#include <floptally/models/ChromaTransformer2DModel.spec>
,
#include <floptally/models/ChronoEditTransformer3DModel.spec>
,
#include <floptally/models/CogVideoXTransformer3DModel.spec>
,
#include <floptally/models/CogView3PlusTransformer2DModel.spec>
,
#include <floptally/models/CogView4Transformer2DModel.spec>
,
#include <floptally/models/ConsisIDTransformer3DModel.spec>
,
#include <floptally/models/ControlNetModel.spec>
,
#include <floptally/models/ControlNetUnionModel.spec>
,
#include <floptally/models/CosmosControlNetModel.spec>
,
#include <floptally/models/CosmosTransformer3DModel.spec>
,
#include <floptally/models/DiTTransformer2DModel.spec>
,
#include <floptally/models/Dream.spec>
,
#include <floptally/models/DreamLiteUNetModel.spec>
,
#include <floptally/models/EasyAnimateTransformer3DModel.spec>
,
#include <floptally/models/ErnieImageTransformer2DModel.spec>
,
#include <floptally/models/Flux2Transformer2DModel.spec>
,
#include <floptally/models/Flux3Transformer2DModel.spec>
,
#include <floptally/models/FluxControlNetModel.spec>
,
#include <floptally/models/FluxTransformer2DModel.spec>
,
#include <floptally/models/GlmImageTransformer2DModel.spec>
,
#include <floptally/models/HiDreamImageTransformer2DModel.spec>
,
#include <floptally/models/HunyuanDiT2DControlNetModel.spec>
,
#include <floptally/models/HunyuanDiT2DModel.spec>
,
#include <floptally/models/HunyuanImageTransformer2DModel.spec>
,
#include <floptally/models/HunyuanVideo15Transformer3DModel.spec>
,
#include <floptally/models/HunyuanVideoFramepackTransformer3DModel.spec>
,
#include <floptally/models/HunyuanVideoTransformer3DModel.spec>
,
#include <floptally/models/I2VGenXLUNet.spec>
,
#include <floptally/models/Ideogram4Transformer2DModel.spec>
,
#include <floptally/models/JoyImageEditPlusTransformer3DModel.spec>
,
#include <floptally/models/JoyImageEditTransformer3DModel.spec>
,
#include <floptally/models/Kandinsky3UNet.spec>
,
#include <floptally/models/Kandinsky5Transformer3DModel.spec>
,
#include <floptally/models/Kandinsky6Transformer3DModel.spec>
,
#include <floptally/models/Krea2Transformer2DModel.spec>
,
#include <floptally/models/LTX2VideoTransformer3DModel.spec>
,
#include <floptally/models/LTXVideoTransformer3DModel.spec>
,
#include <floptally/models/LatteTransformer3DModel.spec>
,
#include <floptally/models/LongCatAudioDiTTransformer.spec>
,
#include <floptally/models/LongCatAudioDiTVae.spec>
,
#include <floptally/models/LongCatImageTransformer2DModel.spec>
,
#include <floptally/models/Lumina2Transformer2DModel.spec>
,
#include <floptally/models/LuminaNextDiT2DModel.spec>
,
#include <floptally/models/MMAudioVAE.spec>
,
#include <floptally/models/MiniMaxMusic3Vocoder.spec>
,
#include <floptally/models/MochiTransformer3DModel.spec>
,
#include <floptally/models/MotifVideoTransformer3DModel.spec>
,
#include <floptally/models/NemotronH_Nano_Omni_Reasoning_V3.spec>
,
#include <floptally/models/NemotronH_Nano_VL_V2.spec>
,
#include <floptally/models/NucleusMoEImageTransformer2DModel.spec>
,
#include <floptally/models/OmniGenTransformer2DModel.spec>
,
#include <floptally/models/OvisImageTransformer2DModel.spec>
,
#include <floptally/models/PRXTransformer2DModel.spec>
,
#include <floptally/models/PixArtTransformer2DModel.spec>
,
#include <floptally/models/PriorTransformer.spec>
,
#include <floptally/models/QwenImageControlNetModel.spec>
,
#include <floptally/models/QwenImageTransformer2DModel.spec>
,
#include <floptally/models/RFD4ProteinaTransformer.spec>
,
#include <floptally/models/SD3ControlNetModel.spec>
,
#include <floptally/models/SD3Transformer2DModel.spec>
,
#include <floptally/models/SanaControlNetModel.spec>
,
#include <floptally/models/SanaTransformer2DModel.spec>
,
#include <floptally/models/SanaVideoTransformer3DModel.spec>
,
#include <floptally/models/SkyReelsV2Transformer3DModel.spec>
,
#include <floptally/models/SparseControlNetModel.spec>
,
#include <floptally/models/StableAudio3DiTModel.spec>
,
#include <floptally/models/StableAudioDiTModel.spec>
,
#include <floptally/models/StableCascadeUNet.spec>
,
#include <floptally/models/T5FilmDecoder.spec>
,
#include <floptally/models/Transformer2DModel.spec>
,
#include <floptally/models/TransformerTemporalModel.spec>
,
#include <floptally/models/UNet2DConditionModel.spec>
,
#include <floptally/models/UNet2DModel.spec>
,
#include <floptally/models/UNet3DConditionModel.spec>
,
#include <floptally/models/UNetControlNetXSModel.spec>
,
#include <floptally/models/UNetMotionModel.spec>
,
#include <floptally/models/UNetSpatioTemporalConditionModel.spec>
,
#include <floptally/models/UVit2DModel.spec>
,
#include <floptally/models/VQModel.spec>
,
#include <floptally/models/WanAnimateTransformer3DModel.spec>
,
#include <floptally/models/WanTransformer3DModel.spec>
,
#include <floptally/models/WanVACETransformer3DModel.spec>
,
#include <floptally/models/ZImageTransformer2DModel.spec>
,
#include <floptally/models/afmoe.spec>
,
#include <floptally/models/aimv2.spec>
,
#include <floptally/models/aimv2_text_model.spec>
,
#include <floptally/models/aimv2_vision_model.spec>
,
#include <floptally/models/albert.spec>
,
#include <floptally/models/align.spec>
,
#include <floptally/models/altclip.spec>
,
#include <floptally/models/altclip_text_model.spec>
,
#include <floptally/models/altclip_vision_model.spec>
,
#include <floptally/models/apertus.spec>
,
#include <floptally/models/apertus1p5.spec>
,
#include <floptally/models/apertus1p5_text.spec>
,
#include <floptally/models/arcee.spec>
,
#include <floptally/models/aria.spec>
,
#include <floptally/models/aria_text.spec>
,
#include <floptally/models/audio-spectrogram-transformer.spec>
,
#include <floptally/models/audioflamingo3.spec>
,
#include <floptally/models/audioflamingo3_encoder.spec>
,
#include <floptally/models/autoformer.spec>
,
#include <floptally/models/axk1.spec>
,
#include <floptally/models/axk2.spec>
,
#include <floptally/models/aya_vision.spec>
,
#include <floptally/models/baichuan.spec>
,
#include <floptally/models/bailing_hybrid.spec>
,
#include <floptally/models/bailing_moe.spec>
,
#include <floptally/models/bamba.spec>
,
#include <floptally/models/bark.spec>
,
#include <floptally/models/bart.spec>
,
#include <floptally/models/base.spec>
,
#include <floptally/models/beam.spec>
,
#include <floptally/models/beit.spec>
,
#include <floptally/models/bert.spec>
,
#include <floptally/models/bert-generation.spec>
,
#include <floptally/models/big_bird.spec>
,
#include <floptally/models/biogpt.spec>
,
#include <floptally/models/bit.spec>
,
#include <floptally/models/bitnet.spec>
,
#include <floptally/models/blenderbot.spec>
,
#include <floptally/models/blenderbot-small.spec>
,
#include <floptally/models/blip.spec>
,
#include <floptally/models/blip-2.spec>
,
#include <floptally/models/blip_2_vision_model.spec>
,
#include <floptally/models/blip_vision_model.spec>
,
#include <floptally/models/bloom.spec>
,
#include <floptally/models/boltz1.spec>
,
#include <floptally/models/boltz2.spec>
,
#include <floptally/models/bridgetower.spec>
,
#include <floptally/models/bros.spec>
,
#include <floptally/models/camembert.spec>
,
#include <floptally/models/canary.spec>
,
#include <floptally/models/chameleon.spec>
,
#include <floptally/models/chatglm.spec>
,
#include <floptally/models/chinese_clip.spec>
,
#include <floptally/models/chinese_clip_text_model.spec>
,
#include <floptally/models/chinese_clip_vision_model.spec>
,
#include <floptally/models/chmv2.spec>
,
#include <floptally/models/clap.spec>
,
#include <floptally/models/clip.spec>
,
#include <floptally/models/clip_text_model.spec>
,
#include <floptally/models/clip_vision_model.spec>
,
#include <floptally/models/codegen.spec>
,
#include <floptally/models/codonfm.spec>
,
#include <floptally/models/cohere.spec>
,
#include <floptally/models/cohere2.spec>
,
#include <floptally/models/cohere2_moe.spec>
,
#include <floptally/models/cohere2_vision.spec>
,
#include <floptally/models/cohere_asr.spec>
,
#include <floptally/models/cohere_compass_text.spec>
,
#include <floptally/models/colmodernvbert.spec>
,
#include <floptally/models/colpali.spec>
,
#include <floptally/models/colqwen2.spec>
,
#include <floptally/models/conditional_detr.spec>
,
#include <floptally/models/convbert.spec>
,
#include <floptally/models/convnext.spec>
,
#include <floptally/models/convnextv2.spec>
,
#include <floptally/models/cosmos3_edge.spec>
,
#include <floptally/models/cosmos3_edge_text.spec>
,
#include <floptally/models/cosmos3_edge_vision.spec>
,
#include <floptally/models/cpmant.spec>
,
#include <floptally/models/csm.spec>
,
#include <floptally/models/ctrl.spec>
,
#include <floptally/models/cvt.spec>
,
#include <floptally/models/cwm.spec>
,
#include <floptally/models/d_fine.spec>
,
#include <floptally/models/dab-detr.spec>
,
#include <floptally/models/dac.spec>
,
#include <floptally/models/data2vec-audio.spec>
,
#include <floptally/models/data2vec-text.spec>
,
#include <floptally/models/data2vec-vision.spec>
,
#include <floptally/models/dbrx.spec>
,
#include <floptally/models/deberta.spec>
,
#include <floptally/models/deberta-v2.spec>
,
#include <floptally/models/decision_transformer.spec>
,
#include <floptally/models/deepseek.spec>
,
#include <floptally/models/deepseek_ocr2.spec>
,
#include <floptally/models/deepseek_ocr2_text.spec>
,
#include <floptally/models/deepseek_ocr2_vision.spec>
,
#include <floptally/models/deepseek_v2.spec>
,
#include <floptally/models/deepseek_v3.spec>
,
#include <floptally/models/deepseek_v32.spec>
,
#include <floptally/models/deepseek_v4.spec>
,
#include <floptally/models/deepseek_v41.spec>
,
#include <floptally/models/deepseek_vl.spec>
,
#include <floptally/models/deepseek_vl_v2.spec>
,
#include <floptally/models/deformable_detr.spec>
,
#include <floptally/models/deimv2.spec>
,
#include <floptally/models/deit.spec>
,
#include <floptally/models/depth_anything.spec>
,
#include <floptally/models/detr.spec>
,
#include <floptally/models/dia.spec>
,
#include <floptally/models/diffllama.spec>
,
#include <floptally/models/diffusion_gemma.spec>
,
#include <floptally/models/dinov2.spec>
,
#include <floptally/models/dinov2_with_registers.spec>
,
#include <floptally/models/dinov3_convnext.spec>
,
#include <floptally/models/dinov3_vit.spec>
,
#include <floptally/models/distilbert.spec>
,
#include <floptally/models/doge.spec>
,
#include <floptally/models/donut-swin.spec>
,
#include <floptally/models/dory.spec>
,
#include <floptally/models/dots1.spec>
,
#include <floptally/models/dots3_note_text.spec>
,
#include <floptally/models/dots_ocr.spec>
,
#include <floptally/models/dpr.spec>
,
#include <floptally/models/dpt.spec>
,
#include <floptally/models/edgetam.spec>
,
#include <floptally/models/edgetam_vision_model.spec>
,
#include <floptally/models/efficientnet.spec>
,
#include <floptally/models/electra.spec>
,
#include <floptally/models/embedding_gemma2_text.spec>
,
#include <floptally/models/emu3.spec>
,
#include <floptally/models/emu3_text_model.spec>
,
#include <floptally/models/encodec.spec>
,
#include <floptally/models/encoder-decoder.spec>
,
#include <floptally/models/eomt.spec>
,
#include <floptally/models/eomt_dinov3.spec>
,
#include <floptally/models/ernie.spec>
,
#include <floptally/models/ernie4_5.spec>
,
#include <floptally/models/ernie4_5_moe.spec>
,
#include <floptally/models/ernie4_5_vl_moe.spec>
,
#include <floptally/models/ernie4_5_vl_moe_text.spec>
,
#include <floptally/models/ernie4_5_vl_moe_vision.spec>
,
#include <floptally/models/esm.spec>
,
#include <floptally/models/esmc.spec>
,
#include <floptally/models/esmfold2.spec>
,
#include <floptally/models/eurobert.spec>
,
#include <floptally/models/exaone.spec>
,
#include <floptally/models/exaone4.spec>
,
#include <floptally/models/exaone4_5.spec>
,
#include <floptally/models/exaone4_5_vision.spec>
,
#include <floptally/models/exaone_moe.spec>
,
#include <floptally/models/falcon.spec>
,
#include <floptally/models/falcon_h1.spec>
,
#include <floptally/models/falcon_mamba.spec>
,
#include <floptally/models/flaubert.spec>
,
#include <floptally/models/flava.spec>
,
#include <floptally/models/flex_olmo.spec>
,
#include <floptally/models/flint.spec>
,
#include <floptally/models/florence2.spec>
,
#include <floptally/models/florence_vision.spec>
,
#include <floptally/models/fnet.spec>
,
#include <floptally/models/focalnet.spec>
,
#include <floptally/models/fsmt.spec>
,
#include <floptally/models/fun_asr_nano.spec>
,
#include <floptally/models/fun_asr_nano_encoder.spec>
,
#include <floptally/models/fuyu.spec>
,
#include <floptally/models/gemma.spec>
,
#include <floptally/models/gemma2.spec>
,
#include <floptally/models/gemma3.spec>
,
#include <floptally/models/gemma3_text.spec>
,
#include <floptally/models/gemma3n.spec>
,
#include <floptally/models/gemma3n_audio.spec>
,
#include <floptally/models/gemma3n_text.spec>
,
#include <floptally/models/gemma3n_vision.spec>
,
#include <floptally/models/gemma4.spec>
,
#include <floptally/models/gemma4_audio.spec>
,
#include <floptally/models/gemma4_text.spec>
,
#include <floptally/models/gemma4_unified.spec>
,
#include <floptally/models/gemma4_unified_text.spec>
,
#include <floptally/models/gemma4_vision.spec>
,
#include <floptally/models/git.spec>
,
#include <floptally/models/git_vision_model.spec>
,
#include <floptally/models/glm.spec>
,
#include <floptally/models/glm4.spec>
,
#include <floptally/models/glm46v.spec>
,
#include <floptally/models/glm4_moe.spec>
,
#include <floptally/models/glm4_moe_lite.spec>
,
#include <floptally/models/glm4v.spec>
,
#include <floptally/models/glm4v_moe.spec>
,
#include <floptally/models/glm4v_moe_text.spec>
,
#include <floptally/models/glm4v_moe_vision.spec>
,
#include <floptally/models/glm4v_text.spec>
,
#include <floptally/models/glm4v_vision.spec>
,
#include <floptally/models/glm5_next.spec>
,
#include <floptally/models/glm5_next_text.spec>
,
#include <floptally/models/glm5_next_vision.spec>
,
#include <floptally/models/glm_image.spec>
,
#include <floptally/models/glm_image_text.spec>
,
#include <floptally/models/glm_image_vision.spec>
,
#include <floptally/models/glm_moe_dsa.spec>
,
#include <floptally/models/glm_ocr.spec>
,
#include <floptally/models/glm_ocr_text.spec>
,
#include <floptally/models/glm_ocr_vision.spec>
,
#include <floptally/models/glmasr.spec>
,
#include <floptally/models/glmasr_encoder.spec>
,
#include <floptally/models/glmga.spec>
,
#include <floptally/models/glpn.spec>
,
#include <floptally/models/got_ocr2.spec>
,
#include <floptally/models/got_ocr2_vision.spec>
,
#include <floptally/models/gpt-sw3.spec>
,
#include <floptally/models/gpt2.spec>
,
#include <floptally/models/gpt_bigcode.spec>
,
#include <floptally/models/gpt_neo.spec>
,
#include <floptally/models/gpt_neox.spec>
,
#include <floptally/models/gpt_neox_japanese.spec>
,
#include <floptally/models/gpt_oss.spec>
,
#include <floptally/models/gptj.spec>
,
#include <floptally/models/granite.spec>
,
#include <floptally/models/granite4_vision.spec>
,
#include <floptally/models/granite4_vision_text.spec>
,
#include <floptally/models/granite_docling.spec>
,
#include <floptally/models/granite_docling_text.spec>
,
#include <floptally/models/granite_docling_vision.spec>
,
#include <floptally/models/granite_speech.spec>
,
#include <floptally/models/granite_speech5_ctc.spec>
,
#include <floptally/models/granite_speech5_encoder.spec>
,
#include <floptally/models/granite_speech_encoder.spec>
,
#include <floptally/models/granite_speech_plus.spec>
,
#include <floptally/models/granite_speech_plus_encoder.spec>
,
#include <floptally/models/granite_swa.spec>
,
#include <floptally/models/granitemoe.spec>
,
#include <floptally/models/granitemoe_swa.spec>
,
#include <floptally/models/granitemoehybrid.spec>
,
#include <floptally/models/granitemoeshared.spec>
,
#include <floptally/models/grounding-dino.spec>
,
#include <floptally/models/groupvit.spec>
,
#include <floptally/models/groupvit_text_model.spec>
,
#include <floptally/models/groupvit_vision_model.spec>
,
#include <floptally/models/gte.spec>
,
#include <floptally/models/helium.spec>
,
#include <floptally/models/hgnet_v2.spec>
,
#include <floptally/models/hiera.spec>
,
#include <floptally/models/hrm_text.spec>
,
#include <floptally/models/hstu.spec>
,
#include <floptally/models/hubert.spec>
,
#include <floptally/models/hunyuan.spec>
,
#include <floptally/models/hunyuan_image_3_moe.spec>
,
#include <floptally/models/hunyuan_v1_dense.spec>
,
#include <floptally/models/hunyuan_v1_moe.spec>
,
#include <floptally/models/hunyuan_vl.spec>
,
#include <floptally/models/hunyuan_vl_text.spec>
,
#include <floptally/models/hunyuan_vl_vision.spec>
,
#include <floptally/models/hy_v3.spec>
,
#include <floptally/models/hy_v4.spec>
,
#include <floptally/models/hy_v4_vl.spec>
,
#include <floptally/models/hy_v4_vl_text.spec>
,
#include <floptally/models/hy_v4_vl_vision.spec>
,
#include <floptally/models/hyperclovax.spec>
,
#include <floptally/models/hyperclovax_vision_v2.spec>
,
#include <floptally/models/ibert.spec>
,
#include <floptally/models/idefics.spec>
,
#include <floptally/models/idefics2.spec>
,
#include <floptally/models/idefics2_vision.spec>
,
#include <floptally/models/idefics3.spec>
,
#include <floptally/models/idefics3_vision.spec>
,
#include <floptally/models/ijepa.spec>
,
#include <floptally/models/imagegpt.spec>
,
#include <floptally/models/informer.spec>
,
#include <floptally/models/inkling_text.spec>
,
#include <floptally/models/instructblip.spec>
,
#include <floptally/models/instructblip_vision_model.spec>
,
#include <floptally/models/instructblipvideo.spec>
,
#include <floptally/models/instructblipvideo_vision_model.spec>
,
#include <floptally/models/internlm.spec>
,
#include <floptally/models/internlm2.spec>
,
#include <floptally/models/internlm3.spec>
,
#include <floptally/models/internvl.spec>
,
#include <floptally/models/internvl_chat.spec>
,
#include <floptally/models/internvl_vision.spec>
,
#include <floptally/models/iquestcoder.spec>
,
#include <floptally/models/jais2.spec>
,
#include <floptally/models/jamba.spec>
,
#include <floptally/models/janus.spec>
,
#include <floptally/models/janus_vision_model.spec>
,
#include <floptally/models/jetmoe.spec>
,
#include <floptally/models/jina_embeddings_v3.spec>
,
#include <floptally/models/kimi_k2.spec>
,
#include <floptally/models/kimi_k25.spec>
,
#include <floptally/models/kimi_k25_vision.spec>
,
#include <floptally/models/kimi_k3.spec>
,
#include <floptally/models/kimi_linear.spec>
,
#include <floptally/models/kimi_vl.spec>
,
#include <floptally/models/kolibri1.spec>
,
#include <floptally/models/kosmos-2.spec>
,
#include <floptally/models/kosmos-2.5.spec>
,
#include <floptally/models/kyutai_speech_to_text.spec>
,
#include <floptally/models/laguna.spec>
,
#include <floptally/models/lara_mini.spec>
,
#include <floptally/models/lasr_ctc.spec>
,
#include <floptally/models/lasr_encoder.spec>
,
#include <floptally/models/layoutlm.spec>
,
#include <floptally/models/layoutlmv3.spec>
,
#include <floptally/models/led.spec>
,
#include <floptally/models/levit.spec>
,
#include <floptally/models/lfm2.spec>
,
#include <floptally/models/lfm2_moe.spec>
,
#include <floptally/models/lfm2_vl.spec>
,
#include <floptally/models/lfm3.spec>
,
#include <floptally/models/lfm3_vl.spec>
,
#include <floptally/models/lfm3_vl_vision.spec>
,
#include <floptally/models/lighton_ocr.spec>
,
#include <floptally/models/lilt.spec>
,
#include <floptally/models/llada.spec>
,
#include <floptally/models/llada2_moe.spec>
,
#include <floptally/models/llama.spec>
,
#include <floptally/models/llama4.spec>
,
#include <floptally/models/llama4_text.spec>
,
#include <floptally/models/llama4_vision_model.spec>
,
#include <floptally/models/llama_bidirec.spec>
,
#include <floptally/models/llava.spec>
,
#include <floptally/models/llava_next.spec>
,
#include <floptally/models/llava_next_video.spec>
,
#include <floptally/models/llava_onevision.spec>
,
#include <floptally/models/longcat_flash.spec>
,
#include <floptally/models/longformer.spec>
,
#include <floptally/models/longt5.spec>
,
#include <floptally/models/luke.spec>
,
#include <floptally/models/lw_detr.spec>
,
#include <floptally/models/lw_detr_vit.spec>
,
#include <floptally/models/lxmert.spec>
,
#include <floptally/models/m2m_100.spec>
,
#include <floptally/models/mamba.spec>
,
#include <floptally/models/mamba2.spec>
,
#include <floptally/models/marian.spec>
,
#include <floptally/models/markuplm.spec>
,
#include <floptally/models/mask2former.spec>
,
#include <floptally/models/maskformer.spec>
,
#include <floptally/models/maskformer-swin.spec>
,
#include <floptally/models/mbart.spec>
,
#include <floptally/models/megatron-bert.spec>
,
#include <floptally/models/mellum.spec>
,
#include <floptally/models/metaclip_2.spec>
,
#include <floptally/models/metaclip_2_text_model.spec>
,
#include <floptally/models/metaclip_2_vision_model.spec>
,
#include <floptally/models/mgp-str.spec>
,
#include <floptally/models/mimi.spec>
,
#include <floptally/models/mimi_decoder.spec>
,
#include <floptally/models/mimi_encoder.spec>
,
#include <floptally/models/mimo.spec>
,
#include <floptally/models/mimo_v2.spec>
,
#include <floptally/models/mimo_v2_flash.spec>
,
#include <floptally/models/minicpm.spec>
,
#include <floptally/models/minicpm3.spec>
,
#include <floptally/models/minicpm_ocr.spec>
,
#include <floptally/models/minicpm_ocr_vision.spec>
,
#include <floptally/models/minicpmo.spec>
,
#include <floptally/models/minicpmv.spec>
,
#include <floptally/models/minicpmv4_6.spec>
,
#include <floptally/models/minicpmv4_6_vision.spec>
,
#include <floptally/models/minicpmv4_7.spec>
,
#include <floptally/models/minicpmv4_7_vision.spec>
,
#include <floptally/models/minimax.spec>
,
#include <floptally/models/minimax_m2.spec>
,
#include <floptally/models/minimax_m3.spec>
,
#include <floptally/models/minimax_m3_vl.spec>
,
#include <floptally/models/minimax_m3_vl_text.spec>
,
#include <floptally/models/ministral.spec>
,
#include <floptally/models/ministral3.spec>
,
#include <floptally/models/ministral3_bidirec.spec>
,
#include <floptally/models/mistral.spec>
,
#include <floptally/models/mistral3.spec>
,
#include <floptally/models/mistral4.spec>
,
#include <floptally/models/mistral_large4.spec>
,
#include <floptally/models/mistral_large4_text.spec>
,
#include <floptally/models/mixtral.spec>
,
#include <floptally/models/mlcd.spec>
,
#include <floptally/models/mlcd_vision_model.spec>
,
#include <floptally/models/mllama.spec>
,
#include <floptally/models/mllama_text_model.spec>
,
#include <floptally/models/mllama_vision_model.spec>
,
#include <floptally/models/mm-grounding-dino.spec>
,
#include <floptally/models/mobilebert.spec>
,
#include <floptally/models/mobilenet_v1.spec>
,
#include <floptally/models/mobilenet_v2.spec>
,
#include <floptally/models/mobilevit.spec>
,
#include <floptally/models/mobilevitv2.spec>
,
#include <floptally/models/modernbert.spec>
,
#include <floptally/models/modernbert-decoder.spec>
,
#include <floptally/models/modernvbert.spec>
,
#include <floptally/models/molmo2.spec>
,
#include <floptally/models/molmo2_text.spec>
,
#include <floptally/models/moonshine.spec>
,
#include <floptally/models/moonshine_streaming.spec>
,
#include <floptally/models/moshi.spec>
,
#include <floptally/models/moss_transcribe_diarize.spec>
,
#include <floptally/models/moss_transcribe_diarize_audio.spec>
,
#include <floptally/models/mpnet.spec>
,
#include <floptally/models/mpt.spec>
,
#include <floptally/models/mt5.spec>
,
#include <floptally/models/muse_glimmer.spec>
,
#include <floptally/models/muse_glimmer_text.spec>
,
#include <floptally/models/muse_glimmer_vision.spec>
,
#include <floptally/models/musicflamingo.spec>
,
#include <floptally/models/musicgen.spec>
,
#include <floptally/models/musicgen_melody.spec>
,
#include <floptally/models/mvp.spec>
,
#include <floptally/models/nanochat.spec>
,
#include <floptally/models/nemotron.spec>
,
#include <floptally/models/nemotron-nas.spec>
,
#include <floptally/models/nemotron_h.spec>
,
#include <floptally/models/nemotron_h_omni.spec>
,
#include <floptally/models/neomme.spec>
,
#include <floptally/models/nllb-moe.spec>
,
#include <floptally/models/nomic_bert.spec>
,
#include <floptally/models/nv_esm.spec>
,
#include <floptally/models/nv_esmc.spec>
,
#include <floptally/models/nystromformer.spec>
,
#include <floptally/models/olmo.spec>
,
#include <floptally/models/olmo2.spec>
,
#include <floptally/models/olmo3.spec>
,
#include <floptally/models/olmo_hybrid.spec>
,
#include <floptally/models/olmoe.spec>
,
#include <floptally/models/omniasr.spec>
,
#include <floptally/models/omniasr_audio.spec>
,
#include <floptally/models/omniasr_ctc.spec>
,
#include <floptally/models/oneformer.spec>
,
#include <floptally/models/openai-gpt.spec>
,
#include <floptally/models/openai_privacy_filter.spec>
,
#include <floptally/models/openelm.spec>
,
#include <floptally/models/openfold3.spec>
,
#include <floptally/models/opt.spec>
,
#include <floptally/models/ouro.spec>
,
#include <floptally/models/ovis2.spec>
,
#include <floptally/models/ovis2_vision.spec>
,
#include <floptally/models/owlv2.spec>
,
#include <floptally/models/owlv2_text_model.spec>
,
#include <floptally/models/owlv2_vision_model.spec>
,
#include <floptally/models/owlvit.spec>
,
#include <floptally/models/owlvit_text_model.spec>
,
#include <floptally/models/owlvit_vision_model.spec>
,
#include <floptally/models/paddleocr_vl.spec>
,
#include <floptally/models/paligemma.spec>
,
#include <floptally/models/parakeet_ctc.spec>
,
#include <floptally/models/parakeet_encoder.spec>
,
#include <floptally/models/patchtsmixer.spec>
,
#include <floptally/models/patchtst.spec>
,
#include <floptally/models/pegasus.spec>
,
#include <floptally/models/perceiver.spec>
,
#include <floptally/models/perception_lm.spec>
,
#include <floptally/models/persimmon.spec>
,
#include <floptally/models/phi.spec>
,
#include <floptally/models/phi3.spec>
,
#include <floptally/models/phi3_v.spec>
,
#include <floptally/models/phi4_multimodal.spec>
,
#include <floptally/models/phi4_multimodal_vision.spec>
,
#include <floptally/models/phimoe.spec>
,
#include <floptally/models/pi0.spec>
,
#include <floptally/models/pix2struct.spec>
,
#include <floptally/models/pix2struct_text_model.spec>
,
#include <floptally/models/pix2struct_vision_model.spec>
,
#include <floptally/models/pixio.spec>
,
#include <floptally/models/pixtral.spec>
,
#include <floptally/models/plamo.spec>
,
#include <floptally/models/plamo2.spec>
,
#include <floptally/models/plbart.spec>
,
#include <floptally/models/pocket_tts_audio_tokenizer.spec>
,
#include <floptally/models/pocket_tts_audio_tokenizer_decoder.spec>
,
#include <floptally/models/pocket_tts_audio_tokenizer_encoder.spec>
,
#include <floptally/models/poolformer.spec>
,
#include <floptally/models/pop2piano.spec>
,
#include <floptally/models/pp_chart2table.spec>
,
#include <floptally/models/pp_lcnet.spec>
,
#include <floptally/models/pp_lcnet_v3.spec>
,
#include <floptally/models/prompt_depth_anything.spec>
,
#include <floptally/models/prophetnet.spec>
,
#include <floptally/models/protenix.spec>
,
#include <floptally/models/pvt.spec>
,
#include <floptally/models/pvt_v2.spec>
,
#include <floptally/models/qianfan_ocr.spec>
,
#include <floptally/models/qianfan_ocr_vision.spec>
,
#include <floptally/models/qwen.spec>
,
#include <floptally/models/qwen2.spec>
,
#include <floptally/models/qwen2_5_omni.spec>
,
#include <floptally/models/qwen2_5_omni_audio_encoder.spec>
,
#include <floptally/models/qwen2_5_omni_text.spec>
,
#include <floptally/models/qwen2_5_omni_thinker.spec>
,
#include <floptally/models/qwen2_5_omni_vision_encoder.spec>
,
#include <floptally/models/qwen2_5_vl.spec>
,
#include <floptally/models/qwen2_5_vl_text.spec>
,
#include <floptally/models/qwen2_5_vl_vision.spec>
,
#include <floptally/models/qwen2_audio.spec>
,
#include <floptally/models/qwen2_audio_encoder.spec>
,
#include <floptally/models/qwen2_moe.spec>
,
#include <floptally/models/qwen2_vl.spec>
,
#include <floptally/models/qwen2_vl_text.spec>
,
#include <floptally/models/qwen3.spec>
,
#include <floptally/models/qwen3_5.spec>
,
#include <floptally/models/qwen3_5_moe.spec>
,
#include <floptally/models/qwen3_5_moe_text.spec>
,
#include <floptally/models/qwen3_5_moe_vision.spec>
,
#include <floptally/models/qwen3_5_text.spec>
,
#include <floptally/models/qwen3_5_vision.spec>
,
#include <floptally/models/qwen3_8_flash_next.spec>
,
#include <floptally/models/qwen3_8_flash_next_text.spec>
,
#include <floptally/models/qwen3_asr.spec>
,
#include <floptally/models/qwen3_asr_encoder.spec>
,
#include <floptally/models/qwen3_moe.spec>
,
#include <floptally/models/qwen3_next.spec>
,
#include <floptally/models/qwen3_omni_moe.spec>
,
#include <floptally/models/qwen3_omni_moe_audio_encoder.spec>
,
#include <floptally/models/qwen3_omni_moe_text.spec>
,
#include <floptally/models/qwen3_omni_moe_thinker.spec>
,
#include <floptally/models/qwen3_omni_moe_vision_encoder.spec>
,
#include <floptally/models/qwen3_vl.spec>
,
#include <floptally/models/qwen3_vl_moe.spec>
,
#include <floptally/models/qwen3_vl_moe_text.spec>
,
#include <floptally/models/qwen3_vl_moe_vision.spec>
,
#include <floptally/models/qwen3_vl_text.spec>
,
#include <floptally/models/qwen3_vl_vision.spec>
,
#include <floptally/models/qwen4_exp.spec>
,
#include <floptally/models/qwen4_exp_text.spec>
,
#include <floptally/models/qwen4_exp_vision.spec>
,
#include <floptally/models/radio.spec>
,
#include <floptally/models/recurrent_gemma.spec>
,
#include <floptally/models/regnet.spec>
,
#include <floptally/models/rembert.spec>
,
#include <floptally/models/resnet.spec>
,
#include <floptally/models/rf_detr.spec>
,
#include <floptally/models/rf_detr_dinov2.spec>
,
#include <floptally/models/roberta.spec>
,
#include <floptally/models/roberta-prelayernorm.spec>
,
#include <floptally/models/roc_bert.spec>
,
#include <floptally/models/roformer.spec>
,
#include <floptally/models/rt_detr.spec>
,
#include <floptally/models/rt_detr_resnet.spec>
,
#include <floptally/models/rt_detr_v2.spec>
,
#include <floptally/models/rwkv.spec>
,
#include <floptally/models/rwkv7.spec>
,
#include <floptally/models/sam.spec>
,
#include <floptally/models/sam2.spec>
,
#include <floptally/models/sam2_hiera_det_model.spec>
,
#include <floptally/models/sam2_video.spec>
,
#include <floptally/models/sam2_vision_model.spec>
,
#include <floptally/models/sam3_tracker.spec>
,
#include <floptally/models/sam3_vision_model.spec>
,
#include <floptally/models/sam3_vit_model.spec>
,
#include <floptally/models/sam_hq.spec>
,
#include <floptally/models/sam_hq_vision_model.spec>
,
#include <floptally/models/sam_vision_model.spec>
,
#include <floptally/models/sapiens2.spec>
,
#include <floptally/models/sarvam_mla.spec>
,
#include <floptally/models/sarvam_moe.spec>
,
#include <floptally/models/sdar.spec>
,
#include <floptally/models/seamless_m4t.spec>
,
#include <floptally/models/seamless_m4t_v2.spec>
,
#include <floptally/models/seed_oss.spec>
,
#include <floptally/models/segformer.spec>
,
#include <floptally/models/sew.spec>
,
#include <floptally/models/sew-d.spec>
,
#include <floptally/models/shieldgemma2.spec>
,
#include <floptally/models/siglip.spec>
,
#include <floptally/models/siglip2.spec>
,
#include <floptally/models/siglip2_text_model.spec>
,
#include <floptally/models/siglip2_vision_model.spec>
,
#include <floptally/models/siglip_text_model.spec>
,
#include <floptally/models/siglip_vision_model.spec>
,
#include <floptally/models/smallthinker.spec>
,
#include <floptally/models/smollm3.spec>
,
#include <floptally/models/smolvlm.spec>
,
#include <floptally/models/smolvlm_vision.spec>
,
#include <floptally/models/solar_open.spec>
,
#include <floptally/models/speech-encoder-decoder.spec>
,
#include <floptally/models/speech_to_text.spec>
,
#include <floptally/models/speecht5.spec>
,
#include <floptally/models/splinter.spec>
,
#include <floptally/models/squeezebert.spec>
,
#include <floptally/models/stablelm.spec>
,
#include <floptally/models/starcoder2.spec>
,
#include <floptally/models/step3_vl.spec>
,
#include <floptally/models/step3p5.spec>
,
#include <floptally/models/step3p7.spec>
,
#include <floptally/models/superpoint.spec>
,
#include <floptally/models/swiftformer.spec>
,
#include <floptally/models/swin.spec>
,
#include <floptally/models/swin2sr.spec>
,
#include <floptally/models/swinv2.spec>
,
#include <floptally/models/switch_transformers.spec>
,
#include <floptally/models/t5.spec>
,
#include <floptally/models/t5gemma.spec>
,
#include <floptally/models/t5gemma2.spec>
,
#include <floptally/models/table-transformer.spec>
,
#include <floptally/models/tapas.spec>
,
#include <floptally/models/textnet.spec>
,
#include <floptally/models/time_series_transformer.spec>
,
#include <floptally/models/timesfm.spec>
,
#include <floptally/models/timesfm2_5.spec>
,
#include <floptally/models/timesformer.spec>
,
#include <floptally/models/tipsv2.spec>
,
#include <floptally/models/tipsv2_dpt.spec>
,
#include <floptally/models/tipsv2_text_model.spec>
,
#include <floptally/models/tipsv2_vision_model.spec>
,
#include <floptally/models/trocr.spec>
,
#include <floptally/models/ultrabert.spec>
,
#include <floptally/models/ultravbert.spec>
,
#include <floptally/models/umt5.spec>
,
#include <floptally/models/unispeech.spec>
,
#include <floptally/models/unispeech-sat.spec>
,
#include <floptally/models/univnet.spec>
,
#include <floptally/models/upernet.spec>
,
#include <floptally/models/vaultgemma.spec>
,
#include <floptally/models/vibevoice_acoustic_tokenizer.spec>
,
#include <floptally/models/vibevoice_acoustic_tokenizer_decoder.spec>
,
#include <floptally/models/vibevoice_acoustic_tokenizer_encoder.spec>
,
#include <floptally/models/video_llama_3.spec>
,
#include <floptally/models/video_llama_3_vision.spec>
,
#include <floptally/models/video_llava.spec>
,
#include <floptally/models/videomae.spec>
,
#include <floptally/models/vilt.spec>
,
#include <floptally/models/vipllava.spec>
,
#include <floptally/models/vision-encoder-decoder.spec>
,
#include <floptally/models/vision-text-dual-encoder.spec>
,
#include <floptally/models/visual_bert.spec>
,
#include <floptally/models/vit.spec>
,
#include <floptally/models/vit_mae.spec>
,
#include <floptally/models/vit_msn.spec>
,
#include <floptally/models/vitdet.spec>
,
#include <floptally/models/vitmatte.spec>
,
#include <floptally/models/vitpose.spec>
,
#include <floptally/models/vitpose_backbone.spec>
,
#include <floptally/models/vivit.spec>
,
#include <floptally/models/vjepa2.spec>
,
#include <floptally/models/voxtral.spec>
,
#include <floptally/models/voxtral_encoder.spec>
,
#include <floptally/models/voxtral_realtime.spec>
,
#include <floptally/models/voxtral_realtime_encoder.spec>
,
#include <floptally/models/voxtral_realtime_text.spec>
,
#include <floptally/models/wav2vec2.spec>
,
#include <floptally/models/wav2vec2-bert.spec>
,
#include <floptally/models/wav2vec2-conformer.spec>
,
#include <floptally/models/wavlm.spec>
,
#include <floptally/models/whisper.spec>
,
#include <floptally/models/xclip.spec>
,
#include <floptally/models/xclip_text_model.spec>
,
#include <floptally/models/xclip_vision_model.spec>
,
#include <floptally/models/xglm.spec>
,
#include <floptally/models/xlm.spec>
,
#include <floptally/models/xlm-roberta.spec>
,
#include <floptally/models/xlm-roberta-xl.spec>
,
#include <floptally/models/xlnet.spec>
,
#include <floptally/models/xlstm.spec>
,
#include <floptally/models/xmod.spec>
,
#include <floptally/models/xverse.spec>
,
#include <floptally/models/yolos.spec>
,
#include <floptally/models/yoso.spec>
,
#include <floptally/models/youtu.spec>
,
#include <floptally/models/zamba.spec>
,
#include <floptally/models/zamba2.spec>
,
#include <floptally/models/zaya.spec>
,
};
// clang-format on

/// Returns the name of the first spec in a text, which is also the name of the file: "llama" for "\nspec llama :
/// base.decoder".
[[nodiscard]] inline std::string_view name_of_spec(std::string_view text) {
    const std::string_view rest = text.substr(text.find("\nspec ") + 6);
    return rest.substr(0, rest.find_first_of(" \n"));
}

/// Returns the text of the spec file for a name; empty if there is no such file.
[[nodiscard]] inline std::string_view find_model_spec(std::string_view name) {
    std::size_t first = 0;
    std::size_t last = sizeof model_specs / sizeof *model_specs;
    while (first < last) {
        const std::size_t middle = first + (last - first) / 2;
        const int order = name_of_spec(model_specs[middle]).compare(name);
        if (order == 0) {
            return model_specs[middle];
        }
        (order < 0 ? first : last) = order < 0 ? middle + 1 : middle;
    }
    return {};
}

}  // namespace floptally::detail::specs
