# SPDX-License-Identifier: Apache-2.0
"""Which names of C++ and Python belong together, and why the others have no partner."""

import fnmatch

from page_text import snake

#: Partners whose names differ: C++, and Python with a member where that is the partner.
STATED = (
    ("flop_counter", "Cost"),
    ("evaluate", "flops"),
    ("evaluate", "Cost.flops"),
    ("cost_of", "Cost"),
    ("load_config", "cost"),
    ("read_config", "cost"),
    ("model_config", "Cost"),
    ("read_options", "cost"),
    ("known_model_types", "models"),
    ("assumptions_of", "Cost.assumptions"),
    ("assumptions_of", "AssumptionWarning"),
    ("training_plan", "Plan"),
    ("cost_entry", "Entry"),
    ("measurement", "Breakdown.measure"),
    ("utilization", "Breakdown.measure"),
    ("utilize", "Breakdown.measure"),
    ("mixed_precision_mfu", "Breakdown.mixed_mfu"),
    ("accelerator_named", "accelerator"),
    ("convention_named", "conventions"),
    ("view", "View"),
    ("component_flops", "Work"),
    ("step_totals", "Totals"),
    ("step_series", "Totals"),
    ("step_rates", "Totals"),
    ("rates", "Totals"),
    ("metrics", "Meter.scalars"),
    ("to_open_metrics", "Meter.to_open_metrics"),
    ("meter_state", "Meter.state_dict"),
    ("run_budget", "Meter.set_budget"),
    ("left_out_steps", "Meter.steps_left_out"),
    ("duration_percentiles", "Meter.step_percentiles"),
    ("percentiles", "Meter.step_percentiles"),
    ("state_of", "Meter.state_dict"),
    ("resume", "Meter.load_state_dict"),
    ("save_state", "Meter.save"),
    ("load_state", "Meter.load"),
    ("goodput_of", "Goodput"),
    ("statistic_named", "Mask.from_text"),
    ("library_masks", "Mask.library"),
    ("statistic", "Mask"),
    ("measured", "Mask.measured"),
    ("statistic_scope", "Scope"),
    ("partition", "balance"),
    ("balance_options", "balance"),
    ("assigned", "Assignment"),
    ("sample_loads", "Cost.sample_loads"),
    ("sample_costs", "Cost.sample_flops"),
    ("step_bytes", "Bytes"),
    ("byte_report", "Bytes"),
    ("model_bandwidth_utilization", "Mbu"),
    ("bandwidth_utilization", "Mbu"),
    ("convention_comparison", "Comparison"),
    ("comparison_report", "Comparison"),
    ("comparison_of", "Cost.compare"),
    ("observed_candidate", "ObservedMatch"),
    ("communication", "Sent"),
    ("fit_report", "Fit"),
    ("fit_of", "Breakdown.fit"),
    ("memory_options", "Breakdown.fit"),
    ("memory_of", "Breakdown.fit"),
    ("layout_search", "Search"),
    ("layout_prediction", "FoundLayout"),
    ("search_layouts", "Cost.search"),
    ("search_options", "Cost.search"),
    ("memory_plan", "StateBytes"),
    ("logits_shape", "logits_bytes"),
    ("local_logits_bytes", "LogitsBytes"),
    ("step_pass", "TimedPass"),
    ("pass_rates", "StepPasses"),
    ("rates_of", "StepPasses"),
    ("compare", "Waterfall"),
    ("cost_on_rank", "Cost.on_rank"),
    ("rank_parts", "Cost.on_rank"),
    ("with_redundant_work", "ParallelLayout.with_redundant_work"),
    ("read_layout", "ParallelLayout"),
    ("to_text", "ParallelLayout.text"),
    ("with_muon", "Cost.with_muon"),
    ("add_tree", "Tally.add_tree"),
    ("speculation", "Tally.add_speculative"),
    ("request", "Tally.add_requests"),
    ("reduce", "TallyReduction.sum"),
    ("basic_device_tally", "DeviceTally"),
    ("version", "__version__"),
    ("memory_sample", "memory.MemorySample"),
    ("reduce_sequences", "distributed.all_reduce_sequences"),
    ("ratio_summary", "distributed.SequenceRatios"),
    ("extremes", "distributed.Extremes"),
    ("require_held", "distributed.require_held"),
    ("integer_reducer", "distributed.TorchReducer"),
    ("tally_reduction", "distributed.Reduction"),
    ("ratio", "distributed.all_reduce_ratio"),
    ("train_line", "hstu_report.TrainLine"),
    ("layer_line", "hstu_report.LayerLine"),
    ("throughput_log", "hstu_report.ThroughputLog"),
    ("read_throughput_log", "hstu_report.read_throughput_log"),
    ("experiment", "hstu_report.Experiment"),
    ("experiment_row", "hstu_report.ExperimentRow"),
)  # fmt: skip
#: Equal names of things that differ.
NO_PARTNERS = {("flops", "flops"), ("cost", "cost"), ("compare", "hstu_report.compare")}

