// SPDX-License-Identifier: Apache-2.0
//
// The shape of the project, as the docs state it: read from the docs and enforced.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/step/report_table.hpp>

#include "catch2.hpp"
#include "markdown.hpp"
#include "page_files.hpp"

namespace architecture_test {
namespace {

const std::filesystem::path source_dir = FLOPTALLY_SOURCE_DIR;

/// A module's layer: it includes modules of lower layers only. The adapters and the umbrella stand above all.
constexpr int top_layer = 1000;

/// Modules and their layers, from the fenced block `modules` of docs/architecture.md: "3 statistics ...".
std::map<std::string, int> documented_modules() {
    std::map<std::string, int> layers;
    std::istringstream lines(fenced_blocks(read_text(source_dir / "docs/architecture.md"), "modules").at(0));
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        int layer = 0;
        std::string module;
        REQUIRE(words >> layer >> module);
        REQUIRE(layers.emplace(module, layer).second);
    }
    return layers;
}

/// "batch/tally" stands in the module "batch"; "fmt" stands at the top, whose name is "".
std::string module_of(const std::string& header) {
    const std::size_t slash = header.find('/');
    return slash == std::string::npos ? "" : header.substr(0, slash);
}

bool is_private(const std::string& header) { return header.find("/detail/") != std::string::npos; }

/// The names between the angle brackets of a header's includes.
const std::vector<std::string>& includes_of(const std::filesystem::path& header) {
    static std::map<std::filesystem::path, std::vector<std::string>> read;
    const auto [found, is_new] = read.try_emplace(header);
    if (!is_new) {
        return found->second;
    }
    std::vector<std::string>& included = found->second;
    std::istringstream lines(read_text(header));
    for (std::string line; std::getline(lines, line);) {
        if (line.rfind("#include", 0) == 0) {
            const std::size_t first = line.find_first_of("<\"") + 1;
            included.push_back(line.substr(first, line.find_first_of(">\"", first) - first));
        }
    }
    return included;
}

/// A header by its path without ".hpp": "statistics/mask". A header that only nvcc compiles keeps its ending:
/// "cuda.cuh".
std::string key_of(std::filesystem::path header) {
    return header.extension() == ".hpp" ? header.replace_extension().generic_string() : header.generic_string();
}

std::map<std::string, std::filesystem::path> headers() {
    std::map<std::string, std::filesystem::path> found;
    const std::filesystem::path root = source_dir / "include/floptally";
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
        if (entry.is_regular_file()) {
            if (entry.path().extension() == ".spec") {
                continue;
            }
            found.emplace(key_of(std::filesystem::relative(entry.path(), root)), entry.path());
        }
    }
    return found;
}

constexpr std::string_view own = "floptally/";

/// "floptally/statistics/mask.hpp" → "statistics/mask", "floptally/cuda/device_tally.cuh" → "cuda/device_tally.cuh"
std::string own_name(const std::string& included) { return key_of(included.substr(own.size())); }

/// A header that stands directly in include/floptally: the ones that users include.
bool is_public(const std::string& name) { return name.find('/') == std::string::npos; }

/// A header and all of ours that it includes, directly or not.
std::set<std::string> brought_by(const std::string& header) {
    static const auto found = headers();
    std::set<std::string> seen;
    std::vector<std::string> open{header};
    while (!open.empty()) {
        const std::string next = open.back();
        open.pop_back();
        if (!seen.insert(next).second) {
            continue;
        }
        for (const std::string& included : includes_of(found.at(next))) {
            if (included.rfind(own, 0) == 0 && found.count(own_name(included)) != 0) {  // or a spec, a literal
                open.push_back(own_name(included));
            }
        }
    }
    return seen;
}

}  // namespace

