// SPDX-License-Identifier: Apache-2.0
//
// The C++ of the docs is compiled and run: here, or in the test or the example that a page names.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <floptally/balance.hpp>
#include <floptally/floptally.hpp>
#include <floptally/input.hpp>
#include <floptally/json.hpp>
#include <floptally/layout.hpp>
#include <floptally/waterfall.hpp>

#include "catch2.hpp"
#include "markdown.hpp"
#include "page_files.hpp"

namespace snippets_test {
namespace {

const std::filesystem::path source = FLOPTALLY_SOURCE_DIR;

/// The process works in a folder with the files of the pages.
class working_folder {
  public:
    working_folder() : before_(std::filesystem::current_path()) {
        std::filesystem::current_path(page_files("floptally_snippets"));
    }
    ~working_folder() { std::filesystem::current_path(before_); }
    working_folder(const working_folder&) = delete;
    working_folder& operator=(const working_folder&) = delete;

  private:
    std::filesystem::path before_;
};

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream all(text);
    for (std::string line; std::getline(all, line);) {
        line.erase(0, line.find_first_not_of(' '));
        if (!line.empty()) {
            lines.push_back(line);
        }
    }
    return lines;
}

/// True where the lines of a block stand in a file, in their order, each with as many blanks before it as it likes.
bool is_cut_from(const std::vector<std::string>& block, const std::vector<std::string>& file) {
    auto next = file.begin();
    for (const std::string& line : block) {
        next = std::find(next, file.end(), line);
        if (next == file.end()) {
            return false;
        }
        ++next;
    }
    return true;
}

}  // namespace

// The lines stand as the pages have them.
// clang-format off

TEST_CASE("the image and diffusion examples of docs/counting.md run") {
    using namespace floptally;
    const model_config model = read_config(nlohmann::json::parse(R"({"model_type": "qwen2_5_vl", "hidden_size": 64,
        "architectures": ["Qwen2_5_VLForConditionalGeneration"], "vocab_size": 152, "intermediate_size": 18,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4,
        "vision_config": {"depth": 2, "hidden_size": 32, "intermediate_size": 34, "num_heads": 2,
                          "out_hidden_size": 64, "patch_size": 14, "spatial_merge_size": 2, "window_size": 112,
                          "fullatt_block_indexes": [1]}})"));
    const std::vector<std::int32_t> cu_seqlens{0, 400};
    const std::vector<std::int64_t> image_grid_thw{1, 8, 8};
    {
        tally step{model.cost.masks()};           // knows which towers the model has
        step.add_cu_seqlens(cu_seqlens);          // text: image and audio placeholders count as tokens
        step.add_grid_thw(image_grid_thw);        // images and clips, in patches before merging
        require_placeholders(model, step);        // an error where the text is shorter than its placeholders
        CHECK(step.get(view::useful, accumulator::tokens, modality::vision) == 64);
    }
    const working_folder here;
    const floptally::model_config flux = floptally::load_config("transformer/config.json");   // read by its _class_name
    floptally::tally step{flux.cost.masks()};
    step.add(floptally::grid{1, 64, 64, 512});                                         // 1024 x 1024 pixels
    step.add(floptally::grid{1, 32, 48, 77}, floptally::grid{1, 64, 64, 512});         // padded to the largest
    CHECK(evaluate(flux.cost, step).total(view::useful) < evaluate(flux.cost, step).total(view::padded));
}

/// Stand-ins for the types of a trainer that counts its MFU on the host.
struct GPT2 {
    int seq_len;
};
struct device_properties {
    char name[256];
};
constexpr device_properties deviceProp{"NVIDIA H100 80GB HBM3"};
constexpr int PRECISION_MODE = 2;
double get_flops_promised(const char* device, int precision) {
    return precision == PRECISION_MODE && std::string(device) == "NVIDIA H100 80GB HBM3" ? 989.4 : -1;
}

float gpt2_estimate_mfu(GPT2* model, int num_tokens, float seconds);

