# SPDX-License-Identifier: Apache-2.0
"""Sparse attention over what is best: compressed keys, blocks with the own one, pools with what is left over."""

import z3

from formulas import best_block_rows, best_compressed_rows, best_pool_rows, left_over_rows


def prove():
    best_compressed_rows.prove()
    best_block_rows.prove()
    left_over_rows.prove()
    best_pool_rows.prove()
