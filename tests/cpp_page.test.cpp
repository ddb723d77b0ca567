// SPDX-License-Identifier: Apache-2.0
//
// The lines of docs/cpp.md, as the page has them. What is a comment here does not compile:
// tests/compile_fail/slips.cpp.

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/step/meter.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "markdown.hpp"

// clang-format off
namespace cpp_page_test {

using namespace floptally;

TEST_CASE("a step of 8192 tokens of Llama 3 is 421.65 TFLOP") {
    const flop_counter model(presets::llama_3_8b);
    tally batch{model.masks()};
    batch.add(sequence{.length = 8192});
    CHECK(model.evaluate(batch).total() == 421'651'971'833'856);
}

namespace {

const std::filesystem::path source = FLOPTALLY_SOURCE_DIR;

/// What is written to `std::cout` while it lives.
class captured_output {
  public:
    captured_output() : before_(std::cout.rdbuf(text_.rdbuf())) {}
    ~captured_output() { std::cout.rdbuf(before_); }
    captured_output(const captured_output&) = delete;
    captured_output& operator=(const captured_output&) = delete;
    [[nodiscard]] std::string text() const { return text_.str(); }

  private:
    std::ostringstream text_;
    std::streambuf* before_;
};

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream all(text);
    for (std::string line; std::getline(all, line);) {
        lines.push_back(line);
    }
    return lines;
}

std::string after(const std::string& line, const std::string& mark) {
    const std::size_t at = line.find(mark);
    return at == std::string::npos ? "" : line.substr(at + mark.size());
}

std::string page() { return read_text(source / "docs/cpp.md"); }

}  // namespace

TEST_CASE("the code of docs/cpp.md prints what its comments say") {
    std::string printed;
    {
        const captured_output output;
        const flop_counter model(presets::llama_3_8b);
        tally batch{model.masks()};
        batch.add(sequence{.length = 8192});

        const breakdown work = model.evaluate(batch);
        std::cout << work.total() << "\n";                          // 421651971833856
        std::cout << work.total(view::executed) << "\n";            // 430449138597888
        std::cout << work["mlp"].total(view::useful) << "\n";       // 277076930199552
        std::cout << work << "\n";                                  // 421651971833856 FLOP (attention.qkv 39582418599936, …
        const bool is_large = work.total() > 400'000'000'000'000;   // FLOPs compare with any integer
        const double tera = to_double(work.total()) / 1e12;         // 421.65…

        const utilization rates = utilize(work, batch, {.seconds = 1, .gpus = 1, .peak_tflops = 989.4});
        std::cout << rates << "\n";                                 // MFU 42.62 %, padded MFU 42.62 %, HFU 43.51 %, …
        if (!rates.doubt.empty()) {                                 // why these rates cannot be right
            std::cout << rates.doubt << "\n";
        }
        const flops counted = model.total_flops(batch);   // == model.evaluate(batch).total()
        CHECK(counted == work.total());
        CHECK(is_large);
        CHECK(std::floor(tera * 100) == 42165);
        printed = output.text();
    }
    const std::vector<std::string> lines = lines_of(printed);
    std::size_t compared = 0;
    for (const std::string& line : lines_of(fenced_blocks(page(), "cpp").at(0))) {
        if (line.starts_with("std::cout")) {
            const std::string said = after(line, "// ");
            INFO(line);
            REQUIRE(compared < lines.size());
            CHECK(lines[compared++].starts_with(said.substr(0, said.find("…"))));
        }
    }
    CHECK(compared == 5);
    CHECK(lines.size() == 5);
}

TEST_CASE("the example of docs/cpp.md makes a meter from a model, a plan and an accelerator") {
    meter steps(presets::llama_3_8b, {.recomputed = recompute::full}, accelerator_named("H100 SXM"));
    steps.begin_step();
    steps.microbatch().add(sequence{.length = 8192});
    steps.end_step(1.2);   // seconds, or nothing for the clock's
    const double mfu = rates(steps.last_step()).mfu;
    CHECK(std::abs(mfu - 421.651971833856 / 1.2 / 989) < 1e-12);
}

