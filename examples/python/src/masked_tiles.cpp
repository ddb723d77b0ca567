// SPDX-License-Identifier: Apache-2.0

#include <floptally/waterfall/masked_tiles.hpp>

#include "classes.hpp"

template void floptally::detail::input_adder::add_to(floptally::masked_tiles&) const;  // program.cpp calls it too

namespace floptally::python {

namespace {

/// (queries, keys) of a tile.
attention_tile to_tile(const py::object& tile) {
    const py::tuple sides = items_of(tile, "tile", "(queries, keys)", 2, 2);
    constexpr std::uint64_t most = std::uint64_t{1} << 20U;
    return {to_count(sides[0], "tile[0]", 1, most), to_count(sides[1], "tile[1]", 1, most)};
}

/// Python's `MaskedTiles`.
struct shown_tiles {
    shown_tiles(const model_cost& model, const py::object& tile_sides)
        : cost(model), tile(to_tile(tile_sides)), counted(of_layers()) {}

    model_cost cost;
    attention_tile tile;
    masked_tiles counted;

  private:
    masked_tiles of_layers() const {
        if (cost.model().parts.empty()) {
            throw error("cost",
                        "must have layers, but this cost was made from single entries: make it by floptally.cost() or "
                        "from_torch()");
        }
        return {cost.model().parts, tile};
    }
};

}  // namespace

std::optional<std::vector<work_at_peak>> tiles_at_peaks(py::handle tiled, const counted_work& work, double peak_tflops,
                                                        const std::vector<precision_setting>& settings) {
    if (tiled.is_none()) {
        return {};
    }
    const auto& tiles = value_of<shown_tiles>(tiled);
    require_same_batch("masked_tiles", tiles.counted.total(), work.batch, "", ": add the same batches to both");
    return tiles.counted.by_peak(work.as->plan, peak_tflops, settings);
}

void bind_masked_tiles(py::module_& module) {
    bound_class<shown_tiles> type = new_class<shown_tiles>(module, "MaskedTiles");
    constructor(type,
                [](const arguments& args) { return shown_tiles(args.as<const model_cost&>("cost"), args["tile"]); });
    property(type, "tile", [](const shown_tiles& t) { return py::make_tuple(t.tile.rows, t.tile.keys); });
    property(type, "tally", [](const shown_tiles& t) { return t.counted.total(); });
    method(type, "executed", [](const shown_tiles& t, const arguments& args) {
        return t.counted.work(to_plan(args["plan"], t.cost)).total(view::executed);
    });
    method(type, "add", [](shown_tiles& tiles, const arguments& args) {
        const input_arguments batch(args, tiles.counted.masks());
        if (!batch.input().rows.empty()) {
            throw error(
                "attention_mask",
                "cannot be tiled, because its rows are reduced to their lengths: pass lengths= and row_length=");
        }
        add_input(batch.input(), tiles.cost.model(), tiles.counted);
    });
    method(type, "__copy__", [](const shown_tiles& t, const arguments&) { return shown_tiles(t); });
    shown_as(type, [](const shown_tiles& t) {
        return "<MaskedTiles of " + std::to_string(t.tile.rows) + " x " + std::to_string(t.tile.keys) + ">";
    });
}

}  // namespace floptally::python
