// SPDX-License-Identifier: Apache-2.0
//
// Mixed-precision MFU against a list of the products of each layer, each at the peak of its own precision.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/descriptors/model_config.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/step/meter.hpp>
#include <floptally/step/meter_log.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/step/precision_setting_text.hpp>
#include <floptally/step/report.hpp>
#include <floptally/step/report_table.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace mixed_precision_test {
namespace {

using floptally::flop_counter;
using floptally::index_range;
using floptally::mask;
using floptally::mixed_precision;
using floptally::mixed_precision_rate;
using floptally::model_part;
using floptally::precision_setting;
using floptally::tally;
using floptally::training_plan;
using floptally::view;
using floptally::conventions::exact;

constexpr std::uint64_t num_layers = 8;
constexpr double bf16 = 1000;
constexpr double fp8 = 2000;
constexpr double fp4 = 4000;

/// Eight layers, the first three with a causal and the others with a windowed core, and a head.
std::vector<model_part> small_model() {
    floptally::cost mlp;
    mlp.add("mlp", floptally::linear{.in_features = 3, .out_features = 5});
    const floptally::attention_core core{.num_heads = 2, .qk_head_dim = 4, .v_head_dim = 4};
    floptally::cost causal;
    causal.add("attention.core", core, mask::causal());
    floptally::cost windowed;
    windowed.add("attention.core", core, mask::sliding_window(3));
    floptally::cost head;
    head.add("lm_head", floptally::linear{.in_features = 3, .out_features = 70});
    return {{.name = "layer", .cost = causal, .first_layer = 0, .repeat = 3},
            {.name = "layer", .cost = mlp, .first_layer = 0, .repeat = 3},
            {.name = "layer", .cost = windowed, .first_layer = 3, .repeat = 5},
            {.name = "layer", .cost = mlp, .first_layer = 3, .repeat = 5},
            {.name = "lm_head", .role = floptally::part_role::head, .cost = head}};
}

const std::vector<std::uint32_t> lengths{7, 2, 30};

tally batch_of(const flop_counter& model) {
    tally batch{model.masks()};
    batch.add_lengths(lengths);
    return batch;
}

/// FLOPs of a component of a layer (8: outside) in a training step, token by token and pair by pair.
std::uint64_t listed(std::string_view component, std::uint64_t layer) {
    std::uint64_t sum = 0;
    for (const std::uint32_t length : lengths) {
        for (std::uint32_t query = 0; query < length; ++query) {
            sum += component == "mlp" && layer < num_layers ? 3 * 2 * 3 * 5 : 0;
            sum += component == "lm_head" && layer == num_layers ? 3 * 2 * 3 * 70 : 0;
            for (std::uint32_t key = 0; key <= query && component == "attention.core" && layer < num_layers; ++key) {
                sum += layer < 3 || query - key < 3 ? 3 * 2 * 2 * (4 + 4) : 0;
            }
        }
    }
    return sum;
}

/// The rate of a step in which each component of each layer runs at `peak_of(component, layer)`.
template <class Peak>
mixed_precision_rate expected(double gpu_seconds, Peak peak_of) {
    double needed = 0;
    std::uint64_t sum = 0;
    for (std::uint64_t layer = 0; layer <= num_layers; ++layer) {
        for (const std::string_view component : {"attention.core", "mlp", "lm_head"}) {
            const std::uint64_t work = listed(component, layer);
            needed += static_cast<double>(work) / 1e12 / peak_of(component, layer);
            sum += work;
        }
    }
    return {.mfu = needed / gpu_seconds, .peak_tflops = static_cast<double>(sum) / 1e12 / needed};
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-12 * std::abs(b); }
bool near(const mixed_precision_rate& a, const mixed_precision_rate& b) {
    return near(a.mfu, b.mfu) && near(a.peak_tflops, b.peak_tflops);
}

mixed_precision_rate rate_of(std::vector<precision_setting> settings) {
    const std::vector<model_part> parts = small_model();
    const flop_counter whole(parts);
    return mixed_precision(whole, parts, {}, std::move(settings), bf16).rate(batch_of(whole), 1e-6);
}

}  // namespace

