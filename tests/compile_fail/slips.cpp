// SPDX-License-Identifier: Apache-2.0
//
// The slips of docs/cpp.md, one for each value of INVALID. The two lines below a value say what g++ and clang++ print
// within their first ten lines.

#include <iostream>

#include <floptally/floptally.hpp>
#include <floptally/step/meter.hpp>

using namespace floptally;

int main() {
    const flop_counter model(presets::llama_3_8b);
    tally batch{model.masks()};
    batch.add(sequence{.length = 8192});
    const breakdown work = model.evaluate(batch);

#if INVALID == 1
    // g++: no match for 'operator+' (operand types are 'floptally::flops' and 'int')
    // clang++: invalid operands to binary expression ('floptally::flops' and 'int')
    const flops more = work.total() + 1;
#elif INVALID == 2
    // g++: cannot convert 'floptally::flops' to 'const double'
    // clang++: no viable conversion from 'floptally::flops' to 'const double'
    const double total = work.total();
#elif INVALID == 3
    // g++: no match for 'operator/' (operand types are 'floptally::flops' and 'double')
    // clang++: invalid operands to binary expression ('floptally::flops' and 'double')
    const double tera = work.total() / 1e12;
#elif INVALID == 4
    // g++: no match for 'operator<<'
    // clang++: invalid operands to binary expression
    std::cout << work["mlp"];
#elif INVALID == 5
    // g++: cannot convert 'const char [7]' to 'floptally::view'
    // clang++: cannot initialize a parameter of type 'floptally::view'
    const flops useful = work.total("useful");
#elif INVALID == 6
    // g++: no matching function for call to 'floptally::tally::add(int)'
    // clang++: no matching member function for call to 'add'
    batch.add(8192);
#elif INVALID == 7
    // g++: to non-scalar type 'const floptally::flop_counter' requested
    // clang++: no viable conversion from 'const transformer<floptally::gqa, floptally::gated_mlp>'
    const flop_counter counter = presets::llama_3_8b;
#elif INVALID == 8
    // g++: use constant_cost for a constexpr cost
    // clang++: use constant_cost for a constexpr cost
    constexpr cost rows = presets::llama_3_8b.cost();
#elif INVALID == 9
    // g++: no matching function for call to 'evaluate(floptally::tally&
    // clang++: no matching function for call to 'evaluate'
    const breakdown swapped = evaluate(batch, presets::llama_3_8b);
#elif INVALID == 10
    // g++: designator order for field
    // clang++: field 'num_layers' will be initialized after field 'hidden_size'
    const transformer<> stack{.num_layers = 32, .hidden_size = 4096};
#elif INVALID == 11
    // g++: has no non-static data member named 'num_heads'
    // clang++: field designator 'num_heads' does not refer to any field
    const transformer<> flat{.hidden_size = 4096, .num_layers = 32, .num_heads = 32};
#elif INVALID == 12
    // g++: use of deleted function 'floptally::meter::meter(const floptally::meter&)'
    // clang++: call to deleted constructor of 'floptally::meter'
    meter first(presets::llama_3_8b, {}, accelerator_named("H100 SXM"));
    meter second = first;
#elif INVALID == 13
    // g++: invalid initialization of reference of type 'const floptally::tally&'
    // clang++: no matching function for call to 'utilize'
    const utilization rates = utilize(work, {.seconds = 2.9, .gpus = 1, .peak_tflops = 989});
#endif

    std::cout << work.total() << "\n";
    return work.total() == 421'651'971'833'856 ? 0 : 1;
}
