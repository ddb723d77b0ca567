// SPDX-License-Identifier: Apache-2.0
//
// Bytes of requests in closed form against an engine that runs them step by step, each step counted by itself.

#include <cstdint>
#include <string>
#include <vector>

#include <floptally/batch/decoding.hpp>
#include <floptally/bytes/byte_counter.hpp>
#include <floptally/bytes/request_bytes.hpp>
#include <floptally/descriptors/latent_attention.hpp>
#include <floptally/descriptors/linear_attention.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/floptally.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace request_bytes_test {
namespace {

using namespace floptally;

template <class Model>
model_config config_of(const Model& model) {
    model_config config{.model_type = "test", .cost = model.cost(), .notes = {}, .parts = {}, .towers = {}};
    for (const model_part& part : parts_of(model)) {
        config.parts.push_back(part);
    }
    return config;
}

template <class Attention, class FeedForward>
model_config made_of(const Attention& attention, const FeedForward& feed_forward, const layer_masks& masks = {}) {
    return config_of(transformer<Attention, FeedForward>{.hidden_size = 32,
                                                         .num_layers = 3,
                                                         .attention = attention,
                                                         .feed_forward = feed_forward,
                                                         .vocab = {.size = 100},
                                                         .masks = masks});
}

const training_plan forward{.counted = counted_passes::forward, .logits = logit_tokens::last};

/// The bytes of an engine that runs all requests at once, a step after the other.
step_bytes step_by_step(const model_config& model, const std::vector<request>& requests, std::uint32_t chunk) {
    struct state {
        std::uint32_t computed;
        std::uint32_t end;  // of what is read
    };
    std::vector<state> running;
    for (const request& item : requests) {
        running.push_back({item.cached, item.prompt + (item.generated > 1 ? item.generated - 1 : 0)});
    }
    step_bytes sum;
    for (bool more = true; more;) {
        more = false;
        byte_counter step(model, forward);
        for (std::size_t i = 0; i < requests.size(); ++i) {
            state& now = running[i];
            if (now.computed == now.end) {
                continue;
            }
            const std::uint32_t prompt = requests[i].prompt;
            const std::uint32_t left = now.computed < prompt ? prompt - now.computed : 1;
            const std::uint32_t tokens = left < chunk ? left : chunk;
            step.add(listed_samples(std::vector<sequence>{{.length = tokens, .past = now.computed}}));
            now.computed += tokens;
            more = true;
        }
        if (more) {
            sum += step.count();
        }
    }
    return sum;
}

void check(const std::string& name, const model_config& model) {
    const std::vector<std::vector<request>> batches = {
        {{7, 5}}, {{1, 9}}, {{13, 1}, {4, 6}}, {{9, 12}, {9, 12, 8}, {20, 3, 5}, {2, 30}}, {{40, 0}}};
    for (const std::vector<request>& requests : batches) {
        for (const std::uint32_t chunk : {whole_prompt, 1U, 4U}) {
            const step_bytes expected = step_by_step(model, requests, chunk);
            const step_bytes counted = bytes_of_requests(model, requests, chunk, forward);
            INFO(name << ", " << requests.size() << " requests, chunks of " << chunk);
            REQUIRE(counted.components.size() == expected.components.size());
            for (const component_bytes& component : expected.components) {
                for (std::size_t kind = 0; kind < byte_kind_count; ++kind) {
                    const auto what = static_cast<byte_kind>(kind);
                    INFO(std::string(component.name.view()) << ", " << std::string(floptally::name(what)));
                    CHECK(flops{counted[component.name.view()].total(what)} == flops{component.total(what)});
                }
            }
            CHECK(counted.read_at_most == expected.read_at_most);
        }
    }
}

}  // namespace

TEST_CASE("the bytes of decoding requests equal the sum over their engine steps under every mask") {
    const gqa heads{.num_heads = 4, .num_kv_heads = 2, .head_dim = 8};
    const gated_mlp mlp{.intermediate_size = 64};
    check("causal", made_of(heads, mlp));
    for (const statistic& attends :
         {statistic(mask_statistics::band{4, 0}), statistic(mask_statistics::band{3, 2}),
          statistic(mask_statistics::chunked{5}), statistic(mask_statistics::top_k{6}),
          statistic(mask_statistics::compressed_keys{3}), statistic(mask_statistics::best_compressed_keys{3, 2}),
          statistic(mask_statistics::best_blocks{3, 2}), statistic(mask_statistics::best_pools{3, 2}),
          statistic(mask_statistics::prefix_lm{6})}) {
        check(attends.name(), made_of(heads, mlp, attends));
    }
}

TEST_CASE("each engine step reads at most as many experts as its tokens are routed to") {
    const gqa heads{.num_heads = 4, .num_kv_heads = 2, .head_dim = 8};
    const moe experts{.num_experts = 16, .num_experts_per_tok = 2, .intermediate_size = 16};
    const model_config model = made_of(heads, experts);
    check("moe", model);
    // 3 layers, each 2 experts a token of 3 · 32 · 16 weights: a prompt of 40 may visit all 16, 9 decoding steps 2
    // each.
    const std::vector<request> single_request{{40, 10}};
    const step_bytes moved = bytes_of_requests(model, single_request, whole_prompt, forward);
    CHECK(moved["moe.experts"].total(byte_kind::weights) == 2 * 3 * (16 + 9 * 2) * 3 * 32 * 16);
}

TEST_CASE("engine steps with an unchanged batch are counted as one group") {
    const std::vector<request> requests{{10, 4}, {3, 2}, {6, 4, 2}};
    const std::vector<equal_steps> steps = steps_of(requests, 4);
    // 4+4+2 of the first prompt in two runs, 3 and then decoding of the second, 4 and then decoding of the third.
    std::vector<std::vector<sequence>> seen;
    for (const equal_steps& now : steps) {
        for (std::uint32_t n = 0; n < now.steps; ++n) {
            std::vector<sequence>& step = seen.emplace_back();
            for (const pass_run& run : now.runs) {
                step.push_back(run.pass(n));
            }
        }
    }
    const std::vector<std::vector<sequence>> expected{
        {{.length = 4}, {.length = 3}, {.length = 4, .past = 2}},
        {{.length = 4, .past = 4}, {.length = 1, .past = 3}, {.length = 1, .past = 6}},
        {{.length = 2, .past = 8}, {.length = 1, .past = 7}},
        {{.length = 1, .past = 10}, {.length = 1, .past = 8}},
        {{.length = 1, .past = 11}},
        {{.length = 1, .past = 12}}};
    CHECK(seen == expected);
}

}  // namespace request_bytes_test