TEST_CASE("mixed precision divides the FLOPs of each layer and component by the peak of its precision") {
    CHECK(near(rate_of({}), expected(1e-6, [](std::string_view, std::uint64_t) { return bf16; })));
    CHECK(near(rate_of({}).peak_tflops, bf16));
    // By component.
    CHECK(near(rate_of({{.component = "mlp", .peak_tflops = fp8}}),
               expected(1e-6, [](std::string_view name, std::uint64_t) { return name == "mlp" ? fp8 : bf16; })));
    // A list of layers: CodonFM's layer_precision, the first and the last layers as they are, fp8 between.
    CHECK(near(rate_of({{.layers = index_range{1, 7}, .peak_tflops = fp8}}),
               expected(1e-6, [](std::string_view, std::uint64_t l) { return l >= 1 && l < 7 ? fp8 : bf16; })));
    CHECK(near(rate_of({{.layers = index_range{2, 3}, .peak_tflops = fp8},
                        {.layers = index_range{5, 6}, .peak_tflops = fp8},
                        {.layers = index_range{3, 5}, .peak_tflops = fp4}}),
               expected(1e-6, [](std::string_view, std::uint64_t l) {
                   return l == 2 || l == 5 ? fp8 : l == 3 || l == 4 ? fp4 : bf16;
               })));
    CHECK(near(rate_of({{.layers = index_range{0, 1}, .peak_tflops = fp8}}),
               expected(1e-6, [](std::string_view, std::uint64_t l) { return l == 0 ? fp8 : bf16; })));
    // A component of some layers; of settings that name the same the last one holds.
    CHECK(near(rate_of({{.layers = index_range{0, 4}, .peak_tflops = fp8},
                        {.component = "attention.core", .peak_tflops = 500},
                        {.component = "mlp", .layers = index_range{3, 8}, .peak_tflops = fp4}}),
               expected(1e-6, [](std::string_view name, std::uint64_t l) {
                   return name == "attention.core" ? 500 : name == "mlp" && l >= 3 && l < 8 ? fp4 : l < 4 ? fp8 : bf16;
               })));
    // Every layer, and not the head.
    CHECK(near(rate_of({{.layers = index_range{0, 8}, .peak_tflops = fp8}}),
               expected(1e-6, [](std::string_view, std::uint64_t l) { return l < num_layers ? fp8 : bf16; })));
}

TEST_CASE("the mean peak of a mixed-precision step lies between the peaks and gives the mixed-precision MFU") {
    const std::vector<model_part> parts = small_model();
    const flop_counter whole(parts);
    const tally batch = batch_of(whole);
    const mixed_precision_rate rate =
        mixed_precision(whole, parts, {}, {{.layers = index_range{0, 5}, .peak_tflops = fp8}}, bf16).rate(batch, 0.25);
    CHECK(rate.peak_tflops > bf16);
    CHECK(rate.peak_tflops < fp8);
    CHECK(near(rate.mfu, floptally::to_double(whole.total_flops(batch)) / 1e12 / (0.25 * rate.peak_tflops)));
    // The single number that people quote says another thing: over bf16 it is larger, over fp8 smaller.
    const auto quoted = [&](double peak) {
        return floptally::to_double(whole.total_flops(batch)) / 1e12 / (0.25 * peak);
    };
    CHECK(rate.mfu < quoted(bf16));
    CHECK(rate.mfu > quoted(fp8));
    // By component alone it is what the breakdown says.
    const floptally::component_peak peaks[] = {{"mlp", fp8}};
    CHECK(near(mixed_precision(whole, {{.component = "mlp", .peak_tflops = fp8}}, bf16).rate(batch, 2 * 0.25).mfu,
               floptally::mixed_precision_mfu(whole.evaluate(batch), {0.25, 2, bf16}, peaks)));
    // Nothing was done.
    const mixed_precision none(whole, {{.component = "mlp", .peak_tflops = fp8}}, bf16);
    CHECK(none.rate(tally{whole.masks()}, 1) == mixed_precision_rate{.mfu = 0, .peak_tflops = bf16});
}

