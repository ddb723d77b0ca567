// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <floptally/waterfall/trace_times.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace trace_times_test {
namespace {

using floptally::breakdown;
using floptally::counted_passes;
using floptally::timed_part;
using floptally::trace;
using floptally::trace_event;
using floptally::trace_kind;
using floptally::trace_time;
using floptally::trace_times;
using floptally::detail::timed_stretch;

/// A trace event by event.
struct made_trace : trace {
    trace_event& add(trace_kind what, const std::string& name, std::int64_t begin, std::int64_t end,
                     std::uint32_t lane = 0) {
        names.push_back(name);
        events.push_back({.kind = what,
                          .name = static_cast<std::uint32_t>(names.size() - 1),
                          .lane = lane,
                          .begin = begin,
                          .end = end});
        return events.back();
    }
};

std::map<std::string, std::pair<std::int64_t, std::int64_t>> parts_of(const trace& recorded) {
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> found;
    const trace_times made(recorded);
    std::int64_t sum = 0;
    for (const trace_time& part_time : made.times()) {
        found[part_time.part] = {part_time.forward, part_time.backward};
        sum += part_time.forward + part_time.backward;
    }
    CHECK(sum == made.nanoseconds());
    return found;
}

using part = std::pair<std::int64_t, std::int64_t>;

}  // namespace

TEST_CASE(
    "the time of overlapping kernels is attributed once, and all times equal those from a full scan of the trace") {
    std::mt19937_64 random(11);
    const auto up_to = [&](std::int64_t most) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
    };
    for (int repeat = 0; repeat < 2000; ++repeat) {
        std::vector<timed_stretch> stretches;
        for (std::int64_t i = 0; i < up_to(9); ++i) {
            const std::int64_t begin = up_to(60) - 10;
            stretches.push_back({begin, begin + up_to(20), static_cast<std::uint64_t>(i), up_to(2) == 0});
        }
        std::map<std::uint64_t, std::int64_t> shared;
        const std::int64_t idle = floptally::detail::share_time(
            stretches, 0, 50, [&](std::uint64_t key, std::int64_t time) { shared[key] += time; });
        std::map<std::uint64_t, double> expected;
        std::int64_t nothing = 0;
        std::int64_t alike = 0;  // moments in which a share is no whole number, at most
        for (std::int64_t moment = 0; moment < 50; ++moment) {
            std::vector<std::uint64_t> first;
            std::vector<std::uint64_t> second;
            for (const timed_stretch& stretch : stretches) {
                if (stretch.begin <= moment && moment < stretch.end) {
                    (stretch.gives_way ? second : first).push_back(stretch.key);
                }
            }
            const std::vector<std::uint64_t>& run = first.empty() ? second : first;
            nothing += run.empty() ? 1 : 0;
            alike += run.size() > 1 ? 1 : 0;
            for (const std::uint64_t key : run) {
                expected[key] += 1 / static_cast<double>(run.size());
            }
        }
        REQUIRE(idle == nothing);
        std::int64_t sum = idle;
        for (const auto& [key, time] : shared) {
            sum += time;
            REQUIRE(std::abs(static_cast<double>(time) - expected[key]) <= static_cast<double>(alike));
        }
        REQUIRE(sum == 50);
    }
    // Shares are even, and what is left over is of the first.
    std::map<std::uint64_t, std::int64_t> shared;
    static_cast<void>(
        floptally::detail::share_time({{0, 11, 1, false}, {1, 11, 2, false}, {0, 12, 3, true}}, 0, 20,
                                      [&](std::uint64_t key, std::int64_t time) { shared[key] += time; }));
    CHECK(shared == std::map<std::uint64_t, std::int64_t>{{1, 6}, {2, 5}, {3, 1}});
}

TEST_CASE("each instant of a trace belongs to the innermost operator and its innermost known module") {
    made_trace of;
    of.add(trace_kind::module_call, "LlamaMLP", 0, 100);
    of.add(trace_kind::op, "aten::linear", 10, 60);
    of.add(trace_kind::module_call, "LlamaRMSNorm", 20, 50);
    of.add(trace_kind::annotation, "no pattern knows this", 25, 45);
    of.add(trace_kind::op, "aten::mean", 30, 40);
    of.add(trace_kind::annotation, "nor this", 70, 90);
    of.add(trace_kind::op, "aten::mul", 75, 85);
    of.add(trace_kind::op, "aten::add", 110, 120);
    const auto made = parts_of(of);
    CHECK(made.at("mlp") == part(20 + 10, 0));
    CHECK(made.at("norm") == part(30, 0));  // what Python does within an operator is the operator's
    CHECK(made.at("not attributed") == part(10, 0));
    CHECK(made.at("no operator runs") == part(50, 0));
}

