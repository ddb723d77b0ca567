// SPDX-License-Identifier: Apache-2.0
//
// Pages: those of the library, what a user's does, and every way in which one can be wrong.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/config/detail/functions.hpp>
#include <floptally/config/detail/part_table.hpp>
#include <floptally/floptally.hpp>
#include <floptally/json.hpp>
#include <floptally/page_language/page_library.hpp>
#include <floptally/step/report.hpp>

#include "catch2.hpp"
#include "config_text.hpp"
#include "error_of.hpp"
#include "markdown.hpp"
#include "sanitized.hpp"

namespace pages_test {
namespace {

const std::filesystem::path source_dir = FLOPTALLY_SOURCE_DIR;

std::size_t count_of(std::string_view text, std::string_view word) {
    std::size_t count = 0;
    for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
        ++count;
    }
    return count;
}

/// A small config of a decoder, without a type: the page that is given reads it.
constexpr const char* small =
    "{'vocab_size': 96, 'hidden_size': 64, 'intermediate_size': 160, 'num_hidden_layers': 3, "
    "'num_attention_heads': 4, 'layer_types': ['full_attention', 'full_attention', 'full_attention']}";

/// The small config with a given model type.
std::string small_of(const std::string& type) {
    return "{'model_type': '" + type + "', " + std::string(small).substr(1);
}

floptally::model_config read_by(const std::string& page, const std::string& config = small) {
    return floptally::read_config(parsed(config), {.pages = {page}});
}

/// Three layers of a type, with more fields.
floptally::model_config read_by_type(const std::string& type, const std::string& fields) {
    return floptally::read_config(
        parsed("{'model_type': '" + type + "', 'num_hidden_layers': 3, 'num_attention_heads': 8, " + fields + "}"));
}

struct problem {
    std::string field;
    std::string text;
};

/// The error of a call, with empty parts where it throws none.
template <class Call>
problem problem_of(Call call) {
    try {
        static_cast<void>(call());
    } catch (const floptally::error& e) {
        return {std::string(e.field()), std::string(e.problem())};
    }
    return {};
}

std::uint64_t forward_of(const floptally::cost& model, std::uint32_t length) {
    const floptally::flop_counter counter(model, floptally::conventions::exact,
                                          {.counted = floptally::counted_passes::forward});
    floptally::tally batch{model.masks()};
    batch.add({.length = length});
    return static_cast<std::uint64_t>(counter.total(batch, floptally::view::useful).low());
}

/// The page that docs/pages.md writes step by step: its indented lines, without the indent.
std::string documented_page() {
    const std::string all = read_text(source_dir / "docs/pages.md");
    const std::size_t first = all.find("## One model, step by step");
    const std::size_t last = all.find("## The language");
    REQUIRE(first < last);
    REQUIRE(last != std::string::npos);
    std::istringstream lines(all.substr(first, last - first));
    std::string page;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("    ")) {
            page += line.substr(4) + "\n";
        }
    }
    return page;
}

}  // namespace

TEST_CASE("Every file of models/ is one literal, named after its first page, and stands in the sorted list") {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(source_dir / "include/floptally/models")) {
        if (entry.path().filename() != "list.hpp") {
            CHECK(entry.path().extension() == ".page");
            files.emplace(entry.path().stem().string(), read_text(entry.path()));
        }
    }
    const auto& pages = floptally::detail::pages::model_pages;
    std::set<std::string> listed;
    for (const std::string_view text : pages) {
        listed.emplace(floptally::detail::pages::name_of_page(text));
    }
    for (const auto& [name, text] : files) {
        INFO(name << ".page is not in models/list.hpp");
        CHECK(listed.contains(name));
    }
    REQUIRE(files.size() == std::size(pages));
    REQUIRE(files.size() > 200);
    CHECK(std::is_sorted(std::begin(pages), std::end(pages), [](const char* a, const char* b) {
        return floptally::detail::pages::name_of_page(a) < floptally::detail::pages::name_of_page(b);
    }));
    for (const std::string_view text : pages) {
        const std::string name(floptally::detail::pages::name_of_page(text));  // the first page of a file is its type
        INFO(name);
        const auto file = files.find(name);
        REQUIRE(file != files.end());
        CHECK(file->second == "R\"page(" + std::string(text) + ")page\"\n");
    }
}

TEST_CASE("A file of models/ is given as it is: its fence counts as empty lines") {
    const std::string file = read_text(source_dir / "include/floptally/models/mistral.page");
    REQUIRE(file.starts_with("R\"page(\npage mistral : "));
    const std::string config = "{'model_type': 'mistral', 'num_hidden_layers': 3}";
    const floptally::model_config given = read_by(file, config);
    const floptally::model_config known = floptally::read_config(parsed(config));
    CHECK(given.cost == known.cost);
    CHECK(given.notes == known.notes);
    const problem said = problem_of([&] { return read_by("R\"page(\npage my : llama\nh = nonsense\n)page\"\n"); });
    CHECK(said.field == "page my:3");
    // Two files one after the other are as two literals.
    CHECK(read_by("R\"page(\npage my : your\n)page\"\nR\"page(\npage your : llama\nf = 100\n)page\"").cost ==
          read_by("page my : llama\nf = 100\n").cost);
}

