// SPDX-License-Identifier: Apache-2.0

#include <functional>
#include <pthread.h>
#include <pybind11/functional.h>

#include <floptally/parallel/rank_sum.hpp>
#include <floptally/parallel/reduction_schema.hpp>
#include <floptally/step/duration_histogram.hpp>
#include <floptally/step/meter_log.hpp>
#include <floptally/step/open_metrics.hpp>
#include <floptally/step/run_account.hpp>
#include <floptally/step/step_totals.hpp>
#include <floptally/text/number_text.hpp>

#include "classes.hpp"

namespace floptally::detail::python {

namespace {

/// Totals of a step, an interval or a run, and what their steps took.
struct shown_totals {
    step_totals totals;
    std::optional<duration_histogram> step_seconds;  ///< none of a single step

    explicit shown_totals(const step_totals& of) : totals(of) {}
    explicit shown_totals(const step_series& of) : totals(of.totals), step_seconds(of.step_seconds) {}

    [[nodiscard]] const duration_histogram& durations() const {
        if (!step_seconds) {
            throw error("step_seconds", "a single step has no distribution of durations");
        }
        return *step_seconds;
    }
};

// Parts of a meter: hardware, a clock, a sum over ranks.

metered_hardware to_hardware(const arguments& given) {
    const chosen_peak peak = peak_of(given);
    const auto gpus = given.some_count("gpus", 1);
    const auto counted = given.some_text("counted");
    if (!gpus && !given.some("reduce")) {
        throw error("gpus", "must be given, or reduce, whose ranks they are");
    }
    return {.gpus = gpus.value_or(0),
            .peak_tflops = peak.tflops,
            .accelerator = peak.accelerator,
            .precision = peak.precision,
            .counted = from_word<counted_for>(counted.value_or("unsaid"), "counted", {"unsaid", "all_gpus"}),
            .peak_kind = peak.kind,
            .peak_quality = peak.quality};
}

/// The sum over ranks by a `floptally.distributed.Reduction`, or whatever is called as it is and has its `layout` and
/// its `convention`.
rank_sum to_rank_sum(const py::object& reduce, const flop_counter& model) {
    if (reduce.is_none()) {
        return {};
    }
    const py::object ranks =
        package_attribute("_reductions", "checked_ranks")(reduce, model.counted_as().name, coefficient_hash(model));
    // A tally of other masks than the model's: what a rank sends that refuses.
    mask_set others;
    if (model.masks().empty()) {
        others.push_back(mask::sliding_window(1), "masks");
    }
    return {.ranks = ranks.cast<std::uint64_t>(),
            .sum = [reduce, refusal = tally(others)](const std::function<tally()>& counted) {
                std::optional<tally> mine;
                try {
                    mine = counted();
                } catch (const error&) {
                    try {
                        static_cast<void>(reduce(refusal));
                    } catch (const py::error_already_set&) {  // what the other ranks see; here its cause is said
                    }
                    throw;
                }
                return reduce(*mine).cast<tally>();
            }};
}

meter::seconds_clock to_clock(const py::object& clock) {
    if (clock.is_none()) {
        return steady_seconds;
    }
    if (PyCallable_Check(clock.ptr()) == 0) {
        throw error("clock", "must be callable, got " + shown(clock));
    }
    return [asked = clock.cast<std::function<py::object()>>()] {
        const py::gil_scoped_acquire lock;
        return to_number(asked(), "clock");
    };
}

/// How many forks made this process.
std::uint64_t fork_count() {
    static std::uint64_t forks = 0;
    static const int registered = pthread_atfork(nullptr, nullptr, [] { ++forks; });
    static_cast<void>(registered);
    return forks;
}

/// Python's `Meter`. Its methods hold the GIL wherever they touch a total, so that any thread may add. What is still on
/// its way from a GPU, and the steps that wait for it, are Python's (`_later.Unfinished`).
class held_meter {
  public:
    explicit held_meter(const arguments& given)
        : held_meter(given.as<const model_cost&>("cost"), given["convention"], given["plan"], given) {}

