// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <pybind11/pybind11.h>
#include <string>
#include <utility>

#include <floptally/batch/add_input.hpp>
#include <floptally/detail/python/attention_masks.hpp>
#include <floptally/detail/python/call_arguments.hpp>
#include <floptally/detail/python/costs.hpp>
#include <floptally/detail/python/input_keywords.hpp>
#include <floptally/detail/python/inputs.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/detail/python/plans.hpp>
#include <floptally/error.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/statistic.hpp>
#include <floptally/tally.hpp>
#include <floptally/waterfall/masked_tiles.hpp>

/// @file
/// What attention kernels compute on masked pairs, for Python.

namespace floptally::detail::python {

/// (queries, keys) of a tile.
[[nodiscard]] inline attention_tile to_tile(const py::object& tile) {
    if (!is_sequence(tile) || py::len(tile) != 2) {
        throw error("tile", "must be (queries, keys), got " + shown(tile));
    }
    const py::tuple sides(tile);
    constexpr std::uint64_t most = std::uint64_t{1} << 20U;
    return {to_count(sides[0], "tile[0]", 1, most), to_count(sides[1], "tile[1]", 1, most)};
}

/// Python's `MaskedTiles`.
struct shown_tiles {
    shown_tiles(const model_cost& model, const py::object& of) : cost(model), tile(to_tile(of)), counted(of_layers()) {}

    /// The batch of a breakdown must be the one that was added here.
    void require_batch(const tally& batch) const {
        const tally& own = counted.total();
        const auto differ = [&](view seen, statistic what) {
            const std::uint64_t here = own.get(seen, what, modality::text);
            const std::uint64_t there = batch.get(seen, what, modality::text);
            if (here != there) {
                throw error("masked_tiles", "are of " + std::to_string(here) + " " + name_of(what) +
                                                ", and the work is of " + std::to_string(there) +
                                                ": add the same batches to both");
            }
        };
        for (const view seen : {view::useful, view::padded}) {
            for (const statistic what : {statistic::count, statistic::tokens, statistic::squares}) {
                differ(seen, what);
            }
        }
    }

    model_cost cost;
    attention_tile tile;
    masked_tiles counted;

  private:
    [[nodiscard]] masked_tiles of_layers() const {
        if (cost.model().parts.empty()) {
            throw error("cost", "must have the layers of a model, and is one sum of rows");
        }
        return {cost.model().parts, tile};
    }
};

/// `MaskedTiles.add`
[[nodiscard]] inline py::object tiles_add(py::handle self, call_arguments& given) {
    auto& tiles = self.cast<shown_tiles&>();
    const input_arguments batch(given, tiles.counted.masks());
    if (!batch.input().rows.empty()) {
        throw error("attention_mask", "does not say where its tiles begin: give lengths and row_length");
    }
    add_input(batch.input(), tiles.cost.model(), tiles.counted);
    return py::none();
}

inline void bind_masked_tiles(py::module_& module) {
    py::class_<shown_tiles> type(module, "MaskedTiles",
                                 R"(What attention kernels compute on pairs that no mask lets through.

Of each tile (queries, keys) with an attended pair a kernel computes all. Add the batch that is counted, as a Meter takes
it: `Breakdown.waterfall(masked_tiles=…)` has a line for them. Attention over images and sound is left out.)");
    type.def(py::init<const model_cost&, const py::object&>(), py::arg("cost"),
             py::arg("tile") = py::make_tuple(128, 128))
        .def_property_readonly("tile", [](const shown_tiles& t) { return py::make_tuple(t.tile.rows, t.tile.keys); })
        .def_property_readonly(
            "tally", [](const shown_tiles& t) { return t.counted.total(); }, "The batch.")
        .def(
            "executed",
            [](const shown_tiles& t, const py::object& plan) {
                return to_int(t.counted.work(to_plan(plan, t.cost)).total(view::executed));
            },
            py::arg("plan") = py::none(), "FLOPs of those pairs in a training step, as an exact int.")
        .def("__repr__", [](const shown_tiles& t) {
            return "<MaskedTiles of " + std::to_string(t.tile.rows) + " x " + std::to_string(t.tile.keys) + ">";
        });
    add_fast_method<tiles_add>(type, "add", "($self, /, *, " + input_signature() + ")",
                               "Adds a batch.\n\nArgs:\n" + input_help());
}

}  // namespace floptally::detail::python
