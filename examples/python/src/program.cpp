// SPDX-License-Identifier: Apache-2.0

#include "program.hpp"

#ifdef FLOPTALLY_PYTHON_PROGRAM
#include <floptally/input/input_padding.hpp>
#include <floptally/step/layout_work.hpp>
#include <floptally/waterfall/masked_tiles.hpp>

// Other units of the extension compile these for the same receivers of batches.
extern template void floptally::detail::input_adder::add_to(floptally::tally&) const;
extern template void floptally::detail::input_adder::add_to(floptally::detail::mock_samples&) const;
extern template void floptally::detail::input_adder::add_to(floptally::context_shards&) const;
extern template void floptally::detail::input_adder::add_to(floptally::masked_tiles&) const;

#include "../../program/run.hpp"
#else
#include <floptally/text/error.hpp>
#endif

/// @file
/// Runs the program, for `python -m floptally`.

namespace floptally::python {

int run_program([[maybe_unused]] std::vector<std::string> words) {
#ifdef FLOPTALLY_PYTHON_PROGRAM
    std::vector<char*> argv;
    for (std::string& word : words) {
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    program::load_trace = load_trace;
    return program::main(static_cast<int>(words.size()), argv.data());
#else
    throw error("floptally",
                "was built without the command-line program: install fmt and cxxopts, then build floptally again");
#endif
}

}  // namespace floptally::python