TEST_CASE("mixed precision also works for plans that treat layers differently") {
    training_plan plan;
    plan.weights.push_back({.state = floptally::weight_state::frozen}, "weights");
    plan.weights.push_back({.weights = "mlp", .state = floptally::weight_state::lora, .rank = 2, .first_layer = 4},
                           "weights");
    const std::vector<model_part> parts = small_model();
    const flop_counter whole(parts, exact, plan);
    const tally batch = batch_of(whole);
    const std::vector<precision_setting> settings{{.layers = index_range{0, 4}, .peak_tflops = fp8}};
    const mixed_precision_rate rate = mixed_precision(whole, parts, plan, settings, bf16).rate(batch, 1);
    // Nothing below layer 4 has a gradient: its work is the forward pass, a third of what is listed.
    double lower = 0;
    for (std::uint64_t layer = 0; layer < 4; ++layer) {
        lower += static_cast<double>(listed("mlp", layer) + listed("attention.core", layer)) / 3 / 1e12;
    }
    const double all = floptally::to_double(whole.total_flops(batch)) / 1e12;
    CHECK(near(rate.mfu, lower / fp8 + (all - lower) / bf16));
    // What is an upper bound stays one in each of its pieces.
    const floptally::cost alone = floptally::cost_of(parts);
    const training_plan last{.weights = {{"*", floptally::weight_state::frozen}, {"lm_head"}}};
    for (const floptally::work_at_peak& piece :
         mixed_precision(flop_counter(alone, exact, last), {}, bf16).by_peak(batch)) {
        CHECK(piece.work.is_upper_bound());
    }
    // Parts under another plan are of other FLOPs: an error, not another number.
    const mixed_precision other(whole, parts, {}, settings, bf16);
    CHECK(error_of([&] { return other.rate(batch, 1).mfu; }).rfind("parts: have ", 0) == 0);
}

TEST_CASE("mixed precision of a real model divides its FLOPs evenly over its equal layers") {
    const auto model = floptally::presets::llama_3_8b;
    const std::vector<model_part> parts = floptally::parts_of(model);
    const flop_counter whole(parts);
    tally batch{whole.masks()};
    batch.add_lengths(std::vector<std::uint32_t>{8192, 100});
    const floptally::breakdown work = whole.evaluate(batch);
    const double head = floptally::to_double(work["lm_head"].total(view::useful)) / 1e12;
    const double layers = floptally::to_double(work.total()) / 1e12 - head;
    const mixed_precision_rate rate =
        mixed_precision(whole, parts, {}, {{.layers = index_range{4, 28}, .peak_tflops = fp8}}, bf16).rate(batch, 1);
    CHECK(near(rate.mfu, layers * 24 / 32 / fp8 + (layers * 8 / 32 + head) / bf16));
}

TEST_CASE("a precision setting with an unknown name or an invalid number is an error") {
    const auto problem = [](const precision_setting& setting) {
        return error_of([&] { return rate_of({setting}).mfu; });
    };
    CHECK(problem({.component = "mpl", .peak_tflops = fp8}).rfind("component: ", 0) == 0);
    CHECK(problem({.layers = index_range{0, 9}, .peak_tflops = fp8}) ==
          "layers: must be a range of the 8 layers, got 0 to 9");
    CHECK(problem({.layers = index_range{3, 3}, .peak_tflops = fp8}) ==
          "layers: must be a range of the 8 layers, got 3 to 3");
    CHECK(problem({.peak_tflops = 0}).rfind("peak_tflops: must be", 0) == 0);
    // The layers of a tower are numbered too, and are not meant.
    std::vector<model_part> towered = small_model();
    towered.insert(towered.begin(), {.name = "vision",
                                     .role = floptally::part_role::tower,
                                     .cost = small_model().front().cost,
                                     .first_layer = 0,
                                     .repeat = 12});
    CHECK(error_of([&] {
              mixed_precision(flop_counter(towered), towered, {}, {{.layers = index_range{0, 9}, .peak_tflops = fp8}},
                              bf16);
          }) == "layers: must be a range of the 8 layers, got 0 to 9");
    const flop_counter whole(small_model());
    CHECK(error_of([&] {
              return mixed_precision(whole, {{.layers = index_range{0, 1}, .peak_tflops = fp8}}, bf16)
                  .whole()
                  .masks()
                  .size();
          }) == "layers: must be a range of the 0 layers, got 0 to 1");
    const mixed_precision fine(whole, {}, bf16);
    CHECK(error_of([&] { return fine.rate(batch_of(whole), 0).mfu; }).rfind("seconds: must be", 0) == 0);
}

