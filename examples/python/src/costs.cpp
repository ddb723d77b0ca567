// SPDX-License-Identifier: Apache-2.0

#include <floptally/count/muon.hpp>
#include <floptally/text/version.hpp>

#include "states.hpp"

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
    property(type, "rows", [](const model_cost& c) { return whole_rows(c.of()); });
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
    method(type, "save",
           [](py::handle self, const arguments& given) { package_attribute("_saved", "save")(self, given["path"]); });
    static_method(type, "load",
                  [](const arguments& given) { return package_attribute("_saved", "load")(given["path"]); });
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
        type, [](const model_cost& c) { return py::make_tuple(to_state(c.model()), c.plan()); },
        [](const py::object& given) {
            const py::tuple state(given);
            return model_cost(from_state<model_config>(state[0]), state[1].cast<training_plan>());
        });
}

}  // namespace floptally::detail::python
