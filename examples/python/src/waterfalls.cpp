// SPDX-License-Identifier: Apache-2.0

#include <nlohmann/json.hpp>

#include <floptally/json/component_json.hpp>
#include <floptally/json/kineto_trace.hpp>
#include <floptally/json/waterfall_json.hpp>
#include <floptally/parallel/pipeline_schedule.hpp>
#include <floptally/parallel/pipeline_split.hpp>
#include <floptally/parallel/pipeline_work.hpp>
#include <floptally/parallel/rank_times.hpp>
#include <floptally/parallel/rank_work.hpp>
#include <floptally/step/step_account.hpp>
#include <floptally/waterfall/masked_tiles.hpp>
#include <floptally/waterfall/module_map.hpp>
#include <floptally/waterfall/trace_times.hpp>
#include <floptally/waterfall/waterfall_metrics.hpp>
#include <floptally/waterfall/waterfall_text.hpp>

#include "classes.hpp"

/// @file
/// Where the time of a step went. Python's `Waterfall` is made of the texts that stand here.

namespace floptally::detail::python {

namespace {

/// (queries, keys) of a tile.
attention_tile to_tile(const py::object& tile) {
    if (!is_sequence(tile) || py::len(tile) != 2) {
        throw error("tile", "must be (queries, keys), got " + shown(tile));
    }
    const py::tuple sides(tile);
    constexpr std::uint64_t most = std::uint64_t{1} << 20U;
    return {to_count(sides[0], "tile[0]", 1, most), to_count(sides[1], "tile[1]", 1, most)};
}

/// Python's `MaskedTiles`.
struct shown_tiles {
    shown_tiles(const model_cost& model, const py::object& of) : cost(model), tile(to_tile(of)), counted(of_layers()) {}

    /// The batch of a breakdown must be the one that was added here.
    void require_batch(const tally& batch) const {
        const tally& own = counted.total();
        const auto differ = [&](view seen, statistic what) {
            const std::uint64_t here = own.get(seen, what, modality::text);
            const std::uint64_t there = batch.get(seen, what, modality::text);
            if (here != there) {
                throw error("masked_tiles", "are of " + std::to_string(here) + " " + name_of(what) +
                                                ", and the work is of " + std::to_string(there) +
                                                ": add the same batches to both");
            }
        };
        for (const view seen : {view::useful, view::padded}) {
            for (const statistic what : {statistic::count, statistic::tokens, statistic::squares}) {
                differ(seen, what);
            }
        }
    }

    model_cost cost;
    attention_tile tile;
    masked_tiles counted;

  private:
    masked_tiles of_layers() const {
        if (cost.model().parts.empty()) {
            throw error("cost", "must have the layers of a model, and is one sum of rows");
        }
        return {cost.model().parts, tile};
    }
};

/// Reads an account of a breakdown's work.
class account_reader {
  public:
    account_reader(const counted_work& work, const arguments& said) : of_(work), said_(said) {}

    /// All but the step's seconds.
    step_account account() const {
        if (of_.convention_name() != conventions::exact.name) {
            throw error("convention", std::string("must be exact, whose views a waterfall is made of, got \"")
                                          .append(of_.convention_name())
                                          .append("\""));
        }
        const chosen_peak peak = peak_of(said_);
        require("gpus");
        step_account account{.step = {.gpus = said_.count("gpus", 1), .peak_tflops = peak.tflops}};
        training_plan once = of_.as->plan;
        once.repeated = {};
        account.work = work(once, peak);
        if (!of_.as->plan.repeated.empty()) {
            account.repeated = work(of_.as->plan, peak);
        }
        account.masked_tiles = tiles(peak.tflops);
        account.ranks = ranks();
        account.idle_gpus = said_.some_count("idle_gpus");
        account.apart = apart();
        account.memory_bound = memory_of(of_, said_, once, account.work);
        return with_one_gpu_said(std::move(account));
    }

    double seconds() const {
        require("seconds");
        return said_.number("seconds");
    }

  private:
    void require(const char* name) const {
        if (!said_.some(name)) {
            throw error(name, "is missing; give it, or measure() the step before");
        }
    }

    /// FLOPs by the peaks that they run at.
    std::vector<work_at_peak> work(const training_plan& plan, const chosen_peak& peak) const {
        const model_config& model = *of_.as->model;
        const flop_counter counter =
            plan == of_.as->plan ? of_.as->counter : flop_counter(model, conventions::exact, plan);
        if (const auto precisions = precisions_of(said_, peak.accelerator)) {
            return mixed_precision(counter, model.parts, plan, *precisions, peak.tflops).by_peak(of_.batch);
        }
        return {{counter.evaluate(of_.batch), peak.tflops}};
    }

