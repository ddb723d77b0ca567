// SPDX-License-Identifier: Apache-2.0

#include <floptally/descriptors/dealing.hpp>
#include <floptally/descriptors/term.hpp>

#include "states.hpp"

namespace floptally::detail::python {

namespace {

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

whole_row make_row(const std::string& component, const py::object& unit, const std::string& kind,
                   const py::object& flops_per_unit, const py::object& parameters,
                   const py::object& padded_flops_per_unit, const std::string& weight, const std::string& in,
                   const std::string& split, const py::object& units, const py::object& inner_units) {
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

/// A `Row`, or a tuple of its first four or five arguments.
whole_row to_row(py::handle item) {
    if (py::isinstance<whole_row>(item)) {
        return item.cast<whole_row>();
    }
    const py::tuple parts =
        items_of(item, "row", "a floptally.Row or (component, unit, kind, flops_per_unit[, parameters])", 4, 5);
    return make_row(to_text(parts[0], "component"), parts[1], to_text(parts[2], "kind"), parts[3],
                    parts.size() == 5 ? py::object(parts[4]) : py::int_(0), py::none(), "", "text", "unsaid",
                    py::int_(0), py::int_(0));
}

}  // namespace

py::object whole_row::unit() const {
    const bool named = row.what == statistic::pairs || (row.what == statistic::routed && !attends.is_polynomial());
    return named ? py::cast(attends) : static_cast<py::object>(py::str(to_word(row.what, statistic_words)));
}

std::vector<whole_row> whole_rows(const cost& model) {
    std::vector<whole_row> rows;
    for (const cost_row& row : model.rows()) {
        rows.push_back({model.components()[row.component], std::string(model.weight_name(row)), row,
                        has_rule(row.what) ? mask(model.masks()[row.mask]) : mask{}});
    }
    return rows;
}

cost cost_of_rows(py::handle rows) {
    cost sum;
    std::size_t index = 0;
    for (const py::handle item : items_of(rows, "rows", "a list of floptally.Row or tuples")) {
        try {
            const whole_row row = to_row(item);
            sum.add_row(row.component, row.weight, row.row, row.attends);
        } catch (const overflow&) {
            throw;
        } catch (const error& problem) {
            throw error(indexed("rows", index).append(".").append(problem.field()), problem.problem());
        }
        ++index;
    }
    return sum;
}

void bind_rows(py::module_& module) {
    const py::class_<whole_row> type = new_class<whole_row>(module, "Row");
    constructor(type, [](const arguments& given) {
        return make_row(given.text("component"), given["unit"], given.text("kind"), given["flops_per_unit"],
                        given["parameters"], given["padded_flops_per_unit"], given.text("weight"), given.text("tower"),
                        given.text("split"), given["units"], given["inner_units"]);
    });
    property(type, "component", [](const whole_row& r) { return r.component.view(); });
    property(type, "unit", [](const whole_row& r) { return r.unit(); });
    property(type, "kind", [](const whole_row& r) { return to_word(r.row.kind, term_words); });
    property(type, "flops_per_unit", [](const whole_row& r) { return r.row.useful; });
    property(type, "padded_flops_per_unit", [](const whole_row& r) { return r.row.padded; });
    property(type, "parameters", [](const whole_row& r) { return r.row.parameters; });
    property(type, "weight", [](const whole_row& r) { return r.weight; });
    property(type, "tower", [](const whole_row& r) { return std::string(name_of(r.row.in)); });
    property(type, "split", [](const whole_row& r) { return to_word(r.row.dealt.by, split_words); });
    property(type, "units", [](const whole_row& r) { return r.row.dealt.units; });
    property(type, "inner_units", [](const whole_row& r) { return r.row.dealt.inner; });
    equality(type, [](const whole_row& r) { return to_state(r); });
    shown_as(type, [](const whole_row& r) {
        return "Row(\"" + std::string(r.component.view()) + "\", " + shown(r.unit()) + ", \"" +
               to_word(r.row.kind, term_words) + "\", " + std::to_string(r.row.useful) + ", " +
               std::to_string(r.row.parameters) + ")";
    });
    pickles(
        type, [](const whole_row& r) { return to_state(r); },
        [](const py::object& state) { return from_state<whole_row>(state); });
}

}  // namespace floptally::detail::python
