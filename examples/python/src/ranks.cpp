// SPDX-License-Identifier: Apache-2.0

#include "ranks.hpp"

#include <floptally/count/flop_counter.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/reduction.hpp>
#include <floptally/parallel/redundant_work.hpp>
#include <floptally/parallel/sequence_ratios.hpp>
#include <floptally/parallel/statistic_scope.hpp>
#include <floptally/parallel/tally_scope.hpp>

/// @file
/// Sums over ranks: layouts, scopes, reductions with collectives written in Python, and ratios of sequences.

namespace floptally::python {

namespace {

constexpr const char* placement_names[] = {"replicated", "trusted", "sharded", "first", "last"};
constexpr const char* scope_names[] = {"microbatch", "context_slice", "first_stage", "last_stage", "own_routers"};
constexpr statistic_scope scope_presets[] = {scopes::microbatch, scopes::context_slice, scopes::first_stage,
                                             scopes::last_stage, scopes::own_routers};
static_assert(std::size(scope_presets) == std::size(scope_names));

struct named_size {
    const char* name;
    std::uint64_t parallel_sizes::*size;
};
constexpr named_size layout_sizes[] = {{"dp", &parallel_sizes::dp},   {"cp", &parallel_sizes::cp},
                                       {"tp", &parallel_sizes::tp},   {"pp", &parallel_sizes::pp},
                                       {"vpp", &parallel_sizes::vpp}, {"ep", &parallel_sizes::ep},
                                       {"etp", &parallel_sizes::etp}, {"dp_replicate", &parallel_sizes::dp_replicate}};

}  // namespace

trainer_layout layout_of(const arguments& args) {
    const auto text = args.some_text("layout");
    const auto ranks = args.has("world_size") ? args.some_count("world_size") : std::nullopt;
    trainer_layout layout = text ? read_layout(*text, ranks) : trainer_layout{};
    for (const auto& [name, size] : layout_sizes) {
        const auto number = args.some_count(name);
        const std::uint64_t said = size == &parallel_sizes::etp ? layout.sizes.expert_tp() : layout.sizes.*size;
        if (number && text && *number != said) {
            throw error(name, floptally::detail::text_of(
                                  {"is ", *number, ", but the layout says ", said, ": leave one of them out"}));
        }
        if (number) {
            require_positive(*number, name);
            layout.sizes.*size = *number;
        }
    }
    if (const auto order = args.some_text("order")) {
        layout.order = *order;
    }
    if (const auto order = args.some_text("expert_order")) {
        layout.expert_order = *order;
    }
    return layout;
}

pipeline_options split_options_of(const arguments& args) {
    return {.num_layers_in_first_pipeline_stage = args.count("num_layers_in_first_pipeline_stage"),
            .num_layers_in_last_pipeline_stage = args.count("num_layers_in_last_pipeline_stage"),
            .account_for_embedding_in_pipeline_split = args.flag("account_for_embedding_in_pipeline_split"),
            .account_for_loss_in_pipeline_split = args.flag("account_for_loss_in_pipeline_split"),
            .pipeline_model_parallel_layout = args.some_text("pipeline_model_parallel_layout").value_or(""),
            .layers = from_name<layer_split>(args.text("layer_split"), "layer_split", layer_split_names)};
}

void put_bandwidth(group_bandwidths& bandwidths, const std::string& group, double gbps) {
    if (group == "within" || group == "between") {
        (group == "within" ? bandwidths.within_nodes : bandwidths.between_nodes) = gbps;
        return;
    }
    bandwidths = bandwidths.with(from_name<parallel_axis>(group, "network_gbps", parallel_axis_names), gbps);
}

statistic_scope to_scope(py::handle scope, std::string_view field) {
    if (py::isinstance<statistic_scope>(scope)) {
        return scope.cast<statistic_scope>();
    }
    if (!py::isinstance<py::str>(scope)) {
        throw error(field, "must be a floptally.Scope or the name of one, got " + shown(scope));
    }
    return scope_presets[from_name<std::size_t>(to_text(scope, field), field, scope_names)];
}

namespace {

/// `scope` for every statistic, except those in `other`. Its names are as in errors: "routed", "vision",
/// "vision.tokens".
tally_scope to_tally_scope(const py::object& scope, const py::dict& other) {
    tally_scope all = to_scope(scope, "scope");
    for (const bool of_towers : {true, false}) {  // a single statistic of a tower overrides the tower
        for (const auto& [key, value] : other) {
            const auto name = key.cast<std::string>();
            const statistic_scope held = to_scope(value, "scope of " + name);
            bool found = name.starts_with("measured(") && name.ends_with(")");
            if (found) {
                all = all.with_measured(name.substr(9, name.size() - 10), held);
            }
            for (const modality in : {modality::text, modality::vision, modality::audio}) {
                for (std::size_t place = 0; place < accumulator_count; ++place) {
                    const auto what = static_cast<accumulator>(place);
                    const bool names_tower = name == name_of(in);
                    const bool is_named = names_tower || name == qualified(in, name_of(what));
                    found = found || is_named;
                    all = is_named && names_tower == of_towers ? all.with(what, held, in) : all;
                }
            }
            if (!found) {
                throw error("scope",
                            "must name a statistic (such as tokens, vision.tokens, pairs or measured(name)) or a "
                            "tower, got \"" +
                                name + "\"");
            }
        }
    }
    return all;
}

microbatch_visits visits_of(const arguments& args) {
    if (!args.some("visits")) {
        return {};
    }
    const auto [ran, additions] = args.as<std::pair<std::uint64_t, std::uint64_t>>("visits");
    return {.ran = ran, .added = additions};
}

axis_set to_axes(const std::vector<std::string>& axes) {
    axis_set over;
    for (const std::string& axis : axes) {
        over = over | from_name<parallel_axis>(axis, "axes", parallel_axis_names);
    }
    return over;
}

parallel_layout layout_of_rank(const arguments& args) {
    const trainer_layout layout = layout_of(args);
    const auto ranks = args.some_count("world_size");
    return {layout.sizes, ranks ? *ranks : layout.sizes.world_size(), args.count("rank"), layout.order,
            layout.expert_order};
}

training_plan plan_with_redundant_work(const parallel_layout& layout, const arguments& args) {
    const py::object repeated = args["repeated"];
    std::vector<redundant_work> over;  // in the order of the dict: the last matching name decides
    for (const auto& [weights, axes] : args.as<py::dict>("repeated")) {
        if (!py::isinstance<py::str>(weights) || !is_sequence(axes)) {
            throw error("redundant_work",
                        "must be a dict of names to lists of axes, such as {\"vision.*\": [\"cp\", \"tp\"]}, got " +
                            shown(repeated));
        }
        over.push_back({weights.cast<std::string>(), to_axes(axes.cast<std::vector<std::string>>())});
    }
    return with_redundant_work(to_plan(args["plan"]), layout, std::span<const redundant_work>(over));
}

void bind_layout(py::module_& module) {
    bound_class<parallel_layout> type = new_class<parallel_layout>(module, "ParallelLayout");
    constructor(type, [](const arguments& args) { return layout_of_rank(args); });
    property(type, "sizes", [](const parallel_layout& layout) {
        py::dict sizes;
        for (const auto& [name, size] : layout_sizes) {
            sizes[name] = size == &parallel_sizes::etp ? layout.sizes().expert_tp() : layout.sizes().*size;
        }
        return sizes;
    });
    property(type, "order", [](const parallel_layout& layout) { return layout.order(); });
    property(type, "expert_order", [](const parallel_layout& layout) { return layout.expert_order(); });
    method(type, "text", [](const parallel_layout& layout, const arguments& args) {
        return to_text(
            trainer_layout{.sizes = layout.sizes(), .order = layout.order(), .expert_order = layout.expert_order()},
            from_name<layout_format>(args.text("format"), "format", layout_format_names));
    });
    property(type, "rank", [](const parallel_layout& layout) { return layout.rank(); });
    property(type, "world_size", [](const parallel_layout& layout) { return layout.world_size(); });
    property(type, "coordinates", [](const parallel_layout& layout) {
        py::dict at;
        for (const parallel_axis axis : dense_axes) {
            at[py::str(std::string(name_of(axis)))] = layout.coordinate(axis);
        }
        return at;
    });
    method(type, "group", [](const parallel_layout& layout, const arguments& args) {
        py::list ranks;
        for (const std::uint64_t rank : layout.group(to_axes(args.as<std::vector<std::string>>("axes")))) {
            ranks.append(rank);
        }
        return ranks;
    });
    method(type, "with_redundant_work",
           [](const parallel_layout& layout, const arguments& args) { return plan_with_redundant_work(layout, args); });
    equality(type);
}

void bind_scope(py::module_& module) {
    bound_class<statistic_scope> type = new_class<statistic_scope>(module, "Scope");
    constructor(type, [](const arguments& args) {
        statistic_scope scope = to_scope(args["preset"], "preset");
        for (const auto& [key, value] : args.others()) {
            const auto name = key.cast<std::string>();
            const placement held = from_name<placement>(to_text(value, name), name, placement_names);
            scope = name == "virtual_stages"
                        ? scope.along_virtual_stages(held)
                        : scope.along(from_name<parallel_axis>(name, "axis", parallel_axis_names), held);
        }
        return scope;
    });
    method(type, "trusting_replicas",
           [](const statistic_scope& scope, const arguments&) { return scope.trusting_replicas(); });
    method(type, "parts", [](const statistic_scope& scope, const arguments& args) {
        return scope.parts(args.as<const parallel_layout&>("layout"));
    });
    equality(type);
    shown_as(type, [](const statistic_scope& scope) {
        std::string text = "Scope(";
        for (const parallel_axis axis : {parallel_axis::dp, parallel_axis::cp, parallel_axis::tp, parallel_axis::pp}) {
            text.append(name_of(axis)).append("=\"").append(to_name(scope.along(axis), placement_names)).append("\", ");
        }
        return text + "virtual_stages=\"" + to_name(scope.along_virtual_stages(), placement_names) + "\")";
    });
}

/// One scope for numerators and denominators. Two, if the caller says that they differ on purpose.
ratio_scope ratio_scope_of(const arguments& args) {
    const statistic_scope numerator = to_scope(args["scope"], "scope");
    const py::handle other = args.some("denominator_scope");
    const statistic_scope denominator = other ? to_scope(other, "denominator_scope") : numerator;
    return args.flag("different_scopes") ? ratio_scope(numerator, denominator, different_scopes)
                                         : ratio_scope(numerator, denominator);
}

py::tuple reduced_sequences(const arguments& args) {
    const auto numerators = args.as<std::vector<double>>("numerators");
    const auto denominators = args.as<std::vector<std::uint64_t>>("denominators");
    const python_reducer sharing(args["within"]);
    const python_reducer replicas(args["over_dp"]);
    const py::object function_of = args["of"];
    const auto transform = [&function_of](double value) {
        try {
            return function_of.is_none() ? value : function_of(value).cast<double>();
        } catch (const py::error_already_set& problem) {  // treated like any other error, so that no rank waits
            throw error("of", problem.what());
        } catch (const py::cast_error&) {
            throw error("of", "must be a function from a float to a float, such as math.exp");
        }
    };
    const ratio_summary all =
        reduce_sequences(std::span<const double>(numerators), std::span<const std::uint64_t>(denominators),
                         ratio_scope_of(args), args.as<const parallel_layout&>("layout"), sharing, replicas, transform);
    const bool none = all.sequences == 0;
    return none ? py::tuple(py::make_tuple(all.sequences, all.empty, py::none(), py::none(), py::none()))
                : py::tuple(py::make_tuple(all.sequences, all.empty, all.mean(), all.least, all.largest));
}

/// A folded model for a reduction, with the masks of the tallies that Python creates from it.
struct evaluating_model {
    const folded_model& model;

