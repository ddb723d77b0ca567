// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include <floptally/bytes/byte_report.hpp>
#include <floptally/json/byte_json.hpp>

#include "catch2.hpp"

namespace byte_report_test {
namespace {

/// 6 MFLOP that move 2 MB of weights and 1 MB of activations, and an embedding of 1000 bytes without a FLOP.
floptally::byte_report by_hand() {
    floptally::byte_report made{.model_type = "own", .batches = 2, .mbu = 0.4125};
    made.work.append("mlp").padded[0] = 6'000'000;
    floptally::component_bytes mlp{.name = "mlp"};
    mlp.bytes[0][0] = 2'000'000;
    mlp.bytes[1][2] = 1'000'000;
    floptally::component_bytes embedding{.name = "embedding"};
    embedding.bytes[0][0] = 1000;
    made.moved.components = {embedding, mlp};
    made.moved.unsaid = {"a", "b"};
    return made;
}

}  // namespace

TEST_CASE("A byte report as text: a line for each component, their sum, and what it rests on") {
    CHECK(to_table(by_hand()) ==
          "                               FLOPs      weights    gradients  activations        cache        bytes   "
          "FLOPs/byte\n"
          "embedding                          0         1000            0            0            0         1000   "
          "         0\n"
          "mlp                            6e+06        2e+06            0        1e+06            0        3e+06   "
          "         2\n"
          "total                          6e+06    2.001e+06            0        1e+06            0    3.001e+06   "
          "     1.999\n"
          "executed FLOPs; weights of 16 bits read 2 times a pass; attention and element-wise work are fused\n"
          "activations are not said, and not counted, of: a, b\n"
          "MBU 41.25 %: weights and cache, of what the memory could move\n");
    CHECK(table_of(by_hand()).sections[0].rows[2][6].exact == "3001000");
}

TEST_CASE("A byte report as JSON has its integers as text") {
    const nlohmann::ordered_json made = to_json(by_hand());
    CHECK(made["components"][1].dump() ==
          R"({"name":"mlp","flops":"6000000","bytes":{"weights":"2000000","gradients":"0","activations":"1000000",)"
          R"("cache":"0","total":"3000000"},"intensity":2.0})");
    CHECK(made["total"]["bytes"]["total"] == "3001000");
    CHECK(made["bits"]["cache"] == 16);
    CHECK(made["mbu"] == 0.4125);
    CHECK(made["unsaid"].size() == 2);
    CHECK_FALSE(made.contains("memory_tbps"));
}

}  // namespace byte_report_test
