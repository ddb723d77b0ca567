// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <optional>
#include <string>

#include <floptally/step/layout_text.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "layouts.hpp"

namespace layout_text_test {
namespace {

using floptally::layout_format;
using floptally::parallel_sizes;
using floptally::read_layout;
using floptally::trainer_layout;
using floptally::zero_stage;

/// Every pair of layouts over the same ranks, of stages of up to `most` ranks.
template <class Visit>
void for_each_pair(std::uint64_t most, Visit visit) {
    for (const parallel_sizes& dense : layouts_up_to(most)) {
        for (std::uint64_t ep = 1; ep <= dense.stage_ranks(); ++ep) {
            for (std::uint64_t etp = 1; ep * etp <= dense.stage_ranks(); ++etp) {
                if (dense.stage_ranks() % (ep * etp) == 0) {
                    parallel_sizes sizes = dense;
                    sizes.ep = ep;
                    sizes.etp = etp;
                    visit(sizes);
                }
            }
        }
    }
}

std::string error_for(const std::string& text, std::optional<std::uint64_t> world = {}) {
    return error_of([&] { return read_layout(text, world); });
}

}  // namespace

TEST_CASE("AReaL's text, Megatron's arguments, torchtitan's table and named sizes give the same layout") {
    const parallel_sizes run{.cp = 4, .tp = 2, .ep = 8, .etp = 1};
    CHECK(read_layout("attn:d1p1t2c4|ffn:d1p1t1e8").sizes == run);
    CHECK(read_layout("(attn:d1p1t2c4|ffn:d1p1t1e8)").sizes == run);
    CHECK(read_layout("megatron:(attn:d1p1t2c4|ffn:d1p1t1e8)").sizes == run);
    CHECK(read_layout("megatron:(attn:t2c4|ffn:e8)").sizes == run);  // d from the ranks, t and d of 1 are left out
    CHECK(read_layout("tp=2, cp=4, ep=8, etp=1, dp=1").sizes == run);
    CHECK(read_layout("torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --num-layers 48 \\\n"
                      "  --context-parallel-size 4 --expert-model-parallel-size 8 --expert-tensor-parallel-size 1 \\\n"
                      "  --sequence-parallel --nnodes 1")
              .sizes == run);
    CHECK(read_layout("[parallelism]\ndata_parallel_shard_degree = -1  # all that is left\ntensor_parallel_degree = 2\n"
                      "context_parallel_degree = 4\nexpert_parallel_degree = 8\n"
                      "pipeline_parallel_schedule = \"1F1B\"\n",
                      8)
              .sizes == run);
    CHECK(read_layout("init_device_mesh(\"cuda\", (1, 4, 2), mesh_dim_names=(\"dp_shard\", \"cp\", \"tp\"))\n"
                      "init_device_mesh(\"cuda\", (1, 8), mesh_dim_names=(\"expert_dp_shard\", \"ep\"))")
              .sizes == run);
    // Not said: etp is tp by Megatron, 1 by torchtitan, DeepSpeed and AReaL.
    CHECK(read_layout("--tensor-model-parallel-size 2 --expert-model-parallel-size 2", 8).sizes ==
          parallel_sizes{.dp = 4, .tp = 2, .ep = 2, .etp = 2});
    CHECK(read_layout("tensor_parallel_degree = 2\nexpert_parallel_degree = 2", 8).sizes ==
          parallel_sizes{.dp = 4, .tp = 2, .ep = 2, .etp = 1});
    CHECK(read_layout("megatron:d4t2e2").sizes == parallel_sizes{.dp = 4, .tp = 2, .ep = 2, .etp = 1});
    CHECK(read_layout("fsdp:d4t2").sizes == parallel_sizes{.dp = 4, .tp = 2});
}

TEST_CASE("settings of DeepSpeed and FSDP give a layout's sizes and its sharded states") {
    const trainer_layout deepspeed = read_layout(
        R"({"zero_optimization": {"stage": 3, "mics_shard_size": 8}, "tensor_parallel": {"autotp_size": 2},)"
        R"( "sequence_parallel_size": 2, "train_micro_batch_size_per_gpu": 4})",
        64);
    CHECK(deepspeed.sizes == parallel_sizes{.dp = 16, .cp = 2, .tp = 2, .dp_replicate = 2});
    CHECK(deepspeed.sharded == zero_stage::weights);
    CHECK(read_layout("dp=8 sharding_strategy=ShardingStrategy.SHARD_GRAD_OP").sharded == zero_stage::gradients);
    CHECK(read_layout("dp=8 sharding_strategy=HYBRID_SHARD dp_replicate=2").sizes ==
          parallel_sizes{.dp = 8, .dp_replicate = 2});
    CHECK(read_layout("--use-distributed-optimizer --num-distributed-optimizer-instances 2 --use-megatron-fsdp "
                      "--data-parallel-sharding-strategy optim_grads_params --sequence-parallel",
                      8)
              .sharded == zero_stage::weights);
    CHECK(read_layout("--use-distributed-optimizer", 0x7).sharded == zero_stage::optimizer);
    CHECK(read_layout("WORLD_SIZE=8 --sequence-parallel").sequence_parallel == true);
    CHECK_FALSE(read_layout("WORLD_SIZE=8").sequence_parallel);
}

TEST_CASE("a layout written as any trainer's settings is read back as an equal layout") {
    std::uint64_t written[4] = {};
    for_each_pair(16, [&](const parallel_sizes& pair) {
        for (const std::uint64_t replicas : {1U, 2U}) {
            for (const std::uint64_t vpp : {1U, 3U}) {
                parallel_sizes sizes = pair;
                sizes.dp_replicate = replicas;
                sizes.vpp = vpp;
                if (sizes.dp % replicas != 0 || sizes.expert_dp() % replicas != 0) {
                    continue;
                }
                for (const layout_format format :
                     {layout_format::areal, layout_format::megatron, layout_format::torchtitan, layout_format::fsdp2}) {
                    const trainer_layout layout{.sizes = sizes};
                    const bool is_sayable =
                        format == layout_format::megatron ||
                        (vpp == 1 && (format != layout_format::areal || replicas == 1) &&
                         (format != layout_format::torchtitan || sizes.etp == 1 || sizes.etp == sizes.tp));
                    const std::string text = is_sayable ? to_text(layout, format) : std::string();
                    INFO(text);
                    if (is_sayable) {
                        ++written[static_cast<std::size_t>(format)];
                        CHECK(read_layout(text) == layout);
                    } else {
                        CHECK(error_of([&] { return to_text(layout, format); }).find(" cannot express ") !=
                              std::string::npos);
                    }
                }
            }
        }
    });
    for (const std::uint64_t count : written) {
        CHECK(count > 500);
    }
}

TEST_CASE(
    "a layout written as a device mesh keeps any axis order, and Megatron's format keeps the two orders of Megatron") {
    for (const char* order : {"tp-cp-dp-pp", "cp-tp-dp-pp", "dp-tp-cp-pp", "pp-tp-cp-dp"}) {
        for (const char* of_experts : {"etp-ep-expert_dp-pp", "ep-etp-expert_dp-pp", "expert_dp-ep-etp-pp"}) {
            const bool pp_first = order[0] == 'p';
            const trainer_layout layout{
                .sizes = {.dp = 4, .cp = 2, .tp = 2, .pp = pp_first ? 1U : 2U, .ep = 4, .etp = 1, .dp_replicate = 2},
                .order = order,
                .expert_order = of_experts};
            const std::string text = to_text(layout, layout_format::fsdp2);
            INFO(text);
            CHECK(read_layout(text) == layout);
        }
    }
    const trainer_layout mapped{.sizes = {.dp = 2, .cp = 1, .tp = 2, .pp = 2}, .order = "tp-cp-ep-pp-dp"};
    CHECK(to_text(mapped, layout_format::megatron).find("--use-tp-pp-dp-mapping") != std::string::npos);
    CHECK(read_layout(to_text(mapped, layout_format::megatron)) == mapped);
    CHECK(error_of([&] { return to_text(mapped, layout_format::areal); }) ==
          "layout: areal cannot express another order of ranks than tp-cp-ep-dp-pp: choose another format");
}

TEST_CASE("a layout text with contradictory or missing sizes is an error that says what to do") {
    CHECK(error_for("attn:d1p1t2c4|ffn:d2p1t1e8") ==
          "layout: has 8 ranks per pipeline stage for attention and 16 for experts: both numbers must be equal");
    CHECK(error_for("attn:d1p2t2c4|ffn:d1p1t1e8") == "layout: must have the same p for attn and ffn, got 2 and 1");
    CHECK(error_for("attn:d1p1t2c4") ==
          "layout: must have |ffn: after attn:, such as attn:d1p1t2c4|ffn:d1p1t1e8, got \"attn:d1p1t2c4\"");
    CHECK(error_for("attn:d1e2|ffn:e8") == "layout: must list sizes by the letters dptc, such as d1p1, got \"e2\"");
    CHECK(error_for("attn:d1d2|ffn:e8") == "layout: names d twice in \"attn:d1d2|ffn:e8\": name each size once");
    CHECK(error_for("d0t2") == "layout: must be a positive integer, got \"0\"");
    CHECK(error_for("nothing here") ==
          "layout: must name sizes such as attn:d1p1t2c4|ffn:d1p1t1e8, --tensor-model-parallel-size 2 or "
          "tensor_parallel_degree = 2, got \"nothing here\"");
    CHECK(
        error_for("--tensor-model-parallel-size 2") ==
        "world_size: is missing, and these settings do not contain dp: pass the number of ranks, or a layout with dp");
    CHECK(error_for("--tensor-model-parallel-size 3", 8) ==
          "world_size: must be a multiple of cp x tp x pp = 3, got 8");
    CHECK(error_for("dp=2 tp=2", 8) == "world_size: must be dp x cp x tp x pp = 4, got 8");
    CHECK(error_for("tp=2 --tensor-parallel-size 4") ==
          "tensor_parallel_size: is given twice with different values, 2 and 4: leave one of them out");
    CHECK(error_for("tensor_parallel_degree = two") ==
          "tensor_parallel_degree: must be a positive integer, got \"two\"");
    CHECK(error_for("weight_parallel_size = 2").starts_with("weight_parallel_size: is not the name of a layout size"));
    CHECK(
        error_for("--num-layers-per-virtual-pipeline-stage 4").starts_with("num_layers_per_virtual_pipeline_stage: "));
    CHECK(error_for("zero_stage=4") == "zero_stage: must be a ZeRO stage from 0 to 3, got \"4\"");
    CHECK(error_for("sharding_strategy=ALL").starts_with("sharding_strategy: must be one of NO_SHARD"));
    CHECK(error_for("init_device_mesh(\"cuda\", (2, 4), mesh_dim_names=(\"dp\",))") ==
          "mesh_dim_names: must be as many as the sizes of the mesh (2), got 1");
    CHECK(error_for("init_device_mesh(\"cuda\", (2, 4), mesh_dim_names=(\"dp_shard\", \"dp_replicate\"))") ==
          "mesh_dim_names: dp_replicate is in a wrong place: name each axis once, and dp_replicate directly before "
          "dp_shard");
    CHECK(error_for("init_device_mesh(\"cuda\", (2,), mesh_dim_names=(\"x\",))")
              .starts_with("mesh_dim_names: must name"));
    CHECK(error_for("tp=2 dp=2 ep=3 etp=1") == "ep: ep x etp must divide dp x cp x tp = 4, got 3 x 1");
}

}  // namespace layout_text_test