TEST_CASE("the errors on docs/cpp.md are those that the lines throw") {
    const flop_counter model(presets::llama_3_8b);
    tally batch{model.masks()};
    batch.add(sequence{.length = 8192});
    const breakdown work = model.evaluate(batch);
    const auto shown = [](const std::string& line, const std::string& message) {
        INFO(message);
        const std::string text = page();
        CHECK(text.find("| `" + line + "` | `" + message + "` |\n") != std::string::npos);
    };
    shown(".peak_tflops = 989e12",
          error_of([&] { return utilize(work, batch, {.seconds = 1, .gpus = 1, .peak_tflops = 989e12}); }));
    shown(".seconds = 0", error_of([&] { return utilize(work, batch, {.seconds = 0, .gpus = 1, .peak_tflops = 989}); }));
    const std::string unknown = error_of([] { return accelerator_named("H1000"); });
    CHECK(unknown.starts_with("accelerator: "));
    CHECK(unknown.find("nearest: H100 SXM") != std::string::npos);
    const utilization rates = utilize(work, batch, {.seconds = 0.0029, .gpus = 1, .peak_tflops = 989});
    CHECK_FALSE(rates.doubt.empty());
    CHECK(page().find("no error: `rates.doubt` is `" + std::string(rates.doubt) + "`.") != std::string::npos);
}