TEST_CASE("a header includes headers of its own and lower modules, and no detail/ of another module") {
    auto layers = documented_modules();
    layers.emplace("", top_layer);
    const auto found = headers();
    std::set<std::string> used;
    for (const auto& [name, path] : found) {
        const std::string module = module_of(name);
        used.insert(module);
        INFO("header " << name << ", module " << (module.empty() ? "(public)" : module));
        REQUIRE(layers.count(module) == 1);
        for (const std::string& included : includes_of(path)) {
            if (included.rfind(own, 0) != 0) {
                continue;
            }
            const std::string other = module_of(included.substr(own.size()));
            INFO("includes " << included << ", module " << (other.empty() ? "(public)" : other));
            REQUIRE(layers.count(other) == 1);
            if (other == module) {
                continue;
            }
            CHECK(layers.at(other) < layers.at(module));
            CHECK_FALSE(is_private(included));
        }
    }
    for (const auto& [module, layer] : layers) {
        INFO(module << " is a module of docs/architecture.md and has no header");
        CHECK(used.count(module) == 1);
    }
}

TEST_CASE("headers include each other without cycles") {
    const auto found = headers();
    std::map<std::string, int> state;  // 1: being visited, 2: left
    const std::function<void(const std::string&)> visit = [&](const std::string& name) {
        state[name] = 1;
        for (const std::string& included : includes_of(found.at(name))) {
            if (included.rfind(own, 0) != 0 || found.count(own_name(included)) == 0) {
                continue;
            }
            INFO(name << " includes " << included);
            CHECK(state[own_name(included)] != 1);
            if (state[own_name(included)] == 0) {
                visit(own_name(included));
            }
        }
        state[name] = 2;
    };
    for (const auto& [name, path] : found) {
        if (state[name] == 0) {
            visit(name);
        }
    }
}

TEST_CASE("floptally.hpp needs only the standard library and each adapter header needs one third-party library") {
    const auto found = headers();
    const std::set<std::string> third_parties{"nlohmann/", "cuda", "nccl", "mpi", "fmt/"};
    const std::set<std::string> adapters{"fmt",
                                         "json",
                                         "mpi",
                                         "nccl",
                                         "cuda",
                                         "report_json",
                                         "meter_json",
                                         "waterfall_json",
                                         "json/report_json",
                                         "json/meter_json",
                                         "json/waterfall_json",
                                         "json/byte_json",
                                         "json/table_json",
                                         "json/component_json",
                                         "json/kineto_trace"};
    for (const auto& [name, unused] : found) {
        std::set<std::string> seen;
        std::set<std::string> used;
        std::vector<std::string> open{name};
        while (!open.empty()) {
            const std::string next = open.back();
            open.pop_back();
            if (!seen.insert(next).second) {
                continue;
            }
            for (const std::string& included : includes_of(found.at(next))) {
                if (included.rfind(own, 0) == 0 && found.count(own_name(included)) != 0) {  // or a spec, a literal
                    open.push_back(own_name(included));
                }
                for (const std::string& party : third_parties) {
                    if (included.rfind(party, 0) == 0) {
                        used.insert(party);
                    }
                }
            }
        }
        INFO(name);
        if (used.count("nccl") != 0) {
            used.erase("cuda");  // nccl.h stands on the CUDA runtime
        }
        CHECK(used.size() <= 1);
        if (name == "floptally") {
            CHECK(used.empty());
        }
        for (const std::string& adapter : adapters) {
            const bool is_its_source = name == adapter + "_src";
            const bool is_its_theme = is_public(name) && name.ends_with("_json") && adapter.starts_with("json/");
            CHECK((seen.count(adapter) == 0 || name == adapter || is_its_source || is_its_theme));
        }
        // A header that only nvcc compiles is said to be one by its name.
        const bool has_kernels = std::any_of(
            seen.begin(), seen.end(), [&found](const std::string& key) { return found.at(key).extension() == ".cuh"; });
        CHECK(has_kernels == (found.at(name).extension() == ".cuh"));
    }
}

TEST_CASE("code that depends on CUDA or HIP stands only in the headers vendor and host_device") {
    const std::set<std::string> asking{"cuda/detail/vendor", "integer/host_device"};
    for (const auto& [name, path] : headers()) {
        const std::string text = read_text(path);
        INFO(name);
        for (const char* const of_vendor : {"__HIP__", "__CUDA_ARCH__", "__builtin_amdgcn", "__sync", "__shfl",
                                            "__threadfence", "threadIdx", "blockIdx", "cuCtx", "cuDevice", "hipS"}) {
            CHECK((text.find(of_vendor) == std::string::npos || asking.count(name) != 0));
        }
    }
}

