// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <floptally/descriptors/vision.hpp>
#include <floptally/floptally.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "traced.hpp"

namespace vision_test {
namespace {

using namespace floptally;
using matmul_trace::place;
using matmul_trace::sequence_list;
using matmul_trace::step;
using traced::check_against_trace;

flops of_grids(const cost& model, std::initializer_list<grid> grids, phase during) {
    const flop_counter counted(model.in(modality::vision));
    tally batch{counted.masks()};
    for (const grid& image : grids) {
        batch.add(image);
    }
    return counted.evaluate(batch).get(view::useful, during);
}

/// Multiply-adds of a convolution whose stride is its kernel, number by number.
std::uint64_t multiply_adds(std::uint64_t patches, std::uint64_t channels, std::uint64_t frames, std::uint64_t height,
                            std::uint64_t width, std::uint64_t out) {
    std::uint64_t count = 0;
    for (std::uint64_t patch = 0; patch < patches; ++patch) {
        for (std::uint64_t c = 0; c < channels; ++c) {
            for (std::uint64_t f = 0; f < frames; ++f) {
                for (std::uint64_t y = 0; y < height; ++y) {
                    for (std::uint64_t x = 0; x < width; ++x) {
                        count += out;
                    }
                }
            }
        }
    }
    return count;
}

/// True where LoRA can stand beside the weight of this name.
bool adapts(const cost& part, const std::string& name) {
    for (const cost_entry& entry : part.entries()) {
        const std::string component(part.components()[entry.component].view());
        if (component == name || component + "/" + std::string(part.weight_name(entry)) == name) {
            return entry.per_rank.in != 0;
        }
    }
    FAIL(name << " is no weight");
    return false;
}

}  // namespace

TEST_CASE("a patch embedding counts a convolution over pixels and no gradient of the input", "[vision]") {
    for (const std::uint64_t width : {0U, 1U, 2U, 5U}) {
        const cost part =
            patch_embedding{.in_channels = 3, .patch_size = 4, .patch_width = width, .temporal_patch_size = 2}.cost(7);
        const std::uint64_t products = 2 * multiply_adds(2 * 3 * 5, 3, 2, 4, width == 0 ? 4 : width, 7);
        CHECK(of_grids(part, {grid{2, 3, 5}}, phase::forward) == flops{products});
        CHECK(of_grids(part, {grid{2, 3, 5}}, phase::backward_weights) == flops{products});
        CHECK(of_grids(part, {grid{2, 3, 5}}, phase::backward_data) == flops{});
        CHECK_FALSE(adapts(part, "patch_embedding"));
    }
    CHECK(patch_embedding{.patch_size = 4, .bias = true}.cost(7).parameters() == 3 * 4 * 4 * 7 + 7);
}

TEST_CASE("a patch merger makes one token of the text width from each square of patches", "[vision]") {
    for (const std::uint64_t intermediate : {0U, 11U}) {
        const cost part =
            patch_merger{
                .spatial_merge_size = 2, .hidden_size = 5, .intermediate_size = intermediate, .out_features = 3}
                .cost();
        std::uint64_t products = 0;
        for (int square = 0; square < 2 * 3 + 4 * 1; ++square) {  // of a picture 4 x 6, and a clip of 4 frames 2 x 2
            const std::uint64_t inner = intermediate == 0 ? 4 * 5 : intermediate;
            products += 2 * (4 * 5) * inner + 2 * inner * 3;
        }
        CHECK(of_grids(part, {grid{1, 4, 6}, grid{4, 2, 2}}, phase::forward) == flops{products});
        CHECK(adapts(part, "merger/up_proj"));
        CHECK(adapts(part, "merger/down_proj"));
    }
    const cost gated =
        gated_patch_merger{.spatial_merge_size = 2, .hidden_size = 5, .intermediate_size = 11, .out_features = 3}
            .cost();
    std::uint64_t products = 0;
    for (int square = 0; square < 2 * 3; ++square) {
        products += 2 * (4 * 5) * 3 + 2 * 3 * 3 + 2 * (2 * 3 * 11) + 2 * 11 * 3;
    }
    CHECK(of_grids(gated, {grid{1, 4, 6}}, phase::forward) == flops{products});
    CHECK_FALSE(adapts(gated, "merger/downsample"));  // a convolution
    for (const char* matrix : {"merger/proj", "merger/gate_proj", "merger/up_proj", "merger/down_proj"}) {
        CHECK(adapts(gated, matrix));
    }
}

TEST_CASE("a pooling head counts one query that attends every token, and an MLP", "[vision]") {
    const cost part = attention_pooling{.num_heads = 2, .hidden_size = 6, .intermediate_size = 9, .learned = 6}.cost();
    CHECK(part.parameters() == 4 * 6 * 6 + 2 * 6 * 9 + 6);
    check_against_trace(part, [](step& trace, const sequence_list& sequences, bool) {
        for (const auto& item : sequences) {
            const std::uint64_t pictures = item.length == 0 ? 0 : 1;
            trace.weight("pooling", pictures, 6, 6, place::after_layers);     // q
            trace.weight("pooling", item.length, 6, 6, place::after_layers);  // k
            trace.weight("pooling", item.length, 6, 6, place::after_layers);  // v
            if (pictures != 0) {
                for (int head = 0; head < 2; ++head) {
                    trace.core_row("pooling", 2 * item.length, 3, 3);
                }
            }
            trace.weight("pooling", pictures, 6, 6, place::after_layers);  // out
            trace.weight("pooling", pictures, 6, 9, place::after_layers);
            trace.weight("pooling", pictures, 9, 6, place::after_layers);
        }
    });
    CHECK(error_of([] {
              static_cast<void>(attention_pooling{.num_heads = 4, .hidden_size = 6, .intermediate_size = 9}.cost());
          }) == "num_attention_heads: must divide hidden_size (6), got 4");
}

TEST_CASE("a zero size of a vision layer is an error that names the size", "[vision]") {
    const auto problem = [](const auto& part, auto... of) {
        return error_of([&] { static_cast<void>(part.cost(of...)); });
    };
    const std::string none = ": must be at least 1, got 0";
    CHECK(problem(patch_embedding{.in_channels = 0, .patch_size = 4}, 7U) == "num_channels" + none);
    CHECK(problem(patch_embedding{}, 7U) == "patch_size" + none);
    CHECK(problem(patch_embedding{.patch_size = 4, .temporal_patch_size = 0}, 7U) == "temporal_patch_size" + none);
    const patch_merger merger{.hidden_size = 5, .out_features = 3};
    CHECK(problem(merger) == "no error");
    patch_merger none_beside = merger;
    none_beside.spatial_merge_size = 0;
    CHECK(problem(none_beside) == "spatial_merge_size" + none);
    CHECK(problem(patch_merger{.out_features = 3}) == "hidden_size" + none);
    CHECK(problem(patch_merger{.hidden_size = 5}) == "out_hidden_size" + none);
    const gated_patch_merger gated{.hidden_size = 5, .intermediate_size = 11, .out_features = 3};
    CHECK(problem(gated) == "no error");
    gated_patch_merger none_gated = gated;
    none_gated.spatial_merge_size = 0;
    CHECK(problem(none_gated) == "spatial_merge_size" + none);
    CHECK(problem(gated_patch_merger{.intermediate_size = 11, .out_features = 3}) == "hidden_size" + none);
    CHECK(problem(gated_patch_merger{.hidden_size = 5, .out_features = 3}) == "intermediate_size" + none);
    CHECK(problem(gated_patch_merger{.hidden_size = 5, .intermediate_size = 11}) == "out_hidden_size" + none);
    CHECK(problem(attention_pooling{.hidden_size = 6, .intermediate_size = 9}) == "num_attention_heads" + none);
    CHECK(problem(attention_pooling{.num_heads = 2, .hidden_size = 6}) == "intermediate_size" + none);
}

}  // namespace vision_test