    [[nodiscard]] const mask_set& masks() const { return model.masks; }
    [[nodiscard]] const convention& counted_as() const { return model.counter.counted_as(); }
    [[nodiscard]] const detail::accumulator_coefficients& by_component() const { return model.counter.by_component(); }
};

/// A reduction of tallies like a given one, or of tallies for a cost, a convention and a plan.
tally_reduction reduction_of(const arguments& args) {
    const python_reducer over(args["reducer"]);
    const tally_scope held = to_tally_scope(args["scope"], args.as<py::dict>("other_scopes"));
    const auto& layout = args.as<const parallel_layout&>("layout");
    const py::object like = args["like"];
    const py::object plan = args["plan"];
    const py::handle name = args.some("convention");
    const auto how = name ? std::optional<convention>(convention_named(to_text(name, "convention"))) : std::nullopt;
    if (py::isinstance<model_cost>(like)) {
        if (!how) {
            throw error("convention", "is missing: pass convention=, since `like` is a Cost");
        }
        const auto& model = value_of<model_cost>(like);
        const auto folded = model.folded(*how, to_plan(plan, model));
        return {evaluating_model{*folded}, held, layout, over};
    }
    if (!py::isinstance<tally>(like)) {
        throw error("like", "must be a floptally.Tally or a floptally.Cost, got " + shown(like));
    }
    if (!plan.is_none()) {
        throw error("plan", "cannot be used, since `like` is a Tally and not a Cost: leave it out");
    }
    return {value_of<tally>(like).masks(), held, layout, over, how};
}

}  // namespace

void bind_ranks(py::module_& module) {
    bind_layout(module);
    bind_scope(module);
    bound_class<tally_reduction> type = new_class<tally_reduction>(module, "TallyReduction");
    constructor(type, [](const arguments& args) { return reduction_of(args); });
    method(type, "sum", [](const tally_reduction& reduction, const arguments& args) {
        const python_reducer over(args["reducer"]);
        return reduction.sum(args.as<const tally&>("mine"), over, visits_of(args));
    });
    method(type, "scaled", [](const tally_reduction& reduction, const arguments& args) {
        return reduction.scaled(args.as<const tally&>("mine"), equal_lengths, visits_of(args));
    });
    function(module, "reduce_ratio", [](const arguments& args) {
        const python_reducer over(args["reducer"]);
        const ratio all = reduce(ratio(args.count("numerator"), args.count("denominator")),
                                 to_scope(args["scope"], "scope"), args.as<const parallel_layout&>("layout"), over);
        return std::pair(all.numerator(), all.denominator());
    });
    function(module, "reduce_extremes", [](const arguments& args) {
        const python_reducer over(args["reducer"]);
        extremes mine;
        for (const py::handle value : items_of(args["values"], "values", "a list of integers")) {
            mine.add(to_count(value, "values"));
        }
        const extremes all =
            reduce(mine, to_scope(args["scope"], "scope"), args.as<const parallel_layout&>("layout"), over);
        return all.empty() ? py::tuple(py::make_tuple(0, py::none(), py::none()))
                           : py::tuple(py::make_tuple(all.count(), all.min(), all.max()));
    });
    function(module, "reduce_sequences", [](const arguments& args) { return reduced_sequences(args); });
}

}  // namespace floptally::python
