// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Writes, reads and compares the log lines of NVIDIA's recsys-examples (HSTU).

#include <floptally/text/macros_begin.hpp>

#include <floptally/step/throughput_log.hpp>

#include <floptally/text/macros_end.hpp>