TEST_CASE("recomputed operators in a trace belong to their module and to the backward pass") {
    made_trace of;
    of.add(trace_kind::annotation, "model.layers.0", 0, 30);
    of.add(trace_kind::op, "CheckpointFunction", 1, 29).sequence = 5;
    of.add(trace_kind::annotation, "model.layers.0.mlp", 2, 20);
    of.add(trace_kind::op, "aten::mm", 3, 13);
    trace_event& backward = of.add(trace_kind::op, "CheckpointFunctionBackward", 40, 90);
    backward.sequence = 5;
    backward.forward_thread = 1;
    of.add(trace_kind::annotation, "model.layers.0.mlp", 41, 60);
    of.add(trace_kind::op, "aten::mm", 42, 52).sequence = 6;
    trace_event& inner = of.add(trace_kind::op, "MmBackward0", 70, 80);
    inner.sequence = 6;
    inner.forward_thread = 1;
    const auto made = parts_of(of);
    CHECK(made.at("mlp") == part(18, 19 + 10));
}

TEST_CASE("a backward node of a trace belongs to the last operator with its sequence number") {
    made_trace of;
    of.add(trace_kind::annotation, "x.mlp", 0, 10);
    of.add(trace_kind::op, "aten::empty", 1, 2).sequence = 7;  // makes none: the number is as it was
    of.add(trace_kind::annotation, "x.self_attn", 20, 30);
    of.add(trace_kind::op, "aten::mul", 21, 22).sequence = 7;
    trace_event& backward = of.add(trace_kind::op, "MulBackward0", 40, 45);
    backward.sequence = 7;
    backward.forward_thread = 3;
    CHECK(parts_of(of).at("attention.core") == part(1, 5));
    // A thread that two links say differently is none.
    of.add(trace_kind::op, "aten::mul", 21, 22, 1).sequence = 7;
    of.links = {{0, 0, 40}, {1, 0, 40}};
    CHECK(parts_of(of).count("not attributed") == 1);
    CHECK(parts_of(of).at("attention.core") == part(1, 0));
}

TEST_CASE("times of a trace are per step and device, without events outside the profiler's step marks") {
    made_trace of;
    of.add(trace_kind::annotation, "ProfilerStep#3", 100, 200);
    of.add(trace_kind::annotation, "ProfilerStep#4", 200, 300);
    of.add(trace_kind::annotation, "x.mlp", 110, 290);
    of.add(trace_kind::launch, "cudaLaunchKernel", 120, 121).correlation = 1;
    of.add(trace_kind::launch, "cudaLaunchKernel", 130, 131).correlation = 2;
    of.add(trace_kind::launch, "cudaLaunchKernel", 310, 311).correlation = 3;
    for (std::uint64_t i = 1; i <= 3; ++i) {
        trace_event& kernel_event = of.add(trace_kind::kernel, "gemm", static_cast<std::int64_t>(100 * i + 50),
                                           static_cast<std::int64_t>(100 * i + 110), 9);
        kernel_event.correlation = i;
        kernel_event.device = i == 2 ? 1 : 0;
    }
    const trace_times outcome(of);
    CHECK(outcome.steps() == 2);
    CHECK(outcome.devices() == 2);
    // The first kernel waits 30 for its device, as long as the step before it still runs there; the second one ends at
    // 310, after the last mark; the third is left out.
    CHECK(outcome.nanoseconds() == 2 * (310 - 130));
    CHECK(outcome.times()[0].part == "mlp");
    CHECK(outcome.times()[0].forward == 120);
    CHECK(outcome.seconds() == Approx(90e-9));
    breakdown work;
    work.append("mlp").useful[0] = 5;
    work.append("norm");
    const std::vector<timed_part> parts = outcome.parts(work);
    CHECK(parts.size() == 2);
    CHECK(parts[0].seconds == Approx(30e-9));
    CHECK(parts[1].name == "no kernel runs");
    CHECK(parts[1].seconds == Approx(60e-9));
}

