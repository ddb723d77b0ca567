// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// The conventions by which well-known tools count FLOPs.
///
/// Pass the convention of a tool to `flop_counter` to get the number that the tool reports.

#include <floptally/text/macros_begin.hpp>

#include <floptally/conventions/all.hpp>
#include <floptally/count/convention.hpp>

#include <floptally/text/macros_end.hpp>