    void begin_step() {
        const double now = of.in_step() ? 0 : clock_();
        of.begin_step();
        started_ = now;
        ++steps_begun_;
        forks_ = fork_count();
    }

    /// Counts a microbatch. One that was counted while its step ended is an error, never part of the next.
    void add(const arguments& batch) {
        const std::uint64_t step = open_step();
        const tally counted = counted_of(batch);
        if (step != steps_begun_ || !of.in_step()) {
            throw error("microbatch", "step " + std::to_string(step) + " ended before this microbatch was counted");
        }
        of.microbatch() += counted;
    }

    /// Keeps one whose numbers are on their way.
    void add_later(const py::object& batch) {
        static_cast<void>(open_step());
        if (!unfinished_) {
            unfinished_ = package_attribute("_later", "Unfinished")();
        }
        unfinished_.attr("add")(batch);
    }

    [[nodiscard]] tally counted_of(const arguments& batch) const {
        const mask_set& masks = as->counter.masks();
        if (const py::handle logits = batch.some("logits"); logits && py::isinstance<py::str>(logits)) {
            throw error("logits", "must be how many; which tokens' logits a meter counts is said by its plan, got " +
                                      shown(logits));
        }
        const input_arguments read(batch, masks);
        require_forward(read.input(), as->plan);
        return read.counted(model.model(), masks);
    }

    /// True where the step joins the totals later.
    bool end_step(py::handle given) {
        double seconds = given.is_none() ? 0 : to_number(given, "seconds");
        if (of.in_step() && given.is_none()) {
            seconds = clock_() - started_;
        }
        if (of.in_step() && passes_ && py::len(passes_.attr("open")) != 0) {
            of.require_seconds(seconds);
            end_passes(seconds);
            return false;
        }
        if (of.in_step() && unfinished_) {
            of.require_seconds(seconds);
            return unfinished_.attr("end_step")(this, seconds).cast<bool>();
        }
        end_now(seconds);
        return false;
    }
    void end_now(double seconds) {
        of.end_step(seconds);
        warn_of_last_step();
    }

    /// Ends a step of passes: its FLOPs are theirs, and the meter's own totals have none of it.
    void end_passes(double seconds) {
        const std::span<const std::uint64_t> words = of.microbatch().words();
        if (std::any_of(words.begin(), words.end(), [](std::uint64_t word) { return word != 0; })) {
            throw error("microbatch",
                        "was added to the meter beside its passes, in whose time it ran: add it to a pass");
        }
        passes_.attr("end_step")(seconds);
        of.discard_step();
    }
    /// Its passes, which are Python's (`_passes.Passes`).
    [[nodiscard]] const py::object& passes(py::handle self) {
        if (!passes_) {
            passes_ = package_attribute("_passes", "Passes")(self);
        }
        return passes_;
    }
    [[nodiscard]] bool has_passes() const { return static_cast<bool>(passes_); }
    [[nodiscard]] double now() const { return clock_(); }
    void reset_interval() {
        of.reset_interval();
        if (passes_) {
            passes_.attr("reset_interval")();
        }
    }

    void discard_step() {
        of.discard_step();
        if (passes_) {
            passes_.attr("discard")();
        }
        if (unfinished_) {
            unfinished_.attr("discard")();
        }
    }

    /// A step that ended before becomes part of the totals. The one that is open meanwhile stays open.
    void join(const tally& batch, double seconds) {
        std::optional<tally> open;
        if (of.in_step()) {
            open = of.microbatch();
            of.discard_step();
        }
        const auto reopen = [&] {
            if (open) {
                of.begin_step();
                of.microbatch() += *open;
            }
        };
        of.begin_step();
        try {
            of.microbatch() += batch;
            of.end_step(seconds);
        } catch (...) {
            of.discard_step();
            reopen();
            throw;
        }
        reopen();
        warn_of_last_step();
    }

