// SPDX-License-Identifier: Apache-2.0

#include <floptally/count/detail/weight_states.hpp>
#include <floptally/count/muon.hpp>
#include <floptally/text/version.hpp>

#include "states.hpp"

namespace floptally::python {

folded_model::folded_model(std::shared_ptr<const model_config> config, const convention& how,
                           const training_plan& trains)
    : model(std::move(config)),
      plan(trains),
      counter(*model, how, trains),
      masks(counted_masks(model->cost, counter)) {}

namespace {

[[noreturn]] void refuse_contradiction(const std::string& model, const std::string& asked) {
    throw error("plan", "says " + asked + ", but the model's own plan says " + model +
                            ": leave this setting out, or call cost.planned(plan), which replaces the model's plan");
}

/// The value of a setting in two plans that are added. `usual` is the value that says nothing.
template <class T, class Name>
T combined(const T& model, const T& asked, const T& usual, Name name) {
    if (model != usual && asked != usual && model != asked) {
        refuse_contradiction(name(model), name(asked));
    }
    return asked == usual ? model : asked;
}

std::string to_string(const detail::weight_states::decision& decided) {
    const std::string state = weight_state_names[static_cast<std::size_t>(decided.state)];
    return decided.rank == 0 ? state : state + " of rank " + std::to_string(decided.rank);
}

/// Throws if a plan says another state of a weight than the model's own plan.
void require_same_states(const model_cost& model, const training_plan& asked) {
    training_plan both = model.plan();
    for (const weight_setting& setting : asked.weights) {
        both.weights.push_back(setting, "weights");
    }
    const detail::weight_states of_model(model.plan());
    const detail::weight_states of_both(both);
    const array_view<model_part> parts(model.model().parts.data(), model.model().parts.size());
    of_both.for_each(parts, [&](const model_part& part, std::uint64_t layer, const cost_entry& entry, std::uint64_t) {
        const detail::weight_states::decision is = of_model.state_of(part, layer, entry);
        const detail::weight_states::decision would = of_both.state_of(part, layer, entry);
        if (has_weight(entry.kind) && !(is == would)) {
            const std::string_view weight = part.cost.weight_name(entry);
            const std::string name = std::string(part.cost.components()[entry.component].view())
                                         .append(weight.empty() ? "" : "/")
                                         .append(weight);
            refuse_contradiction("that it is " + to_string(is), "that \"" + name + "\" is " + to_string(would));
        }
    });
}

}  // namespace

training_plan to_plan(py::handle plan, const model_cost& model) {
    if (plan.is_none()) {
        return model.plan();
    }
    const training_plan& asked = to_plan(plan);
    const training_plan& own = model.plan();
    static const training_plan usual;
    if (own == usual || own == asked) {
        return asked;
    }
    const auto named = [](const char* field, const auto& names) {
        return [field, &names](auto value) {
            return std::string(field) + "=\"" + names[static_cast<std::size_t>(value)] + '"';
        };
    };
    training_plan both = own;
    both.counted = combined(own.counted, asked.counted, usual.counted, named("phase", counted_passes_names));
    both.recomputed = combined(own.recomputed, asked.recomputed, usual.recomputed, named("recompute", recompute_names));
    both.flash_attention = own.flash_attention && asked.flash_attention;
    both.recompute_every = combined(own.recompute_every, asked.recompute_every, usual.recompute_every,
                                    [](std::uint64_t every) { return "recompute_every=" + std::to_string(every); });
    both.indexer = combined(own.indexer, asked.indexer, usual.indexer, named("indexer", indexer_training_names));
    both.logits = combined(own.logits, asked.logits, usual.logits, named("logits", logit_tokens_names));
    for (const component_name& component : asked.recomputed_components) {
        if (std::find(both.recomputed_components.begin(), both.recomputed_components.end(), component) ==
            both.recomputed_components.end()) {
            both.recomputed_components.push_back(component, "recompute_components");
        }
    }
    for (const repeated_work& work : asked.repeated) {
        const auto same = std::find_if(
            both.repeated.begin(), both.repeated.end(),
            [&](const repeated_work& other_work) { return other_work.weights.view() == work.weights.view(); });
        if (same == both.repeated.end()) {
            both.repeated.push_back(work, "repeated");
        } else if (same->ranks != work.ranks) {
            const std::string name = "that \"" + std::string(work.weights.view()) + "\" runs on ";
            refuse_contradiction(name + std::to_string(same->ranks) + " ranks", name + std::to_string(work.ranks));
        }
    }
    if (both.weights.empty()) {
        both.weights = asked.weights;
    } else if (!asked.weights.empty() && !(asked.weights == own.weights)) {
        if (model.model().parts.empty()) {
            refuse_contradiction("has weights of its own", "which weights train");
        }
        require_same_states(model, asked);
    }
    return both;
}

namespace {

/// Throws if the argument is a sum of costs whose plan says which weights train, since the plan would apply to all of
/// it as one part.
model_cost sum_of(const model_cost& a, const model_cost& b) {
    if (!(a.plan() == b.plan())) {
        throw error("plan", "must be the same in both costs: set it by planned(), or count each cost alone");
    }
    model_config sum{.model_type = a.model().model_type + " + " + b.model().model_type,
                     .cost = a.full_cost() + b.full_cost(),
                     .notes = a.model().notes,
                     .parts = {},
                     .towers = a.model().towers};
    sum.notes.insert(sum.notes.end(), b.model().notes.begin(), b.model().notes.end());
    sum.towers.insert(sum.towers.end(), b.model().towers.begin(), b.model().towers.end());
    return model_cost(std::move(sum), a.plan());
}

}  // namespace

void bind_costs(py::module_& module) {
    bound_class<model_cost> type = new_class<model_cost>(module, "Cost");
    made_elsewhere(type, "floptally.cost(config), floptally.from_torch(model, …) or Cost.from_entries(entries)");
    static_method(type, "from_entries", [](const arguments& args) {
        return model_cost({.model_type = args.text("model_type"),
                           .cost = cost_of_entries(args["entries"]),
                           .notes = args.as<std::vector<std::string>>("notes"),
                           .parts = {},
                           .towers = {}});
    });
    property(type, "model_type", [](const model_cost& c) { return c.model().model_type; });
    property(type, "notes", [](const model_cost& c) { return c.model().notes; });
    property(type, "assumptions", [](const model_cost& c) { return assumptions_of(c.model()); });
    property(type, "parameters", [](const model_cost& c) { return c.full_cost().parameters(); });
    property(type, "components", [](const model_cost& c) {
        py::list names;
        for (const component_name& name : c.full_cost().components()) {
            names.append(std::string(name.view()));
        }
        return names;
    });
    property(type, "masks", [](const model_cost& c) {
        return std::vector<mask>(c.full_cost().masks().begin(), c.full_cost().masks().end());
    });
    property(type, "entries", [](const model_cost& c) { return whole_entries(c.full_cost()); });
    method(type, "keep", [](const model_cost& c, const arguments& args) {
        model_config wider = c.model();
        wider.cost.keep(args.as<const mask&>("accumulator"));
        return model_cost(std::move(wider), c.plan());
    });
    method(type, "with_muon", [](const model_cost& c, const arguments& args) {
        muon how{.iterations = args.count("iterations")};
        for (const std::string& other : args.as<std::vector<std::string>>("others")) {
            how.others.push_back(other, "others");
        }
        return model_cost(floptally::with_muon(c.model(), to_plan(args["plan"], c), how), c.plan());
    });
    method(type, "save",
           [](py::handle self, const arguments& args) { package_attribute("_saved", "save")(self, args["path"]); });
    static_method(type, "load",
                  [](const arguments& args) { return package_attribute("_saved", "load")(args["path"]); });
    property(type, "plan", [](const model_cost& c) { return c.plan(); });
    method(type, "planned", [](const model_cost& c, const arguments& args) {
        return c.with_plan(args.as<const training_plan&>("plan"));
    });
    operation(type, "__add__", [](const model_cost& a, const model_cost& b) { return sum_of(a, b); });
    method(type, "__rmul__", [](const model_cost& c, const arguments& args) {
        return model_cost({.model_type = c.model().model_type,
                           .cost = args.as<std::uint64_t>("times") * c.full_cost(),
                           .notes = c.model().notes,
                           .parts = {},
                           .towers = c.model().towers},
                          c.plan());
    });
    equality(type);
    shown_as(type, [](const model_cost& c) {
        return "<Cost of " + c.model().model_type + ": " + std::to_string(c.full_cost().parameters()) + " parameters>";
    });
    pickles(
        type, [](const model_cost& c) { return py::make_tuple(to_state(c.model()), c.plan()); },
        [](const py::object& pickled) {
            const py::tuple state(pickled);
            return model_cost(from_state<model_config>(state[0]), state[1].cast<training_plan>());
        });
}

}  // namespace floptally::python