    std::optional<std::vector<work_at_peak>> tiles(double peak_tflops) const {
        const py::handle given = said_.some("masked_tiles");
        if (!given) {
            return {};
        }
        breakdown in_vain;
        if (py::isinstance<shown_tiles>(given)) {
            const auto& tiles = given.cast<const shown_tiles&>();
            tiles.require_batch(of_.batch);
            in_vain = tiles.counted.work(of_.as->plan);
        } else if (const py::object count = index_of(given)) {
            in_vain.append("attention.core").executed_more[0] = to_flops(count, "masked_tiles").value();
        } else {
            throw error("masked_tiles", "must be a floptally.MaskedTiles, or FLOPs as an int, got " + shown(given));
        }
        return std::vector<work_at_peak>{{in_vain, peak_tflops}};
    }

    /// From a pipeline's own stages, or from the work of each rank.
    std::optional<rank_times> ranks() const {
        constexpr std::uint64_t most_ranks = std::uint64_t{1} << 16U;
        constexpr std::uint64_t most_microbatches = std::uint64_t{1} << 24U;
        const py::handle loads = said_.some("rank_work");
        const auto stages = said_.some_count("pp", 1, most_ranks);
        if (!stages) {
            for (const char* const needs_pp : {"vpp", "microbatches", "schedule"}) {
                if (said_.some(needs_pp)) {
                    throw error("pp", std::string("is missing; ").append(needs_pp).append(" is of a pipeline"));
                }
            }
            return loads ? std::optional(ranks_of(loads)) : std::nullopt;
        }
        if (loads) {
            throw error("rank_work", "is given beside pp, whose ranks have the work of their layers");
        }
        const model_config& model = *of_.as->model;
        if (model.parts.empty()) {
            throw error("pp", "needs the layers of a model, and this cost is one sum of rows");
        }
        const std::uint64_t chunks = said_.some_count("vpp", 1, most_ranks).value_or(1);
        const auto microbatches = said_.some_count("microbatches", 1, most_microbatches);
        if (!microbatches) {
            throw error("microbatches", "is missing; a pipeline runs so many of them in the step");
        }
        const auto how =
            from_word<pipeline_schedule>(said_.some_text("schedule").value_or(chunks > 1 ? "interleaved" : "1f1b"),
                                         "schedule", pipeline_schedule_names);
        const py::gil_scoped_release released;
        const pipeline_order order(how, *stages, chunks, *microbatches);
        const auto split = pipeline_split::even(num_layers(model.parts), *stages, chunks);
        const pipeline_run run = order.run(pipeline_work(model.parts, split, of_.batch, *microbatches, of_.as->plan));
        return rank_times::of(std::span(&run, 1));
    }

    static rank_times ranks_of(py::handle loads) {
        if (py::isinstance<py::dict>(loads)) {
            const auto of = loads.cast<py::dict>();
            if (py::len(of) != 3 || !of.contains("largest") || !of.contains("sum") || !of.contains("ranks")) {
                throw error("rank_work", "must have \"largest\", \"sum\" and \"ranks\", got " + shown(loads));
            }
            return rank_times::of(to_flops(of["largest"], "rank_work.largest").value(),
                                  to_flops(of["sum"], "rank_work.sum").value(),
                                  to_count(py::object(of["ranks"]), "rank_work.ranks", 1));
        }
        if (py::isinstance<py::str>(loads) || !py::isinstance<py::iterable>(loads)) {
            throw error("rank_work", "must be a list of ints, got " + shown(loads));
        }
        flops largest;
        flops sum;
        std::uint64_t ranks = 0;
        for (const py::handle one : loads) {
            const flops load = to_flops(one, indexed("rank_work", ranks++));
            largest = std::max(largest, load);
            sum += load;
        }
        return rank_times::of(largest.value(), sum.value(), ranks);
    }

    std::vector<time_apart> apart() const {
        const py::handle given = said_.some("apart");
        std::vector<time_apart> times;
        if (!given) {
            return times;
        }
        if (!py::isinstance<py::dict>(given)) {
            throw error("apart", "must be a dict of names to seconds, got " + shown(given));
        }
        for (const auto& [name, seconds] : given.cast<py::dict>()) {
            if (!py::isinstance<py::str>(name)) {
                throw error("apart", "must have names as keys, got " + shown(name));
            }
            times.push_back({name.cast<std::string>(), to_number(seconds, indexed("apart", times.size()))});
        }
        return times;
    }