float gpt2_estimate_mfu(GPT2* model, int num_tokens, float seconds) {
    static const floptally::flop_counter counter(floptally::load_config("gpt2/config.json"));  // once
    const double peak = get_flops_promised(deviceProp.name, PRECISION_MODE);
    if (peak < 0) {
        return -1;  // a GPU that the trainer does not know
    }
    floptally::tally step{counter.masks()};
    const auto rows = static_cast<std::uint64_t>(num_tokens / model->seq_len);
    step.add_shape({.rows = rows, .columns = static_cast<std::uint32_t>(model->seq_len)});
    return static_cast<float>(
        floptally::utilize(counter.evaluate(step), step, {.seconds = seconds, .gpus = 1, .peak_tflops = peak}).mfu);
}

TEST_CASE("the trainer in docs/cuda.md that counts on the host reports the MFU of its sequences") {
    const working_folder here;
    std::filesystem::create_directory("gpt2");
    std::ofstream("gpt2/config.json") << R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12,
        "n_positions": 1024, "vocab_size": 50257})";
    GPT2 model{.seq_len = 1024};
    const float mfu = gpt2_estimate_mfu(&model, 8 * 1024, 0.1F);
    floptally::tally step{floptally::presets::gpt2.cost().masks()};
    for (int i = 0; i < 8; ++i) {
        step.add(floptally::sequence{.length = 1024});
    }
    const double exact = to_double(evaluate(floptally::presets::gpt2, step).total());
    CHECK(mfu > 0.99999 * exact / (0.1 * 989.4e12));
    CHECK(mfu < 1.00001 * exact / (0.1 * 989.4e12));
}

TEST_CASE("the plan examples of docs/plans.md run") {
    using namespace floptally;
    const working_folder here;
    const model_config model = load_config("config.json");  // or a descriptor: presets::llama_3_8b
    const training_plan lora{.recomputed = recompute::full,
                             .weights = {{"*", weight_state::frozen},
                                         {"*/q_proj", weight_state::lora, 16},
                                         {"*/v_proj", weight_state::lora, 16}}};
    {
        const flop_counter step(model, conventions::exact, lora);
        CHECK(trained_parameters(model.parts, lora).trainable == 32 * 16 * (2 * 4096 + 4096 + 1024));
    }
    constexpr std::uint64_t h = 64;
    constexpr std::uint64_t r = 4;
    floptally::cost sum;
    const value::set narrow = value::local(0);  // the first value that the part makes
    sum.add("adapter", linear{.in_features = h, .out_features = r, .weight = "down", .reads = value::stream, .writes = narrow});
    sum.add("adapter", linear{.in_features = r, .out_features = h, .weight = "up", .reads = narrow});
    CHECK(sum.parameters() == 2 * h * r);

    const model_config& policy = model;
    const floptally::cost& reference = model.cost;
    tally batch{model.cost.masks()};
    batch.add(sequence{.length = 100});
    tally rollout{model.cost.masks()};
    rollout.add(sequence{.length = 1, .past = 99});
    const training_plan forward_only{.counted = counted_passes::forward};
    breakdown step = flop_counter(policy, conventions::exact, lora).evaluate(batch);   // the update
    step += evaluate(reference, rollout, conventions::exact, forward_only).with_prefix("rollout.");
    step += evaluate(reference, batch, conventions::exact, forward_only).with_prefix("reference.");
    CHECK(step["rollout.mlp"].total(view::useful) * 100 == step["reference.mlp"].total(view::useful));
}