TEST_CASE("every header begins with its license and #pragma once") {
    for (const auto& [name, path] : headers()) {
        INFO(name);
        // Every public header includes these two, so they are read again and again.
        const bool is_read_again = name == "text/macros_begin" || name == "text/macros_end";
        CHECK(read_text(path).starts_with("// SPDX-License-Identifier: Apache-2.0\n" +
                                          std::string(is_read_again ? "// No #pragma once: " : "#pragma once\n")));
    }
}

TEST_CASE("no header comment begins with the words What, Whether, Of or The same") {
    const std::set<std::string> riddles{"What", "Whether", "Of"};
    for (const auto& [name, path] : headers()) {
        std::istringstream lines(read_text(path));
        bool goes_on = false;  // a comment of several lines
        for (std::string line; std::getline(lines, line);) {
            const std::size_t first = line.find_first_not_of(' ');
            const bool is_comment = first != std::string::npos && line.compare(first, 2, "//") == 0;
            if (is_comment && !goes_on) {
                const std::string text = line.substr(std::min(line.find_first_not_of("/ ", first), line.size()));
                const std::string word = text.substr(0, text.find(' '));
                INFO(name << ": " << line);
                CHECK((riddles.count(word) == 0 && !text.starts_with("The same ")));
            }
            goes_on = is_comment && line.find("@file") == std::string::npos;
        }
    }
}

TEST_CASE("every test that docs/contributing.md names exists") {
    std::string all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source_dir / "tests")) {
        if (entry.path().filename().string().ends_with(".test.cpp")) {
            all.append(read_text(entry.path()));
        }
    }
    const std::string text = read_text(source_dir / "docs/contributing.md");
    const std::string page = text.substr(text.find("## A new accelerator"));
    std::size_t named = 0;
    for (std::size_t begin = page.find("\n* \""); begin != std::string::npos; begin = page.find("\n* \"", begin + 1)) {
        std::string item = page.substr(begin + 1, page.find("\n* ", begin + 1) - begin - 1);
        for (std::size_t at = item.find("\n  "); at != std::string::npos; at = item.find("\n  ")) {
            item.replace(at, 3, " ");
        }
        item.resize(std::min(item.find('\n'), item.size()));
        for (std::size_t at = item.find('"'); at != std::string::npos; at = item.find('"', at + 1)) {
            const std::size_t end = item.find('"', at + 1);
            const std::string test = item.substr(at, end - at + 1);
            INFO(test);
            CHECK(all.find("TEST_CASE(" + test) != std::string::npos);
            ++named;
            at = end;
        }
    }
    CHECK(named >= 18);
}

TEST_CASE("docs/contributing.md says for every fuzz target which property it checks") {
    const std::string page = read_text(source_dir / "docs/contributing.md");
    std::size_t targets = 0;
    for (const auto& entry : std::filesystem::directory_iterator(source_dir / "tests/fuzz")) {
        const std::string file = entry.path().filename().string();
        if (file.ends_with(".fuzz.cpp")) {
            INFO(file);
            CHECK(page.find("\n| `" + file.substr(0, file.find('.')) + "` | ") != std::string::npos);
            ++targets;
        }
    }
    CHECK(targets >= 4);
}

TEST_CASE("headers use the word stage only for stages of pipelines, of ZeRO, of a schedule and of a vision backbone") {
    const std::set<std::string> of_stages{"step/layout_work",
                                          "step/memory",
                                          "step/pipelines",
                                          "count/training_plan",
                                          "bytes/communication_counter",
                                          "bytes/rank_memory",
                                          "bytes/fit_report",
                                          "bytes/layout_predictor",
                                          "bytes/training_layout",
                                          "search/largest_fit",
                                          "search/layout_named",
                                          "search/layout_search",
                                          "search/search_report",
                                          "search/measured_step",
                                          "json/fit_json",
                                          "json/search_json",
                                          "step/layout_text",         // keys of frameworks
                                          "config/detail/key_words",  // a config's names
                                          "config/detail/functions",  // of a vision backbone
                                          "config/detail/model_reader"};
    std::set<std::string> seen;
    for (const auto& [name, path] : headers()) {
        const std::string text = read_text(path);
        if (text.find("stage") != std::string::npos) {
            INFO(name);
            CHECK((name.starts_with("parallel/") || name.starts_with("waterfall/") || of_stages.count(name) == 1));
            seen.insert(name);
        }
    }
    CHECK(seen.count("parallel/pipeline_split") == 1);
}

