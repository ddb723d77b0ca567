// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Searches the parallel layouts of a model on a cluster: which ones fit the memory, how long a step of each takes, and
/// why a layout is left out.

#include <floptally/text/macros_begin.hpp>

#include <floptally/bytes/layout_predictor.hpp>
#include <floptally/bytes/training_layout.hpp>
#include <floptally/search/known_clusters.hpp>
#include <floptally/search/largest_fit.hpp>
#include <floptally/search/layout_named.hpp>
#include <floptally/search/layout_search.hpp>
#include <floptally/search/measured_step.hpp>
#include <floptally/search/search_report.hpp>

#include <floptally/text/macros_end.hpp>