    /// Hands the totals every ended step whose microbatches are there, in order; with `wait`, all of them.
    void settle(bool wait) {
        if (unfinished_) {
            unfinished_.attr("settle")(this, wait);
        }
    }

    /// Calls `visit` with the totals of "step", "interval" or "run".
    template <class Visit>
    auto visit_span(const std::string& which, Visit visit) {
        settle(false);
        switch (from_word<int>(which, "span", {"step", "interval", "run"})) {
            case 0:
                return visit(of.last_step());
            case 1:
                return visit(of.interval());
            default:
                return visit(of.run());
        }
    }
    shown_totals span(const std::string& which) {
        return visit_span(which, [](const auto& done) { return shown_totals(done); });
    }

    model_cost model;
    std::shared_ptr<const folded_model> as;
    meter of;
    py::dict keywords;  ///< that it was made with, for a pickle

  private:
    /// The model, and in its tallies what the convention that is shown beside needs besides.
    static model_cost with_words_of(const py::object& beside, const model_cost& measured, const training_plan& plan) {
        if (beside.is_none()) {
            return measured;
        }
        model_config wider = measured.model();
        for (const rule& needed : measured.folded(to_convention(beside), plan)->counter.masks()) {
            wider.cost.keep(needed);
        }
        return model_cost(std::move(wider), measured.plan());
    }

    held_meter(const model_cost& measured, const py::object& how, const py::object& plan, const arguments& given)
        : model(with_words_of(given["beside"], measured, to_plan(plan, measured))),
          as(model.folded(to_convention(how), to_plan(plan, measured))),
          of(as->counter, to_hardware(given), to_rank_sum(given["reduce"], as->counter),
             [] { return 0.0; }),  // its steps are given their seconds
          keywords(given.named()),
          clock_(to_clock(given["clock"])) {
        if (const auto precisions = precisions_of(given, of.hardware().accelerator)) {
            of.runs_in(
                mixed_precision(of.model(), model.model().parts, as->plan, *precisions, of.hardware().peak_tflops));
        }
        if (const py::handle beside = given.some("beside")) {
            of.shows_beside(measured.folded(to_convention(beside), as->plan)->counter);
        }
    }

    /// The number of the open step, in which this process may add.
    std::uint64_t open_step() {
        static_cast<void>(of.microbatch());  // or an error: no step is open
        if (forks_ != fork_count()) {
            throw error("microbatch",
                        "is added in a forked process to a step that its parent began, which would never see it: a "
                        "DataLoader's worker gives lengths to the process that trains");
        }
        return steps_begun_;
    }

    /// The first steps compile and warm up: a rate that is too small is said at one of those after them.
    void warn_of_last_step() const {
        constexpr std::uint64_t warmed_up = 10;
        const double mfu = rates(of.last_step()).mfu;
        if (of.run().totals.steps == warmed_up) {
            warn_if_absurd(mfu, as->plan.counted);
        } else {
            warn_above_peak(mfu);
        }
    }

