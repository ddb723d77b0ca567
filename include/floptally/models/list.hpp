// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

/// @file
/// Every page that comes with the library, sorted by name. A file of a page is one literal and nothing else, from
/// `R"page(` to `)page"`: the compiler reads it here, the reader of pages as it is. So no page has a head of its own;
/// the license above is that of all of them. `tests/page_language/pages.test.cpp` compares the list with the folder.

namespace floptally::detail::pages {

// clang-format off
inline constexpr const char* model_pages[] = {
#include <floptally/models/AllegroTransformer3DModel.page>
,
#include <floptally/models/AnyFlowTransformer3DModel.page>
,
#include <floptally/models/AsymmetricAutoencoderKL.page>
,
#include <floptally/models/AuraFlowTransformer2DModel.page>
,
#include <floptally/models/AutoencoderDC.page>
,
#include <floptally/models/AutoencoderKL.page>
,
#include <floptally/models/AutoencoderKLCogVideoX.page>
,
#include <floptally/models/AutoencoderKLCosmos.page>
,
#include <floptally/models/AutoencoderKLFlux2.page>
,
#include <floptally/models/AutoencoderKLHunyuanImage.page>
,
#include <floptally/models/AutoencoderKLHunyuanImageRefiner.page>
,
#include <floptally/models/AutoencoderKLHunyuanVideo.page>
,
#include <floptally/models/AutoencoderKLHunyuanVideo15.page>
,
#include <floptally/models/AutoencoderKLKVAE.page>
,
#include <floptally/models/AutoencoderKLKVAEAudio.page>
,
#include <floptally/models/AutoencoderKLKVAEVideo.page>
,
#include <floptally/models/AutoencoderKLLTX2Audio.page>
,
#include <floptally/models/AutoencoderKLLTX2Video.page>
,
#include <floptally/models/AutoencoderKLLTXVideo.page>
,
#include <floptally/models/AutoencoderKLMagvit.page>
,
#include <floptally/models/AutoencoderKLMochi.page>
,
#include <floptally/models/AutoencoderKLQwenImage.page>
,
#include <floptally/models/AutoencoderKLQwenImage21.page>
,
#include <floptally/models/AutoencoderKLTemporalDecoder.page>
,
#include <floptally/models/AutoencoderKLWan.page>
,
#include <floptally/models/AutoencoderOobleck.page>
,
#include <floptally/models/AutoencoderTiny.page>
,
#include <floptally/models/BriaFiboTransformer2DModel.page>
,
#include <floptally/models/BriaTransformer2DModel.page>
,
#include <floptally/models/ChromaTransformer2DModel.page>
,
#include <floptally/models/ChronoEditTransformer3DModel.page>
,
#include <floptally/models/CogVideoXTransformer3DModel.page>
,
#include <floptally/models/CogView3PlusTransformer2DModel.page>
,
#include <floptally/models/CogView4Transformer2DModel.page>
,
#include <floptally/models/ConsisIDTransformer3DModel.page>
,
#include <floptally/models/ControlNetModel.page>
,
#include <floptally/models/ControlNetUnionModel.page>
,
#include <floptally/models/CosmosControlNetModel.page>
,
#include <floptally/models/CosmosTransformer3DModel.page>
,
#include <floptally/models/DiTTransformer2DModel.page>
,
#include <floptally/models/Dream.page>
,
#include <floptally/models/DreamLiteUNetModel.page>
,
#include <floptally/models/EasyAnimateTransformer3DModel.page>
,
#include <floptally/models/ErnieImageTransformer2DModel.page>
,
#include <floptally/models/Flux2Transformer2DModel.page>
,
#include <floptally/models/Flux3Transformer2DModel.page>
,
#include <floptally/models/FluxControlNetModel.page>
,
#include <floptally/models/FluxTransformer2DModel.page>
,
#include <floptally/models/GlmImageTransformer2DModel.page>
,
#include <floptally/models/HiDreamImageTransformer2DModel.page>
,
#include <floptally/models/HunyuanDiT2DControlNetModel.page>
,
#include <floptally/models/HunyuanDiT2DModel.page>
,
#include <floptally/models/HunyuanImageTransformer2DModel.page>
,
#include <floptally/models/HunyuanVideo15Transformer3DModel.page>
,
#include <floptally/models/HunyuanVideoFramepackTransformer3DModel.page>
,
#include <floptally/models/HunyuanVideoTransformer3DModel.page>
,
#include <floptally/models/I2VGenXLUNet.page>
,
#include <floptally/models/Ideogram4Transformer2DModel.page>
,
#include <floptally/models/JoyImageEditPlusTransformer3DModel.page>
,
#include <floptally/models/JoyImageEditTransformer3DModel.page>
,
#include <floptally/models/Kandinsky3UNet.page>
,
#include <floptally/models/Kandinsky5Transformer3DModel.page>
,
#include <floptally/models/Kandinsky6Transformer3DModel.page>
,
#include <floptally/models/Krea2Transformer2DModel.page>
,
#include <floptally/models/LTX2VideoTransformer3DModel.page>
,
#include <floptally/models/LTXVideoTransformer3DModel.page>
,
#include <floptally/models/LatteTransformer3DModel.page>
,
#include <floptally/models/LongCatAudioDiTTransformer.page>
,
#include <floptally/models/LongCatAudioDiTVae.page>
,
#include <floptally/models/LongCatImageTransformer2DModel.page>
,
#include <floptally/models/Lumina2Transformer2DModel.page>
,
#include <floptally/models/LuminaNextDiT2DModel.page>
,
#include <floptally/models/MMAudioVAE.page>
,
#include <floptally/models/MiniMaxMusic3Vocoder.page>
,
#include <floptally/models/MochiTransformer3DModel.page>
,
#include <floptally/models/MotifVideoTransformer3DModel.page>
,
#include <floptally/models/NucleusMoEImageTransformer2DModel.page>
,
#include <floptally/models/OmniGenTransformer2DModel.page>
,
#include <floptally/models/OvisImageTransformer2DModel.page>
,
#include <floptally/models/PRXTransformer2DModel.page>
,
#include <floptally/models/PixArtTransformer2DModel.page>
,
#include <floptally/models/PriorTransformer.page>
,
#include <floptally/models/QwenImageControlNetModel.page>
,
#include <floptally/models/QwenImageTransformer2DModel.page>
,
#include <floptally/models/RFD4ProteinaTransformer.page>
,
#include <floptally/models/SD3ControlNetModel.page>
,
#include <floptally/models/SD3Transformer2DModel.page>
,
#include <floptally/models/SanaControlNetModel.page>
,
#include <floptally/models/SanaTransformer2DModel.page>
,
#include <floptally/models/SanaVideoTransformer3DModel.page>
,
#include <floptally/models/SkyReelsV2Transformer3DModel.page>
,
#include <floptally/models/SparseControlNetModel.page>
,
#include <floptally/models/StableAudio3DiTModel.page>
,
#include <floptally/models/StableAudioDiTModel.page>
,
#include <floptally/models/StableCascadeUNet.page>
,
#include <floptally/models/T5FilmDecoder.page>
,
#include <floptally/models/Transformer2DModel.page>
,
#include <floptally/models/TransformerTemporalModel.page>
,
#include <floptally/models/UNet2DConditionModel.page>
,
#include <floptally/models/UNet2DModel.page>
,
#include <floptally/models/UNet3DConditionModel.page>
,
#include <floptally/models/UNetControlNetXSModel.page>
,
#include <floptally/models/UNetMotionModel.page>
,
#include <floptally/models/UNetSpatioTemporalConditionModel.page>
,
#include <floptally/models/UVit2DModel.page>
,
#include <floptally/models/VQModel.page>
,
#include <floptally/models/WanAnimateTransformer3DModel.page>
,
#include <floptally/models/WanTransformer3DModel.page>
,
#include <floptally/models/WanVACETransformer3DModel.page>
,
#include <floptally/models/ZImageTransformer2DModel.page>
,
#include <floptally/models/afmoe.page>
,
#include <floptally/models/aimv2.page>
,
#include <floptally/models/aimv2_text_model.page>
,
#include <floptally/models/aimv2_vision_model.page>
,
#include <floptally/models/albert.page>
,
#include <floptally/models/align.page>
,
#include <floptally/models/altclip.page>
,
#include <floptally/models/altclip_text_model.page>
,
#include <floptally/models/altclip_vision_model.page>
,
#include <floptally/models/apertus.page>
,
#include <floptally/models/apertus1p5.page>
,
#include <floptally/models/apertus1p5_text.page>
,
#include <floptally/models/arcee.page>
,
#include <floptally/models/aria.page>
,
#include <floptally/models/aria_text.page>
,
#include <floptally/models/audio-spectrogram-transformer.page>
,
#include <floptally/models/audioflamingo3.page>
,
#include <floptally/models/audioflamingo3_encoder.page>
,
#include <floptally/models/autoformer.page>
,
#include <floptally/models/axk1.page>
,
#include <floptally/models/axk2.page>
,
#include <floptally/models/aya_vision.page>
,
#include <floptally/models/baichuan.page>
,
#include <floptally/models/bailing_hybrid.page>
,
#include <floptally/models/bailing_moe.page>
,
#include <floptally/models/bamba.page>
,
#include <floptally/models/bark.page>
,
#include <floptally/models/bart.page>
,
#include <floptally/models/base.page>
,
#include <floptally/models/beam.page>
,
#include <floptally/models/beit.page>
,
#include <floptally/models/bert.page>
,
#include <floptally/models/bert-generation.page>
,
#include <floptally/models/big_bird.page>
,
#include <floptally/models/biogpt.page>
,
#include <floptally/models/bit.page>
,
#include <floptally/models/bitnet.page>
,
#include <floptally/models/blenderbot.page>
,
#include <floptally/models/blenderbot-small.page>
,
#include <floptally/models/blip.page>
,
#include <floptally/models/blip-2.page>
,
#include <floptally/models/blip_2_vision_model.page>
,
#include <floptally/models/blip_vision_model.page>
,
#include <floptally/models/bloom.page>
,
#include <floptally/models/boltz1.page>
,
#include <floptally/models/boltz2.page>
,
#include <floptally/models/bros.page>
,
#include <floptally/models/camembert.page>
,
#include <floptally/models/canary.page>
,
#include <floptally/models/chameleon.page>
,
#include <floptally/models/chatglm.page>
,
#include <floptally/models/chinese_clip.page>
,
#include <floptally/models/chinese_clip_text_model.page>
,
#include <floptally/models/chinese_clip_vision_model.page>
,
#include <floptally/models/chmv2.page>
,
#include <floptally/models/clap.page>
,
#include <floptally/models/clip.page>
,
#include <floptally/models/clip_text_model.page>
,
#include <floptally/models/clip_vision_model.page>
,
#include <floptally/models/codegen.page>
,
#include <floptally/models/codonfm.page>
,
#include <floptally/models/cohere.page>
,
#include <floptally/models/cohere2.page>
,
#include <floptally/models/cohere2_moe.page>
,
#include <floptally/models/cohere2_vision.page>
,
#include <floptally/models/cohere_asr.page>
,
#include <floptally/models/cohere_compass_text.page>
,
#include <floptally/models/colmodernvbert.page>
,
#include <floptally/models/colpali.page>
,
#include <floptally/models/colqwen2.page>
,
#include <floptally/models/conditional_detr.page>
,
#include <floptally/models/convbert.page>
,
#include <floptally/models/convnext.page>
,
#include <floptally/models/convnextv2.page>
,
#include <floptally/models/cosmos3_edge.page>
,
#include <floptally/models/cosmos3_edge_text.page>
,
#include <floptally/models/cosmos3_edge_vision.page>
,
#include <floptally/models/cpmant.page>
,
#include <floptally/models/csm.page>
,
#include <floptally/models/ctrl.page>
,
#include <floptally/models/cwm.page>
,
#include <floptally/models/d_fine.page>
,
#include <floptally/models/dab-detr.page>
,
#include <floptally/models/dac.page>
,
#include <floptally/models/data2vec-audio.page>
,
#include <floptally/models/data2vec-text.page>
,
#include <floptally/models/data2vec-vision.page>
,
#include <floptally/models/dbrx.page>
,
#include <floptally/models/deberta.page>
,
#include <floptally/models/deberta-v2.page>
,
#include <floptally/models/decision_transformer.page>
,
#include <floptally/models/deepseek.page>
,
#include <floptally/models/deepseek_ocr2.page>
,
#include <floptally/models/deepseek_ocr2_text.page>
,
#include <floptally/models/deepseek_ocr2_vision.page>
,
#include <floptally/models/deepseek_v2.page>
,
#include <floptally/models/deepseek_v3.page>
,
#include <floptally/models/deepseek_v32.page>
,
#include <floptally/models/deepseek_v4.page>
,
#include <floptally/models/deepseek_vl.page>
,
#include <floptally/models/deepseek_vl_v2.page>
,
#include <floptally/models/deformable_detr.page>
,
#include <floptally/models/deimv2.page>
,
#include <floptally/models/deit.page>
,
#include <floptally/models/depth_anything.page>
,
#include <floptally/models/detr.page>
,
#include <floptally/models/dia.page>
,
#include <floptally/models/diffllama.page>
,
#include <floptally/models/dinov2.page>
,
#include <floptally/models/dinov2_with_registers.page>
,
#include <floptally/models/dinov3_convnext.page>
,
#include <floptally/models/dinov3_vit.page>
,
#include <floptally/models/distilbert.page>
,
#include <floptally/models/doge.page>
,
#include <floptally/models/donut-swin.page>
,
#include <floptally/models/dory.page>
,
#include <floptally/models/dots1.page>
,
#include <floptally/models/dots3_note_text.page>
,
#include <floptally/models/dpr.page>
,
#include <floptally/models/dpt.page>
,
#include <floptally/models/edgetam.page>
,
#include <floptally/models/edgetam_vision_model.page>
,
#include <floptally/models/efficientnet.page>
,
#include <floptally/models/electra.page>
,
#include <floptally/models/embedding_gemma2_text.page>
,
#include <floptally/models/emu3.page>
,
#include <floptally/models/emu3_text_model.page>
,
#include <floptally/models/encodec.page>
,
#include <floptally/models/encoder-decoder.page>
,
#include <floptally/models/eomt.page>
,
#include <floptally/models/eomt_dinov3.page>
,
#include <floptally/models/ernie.page>
,
#include <floptally/models/ernie4_5.page>
,
#include <floptally/models/ernie4_5_moe.page>
,
#include <floptally/models/ernie4_5_vl_moe.page>
,
#include <floptally/models/ernie4_5_vl_moe_text.page>
,
#include <floptally/models/ernie4_5_vl_moe_vision.page>
,
#include <floptally/models/esm.page>
,
#include <floptally/models/esmc.page>
,
#include <floptally/models/eurobert.page>
,
#include <floptally/models/exaone.page>
,
#include <floptally/models/exaone4.page>
,
#include <floptally/models/exaone4_5.page>
,
#include <floptally/models/exaone4_5_vision.page>
,
#include <floptally/models/exaone_moe.page>
,
#include <floptally/models/falcon.page>
,
#include <floptally/models/falcon_h1.page>
,
#include <floptally/models/falcon_mamba.page>
,
#include <floptally/models/flaubert.page>
,
#include <floptally/models/flava.page>
,
#include <floptally/models/flex_olmo.page>
,
#include <floptally/models/flint.page>
,
#include <floptally/models/florence2.page>
,
#include <floptally/models/florence_vision.page>
,
#include <floptally/models/fnet.page>
,
#include <floptally/models/focalnet.page>
,
#include <floptally/models/fsmt.page>
,
#include <floptally/models/fun_asr_nano.page>
,
#include <floptally/models/fun_asr_nano_encoder.page>
,
#include <floptally/models/fuyu.page>
,
#include <floptally/models/gemma.page>
,
#include <floptally/models/gemma2.page>
,
#include <floptally/models/gemma3.page>
,
#include <floptally/models/gemma3_text.page>
,
#include <floptally/models/gemma3n.page>
,
#include <floptally/models/gemma3n_audio.page>
,
#include <floptally/models/gemma3n_text.page>
,
#include <floptally/models/gemma3n_vision.page>
,
#include <floptally/models/gemma4.page>
,
#include <floptally/models/gemma4_audio.page>
,
#include <floptally/models/gemma4_text.page>
,
#include <floptally/models/gemma4_unified.page>
,
#include <floptally/models/gemma4_unified_text.page>
,
#include <floptally/models/gemma4_vision.page>
,
#include <floptally/models/git.page>
,
#include <floptally/models/git_vision_model.page>
,
#include <floptally/models/glm.page>
,
#include <floptally/models/glm4.page>
,
#include <floptally/models/glm46v.page>
,
#include <floptally/models/glm4_moe.page>
,
#include <floptally/models/glm4_moe_lite.page>
,
#include <floptally/models/glm4v.page>
,
#include <floptally/models/glm4v_moe.page>
,
#include <floptally/models/glm4v_moe_text.page>
,
#include <floptally/models/glm4v_moe_vision.page>
,
#include <floptally/models/glm4v_text.page>
,
#include <floptally/models/glm4v_vision.page>
,
#include <floptally/models/glm5_next.page>
,
#include <floptally/models/glm5_next_text.page>
,
#include <floptally/models/glm5_next_vision.page>
,
#include <floptally/models/glm_image.page>
,
#include <floptally/models/glm_image_text.page>
,
#include <floptally/models/glm_image_vision.page>
,
#include <floptally/models/glm_moe_dsa.page>
,
#include <floptally/models/glm_ocr.page>
,
#include <floptally/models/glm_ocr_text.page>
,
#include <floptally/models/glm_ocr_vision.page>
,
#include <floptally/models/glmasr.page>
,
#include <floptally/models/glmasr_encoder.page>
,
#include <floptally/models/glmga.page>
,
#include <floptally/models/glpn.page>
,
#include <floptally/models/got_ocr2.page>
,
#include <floptally/models/got_ocr2_vision.page>
,
#include <floptally/models/gpt-sw3.page>
,
#include <floptally/models/gpt2.page>
,
#include <floptally/models/gpt_bigcode.page>
,
#include <floptally/models/gpt_neo.page>
,
#include <floptally/models/gpt_neox.page>
,
#include <floptally/models/gpt_neox_japanese.page>
,
#include <floptally/models/gpt_oss.page>
,
#include <floptally/models/gptj.page>
,
#include <floptally/models/granite.page>
,
#include <floptally/models/granite4_vision.page>
,
#include <floptally/models/granite4_vision_text.page>
,
#include <floptally/models/granite_docling.page>
,
#include <floptally/models/granite_docling_text.page>
,
#include <floptally/models/granite_docling_vision.page>
,
#include <floptally/models/granite_speech.page>
,
#include <floptally/models/granite_speech5_ctc.page>
,
#include <floptally/models/granite_speech5_encoder.page>
,
#include <floptally/models/granite_speech_encoder.page>
,
#include <floptally/models/granite_speech_plus.page>
,
#include <floptally/models/granite_speech_plus_encoder.page>
,
#include <floptally/models/granite_swa.page>
,
#include <floptally/models/granitemoe.page>
,
#include <floptally/models/granitemoe_swa.page>
,
#include <floptally/models/granitemoehybrid.page>
,
#include <floptally/models/granitemoeshared.page>
,
#include <floptally/models/grounding-dino.page>
,
#include <floptally/models/gte.page>
,
#include <floptally/models/helium.page>
,
#include <floptally/models/hgnet_v2.page>
,
#include <floptally/models/hiera.page>
,
#include <floptally/models/hrm_text.page>
,
#include <floptally/models/hstu.page>
,
#include <floptally/models/hubert.page>
,
#include <floptally/models/hunyuan.page>
,
#include <floptally/models/hunyuan_v1_dense.page>
,
#include <floptally/models/hunyuan_v1_moe.page>
,
#include <floptally/models/hunyuan_vl.page>
,
#include <floptally/models/hunyuan_vl_text.page>
,
#include <floptally/models/hunyuan_vl_vision.page>
,
#include <floptally/models/hy_v3.page>
,
#include <floptally/models/hy_v4.page>
,
#include <floptally/models/hy_v4_vl.page>
,
#include <floptally/models/hy_v4_vl_text.page>
,
#include <floptally/models/hy_v4_vl_vision.page>
,
#include <floptally/models/hyperclovax.page>
,
#include <floptally/models/hyperclovax_vision_v2.page>
,
#include <floptally/models/ibert.page>
,
#include <floptally/models/idefics.page>
,
#include <floptally/models/idefics2.page>
,
#include <floptally/models/idefics2_vision.page>
,
#include <floptally/models/idefics3.page>
,
#include <floptally/models/idefics3_vision.page>
,
#include <floptally/models/ijepa.page>
,
#include <floptally/models/imagegpt.page>
,
#include <floptally/models/informer.page>
,
#include <floptally/models/inkling_text.page>
,
#include <floptally/models/instructblip.page>
,
#include <floptally/models/instructblip_vision_model.page>
,
#include <floptally/models/instructblipvideo.page>
,
#include <floptally/models/instructblipvideo_vision_model.page>
,
#include <floptally/models/internlm.page>
,
#include <floptally/models/internlm2.page>
,
#include <floptally/models/internlm3.page>
,
#include <floptally/models/internvl.page>
,
#include <floptally/models/internvl_chat.page>
,
#include <floptally/models/internvl_vision.page>
,
#include <floptally/models/iquestcoder.page>
,
#include <floptally/models/jais2.page>
,
#include <floptally/models/jamba.page>
,
#include <floptally/models/janus.page>
,
#include <floptally/models/janus_vision_model.page>
,
#include <floptally/models/jetmoe.page>
,
#include <floptally/models/jina_embeddings_v3.page>
,
#include <floptally/models/kimi_k2.page>
,
#include <floptally/models/kimi_k25.page>
,
#include <floptally/models/kimi_k25_vision.page>
,
#include <floptally/models/kimi_linear.page>
,
#include <floptally/models/kimi_vl.page>
,
#include <floptally/models/kolibri1.page>
,
#include <floptally/models/kosmos-2.page>
,
#include <floptally/models/kosmos-2.5.page>
,
#include <floptally/models/kyutai_speech_to_text.page>
,
#include <floptally/models/laguna.page>
,
#include <floptally/models/lara_mini.page>
,
#include <floptally/models/lasr_ctc.page>
,
#include <floptally/models/lasr_encoder.page>
,
#include <floptally/models/layoutlm.page>
,
#include <floptally/models/layoutlmv3.page>
,
#include <floptally/models/led.page>
,
#include <floptally/models/levit.page>
,
#include <floptally/models/lfm2.page>
,
#include <floptally/models/lfm2_moe.page>
,
#include <floptally/models/lfm2_vl.page>
,
#include <floptally/models/lfm3.page>
,
#include <floptally/models/lfm3_vl.page>
,
#include <floptally/models/lfm3_vl_vision.page>
,
#include <floptally/models/lighton_ocr.page>
,
#include <floptally/models/lilt.page>
,
#include <floptally/models/llada.page>
,
#include <floptally/models/llama.page>
,
#include <floptally/models/llama4.page>
,
#include <floptally/models/llama4_text.page>
,
#include <floptally/models/llama4_vision_model.page>
,
#include <floptally/models/llava.page>
,
#include <floptally/models/llava_next.page>
,
#include <floptally/models/llava_next_video.page>
,
#include <floptally/models/llava_onevision.page>
,
#include <floptally/models/longcat_flash.page>
,
#include <floptally/models/longformer.page>
,
#include <floptally/models/longt5.page>
,
#include <floptally/models/lw_detr.page>
,
#include <floptally/models/lw_detr_vit.page>
,
#include <floptally/models/lxmert.page>
,
#include <floptally/models/m2m_100.page>
,
#include <floptally/models/mamba.page>
,
#include <floptally/models/mamba2.page>
,
#include <floptally/models/marian.page>
,
#include <floptally/models/markuplm.page>
,
#include <floptally/models/mask2former.page>
,
#include <floptally/models/maskformer.page>
,
#include <floptally/models/maskformer-swin.page>
,
#include <floptally/models/mbart.page>
,
#include <floptally/models/megatron-bert.page>
,
#include <floptally/models/mellum.page>
,
#include <floptally/models/metaclip_2.page>
,
#include <floptally/models/metaclip_2_text_model.page>
,
#include <floptally/models/metaclip_2_vision_model.page>
,
#include <floptally/models/mgp-str.page>
,
#include <floptally/models/mimi.page>
,
#include <floptally/models/mimi_decoder.page>
,
#include <floptally/models/mimi_encoder.page>
,
#include <floptally/models/mimo.page>
,
#include <floptally/models/mimo_v2_flash.page>
,
#include <floptally/models/minicpm.page>
,
#include <floptally/models/minicpm3.page>
,
#include <floptally/models/minicpm_ocr.page>
,
#include <floptally/models/minicpm_ocr_vision.page>
,
#include <floptally/models/minicpmo.page>
,
#include <floptally/models/minicpmv.page>
,
#include <floptally/models/minicpmv4_6.page>
,
#include <floptally/models/minicpmv4_6_vision.page>
,
#include <floptally/models/minicpmv4_7.page>
,
#include <floptally/models/minicpmv4_7_vision.page>
,
#include <floptally/models/minimax.page>
,
#include <floptally/models/minimax_m2.page>
,
#include <floptally/models/minimax_m3_vl.page>
,
#include <floptally/models/minimax_m3_vl_text.page>
,
#include <floptally/models/ministral.page>
,
#include <floptally/models/ministral3.page>
,
#include <floptally/models/mistral.page>
,
#include <floptally/models/mistral3.page>
,
#include <floptally/models/mistral4.page>
,
#include <floptally/models/mistral_large4.page>
,
#include <floptally/models/mistral_large4_text.page>
,
#include <floptally/models/mixtral.page>
,
#include <floptally/models/mlcd.page>
,
#include <floptally/models/mlcd_vision_model.page>
,
#include <floptally/models/mllama.page>
,
#include <floptally/models/mllama_text_model.page>
,
#include <floptally/models/mllama_vision_model.page>
,
#include <floptally/models/mm-grounding-dino.page>
,
#include <floptally/models/mobilebert.page>
,
#include <floptally/models/mobilenet_v1.page>
,
#include <floptally/models/mobilenet_v2.page>
,
#include <floptally/models/mobilevit.page>
,
#include <floptally/models/mobilevitv2.page>
,
#include <floptally/models/modernbert.page>
,
#include <floptally/models/modernbert-decoder.page>
,
#include <floptally/models/modernvbert.page>
,
#include <floptally/models/molmo2.page>
,
#include <floptally/models/molmo2_text.page>
,
#include <floptally/models/moonshine.page>
,
#include <floptally/models/moonshine_streaming.page>
,
#include <floptally/models/moshi.page>
,
#include <floptally/models/moss_transcribe_diarize.page>
,
#include <floptally/models/moss_transcribe_diarize_audio.page>
,
#include <floptally/models/mpnet.page>
,
#include <floptally/models/mpt.page>
,
#include <floptally/models/mt5.page>
,
#include <floptally/models/muse_glimmer.page>
,
#include <floptally/models/muse_glimmer_text.page>
,
#include <floptally/models/muse_glimmer_vision.page>
,
#include <floptally/models/musicflamingo.page>
,
#include <floptally/models/musicgen.page>
,
#include <floptally/models/musicgen_melody.page>
,
#include <floptally/models/mvp.page>
,
#include <floptally/models/nanochat.page>
,
#include <floptally/models/nemotron.page>
,
#include <floptally/models/nemotron_h.page>
,
#include <floptally/models/neomme.page>
,
#include <floptally/models/nllb-moe.page>
,
#include <floptally/models/nomic_bert.page>
,
#include <floptally/models/nv_esm.page>
,
#include <floptally/models/nv_esmc.page>
,
#include <floptally/models/nystromformer.page>
,
#include <floptally/models/olmo.page>
,
#include <floptally/models/olmo2.page>
,
#include <floptally/models/olmo3.page>
,
#include <floptally/models/olmo_hybrid.page>
,
#include <floptally/models/olmoe.page>
,
#include <floptally/models/omniasr.page>
,
#include <floptally/models/omniasr_audio.page>
,
#include <floptally/models/omniasr_ctc.page>
,
#include <floptally/models/oneformer.page>
,
#include <floptally/models/openai-gpt.page>
,
#include <floptally/models/openai_privacy_filter.page>
,
#include <floptally/models/openelm.page>
,
#include <floptally/models/openfold3.page>
,
#include <floptally/models/opt.page>
,
#include <floptally/models/ouro.page>
,
#include <floptally/models/ovis2.page>
,
#include <floptally/models/ovis2_vision.page>
,
#include <floptally/models/owlv2.page>
,
#include <floptally/models/owlv2_text_model.page>
,
#include <floptally/models/owlv2_vision_model.page>
,
#include <floptally/models/owlvit.page>
,
#include <floptally/models/owlvit_text_model.page>
,
#include <floptally/models/owlvit_vision_model.page>
,
#include <floptally/models/paddleocr_vl.page>
,
#include <floptally/models/paligemma.page>
,
#include <floptally/models/parakeet_ctc.page>
,
#include <floptally/models/parakeet_encoder.page>
,
#include <floptally/models/patchtsmixer.page>
,
#include <floptally/models/patchtst.page>
,
#include <floptally/models/pegasus.page>
,
#include <floptally/models/perceiver.page>
,
#include <floptally/models/perception_lm.page>
,
#include <floptally/models/persimmon.page>
,
#include <floptally/models/phi.page>
,
#include <floptally/models/phi3.page>
,
#include <floptally/models/phi3_v.page>
,
#include <floptally/models/phi4_multimodal.page>
,
#include <floptally/models/phi4_multimodal_vision.page>
,
#include <floptally/models/phimoe.page>
,
#include <floptally/models/pi0.page>
,
#include <floptally/models/pix2struct.page>
,
#include <floptally/models/pix2struct_text_model.page>
,
#include <floptally/models/pix2struct_vision_model.page>
,
#include <floptally/models/pixio.page>
,
#include <floptally/models/pixtral.page>
,
#include <floptally/models/plamo.page>
,
#include <floptally/models/plamo2.page>
,
#include <floptally/models/plbart.page>
,
#include <floptally/models/pocket_tts_audio_tokenizer.page>
,
#include <floptally/models/pocket_tts_audio_tokenizer_decoder.page>
,
#include <floptally/models/pocket_tts_audio_tokenizer_encoder.page>
,
#include <floptally/models/poolformer.page>
,
#include <floptally/models/pop2piano.page>
,
#include <floptally/models/pp_chart2table.page>
,
#include <floptally/models/pp_lcnet.page>
,
#include <floptally/models/pp_lcnet_v3.page>
,
#include <floptally/models/prompt_depth_anything.page>
,
#include <floptally/models/prophetnet.page>
,
#include <floptally/models/protenix.page>
,
#include <floptally/models/pvt.page>
,
#include <floptally/models/pvt_v2.page>
,
#include <floptally/models/qianfan_ocr.page>
,
#include <floptally/models/qianfan_ocr_vision.page>
,
#include <floptally/models/qwen.page>
,
#include <floptally/models/qwen2.page>
,
#include <floptally/models/qwen2_5_omni.page>
,
#include <floptally/models/qwen2_5_omni_audio_encoder.page>
,
#include <floptally/models/qwen2_5_omni_text.page>
,
#include <floptally/models/qwen2_5_omni_thinker.page>
,
#include <floptally/models/qwen2_5_omni_vision_encoder.page>
,
#include <floptally/models/qwen2_5_vl.page>
,
#include <floptally/models/qwen2_5_vl_text.page>
,
#include <floptally/models/qwen2_5_vl_vision.page>
,
#include <floptally/models/qwen2_audio.page>
,
#include <floptally/models/qwen2_audio_encoder.page>
,
#include <floptally/models/qwen2_moe.page>
,
#include <floptally/models/qwen2_vl.page>
,
#include <floptally/models/qwen2_vl_text.page>
,
#include <floptally/models/qwen3.page>
,
#include <floptally/models/qwen3_5.page>
,
#include <floptally/models/qwen3_5_moe.page>
,
#include <floptally/models/qwen3_5_moe_text.page>
,
#include <floptally/models/qwen3_5_moe_vision.page>
,
#include <floptally/models/qwen3_5_text.page>
,
#include <floptally/models/qwen3_5_vision.page>
,
#include <floptally/models/qwen3_8_flash_next.page>
,
#include <floptally/models/qwen3_8_flash_next_text.page>
,
#include <floptally/models/qwen3_asr.page>
,
#include <floptally/models/qwen3_asr_encoder.page>
,
#include <floptally/models/qwen3_moe.page>
,
#include <floptally/models/qwen3_next.page>
,
#include <floptally/models/qwen3_omni_moe.page>
,
#include <floptally/models/qwen3_omni_moe_audio_encoder.page>
,
#include <floptally/models/qwen3_omni_moe_text.page>
,
#include <floptally/models/qwen3_omni_moe_thinker.page>
,
#include <floptally/models/qwen3_omni_moe_vision_encoder.page>
,
#include <floptally/models/qwen3_vl.page>
,
#include <floptally/models/qwen3_vl_moe.page>
,
#include <floptally/models/qwen3_vl_moe_text.page>
,
#include <floptally/models/qwen3_vl_moe_vision.page>
,
#include <floptally/models/qwen3_vl_text.page>
,
#include <floptally/models/qwen3_vl_vision.page>
,
#include <floptally/models/qwen4_exp.page>
,
#include <floptally/models/qwen4_exp_text.page>
,
#include <floptally/models/qwen4_exp_vision.page>
,
#include <floptally/models/radio.page>
,
#include <floptally/models/recurrent_gemma.page>
,
#include <floptally/models/regnet.page>
,
#include <floptally/models/rembert.page>
,
#include <floptally/models/resnet.page>
,
#include <floptally/models/rf_detr.page>
,
#include <floptally/models/rf_detr_dinov2.page>
,
#include <floptally/models/roberta.page>
,
#include <floptally/models/roberta-prelayernorm.page>
,
#include <floptally/models/roc_bert.page>
,
#include <floptally/models/roformer.page>
,
#include <floptally/models/rt_detr.page>
,
#include <floptally/models/rt_detr_resnet.page>
,
#include <floptally/models/rt_detr_v2.page>
,
#include <floptally/models/rwkv.page>
,
#include <floptally/models/rwkv7.page>
,
#include <floptally/models/sam.page>
,
#include <floptally/models/sam2.page>
,
#include <floptally/models/sam2_hiera_det_model.page>
,
#include <floptally/models/sam2_video.page>
,
#include <floptally/models/sam2_vision_model.page>
,
#include <floptally/models/sam3_tracker.page>
,
#include <floptally/models/sam3_vision_model.page>
,
#include <floptally/models/sam3_vit_model.page>
,
#include <floptally/models/sam_hq.page>
,
#include <floptally/models/sam_hq_vision_model.page>
,
#include <floptally/models/sam_vision_model.page>
,
#include <floptally/models/sapiens2.page>
,
#include <floptally/models/sarvam_mla.page>
,
#include <floptally/models/sarvam_moe.page>
,
#include <floptally/models/seamless_m4t.page>
,
#include <floptally/models/seamless_m4t_v2.page>
,
#include <floptally/models/seed_oss.page>
,
#include <floptally/models/segformer.page>
,
#include <floptally/models/sew.page>
,
#include <floptally/models/sew-d.page>
,
#include <floptally/models/shieldgemma2.page>
,
#include <floptally/models/siglip.page>
,
#include <floptally/models/siglip2.page>
,
#include <floptally/models/siglip2_text_model.page>
,
#include <floptally/models/siglip2_vision_model.page>
,
#include <floptally/models/siglip_text_model.page>
,
#include <floptally/models/siglip_vision_model.page>
,
#include <floptally/models/smallthinker.page>
,
#include <floptally/models/smollm3.page>
,
#include <floptally/models/smolvlm.page>
,
#include <floptally/models/smolvlm_vision.page>
,
#include <floptally/models/solar_open.page>
,
#include <floptally/models/speech-encoder-decoder.page>
,
#include <floptally/models/speech_to_text.page>
,
#include <floptally/models/speecht5.page>
,
#include <floptally/models/splinter.page>
,
#include <floptally/models/squeezebert.page>
,
#include <floptally/models/stablelm.page>
,
#include <floptally/models/starcoder2.page>
,
#include <floptally/models/step3_vl.page>
,
#include <floptally/models/step3p7.page>
,
#include <floptally/models/superpoint.page>
,
#include <floptally/models/swiftformer.page>
,
#include <floptally/models/swin.page>
,
#include <floptally/models/swin2sr.page>
,
#include <floptally/models/swinv2.page>
,
#include <floptally/models/switch_transformers.page>
,
#include <floptally/models/t5.page>
,
#include <floptally/models/t5gemma.page>
,
#include <floptally/models/table-transformer.page>
,
#include <floptally/models/tapas.page>
,
#include <floptally/models/textnet.page>
,
#include <floptally/models/time_series_transformer.page>
,
#include <floptally/models/timesfm.page>
,
#include <floptally/models/timesfm2_5.page>
,
#include <floptally/models/timesformer.page>
,
#include <floptally/models/tipsv2.page>
,
#include <floptally/models/tipsv2_dpt.page>
,
#include <floptally/models/tipsv2_text_model.page>
,
#include <floptally/models/tipsv2_vision_model.page>
,
#include <floptally/models/trocr.page>
,
#include <floptally/models/ultrabert.page>
,
#include <floptally/models/ultravbert.page>
,
#include <floptally/models/umt5.page>
,
#include <floptally/models/unispeech.page>
,
#include <floptally/models/unispeech-sat.page>
,
#include <floptally/models/univnet.page>
,
#include <floptally/models/upernet.page>
,
#include <floptally/models/vaultgemma.page>
,
#include <floptally/models/vibevoice_acoustic_tokenizer.page>
,
#include <floptally/models/vibevoice_acoustic_tokenizer_decoder.page>
,
#include <floptally/models/vibevoice_acoustic_tokenizer_encoder.page>
,
#include <floptally/models/video_llama_3.page>
,
#include <floptally/models/video_llama_3_vision.page>
,
#include <floptally/models/video_llava.page>
,
#include <floptally/models/videomae.page>
,
#include <floptally/models/vilt.page>
,
#include <floptally/models/vipllava.page>
,
#include <floptally/models/vision-encoder-decoder.page>
,
#include <floptally/models/vision-text-dual-encoder.page>
,
#include <floptally/models/visual_bert.page>
,
#include <floptally/models/vit.page>
,
#include <floptally/models/vit_mae.page>
,
#include <floptally/models/vit_msn.page>
,
#include <floptally/models/vitdet.page>
,
#include <floptally/models/vitmatte.page>
,
#include <floptally/models/vitpose.page>
,
#include <floptally/models/vitpose_backbone.page>
,
#include <floptally/models/vivit.page>
,
#include <floptally/models/vjepa2.page>
,
#include <floptally/models/voxtral.page>
,
#include <floptally/models/voxtral_encoder.page>
,
#include <floptally/models/voxtral_realtime.page>
,
#include <floptally/models/voxtral_realtime_encoder.page>
,
#include <floptally/models/voxtral_realtime_text.page>
,
#include <floptally/models/wav2vec2.page>
,
#include <floptally/models/wav2vec2-bert.page>
,
#include <floptally/models/wav2vec2-conformer.page>
,
#include <floptally/models/wavlm.page>
,
#include <floptally/models/whisper.page>
,
#include <floptally/models/xglm.page>
,
#include <floptally/models/xlm.page>
,
#include <floptally/models/xlm-roberta.page>
,
#include <floptally/models/xlm-roberta-xl.page>
,
#include <floptally/models/xlnet.page>
,
#include <floptally/models/xlstm.page>
,
#include <floptally/models/xmod.page>
,
#include <floptally/models/xverse.page>
,
#include <floptally/models/yolos.page>
,
#include <floptally/models/yoso.page>
,
#include <floptally/models/youtu.page>
,
#include <floptally/models/zamba.page>
,
#include <floptally/models/zamba2.page>
,
#include <floptally/models/zaya.page>
,
};
// clang-format on

/// The name of a text's first page, which is the name of its file: "llama" of "\npage llama : base.decoder".
[[nodiscard]] inline std::string_view name_of_page(std::string_view text) {
    const std::string_view rest = text.substr(text.find("\npage ") + 6);
    return rest.substr(0, rest.find_first_of(" \n"));
}

/// The text of a file of pages; empty where there is none.
[[nodiscard]] inline std::string_view find_model_page(std::string_view name) {
    std::size_t first = 0;
    std::size_t last = sizeof model_pages / sizeof *model_pages;
    while (first < last) {
        const std::size_t middle = first + (last - first) / 2;
        const int order = name_of_page(model_pages[middle]).compare(name);
        if (order == 0) {
            return model_pages[middle];
        }
        (order < 0 ? first : last) = order < 0 ? middle + 1 : middle;
    }
    return {};
}

}  // namespace floptally::detail::pages
