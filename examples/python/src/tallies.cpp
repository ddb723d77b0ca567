// SPDX-License-Identifier: Apache-2.0

#include <floptally/batch/tree.hpp>

#include "classes.hpp"

namespace floptally::python {

mask_set masks_for(const arguments& args) {
    const py::object source = args["cost_or_masks"];
    if (py::isinstance<model_cost>(source)) {
        const auto& model = value_of<model_cost>(source);
        return model.folded(to_convention(args["convention"]), to_plan(args["plan"], model))->masks;
    }
    if (source.is_none()) {
        return {};
    }
    if (py::isinstance<tally>(source)) {
        return value_of<tally>(source).masks();
    }
    return to_masks(source);
}

namespace {

py::array_t<std::int64_t> accumulators_array(const tally& t) {
    py::array_t<std::int64_t> out(static_cast<py::ssize_t>(t.accumulators().size()));
    std::int64_t* to = out.mutable_data();
    for (const std::uint64_t accumulator : t.accumulators()) {
        *to++ = static_cast<std::int64_t>(accumulator);
    }
    return out;
}

/// Accumulators after an all-reduce of int64: the same 64 bits.
std::vector<std::uint64_t> accumulator_bits(const py::object& accumulators) {
    const integers numbers(accumulators, "accumulators");
    std::vector<std::uint64_t> bits;
    numbers.view().visit([&](const auto& all) {
        for (const auto accumulator : all) {
            bits.push_back(static_cast<std::uint64_t>(accumulator));
        }
    });
    return bits;
}

/// Accumulators, masks and towers.
py::tuple tally_state(const tally& t) {
    py::list masks;
    for (const statistic& m : t.masks()) {
        masks.append(mask(m));
    }
    py::list towers;
    for (const char* name : modality_names) {
        if (t.masks().has(from_name<modality>(name, "tower", modality_names))) {
            towers.append(name);
        }
    }
    py::list measured;
    for (const statistic& m : t.masks()) {
        if (t.has_measured(m)) {
            measured.append(mask(m));
        }
    }
    return py::make_tuple(masks, towers, accumulators_array(t).attr("tolist")(), measured);
}

tally tally_of_state(const py::tuple& state) {
    mask_set masks = to_masks(state[0]);
    for (const py::handle name : state[1]) {
        masks.include(from_name<modality>(name.cast<std::string>(), "tower", modality_names));
    }
    tally restored = tally::from_accumulators(masks, accumulator_bits(state[2]));
    for (const py::handle which : state.size() > 3 ? py::list(state[3]) : py::list()) {
        restored.mark_measured(which.cast<mask>());
    }
    return restored;
}

/// (drafted, accepted) of each step.
void add_speculative(tally& t, const arguments& args) {
    std::vector<speculation> steps;
    for (const py::handle item : items_of(args["steps"], "steps", "a list of (drafted, accepted)")) {
        const std::string field = indexed("steps", steps.size());
        const py::tuple both = items_of(item, field, "(drafted, accepted)", 2, 2);
        steps.push_back({to_length(both[0], indexed(field, 0)), to_length(both[1], indexed(field, 1))});
    }
    t.add(speculative_passes(to_length(args["prompt"], "prompt"), steps,
                             from_name<speculating>(args.text("model"), "model", {"target", "draft"})));
}

/// Methods of `Tally` with the same arguments as `Cost.flops`.
constexpr const char* adder_names[] = {"add_lengths",   "add_padded",         "add_cu_seqlens",
                                       "add_packed",    "add_attention_mask", "add_encoder_decoder",
                                       "add_sequences", "add_grid_thw",       "add_audio_frames"};

/// Adds the result of `add` for two lists of integers to a tally.
template <class Add>
void add_lists(tally& t, const integers& first, const integers& second, Add add) {
    tally sum{t.masks()};
    without_gil(first.view().size(), [&] {
        floptally::detail::visit_both(first.view(), second.view(),
                                      [&](const auto& left, const auto& other) { add(sum, left, other); });
    });
    t += sum;
}

/// New tokens after cached ones: pairs, or a list of each.
void add_new_tokens(tally& t, const arguments& args) {
    const py::handle past = args.some("past");
    if (!past) {
        args.require_values();
        return input_arguments(args, t.masks(), input_for::tally).add_to(t);
    }
    add_lists(t, integers(args["new_tokens"], "new_tokens"), integers(past, "past"),
              [](tally& sum, const auto& lengths, const auto& before) { sum.add_new_tokens(lengths, before); });
}

/// Sequences of HSTU, by lists of their parts.
void add_hstu(tally& t, const arguments& args) {
    const integers lengths(args["lengths"], "lengths");
    const auto listed = [&](const char* field) {
        std::vector<std::int64_t> all;
        if (const py::handle value = args.some(field)) {
            const integers numbers(value, field);
            numbers.view().visit([&](const auto& each) { all.assign(each.begin(), each.end()); });
            require_as_many(lengths.view().size(), "lengths", all.size(), field);
        }
        return all;
    };
    const std::vector<std::int64_t> contextual = listed("contextual");
    const std::vector<std::int64_t> targets = listed("targets");
    const auto group =
        static_cast<std::uint32_t>(to_count(args["target_group"], "target_group", 0, max_sequence_length));
    tally sum{t.masks()};
    lengths.view().visit([&](const auto& all) { sum.add_hstu(all, contextual, targets, group); });
    t += sum;
}

/// Adds grids of latents with the text tokens of each.
void add_grids_with_text(tally& t, const arguments& args) {
    const integers grids(args["grid_thw"], "grid_thw", 3);
    const integers texts(args["encoder_lengths"], "encoder_lengths");
    add_lists(t, grids, texts,
              [](tally& sum, const auto& thw, const auto& text) { sum.add_grids_with_text(thw, text); });
}

}  // namespace

void bind_tallies(py::module_& module) {
    bound_class<tally> type = new_class<tally>(module, "Tally");
    constructor(type, [](const arguments& args) { return tally{masks_for(args)}; });
    for (const char* const name : adder_names) {
        method(type, name, [](tally& t, const arguments& args) {
            args.require_values();
            input_arguments(args, t.masks(), input_for::tally).add_to(t);
        });
    }
    method(type, "add_new_tokens", [](tally& t, const arguments& args) { add_new_tokens(t, args); });
    method(type, "add_hstu", [](tally& t, const arguments& args) { add_hstu(t, args); });
    method(type, "add_requests", [](tally& t, const arguments& args) {
        t.add(request_passes(to_requests(args["requests"]), to_prefill_chunk(args["prefill_chunk"])));
    });
    method(type, "add_speculative", [](tally& t, const arguments& args) { add_speculative(t, args); });
    method(type, "add_tree", [](tally& t, const arguments& args) {
        const integers parents(args["parents"], "parents");
        const integers lengths(args["lengths"], "lengths");
        if (!parents.view().holds<std::int64_t>() && !parents.view().holds<std::int32_t>()) {
            throw error("parents", "must be signed integers, since -1 marks a root: pass a copy as int64");
        }
        const floptally::detail::integers_as<std::int64_t> above(parents.view());
        lengths.view().visit([&](const auto& own) { add_tree(t, above.get(), own); });
    });
    method(type, "add_grids_with_text", [](tally& t, const arguments& args) { add_grids_with_text(t, args); });
    method(type, "add_routed", [](tally& t, const arguments& args) {
        t.add_routed(
            {.useful = to_count(args["useful"], "routed[0]"), .padded = to_count(args["padded"], "routed[1]")});
    });
    method(type, "add_measured", [](tally& t, const arguments& args) {
        const std::string name = args.text("name");
        const std::uint64_t useful = to_count(args["useful"], name);
        const py::handle padded = args.some("padded");
        t.add_measured(name, {.useful = useful, .padded = padded ? to_count(padded, name) : useful});
    });
    method(type, "get", [](const tally& t, const arguments& args) {
        return t.get(from_name<view>(args.text("view"), "view", {"useful", "padded"}),
                     from_name<accumulator>(args.text("statistic"), "statistic", statistic_names),
                     from_name<modality>(args.text("tower"), "tower", modality_names));
    });
    method(type, "pairs", [](const tally& t, const arguments& args) {
        return t.pairs(from_name<view>(args.text("view"), "view", {"useful", "padded"}), args.as<const mask&>("mask"));
    });
    property(type, "masks", [](const tally& t) { return std::vector<mask>(t.masks().begin(), t.masks().end()); });
    property(type, "tokens", [](const tally& t) { return t.get(view::useful, accumulator::tokens); });
    method(type, "accumulators", [](const tally& t, const arguments&) { return accumulators_array(t); });
    static_method(type, "from_accumulators", [](const arguments& args) {
        const py::object like = args["cost_or_masks"];
        const std::vector<std::uint64_t> bits = accumulator_bits(args["accumulators"]);
        return py::isinstance<tally>(like) ? value_of<tally>(like).with_accumulators(bits)
                                           : tally::from_accumulators(masks_for(args), bits);
    });
    method(type, "copy", [](const tally& t, const arguments&) { return tally(t); });
    method(type, "__iadd__", [](py::handle self, const arguments& args) {
        value_of<tally>(self) += args.as<const tally&>("other");
        return py::reinterpret_borrow<py::object>(self);
    });
    operation(type, "__add__", [](const tally& a, const tally& b) {
        tally sum = a;
        return sum += b;
    });
    equality(type);
    shown_as(type, [](const tally& t) {
        return "<Tally of " + std::to_string(t.get(view::useful, accumulator::count)) + " sequences, " +
               std::to_string(t.get(view::useful, accumulator::tokens)) + " tokens>";
    });
    pickles(
        type, [](const tally& t) { return tally_state(t); },
        [](const py::object& state) { return tally_of_state(py::tuple(state)); });
}

}  // namespace floptally::python