namespace {

/// A GPU that is played: the host launches the kernels of steps in a loop, as far ahead as it may, and the device runs
/// them one after the other. Times of kernels and between launches are random, and alike in every step.
struct played_device {
    std::vector<std::int64_t> gaps;     ///< of the host before each launch
    std::vector<std::int64_t> kernels;  ///< of the device
    std::int64_t most_ahead;            ///< microbatches of launches that may be queued

    /// The trace of `steps` steps after `warm` others, of whose kernels the last `kept` are in it, and the device's own
    /// time of a step.
    std::pair<made_trace, double> record(std::size_t warm, std::size_t steps, std::size_t number) const {
        made_trace subject;
        std::int64_t host = 1000;
        std::int64_t device = 0;
        std::vector<std::int64_t> ends;
        std::vector<std::int64_t> step_ends;
        std::uint64_t id = 0;
        std::vector<std::pair<std::int64_t, std::int64_t>> marks;
        for (std::size_t step = 0; step < warm + steps; ++step) {
            const std::int64_t began = host;
            for (std::size_t i = 0; i < kernels.size(); ++i) {
                host += gaps[i];
                const std::size_t queued = ends.size();
                if (queued >= static_cast<std::size_t>(most_ahead)) {  // the queue is full until that one ends
                    host = std::max(host, ends[queued - static_cast<std::size_t>(most_ahead)]);
                }
                const std::int64_t launched = host;
                const std::int64_t begin = std::max(device, launched + 3);
                device = begin + kernels[i];
                ends.push_back(device);
                ++id;
                if (id + number > warm * kernels.size()) {
                    subject.add(trace_kind::launch, "cudaLaunchKernel", launched, launched + 1).correlation = id;
                    subject.add(trace_kind::kernel, "gemm", begin, device, 9).correlation = id;
                }
            }
            host += 2;
            step_ends.push_back(device);
            marks.emplace_back(began, host);
        }
        for (std::size_t step = warm; step < warm + steps; ++step) {
            subject.add(trace_kind::annotation, "ProfilerStep#" + std::to_string(step), marks[step].first,
                        marks[step].second);
        }
        return {subject, static_cast<double>(step_ends.back() - step_ends[warm - 1]) / static_cast<double>(steps)};
    }
};

}  // namespace

TEST_CASE("a traced step begins and ends on the device clock even if the host runs ahead") {
    std::mt19937_64 random(82);
    std::size_t behind = 0;
    for (int repeat = 0; repeat < 300; ++repeat) {
        played_device played{.gaps = {}, .kernels = {}, .most_ahead = 1 + static_cast<std::int64_t>(random() % 60)};
        for (std::size_t i = 0; i < 1 + random() % 20; ++i) {
            played.gaps.push_back(4 + static_cast<std::int64_t>(random() % 40));
            played.kernels.push_back(1 + static_cast<std::int64_t>(random() % 60));
        }
        const std::size_t steps = 1 + random() % 4;
        const auto [all, own] = played.record(40, steps, played.kernels.size());
        CAPTURE(repeat, steps);
        const trace_times result(all);
        REQUIRE(result.steps() == steps);
        REQUIRE(std::abs(1e9 * result.seconds() - own) < 1e-6 * own);
        // Without the kernels before: what the host takes to its first launch is not known of the device.
        const auto [alone, same] = played.record(40, steps, 0);
        const double error = 1e9 * trace_times(alone).seconds() - same;
        std::int64_t mark = INT64_MAX;
        std::int64_t launch = INT64_MAX;
        for (const trace_event& event : alone.events) {
            (event.kind == trace_kind::annotation ? mark : launch) =
                std::min(event.kind == trace_kind::annotation ? mark : launch, event.begin);
        }
        REQUIRE(std::abs(error) <= static_cast<double>(launch - mark + 3) / static_cast<double>(steps));
        behind += result.notes().empty() ? 0 : 1;
    }
    CHECK(behind > 100);
}

TEST_CASE("notes on a trace give times per step and device, like the table of the trace") {
    made_trace source;
    source.add(trace_kind::annotation, "ProfilerStep#1", 0, 50'000'000);
    source.add(trace_kind::annotation, "ProfilerStep#2", 50'000'000, 100'000'000);
    source.add(trace_kind::op, "mine", 10'000'000, 30'000'000);
    const trace_times measured_times(source);
    REQUIRE(measured_times.notes().size() == 1);
    CHECK(measured_times.notes()[0] == "no pattern matches 10.000 ms of a step, most of that 10.000 ms mine");
}

