// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// All that counts, with nothing but the standard library. Adapters are included by name, `fmt.hpp`, `json.hpp`, and
/// bring `report.hpp`, which only they read. By name too, for what few need: `memory_probe.hpp`, `tree.hpp`.

#include <floptally/accelerators.hpp>
#include <floptally/batch/mask_set.hpp>
#include <floptally/batch/split_tally.hpp>
#include <floptally/breakdown.hpp>
#include <floptally/constant_cost.hpp>
#include <floptally/convention.hpp>
#include <floptally/conventions/all.hpp>
#include <floptally/cost.hpp>
#include <floptally/error.hpp>
#include <floptally/flop_counter.hpp>
#include <floptally/flops.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/attention.hpp>
#include <floptally/model/audio.hpp>
#include <floptally/model/component_name.hpp>
#include <floptally/model/compressed_attention.hpp>
#include <floptally/model/cost_row.hpp>
#include <floptally/model/feed_forward.hpp>
#include <floptally/model/hstu.hpp>
#include <floptally/model/hstu_mask.hpp>
#include <floptally/model/hyper_connections.hpp>
#include <floptally/model/latent_attention.hpp>
#include <floptally/model/layer.hpp>
#include <floptally/model/linear_attention.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/model/model_part.hpp>
#include <floptally/model/parts_of.hpp>
#include <floptally/model/state_space.hpp>
#include <floptally/model/term.hpp>
#include <floptally/model/trained_parameters.hpp>
#include <floptally/model/transformer.hpp>
#include <floptally/model/vision.hpp>
#include <floptally/presets.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistic.hpp>
#include <floptally/statistics/tile_bound.hpp>
#include <floptally/step/memory.hpp>
#include <floptally/tally.hpp>
#include <floptally/training_plan.hpp>
#include <floptally/utilization.hpp>
#include <floptally/version.hpp>
