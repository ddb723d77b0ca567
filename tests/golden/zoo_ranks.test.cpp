// SPDX-License-Identifier: Apache-2.0
//
// Every config of the zoo on two ranks of each kind: their work adds up to the model's, or an error names what does not
// divide.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include <floptally/count/flop_counter.hpp>
#include <floptally/json.hpp>
#include <floptally/parallel/rank_work.hpp>

#include "catch2.hpp"
#include "sanitized.hpp"
#include "some_image.hpp"

namespace zoo_ranks_test {
namespace {

using namespace floptally;
using nlohmann::json;

/// Compares the useful FLOPs of all ranks with the model's; the field of the error where it cannot be split.
std::string field_of_error(const model_config& model, const parallel_sizes& sizes, const rank_options& options) {
    const flop_counter whole(model.parts);
    tally batch{whole.masks()};
    for (const std::uint32_t length : {5U, 12U, 300U}) {
        if (whole.masks().has(modality::text)) {
            batch.add(sequence{.length = length, .keys = length + 3});
        }
        if (whole.masks().has(modality::vision)) {
            batch.add(some_image(whole.masks(), length % 2 + 1));
        }
        if (whole.masks().has(modality::audio)) {
            batch.add(audio_clip{8 * length});
        }
    }
    const std::uint64_t world = sizes.tp * sizes.pp;
    breakdown sum;
    try {
        for (std::uint64_t rank = 0; rank < world; ++rank) {
            sum += evaluate(rank_parts(model.parts, {sizes, world, rank}, options), batch);
        }
    } catch (const error& problem) {
        return std::string(problem.field());
    }
    const breakdown work = whole.evaluate(batch);
    for (const component_flops& component : work.components()) {
        for (const phase during : {phase::forward, phase::backward_data, phase::backward_weights}) {
            CHECK(sum[component.name.view()].get(view::useful, during) == component.get(view::useful, during));
        }
    }
    CHECK(sum.total() == whole.total_flops(batch));
    return {};
}

}  // namespace

TEST_CASE("two ranks of every tested model split the model's work, or an error says why the work cannot be split") {
    // Parts that have no rule of splitting, since no framework that we know splits them, and sizes that are odd;
    // embeddings and heads of diffusion models and of series among them.
    const std::set<std::string> known{"actions/state_proj",
                                      "adapter",
                                      "altup",
                                      "atoms.embedding",
                                      "atoms.tokens",
                                      "attention.convolution",
                                      "attention.global",
                                      "attention.keys_kept",
                                      "attention.landmarks",
                                      "attention.positions",
                                      "attention.qkv",
                                      "attention.to_mixer",
                                      "audio.blocks",
                                      "audio.intermediate_size",
                                      "audio.num_attention_heads",
                                      "audio.projector/embedding_projection",
                                      "audio.stem",
                                      "bottleneck",
                                      "control/embedding",
                                      "conv_in",
                                      "conv_in/space",
                                      "conv_pre",
                                      "convolution",
                                      "convolution/in",
                                      "cross_attention",
                                      "cross_attention/enc_to_dec_proj",
                                      "cross_attention/proj",
                                      "cross_attention/projection",
                                      "cross_mlp",
                                      "decoder.conv_in",
                                      "decoder.sampler/conv",
                                      "embedding",
                                      "embedding/contacts",
                                      "embedding/control",
                                      "embedding/embedding_projection",
                                      "embedding/img",
                                      "embedding/language",
                                      "embedding/pocket",
                                      "embedding/pose",
                                      "embedding/pre",
                                      "embedding/tokens",
                                      "embedding/txt",
                                      "embeddings/bbox_projection",
                                      "embeddings/input_embedding",
                                      "embeddings/value_projection",
                                      "embeddings/visn_fc",
                                      "exit_gate",
                                      "face.id",
                                      "head/class_predictor",
                                      "input_layernorm/fc1",
                                      "intermediate_size",
                                      "latents.attention/q",
                                      "layout/box_linear_embeddings",
                                      "lm_head",
                                      "lm_head/linear1",
                                      "lm_head/text_projection",
                                      "mel",
                                      "merger/proj_conv",
                                      "merger/projection",
                                      "merger/reduction",
                                      "message/fc",
                                      "mixer.convolution",
                                      "mixer.input",
                                      "mixer.state",
                                      "neck/fpn1",
                                      "num_attention_heads",
                                      "num_key_value_heads",
                                      "patch_embedding",
                                      "patch_embedding/conv1",
                                      "patch_embedding/first_convolution",
                                      "patch_embedding/stem1",
                                      "patches/input_layer",
                                      "patches/patcher",
                                      "per_layer_input",
                                      "picture/in",
                                      "pooler/text_model",
                                      "positions",
                                      "prefix/audio_enc_to_dec_proj",
                                      "prefix/enc_to_dec_proj",
                                      "prenet/layers.0",
                                      "proj_in",
                                      "projector/enc_to_dec_proj",
                                      "reader/token_learner",
                                      "shared_expert_intermediate_size",
                                      "stem/conv_stem",
                                      "time",
                                      "time/fps",
                                      "vision.blocks",
                                      "vision.blocks/conv1",
                                      "vision.blocks/q_proj",
                                      "vision.blocks/qkv_proj",
                                      "vision.blocks/reduction",
                                      "vision.head/conv",
                                      "vision.head/deconv1",
                                      "vision.intermediate_size",
                                      "vision.merger/projection",
                                      "vision.neck/conv1",
                                      "vision.neck/projection",
                                      "vision.neck/readout_projects",
                                      "vision.neck/sampling",
                                      "vision.neck/scale1",
                                      "vision.neck/stem_conv",
                                      "vision.num_attention_heads",
                                      "vision.num_key_value_heads",
                                      "vision.patch_embedding",
                                      "vision.patch_embedding/conv1",
                                      "vision.patch_embedding/conv_stem",
                                      "vision.patch_embedding/stem1",
                                      "vision.projector",
                                      "vision.projector/downsampler",
                                      "vision.projector/embedding_projection",
                                      "vision.projector/linear",
                                      "vision.projector/proj_conv",
                                      "vision.projector/quant_conv",
                                      "vision.projector/up_proj",
                                      "vision.projector/vision_embed_tokens",
                                      "xpath/xpath_unitseq2_inner"};
    std::set<std::string> seen;
    std::set<std::string> refused;
    std::size_t asked = 0;  // without models of diffusion, which frameworks hardly split
    std::size_t split = 0;
    std::size_t number = 0;
    for (const auto& entry : std::filesystem::directory_iterator(FLOPTALLY_GOLDEN_DIR "/zoo")) {
        if (entry.path().extension() != ".json") {
            continue;
        }
        std::ifstream file(entry.path());
        for (const json& report : json::parse(file)) {
            if (skipped_when_sanitized(number++, 5) || !seen.insert(report["config"].dump()).second) {
                continue;
            }
            const model_config model = read_config(report["config"], {.strict = false});
            INFO(report["config"].dump());
            if (std::any_of(model.cost.masks().begin(), model.cost.masks().end(),
                            [](const statistic& word) { return word.is_measured(); })) {
                continue;  // each rank has the visits of its own layers
            }
            const std::uint64_t layers = num_layers(model.parts);
            const rank_options halves{.layers_of_chunks = {layers / 2, layers - layers / 2}};
            CHECK(field_of_error(model, {.pp = 2}, halves) == "");
            rank_options whole_towers = halves;
            whole_towers.tensor.splits = {{"vision.*", sharding_kind::replicated},
                                          {"audio.*", sharding_kind::replicated}};
            std::string field = field_of_error(model, {.tp = 2, .pp = 2}, halves);
            if (field.substr(0, 7) == "vision." || field.substr(0, 6) == "audio.") {
                refused.insert(field);
                field = field_of_error(model, {.tp = 2, .pp = 2}, whole_towers);
            }
            if (!field.empty()) {
                refused.insert(field);
            }
            if (!report["config"].contains("_class_name")) {
                ++asked;
                split += field.empty() ? 1 : 0;
            }
        }
    }
    std::vector<std::string> unknown;
    std::set_difference(refused.begin(), refused.end(), known.begin(), known.end(), std::back_inserter(unknown));
    CHECK(unknown == std::vector<std::string>{});
    std::vector<std::string> unseen;
    std::set_difference(known.begin(), known.end(), refused.begin(), refused.end(), std::back_inserter(unseen));
    CHECK((is_sanitized || unseen == std::vector<std::string>{}));
    CHECK(split > asked * 11 / 20);
}

}  // namespace zoo_ranks_test