TEST_CASE("modules in a trace map to the passes, layer groups and towers of the counted work") {
    made_trace recording;
    recording.add(trace_kind::annotation, "visual.blocks.0.mlp", 0, 10);
    recording.add(trace_kind::op, "aten::mm", 1, 9).sequence = 1;
    recording.add(trace_kind::annotation, "model.layers.0.mlp", 10, 20);
    recording.add(trace_kind::op, "aten::mm", 11, 19).sequence = 2;
    recording.add(trace_kind::module_call, "LlamaAttention", 20, 40);
    recording.add(trace_kind::module_call, "Linear", 21, 29);
    recording.add(trace_kind::op, "aten::mm", 22, 28).sequence = 3;
    recording.add(trace_kind::annotation, "model.rotary_emb", 40, 50);
    recording.add(trace_kind::op, "aten::cos", 41, 42);
    trace_event& backward = recording.add(trace_kind::op, "MmBackward0", 50, 60);
    backward.sequence = 2;
    backward.forward_thread = 1;
    breakdown work;
    for (const char* name : {"attention.qkv", "attention.output", "mlp", "vision.mlp"}) {
        floptally::component_flops& component = work.append(name);
        component.useful[0] = component.padded[0] = 10;
        component.useful[1] = component.padded[1] = 20;
    }
    const auto named = [](const std::vector<timed_part>& parts, const std::string& name) {
        const auto found = std::find_if(parts.begin(), parts.end(),
                                        [&](const timed_part& each_part) { return each_part.name == name; });
        REQUIRE(found != parts.end());
        return *found;
    };
    const std::vector<timed_part> parts = trace_times(recording).parts(work);
    CHECK(named(parts, "mlp").components == std::vector<std::string>{"mlp"});
    CHECK(named(parts, "mlp").timed == counted_passes::train);
    CHECK(named(parts, "mlp").seconds == Approx(18e-9));
    CHECK(named(parts, "vision.mlp").components == std::vector<std::string>{"vision.mlp"});
    CHECK(named(parts, "vision.mlp").timed == counted_passes::forward);  // no backward of it is in the trace
    CHECK(named(parts, "attention.qkv+attention.output").components ==
          std::vector<std::string>{"attention.qkv", "attention.output"});
    CHECK(named(parts, "rotary embedding").components.empty());
    CHECK(named(parts, "rotary embedding").timed == counted_passes::train);
    // A part that has a component of another is one with it: "attention.qkv" alone, beside both.
    recording.add(trace_kind::annotation, "model.layers.1.self_attn.q_proj", 70, 80);
    recording.add(trace_kind::op, "aten::mm", 71, 76).sequence = 4;
    const std::vector<timed_part> merged = trace_times(recording).parts(work);
    CHECK(merged.size() == parts.size());
    CHECK(named(merged, "attention.qkv+attention.output").seconds == Approx(11e-9));
    CHECK(named(merged, "attention.qkv+attention.output").components.size() == 2);
    breakdown tower;
    tower.append("mlp").useful[0] = 10;
    made_trace alone;
    alone.add(trace_kind::annotation, "vision_model.encoder.layers.0.mlp", 0, 10);
    alone.add(trace_kind::op, "aten::mm", 1, 9);
    CHECK(named(trace_times(alone).parts(tower), "vision.mlp").components == std::vector<std::string>{"mlp"});
}

