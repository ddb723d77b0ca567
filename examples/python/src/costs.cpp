// SPDX-License-Identifier: Apache-2.0

#include <floptally/count/muon.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/text/version.hpp>

#include "classes.hpp"

namespace floptally::detail::python {

folded_model::folded_model(std::shared_ptr<const model_config> config, const convention& how,
                           const training_plan& trains)
    : model(std::move(config)),
      plan(trains),
      counter(*model, how, trains),
      masks(counted_masks(model->cost, counter)) {}

const training_plan& to_plan(py::handle plan, const model_cost& model) {
    return plan.is_none() ? model.plan() : to_plan(plan);
}

namespace {

py::tuple part_state(const model_part& s) {
    return py::make_tuple(std::string(s.name.view()), static_cast<unsigned>(s.role), cost_state(s.cost), s.first_layer,
                          s.repeat, s.elsewhere, s.beside);
}

model_part part_of_state(const py::tuple& s) {
    return {.name = s[0].cast<std::string>(),
            .role = static_cast<part_role>(to_count(s[1], "role", 0, static_cast<unsigned>(part_role::anywhere))),
            .cost = cost_of_state(s[2]),
            .first_layer = s[3].cast<std::uint64_t>(),
            .repeat = s[4].cast<std::uint64_t>(),
            .elsewhere = s[5].cast<bool>(),
            .beside = s[6].cast<bool>()};
}

py::tuple tower_state(const tower_input& t) {
    const py::object image = t.image ? static_cast<py::object>(py::make_tuple(t.image->t, t.image->h, t.image->w))
                                     : static_cast<py::object>(py::none());
    const py::object clip =
        t.clip ? static_cast<py::object>(py::int_(t.clip->frames)) : static_cast<py::object>(py::none());
    return py::make_tuple(static_cast<unsigned>(t.in), image, clip, t.units.name(), t.per_unit, t.per_frame,
                          t.per_token, t.are_keys);
}

tower_input tower_of_state(const py::tuple& s) {
    tower_input t{.in = static_cast<modality>(to_count(s[0], "tower", 0, modality_count - 1)),
                  .units = mask_of_text(s[3].cast<std::string>()),
                  .per_unit = s[4].cast<std::uint64_t>(),
                  .per_frame = s[5].cast<std::uint64_t>(),
                  .per_token = s[6].cast<std::uint64_t>(),
                  .are_keys = s[7].cast<bool>()};
    if (!s[1].is_none()) {
        const py::tuple side(s[1]);
        t.image = grid{side[0].cast<std::uint32_t>(), side[1].cast<std::uint32_t>(), side[2].cast<std::uint32_t>()};
    }
    if (!s[2].is_none()) {
        t.clip = audio_clip{s[2].cast<std::uint32_t>()};
    }
    return t;
}

py::tuple model_state(const model_config& model) {
    py::list parts;
    for (const model_part& one : model.parts) {
        parts.append(part_state(one));
    }
    py::list towers;
    for (const tower_input& one : model.towers) {
        towers.append(tower_state(one));
    }
    py::list masks;  // which no row need have
    for (const rule& one : model.cost.masks()) {
        masks.append(one.name());
    }
    return py::make_tuple(std::string(version), model.model_type, cost_state(model.cost), model.notes, parts, towers,
                          masks);
}

model_config model_of_state(const py::tuple& state) {
    if (const auto version_of = state[0].cast<std::string>(); version_of != version) {  // no silent carry of numbers
        throw error("version", "this cost was pickled by floptally " + version_of + ", this is " + version);
    }
    model_config model{.model_type = state[1].cast<std::string>(),
                       .cost = cost_of_state(state[2]),
                       .notes = state[3].cast<std::vector<std::string>>(),
                       .parts = {},
                       .towers = {}};
    for (const py::handle one : state[4]) {
        model.parts.push_back(part_of_state(one.cast<py::tuple>()));
    }
    for (const py::handle one : state[5]) {
        model.towers.push_back(tower_of_state(one.cast<py::tuple>()));
    }
    for (const py::handle one : state[6]) {
        model.cost.keep(mask_of_text(one.cast<std::string>()));
    }
    return model;
}

/// A sum has no parts: a plan that says which weights train takes it as one part.
model_cost sum_of(const model_cost& a, const model_cost& b) {
    if (!(a.plan() == b.plan())) {
        throw error("plan", "the two costs train by different plans: give both one by planned(), or count each alone");
    }
    model_config sum{.model_type = a.model().model_type + " + " + b.model().model_type,
                     .cost = a.of() + b.of(),
                     .notes = a.model().notes,
                     .parts = {},
                     .towers = a.model().towers};
    sum.notes.insert(sum.notes.end(), b.model().notes.begin(), b.model().notes.end());
    sum.towers.insert(sum.towers.end(), b.model().towers.begin(), b.model().towers.end());
    return model_cost(std::move(sum), a.plan());
}

}  // namespace

void bind_costs(py::module_& module) {
    const py::class_<model_cost> type = new_class<model_cost>(module, "Cost");
    made_elsewhere(type, "floptally.cost(config), floptally.from_torch(model, …) or Cost.from_rows(rows)");
    static_method(type, "from_rows", [](const arguments& given) {
        return model_cost({.model_type = given.text("model_type"),
                           .cost = cost_of_rows(given["rows"]),
                           .notes = given.as<std::vector<std::string>>("notes"),
                           .parts = {},
                           .towers = {}});
    });
    property(type, "model_type", [](const model_cost& c) { return c.model().model_type; });
    property(type, "notes", [](const model_cost& c) { return c.model().notes; });
    property(type, "parameters", [](const model_cost& c) { return c.of().parameters(); });
    property(type, "components", [](const model_cost& c) {
        py::list names;
        for (const component_name& name : c.of().components()) {
            names.append(std::string(name.view()));
        }
        return names;
    });
    property(type, "masks",
             [](const model_cost& c) { return std::vector<mask>(c.of().masks().begin(), c.of().masks().end()); });
    property(type, "rows", [](const model_cost& c) { return rows_of(c.of()); });
    method(type, "keep", [](const model_cost& c, const arguments& given) {
        model_config wider = c.model();
        wider.cost.keep(given.as<const mask&>("word"));
        return model_cost(std::move(wider), c.plan());
    });
    method(type, "with_muon", [](const model_cost& c, const arguments& given) {
        muon how{.iterations = given.count("iterations")};
        for (const std::string& other : given.as<std::vector<std::string>>("others")) {
            how.others.push_back(other, "others");
        }
        return model_cost(floptally::with_muon(c.model(), to_plan(given["plan"], c), how), c.plan());
    });
    property(type, "plan", [](const model_cost& c) { return c.plan(); });
    method(type, "planned", [](const model_cost& c, const arguments& given) {
        return c.with_plan(given.as<const training_plan&>("plan"));
    });
    operation(type, "__add__", [](const model_cost& a, const model_cost& b) { return sum_of(a, b); });
    method(type, "__rmul__", [](const model_cost& c, const arguments& given) {
        return model_cost({.model_type = c.model().model_type,
                           .cost = given.as<std::uint64_t>("times") * c.of(),
                           .notes = c.model().notes,
                           .parts = {},
                           .towers = c.model().towers},
                          c.plan());
    });
    equality(type);
    shown_as(type, [](const model_cost& c) {
        return "<Cost of " + c.model().model_type + ": " + std::to_string(c.of().parameters()) + " parameters>";
    });
    pickles(
        type, [](const model_cost& c) { return py::make_tuple(model_state(c.model()), c.plan()); },
        [](const py::object& state) {
            const py::tuple s(state);
            return model_cost(model_of_state(s[0]), s[1].cast<training_plan>());
        });
}

}  // namespace floptally::detail::python