TEST_CASE("An error before the name of a page names its file") {
    const auto field = [](const char* text) {
        return problem_of([&] {
                   return floptally::read_config(parsed(small), {.pages = {{text, "models/my.page"}}});
               })
            .field;
    };
    for (const char* const text : {"", "h = 3\n", "page\n", "page !\n", "\n\n"}) {
        INFO(text);
        CHECK(field(text).starts_with("page models/my.page:"));
    }
    CHECK(field(("h = 3\n" + std::string(70'000, ' ')).c_str()) == "page models/my.page:1");
    CHECK(field("page my : llama as\n") == "page my:1");
    CHECK(field("page my : llama prefixed\n") == "page my:1");
}

TEST_CASE("Every page of the library reads the defaults of its class, or says which key it needs") {
    std::size_t costs = 0;
    std::size_t number = 0;
    for (const std::string_view type : floptally::known_model_types()) {
        if (skipped_when_sanitized(number++, 10)) {
            continue;
        }
        INFO(type);
        std::uint64_t parameters = 0;
        const problem said = problem_of([&] {
            parameters = floptally::read_config(nlohmann::json{{"model_type", type}}).cost.parameters();
        });
        INFO(said.field << ": " << said.text);
        CHECK((parameters != 0) == said.field.empty());
        CHECK_FALSE(said.field.starts_with("page "));
        costs += parameters != 0 ? 1 : 0;
    }
    CHECK(costs > (is_sanitized ? 20U : 200U));
}

TEST_CASE("docs/pages.md lists the words and the keys of every part, as the table has them") {
    std::istringstream listed(read_text(source_dir / "docs/pages.md"));
    std::string words_of_parts = "|";  // "| gqa heads kv dim gate fused | … |"
    bool is_list = false;
    for (std::string line; std::getline(listed, line);) {
        is_list =
            line.starts_with("* **Parts**") || line.starts_with("* **Rows**") || (is_list && line.starts_with("  "));
        const std::size_t start = line.starts_with("* **") ? line.find(": ") + 2 : 2;
        if (is_list) {
            words_of_parts += " " + line.substr(start) + (line.ends_with(".") ? " |" : "");
        }
    }
    const std::string keys_of_parts = read_text(source_dir / "docs/pages.md");
    std::size_t own = 0;
    for (const auto& kind : floptally::detail::pages::part_kinds) {
        std::string words(kind.name);
        const std::string type(kind.own.substr(0, kind.own.find(' ')));
        const std::size_t row = keys_of_parts.find("\n| `" + type + "` | ");
        CHECK((type.empty() || row != std::string::npos));
        const std::string line = type.empty() ? "" : keys_of_parts.substr(row, keys_of_parts.find('\n', row + 1) - row);
        for (std::size_t k = 0; k < kind.words; ++k) {
            const std::string key(kind.word(k).key);
            words += std::string(" ") + kind.word(k).word;
            INFO(kind.name << " " << key);
            CHECK((key.empty() || line.find("`" + key.substr(0, key.find(' ')) + "`") != std::string::npos));
        }
        own += type.empty() ? 0 : 1;
        INFO(words);
        CHECK((words_of_parts.find("| " + words + " |") != std::string::npos ||
               words_of_parts.find("| " + words + ".") != std::string::npos));
    }
    CHECK(own == 22);
}

TEST_CASE("F57: an argument of a part without its value is an error that names it") {
    struct line {
        const char* text;
        const char* argument;
    };
    const auto problem_in = [](const std::string& blocks) {
        return error_of(
            [&] { return read_by("page mine : llama prefix Mine\n" + blocks + "\nclasses ForCausalLM\n"); });
    };
    constexpr line lines[] = {
        {"feed: experts of 8, top, inner 40", "experts top"},
        {"feed: experts of, top 2, inner 40", "experts of"},
        {"feed: experts of 8, top 2, inner 40, shared", "experts shared"},
        {"feed: experts of 8, top 2, inner 40, visits", "experts visits"},
        {"feed: gated inner", "gated inner"},
        {"feed: gated inner 40, norm", "gated norm"},
        {"feed: gated inner 40, bias", "gated bias"},
        {"feed: gated inner 40, width", "gated width"},
        {"feed: gated inner 40, times", "gated times"},
        {"feed: gated inner 40, rows", "gated rows"},
        {"feed: gated inner 40, prefix", "gated prefix"},
        {"feed: gated inner 40, over", "gated over"},
        {"feed: gated inner 40, named", "gated named"},
        {"feed: linear in, out 5", "linear in"},
        {"feed: linear in 4, out, as gate", "linear out"},
        {"feed: linear in 4, out 5, applied", "linear applied"},
        {"feed: linear in 4, out 5, as", "linear as"},
        {"feed: linear in 4, out 5, from", "linear from"},
        {"feed: linear in 4, out 5, to", "linear to"},
        {"feed: linear in 4, out 5, split heads", "linear split heads"},
        {"feed: state per", "state per"},
        {"feed: norm count", "norm count"},
        {"mixer: gqa heads heads, kv, dim 16", "gqa kv"},
        {"mixer: gqa heads heads, dim 16, sees", "gqa sees"},
        {"mixer: core heads 4, dim", "core dim"},
        {"mixer: mamba2 heads 4, dim 16, groups, state 8, kernel 4", "mamba2 groups"},
        {"class ForCausalLM: head out, words", "head out"},
        {"class ForCausalLM: head out v, in, words", "head in"},
    };
    for (const line& wrong : lines) {
        INFO(wrong.text);
        const std::string said = problem_in(wrong.text);
        CHECK(said.starts_with("page mine:2: " + std::string(wrong.argument) + " needs "));
    }
    // A switch has none.
    CHECK(problem_in("feed: gated inner 40, fused, detached") == "no error");
    CHECK(problem_in("feed: experts of 8, top 2, inner 40, plain") == "no error");
    CHECK(problem_in("class ForCausalLM: head out v, bias, words") == "no error");
}

TEST_CASE("F61: docs/pages.md names every statement, function and mask of the language, and what to watch for") {
    const std::string all = read_text(source_dir / "docs/pages.md");
    const auto has = [&all](std::string_view word) {
        const auto is_letter = [](char c) { return floptally::detail::pages::is_word(c); };
        for (std::size_t at = all.find(word); at != std::string::npos; at = all.find(word, at + 1)) {
            if (!is_letter(all[at - 1]) && !is_letter(all[at + word.size()])) {
                return true;
            }
        }
        return false;
    };
    const std::string language = all.substr(all.find("## The language"));
    for (const char* const statement :
         {"with", "without", "ignores", "classes", "class", "encoder", "inner", "note", "require", "split", "unsaid",
          "each", "absent", "optional", "older", "side", "flat"}) {
        INFO(statement);
        CHECK(language.find(statement) != std::string::npos);
    }
    for (const auto& function : floptally::detail::pages::page_functions) {
        INFO(function.name);
        CHECK(has(function.name));
    }
    for (const auto& rule : floptally::detail::pages::rule_functions) {
        INFO(rule.name);
        CHECK(has(rule.name));
    }
    for (const char* const hint : {"A base's `require`", "counts no norm", "`v = 0`"}) {
        INFO(hint);
        CHECK(all.find(hint) != std::string::npos);
    }
}

TEST_CASE("F61: what docs/pages.md says to watch for is so") {
    // The rule of a base is undone by the name that it looks at, or by the default of a key that the class has not.
    const std::string base =
        "page other : llama prefix Other\nwith thing no\nrequire not .thing: .thing must be false\n";
    const std::string kin = base + "page mine : other prefix Mine\n";
    const std::string thing = small_of("mine").insert(1, "'thing': true, ");
    CHECK(error_of([&] { return read_by(kin, thing); }) == "thing: must be false, got true");
    CHECK(error_of([&] { return read_by(kin + "without thing\n", thing); }) == "no error");
    const std::string odd =
        small_of("mine").replace(small_of("mine").find("'num_attention_heads': 4"), 24, "'num_attention_heads': 5");
    CHECK(error_of([&] { return read_by("page mine : llama\n", odd); }).find("must divide") != std::string::npos);
    CHECK(error_of([&] { return read_by("page mine : llama\ndivides = no\n", odd); }) == "no error");

    // A part counts no norm unless it says so.
    const auto parameters = [](const std::string& page, const std::string& config = small_of("mine")) {
        return read_by(page, config).cost.parameters();
    };
    CHECK(parameters("page mine : llama\nfeed: gated inner f, norm 7\n") ==
          parameters("page mine : llama\nfeed: gated inner f\n") + 3 * 7);

    // A model without words.
    const std::string silent = "page mine : base.decoder prefix Mine\nwithout vocab_size\nclass Model:\n";
    const std::string wordless = small_of("mine").replace(small_of("mine").find("'vocab_size': 96, "), 18, "");
    CHECK(error_of([&] { return read_by(silent, wordless); }).find("vocab_size") != std::string::npos);
    CHECK(parameters(silent + "v = 1\n", wordless) + 64 == parameters(silent + "v = 2\n", wordless));
}

TEST_CASE(
    "F61: an error on the first line names its page, or before the name its file; a page of the library is given") {
    const auto problem_of_text = [](const char* text) {
        return error_of([&] {
            return floptally::read_config(parsed(small), {.pages = {floptally::page_text{text, "my.page"}}});
        });
    };
    CHECK(problem_of_text("pge mine : llama\n").starts_with("page my.page:1: "));
    CHECK(problem_of_text("page : llama\n").starts_with("page my.page:1: "));
    CHECK(problem_of_text("").starts_with("page my.page:1: "));
    CHECK(problem_of_text("page mine ; llama\n").starts_with("page mine:1: "));
    CHECK(problem_of_text("page mine : llama prefix\n").starts_with("page mine:1: "));
    const floptally::cost llama = floptally::read_config(parsed(small_of("llama"))).cost;
    CHECK(read_by(read_text(source_dir / "include/floptally/models/llama.page"), small_of("llama")).cost == llama);
    CHECK(read_by(read_text(source_dir / "include/floptally/models/llama.page"), small).cost == llama);
}

TEST_CASE("A class that is another page's, whose class is the first's again, is an error with its line") {
    const std::string both =
        "page mine : llama prefix Mine\nclass ForCausalLM: as yours\n\n"
        "page yours : llama\nclass ForCausalLM: as mine\n";
    CHECK(error_of([&] { return read_by(both); }) == "page mine:2: class ForCausalLM is another page's without an end");
}

TEST_CASE("The page that docs/pages.md writes counts what its paper would say") {
    const std::string page = documented_page();
    REQUIRE(count_of(page, "\n") == 10);
    const floptally::model_config model = read_by(page, "{'model_type': 'my_model', 'vocab_size': 32000}");
    CHECK(model.model_type == "my_model");

    constexpr std::uint64_t h = 4096;
    constexpr std::uint64_t attention = 2 * h * 32 * 128 + 2 * h * 8 * 128;  // q and o, k and v
    constexpr std::uint64_t dense = 3 * h * 11008;
    constexpr std::uint64_t expert = 3 * h * 1408;
    constexpr std::uint64_t head = 32000 * h;
    CHECK(model.cost.parameters() ==
          2 * head + 32 * (attention + 2 * h) + dense + 31 * (h * 64 + 64 * expert + expert) + h);

    constexpr std::uint32_t n = 3000;
    std::uint64_t pairs = 0;
    for (std::uint64_t layer = 0; layer < 32; ++layer) {
        for (std::uint64_t t = 1; t <= n; ++t) {
            pairs += (layer + 1) % 4 == 0 ? t : std::min<std::uint64_t>(t, 1024);
        }
    }
    const std::uint64_t matrices = head + 32 * attention + dense + 31 * (h * 64 + 6 * expert + expert);
    CHECK(forward_of(model.cost, n) == 2 * matrices * n + 2 * 2 * 32 * 128 * pairs);

    const problem said = problem_of([&] { return read_by(page, "{'n_experts': 4, 'n_chosen': 5}"); });
    CHECK(said.field == "n_chosen");
    CHECK(said.text.find("n_experts") != std::string::npos);
}

TEST_CASE("A user's page comes before the library's of the same type, and its kin stand on it") {
    const std::string own = "page llama : base.decoder prefix Llama\nfeed: mlp inner .intermediate_size\n";
    const std::uint64_t library = read_by("page my : llama\n").cost.parameters();
    CHECK(read_by(own).cost.parameters() == library - 3 * 64 * 160);
    CHECK(library == 2 * 96 * 64 + 64 + 3 * (4 * 64 * 64 + 3 * 64 * 160 + 2 * 64));
    CHECK(read_by("page my : llama\n" + own).cost.parameters() == library - 3 * 64 * 160);
}

TEST_CASE("The type of a config chooses among the pages that are given and the library's") {
    const auto of_type = [&](const std::string& type, bool strict = false) {
        const std::string zebra = "page zebra : llama\nfeed: mlp inner 160\n";
        return floptally::read_config(parsed(small_of(type)),
                                      {.pages = {zebra, "page yak : llama\n"}, .strict = strict});
    };
    CHECK(of_type("zebra").model_type == "zebra");
    CHECK(of_type("yak").model_type == "yak");
    CHECK(of_type("zebra").cost.parameters() == of_type("yak").cost.parameters() - 3 * 64 * 160);
    const floptally::model_config other = of_type("llama");
    CHECK(other.model_type == "llama");
    const std::string unused = "no page that was given is of type \"llama\": the first is \"zebra\"";
    CHECK(std::find(other.notes.begin(), other.notes.end(), unused) != other.notes.end());
    CHECK(problem_of([&] { return of_type("llama", true); }).text == unused);
    for (const std::string& note : of_type("yak").notes) {
        CHECK(note.find("no page that was given") == std::string::npos);
    }
    const problem unknown = problem_of([&] { return of_type("zebre"); });
    CHECK(unknown.field == "model_type");
    CHECK(unknown.text.find("nearest: zebra") != std::string::npos);
    CHECK(problem_of([&] { return of_type("floptally"); }).field == "pages");
    // A page for the text inside a composite is used as well.
    const floptally::model_config inside = floptally::read_config(
        parsed("{'model_type': 'llava', 'text_config': {'model_type': 'yak', 'num_hidden_layers': 2}}"),
        {.pages = {"page yak : llama\n"}});
    CHECK(inside.model_type == "llava");
    for (const std::string& note : inside.notes) {
        CHECK(note.find("no page that was given") == std::string::npos);
    }
}

TEST_CASE("A page stands between another and its base without its own base") {
    // The lines of `my` come first, then those of `wide`, then those of `small`, then llama's; those of `other` never.
    const std::string pages =
        "page my : small as wide\n"
        "page small : llama\nlayers = 3\nf = 100\n"
        "page wide : other\nf = 200\nh = 64\n"
        "page other : llama\nlayers = 5\n";
    const std::string alone = "page my : llama\nlayers = 3\nf = 200\nh = 64\n";
    CHECK(read_by(pages).cost == read_by(alone).cost);
    CHECK_FALSE(read_by(pages).cost == read_by("page my : llama\nlayers = 3\nf = 100\nh = 64\n").cost);
}

TEST_CASE("No page of the library has a name or a block that nobody asks for") {
    floptally::detail::pages::library known;
    floptally::detail::pages::vector<const floptally::detail::pages::page*> all;
    for (const std::string_view type : known.types()) {
        all.push_back(&known.find(type));
    }
    for (const auto& entry : known.loaded()) {
        all.push_back(&known.find(entry->name));
    }
    const floptally::detail::pages::name_check names(all);
    for (const auto* entry : all) {
        CHECK(problem_of([&] {
                  names.check(*entry);
                  return 0;
              }).text == "");
    }
}

TEST_CASE("An error in a page names the page, the line and the word") {
    struct wrong {
        const char* lines;  ///< after the first, "page my : llama"
        unsigned line;
        const char* word;
    };
    constexpr wrong cases[] = {
        {"h = nonsense + 1\n", 2, "nonsense"},
        {"h = layer + 1\n", 2, "nearest: layers"},
        {"\n\nh = .hidden_sizes\n", 4, "\"hidden_sizes\"; nearest: hidden_size"},
        {"feed: gatd inner 5\n", 2, "\"gatd\"; nearest: gated"},
        {"feed: gated inner 5, outer 6\n", 2, "\"outer\"; its own: inner fused"},
        {"feed: gated\n", 2, "inner"},
        {"feed: linear in h, out h, as mlp.up if i == 0\n", 2,
         "\"as\" reads up to the next comma, \"mlp.up if i == 0\""},
        {"feed: linear in h, out h, as mlp.up, to a if yes\n", 2, "another argument must stand between it and \"if\""},
        {"h = layers\nlayers = h\n", 3, "\"layers\""},
        {"h = 4000000000000000000 * 2\n", 2, "4000000000000000000"},
        {"h = 4611686018427387904000\n", 2, "2^62"},
        {"h = power(10, 19)\n", 2, "2^62"},
        {"h = 5 / (layers - layers)\n", 2, "zero"},
        {"h = 5 % 0\n", 2, "zero"},
        {"feed: gated inner 3 - 5\n", 2, "inner"},
        {"feed:\n  gated inner 8\n  mlp inner 3 - 5\n", 4, "inner"},
        {"feed: gated inner [64, 32][i]\n", 2, "element 2"},
        {"feed: gated inner unheard(5)\n", 2, "unheard"},
        {"feed: gated inner ceil()\n", 2, "ceil"},
        {"feed: gated inner ciel(5)\n", 2, "nearest: ceil"},
        {"sees = chunks(5)\n", 2, "nearest: chunk"},
        {"h = (3 +\n", 2, "expression"},
        {"h = 3 4\n", 2, "\"4\""},
        {"h = \"text\n", 2, "quote"},
        {"feed gated inner 5\n", 2, "\"gated"},
        {"  gated inner 5\n", 2, "indented"},
        {"with n_heads\n", 2, "default"},
        {"with n_heads 3, n_heads 4\n", 2, "n_heads"},
        {"h = 4\nh = 5\n", 3, "\"h\""},
        {"feed: gated inner 5\nfeed: mlp inner 5\n", 3, "feed"},
        {"sees = 5\nmixer: gqa heads 2, kv 2, dim 4, sees sees\n", 2, "\"sees\""},
        {"require layers > 2: layers\n", 2, "\".\""},
        {"tied = yes and (3 has 4)\n", 2, "has"},
        {"see = both\n", 2, "nearest: sees"},
        {"fed: gated inner 5\n", 2, "nearest: feed"},
        {"encoder t5.encoder in encoder_config\n", 2, "\".\""},
        {"encoder t5.encoder in .\n", 2, "the name of a key"},
        {"encoder t5.encoder inside .encoder_config\n", 2, "inside"},
        {"encoder nobody in .encoder_config\n", 1, "nobody"},
        {"feed: gated inner .sees_every\n", 2, "declares no key \"sees_every\""},
    };
    for (const wrong& mistake : cases) {
        INFO(mistake.lines);
        const problem said = problem_of([&] { return read_by(std::string("page my : llama\n") + mistake.lines); });
        INFO(said.field << ": " << said.text);
        CHECK(said.field == "page my:" + std::to_string(mistake.line));
        CHECK(said.text.find(mistake.word) != std::string::npos);
    }
    const auto whole = [](const std::string& page) { return problem_of([&] { return read_by(page); }); };
    CHECK(whole("page my : lama\n").field == "page my:1");
    CHECK(whole("page my : lama\n").text.find("llama") != std::string::npos);  // the nearest
    CHECK(whole("page my : my\n").field == "page my:1");
    CHECK(whole("page my : other\npage other : my\n").field.starts_with("page "));
    CHECK(whole("page my : llama as\n").field == "page my:1");
    CHECK(whole("page my : llama as nobody\n").text.find("nobody") != std::string::npos);
    CHECK(whole("page my : llama as my\n").field == "page my:1");
    CHECK(whole("h = 3\n").field == "page ?:1");
    CHECK_FALSE(whole("").text.empty());
    CHECK_FALSE(whole("# nothing\n").text.empty());
}

TEST_CASE("A list of the config that has no element for a layer is an error of the config") {
    const problem said = problem_of([] {
        return read_by("page my : llama\nwith widths list\nfeed: gated inner .widths[i]\n",
                       "{'num_hidden_layers': 3, 'widths': [64, 32]}");
    });
    CHECK(said.field == "widths");
    CHECK(said.text.find('3') != std::string::npos);
    CHECK(said.text.find('2') != std::string::npos);
}

TEST_CASE("A list of a config equals the list that a page writes, element by element") {
    const auto width = [](const char* equals, const std::string& widths) {
        const std::string page = std::string("page my : llama\nwith widths list\nf = ") + equals + " ? 100 : 200\n";
        const floptally::cost made =
            read_by(page,
                    "{'vocab_size': 96, 'hidden_size': 64, 'num_hidden_layers': 1, 'num_attention_heads': 4, "
                    "'widths': " +
                        widths + "}")
                .cost;
        return (made.parameters() - 2 * 96 * 64 - 64 - 4 * 64 * 64 - 2 * 64) / (3 * 64);
    };
    CHECK(width(".widths == [64, 32]", "[64, 32]") == 100);
    CHECK(width("[64, 32] == .widths", "[64.0, 32]") == 100);
    CHECK(width(".widths == [64, 32]", "[64, 33]") == 200);
    CHECK(width(".widths == [64, 32]", "[64]") == 200);
    CHECK(width(".widths == [64, 32]", "[64, [32]]") == 200);
    CHECK(width(".widths != [64, 32]", "[64, 32]") == 200);
    CHECK(width(".widths == [[3, 3], [3, 3]]", "[[3, 3], [3, 3]]") == 100);
    CHECK(width(".widths == [[3, 3], [3, 3]]", "[[3, 3], [3, 5]]") == 200);
    CHECK(width(".widths[0] == .widths[1]", "[[3, 3], [3, 3]]") == 100);
    CHECK(width(".widths[0] == .widths[1]", "[[3, 3], {'a': 3}]") == 200);
    CHECK(width(".widths has [3, 5]", "[[3, 3], [3, 5]]") == 100);
    CHECK(width(".widths has [5, 3]", "[[3, 3], [3, 5]]") == 200);
    const std::string nested = std::string(30, '[') + "3" + std::string(30, ']');
    CHECK(problem_of([&] { return width(".widths == [3]", nested); }).text.find("nested") != std::string::npos);
}

TEST_CASE("A page of any size ends, in a cost or an error that names it") {
    const std::string header = "page my : llama\n";
    const auto ends = [&](const std::string& rest) {
        const problem said = problem_of([&] { return read_by(header + rest); });
        INFO(said.field << ": " << said.text.substr(0, 200));
        CHECK_FALSE(said.field.empty());
        CHECK(said.text.size() < 300);
    };
    const auto repeated = [](const std::string& text, std::size_t times) {
        std::string all;
        for (std::size_t i = 0; i < times; ++i) {
            all += text;
        }
        return all;
    };
    ends("h = " + std::string(1'000'000, '('));
    ends("# " + std::string(1'000'000, 'x') + "\n");
    ends(std::string(1'000'000, '\n'));
    for (const std::size_t depth : {std::size_t{1000}, std::size_t{is_sanitized ? 6000 : 60'000}}) {
        ends("h = " + std::string(depth, '('));
        ends("h = " + std::string(depth, '-') + "1\n");
        ends("h = " + std::string(depth, '['));
        ends("h = 1" + repeated("+1", depth / 2) + "\n");
        ends("h = " + repeated("1?", depth / 2) + "1\n");
        ends("h = " + repeated("not ", depth / 4) + "1\n");
    }
    std::string chain = "h = x0\n";  // a name for each, one asking for the next
    for (int i = 0; i < 1000; ++i) {
        chain += "x" + std::to_string(i) + " = x" + std::to_string(i + 1) + "\n";
    }
    ends(chain + "x1000 = 64\n");
    std::string twice = "h = x0 == y0 ? 1 : 2\nx60 = [1]\ny60 = [1]\n";  // lists of lists: 2^60 elements on each side
    for (int i = 0; i < 60; ++i) {
        for (const char* const name : {"x", "y"}) {
            const std::string next = name + std::to_string(i + 1);
            twice += name + std::to_string(i) + " = [" + next + ", " + next + "]\n";
        }
    }
    ends(twice);
    ends("h = repeated([[[1], 4000000000000000000]])[0]\n");
    ends("h = filled([1], 2, 4000000000000000000)[0]\n");

    const std::string deep = "{'vocab_size': 96, 'hidden_size': 64, 'num_attention_heads': 4, 'num_hidden_layers': ";
    constexpr std::uint64_t layers = is_sanitized ? 1000 : 10'000;
    const floptally::model_config varied =
        read_by(header + "feed: gated inner 1 + i\n", deep + std::to_string(layers) + "}");
    CHECK(varied.cost.parameters() ==
          2 * 96 * 64 + 64 + layers * (4 * 64 * 64 + 2 * 64) + 3 * 64 * (layers / 2) * (layers + 1));
    CHECK(problem_of([&] { return read_by(header, deep + "10001}"); }).field == "num_hidden_layers");
}

TEST_CASE("A key that would change the products and that no page reads is noted, and refused where strict") {
    struct unread {
        const char* config;
        const char* key;
    };
    constexpr unread cases[] = {
        {"{'model_type': 'phi3', 'hidden_size': 5120, 'intermediate_sise': 17920, 'num_hidden_layers': 40, "
         "'num_attention_heads': 40, 'num_key_value_heads': 10, 'vocab_size': 100352}",
         "intermediate_sise"},
        {"{'model_type': 'phi3', 'num_experts': 16}", "num_experts"},
        {"{'model_type': 'qwen3_moe', 'shared_expert_intermediate_size': 512}", "shared_expert_intermediate_size"},
        {"{'model_type': 'deepseek_v3', 'index_n_heads': 64}", "index_n_heads"},
        {"{'model_type': 'deepseek_v3', 'index_head_dim': 128}", "index_head_dim"},
        {"{'model_type': 'deepseek_v3', 'index_topk': 2048}", "index_topk"},
        {"{'model_type': 'phi3', 'num_hidden_layers': 2, 'layer_types': ['linear_attention', 'full_attention']}",
         "layer_types"},
        {"{'model_type': 'esm', 'vocab_size': 33, 'padded_vocab_size': 64}", "padded_vocab_size"},
    };
    for (const unread& entry : cases) {
        INFO(entry.config);
        std::string notes;
        const problem said = problem_of([&] {
            for (const std::string& note : floptally::read_config(parsed(entry.config)).notes) {
                notes += note + "\n";
            }
            return 0;
        });
        CHECK((notes.find(entry.key) != std::string::npos || said.field == entry.key));
        CHECK(problem_of([&] { return floptally::read_config(parsed(entry.config), {.strict = true}); }).field ==
              entry.key);
    }
    // A key that is read, and one that is none of the products', are neither.
    const char* const known =
        "{'model_type': 'phi3', 'hidden_size': 5120, 'num_hidden_layers': 40, 'num_attention_heads': 40, 'vocab_size': "
        "99, "
        "'intermediate_size': 17920, 'rope_theta': 10000, 'pad_token_id': 0}";
    for (const std::string& note : floptally::read_config(parsed(known), {.strict = true}).notes) {
        CHECK(note.find("not read") == std::string::npos);
    }
}

TEST_CASE("A list that says what each layer is has one for each in every class, also in one that ignores it") {
    // PreTrainedConfig.validate_layer_type of transformers 5.23 raises, whatever the class: a list of another length is
    // of another model. One of the right length changes nothing in a class of one kind of layers, and is noted.
    const auto read = [](const char* type, const std::string& list) {
        return read_by_type(type, "'layer_types': " + list);
    };
    for (const char* const type : {"llama", "phi3", "mixtral", "qwen3_moe", "deepseek_v32", "gpt2", "bert", "vit"}) {
        INFO(type);
        for (const char* const list : {"[]", "['full_attention', 'full_attention']",
                                       "['full_attention', 'full_attention', 'full_attention', 'full_attention']"}) {
            INFO(list);
            const problem said = problem_of([&] { return read(type, list); });
            CHECK(said.field == "layer_types");
            CHECK(said.text.starts_with("must name the 3 layers, got "));
        }
        CHECK(problem_of([&] { return read(type, "['full_attention', 'full_attention', 'full_attention']"); }).field ==
              "");
        CHECK(problem_of([&] { return read(type, "null"); }).field == "");
    }
    CHECK(problem_of([] { return read_by_type("llama", "'mlp_layer_types': ['dense']"); }).field == "mlp_layer_types");
}

TEST_CASE("What a class of transformers refuses or cannot run is an error, and a null that it takes as no is none") {
    const auto field_of = [](const std::string& config) {
        return problem_of([&] { return floptally::read_config(parsed(config)); }).field;
    };
    // Hubert's configuration has no such field, and its class asks for it as one that may be missing.
    CHECK(field_of("{'model_type': 'hubert', 'add_adapter': null}") == "");
    CHECK(field_of("{'model_type': 'hubert', 'add_adapter': true}") == "add_adapter");
    // For wav2vec2 it is a bool, which its strict configuration checks.
    CHECK(field_of("{'model_type': 'wav2vec2', 'add_adapter': null}") == "add_adapter");
    CHECK(field_of("{'model_type': 'wav2vec2-bert', 'add_adapter': null}") == "add_adapter");
    CHECK(field_of("{'model_type': 'wav2vec2', 'mask_time_prob': null}") == "mask_time_prob");
    // Angles of rows and columns, each of pairs of channels: of heads of 2 or 6 the class cannot add them, and of heads
    // of 1 they have no channel, so that it runs without scores.
    const auto tower = [&](const char* width) {
        return field_of(std::string("{'model_type': 'qwen2_vl', 'vision_config': {'num_heads': 1, 'embed_dim': ") +
                        width + "}}");
    };
    CHECK(tower("4") == "");
    CHECK(tower("1") == "vision_config.num_heads");
    CHECK(tower("2") == "vision_config.num_heads");
    CHECK(tower("6") == "vision_config.num_heads");
    // An encoder sees both ways, whatever is_decoder says of the decoder.
    CHECK(cost_of("{'model_type': 'moonshine', 'is_decoder': true}") == cost_of("{'model_type': 'moonshine'}"));
    // The class makes its linear as wide as the bins divided by all strides, whatever the convolutions leave.
    CHECK(field_of("{'model_type': 'parakeet_encoder', 'num_mel_bins': 128, 'subsampling_factor': 16}") == "");
    CHECK(field_of("{'model_type': 'parakeet_encoder', 'num_mel_bins': 100}") == "num_mel_bins");
}

TEST_CASE("A report counts the parameters that are stored, and those that a token passes") {
    const auto counts = [](const std::string& config) {
        return floptally::weights_of(floptally::read_config(parsed(config)).cost);
    };
    const floptally::weight_counts dense = counts(small_of("llama"));
    CHECK(dense.total == 2 * 96 * 64 + 64 + 3 * (4 * 64 * 64 + 3 * 64 * 160 + 2 * 64));
    CHECK(dense.active == dense.total);
    // 2 of 8 experts of each of 5 layers.
    const floptally::weight_counts sparse = counts(
        "{'model_type': 'mixtral', 'vocab_size': 96, 'hidden_size': 64, 'intermediate_size': 160, "
        "'num_hidden_layers': 5, 'num_attention_heads': 4, 'num_key_value_heads': 4, 'num_local_experts': 8, "
        "'num_experts_per_tok': 2}");
    CHECK(sparse.total == 2 * 96 * 64 + 64 + 5 * (4 * 64 * 64 + 64 * 8 + 8 * 3 * 64 * 160 + 2 * 64));
    CHECK(sparse.total - sparse.active.value() == 5 * 6 * 3 * 64 * 160);
    // Visits that are measured say nothing of one token.
    floptally::cost measured;
    measured +=
        floptally::moe{.num_experts = 8, .num_experts_per_tok = 2, .intermediate_size = 16, .routed_is_measured = true}
            .cost({.hidden_size = 64});
    CHECK_FALSE(floptally::weights_of(measured).active.has_value());
}

}  // namespace pages_test
