// SPDX-License-Identifier: Apache-2.0

#include <filesystem>
#include <fstream>
#include <istream>
#include <nlohmann/json.hpp>
#include <streambuf>

#include <floptally/json/component_json.hpp>
#include <floptally/json/kineto_trace.hpp>
#include <floptally/json/waterfall_json.hpp>
#include <floptally/parallel/pipeline_schedule.hpp>
#include <floptally/parallel/pipeline_split.hpp>
#include <floptally/parallel/rank_times.hpp>
#include <floptally/parallel/rank_work.hpp>
#include <floptally/step/memory.hpp>
#include <floptally/step/pipeline_search.hpp>
#include <floptally/step/pipeline_times.hpp>
#include <floptally/step/step_account.hpp>
#include <floptally/waterfall/masked_tiles.hpp>
#include <floptally/waterfall/module_map.hpp>
#include <floptally/waterfall/rank_traces.hpp>
#include <floptally/waterfall/trace.hpp>
#include <floptally/waterfall/waterfall.hpp>
#include <floptally/waterfall/waterfall_line.hpp>
#include <floptally/waterfall/waterfall_metrics.hpp>
#include <floptally/waterfall/waterfall_text.hpp>

#include "classes.hpp"

/// @file
/// Where the time of a step went. Python's `Waterfall` is made of the texts that stand here.

namespace floptally::detail::python {

namespace {

/// The bytes of a gzip file as Python's gzip unpacks them, a window at a time: a wheel then needs no zlib.
class gzip_of_python : public std::streambuf {
  public:
    explicit gzip_of_python(const std::string& path)
        : file_(py::module_::import("gzip").attr("open")(py::bytes(path))) {}

  protected:
    int_type underflow() override {
        constexpr std::size_t bytes = std::size_t{1} << 16U;
        try {
            window_ = file_.attr("read")(bytes).cast<std::string>();
        } catch (const py::error_already_set& problem) {
            throw error("trace", "is a broken gzip file: " + py::str(problem.value()).cast<std::string>());
        }
        setg(window_.data(), window_.data(), window_.data() + window_.size());
        return window_.empty() ? traits_type::eof() : traits_type::to_int_type(window_[0]);
    }

  private:
    py::object file_;
    std::string window_;
};

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

constexpr std::uint64_t most_ranks = std::uint64_t{1} << 16U;
constexpr std::uint64_t most_microbatches = std::uint64_t{1} << 24U;

/// The ranks of a step, and the microbatches of all pipelines, 0 where there is none.
struct read_ranks {
    std::optional<rank_times> times{};
    std::uint64_t microbatches = 0;
};

/// Reads the pipelines of a breakdown's work.
class pipeline_reader {
  public:
    pipeline_reader(const counted_work& work, const arguments& said) : of_(work), said_(said) {}

    /// The pipelines at these peaks, of so many GPUs that work.
    read_ranks ranks(const chosen_peak& peak, std::uint64_t working_gpus) const {
        const model_config& model = *of_.as->model;
        if (model.parts.empty()) {
            throw error("pp", "needs the layers of a model, and this cost is one sum of rows");
        }
        const std::uint64_t stages = said_.count("pp", 1, most_ranks);
        const auto vpp = said_.some_count("vpp", 1, most_ranks);
        const bool is_virtual = vpp.value_or(1) > 1;
        const auto how =
            from_word<pipeline_schedule>(said_.some_text("schedule").value_or(is_virtual ? "interleaved" : "1f1b"),
                                         "schedule", pipeline_schedule_names);
        const std::uint64_t chunks = vpp.value_or(how == pipeline_schedule::zb_v ? 2 : 1);
        const std::vector<std::uint64_t> shares = loads();
        const std::vector<std::vector<tally>> batches = unequal();
        const std::size_t lists = std::max(shares.size(), batches.size());
        const std::uint64_t replicas =
            said_.some_count("replicas", 1, most_microbatches).value_or(std::max<std::size_t>(lists, 1));
        if (!shares.empty() && shares.size() != replicas) {
            throw error("rank_work", "must have a number for each of " + std::to_string(replicas) + " replicas, got " +
                                         std::to_string(shares.size()));
        }
        if (!shares.empty() && !batches.empty()) {
            throw error("rank_work", "is given beside microbatches that say the work of each");
        }
        if (!batches.empty() && batches.size() != replicas) {
            throw error("microbatches", "must be a list for each of " + std::to_string(replicas) + " replicas, got " +
                                            std::to_string(batches.size()));
        }
        if (working_gpus % (stages * replicas) != 0) {
            throw error("gpus", "must be a multiple of " + std::to_string(stages * replicas) +
                                    " ranks, pp x replicas, where they are not idle, got " +
                                    std::to_string(working_gpus));
        }
        const std::uint64_t microbatches = batches.empty() ? equal_microbatches() : batches.front().size();
        const pipeline_split split = split_of(stages, chunks);
        const auto precisions = precisions_of(said_, peak.accelerator);
        const py::gil_scoped_release released;
        const pipeline_times times(model.parts, split, of_.as->plan, peak.tflops,
                                   precisions.value_or(std::vector<precision_setting>{}));
        std::vector<std::vector<chunk_work>> work;
        if (!batches.empty()) {
            work = times.of(batches);
        } else if (!shares.empty()) {
            work = times.of(of_.batch, microbatches, shares);
        } else {
            work.push_back(times.of(of_.batch, microbatches));  // all replicas are alike
        }
        std::vector<pipeline_run> runs;
        for (const std::vector<chunk_work>& replica : work) {
            runs.push_back(pipeline_order::fitted(how, stages, chunks, microbatches, replica).run(replica));
        }
        return {rank_times::of(runs), microbatches * replicas};
    }

