// SPDX-License-Identifier: Apache-2.0
//
// The model that examples/training_loop.cpp trains: its matmuls, its gradients, and that it learns.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <floptally/floptally.hpp>

#include "../examples/training_loop/batches.hpp"
#include "../examples/training_loop/matmul.hpp"
#include "../examples/training_loop/model.hpp"
#include "catch2.hpp"

namespace training_loop_test {
namespace {

using floptally::phase;
using floptally::view;
using training::pass;

training::model_shape small_shape() {
    return {.vocab_size = 13,
            .hidden_size = 6,
            .num_layers = 2,
            .heads = {.query = 4, .key_value = 2, .dim = 4},
            .intermediate_size = 10};
}

/// Sequences of 3, 1 and 6 tokens below 13, and a mock sequence of 2.
training::packed_batch small_batch() {
    training::packed_batch batch;
    batch.append({"\x01\x05\x02\x0C", 4});
    batch.append({"\x07\x03", 2});
    batch.append({"\x04\x04\x09\x0B\x06\x02\x08", 7});
    batch.pad_to(12);
    return batch;
}

std::vector<float> gradients_of(const training::model_shape& shape, const training::packed_batch& batch) {
    training::model network(shape, 3);
    network.forward(batch);
    network.backward(batch, 1);
    std::vector<float> all;
    for (const training::parameter* p : network.parameters()) {
        all.insert(all.end(), p->gradient.values.begin(), p->gradient.values.end());
    }
    return all;
}

floptally::cost cost_of(const training::model_shape& shape) {
    return floptally::transformer<floptally::gqa, floptally::gated_mlp>{
        .hidden_size = shape.hidden_size,
        .num_layers = shape.num_layers,
        .attention = {.num_heads = shape.heads.query,
                      .num_kv_heads = shape.heads.key_value,
                      .head_dim = shape.heads.dim},
        .feed_forward = {.intermediate_size = shape.intermediate_size},
        .vocab = {.size = shape.vocab_size}}
        .cost();
}

}  // namespace

TEST_CASE("the training loop's matmul is correct for every transposition and reports 2mnk FLOPs") {
    training::tensor a(5, 7);
    training::tensor b(3, 7);
    for (std::size_t i = 0; i < a.values.size(); ++i) {
        a.values[i] = static_cast<float>(i % 11) - 4;
    }
    for (std::size_t i = 0; i < b.values.size(); ++i) {
        b.values[i] = static_cast<float>(i % 5) - 1;
    }
    training::tensor c(5, 3);
    training::tensor twice(3, 5);
    std::uint64_t ran = 0;
    training::matmul(a.view(), b.view().transposed(), c.view(), ran);
    CHECK(ran == 2 * 5 * 7 * 3);
    training::matmul(b.view(), a.view().transposed(), twice.view(), ran);
    training::matmul(b.view(), a.view().transposed(), twice.view(), ran);
    CHECK(ran == 3 * 2 * 5 * 7 * 3);
    for (std::size_t i = 0; i < 5; ++i) {
        for (std::size_t j = 0; j < 3; ++j) {
            float sum = 0;
            for (std::size_t k = 0; k < 7; ++k) {
                sum += a.view()(i, k) * b.view()(j, k);
            }
            CHECK(c.view()(i, j) == sum);
            CHECK(twice.view()(j, i) == 2 * sum);
        }
    }
}

TEST_CASE("the training loop's gradients equal finite differences of its loss") {
    const training::packed_batch batch = small_batch();
    training::model network(small_shape(), 3);
    network.forward(batch);
    network.backward(batch, 1);
    constexpr float step = 0.01F;
    std::size_t moved = 0;
    for (training::parameter* p : network.parameters()) {
        double squares = 0;
        double errors = 0;
        for (std::size_t i = 0; i < p->value.values.size(); ++i) {
            const float original = p->value.values[i];
            p->value.values[i] = original + step;
            const double above = network.forward(batch);
            p->value.values[i] = original - step;
            const double below = network.forward(batch);
            p->value.values[i] = original;
            const double difference = (above - below) / (2 * static_cast<double>(step));
            const double error = difference - static_cast<double>(p->gradient.values[i]);
            squares += difference * difference;
            errors += error * error;
            moved += difference != 0 ? 1U : 0U;
        }
        INFO(p->value.rows << " x " << p->value.columns);
        CHECK(squares > 0);
        CHECK(std::sqrt(errors / squares) < 0.01);
    }
    CHECK(moved > 800);
}

TEST_CASE("recomputation does not change the gradients of the training loop") {
    const training::packed_batch batch = small_batch();
    const std::vector<float> gradients = gradients_of(small_shape(), batch);
    for (const bool fused : {false, true}) {
        for (const bool recompute : {false, true}) {
            training::model_shape shape = small_shape();
            shape.fused_attention = fused;
            shape.recompute_layers = recompute;
            const std::vector<float> again = gradients_of(shape, batch);
            REQUIRE(again.size() == gradients.size());
            for (std::size_t i = 0; i < gradients.size(); ++i) {
                REQUIRE(std::abs(again[i] - gradients[i]) <= 1e-5F);
            }
        }
    }
}

TEST_CASE("a mock sequence does not change a gradient of the training loop") {
    training::packed_batch longer = small_batch();
    longer.num_real_seqs = 3;
    longer.tokens[11] = 7;
    longer.targets[11] = 9;
    CHECK(gradients_of(small_shape(), longer) == gradients_of(small_shape(), small_batch()));
}

TEST_CASE("the matmuls of the training loop run the counted FLOPs in every pass") {
    const training::packed_batch batch = small_batch();
    for (const bool fused : {false, true}) {
        for (const bool recompute : {false, true}) {
            training::model_shape shape = small_shape();
            shape.fused_attention = fused;
            shape.recompute_layers = recompute;
            training::model network(shape, 3);
            floptally::tally counted;
            for (int microbatch = 0; microbatch < 2; ++microbatch) {
                network.forward(batch);
                network.backward(batch, 1);
                counted.add_cu_seqlens(batch.cu_seqlens, batch.cu_seqlens, batch.num_real_seqs);
            }
            const floptally::training_plan plan{
                .recomputed = recompute ? floptally::recompute::full : floptally::recompute::none,
                .flash_attention = fused};
            const floptally::breakdown work =
                floptally::evaluate(cost_of(shape), counted, floptally::conventions::exact, plan);
            const training::flops_ran& ran = network.ran();
            const auto is = [](floptally::flops expected, std::uint64_t measured) {
                CHECK(floptally::to_string(expected) == std::to_string(measured));
            };
            is(work.get(view::useful, phase::forward), ran.real[0]);
            is(work.get(view::useful, phase::backward_data), ran.real[1]);
            is(work.get(view::useful, phase::backward_weights), ran.real[2]);
            is(work.get(view::padded, phase::forward), ran.all(pass::forward));
            is(work.get(view::padded, phase::backward_data), ran.all(pass::backward_data));
            is(work.get(view::padded, phase::backward_weights), ran.all(pass::backward_weights));
            is(work.get(view::executed, phase::recompute), ran.all(pass::recompute));
            is(work.get(view::executed, phase::backward_data),
               ran.all(pass::backward_data) + ran.all(pass::scores_again));
            CHECK((ran.all(pass::scores_again) != 0) == fused);
            CHECK((ran.all(pass::recompute) != 0) == recompute);
        }
    }
}

TEST_CASE("the example training loop reduces its loss on real text by a third in 20 steps") {
    const std::filesystem::path license = std::filesystem::path(FLOPTALLY_SOURCE_DIR) / "LICENSE";
    const std::vector<std::string> documents = training::read_paragraphs(license, 64);
    training::packer rows(documents, 96, 2);
    training::model network(
        {.hidden_size = 16, .num_layers = 1, .heads = {.query = 2, .key_value = 1, .dim = 8}, .intermediate_size = 32},
        1);
    const training::adamw optimizer{.learning_rate = 0.01F};
    double first = 0;
    double last = 0;
    for (std::uint64_t step = 1; step <= 20; ++step) {
        const training::packed_batch row = rows.next();
        const double loss = network.forward(row) / static_cast<double>(row.real_tokens());
        network.backward(row, 1 / static_cast<float>(row.real_tokens()));
        optimizer.update(network.parameters(), step);
        first = step == 1 ? loss : first;
        last = loss;
    }
    CHECK(first > std::log(256.0) - 0.5);
    CHECK(last < first * 2 / 3);
}

TEST_CASE("the training loop packs whole documents and fills the rest of a pack with a mock sequence") {
    training::packer rows({"abcd", "xyz", "0123456"}, 10, 5);
    std::size_t with_mock = 0;
    for (int i = 0; i < 20; ++i) {
        const training::packed_batch row = rows.next();
        REQUIRE(row.slots() == 10);
        REQUIRE(row.targets.size() == 10);
        REQUIRE(row.cu_seqlens.front() == 0);
        REQUIRE(row.cu_seqlens.back() == 10);
        REQUIRE(row.sequences() - row.num_real_seqs == (row.real_tokens() < 10 ? 1 : 0));
        with_mock += row.sequences() - row.num_real_seqs;
        for (std::size_t s = 0; s < row.num_real_seqs; ++s) {
            for (std::size_t token = row.first(s); token + 1 < row.first(s) + row.length(s); ++token) {
                REQUIRE(row.tokens[token + 1] == row.targets[token]);
            }
        }
    }
    CHECK(with_mock > 0);
}

}  // namespace training_loop_test