TEST_CASE("each test file has its own namespace, so that unity builds can compile several files together") {
    std::set<std::string> seen;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source_dir / "tests")) {
        const std::string file = entry.path().filename().string();
        if (file.ends_with(".test.cpp")) {
            INFO(file);
            const std::string name = file.substr(0, file.find('.')) + "_test";
            const std::string text = read_text(entry.path());
            CHECK(text.find("\nnamespace " + name + " {\n") < text.find("\nTEST_CASE("));
            CHECK(text.ends_with("\n}  // namespace " + name + "\n"));
            CHECK(seen.insert(name).second);
        }
    }
    CHECK(seen.size() > 50);
}

TEST_CASE("the README opens with two one-line commands and CI runs the second one unchanged") {
    const auto commands = fenced_blocks(read_text(source_dir / "README.md"), "sh");
    REQUIRE(commands.size() >= 2);
    CHECK(std::count(commands[0].begin(), commands[0].end(), '\n') == 1);
    CHECK(std::count(commands[1].begin(), commands[1].end(), '\n') == 1);
    CHECK(read_text(source_dir / ".ci/run").find("\n" + commands[1]) != std::string::npos);
}

namespace {

/// Lines without the blanks that they begin with.
std::string unindented(const std::string& text) {
    std::string out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        out += line.substr(std::min(line.find_first_not_of(' '), line.size())) + "\n";
    }
    return out;
}

}  // namespace

TEST_CASE("the C++ of docs/extending.md is copied from examples that are compiled and run") {
    const auto are_cut_from = [](const std::vector<std::string>& snippets, const std::vector<std::string>& examples) {
        for (const std::string& snippet : snippets) {
            INFO(snippet);
            CHECK(std::any_of(examples.begin(), examples.end(), [&](const std::string& example) {
                return unindented(read_text(source_dir / "examples" / example)).find(unindented(snippet)) !=
                       std::string::npos;
            }));
        }
    };
    const auto of_extending = fenced_blocks(read_text(source_dir / "docs/extending.md"), "cpp");
    REQUIRE(of_extending.size() >= 7);
    are_cut_from(of_extending, {"latent_moe_training.cpp", "own_attention.cpp", "meter_over_ranks.cpp"});
}

TEST_CASE("docs/reference/cpp.md lists every public header once with what it includes") {
    const std::map<std::string, std::string> parties{{"nlohmann/", "nlohmann_json"},
                                                     {"cuda", "the CUDA runtime"},
                                                     {"nccl", "NCCL"},
                                                     {"mpi", "MPI"},
                                                     {"fmt/", "{fmt}"}};
    const auto found = headers();
    std::map<std::string, std::string> needs;
    for (const auto& [name, path] : found) {
        if (!is_public(name)) {
            continue;
        }
        std::string needed = path.extension() == ".cuh" ? "nvcc or hipcc" : "";
        for (const std::string& header : brought_by(name)) {
            for (const std::string& included : includes_of(found.at(header))) {
                for (const auto& [begin, party] : parties) {
                    // nccl.h brings the CUDA runtime.
                    if (included.starts_with(begin) && (needed.empty() || party == "NCCL")) {
                        needed = party;
                    }
                }
            }
        }
        needs.emplace(path.filename().string(), needed.empty() ? "the standard library" : needed);
    }
    std::istringstream lines(read_text(source_dir / "docs/reference/cpp.md"));
    for (std::string line; std::getline(lines, line);) {
        INFO(line);
        const std::string header = line.starts_with("| [`") ? line.substr(4, line.find('`', 4) - 4) : "";
        if (!header.ends_with(".hpp") && !header.ends_with(".cuh")) {
            continue;
        }
        REQUIRE(needs.count(header) == 1);  // a header, for the first time
        CHECK(line.ends_with(". | " + needs.at(header) + " |"));
        needs.erase(header);
    }
    const std::string first_missing = needs.empty() ? "" : needs.begin()->first;
    CHECK(first_missing == "");
}

