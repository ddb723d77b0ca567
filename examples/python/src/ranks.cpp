// SPDX-License-Identifier: Apache-2.0

#include "ranks.hpp"

#include <floptally/count/word_coefficients.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/reduction.hpp>
#include <floptally/parallel/redundant_work.hpp>
#include <floptally/parallel/sequence_ratios.hpp>
#include <floptally/parallel/slice_records.hpp>
#include <floptally/parallel/statistic_scope.hpp>
#include <floptally/parallel/tally_scope.hpp>

/// @file
/// Sums over ranks: layouts, scopes, reductions whose collectives are written in Python, and ratios of sequences.

namespace floptally::detail::python {

namespace {

constexpr const char* share_words[] = {"replicated", "trusted", "sharded", "first", "last"};
constexpr const char* scope_words[] = {"microbatch", "context_slice", "first_stage", "last_stage", "own_routers"};
constexpr statistic_scope scope_presets[] = {scopes::microbatch, scopes::context_slice, scopes::first_stage,
                                             scopes::last_stage, scopes::own_routers};
static_assert(std::size(scope_presets) == std::size(scope_words));

}  // namespace

statistic_scope to_scope(py::handle scope, std::string_view field) {
    if (py::isinstance<statistic_scope>(scope)) {
        return scope.cast<statistic_scope>();
    }
    if (!py::isinstance<py::str>(scope)) {
        throw error(field, "must be a floptally.Scope or the name of one, got " + shown(scope));
    }
    return scope_presets[from_word<std::size_t>(to_text(scope, field), field, scope_words)];
}

namespace {

/// `scope` for every statistic but those that `other` names, as errors name them: "routed", "vision", "vision.tokens".
tally_scope to_tally_scope(const py::object& scope, const py::dict& other) {
    tally_scope all = to_scope(scope, "scope");
    for (const bool of_towers : {true, false}) {  // one statistic of a tower wins over the tower
        for (const auto& [key, value] : other) {
            const auto name = key.cast<std::string>();
            const statistic_scope held = to_scope(value, "scope of " + name);
            bool found = name.starts_with("measured(") && name.ends_with(")");
            if (found) {
                all = all.with_measured(name.substr(9, name.size() - 10), held);
            }
            for (const modality in : {modality::text, modality::vision, modality::audio}) {
                for (std::size_t place = 0; place < statistic_count; ++place) {
                    const auto what = static_cast<statistic>(place);
                    const bool names_tower = name == name_of(in);
                    const bool is_named = names_tower || name == qualified(in, name_of(what));
                    found = found || is_named;
                    all = is_named && names_tower == of_towers ? all.with(what, held, in) : all;
                }
            }
            if (!found) {
                throw error(
                    "scope",
                    "must name a statistic (tokens, vision.tokens, pairs, measured(name), …) or a tower, got \"" +
                        name + "\"");
            }
        }
    }
    return all;
}

microbatch_visits visits_of(const arguments& given) {
    if (!given.some("visits")) {
        return {};
    }
    const auto [ran, added] = given.as<std::pair<std::uint64_t, std::uint64_t>>("visits");
    return {.ran = ran, .added = added};
}

axis_set to_axes(const std::vector<std::string>& axes) {
    axis_set over;
    for (const std::string& axis : axes) {
        over = over | from_word<parallel_axis>(axis, "axes", parallel_axis_names);
    }
    return over;
}

parallel_layout layout_of(const arguments& given) {
    const parallel_sizes sizes{.dp = given.count("dp"),
                               .cp = given.count("cp"),
                               .tp = given.count("tp"),
                               .pp = given.count("pp"),
                               .vpp = given.count("vpp"),
                               .ep = given.count("ep")};
    const floptally::checked data = floptally::checked(sizes.dp, "world_size") * sizes.cp;
    const floptally::checked product = data * (floptally::checked(sizes.tp, "world_size") * sizes.pp);
    const py::handle ranks = given.some("world_size");
    return {sizes, ranks ? to_count(ranks, "world_size") : std::uint64_t{product}, given.count("rank"),
            given.text("order")};
}

training_plan plan_with_redundant_work(const parallel_layout& layout, const arguments& given) {
    const py::object repeated = given["repeated"];
    std::vector<redundant_work> over;  // in the order of the dict: of names that fit the last one holds
    for (const auto& [weights, axes] : given.as<py::dict>("repeated")) {
        if (!py::isinstance<py::str>(weights) || !is_sequence(axes)) {
            throw error("redundant_work", "must be {name: [axis, …]}, got " + shown(repeated));
        }
        over.push_back({weights.cast<std::string>(), to_axes(axes.cast<std::vector<std::string>>())});
    }
    return with_redundant_work(to_plan(given["plan"]), layout, std::span<const redundant_work>(over));
}

void bind_layout(py::module_& module) {
    const py::class_<parallel_layout> type = new_class<parallel_layout>(module, "ParallelLayout");
    constructor(type, [](const arguments& given) { return layout_of(given); });
    property(type, "rank", [](const parallel_layout& layout) { return layout.rank(); });
    property(type, "world_size", [](const parallel_layout& layout) { return layout.world_size(); });
    property(type, "coordinates", [](const parallel_layout& layout) {
        py::dict at;
        for (const parallel_axis axis : dense_axes) {
            at[py::str(std::string(name_of(axis)))] = layout.coordinate(axis);
        }
        return at;
    });
    method(type, "group", [](const parallel_layout& layout, const arguments& given) {
        py::list ranks;
        for (const std::uint64_t rank : layout.group(to_axes(given.as<std::vector<std::string>>("axes")))) {
            ranks.append(rank);
        }
        return ranks;
    });
    method(type, "with_redundant_work", [](const parallel_layout& layout, const arguments& given) {
        return plan_with_redundant_work(layout, given);
    });
    equality(type);
}

void bind_scope(py::module_& module) {
    const py::class_<statistic_scope> type = new_class<statistic_scope>(module, "Scope");
    constructor(type, [](const arguments& given) {
        statistic_scope scope = to_scope(given["preset"], "preset");
        for (const auto& [key, value] : given.others()) {
            const auto name = key.cast<std::string>();
            const share held = from_word<share>(to_text(value, name), name, share_words);
            scope = name == "virtual_stages"
                        ? scope.along_virtual_stages(held)
                        : scope.along(from_word<parallel_axis>(name, "axis", parallel_axis_names), held);
        }
        return scope;
    });
    method(type, "trusting_replicas",
           [](const statistic_scope& scope, const arguments&) { return scope.trusting_replicas(); });
    method(type, "parts", [](const statistic_scope& scope, const arguments& given) {
        return scope.parts(given.as<const parallel_layout&>("layout"));
    });
    equality(type);
    shown_as(type, [](const statistic_scope& scope) {
        std::string text = "Scope(";
        for (const parallel_axis axis : {parallel_axis::dp, parallel_axis::cp, parallel_axis::tp, parallel_axis::pp}) {
            text.append(name_of(axis)).append("=\"").append(to_word(scope.along(axis), share_words)).append("\", ");
        }
        return text + "virtual_stages=\"" + to_word(scope.along_virtual_stages(), share_words) + "\")";
    });
}

/// One scope for both sides, or two where the caller says that they are meant to differ.
ratio_scope ratio_scope_of(const arguments& given) {
    const statistic_scope numerator = to_scope(given["scope"], "scope");
    const py::handle other = given.some("denominator_scope");
    const statistic_scope denominator = other ? to_scope(other, "denominator_scope") : numerator;
    return given.flag("different_scopes") ? ratio_scope(numerator, denominator, different_scopes)
                                          : ratio_scope(numerator, denominator);
}

py::tuple reduced_sequences(const arguments& given) {
    const auto numerators = given.as<std::vector<double>>("numerators");
    const auto denominators = given.as<std::vector<std::uint64_t>>("denominators");
    const python_reducer sharing(given["within"]);
    const python_reducer replicas(given["over_dp"]);
    const py::object function_of = given["of"];
    const auto transform = [&function_of](double value) {
        try {
            return function_of.is_none() ? value : function_of(value).cast<double>();
        } catch (const py::error_already_set& problem) {  // an error like any other, so that no rank waits
            throw error("of", problem.what());
        } catch (const py::cast_error&) {
            throw error("of", "must return a float");
        }
    };
    const ratio_summary all = reduce_sequences(
        std::span<const double>(numerators), std::span<const std::uint64_t>(denominators), ratio_scope_of(given),
        given.as<const parallel_layout&>("layout"), sharing, replicas, transform);
    const bool none = all.sequences == 0;
    return none ? py::tuple(py::make_tuple(all.sequences, all.empty, py::none(), py::none(), py::none()))
                : py::tuple(py::make_tuple(all.sequences, all.empty, all.mean(), all.least, all.largest));
}

/// A folded model as a reduction takes it, with the masks of the tallies that Python makes of it.
struct evaluating_model {
    const folded_model& model;

