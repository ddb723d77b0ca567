// SPDX-License-Identifier: Apache-2.0

#include "classes.hpp"

#ifdef FLOPTALLY_PYTHON_PROGRAM
#include "../../program/run.hpp"
#endif

/// @file
/// Runs the program, for `python -m floptally`.

namespace floptally::python {

void bind_program(py::module_& module) {
#ifdef FLOPTALLY_PYTHON_PROGRAM
    function(module, "run_program", [](const arguments& args) {
        auto words = args.as<std::vector<std::string>>("arguments");
        std::vector<char*> argv;
        for (std::string& word : words) {
            argv.push_back(word.data());
        }
        argv.push_back(nullptr);
        program::load_trace = load_trace;
        const py::gil_scoped_release released;  // it may wait for standard input
        return program::main(static_cast<int>(words.size()), argv.data());
    });
#else
    function(module, "run_program", [](const arguments&) -> int {
        throw error("floptally", "was built without the program: install fmt and cxxopts and build it again");
    });
#endif
}

}  // namespace floptally::python
