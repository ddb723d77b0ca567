// SPDX-License-Identifier: Apache-2.0

#include <floptally/step/layout_work.hpp>

#include "classes.hpp"

/// @file
/// Python's `ContextShares`.

namespace floptally::detail::python {

namespace {

/// Python's `ContextShares`.
struct shown_shares {
    model_cost cost;
    context_split how;
    context_shares dealt;
};

}  // namespace

std::vector<tally> shares_of(py::handle given, const counted_work& work) {
    if (given.is_none()) {
        return {work.batch};
    }
    if (!py::isinstance<shown_shares>(given)) {
        throw error("cp", "must be a floptally.ContextShares of the batch, got " + shown(given));
    }
    const context_shares& dealt = given.cast<const shown_shares&>().dealt;
    require_same_batch("cp", dealt.total(), work.batch, "", ": add the same batches to both");
    return {dealt.shares().begin(), dealt.shares().end()};
}

void bind_context_shares(py::module_& module) {
    const py::class_<shown_shares> type = new_class<shown_shares>(module, "ContextShares");
    constructor(type, [](const arguments& given) {
        const auto& cost = given.as<const model_cost&>("cost");
        const auto how = from_word<context_split>(given.text("split"), "split", context_split_names);
        return shown_shares{cost, how,
                            context_shares(cost.of().masks(), given.count("cp", 1, std::uint64_t{1} << 16U), how)};
    });
    property(type, "cp", [](const shown_shares& s) { return s.dealt.shares().size(); });
    property(type, "split",
             [](const shown_shares& s) { return std::string(context_split_names[static_cast<std::size_t>(s.how)]); });
    property(type, "tallies", [](const shown_shares& s) {
        py::list all;
        for (const tally& share : s.dealt.shares()) {
            all.append(share);
        }
        return all;
    });
    method(type, "add", [](shown_shares& s, const arguments& given) {
        const input_arguments batch(given, s.dealt.masks());
        if (!batch.input().rows.empty()) {
            throw error("attention_mask", "does not say where its rows begin: give lengths and row_length");
        }
        add_input(batch.input(), s.cost.model(), s.dealt);
    });
    method(type, "__copy__", [](const shown_shares& s, const arguments&) { return shown_shares(s); });
    shown_as(type, [](const shown_shares& s) {
        return "<ContextShares of " + std::to_string(s.dealt.shares().size()) + " ranks, " +
               context_split_names[static_cast<std::size_t>(s.how)] + ">";
    });
}

}  // namespace floptally::detail::python
