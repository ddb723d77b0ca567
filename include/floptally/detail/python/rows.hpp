// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <pybind11/operators.h>
#include <pybind11/pybind11.h>
#include <string>
#include <vector>

#include <floptally/cost.hpp>
#include <floptally/detail/python/masks.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/component_name.hpp>
#include <floptally/model/cost_row.hpp>
#include <floptally/model/dealing.hpp>
#include <floptally/model/term.hpp>
#include <floptally/statistic.hpp>

namespace floptally::detail::python {

/// The names in the table of terms, as the array that `to_word` takes.
struct term_word_list {
    const char* all[term_count]{};

    constexpr term_word_list() {
        for (std::size_t kind = 0; kind < term_count; ++kind) {
            all[kind] = meanings[kind].name;
        }
    }
};
inline constexpr term_word_list every_term_word;
inline constexpr const char* const (&term_words)[term_count] = every_term_word.all;

inline constexpr const char* split_words[] = {"unsaid",    "several",    "columns", "rows", "heads",      "kv_heads",
                                              "fused_qkv", "vocabulary", "experts", "even", "replicated", "repeated"};
static_assert(std::size(split_words) == static_cast<std::size_t>(tensor_split::repeated) + 1);

inline constexpr const char* statistic_words[] = {"count", "tokens", "keys", "squares", "cached", "crossed", "routed"};

/// One row of a cost with what it refers to.
struct whole_row {
    component_name component;
    std::string weight;
    cost_row row;
    mask attends;

    [[nodiscard]] friend bool operator==(const whole_row& a, const whole_row& b) {
        // Indices are into the lists of one cost.
        cost_row mine = a.row;
        mine.component = b.row.component;
        mine.weight = b.row.weight;
        mine.mask = b.row.mask;
        return a.component == b.component && a.weight == b.weight && mine == b.row && a.attends == b.attends;
    }