TEST_CASE("every header path that the docs name exists") {
    const auto found = headers();
    std::vector<std::filesystem::path> pages{source_dir / "README.md"};
    for (const std::filesystem::path& page : docs_pages()) {
        if (page.filename() != "changelog.md") {  // it says what headers were called
            pages.push_back(page);
        }
    }
    const std::string letters = "abcdefghijklmnopqrstuvwxyz_0123456789/";
    std::size_t named = 0;
    for (const std::filesystem::path& page : pages) {
        const std::string text = read_text(page);
        for (const std::string end : {".hpp", ".cuh"}) {
            for (std::size_t at = text.find(end); at != std::string::npos; at = text.find(end, at + 1)) {
                const std::size_t first = text.find_last_not_of(letters, at - 1) + 1;
                if (first == at) {
                    continue;  // the ending alone
                }
                std::string path = text.substr(first, at - first) + end;
                path = path.rfind(own, 0) == 0 ? path.substr(own.size()) : path;
                INFO(page.filename() << ": " << path);
                const auto header = found.find(key_of(path));
                const bool is_header = header != found.end() && header->second.extension() == end;
                CHECK((is_header || std::filesystem::exists(source_dir / path) || path == "nlohmann/json.hpp" ||
                       path.starts_with("catch2/")));
                named += is_header ? 1U : 0U;
            }
        }
    }
    CHECK(named > 0);
}

TEST_CASE("docs/extending.md lists the members of struct part in their declared order") {
    std::istringstream lines(read_text(source_dir / "docs/extending.md"));
    std::size_t checked = 0;
    for (std::string line; std::getline(lines, line);) {
        std::vector<std::string> words;  // in backticks
        if (!line.starts_with("| `")) {
            continue;
        }
        for (std::size_t at = line.find('`'); at != std::string::npos; at = line.find('`', at + 1)) {
            const std::size_t end = line.find('`', at + 1);
            REQUIRE(end != std::string::npos);
            words.push_back(line.substr(at + 1, end - at - 1));
            at = end;
        }
        const auto header = std::find_if(words.begin(), words.end(),
                                         [](const std::string& word) { return word.starts_with("descriptors/"); });
        if (header == words.end() || header + 1 == words.end()) {
            continue;
        }
        const std::string text = read_text(source_dir / "include/floptally" / *header);
        for (auto part = words.begin(); part != header; ++part) {
            const std::string name = part->substr(0, part->find('<'));
            INFO(name);
            const std::size_t start = text.find("struct " + name + " {\n");
            REQUIRE(start != std::string::npos);
            std::istringstream members(text.substr(start, text.find("\n};", start) - start));
            std::vector<std::string> fields;
            std::string member;
            std::getline(members, member);
            while (std::getline(members, member)) {
                member = member.substr(0, member.find("///"));
                const std::size_t end = member.find_last_not_of(" ;");
                const std::size_t value = std::min(member.find(" = "), member.find("{}"));
                const bool is_field = member.starts_with("    ") && member.size() > 4 && member[4] != ' ' &&
                                      member[4] != '/' && member.find('(') == std::string::npos &&
                                      member.find("static") == std::string::npos &&
                                      member.find("return") == std::string::npos && member.find(';') == end + 1;
                if (is_field) {
                    const std::string declared = member.substr(0, std::min(value, end + 1));
                    fields.push_back(declared.substr(declared.rfind(' ') + 1));
                }
            }
            CHECK(fields == std::vector<std::string>(header + 1, words.end()));
            ++checked;
        }
    }
    CHECK(checked > 12);
}

