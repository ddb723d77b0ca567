// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Compares a part's cost with the matmuls that its forward pass writes down.

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <floptally/floptally.hpp>

#include "catch2.hpp"
#include "matmul_trace.hpp"

namespace traced {

using namespace floptally;
using matmul_trace::sequence_list;
using matmul_trace::step;

/// The forward pass of a descriptor: for the real tokens (padded = false) or for the slots.
using walk = std::function<void(step&, const sequence_list&, bool padded)>;

inline const std::vector<training_plan>& every_plan() {
    static const std::vector<training_plan> all = [] {
        std::vector<training_plan> plans;
        for (const counted_passes counted :
             {counted_passes::train, counted_passes::forward, counted_passes::backward}) {
            for (const recompute again : {recompute::none, recompute::full, recompute::attention}) {
                for (const bool flash : {true, false}) {
                    plans.push_back({counted, again, flash});
                }
            }
        }
        return plans;
    }();
    return all;
}

/// Component, phase and view, under every plan and on every batch.
inline void check_against_trace(const cost& model, const walk& forward) {
    for (const matmul_trace::padded_batch& sequences : matmul_trace::mixed_batches()) {
        step real;
        step slots;
        forward(real, sequences.real, false);
        forward(slots, sequences.slots, true);
        const tally batch = matmul_trace::tally_of(model.masks(), sequences);
        for (const training_plan& plan : every_plan()) {
            const breakdown counted = evaluate(model, batch, conventions::exact, plan);
            REQUIRE(matmul_trace::mismatches(counted, real, slots, plan) == "");
        }
    }
}

inline std::set<std::string> component_names(const cost& model) {
    std::set<std::string> names;
    for (const component_name& name : model.components()) {
        names.insert(std::string(name.view()));
    }
    return names;
}

}  // namespace traced
