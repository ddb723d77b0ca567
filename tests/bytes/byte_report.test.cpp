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
    floptally::byte_report bytes_report{
        .model_type = "own", .batches = 2, .mbu = floptally::bandwidth_utilization{.mbu = 0.4125}};
    bytes_report.work.append("mlp").padded[0] = 6'000'000;
    floptally::component_bytes mlp{.name = "mlp"};
    mlp.bytes[0][0] = 2'000'000;
    mlp.bytes[1][2] = 1'000'000;
    floptally::component_bytes embedding{.name = "embedding"};
    embedding.bytes[0][0] = 1000;
    bytes_report.moved.components = {embedding, mlp};
    bytes_report.moved.unsaid = {"a", "b"};
    return bytes_report;
}

}  // namespace

TEST_CASE("a byte report as text has a line for each component, the sum and the assumptions") {
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
          "activations of unknown width are not counted: a, b\n"
          "MBU 41.25 %: weights and cache, of what the memory could move\n");
    CHECK(table_of(by_hand()).sections[0].rows[2][6].exact == "3001000");
}

TEST_CASE("a byte report as JSON writes integers as strings") {
    const nlohmann::ordered_json output = to_json(by_hand());
    CHECK(output["components"][1].dump() ==
          R"({"name":"mlp","flops":"6000000","bytes":{"weights":"2000000","gradients":"0","activations":"1000000",)"
          R"("cache":"0","total":"3000000"},"intensity":2.0})");
    CHECK(output["total"]["bytes"]["total"] == "3001000");
    CHECK(output["bits"]["cache"] == 16);
    CHECK(output["mbu"] == 0.4125);
    CHECK(output["unsaid"].size() == 2);
    CHECK_FALSE(output.contains("memory_tbps"));
}

TEST_CASE("text, Markdown and JSON mark an MBU that is only an upper bound") {
    floptally::byte_report report = by_hand();
    report.mbu = floptally::bandwidth_utilization{.mbu = 1.398, .is_at_most = true, .uniform = 0.712};
    for (const std::string& text : {to_table(report), to_markdown(report)}) {
        CHECK(text.find("MBU at most 139.80 %: ") != std::string::npos);
        CHECK(text.find("MBU 71.20 %, uniform estimate: ") != std::string::npos);
        CHECK(text.find("the bound of the MBU is above 100 %: ") != std::string::npos);
        CHECK(text.find("MBU 139") == std::string::npos);
    }
    const nlohmann::ordered_json json = to_json(report);
    CHECK_FALSE(json.contains("mbu"));
    CHECK(json["mbu_at_most"] == 1.398);
    CHECK(json["mbu_uniform"] == 0.712);
    CHECK(json["notes"].size() == 1);
    report.mbu = floptally::bandwidth_utilization{.mbu = 1.01};
    CHECK(to_table(report).find("\nmore bytes than the memory could move: ") != std::string::npos);
    report.mbu->mbu = 0.99;
    CHECK_FALSE(to_json(report).contains("notes"));
}

}  // namespace byte_report_test