    meter::seconds_clock clock_;
    double started_ = 0;
    std::uint64_t steps_begun_ = 0;
    std::uint64_t forks_ = 0;  // after how many the open step was begun
    py::object passes_{};      // null where no pass was ever timed
    py::object unfinished_{};  // null where nothing was ever on its way
};

template <view Seen, statistic What>
void sum(const py::class_<shown_totals>& type, const char* name) {
    property(type, name, [](const shown_totals& t) {
        return t.totals.batch.get(Seen, What, t.totals.batch.masks().main_modality());
    });
}

template <double step_rates::*Rate>
void rate(const py::class_<shown_totals>& type, const char* name) {
    property(type, name, [](const shown_totals& t) { return rates(t.totals).*Rate; });
}

void bind_totals(py::module_& module) {
    const py::class_<shown_totals> type = new_class<shown_totals>(module, "Totals");
    made_elsewhere(type, "a Meter's last_step, interval or run");
    property(type, "steps", [](const shown_totals& t) { return t.totals.steps; });
    property(type, "seconds", [](const shown_totals& t) { return t.totals.seconds; });
    property(type, "gpu_seconds", [](const shown_totals& t) { return t.totals.gpu_seconds; });
    property(type, "useful", [](const shown_totals& t) { return t.totals.useful; });
    property(type, "padded", [](const shown_totals& t) { return t.totals.padded; });
    property(type, "executed", [](const shown_totals& t) { return t.totals.executed; });
    property(type, "tally", [](const shown_totals& t) { return t.totals.batch; });
    property(type, "min_step_seconds", [](const shown_totals& t) { return t.durations().min(); });
    property(type, "max_step_seconds", [](const shown_totals& t) { return t.durations().max(); });
    method(type, "percentile", [](const shown_totals& t, const arguments& given) {
        return t.durations().percentile(given.number("percent"));
    });
    shown_as(type, [](const shown_totals& t) {
        return "<Totals of " + std::to_string(t.totals.steps) + " steps: " + to_string(t.totals.useful) +
               " useful FLOPs in " + std::to_string(t.totals.seconds) + " s>";
    });
    sum<view::useful, statistic::tokens>(type, "tokens");
    sum<view::padded, statistic::tokens>(type, "padded_tokens");
    sum<view::useful, statistic::count>(type, "samples");
    rate<&step_rates::mfu>(type, "mfu");
    rate<&step_rates::padded_mfu>(type, "padded_mfu");
    rate<&step_rates::hfu>(type, "hfu");
    rate<&step_rates::tflops>(type, "tflops");
    rate<&step_rates::tflops_per_gpu>(type, "tflops_per_gpu");
    rate<&step_rates::padded_tflops_per_gpu>(type, "padded_tflops_per_gpu");
    rate<&step_rates::executed_tflops_per_gpu>(type, "executed_tflops_per_gpu");
    rate<&step_rates::tokens_per_second>(type, "tokens_per_second");
    rate<&step_rates::tokens_per_second_per_gpu>(type, "tokens_per_second_per_gpu");
    rate<&step_rates::samples_per_second>(type, "samples_per_second");
    rate<&step_rates::useful_fraction>(type, "useful_fraction");
    rate<&step_rates::useful_flops_fraction>(type, "useful_flops_fraction");
    rate<&step_rates::step_seconds>(type, "step_seconds");
}

/// Scalars of a span, under its prefix.
py::dict scalars(held_meter& m, const arguments& given) {
    py::dict all;
    m.visit_span(given.text("span"), [&](const auto& done) {
        for (const metric& each : metrics(m.of, done, given.text("prefix"))) {
            all[py::str(each.name)] = each.value;
        }
    });
    return all;
}

py::dict percentiles(held_meter& m) {
    m.settle(false);
    py::dict all;
    for (const auto& [name, seconds] : named(m.of.step_percentiles())) {
        all[py::str(std::string(name))] = seconds;
    }
    return all;
}

/// Its arguments, and its run: a copy goes on from the last step and has none open.
std::string file_name(py::handle path) { return py::module_::import("os").attr("fsencode")(path).cast<std::string>(); }

py::tuple state_of(held_meter& m) {
    m.settle(true);
    return py::make_tuple(m.model, m.keywords,
                          m.of.run().totals.steps == 0 ? py::object(py::none()) : py::str(meter_json(m.of)));
}

/// The calls of a Tally, each of which is `add` by its keywords.
constexpr const char* meter_adders[] = {"add_lengths",         "add_padded",      "add_cu_seqlens", "add_packed",
                                        "add_attention_mask",  "add_new_tokens",  "add_hstu",       "add_grid_thw",
                                        "add_encoder_decoder", "add_audio_frames"};

template <std::size_t... Adder>
void bind_meter_adders(const py::class_<held_meter>& type, std::index_sequence<Adder...> /*all*/) {
    (method(type, meter_adders[Adder],
            [](py::handle self, const arguments& given) {
                package_attribute("_later", "add_by_call")(self, meter_adders[Adder], given.named(true));
            }),
     ...);
}

}  // namespace

void bind_meters(py::module_& module) {
    function(module, "_coefficient_hash", [](const arguments& given) {
        const auto& model = given.as<const model_cost&>("cost");
        return coefficient_hash(
            model.folded(to_convention(given["convention"]), to_plan(given["plan"], model))->counter);
    });
    bind_totals(module);
    const py::class_<held_meter> type = new_class<held_meter>(module, "Meter");
    constructor(type, [](const arguments& given) { return held_meter(given); });
    method(type, "begin_step", [](held_meter& m, const arguments&) { m.begin_step(); });
    method(type, "end_step", [](py::handle self, const arguments& given) {
        if (self.cast<held_meter&>().end_step(given["seconds"])) {
            package_attribute("_later", "finish_at_exit")(self);
        }
    });
    method(type, "discard_step", [](held_meter& m, const arguments&) { m.discard_step(); });
    method(type, "step", [](py::handle self, const arguments& given) {
        return package_attribute("_later", "MeteredStep")(self, given["seconds"]);
    });
    method(type, "add", [](held_meter& m, const arguments& given) {
        try {
            m.add(given);  // at once what is in the memory of the host, …
        } catch (const on_device&) {
            m.add_later(package_attribute("_later", "Copy")(given.named()));  // … what is on a GPU by a copy
        }
    });
    bind_meter_adders(type, std::make_index_sequence<std::size(meter_adders)>());
    method(type, "add_later", [](held_meter& m, const arguments& given) { m.add_later(given["batch"]); });
    method(type, "finish", [](held_meter& m, const arguments&) { m.settle(true); });
    method(type, "new_tally", [](const held_meter& m, const arguments&) { return tally{m.of.model().masks()}; });
    method(type, "breakdown", [](held_meter& m, const arguments& given) {
        return counted_work(m.as, m.span(given.text("span")).totals.batch, true);
    });
    property(type, "in_step", [](const held_meter& m) { return m.of.in_step(); });
    property(type, "last_step", [](held_meter& m) { return m.span("step"); });
    property(type, "interval", [](held_meter& m) { return m.span("interval"); });
    property(type, "run", [](held_meter& m) { return m.span("run"); });
    method(type, "reset_interval", [](held_meter& m, const arguments&) { m.reset_interval(); });
    method(type, "begin_run", [](held_meter& m, const arguments& given) {
        if (m.of.account().has_begun()) {
            throw error("run", "has begun already");
        }
        if (const py::handle clock = given.some("clock")) {
            m.of.account() = run_account(to_clock(py::reinterpret_borrow<py::object>(clock)));
        }
        m.of.account().begin();
    });
    method(type, "spend", [](held_meter& m, const arguments& given) {
        m.of.account().spend(given.text("name"), given.number("seconds"));
    });
    method(type, "spending", [](py::handle self, const arguments& given) {
        return package_attribute("_goodput", "Spending")(self, given["name"]);
    });
    property(type, "goodput", [](held_meter& m) {
        m.settle(false);
        const goodput made = goodput_of(m.of.run().totals, m.of.account());
        py::dict spent;
        for (const spent_time& each : made.spent) {
            spent[py::str(each.name)] = each.seconds;
        }
        return package_attribute("_goodput", "Goodput")(made.wall_seconds, made.step_seconds, spent, made.rest_seconds,
                                                        made.step_share, made.mfu, made.padded_mfu, made.hfu);
    });
    method(type, "to_open_metrics", [](held_meter& m, const arguments& given) {
        m.settle(true);
        return to_open_metrics(m.of, given.text("run"));
    });
    method(type, "timed", [](py::handle self, const arguments& given) {
        py::dict options = given.named();
        options["name"] = given["name"];
        return package_attribute("_passes", "timed")(self, **options);
    });
    method(type, "passes", [](py::handle self, const arguments& given) {
        return self.cast<held_meter&>().passes(self).attr("of")(given["span"]);
    });
    property(type, "_passes", [](py::handle self) { return self.cast<held_meter&>().passes(self); });
    property(type, "_now", [](const held_meter& m) { return m.now(); });
    method(type, "scalars", [](held_meter& m, const arguments& given) { return scalars(m, given); });
    method(type, "state_dict", [](held_meter& m, const arguments&) {
        m.settle(true);
        return json_object(meter_json(m.of));
    });
    method(type, "load_state_dict", [](held_meter& m, const arguments& given) {
        m.settle(true);
        const auto state = given.as<py::dict>("state");
        resume_meter(m.of, package_attribute("_json", "json_of")(state, "state").cast<std::string>());
    });
    method(type, "save", [](held_meter& m, const arguments& given) {
        m.settle(true);
        save_meter(m.of, file_name(given["path"]));
    });
    method(type, "load", [](held_meter& m, const arguments& given) {
        m.settle(true);
        load_meter(m.of, file_name(given["path"]));
    });
    property(type, "counted", [](const held_meter& m) { return m.of.counted(); });
    property(type, "reduces", [](const held_meter& m) { return m.of.reduces(); });
    method(type, "step_percentiles", [](held_meter& m, const arguments&) { return percentiles(m); });
    method(type, "leave_out", [](held_meter& m, const arguments& given) {
        m.settle(true);
        m.of.leave_out(given.count("steps"));
    });
    property(type, "cost", [](const held_meter& m) { return m.model; });
    property(type, "plan", [](const held_meter& m) { return m.as->plan; });
    property(type, "convention", [](const held_meter& m) { return std::string(m.of.model().counted_as().name); });
    property(type, "beside", [](const held_meter& m) {
        return m.of.beside() ? std::optional(std::string(m.of.beside()->counted_as().name)) : std::nullopt;
    });
    property(type, "gpus", [](const held_meter& m) { return m.of.hardware().gpus; });
    property(type, "peak_tflops", [](const held_meter& m) { return m.of.hardware().peak_tflops; });
    property(type, "accelerator", [](const held_meter& m) { return m.of.hardware().accelerator; });
    property(type, "precision", [](const held_meter& m) { return m.of.hardware().precision; });
    property(type, "peak_kind", [](const held_meter& m) { return std::string(name(m.of.hardware().peak_kind)); });
    property(type, "peak_quality", [](const held_meter& m) { return std::string(name(m.of.hardware().peak_quality)); });
    special_method(type, "_counted", find_stub("Meter.add")->parameters,
                   [](const held_meter& m, const arguments& given) { return m.counted_of(given); });
    property(type, "_microbatch", [](held_meter& m) { return m.of.microbatch(); });
    special_method(type, "_end_now", "self\nseconds",
                   [](held_meter& m, const arguments& given) { m.end_now(given.number("seconds")); });
    special_method(type, "_join", "self\ncounted\nseconds", [](held_meter& m, const arguments& given) {
        m.join(given.as<const tally&>("counted"), given.number("seconds"));
    });
    shown_as(type, [](const held_meter& m) {
        const metered_hardware& on = m.of.hardware();
        const step_totals& done = m.of.run().totals;
        return "<Meter of " + m.model.model().model_type + ", " + m.of.counted() +
               (on.accelerator.empty() ? "" : ": " + on.accelerator) + " at " + general_decimal(on.peak_tflops, 6) +
               " TFLOP/s in " + on.precision + ", convention " + std::string(m.of.model().counted_as().name) + ": " +
               std::to_string(done.steps) + (done.steps == 1 ? " step" : " steps") + " in " +
               general_decimal(done.seconds, 4) + " s>";
    });
    pickles(
        type, [](held_meter& m) { return state_of(m); },
        [](py::handle self, const py::object& state) {
            const py::tuple kept(state);
            py::dict keywords(kept[1]);
            keywords["cost"] = kept[0];
            py::type::of<held_meter>().attr("__init__")(self, **keywords);
            if (!kept[2].is_none()) {
                resume_meter(self.cast<held_meter&>().of, kept[2].cast<std::string>());
            }
        });
}

}  // namespace floptally::detail::python
