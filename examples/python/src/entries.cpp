// SPDX-License-Identifier: Apache-2.0

#include <floptally/descriptors/sharding.hpp>
#include <floptally/descriptors/term.hpp>

#include "states.hpp"

namespace floptally::python {

namespace {

/// The names in the table of terms, as the array that `to_name` takes.
struct term_word_list {
    const char* all[term_count]{};

    constexpr term_word_list() {
        for (std::size_t kind = 0; kind < term_count; ++kind) {
            all[kind] = meanings[kind].name;
        }
    }
};
inline constexpr term_word_list every_term_word;
inline constexpr const char* const (&term_names)[term_count] = every_term_word.all;

inline constexpr const char* split_names[] = {"unsaid",    "several",    "columns", "rows", "heads",      "kv_heads",
                                              "fused_qkv", "vocabulary", "experts", "even", "replicated", "repeated"};
static_assert(std::size(split_names) == static_cast<std::size_t>(sharding_kind::repeated) + 1);

whole_entry make_entry(const std::string& component, const py::object& unit, const std::string& kind,
                       const py::object& flops_per_unit, const py::object& parameters,
                       const py::object& padded_flops_per_unit, const std::string& weight, const std::string& in,
                       const std::string& split, const py::object& units, const py::object& inner_units) {
    whole_entry result{.component = component, .weight = weight, .entry = {}, .attends = {}};
    cost_entry& entry = result.entry;
    if (py::isinstance<mask>(unit)) {
        result.attends = unit.cast<mask>();
        entry.what = result.attends.is_measured() ? accumulator::routed : accumulator::pairs;
        entry.in = result.attends.in();
    } else if (py::isinstance<py::str>(unit)) {
        entry.what = from_name<accumulator>(unit.cast<std::string>(), "unit", statistic_names);
        entry.in = from_name<modality>(in, "tower", modality_names);
    } else {
        throw error("unit", "must be the name of a statistic or a floptally.Mask, got " + shown(unit));
    }
    entry.kind = from_name<term>(kind, "kind", term_names);
    entry.useful = to_count(flops_per_unit, "flops_per_unit");
    entry.padded =
        padded_flops_per_unit.is_none() ? entry.useful : to_count(padded_flops_per_unit, "padded_flops_per_unit");
    entry.parameters = to_count(parameters, "parameters");
    entry.sharding = {from_name<sharding_kind>(split, "split", split_names), to_count(units, "units"),
                      to_count(inner_units, "inner_units")};
    return result;
}

/// An `Entry`, or a tuple of its first four or five arguments.
whole_entry to_entry(py::handle item) {
    if (py::isinstance<whole_entry>(item)) {
        return item.cast<whole_entry>();
    }
    const py::tuple parts =
        items_of(item, "row", "a floptally.Entry or (component, unit, kind, flops_per_unit[, parameters])", 4, 5);
    return make_entry(to_text(parts[0], "component"), parts[1], to_text(parts[2], "kind"), parts[3],
                      parts.size() == 5 ? py::object(parts[4]) : py::int_(0), py::none(), "", "text", "unsaid",
                      py::int_(0), py::int_(0));
}

}  // namespace

py::object whole_entry::unit() const {
    const bool named =
        entry.what == accumulator::pairs || (entry.what == accumulator::routed && !attends.is_polynomial());
    return named ? py::cast(attends) : static_cast<py::object>(py::str(to_name(entry.what, statistic_names)));
}

std::vector<whole_entry> whole_entries(const cost& model) {
    std::vector<whole_entry> entries;
    for (const cost_entry& entry : model.entries()) {
        entries.push_back({model.components()[entry.component], std::string(model.weight_name(entry)), entry,
                           has_statistic(entry.what) ? mask(model.masks()[entry.mask]) : mask{}});
    }
    return entries;
}

cost cost_of_entries(py::handle entries) {
    cost sum;
    std::size_t index = 0;
    for (const py::handle item : items_of(entries, "entries", "a list of floptally.Entry or tuples")) {
        try {
            const whole_entry entry = to_entry(item);
            sum.add_entry(entry.component, entry.weight, entry.entry, entry.attends);
        } catch (const overflow&) {
            throw;
        } catch (const error& problem) {
            throw error(indexed("entries", index).append(".").append(problem.field()), problem.problem());
        }
        ++index;
    }
    return sum;
}

void bind_entries(py::module_& module) {
    bound_class<whole_entry> type = new_class<whole_entry>(module, "Entry");
    constructor(type, [](const arguments& args) {
        return make_entry(args.text("component"), args["unit"], args.text("kind"), args["flops_per_unit"],
                          args["parameters"], args["padded_flops_per_unit"], args.text("weight"), args.text("tower"),
                          args.text("split"), args["units"], args["inner_units"]);
    });
    property(type, "component", [](const whole_entry& r) { return r.component.view(); });
    property(type, "unit", [](const whole_entry& r) { return r.unit(); });
    property(type, "kind", [](const whole_entry& r) { return to_name(r.entry.kind, term_names); });
    property(type, "flops_per_unit", [](const whole_entry& r) { return r.entry.useful; });
    property(type, "padded_flops_per_unit", [](const whole_entry& r) { return r.entry.padded; });
    property(type, "parameters", [](const whole_entry& r) { return r.entry.parameters; });
    property(type, "weight", [](const whole_entry& r) { return r.weight; });
    property(type, "tower", [](const whole_entry& r) { return std::string(name_of(r.entry.in)); });
    property(type, "split", [](const whole_entry& r) { return to_name(r.entry.sharding.by, split_names); });
    property(type, "units", [](const whole_entry& r) { return r.entry.sharding.units; });
    property(type, "inner_units", [](const whole_entry& r) { return r.entry.sharding.inner; });
    equality(type, [](const whole_entry& r) { return to_state(r); });
    shown_as(type, [](const whole_entry& r) {
        return "Entry(\"" + std::string(r.component.view()) + "\", " + shown(r.unit()) + ", \"" +
               to_name(r.entry.kind, term_names) + "\", " + std::to_string(r.entry.useful) + ", " +
               std::to_string(r.entry.parameters) + ")";
    });
    pickles(
        type, [](const whole_entry& r) { return to_state(r); },
        [](const py::object& state) { return from_state<whole_entry>(state); });
}

}  // namespace floptally::python
