// SPDX-License-Identifier: Apache-2.0

#include <floptally/step/layout_work.hpp>

#include "classes.hpp"

template void floptally::detail::input_adder::add_to(floptally::context_shards&) const;  // program.cpp calls it too

namespace floptally::python {

namespace {

/// Python's `ContextShards`.
struct shown_shards {
    model_cost cost;
    context_split how;
    context_shards shards;
};

}  // namespace

std::vector<tally> shards_of(py::handle sharded, const counted_work& work) {
    if (sharded.is_none()) {
        return {work.batch};
    }
    if (!py::isinstance<shown_shards>(sharded)) {
        throw error("cp", "must be a floptally.ContextShards of the batch, got " + shown(sharded));
    }
    const context_shards& shards = value_of<shown_shards>(sharded).shards;
    require_same_batch("cp", shards.total(), work.batch, "", ": add the same batches to both");
    return {shards.shards().begin(), shards.shards().end()};
}

void bind_context_shards(py::module_& module) {
    bound_class<shown_shards> type = new_class<shown_shards>(module, "ContextShards");
    constructor(type, [](const arguments& args) {
        const auto& cost = args.as<const model_cost&>("cost");
        const auto how = from_name<context_split>(args.text("split"), "split", context_split_names);
        return shown_shards{
            cost, how, context_shards(cost.full_cost().masks(), args.count("cp", 1, std::uint64_t{1} << 16U), how)};
    });
    property(type, "cp", [](const shown_shards& s) { return s.shards.shards().size(); });
    property(type, "split",
             [](const shown_shards& s) { return std::string(context_split_names[static_cast<std::size_t>(s.how)]); });
    property(type, "tallies", [](const shown_shards& s) {
        py::list all;
        for (const tally& shard : s.shards.shards()) {
            all.append(shard);
        }
        return all;
    });
    method(type, "add", [](shown_shards& s, const arguments& args) {
        const input_arguments batch(args, s.shards.masks());
        if (!batch.input().rows.empty()) {
            throw error("attention_mask",
                        "cannot be split over ranks, because its rows are reduced to their lengths: pass lengths= and "
                        "row_length=");
        }
        add_input(batch.input(), s.cost.model(), s.shards);
    });
    method(type, "__copy__", [](const shown_shards& s, const arguments&) { return shown_shards(s); });
    shown_as(type, [](const shown_shards& s) {
        return "<ContextShards of " + std::to_string(s.shards.shards().size()) + " ranks, " +
               context_split_names[static_cast<std::size_t>(s.how)] + ">";
    });
}

}  // namespace floptally::python