    /// Refuses what has no meaning without a pipeline.
    void require_none() const {
        for (const char* const needs_pp :
             {"vpp", "microbatches", "schedule", "replicas", "layers_of_chunks", "num_layers_in_first_pipeline_stage",
              "num_layers_in_last_pipeline_stage", "account_for_embedding_in_pipeline_split",
              "account_for_loss_in_pipeline_split"}) {
            if (said_.some(needs_pp)) {
                throw error("pp", std::string("is missing; ").append(needs_pp).append(" is of a pipeline"));
            }
        }
    }

  private:
    /// Numbers of a list, which has one at least.
    std::vector<std::uint64_t> numbers(const char* name) const {
        const py::handle given = said_.some(name);
        std::vector<std::uint64_t> all;
        if (!given) {
            return all;
        }
        if (!is_sequence(given) || py::len(given) == 0) {
            throw error(name, "must be a list of ints, got " + shown(given));
        }
        for (const py::handle one : given) {
            all.push_back(to_count(py::reinterpret_borrow<py::object>(one), indexed(name, all.size())));
        }
        return all;
    }

    std::vector<std::uint64_t> loads() const {
        if (const py::handle given = said_.some("rank_work"); given && py::isinstance<py::dict>(given)) {
            throw error("rank_work", "must be a list of ints beside pp, one for each replica, got " + shown(given));
        }
        return numbers("rank_work");
    }

    std::uint64_t equal_microbatches() const {
        const auto microbatches = said_.some_count("microbatches", 1, most_microbatches);
        if (!microbatches) {
            throw error("microbatches", "is missing; a pipeline runs so many of them in the step");
        }
        return *microbatches;
    }

    /// The batch of each microbatch of each replica where they are given; they add up to the work's.
    std::vector<std::vector<tally>> unequal() const {
        const py::handle given = said_.some("microbatches");
        std::vector<std::vector<tally>> replicas;
        if (!given || !is_sequence(given)) {
            return replicas;
        }
        const py::list all(py::reinterpret_borrow<py::object>(given));
        const bool is_nested = py::len(all) != 0 && is_sequence(all[0]);
        tally sum{of_.batch.masks()};
        const auto add = [&](const py::list& of_replica) {
            std::vector<tally>& own = replicas.emplace_back();
            for (const py::handle one : of_replica) {
                if (!py::isinstance<counted_work>(one)) {
                    throw error("microbatches",
                                "must be an int, a list of floptally.Breakdown, or such a list for "
                                "each replica, got " +
                                    shown(one));
                }
                const auto& work = one.cast<const counted_work&>();
                if (work.as->model->cost != of_.as->model->cost || work.batch.masks() != of_.batch.masks()) {
                    throw error("microbatches", "must be work of the same cost as their sum");
                }
                own.push_back(work.batch);
                sum += work.batch;
            }
        };
        if (is_nested) {
            for (const py::handle replica : all) {
                add(is_sequence(replica) ? py::list(py::reinterpret_borrow<py::object>(replica)) : all);
            }
        } else {
            add(all);
        }
        for (const std::vector<tally>& replica : replicas) {
            if (replica.empty() || replica.size() != replicas.front().size()) {
                throw error("microbatches", "must be one at least, and as many in each replica");
            }
        }
        for (const view seen : {view::useful, view::padded}) {
            for (const statistic what : {statistic::count, statistic::tokens, statistic::squares}) {
                const std::uint64_t here = sum.get(seen, what, modality::text);
                const std::uint64_t whole = of_.batch.get(seen, what, modality::text);
                if (here != whole) {
                    throw error("microbatches", "are of " + std::to_string(here) + " " + name_of(what) +
                                                    " together, and the work is of " + std::to_string(whole));
                }
            }
        }
        return replicas;
    }

