// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Describes models by their parts, and has published models as constants.
///
/// Each part, such as `gqa`, `moe`, `mamba2` or your own struct, has a `cost`. `presets` contains whole models.

#include <floptally/text/macros_begin.hpp>

#include <floptally/descriptors/attention.hpp>
#include <floptally/descriptors/audio.hpp>
#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/compressed_attention.hpp>
#include <floptally/descriptors/constant_cost.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_entry.hpp>
#include <floptally/descriptors/feed_forward.hpp>
#include <floptally/descriptors/hstu.hpp>
#include <floptally/descriptors/hyper_connections.hpp>
#include <floptally/descriptors/latent_attention.hpp>
#include <floptally/descriptors/layer.hpp>
#include <floptally/descriptors/linear_attention.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/pair_representation.hpp>
#include <floptally/descriptors/parts_of.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/descriptors/sharding.hpp>
#include <floptally/descriptors/state_space.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/descriptors/transformer.hpp>
#include <floptally/descriptors/vision.hpp>

#include <floptally/text/macros_end.hpp>
