// SPDX-License-Identifier: Apache-2.0
//
// What a rank sends in a step, against steps that are written down exchange by exchange and run on simulated ranks,
// which send element by element.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <floptally/bytes/communication_counter.hpp>
#include <floptally/descriptors/feed_forward.hpp>
#include <floptally/descriptors/latent_attention.hpp>
#include <floptally/descriptors/parts_of.hpp>
#include <floptally/descriptors/presets.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "simulated_ranks.hpp"

namespace communication_counter_test {
namespace {

using floptally::collective;
using floptally::communicated_bytes;
using floptally::communication;
using floptally::communication_of;
using floptally::communication_options;
using floptally::context_exchange;
using floptally::model_part;
using floptally::parallel_axis;
using floptally::parallel_layout;
using floptally::phase;
using floptally::tally;
using floptally::training_plan;
using floptally::transformer;
using floptally::zero_stage;
using simulated::tensor;

constexpr std::uint64_t hidden = 64;
constexpr std::uint64_t heads = 4;
constexpr std::uint64_t kv_heads = 2;
constexpr std::uint64_t head_dim = 12;
constexpr std::uint64_t inner = 96;
constexpr std::uint64_t vocabulary = 100;
constexpr std::uint64_t layers = 4;
constexpr std::uint64_t tokens = 24;  ///< of the rank

transformer<floptally::gqa, floptally::gated_mlp> small(bool fused = false) {
    return {.hidden_size = hidden,
            .num_layers = layers,
            .attention = {.num_heads = heads, .num_kv_heads = kv_heads, .head_dim = head_dim, .fused_qkv = fused},
            .feed_forward = {.intermediate_size = inner},
            .vocab = {.size = vocabulary},
            .layer_elementwise = {.norm = 2 * hidden},
            .final_elementwise = {.norm = hidden}};
}

/// Bytes by component, group, collective and phase.
using sums = std::map<std::tuple<std::string, parallel_axis, collective, phase>, std::uint64_t>;

sums of(const communication& counted, const std::set<parallel_axis>& groups) {
    sums all;
    for (const communicated_bytes& entry : counted.entries) {
        if (groups.contains(entry.over)) {
            all[{std::string(entry.component.view()), entry.over, entry.operation, entry.during}] +=
                static_cast<std::uint64_t>(entry.expected());
        }
    }
    return all;
}

/// What only one of them has.
std::vector<std::string> differences(const sums& listed, const sums& counted) {
    std::vector<std::string> all;
    for (const auto& [first, second] : {std::pair{&listed, &counted}, std::pair{&counted, &listed}}) {
        for (const auto& [key, bytes] : *first) {
            const auto other = second->find(key);
            if (other == second->end() || other->second != bytes) {
                all.push_back(std::get<0>(key) + " " + std::string(name_of(std::get<2>(key))) + " phase " +
                              std::to_string(static_cast<int>(std::get<3>(key))) +
                              (first == &listed ? " listed " : " counted ") + std::to_string(bytes));
            }
        }
    }
    return all;
}

/// A step's exchanges in one group, as one rank of it sees them. Each is run by all ranks of the group.
class listed_step {
  public:
    listed_step(parallel_axis over, std::size_t ranks) : over_(over), ranks_(ranks) {}

    sums all;
    std::uint64_t bytes = 2;

    /// The exchange of a tensor of so many elements in all.
    void run(const std::string& component, collective how, phase during, std::uint64_t elements) {
        simulated::ranks group(ranks_);
        if (how == collective::all_reduce) {
            group.all_reduce(std::vector<tensor>(ranks_, tensor(elements, 1)));
        } else if (how == collective::reduce_scatter) {
            group.reduce_scatter(std::vector<tensor>(ranks_, tensor(elements, 1)));
        } else if (how == collective::all_gather) {
            group.all_gather(std::vector<tensor>(ranks_, tensor((elements + ranks_ - 1) / ranks_, 1)));
        }
        add(component, how, during, group.sent.front());
    }
    void add(const std::string& component, collective how, phase during, std::uint64_t sent) {
        if (sent != 0) {
            all[{component, over_, how, during}] += sent * bytes;
        }
    }

