// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <set>
#include <string>

#include <floptally/floptally.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "traced.hpp"

namespace hyper_connections_test {
namespace {

using namespace floptally;
using matmul_trace::sequence_list;
using matmul_trace::step;
using traced::check_against_trace;
using traced::component_names;

constexpr layer place{.index = 0, .hidden_size = 7};

// DeepSeek-V4-Flash: 4 streams of 4096; Qwen4: rank 320.
static_assert(layer_part<hyper_connections> && layer_part<stream_head> && layer_part<gated_streams>);
static_assert(hyper_connections{4}.cost({.hidden_size = 4096}).parameters() == 24 * 16384);
static_assert(stream_head{4}.cost({.hidden_size = 4096}).parameters() == 4 * 16384);

}  // namespace

TEST_CASE(
    "hyper-connections count the mixing coefficients of all residual streams and the products that mix the streams",
    "[hyper_connections]") {
    for (const std::uint64_t streams : {1U, 3U, 4U}) {
        for (const bool mixes : {true, false}) {
            CAPTURE(streams, mixes);
            const cost model = hyper_connections{.streams = streams, .mixes = mixes}.cost(place);
            CHECK(component_names(model) == std::set<std::string>{"residual.mix"});
            check_against_trace(model, [&](step& trace, const sequence_list& sequences, bool) {
                const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
                trace.weight("residual.mix", tokens, streams * 7, streams);  // of collapsing
                trace.weight("residual.mix", tokens, streams * 7, streams);  // of sharding out
                for (std::uint64_t stream = 0; mixes && stream < streams; ++stream) {
                    trace.weight("residual.mix", tokens, streams * 7, streams);
                    trace.state_read("residual.mix", tokens, streams, 7);
                }
            });
        }
    }
}

TEST_CASE("the head of hyper-connections multiplies each residual stream by one weight", "[hyper_connections]") {
    check_against_trace(stream_head{3}.cost(place), [](step& trace, const sequence_list& sequences, bool) {
        for (int stream = 0; stream < 3; ++stream) {
            trace.weight("residual.head", matmul_trace::tokens_of(sequences), 3 * 7, 1);
        }
    });
}

TEST_CASE("gated residual streams count two low-rank matrices and the injection weights", "[hyper_connections]") {
    for (const bool injects : {true, false}) {
        CAPTURE(injects);
        const cost model = gated_streams{.streams = 3, .rank = 5, .injects = injects}.cost(place);
        CHECK(model.parameters() == 2 * 21 * 5 + (injects ? 21 * 3 : 0));
        check_against_trace(model, [&](step& trace, const sequence_list& sequences, bool) {
            const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
            trace.weight("residual.mix", tokens, 21, 5);
            trace.weight("residual.mix", tokens, 5, 21);
            if (injects) {
                trace.weight("residual.mix", tokens, 21, 3);
            }
        });
    }
}

TEST_CASE("hyper-connections run on every tp rank with replicated weights", "[hyper_connections]") {
    const elementwise_parameters own{.norm = 21, .bias = 18};
    const cost plain[] = {hyper_connections{3}.cost(place), stream_head{3}.cost(place),
                          gated_streams{3, 5}.cost(place)};
    const cost more[] = {hyper_connections{.streams = 3, .elementwise = own}.cost(place),
                         stream_head{.streams = 3, .elementwise = own}.cost(place),
                         gated_streams{.streams = 3, .rank = 5, .elementwise = own}.cost(place)};
    for (int i = 0; i < 3; ++i) {
        CHECK(more[i].parameters() == plain[i].parameters() + 39);
        for (const cost_entry& row : more[i].entries()) {
            CHECK(row.sharding == tensor_sharding::replicated());
        }
    }
}

TEST_CASE("zero streams or a zero rank of hyper-connections is an error that names the field",
          "[hyper_connections][errors]") {
    CHECK(error_of([] { return hyper_connections{}.cost(place); }) == "hc_mult: must be at least 1, got 0");
    CHECK(error_of([] { return stream_head{}.cost(place); }) == "hc_mult: must be at least 1, got 0");
    CHECK(error_of([] { return gated_streams{.rank = 3}.cost(place); }) == "hc_count: must be at least 1, got 0");
    CHECK(error_of([] { return gated_streams{.streams = 3}.cost(place); }) == "hc_lowrank: must be at least 1, got 0");
    CHECK(error_of([] {
              return hyper_connections{1ULL << 40}.cost({.hidden_size = 1ULL << 40});
          }).find("residual.mix") != std::string::npos);
}

}  // namespace hyper_connections_test
