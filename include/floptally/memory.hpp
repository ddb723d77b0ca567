// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Counts the bytes of a step: memory traffic, communication, and the memory of a rank. Says whether a step fits.

#include <floptally/text/macros_begin.hpp>

#include <floptally/bytes/byte_counter.hpp>
#include <floptally/bytes/byte_report.hpp>
#include <floptally/bytes/communication.hpp>
#include <floptally/bytes/communication_counter.hpp>
#include <floptally/bytes/estimated_communication.hpp>
#include <floptally/bytes/fit_report.hpp>
#include <floptally/bytes/rank_memory.hpp>
#include <floptally/bytes/request_bytes.hpp>
#include <floptally/bytes/step_bytes.hpp>
#include <floptally/step/memory.hpp>
#include <floptally/step/memory_probe.hpp>

#include <floptally/text/macros_end.hpp>
