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
#include <floptally/hardware/detail/accelerator_memory.hpp>
#include <floptally/hardware/memory_bandwidth.hpp>
#include <floptally/hardware/peak.hpp>
#include <floptally/hardware/precision_words.hpp>

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
                         {"Intel(R) Arc(TM) Pro B60 Graphics", "Arc Pro B60"}};
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
    CHECK(refusal("RTX A1000") == R"(accelerator: no known part is called "RTX A1000"; nearest: RTX A6000; )"
                                  "`floptally accelerators` lists the known parts");
    CHECK(refusal("NVIDIA H100 80GB HBM2e") ==
          R"(accelerator: no known part is called "NVIDIA H100 80GB HBM2e"; near it: H100 SXM, H100 PCIe, H100 NVL; )"
          "`floptally accelerators` lists the known parts");
    CHECK(refusal("NVIDIA A800 80GB PCIe") ==
          R"(accelerator: no known part is called "NVIDIA A800 80GB PCIe"; near it: A800 SXM, A800 40GB Active; )"
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
                                           "NVIDIA H20 NVL",
                                           "NVIDIA H200 SXM",
                                           "NVIDIA GeForce RTX 5090 D",
                                           "NVIDIA GeForce RTX 5090 Laptop GPU",
                                           "NVIDIA GeForce RTX 3090 Ti",
                                           "NVIDIA RTX PRO 6000 Blackwell Server Edition",
                                           "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
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

/// Sites that are known to publish figures of a vendor's parts: its own, its resellers', and of others what is quoted.
struct public_site {
    std::string_view vendor;
    std::string_view url;
};
constexpr public_site public_sites[] = {{"AMD", "https://www.amd.com/"},
                                        {"AMD", "https://vengineer.hatenablog.com/entry/"},
                                        {"AWS", "https://awsdocs-neuron.readthedocs-hosted.com/"},
                                        {"Google", "https://docs.cloud.google.com/"},
                                        {"Huawei", "https://arxiv.org/abs/"},
                                        {"Intel", "https://www.intel.com/"},
                                        {"Intel", "https://hmc-tech.com/"},
                                        {"NVIDIA", "https://d1.awsstatic.com/"},
                                        {"NVIDIA", "https://images.nvidia.cn/"},
                                        {"NVIDIA", "https://images.nvidia.com/"},
                                        {"NVIDIA", "https://resources.nvidia.com/"},
                                        {"NVIDIA", "https://www.nvidia.com/"},
                                        {"NVIDIA", "https://lenovopress.lenovo.com/"},
                                        {"NVIDIA", "https://github.com/citsjtu2020/LLM-Prof/"}};

bool is_public(std::string_view vendor, std::string_view url) {
    return std::any_of(std::begin(public_sites), std::end(public_sites), [&](const public_site& site) {
        return site.vendor == vendor && url.starts_with(site.url) && url.size() > site.url.size();
    });
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

/// The bandwidths of a part's memory: a number, or one for each of the driver's names where they differ.
std::string bandwidths(const accelerator& part, std::set<std::string_view>& sources) {
    std::string all;
    for (const floptally::detail::memory_row& row : floptally::detail::accelerator_memory) {
        if (&accelerator_named(row.product) != &part) {
            continue;
        }
        sources.insert(row.source.url);
        all.append(all.empty() ? "" : ", ").append(decimal(row.tbps));
        if (row.product != part.name) {
            all.append(" `").append(row.product).append("`");
        }
        if (const std::string_view remark = floptally::remark(row.quality); row.quality != part.quality) {
            all.append(" (").append(remark).append(")");
        }
    }
    return all;
}

/// docs/accelerators.md with the table of the library.
std::string page_of_the_library() {
    std::string parts =
        "| part | fp64 | fp32 | tf32 | fp16 | bf16 | fp8 | int8 | fp4 | TB/s | other names | source |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- | --- |\n";
    for (const accelerator& part : accelerators()) {
        std::vector<std::string> cells{std::string(part.name)};
        for (const double tflops : part.dense_tflops) {
            cells.push_back(tflops > 0 ? decimal(tflops) : "");
        }
        std::set<std::string_view> memory_sources;
        cells.push_back(bandwidths(part, memory_sources));
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
            source.append(" ").append(part.note);
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

TEST_CASE("every figure of a part is from a public site of its vendor, or of one that is listed here",
          "[accelerator]") {
    const std::string page = read_text(std::filesystem::path(FLOPTALLY_SOURCE_DIR) / "docs/accelerators.md");
    for (const accelerator& part : accelerators()) {
        INFO(part.name << ": " << part.source.url << " is of no site in public_sites");
        CHECK(is_public(part.vendor, part.source.url));
        CHECK(page.find(std::string("](").append(part.source.url).append(")")) != std::string::npos);
    }
    for (const floptally::detail::memory_row& row : floptally::detail::accelerator_memory) {
        INFO(row.product << ": " << row.source.url << " is of no site in public_sites");
        CHECK(is_public(accelerator_named(row.product).vendor, row.source.url));
        CHECK(page.find(std::string("](").append(row.source.url).append(")")) != std::string::npos);
    }
}

TEST_CASE("the table of docs/accelerators.md is that of the library", "[accelerator]") {
    INFO("write them: floptally_tests \"docs/accelerators.md is written\"");
    const bool is_current = read_text(accelerators_page) == page_of_the_library();
    CHECK(is_current);
    CHECK(page_of_the_library().find("\n| H100 SXM | 66.9 | 66.9 | 494.7 | 989 |") != std::string::npos);
}

TEST_CASE("docs/accelerators.md is written", "[.writes]") {
    const std::string page = page_of_the_library();
    std::ofstream(accelerators_page, std::ios::binary) << page;
    CHECK(read_text(accelerators_page) == page);
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

TEST_CASE("F76: precisions in the words of trainers", "[accelerator]") {
    const std::pair<const char*, precision> said[] = {{"bf16-mixed", precision::bf16},
                                                      {"16-mixed", precision::fp16},
                                                      {"bf16-true", precision::bf16},
                                                      {"16-true", precision::fp16},
                                                      {"32-true", precision::fp32},
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
                             "torch.torch.half", "uint8", "transformer-engine"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(precision_named(text), floptally::error);
    }
}

TEST_CASE("F76: a misspelt accelerator is told the nearest", "[accelerator]") {
    CHECK(refusal("H100SXM") == R"(accelerator: no known part is called "H100SXM"; nearest: H100 SXM; )"
                                "`floptally accelerators` lists the known parts");
    CHECK(refusal("H10O SXM").find("; nearest: H100 SXM; ") != std::string::npos);
    CHECK(refusal("MI30OX").find("; nearest: MI300X; ") != std::string::npos);
    CHECK(refusal("tpuv5p").find("; nearest: TPU v5p; ") != std::string::npos);
    CHECK(refusal("abacus").find("nearest") == std::string::npos);
    CHECK(refusal(std::string(5000, 'H')).find("nearest") == std::string::npos);
}

TEST_CASE("F76: a peak in another unit is refused with what was probably meant", "[accelerator]") {
    const auto problem = [](double peak) -> std::string {
        try {
            return std::to_string(floptally::choose_peak({}, peak, "bf16").tflops);
        } catch (const floptally::error& e) {
            return e.what();
        }
    };
    CHECK(problem(989e12) ==
          "peak_tflops: is in TFLOP/s, of one GPU, and none has 9.89e+14; if that is FLOP/s, give 989");
    CHECK(problem(989e6) ==
          "peak_tflops: is in TFLOP/s, of one GPU, and none has 9.89e+08; if that is MFLOP/s, give 989");
    CHECK(problem(989e3) ==
          "peak_tflops: is in TFLOP/s, of one GPU, and none has 989000; if that is GFLOP/s, give 989");
    CHECK(problem(1e100).find("; if") == std::string::npos);
    CHECK(problem(0.989) == "0.989000");
    double most = 0;
    for (const floptally::accelerator& part : floptally::accelerators()) {
        for (std::size_t i = 0; i < floptally::precision_count; ++i) {
            most = std::max(most, part.dense_tflops[i]);
        }
    }
    CHECK(5 * most <= floptally::impossible_tflops);
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
        // TPU before v7, Trainium 1 and Gaudi 3 take fp8 at the rate of bf16; Trainium 3 and Rubin have units for it.
        if (fp8 > 0 && part.name != "Trainium 3" && part.name != "Rubin") {
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
    for (const auto which : {precision::bf16, precision::int8}) {
        CHECK(accelerator_named("TPU v3 chip").published_tflops(which) ==
              2 * accelerator_named("TPU v3").published_tflops(which));
        CHECK(rate("Ascend 910C package", which) == 2 * rate("Ascend 910C die", which));
    }
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
    CHECK(rate("MI300A", precision::bf16) == 980.6);
    CHECK(rate("MI300A", precision::fp64) == 122.6);
    CHECK(rate("MI355X", precision::fp8) == 5000);
    CHECK(rate("Trainium 2", precision::fp8) == 1299);
}

TEST_CASE("figures of parts that other tables hold with sparsity or with fp16 accumulation", "[accelerator]") {
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

TEST_CASE("a source that is less than a document of the vendor is said", "[accelerator]") {
    using floptally::source_quality;
    std::set<std::string> slides;
    std::set<std::string> quoted;
    for (const accelerator& part : accelerators()) {
        CAPTURE(part.name);
        if (part.quality == source_quality::vendor_slide) {
            slides.emplace(part.name);
        } else if (part.quality == source_quality::third_party) {
            quoted.emplace(part.name);
        } else {
            CHECK(part.source.title.find("github") == std::string_view::npos);
            CHECK(part.source.url.find("github.com") == std::string_view::npos);
        }
        CHECK(remark(part.quality).empty() == (part.quality == source_quality::vendor_document));
    }
    CHECK(slides == std::set<std::string>{"Rubin", "Ascend 910C die", "Ascend 910C package"});
    CHECK(quoted == std::set<std::string>{"A800 SXM", "L20", "H20", "H800 SXM", "H800 PCIe", "MI300A", "Arc Pro B60"});
    CHECK(name(source_quality::vendor_document) == "vendor_document");
    CHECK(name(source_quality::vendor_slide) == "vendor_slide");
    CHECK(name(source_quality::third_party) == "third_party");
}

TEST_CASE("the units of a part give its datasheet's rate at the clock that the vendor states", "[accelerator]") {
    struct stated {
        std::string_view part;
        double mhz;
    };
    std::set<std::string> compared;
    for (const auto& [part, mhz] :
         {stated{"V100 SXM2", 1530},    stated{"V100S PCIe", 1597}, stated{"A100 SXM", 1410},
          stated{"A100 PCIe", 1410},    stated{"A800 SXM", 1410},   stated{"A800 40GB Active", 1410},
          stated{"A10", 1695},          stated{"A10G", 1710},       stated{"A30", 1440},
          stated{"A40", 1740},          stated{"RTX A6000", 1800},  stated{"RTX 3090", 1695},
          stated{"L4", 2040},           stated{"L40", 2490},        stated{"RTX 4090", 2520},
          stated{"RTX 6000 Ada", 2505}, stated{"RTX 5090", 2407},   stated{"RTX PRO 6000 Blackwell", 2617},
          stated{"H100 SXM", 1830},     stated{"H100 PCIe", 1620},  stated{"H800 SXM", 1830},
          stated{"H800 PCIe", 1620},    stated{"H200 SXM", 1830},   stated{"GH200", 1830},
          stated{"GB200", 2062},        stated{"MI210", 1700},      stated{"MI250 GCD", 1700},
          stated{"MI250 card", 1700},   stated{"MI250X GCD", 1700}, stated{"MI250X card", 1700},
          stated{"MI300X", 2100},       stated{"MI325X", 2100},     stated{"MI350X", 2200},
          stated{"MI355X", 2400},       stated{"MI300A", 2100},     stated{"Arc Pro B60", 2400}}) {
        CAPTURE(part);
        CHECK(is_near(accelerator_named(part).boost_tflops(precision::fp16, mhz), rate(part, precision::fp16), 0.008));
        compared.emplace(part);
    }
    std::set<std::string> others;
    for (const accelerator& part : accelerators()) {
        if (part.flops_per_clock != 0 && compared.count(std::string(part.name)) == 0) {
            others.emplace(part.name);
        }
    }
    // Parts whose datasheet has no clock, or one that its rate does not belong to.
    CHECK(others == std::set<std::string>{"B200", "H100 NVL", "H200 NVL", "L40S", "V100 PCIe"});
}

TEST_CASE("a boost peak: the units at the clock that the device reports", "[accelerator]") {
    // 132 multiprocessors of 4096 FLOPs at 1980 MHz: 1070.5, by which recsys-examples divides.
    const accelerator& h100 = accelerator_named("H100 SXM");
    CHECK(is_near(h100.boost_tflops(precision::bf16, 1980), 132 * 4096 * 1980e-6, 1e-12));
    CHECK(is_near(h100.boost_tflops(precision::fp8, 1980), 132 * 4096 * 1980e-6 * 1978.9 / 989, 1e-12));
    CHECK(is_near(accelerator_named("V100 SXM2").boost_tflops(precision::fp16, 1000), 80 * 1024 * 1000e-6, 1e-12));
    const auto message = [](std::string_view product, precision which, double mhz) {
        try {
            return std::to_string(accelerator_named(product).boost_tflops(which, mhz));
        } catch (const floptally::error& e) {
            return std::string(e.what());
        }
    };
    CHECK(message("TPU v4", precision::bf16, 1000) ==
          "clock_mhz: TPU v4 has no known FLOPs of a clock, so no boost peak; give peak_tflops instead");
    CHECK(message("H100 SXM", precision::bf16, 0) == "clock_mhz: must be above 0 and at most 100000, got 0.000000");
    CHECK(message("H100 SXM", precision::bf16, std::nan("")).starts_with("clock_mhz: must be above 0"));
    CHECK(message("H100 SXM", precision::bf16, 1e6).starts_with("clock_mhz: must be above 0"));
    CHECK(message("H100 SXM", precision::fp4, 1980).starts_with("precision: H100 SXM has no published fp4 rate"));
}

TEST_CASE("a peak is the datasheet's, a boost or a measured one, and says so", "[accelerator]") {
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
          "clock_mhz: is missing: a boost peak is of a clock that the device reports");
    CHECK(message(h100, none, "bf16", peak_kind::datasheet, clock) ==
          "clock_mhz: is for a boost peak: a datasheet's is for a clock of its own");
    CHECK(message(h100, none, "bf16", peak_kind::measured, none) ==
          "peak_tflops: is missing: a measured peak is a number that is given");
    CHECK(message(h100, std::optional(780.0), "bf16", peak_kind::boost, clock) ==
          "clock_mhz: makes a peak of a known part, and peak_tflops is given: leave one out");
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

TEST_CASE("memory bandwidths: of every row's part, by each of its names, with a source", "[accelerator]") {
    using floptally::memory_bandwidth_named;
    std::set<std::string> products;
    for (const floptally::detail::memory_row& row : floptally::detail::accelerator_memory) {
        CAPTURE(row.product);
        const accelerator& part = accelerator_named(row.product);
        CHECK(products.insert(upper(row.product)).second);
        CHECK(row.tbps > 0.1);
        CHECK(row.tbps < 30);
        CHECK(std::string_view(row.source.url).starts_with("https://"));
        CHECK(memory_bandwidth_named(row.product)->tbps == row.tbps);
        if (part.name == row.product) {  // one memory: all names of the part have it
            for (const std::string_view name : names(part)) {
                if (!shared_names.contains(name)) {
                    CHECK(memory_bandwidth_named(name)->tbps == row.tbps);
                }
            }
        } else {
            CHECK(!memory_bandwidth_named(part.name));
        }
    }
    // FLOPs for a byte at the ridge of the roofline: no part of this table is far from others.
    for (const floptally::detail::memory_row& row : floptally::detail::accelerator_memory) {
        CAPTURE(row.product);
        const double half = std::max(accelerator_named(row.product).published_tflops(precision::bf16),
                                     accelerator_named(row.product).published_tflops(precision::fp16));
        CHECK(half / row.tbps > 30);
        CHECK(half / row.tbps < 600);
    }
}

TEST_CASE("memory bandwidths as vendors state them", "[accelerator]") {
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
    CHECK(
        text("A100 PCIe") ==
        "memory_tbps: A100 PCIe has memories of several bandwidths; name one: NVIDIA A100-PCIE-40GB, NVIDIA A100 80GB "
        "PCIe, A100-PCIE-40GB, or give memory_tbps");
    CHECK(text("Rubin") == "memory_tbps: Rubin has no published memory bandwidth that is known here; give memory_tbps");
    CHECK(text("H1000").starts_with("accelerator: no known part is called \"H1000\""));
}

}  // namespace accelerators_test
