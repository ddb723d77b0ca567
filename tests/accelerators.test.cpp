// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/accelerators.hpp>

#include "catch2.hpp"

namespace {

using floptally::accelerator;
using floptally::accelerator_named;
using floptally::accelerators;
using floptally::precision;
using floptally::precision_named;

/// The whole text of the error for `product`, or the name of the part that it resolved to.
std::string refusal(std::string_view product) {
    try {
        return std::string("accepted as ").append(accelerator_named(product).name);
    } catch (const floptally::error& e) {
        return e.what();
    }
}

bool is_refused(std::string_view product) { return refusal(product).starts_with("accelerator: "); }

std::string upper(std::string_view text) {
    std::string result(text);
    for (char& c : result) {
        c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
    return result;
}

std::vector<std::string_view> names(const accelerator& part) {
    std::vector<std::string_view> all{part.name};
    for (const std::string_view driver_name : part.driver_names) {
        if (!driver_name.empty()) {
            all.push_back(driver_name);
        }
    }
    return all;
}

double rate(std::string_view product, precision which) { return accelerator_named(product).peak_tflops(which); }

bool is_near(double value, double expected, double relative) {
    return std::abs(value - expected) <= relative * expected;
}

/// The driver itself gives these to two different parts.
const std::set<std::string_view> shared_names{"AMD Instinct MI250X/MI250"};

}  // namespace

TEST_CASE("every name of a part resolves to that part, in any letter case and with blanks around it", "[accelerator]") {
    for (const accelerator& part : accelerators()) {
        for (const std::string_view name : names(part)) {
            CAPTURE(name);
            if (shared_names.contains(name)) {
                CHECK(is_refused(name));
                continue;
            }
            CHECK(&accelerator_named(name) == &part);
            CHECK(&accelerator_named(upper(name)) == &part);
            CHECK(&accelerator_named("  " + std::string(name) + "\t\n") == &part);
        }
    }
}

TEST_CASE("no two parts share a name, except where the driver gives both the same", "[accelerator]") {
    std::set<std::string> seen;
    std::set<std::string> repeated;
    for (const accelerator& part : accelerators()) {
        std::set<std::string> own;
        for (const std::string_view name : names(part)) {
            own.insert(upper(name));
        }
        CHECK(own.size() == names(part).size());
        for (const std::string& name : own) {
            if (!seen.insert(name).second) {
                repeated.insert(name);
            }
        }
    }
    CHECK(repeated == std::set<std::string>{"AMD INSTINCT MI250X/MI250"});
}

TEST_CASE("names as the drivers report them", "[accelerator]") {
    struct known {
        std::string_view product;
        std::string_view part;
    };
    const known all[] = {{"NVIDIA H100 80GB HBM3", "H100 SXM"},
                         {"NVIDIA H100 PCIe", "H100 PCIe"},
                         {"NVIDIA H100 NVL", "H100 NVL"},
                         {"NVIDIA A100-SXM4-80GB", "A100 SXM"},
                         {"NVIDIA A100-SXM4-40GB", "A100 SXM"},
                         {"NVIDIA A100 80GB PCIe", "A100 PCIe"},
                         {"NVIDIA A100-PCIE-40GB", "A100 PCIe"},
                         {"NVIDIA H200", "H200 SXM"},
                         {"NVIDIA H200 NVL", "H200 NVL"},
                         {"NVIDIA GH200 480GB", "GH200"},
                         {"NVIDIA B200", "B200"},
                         {"NVIDIA GB200", "GB200"},
                         {"NVIDIA B300 SXM6 AC", "B300"},
                         {"NVIDIA GB300", "GB300"},
                         {"Tesla V100-SXM2-32GB", "V100 SXM2"},
                         {"NVIDIA L40S", "L40S"},
                         {"NVIDIA A10G", "A10G"},
                         {"NVIDIA RTX A6000", "RTX A6000"},
                         {"NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada"},
                         {"NVIDIA GeForce RTX 4090", "RTX 4090"},
                         {"AMD Instinct MI300X", "MI300X"},
                         {"AMD Instinct MI250X", "MI250X GCD"},
                         {"TPU v4", "TPU v4"},
                         {"TPU v5 lite", "TPU v5e"},
                         {"TPU v5", "TPU v5p"},
                         {"TPU v6 lite", "TPU v6e"},
                         {"TPU7x", "TPU v7 chiplet"},
                         {"GAUDI2", "Gaudi 2"},
                         {"Trainium2", "Trainium 2"}};
    for (const auto& [product, part] : all) {
        CHECK(accelerator_named(product).name == part);
    }
}

TEST_CASE("a name of several parts, or a part of a name, lists what it could be", "[accelerator]") {
    CHECK(
        refusal("H100") ==
        R"(accelerator: "H100" is not the whole name of a part, only in the names of: H100 SXM, H100 PCIe, H100 NVL)");
    CHECK(refusal(" NVIDIA H100 ") ==
          R"(accelerator: "NVIDIA H100" is not the whole name of a part, only in the names of: )"
          "H100 SXM, H100 PCIe, H100 NVL");
    CHECK(refusal("A100") ==
          R"(accelerator: "A100" is not the whole name of a part, only in the names of: A100 SXM, A100 PCIe)");
    CHECK(refusal("h200") ==
          R"(accelerator: "h200" is not the whole name of a part, only in the names of: H200 SXM, H200 NVL)");
    CHECK(
        refusal("TPU v7") ==
        R"(accelerator: "TPU v7" is not the whole name of a part, only in the names of: TPU v7 chiplet, TPU v7 chip)");
    CHECK(refusal("AMD Instinct MI250X/MI250") ==
          R"(accelerator: "AMD Instinct MI250X/MI250" is what the driver calls several parts; name one of them: )"
          "MI250 GCD, MI250X GCD");
}

TEST_CASE("an unknown name says so, with what is near it", "[accelerator]") {
    CHECK(refusal("RTX A1000") ==
          R"(accelerator: no known part is called "RTX A1000"; `floptally accelerators` lists the known parts)");
    CHECK(refusal("NVIDIA H100 80GB HBM2e") ==
          R"(accelerator: no known part is called "NVIDIA H100 80GB HBM2e"; near it: H100 SXM, H100 PCIe, H100 NVL; )"
          "`floptally accelerators` lists the known parts");
    CHECK(refusal("NVIDIA A800-SXM4-80GB") ==
          R"(accelerator: no known part is called "NVIDIA A800-SXM4-80GB"; near it: A800 40GB Active; )"
          "`floptally accelerators` lists the known parts");
    CHECK(refusal(" \t") == "accelerator: the name is empty; `floptally accelerators` lists the known parts");
    CHECK(refusal("-/-") ==
          R"(accelerator: no known part is called "-/-"; `floptally accelerators` lists the known parts)");
}

TEST_CASE("look-alikes are refused", "[accelerator]") {
    for (const std::string_view product : {"NVIDIA RTX A1000",
                                           "RTX A1000",
                                           "NVIDIA RTX A4000",
                                           "NVIDIA RTX A400",
                                           "NVIDIA H100",
                                           "A100",
                                           "NVIDIA A100",
                                           "H100 PCIe SXM",
                                           "NVIDIA H100 PCIe 80GB",
                                           "NVIDIA H1000",
                                           "NVIDIA A100X",
                                           "NVIDIA L400",
                                           "NVIDIA L40SX",
                                           "NVIDIA L20",
                                           "NVIDIA H20",
                                           "NVIDIA H800",
                                           "NVIDIA A2",
                                           "NVIDIA",
                                           "AMD Instinct MI300A",
                                           "AMD Instinct MI210",
                                           "AMD Instinct MI300",
                                           "TPU",
                                           "TPU v5e lite",
                                           "TPU v6",
                                           "Trainium",
                                           "Gaudi",
                                           "GAUDI",
                                           "B20",
                                           "200",
                                           "V100",
                                           "NVIDIA GeForce RTX 4090 Laptop GPU",
                                           "NVIDIA GeForce RTX 4090 D",
                                           "NVIDIA RTX 6000",
                                           "Quadro RTX 6000",
                                           "NVIDIA A100-SXM4-80GB MIG 1g.10gb",
                                           "NVIDIA-A100-SXM4-80GB",
                                           "NVIDIA  H200"}) {
        CAPTURE(product, refusal(product));
        CHECK(is_refused(product));
    }
}

TEST_CASE("every part has a source and a rate for training", "[accelerator]") {
    for (const accelerator& part : accelerators()) {
        CAPTURE(part.name);
        CHECK(!part.vendor.empty());
        CHECK(!part.form_factor.empty());
        CHECK(!part.source.title.empty());
        CHECK(part.source.url.starts_with("https://"));
        CHECK((part.published_tflops(precision::bf16) > 0 || part.published_tflops(precision::fp16) > 0));
        for (const double tflops : part.dense_tflops) {
            CHECK(std::isfinite(tflops));
            CHECK(tflops >= 0);
        }
    }
}

TEST_CASE("a rate that is not published is an error that names those that are", "[accelerator]") {
    const auto message = [](std::string_view product, precision which) {
        try {
            return std::to_string(rate(product, which));
        } catch (const floptally::error& e) {
            return std::string(e.what());
        }
    };
    CHECK(message("NVIDIA H100 PCIe", precision::fp4) ==
          "precision: H100 PCIe has no published fp4 rate; it has fp64, fp32, tf32, fp16, bf16, fp8, int8");
    CHECK(message("V100 SXM2", precision::bf16) ==
          "precision: V100 SXM2 has no published bf16 rate; it has fp64, fp32, fp16");
    CHECK(message("Gaudi 2", precision::tf32) == "precision: Gaudi 2 has no published tf32 rate; it has bf16, fp8");
}

TEST_CASE("precisions by name", "[accelerator]") {
    for (std::size_t i = 0; i < floptally::precision_count; ++i) {
        const auto which = static_cast<precision>(i);
        CHECK(precision_named(name(which)) == which);
        CHECK(precision_named(std::string(" ").append(upper(name(which)))) == which);
    }
    try {
        static_cast<void>(precision_named("fp6"));
        FAIL("fp6 was accepted");
    } catch (const floptally::error& e) {
        CHECK(std::string(e.what()) ==
              R"(precision: must be one of fp64, fp32, tf32, fp16, bf16, fp8, int8, fp4, got "fp6")");
    }
}

TEST_CASE("rates are dense: halves and doubles stand in line", "[accelerator]") {
    // As far as the vendors round: L40S prints 733 for fp8 and 362.05 for bf16, Trainium 2 prints 1299 and 667.
    for (const accelerator& part : accelerators()) {
        CAPTURE(part.name);
        const double fp16 = part.published_tflops(precision::fp16);
        const double bf16 = part.published_tflops(precision::bf16);
        const double fp8 = part.published_tflops(precision::fp8);
        if (fp16 > 0 && bf16 > 0) {
            CHECK(fp16 == bf16);
        }
        // TPU before v7, Trainium 1 and Gaudi 3 take fp8 at the rate of bf16.
        if (fp8 > 0) {
            CHECK((fp8 == bf16 || is_near(fp8, 2 * bf16, 0.03)));
        }
        if (part.vendor == "NVIDIA" && part.published_tflops(precision::tf32) > 0) {
            CHECK(is_near(part.published_tflops(precision::tf32), bf16 / 2, 0.015));
        }
    }
    for (const std::string_view product : {"H100 SXM", "H100 PCIe", "H100 NVL", "H200 SXM", "H200 NVL", "GH200"}) {
        CAPTURE(product);
        CHECK(is_near(rate(product, precision::fp8), 2 * rate(product, precision::bf16), 0.001));
        CHECK(is_near(rate(product, precision::tf32), rate(product, precision::bf16) / 2, 0.001));
        CHECK(rate(product, precision::int8) == rate(product, precision::fp8));
    }
    for (const std::string_view product : {"B200", "GB200"}) {
        CHECK(rate(product, precision::fp8) == 2 * rate(product, precision::bf16));
        CHECK(rate(product, precision::fp4) == 2 * rate(product, precision::fp8));
    }
    CHECK(rate("B300", precision::bf16) == rate("B200", precision::bf16));
}

TEST_CASE("one device of a package of two has half of its rate", "[accelerator]") {
    for (std::size_t i = 0; i < floptally::precision_count; ++i) {
        CHECK(accelerator_named("MI250 card").dense_tflops[i] == 2 * accelerator_named("MI250 GCD").dense_tflops[i]);
        CHECK(accelerator_named("MI250X card").dense_tflops[i] == 2 * accelerator_named("MI250X GCD").dense_tflops[i]);
        CHECK(accelerator_named("TPU v7 chip").dense_tflops[i] ==
              2 * accelerator_named("TPU v7 chiplet").dense_tflops[i]);
    }
    CHECK(rate("AMD Instinct MI250X", precision::bf16) == 191.5);
}

TEST_CASE("rates with sparsity, or of the wrong form factor, that other tables hold", "[accelerator]") {
    CHECK(rate("H100 SXM", precision::tf32) == 494.7);
    CHECK(rate("L40", precision::fp16) == 181.05);
    CHECK(rate("L40S", precision::bf16) == 362.05);
    CHECK(rate("L4", precision::bf16) == 121);
    CHECK(rate("H100 NVL", precision::bf16) == 835.5);
    CHECK(rate("H100 PCIe", precision::bf16) == 756);
    CHECK(rate("A100 SXM", precision::tf32) == 156);
    CHECK(rate("A10G", precision::bf16) == 70);
    CHECK(rate("RTX 4090", precision::bf16) == 165.2);
    CHECK(rate("RTX A6000", precision::bf16) == 154.8);
    CHECK(rate("B200", precision::bf16) == 2250);
    CHECK(rate("MI300X", precision::bf16) == 1307.4);
    CHECK(rate("MI355X", precision::fp8) == 5000);
    CHECK(rate("Trainium 2", precision::fp8) == 1299);
}

TEST_CASE("published utilizations of 16 H100 SXM", "[accelerator]") {
    struct published {
        double tflops;  ///< of all 16
        std::string_view percent;
    };
    for (const auto& [tflops, percent] : {published{1092, "6.90"}, published{1667, "10.53"}, published{3933, "24.85"},
                                          published{3919, "24.77"}, published{2880, "18.20"}}) {
        char text[16];
        std::snprintf(text, sizeof text, "%.2f", 100 * tflops / 16 / rate("NVIDIA H100 80GB HBM3", precision::bf16));
        CHECK(std::string_view(text) == percent);
    }
}
