// SPDX-License-Identifier: Apache-2.0

#include <floptally/balance/canonical_groups.hpp>
#include <floptally/balance/exchange_plan.hpp>
#include <floptally/parallel/context_parallel.hpp>
#include <floptally/parallel/held_tokens.hpp>
#include <floptally/parallel/packing.hpp>
#include <floptally/parallel/rank_work.hpp>
#include <floptally/step/memory.hpp>
#include <floptally/step/memory_probe.hpp>
#include <floptally/step/module_utilization.hpp>

#include "classes.hpp"
#include "ranks.hpp"

/// @file
/// One rank's part of a batch and of a model: tokens, samples, packs, layers, memory. Python's records are constructed
/// from tuples.

namespace floptally::python {

namespace {

constexpr const char* sharded_names[] = {"none", "optimizer", "gradients", "weights"};
constexpr const char* optimizer_names[] = {"mixed_precision_adam", "megatron_bf16", "megatron_fp16", "fp32_adam"};
constexpr parameter_bytes optimizer_presets[] = {optimizers::mixed_precision_adam, optimizers::megatron_bf16,
                                                 optimizers::megatron_fp16, optimizers::fp32_adam};
constexpr const char* few_kv_head_names[] = {"replicated", "gathered"};

std::vector<std::uint64_t> numbers(const arguments& args, const char* field) {
    return integers(args[field], field).view().visit([&](const auto& all) { return detail::nonnegative(all, field); });
}

py::array_t<std::int64_t> indices(const std::vector<std::uint64_t>& values) {
    py::array_t<std::int64_t> out(static_cast<py::ssize_t>(values.size()));
    std::copy(values.begin(), values.end(), out.mutable_data());
    return out;
}

/// A record of `_shards.py`: `record("Pack", samples, …)`.
template <class... Values>
py::object record(const char* name, const Values&... values) {
    return package_attribute("_shards", name)(values...);
}

// Tokens of a pack.

void bind_token_split(py::module_& module) {
    bound_class<token_split> type = new_class<token_split>(module, "TokenSplit");
    made_elsewhere(type, "TokenSplit.zigzag(tokens, cp), .contiguous(tokens, cp) or .zigzag_of_each(boundaries, cp)");
    static_method(type, "zigzag",
                  [](const arguments& args) { return token_split::zigzag(args.count("tokens"), args.count("cp")); });
    static_method(type, "contiguous", [](const arguments& args) {
        return token_split::contiguous(args.count("tokens"), args.count("cp"));
    });
    static_method(type, "zigzag_of_each", [](const arguments& args) {
        return token_split::zigzag_of_each(numbers(args, "cu_seqlens_padded"), args.count("cp"));
    });
    property(type, "cp", [](const token_split& s) { return s.cp(); });
    property(type, "tokens", [](const token_split& s) { return s.tokens(); });
    property(type, "tokens_per_rank", [](const token_split& s) { return s.tokens_per_rank(); });
    method(type, "ranges", [](const token_split& s, const arguments& args) {
        py::list all;
        for (const index_range& range : s.ranges(args.count("rank"))) {
            all.append(py::make_tuple(range.first, range.last));
        }
        return all;
    });
    method(type, "indices",
           [](const token_split& s, const arguments& args) { return indices(s.indices(args.count("rank"))); });
    method(type, "gathered_order", [](const token_split& s, const arguments&) { return indices(s.gathered_order()); });
    method(type, "restoring_order",
           [](const token_split& s, const arguments&) { return indices(s.restoring_order()); });
    method(type, "shard", [](const token_split& s, const arguments& args) {
        return package_attribute("_shards", "selected")(args["row"], indices(s.indices(args.count("rank"))),
                                                        args["axis"], s.tokens(), "row");
    });
    method(type, "merge", [](const token_split& s, const arguments& args) {
        return package_attribute("_shards", "merged")(args["shards"], indices(s.restoring_order()), args["axis"],
                                                      s.cp(), s.tokens_per_rank());
    });
    equality(type);
    shown_as(type, [](const token_split& s) {
        return "<TokenSplit of " + std::to_string(s.tokens()) + " tokens over " + std::to_string(s.cp()) + " ranks>";
    });
}

placed_sequences pack_of(const arguments& args) {
    placed_sequences row;
    const bool has_boundaries = static_cast<bool>(args.some("cu_seqlens"));
    if (has_boundaries == static_cast<bool>(args.some("attention_mask"))) {
        throw error("cu_seqlens", "pass exactly one of cu_seqlens and attention_mask");
    }
    if (!has_boundaries) {
        add_attention_mask(row, args["attention_mask"]);
        return row;
    }
    const std::vector<std::uint64_t> real = numbers(args, "cu_seqlens");
    row.add_cu_seqlens(real, args.some("cu_seqlens_padded") ? numbers(args, "cu_seqlens_padded") : real,
                       args.some_count("num_real_seqs").value_or(all_sequences));
    return row;
}

void bind_context_pack(py::module_& module) {
    bound_class<context_parallel_pack> type = new_class<context_parallel_pack>(module, "ContextParallelPack");
    constructor(type, [](const arguments& args) {
        return context_parallel_pack(pack_of(args), args.as<const token_split&>("split"));
    });
    method(type, "tokens",
           [](const context_parallel_pack& row, const arguments& args) { return row.tokens(to_view(args["view"])); });
    method(type, "pairs", [](const context_parallel_pack& row, const arguments& args) {
        return row.pairs(args.as<const mask&>("mask"), to_view(args["view"]));
    });
    method(type, "tally", [](const context_parallel_pack& row, const arguments& args) {
        return row
            .tally_of(args.count("rank"), masks_for(args),
                      args.flag("bidirectional") ? mask::bidirectional() : mask::causal())
            .total();
    });
}

// Exchanges of samples, and packs.

py::object shown_buffer(const exchange_buffer& b) {
    return record("ExchangeBuffer", indices(b.samples), indices(b.offsets), indices(b.sizes), indices(b.counts),
                  indices(b.displacements));
}

void bind_exchange(py::module_& module) {
    bound_class<exchange_plan> type = new_class<exchange_plan>(module, "ExchangePlan");
    constructor(type, [](const arguments& args) {
        return exchange_plan(numbers(args, "owners"), numbers(args, "destinations"), numbers(args, "sizes"),
                             args.count("ranks"),
                             {.bytes_per_element = args.count("bytes_per_element"),
                              .window = args.count("window"),
                              .max_buffer_bytes = args.count("max_buffer_bytes")});
    });
    property(type, "ranks", [](const exchange_plan& p) { return p.ranks(); });
    property(type, "window", [](const exchange_plan& p) { return p.window(); });
    property(type, "owners", [](const exchange_plan& p) { return indices(p.owners()); });
    property(type, "destinations", [](const exchange_plan& p) { return indices(p.destinations()); });
    property(type, "sizes", [](const exchange_plan& p) { return indices(p.sizes()); });
    method(type, "samples_of", [](const exchange_plan& p, const arguments& args) {
        return indices(p.samples_of(args.count("microbatch")));
    });
    method(type, "for_rank", [](const exchange_plan& p, const arguments& args) {
        const rank_exchange how = p.for_rank(args.count("rank"), args.count("microbatch"));
        return record("RankExchange", how.rank, shown_buffer(how.send), shown_buffer(how.receive));
    });
    method(type, "inverse", [](const exchange_plan& p, const arguments&) { return p.inverse(); });
    method(type, "with_sizes", [](const exchange_plan& p, const arguments& args) {
        return p.with_sizes(numbers(args, "sizes"), args.count("bytes_per_element"), args.count("max_buffer_bytes"));
    });
    equality(type);
    function(module, "_require_same_plan", [](const arguments& args) {
        const python_reducer over(args["reducer"]);
        require_same_plan(args.as<const exchange_plan&>("plan"), over);
    });
    function(module, "_prepare_together", [](const arguments& args) {
        const python_reducer over(args["reducer"]);
        const py::object prepare = args["prepare"];
        prepare_together(args.count("rank"), over, [&prepare] { prepare(); });
    });
}

void bind_groups(py::module_& module) {
    bound_class<canonical_groups> type = new_class<canonical_groups>(module, "CanonicalGroups");
    constructor(type, [](const arguments& args) { return canonical_groups(numbers(args, "dp_sizes")); });
    property(type, "size", [](const canonical_groups& g) { return g.size(); });
    method(type, "groups_of", [](const canonical_groups& g, const arguments& args) {
        const index_range owned = g.groups_of(args.count("module"), args.count("dp_rank"));
        return py::module_::import("builtins").attr("range")(owned.first, owned.last);
    });
    method(type, "ranks_of", [](const canonical_groups& g, const arguments& args) {
        return indices(g.ranks_of(args.count("module"), numbers(args, "groups")));
    });
}

py::object shown_packing(const packing& packs_of_samples) {
    py::list packs;
    for (const pack& each : packs_of_samples.packs) {
        packs.append(record("Pack", indices(each.samples), indices(each.cu_seqlens), indices(each.cu_seqlens_padded)));
    }
    return record("Packing", packs, indices(packs_of_samples.pack_of), indices(packs_of_samples.offset_of));
}

// Layers of a model, and modules with ranks of their own.

model_cost on_rank(const model_cost& whole, const arguments& args) {
    if (whole.model().parts.empty()) {
        throw error("cost", "must have layers, since ranks share them: make it from a config by floptally.cost()");
    }
    rank_options how{
        .pipeline = split_options_of(args),
        .towers = {.vision = args.count("vision_stage"), .audio = args.count("audio_stage")},
        .tensor = {.sequence_parallel = args.flag("sequence_parallel"),
                   .kv = from_name<few_kv_heads>(args.text("few_kv_heads"), "few_kv_heads", few_kv_head_names),
                   .make_vocab_size_divisible_by = args.count("make_vocab_size_divisible_by")}};
    if (args.some("layers_of_chunks")) {
        how.layers_of_chunks = numbers(args, "layers_of_chunks");
    }
    model_config own = whole.model();
    own.parts = rank_parts(own.parts, args.as<const parallel_layout&>("layout"), how);
    own.cost = cost_on_rank(own.parts);
    for (const statistic& unit : whole.full_cost().masks()) {
        own.cost.keep(unit);
    }
    return model_cost(std::move(own), whole.plan());
}

py::object used_modules(const arguments& args) {
    std::vector<step_module> modules;
    for (const py::handle entry : items_of(args["modules"], "modules", "a list of floptally.StepModule")) {
        if (!py::hasattr(entry, "data_parallel_size")) {
            throw error(indexed("modules", modules.size()), "must be a floptally.StepModule, got " + shown(entry));
        }
        modules.push_back({.name = to_text(entry.attr("name"), "name"),
                           .ranks = entry.attr("ranks").cast<std::vector<std::uint64_t>>(),
                           .data_parallel_size = to_count(entry.attr("data_parallel_size"), "data_parallel_size"),
                           .work = value_of<counted_work>(entry.attr("work")).work,
                           .peak_tflops = to_number(entry.attr("peak_tflops"), "peak_tflops"),
                           .frozen = entry.attr("frozen").cast<bool>(),
                           .seconds = to_number(entry.attr("seconds"), "seconds")});
    }
    const module_utilization all =
        utilize(modules, {args.number("seconds"), args.count("gpus"), args.number("peak_tflops")});
    py::list rates;
    for (const module_rate& r : all.modules) {
        rates.append(record("ModuleRate", std::string(r.name.view()), to_int(r.useful), to_int(r.executed), r.ranks,
                            r.ranks_per_replica, r.tflops_per_gpu, r.mfu, r.padded_mfu, r.hfu));
    }
    return record("ModuleUtilization", to_int(all.useful), all.active_ranks, all.idle_ranks, all.mfu, all.padded_mfu,
                  all.hfu, all.allocated_mfu, all.allocated_hfu, all.mixed_precision_mfu, rates);
}

// Memory.

/// A device whose memory is sampled by Python code.
struct python_memory {
    py::object device;

