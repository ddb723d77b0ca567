// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/hardware/accelerators.hpp>
#include <floptally/hardware/detail/accelerator_table.hpp>
#include <floptally/hardware/memory_bandwidth.hpp>
#include <floptally/hardware/peak.hpp>
#include <floptally/hardware/precision_names.hpp>

#include "catch2.hpp"
#include "markdown.hpp"

namespace accelerators_test {
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

/// The end of the error for an unknown name.
const std::string offer =
    "`floptally accelerators` lists the known names. For another accelerator pass the peak (peak_tflops=, "
    "--peak-tflops), "
    "which "
    "floptally.measure_peak() measures on the device";

/// The driver itself gives these to two different parts.
const std::set<std::string_view> shared_names{"AMD Instinct MI250X/MI250", "Ascend910"};

}  // namespace

TEST_CASE("every accelerator name resolves in any letter case and with surrounding blanks", "[accelerator]") {
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

TEST_CASE("two accelerators share a name only if the driver reports that name for both", "[accelerator]") {
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
    CHECK(repeated == std::set<std::string>{"AMD INSTINCT MI250X/MI250", "ASCEND910"});
}

TEST_CASE("names that drivers report resolve to their accelerator", "[accelerator]") {
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
                         {"AMD Instinct MI300A", "MI300A"},
                         {"AMD Instinct MI250X", "MI250X GCD"},
                         {"TPU v4", "TPU v4"},
                         {"TPU v5 lite", "TPU v5e"},
                         {"TPU v5", "TPU v5p"},
                         {"TPU v6 lite", "TPU v6e"},
                         {"TPU7x", "TPU v7 chiplet"},
                         {"GAUDI2", "Gaudi 2"},
                         {"Trainium2", "Trainium 2"},
                         {"Trainium3", "Trainium 3"},
                         {"NVIDIA H800", "H800 SXM"},
                         {"NVIDIA H800 PCIe", "H800 PCIe"},
                         {"NVIDIA A800-SXM4-80GB", "A800 SXM"},
                         {"NVIDIA H20", "H20"},
                         {"NVIDIA L20", "L20"},
                         {"NVIDIA GeForce RTX 3090", "RTX 3090"},
                         {"NVIDIA GeForce RTX 5090", "RTX 5090"},
                         {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "RTX PRO 6000 Blackwell"},
                         {"AMD Instinct MI210", "MI210"},
                         {"TPU v3", "TPU v3 core"},
                         {"Intel(R) Arc(TM) Pro B60 Graphics", "Arc Pro B60"},
                         {"Tesla T4", "T4"},
                         {"NVIDIA A100-SXM-64GB", "A100 SXM 64GB"},
                         {"NVIDIA A800 80GB PCIe", "A800 PCIe"},
                         {"NVIDIA GH200 120GB", "GH200"},
                         {"NVIDIA B300", "B300"},
                         {"NVIDIA GB10", "GB10"},
                         {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000 Blackwell Server"},
                         {"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "RTX PRO 6000 Blackwell Max-Q"},
                         {"NVIDIA GeForce RTX 3090 Ti", "RTX 3090 Ti"},
                         {"NVIDIA GeForce RTX 3070 Ti", "RTX 3070 Ti"},
                         {"NVIDIA GeForce RTX 4080 SUPER", "RTX 4080 SUPER"},
                         {"NVIDIA GeForce RTX 5070 Ti", "RTX 5070 Ti"},
                         {"AMD Instinct MI308X", "MI308X"},
                         {"AMD Instinct MI455X", "MI455X"},
                         {"AMD Radeon RX 7900 XTX", "RX 7900 XTX"},
                         {"AMD Radeon RX 9070 XT", "RX 9070 XT"},
                         {"AMD Radeon AI PRO R9700", "Radeon AI PRO R9700"},
                         {"TPU v5p", "TPU v5p"},
                         {"TPU v5e", "TPU v5e"},
                         {"TPU v6e", "TPU v6e"},
                         {"TPU7", "TPU v7 chiplet"},
                         {"TPU8i", "TPU 8i chiplet"},
                         {"TPU8t", "TPU 8t chiplet"},
                         {"Intel(R) Data Center GPU Max 1550", "Max 1550 stack"},
                         {"Ascend910B1", "Ascend 910B1"},
                         {"910B2", "Ascend 910B2"},
                         {"Ascend910B2C", "Ascend 910B2"},
                         {"Ascend910B3", "Ascend 910B3"},
                         {"910B3", "Ascend 910B3"},
                         {"Ascend910B4", "Ascend 910B4"},
                         {"910B4-1", "Ascend 910B4"},
                         {"Ascend910_9382", "Ascend 910C die"},
                         {"Ascend910_9392", "Ascend 910C fast die"},
                         {"Ascend910_9362", "Ascend 910C slow die"},
                         {"Ascend910_9391", "Ascend 910C variant"},
                         {"Ascend950PR_9589", "Ascend 950 variant"},
                         {"Apple M4 Max", "Apple GPU"}};
    for (const auto& [product, part] : all) {
        CHECK(accelerator_named(product).name == part);
    }
}

TEST_CASE("an ambiguous or partial accelerator name is an error that lists the candidates", "[accelerator]") {
    CHECK(refusal("H100") ==
          R"(accelerator: "H100" is only part of a name; pass a whole name, one of: H100 SXM, H100 PCIe, H100 NVL)");
    CHECK(refusal(" NVIDIA H100 ") ==
          R"(accelerator: "NVIDIA H100" is only part of a name; pass a whole name, one of: )"
          "H100 SXM, H100 PCIe, H100 NVL");
    CHECK(
        refusal("A100") ==
        R"(accelerator: "A100" is only part of a name; pass a whole name, one of: A100 SXM, A100 SXM 64GB, A100 PCIe)");
    CHECK(refusal("h200") ==
          R"(accelerator: "h200" is only part of a name; pass a whole name, one of: H200 SXM, H200 NVL)");
    CHECK(refusal("TPU v7") ==
          R"(accelerator: "TPU v7" is only part of a name; pass a whole name, one of: TPU v7 chiplet, TPU v7 chip)");
    CHECK(refusal("AMD Instinct MI250X/MI250") ==
          R"(accelerator: "AMD Instinct MI250X/MI250" is the driver's name for several GPUs; pass the name of one: )"
          "MI250 GCD, MI250X GCD");
    CHECK(refusal("Ascend910") ==
          R"(accelerator: "Ascend910" is the driver's name for several GPUs; pass the name of one: )"
          "Ascend 910C die, Ascend 910C fast die, Ascend 910C slow die");
}

TEST_CASE("an unknown accelerator name is an error that lists similar names", "[accelerator]") {
    CHECK(refusal("RTX A1000") ==
          R"(accelerator: no known accelerator is called "RTX A1000"; nearest: RTX A6000; )" + offer);
    CHECK(
        refusal("NVIDIA H100 80GB HBM2e") ==
        R"(accelerator: no known accelerator is called "NVIDIA H100 80GB HBM2e"; near it: H100 SXM, H100 PCIe, H100 NVL; )" +
            offer);
    CHECK(
        refusal("NVIDIA A800 80GB NVL") ==
        R"(accelerator: no known accelerator is called "NVIDIA A800 80GB NVL"; near it: A800 SXM, A800 PCIe, A800 40GB Active; )" +
            offer);
    CHECK(refusal(" \t") == "accelerator: the name is empty; `floptally accelerators` lists the known names");
    CHECK(refusal("-/-") == R"(accelerator: no known accelerator is called "-/-"; )" + offer);
}

TEST_CASE("product names that only resemble an accelerator's name are refused", "[accelerator]") {
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
                                           "NVIDIA H20 NVL",
                                           "NVIDIA H200 SXM",
                                           "NVIDIA GeForce RTX 5090 D",
                                           "NVIDIA GeForce RTX 5090 Laptop GPU",
                                           "NVIDIA RTX PRO 5000 Blackwell",
                                           "NVIDIA L400",
                                           "NVIDIA L40SX",
                                           "NVIDIA A2",
                                           "NVIDIA",
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

namespace {

/// The memories of a part in the library's table.
std::vector<floptally::detail::memory_row> memories(const accelerator& part) {
    std::vector<floptally::detail::memory_row> all;
    for (const floptally::detail::memory_row& memory : floptally::detail::row_of(part).memory) {
        if (memory.tbps > 0 || memory.gib > 0) {
            all.push_back(memory);
        }
    }
    return all;
}

/// The name that a memory is known by: a driver's, or ours where all names of the part have it.
std::string_view product_of(const accelerator& part, const floptally::detail::memory_row& memory) {
    return memory.driver_name != nullptr ? memory.driver_name : part.name;
}

const std::filesystem::path accelerators_page = std::filesystem::path(FLOPTALLY_SOURCE_DIR) / "docs/accelerators.md";

/// The shortest decimal that is this double.
std::string decimal(double value) {
    std::array<char, 32> digits{};
    return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

/// A line of a table, with blanks around what stands in a cell.
std::string table_line(const std::vector<std::string>& cells) {
    std::string line("|");
    for (const std::string& cell : cells) {
        line.append(cell.empty() ? " |" : " " + cell + " |");
    }
    return line + "\n";
}

std::string link(std::string_view title, std::string_view url) {
    return std::string("[").append(title).append("](").append(url).append(")");
}

/// A figure of a part's memories: one number, or one for each of the driver's names where they differ.
std::string memory_cell(const accelerator& part, double floptally::detail::memory_row::*figure,
                        std::set<std::string_view>& sources) {
    std::string all;
    const bool differ =
        !(figure == &floptally::detail::memory_row::tbps ? floptally::memory_bandwidth_named(part.name).has_value()
                                                         : floptally::memory_size_named(part.name).has_value());
    for (const floptally::detail::memory_row& memory : memories(part)) {
        if (memory.*figure == 0 || (!differ && !all.empty())) {
            continue;
        }
        const auto& row = floptally::detail::row_of(part);
        sources.insert(floptally::detail::source_of(row, memory).url);
        all.append(all.empty() ? "" : ", ").append(decimal(memory.*figure));
        if (differ && memory.driver_name != nullptr) {
            all.append(" `").append(memory.driver_name).append("`");
        }
        const floptally::source_quality quality = floptally::detail::quality_of(row, memory);
        if (const std::string_view remark = floptally::remark(quality); quality != part.quality) {
            all.append(" (").append(remark).append(")");
        }
    }
    return all;
}

/// docs/accelerators.md with the table of the library.
std::string page_of_the_library() {
    std::string parts =
        "| part | fp64 | fp32 | tf32 | fp16 | bf16 | fp8 | int8 | fp4 | TB/s | GiB | other names | source |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- | --- | --- |\n";
    for (const accelerator& part : accelerators()) {
        std::vector<std::string> cells{std::string(part.name)};
        for (const double tflops : part.dense_tflops) {
            cells.push_back(tflops > 0 ? decimal(tflops) : "");
        }
        std::set<std::string_view> memory_sources;
        cells.push_back(memory_cell(part, &floptally::detail::memory_row::tbps, memory_sources));
        cells.push_back(memory_cell(part, &floptally::detail::memory_row::gib, memory_sources));
        std::string others;
        for (const std::string_view name : names(part)) {
            const bool is_said = name.ends_with(part.name) && (name.size() == part.name.size() ||
                                                               name.starts_with("NVIDIA ") || name.starts_with("AMD "));
            if (!is_said) {  // the page says it of all parts
                others.append(others.empty() ? "`" : ", `").append(name).append("`");
            }
        }
        cells.push_back(others);
        std::string source = link("source", part.source.url);
        memory_sources.erase(part.source.url);
        for (const std::string_view url : memory_sources) {
            source.append(" ").append(link("memory", url));
        }
        if (!part.note.empty()) {
            source.append(" ").append(part.note).append(part.has_published_rate() ? "" : ".");
        }
        if (std::string remark(floptally::remark(part.quality)); !remark.empty()) {
            remark.front() = upper(remark.substr(0, 1)).front();
            source.append(" **").append(remark).append(".**");
        }
        cells.push_back(source);
        parts += table_line(cells);
    }
    return with_table(read_text(accelerators_page), parts);
}

}  // namespace

TEST_CASE("docs/accelerators.md shows the library's table", "[accelerator]") {
    INFO("write them: floptally_tests \"docs/accelerators.md is regenerated from the library's accelerator table\"");
    const bool is_current = read_text(accelerators_page) == page_of_the_library();
    CHECK(is_current);
    CHECK(page_of_the_library().find("\n| H100 SXM | 66.9 | 66.9 | 494.7 | 989 |") != std::string::npos);
}

TEST_CASE("docs/accelerators.md is regenerated from the library's accelerator table", "[.writes]") {
    const std::string page = page_of_the_library();
    std::ofstream(accelerators_page, std::ios::binary) << page;
    CHECK(read_text(accelerators_page) == page);
}

TEST_CASE("every accelerator names a source, and has peak rates or a reason why they are missing", "[accelerator]") {
    for (const accelerator& part : accelerators()) {
        CAPTURE(part.name);
        CHECK(!part.vendor.empty());
        CHECK(!part.form_factor.empty());
        CHECK(!part.source.title.empty());
        CHECK(part.source.url.starts_with("https://"));
        CHECK((part.has_published_rate() || (!part.note.empty() && !part.note.ends_with('.'))));
        for (const double tflops : part.dense_tflops) {
            CHECK(std::isfinite(tflops));
            CHECK(tflops >= 0);
        }
    }
}

TEST_CASE("a rate that the vendor did not publish is an error that lists the published precisions", "[accelerator]") {
    const auto message = [](std::string_view product, precision which) {
        try {
            return std::to_string(rate(product, which));
        } catch (const floptally::error& e) {
            return std::string(e.what());
        }
    };
    const std::string another =
        "; for another precision pass the peak (peak_tflops=, --peak-tflops), which floptally.measure_peak() measures "
        "on "
        "the device";
    CHECK(message("NVIDIA H100 PCIe", precision::fp4) ==
          "precision: H100 PCIe has no published fp4 rate; it has fp64, fp32, tf32, fp16, bf16, fp8, int8" + another);
    CHECK(message("V100 SXM2", precision::bf16) ==
          "precision: V100 SXM2 has no published bf16 rate; it has fp64, fp32, fp16" + another);
    CHECK(message("Gaudi 2", precision::tf32) ==
          "precision: Gaudi 2 has no published tf32 rate; it has bf16, fp8" + another);
    CHECK(message("NVIDIA GB10", precision::bf16) ==
          "precision: GB10 has no published bf16 rate; it has fp4" + another);
}

TEST_CASE("the error for an accelerator without a published rate gives the reason and suggests measuring the rate",
          "[accelerator]") {
    const auto message = [](std::string_view product) {
        try {
            return std::to_string(floptally::choose_peak(std::string(product), std::nullopt, "bf16").tflops);
        } catch (const floptally::error& e) {
            return std::string(e.what());
        }
    };
    const std::string measure =
        "; pass the peak (peak_tflops=, --peak-tflops), which floptally.measure_peak() measures on the device";
    CHECK(message("AMD Instinct MI308X") ==
          "accelerator: MI308X has no published rate: AMD has no public document of its rates" + measure);
    CHECK(message("Apple M4 Max") ==
          "accelerator: Apple GPU has no published rate: Apple publishes no rate of its GPUs" + measure);
    CHECK(message("Ascend950DT_95A").starts_with("accelerator: Ascend 950 variant has no published rate: Huawei "));
    CHECK(floptally::choose_peak("Apple M4 Max", 20.0, "bf16").tflops == 20);
    CHECK(accelerator_named("Ascend950PR").published_tflops(precision::bf16) == 0);
    CHECK(rate("Ascend950PR", precision::fp8) == 1000);
}

TEST_CASE("only accelerators without a published rate have a driver name with a wildcard", "[accelerator]") {
    std::size_t patterns = 0;
    for (const accelerator& part : accelerators()) {
        for (const std::string_view name : names(part)) {
            CAPTURE(name);
            const bool is_pattern = name.find('*') != std::string_view::npos;
            CHECK((!is_pattern || (name.ends_with('*') && !part.has_published_rate())));
            patterns += is_pattern ? 1U : 0U;
        }
    }
    CHECK(patterns > 0);
    CHECK(is_refused("Apple"));
    CHECK(is_refused("Ascend950"));
}

TEST_CASE("a precision is found by its name", "[accelerator]") {
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

TEST_CASE("a precision is also found by the names that trainers use", "[accelerator]") {
    const std::pair<const char*, precision> said[] = {{"bf16-mixed", precision::bf16},
                                                      {"16-mixed", precision::fp16},
                                                      {"bf16-true", precision::bf16},
                                                      {"16-true", precision::fp16},
                                                      {"32-true", precision::fp32},
                                                      {"no", precision::fp32},
                                                      {"hybrid", precision::fp8},
                                                      {"transformer-engine", precision::fp8},
                                                      {"transformer-engine-float16", precision::fp8},
                                                      {"64", precision::fp64},
                                                      {"torch.bfloat16", precision::bf16},
                                                      {"torch.float8_e4m3fn", precision::fp8},
                                                      {"float8_e4m3fn", precision::fp8},
                                                      {"float8_e5m2", precision::fp8},
                                                      {"torch.float4_e2m1fn_x2", precision::fp4},
                                                      {"amp_bf16", precision::bf16},
                                                      {"mixed_bfloat16", precision::bf16},
                                                      {" Torch.Half ", precision::fp16},
                                                      {"bfloat16", precision::bf16}};
    for (const auto& [text, is] : said) {
        CAPTURE(text);
        CHECK(precision_named(text) == is);
    }
    for (const char* text : {"bf16-", "-mixed", "torch.", "mixed", "float8_e8m0fnu", "bf16-mixed-true",
                             "torch.torch.half", "uint8", "transformer"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(precision_named(text), floptally::error);
    }
}

TEST_CASE("an error for a misspelt accelerator name suggests the nearest name", "[accelerator]") {
    CHECK(refusal("H100SXM") ==
          R"(accelerator: no known accelerator is called "H100SXM"; nearest: H100 SXM; )" + offer);
    CHECK(refusal("H10O SXM").find("; nearest: H100 SXM; ") != std::string::npos);
    CHECK(refusal("MI30OX").find("; nearest: MI300X, MI308X; ") != std::string::npos);
    CHECK(refusal("tpuv5p").find("; nearest: TPU v5p; ") != std::string::npos);
    CHECK(refusal("abacus").find("nearest") == std::string::npos);
    CHECK(refusal(std::string(5000, 'H')).find("nearest") == std::string::npos);
}

TEST_CASE("a peak in another unit than TFLOP/s is an error with the likely value", "[accelerator]") {
    const auto problem = [](double peak) -> std::string {
        try {
            return std::to_string(floptally::choose_peak({}, peak, "bf16").tflops);
        } catch (const floptally::error& e) {
            return e.what();
        }
    };
    CHECK(problem(989e12) ==
          "peak_tflops: must be in TFLOP/s of one GPU, but no GPU has 9.89e+14; if you mean FLOP/s, pass 989");
    CHECK(problem(989e6) ==
          "peak_tflops: must be in TFLOP/s of one GPU, but no GPU has 9.89e+08; if you mean MFLOP/s, pass 989");
    CHECK(problem(989e3) ==
          "peak_tflops: must be in TFLOP/s of one GPU, but no GPU has 989000; if you mean GFLOP/s, pass 989");
    CHECK(problem(1e100).find("; if") == std::string::npos);
    CHECK(problem(0.989) == "0.989000");
    double most = 0;
    for (const floptally::accelerator& part : floptally::accelerators()) {
        for (std::size_t i = 0; i < floptally::precision_count; ++i) {
            most = std::max(most, part.dense_tflops[i]);
        }
    }
    CHECK(2 * most <= floptally::impossible_tflops);
}

TEST_CASE("dense rates of two precisions of one accelerator differ by a power of two", "[accelerator]") {
    // As far as the vendors round: L40S prints 733 for fp8 and 362.05 for bf16, Trainium 2 prints 1299 and 667.
    for (const accelerator& part : accelerators()) {
        CAPTURE(part.name);
        const double fp16 = part.published_tflops(precision::fp16);
        const double bf16 = part.published_tflops(precision::bf16);
        const double fp8 = part.published_tflops(precision::fp8);
        if (fp16 > 0 && bf16 > 0) {
            CHECK(fp16 == bf16);
        }
        // TPU before v7, Trainium 1 and Gaudi 3 take fp8 at the rate of bf16; TPU 8, Trainium 3 and Rubin have units
        // for it.
        if (fp8 > 0 && bf16 > 0 && part.name != "Trainium 3" && part.name != "Rubin" &&
            !part.name.starts_with("TPU 8")) {
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

TEST_CASE("one die of a two-die package has half of the package's rate", "[accelerator]") {
    for (std::size_t i = 0; i < floptally::precision_count; ++i) {
        CHECK(accelerator_named("MI250 card").dense_tflops[i] == 2 * accelerator_named("MI250 GCD").dense_tflops[i]);
        CHECK(accelerator_named("MI250X card").dense_tflops[i] == 2 * accelerator_named("MI250X GCD").dense_tflops[i]);
        CHECK(accelerator_named("TPU v7 chip").dense_tflops[i] ==
              2 * accelerator_named("TPU v7 chiplet").dense_tflops[i]);
    }
    CHECK(rate("AMD Instinct MI250X", precision::bf16) == 191.5);
    for (const auto which : {precision::bf16, precision::int8}) {
        CHECK(accelerator_named("TPU v3 chip").published_tflops(which) ==
              2 * accelerator_named("TPU v3").published_tflops(which));
        CHECK(rate("Ascend 910C package", which) == 2 * rate("Ascend 910C die", which));
    }
}

TEST_CASE("dense rates are those of the accelerator's form factor, even where other published tables are wrong",
          "[accelerator]") {
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
    CHECK(rate("MI300A", precision::bf16) == 980.6);
    CHECK(rate("MI300A", precision::fp64) == 122.6);
    CHECK(rate("MI300A", precision::tf32) == 490.3);
    CHECK(rate("MI300A", precision::fp8) == 1961.2);
    CHECK(rate("MI355X", precision::fp8) == 5000);
    CHECK(rate("Trainium 2", precision::fp8) == 1299);
}

TEST_CASE("peak rates are dense, with fp32 accumulation", "[accelerator]") {
    CHECK(rate("RTX 3090", precision::bf16) == 71);     // 142 with fp16 accumulation or with sparsity
    CHECK(rate("RTX 5090", precision::bf16) == 209.5);  // 419 likewise
    CHECK(rate("RTX 5090", precision::fp8) == 419);
    CHECK(rate("RTX PRO 6000 Blackwell", precision::bf16) == 503.8);
    CHECK(rate("Trainium 3", precision::bf16) == 671);  // 2517 with sparsity
    CHECK(rate("Trainium 3", precision::fp8) == 2517);
    CHECK(rate("Rubin", precision::fp4) == 35000);  // 50000 is not dense
    CHECK(rate("TPU v3", precision::bf16) == 61.5);
    CHECK(rate("H20", precision::bf16) == 148);
}

TEST_CASE("an accelerator whose source is not a vendor document has a remark on the source", "[accelerator]") {
    using floptally::source_quality;
    for (const accelerator& part : accelerators()) {
        CAPTURE(part.name);
        if (part.quality == source_quality::vendor_document) {
            CHECK(part.source.title.find("github") == std::string_view::npos);
            CHECK(part.source.url.find("github.com") == std::string_view::npos);
        }
        CHECK(remark(part.quality).empty() == (part.quality == source_quality::vendor_document));
    }
    CHECK(accelerator_named("Rubin").quality == source_quality::vendor_slide);
    CHECK(accelerator_named("MI300A").quality == source_quality::vendor_document);
    CHECK(accelerator_named("A800 PCIe").quality == source_quality::third_party);
    CHECK(name(source_quality::vendor_document) == "vendor_document");
    CHECK(name(source_quality::vendor_slide) == "vendor_slide");
    CHECK(name(source_quality::third_party) == "third_party");
}

TEST_CASE("FLOPs per clock multiplied by the vendor's clock give the datasheet rate", "[accelerator]") {
    std::size_t checked = 0;
    for (const accelerator& part : accelerators()) {
        CAPTURE(part.name);
        if (part.datasheet_mhz > 0) {
            CHECK(is_near(part.boost_tflops(precision::fp16, part.datasheet_mhz), part.peak_tflops(precision::fp16),
                          0.008));
            checked += 1;
        }
    }
    CHECK(checked > 60);
}

TEST_CASE("a boost peak is FLOPs per clock times the clock that the device reports", "[accelerator]") {
    // 132 multiprocessors of 4096 FLOPs at 1980 MHz: 1070.5, by which recsys-examples divides.
    const accelerator& h100 = accelerator_named("H100 SXM");
    CHECK(is_near(h100.boost_tflops(precision::bf16, 1980), 132 * 4096 * 1980e-6, 1e-12));
    CHECK(is_near(h100.boost_tflops(precision::fp8, 1980), 132 * 4096 * 1980e-6 * 1978.9 / 989, 1e-12));
    // 152 multiprocessors of 8192 FLOPs at 2062 MHz.
    CHECK(is_near(accelerator_named("NVIDIA GB200").boost_tflops(precision::bf16, 2062), 2567.6, 1e-4));
    CHECK(is_near(accelerator_named("NVIDIA GB300").boost_tflops(precision::bf16, 2062), 2567.6, 1e-4));
    CHECK(is_near(accelerator_named("NVIDIA B300").boost_tflops(precision::bf16, 2032), 2463.6, 1e-4));
    CHECK(is_near(accelerator_named("V100 SXM2").boost_tflops(precision::fp16, 1000), 80 * 1024 * 1000e-6, 1e-12));
    const auto message = [](std::string_view product, precision which, double mhz) {
        try {
            return std::to_string(accelerator_named(product).boost_tflops(which, mhz));
        } catch (const floptally::error& e) {
            return std::string(e.what());
        }
    };
    CHECK(message("TPU v4", precision::bf16, 1000) ==
          "clock_mhz: cannot give a peak: the FLOPs per clock of TPU v4 are unknown; pass peak_tflops instead");
    CHECK(message("H100 SXM", precision::bf16, 0) == "clock_mhz: must be above 0 and at most 100000, got 0.000000");
    CHECK(message("H100 SXM", precision::bf16, std::nan("")).starts_with("clock_mhz: must be above 0"));
    CHECK(message("H100 SXM", precision::bf16, 1e6).starts_with("clock_mhz: must be above 0"));
    CHECK(message("H100 SXM", precision::fp4, 1980).starts_with("precision: H100 SXM has no published fp4 rate"));
}

TEST_CASE("a peak records whether it comes from a datasheet, a boost clock or a measurement", "[accelerator]") {
    using floptally::choose_peak;
    using floptally::peak_kind;
    using floptally::source_quality;
    const auto plain = choose_peak("NVIDIA H100 80GB HBM3", std::nullopt, "bf16");
    CHECK(plain.tflops == 989);
    CHECK(plain.kind == peak_kind::datasheet);
    CHECK(plain.quality == source_quality::vendor_document);
    const auto boost = choose_peak("H100 SXM", std::nullopt, "bf16", peak_kind::unsaid, 1980.0);
    CHECK(is_near(boost.tflops, 1070.53, 1e-5));
    CHECK(boost.kind == peak_kind::boost);
    CHECK(choose_peak("H100 SXM", std::nullopt, "bf16", peak_kind::boost, 1980.0).tflops == boost.tflops);
    const auto measured = choose_peak("H100 SXM", 780.0, "bf16", peak_kind::measured);
    CHECK(measured.tflops == 780);
    CHECK(measured.kind == peak_kind::measured);
    CHECK(measured.source == "given by the user");
    CHECK(choose_peak(std::nullopt, 780.0, "bf16").kind == peak_kind::unsaid);
    CHECK(choose_peak("NVIDIA H20", std::nullopt, "fp8").quality == source_quality::third_party);
    CHECK(choose_peak("NVIDIA H20", 100.0, "fp8").quality == source_quality::vendor_document);

    const auto message = [](auto... given) {
        try {
            return std::to_string(choose_peak(given...).tflops);
        } catch (const floptally::error& e) {
            return std::string(e.what());
        }
    };
    const std::optional<std::string> h100 = "H100 SXM";
    const std::optional<double> none;
    const std::optional<double> clock = 1980.0;
    CHECK(message(h100, none, "bf16", peak_kind::boost, none) ==
          "clock_mhz: is missing: pass the clock that the device reports, which a boost peak needs");
    CHECK(message(h100, none, "bf16", peak_kind::datasheet, clock) ==
          "clock_mhz: gives a boost peak, but peak_kind asks for the datasheet peak: leave clock_mhz out");
    CHECK(message(h100, none, "bf16", peak_kind::measured, none) ==
          "peak_tflops: is missing: pass the peak that you measured, in TFLOP/s");
    CHECK(message(h100, std::optional(780.0), "bf16", peak_kind::boost, clock) ==
          "clock_mhz: determines the peak, and so does peak_tflops: leave one of them out");
    for (const auto kind : {peak_kind::datasheet, peak_kind::boost, peak_kind::measured}) {
        CHECK(floptally::peak_kind_named(std::string(" ").append(upper(name(kind)))) == kind);
    }
    try {
        static_cast<void>(floptally::peak_kind_named("unsaid"));
        FAIL("unsaid was accepted");
    } catch (const floptally::error& e) {
        CHECK(std::string(e.what()) == R"(peak_kind: must be one of datasheet, boost, measured, got "unsaid")");
    }
}

TEST_CASE("the published MFUs of 16 H100 SXM are reproduced", "[accelerator]") {
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

TEST_CASE("memory of every accelerator has a source and is found by each of the accelerator's names", "[accelerator]") {
    using floptally::memory_bandwidth_named;
    using floptally::memory_size_named;
    std::set<std::string> products;
    for (const accelerator& part : accelerators()) {
        for (const floptally::detail::memory_row& memory : memories(part)) {
            const std::string_view product = product_of(part, memory);
            CAPTURE(product);
            CHECK(&accelerator_named(product) == &part);
            CHECK(products.insert(upper(product)).second);
            const auto& row = floptally::detail::row_of(part);
            CHECK(floptally::detail::source_of(row, memory).url.starts_with("https://"));
            for (const std::string_view name : names(part)) {
                if (shared_names.contains(name) || (memory.driver_name != nullptr && name != memory.driver_name)) {
                    continue;
                }
                CHECK(memory_bandwidth_named(name).has_value() == (memory.tbps > 0));
                CHECK(memory_size_named(name).has_value() == (memory.gib > 0));
                if (memory.tbps > 0) {
                    CHECK(floptally::memory_tbps_named(name) == memory.tbps);
                }
                if (memory.gib > 0) {
                    CHECK(floptally::memory_gib_named(name) == memory.gib);
                }
            }
            CHECK((memory.gib == 0 || (memory.gib >= 8 && memory.gib <= 512)));
            // FLOPs for a byte at the ridge of the roofline: no part of this table is far from others.
            const double half =
                std::max(part.published_tflops(precision::bf16), part.published_tflops(precision::fp16));
            if (memory.tbps > 0) {
                CHECK(memory.tbps > 0.1);
                CHECK(memory.tbps < 30);
                CHECK((half == 0 || (half / memory.tbps > 30 && half / memory.tbps < 600)));
            }
        }
    }
}

TEST_CASE("a name shared by several accelerator variants has a memory size or bandwidth only if the variants agree",
          "[accelerator]") {
    CHECK(floptally::memory_bandwidth_named("V100 SXM2")->tbps == 0.9);
    CHECK(!floptally::memory_size_named("V100 SXM2"));
    CHECK(!floptally::memory_bandwidth_named("A100 SXM"));
    CHECK(!floptally::memory_size_named("A100 SXM"));
    const auto text = [](std::string_view product) {
        try {
            return std::to_string(floptally::memory_gib_named(product));
        } catch (const floptally::error& e) {
            return std::string(e.what());
        }
    };
    CHECK(text("V100 SXM2") ==
          "memory_gib: V100 SXM2 is sold with several memory sizes; pass the name of one variant: Tesla "
          "V100-SXM2-16GB, Tesla "
          "V100-SXM2-32GB, or "
          "pass memory_gib");
    CHECK(text("RTX 4060 Ti") == "memory_gib: RTX 4060 Ti has no published memory size; pass memory_gib");
    CHECK(text("NVIDIA GeForce RTX 4090") == "24.000000");
}

TEST_CASE("memory sizes of accelerators are within two percent of the sizes that drivers print", "[accelerator]") {
    // MiB as nvidia-smi, rocm-smi and npu-smi print them in public logs.
    struct seen {
        std::string_view product;
        double mib;
    };
    for (const auto& [product, mib] :
         {seen{"NVIDIA H100 80GB HBM3", 81559}, seen{"NVIDIA H200", 143771}, seen{"NVIDIA GH200 120GB", 97871},
          seen{"NVIDIA B200", 183359}, seen{"NVIDIA GB200", 189471}, seen{"NVIDIA B300 SXM6 AC", 275040},
          seen{"NVIDIA GB300", 284208}, seen{"NVIDIA A100-SXM4-80GB", 81920}, seen{"NVIDIA A100-SXM4-40GB", 40960},
          seen{"NVIDIA GeForce RTX 5090", 32607},
          seen{"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", 97887}, seen{"AMD Instinct MI300X", 196592},
          seen{"Ascend910B3", 65536}}) {
        CAPTURE(product);
        const double gib = mib / 1024;
        CHECK(floptally::memory_gib_named(product) >= gib * 0.995);
        CHECK(floptally::memory_gib_named(product) <= gib * 1.02);
    }
}

TEST_CASE("memory bandwidths of accelerators equal the vendors' figures", "[accelerator]") {
    using floptally::memory_tbps_named;
    CHECK(memory_tbps_named("NVIDIA H100 80GB HBM3") == 3.35);
    CHECK(memory_tbps_named("H200 SXM") == 4.8);
    CHECK(memory_tbps_named("nvidia a100-sxm4-40gb") == 1.555);
    CHECK(memory_tbps_named("NVIDIA A100-SXM4-80GB") == 2.039);
    CHECK(memory_tbps_named("MI300X") == 5.3);
    CHECK(memory_tbps_named("TPU v5") == 2.765);
    const auto text = [](std::string_view product) {
        try {
            return std::to_string(memory_tbps_named(product));
        } catch (const floptally::error& e) {
            return std::string(e.what());
        }
    };
    CHECK(text("A100 PCIe") ==
          "memory_tbps: A100 PCIe is sold with several memory bandwidths; pass the name of one variant: NVIDIA "
          "A100-PCIE-40GB, "
          "NVIDIA A100 80GB "
          "PCIe, A100-PCIE-40GB, or pass memory_tbps");
    CHECK(text("RTX 3060") == "memory_tbps: RTX 3060 has no published memory bandwidth; pass memory_tbps");
    CHECK(text("H1000").starts_with("accelerator: no known accelerator is called \"H1000\""));
}

}  // namespace accelerators_test