#: Reasons, and the names and headers of C++ (patterns) that have no partner in Python for it.
CPP_ONLY = (
    ("a Python `int` is as exact.", "flops comparable_integer to_double integer/checked.hpp"),
    ("Python takes lengths and grids as keywords of a batch: `lengths=`, `cu_seqlens=`, `grid_thw=`, …",
     "sequence length_block grid audio_clip max_sequence_length batch/*.hpp input/*.hpp"),
    ("in Python a convention is a name, and `conventions()` lists what each counts.", "count/convention.hpp conventions/all.hpp conventions"),
    ("Python reads models from their config or from a model spec.",
     "descriptors/*.hpp value presets json.hpp elementwise_parameters"),
    ("Python makes masks and statistics by `Mask`; `Mask.from_callable` takes your own.",
     "statistics/*.hpp unit_statistics unit mask_statistics moment_statistics megatron_bridge maxtext recsys_examples "
     "megatron_2026_10 torchtitan verl vllm"),
    ("Python takes the names of the values as texts.",
     "phase phase_names counted_passes counted_passes_names recompute_names weight_state_names indexer_training_names logit_tokens_names "
     "precision source_quality remark peak_kind_named precision_named block_formats optimizer_states trainers scopes "
     "trainer_named cluster_named block_format_named layer_modules_named weight_settings_named precision_settings_named zero_stage_names "
     "context_exchange_names layer_module_names context_split_names layout_format_names layer_split_names pipeline_schedule_names "
     "work_unit_names apart_kind_names apart_kind_named layer_module layer_modules optimizers"),
    ("`Plan` and `WeightSetting` take it as a keyword.", "count/training_plan.hpp"),
    ("Python's `Cost` and `Breakdown` do it.", "count/*.hpp"),
    ("Python measures with `Breakdown.measure()` and `Meter`.", "step/utilization.hpp hardware/*.hpp"),
    ("Python raises it inside its functions.", "text/error.hpp text/version.hpp"),
    ("a type of the library's signatures; Python has its own containers.", "lists/*.hpp"),
    ("Python's `Meter` does it.", "step/clock.hpp step/duration_histogram.hpp step/goodput.hpp step/meter*.hpp step/open_metrics.hpp "
     "step/step_totals.hpp json/meter_json.hpp text/whole_file.hpp"),
    ("Python's `Cost.compare()` does it.",
     "conventions/comparison.hpp conventions/trainer_log.hpp step/comparison_report.hpp step/observed_work.hpp"),
    ("Python's results print themselves: `to_table()`, `to_dict()`, `str()`.",
     "step/report*.hpp step/work_unit.hpp text/table.hpp step/component_rates.hpp config/json_text.hpp json/byte_json.hpp"),
    ("`Breakdown.measure(precisions=…)` does it.", "step/mixed_precision.hpp step/precision_setting_text.hpp"),
    ("Python's `StepWork` and `StepPasses` do it.", "step/step_passes.hpp"),
    ("Python's `Breakdown.bytes()` and `Breakdown.fit()` do it.", "bytes/*.hpp step/memory.hpp step/memory_probe.hpp"),
    ("Python's `Cost.search()` does it.", "search/*.hpp bytes/layout_predictor.hpp bytes/training_layout.hpp"),
    ("Python's `ParallelLayout`, `Scope` and `ContextParallelPack` do it.",
     "parallel/*.hpp step/layout_text.hpp step/layout_work.hpp step/module_utilization.hpp"),
    ("`Breakdown.fit()` and `Breakdown.waterfall()` use it.", "step/pipelines.hpp"),
    ("Python's `balance()` and `ExchangePlan` do it.", "balance/*.hpp"),
    ("Python's `Breakdown.waterfall()` does it.",
     "waterfall/*.hpp step/time_breakdown.hpp json/component_json.hpp json/kineto_trace.hpp json/time_breakdown_json.hpp"),
    ("Python counts on the device with `DeviceTally`.", "cuda/*"),
    ("Python reduces and exchanges through `floptally.distributed`.", "mpi.hpp nccl.hpp"),
    ("`floptally.hstu_report` does it.", "step/throughput_log.hpp"),
)  # fmt: skip
#: Reasons, and the names and modules of Python that have no partner in C++ for it.
PYTHON_ONLY = (
    ("it needs JAX.", "from_jax"),
    ("it needs PyTorch.", "from_torch verify Verification VerifiedComponent measure_peak MeasuredPeak floptally.module_times "
     "floptally.sampler floptally.memory"),
    ("the table of published runs is data of the package; the program has `floptally expect`.",
     "expect Expectation published_runs PublishedRun"),
    ("a C++ program adds breakdowns with a prefix (`with_prefix`).", "StepWork"),
    ("a drop-in for a trainer in Python.", "floptally.adopt floptally.adopt.*"),
    ("for trainers in Python.", "floptally.callbacks"),
    ("for torch.distributed; C++ has MPI and NCCL.", "floptally.distributed"),
    ("it draws with matplotlib.", "floptally.plots"),
    ("it reads and writes files for people.", "floptally.hstu_report floptally.kernel_times"),
    ("it checks the installed package.", "floptally.selftest"),
)  # fmt: skip