    /// The split of the model's layers into the chunks of a pipeline.
    pipeline_split split_of(std::uint64_t stages, std::uint64_t chunks) const {
        constexpr std::uint64_t most_layers = 100'000;
        const auto layers_in = [&](const char* name) { return said_.some_count(name, 0, most_layers).value_or(0); };
        const auto accounts = [&](const char* name) { return said_.some(name) && said_.flag(name); };
        const pipeline_options options{
            .num_layers_in_first_pipeline_stage = layers_in("num_layers_in_first_pipeline_stage"),
            .num_layers_in_last_pipeline_stage = layers_in("num_layers_in_last_pipeline_stage"),
            .account_for_embedding_in_pipeline_split = accounts("account_for_embedding_in_pipeline_split"),
            .account_for_loss_in_pipeline_split = accounts("account_for_loss_in_pipeline_split")};
        const std::vector<std::uint64_t> layers = numbers("layers_of_chunks");
        if (layers.empty()) {
            return pipeline_split::even(num_layers(of_.as->model->parts), stages, chunks, options);
        }
        for (const char* const name :
             {"num_layers_in_first_pipeline_stage", "num_layers_in_last_pipeline_stage",
              "account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split"}) {
            if (said_.some(name)) {
                throw error(name, "is given beside layers_of_chunks, which says all");
            }
        }
        if (layers.size() != stages * chunks) {
            throw error("layers_of_chunks", "must be " + std::to_string(stages * chunks) + " numbers, pp x vpp, got " +
                                                std::to_string(layers.size()));
        }
        return {stages, layers};
    }

    const counted_work& of_;
    const arguments& said_;
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
        account.masked_tiles = tiles(peak);
        account.idle_gpus = said_.some_count("idle_gpus");
        if (account.idle_gpus.value_or(0) >= account.step.gpus) {
            static_cast<void>(floptally::detail::working_gpus(account));  // the error
        }
        const read_ranks made = ranks(peak, account.step.gpus - account.idle_gpus.value_or(0));
        account.ranks = made.times;
        account.apart = apart();
        account.memory_bound = memory_of(of_, said_, once, account.work, made.microbatches);
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

    /// Masked pairs at the peaks of the attended ones; FLOPs that are given run at the stated peak.
    std::optional<std::vector<work_at_peak>> tiles(const chosen_peak& peak) const {
        const py::handle given = said_.some("masked_tiles");
        if (!given) {
            return {};
        }
        if (py::isinstance<shown_tiles>(given)) {
            const auto& tiles = given.cast<const shown_tiles&>();
            tiles.require_batch(of_.batch);
            return tiles.counted.by_peak(
                of_.as->plan, peak.tflops,
                precisions_of(said_, peak.accelerator).value_or(std::vector<precision_setting>{}));
        }
        const py::object count = index_of(given);
        if (!count) {
            throw error("masked_tiles", "must be a floptally.MaskedTiles, or FLOPs as an int, got " + shown(given));
        }
        breakdown in_vain;
        in_vain.append("attention.core").executed_more[0] = to_flops(count, "masked_tiles").value();
        return std::vector<work_at_peak>{{in_vain, peak.tflops}};
    }

