// SPDX-License-Identifier: Apache-2.0
//
// Specs: those of the library, what a user's does, and every way in which one can be wrong.

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
#include <floptally/spec_language/spec_library.hpp>
#include <floptally/step/report.hpp>

#include "catch2.hpp"
#include "config_text.hpp"
#include "error_of.hpp"
#include "markdown.hpp"
#include "sanitized.hpp"

namespace spec_test {
namespace {

const std::filesystem::path source_dir = FLOPTALLY_SOURCE_DIR;

std::size_t count_of(std::string_view text, std::string_view word) {
    std::size_t count = 0;
    for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
        ++count;
    }
    return count;
}

/// A small config of a decoder, without a type: the spec that is given reads it.
constexpr const char* small =
    "{'vocab_size': 96, 'hidden_size': 64, 'intermediate_size': 160, 'num_hidden_layers': 3, "
    "'num_attention_heads': 4, 'layer_types': ['full_attention', 'full_attention', 'full_attention']}";

/// The small config with a given model type.
std::string small_of(const std::string& type) {
    return "{'model_type': '" + type + "', " + std::string(small).substr(1);
}

floptally::model_config read_by(const std::string& spec, const std::string& config = small) {
    return floptally::read_config(parsed(config), {.specs = {spec}});
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
    return static_cast<std::uint64_t>(counter.total_flops(batch, floptally::view::useful).low());
}

/// The spec that docs/specs.md writes step by step: its indented lines, without the indent.
std::string documented_spec() {
    const std::string all = read_text(source_dir / "docs/specs.md");
    const std::size_t first = all.find("## One model, step by step");
    const std::size_t last = all.find("## The language");
    REQUIRE(first < last);
    REQUIRE(last != std::string::npos);
    std::istringstream lines(all.substr(first, last - first));
    std::string spec;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("    ")) {
            spec += line.substr(4) + "\n";
        }
    }
    return spec;
}

}  // namespace

TEST_CASE("every file of models/ is one string literal, is named after its first spec and is in a sorted list") {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(source_dir / "include/floptally/models")) {
        if (entry.path().filename() != "list.hpp") {
            CHECK(entry.path().extension() == ".spec");
            files.emplace(entry.path().stem().string(), read_text(entry.path()));
        }
    }
    const auto& specs = floptally::detail::specs::model_specs;
    std::set<std::string> listed;
    for (const std::string_view text : specs) {
        listed.emplace(floptally::detail::specs::name_of_spec(text));
    }
    for (const auto& [name, text] : files) {
        INFO(name << ".spec is not in models/list.hpp");
        CHECK(listed.contains(name));
    }
    REQUIRE(files.size() == std::size(specs));
    REQUIRE(files.size() > 200);
    CHECK(std::is_sorted(std::begin(specs), std::end(specs), [](const char* a, const char* b) {
        return floptally::detail::specs::name_of_spec(a) < floptally::detail::specs::name_of_spec(b);
    }));
    for (const std::string_view text : specs) {
        const std::string name(floptally::detail::specs::name_of_spec(text));  // the first spec of a file is its type
        INFO(name);
        const auto file = files.find(name);
        REQUIRE(file != files.end());
        CHECK(file->second == "R\"spec(" + std::string(text) + ")spec\"\n");
    }
}

TEST_CASE("line numbers of errors in a models file include the line of its raw-string delimiter") {
    const std::string file = read_text(source_dir / "include/floptally/models/mistral.spec");
    REQUIRE(file.starts_with("R\"spec(\nspec mistral : "));
    const std::string config = "{'model_type': 'mistral', 'num_hidden_layers': 3}";
    const floptally::model_config read_model = read_by(file, config);
    const floptally::model_config known = floptally::read_config(parsed(config));
    CHECK(read_model.cost == known.cost);
    CHECK(notes_but_sizes(read_model) == notes_but_sizes(known));
    const problem said = problem_of([&] { return read_by("R\"spec(\nspec my : llama\nh = nonsense\n)spec\"\n"); });
    CHECK(said.field == "spec my:3");
    // Two files one after the other are as two literals.
    CHECK(read_by("R\"spec(\nspec my : your\n)spec\"\nR\"spec(\nspec your : llama\nf = 100\n)spec\"").cost ==
          read_by("spec my : llama\nf = 100\n").cost);
}

