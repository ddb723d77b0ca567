// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// The conventions by which well-known tools count FLOPs.
///
/// Pass one of these conventions to `flop_counter` to get the number that its tool reports.

#include <floptally/text/macros_begin.hpp>

#include <floptally/conventions/all.hpp>
#include <floptally/count/convention.hpp>

#include <floptally/text/macros_end.hpp>