    [[nodiscard]] const mask_set& masks() const { return model.masks; }
    [[nodiscard]] const convention& counted_as() const { return model.counter.counted_as(); }
    [[nodiscard]] const word_coefficients& by_component() const { return model.counter.by_component(); }
};

/// A reduction of tallies like one, or of those that a cost, a convention and a plan evaluate.
tally_reduction reduction_of(const arguments& given) {
    const python_reducer over(given["reducer"]);
    const tally_scope held = to_tally_scope(given["scope"], given.as<py::dict>("other_scopes"));
    const auto& layout = given.as<const parallel_layout&>("layout");
    const py::object like = given["like"];
    const py::object plan = given["plan"];
    const py::handle name = given.some("convention");
    const auto how = name ? std::optional<convention>(convention_named(to_text(name, "convention"))) : std::nullopt;
    if (py::isinstance<model_cost>(like)) {
        if (!how) {
            throw error("convention", "must be named where a Cost says what evaluates the sum");
        }
        const auto& model = like.cast<const model_cost&>();
        const auto folded = model.folded(*how, to_plan(plan, model));
        return {evaluating_model{*folded}, held, layout, over};
    }
    if (!py::isinstance<tally>(like)) {
        throw error("like", "must be a floptally.Tally or a floptally.Cost, got " + shown(like));
    }
    if (!plan.is_none()) {
        throw error("plan", "is that of a Cost, and like is a Tally");
    }
    return {like.cast<const tally&>().masks(), held, layout, over, how};
}

}  // namespace

void bind_ranks(py::module_& module) {
    bind_layout(module);
    bind_scope(module);
    const py::class_<tally_reduction> type = new_class<tally_reduction>(module, "TallyReduction");
    constructor(type, [](const arguments& given) { return reduction_of(given); });
    method(type, "sum", [](const tally_reduction& reduction, const arguments& given) {
        const python_reducer over(given["reducer"]);
        return reduction.sum(given.as<const tally&>("mine"), over, visits_of(given));
    });
    method(type, "scaled", [](const tally_reduction& reduction, const arguments& given) {
        return reduction.scaled(given.as<const tally&>("mine"), equal_lengths, visits_of(given));
    });
    function(module, "reduce_ratio", [](const arguments& given) {
        const python_reducer over(given["reducer"]);
        const ratio all = reduce(ratio(given.count("numerator"), given.count("denominator")),
                                 to_scope(given["scope"], "scope"), given.as<const parallel_layout&>("layout"), over);
        return std::pair(all.numerator(), all.denominator());
    });
    function(module, "reduce_extremes", [](const arguments& given) {
        const python_reducer over(given["reducer"]);
        extremes mine;
        for (const py::handle value : items_of(given["values"], "values", "a list of integers")) {
            mine.add(to_count(value, "values"));
        }
        const extremes all =
            reduce(mine, to_scope(given["scope"], "scope"), given.as<const parallel_layout&>("layout"), over);
        return all.empty() ? py::tuple(py::make_tuple(0, py::none(), py::none()))
                           : py::tuple(py::make_tuple(all.count(), all.min(), all.max()));
    });
    function(module, "reduce_sequences", [](const arguments& given) { return reduced_sequences(given); });
}

}  // namespace floptally::detail::python