def partners_of_cpp(name, python):
    """The names of Python that are a name of C++'s partners: stated ones first, then classes and functions of the same name,
    then types of arguments."""
    found = [other for one, other in STATED if one == name and other in python.places]
    same = [other for other in python.by_snake_name.get(name, ()) if (name, other) not in NO_PARTNERS and other not in found]
    names = [other for other in same if python.places[other][0] != "python_types.md"]
    found += names or ([] if found else same)
    return found


def partners_of_python(name, cpp):
    """`name` is that of a class or function of floptally, or `module.name`."""
    found = [one for one, other in STATED if other == name and one in cpp.places]
    if snake(name) in cpp.places and (snake(name), name) not in NO_PARTNERS and "." not in name:
        found.insert(0, snake(name)) if snake(name) not in found else None
    return found


def reason_of_cpp(node):
    """Why a name of C++ has no partner. None where nothing says it."""
    files = {entry.file for entry in node.entries}
    for keys in ({node.name}, files):
        for reason, patterns in CPP_ONLY:
            if any(fnmatch.fnmatch(key, pattern) for key in keys for pattern in patterns.split()):
                return reason
    return None


def reason_of_python(name, module):
    for key in (name if module == "floptally" else None, module):
        for reason, patterns in PYTHON_ONLY:
            if key and any(fnmatch.fnmatch(key, pattern) for pattern in patterns.split()):
                return reason
    return None


def problems(trees, modules, cpp, python, is_operator):
    """Names without a partner and a reason, pairs of names that are not there, and reasons for nothing."""
    found = []
    for root in trees.values():
        for node in root.members.values():
            if not (is_operator(node.name) or partners_of_cpp(node.name, python) or reason_of_cpp(node)):
                found.append(f"{node.name} of C++ ({node.entries[0].file}) has no partner in Python: say which, or why (pairs.py)")
    for module, (_, names) in modules.items():
        for one in names:
            name = one.name if module == "floptally" else f"{module.removeprefix('floptally.')}.{one.name}"
            if one.text and not (partners_of_python(name, cpp) or reason_of_python(one.name, module)):
                found.append(f"{module}.{one.name} has no partner in C++: say which, or why (pairs.py)")
    for one, other in STATED:
        found += [f"pairs.py: C++ has no public {one}"] * (one not in cpp.places)
        found += [f"pairs.py: Python has no public {other}"] * (other not in python.places)
    return found
