// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// All that counts, with nothing but the standard library. Included by name are the adapters (`json.hpp`, `mpi.hpp`, …)
/// and what few need: `step/report_table.hpp`, `step/memory_probe.hpp`.

#include <floptally/batch/split_tally.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/conventions/all.hpp>
#include <floptally/count/breakdown.hpp>
#include <floptally/count/convention.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/count/padding.hpp>
#include <floptally/count/trained_parameters.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/attention.hpp>
#include <floptally/descriptors/audio.hpp>
#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/compressed_attention.hpp>
#include <floptally/descriptors/constant_cost.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_row.hpp>
#include <floptally/descriptors/feed_forward.hpp>
#include <floptally/descriptors/hstu.hpp>
#include <floptally/descriptors/hyper_connections.hpp>
#include <floptally/descriptors/latent_attention.hpp>
#include <floptally/descriptors/layer.hpp>
#include <floptally/descriptors/linear_attention.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/parts_of.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/descriptors/state_space.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/descriptors/transformer.hpp>
#include <floptally/descriptors/vision.hpp>
#include <floptally/hardware/accelerators.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/rules/hstu_mask.hpp>
#include <floptally/rules/mask.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/rules/tile_bound.hpp>
#include <floptally/step/memory.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/version.hpp>
