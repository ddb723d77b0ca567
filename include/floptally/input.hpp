// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Batches in the forms that data loaders use: sequence lengths, cu_seqlens, sizes of images, inference requests, and
/// trees of sequences.
///
/// `add_input` checks a batch against a model. `input_padding` counts the FLOPs of a batch's padding.

#include <floptally/text/macros_begin.hpp>

#include <floptally/batch/decoding.hpp>
#include <floptally/batch/formats.hpp>
#include <floptally/batch/integer_view.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/batch/split_tally.hpp>
#include <floptally/batch/tree.hpp>
#include <floptally/input/add_input.hpp>
#include <floptally/input/input_padding.hpp>
#include <floptally/input/model_input.hpp>
#include <floptally/integer/checked.hpp>

#include <floptally/text/macros_end.hpp>
