// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

#include <floptally/conventions/formulas.hpp>
#include <floptally/conventions/maxtext.hpp>
#include <floptally/conventions/megatron.hpp>
#include <floptally/conventions/recsys_examples.hpp>
#include <floptally/conventions/torchtitan.hpp>
#include <floptally/conventions/verl.hpp>
#include <floptally/conventions/vllm.hpp>
#include <floptally/count/convention.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Every convention of the library, by name.

namespace floptally {

namespace conventions {

/// The conventions of the library, `exact` first.
inline constexpr std::array all{&exact,
                                &megatron,
                                &megatron_bridge,
                                &nemo_automodel,
                                &nemo_automodel_hybrid,
                                &maxtext,
                                &maxtext_2026,
                                &bionemo,
                                &levanter,
                                &nanotron,
                                &vllm_prefill,
                                &hf_6nd,
                                &palm,
                                &nanogpt,
                                &torchtitan,
                                &torchtitan_2026,
                                &verl,
                                &verl_2026,
                                &flash_attention,
                                &torch_flop_counter,
                                &torch_flop_counter_eager,
                                &recsys_examples};

}  // namespace conventions

/// The convention of that name, or an error that lists them.
[[nodiscard]] inline const convention& convention_named(std::string_view name) {
    std::string known;
    for (const convention* preset : conventions::all) {
        if (preset->name == name) {
            return *preset;
        }
        append_item(known, preset->name);
    }
    detail::refuse("convention", {"unknown name \"", name, "\"; known: ", known});
}

}  // namespace floptally