TEST_CASE("the code of docs/cuda.md on user-defined masks is copied from tests that nvcc compiles") {
    const std::string compiled = unindented(read_text(source_dir / "tests/cuda/device_tally.test.cu")) +
                                 unindented(read_text(source_dir / "tests/cuda/mask.test.cu"));
    std::size_t found = 0;
    for (const std::string& snippet : fenced_blocks(read_text(source_dir / "docs/cuda.md"), "cpp")) {
        if (snippet.find("own_statistics") != std::string::npos) {
            INFO(snippet);
            CHECK(compiled.find(unindented(snippet)) != std::string::npos);
            ++found;
        }
    }
    CHECK(found == 2);
}

TEST_CASE("the recipes of docs/cuda.md for authors of trainers are copied from examples that nvcc compiles") {
    std::string compiled;
    for (const char* const example : {"torch_extension.cu", "fused_accumulate.cu", "cuda_training_step.cu"}) {
        compiled += unindented(read_text(source_dir / "examples" / example));
    }
    const std::string page = read_text(source_dir / "docs/cuda.md");
    const std::size_t first = page.find("## Recipes");
    REQUIRE(first != std::string::npos);
    const auto recipes = fenced_blocks(page.substr(first, page.find("\n## ", first + 1) - first), "cpp");
    CHECK(recipes.size() >= 4);
    for (const std::string& snippet : recipes) {
        INFO(snippet);
        CHECK(compiled.find(unindented(snippet)) != std::string::npos);
    }
}

namespace {

/// The total of one sequence of 8192 tokens of Llama-3-8B under a convention, and its row of the tables.
struct counted_convention {
    const floptally::convention* how;
    floptally::flops total;
    std::string name;  ///< as the tables have it: the default is bold
    std::string row;
};

/// All conventions, the least total first.
std::vector<counted_convention> counted_conventions() {
    const floptally::cost model = floptally::presets::llama_3_8b.cost();
    floptally::tally batch{model.masks()};
    batch.add(floptally::sequence{.length = 8192});
    std::vector<counted_convention> all;
    for (const floptally::convention* how : floptally::conventions::all) {
        const bool inference = how == &floptally::conventions::vllm_prefill || how == &floptally::conventions::sglang;
        const floptally::training_plan plan{.counted = inference ? floptally::counted_passes::forward
                                                                 : floptally::counted_passes::train};
        const floptally::flops total = floptally::evaluate(model, batch, *how, plan).total();
        const std::string name(how->name);
        const std::string cell = how == &floptally::conventions::exact ? "**" + name + "**" : name;
        all.push_back({how, total, cell,
                       std::string("| ")
                           .append(inference ? cell + " (forward)" : cell)
                           .append(" | ")
                           .append(floptally::grouped(total.low()))
                           .append(" |\n")});
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const counted_convention& a, const counted_convention& b) { return a.total < b.total; });
    return all;
}

/// "421.652" TFLOP, rounded.
std::string tflop(const floptally::flops& total) {
    const std::uint64_t thousandths = (total.low() + 500'000'000) / 1'000'000'000;
    const std::string rest = std::to_string(thousandths % 1000);
    return std::to_string(thousandths / 1000) + "." + std::string(3 - rest.size(), '0') + rest;
}

/// A convention's row of the README: one sequence of 8192 tokens, 16 documents of 512 in one row, and a window.
std::string readme_row(const floptally::convention& how) {
    // Tools that are not told of documents count their row as one sequence (docs/python.md has what each returns).
    const std::set<std::string_view> are_not_told{"torch_flop_counter", "torch_flop_counter_eager", "torchtitan",
                                                  "palm", "nanogpt"};
    const auto counted = [&how](const floptally::cost& model, const std::vector<int>& lengths) {
        floptally::tally batch{floptally::flop_counter(model, how).masks()};
        batch.add_lengths(lengths);
        return tflop(floptally::evaluate(model, batch, how).total());
    };
    const floptally::cost llama = floptally::presets::llama_3_8b.cost();
    const floptally::cost mistral = floptally::presets::mistral_7b.cost();
    const std::vector<int> row = are_not_told.count(how.name) != 0 ? std::vector<int>{8192} : std::vector<int>(16, 512);
    const std::string name(how.name);
    return std::string("| ")
        .append(&how == &floptally::conventions::exact ? "**" + name + "**" : name)
        .append(" | ")
        .append(counted(llama, {8192}))
        .append(" | ")
        .append(counted(llama, row))
        .append(" | ")
        .append(counted(mistral, {32768}))
        .append(" |\n");
}

