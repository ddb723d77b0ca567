// SPDX-License-Identifier: Apache-2.0
//
// Parts of a model in forward order, in whatever order they are added.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <floptally/descriptors/part_list.hpp>

#include "catch2.hpp"

namespace part_list_test {
namespace {

using namespace floptally;

cost matmul(std::uint64_t in) {
    cost sum;
    sum.add("mlp", linear{.in_features = in, .out_features = 3});
    return sum;
}

/// The name of each part, and the layers that it is in.
std::string text_of(const std::vector<model_part>& parts) {
    std::string text;
    for (const model_part& part : parts) {
        text += std::string(part.name.view()) + (part.beside ? " beside" : "");
        text += part.first_layer == no_layer
                    ? "\n"
                    : " x " + std::to_string(part.repeat) + " from " + std::to_string(part.first_layer) + "\n";
    }
    return text;
}

}  // namespace

TEST_CASE("the parts of a model are listed in forward order from inputs to heads") {
    detail::part_list parts;
    parts.add("lm_head", part_role::head, matmul(5));
    parts.add_layers(0, 1, {matmul(7)});
    parts.add("vision", part_role::anywhere, matmul(11));
    parts.add("empty", part_role::input, cost{});  // no part
    parts.add_layers(1, 2, {matmul(7)});
    parts.add("embedding", part_role::input, matmul(13));
    parts.add_layers(3, 4, {matmul(7), matmul(17)}, 1);
    CHECK(text_of(parts.in_order()) ==
          "vision\n"
          "embedding\n"
          "layer x 3 from 0\n"
          "layer x 4 from 3\n"
          "layer beside x 4 from 3\n"
          "lm_head\n");

    detail::part_list decoder;
    decoder.add_layers(0, 1, {matmul(19)});
    decoder.add("lm_head", part_role::head, matmul(23));
    parts.append_encoder_to(decoder, [](const cost& part) { return 2 * part; });
    const std::vector<model_part> all = decoder.in_order();
    CHECK(text_of(all) ==
          "encoder\n"
          "encoder\n"
          "encoder x 3 from 0\n"
          "encoder x 4 from 3\n"
          "encoder beside x 4 from 3\n"
          "encoder\n"
          "layer x 1 from 0\n"
          "lm_head\n");
    CHECK(all[0].role == part_role::anywhere);
    CHECK(all[1].role == part_role::input);
    for (std::size_t i = 2; i < 6; ++i) {
        CHECK(all[i].role == part_role::encoder);
    }
    CHECK(all[0].cost == 2 * matmul(11));
    CHECK(all[6].role == part_role::layer);
    CHECK(all[6].cost == matmul(19));
}

TEST_CASE("trained weights are reported for parts before, in and after the layers") {
    detail::part_list parts;
    parts.add("embedding", part_role::input, matmul(13));
    parts.add_layers(0, 1, {matmul(7)});
    parts.add("lm_head", part_role::head, matmul(5));
    parts.add_prefix_tokens(9);
    parts.add("later", part_role::head, matmul(3));
    const std::vector<model_part> all = parts.in_order();
    REQUIRE(all.size() == 4);
    CHECK(all[0].cost == matmul(13).with_prefix_tokens(9));
    CHECK(all[1].cost == matmul(7).with_prefix_tokens(9));
    CHECK(all[2].cost == matmul(5).with_prefix_tokens(9));
    CHECK(all[3].cost == matmul(3));
    parts.move_into(modality::audio);
    CHECK(parts.in_order()[3].cost == matmul(3).in(modality::audio));
}

TEST_CASE("consecutive model parts are grouped if their name, role and layer range are equal") {
    const model_part each_part{.name = "layer", .role = part_role::layer, .first_layer = 2, .repeat = 3};
    const auto changed = [&each_part](auto change) {
        model_part other = each_part;
        change(other);
        return other;
    };
    const std::vector<model_part> others{changed([](model_part& part) { part.name = "block"; }),
                                         changed([](model_part& part) { part.role = part_role::tower; }),
                                         changed([](model_part& part) { part.first_layer = 5; }),
                                         changed([](model_part& part) { part.repeat = 4; })};
    for (const model_part& other : others) {
        const std::vector<model_part> parts{each_part, each_part, other, each_part};
        std::vector<std::size_t> sizes;
        for_each_run(array_view<model_part>(parts.data(), parts.size()),
                     [&sizes](array_view<model_part> run) { sizes.push_back(run.size()); });
        CHECK(sizes == std::vector<std::size_t>{2, 1, 1});
    }
}

}  // namespace part_list_test
