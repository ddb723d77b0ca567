// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/input.hpp>
#include <floptally/json.hpp>
#include <floptally/plan.hpp>
#include <floptally/report.hpp>

#include "arguments.hpp"
#include "batch.hpp"

/// @file
/// Counts the model, the plan and the batch that the options of `floptally flops` describe.

namespace program {

inline void add_flops_options(cxxopts::Options& options) {
    options.add_options()(
        "config",
        "Hugging Face config.json, a folder with one or with a pipeline's model_index.json, floptally's "
        "own JSON, or - for stdin",
        cxxopts::value<std::string>(), "FILE");
    add_batch_options(options);
    options.add_options("Counting")("convention", "how FLOPs are counted; `floptally conventions` lists the names",
                                    cxxopts::value<std::string>(), "NAME")("phase", "train, forward or backward",
                                                                           cxxopts::value<std::string>(), "PHASE")(
        "recompute", "none, full or attention", cxxopts::value<std::string>(), "WHAT")(
        "recompute-components", "components that the backward recomputes in addition to --recompute",
        cxxopts::value<std::string>(), "mlp,moe.experts")(
        "recompute-every", "recompute in the n-th, 2n-th, ... layer only", cxxopts::value<std::string>(), "N")(
        "attention-backward", "fused (computes QK^T once more) or eager", cxxopts::value<std::string>(), "HOW")(
        "weights", "which weights train: *=frozen,*/q_proj=lora16,mlp@0-3=trainable", cxxopts::value<std::string>(),
        "LIST")("indexer", "frozen, sparse_loss, dense_loss or warm_up", cxxopts::value<std::string>(), "HOW")(
        "logits", "tokens whose logits are computed: all, last (of each sequence; default for --request), or a number",
        cxxopts::value<std::string>(), "last|N[,N]")(
        "repeated", "work that several ranks each run in full: vision.*=4 for 4 ranks", cxxopts::value<std::string>(),
        "LIST")("muon", "count the matrix products of the Muon optimizer, with N Newton-Schulz iterations",
                cxxopts::value<std::string>(),
                "N")("muon-others", "weights that another optimizer than Muon updates: moe.router,vision.*",
                     cxxopts::value<std::string>(), "LIST")(
        "padded-vocab-size", "vocabulary of the lm_head as kernels run it; the padded view counts it",
        cxxopts::value<std::string>(),
        "N")("mtp", "layers of multi-token prediction that are trained", cxxopts::value<std::string>(), "N")(
        "mla", "core of latent attention: expanded or absorbed", cxxopts::value<std::string>(), "FORM")(
        "spec", "a model spec (docs/specs.md) for the config of an unknown model type", cxxopts::value<std::string>(),
        "FILE")("parts", "parts of a pipeline's folder: the first trains, others are frozen (default: the denoiser)",
                cxxopts::value<std::string>(), "transformer,text_encoder")(
        "strict", "an error for any unused key of the config, and for any size that the config does not state")(
        "lenient", "note an unused key of the config that names a size (default: an error)");
}

/// The option of the commands that print a report of one convention. Elsewhere it is an unknown option.
inline void add_unit_option(cxxopts::Options& options) {
    options.add_options("Counting")("unit", "flops or macs (one MAC is two FLOPs), in all of the output",
                                    cxxopts::value<std::string>(), "UNIT");
}

inline void add_flops_and_unit_options(cxxopts::Options& options) {
    add_flops_options(options);
    add_unit_option(options);
}

inline floptally::work_unit unit_of(const arguments& args) {
    return static_cast<floptally::work_unit>(args.choice("unit", floptally::work_unit_names));
}

inline floptally::model_config read_config(const arguments& args) {
    const std::string path = args.required("config", "FILE");
    floptally::read_options options;
    options.mla = static_cast<floptally::mla_core>(args.choice("mla", floptally::mla_core_names));
    if (const auto layers = args.text("mtp")) {
        options.mtp_layers = parse_count(*layers, "mtp", 0, 100);
    }
    if (const auto size = args.text("padded-vocab-size")) {
        options.padded_vocab_size = parse_count(*size, "padded_vocab_size", 1, std::uint64_t{1} << 28U);
    }
    if (args.flag("strict") && args.flag("lenient")) {
        throw error("lenient", "contradicts --strict: pass one of them");
    }
    if (args.flag("strict") || args.flag("lenient")) {
        options.strict = args.flag("strict");
    }
    if (const auto parts = args.text("parts")) {
        options.parts = comma_separated({*parts});
    }
    if (const auto spec = args.text("spec")) {
        std::ifstream file(*spec, std::ios::binary);
        if (!file) {
            throw error("spec", fmt::format("cannot read \"{}\": pass a readable file", *spec));
        }
        options.specs.emplace_back(std::string(std::istreambuf_iterator<char>(file), {}), *spec);
    }
    return path == "-" ? floptally::read_config(std::cin, options) : floptally::load_config(path, options);
}

/// The names in a text, separated by commas. Each may be as long as a component's name.
inline std::vector<floptally::component_name> read_names(const std::string& text, const std::string& field) {
    std::vector<floptally::component_name> names;
    for (const std::string& name : comma_separated({text})) {
        if (name.empty() || name.size() > floptally::component_name::capacity) {
            throw error(field, fmt::format("must be names of components separated by commas, got \"{}\"", text));
        }
        names.emplace_back(name);
    }
    return names;
}

/// The tokens whose logits are computed: "all", "last", or measured numbers. The default for requests is "last", since
/// an engine only computes the logits that it samples from.
inline floptally::logit_tokens logits_of(const arguments& args) {
    const std::string text = args.text("logits").value_or(args.is_passed("request") ? "last" : "all");
    if (text == "all" || text == "last") {
        return text == "all" ? floptally::logit_tokens::all : floptally::logit_tokens::last;
    }
    static_cast<void>(parse_logits(text));
    return floptally::logit_tokens::measured;
}

inline floptally::training_plan read_plan(const arguments& args) {
    floptally::training_plan plan{
        .counted = static_cast<floptally::counted_passes>(args.choice("phase", floptally::counted_passes_names)),
        .recomputed = static_cast<floptally::recompute>(args.choice("recompute", floptally::recompute_names)),
        .flash_attention = args.choice("attention-backward", {"fused", "eager"}) == 0,
        .indexer = static_cast<floptally::indexer_training>(args.choice("indexer", floptally::indexer_training_names))};
    plan.logits = logits_of(args);
    if (const auto names = args.text("recompute-components")) {
        for (const floptally::component_name& name : read_names(*names, "recompute_components")) {
            plan.recomputed_components.push_back(name, "recompute_components");
        }
    }
    if (const auto every = args.text("recompute-every")) {
        plan.recompute_every = parse_count(*every, "recompute_every", 1, 10'000);
    }
    if (const auto repeated = args.text("repeated")) {
        for (const std::string& text : comma_separated({*repeated})) {
            const std::string_view item = text;
            const std::size_t equals = item.rfind('=');
            if (equals == std::string_view::npos || equals == 0 || equals > floptally::component_name::capacity) {
                throw error("repeated", fmt::format("must be WEIGHTS=RANKS, such as vision.*=4, got \"{}\"", item));
            }
            plan.repeated.push_back(
                {item.substr(0, equals), parse_count(item.substr(equals + 1), "repeated", 1, std::uint64_t{1} << 24U)},
                "repeated");
        }
    }
    if (const auto weights = args.text("weights")) {
        for (const floptally::weight_setting& setting : floptally::weight_settings_named(*weights)) {
            plan.weights.push_back(setting, "weights");
        }
    }
    return plan;
}

/// Throws if a component to be recomputed is not in the model. It would silently be recomputed nowhere.
inline void require_components(const floptally::cost& model, const floptally::training_plan& plan) {
    for (const floptally::component_name& name : plan.recomputed_components) {
        if (model.components().find(name) == model.components().size()) {
            throw error("recompute_components",
                        fmt::format("this model counts no component named \"{}\": use a name that the breakdown shows",
                                    name.view()));
        }
    }
}

/// Runs a call. Errors of plans and optimizers get the names of options as fields.
template <class Do>
decltype(auto) naming_options(Do what) {
    try {
        return what();
    } catch (const error& problem) {
        constexpr std::string_view of_plan = "plan.";
        constexpr std::string_view of_weights = "plan.weights";
        const std::string text(problem.problem());
        if (problem.field().starts_with(of_weights)) {
            throw error(std::string("weights").append(problem.field().substr(of_weights.size())), text);
        }
        if (problem.field().starts_with(of_plan)) {
            throw error(problem.field().substr(of_plan.size()), text);
        }
        if (problem.field().starts_with("others[")) {
            throw error(std::string("muon_").append(problem.field()), text);
        }
        throw;
    }
}

/// The model, with the matrix products of its optimizer if the options ask for them.
inline floptally::model_config with_optimizer(const arguments& args, const floptally::model_config& model,
                                              const floptally::training_plan& plan) {
    const auto iterations = args.text("muon");
    const auto others = args.text("muon-others");
    if (!iterations) {
        if (others) {
            throw error("muon_others", "works only with --muon: pass both, or leave it out");
        }
        return model;
    }
    floptally::muon optimizer{.iterations = parse_count(*iterations, "muon", 1, 1000)};
    if (others) {
        for (const floptally::component_name& name : read_names(*others, "muon_others")) {
            optimizer.others.push_back(name, "muon_others");
        }
    }
    return floptally::with_muon(model, plan, optimizer);
}

inline floptally::model_config read_model(const arguments& args) {
    const floptally::model_config model = read_config(args);
    return naming_options([&] { return with_optimizer(args, model, read_plan(args)); });
}

inline floptally::report count(const arguments& args, const floptally::model_config& model) {
    const auto& convention = floptally::convention_named(args.text("convention").value_or("exact"));
    const floptally::training_plan plan = read_plan(args);
    require_components(model.cost, plan);
    return naming_options([&] {
        const floptally::flop_counter cost(model, convention, plan);
        const read_input input(args);
        if (!input.get().requests.empty() && plan.counted != floptally::counted_passes::forward) {
            throw error("phase", "must be forward, since --request decodes and trains nothing: pass --phase forward");
        }
        if (args.is_passed("routed") && !cost.needs_routed()) {
            throw error("routed", fmt::format("{} needs no measured expert visits, since it has no experts, or sends "
                                              "each token to a fixed number of experts: leave --routed out",
                                              model.model_type));
        }
        const floptally::mask_set masks = floptally::counted_masks(model.cost, cost);
        floptally::tally batch{masks};
        floptally::add_input(input.get(), model, batch, spelling);
        floptally::report report = floptally::report_of(model, cost, plan, batch, model.cost.masks());
        report.padding = floptally::padding_of(input.get(), model, cost, batch, spelling);
        return report;
    });
}

}  // namespace program
