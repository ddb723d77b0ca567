// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// All that counts, with nothing but the standard library. Adapters are included by name, `fmt.hpp`, `json.hpp`, and
/// bring `report.hpp`, which only they read. By name too, for what few need: `memory_probe.hpp`, `tree.hpp`.

#include <floptally/accelerators.hpp>
#include <floptally/attention.hpp>
#include <floptally/audio.hpp>
#include <floptally/breakdown.hpp>
#include <floptally/component_name.hpp>
#include <floptally/convention.hpp>
#include <floptally/cost.hpp>
#include <floptally/cost_row.hpp>
#include <floptally/error.hpp>
#include <floptally/feed_forward.hpp>
#include <floptally/flops.hpp>
#include <floptally/folded_cost.hpp>
#include <floptally/hstu.hpp>
#include <floptally/hstu_mask.hpp>
#include <floptally/latent_attention.hpp>
#include <floptally/layer.hpp>
#include <floptally/linear_attention.hpp>
#include <floptally/mask.hpp>
#include <floptally/mask_set.hpp>
#include <floptally/memory.hpp>
#include <floptally/presets.hpp>
#include <floptally/sequence.hpp>
#include <floptally/split_tally.hpp>
#include <floptally/stage.hpp>
#include <floptally/state_space.hpp>
#include <floptally/statistic.hpp>
#include <floptally/tally.hpp>
#include <floptally/term.hpp>
#include <floptally/tile_bound.hpp>
#include <floptally/tower.hpp>
#include <floptally/trained_parameters.hpp>
#include <floptally/training_plan.hpp>
#include <floptally/transformer.hpp>
#include <floptally/utilization.hpp>
#include <floptally/version.hpp>
#include <floptally/vision.hpp>