TEST_CASE("the examples of docs/balance.md assign, exchange and pack samples") {
    using namespace floptally;
    const std::vector<int> lengths{100, 900, 51, 52, 40, 819, 300, 7};
    std::size_t kept_samples = 0;
    const auto keep = [&](std::uint32_t) { ++kept_samples; };
    {
        const std::size_t ranks = 4;
        const std::size_t my_rank = 1;
        const flop_counter model(presets::mistral_7b);
        const std::vector<flops> costs = sample_costs(model, lengths);  // one for each sample
        const assignment balanced = partition(costs, ranks);            // as many samples on each rank
        for (const std::uint32_t sample : balanced.samples_of(my_rank)) { keep(sample); }
        const balance_report report = balance_report_of(costs, balanced);  // against the samples as they come
        CHECK(kept_samples == 2);
        CHECK(report.moved > 0);
    }
    {
        struct {  // one rank's
            void run(const rank_exchange&, const std::vector<std::byte>& from, std::vector<std::byte>& to) const {
                to = from;
            }
        } exchanger;
        const std::uint64_t rank = 0;
        const std::uint64_t ranks = 1;
        const std::vector<int> owners{0, 0}, destinations{0, 0}, sizes{2, 1};
        const std::vector<std::byte> all(8, std::byte{7});
        const auto bytes_of = [&](std::uint64_t i) { return std::span(all).first(i == 0 ? 8 : 4); };
        const floptally::exchange_plan plan(owners, destinations, sizes, ranks, {.bytes_per_element = 4});
        const floptally::rank_exchange mine = plan.for_rank(rank);
        const std::vector<std::byte> send = floptally::filled_buffer(mine.send, [&](std::uint64_t i) { return bytes_of(i); });
        std::vector<std::byte> received(mine.receive.bytes());
        exchanger.run(mine, send, received);            // mpi_exchanger(MPI_COMM_WORLD), or nccl_exchanger(communicator, stream)
        const auto first =
        mine.receive.sample(std::span(received), 0);  // the bytes of sample mine.receive.samples[0]
        CHECK(first.size() == 8);
    }
    floptally::tally tally;
    const std::uint64_t tp = 1;
    const std::uint64_t cp = 2;
    const auto packed = floptally::pack_by_capacity(lengths, 8192, {.alignment = floptally::cp_alignment(tp, cp),
                                                                  .min_packs = 4, .divisor = 2});
    for (const floptally::pack& pack : packed.packs) {
        tally.add_cu_seqlens(pack.cu_seqlens, pack.cu_seqlens_padded);
    }
    CHECK(tally.get(view::useful, accumulator::count) == lengths.size());
}

TEST_CASE("the time breakdown example of docs/waterfall.md runs") {
    using namespace floptally;
    const flop_counter model(presets::mistral_7b);
    tally batch{model.masks()};
    batch.add_lengths(std::vector<int>(8, 8192));
    const std::vector<std::uint64_t> loads{5, 6, 5, 9};
    time_breakdown timed{.step = {.seconds = 1.6, .gpus = 4, .peak_tflops = 989}};
    timed.work = {{model.evaluate(batch), 989}};      // of all ranks; mixed_precision::by_peak(batch) for several peaks
    timed.apart = {{"exposed communication", 0.5}};   // with what it waits
    timed.ranks = rank_times::of(loads);              // or of a pipeline's runs, or (largest, sum, ranks)
    const std::string table = to_table(waterfall(timed));
    CHECK(table.find("\nimbalance between ranks ") != std::string::npos);
}

// clang-format on

TEST_CASE("every C++ block of the docs is copied from a compiled test or example") {
    std::vector<std::vector<std::string>> compiled;
    for (const char* const folder : {"tests", "examples"}) {
        for (const auto& entry : std::filesystem::recursive_directory_iterator(source / folder)) {
            const std::string end = entry.path().extension().string();
            if (end == ".cpp" || end == ".cu") {
                compiled.push_back(lines_of(read_text(entry.path())));
            }
        }
    }
    std::size_t blocks = 0;
    for (const std::filesystem::path& page : docs_pages()) {
        for (const std::string& block : fenced_blocks(read_text(page), "cpp")) {
            INFO(page.filename() << "\n" << block);
            const std::vector<std::string> lines = lines_of(block);
            CHECK(std::any_of(compiled.begin(), compiled.end(),
                              [&](const std::vector<std::string>& file) { return is_cut_from(lines, file); }));
            ++blocks;
        }
    }
    CHECK(blocks >= 20);
}

}  // namespace snippets_test