    void reset_high_marks() { device.attr("reset_high_marks")(); }
    memory_sample sample() {
        const py::object now = device.attr("sample")();
        const auto bytes = [&now](const char* name) { return to_count(now.attr(name), name); };
        return {bytes("free"), bytes("total"), bytes("pool_used_high"), bytes("pool_reserved_high")};
    }
};
using python_probe = memory_probe<python_memory>;

parallel_rank place_of(const arguments& args) {
    if (!args.some("layout")) {
        return {};
    }
    const auto& layout = args.as<const parallel_layout&>("layout");
    const parallel_coordinates at = layout.coordinates();
    const auto narrow = [](std::uint64_t rank) { return static_cast<std::uint32_t>(rank); };
    return {narrow(layout.rank()), narrow(at.pp), narrow(at.dp), narrow(at.cp), narrow(at.tp)};
}

python_probe probe_of(const arguments& args) {
    memory_probe_options how{.profile_steps = numbers(args, "profile_steps"),
                             .max_entries = args.count("max_entries"),
                             .at = place_of(args)};
    if (const py::handle start = args.some("start")) {
        how.start = [call = py::reinterpret_borrow<py::object>(start)](std::size_t entries) { call(entries); };
    }
    if (const py::handle stop = args.some("stop")) {
        how.stop = [call = py::reinterpret_borrow<py::object>(stop)](const std::string& name, std::uint64_t step) {
            call(name, step);
        };
    }
    return python_probe({args["backend"]}, std::move(how));
}

void bind_memory(py::module_& module) {
    bound_class<python_probe> type = new_class<python_probe>(module, "MemoryProbe");
    constructor(type, [](const arguments& args) { return probe_of(args); });
    method(type, "begin_step", [](python_probe& p, const arguments& args) { p.begin_step(args.count("step")); });
    method(type, "end_step", [](python_probe& p, const arguments& args) { p.end_step(args.count("step")); });
    method(type, "step", [](py::handle self, const arguments& args) {
        return package_attribute("_shards", "probed_step")(self, args["step"]);
    });
    property(type, "rows", [](const python_probe& p) {
        py::list rows;
        for (const floptally::memory_row& row : p.rows()) {
            rows.append(json_object(to_json_line(row)));
        }
        return rows;
    });
    function(module, "snapshot_name",
             [](const arguments& args) { return snapshot_name(place_of(args), args.count("step")); });
    function(module, "logits_bytes", [](const arguments& args) {
        const logits_shape shape{args.count("tokens"), args.count("vocabulary"), args.count("bytes_per_element"),
                                 args.count("context_parallel"), args.count("tensor_parallel")};
        return record("LogitsBytes", local_logits_bytes(shape), gathered_logits_bytes(shape),
                      gathering_logits_bytes(shape));
    });
    function(module, "state_bytes", [](const arguments& args) {
        const std::uint64_t parameters = args.count("parameters");
        const memory_plan how{
            from_name<zero_stage>(args.text("zero"), "zero", sharded_names), args.count("data_parallel"),
            optimizer_presets[from_name<std::size_t>(args.text("optimizer"), "optimizer", optimizer_names)]};
        const state_bytes held = state_bytes_of(parameters, args.some_count("trainable").value_or(parameters), how);
        return record("StateBytes", held.weights, held.gradients, held.optimizer);
    });
}

}  // namespace

void bind_shares(py::module_& module) {
    bind_token_split(module);
    bind_context_pack(module);
    bind_exchange(module);
    bind_groups(module);
    bind_memory(module);
    function(module, "cp_alignment", [](const arguments& args) {
        return cp_alignment(args.count("tp"), args.count("cp"), args.count("extra"));
    });
    function(module, "aligned_cu_seqlens", [](const arguments& args) {
        return indices(aligned_cu_seqlens(numbers(args, "cu_seqlens"), args.count("alignment")));
    });
    function(module, "pack_by_capacity", [](const arguments& args) {
        return shown_packing(pack_by_capacity(numbers(args, "lengths"), args.count("capacity"),
                                              {.alignment = args.count("alignment"),
                                               .min_packs = args.count("min_packs"),
                                               .divisor = args.count("divisor")}));
    });
    function(module, "pack_by_assignment", [](const arguments& args) {
        return shown_packing(pack_by_assignment(numbers(args, "lengths"), numbers(args, "pack_of"), args.count("packs"),
                                                args.count("alignment")));
    });
    method(py::type::of<model_cost>(), "on_rank",
           [](const model_cost& whole, const arguments& args) { return on_rank(whole, args); });
    function(module, "utilize", [](const arguments& args) { return used_modules(args); });
    function(module, "_require_held", [](const arguments& args) {
        const python_reducer over(args["reducer"]);
        held_tokens mine;
        integers(args["tokens"], "tokens").view().visit([&mine](const auto& all) { mine.add(all); });
        require_held(to_scope(args["scope"], "scope"), mine, args.as<const parallel_layout&>("layout"), over);
    });
}

}  // namespace floptally::python