TEST_CASE("docs/cpp.md shows a corrected line below each line that does not compile") {
    const captured_output output;
    const flop_counter model(presets::llama_3_8b);
    tally batch{model.masks()};
    batch.add(sequence{.length = 8192});
    const breakdown work = model.evaluate(batch);
    meter first(presets::llama_3_8b, {}, accelerator_named("H100 SXM"));

    // A count of tokens is no count of FLOPs: they do not add up.
    // const flops more = work.total() + 1;
    //     g++: no match for 'operator+' (operand types are 'floptally::flops' and 'int')
    //     clang++: invalid operands to binary expression ('floptally::flops' and 'int')
    const flops more = work.total() + flops{1};

    // A double rounds: ask for it.
    // const double total = work.total();
    //     g++: cannot convert 'floptally::flops' to 'const double'
    //     clang++: no viable conversion from 'floptally::flops' to 'const double'
    const double total = to_double(work.total());

    // FLOPs are multiplied by integers. For a quotient ask for a double.
    // const double tera = work.total() / 1e12;
    //     g++: no match for 'operator/' (operand types are 'floptally::flops' and 'double')
    //     clang++: invalid operands to binary expression ('floptally::flops' and 'double')
    const double tera = to_double(work.total()) / 1e12;

    // A component has three views: say which.
    // std::cout << work["mlp"];
    //     g++: no match for 'operator<<'
    //     clang++: invalid operands to binary expression
    std::cout << work["mlp"].total(view::useful);

    // A view is an enumerator, not a text.
    // const flops useful = work.total("useful");
    //     g++: cannot convert 'const char [7]' to 'floptally::view'
    //     clang++: cannot initialize a parameter of type 'floptally::view'
    const flops useful = work.total(view::useful);

    // A number alone is no sample: it may be tokens, patches or frames.
    // batch.add(8192);
    //     g++: no matching function for call to 'floptally::tally::add(int)'
    //     clang++: no matching member function for call to 'add'
    batch.add(sequence{.length = 8192});

    // A model is not converted silently, since that costs time: make its counter once.
    // const flop_counter counter = presets::llama_3_8b;
    //     g++: to non-scalar type 'const floptally::flop_counter' requested
    //     clang++: no viable conversion from 'const transformer<floptally::gqa, floptally::gated_mlp>'
    const flop_counter counter(presets::llama_3_8b);

    // A cost allocates. A constant has its memory inside.
    // constexpr cost rows = presets::llama_3_8b.cost();
    //     g++: use constant_cost for a constexpr cost
    //     clang++: use constant_cost for a constexpr cost
    constexpr constant_cost rows = presets::llama_3_8b.cost();

    // The model comes first.
    // const breakdown swapped = evaluate(batch, presets::llama_3_8b);
    //     g++: no matching function for call to 'evaluate(floptally::tally&
    //     clang++: no matching function for call to 'evaluate'
    const breakdown swapped = evaluate(presets::llama_3_8b, batch);

    // Fields are given in the order of their declaration.
    // const transformer<> stack{.num_layers = 32, .hidden_size = 4096};
    //     g++: designator order for field
    //     clang++: field 'num_layers' will be initialized after field 'hidden_size'
    const transformer<> stack{.hidden_size = 4096, .num_layers = 32};

    // Heads are fields of the attention.
    // const transformer<> flat{.hidden_size = 4096, .num_layers = 32, .num_heads = 32};
    //     g++: has no non-static data member named 'num_heads'
    //     clang++: field designator 'num_heads' does not refer to any field
    const transformer<> flat{.hidden_size = 4096, .num_layers = 32, .attention = {.num_heads = 32, .num_kv_heads = 8, .head_dim = 128}};

    // A meter stays where it is: a copy would count its open step twice. Keep a reference or a pointer.
    // meter second = first;
    //     g++: use of deleted function 'floptally::meter::meter(const floptally::meter&)'
    //     clang++: call to deleted constructor of 'floptally::meter'
    meter& second = first;

    // Tokens per second are of the batch: it is the second argument.
    // const utilization rates = utilize(work, {.seconds = 2.9, .gpus = 1, .peak_tflops = 989});
    //     g++: invalid initialization of reference of type 'const floptally::tally&'
    //     clang++: no matching function for call to 'utilize'
    const utilization rates = utilize(work, batch, {.seconds = 2.9, .gpus = 1, .peak_tflops = 989});

    CHECK(more == 421'651'971'833'857);
    CHECK(total == 421'651'971'833'856.0);
    CHECK(std::abs(tera - 421.651971833856) < 1e-12);
    CHECK(output.text() == "277076930199552");
    CHECK(useful == work.total());
    CHECK(counter.total_flops(batch) == swapped.total());
    CHECK(evaluate(rows, batch).total() == 2 * work.total());
    CHECK(stack.num_layers == flat.num_layers);
    CHECK(&second == &first);
    CHECK(rates.doubt.empty());
}

TEST_CASE("compile_fail/slips.cpp has each line that docs/cpp.md shows as a compile error, with the errors of g++ and clang++") {
    const std::string slips = read_text(source / "tests/compile_fail/slips.cpp");
    const std::vector<std::string> lines = lines_of(page());
    std::size_t compared = 0;
    for (std::size_t i = 2; i < lines.size(); ++i) {
        const std::string by_clang = after(lines[i], "//     clang++: ");
        if (by_clang.empty()) {
            continue;
        }
        const std::string by_gcc = after(lines[i - 1], "//     g++: ");
        const std::string code = after(lines[i - 2], "// ");
        INFO(code);
        CHECK_FALSE(by_gcc.empty());
        CHECK_FALSE(code.empty());
        const std::size_t at = slips.find("    // g++: " + by_gcc + "\n    // clang++: " + by_clang + "\n");
        REQUIRE(at != std::string::npos);
        const std::size_t place = slips.find("    " + code + "\n", at);
        CHECK(place < slips.find("INVALID ==", at));
        ++compared;
    }
    std::size_t ways = 0;
    for (std::size_t at = slips.find("INVALID == "); at != std::string::npos; at = slips.find("INVALID == ", at + 1)) {
        ++ways;
    }
    CHECK(compared == ways);
    CHECK(compared > 10);
}

// clang-format on

}  // namespace cpp_page_test
