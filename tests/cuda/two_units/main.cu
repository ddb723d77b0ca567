// SPDX-License-Identifier: Apache-2.0
//
// All headers with kernels, in two units of one program: that they link is the test.

#include "every_header.cuh"

std::size_t accumulators_of_other_unit();

int main() { return accumulators_of_other_unit() == accumulators_of_a_tally() ? 0 : 1; }
