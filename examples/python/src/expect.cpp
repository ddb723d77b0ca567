// SPDX-License-Identifier: Apache-2.0

#include <nlohmann/json.hpp>

#include "../../program/published_runs.hpp"
#include "classes.hpp"

/// @file
/// Published runs nearest to a counted batch. Python's `Expectation` is constructed from this JSON.

namespace floptally::python {

namespace {

/// The JSON of an expectation, its table, and the JSON of the table.
py::tuple as_tuple(const program::expectation& found) {
    return py::make_tuple(program::to_json(found).dump(), program::to_table(found),
                          table_json(program::table_of(found)));
}

py::tuple expectation_of(const counted_work& work, const arguments& args) {
    const auto product = to_product(args["accelerator"]);
    if (!product) {
        throw error("accelerator", "is missing: pass the name of the GPU");
    }
    const auto mfu = args.some_number("mfu");
    if (mfu && (!(*mfu > 0) || *mfu > 1)) {
        throw error("mfu", "must be a fraction above 0 and at most 1, such as 0.4, got " + shown(args["mfu"]));
    }
    const program::run_features own = program::user_features(
        *work.as->model, work.batch, *product, args.text("precision"), args.some_count("gpus", 1, 100'000'000));
    return as_tuple(program::expect(own, mfu, args.count("nearest", 1, 100'000), args.flag("unmarked")));
}

}  // namespace

void bind_expect(py::module_& module) {
    function(module, "_expect",
             [](const arguments& args) { return expectation_of(args.as<const counted_work&>("work"), args); });
    function(module, "_published_runs", [](const arguments&) { return as_tuple(program::all_published_runs()); });
}

}  // namespace floptally::python