TEST_CASE("common module names in a trace map to components") {
    const floptally::module_map modules;
    const std::map<std::string, std::string> known{
        {"model.layers.3.self_attn.q_proj", "attention.qkv"},
        {"model.layers.3.self_attn.o_proj", "attention.output"},
        {"model.layers.3.self_attn", "attention.core"},
        {"model.layers.3.self_attn.q_norm", "norm"},
        {"model.layers.3.input_layernorm", "norm"},
        {"model.layers.3.mlp.gate", "moe.router"},
        {"model.layers.3.mlp", "mlp"},
        {"model.layers.3.mlp.gate_proj", ""},  // of the span around it
        {"model.layers.3.mlp.experts", "moe.experts"},
        {"model.layers.3.mlp.experts.7.down_proj", ""},
        {"model.layers.3.mlp.shared_expert", "moe.shared"},
        {"model.layers.3", ""},
        {"lm_head", "lm_head"},
        {"transformer.h.0.attn.c_attn", "attention.qkv"},
        {"transformer.h.0.attn.c_proj", "attention.output"},
        {"transformer.h.0.mlp.c_proj", ""},
        {"bert.encoder.layer.0.attention.self.query", "attention.qkv"},
        {"bert.encoder.layer.0.attention.self", "attention.core"},
        {"bert.encoder.layer.0.attention.output.dense", "attention.output"},
        {"model.decoder.layers.0.encoder_attn.k_proj", "cross_attention.qkv"},
        {"model.decoder.layers.0.encoder_attn", "cross_attention.core"},
        {"visual.blocks.0.mlp.fc1", "vision.mlp"},
        {"model.visual.blocks.0.attn", "vision.attention.core"},
        {"audio_tower.layers.0.self_attn.out_proj", "audio.attention.output"},
        {"LlamaForCausalLM/Linear", "lm_head"},
        {"LlamaForCausalLM/LlamaModel/LlamaDecoderLayer/LlamaAttention/Linear", "attention.qkv+attention.output"},
        {"LlamaForCausalLM/LlamaModel/LlamaDecoderLayer/LlamaMLP", "mlp"},
        {"LlamaForCausalLM/LlamaModel/LlamaRotaryEmbedding", "rotary embedding"},
        {"LlamaForCausalLM/LlamaModel/Embedding", "embedding"},
        {"LlamaForCausalLM/LlamaModel/LlamaDecoderLayer", ""},
        {"GPT2LMHeadModel/GPT2Model/GPT2Block/GPT2Attention/Conv1D", "attention.qkv+attention.output"},
        {"MixtralForCausalLM/MixtralModel/MixtralDecoderLayer/MixtralSparseMoeBlock/Linear", "moe.router"},
        {"Qwen2MoeForCausalLM/Qwen2MoeModel/Qwen2MoeDecoderLayer/Qwen2MoeSparseMoeBlock/Qwen2MoeMLP",
         "moe.experts+moe.shared"},
        {"Qwen2VLForConditionalGeneration/Qwen2VisionTransformer/Qwen2VLVisionBlock/VisionAttention/Linear",
         "vision.attention.qkv+vision.attention.output"},
        {"kernel:ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "communication"},
        {"kernel:nvjet_tst_128x256", ""},
        {"op:aten::native_layer_norm", ""},  // which any module may call
        {"kernel:layer_norm", ""},
        {"op:autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", "gradient accumulation"},
        {"BertForMaskedLM/BertModel/BertEncoder/BertLayer/BertIntermediate", "mlp"},
        {"BertForMaskedLM/BertModel/BertEncoder/BertLayer/BertOutput", "mlp"},
        {"BertForMaskedLM/BertModel/BertEncoder/BertLayer/BertAttention/BertSelfOutput", ""},  // of the attention
        {"bert.encoder.layer.0/bert.encoder.layer.0.output", "mlp"},
        {"bert.encoder.layer.0.attention/bert.encoder.layer.0.attention.output", "attention.output"},
        {"cls.predictions.decoder", "lm_head"},
        {"Optimizer.step#AdamW.step", "optimizer"}};
    for (const auto& [span, name] : known) {
        INFO(span);
        CHECK(modules.part_of(span) == name);
    }
    CHECK(error_of([] {
              static_cast<void>(floptally::module_map(std::vector<floptally::module_pattern>{{"*", ""}}));
          }) == "modules[0]: has an empty pattern or name: write a pattern and the component that runs there");
    for (const auto& [pattern, text, fits] : {std::tuple("*", "", true),
                                              {"a*c", "abbc", true},
                                              {"a*c", "abbcd", false},
                                              {"*b*", "abc", true},
                                              {"*ab", "aab", true},
                                              {"a", "", false},
                                              {"", "a", false},
                                              {"**a", "a", true},
                                              {"a*b*c", "aXbYbc", true}}) {
        INFO(pattern << " " << text);
        CHECK(floptally::detail::matches_stars(pattern, text) == fits);
    }
}

}  // namespace trace_times_test