  private:
    parallel_axis over_;
    std::size_t ranks_;
};

std::vector<model_part> parts_of(const auto& model) {
    std::vector<model_part> parts;
    model.for_each_part([&](const model_part& part) { parts.push_back(part); });
    return parts;
}

tally own_tokens(const auto& model) {
    tally own(model.cost().masks());
    own.add_lengths(std::vector<std::uint64_t>{tokens - 8, 8});
    return own;
}

communication count(const auto& model, const floptally::parallel_sizes& sizes, const communication_options& how = {},
                    const training_plan& plan = {}, std::uint64_t rank = 0) {
    const parallel_layout layout(sizes, sizes.dp * sizes.cp * sizes.tp * sizes.pp, rank);
    return communication_of(parts_of(model), own_tokens(model), layout, plan, how);
}

communication_options sequence_parallel() { return {.ranks = {.tensor = {.sequence_parallel = true}}}; }

constexpr std::uint64_t hidden_states = tokens * hidden;

TEST_CASE("the bytes that tp ranks send equal those of a step on simulated ranks", "[bytes]") {
    for (const std::uint64_t tp : {2U, 4U}) {
        for (const bool recomputes : {false, true}) {
            for (const bool fused : {false, true}) {
                CAPTURE(tp, recomputes, fused);
                listed_step step(parallel_axis::tp, tp);
                for (std::uint64_t layer = 0; layer < layers; ++layer) {
                    step.run("attention.output", collective::all_reduce, phase::forward, hidden_states);
                    step.run("mlp", collective::all_reduce, phase::forward, hidden_states);
                    if (recomputes) {
                        step.run("attention.output", collective::all_reduce, phase::recompute, hidden_states);
                        step.run("mlp", collective::all_reduce, phase::recompute, hidden_states);
                    }
                    step.run("attention.qkv", collective::all_reduce, phase::backward_data, hidden_states);
                    step.run("mlp", collective::all_reduce, phase::backward_data, hidden_states);
                }
                step.run("embedding", collective::all_reduce, phase::forward, hidden_states);
                step.run("lm_head", collective::all_reduce, phase::backward_data, hidden_states);
                step.bytes = 4;  // the loss: its largest logit, the label's, the sum of exponentials
                step.run("lm_head", collective::all_reduce, phase::backward_data, 3 * tokens);
                const training_plan plan{.recomputed =
                                             recomputes ? floptally::recompute::full : floptally::recompute::none};
                CHECK(differences(step.all, of(count(small(fused), {.tp = tp}, {}, plan), {parallel_axis::tp})) ==
                      std::vector<std::string>{});
            }
        }
    }
}

TEST_CASE("sequence parallelism sends all-gathers, reduce-scatters and a second gather for weight gradients",
          "[bytes]") {
    constexpr std::uint64_t tp = 2;
    listed_step step(parallel_axis::tp, tp);
    const auto columns = [&](const char* component) {
        step.run(component, collective::all_gather, phase::forward, hidden_states);
        step.run(component, collective::reduce_scatter, phase::backward_data, hidden_states);
        step.run(component, collective::all_gather, phase::backward_weights, hidden_states);
    };
    const auto rows = [&](const char* component, phase backward = phase::backward_data) {
        step.run(component, collective::reduce_scatter, phase::forward, hidden_states);
        step.run(component, collective::all_gather, backward, hidden_states);
    };
    for (std::uint64_t layer = 0; layer < layers; ++layer) {
        columns("attention.qkv");
        rows("attention.output");
        columns("mlp");
        rows("mlp");
        for (int norm = 0; norm < 2; ++norm) {  // whose gradients each rank has of its own tokens
            step.run("norm", collective::all_reduce, phase::backward_weights, hidden);
        }
    }
    step.run("norm", collective::all_reduce, phase::backward_weights, hidden);
    rows("embedding", phase::backward_weights);  // a table has no other gradient
    columns("lm_head");
    step.bytes = 4;
    step.run("lm_head", collective::all_reduce, phase::backward_data, 3 * tokens);
    CHECK(differences(step.all, of(count(small(), {.tp = tp}, sequence_parallel()), {parallel_axis::tp})) ==
          std::vector<std::string>{});

    // Where all but the norms is frozen nothing is gathered for weights, and the loss is as before.
    const training_plan frozen{.weights = {{.weights = "*", .state = floptally::weight_state::frozen},
                                           {.weights = "norm", .state = floptally::weight_state::trainable}}};
    const communication of_norms = count(small(), {.tp = tp}, sequence_parallel(), frozen);
    for (const communicated_bytes& entry : of_norms.entries) {
        CHECK((entry.during != phase::backward_weights || entry.component == "norm"));
    }
    // LoRA's A needs it again.
    const training_plan adapted{
        .weights = {{.weights = "*", .state = floptally::weight_state::frozen},
                    {.weights = "*/q_proj", .state = floptally::weight_state::lora, .rank = 8}}};
    const sums lora = of(count(small(), {.tp = tp}, sequence_parallel(), adapted), {parallel_axis::tp});
    CHECK(lora.at({"attention.qkv", parallel_axis::tp, collective::all_gather, phase::backward_weights}) ==
          layers * hidden_states / tp * 2);
}

TEST_CASE("context-parallel ranks send keys, values and their gradients around a ring", "[bytes]") {
    const std::uint64_t keys = tokens * 2 * kv_heads * head_dim;
    for (const std::uint64_t cp : {2U, 3U}) {
        for (const std::uint64_t tp : {1U, 2U}) {
            // Each rank has a block of keys and values: forward they go one way, backward the other with gradients.
            std::vector<tensor> blocks(cp, tensor(keys / tp, 1));
            simulated::ranks forward(cp);
            for (std::uint64_t hop = 0; hop + 1 < cp; ++hop) {
                for (std::size_t rank = 0; rank < cp; ++rank) {
                    forward.message(rank, blocks[rank]);
                }
            }
            simulated::ranks backward(cp);
            std::vector<std::size_t> held(cp);  // whose block: where the forward left it
            std::vector<std::set<std::size_t>> seen(cp);
            for (std::size_t rank = 0; rank < cp; ++rank) {
                held[rank] = (rank + 1) % cp;
            }
            for (std::uint64_t hop = 0;; ++hop) {
                for (std::size_t rank = 0; rank < cp; ++rank) {
                    seen[held[rank]].insert(rank);  // a summand of the block's gradient
                }
                if (hop + 1 == cp) {
                    break;
                }
                std::vector<std::size_t> next(cp);
                for (std::size_t rank = 0; rank < cp; ++rank) {
                    backward.message(rank, blocks[rank]);
                    backward.message(rank, blocks[rank]);  // the gradient so far
                    next[(rank + cp - 1) % cp] = held[rank];
                }
                held = next;
            }
            for (std::size_t rank = 0; rank < cp; ++rank) {
                REQUIRE(held[rank] == rank);  // home again, with a summand of every rank
                REQUIRE(seen[rank].size() == cp);
            }
            const communication ring = count(small(), {.cp = cp, .tp = tp});
            const auto sent = [&](const communication& all, collective how, phase during) {
                return of(all, {parallel_axis::cp})[{"attention.core", parallel_axis::cp, how, during}];
            };
            CHECK(sent(ring, collective::send, phase::forward) == 2 * layers * forward.sent[0]);
            CHECK(sent(ring, collective::send, phase::backward_data) == 2 * layers * backward.sent[0]);
            CHECK(of(count(small(true), {.cp = cp, .tp = tp}), {parallel_axis::cp}) == of(ring, {parallel_axis::cp}));

            const communication gathered =
                count(small(), {.cp = cp, .tp = tp}, {.context = context_exchange::all_gather});
            simulated::ranks gather(cp);
            gather.all_gather(blocks);
            simulated::ranks scatter(cp);
            scatter.reduce_scatter(std::vector<tensor>(cp, tensor(cp * keys / tp, 1)));
            CHECK(sent(gathered, collective::all_gather, phase::forward) == 2 * layers * gather.sent[0]);
            CHECK(sent(gathered, collective::all_gather, phase::backward_data) == 2 * layers * gather.sent[0]);
            CHECK(sent(gathered, collective::reduce_scatter, phase::backward_data) == 2 * layers * scatter.sent[0]);

            // Each token's heads go to the ranks that attend with them, and the output comes back.
            const std::uint64_t all = (keys + 2 * tokens * heads * head_dim) / tp;
            simulated::ranks exchanged(cp);
            exchanged.all_to_all(std::vector<std::vector<tensor>>(cp, std::vector<tensor>(cp, tensor(all / cp, 1))));
            const communication heads_moved =
                count(small(), {.cp = cp, .tp = tp}, {.context = context_exchange::ulysses});
            CHECK(sent(heads_moved, collective::all_to_all, phase::forward) == 2 * layers * exchanged.sent[0]);
            CHECK(sent(heads_moved, collective::all_to_all, phase::backward_data) == 2 * layers * exchanged.sent[0]);
        }
    }
}

constexpr std::uint64_t experts = 6;
constexpr std::uint64_t chosen = 2;
constexpr std::uint64_t expert_inner = 32;

transformer<floptally::gqa, floptally::moe> sparse() {
    return {.hidden_size = hidden,
            .num_layers = layers,
            .attention = {.num_heads = heads, .num_kv_heads = kv_heads, .head_dim = head_dim},
            .feed_forward = {.num_experts = experts, .num_experts_per_tok = chosen, .intermediate_size = expert_inner},
            .vocab = {.size = vocabulary}};
}

TEST_CASE("expert parallelism sends each token to the ranks of its experts and back", "[bytes]") {
    for (const std::uint64_t ep : {2U, 3U}) {
        for (const std::uint64_t tp : {1U, 2U}) {
            // Token t of a rank chooses experts t, t + 1, …: each expert equally often.
            const std::uint64_t own = tokens / tp;
            std::vector<std::vector<tensor>> copies(ep, std::vector<tensor>(ep));
            for (std::size_t rank = 0; rank < ep; ++rank) {
                for (std::uint64_t t = 0; t < own; ++t) {
                    for (std::uint64_t c = 0; c < chosen; ++c) {
                        tensor& to = copies[rank][(t * chosen + c) % experts / (experts / ep)];
                        to.insert(to.end(), hidden, 1);
                    }
                }
            }
            simulated::ranks dispatch(ep);
            const auto arrived = dispatch.all_to_all(copies);
            simulated::ranks combine(ep);
            combine.all_to_all(arrived);
            const auto how = tp == 1 ? communication_options{} : sequence_parallel();
            const communication counted = count(sparse(), {.dp = ep, .tp = tp, .ep = ep}, how);
            for (const phase during : {phase::forward, phase::backward_data}) {
                CHECK(of(counted,
                         {parallel_axis::ep})[{"moe.experts", parallel_axis::ep, collective::all_to_all, during}] ==
                      2 * layers * (dispatch.sent[0] + combine.sent[0]));
            }
            for (const communicated_bytes& entry : counted.entries) {
                if (entry.over == parallel_axis::ep) {  // were all copies to leave the rank
                    CHECK(entry.bytes == 2 * layers * 2 * own * chosen * hidden);
                }
            }
            if (tp > 1) {  // every tensor parallel rank has a share of an expert: it needs all copies
                simulated::ranks gather(tp);
                gather.all_gather(std::vector<tensor>(tp, tensor(own * chosen * hidden, 1)));
                for (const phase during : {phase::forward, phase::backward_data}) {
                    for (const collective item : {collective::all_gather, collective::reduce_scatter}) {
                        CHECK(of(counted, {parallel_axis::etp})[{"moe.experts", parallel_axis::etp, item, during}] ==
                              2 * layers * gather.sent[0]);
                    }
                }
            }
        }
    }
    CHECK(error_of([] { static_cast<void>(count(sparse(), {.dp = 2, .tp = 2, .ep = 2})); }) ==
          "sequence_parallel: must be on where tensor-parallel ranks share experts, or each of them would send every "
          "token: turn it on");
}

TEST_CASE("data-parallel ranks send gradients and weights as their ZeRO stage requires", "[bytes]") {
    constexpr std::uint64_t dp = 4;
    const std::uint64_t attention = 2 * hidden * (heads + kv_heads) * head_dim;
    for (const zero_stage stage :
         {zero_stage::none, zero_stage::optimizer, zero_stage::gradients, zero_stage::weights}) {
        listed_step step(parallel_axis::dp, dp);
        const auto weight = [&](const char* component, std::uint64_t elements) {
            const std::uint64_t times = stage >= zero_stage::gradients ? 3 : 1;
            for (std::uint64_t i = 0; i < times; ++i) {
                step.bytes = 4;
                step.run(component, stage == zero_stage::none ? collective::all_reduce : collective::reduce_scatter,
                         phase::backward_weights, elements);
                step.bytes = 2;
                if (stage == zero_stage::weights) {
                    step.run(component, collective::all_gather, phase::forward, elements);
                    step.run(component, collective::all_gather, phase::backward_data, elements);
                }
            }
            if (stage == zero_stage::optimizer || stage == zero_stage::gradients) {
                step.run(component, collective::all_gather, phase::backward_weights, elements);
            }
        };
        for (std::uint64_t layer = 0; layer < layers; ++layer) {
            weight("attention.qkv", hidden * heads * head_dim);
            weight("attention.qkv", hidden * kv_heads * head_dim);
            weight("attention.qkv", hidden * kv_heads * head_dim);
            weight("attention.output", hidden * heads * head_dim);
            weight("mlp", 3 * hidden * inner);
            weight("norm", 2 * hidden);
        }
        weight("norm", hidden);
        weight("embedding", vocabulary * hidden);
        weight("lm_head", vocabulary * hidden);
        const communication counted =
            count(small(), {.dp = 2, .cp = 2}, {.sharded = stage, .microbatches = 3, .bits = {.gradients = 32}});
        CHECK(differences(step.all, of(counted, {parallel_axis::dp})) == std::vector<std::string>{});
    }
    // Experts' gradients go over the ranks that have the same experts, others over all of dp x cp.
    const communication of_experts = count(sparse(), {.dp = 4, .ep = 2});
    CHECK(of(of_experts, {parallel_axis::expert_dp}) ==
          sums{{{"moe.experts", parallel_axis::expert_dp, collective::all_reduce, phase::backward_weights},
                layers * 3 * (experts / 2) * hidden * expert_inner * 2}});
    CHECK(of_experts.total("attention.qkv") + of_experts.total("attention.output") == layers * attention * 2 * 3 / 2);
    // Of LoRA the adapters alone.
    const training_plan adapted{
        .weights = {{.weights = "*", .state = floptally::weight_state::frozen},
                    {.weights = "*/q_proj", .state = floptally::weight_state::lora, .rank = 8}}};
    CHECK(of(count(small(), {.dp = 2}, {}, adapted), {parallel_axis::dp}) ==
          sums{{{"attention.qkv", parallel_axis::dp, collective::all_reduce, phase::backward_weights},
                layers * 8 * (hidden + heads * head_dim) * 2}});
}

TEST_CASE("pipeline chunks without layers pass hidden states and gradients on", "[bytes]") {
    // The embedding alone, one layer, none, three layers, none, the loss alone: six chunks on two ranks. Every chunk
    // but the last sends forward, every chunk but the first sends back.
    const std::vector<std::uint64_t> sizes{0, 1, 0, 3, 0, 0};
    for (std::uint64_t rank = 0; rank < 2; ++rank) {
        communication_options how;
        how.ranks.layers_of_chunks = sizes;
        const communication counted = count(small(), {.pp = 2, .vpp = 3}, how, {}, rank);
        std::uint64_t sent[2] = {};
        for (const communicated_bytes& entry : counted.entries) {
            if (entry.over == parallel_axis::pp) {
                sent[entry.during == phase::forward ? 0 : 1] += static_cast<std::uint64_t>(entry.bytes);
            }
        }
        std::uint64_t expected[2] = {};
        for (std::uint64_t chunk = rank; chunk < sizes.size(); chunk += 2) {
            expected[0] += chunk + 1 != sizes.size() ? hidden_states * 2 : 0;
            expected[1] += chunk != 0 ? hidden_states * 2 : 0;
        }
        CHECK(sent[0] == expected[0]);
        CHECK(sent[1] == expected[1]);
    }
}

TEST_CASE("pipeline stages send hidden states forward and their gradients backward", "[bytes]") {
    for (const std::uint64_t pp : {2U, 4U}) {
        for (const std::uint64_t vpp : {1U, 2U}) {
            if (layers % (pp * vpp) != 0) {
                continue;
            }
            for (const std::uint64_t tp : {1U, 2U}) {
                std::vector<std::uint64_t> forward(pp, 0);
                std::vector<std::uint64_t> backward(pp, 0);
                for (std::uint64_t chunk = 0; chunk + 1 < pp * vpp; ++chunk) {
                    forward[chunk % pp] += hidden_states / tp;
                    backward[(chunk + 1) % pp] += hidden_states / tp;
                }
                for (std::uint64_t rank = 0; rank < pp; ++rank) {
                    CAPTURE(pp, vpp, tp, rank);
                    const communication counted =
                        count(small(), {.tp = tp, .pp = pp, .vpp = vpp}, sequence_parallel(), {}, rank * tp);
                    std::uint64_t sent[2] = {};
                    for (const communicated_bytes& entry : counted.entries) {
                        if (entry.over == parallel_axis::pp) {
                            CHECK(entry.operation == collective::send);
                            sent[entry.during == phase::forward ? 0 : 1] += static_cast<std::uint64_t>(entry.bytes);
                        }
                    }
                    CHECK(sent[0] == 2 * forward[rank]);
                    CHECK(sent[1] == 2 * backward[rank]);
                }
            }
        }
    }
}

TEST_CASE("the first and last pipeline stages all-reduce the gradient of a tied embedding", "[bytes]") {
    auto model = small();
    model.vocab.tied = true;
    const std::uint64_t table = vocabulary * hidden * 2;
    for (const std::uint64_t rank : {0U, 1U, 2U, 3U}) {
        const communication counted = count(model, {.dp = 2, .pp = 4}, {}, {}, 2 * rank);
        const bool is_end = rank == 0 || rank == 3;
        CHECK(counted.total(parallel_axis::pp, collective::all_reduce) == (is_end ? table : 0));
        const sums over_dp = of(counted, {parallel_axis::dp});
        const char* const component = rank == 0 ? "embedding" : "lm_head";
        CHECK(over_dp.contains({component, parallel_axis::dp, collective::all_reduce, phase::backward_weights}) ==
              is_end);
    }
    CHECK(count(model, {.dp = 2}).total(parallel_axis::pp) == 0);
}

TEST_CASE("latent attention gathers its latents and the positional part of its keys", "[bytes]") {
    const floptally::mla latent{.num_heads = heads,
                                .q_lora_rank = 20,
                                .kv_lora_rank = 16,
                                .qk_nope_head_dim = 8,
                                .qk_rope_head_dim = 4,
                                .v_head_dim = 8};
    const transformer<floptally::mla, floptally::gated_mlp> model{.hidden_size = hidden,
                                                                  .num_layers = 1,
                                                                  .attention = latent,
                                                                  .feed_forward = {.intermediate_size = inner},
                                                                  .vocab = {.size = vocabulary}};
    const sums sent = of(count(model, {.tp = 2}), {parallel_axis::tp});
    CHECK(sent.at({"attention.qkv", parallel_axis::tp, collective::all_reduce, phase::backward_data}) ==
          2 * tokens * (20 + 16 + 4));
    CHECK(sent.at({"attention.output", parallel_axis::tp, collective::all_reduce, phase::forward}) ==
          2 * hidden_states);
}

}  // namespace
}  // namespace communication_counter_test