    [[nodiscard]] py::object unit() const {
        const bool named = row.what == statistic::pairs || (row.what == statistic::routed && !attends.is_polynomial());
        return named ? py::cast(attends) : static_cast<py::object>(py::str(to_word(row.what, statistic_words)));
    }
    [[nodiscard]] py::tuple numbers() const {
        return py::make_tuple(std::string(component.view()), weight, static_cast<unsigned>(row.what),
                              static_cast<unsigned>(row.kind), static_cast<unsigned>(row.in), row.useful, row.padded,
                              row.parameters, row.flow.reads, row.flow.also_reads, row.flow.fused_with, row.flow.writes,
                              row.per_rank.in, row.per_rank.out, row.per_rank.padded_out, row.per_rank.parameters,
                              attends.name(), static_cast<unsigned>(row.dealt.by), row.dealt.units, row.dealt.inner);
    }
    [[nodiscard]] static whole_row of_numbers(const py::tuple& n) {
        const auto flow = [&n](std::size_t at) { return n[at].cast<value::set>(); };
        const auto count = [&n](std::size_t at) { return n[at].cast<std::uint64_t>(); };
        return {.component = n[0].cast<std::string>(),
                .weight = n[1].cast<std::string>(),
                .row = {.what = static_cast<statistic>(to_count(n[2], "unit", 0, 7)),
                        .kind = static_cast<term>(to_count(n[3], "kind", 0, term_count - 1)),
                        .in = static_cast<modality>(to_count(n[4], "tower", 0, modality_count - 1)),
                        .useful = count(5),
                        .padded = count(6),
                        .parameters = count(7),
                        .flow = {flow(8), flow(9), flow(10), flow(11)},
                        .per_rank = {count(12), count(13), count(14), count(15)},
                        .dealt = {static_cast<tensor_split>(
                                      to_count(n[17], "split", 0, static_cast<unsigned>(tensor_split::repeated))),
                                  count(18), count(19)}},
                .attends = mask_of_text(n[16].cast<std::string>())};
    }
};

[[nodiscard]] inline std::vector<whole_row> rows_of(const cost& model) {
    std::vector<whole_row> rows;
    for (const cost_row& row : model.rows()) {
        rows.push_back({model.components()[row.component], std::string(model.weight_name(row)), row,
                        has_rule(row.what) ? mask(model.masks()[row.mask]) : mask{}});
    }
    return rows;
}

[[nodiscard]] inline cost cost_of_rows(const std::vector<whole_row>& rows) {
    cost sum;
    for (const whole_row& one : rows) {
        sum.add_row(one.component, one.weight, one.row, one.attends);
    }
    return sum;
}

[[nodiscard]] inline whole_row make_row(const std::string& component, const py::object& unit, const std::string& kind,
                                        const py::object& flops_per_unit, const py::object& parameters,
                                        const py::object& padded_flops_per_unit, const std::string& weight,
                                        const std::string& in, const std::string& split, const py::object& units,
                                        const py::object& inner_units) {
    whole_row made{.component = component, .weight = weight, .row = {}, .attends = {}};
    cost_row& row = made.row;
    if (py::isinstance<mask>(unit)) {
        made.attends = unit.cast<mask>();
        row.what = made.attends.is_measured() ? statistic::routed : statistic::pairs;
        row.in = made.attends.in();
    } else if (py::isinstance<py::str>(unit)) {
        row.what = from_word<statistic>(unit.cast<std::string>(), "unit", statistic_words);
        row.in = from_word<modality>(in, "tower", modality_names);
    } else {
        throw error("unit", "must be the name of a statistic or a floptally.Mask, got " + shown(unit));
    }
    row.kind = from_word<term>(kind, "kind", term_words);
    row.useful = to_count(flops_per_unit, "flops_per_unit");
    row.padded =
        padded_flops_per_unit.is_none() ? row.useful : to_count(padded_flops_per_unit, "padded_flops_per_unit");
    row.parameters = to_count(parameters, "parameters");
    row.dealt = {from_word<tensor_split>(split, "split", split_words), to_count(units, "units"),
                 to_count(inner_units, "inner_units")};
    return made;
}

inline void bind_rows(py::module_& module) {
    py::class_<whole_row>(module, "Row", R"(One row of a cost: forward FLOPs per unit of a statistic.

component: as users name it, 1 to 39 characters. unit: "tokens", "count" (sequences), "keys" (tokens of the other
side), "squares", "cached", "crossed", "routed", or a Mask, whose attended pairs are then counted. kind: what product it
is ("linear", "lm_head", "scores", "values", "state", "router", "norm", …), which decides its backward.
flops_per_unit: of the forward, a multiply-add is 2. split: how tensor parallelism deals it ("columns", "rows", "heads",
"kv_heads", "fused_qkv", "vocabulary", "experts", "even", "replicated", "repeated"), units: how many of them there are,
inner_units: columns of a key-value head, key-value heads of a fused matrix, width of an expert.)")
        .def(py::init(&make_row), py::arg("component"), py::arg("unit"), py::arg("kind"), py::arg("flops_per_unit"),
             py::arg("parameters") = 0, py::kw_only(), py::arg("padded_flops_per_unit") = py::none(),
             py::arg("weight") = "", py::arg("tower") = "text", py::arg("split") = "unsaid", py::arg("units") = 0,
             py::arg("inner_units") = 0)
        .def_property_readonly("component", [](const whole_row& r) { return std::string(r.component.view()); })
        .def_property_readonly("unit", &whole_row::unit)
        .def_property_readonly("kind", [](const whole_row& r) { return to_word(r.row.kind, term_words); })
        .def_property_readonly("flops_per_unit", [](const whole_row& r) { return r.row.useful; })
        .def_property_readonly("padded_flops_per_unit", [](const whole_row& r) { return r.row.padded; })
        .def_property_readonly("parameters", [](const whole_row& r) { return r.row.parameters; })
        .def_property_readonly("weight", [](const whole_row& r) { return r.weight; })
        .def_property_readonly("tower", [](const whole_row& r) { return std::string(name_of(r.row.in)); })
        .def_property_readonly("split", [](const whole_row& r) { return to_word(r.row.dealt.by, split_words); })
        .def_property_readonly("units", [](const whole_row& r) { return r.row.dealt.units; })
        .def_property_readonly("inner_units", [](const whole_row& r) { return r.row.dealt.inner; })
        .def(py::self == py::self)
        .def("__hash__", [](const whole_row& r) { return py::hash(r.numbers()); })
        .def("__repr__",
             [](const whole_row& r) {
                 return std::string("Row(\"")
                     .append(r.component.view())
                     .append("\", ")
                     .append(shown(r.unit()))
                     .append(", \"")
                     .append(to_word(r.row.kind, term_words))
                     .append("\", ")
                     .append(std::to_string(r.row.useful))
                     .append(", ")
                     .append(std::to_string(r.row.parameters))
                     .append(")");
             })
        .def(py::pickle([](const whole_row& r) { return r.numbers(); }, &whole_row::of_numbers));
}

}  // namespace floptally::detail::python
