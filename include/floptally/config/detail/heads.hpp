// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <floptally/config/detail/part_call.hpp>
#include <floptally/config/detail/part_table.hpp>
#include <floptally/config/detail/rows.hpp>
#include <floptally/config/detail/tower_inputs.hpp>
#include <floptally/config/detail/value.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/descriptors/transformer.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/rules/mask.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The heads of classes: the products after the layers.

namespace floptally::detail::pages {

/// The facts besides its line that a head depends on.
struct head_of_model {
    std::uint64_t padded_vocab_size = 0;
    bool is_tower = false;
    bool tied = false;            ///< its matrix is the embedding's
    bool keeps_detached = false;  ///< parts that the page declares beside the loss stay so
};

struct head_cost {
    cost matrix;
    cost elementwise;
};

/// The cost of a line `head out N, …`.
[[nodiscard]] inline head_cost head_of(const part_call& call, const head_of_model& how) {
    const std::uint64_t width = call.required("out");
    if (width == 0 && call.in.config().find("id2label") != nullptr) {
        refuse(call.in.config().field("id2label"), {"must be an object with at least one label, got {}"});
    }
    if (width == 0) {
        call.fail({"has no width: out is 0"});
    }
    const bool words = call.on("words");
    const bool per_sequence = call.on("per_sequence");
    const std::uint64_t asked = how.padded_vocab_size;
    const std::uint64_t padded = !words ? 0 : asked != 0 ? asked : call.number("padded");
    if (padded != 0 && padded < width) {
        refuse("padded_vocab_size", {"must be at least vocab_size (", width, "), got ", padded});
    }
    const bool detached = call.on("detached") && how.keeps_detached;
    cost matrix;
    matrix.add("lm_head", linear{.in_features = call.number("in", call.in.number("h")),
                                 .out_features = width,
                                 .padded_out_features = padded,
                                 .rows = per_sequence ? statistic::count : statistic::tokens,
                                 .kind = detached ? term::detached_head : term::lm_head,
                                 .reads = floptally::value::stream,
                                 .dealt = split_of(call, words ? dealing::vocabulary() : dealing::replicated())});
    if (how.is_tower && (call.in.has("units") || call.in.has("last_units"))) {
        const bool own = call.in.has("last_units");
        matrix = matrix.over(call.in.mask_named(own ? "last_units" : "units"),
                             own || !call.in.has("attends") ? mask::bidirectional() : call.in.mask_named("attends"));
    }
    cost elementwise;
    const std::uint64_t twice = call.on("untied_twice") && !how.tied ? 2 : 1;
    const value* bias = call.find("bias");
    const std::uint64_t biases = bias == nullptr || !bias->on() ? 0 : 1;
    elementwise.add_parameters("bias", term::bias, biases * twice * checked(width, "bias"));
    elementwise.add_parameters("norm", term::norm, checked(call.number("norm"), "norm") * width);
    return {matrix, elementwise};
}

/// The cost of the parts that a class computes beside the loss, where an outer model reads their result.
[[nodiscard]] inline cost attached(const part_call& call, const cost& otherwise) {
    if (!call.on("detached")) {
        return otherwise;
    }
    vector<value> given = call.given;
    for (std::size_t k = 0; k < given.size(); ++k) {
        if (call.line.arguments[k].name == "detached") {
            given[k] = flag_value(false);
        }
    }
    value_names made;
    return made_by({call.in, call.where, call.line, given, made, call.latent_core});
}

}  // namespace floptally::detail::pages
