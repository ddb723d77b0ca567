// SPDX-License-Identifier: Apache-2.0
//
// What a rank sends in a collective, against ranks that send element by element; the time of a group's bytes.

#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include <floptally/bytes/communication.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "simulated_ranks.hpp"

namespace communication_test {
namespace {

using floptally::collective;
using floptally::communication;
using floptally::communication_times;
using floptally::group_bandwidths;
using floptally::parallel_axis;
using floptally::sent_elements;
using simulated::tensor;

std::vector<tensor> operands(std::size_t ranks, std::size_t size) {
    std::vector<tensor> outcome(ranks, tensor(size));
    std::int64_t next = 1;
    for (tensor& value : outcome) {
        std::iota(value.begin(), value.end(), next);
        next += 1000;
    }
    return outcome;
}

TEST_CASE("the bytes sent in a collective equal those of simulated ranks", "[bytes]") {
    for (std::size_t n = 1; n <= 7; ++n) {
        for (const std::size_t size : {1U, 2U, 12U, 35U, 420U}) {
            CAPTURE(n, size);
            const std::vector<tensor> results = operands(n, size);
            tensor sum(size, 0);
            for (const tensor& operand : results) {
                for (std::size_t i = 0; i < size; ++i) {
                    sum[i] += operand[i];
                }
            }
            simulated::ranks reduced(n);
            for (const tensor& result : reduced.all_reduce(results)) {
                REQUIRE(result == sum);
            }
            simulated::ranks scattered(n);
            tensor chunks;
            for (const tensor& result : scattered.reduce_scatter(results)) {
                chunks.insert(chunks.end(), result.begin(), result.end());
            }
            chunks.resize(size);
            REQUIRE(chunks == sum);
            simulated::ranks gathered(n);
            REQUIRE(gathered.all_gather(results).front().size() == n * size);
            simulated::ranks exchanged(n);
            exchanged.all_to_all(std::vector<std::vector<tensor>>(n, std::vector<tensor>(n, tensor(size))));
            for (std::size_t rank = 0; rank < n; ++rank) {
                CHECK(sent_elements(collective::all_reduce, n, size) == reduced.sent[rank]);
                CHECK(sent_elements(collective::reduce_scatter, n, size) == scattered.sent[rank]);
                CHECK(sent_elements(collective::all_gather, n, n * size) == gathered.sent[rank]);
                CHECK(sent_elements(collective::all_to_all, n, n * size) == exchanged.sent[rank]);
            }
        }
    }
    CHECK(sent_elements(collective::send, 4, 35) == 35);
    CHECK(sent_elements(collective::all_reduce, 8, 1'000'000) == 2 * 7 * 125'000);
    CHECK(error_of([] { static_cast<void>(sent_elements(collective::send, 0, 1)); }) ==
          "ranks: must be at least 1, got 0");
}

TEST_CASE("communication time is bytes divided by bandwidth and is absent without a bandwidth", "[bytes]") {
    const communication sent{.entries = {{.component = "mlp", .over = parallel_axis::tp, .bytes = 3'000'000'000},
                                         {.component = "attention", .over = parallel_axis::tp, .bytes = 1'000'000'000},
                                         {.component = "mlp",
                                          .over = parallel_axis::ep,
                                          .operation = collective::all_to_all,
                                          .bytes = 800'000'000,
                                          .uniform = 700'000'000},
                                         {.component = "mlp", .over = parallel_axis::expert_dp, .bytes = 50'000'000}}};
    CHECK(sent.total() == 4'850'000'000);
    CHECK(sent.total("mlp") == 3'850'000'000);
    CHECK(sent.total(parallel_axis::tp) == 4'000'000'000);
    CHECK(sent.total(parallel_axis::ep, collective::all_to_all) == 800'000'000);
    const auto times =
        communication_times(sent, group_bandwidths{}.with(parallel_axis::tp, 400).with(parallel_axis::dp, 50));
    REQUIRE(times.size() == 3);
    CHECK(times[0].over == parallel_axis::tp);
    CHECK(times[0].seconds == std::optional(0.01));
    CHECK(times[1].over == parallel_axis::ep);
    CHECK(times[1].bytes == 700'000'000);
    CHECK(times[1].is_estimate);
    CHECK(!times[1].seconds);
    CHECK(times[2].seconds == std::optional(0.001));
    CHECK(!times[2].is_estimate);
    CHECK(error_of([] { static_cast<void>(group_bandwidths{}.with(parallel_axis::pp, 0)); }) ==
          "bandwidth_pp: must be a finite number above 0, got 0.000000");
}

}  // namespace
}  // namespace communication_test
