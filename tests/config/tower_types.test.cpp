// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <floptally/input/add_input.hpp>
#include <floptally/json.hpp>

#include "catch2.hpp"
#include "config_text.hpp"
#include "error_of.hpp"
#include "sanitized.hpp"

namespace tower_types_test {

using nlohmann::json;

TEST_CASE(
    "a multimodal config with only a model type has as many parameters as its model class with default settings") {
    // Parameters of the first class of the type in its table, built from its default config on the meta device.
    const std::map<std::string_view, std::uint64_t> parameters{
        {"AllegroTransformer3DModel", 2771907856},
        {"AnyFlowTransformer3DModel", 14316026944},
        {"AsymmetricAutoencoderKL", 798695},
        {"AuraFlowTransformer2DModel", 6833439744},
        {"AutoencoderDC", 362893923},
        {"AutoencoderKL", 563175},
        {"AutoencoderKLCogVideoX", 215583907},
        {"AutoencoderKLCosmos", 105653696},
        {"AutoencoderKLFlux2", 84046115},
        {"AutoencoderKLHunyuanImageRefiner", 1260634115},
        {"AutoencoderKLHunyuanVideo", 246478803},
        {"AutoencoderKLHunyuanVideo15", 1260634115},
        {"AutoencoderKLKVAE", 217426723},
        {"AutoencoderKLKVAEAudio", 166871218},
        {"AutoencoderKLKVAEVideo", 617982115},
        {"AutoencoderKLLTX2Audio", 53248146},
        {"AutoencoderKLLTX2Video", 1222479601},
        {"AutoencoderKLLTXVideo", 419193649},
        {"AutoencoderKLMagvit", 244375507},
        {"AutoencoderKLMochi", 459748611},
        {"AutoencoderKLQwenImage", 126892531},
        {"AutoencoderKLQwenImage21", 330987188},
        {"AutoencoderKLTemporalDecoder", 563956},
        {"AutoencoderKLWan", 126892531},
        {"AutoencoderOobleck", 156112514},
        {"AutoencoderTiny", 2445063},
        {"BriaFiboTransformer2DModel", 12058682432},
        {"BriaTransformer2DModel", 11879375936},
        {"ChromaTransformer2DModel", 8899983424},
        {"ChronoEditTransformer3DModel", 14288491584},
        {"CogVideoXTransformer3DModel", 1693783872},
        {"CogView3PlusTransformer2DModel", 2848836672},
        {"CogView4Transformer2DModel", 2848836672},
        {"ConsisIDTransformer3DModel", 1693783872},
        {"ControlNetModel", 367177360},
        {"CosmosTransformer3DModel", 7236192256},
        {"DiTTransformer2DModel", 749808016},
        {"DreamLiteUNetModel", 427077084},
        {"ErnieImageTransformer2DModel", 2821119104},
        {"Flux2Transformer2DModel", 32223281152},
        {"Flux3Transformer2DModel", 5538458368},
        {"FluxControlNetModel", 12410395648},
        {"FluxTransformer2DModel", 11891178560},
        {"GlmImageTransformer2DModel", 2902420032},
        {"HunyuanImageTransformer2DModel", 17411235904},
        {"HunyuanVideo15Transformer3DModel", 8326608160},
        {"HunyuanVideoTransformer3DModel", 12821012544},
        {"I2VGenXLUNet", 1420469224},
        {"Ideogram4Transformer2DModel", 9279288448},
        {"JoyImageEditPlusTransformer3DModel", 4620995648},
        {"JoyImageEditTransformer3DModel", 4620995648},
        {"Kandinsky3UNet", 3055348228},
        {"Kandinsky5Transformer3DModel", 2147285776},
        {"Kandinsky6Transformer3DModel", 48188504148},
        {"Krea2Transformer2DModel", 12820073036},
        {"LTX2VideoTransformer3DModel", 18876174592},
        {"LTXVideoTransformer3DModel", 1923385472},
        {"LongCatAudioDiTTransformer", 981955648},
        {"LongCatAudioDiTVae", 91881345},
        {"LongCatImageTransformer2DModel", 11877803072},
        {"Lumina2Transformer2DModel", 2606818752},
        {"MMAudioVAE", 305479682},
        {"MiniMaxMusic3Vocoder", 54170722},
        {"MochiTransformer3DModel", 10027677744},
        {"MotifVideoTransformer3DModel", 12512040000},
        {"NucleusMoEImageTransformer2DModel", 22672721408},
        {"OmniGenTransformer2DModel", 3762072592},
        {"OvisImageTransformer2DModel", 7370449728},
        {"PRXTransformer2DModel", 1170691648},
        {"PixArtTransformer2DModel", 605301152},
        {"PriorTransformer", 1022030080},
        {"QwenImageControlNetModel", 20977938944},
        {"QwenImageTransformer2DModel", 20430401088},
        {"SD3Transformer2DModel", 856159552},
        {"SanaTransformer2DModel", 1604462752},
        {"SanaVideoTransformer3DModel", 1905841344},
        {"SkyReelsV2Transformer3DModel", 2191878208},
        {"SparseControlNetModel", 496730880},
        {"StableAudio3DiTModel", 1453170944},
        {"StableAudioDiTModel", 1056939136},
        {"StableCascadeUNet", 3605346320},
        {"T5FilmDecoder", 238710528},
        {"UNet2DModel", 274056163},
        {"UNetControlNetXSModel", 878046520},
        {"UNetMotionModel", 1325509764},
        {"UNetSpatioTemporalConditionModel", 1524623082},
        {"UVit2DModel", 603537664},
        {"VQModel", 560414},
        {"WanAnimateTransformer3DModel", 15177050484},
        {"WanTransformer3DModel", 14288491584},
        {"WanVACETransformer3DModel", 17337592896},
        {"ZImageTransformer2DModel", 6154908736},
        {"aimv2", 436221441},
        {"aimv2_vision_model", 312345600},
        {"align", 172117841},
        {"altclip", 648265729},
        {"altclip_vision_model", 87456000},
        {"aria", 18701885824},
        {"audio-spectrogram-transformer", 86190338},
        {"audioflamingo3", 12708843520},
        {"audioflamingo3_encoder", 636968960},
        {"beit", 85658114},
        {"bit", 23504450},
        {"blip", 223971644},
        {"blip-2", 1216944384},
        {"blip_2_vision_model", 985952256},
        {"blip_vision_model", 86090496},
        {"bridgetower", 326347008},
        {"chinese_clip", 197134081},
        {"chinese_clip_vision_model", 87456000},
        {"clap", 153492890},
        {"clip", 151277313},
        {"clip_vision_model", 87456000},
        {"cohere2_vision", 35651000064},
        {"cohere_asr", 2065647872},
        {"colmodernvbert", 251434112},
        {"colpali", 2910652800},
        {"colqwen2", 72137303168},
        {"conditional_detr", 43395528},
        {"convnext", 27821666},
        {"convnextv2", 27868034},
        {"cosmos3_edge", 2435616496},
        {"cosmos3_edge_vision", 412649712},
        {"cvt", 19613250},
        {"d_fine", 31083862},
        {"dab-detr", 43648644},
        {"dac", 76620777},
        {"data2vec-audio", 93188896},
        {"data2vec-vision", 85658114},
        {"deepseek_vl", 6720158976},
        {"deformable_detr", 40046792},
        {"deimv2", 29767510},
        {"deit", 85801730},
        {"detr", 41501895},
        {"dinov2", 85728770},
        {"dinov2_with_registers", 85824002},
        {"dinov3_convnext", 27820128},
        {"dinov3_vit", 21595008},
        {"donut-swin", 27519356},
        {"dpt", 110878081},
        {"efficientnet", 63792082},
        {"encodec", 14851810},
        {"eomt", 316561411},
        {"eomt_dinov3", 314898435},
        {"ernie4_5_vl_moe", 29399294336},
        {"ernie4_5_vl_moe_vision", 630433280},
        {"exaone4_5", 12100938496},
        {"exaone4_5_vision", 2671868672},
        {"flava", 241356289},
        {"florence2", 497761280},
        {"florence_vision", 90368000},
        {"focalnet", 27659654},
        {"fun_asr_nano", 829791840},
        {"fun_asr_nano_encoder", 221136992},
        {"fuyu", 9408238592},
        {"gemma3n", 7818517072},
        {"gemma3n_audio", 681348640},
        {"gemma3n_vision", 294126912},
        {"gemma4", 5077177856},
        {"gemma4_audio", 304824608},
        {"gemma4_vision", 167364608},
        {"git", 176619066},
        {"git_vision_model", 85799424},
        {"glm46v", 10292777472},
        {"glm4v", 10292777472},
        {"glm4v_moe", 104372866880},
        {"glm4v_moe_vision", 892498432},
        {"glm4v_vision", 892498432},
        {"glm5_next", 313786889214},
        {"glm5_next_vision", 460072448},
        {"glm_ocr", 807479808},
        {"glm_ocr_vision", 434120192},
        {"glmasr", 2136470528},
        {"glmasr_encoder", 635048960},
        {"glmga", 10292777472},
        {"got_ocr2", 560528640},
        {"got_ocr2_vision", 89670912},
        {"granite_docling", 543428352},
        {"granite_docling_vision", 156797696},
        {"granite_speech_encoder", 274808106},
        {"granite_speech_plus_encoder", 274808106},
        {"grounding-dino", 172250626},
        {"hgnet_v2", 13557474},
        {"hiera", 50757506},
        {"hubert", 94396320},
        {"hunyuan_vl_vision", 466645488},
        {"hyperclovax_vision_v2", 9705315072},
        {"idefics", 12670461504},
        {"idefics2", 8061394944},
        {"idefics2_vision", 87453696},
        {"idefics3", 6909685760},
        {"idefics3_vision", 152395776},
        {"ijepa", 85798658},
        {"instructblip", 1297466112},
        {"instructblip_vision_model", 985952256},
        {"instructblipvideo", 1297466112},
        {"instructblipvideo_vision_model", 985952256},
        {"internvl", 11765025792},
        {"internvl_vision", 303938560},
        {"janus_vision_model", 303688704},
        {"kimi_k25", 670570869232},
        {"kimi_k25_vision", 416866032},
        {"kosmos-2", 1664485376},
        {"kosmos-2.5", 1374646272},
        {"lasr_ctc", 105265408},
        {"lasr_encoder", 105002752},
        {"levit", 8443938},
        {"lfm2_vl", 2812857088},
        {"lfm3_vl", 1918181888},
        {"lfm3_vl_vision", 164206336},
        {"lighton_ocr", 1005647872},
        {"llava", 7062902784},
        {"llava_next", 7062906880},
        {"llava_next_video", 7062906880},
        {"llava_onevision", 12469102112},
        {"mask2former", 68721037},
        {"maskformer", 101793403},
        {"maskformer-swin", 27519354},
        {"metaclip_2", 151277313},
        {"metaclip_2_vision_model", 87456000},
        {"mgp-str", 147952305},
        {"mimi", 79308609},
        {"mimi_decoder", 39917089},
        {"mimi_encoder", 38867232},
        {"minicpm_ocr", 8094084096},
        {"minicpm_ocr_vision", 135366144},
        {"minicpmv4_6", 9111202816},
        {"minicpmv4_6_vision", 135366144},
        {"minicpmv4_7", 9111202816},
        {"minicpmv4_7_vision", 135366144},
        {"minimax_m3_vl", 448052008448},
        {"mistral3", 23340272640},
        {"mistral_large4", 1051822421504},
        {"mlcd", 1842349748},
        {"mlcd_vision_model", 1842349748},
        {"mllama", 10642941475},
        {"mllama_vision_model", 836288019},
        {"mm-grounding-dino", 172250628},
        {"mobilenet_v1", 3209026},
        {"mobilenet_v2", 2226434},
        {"mobilevit", 4938914},
        {"mobilevitv2", 4389867},
        {"modernvbert", 251335680},
        {"moonshine", 27092736},
        {"moss_transcribe_diarize", 908513280},
        {"moss_transcribe_diarize_audio", 307216384},
        {"muse_glimmer", 29776626688},
        {"muse_glimmer_vision", 1852639744},
        {"musicflamingo", 12708843520},
        {"neomme", 262937906},
        {"omniasr", 1638453760},
        {"omniasr_audio", 315437568},
        {"oneformer", 50699902},
        {"ovis2_vision", 326002678},
        {"owlv2", 153971464},
        {"owlv2_vision_model", 87418368},
        {"owlvit", 153231879},
        {"owlvit_vision_model", 87860736},
        {"paddleocr_vl", 799695472},
        {"paligemma", 2910390528},
        {"parakeet_ctc", 608799745},
        {"parakeet_encoder", 607749120},
        {"phi4_multimodal", 5308268992},
        {"phi4_multimodal_vision", 428565440},
        {"pi0", 3501372176},
        {"pix2struct", 282285696},
        {"pix2struct_vision_model", 91835904},
        {"pixio", 631013120},
        {"pixtral", 403489792},
        {"pocket_tts_audio_tokenizer", 20054337},
        {"pocket_tts_audio_tokenizer_decoder", 10288929},
        {"pocket_tts_audio_tokenizer_encoder", 9749024},
        {"poolformer", 11403202},
        {"pp_chart2table", 560528640},
        {"pp_lcnet", 1674082},
        {"pp_lcnet_v3", 5513840},
        {"qianfan_ocr", 12387044352},
        {"qianfan_ocr_vision", 304012288},
        {"ultravbert", 6880839936},
        {"video_llava", 7365754880},
        {"qwen2_5_omni", 11338288896},  // its thinker, which is all that trains
        {"qwen2_5_omni_audio_encoder", 639647232},
        {"qwen2_5_omni_thinker", 11338288896},
        {"qwen2_5_vl", 75789228800},
        {"qwen2_5_vl_vision", 3083025152},
        {"qwen2_audio", 12692062208},
        {"qwen2_audio_encoder", 636968960},
        {"qwen2_vl", 73381962752},
        {"qwen3_5", 9407453936},
        {"qwen3_5_moe", 35114261360},
        {"qwen3_5_moe_vision", 453650672},
        {"qwen3_5_vision", 453650672},
        {"qwen3_asr_encoder", 314328704},
        {"qwen3_omni_moe_audio_encoder", 649894784},
        {"qwen3_omni_moe_thinker", 18418329704},
        {"qwen3_vl", 12616410352},
        {"qwen3_vl_moe", 14052070640},
        {"qwen3_vl_moe_vision", 566949104},
        {"qwen3_vl_vision", 566949104},
        {"qwen4_exp_vision", 453650672},
        {"radio", 651727360},
        {"regnet", 19559834},
        {"resnet", 23512130},
        {"rf_detr", 31928324},
        {"rf_detr_dinov2", 85725696},
        {"rt_detr", 42731082},
        {"rt_detr_resnet", 23527264},
        {"rt_detr_v2", 42731082},
        {"sam", 93735728},
        {"sam2", 31440721},
        {"sam2_hiera_det_model", 26849472},
        {"sam2_video", 31440721},
        {"sam2_vision_model", 27219136},
        {"sam3_tracker", 458260369},
        {"sam3_vision_model", 454038784},
        {"sam3_vit_model", 446236672},
        {"sam_hq_vision_model", 89670912},
        {"sam_vision_model", 89670912},
        {"sapiens2", 395450368},
        {"seamless_m4t", 1526945088},
        {"seamless_m4t_v2", 1501842240},
        {"sew", 93221024},
        {"sew-d", 93614240},
        {"siglip", 203155970},
        {"siglip2", 203202050},
        {"siglip2_vision_model", 92930304},
        {"siglip_vision_model", 92884224},
        {"smolvlm", 6909685760},
        {"smolvlm_vision", 152395776},
        {"speech-encoder-decoder", 232252858},
        {"speech_to_text", 29536256},
        {"step3_vl", 318194613760},
        {"step3p7", 197824847872},
        {"superpoint", 1300865},
        {"swiftformer", 3034244},
        {"swin", 27520892},
        {"swin2sr", 12091571},
        {"swinv2", 27579692},
        {"table-transformer", 41502407},
        {"textnet", 10705858},
        {"timesformer", 121260290},
        {"tipsv2", 195948289},
        {"tipsv2_vision_model", 86316288},
        {"unispeech", 94396320},
        {"unispeech-sat", 94396320},
        {"univnet", 14789153},
        {"upernet", 66382916},
        {"vibevoice_acoustic_tokenizer", 687392001},
        {"vibevoice_acoustic_tokenizer_decoder", 175793409},
        {"vibevoice_acoustic_tokenizer_encoder", 343696032},
        {"video_llama_3", 12155424000},
        {"video_llama_3_vision", 85646592},
        {"videomae", 86228738},
        {"vilt", 112782338},
        {"vipllava", 7079690240},
        {"vision-encoder-decoder", 224270394},
        {"vision-text-dual-encoder", 196657921},
        {"visual_bert", 110895164},
        {"vit", 85800194},
        {"vit_mae", 111907840},
        {"vit_msn", 85800194},
        {"vitdet", 85796352},
        {"vitpose", 85808642},
        {"vitpose_backbone", 85794816},
        {"vivit", 88647938},
        {"vjepa2", 325971328},
        {"voxtral", 4676271104},
        {"voxtral_encoder", 636968960},
        {"voxtral_realtime", 4429679360},
        {"voxtral_realtime_encoder", 970395392},
        {"wav2vec2", 94396320},
        {"wavlm", 94406544},
        {"whisper", 37760640},
        {"xclip_vision_model", 122909952},
        {"yolos", 104947975},
        {"chmv2", 336901376},
        {"hy_v4_vl", 771142515869},
        {"hy_v4_vl_vision", 1235126784},
        {"lw_detr_vit", 85805568},
        {"omniasr_ctc", 325982768},
        {"sam_hq", 94806832},
        {"tipsv2_dpt", 110244032},
        {"glm_image", 10114245632},
        {"glm_image_vision", 1159607808},
        {"granite_speech5_encoder", 472928256},
        {"granite_speech5_ctc", 472928256},
    };
    std::size_t number = 0;
    for (const auto& [type, count] : parameters) {
        if (skipped_when_sanitized(number++, 10)) {
            continue;
        }
        INFO(type);
        CHECK(floptally::read_config(json{{"model_type", type}}).cost.parameters() == count);
    }
    CHECK(error_of([] {
              return floptally::read_config(json{{"model_type", "sew-d"}, {"use_weighted_layer_sum", true}});
          }) == "use_weighted_layer_sum: is not supported for model_type sew-d; must be false or absent, got true");
    // Its class has an adapter of another width than its text's.
    CHECK(floptally::read_config(json{{"model_type", "molmo2"}, {"adapter_config", {{"text_hidden_size", 4096}}}})
              .cost.parameters() == 8704301520);
    // The classes of these have no default vocabulary.
    for (const auto& [type, bare, count] :
         {std::tuple{"wav2vec2-conformer", "Wav2Vec2ConformerModel", std::uint64_t{179730304}},
          std::tuple{"wav2vec2-bert", "Wav2Vec2BertModel", std::uint64_t{580493120}}}) {
        const json config{{"model_type", type}, {"architectures", {bare}}, {"vocab_size", nullptr}};
        CHECK(floptally::read_config(config).cost.parameters() == count);
    }
    for (const std::string_view type : floptally::known_model_types()) {
        if (skipped_when_sanitized(number++, 10)) {
            continue;
        }
        // Remote code: published.json. Two classes cannot be built from their defaults: a talker, a control.
        if (type == "floptally" || type == "kimi_vl" || type == "qwen3_omni_moe" || type == "ControlNetUnionModel") {
            continue;
        }
        json config{{"model_type", type}};
        for (const char* key : {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads"}) {
            config[key] = 64;  // remote code has no defaults
        }
        INFO(type);
        try {
            if (floptally::read_config(config).cost.masks().has_towers()) {
                CHECK((parameters.count(type) == 1 || type.starts_with("wav2vec2-") || type == "molmo2"));
            }
        } catch (const floptally::error&) {
            // a type whose sizes are not of these names: not one with towers, or it is listed
        }
    }
}

TEST_CASE(
    "the number of placeholder tokens in the text equals the number of tokens that the vision or audio tower outputs") {
    struct row {
        std::string config;
        std::vector<floptally::grid> grids;
        std::uint64_t placeholders;
    };
    const std::string clip = R"("vision_config": {"image_size": 28, "patch_size": 7})";
    const std::string siglip =
        R"("vision_config": {"model_type": "siglip_vision_model", "image_size": 42, "patch_size": 7})";
    const floptally::grid image{1, 4, 4};
    const std::vector<row> rows{
        {R"({"model_type": "llava", )" + clip + "}", {image, image}, 32},
        {R"({"model_type": "llava", "vision_feature_select_strategy": "full", )" + clip + "}", {image, image}, 34},
        {R"({"model_type": "llava", "vision_feature_select_strategy": "full", )" + siglip + "}", {{1, 6, 6}}, 36},
        {R"({"model_type": "llava", "vision_feature_select_strategy": "full", "vision_config": {"model_type": "pixtral"}})",
         {{1, 3, 5}, {1, 2, 2}},
         19},
        {R"({"model_type": "llava_next", )" + clip + "}", {image, image}, 0},  // padding is cut out
        {R"({"model_type": "vipllava", "vision_feature_layer": -2, )" + clip + "}", {image, image}, 32},
        {R"({"model_type": "mistral3"})", {{1, 4, 6}, {1, 2, 8}}, 10},
        {R"({"model_type": "internvl", "downsample_ratio": 0.25})", {{1, 32, 32}}, 64},
        {R"({"model_type": "aya_vision", "downsample_factor": 3, )" + siglip + "}", {{1, 6, 6}}, 4},
        {R"({"model_type": "cohere2_vision", )" + siglip + "}", {{1, 6, 6}}, 9},
        {R"({"model_type": "lfm2_vl"})", {{1, 6, 4}, {1, 2, 2}}, 7},
        {R"({"model_type": "llama4", "vision_config": {"hidden_size": 1408, "vision_output_dim": 4096}})",
         {{1, 32, 32}},
         256},
        {R"({"model_type": "ovis2", "hidden_size": 4096, "vision_config": {"hidden_stride": 2}})", {{1, 16, 16}}, 64},
        {R"({"model_type": "paligemma", )" + siglip + "}", {{1, 6, 6}, {1, 6, 6}}, 72},
        {R"({"model_type": "gemma3", "mm_tokens_per_image": 4, )" + siglip + "}", {{1, 6, 6}, {1, 6, 6}}, 8},
        {R"({"model_type": "gemma4", "vision_config": {}})", {{1, 6, 9}, {1, 3, 3}}, 7},
    };
    for (const row& line : rows) {
        INFO(line.config);
        const floptally::model_config model = floptally::read_config(json::parse(line.config));
        floptally::tally batch{model.cost.masks()};
        for (const floptally::grid& grid : line.grids) {
            batch.add(grid);
        }
        CHECK(floptally::placeholder_tokens(model, batch) == line.placeholders);
    }
}

TEST_CASE(
    "video_llama_3 needs one placeholder token per patch because its config does not say that it merges patches") {
    const auto placeholders = [](const floptally::model_config& model, const floptally::grid& image) {
        floptally::tally batch{model.cost.masks()};
        batch.add(image);
        return floptally::placeholder_tokens(model, batch);
    };
    for (const char* const config : {R"({"model_type": "video_llama_3"})",
                                     R"({"model_type": "video_llama_3", "vision_config": {"patch_size": 7}})"}) {
        INFO(config);
        const floptally::model_config model = floptally::read_config(json::parse(config));
        CHECK(placeholders(model, {2, 3, 5}) == 30);
        floptally::tally batch{model.cost.masks()};
        floptally::model_input input;
        const std::vector<std::int64_t> short_text{29};
        input.grids.push_back({2, 3, 5});
        input.lengths.push_back({"lengths", floptally::integer_view(short_text)});
        CHECK(error_of([&] { floptally::add_input(input, model, batch); }) ==
              "lengths: must include the 30 placeholder tokens of images and sound, got 29 tokens");
        const std::vector<std::int64_t> text{30};
        input.lengths.front() = {"lengths", floptally::integer_view(text)};
        floptally::add_input(input, model, batch);
        CHECK(batch.get(floptally::view::useful, floptally::accumulator::tokens) == 30);
    }
    // Pooled after the last product: no row is over the units that the text has tokens for.
    const std::string pooling =
        "spec pooling : llava\nvision_units = merged(3)\nvision_per_unit = 1\nvision_per_frame = 0\n";
    const floptally::model_config model = floptally::read_config(
        json::parse(R"({"model_type": "pooling", "vision_config": {"image_size": 42, "patch_size": 7}})"),
        {.specs = {pooling}});
    CHECK(placeholders(model, {1, 6, 9}) == 6);
    floptally::model_config two = model;
    two.cost = model.cost + model.cost;
    CHECK(placeholders(two, {1, 6, 9}) == 6);
}

TEST_CASE("an audio model without a text model needs no placeholder tokens") {
    const floptally::model_config model =
        floptally::read_config(json::parse(R"({"model_type": "qwen2_5_omni_audio_encoder"})"));
    floptally::model_input input;
    const std::vector<std::int64_t> frames{53, 37};
    input.audio_frames = floptally::integer_view(frames);
    floptally::tally batch{model.cost.masks()};
    floptally::add_input(input, model, batch);
    CHECK(batch.get(floptally::view::useful, floptally::accumulator::tokens, floptally::modality::audio) == 90);
    CHECK(floptally::placeholder_tokens(model, batch) == 0);
}

TEST_CASE("a note on how a vision tower is counted appears only once") {
    const floptally::model_config model = floptally::read_config(
        json::parse(R"({"model_type": "video_llama_3", "architectures": ["VideoLlama3ForConditionalGeneration"]})"));
    CHECK(notes_but_sizes(model) ==
          std::vector<std::string>{"the projector is counted for every patch: merge_sizes of 1, as of images"});
}

TEST_CASE("glmasr has one token for every four frames after its convolutions") {
    const floptally::model_config model = floptally::read_config(json::parse(R"({"model_type": "glmasr"})"));
    floptally::tally batch{model.cost.masks()};
    batch.add(floptally::audio_clip{800});
    CHECK(floptally::placeholder_tokens(model, batch) == 800 / 2 / 4);
}

}  // namespace tower_types_test