TEST_CASE("an error in a line before the name of a spec names the file of the spec") {
    const auto field = [](const char* text) {
        return problem_of([&] {
                   return floptally::read_config(parsed(small), {.specs = {{text, "models/my.spec"}}});
               })
            .field;
    };
    for (const char* const text : {"", "h = 3\n", "spec\n", "spec !\n", "\n\n"}) {
        INFO(text);
        CHECK(field(text).starts_with("spec models/my.spec:"));
    }
    CHECK(field(("h = 3\n" + std::string(70'000, ' ')).c_str()) == "spec models/my.spec:1");
    CHECK(field("spec my : llama as\n") == "spec my:1");
    CHECK(field("spec my : llama prefixed\n") == "spec my:1");
}

TEST_CASE("every library spec reads a config with only a model type, or names the key that the config must have") {
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
        CHECK_FALSE(said.field.starts_with("spec "));
        costs += parameters != 0 ? 1 : 0;
    }
    CHECK(costs > (is_sanitized ? 20U : 200U));
}

TEST_CASE("the spec docs list the keywords and the keys of every layer part") {
    std::istringstream listed(read_text(source_dir / "docs/specs.md"));
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
    const std::string keys_of_parts = read_text(source_dir / "docs/specs.md");
    std::size_t own = 0;
    for (const auto& kind : floptally::detail::specs::part_kinds) {
        std::string words(kind.name);
        const std::string type(kind.own.substr(0, kind.own.find(' ')));
        const std::size_t row = keys_of_parts.find("\n| `" + type + "` | ");
        CHECK((type.empty() || row != std::string::npos));
        const std::string line = type.empty() ? "" : keys_of_parts.substr(row, keys_of_parts.find('\n', row + 1) - row);
        for (std::size_t k = 0; k < kind.count; ++k) {
            const std::string key(kind.argument(k).key);
            words += std::string(" ") + kind.argument(k).name;
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

TEST_CASE("a layer argument without a value is an error that names the argument in its spec") {
    struct line {
        const char* text;
        const char* argument;
    };
    const auto problem_in = [](const std::string& blocks) {
        return error_of(
            [&] { return read_by("spec mine : llama prefix Mine\n" + blocks + "\nclasses ForCausalLM\n"); });
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
        const std::string_view argument = wrong.argument;
        const std::size_t space = argument.find(' ');
        const std::string layer(argument.substr(0, space));
        const std::string name(argument.substr(space + 1));
        const bool is_followed_by_a_name = name == "as" || name == "from" || name == "to";
        CHECK(said.starts_with("spec mine:2: " + layer + ": " +
                               (name == "split heads"   ? name + " needs "
                                : is_followed_by_a_name ? "\"" + name + "\" must be followed by a name"
                                                        : "\"" + name + "\" has no ")));
    }
    // A switch has none.
    CHECK(problem_in("feed: gated inner 40, fused, detached") == "no error");
    CHECK(problem_in("feed: experts of 8, top 2, inner 40, plain") == "no error");
    CHECK(problem_in("class ForCausalLM: head out v, bias, words") == "no error");
    // A mask that another model does not define would be counted as causal.
    CHECK(problem_in("mixer: gqa heads heads, dim 16, sees null") == "spec mine:2: gqa: sees must be a mask, got null");
}

TEST_CASE("the spec docs name every statement, function and mask of the language") {
    const std::string all = read_text(source_dir / "docs/specs.md");
    const auto has = [&all](std::string_view word) {
        const auto is_letter = [](char c) { return floptally::detail::specs::is_of_name(c); };
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
    for (const auto& function : floptally::detail::specs::spec_functions) {
        INFO(function.name);
        CHECK(has(function.name));
    }
    for (const auto& statistic : floptally::detail::specs::statistic_functions) {
        INFO(statistic.name);
        CHECK(has(statistic.name));
    }
    for (const char* const hint : {"A base's `require`", "counts no norm", "`v = 0`"}) {
        INFO(hint);
        CHECK(all.find(hint) != std::string::npos);
    }
}

TEST_CASE("each pitfall of the model spec language that the docs list behaves as the docs say") {
    // The statistic of a base is undone by the name that it looks at, or by the default of a key that the class has
    // not.
    const std::string base =
        "spec other : llama prefix Other\nwith thing no\nrequire not .thing: .thing must be false\n";
    const std::string family = base + "spec mine : other prefix Mine\n";
    const std::string thing = small_of("mine").insert(1, "'thing': true, ");
    CHECK(error_of([&] { return read_by(family, thing); }) == "thing: must be false, got true");
    CHECK(error_of([&] { return read_by(family + "without thing\n", thing); }) == "no error");
    const std::string odd =
        small_of("mine").replace(small_of("mine").find("'num_attention_heads': 4"), 24, "'num_attention_heads': 5");
    CHECK(error_of([&] { return read_by("spec mine : llama\n", odd); }).find("must divide") != std::string::npos);
    CHECK(error_of([&] { return read_by("spec mine : llama\ndivides = no\n", odd); }) == "no error");

    // A part counts no norm unless it says so.
    const auto parameters = [](const std::string& spec, const std::string& config = small_of("mine")) {
        return read_by(spec, config).cost.parameters();
    };
    CHECK(parameters("spec mine : llama\nfeed: gated inner f, norm 7\n") ==
          parameters("spec mine : llama\nfeed: gated inner f\n") + 3 * 7);

    // A model without words.
    const std::string silent = "spec mine : base.decoder prefix Mine\nwithout vocab_size\nclass Model:\n";
    const std::string wordless = small_of("mine").replace(small_of("mine").find("'vocab_size': 96, "), 18, "");
    CHECK(error_of([&] { return read_by(silent, wordless); }).find("vocab_size") != std::string::npos);
    CHECK(parameters(silent + "v = 1\n", wordless) + 64 == parameters(silent + "v = 2\n", wordless));
}

TEST_CASE("an error on the first line of a spec names the spec, or the file if the spec has no name yet") {
    const auto problem_of_text = [](const char* text) {
        return error_of([&] {
            return floptally::read_config(parsed(small), {.specs = {floptally::spec_text{text, "my.spec"}}});
        });
    };
    CHECK(problem_of_text("pge mine : llama\n").starts_with("spec my.spec:1: "));
    CHECK(problem_of_text("spec : llama\n").starts_with("spec my.spec:1: "));
    CHECK(problem_of_text("").starts_with("spec my.spec:1: "));
    CHECK(problem_of_text("spec mine ; llama\n").starts_with("spec mine:1: "));
    CHECK(problem_of_text("spec mine : llama prefix\n").starts_with("spec mine:1: "));
    const floptally::cost llama = floptally::read_config(parsed(small_of("llama"))).cost;
    CHECK(read_by(read_text(source_dir / "include/floptally/models/llama.spec"), small_of("llama")).cost == llama);
    CHECK(read_by(read_text(source_dir / "include/floptally/models/llama.spec"), small).cost == llama);
}

TEST_CASE("specs that derive from each other in a cycle are an error with the line") {
    const std::string both =
        "spec mine : llama prefix Mine\nclass ForCausalLM: as yours\n\n"
        "spec yours : llama\nclass ForCausalLM: as mine\n";
    CHECK(error_of([&] { return read_by(both); }) ==
          "spec mine:2: class ForCausalLM refers to other specs in a cycle; "
          "give one of them a class of its own");
}

TEST_CASE("the example spec of the docs counts the FLOPs that the model's paper states") {
    const std::string spec = documented_spec();
    REQUIRE(count_of(spec, "\n") == 10);
    const floptally::model_config model = read_by(spec, "{'model_type': 'my_model', 'vocab_size': 32000}");
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

    const problem said = problem_of([&] { return read_by(spec, "{'n_experts': 4, 'n_chosen': 5}"); });
    CHECK(said.field == "n_chosen");
    CHECK(said.text.find("n_experts") != std::string::npos);
}

TEST_CASE("a user's spec replaces the library's spec of its model type, also for derived specs") {
    const std::string own = "spec llama : base.decoder prefix Llama\nfeed: mlp inner .intermediate_size\n";
    const std::uint64_t library = read_by("spec my : llama\n").cost.parameters();
    CHECK(read_by(own).cost.parameters() == library - 3 * 64 * 160);
    CHECK(library == 2 * 96 * 64 + 64 + 3 * (4 * 64 * 64 + 3 * 64 * 160 + 2 * 64));
    CHECK(read_by("spec my : llama\n" + own).cost.parameters() == library - 3 * 64 * 160);
}

TEST_CASE("the model type of a config selects among the user's specs and the library's") {
    const auto of_type = [&](const std::string& type, bool strict = false) {
        const std::string zebra = "spec zebra : llama\nfeed: mlp inner 160\n";
        return floptally::read_config(parsed(small_of(type)),
                                      {.specs = {zebra, "spec yak : llama\n"}, .strict = strict});
    };
    CHECK(of_type("zebra").model_type == "zebra");
    CHECK(of_type("yak").model_type == "yak");
    CHECK(of_type("zebra").cost.parameters() == of_type("yak").cost.parameters() - 3 * 64 * 160);
    const floptally::model_config other = of_type("llama");
    CHECK(other.model_type == "llama");
    const std::string unused = "no given spec is of type \"llama\": the first is \"zebra\"; name one after the type";
    CHECK(std::find(other.notes.begin(), other.notes.end(), unused) != other.notes.end());
    CHECK(problem_of([&] { return of_type("llama", true); }).text == unused);
    for (const std::string& note : of_type("yak").notes) {
        CHECK(note.find("no spec that was given") == std::string::npos);
    }
    const problem unknown = problem_of([&] { return of_type("zebre"); });
    CHECK(unknown.field == "model_type");
    CHECK(unknown.text.find("nearest: zebra") != std::string::npos);
    CHECK(problem_of([&] { return of_type("floptally"); }).field == "specs");
    // A spec for the text inside a composite is used as well.
    const floptally::model_config inside = floptally::read_config(
        parsed("{'model_type': 'llava', 'text_config': {'model_type': 'yak', 'num_hidden_layers': 2}}"),
        {.specs = {"spec yak : llama\n"}});
    CHECK(inside.model_type == "llava");
    for (const std::string& note : inside.notes) {
        CHECK(note.find("no spec that was given") == std::string::npos);
    }
}

TEST_CASE("spec 'my : small as wide' prefers lines of 'wide' to lines of 'small' and ignores the parent of 'wide'") {
    // The lines of `my` come first, then those of `wide`, then those of `small`, then llama's; those of `other` never.
    const std::string specs =
        "spec my : small as wide\n"
        "spec small : llama\nlayers = 3\nf = 100\n"
        "spec wide : other\nf = 200\nh = 64\n"
        "spec other : llama\nlayers = 5\n";
    const std::string alone = "spec my : llama\nlayers = 3\nf = 200\nh = 64\n";
    CHECK(read_by(specs).cost == read_by(alone).cost);
    CHECK_FALSE(read_by(specs).cost == read_by("spec my : llama\nlayers = 3\nf = 100\nh = 64\n").cost);
}

TEST_CASE("no library spec has an unused name or block") {
    floptally::detail::specs::library known;
    floptally::detail::specs::vector<const floptally::detail::specs::spec*> all;
    for (const std::string_view type : known.types()) {
        all.push_back(&known.find(type));
    }
    for (const auto& entry : known.loaded()) {
        all.push_back(&known.find(entry->name));
    }
    const floptally::detail::specs::name_check names(all);
    std::size_t number = 0;
    for (const auto* entry : all) {
        if (skipped_when_sanitized(number++, 20)) {
            continue;
        }
        CHECK(problem_of([&] {
                  names.check(*entry);
                  return 0;
              }).text == "");
    }
}

TEST_CASE("an error in a spec names the spec, the line and the word") {
    struct wrong {
        const char* lines;  ///< after the first, "spec my : llama"
        unsigned line;
        const char* word;
    };
    constexpr wrong cases[] = {
        {"h = nonsense + 1\n", 2, "nonsense"},
        {"h = layer + 1\n", 2, "nearest: layers"},
        {"\n\nh = .hidden_sizes\n", 4, "\"hidden_sizes\"; nearest: hidden_size"},
        {"feed: gatd inner 5\n", 2, "\"gatd\"; nearest: gated"},
        {"feed: gated inner 5, outer 6\n", 2, "\"outer\"; it takes: inner fused"},
        {"feed: gated\n", 2, "inner"},
        {"feed: linear in h, out h, as mlp.up if i == 0\n", 2,
         "\"as\" takes all words up to the next comma, also the \"if\" in \"mlp.up if i == 0\""},
        {"feed: linear in h, out h, as mlp.up, to a if yes\n", 2, "also the \"if\""},
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
        {"sees = sliding_window(5)\n", 2, "sliding_window: unknown function; write \"window(n)\""},
        {"sees = window(5, 5)\n", 2, "got 2; write \"around(left, right)\""},
        {"sees = bidirectional\n", 2, "unknown name \"bidirectional\"; write \"both\""},
        {"sees = window\n", 2, "unknown name \"window\"; write \"window(...)\" for the function"},
        {"with window 5\nsees = window\n", 3, "; write \".window\" for the key or \"window(...)\" for the function"},
        {"with rank 5\nfeed: linear in h, out rank\n", 3, "unknown name \"rank\"; write \".rank\" for the key"},
        {"with rank 5\nmore:\nlinear in h, out .rank\n", 4,
         "; end the name of a block with \":\", and indent the rows"},
        {"with tied true\n", 2, "expected a default such as 4096, yes or no, "},
        {"with tied true\n", 2, "before \"true\"; write \"yes\""},
        {"tied = false\n", 2, "unknown name \"false\"; write \"no\""},
        {"ignores use_it True\n", 2, "before \"True\"; write \"yes\""},
        {"sees = i % 2 = 1 ? both : causal\n", 2, "before \"= 1 ? both : causal\"; write \"==\" to compare"},
        {"feed: gated inner 5 if i = 1\n", 2, "; write \"==\" to compare"},
        {"require layers = 1: .num_hidden_layers must be 1\n", 2, "; write \"==\" to compare"},
        {"tied = (layers = 1)\n", 2, "; write \"==\" to compare"},
        {"tied = yes && no\n", 2, "; write \"and\""},
        {"sees = both if i == 1 else causal\n", 2,
         "before \"if i == 1 else causal\"; write \"c ? a : b\" for a choice"},
        {"feed: gated inner 5 if i == 1 else 6\n", 2, "before \"else 6\"; write \"c ? a : b\" for a choice"},
        {"extra: gated inner 5\n", 2, "has an unknown block \"extra\"; known: before, into_mixer, mixer, "},
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
        {"fed: gated inner 5\n", 2, "\"fed\"; nearest: feed; known: before, "},
        {"encoder t5.encoder in encoder_config\n", 2, "\".\""},
        {"encoder t5.encoder in .\n", 2, "the name of a key"},
        {"encoder t5.encoder inside .encoder_config\n", 2, "inside"},
        {"encoder nobody in .encoder_config\n", 1, "nobody"},
        {"feed: gated inner .sees_every\n", 2, "unknown key \"sees_every\": declare a new key in a `with` line"},
    };
    for (const wrong& mistake : cases) {
        INFO(mistake.lines);
        const problem said = problem_of([&] { return read_by(std::string("spec my : llama\n") + mistake.lines); });
        INFO(said.field << ": " << said.text);
        CHECK(said.field == "spec my:" + std::to_string(mistake.line));
        CHECK(said.text.find(mistake.word) != std::string::npos);
    }
    const auto whole = [](const std::string& spec) { return problem_of([&] { return read_by(spec); }); };
    CHECK(whole("spec my : lama\n").field == "spec my:1");
    CHECK(whole("spec my : lama\n").text.find("llama") != std::string::npos);  // the nearest
    CHECK(whole("spec my : my\n").field == "spec my:1");
    CHECK(whole("spec my : other\nspec other : my\n").field.starts_with("spec "));
    CHECK(whole("spec my : llama as\n").field == "spec my:1");
    CHECK(whole("spec my : llama as nobody\n").text.find("nobody") != std::string::npos);
    CHECK(whole("spec my : llama as my\n").field == "spec my:1");
    CHECK(whole("h = 3\n").field == "spec ?:1");
    CHECK_FALSE(whole("").text.empty());
    CHECK_FALSE(whole("# nothing\n").text.empty());
}

TEST_CASE("an error about a mask's name in reports says how a spec writes the mask") {
    namespace specs = floptally::detail::specs;
    for (const auto* table : floptally::detail::tables_in(floptally::library_masks{})) {
        INFO(table->name);
        CHECK((specs::is_function(table->name) || table->name == "hstu_part"));
    }
    for (const char* const name : floptally::mask_statistics::band::text_names) {
        INFO(name);
        CHECK(specs::report_mask_hint(name).empty() == (std::string_view(name) == "causal"));
    }
    for (const auto& known : specs::report_masks) {
        const std::string_view hint = known.hint;
        const std::string_view first = hint.substr(hint.find('"') + 1);
        const std::string_view function = first.substr(0, first.find_first_of("(\""));
        INFO(function);
        CHECK((specs::is_function(function) || function == "both"));
    }
}

TEST_CASE("a default in the user's own spec is not noted as assumed") {
    const std::string specs =
        "spec my : wide\nwith window 4, hidden_size 64\nsees = window(.window)\nspec wide : llama\nwith "
        "num_hidden_layers 3\n"
        "spec copy : llama as wide\n";
    const auto notes = [&](const std::string& type, const std::string& keys) {
        std::string all;
        for (const std::string& note :
             read_by(specs, "{'model_type': '" + type + "', 'vocab_size': 96, 'num_attention_heads': 4" + keys + "}")
                 .notes) {
            all += note.starts_with("config does not say") ? note : "";
        }
        return all;
    };
    const std::string ours = "config does not say all sizes: counted with the defaults of the class, ";
    CHECK(notes("my", "") == ours + "intermediate_size 11008");
    CHECK(notes("my", ", 'intermediate_size': 160") == "");
    CHECK(notes("copy", ", 'intermediate_size': 160, 'hidden_size': 64") == "");
    CHECK(notes("llama", ", 'intermediate_size': 160, 'hidden_size': 64") == ours + "num_hidden_layers 32");
}

TEST_CASE("an unread key is an assumption if its name is nearly that of a key that is read") {
    const auto assumed = [](const std::string& keys) {
        std::string all;
        for (const std::string& note : floptally::assumptions_of(
                 read_by("spec my : llama\nwith window 4\nsees = window(.window)\n", small_of("my").insert(1, keys)))) {
            all += note.starts_with("config has a key") ? note : "";
        }
        return all;
    };
    CHECK(assumed("'windwo': 3, ") == "config has a key that is not read: windwo (3); window is read");
    CHECK(assumed("'windwo': 3, 'window': 3, ") == "");
    CHECK(assumed("'text': 'windwo is read', 'is_gpu': true, 'cache_size': 64, ") == "");
}

TEST_CASE("a config list with fewer entries than layers is an error that names the config key") {
    const problem said = problem_of([] {
        return read_by("spec my : llama\nwith widths list\nfeed: gated inner .widths[i]\n",
                       "{'num_hidden_layers': 3, 'widths': [64, 32]}");
    });
    CHECK(said.field == "widths");
    CHECK(said.text.find('3') != std::string::npos);
    CHECK(said.text.find('2') != std::string::npos);
}

TEST_CASE("a spec compares a list of the config with a list in the spec element by element") {
    const auto width = [](const char* equals, const std::string& widths) {
        const std::string spec = std::string("spec my : llama\nwith widths list\nf = ") + equals + " ? 100 : 200\n";
        const floptally::cost counted_cost =
            read_by(spec,
                    "{'vocab_size': 96, 'hidden_size': 64, 'num_hidden_layers': 1, 'num_attention_heads': 4, "
                    "'widths': " +
                        widths + "}")
                .cost;
        return (counted_cost.parameters() - 2 * 96 * 64 - 64 - 4 * 64 * 64 - 2 * 64) / (3 * 64);
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

TEST_CASE("reading a spec of any size gives a cost or an error that names the spec") {
    const std::string header = "spec my : llama\n";
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

TEST_CASE("an unread key that would change the matmuls is noted, and is an error in strict mode") {
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

TEST_CASE("a list of layer types must have one entry per layer in every model class") {
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
            CHECK(said.text.starts_with("must have one element for each of the 3 layers, got "));
        }
        CHECK(problem_of([&] { return read(type, "['full_attention', 'full_attention', 'full_attention']"); }).field ==
              "");
        CHECK(problem_of([&] { return read(type, "null"); }).field == "");
    }
    CHECK(problem_of([] { return read_by_type("llama", "'mlp_layer_types': ['dense']"); }).field == "mlp_layer_types");
}

TEST_CASE(
    "a config that its transformers class refuses is an error, and a null that the class accepts turns off that config "
    "key") {
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

TEST_CASE("a report counts stored parameters and the active parameters of a token") {
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

}  // namespace spec_test
