// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/message.hpp>
#include <floptally/detail/pages/array_of.hpp>
#include <floptally/detail/pages/part_call.hpp>
#include <floptally/detail/pages/part_table.hpp>
#include <floptally/detail/pages/rows.hpp>
#include <floptally/detail/pages/tower_inputs.hpp>
#include <floptally/detail/pages/value.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/term.hpp>
#include <floptally/model/transformer.hpp>
#include <floptally/statistic.hpp>

/// @file
/// What a class multiplies after the layers.

namespace floptally::detail::pages {

/// What a head depends on besides its line.
struct head_of_model {
    std::uint64_t padded_vocab_size = 0;
    bool is_tower = false;
    bool tied = false;            ///< the matrix is the embedding's
    bool keeps_detached = false;  ///< what the page says is beside the loss is
};

struct head_cost {
    cost matrix;
    cost elementwise;
};

/// A line `head out N, …`.
[[nodiscard]] inline head_cost head_of(const part_call& call, const head_of_model& how) {
    const std::uint64_t width = call.must("out");
    if (width == 0 && call.in.config().find("id2label") != nullptr) {
        refuse(call.in.config().field("id2label"), {"must be an object with at least one label, got {}"});
    }
    if (width == 0) {
        call.fail({"has no width: out is 0"});
    }
    const bool words = call.on("words");
    const bool per_sequence = call.on("per_sequence");
    const std::uint64_t padded = words ? how.padded_vocab_size : 0;
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
    elementwise.add_parameters("bias", term::bias, checked_multiply(biases * twice, width, "bias"));
    elementwise.add_parameters("norm", term::norm, checked_multiply(call.number("norm"), width, "norm"));
    return {matrix, elementwise};
}

/// What a class computes beside the loss, where an outer model reads it.
[[nodiscard]] inline cost attached(const part_call& call, const cost& otherwise) {
    if (!call.on("detached")) {
        return otherwise;
    }
    array_of<value> given = call.given;
    for (std::size_t k = 0; k < given.size(); ++k) {
        if (call.line.arguments[k].name == "detached") {
            given[k] = flag_value(false);
        }
    }
    made_values made;
    return made_by({call.in, call.where, call.line, given, made, call.latent_core});
}

}  // namespace floptally::detail::pages
