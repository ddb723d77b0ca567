// SPDX-License-Identifier: Apache-2.0

#include <functional>
#include <pthread.h>
#include <pybind11/functional.h>

#include <floptally/lists/any_function.hpp>
#include <floptally/parallel/rank_sum.hpp>
#include <floptally/parallel/reduction_schema.hpp>
#include <floptally/step/duration_histogram.hpp>
#include <floptally/step/goodput.hpp>
#include <floptally/step/meter_log.hpp>
#include <floptally/step/open_metrics.hpp>
#include <floptally/step/step_totals.hpp>
#include <floptally/text/number_text.hpp>

#include "classes.hpp"
#include "ranks.hpp"

namespace floptally::python {

namespace {

/// Totals of a step, an interval or a run, with the step times.
struct shown_totals {
    step_totals totals;
    std::optional<duration_histogram> step_seconds;  ///< empty for a single step

    explicit shown_totals(const step_totals& source) : totals(source) {}
    explicit shown_totals(const step_series& source) : totals(source.totals), step_seconds(source.step_seconds) {}

    [[nodiscard]] const duration_histogram& durations() const {
        if (!step_seconds) {
            throw error("step_seconds", "has no percentiles for a single step: read those of the interval or the run");
        }
        return *step_seconds;
    }
};

// Parts of a meter: hardware, a clock, a sum over ranks.

/// The peak of a meter's GPUs. A name that is not in the table ends no run: it is one warning, and the peak is unknown.
std::optional<chosen_peak> known_peak(const arguments& args, bool warns) {
    const auto product = args.some("peak_tflops") ? std::nullopt : to_product(args["accelerator"]);
    if (product) {
        try {
            static_cast<void>(accelerator_named(*product));
        } catch (const error& problem) {
            if (warns) {
                warn(std::string(problem.what()) +
                     "; the meter has FLOPs, times and rates, and no MFU: pass peak_tflops=, the dense TFLOP/s of one "
                     "GPU, or what floptally.measure_peak() returns");
            }
            return std::nullopt;
        }
    }
    return peak_of(args);
}

metered_hardware to_hardware(const arguments& args, bool warns) {
    const std::optional<chosen_peak> known = known_peak(args, warns);
    const chosen_peak peak =
        known.value_or(chosen_peak{.accelerator = to_product(args["accelerator"]).value_or(""), .precision = "bf16"});
    const auto gpus = args.some_count("gpus", 1);
    const auto counted = args.some_text("counted");
    // Without either, a trainer's callback says the number before the first step.
    return {.gpus = gpus.value_or(args.some("reduce") ? 0 : 1),
            .peak_tflops = peak.tflops,
            .accelerator = peak.accelerator,
            .precision = peak.precision,
            .counted = from_name<counted_for>(counted.value_or("unsaid"), "counted", {"unsaid", "all_gpus"}),
            .peak_kind = peak.kind,
            .peak_quality = peak.quality,
            .peak_is_unknown = !known};
}

/// The sum over ranks by a `floptally.distributed.Reduction`, or by another callable with a `layout` and a
/// `convention`.
rank_sum to_rank_sum(const py::object& reduce, const flop_counter& model) {
    if (reduce.is_none()) {
        return {};
    }
    const py::object ranks = package_attribute("_reductions", "checked_ranks")(reduce, model.counted_as().name,
                                                                               detail::coefficient_hash(model));
    // The type is asked, since the property of an object would make the ranks compare their configurations.
    const bool compares = py::hasattr(py::type::of(reduce), "reducer");
    std::function<void(std::span<std::uint64_t>)> max;
    if (compares) {
        max = [reduce](std::span<std::uint64_t> integers) { python_reducer(reduce.attr("reducer")).max(integers); };
    }
    // A tally of other masks than the model's. A rank that refuses to sum sends it.
    mask_set others;
    if (model.masks().empty()) {
        others.push_back(mask::sliding_window(1), "masks");
    }
    return {.ranks = ranks.cast<std::uint64_t>(),
            .sum =
                [reduce, refusal = tally(others)](function_view<tally()> counted) {
                    std::optional<tally> mine;
                    try {
                        mine = counted();
                    } catch (const error&) {
                        try {
                            static_cast<void>(reduce(refusal));
                            // the other ranks see only this refusal; its cause is raised here
                        } catch (const py::error_already_set&) {
                        }
                        throw;
                    }
                    return reduce(*mine).cast<tally>();
                },
            .rank = compares ? reduce.attr("layout").attr("rank").cast<std::uint64_t>() : 0,
            .max = std::move(max)};
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

/// The number of forks between the first process and this one.
std::uint64_t fork_count() {
    static std::uint64_t forks = 0;
    static const int registered = pthread_atfork(nullptr, nullptr, [] { ++forks; });
    static_cast<void>(registered);
    return forks;
}

/// True while a copy of a meter is constructed. The original has given the warnings before.
bool& is_quiet() {
    static bool value = false;  // guarded by the GIL
    return value;
}
class quiet {
  public:
    quiet() : before_(std::exchange(is_quiet(), true)) {}
    ~quiet() { is_quiet() = before_; }
    quiet(const quiet&) = delete;
    quiet& operator=(const quiet&) = delete;

  private:
    bool before_;
};

/// Python's `Meter`. Methods hold the GIL while they touch totals, so any thread may add. Batches that have not arrived
/// from a GPU, and steps that wait for them, are in Python (`_deferred.Unfinished`).
class held_meter {
  public:
    explicit held_meter(const arguments& args)
        : held_meter(args.as<const model_cost&>("cost"), args["convention"], args["plan"], args) {}

    void begin_step() {
        if (!knows_gpus()) {
            throw error("gpus",
                        "is missing: pass gpus= or reduce= to the meter, or use it in a callback of "
                        "floptally.callbacks, which knows the number");
        }
        const double now = cpp_meter->in_step() ? 0 : clock_();
        cpp_meter->begin_step();
        started_ = now;
        ++steps_begun_;
        forks_ = fork_count();
    }

    /// Counts a microbatch. If its step ended meanwhile, that is an error; it never becomes part of the next step.
    void add(const arguments& batch) {
        const std::uint64_t step = open_step();
        std::optional<tally> sum;
        try {
            sum = counted_of(batch);
        } catch (const error& problem) {
            if (cpp_meter->on_errors() == on_error::raise) {
                throw;
            }
            cpp_meter->leave_out_step(problem.what());
            return;
        }
        const tally& counted = *sum;
        if (step != steps_begun_ || !cpp_meter->in_step()) {
            throw error("microbatch", "step " + std::to_string(step) +
                                          " ended before this microbatch was counted: add it before end_step()");
        }
        cpp_meter->microbatch() += counted;
    }

    /// Keeps a microbatch whose numbers have not arrived yet.
    void add_deferred(const py::object& batch) {
        static_cast<void>(open_step());
        if (!unfinished_) {
            unfinished_ = package_attribute("_deferred", "Unfinished")();
        }
        unfinished_.attr("add")(batch);
    }

    [[nodiscard]] tally counted_of(const arguments& batch) const {
        const mask_set& masks = as->counter.masks();
        if (const py::handle logits = batch.some("logits"); logits && py::isinstance<py::str>(logits)) {
            throw error(
                "logits",
                "must be a number of tokens; \"all\" and \"last\" belong in the meter's plan, Plan(logits=…), got " +
                    shown(logits));
        }
        const input_arguments read(batch, masks);
        require_forward(read.input(), as->plan);
        return read.counted(model.model(), masks);
    }

    /// True if the step joins the totals later.
    bool end_step(py::handle duration) {
        if (py::isinstance<py::bool_>(duration)) {
            throw error("seconds", "must be a number of seconds, got " + shown(duration));
        }
        double seconds = duration.is_none() ? 0 : to_number(duration, "seconds");
        if (cpp_meter->in_step() && duration.is_none()) {
            seconds = clock_() - started_;
        }
        if (cpp_meter->in_step() && passes_ && py::len(passes_.attr("open")) != 0) {
            cpp_meter->require_seconds(seconds);
            end_passes(seconds);
            return false;
        }
        if (cpp_meter->in_step() && unfinished_ &&
            !(cpp_meter->on_errors() == on_error::leave_out && !is_valid(seconds))) {
            cpp_meter->require_seconds(seconds);
            return unfinished_.attr("end_step")(this, seconds).cast<bool>();
        }
        end_now(seconds);
        return false;
    }
    void end_now(double seconds) {
        if (cpp_meter->end_step(seconds)) {
            warn_of_last_step();
        } else {
            if (unfinished_) {
                unfinished_.attr("discard")();
            }
            warn_of_left_out();
        }
    }

    /// Leaves out a step that has ended already, since its microbatches from a GPU could not be counted.
    void leave_out_ended(const std::string& problem) {
        std::optional<tally> open;
        const bool was_open = cpp_meter->in_step();
        if (was_open) {
            open = cpp_meter->microbatch();
            cpp_meter->discard_step();
        }
        cpp_meter->begin_step();
        cpp_meter->leave_out_step(problem);
        cpp_meter->end_step(1);
        if (was_open) {
            cpp_meter->begin_step();
            cpp_meter->microbatch() += *open;
        }
        warn_of_left_out();
    }

    [[nodiscard]] bool knows_gpus() const { return is_passed("gpus") || is_passed("reduce"); }

    /// Counts by other arguments of the constructor from the next step on, in a new interval. Returns false if the
    /// steps so far were counted differently.
    bool recount(const py::dict& changed) {
        settle(true);
        py::dict all;
        all["cost"] = model;
        for (const py::handle part : {py::handle(keywords), py::handle(changed)}) {
            for (const auto& [name, value] : py::reinterpret_borrow<py::dict>(part)) {
                all[name] = value;
            }
        }
        if (changed.contains("plan") && is_passed("reduce") && py::hasattr(keywords["reduce"], "planned")) {
            all["reduce"] = keywords["reduce"].attr("planned")(changed["plan"]);
        }
        py::object fresh;
        {
            const quiet silence;  // what the constructor warns of was said of this meter
            fresh = py::type::of<held_meter>()(**all);
        }
        auto& next = fresh.cast<held_meter&>();
        const bool same = next.cpp_meter->continue_from(*cpp_meter);
        std::swap(cpp_meter, next.cpp_meter);
        model = next.model;
        as = next.as;
        keywords = next.keywords;
        return same;
    }

    /// Ends a step of passes. Its FLOPs belong to the passes and are not in the meter's own totals.
    void end_passes(double seconds) {
        const std::span<const std::uint64_t> accumulators = cpp_meter->microbatch().accumulators();
        if (std::any_of(accumulators.begin(), accumulators.end(),
                        [](std::uint64_t accumulator) { return accumulator != 0; })) {
            throw error("microbatch",
                        "must be added to a pass, since the step of this meter has passes: call add() of the pass");
        }
        passes_.attr("end_step")(seconds);
        cpp_meter->discard_step();
    }
    /// The meter's passes, in Python (`_passes.Passes`).
    [[nodiscard]] const py::object& passes(py::handle self) {
        if (!passes_) {
            passes_ = package_attribute("_passes", "Passes")(self);
        }
        return passes_;
    }
    [[nodiscard]] double now() const { return clock_(); }
    void reset_interval() {
        cpp_meter->reset_interval();
        if (passes_) {
            passes_.attr("reset_interval")();
        }
    }

    void discard_step() {
        cpp_meter->discard_step();
        if (passes_) {
            passes_.attr("discard")();
        }
        if (unfinished_) {
            unfinished_.attr("discard")();
        }
    }

    /// Adds an earlier step to the totals. A step that is open stays open.
    void join(const tally& batch, double seconds) {
        std::optional<tally> open;
        if (cpp_meter->in_step()) {
            open = cpp_meter->microbatch();
            cpp_meter->discard_step();
        }
        const auto reopen = [&] {
            if (open) {
                cpp_meter->begin_step();
                cpp_meter->microbatch() += *open;
            }
        };
        cpp_meter->begin_step();
        bool counted = false;
        try {
            cpp_meter->microbatch() += batch;
            counted = cpp_meter->end_step(seconds);
        } catch (...) {
            cpp_meter->discard_step();
            reopen();
            throw;
        }
        reopen();
        if (counted) {
            warn_of_last_step();
        } else {
            warn_of_left_out();
        }
    }

    /// Adds ended steps to the totals, in order, if their microbatches have arrived. With `wait`, waits for all of
    /// them.
    void settle(bool wait) {
        if (unfinished_) {
            unfinished_.attr("settle")(this, wait);
        }
    }

    /// Calls `visit` with the totals of "step", "interval" or "run".
    template <class Visit>
    auto visit_span(const std::string& which, Visit visit) {
        settle(false);
        switch (from_name<int>(which, "span", {"step", "interval", "run"})) {
            case 0:
                return visit(cpp_meter->last_step());
            case 1:
                return visit(cpp_meter->interval());
            default:
                return visit(cpp_meter->run());
        }
    }
    shown_totals span(const std::string& which) {
        return visit_span(which, [](const auto& done) { return shown_totals(done); });
    }

    model_cost model;
    std::shared_ptr<const folded_model> as;
    std::unique_ptr<meter> cpp_meter;  ///< replaced where the plan or the number of GPUs changes
    py::dict keywords;                 ///< of the constructor, for a pickle

  private:
    /// The model. Its tallies also keep what the second convention needs.
    static model_cost with_accumulators_of(const py::object& beside, const model_cost& measured,
                                           const training_plan& plan) {
        if (beside.is_none()) {
            return measured;
        }
        model_config wider = measured.model();
        for (const statistic& needed : measured.folded(to_convention(beside), plan)->counter.masks()) {
            wider.cost.keep(needed);
        }
        return model_cost(std::move(wider), measured.plan());
    }

    held_meter(const model_cost& measured, const py::object& how, const py::object& plan, const arguments& args)
        : model(with_accumulators_of(args["beside"], measured, to_plan(plan, measured))),
          as(model.folded(to_convention(how), to_plan(plan, measured))),
          cpp_meter(std::make_unique<meter>(as->counter, to_hardware(args, !is_quiet()),
                                            to_rank_sum(args["reduce"], as->counter),
                                            [] { return 0.0; })),  // the seconds of its steps are passed in
          keywords(args.named()),
          clock_(to_clock(args["clock"])) {
        cpp_meter->on_errors(from_name<on_error>(args.text("on_error"), "on_error", {"raise", "leave_out"}));
        const auto precisions = cpp_meter->hardware().peak_is_unknown
                                    ? std::nullopt
                                    : precisions_of(args, cpp_meter->hardware().accelerator);
        if (precisions) {
            cpp_meter->runs_in(mixed_precision(cpp_meter->model(), model.model().parts, as->plan, *precisions,
                                               cpp_meter->hardware().peak_tflops));
        }
        if (const py::handle beside = args.some("beside")) {
            cpp_meter->shows_beside(measured.folded(to_convention(beside), as->plan)->counter);
        }
    }

    /// The number of the open step. Throws if this process may not add to it.
    std::uint64_t open_step() {
        static_cast<void>(cpp_meter->microbatch());  // throws if no step is open
        if (forks_ != fork_count()) {
            throw error("microbatch",
                        "was added in a forked process, and the meter of the parent would not see it: pass the lengths "
                        "to the process that trains");
        }
        return steps_begun_;
    }

    [[nodiscard]] bool is_passed(const char* name) const {
        return keywords.contains(name) && !keywords[name].is_none();
    }
    [[nodiscard]] bool is_valid(double seconds) const {
        try {
            cpp_meter->require_seconds(seconds);
        } catch (const error&) {
            return false;
        }
        return true;
    }

    /// Warns about the first step that is left out.
    void warn_of_left_out() {
        if (!std::exchange(warned_, true)) {
            warn(cpp_meter->left_out().last +
                 " (the step is left out of all totals; the scalar steps_left_out counts such "
                 "steps, and nothing is said of later ones)");
        }
    }

    /// The first steps compile and warm up. A rate that is too small is warned about after them.
    void warn_of_last_step() const {
        constexpr std::uint64_t warmed_up = 10;
        if (cpp_meter->hardware().peak_is_unknown) {
            return;
        }
        const double mfu = rates(cpp_meter->last_step()).mfu;
        if (cpp_meter->run().totals.steps == warmed_up) {
            warn_if_absurd(mfu, as->plan.counted);
        } else {
            warn_above_peak(mfu);
        }
    }

    bool warned_ = false;
    meter::seconds_clock clock_;
    double started_ = 0;
    std::uint64_t steps_begun_ = 0;
    std::uint64_t forks_ = 0;  // when the open step began
    py::object passes_{};      // null until a pass is timed
    py::object unfinished_{};  // null until a batch has to arrive from a GPU
};

template <view Seen, accumulator What>
void sum(const bound_class<shown_totals>& type, const char* name) {
    property(type, name, [](const shown_totals& t) {
        return t.totals.batch.get(Seen, What, t.totals.batch.masks().main_modality());
    });
}

template <double step_rates::*Rate, bool NeedsPeak = false>
void rate(const bound_class<shown_totals>& type, const char* name) {
    property(type, name, [](const shown_totals& t) {
        const step_rates all = rates(t.totals);
        if (NeedsPeak && !all.has_peak) {
            throw error("peak_tflops",
                        "is unknown, but an MFU needs it: pass peak_tflops= to the Meter, for example from "
                        "floptally.measure_peak()");
        }
        return all.*Rate;
    });
}

/// The durations as plain Python data: the shortest, the longest, and a dict from bucket to count.
py::object durations_state(const shown_totals& t) {
    if (!t.step_seconds) {
        return py::none();
    }
    py::dict counts;
    for (std::size_t i = 0; i < duration_histogram::bucket_count; ++i) {
        if (t.step_seconds->bucket(i) != 0) {
            counts[py::int_(i)] = t.step_seconds->bucket(i);
        }
    }
    const bool has_steps = t.step_seconds->count() != 0;
    return py::make_tuple(has_steps ? t.step_seconds->min() : 0, has_steps ? t.step_seconds->max() : 0, counts);
}

py::tuple state_of_totals(const shown_totals& t) {
    return py::make_tuple(t.totals.steps, t.totals.seconds, t.totals.gpu_seconds, t.totals.peak_tflop,
                          to_int(t.totals.useful), to_int(t.totals.padded), to_int(t.totals.executed), t.totals.batch,
                          durations_state(t));
}

shown_totals totals_of_state(const py::tuple& state) {
    step_totals done;
    done.steps = state[0].cast<std::uint64_t>();
    done.seconds = state[1].cast<double>();
    done.gpu_seconds = state[2].cast<double>();
    done.peak_tflop = state[3].cast<double>();
    done.useful = to_flops(state[4], "useful");
    done.padded = to_flops(state[5], "padded");
    done.executed = to_flops(state[6], "executed");
    done.batch = value_of<tally>(state[7]);
    shown_totals shown(done);
    if (!state[8].is_none()) {
        const auto durations = state[8].cast<py::tuple>();
        std::array<std::uint64_t, duration_histogram::bucket_count> buckets{};
        for (const auto& [bucket, count] : durations[2].cast<py::dict>()) {
            buckets.at(bucket.cast<std::size_t>()) = count.cast<std::uint64_t>();
        }
        shown.step_seconds =
            duration_histogram::from_buckets(buckets, durations[0].cast<double>(), durations[1].cast<double>());
    }
    return shown;
}

void bind_totals(py::module_& module) {
    bound_class<shown_totals> type = new_class<shown_totals>(module, "Totals");
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
    method(type, "percentile", [](const shown_totals& t, const arguments& args) {
        return t.durations().percentile(args.number("percent"));
    });
    shown_as(type, [](const shown_totals& t) {
        return "<Totals of " + std::to_string(t.totals.steps) + " steps: " + to_string(t.totals.useful) +
               " useful FLOPs in " + std::to_string(t.totals.seconds) + " s>";
    });
    sum<view::useful, accumulator::tokens>(type, "tokens");
    sum<view::padded, accumulator::tokens>(type, "padded_tokens");
    sum<view::useful, accumulator::count>(type, "samples");
    rate<&step_rates::mfu, true>(type, "mfu");
    rate<&step_rates::padded_mfu, true>(type, "padded_mfu");
    rate<&step_rates::hfu, true>(type, "hfu");
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
    pickles(
        type, [](const shown_totals& t) { return state_of_totals(t); },
        [](const py::object& state) { return totals_of_state(py::tuple(state)); });
}

/// Warns if a resumed run was counted differently.
void warn_of_resume(bool same) {
    if (!same) {
        warn(
            "the saved run was counted by another model, plan or convention than this meter's: a new interval begins, "
            "and new steps are added to the run's FLOPs as they were counted. For one count of the whole run, resume "
            "with the meter that saved it");
    }
}

/// The scalars of a span, with its prefix.
py::dict scalars(held_meter& m, const arguments& args) {
    py::dict all;
    m.visit_span(args.text("span"), [&](const auto& done) {
        for (const metric& each : metrics(*m.cpp_meter, done, args.text("prefix"))) {
            all[py::str(each.name)] = each.value;
        }
    });
    return all;
}

py::dict percentiles(held_meter& m) {
    m.settle(false);
    py::dict all;
    for (const auto& [name, seconds] : detail::named(m.cpp_meter->step_percentiles())) {
        all[py::str(std::string(name))] = seconds;
    }
    return all;
}

/// The constructor's arguments, and the run. A copy continues after the last step and has no open step.
std::string file_name(py::handle path) { return py::module_::import("os").attr("fsencode")(path).cast<std::string>(); }

py::tuple state_of(held_meter& m) {
    m.settle(true);
    return py::make_tuple(
        m.model, m.keywords,
        m.cpp_meter->run().totals.steps == 0 ? py::object(py::none()) : py::str(meter_json(*m.cpp_meter)),
        m.cpp_meter->budget().tokens, m.cpp_meter->budget().steps);
}

/// The methods of a Tally that adds. Each is `add` with its keywords.
constexpr const char* meter_adders[] = {"add_lengths",         "add_padded",      "add_cu_seqlens", "add_packed",
                                        "add_attention_mask",  "add_new_tokens",  "add_hstu",       "add_grid_thw",
                                        "add_encoder_decoder", "add_audio_frames"};

}  // namespace

void bind_meters(py::module_& module) {
    function(module, "_coefficient_hash", [](const arguments& args) {
        const auto& model = args.as<const model_cost&>("cost");
        return detail::coefficient_hash(
            model.folded(to_convention(args["convention"]), to_plan(args["plan"], model))->counter);
    });
    bind_totals(module);
    bound_class<held_meter> type = new_class<held_meter>(module, "Meter");
    constructor(type, [](const arguments& args) {
        const model_config& model = args.as<const model_cost&>("cost").model();
        package_attribute("_assumptions", "log_once")(model.model_type, assumptions_of(model));
        return held_meter(args);
    });
    method(type, "begin_step", [](held_meter& m, const arguments&) { m.begin_step(); });
    method(type, "end_step", [](py::handle self, const arguments& args) {
        if (value_of<held_meter>(self).end_step(args["seconds"])) {
            package_attribute("_deferred", "finish_at_exit")(self);
        }
    });
    method(type, "discard_step", [](held_meter& m, const arguments&) { m.discard_step(); });
    method(type, "step", [](py::handle self, const arguments& args) {
        return package_attribute("_deferred", "MeteredStep")(self, args["seconds"]);
    });
    method(type, "add", [](held_meter& m, const arguments& args) {
        try {
            m.add(args);  // values in host memory at once, …
        } catch (const on_device&) {
            m.add_deferred(package_attribute("_deferred", "Copy")(args.named()));  // … values on a GPU by a copy
        }
    });
    for (const char* const name : meter_adders) {
        method(type, name, [](py::handle self, const arguments& args) {
            package_attribute("_deferred", "add_by_call")(self, args.called(), args.named(true));
        });
    }
    method(type, "add_deferred", [](held_meter& m, const arguments& args) { m.add_deferred(args["batch"]); });
    method(type, "finish", [](held_meter& m, const arguments&) { m.settle(true); });
    method(type, "new_tally",
           [](const held_meter& m, const arguments&) { return tally{m.cpp_meter->model().masks()}; });
    method(type, "breakdown", [](held_meter& m, const arguments& args) {
        m.settle(false);
        if (m.cpp_meter->run_is_recounted() && args.text("span") == "run") {
            throw error("span",
                        "must be \"step\" or \"interval\", since the run has several plans or conventions and "
                        "therefore no single breakdown");
        }
        return counted_work(m.as, m.span(args.text("span")).totals.batch, true);
    });
    property(type, "in_step", [](const held_meter& m) { return m.cpp_meter->in_step(); });
    property(type, "last_step", [](held_meter& m) { return m.span("step"); });
    property(type, "interval", [](held_meter& m) { return m.span("interval"); });
    property(type, "run", [](held_meter& m) { return m.span("run"); });
    method(type, "reset_interval", [](held_meter& m, const arguments&) { m.reset_interval(); });
    method(type, "begin_run", [](held_meter& m, const arguments& args) {
        if (m.cpp_meter->goodput().has_begun()) {
            throw error("run", "has begun already: call begin_run() once, before load_state_dict()");
        }
        if (const py::handle clock = args.some("clock")) {
            m.cpp_meter->goodput() = goodput_clock(to_clock(py::reinterpret_borrow<py::object>(clock)));
        }
        m.cpp_meter->goodput().begin();
    });
    method(type, "spend", [](held_meter& m, const arguments& args) {
        m.cpp_meter->goodput().spend(args.text("name"), args.number("seconds"));
    });
    method(type, "spending", [](py::handle self, const arguments& args) {
        return package_attribute("_goodput", "Spending")(self, args["name"]);
    });
    property(type, "goodput", [](held_meter& m) {
        m.settle(false);
        const goodput shares = goodput_of(m.cpp_meter->run().totals, m.cpp_meter->goodput());
        py::dict spent;
        for (const spent_time& each : shares.spent) {
            spent[py::str(each.name)] = each.seconds;
        }
        const bool has_peak = m.cpp_meter->run().totals.has_peak();
        const auto over_peak = [has_peak](double value) {
            return has_peak ? py::object(py::float_(value)) : py::none();
        };
        return package_attribute("_goodput", "Goodput")(shares.wall_seconds, shares.step_seconds, spent,
                                                        shares.rest_seconds, shares.step_share, over_peak(shares.mfu),
                                                        over_peak(shares.padded_mfu), over_peak(shares.hfu));
    });
    method(type, "to_open_metrics", [](held_meter& m, const arguments& args) {
        m.settle(true);
        return to_open_metrics(*m.cpp_meter, args.text("run"));
    });
    method(type, "timed", [](py::handle self, const arguments& args) {
        py::dict options = args.named();
        options["name"] = args["name"];
        return package_attribute("_passes", "timed")(self, **options);
    });
    method(type, "passes", [](py::handle self, const arguments& args) {
        return value_of<held_meter>(self).passes(self).attr("of")(args["span"]);
    });
    property(type, "_passes", [](py::handle self) { return value_of<held_meter>(self).passes(self); });
    property(type, "_now", [](const held_meter& m) { return m.now(); });
    method(type, "scalars", [](held_meter& m, const arguments& args) { return scalars(m, args); });
    method(type, "state_dict", [](held_meter& m, const arguments&) {
        m.settle(true);
        return json_object(meter_json(*m.cpp_meter));
    });
    method(type, "load_state_dict", [](held_meter& m, const arguments& args) {
        m.settle(true);
        const auto state = args.as<py::dict>("state");
        warn_of_resume(
            resume_meter(*m.cpp_meter, package_attribute("_json", "json_of")(state, "state").cast<std::string>()));
    });
    method(type, "save", [](held_meter& m, const arguments& args) {
        m.settle(true);
        save_meter(*m.cpp_meter, file_name(args["path"]));
    });
    method(type, "load", [](held_meter& m, const arguments& args) {
        m.settle(true);
        warn_of_resume(load_meter(*m.cpp_meter, file_name(args["path"])));
    });
    property(type, "counted", [](const held_meter& m) { return m.cpp_meter->counted(); });
    property(type, "reduces", [](const held_meter& m) { return m.cpp_meter->reduces(); });
    method(type, "step_percentiles", [](held_meter& m, const arguments&) { return percentiles(m); });
    method(type, "leave_out", [](held_meter& m, const arguments& args) {
        m.settle(true);
        m.cpp_meter->leave_out(args.count("steps"));
    });
    property(type, "cost", [](const held_meter& m) { return m.model; });
    property(type, "plan", [](const held_meter& m) { return m.as->plan; });
    property(type, "convention",
             [](const held_meter& m) { return std::string(m.cpp_meter->model().counted_as().name); });
    property(type, "beside", [](const held_meter& m) {
        return m.cpp_meter->beside() ? std::optional(std::string(m.cpp_meter->beside()->counted_as().name))
                                     : std::nullopt;
    });
    property(type, "gpus", [](const held_meter& m) { return m.knows_gpus() ? m.cpp_meter->hardware().gpus : 0; });
    property(type, "on_error",
             [](const held_meter& m) { return m.cpp_meter->on_errors() == on_error::raise ? "raise" : "leave_out"; });
    property(type, "steps_left_out", [](held_meter& m) {
        m.settle(false);
        return m.cpp_meter->left_out().run;
    });
    special_method(type, "_leave_out_ended", "self\nproblem",
                   [](held_meter& m, const arguments& args) { m.leave_out_ended(args.text("problem")); });
    special_method(type, "_leave_out", "self\nproblem",
                   [](held_meter& m, const arguments& args) { m.cpp_meter->leave_out_step(args.text("problem")); });
    special_method(type, "_recount", "self\nchanged",
                   [](held_meter& m, const arguments& args) { return m.recount(args.as<py::dict>("changed")); });
    property(type, "peak_tflops", [](const held_meter& m) {
        const metered_hardware& on = m.cpp_meter->hardware();
        return on.peak_is_unknown ? std::nullopt : std::optional(on.peak_tflops);
    });
    method(type, "set_budget", [](held_meter& m, const arguments& args) {
        m.cpp_meter->set_budget(
            {.tokens = args.some_count("tokens", 1).value_or(0), .steps = args.some_count("steps", 1).value_or(0)});
    });
    property(type, "budget", [](const held_meter& m) {
        py::dict stated;
        for (const auto& [name, amount] :
             {std::pair("tokens", m.cpp_meter->budget().tokens), std::pair("steps", m.cpp_meter->budget().steps)}) {
            if (amount != 0) {
                stated[name] = amount;
            }
        }
        return stated;
    });
    property(type, "_named", [](const held_meter& m) { return m.keywords; });
    property(type, "accelerator", [](const held_meter& m) { return m.cpp_meter->hardware().accelerator; });
    property(type, "precision", [](const held_meter& m) { return m.cpp_meter->hardware().precision; });
    property(type, "peak_kind",
             [](const held_meter& m) { return std::string(name(m.cpp_meter->hardware().peak_kind)); });
    property(type, "peak_quality",
             [](const held_meter& m) { return std::string(name(m.cpp_meter->hardware().peak_quality)); });
    special_method(type, "_counted", find_stub("Meter.add")->parameters,
                   [](const held_meter& m, const arguments& args) { return m.counted_of(args); });
    property(type, "_microbatch", [](held_meter& m) { return m.cpp_meter->microbatch(); });
    special_method(type, "_end_now", "self\nseconds",
                   [](held_meter& m, const arguments& args) { m.end_now(args.number("seconds")); });
    special_method(type, "_join", "self\ncounted\nseconds", [](held_meter& m, const arguments& args) {
        m.join(args.as<const tally&>("counted"), args.number("seconds"));
    });
    shown_as(type, [](const held_meter& m) {
        const metered_hardware& on = m.cpp_meter->hardware();
        const step_totals& done = m.cpp_meter->run().totals;
        return "<Meter of " + m.model.model().model_type + ", " + m.cpp_meter->counted() +
               (on.accelerator.empty() ? "" : ": " + on.accelerator) +
               (on.peak_is_unknown
                    ? std::string(" of unknown peak")
                    : " at " + detail::general_decimal(on.peak_tflops, 6) + " TFLOP/s in " + on.precision) +
               ", convention " + std::string(m.cpp_meter->model().counted_as().name) + ": " +
               std::to_string(done.steps) + (done.steps == 1 ? " step" : " steps") + " in " +
               detail::general_decimal(done.seconds, 4) + " s>";
    });
    pickles(
        type, [](held_meter& m) { return state_of(m); },
        [](const py::object& state) {
            const py::tuple fields(state);
            py::kwargs keywords{py::dict(fields[1])};
            keywords["cost"] = fields[0];
            const quiet silence;
            auto restored = std::make_shared<held_meter>(arguments(*constructor_of<held_meter>, keywords));
            if (fields.size() > 3) {
                restored->cpp_meter->set_budget(
                    {.tokens = fields[3].cast<std::uint64_t>(), .steps = fields[4].cast<std::uint64_t>()});
            }
            if (!fields[2].is_none()) {
                resume_meter(*restored->cpp_meter, fields[2].cast<std::string>());
            }
            return restored;
        });
}

}  // namespace floptally::python
