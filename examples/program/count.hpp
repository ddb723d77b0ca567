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

#include <floptally/count/muon.hpp>
#include <floptally/count/padding.hpp>
#include <floptally/count/weight_setting_text.hpp>
#include <floptally/descriptors/component_name.hpp>
#include <floptally/floptally.hpp>
#include <floptally/input/add_input.hpp>
#include <floptally/input/input_padding.hpp>
#include <floptally/json.hpp>
#include <floptally/step/report.hpp>

#include "arguments.hpp"
#include "batch.hpp"

/// @file
/// The model, the plan and the batch that the options of `floptally flops` describe, counted.

namespace program {

inline void add_flops_options(cxxopts::Options& options) {
    options.add_options()(
        "config",
        "config.json of Hugging Face, a folder with one or with a pipeline's model_index.json, floptally's "
        "own JSON, or - for stdin",
        cxxopts::value<std::string>(), "FILE");
    add_batch_options(options);
    options.add_options("Counting")("convention", "see: floptally conventions", cxxopts::value<std::string>(), "NAME")(
        "phase", "train, forward or backward", cxxopts::value<std::string>(), "PHASE")(
        "recompute", "none, full or attention", cxxopts::value<std::string>(), "WHAT")(
        "recompute-components", "components that the backward computes again besides", cxxopts::value<std::string>(),
        "mlp,moe.experts")("recompute-every", "recompute in the n-th, 2n-th, ... layer only",
                           cxxopts::value<std::string>(), "N")(
        "attention-backward", "fused (computes QK^T once more) or eager", cxxopts::value<std::string>(), "HOW")(
        "rules", "what trains: *=frozen,*/q_proj=lora16,mlp@0-3=trainable", cxxopts::value<std::string>(), "LIST")(
        "indexer", "frozen, sparse_loss, dense_loss or warm_up", cxxopts::value<std::string>(), "HOW")(
        "logits", "tokens whose logits are computed: all, last (of each sequence; that of --request), or so many",
        cxxopts::value<std::string>(),
        "last|N[,N]")("repeated", "ranks that run the same work: vision.*=4", cxxopts::value<std::string>(), "LIST")(
        "muon", "iterations of the optimizer Muon, whose products the step then has too", cxxopts::value<std::string>(),
        "N")("muon-others", "weights that another optimizer steps: moe.router,vision.*", cxxopts::value<std::string>(),
             "LIST")("padded-vocab-size", "of the lm_head as kernels run it, in the padded view",
                     cxxopts::value<std::string>(), "N")("mtp", "layers of multi-token prediction that are trained",
                                                         cxxopts::value<std::string>(), "N")(
        "mla", "core of latent attention: expanded or absorbed", cxxopts::value<std::string>(), "FORM")(
        "page", "a page (docs/pages.md) that says what the config multiplies", cxxopts::value<std::string>(), "FILE")(
        "parts", "of a pipeline's folder: the first trains, the others run frozen (default: what denoises)",
        cxxopts::value<std::string>(), "transformer,text_encoder")(
        "strict", "a key of the config that nothing reads, and a size that it does not say, are errors");
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
    options.strict = args.flag("strict");
    if (const auto parts = args.text("parts")) {
        options.parts = comma_separated({*parts});
    }
    if (const auto page = args.text("page")) {
        std::ifstream file(*page, std::ios::binary);
        if (!file) {
            throw error("page", fmt::format("cannot read \"{}\"", *page));
        }
        options.pages.emplace_back(std::string(std::istreambuf_iterator<char>(file), {}), *page);
    }
    return path == "-" ? floptally::read_config(std::cin, options) : floptally::load_config(path, options);
}

/// The names of a text, apart by commas, each as long as that of a component may be.
inline std::vector<floptally::component_name> read_names(const std::string& text, const std::string& field) {
    std::vector<floptally::component_name> names;
    for (const std::string& name : comma_separated({text})) {
        if (name.empty() || name.size() > floptally::component_name::capacity) {
            throw error(field, fmt::format("must be components apart by commas, got \"{}\"", text));
        }
        names.emplace_back(name);
    }
    return names;
}

/// The tokens whose logits are computed: "all", "last", or numbers, which are measured. An engine computes those that
/// it samples from, so that requests have "last" where none is given.
inline floptally::logit_tokens logits_of(const arguments& args) {
    const std::string text = args.text("logits").value_or(args.given("request") ? "last" : "all");
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
                throw error("repeated", fmt::format("must be WEIGHTS=RANKS, apart by commas, got \"{}\"", item));
            }
            plan.repeated.push_back(
                {item.substr(0, equals), parse_count(item.substr(equals + 1), "repeated", 1, std::uint64_t{1} << 24U)},
                "repeated");
        }
    }
    if (const auto rules = args.text("rules")) {
        for (const floptally::weight_setting& setting : floptally::weight_settings_named(*rules)) {
            plan.weights.push_back(setting, "rules");
        }
    }
    return plan;
}