    const counted_work& of_;
    const arguments& said_;
};

/// JSON with names of kernels and modules, which may be any bytes.
template <class Made>
std::string json_of_names(const Made& made) {
    return to_json(made).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

template <class Made>
py::dict texts_of(const Made& made) {
    return py::dict("json"_a = json_of_names(made), "table"_a = to_table(made), "markdown"_a = to_markdown(made),
                    "cells"_a = table_json(floptally::table_of(made)));
}

/// Texts that Python's `Waterfall` is made of. kernel_rate: that of another step; none where this one was measured.
py::dict waterfall_of(const counted_work& work, const arguments& said) {
    const account_reader reader(work, said);
    step_account account = reader.account();
    std::optional<waterfall> made;
    py::object components = py::none();
    if (const auto rate = said.some_number("kernel_rate")) {
        made = floptally::what_if(std::move(account), *rate);
    } else if (const auto text = said.some_text("component_times")) {
        const auto file = nlohmann::json::parse(*text, nullptr, false);
        if (file.is_discarded()) {
            throw error("component_times", "is no JSON");
        }
        const component_times times = read_component_times(file);
        account.step.seconds = times.seconds && !said.some("seconds") ? *times.seconds : reader.seconds();
        components = texts_of(component_waterfall(account, times.times));
        made = waterfall(account);
    } else {
        account.step.seconds = reader.seconds();
        made = waterfall(account);
    }
    py::dict scalars;
    for (const metric& each : metrics(*made, "")) {
        scalars[py::str(each.name)] = each.value;
    }
    py::dict texts = texts_of(*made);
    texts["scalars"] = scalars;
    texts["components"] = components;
    return texts;
}

/// The JSON of the times that a trace has of this work's components, and its notes.
py::tuple times_of_trace(const counted_work& work, const std::string& path, const std::optional<std::string>& modules) {
    const trace_times made(load_kineto_trace(path), modules ? module_map_named(*modules) : module_map{});
    return py::make_tuple(json_of_names(component_times{made.seconds(), made.parts(work.work)}),
                          std::vector<std::string>(made.notes().begin(), made.notes().end()));
}

void bind_masked_tiles(py::module_& module) {
    const py::class_<shown_tiles> type = new_class<shown_tiles>(module, "MaskedTiles");
    constructor(type,
                [](const arguments& given) { return shown_tiles(given.as<const model_cost&>("cost"), given["tile"]); });
    property(type, "tile", [](const shown_tiles& t) { return py::make_tuple(t.tile.rows, t.tile.keys); });
    property(type, "tally", [](const shown_tiles& t) { return t.counted.total(); });
    method(type, "executed", [](const shown_tiles& t, const arguments& given) {
        return t.counted.work(to_plan(given["plan"], t.cost)).total(view::executed);
    });
    method(type, "add", [](shown_tiles& tiles, const arguments& given) {
        const input_arguments batch(given, tiles.counted.masks());
        if (!batch.input().rows.empty()) {
            throw error("attention_mask", "does not say where its tiles begin: give lengths and row_length");
        }
        add_input(batch.input(), tiles.cost.model(), tiles.counted);
    });
    method(type, "__copy__", [](const shown_tiles& t, const arguments&) { return shown_tiles(t); });
    shown_as(type, [](const shown_tiles& t) {
        return "<MaskedTiles of " + std::to_string(t.tile.rows) + " x " + std::to_string(t.tile.keys) + ">";
    });
}

}  // namespace

void bind_waterfalls(py::module_& module) {
    bind_masked_tiles(module);
    method(module.attr("Breakdown"), "waterfall", [](py::handle self, const arguments& given) {
        return package_attribute("_waterfall", "waterfall_of")(self, given.named());
    });
    const std::string parameters = find_stub("Breakdown.waterfall")->parameters + std::string("\nkernel_rate=None");
    special_method(module.attr("Breakdown"), "_waterfall", parameters.c_str(),
                   [](const counted_work& work, const arguments& given) { return waterfall_of(work, given); });
    function(module, "_times_of_trace", [](const arguments& given) {
        return times_of_trace(given.as<const counted_work&>("work"), given.text("path"), given.some_text("modules"));
    });
}

}  // namespace floptally::detail::python
