// SPDX-License-Identifier: Apache-2.0
//
// Models with towers over ranks: scopes of images beside those of text, the work of one rank, modules.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/count/trained_parameters.hpp>
#include <floptally/descriptors/hstu.hpp>
#include <floptally/floptally.hpp>
#include <floptally/json.hpp>
#include <floptally/parallel/context_parallel.hpp>
#include <floptally/parallel/rank_work.hpp>
#include <floptally/parallel/reduction.hpp>
#include <floptally/step/module_utilization.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "layouts.hpp"
#include "sanitized.hpp"
#include "thread_world.hpp"

namespace tower_parallel_test {
namespace {

using namespace floptally;

nlohmann::json llava_config() {
    return nlohmann::json::parse(R"({
        "model_type": "llava", "architectures": ["LlavaForConditionalGeneration"], "image_token_index": 7,
        "text_config": {"model_type": "llama", "vocab_size": 104, "hidden_size": 48, "intermediate_size": 64,
                        "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 4},
        "vision_config": {"model_type": "clip_vision_model", "hidden_size": 32, "num_hidden_layers": 3,
                          "num_attention_heads": 4, "intermediate_size": 48, "image_size": 21, "patch_size": 7,
                          "num_channels": 2}})");
}
const model_config& llava() {
    static const model_config model = read_config(llava_config());
    return model;
}

/// Windows, grids of any size and a merger.
const model_config& qwen() {
    static const model_config model = read_config(nlohmann::json::parse(R"({
        "model_type": "qwen2_5_vl", "architectures": ["Qwen2_5_VLForConditionalGeneration"],
        "text_config": {"vocab_size": 104, "hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 4,
                        "num_attention_heads": 8, "num_key_value_heads": 4,
                        "rope_parameters": {"rope_type": "default", "mrope_section": [1, 1, 1]}},
        "vision_config": {"depth": 3, "in_channels": 2, "patch_size": 3, "spatial_merge_size": 2,
                          "temporal_patch_size": 2, "num_heads": 4, "hidden_size": 32, "intermediate_size": 48,
                          "out_hidden_size": 48, "window_size": 12, "fullatt_block_indexes": [1]},
        "image_token_id": 7, "video_token_id": 8, "vision_start_token_id": 9, "vision_end_token_id": 10})"));
    return model;
}

const model_config& vit() {
    static const model_config model = read_config(nlohmann::json::parse(R"({
        "model_type": "vit", "architectures": ["ViTForImageClassification"], "hidden_size": 32,
        "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 48, "image_size": 21, "patch_size": 7,
        "num_channels": 2})"));
    return model;
}

/// One sample of a batch: a text with as many images as it likes.
struct sample {
    std::uint32_t length;
    std::vector<grid> images;
};

std::vector<sample> random_batch(std::mt19937_64& random, std::size_t samples) {
    std::vector<sample> batch;
    for (std::size_t i = 0; i < samples; ++i) {
        sample element{static_cast<std::uint32_t>(random() % 900 + 1), {}};
        for (std::uint64_t images = random() % 5; images > 2; --images) {
            const auto side = [&random] { return static_cast<std::uint32_t>(2 * (random() % 6 + 1)); };
            element.images.push_back({static_cast<std::uint32_t>(random() % 3 + 1), side(), side()});
        }
        batch.push_back(element);
    }
    return batch;
}

void add(tally& to, const sample& sample_of_rank, bool text, bool images) {
    if (text) {
        to.add(sequence{sample_of_rank.length}, sequence{sample_of_rank.length + 8});
    }
    for (const grid& image : sample_of_rank.images) {
        if (images) {
            to.add(image, grid{image.t, image.h + 2, image.w});
        }
    }
}

/// A way to shard images, beside a text that all ranks of a replica have.
struct image_sharding {
    statistic_scope scope;
    bool over_cp = false;
    bool on_first_stage = false;
};

const image_sharding dealings[] = {{.scope = scopes::microbatch},
                                   {.scope = scopes::first_stage, .on_first_stage = true},
                                   {.scope = scopes::context_slice, .over_cp = true},
                                   {.scope = scopes::first_stage.along(parallel_axis::cp, placement::sharded),
                                    .over_cp = true,
                                    .on_first_stage = true}};

/// The counts of a rank: samples are sharded to dp in turn, and those images to cp whose number says so.
tally counted_on(const parallel_layout& layout, const image_sharding& how, const std::vector<sample>& batch) {
    const parallel_coordinates where = layout.coordinates();
    tally mine{qwen().cost.masks()};
    for (std::size_t i = 0; i < batch.size(); ++i) {
        const bool images = (!how.over_cp || i / layout.sizes().dp % layout.sizes().cp == where.cp) &&
                            (!how.on_first_stage || where.pp == 0);
        if (i % layout.sizes().dp == where.dp) {
            add(mine, batch[i], true, images);
        }
    }
    return mine;
}

tally whole_of(const mask_set& masks, const std::vector<sample>& batch) {
    tally all{masks};
    for (const sample& item : batch) {
        add(all, item, true, true);
    }
    return all;
}

/// Each rank's end where the images are sharded one way and declared another.
std::vector<std::string> ends_of(const parallel_sizes& sizes, const tally_scope& declared, const image_sharding& real,
                                 axis_set group = every_axis) {
    std::mt19937_64 random(5);
    const std::vector<sample> batch = random_batch(random, 9);
    const tally all = whole_of(qwen().cost.masks(), batch);
    thread_world world;
    return thread_world::run(world_of(sizes), [&](std::uint64_t rank) {
        const parallel_layout here(sizes, world_of(sizes), rank);
        const auto over = world.over(here, group);
        const tally_reduction reduction(qwen().cost.masks(), declared, here, over, std::nullopt);
        thread_world::expect(reduction.sum(counted_on(here, real, batch), over) == all, "the sum is that of all");
    });
}

bool all_are(const std::vector<std::string>& ends, const std::string& text) {
    return std::all_of(ends.begin(), ends.end(), [&](const std::string& end) { return end == text; });
}

}  // namespace

TEST_CASE("text and image counts are bit-identical for every layout with separate scopes") {
    std::mt19937_64 random(3);
    const mask_set masks = qwen().cost.masks();
    CHECK(masks.size() != 0);
    bool without_images = false;
    for (const parallel_sizes& sizes : layouts_up_to(is_sanitized ? 4 : 16)) {
        const std::vector<sample> batch = random_batch(random, 7);
        const tally all = whole_of(masks, batch);
        for (const image_sharding& how : dealings) {
            const tally_scope scope = tally_scope(scopes::microbatch).with(modality::vision, how.scope);
            const parallel_layout layout(sizes, world_of(sizes), 0);
            std::vector<std::uint64_t> sums;
            for (std::uint64_t rank = 0; rank < layout.world_size(); ++rank) {
                const tally mine = counted_on(layout.at(rank), how, batch);
                without_images = without_images || mine.get(view::useful, accumulator::count, modality::vision) == 0;
                const verified_sum sum(layout.at(rank), detail::scoped_accumulators(tally{masks}, scope));
                const std::vector<std::uint64_t> sent = sum.message(mine.accumulators());
                sums.resize(sent.size(), 0);
                std::transform(sent.begin(), sent.end(), sums.begin(), sums.begin(), std::plus<>());
            }
            const verified_sum sum(layout, detail::scoped_accumulators(tally{masks}, scope));
            REQUIRE(tally::from_accumulators(masks, sum.globals(sums)) == all);
        }
    }
    CHECK(without_images);
}

TEST_CASE("a scope that is wrong only for images is an error on every rank, and the error names the images") {
    const parallel_sizes sizes{.dp = 2, .cp = 2, .tp = 2, .pp = 2};
    const auto declared = [](const statistic_scope& images) {
        return tally_scope(scopes::microbatch).with(modality::vision, images);
    };
    for (const image_sharding& how : dealings) {
        CHECK(all_are(ends_of(sizes, declared(how.scope), how), "no error"));
    }
    // Images that are sharded over cp, declared as the text is.
    const std::vector<std::string> sharded = ends_of(sizes, scopes::microbatch, dealings[2]);
    CHECK(all_are(sharded, sharded[0]));
    CHECK(
        sharded[0] ==
        "vision.count: is declared replicated over pp, but the sum, 9, is not a multiple of 2, the number of replicas; "
        "declare it sharded if each rank holds a part");
    // On the first stage only, declared on all: a stage has nothing where another one counted.
    const std::vector<std::string> first = ends_of(sizes, scopes::microbatch, dealings[1]);
    CHECK(all_are(first, first[0]));
    CHECK(
        first[0] ==
        "vision.count: is declared replicated over pp, but the sum, 9, is not a multiple of 2, the number of replicas; "
        "declare it sharded if each rank holds a part");
    // On all stages, declared on the first: the others refuse with what they counted.
    const std::vector<std::string> all = ends_of(sizes, declared(scopes::first_stage), dealings[0]);
    const std::string refusal = "vision.count: exists on the first rank of pp only, but rank 1 of 2 counted ";
    const auto refuses = [&refusal](const std::string& end) { return end.substr(0, refusal.size()) == refusal; };
    CHECK(std::count_if(all.begin(), all.end(), refuses) == 4);  // one of two replicas has no image
    CHECK(std::count(all.begin(), all.end(), "sum: 4 ranks failed: look at the errors of those ranks") == 12);
    // A group that is right for the text lacks parts of the images.
    const tally_scope trusting = tally_scope(scopes::microbatch.trusting_replicas())
                                     .with(modality::vision, scopes::context_slice.trusting_replicas());
    CHECK(
        all_are(ends_of(sizes, trusting, dealings[2], parallel_axis::dp),
                "vision.count: is sharded over cp, but the sum is over dp and contains 1 of 2 parts: sum over cp too"));
    CHECK(all_are(ends_of(sizes, trusting, dealings[2], parallel_axis::dp | parallel_axis::cp), "no error"));
    // The pairs of a mask, and one fixed statistic.
    const tally_scope pairs = declared(scopes::context_slice).with(accumulator::pairs, {}, modality::vision);
    CHECK(all_are(ends_of(sizes, pairs, dealings[2]), "pairs " + qwen().cost.masks()[0].name() +
                                                          ": is declared replicated over cp, but its 2 ranks hold "
                                                          "different values; declare it sharded if each holds a part"));
    CHECK(qwen().cost.masks()[0].name().substr(0, 7) == "vision.");
    const tally_scope tokens = declared(scopes::context_slice).with(accumulator::tokens, {}, modality::vision);
    CHECK(all_are(ends_of(sizes, tokens, dealings[2]),
                  "vision.tokens: is declared replicated over cp, but its 2 ranks hold different values; declare it "
                  "sharded if each holds a part"));
    // No sum can show it, so that it is found before the first step: every rank of cp loads the same images.
    const parallel_layout layout(sizes, 16, 0);
    CHECK(error_of([&] {
              declared(scopes::context_slice).require_parts(accumulator::count, layout, 2, modality::vision);
          }) ==
          "scope: vision.count is declared in 4 shards, but the data loader returns 2 different batches: "
          "declare it replicated "
          "where ranks load the same samples");
    CHECK(error_of([&] { declared(scopes::context_slice).require_parts(accumulator::count, layout, 2); }) ==
          "no error");
    // Ranks that disagree on the images' scope alone.
    thread_world world;
    CHECK(all_are(thread_world::run(2,
                                    [&](std::uint64_t rank) {
                                        const parallel_layout here({.dp = 2}, 2, rank);
                                        const auto over = world.over(here, every_axis);
                                        const statistic_scope images =
                                            rank == 0 ? scopes::microbatch : scopes::first_stage;
                                        static_cast<void>(tally_reduction(qwen().cost.masks(), declared(images), here,
                                                                          over, std::nullopt));
                                    }),
                  "scope: the ranks have different values, so nothing was added up: configure all ranks alike"));
}

TEST_CASE("a scope for a tower that the model does not have is ignored") {
    // A model of images alone: no text of which a part could be missing.
    const mask_set masks = vit().cost.masks();
    const tally_scope scope =
        tally_scope(scopes::context_slice).with(modality::vision, scopes::microbatch.trusting_replicas());
    tally expected{masks};
    for (const std::uint32_t t : {2U, 5U}) {
        expected.add(grid{t, 3, 3});
    }
    thread_world world;
    CHECK(all_are(thread_world::run(8,
                                    [&](std::uint64_t rank) {
                                        const parallel_layout here({.dp = 2, .cp = 2, .pp = 2, .vpp = 2}, 8, rank);
                                        const auto over = world.over(here, parallel_axis::dp);
                                        microbatch_tally mine(masks);
                                        mine.microbatch().add(grid{here.coordinates().dp == 0 ? 2U : 5U, 3, 3});
                                        const tally sum =
                                            reduce(mine.all(), scope, here, over, mine.visits(1), std::nullopt);
                                        thread_world::expect(sum == expected, "the images of both replicas");
                                    }),
                  "no error"));
    const parallel_layout layout({.dp = 3}, 3, 0);
    single_rank alone;
    tally mine{masks};
    mine.add(grid{1, 3, 3});
    const tally_reduction reduction(masks, scope, layout, alone, std::nullopt);
    CHECK(reduction.scaled(mine, equal_lengths).get(view::useful, accumulator::tokens, modality::vision) == 27);
}

namespace {

// ---- the work of one rank ----

/// Texts with images of the size that a model takes; a replica without images is among four.
tally images_of(const mask_set& masks, std::uint64_t which) {
    tally own{masks};
    const bool any_size = std::any_of(masks.begin(), masks.end(), [](const mask& m) { return !m.is_polynomial(); });
    const std::uint32_t side = any_size ? 12 : 3;
    for (std::uint32_t i = 0; i < which % 4; ++i) {
        own.add(grid{i + 1, side, side}, grid{i + 3, side, side});
    }
    for (std::uint32_t i = 0; masks.has(modality::text) && i < which + 2; ++i) {
        own.add(sequence{31 * i + 7}, sequence{31 * i + 16});
    }
    return own;
}

/// All ranks, those of dp x cp with batches of their own, against the model over all batches.
void check_sum(const std::vector<model_part>& model, const parallel_sizes& sizes, const rank_options& options,
               const convention& how, const training_plan& plan) {
    const flop_counter whole(model, how, plan);
    breakdown all_ranks;
    tally all{whole.masks()};
    for (std::uint64_t rank = 0; rank < world_of(sizes); ++rank) {
        const parallel_layout layout(sizes, world_of(sizes), rank);
        const parallel_coordinates where = layout.coordinates();
        const tally own = images_of(whole.masks(), where.dp * sizes.cp + where.cp);
        all_ranks += flop_counter(rank_parts(model, layout, options), how, plan).evaluate(own);
        if (where.tp == 0 && where.pp == 0) {
            all += own;
        }
    }
    const breakdown expected = whole.evaluate(all);
    INFO(how.name << ": dp " << sizes.dp << " cp " << sizes.cp << " tp " << sizes.tp << " pp " << sizes.pp);
    for (const component_flops& component : expected.components()) {
        INFO(component.name.view());
        for (const phase during : {phase::forward, phase::backward_data, phase::backward_weights}) {
            REQUIRE(all_ranks[component.name.view()].get(view::useful, during) == component.get(view::useful, during));
        }
    }
    REQUIRE(all_ranks.total() == expected.total());
}

training_plan frozen(std::string_view weights) {
    training_plan plan;
    plan.weights.push_back({.weights = weights, .state = weight_state::frozen}, "weights");
    return plan;
}

/// Only what stands between a tower and the text trains.
training_plan only(std::string_view weights) {
    training_plan plan = frozen("*");
    plan.weights.push_back({.weights = weights}, "weights");
    return plan;
}

flops of(const breakdown& work, std::string_view name, view seen = view::padded) {
    for (const component_flops& component_work : work.components()) {
        if (component_work.name.view() == name) {
            return component_work.get(seen, phase::forward);
        }
    }
    return {};
}

/// The matmuls of llava()'s tower on one of tp ranks, for one frame of 3 x 3 patches and its class token.
struct tower_work {
    std::uint64_t embedding = 0;
    std::uint64_t blocks = 0;
    std::uint64_t projector = 0;
};

tower_work one_frame(std::uint64_t tp) {
    const auto matmul = [](std::uint64_t m, std::uint64_t n, std::uint64_t k) { return 2 * m * n * k; };
    const std::uint64_t tokens = 9 + 1;
    tower_work sum;
    sum.embedding = matmul(9, 32, 2 * 7 * 7);  // a convolution that every rank has whole
    for (int layer = 0; layer < 3; ++layer) {
        for (int projection = 0; projection < 3; ++projection) {
            sum.blocks += matmul(tokens, 32 / tp, 32);
        }
        for (std::uint64_t head = 0; head < 4 / tp; ++head) {
            sum.blocks += matmul(tokens, tokens, 8) + matmul(tokens, 8, tokens);
        }
        sum.blocks += matmul(tokens, 32, 32 / tp);
        sum.blocks += matmul(tokens, 48 / tp, 32) + matmul(tokens, 32, 48 / tp);
    }
    sum.projector = matmul(9, 48 / tp, 32) + matmul(9, 48, 48 / tp);
    return sum;
}

constexpr training_plan forward_only{.counted = counted_passes::forward};

}  // namespace

TEST_CASE("a multimodal model's tower is not split over pipeline ranks but runs on the first or a chosen rank") {
    const std::vector<model_part>& model = llava().parts;
    CHECK(num_layers(model) == 4);
    CHECK(num_layers(vit().parts) == 4);
    const tally batch = images_of(llava().cost.masks(), 3);
    const breakdown whole = evaluate(model, batch);
    for (const std::uint64_t at : {0U, 1U, 3U}) {
        for (std::uint64_t rank = 0; rank < 4; ++rank) {
            const parallel_layout layout({.pp = 4}, 4, rank);
            const breakdown work = evaluate(rank_parts(model, layout, {.towers = {.vision = at}}), batch);
            for (const char* name : {"vision.blocks", "vision.patch_embedding", "vision.projector"}) {
                CHECK(of(work, name) == (rank == at ? of(whole, name) : flops{}));
            }
            CHECK(of(work, "mlp").value() * 4 == of(whole, "mlp").value());
        }
    }
    // A rank of its own: the text's layers are the others'.
    const rank_options own{.layers_of_chunks = {0, 2, 2}};
    const breakdown tower_alone = evaluate(rank_parts(model, {{.pp = 3}, 3, 0}, own), batch);
    CHECK(of(tower_alone, "vision.blocks") == of(whole, "vision.blocks"));
    CHECK(of(tower_alone, "mlp") == flops{});
    const auto stored = [&model](std::uint64_t rank) {
        return trained_parameters(rank_parts(model, {{.pp = 2}, 2, rank}), {}).stored;
    };
    CHECK(stored(0) + stored(1) == llava().cost.parameters());
    CHECK(error_of([&] {
              return rank_parts(model, {{.pp = 2}, 2, 0}, {.towers = {.vision = 2}});
          }) == "towers.vision: must be below pp, 2, got 2");
    // Without a text the tower is the model, and a pipeline cuts it.
    const tally images = images_of(vit().cost.masks(), 3);
    const breakdown half = evaluate(rank_parts(vit().parts, {{.pp = 2}, 2, 1}), images);
    CHECK(of(half, "mlp").value() * 2 == of(evaluate(vit().parts, images), "mlp").value());
}

TEST_CASE("useful FLOPs of all ranks add up to those of a multimodal model in every convention and plan") {
    training_plan again;
    again.recomputed = recompute::full;
    for (const model_config* model : {&llava(), &qwen(), &vit()}) {
        const bool has_text = model->cost.masks().has(modality::text);
        INFO(model->model_type);
        std::vector<training_plan> plans{{}, forward_only, again};
        if (has_text) {
            plans.push_back(frozen("vision.*"));
            plans.push_back(only(model == &llava() ? "vision.projector" : "vision.merger"));
            plans.push_back(only("vision.blocks/down_proj"));
        }
        for (const training_plan& plan : plans) {
            check_sum(model->parts, {.dp = 4, .tp = 2, .pp = 2}, {}, conventions::exact, plan);
            check_sum(model->parts, {.dp = 2, .cp = 2, .tp = 4, .pp = 4}, {.towers = {.vision = 3}}, conventions::exact,
                      plan);
            check_sum(model->parts, {.dp = 4, .tp = 2}, {.tensor = {.sequence_parallel = true}}, conventions::exact,
                      plan);
        }
        for (const convention* how : conventions::all) {
            if (how->parameters != counted_weights::stored) {
                check_sum(model->parts, {.dp = 4, .tp = 2, .pp = 2}, {}, *how, {});
            }
        }
    }
}

TEST_CASE("tp ranks of a tower run the matmuls of their sharded shapes") {
    const tally batch = images_of(llava().cost.masks(), 3);
    const auto frames = batch.get(view::padded, accumulator::count, modality::vision);
    CHECK(frames == 3 + 4 + 5);
    for (const std::uint64_t tp : {1U, 2U, 4U}) {
        const tower_work expected = one_frame(tp);
        for (std::uint64_t rank = 0; rank < tp; ++rank) {
            const breakdown work =
                evaluate(tensor_parts(llava().parts, tp, rank), batch, conventions::exact, forward_only);
            CHECK(of(work, "vision.patch_embedding") == flops{frames * expected.embedding});
            CHECK(of(work, "vision.blocks") == flops{frames * expected.blocks});
            CHECK(of(work, "vision.projector") == flops{frames * expected.projector});
        }
    }
    // A tower that a framework does not split, beside a text that it does.
    const tensor_options whole_tower{.splits = {{"vision.*", sharding_kind::replicated}}};
    const breakdown work =
        evaluate(tensor_parts(llava().parts, 4, 3, 1, whole_tower), batch, conventions::exact, forward_only);
    CHECK(of(work, "vision.blocks") == flops{frames * one_frame(1).blocks});
    CHECK(of(work, "vision.projector") == flops{frames * one_frame(1).projector});
    CHECK(of(work, "mlp").value() * 4 == of(evaluate(llava().parts, batch), "mlp").value());
    // A split of a text's component is none of the tower's.
    const tensor_options whole_mlp{.splits = {{"mlp", sharding_kind::replicated}}};
    CHECK(of(evaluate(tensor_parts(llava().parts, 4, 3, 1, whole_mlp), batch), "vision.blocks") ==
          flops{frames * one_frame(4).blocks});
}

TEST_CASE("a tower that tensor parallelism cannot divide is an error with the tower's name") {
    const auto split = [](const char* key, std::uint64_t value, std::uint64_t tp) {
        nlohmann::json config = llava_config();
        config["vision_config"][key] = value;
        return error_of([&] { return tensor_parts(read_config(config).parts, tp, 0); });
    };
    CHECK(split("num_attention_heads", 4, 4) == "no error");
    CHECK(split("num_attention_heads", 2, 4) ==
          "vision.num_attention_heads: must be a multiple of tp (4), got 2 (vision.blocks/q_proj)");
    CHECK(split("intermediate_size", 50, 4) ==
          "vision.intermediate_size: must be a multiple of tp (4), got 50 (vision.blocks/up_proj)");
    CHECK(error_of([] { return tensor_parts(qwen().parts, 8, 0); }) ==
          "vision.num_attention_heads: must be a multiple of tp (8), got 4 (vision.blocks/qkv_proj)");
    cost own;
    own.add("vision.resampler", linear{.in_features = 8, .out_features = 8, .weight = "query"});
    const std::vector<model_part> model{{.name = "vision", .role = part_role::tower, .cost = own.in(modality::vision)}};
    CHECK(error_of([&] { return tensor_parts(model, 2, 0); }) ==
          "vision.resampler/query: it is unknown how tensor parallelism splits this weight: set linear::sharding of "
          "the weight, or name the weight in tensor_options::splits");
    CHECK(error_of([&] {
              return tensor_parts(model, 2, 0, 1, {.splits = {{"vision.resampler/query", sharding_kind::columns}}});
          }) == "no error");
}

TEST_CASE("any number of prefix tokens of a tower is sharded like the tower's patches") {
    const gqa attention{.num_heads = 4, .num_kv_heads = 4, .head_dim = 8, .fused_qkv = true};
    const cost layer = attention.cost({.hidden_size = 32, .attends = mask::bidirectional()});
    for (const std::uint64_t prefix : {1U, 4U, 5U}) {
        const cost blocks = layer.with_prefix_tokens(prefix).in(modality::vision).renamed([](const component_name&) {
            return component_name("vision.blocks");
        });
        const std::vector<model_part> model{
            {.name = "vision", .role = part_role::tower, .cost = blocks, .first_layer = 0}};
        tally batch{blocks.masks()};
        batch.add(grid{2, 3, 5});
        const uint128 quarter = evaluate(model, batch).total().value() / 4;
        for (std::uint64_t rank = 0; rank < 4; ++rank) {
            CHECK(evaluate(tensor_parts(model, 4, rank), batch).total(view::padded) == flops{quarter});
        }
        CHECK(error_of([&] { return tensor_parts(model, 3, 0); }) ==
              "vision.num_attention_heads: must be a multiple of tp (3), got 4 (vision.blocks/qkv_proj)");
    }
}

TEST_CASE("HSTU layers are sharded by heads, and their MLPs are replicated") {
    hstu model{.hidden_size = 12,
               .num_layers = 4,
               .layer = {.num_heads = 4, .attention_dim = 6, .linear_dim = 10, .output_blocks = 3}};
    model.preprocessing[0] = {.input_size = 14, .layer_sizes = {18, 12}};
    model.prediction[0] = {.layer_sizes = {10, 3}, .rows = hstu_rows::targets};
    const std::vector<model_part> stages = parts_of(model);
    tally batch{model.cost().masks()};
    batch.add(sequence{.length = 21, .targets = 5, .target_group = 1});
    batch.add(sequence{.length = 9});
    const auto total = [](std::uint64_t m, std::uint64_t n, std::uint64_t k) { return flops{2 * m * n * k}; };
    const std::uint64_t pairs = batch.pairs(view::useful, mask::hstu());
    const breakdown whole = evaluate(stages, batch, conventions::exact, forward_only);
    for (const std::uint64_t tp : {1U, 2U, 4U}) {
        breakdown sum;
        for (std::uint64_t rank = 0; rank < 2 * tp; ++rank) {
            const parallel_layout layout({.tp = tp, .pp = 2}, 2 * tp, rank);
            const breakdown work = evaluate(rank_parts(stages, layout), batch, conventions::exact, forward_only);
            const std::uint64_t heads = 2 * 4 / tp;  // of two layers
            CHECK(of(work, "hstu.uvqk") == total(30, 12, heads * (10 + 10 + 6 + 6)));
            CHECK(of(work, "hstu.qk") == total(pairs, heads, 6));
            CHECK(of(work, "hstu.pv") == total(pairs, heads, 10));
            CHECK(of(work, "hstu.output") == total(30, 3 * heads * 10, 12));
            const bool first = layout.coordinates().pp == 0;
            CHECK(of(work, "hstu.preprocessing") == (first ? total(30, 18, 14 + 12) : flops{}));
            CHECK(of(work, "hstu.prediction") == (first ? flops{} : total(5, 10, 12 + 3)));
            sum += work;
        }
        CHECK(sum.total() == whole.total());
    }
    CHECK(error_of([&] { return tensor_parts(stages, 8, 0); }) ==
          "num_attention_heads: must be a multiple of tp (8), got 4 (hstu.uvqk/uvqk_proj)");
    // With a residual or without, its rows say how many heads there are.
    model.layer.residual = false;
    CHECK(error_of([&] { return tensor_parts(parts_of(model), 7, 0); }) ==
          "num_attention_heads: must be a multiple of tp (7), got 4 (hstu.uvqk/uvqk_proj)");
}

TEST_CASE(
    "FLOPs of the tower and the text model of one config, counted as separate modules, add up to those of the model") {
    const tally batch = images_of(llava().cost.masks(), 3);
    const std::vector<model_part>& model = llava().parts;
    for (const training_plan& plan :
         {training_plan{}, frozen("vision.*"), only("vision.projector"), only("vision.*")}) {
        const breakdown whole = evaluate(model, batch, conventions::exact, plan);
        const breakdown vision = evaluate(parts_of(model, modality::vision), batch, conventions::exact, plan);
        const breakdown text = evaluate(parts_of(model, modality::text), batch, conventions::exact, plan);
        for (const view seen : {view::useful, view::padded, view::executed}) {
            CHECK(vision.total(seen) + text.total(seen) == whole.total(seen));
        }
        for (const component_flops& component : whole.components()) {
            const bool in_tower = component.name.view().substr(0, 7) == "vision.";
            const breakdown& module = in_tower ? vision : text;
            for (const phase during : {phase::forward, phase::backward_data, phase::backward_weights}) {
                CHECK(module[component.name.view()].get(view::useful, during) == component.get(view::useful, during));
            }
        }
        CHECK(vision.components().size() + text.components().size() == whole.components().size());
        CHECK(evaluate(parts_of(model, modality::audio), batch, conventions::exact, plan).total() == flops{});
    }
    // A gradient on its way to a tower passes the frozen layers of the text, on the ranks of another module.
    const training_plan tower_trains = only("vision.*");
    const breakdown text = evaluate(parts_of(model, modality::text), batch, conventions::exact, tower_trains);
    CHECK(text.get(view::useful, phase::backward_data) != flops{});
    CHECK(text.get(view::useful, phase::backward_weights) == flops{});

    // A frozen tower in bf16 on two ranks, a text in fp8 on eight; two more ranks are idle.
    const training_plan plan = frozen("vision.*");
    const std::vector<step_module> modules{
        {.name = "vision",
         .ranks = {0, 1},
         .data_parallel_size = 2,
         .work = evaluate(parts_of(model, modality::vision), batch, conventions::exact, plan),
         .peak_tflops = 1e-6,
         .frozen = true},
        {.name = "language",
         .ranks = {2, 3, 4, 5, 6, 7, 8, 9},
         .data_parallel_size = 4,
         .work = evaluate(parts_of(model, modality::text), batch, conventions::exact, plan),
         .peak_tflops = 2e-6}};
    const module_utilization step = utilize(modules, {.seconds = 1024, .gpus = 12, .peak_tflops = 1e-6});
    const breakdown whole = evaluate(model, batch, conventions::exact, plan);
    CHECK(step.useful == whole.total());
    // Forward alone; real frames are 1 + 2 + 3.
    const tower_work frame = one_frame(1);
    const auto by_hand = static_cast<double>(6 * (frame.embedding + frame.blocks + frame.projector));
    CHECK(step.modules[0].mfu == Approx(by_hand / (1024 * 2 * 1e6)).epsilon(1e-14));
    CHECK(step.modules[0].ranks_per_replica == 1);
    CHECK(step.modules[1].ranks_per_replica == 2);
    const double text_work = to_double(whole.total()) - by_hand;
    CHECK(step.modules[1].mfu == Approx(text_work / (1024 * 8 * 2e6)).epsilon(1e-14));
    CHECK(step.mfu == Approx((by_hand + text_work) / (1024 * (2 * 1e6 + 8 * 2e6))).epsilon(1e-14));
    CHECK(step.allocated_mfu == Approx((by_hand + text_work) / (1024 * (4 * 1e6 + 8 * 2e6))).epsilon(1e-14));
    CHECK(step.mixed_precision_mfu == Approx((by_hand / 1e6 + text_work / 2e6) / (1024 * 10)).epsilon(1e-14));
    // A tower that is not frozen is found by the flag.
    std::vector<step_module> trained = modules;
    trained[0].work = evaluate(parts_of(model, modality::vision), batch);
    CHECK(error_of([&] {
              return utilize(trained, {.seconds = 1024, .gpus = 12, .peak_tflops = 1e-6});
          }).substr(0, 40) == "modules[0].frozen: \"vision\" is frozen, b");
}

TEST_CASE("modules with separate parallel layouts are split independently") {
    const tally batch = images_of(llava().cost.masks(), 3);
    const std::vector<model_part>& model = llava().parts;
    breakdown sum;
    for (std::uint64_t rank = 0; rank < 2; ++rank) {
        sum += evaluate(rank_parts(parts_of(model, modality::vision), {{.tp = 2}, 2, rank}), batch);
    }
    for (std::uint64_t rank = 0; rank < 32; ++rank) {  // tp of 8 is above the tower's four heads
        sum += evaluate(rank_parts(parts_of(model, modality::text), {{.tp = 8, .pp = 4}, 32, rank}), batch);
    }
    CHECK(sum.total() == evaluate(model, batch).total());
    CHECK(of(sum, "vision.blocks", view::useful) == of(evaluate(model, batch), "vision.blocks", view::useful));
}

TEST_CASE("context parallelism splits the text, and images are added by the ranks that process them") {
    mask_set masks = qwen().cost.masks();
    masks.find_or_add(mask::sliding_window(4).in(modality::vision), "masks");  // one that rows of a text have as well
    placed_sequences row;
    const std::vector<std::int32_t> cu_seqlens{0, 16, 64, 72};
    row.add_cu_seqlens(cu_seqlens, cu_seqlens);
    tally all{masks};
    all.add_cu_seqlens(cu_seqlens);
    const std::vector<grid> images{{1, 12, 6}, {3, 4, 4}, {2, 8, 12}};
    for (const grid& image : images) {
        all.add(image);
    }
    const context_parallel_pack ranks(row, token_split::zigzag(72, 4));
    tally sum{masks};
    for (std::uint64_t rank = 0; rank < 4; ++rank) {
        tally own = ranks.tally_of(rank, masks).total();
        for (const view seen : {view::useful, view::padded}) {
            for (const accumulator what : {accumulator::count, accumulator::tokens, accumulator::squares}) {
                CHECK(own.get(seen, what, modality::vision) == 0);
            }
            for (const statistic& m : masks) {
                CHECK((m.in() == modality::text || own.pairs(seen, m) == 0));
            }
        }
        for (std::size_t i = rank; i < images.size(); i += 4) {  // rank 3 has none
            own.add(images[i]);
        }
        sum += own;
    }
    CHECK(sum == all);
}

}  // namespace tower_parallel_test