/// Throws where a component to be recomputed is not in the model, since it would silently be recomputed nowhere.
inline void require_components(const floptally::cost& model, const floptally::training_plan& plan) {
    for (const floptally::component_name& name : plan.recomputed_components) {
        if (model.components().find(name) == model.components().size()) {
            throw error("recompute_components",
                        fmt::format("this model counts no component named \"{}\"", name.view()));
        }
    }
}

/// Runs a call. The fields of its errors, of plans and optimizers, become the names of options.
template <class Do>
decltype(auto) naming_options(Do what) {
    try {
        return what();
    } catch (const error& problem) {
        constexpr std::string_view of_plan = "plan.";
        constexpr std::string_view of_weights = "plan.weights";
        const std::string text(problem.problem());
        if (problem.field().starts_with(of_weights)) {
            throw error(std::string("rules").append(problem.field().substr(of_weights.size())), text);
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

/// The model, with the products of its optimizer where the options ask for these.
inline floptally::model_config with_optimizer(const arguments& args, const floptally::model_config& model,
                                              const floptally::training_plan& plan) {
    const auto iterations = args.text("muon");
    const auto others = args.text("muon-others");
    if (!iterations) {
        if (others) {
            throw error("muon_others", "needs --muon");
        }
        return model;
    }
    floptally::muon how{.iterations = parse_count(*iterations, "muon", 1, 1000)};
    if (others) {
        for (const floptally::component_name& name : read_names(*others, "muon_others")) {
            how.others.push_back(name, "muon_others");
        }
    }
    return floptally::with_muon(model, plan, how);
}

inline floptally::model_config read_model(const arguments& args) {
    const floptally::model_config model = read_config(args);
    return naming_options([&] { return with_optimizer(args, model, read_plan(args)); });
}

inline floptally::report count(const arguments& args, const floptally::model_config& model) {
    const auto& how = floptally::convention_named(args.text("convention").value_or("exact"));
    const floptally::training_plan plan = read_plan(args);
    require_components(model.cost, plan);
    return naming_options([&] {
        const floptally::flop_counter cost(model, how, plan);
        const read_input input(args);
        if (!input.get().requests.empty() && plan.counted != floptally::counted_passes::forward) {
            throw error("phase", "must be forward: requests are decoded, which trains nothing");
        }
        if (args.given("routed") && !cost.needs_routed()) {
            throw error("routed", fmt::format("{} counts no visits to experts that are measured", model.model_type));
        }
        const floptally::mask_set masks = floptally::counted_masks(model.cost, cost);
        floptally::tally batch{masks};
        floptally::add_input(input.get(), model, batch, spelling);
        floptally::report made = floptally::report_of(model, cost, plan, batch, model.cost.masks());
        made.padding = floptally::padding_of(input.get(), model, cost, batch, spelling);
        return made;
    });
}

}  // namespace program