/// docs/conventions.md with all totals, and with a row for each convention: a new one has its summary there.
std::string conventions_page() {
    std::string totals = "| convention | FLOPs |\n| --- | ---: |\n";
    for (const counted_convention& counted : counted_conventions()) {
        totals += counted.row;
    }
    std::string page = with_table(read_text(source_dir / "docs/conventions.md"), totals);
    for (const floptally::convention* how : floptally::conventions::all) {
        const std::string name(how->name);
        if (page.find("\n| `" + name + "` |") == std::string::npos) {
            const std::size_t end = page.find("\n\n", page.find("\n| preset | formula |"));
            page.insert(end + 1, std::string("| `").append(name).append("` | | ").append(how->summary).append(" |\n"));
        }
    }
    return page;
}

}  // namespace

TEST_CASE("the convention tables of README and docs show the FLOPs that the library counts") {
    INFO("write the page: floptally_tests \"docs/conventions.md is regenerated from the library's conventions\"");
    const bool is_current = read_text(source_dir / "docs/conventions.md") == conventions_page();
    CHECK(is_current);
    const std::string readme = read_text(source_dir / "README.md");
    std::size_t in_readme = 0;
    for (const counted_convention& counted : counted_conventions()) {
        INFO(counted.name);
        // The README has the best known ones.
        if (readme.find("\n| " + counted.name + " |") != std::string::npos) {
            CHECK(readme.find("\n" + readme_row(*counted.how)) != std::string::npos);
            ++in_readme;
        }
    }
    CHECK(in_readme == 9);
    const floptally::cost model = floptally::presets::llama_3_8b.cost();
    floptally::tally pack{model.masks()};
    pack.add_lengths(std::vector<int>(16, 512));
    CHECK(read_text(source_dir / "docs/conventions.md")
              .find(floptally::grouped(floptally::evaluate(model, pack).total().low())) != std::string::npos);
}

TEST_CASE("docs/conventions.md is regenerated from the library's conventions", "[.writes]") {
    const std::string page = conventions_page();
    std::ofstream(source_dir / "docs/conventions.md", std::ios::binary) << page;
    CHECK(read_text(source_dir / "docs/conventions.md") == page);
}

TEST_CASE("every speed figure in docs/contributing.md names the program and the commit that measured it") {
    const std::string page = read_text(source_dir / "docs/contributing.md");
    std::istringstream lines(page.substr(page.find("\n## Speed\n")));
    int figures = 0;
    for (std::string line; std::getline(lines, line);) {
        if (line.rfind("| `", 0) != 0) {
            continue;
        }
        INFO(line);
        const std::size_t end = line.find("` at ");
        REQUIRE(end != std::string::npos);
        std::string program = line.substr(3, end - 3);
        const std::size_t bench = program.rfind("_bench");
        program = bench == std::string::npos ? program : program.substr(0, bench) + ".bench.cpp";
        CHECK(std::filesystem::exists(source_dir / "tests/benchmark" / program));
        CHECK(line.find_first_not_of("0123456789abcdef", end + 5) == end + 12);
        ++figures;
    }
    CHECK(figures >= 12);
}

TEST_CASE("the worked example of docs/counting.md shows the FLOPs that the library counts") {
    const floptally::cost model = floptally::presets::llama_3_8b.cost();
    floptally::tally batch{model.masks()};
    batch.add(floptally::sequence{.length = 8192});
    const floptally::breakdown work = floptally::evaluate(model, batch, floptally::conventions::exact,
                                                          {.counted = floptally::counted_passes::forward});
    const std::string page = read_text(source_dir / "docs/counting.md");
    for (const floptally::component_flops& component : work.components()) {
        const std::string name(component.name.view());
        const std::string total = floptally::grouped(component.total(floptally::view::useful).low());
        INFO(name << " " << total);
        const std::size_t row = page.find("\n| " + name + " |");
        REQUIRE(row != std::string::npos);
        CHECK(page.substr(row + 1, page.find('\n', row + 1) - row - 1).ends_with("| " + total + " |"));
    }
    CHECK(page.find(floptally::grouped(work.total().low())) != std::string::npos);
    CHECK(page.find(floptally::grouped(batch.pairs(floptally::view::useful, floptally::mask::causal())) + " pairs") !=
          std::string::npos);
    CHECK(page.find(floptally::grouped(model.parameters())) != std::string::npos);
}