TEST_CASE("precision settings are parsed from text") {
    const auto settings = floptally::precision_settings_named("mlp=fp8,@1-6=500.5,attention.core@3=bf16", "H100 SXM");
    REQUIRE(settings.size() == 3);
    CHECK(settings[0].component == "mlp");
    CHECK(!settings[0].layers);
    CHECK(settings[0].peak_tflops == floptally::accelerator_named("H100 SXM").peak_tflops(floptally::precision::fp8));
    CHECK(settings[0].precision == "fp8");
    CHECK(settings[1].component.empty());
    CHECK((settings[1].layers == index_range{1, 7}));
    CHECK(settings[1].peak_tflops == 500.5);
    CHECK(settings[2].component == "attention.core");
    CHECK((settings[2].layers == index_range{3, 4}));
    const auto problem = [](std::string_view text, const std::optional<std::string>& product = "H100 SXM") {
        return error_of([&] { return floptally::precision_settings_named(text, product).size(); });
    };
    for (const char* bad : {"", "mlp", "=fp8", "mlp=fp8,", "@=fp8", "@3-=fp8", "@5-3=fp8", "@x=fp8", "@-1=fp8",
                            "@0-18446744073709551615=fp8"}) {
        INFO(bad);
        CHECK(problem(bad).rfind("precisions: ", 0) == 0);
    }
    CHECK(problem("mlp=fp9").rfind("precision: must be one of", 0) == 0);
    CHECK(problem("mlp=fp8", std::nullopt).rfind("precisions: the name of a precision needs an accelerator", 0) == 0);
    CHECK(problem("mlp=1979", std::nullopt) == "no error");
}

TEST_CASE("a meter logs the mixed-precision MFU and its denominator") {
    const std::vector<model_part> parts = small_model();
    const flop_counter whole(parts);
    floptally::meter m(whole, {.gpus = 1, .peak_tflops = bf16});
    m.runs_in(mixed_precision(whole, parts, {}, {{.layers = index_range{1, 7}, .peak_tflops = fp8}}, bf16));
    for (int step = 0; step < 2; ++step) {
        m.begin_step();
        m.microbatch().add_lengths(lengths);
        m.end_step(0.5);
    }
    const mixed_precision_rate wanted =
        expected(0.5, [](std::string_view, std::uint64_t l) { return l >= 1 && l < 7 ? fp8 : bf16; });
    std::size_t found = 0;
    for (const floptally::metric& logged : floptally::metrics(m, m.run(), "train/")) {
        if (logged.name == "train/mfu_mixed_pct") {
            CHECK(near(logged.value, 100 * wanted.mfu));
            ++found;
        }
        if (logged.name == "train/mixed_peak_tflops") {
            CHECK(near(logged.value, wanted.peak_tflops));
            ++found;
        }
    }
    CHECK(found == 2);
    // Precisions of another model are an error.
    floptally::meter other(flop_counter(2 * floptally::cost_of(parts)), {.gpus = 1, .peak_tflops = bf16});
    other.runs_in(mixed_precision(whole, {}, bf16));
    other.begin_step();
    other.microbatch().add_lengths(lengths);
    other.end_step(0.5);
    CHECK(error_of([&] {
              return floptally::metrics(other, other.run()).size();
          }).rfind("flops: the precisions belong to", 0) == 0);
}

TEST_CASE("a report shows the mixed-precision MFU with its denominator") {
    const flop_counter whole(small_model());
    floptally::report r{.model_type = "small", .batch = batch_of(whole), .work = whole.evaluate(batch_of(whole))};
    r.mfu = floptally::mfu_report{.step = {.seconds = 1e-6, .gpus = 1, .peak_tflops = bf16}, .peak_source = "given"};
    CHECK(floptally::to_table(r).find("mixed-precision") == std::string::npos);
    r.mfu->mixed = mixed_precision_rate{.mfu = 0.415, .peak_tflops = 1500.5};
    const std::string table = floptally::to_table(r);
    CHECK(table.find(
              "  mixed-precision MFU                    41.50 %  each part over the peak of its precision; together "
              "1500.50 TFLOP/s\n") != std::string::npos);
}

}  // namespace mixed_precision_test
