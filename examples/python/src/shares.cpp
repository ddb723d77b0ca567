// SPDX-License-Identifier: Apache-2.0

#include <floptally/balance/canonical_groups.hpp>
#include <floptally/balance/exchange_agreement.hpp>
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
/// What a rank has of a batch and of a model: tokens, samples, rows, layers, memory. Python's records are made of
/// tuples.

namespace floptally::detail::python {

namespace {

constexpr const char* sharded_words[] = {"none", "optimizer", "gradients", "weights"};
constexpr const char* optimizer_words[] = {"mixed_precision_adam", "megatron_bf16", "megatron_fp16", "fp32_adam"};
constexpr parameter_bytes optimizer_presets[] = {optimizers::mixed_precision_adam, optimizers::megatron_bf16,
                                                 optimizers::megatron_fp16, optimizers::fp32_adam};
constexpr const char* few_kv_head_words[] = {"replicated", "gathered"};

std::vector<std::uint64_t> numbers(const arguments& given, const char* field) {
    return integers(given[field], field).view().visit([&](const auto& all) { return nonnegative(all, field); });
}

py::array_t<std::int64_t> indices(const std::vector<std::uint64_t>& values) {
    py::array_t<std::int64_t> out(static_cast<py::ssize_t>(values.size()));
    std::copy(values.begin(), values.end(), out.mutable_data());
    return out;
}

/// What a method of a class of `_shares.py` makes: `record("Pack", samples, …)`.
template <class... Values>
py::object record(const char* name, const Values&... values) {
    return package_attribute("_shares", name)(values...);
}

// Tokens of a row.

void bind_token_split(py::module_& module) {
    const py::class_<token_split> type = new_class<token_split>(module, "TokenSplit");
    made_elsewhere(type, "TokenSplit.zigzag(tokens, cp), .contiguous(tokens, cp) or .zigzag_of_each(boundaries, cp)");
    static_method(type, "zigzag",
                  [](const arguments& given) { return token_split::zigzag(given.count("tokens"), given.count("cp")); });
    static_method(type, "contiguous", [](const arguments& given) {
        return token_split::contiguous(given.count("tokens"), given.count("cp"));
    });
    static_method(type, "zigzag_of_each", [](const arguments& given) {
        return token_split::zigzag_of_each(numbers(given, "cu_seqlens_padded"), given.count("cp"));
    });
    property(type, "cp", [](const token_split& s) { return s.cp(); });
    property(type, "tokens", [](const token_split& s) { return s.tokens(); });
    property(type, "tokens_per_rank", [](const token_split& s) { return s.tokens_per_rank(); });
    method(type, "ranges", [](const token_split& s, const arguments& given) {
        py::list all;
        for (const index_range& range : s.ranges(given.count("rank"))) {
            all.append(py::make_tuple(range.first, range.last));
        }
        return all;
    });
    method(type, "indices",
           [](const token_split& s, const arguments& given) { return indices(s.indices(given.count("rank"))); });
    method(type, "gathered_order", [](const token_split& s, const arguments&) { return indices(s.gathered_order()); });
    method(type, "restoring_order",
           [](const token_split& s, const arguments&) { return indices(s.restoring_order()); });
    method(type, "shard", [](const token_split& s, const arguments& given) {
        return package_attribute("_shares", "selected")(given["row"], indices(s.indices(given.count("rank"))),
                                                        given["axis"], s.tokens(), "row");
    });
    method(type, "merge", [](const token_split& s, const arguments& given) {
        return package_attribute("_shares", "merged")(given["shards"], indices(s.restoring_order()), given["axis"],
                                                      s.cp(), s.tokens_per_rank());
    });
    equality(type);
    shown_as(type, [](const token_split& s) {
        return "<TokenSplit of " + std::to_string(s.tokens()) + " tokens over " + std::to_string(s.cp()) + " ranks>";
    });
}

packed_row row_of(const arguments& given) {
    packed_row row;
    const bool has_boundaries = static_cast<bool>(given.some("cu_seqlens"));
    if (has_boundaries == static_cast<bool>(given.some("attention_mask"))) {
        throw error("cu_seqlens", "or attention_mask must be given, one of the two");
    }
    if (!has_boundaries) {
        add_attention_mask(row, given["attention_mask"]);
        return row;
    }
    const std::vector<std::uint64_t> real = numbers(given, "cu_seqlens");
    row.add_cu_seqlens(real, given.some("cu_seqlens_padded") ? numbers(given, "cu_seqlens_padded") : real,
                       given.some_count("num_real_seqs").value_or(all_sequences));
    return row;
}

void bind_context_row(py::module_& module) {
    const py::class_<context_parallel_row> type = new_class<context_parallel_row>(module, "ContextParallelRow");
    constructor(type, [](const arguments& given) {
        return context_parallel_row(row_of(given), given.as<const token_split&>("split"));
    });
    method(type, "tokens",
           [](const context_parallel_row& row, const arguments& given) { return row.tokens(to_view(given["view"])); });
    method(type, "pairs", [](const context_parallel_row& row, const arguments& given) {
        return row.pairs(given.as<const mask&>("mask"), to_view(given["view"]));
    });
    method(type, "tally", [](const context_parallel_row& row, const arguments& given) {
        return row
            .tally_of(given.count("rank"), masks_for(given),
                      given.flag("bidirectional") ? mask::bidirectional() : mask::causal())
            .total();
    });
}

// Samples that move, and rows of them.

py::object shown_buffer(const exchange_buffer& b) {
    return record("ExchangeBuffer", indices(b.samples), indices(b.offsets), indices(b.sizes), indices(b.counts),
                  indices(b.displacements));
}

void bind_exchange(py::module_& module) {
    const py::class_<exchange_plan> type = new_class<exchange_plan>(module, "ExchangePlan");
    constructor(type, [](const arguments& given) {
        return exchange_plan(numbers(given, "owners"), numbers(given, "destinations"), numbers(given, "sizes"),
                             given.count("ranks"),
                             {.bytes_per_element = given.count("bytes_per_element"),
                              .window = given.count("window"),
                              .max_buffer_bytes = given.count("max_buffer_bytes")});
    });
    property(type, "ranks", [](const exchange_plan& p) { return p.ranks(); });
    property(type, "window", [](const exchange_plan& p) { return p.window(); });
    property(type, "owners", [](const exchange_plan& p) { return indices(p.owners()); });
    property(type, "destinations", [](const exchange_plan& p) { return indices(p.destinations()); });
    property(type, "sizes", [](const exchange_plan& p) { return indices(p.sizes()); });
    method(type, "samples_of", [](const exchange_plan& p, const arguments& given) {
        return indices(p.samples_of(given.count("microbatch")));
    });
    method(type, "for_rank", [](const exchange_plan& p, const arguments& given) {
        const rank_exchange how = p.for_rank(given.count("rank"), given.count("microbatch"));
        return record("RankExchange", how.rank, shown_buffer(how.send), shown_buffer(how.receive));
    });
    method(type, "inverse", [](const exchange_plan& p, const arguments&) { return p.inverse(); });
    method(type, "with_sizes", [](const exchange_plan& p, const arguments& given) {
        return p.with_sizes(numbers(given, "sizes"), given.count("bytes_per_element"), given.count("max_buffer_bytes"));
    });
    equality(type);
    function(module, "_require_same_plan", [](const arguments& given) {
        const python_reducer over(given["reducer"]);
        require_same_plan(given.as<const exchange_plan&>("plan"), over);
    });
    function(module, "_prepare_together", [](const arguments& given) {
        const python_reducer over(given["reducer"]);
        const py::object prepare = given["prepare"];
        prepare_together(given.count("rank"), over, [&prepare] { prepare(); });
    });
}

void bind_groups(py::module_& module) {
    const py::class_<canonical_groups> type = new_class<canonical_groups>(module, "CanonicalGroups");
    constructor(type, [](const arguments& given) { return canonical_groups(numbers(given, "dp_sizes")); });
    property(type, "size", [](const canonical_groups& g) { return g.size(); });
    method(type, "groups_of", [](const canonical_groups& g, const arguments& given) {
        const index_range owned = g.groups_of(given.count("module"), given.count("dp_rank"));
        return py::module_::import("builtins").attr("range")(owned.first, owned.last);
    });
    method(type, "ranks_of", [](const canonical_groups& g, const arguments& given) {
        return indices(g.ranks_of(given.count("module"), numbers(given, "groups")));
    });
}

py::object shown_packing(const packing& made) {
    py::list rows;
    for (const pack& row : made.rows) {
        rows.append(record("Pack", indices(row.samples), indices(row.cu_seqlens), indices(row.cu_seqlens_padded)));
    }
    return record("Packing", rows, indices(made.row_of), indices(made.offset_of));
}

// Layers of a model, and modules with ranks of their own.

model_cost on_rank(const model_cost& whole, const arguments& given) {
    if (whole.model().parts.empty()) {
        throw error("cost", "has no parts, which ranks could have: read one from a config");
    }
    rank_options how{
        .pipeline = {.num_layers_in_first_pipeline_stage = given.count("num_layers_in_first_pipeline_stage"),
                     .num_layers_in_last_pipeline_stage = given.count("num_layers_in_last_pipeline_stage"),
                     .account_for_embedding_in_pipeline_split = given.flag("account_for_embedding_in_pipeline_split"),
                     .account_for_loss_in_pipeline_split = given.flag("account_for_loss_in_pipeline_split")},
        .towers = {.vision = given.count("vision_stage"), .audio = given.count("audio_stage")},
        .tensor = {.sequence_parallel = given.flag("sequence_parallel"),
                   .kv = from_word<few_kv_heads>(given.text("few_kv_heads"), "few_kv_heads", few_kv_head_words),
                   .make_vocab_size_divisible_by = given.count("make_vocab_size_divisible_by")}};
    if (given.some("layers_of_chunks")) {
        how.layers_of_chunks = numbers(given, "layers_of_chunks");
    }
    model_config own = whole.model();
    own.parts = rank_parts(own.parts, given.as<const parallel_layout&>("layout"), how);
    own.cost = cost_on_rank(own.parts);
    for (const rule& word : whole.of().masks()) {
        own.cost.keep(word);
    }
    return model_cost(std::move(own), whole.plan());
}

py::object used_modules(const arguments& given) {
    std::vector<step_module> modules;
    for (const py::handle entry : items_of(given["modules"], "modules", "a list of floptally.StepModule")) {
        if (!py::hasattr(entry, "data_parallel_size")) {
            throw error(indexed("modules", modules.size()), "must be a floptally.StepModule, got " + shown(entry));
        }
        modules.push_back({.name = to_text(entry.attr("name"), "name"),
                           .ranks = entry.attr("ranks").cast<std::vector<std::uint64_t>>(),
                           .data_parallel_size = to_count(entry.attr("data_parallel_size"), "data_parallel_size"),
                           .work = entry.attr("work").cast<const counted_work&>().work,
                           .peak_tflops = to_number(entry.attr("peak_tflops"), "peak_tflops"),
                           .frozen = entry.attr("frozen").cast<bool>(),
                           .seconds = to_number(entry.attr("seconds"), "seconds")});
    }
    const module_utilization all =
        utilize(modules, {given.number("seconds"), given.count("gpus"), given.number("peak_tflops")});
    py::list rates;
    for (const module_rate& r : all.modules) {
        rates.append(record("ModuleRate", std::string(r.name.view()), to_int(r.useful), to_int(r.executed), r.ranks,
                            r.ranks_per_replica, r.tflops_per_gpu, r.mfu, r.padded_mfu, r.hfu));
    }
    return record("ModuleUtilization", to_int(all.useful), all.active_ranks, all.idle_ranks, all.mfu, all.padded_mfu,
                  all.hfu, all.allocated_mfu, all.allocated_hfu, all.mixed_precision_mfu, rates);
}

// Memory.

/// A device whose numbers are read in Python.
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

parallel_rank place_of(const arguments& given) {
    if (!given.some("layout")) {
        return {};
    }
    const auto& layout = given.as<const parallel_layout&>("layout");
    const parallel_coordinates at = layout.coordinates();
    const auto narrow = [](std::uint64_t rank) { return static_cast<std::uint32_t>(rank); };
    return {narrow(layout.rank()), narrow(at.pp), narrow(at.dp), narrow(at.cp), narrow(at.tp)};
}

python_probe probe_of(const arguments& given) {
    memory_probe_options how{.profile_steps = numbers(given, "profile_steps"),
                             .max_entries = given.count("max_entries"),
                             .at = place_of(given)};
    if (const py::handle start = given.some("start")) {
        how.start = [call = py::reinterpret_borrow<py::object>(start)](std::size_t entries) { call(entries); };
    }
    if (const py::handle stop = given.some("stop")) {
        how.stop = [call = py::reinterpret_borrow<py::object>(stop)](const std::string& name, std::uint64_t step) {
            call(name, step);
        };
    }
    return python_probe({given["backend"]}, std::move(how));
}

void bind_memory(py::module_& module) {
    const py::class_<python_probe> type = new_class<python_probe>(module, "MemoryProbe");
    constructor(type, [](const arguments& given) { return probe_of(given); });
    method(type, "begin_step", [](python_probe& p, const arguments& given) { p.begin_step(given.count("step")); });
    method(type, "end_step", [](python_probe& p, const arguments& given) { p.end_step(given.count("step")); });
    method(type, "step", [](py::handle self, const arguments& given) {
        return package_attribute("_shares", "probed_step")(self, given["step"]);
    });
    property(type, "rows", [](const python_probe& p) {
        py::list rows;
        for (const floptally::memory_row& row : p.rows()) {
            rows.append(json_object(to_json_line(row)));
        }
        return rows;
    });
    function(module, "snapshot_name",
             [](const arguments& given) { return snapshot_name(place_of(given), given.count("step")); });
    function(module, "logits_bytes", [](const arguments& given) {
        const logits_shape shape{given.count("tokens"), given.count("vocabulary"), given.count("bytes_per_element"),
                                 given.count("context_parallel"), given.count("tensor_parallel")};
        return record("LogitsBytes", local_logits_bytes(shape), gathered_logits_bytes(shape),
                      gathering_logits_bytes(shape));
    });
    function(module, "state_bytes", [](const arguments& given) {
        const std::uint64_t parameters = given.count("parameters");
        const memory_plan how{
            from_word<zero_stage>(given.text("zero"), "zero", sharded_words), given.count("data_parallel"),
            optimizer_presets[from_word<std::size_t>(given.text("optimizer"), "optimizer", optimizer_words)]};
        const state_bytes held = state_bytes_of(parameters, given.some_count("trainable").value_or(parameters), how);
        return record("StateBytes", held.weights, held.gradients, held.optimizer);
    });
}

}  // namespace

void bind_shares(py::module_& module) {
    bind_token_split(module);
    bind_context_row(module);
    bind_exchange(module);
    bind_groups(module);
    bind_memory(module);
    function(module, "cp_alignment", [](const arguments& given) {
        return cp_alignment(given.count("tp"), given.count("cp"), given.count("extra"));
    });
    function(module, "aligned_cu_seqlens", [](const arguments& given) {
        return indices(aligned_cu_seqlens(numbers(given, "cu_seqlens"), given.count("alignment")));
    });
    function(module, "pack_by_capacity", [](const arguments& given) {
        return shown_packing(pack_by_capacity(numbers(given, "lengths"), given.count("capacity"),
                                              {.alignment = given.count("alignment"),
                                               .min_rows = given.count("min_rows"),
                                               .divisor = given.count("divisor")}));
    });
    function(module, "pack_into_rows", [](const arguments& given) {
        return shown_packing(pack_into_rows(numbers(given, "lengths"), numbers(given, "row_of"), given.count("rows"),
                                            given.count("alignment")));
    });
    method(py::type::of<model_cost>(), "on_rank",
           [](const model_cost& whole, const arguments& given) { return on_rank(whole, given); });
    function(module, "utilize", [](const arguments& given) { return used_modules(given); });
    function(module, "_require_held", [](const arguments& given) {
        const python_reducer over(given["reducer"]);
        held_tokens mine;
        integers(given["tokens"], "tokens").view().visit([&mine](const auto& all) { mine.add(all); });
        require_held(to_scope(given["scope"], "scope"), mine, given.as<const parallel_layout&>("layout"), over);
    });
}

}  // namespace floptally::detail::python