TEST_CASE("docs, README, examples and the program include only public headers") {
    // The binding is many units. Each includes what it binds: with public headers they would compile for longer.
    const std::set<std::string> exceptions{"examples/python/src"};
    std::vector<std::filesystem::path> files{source_dir / "README.md", source_dir / "tests/snippets.test.cpp"};
    for (const char* const folder : {"docs", "examples", "tests/consumer"}) {
        for (const auto& entry : std::filesystem::recursive_directory_iterator(source_dir / folder)) {
            const std::string from_root = std::filesystem::relative(entry.path(), source_dir).generic_string();
            const bool is_exception =
                std::any_of(exceptions.begin(), exceptions.end(),
                            [&](const std::string& exception) { return from_root.starts_with(exception); });
            if (entry.is_regular_file() && !is_exception) {
                files.push_back(entry.path());
            }
        }
    }
    std::size_t includes = 0;
    for (const std::filesystem::path& file : files) {
        const std::string text = read_text(file);
        const std::string include = "#include <" + std::string(own);
        for (std::size_t at = text.find(include); at != std::string::npos; at = text.find(include, at + 1)) {
            const std::size_t first = at + include.size();
            const std::string header = text.substr(first, text.find_first_of(">\n", first) - first);
            INFO(file << " includes <floptally/" << header << ">");
            CHECK(is_public(header));
            ++includes;
        }
    }
    CHECK(includes > 0);
}

TEST_CASE("every public header undefines conflicting macros before its includes and restores them at its end") {
    for (const auto& [name, path] : headers()) {
        if (!is_public(name)) {
            continue;
        }
        INFO(name);
        const std::vector<std::string>& included = includes_of(path);
        REQUIRE(included.size() > 2);
        CHECK(included.front() == "floptally/text/macros_begin.hpp");
        CHECK(read_text(path).ends_with("\n#include <floptally/text/macros_end.hpp>\n"));
    }
}

TEST_CASE("every header that declares a public name is included by a public header") {
    std::set<std::string> brought;
    const auto found = headers();
    for (const auto& [name, path] : found) {
        if (is_public(name)) {
            brought.merge(brought_by(name));
        }
    }
    for (const auto& [name, path] : found) {
        const std::string text = read_text(path);
        bool declares = false;
        for (std::size_t at = text.find("\nnamespace "); at != std::string::npos;
             at = text.find("\nnamespace ", at + 1)) {
            declares = declares || text.substr(at, text.find('{', at) - at).find("::detail") == std::string::npos;
        }
        INFO(name);
        CHECK((!declares || brought.count(name) == 1));
    }
}

TEST_CASE("every header declares its names in the inline namespace of the same version") {
    std::set<std::string> versions;
    const std::string begin = "\nnamespace floptally";
    const std::string inner = "::inline v";
    for (const auto& [name, path] : headers()) {
        const std::string text = read_text(path);
        for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
            const std::size_t first = at + begin.size();
            INFO(name << ": namespace floptally" << text.substr(first, text.find('{', first) - first));
            CHECK(text.compare(first, inner.size(), inner) == 0);
            versions.insert(text.substr(first + inner.size(),
                                        text.find_first_of(": ", first + inner.size()) - first - inner.size()));
        }
    }
    REQUIRE(versions.size() == 1);
    std::istringstream numbers(*versions.begin());  // "0_3"
    int major = 0;
    int minor = 0;
    char line = ' ';
    REQUIRE(numbers >> major >> line >> minor);
    // A version that is not released yet has its namespace before it has its number.
    CHECK(std::pair(major, minor) >= std::pair(FLOPTALLY_VERSION_MAJOR, FLOPTALLY_VERSION_MINOR));
}

}  // namespace architecture_test