    /// From the pipelines, or from the work of each rank.
    read_ranks ranks(const chosen_peak& peak, std::uint64_t working_gpus) const {
        const pipeline_reader pipelines(of_, said_);
        if (said_.some("pp")) {
            return pipelines.ranks(peak, working_gpus);
        }
        pipelines.require_none();
        const py::handle loads = said_.some("rank_work");
        return {loads ? std::optional(ranks_of(loads)) : std::nullopt, 0};
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

constexpr const char* kind_words[] = {"unsaid",    "communication", "transfer", "data_wait",
                                      "optimizer", "elementwise",   "launches", "other"};

/// What traces say of a step's account: times that are no work of counted kernels, ranks, and each rank's own step.
struct traced_step {
    std::vector<time_apart> apart{};
    std::optional<rank_times> ranks{};

    /// From the JSON that `times_of_traces` made.
    static traced_step of_json(const std::string& text) {
        const auto file = nlohmann::json::parse(text);
        traced_step made;
        for (const auto& time : file.at("apart")) {
            const std::string kind = time.at("kind");
            made.apart.push_back({.name = time.at("name"),
                                  .seconds = time.at("seconds"),
                                  .kind = from_word<apart_kind>(kind, "trace", kind_words),
                                  .assumed = time.at("assumed")});
        }
        if (const auto& ranks = file.at("ranks"); !ranks.is_null()) {
            made.ranks = rank_times::of(ranks.at("largest").get<std::uint64_t>(), ranks.at("sum").get<std::uint64_t>(),
                                        ranks.at("ranks").get<std::uint64_t>());
            made.ranks->makespan = ranks.at("makespan").get<std::uint64_t>();
        }
        return made;
    }

    std::string json() const {
        auto list = nlohmann::json::array();
        for (const time_apart& time : apart) {
            list.push_back({{"name", time.name},
                            {"seconds", time.seconds},
                            {"kind", kind_words[static_cast<std::size_t>(kind_of(time))]},
                            {"assumed", time.assumed}});
        }
        nlohmann::json made{{"apart", list}, {"ranks", nullptr}};
        if (ranks) {  // nanoseconds
            made["ranks"] = {{"largest", static_cast<std::uint64_t>(ranks->largest)},
                             {"sum", static_cast<std::uint64_t>(ranks->sum)},
                             {"ranks", ranks->ranks},
                             {"makespan", static_cast<std::uint64_t>(*ranks->makespan)}};
        }
        return made.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    }
};

/// The account with what traces say of it and nobody else did.
step_account with_traces(step_account account, const traced_step& traced) {
    const auto line_of = [](const time_apart& time) { return floptally::detail::step_of(kind_of(time)); };
    // A time that a job of one GPU implies is not measured.
    std::erase_if(account.apart, [](const time_apart& time) { return time.assumed != "measured"; });
    const std::vector<time_apart> given = account.apart;
    for (const time_apart& time : traced.apart) {
        const auto is_alike = [&](const time_apart& other) {
            return line_of(other) == line_of(time) &&
                   (line_of(time) != waterfall_step::apart || kind_of(other) == kind_of(time));
        };
        if (std::none_of(given.begin(), given.end(), is_alike)) {
            account.apart.push_back(time);
        }
    }
    account = with_one_gpu_said(std::move(account));
    account.ranks = account.ranks ? account.ranks : traced.ranks;
    return account;
}

/// The account without the kinds of time that traces have, whose components have lines of their own.
step_account without_traced(step_account account, const traced_step& traced) {
    std::erase_if(account.apart, [&](const time_apart& time) {
        return std::any_of(traced.apart.begin(), traced.apart.end(),
                           [&](const time_apart& other) { return kind_of(time) == kind_of(other); });
    });
    return account;
}

/// Texts that Python's `Waterfall` is made of. `measured`: the waterfall of the step that was measured, where this is
/// another one, whose kernels reach `kernel_rate`. `traced`: JSON of `times_of_traces`.
py::dict waterfall_of(const counted_work& work, const arguments& said) {
    const account_reader reader(work, said);
    step_account account = reader.account();
    const auto traced_text = said.some_text("traced");
    const traced_step traced = traced_text ? traced_step::of_json(*traced_text) : traced_step{};
    const step_account untraced = account;
    if (traced_text) {
        account = with_traces(std::move(account), traced);
    }
    std::optional<waterfall> made;
    py::object components = py::none();
    if (said.some("measured")) {
        made =
            floptally::what_if(std::move(account), said.as<const waterfall&>("measured"), said.number("kernel_rate"));
    } else if (const auto text = said.some_text("component_times")) {
        const auto file = nlohmann::json::parse(*text, nullptr, false);
        if (file.is_discarded()) {
            throw error("component_times", "is no JSON");
        }
        const component_times times = read_component_times(file);
        account.step.seconds = times.seconds && !said.some("seconds") ? *times.seconds : reader.seconds();
        step_account by_component = without_traced(untraced, traced);
        by_component.step.seconds = account.step.seconds;
        made = waterfall(account);
        components = texts_of(component_waterfall(by_component, times.times));
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
    texts["measured"] = *made;
    return texts;
}

}  // namespace

trace load_trace(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!is_gzip(file)) {
        return load_kineto_trace(path);
    }
    const py::gil_scoped_acquire held;  // the program runs without it
    gzip_of_python unpacked(path.string());
    std::istream stream(&unpacked);
    stream.exceptions(std::ios::badbit);  // an error of the buffer is thrown on
    return read_kineto_trace(stream);
}

namespace {

/// The JSON of the times that the traces of a step's ranks have of this work's components, what else they say of the
/// step, their notes, and the step of each rank where there are several.
py::tuple times_of_traces(const counted_work& work, const std::vector<std::string>& paths,
                          const std::optional<std::string>& modules) {
    std::vector<trace> traces;
    for (const std::string& path : paths) {
        traces.push_back(load_trace(path));
    }
    const rank_traces made(std::move(traces), modules ? module_map_named(*modules) : module_map{});
    py::list ranks;
    for (const rank_line& line : paths.size() == 1 ? std::vector<rank_line>{} : made.lines(work.work)) {
        ranks.append(py::dict("seconds"_a = line.seconds, "computing"_a = line.computing, "besides"_a = line.besides,
                              "transfer"_a = line.transfer, "waiting"_a = line.waiting, "idle"_a = line.idle,
                              "hidden"_a = line.hidden));
    }
    return py::make_tuple(json_of_names(component_times{made.seconds(), made.parts(work.work)}),
                          traced_step{made.apart(work.work), made.times(work.work)}.json(),
                          std::vector<std::string>(made.notes().begin(), made.notes().end()), ranks);
}

/// The pipelines that fit the memory (a dict each), how many do not, how many cannot be split, and what is kept.
py::tuple fitting_pipelines(const counted_work& work, const arguments& given) {
    constexpr const char* zero_words[] = {"none", "optimizer", "gradients", "weights"};
    constexpr std::uint64_t most = std::uint64_t{1} << 24U;
    const double memory_gib = given.number("memory_gib");
    floptally::detail::require_finite_positive(memory_gib, "memory_gib");
    const auto activation_gib = given.some_number("activation_gib");
    if (activation_gib) {
        floptally::detail::require_finite_positive(*activation_gib, "activation_gib");
    }
    const pipeline_search_options options{.pipeline_ranks = given.count("pipeline_ranks", 1, most),
                                          .microbatches = given.count("microbatches", 1),
                                          .gpus_of_stage = given.count("gpus_of_stage", 1),
                                          .memory_gib = memory_gib,
                                          .sharded = from_word<zero_stage>(given.text("zero"), "zero", zero_words),
                                          .activation_gib = activation_gib.value_or(0)};
    const pipeline_search search = pipelines_that_fit(work.as->model->parts, work.as->plan, options);
    py::list found;
    for (const fitting_pipeline& one : search.found) {
        found.append(py::dict("pp"_a = one.pp, "replicas"_a = one.replicas, "vpp"_a = one.vpp,
                              "microbatches"_a = one.microbatches,
                              "schedule"_a = pipeline_schedule_names[static_cast<std::size_t>(one.schedule)],
                              "memory_gib"_a = one.memory_gib));
    }
    return py::make_tuple(found, search.too_large, search.impossible, kept_in(options));
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
    const py::class_<waterfall> measured(module, "_MeasuredStep", "The waterfall of a step, for `Waterfall.what_if`.");
    made_elsewhere(measured, "Breakdown.waterfall");
    method(module.attr("Breakdown"), "waterfall", [](py::handle self, const arguments& given) {
        return package_attribute("_waterfall", "waterfall_of")(self, given.named());
    });
    const std::string parameters =
        find_stub("Breakdown.waterfall")->parameters + std::string("\nkernel_rate=None\nmeasured=None\ntraced=None");
    special_method(module.attr("Breakdown"), "_waterfall", parameters.c_str(),
                   [](const counted_work& work, const arguments& given) { return waterfall_of(work, given); });
    function(module, "_fitting_pipelines",
             [](const arguments& given) { return fitting_pipelines(given.as<const counted_work&>("work"), given); });
    function(module, "_times_of_traces", [](const arguments& given) {
        return times_of_traces(given.as<const counted_work&>("work"), given.as<std::vector<std::string>>("paths"),
                               given.some_text("modules"));
    });
}

}  // namespace floptally::detail::python
