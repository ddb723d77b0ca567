// SPDX-License-Identifier: Apache-2.0
//
// The program as a process: what it prints, where, and its exit status. docs/command_line.md is the contract.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <floptally/conventions/all.hpp>
#include <floptally/parallel/pipeline_schedule.hpp>

#include "catch2.hpp"
#include "markdown.hpp"
#include "pipeline_simulation.hpp"

namespace program_test {
namespace {

using nlohmann::json;

const std::filesystem::path data = std::filesystem::path(FLOPTALLY_SOURCE_DIR) / "examples/data";

/// A folder with the files that the commands below name; tests may run side by side, so each process has its own.
class work_folder {
  public:
    work_folder() {
        std::string name = (std::filesystem::temp_directory_path() / "floptally_XXXXXX").string();
        REQUIRE(mkdtemp(name.data()) != nullptr);
        path_ = name;
        std::filesystem::create_directory(path_ / "folder");
        std::filesystem::create_directory(path_ / "empty");
        const std::string llama =
            R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 128256,
            "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
            "num_key_value_heads": 8})";
        write("m.json", read_text(data / "mistral-7b-v0.1.json"));
        write("llama.json", llama);
        write("folder/config.json", llama);
        write("times.json", R"({"times": [{"name": "attention", "components": ["attention.*"], "seconds": 0.2},
            {"name": "backward of the MLP", "components": ["mlp"], "pass": "backward", "seconds": 0.15},
            {"name": "optimizer", "seconds": 0.02}]})");
        write("cpu_step.json",
              read_text(std::filesystem::path(FLOPTALLY_SOURCE_DIR) / "tests/golden/traces/cpu_step.json"));
        write("tiny.json",
              read_text(std::filesystem::path(FLOPTALLY_SOURCE_DIR) / "tests/golden/traces/cpu_step_config.json"));
        write("paged.json",
              R"({"model_type": "my_model", "architectures": ["MyModelForCausalLM"], "vocab_size": 128256,
            "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
            "num_key_value_heads": 8})");
        write("my.spec", "spec my_model : llama prefix MyModel\nfeed: mlp inner .intermediate_size\n");
        write("wrong.spec", "spec my_model : llama prefix MyModel\nsee = both\n");
        write("own.json",
              R"({"model_type": "floptally", "name": "ours", "hidden_size": 4096, "vocab_size": 128256, "layers":
            [{"repeat": 32, "parts": [{"type": "attention", "num_heads": 32, "num_kv_heads": 8},
                                      {"type": "mlp", "intermediate_size": 14336}]}]})");
        write("encdec.json", R"({"model_type": "floptally", "name": "translator", "hidden_size": 12, "vocab_size": 7,
            "encoder_layers": [{"parts": [{"type": "attention", "num_heads": 3, "mask": "bidirectional"}]}],
            "layers": [{"parts": [{"type": "attention", "num_heads": 3},
                                  {"type": "cross_attention", "num_heads": 3}]}]})");
        write("latent.json",
              R"({"model_type": "floptally", "name": "latent", "hidden_size": 12, "vocab_size": 7, "layers":
            [{"parts": [{"type": "mla", "num_heads": 3, "kv_lora_rank": 5, "qk_nope_head_dim": 4,
                         "qk_rope_head_dim": 2, "v_head_dim": 6}]}]})");
        write("hstu.json", R"({"model_type": "hstu", "name": "ranking", "hidden_size": 1024, "num_layers": 8,
            "num_attention_heads": 4, "dim_per_head": 256})");
        write("llava.json", R"({"model_type": "llava", "architectures": ["LlavaForConditionalGeneration"],
            "text_config": {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
                            "num_attention_heads": 4, "vocab_size": 100},
            "vision_config": {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3,
                              "num_attention_heads": 4, "image_size": 28, "patch_size": 7}})");
        write("whisper.json", R"({"model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"],
            "d_model": 12, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 3,
            "decoder_attention_heads": 3, "encoder_ffn_dim": 20, "decoder_ffn_dim": 20, "vocab_size": 30,
            "num_mel_bins": 5})");
        write("wan.json", R"({"_class_name": "WanTransformer3DModel", "num_layers": 1})");
        write("vit.json", R"({"model_type": "vit", "architectures": ["ViTForImageClassification"]})");
        write("bare.json",
              R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257})");
        write("bad.json", "{\"model_type\"\n");
        write("list.json", "[]");
        write("zero.json", R"({"model_type": "llama", "hidden_size": 0})");
        write("unknown.json", R"({"model_type": "gpt9"})");
        write("own_bad.json", R"({"model_type": "floptally", "hidden_size": 4, "layers":
            [{"parts": [{"type": "mlp", "intermediate_size": 1.5}]}]})");
        write("lines.json", R"({"model_type": "floptally", "hidden_size": 4, "a\nb": 1})");
        write("empty.txt", "");
        write("mixed.txt", "  512\n1024, 7\t8\r\n ,9\n\n10,11\n");
        write("words.txt", "12 twelve\n");
        write("negative.txt", "1 -2\n");
        write("huge.txt", "4294967295 4294967295\n");
        write("comma.txt", "1,\n");
        write("small.json", R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 97,
            "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
            "num_key_value_heads": 2})");
        write("moe.json", R"({"model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"], "vocab_size": 97,
            "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
            "intermediate_size": 96, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
            "decoder_sparse_step": 1, "mlp_only_layers": [], "tie_word_embeddings": false})");
        write("mistyped.json",
              R"({"model_type": "phi3", "architectures": ["Phi3ForCausalLM"], "intermediate_sise": 7})");
        write("experts.json", R"({"model_type": "experts", "vocab_size": 7, "hidden_size": 8, "num_attention_heads": 2,
            "num_hidden_layers": 2, "intermediate_size": 6})");
        write("experts.spec", "spec experts : llama\nfeed: experts of 4, top 2, inner 6, measured\n");
        write("mask.txt", "1,1,1,0\n0 1 1 1\n\n0,0,0,0\n");
        write("ragged.txt", "1,1\n1\n");
        write("hole.txt", "1,0,1\n");
        write("documents.txt", "1,1,2,0\n");
    }
    work_folder(const work_folder&) = delete;
    work_folder& operator=(const work_folder&) = delete;
    ~work_folder() { std::filesystem::remove_all(path_); }

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    void write(const char* name, const std::string& text) const {
        std::ofstream file(path_ / name, std::ios::binary);
        file << text;
        REQUIRE(file.flush());
    }

    std::filesystem::path path_;
};

struct outcome {
    int status = -1;
    std::string out;
    std::string err;
};

/// Runs the program in the work folder; `arguments` is what a user types after its name, redirections included.
outcome run(const std::string& arguments) {
    static const work_folder folder;
    const std::string where = folder.path().string();
    const std::string command =
        "cd '" + where + "' && { '" FLOPTALLY_PROGRAM "' " + arguments + "\n} >stdout.txt 2>stderr.txt";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(folder.path() / "stdout.txt"),
            read_text(folder.path() / "stderr.txt")};
}

json run_json(const std::string& arguments) {
    INFO(arguments);
    const outcome result = run(arguments + " --format json");
    INFO(result.err);
    REQUIRE(result.status == 0);
    CHECK(result.err.empty());
    return json::parse(result.out);
}

std::string total(const json& report, const char* view = "useful") {
    return report["flops"][view]["total"].get<std::string>();
}

std::uint64_t number(const json& text) { return std::stoull(text.get<std::string>()); }

// ---- what is refused ----

struct refusal {
    const char* arguments;
    const char* error;  ///< what follows "floptally: error: "; CONVENTIONS are the names of all
};

/// An error with the names of all conventions in place of CONVENTIONS.
std::string with_conventions(std::string error) {
    const std::size_t place = error.find("CONVENTIONS");
    if (place != std::string::npos) {
        std::string names;
        for (const floptally::convention* how : floptally::conventions::all) {
            names.append(names.empty() ? "" : ", ").append(how->name);
        }
        for (const auto& counter : floptally::conventions::counters) {
            names.append(", ").append(counter.name);
        }
        error.replace(place, std::string_view("CONVENTIONS").size(), names);
    }
    return error;
}

constexpr refusal refusals[] = {
    {"",
     "command: is missing; must be flops, mfu, compare, bytes, fit, search, expect, waterfall, whatif, plan, models, "
     "accelerators or conventions"},
    {"bogus",
     R"(command: must be flops, mfu, compare, bytes, fit, search, expect, waterfall, whatif, plan, models, accelerators or conventions, got "bogus")"},
    {"--bogus",
     R"(command: must be flops, mfu, compare, bytes, fit, search, expect, waterfall, whatif, plan, models, accelerators or conventions, got "--bogus")"},
    {"--version x", R"(command: unexpected argument "x": leave it out)"},
    {"--help flops", R"(command: unexpected argument "flops": leave it out)"},
    {"''",
     "command: is missing; must be flops, mfu, compare, bytes, fit, search, expect, waterfall, whatif, plan, models, "
     "accelerators or conventions"},
    {"flops", "config: is missing: pass --config FILE"},
    {"expect", "config: is missing: pass --config FILE"},
    {"expect --config llama.json --lengths 5", "accelerator: is missing: pass --accelerator NAME"},
    {"expect --config llama.json --lengths 5 --accelerator B200 --mfu 0",
     R"(mfu: must be above 0 and at most 100 %, such as 40% or 0.4, got "0")"},
    {"expect --config llama.json --lengths 5 --accelerator B200 --nearest 0",
     R"(nearest: must be an integer from 1 to 100000, got "0")"},
    {"expect --config llama.json --lengths 5 --accelerator B200 --gpus 1 --seconds 1 --mfu 40%",
     "mfu: is passed, but --seconds also determines the MFU: pass one of them"},
    {"expect --all --config llama.json", "config: is about one run, but --all shows every run: pass one of them"},
    {"waterfall --config llama.json --lengths 5 --gpus 4 --peak-tflops 9 --seconds 1 --convention megatron",
     R"(convention: must be exact, since only exact counts the padded and executed FLOPs that a waterfall needs, got "megatron")"},
    {"waterfall --config llama.json --lengths 5 --gpus 4 --peak-tflops 9 --seconds 1 --tile 128",
     R"(tile: must be ROWSxKEYS, such as 128x128, got "128")"},
    {"waterfall --config llama.json --lengths 5 --gpus 4 --peak-tflops 9 --seconds 1 --idle-gpus 4",
     R"(idle_gpus: must be an integer from 0 to 3, got "4")"},
    {"waterfall --config llama.json --lengths 5 --gpus 4 --peak-tflops 9 --seconds 1 --apart wait",
     R"(apart: must be NAME=SECONDS, separated by commas, such as data=0.2,checkpoint=0.5, got "wait")"},
    {"waterfall --config llama.json --lengths 5 --gpus 4 --peak-tflops 9 --seconds 1 --format html",
     R"(format: must be one of table, json, markdown, got "html")"},
    {"waterfall --config llama.json --lengths 5 --gpus 4 --peak-tflops 9 --seconds 1 --vpp 2",
     "pp: is missing: pass --pp, which --vpp needs"},
    {"waterfall --config llama.json --lengths 5 --gpus 4 --peak-tflops 9 --seconds 1 --pp 2",
     "microbatches: is missing: pass --microbatches N"},
    {"waterfall --config llama.json --lengths 5 --gpus 4 --peak-tflops 9 --seconds 1 --pp 2 --microbatches 4 "
     "--schedule x",
     R"(schedule: must be one of gpipe, 1f1b, interleaved, zero_bubble, zb_v, got "x")"},
    {"waterfall --config llama.json --lengths 5 --gpus 3 --peak-tflops 9 --seconds 1 --pp 8 --microbatches 4",
     "gpus: gpus - idle_gpus must be a multiple of pp x replicas = 8, got 3"},
    {"waterfall --config llama.json --lengths 5 --gpus 8 --peak-tflops 9 --seconds 1 --pp 4 --microbatches 4 "
     "--rank-work 1,2,3",
     "gpus: gpus - idle_gpus must be a multiple of pp x replicas = 12, got 8"},
    {"waterfall --config llama.json --lengths 5 --gpus 8 --peak-tflops 9 --seconds 1 --pp 4 --microbatches 4 "
     "--rank-work 1,2,3 --replicas 2",
     "rank_work: must have a number for each of 2 replicas, got 3"},
    {"waterfall --config llama.json --lengths 5,6 --gpus 8 --peak-tflops 9 --seconds 1 --network-gbps xp=4",
     "network_gbps: must name one of tp, cp, dp, pp, ep, expert_dp, etp, dp_replicate, within or between, got "
     "\"xp=4\""},
    {"waterfall --config llama.json --lengths 5,6 --gpus 8 --peak-tflops 9 --seconds 1 --cp-split zigzag",
     "cp: is missing: pass --cp, which --cp-split needs"},
    {"waterfall --config llama.json --lengths 16 --gpus 8 --peak-tflops 9 --seconds 1 --cp 2 --rank-work 1,2",
     "rank_work: cannot be passed with --tp or --cp, which determine the work of each rank: leave it out"},
    {"waterfall --config llama.json --lengths 16 --gpus 8 --peak-tflops 9 --seconds 1 --cp 2 --pp 2 --microbatches 2 "
     "--rank-work 1,2",
     "cp: cannot be passed with the work of each replica or microbatch, because cp splits the whole batch: leave out "
     "one of the two"},
    {"waterfall --config llama.json --lengths 16 --gpus 6 --peak-tflops 9 --seconds 1 --cp 2 --tp 2",
     "gpus: gpus - idle_gpus must be a multiple of tp x cp = 4, got 6"},
    {"waterfall --config llama.json --lengths 16 --gpus 6 --peak-tflops 9 --seconds 1 --tp 4 --pp 2 --microbatches 2",
     "gpus: gpus - idle_gpus must be a multiple of tp x cp = 4, got 6"},
    {"waterfall --config llama.json --lengths 5,6,7 --gpus 8 --peak-tflops 9 --seconds 1 --against x",
     "against: works only with --trace or --component-times: pass one of them as well, or leave it out"},
    {"waterfall --config llama.json --lengths 5,6,7 --gpus 8 --peak-tflops 9 --seconds 1 --pp 4 --micro-batch-size 2",
     "micro_batch_size: micro_batch_size x 1 replicas must divide the 3 sequences, got 2"},
    {"waterfall --config llama.json --cu-seqlens 0,6 --gpus 8 --peak-tflops 9 --seconds 1 --pp 4 --micro-batch-size 1",
     "micro_batch_size: splits only --lengths or --lengths-file into microbatches: leave other batch options out"},
    {"waterfall --config llama.json --lengths 5,6 --grid-padded 1,8,8 --gpus 8 --peak-tflops 9 --seconds 1 --pp 4 "
     "--micro-batch-size 1",
     "micro_batch_size: splits only --lengths or --lengths-file into microbatches: leave other batch options out"},
    {"waterfall --config llama.json --lengths 5,6 --gpus 8 --peak-tflops 9 --seconds 1 --pp 4 --micro-batch-size 1 "
     "--microbatches 3",
     "microbatches: must be 2, the number of each replica's batches, got 3"},
    {"waterfall --config llama.json --lengths 5,6 --gpus 8 --peak-tflops 9 --seconds 1 --pp 4 --microbatches 1 "
     "--layers-of-chunks 16,16",
     "layers_of_chunks: must have 4 numbers, pp x vpp, got 2"},
    {"waterfall --config llama.json --lengths 5,6 --gpus 8 --peak-tflops 9 --seconds 1 --replicas 2",
     "pp: is missing: pass --pp, which --replicas needs"},
    {"waterfall --config llama.json --lengths 5 --gpus 3 --peak-tflops 9 --seconds 1 --pp 3 --microbatches 4 "
     "--layer-split even",
     "layers: the 32 remaining layers must be a multiple of the 3 pipeline stages that share them"},
    {"waterfall --config llama.json --lengths 5 --gpus 4 --peak-tflops 9 --trace cpu_step.json --component-times "
     "t.json",
     "component_times: cannot be passed with --trace, because both contain the times: leave one of them out"},
    {"waterfall --config llama.json --lengths 5 --gpus 4 --peak-tflops 9 --seconds 1 --modules '*.mixer=mamba'",
     "modules: works only with --trace: pass both, or leave it out"},
    {"waterfall --config llama.json --lengths 5 --gpus 4 --peak-tflops 9 --trace llama.json",
     "trace: has no list \"traceEvents\": pass a trace of PyTorch's profiler"},
    {"waterfall --config llama.json --lengths 5 --gpus 4 --peak-tflops 9 --seconds 1 --component-times my.spec",
     "component_times: must be a JSON object, cannot be parsed at line 1, column 1"},
    {"waterfall --config llama.json --lengths 5 --gpus 4 --peak-tflops 9 --seconds 1 --component-times llama.json",
     "component_times.architectures: is an unknown key; known: seconds, times"},
    {"waterfall --config llama.json --lengths 5 --gpus 4 --peak-tflops 9 --component-times times.json",
     "seconds: is missing: pass --seconds S"},
    {"waterfall --config llama.json --lengths 5 --gpus 4 --peak-tflops 9 --seconds 1 --rank-work 1,-2",
     "rank_work[1]: must be at least 0, got -2"},
    {"waterfall --config llama.json --lengths 5 --gpus 4 --peak-tflops 9 --seconds 1 --memory-tbps 0",
     R"(memory_tbps: must be a finite number above 0, got "0")"},
    {"bytes --config llama.json --lengths 5 --convention megatron",
     R"(convention: must be exact, since only exact counts bytes, got "megatron")"},
    {"bytes --config llama.json --lengths 5 --weight-bits 0",
     R"(weight_bits: must be an integer from 1 to 64, got "0")"},
    {"bytes --config llama.json --lengths 5 --batches 0",
     R"(batches: must be an integer from 1 to 4294967296, got "0")"},
    {"bytes --config llama.json --lengths 5 --seconds 1 --gpus 1 --memory-tbps 3",
     "phase: must be forward, since MBU is defined for a decode step: pass --phase forward"},
    {"bytes --config llama.json --lengths 5 --phase forward --seconds 1 --gpus 1",
     "accelerator: is missing: pass --accelerator NAME"},
    {"bytes --config llama.json --lengths 5 --phase forward --seconds 1 --gpus 1 --accelerator Ascend910_9391",
     "memory_tbps: Ascend 910C variant has no published memory bandwidth; pass memory_tbps"},
    {"fit --config llama.json --lengths 5 --zero 4",
     R"(zero: must be one of none, optimizer, gradients, weights, got "4")"},
    {"fit --config llama.json --lengths 5 --tp 4 --layout d2t2",
     "tp: is 4, but the layout says 2: leave one of them out"},
    {"fit --config llama.json --lengths 5 --ep 3", "ep: ep x etp must divide dp x cp x tp = 1, got 3 x 1"},
    {"fit --config llama.json --lengths 5 --layout nothing",
     "layout: must name sizes such as attn:d1p1t2c4|ffn:d1p1t1e8, --tensor-model-parallel-size 2 or "
     "tensor_parallel_degree = 2, got \"nothing\""},
    {"fit --config llama.json --lengths 5 --network-gbps within=4,between=5",
     "gpus_per_node: is missing: pass the number of GPUs of a node, which bandwidths within and between nodes need"},
    {"fit --config llama.json --lengths 5 --reserve-gib 1",
     "memory_gib: is missing: pass --memory-gib N, which --reserve-gib needs"},
    {"fit --config llama.json --lengths 5 --recompute-modules norms",
     "recompute_modules: must list some of core_attn, attn_proj, mla_up_proj, layernorm, mlp, shared_experts, moe_act, "
     "expert_fc1, moe, got \"norms\""},
    {"fit --config llama.json --lengths 5 --context-exchange p2p",
     R"(context_exchange: must be one of ring, all_gather, ulysses, got "p2p")"},
    {"fit --config llama.json --lengths 5 --largest microbatch",
     "memory_gib: is missing: pass --memory-gib N, which --largest needs"},
    {"fit --config llama.json --lengths 5 --prices 'H100 SXM=2'",
     "prices: works only with --gpus-of: pass both, or leave it out"},
    {"search --config llama.json --lengths 5,6 --global-batch 3 --gpus 2 --accelerator 'H100 SXM'",
     "global_batch: must be 2, the number of sequences of --lengths, got 3: leave it out"},
    {"search --config llama.json --lengths 5 --gpus 2 --peak-tflops 100 --memory-gib 80",
     "network_gbps: is missing: pass --network-gbps within=X,between=Y with --gpus-per-node N; only the "
     "accelerators of docs/search.md have known bandwidths"},
    {"search --config llama.json --lengths 5 --gpus 1 --accelerator 'H100 SXM' --trainer ours",
     "trainer: must be one of megatron, torchtitan, fsdp, got \"ours\""},
    {"search --config llama.json --lengths 5 --gpus 1 --accelerator 'H100 SXM' --explain zero=4",
     "explain: zero must be one of none, optimizer, gradients, weights, got \"4\""},
    {"fit --config llama.json --lengths 5 --network-gbps tp=0",
     R"(network_gbps: must be a finite number above 0, got "0")"},
    {"whatif --config llama.json --lengths 5 --gpus 4 --peak-tflops 9 --seconds 1 --then-pp 2",
     "microbatches: is missing: pass --microbatches N"},
    {"plan --config llama.json --lengths 5 --tokens 1.5 --gpus 4 --peak-tflops 9 --mfu 40",
     R"(tokens: must be a whole number from 1 to 10^18, such as 15e12 or 15T (suffixes: K, M, B, G, T), got "1.5")"},
    {"plan --config llama.json --lengths 5 --tokens 15Q --gpus 4 --peak-tflops 9",
     R"(tokens: must be a whole number from 1 to 10^18, such as 15e12 or 15T (suffixes: K, M, B, G, T), got "15Q")"},
    {"plan --config llama.json --lengths 5 --tokens 5 --gpus 4 --peak-tflops 9 --mfu 400",
     R"(mfu: must be above 0 and at most 100 %, such as 40% or 0.4, got "400")"},
    {"plan --config llama.json --lengths 5 --tokens 5 --gpus 4 --peak-tflops 9 --mfu 4% --spent data=2",
     "spent data: must be TIME/EVERY or SHARE%, such as 40s/1h or 2%, got \"2\""},
    {"plan --config llama.json --lengths 5 --tokens 5 --gpus 4 --peak-tflops 9 --mfu 4% --spent data=2/1h",
     "spent data: must be a time with a unit, such as 90s, 20m, 1.5h or 2d, got \"2\""},
    {"plan --config llama.json --lengths 5 --tokens 5 --gpus 4 --peak-tflops 9 --mfu 4% --spent 2m/1h",
     "spent: must be NAME=TIME/EVERY or NAME=SHARE%, such as checkpoint=40s/1h or failures=2%, got \"2m/1h\""},
    {"plan --config llama.json --lengths 5 --tokens 5 --gpus 4 --peak-tflops 9 --mfu %",
     R"(mfu: must be above 0 and at most 100 %, such as 40% or 0.4, got "%")"},
    {"plan --config llama.json --lengths 5 --tokens 5 --gpus 4 --peak-tflops 989e12",
     "peak_tflops: must be in TFLOP/s of one GPU, but no GPU has 9.89e+14; if you mean FLOP/s, pass 989"},
    {"mfu --config m.json --lengths 5 --seconds 1 --gpus 1 --accelerator H100SXM",
     R"(accelerator: no known accelerator is called "H100SXM"; nearest: H100 SXM; `floptally accelerators` lists the known names. )"
     "For another accelerator pass the peak (peak_tflops=, --peak-tflops), which floptally.measure_peak() measures on "
     "the "
     "device"},
    {"flops --config", "config: has no value: write one after it"},
    {"flops --config ''", R"(config: cannot read "": pass a readable file)"},
    {"flops --config /no/such.json --lengths 5", R"(config: cannot read "/no/such.json": pass a readable file)"},
    {"flops --config empty --lengths 5", R"(config: cannot read "empty/config.json": pass a readable file)"},
    {"flops --config bad.json --lengths 5",
     "config: must be a JSON object, cannot be parsed at line 2, column 1, near the key \"model_type\""},
    {"flops --config list.json --lengths 5", "config: must be a JSON object, got []"},
    {"flops --config zero.json --lengths 5", "hidden_size: must be an integer from 1 to 16777216, got 0"},
    {"flops --config own_bad.json --lengths 5",
     "layers[0].parts[0].intermediate_size: must be an integer from 1 to 16777216, got 1.5"},
    {"flops --config - --lengths 5 </dev/null", "config: must be a JSON object, cannot be parsed at line 1, column 1"},
    {"flops --config m.json --config m.json --lengths 5", "config: is passed 2 times: pass it once"},
    {"flops --config m.json",
     "lengths: no batch was passed: use --lengths, --lengths-file, --cu-seqlens, --attention-mask, --new-tokens, "
     "--request, --sequence, --grid, --pixels, --images or --audio-frames"},
    {"flops --config m.json --format json",
     "lengths: no batch was passed: use --lengths, --lengths-file, --cu-seqlens, --attention-mask, --new-tokens, "
     "--request, --sequence, --grid, --pixels, --images or --audio-frames"},
    {"flops --config m.json junk --lengths 5", R"(command: unexpected argument "junk": leave it out)"},
    {"flops --config m.json --lengths 5 junk", R"(command: unexpected argument "junk": leave it out)"},
    {"flops -- --config m.json", R"(command: unexpected argument "--config": leave it out)"},
    {"flops --config llama.json --lenghts 5",
     "lenghts: unknown option; did you mean --lengths? `floptally flops --help` lists the known ones"},
    {"flops --bogus", "bogus: unknown option; `floptally flops --help` lists the known ones"},
    {"flops --bogus=5", "bogus: unknown option; `floptally flops --help` lists the known ones"},
    {"flops -x", "x: unknown option; `floptally flops --help` lists the known ones"},
    {"flops --mtp -1 --config m.json --lengths 5", R"(mtp: must be an integer from 0 to 100, got "-1")"},
    {"flops --mtp 101 --config m.json --lengths 5", R"(mtp: must be an integer from 0 to 100, got "101")"},
    {"flops --mla latent --config m.json --lengths 5", R"(mla: must be one of expanded, absorbed, got "latent")"},
    {"flops --mla absorbed --config m.json --lengths 5",
     "mla: must be expanded: mistral has no latent attention to absorb"},
    {"flops --config m.json --lengths 5 --routed 5",
     "routed: mistral needs no measured expert visits, since it has no experts, or sends each token to a fixed number "
     "of experts: leave --routed out"},
    {"flops --config m.json --lengths 5 --routed 5:x",
     R"(routed: must be an integer from 0 to 18446744073709551615, got "x")"},
    {"flops --config m.json --lengths 5 --muon 0", R"(muon: must be an integer from 1 to 1000, got "0")"},
    {"flops --config m.json --lengths 5 --muon-others mlp",
     "muon_others: works only with --muon: pass both, or leave it out"},
    {"flops --config m.json --lengths 5 --muon 5 --muon-others mlp,",
     R"(muon_others: must be names of components separated by commas, got "mlp,")"},
    {"flops --config m.json --lengths 5 --muon 5 --muon-others mlp,mpl",
     R"(muon_others[1]: no weight of this model is named "mpl"; use the names that the breakdown shows)"},
    {"flops --config m.json --lengths 5 --encoder-lengths 5",
     "encoder_lengths: must be absent: mistral has no encoder"},
    {"flops --config encdec.json --lengths 5",
     "encoder_lengths: must be passed: translator has an encoder, and --lengths are those of its decoder"},
    {"flops --config encdec.json --lengths 5,6 --encoder-lengths 5",
     "encoder_lengths: must be as many as lengths (2), got 1"},
    {"flops --config encdec.json --lengths 5 --encoder-lengths -5", "encoder_lengths[0]: must be at least 0, got -5"},
    {"flops --config encdec.json --lengths 5,x --encoder-lengths 5,6",
     R"(lengths[1]: must be an integer, or NUMBERxCOUNT with a count from 1 to 16777216, got "x")"},
    {"flops --config encdec.json --lengths 5 --lengths-file mixed.txt --encoder-lengths 5",
     "encoder_lengths: needs either --lengths or --lengths-file"},
    {"flops --config encdec.json --encoder-lengths 5 --cu-seqlens 0,5",
     "encoder_lengths: needs either --lengths or --lengths-file"},
    {"flops --config encdec.json --lengths 5 --encoder-lengths 5 --new-tokens 1@5",
     "new_tokens: cannot be used for a model with an encoder, because the encoder's lengths would be missing; use "
     "--lengths "
     "and --encoder-lengths"},
    {"flops --config m.json --lengths 5 --seconds 1",
     "seconds: unknown option; `floptally flops --help` lists the known ones"},
    {"flops --help --bogus", "bogus: unknown option; `floptally flops --help` lists the known ones"},
    {"flops --config m.json --lengths", "lengths: has no value: write one after it"},
    {"flops --config m.json --lengths ''", "lengths: must list at least one integer, such as 512,1024, got none"},
    {"flops --config m.json --lengths ' '", "lengths: must list at least one integer, such as 512,1024, got none"},
    {"flops --config m.json --lengths ,", R"(lengths[0]: must be a 64-bit integer, got "")"},
    {"flops --config m.json --lengths 1,,2", R"(lengths[1]: must be a 64-bit integer, got "")"},
    {"flops --config m.json --lengths 1,2,", R"(lengths[2]: must be a 64-bit integer, got "")"},
    {"flops --config m.json --lengths x",
     R"(lengths[0]: must be an integer, or NUMBERxCOUNT with a count from 1 to 16777216, got "x")"},
    {"flops --config m.json --lengths 7,1.5", R"(lengths[1]: must be a 64-bit integer, got "1.5")"},
    {"flops --config m.json --lengths 1e3", R"(lengths[0]: must be a 64-bit integer, got "1e3")"},
    {"flops --config m.json --lengths +5", R"(lengths[0]: must be a 64-bit integer, got "+5")"},
    {"flops --config m.json --lengths -5,3", "lengths[0]: must be at least 0, got -5"},
    {"flops --config m.json --lengths=-5,3", "lengths[0]: must be at least 0, got -5"},
    {"flops --config m.json --lengths 3,-5", "lengths[1]: must be at least 0, got -5"},
    {"flops --config m.json --lengths 4294967296", "lengths[0]: must be at most 4294967295, got 4294967296"},
    {"flops --config m.json --lengths 99999999999999999999",
     R"(lengths[0]: must be a 64-bit integer, got "99999999999999999999")"},
    {"flops --config m.json --lengths 4294967295,4294967295",
     "squares: 18446744065119617025 + 18446744065119617025 does not fit 64 bits: use smaller numbers"},
    {"flops --config m.json --lengths 5 --lengths 6", "lengths: is passed 2 times: pass it once"},
    {"flops --config m.json --lengths-file", "lengths_file: has no value: write one after it"},
    {"flops --config m.json --lengths-file /no/such.txt",
     R"(lengths_file: cannot read "/no/such.txt": pass a readable file)"},
    {"flops --config m.json --lengths-file folder", R"(lengths_file: cannot read "folder": pass a readable file)"},
    {"flops --config m.json --lengths-file empty.txt",
     "lengths_file: must list at least one integer, such as 512,1024, got none"},
    {"flops --config m.json --lengths-file words.txt", R"(lengths_file[1]: must be a 64-bit integer, got "twelve")"},
    {"flops --config m.json --lengths-file negative.txt", "lengths_file[1]: must be at least 0, got -2"},
    {"flops --config m.json --lengths-file huge.txt",
     "squares: 18446744065119617025 + 18446744065119617025 does not fit 64 bits: use smaller numbers"},
    {"flops --config m.json --lengths-file comma.txt", R"(lengths_file[1]: must be a 64-bit integer, got "")"},
    {"flops --config m.json --cu-seqlens ''", "cu_seqlens: must list at least one integer, such as 512,1024, got none"},
    {"flops --config m.json --cu-seqlens 5", "cu_seqlens[0]: must be 0, got 5"},
    {"flops --config m.json --cu-seqlens 0,5,3", "cu_seqlens[2]: must be at least the boundary before it, 5, got 3"},
    {"flops --config m.json --cu-seqlens 0,x", R"(cu_seqlens[1]: must be a 64-bit integer, got "x")"},
    {"flops --config m.json --cu-seqlens -1,5", "cu_seqlens[0]: must be 0, got -1"},
    {"flops --config m.json --cu-seqlens 0,4294967296",
     "cu_seqlens[1]: must be at most 4294967295 above the boundary before it, 0, got 4294967296"},
    {"flops --config m.json --cu-seqlens-padded 0,5",
     "cu_seqlens_padded: works only with --cu-seqlens: pass both, or leave it out"},
    {"flops --config m.json --cu-seqlens-padded 0,5 --lengths 5",
     "cu_seqlens_padded: works only with --cu-seqlens: pass both, or leave it out"},
    {"flops --config m.json --cu-seqlens 0,5,9 --cu-seqlens-padded 0,5",
     "cu_seqlens_padded: must have as many boundaries as cu_seqlens (3), got 2"},
    {"flops --config m.json --cu-seqlens 0,5,9 --cu-seqlens-padded 0,4,9",
     "cu_seqlens_padded[1]: leaves a slot of 4 tokens for a sequence of 5: a slot must hold its sequence"},
    {"flops --config m.json --cu-seqlens 0,5,9 --cu-seqlens-padded 0,8,7",
     "cu_seqlens_padded[2]: must be at least the boundary before it, 8, got 7"},
    {"flops --config m.json --cu-seqlens 0,5,9 --cu-seqlens-padded 1,8,17", "cu_seqlens_padded[0]: must be 0, got 1"},
    {"flops --config m.json --cu-seqlens 0,5,9 --cu-seqlens-padded 0,8,x",
     R"(cu_seqlens_padded[2]: must be a 64-bit integer, got "x")"},
    {"flops --config m.json --cu-seqlens-real 0,5",
     "cu_seqlens_real: works only with --cu-seqlens: pass both, or leave it out"},
    {"flops --config m.json --cu-seqlens 0,5 --cu-seqlens-real 0,5,9",
     "cu_seqlens_real: must have as many boundaries as cu_seqlens (2), got 3"},
    {"flops --config m.json --cu-seqlens 0,5,9 --cu-seqlens-real 0,6",
     "cu_seqlens[1]: leaves a slot of 5 tokens for a sequence of 6: a slot must hold its sequence"},
    {"flops --config m.json --cu-seqlens 0,5,9 --cu-seqlens-padded 0,8,16 --cu-seqlens-real 0,4",
     "cu_seqlens_real[1]: must equal the same boundary of cu_seqlens, 5, got 4"},
    {"flops --config m.json --cu-seqlens 0,5,9 --cu-seqlens-real 0,5 --num-real-seqs 2",
     "num_real_seqs: must be 1, the number of sequences in cu_seqlens_real, got 2"},
    {"flops --config m.json --cu-seqlens 0,5,9 --cu-seqlens-real 0,x",
     R"(cu_seqlens_real[1]: must be a 64-bit integer, got "x")"},
    {"flops --config m.json --num-real-seqs 1 --lengths 5",
     "num_real_seqs: works only with --cu-seqlens: pass both, or leave it out"},
    {"flops --config m.json --cu-seqlens 0,5,9 --num-real-seqs 3",
     R"(num_real_seqs: must be an integer from 0 to 2, got "3")"},
    {"flops --config m.json --cu-seqlens 0,5,9 --num-real-seqs -1",
     R"(num_real_seqs: must be an integer from 0 to 2, got "-1")"},
    {"flops --config m.json --cu-seqlens 0,5,9 --num-real-seqs 1.5",
     R"(num_real_seqs: must be an integer from 0 to 2, got "1.5")"},
    {"flops --config m.json --request 5+5",
     "phase: must be forward, since --request decodes and trains nothing: pass --phase forward"},
    {"flops --config m.json --phase forward --request 5",
     R"(request[0]: must be prompt+generated or prompt+generated+cached, each from 0 to 4294967295, got "5")"},
    {"flops --config m.json --phase forward --request 5+5 --request 5+5+5",
     "request[1]: must have fewer cached tokens than the 5 tokens of its prompt, got 5"},
    {"flops --config m.json --phase forward --request 0+5",
     "request[0]: must have a prompt of at least 1 token, got 0"},
    {"flops --config m.json --lengths 5 --prefill-chunk 2",
     "prefill_chunk: works only with --request: pass one, or leave it out"},
    {"flops --config m.json --phase forward --request 5+5 --prefill-chunk 0",
     R"(prefill_chunk: must be an integer from 1 to 4294967295, got "0")"},
    {"flops --config m.json --lengths 5 --logits first",
     R"(logits: must be an integer from 0 to 18446744073709551615, got "first")"},
    {"bytes --config m.json --phase forward --request 5+5 --batches 2",
     "request: already determines the decode steps: leave out --batches, --distinct-experts and other batches"},
    {"flops --config m.json --new-tokens ''",
     R"(new_tokens[0]: must be n@past (new tokens @ cached tokens), such as 512@4096, got "")"},
    {"flops --config m.json --new-tokens 5",
     R"(new_tokens[0]: must be n@past (new tokens @ cached tokens), such as 512@4096, got "5")"},
    {"flops --config m.json --new-tokens 5@", R"(new_tokens[0]: must be an integer from 0 to 4294967295, got "")"},
    {"flops --config m.json --new-tokens @5", R"(new_tokens[0]: must be an integer from 0 to 4294967295, got "")"},
    {"flops --config m.json --new-tokens x@5", R"(new_tokens[0]: must be an integer from 0 to 4294967295, got "x")"},
    {"flops --config m.json --new-tokens 5@-1", R"(new_tokens[0]: must be an integer from 0 to 4294967295, got "-1")"},
    {"flops --config m.json --new-tokens -1@5", R"(new_tokens[0]: must be an integer from 0 to 4294967295, got "-1")"},
    {"flops --config m.json --new-tokens 1@2@3",
     R"(new_tokens[0]: must be an integer from 0 to 4294967295, got "2@3")"},
    {"flops --config m.json --new-tokens 4294967295@1",
     R"(new_tokens[0]: must be n@past (new tokens @ cached tokens) with a sum of at most 4294967295, got "4294967295@1")"},
    {"flops --config m.json --new-tokens 5@4294967296",
     R"(new_tokens[0]: must be an integer from 0 to 4294967295, got "4294967296")"},
    {"flops --config m.json --new-tokens 1@5 --new-tokens 7",
     R"(new_tokens[1]: must be n@past (new tokens @ cached tokens), such as 512@4096, got "7")"},
    {"flops --config m.json --sequence 1,2,3",
     "sequence: must be absent: mistral has no HSTU mask of contextual tokens and targets; use --lengths"},
    {"flops --config encdec.json --lengths 5 --encoder-lengths 5 --sequence 1,2,3",
     "sequence: cannot be used for a model with an encoder, because the encoder's lengths would be missing; use "
     "--lengths and "
     "--encoder-lengths"},
    {"flops --config hstu.json --sequence 1,2",
     "sequence[0]: must be c,h,t or c,h,t,g: the numbers of contextual, history and target tokens, and the targets in "
     "a group; got \"1,2\""},
    {"flops --config hstu.json --sequence 1,2,3 --sequence 1,2,3,4,5",
     "sequence[1]: must be c,h,t or c,h,t,g: the numbers of contextual, history and target tokens, and the targets in "
     "a group; got \"1,2,3,4,5\""},
    {"flops --config hstu.json --sequence ''", R"(sequence[0][0]: must be an integer from 0 to 4294967295, got "")"},
    {"flops --config hstu.json --sequence 1,x,3",
     R"(sequence[0][1]: must be an integer from 0 to 4294967295, got "x")"},
    {"flops --config hstu.json --sequence 1,2,-3",
     R"(sequence[0][2]: must be an integer from 0 to 4294967295, got "-3")"},
    {"flops --config hstu.json --sequence 1,2,3,",
     R"(sequence[0][3]: must be an integer from 1 to 4294967295, got "")"},
    {"flops --config hstu.json --sequence 1,2,3,0",
     R"(sequence[0][3]: must be an integer from 1 to 4294967295, got "0")"},
    {"flops --config hstu.json --sequence 4294967295,1,0",
     "sequence[0]: context + history + targets must be at most 4294967295 tokens, got 4294967296"},
    {"flops --config hstu.json --sequence", "sequence: has no value: write one after it"},
    {"flops --config m.json --grid 1,2,2", "grid: must be absent: mistral has no vision tower"},
    {"flops --config m.json --lengths 5 --images 2", "images: must be absent: mistral has no vision tower"},
    {"flops --config llava.json --lengths 50 --audio-frames 5",
     "audio_frames: must be absent: llava has no audio tower"},
    {"flops --config llava.json --lengths 50 --grid 1,4",
     "grid[0]: must be t,h,w: frames, rows and columns of patches, got \"1,4\""},
    {"flops --config llava.json --lengths 50 --grid 1,4,4 --grid 1,0,4",
     "grid[1][1]: must be from 1 to 4294967295, got 0"},
    {"flops --config llava.json --lengths 50 --grid 1,x,4", "grid[0][1]: must be a 64-bit integer, got \"x\""},
    {"flops --config llava.json --lengths 50 --images 0", "images: must be an integer from 1 to 100000000, got \"0\""},
    {"flops --config llava.json --lengths 31 --images 2",
     "lengths: must include the 32 placeholder tokens of images and sound, got 31 tokens"},
    {"flops --config llava.json --images 1",
     "lengths: must include the 16 placeholder tokens of images and sound, got 0 tokens"},
    {"flops --config whisper.json --lengths 5,6",
     "audio_frames: must be passed: the encoder of whisper takes sound, and --lengths are those of its decoder"},
    {"flops --config whisper.json --lengths 5,6 --audio-frames 3000",
     "audio_frames: must have one clip for each of lengths (2), got 1"},
    {"flops --config whisper.json --lengths 5 --audio-frames -1",
     "audio_frames[0]: must be from 0 to 4294967295, got -1"},
    {"flops --config whisper.json --lengths 5 --audio-frames 3000 --encoder-lengths 1500",
     "encoder_lengths: must be absent: they follow from --audio-frames, since the encoder of whisper takes sound"},
    {"flops --config vit.json --pixels 224,224",
     "pixels: must be absent: the spec of vit does not say how pixels become a grid; use --grid"},
    {"flops --config vit.json --pixels 224", "pixels[0]: must be [frames,]height,width, got \"224\""},
    {"flops --config vit.json --lengths 5", "lengths: vit has no text; use --grid, --images or --audio-frames"},
    {"flops --config m.json --lengths 5 --convention foo", R"(convention: unknown name "foo"; known: CONVENTIONS)"},
    {"flops --config m.json --lengths 5 --convention ''", R"(convention: unknown name ""; known: CONVENTIONS)"},
    {"flops --config m.json --lengths 5 --convention exact --convention exact",
     "convention: is passed 2 times: pass it once"},
    {"flops --config m.json --lengths 5 --phase all", R"(phase: must be one of train, forward, backward, got "all")"},
    {"flops --config m.json --lengths 5 --phase Train",
     R"(phase: must be one of train, forward, backward, got "Train")"},
    {"flops --config m.json --lengths 5 --recompute some",
     R"(recompute: must be one of none, full, attention, got "some")"},
    {"flops --config m.json --lengths 5 --format xml", R"(format: must be one of table, json, got "xml")"},
    {"flops --config m.json --lengths 5 --format json --format json", "format: is passed 2 times: pass it once"},
    {"mfu --config m.json --lengths 5", "seconds: is missing: pass --seconds S"},
    {"mfu --config m.json --lengths 5 --seconds 1", "gpus: is missing: pass --gpus N"},
    {"mfu --config m.json --lengths 5 --seconds 1 --gpus 1",
     "accelerator: is missing: pass --accelerator NAME or --peak-tflops X"},
    {"mfu --config m.json --lengths 5 --seconds '' --gpus 1 --peak-tflops 989",
     R"(seconds: must be a finite number above 0, got "")"},
    {"mfu --config m.json --lengths 5 --seconds nan --gpus 1 --peak-tflops 989",
     R"(seconds: must be a finite number above 0, got "nan")"},
    {"mfu --config m.json --lengths 5 --seconds inf --gpus 1 --peak-tflops 989",
     R"(seconds: must be a finite number above 0, got "inf")"},
    {"mfu --config m.json --lengths 5 --seconds -inf --gpus 1 --peak-tflops 989",
     R"(seconds: must be a finite number above 0, got "-inf")"},
    {"mfu --config m.json --lengths 5 --seconds 0 --gpus 1 --peak-tflops 989",
     R"(seconds: must be a finite number above 0, got "0")"},
    {"mfu --config m.json --lengths 5 --seconds -1 --gpus 1 --peak-tflops 989",
     R"(seconds: must be a finite number above 0, got "-1")"},
    {"mfu --config m.json --lengths 5 --seconds 1e400 --gpus 1 --peak-tflops 989",
     R"(seconds: must be a finite number above 0, got "1e400")"},
    {"mfu --config m.json --lengths 5 --seconds 1,5 --gpus 1 --peak-tflops 989",
     R"(seconds: must be a finite number above 0, got "1,5")"},
    {"mfu --config m.json --lengths 5 --seconds 1s --gpus 1 --peak-tflops 989",
     R"(seconds: must be a finite number above 0, got "1s")"},
    {"mfu --config m.json --lengths 5 --seconds 1 --seconds 2 --gpus 1 --peak-tflops 989",
     "seconds: is passed 2 times: pass it once"},
    {"mfu --config m.json --lengths 5 --seconds 1 --gpus 0 --peak-tflops 989",
     R"(gpus: must be an integer from 1 to 100000000, got "0")"},
    {"mfu --config m.json --lengths 5 --seconds 1 --gpus -1 --peak-tflops 989",
     R"(gpus: must be an integer from 1 to 100000000, got "-1")"},
    {"mfu --config m.json --lengths 5 --seconds 1 --gpus 1.5 --peak-tflops 989",
     R"(gpus: must be an integer from 1 to 100000000, got "1.5")"},
    {"mfu --config m.json --lengths 5 --seconds 1 --gpus x --peak-tflops 989",
     R"(gpus: must be an integer from 1 to 100000000, got "x")"},
    {"mfu --config m.json --lengths 5 --seconds 1 --gpus 100000001 --peak-tflops 989",
     R"(gpus: must be an integer from 1 to 100000000, got "100000001")"},
    {"mfu --config m.json --lengths 5 --seconds 1 --gpus 1 --peak-tflops nan",
     R"(peak_tflops: must be a finite number above 0, got "nan")"},
    {"mfu --config m.json --lengths 5 --seconds 1 --gpus 1 --peak-tflops inf",
     R"(peak_tflops: must be a finite number above 0, got "inf")"},
    {"mfu --config m.json --lengths 5 --seconds 1 --gpus 1 --peak-tflops 0",
     R"(peak_tflops: must be a finite number above 0, got "0")"},
    {"mfu --config m.json --lengths 5 --seconds 1 --gpus 1 --peak-tflops -1",
     R"(peak_tflops: must be a finite number above 0, got "-1")"},
    {"mfu --config m.json --lengths 5 --seconds 1 --gpus 1 --peak-tflops x",
     R"(peak_tflops: must be a finite number above 0, got "x")"},
    {"mfu --config m.json --lengths 5 --seconds 1 --gpus 1 --peak-tflops 0 --accelerator 'H100 SXM'",
     R"(peak_tflops: must be a finite number above 0, got "0")"},
    {"mfu --config m.json --lengths 5 --seconds 1 --gpus 1 --accelerator H100",
     R"(accelerator: "H100" is only part of a name; pass a whole name, one of: H100 SXM, H100 PCIe, H100 NVL)"},
    {"mfu --config m.json --lengths 5 --seconds 1 --gpus 1 --accelerator foo",
     R"(accelerator: no known accelerator is called "foo"; `floptally accelerators` lists the known names. )"
     "For another accelerator pass the peak (peak_tflops=, --peak-tflops), which floptally.measure_peak() measures on "
     "the "
     "device"},
    {"mfu --config m.json --lengths 5 --seconds 1 --gpus 1 --accelerator ''",
     "accelerator: the name is empty; `floptally accelerators` lists the known names"},
    {"flops --config m.json --lengths 5 --indexer best",
     R"(indexer: must be one of frozen, sparse_loss, dense_loss, warm_up, got "best")"},
    {"flops --config m.json --lengths 5 --indexer warm_up",
     "indexer: the model has no indexer with a loss of its own: leave indexer at frozen"},
    {"mfu --config m.json --lengths 5 --seconds 1 --gpus 1 --accelerator 'H100 SXM' --peak-kind boost",
     "clock_mhz: is missing: pass the clock that the device reports, which a boost peak needs"},
    {"mfu --config m.json --lengths 5 --seconds 1 --gpus 1 --accelerator 'H100 SXM' --clock-mhz x",
     R"(clock_mhz: must be a finite number above 0, got "x")"},
    {"mfu --config m.json --lengths 5 --seconds 1 --gpus 1 --accelerator 'H100 SXM' --peak-kind best",
     R"(peak_kind: must be one of datasheet, boost, measured, got "best")"},
    {"mfu --config m.json --lengths 5 --seconds 1 --gpus 1 --accelerator 'H100 SXM' --precision fp3",
     R"(precision: must be one of fp64, fp32, tf32, fp16, bf16, fp8, int8, fp4, got "fp3")"},
    {"mfu --config m.json --lengths 5 --seconds 1 --gpus 1 --accelerator 'H100 SXM' --precision fp4",
     "precision: H100 SXM has no published fp4 rate; it has fp64, fp32, tf32, fp16, bf16, fp8, int8; for another "
     "precision "
     "pass the peak (peak_tflops=, --peak-tflops), which floptally.measure_peak() measures on the device"},
    {"mfu --config m.json --lengths 5 --seconds 1 --gpus 1 --peak-tflops 5 --precision ''",
     R"(precision: must be one of fp64, fp32, tf32, fp16, bf16, fp8, int8, fp4, got "")"},
    {"mfu --config m.json --lengths 5 --seconds 1 --gpus 1 --peak-tflops 5 --precisions mlp=fp8",
     R"(precisions: the name of a precision needs an accelerator: pass one, or write the dense peak in TFLOP/s, as in mlp=1979, got "mlp=fp8")"},
    {"mfu --config m.json --lengths 5 --seconds 1 --gpus 1 --peak-tflops 5 --precisions @0-32=9",
     "layers: must be a range of the 32 layers, got 0 to 33"},
    {"mfu --config m.json --lengths 5 --seconds 1 --gpus 1 --peak-tflops 5 --precisions mpl=9",
     R"(component: this model counts no component named "mpl": use a name that the breakdown shows)"},
    {"flops --config small.json --lengths 5 --weights '*=frozen,*/q_prj=lora4'",
     R"(weights[1]: no weight is named "*/q_prj"; known: embedding, norm, attention.qkv/q_proj, attention.qkv/k_proj, attention.qkv/v_proj, attention.output/o_proj, mlp/gate_proj, mlp/up_proj, mlp/down_proj, lm_head)"},
    {"flops --config small.json --lengths 5 --weights ''",
     R"(weights[0]: must be WEIGHTS=STATE, such as embedding=frozen,mlp=lora16, got "")"},
    {"flops --config small.json --lengths 5 --weights 'mlp=frozen,'",
     R"(weights[1]: must be WEIGHTS=STATE, such as embedding=frozen,mlp=lora16, got "")"},
    {"flops --config small.json --lengths 5 --weights '=frozen'",
     R"(weights[0]: the name of the weights must have 1 to 39 characters, got "=frozen")"},
    {"flops --config small.json --lengths 5 --weights 'mlp=frozn'",
     R"(weights[0]: the state must be trainable, frozen, or lora and a rank, as in lora16, got "mlp=frozn")"},
    {"flops --config small.json --lengths 5 --weights 'mlp=lora'",
     R"(weights[0]: LoRA needs a rank of at least 1, as in lora16, got "mlp=lora")"},
    {"flops --config small.json --lengths 5 --weights 'mlp@1-0=frozen'",
     R"(weights[0]: layers must be N or FIRST-LAST, both included, as in mlp@0-3=frozen, got "mlp@1-0=frozen")"},
    {"flops --config small.json --lengths 5 --weights 'mlp@2=frozen'",
     R"(weights[0]: no layer in this range has "mlp": correct the range, which counts layers from 0)"},
    {"flops --config small.json --lengths 5 --weights ':mlp=frozen'",
     R"(weights[0]: the colon must follow the name of a model part of 1 to 39 characters, as in encoder:*=frozen, got ":mlp=frozen")"},
    {"flops --config small.json --lengths 5 --weights 'norm=lora4'",
     R"(weights[0]: LoRA needs a weight matrix, and "norm" has none that an adapter can be added to: name linear layers, such as "*/q_proj")"},
    {"flops --config small.json --lengths 5 --recompute-components mpl",
     R"(recompute_components: this model counts no component named "mpl": use a name that the breakdown shows)"},
    {"flops --config small.json --lengths 5 --recompute-components mlp,",
     R"(recompute_components: must be names of components separated by commas, got "mlp,")"},
    {"flops --config small.json --lengths 5 --repeated mlp",
     R"(repeated: must be WEIGHTS=RANKS, such as vision.*=4, got "mlp")"},
    {"flops --config small.json --lengths 5 --repeated mpl=2",
     R"(repeated[0]: no component or weight is named "mpl"; use the names that the breakdown shows)"},
    {"flops --config small.json --lengths 5 --repeated mlp=0",
     R"(repeated: must be an integer from 1 to 16777216, got "0")"},
    {"flops --config small.json --lengths 5 --recompute-every 0",
     R"(recompute_every: must be an integer from 1 to 10000, got "0")"},
    {"flops --config small.json --lengths 5 --attention-backward flash",
     R"(attention_backward: must be one of fused, eager, got "flash")"},
    {"flops --config small.json --lengths 5 --padded-vocab-size 96",
     "padded_vocab_size: must be at least vocab_size (97), got 96"},
    {"flops --config small.json --lengths 5 --padded-vocab-size 0",
     R"(padded_vocab_size: must be an integer from 1 to 268435456, got "0")"},
    {"flops --config small.json --lengths 5 --row-length 4", "lengths[0]: must be at most the row_length, 4, got 5"},
    {"flops --config small.json --cu-seqlens 0,5 --row-length 4",
     "row_length: works only with --lengths or --lengths-file: pass one of them, or leave it out"},
    {"flops --config encdec.json --lengths 5 --encoder-lengths 5 --row-length 4",
     "lengths[0]: must be at most the row_length, 4, got 5"},
    {"flops --config encdec.json --lengths 5 --encoder-lengths 5 --encoder-row-length 4",
     "encoder_lengths[0]: must be at most the encoder_row_length, 4, got 5"},
    {"flops --config small.json --lengths 5 --encoder-row-length 8",
     "encoder_row_length: must be absent: llama has no encoder of text"},
    {"flops --config small.json --attention-mask ragged.txt",
     "attention_mask[1]: must have 2 flags like the row before, got 1"},
    {"flops --config small.json --attention-mask empty.txt",
     "attention_mask: must have at least one row of flags, such as 1,1,0, got none"},
    {"flops --config small.json --attention-mask words.txt",
     R"(attention_mask[0][1]: must be a 64-bit integer, got "twelve")"},
    {"flops --config small.json --attention-mask hole.txt",
     "attention_mask[2]: is 1 after the real tokens of row 0 have ended: the real tokens of a row must be "
     "consecutive, with padding only before or after them"},
    {"flops --config small.json --attention-mask documents.txt", "attention_mask[2]: must be 0 or 1, got 2"},
    {"flops --config vit.json --attention-mask mask.txt",
     "attention_mask: vit has no text; use --grid, --images or --audio-frames"},
    {"flops --config encdec.json --lengths 5 --encoder-lengths 5 --attention-mask mask.txt",
     "attention_mask: cannot be used for a model with an encoder, because the encoder's lengths would be missing; use "
     "--lengths and --encoder-lengths"},
    {"models x", R"(command: unexpected argument "x": leave it out)"},
    {"models --config m.json", "config: unknown option; `floptally models --help` lists the known ones"},
    {"models --format yaml", R"(format: must be one of table, json, got "yaml")"},
    {"models --format", "format: has no value: write one after it"},
    {"accelerators --format yaml", R"(format: must be one of table, json, got "yaml")"},
    {"accelerators H100", R"(command: unexpected argument "H100": leave it out)"},
    {"conventions --format yaml", R"(format: must be one of table, json, got "yaml")"},
    {"conventions --phase train", "phase: unknown option; `floptally conventions --help` lists the known ones"},
};

}  // namespace

TEST_CASE("an option that a command does not read is an error", "[program]") {
    const std::string searched = "search --config llama.json --lengths 4096 --global-batch 16 --gpus 8 ";
    for (const auto& [options, field] : std::initializer_list<std::pair<const char*, const char*>>{
             {"--accelerator 'H100 SXM' --clock-mhz 1500", "clock_mhz"},
             {"--accelerator 'H100 SXM' --explain tp=2 --top 3", "top"}}) {
        const std::string problem = ": has no effect on `floptally search` with these options: leave it out\n";
        CHECK(run(searched + options).err == std::string("floptally: error: ") + field + problem);
    }
}

TEST_CASE("invalid input exits with status 2, no output and one line that names the field") {
    for (const refusal& row : refusals) {
        INFO(row.arguments);
        const outcome result = run(row.arguments);
        CHECK(result.status == 2);
        CHECK(result.out.empty());
        CHECK(result.err == "floptally: error: " + with_conventions(row.error) + "\n");
    }
}

TEST_CASE("an unknown model type is an error that suggests alternatives") {
    CHECK(run("flops --config unknown.json --lengths 5").err ==
          "floptally: error: model_type: unknown type \"gpt9\"; nearest: gpt2 "
          "  `floptally models` lists the known types; for another model write a spec or use floptally's own format "
          "  (docs/specs.md), or count its module with floptally.from_torch\n");
    CHECK(run("models").out.find("\nqwen3_moe ") != std::string::npos);
}

TEST_CASE("the program prints a one-line error for every invalid input") {
    for (const char* arguments : {"flops --=3", "flops --help=7", "flops ---", "flops --config 'a\nb'", "'a\nb'",
                                  "flops --config lines.json --lengths 3", "flops --config m.json --lengths '\xff'",
                                  "flops --config '{}' --lengths 1",
                                  "mfu --config m.json --lengths 5 --seconds 1 --gpus 1 --peak-tflops 1e-320"}) {
        INFO(arguments);
        const outcome result = run(std::string(arguments));
        CHECK(result.status == 2);
        CHECK(result.out.empty());
        CHECK(result.err.starts_with("floptally: error: "));
        CHECK(result.err.find('\n') == result.err.size() - 1);
    }
}

TEST_CASE("the program exits with status 1 if standard output cannot be written") {
    const std::string count = "flops --config m.json --lengths 5";
    for (const std::string& arguments :
         {count, count + " --format json", std::string("models"), std::string("accelerators --format json"),
          std::string("--help"), std::string("--version"), std::string("flops --help")}) {
        for (const char* redirection : {" >&-", " >/dev/full"}) {
            INFO(arguments << redirection);
            const outcome result = run(arguments + redirection);
            CHECK(result.status == 1);
            CHECK(result.out.empty());
            CHECK(result.err == "floptally: error: output: standard output cannot be written\n");
        }
    }
}

TEST_CASE("invalid input exits with status 2 even if standard error is closed") {
    CHECK(run("flops 2>&-").status == 2);
    CHECK(run("flops 2>/dev/full").status == 2);
    CHECK(run("flops >&- 2>&-").status == 2);
}

// ---- flops ----

TEST_CASE("the program reads a config from a file, a folder, standard input or floptally's own format") {
    for (const char* config : {"llama.json", "folder", "folder/config.json", "- <llama.json", "own.json"}) {
        INFO(config);
        const json report = run_json("flops --lengths 8192 --config " + std::string(config));
        CHECK(total(report) == "421651971833856");
        CHECK(report["model_type"] == (std::string(config) == "own.json" ? "ours" : "llama"));
        CHECK(report["notes"].empty());
    }
    CHECK(run_json("flops --config=llama.json --lengths=8192") == run_json("flops --lengths 8192 --config llama.json"));
}

TEST_CASE("flops --json prints the documented keys and writes counts as strings") {
    const json report = run_json("flops --config llama.json --lengths 8192");
    std::set<std::string> keys;
    for (const auto& [key, value] : report.items()) {
        keys.insert(key);
    }
    CHECK(keys == std::set<std::string>{"version", "numbers_version", "model_type", "convention", "parameters",
                                        "statistics", "flops", "notes"});
    CHECK(report["convention"] == "exact");
    CHECK(report["statistics"] == json::parse(R"({"count": {"useful": "1", "padded": "1"},
        "tokens": {"useful": "8192", "padded": "8192"}, "squares": {"useful": "67108864", "padded": "67108864"},
        "pairs": [{"mask": "causal", "value": {"useful": "33558528", "padded": "33558528"}}]})"));
    for (const char* view : {"useful", "padded", "executed"}) {
        const json& flops = report["flops"][view];
        std::uint64_t sum = 0;
        for (const json& component : flops["components"]) {
            CHECK(number(component["total"]) ==
                  number(component["forward"]) + number(component["backward"]) + number(component["recompute"]));
            sum += number(component["total"]);
        }
        CHECK(number(flops["total"]) == sum);
        CHECK(number(flops["total"]) ==
              number(flops["forward"]) + number(flops["backward"]) + number(flops["recompute"]));
    }
    CHECK(number(report["flops"]["useful"]["forward"]) == 421651971833856 / 3);
}

TEST_CASE("the table of the flops command ends with the exact total") {
    const outcome result = run("flops --config llama.json --lengths 8192");
    CHECK(result.status == 0);
    CHECK(result.err.empty());
    CHECK(result.out.starts_with("llama: forward and backward, recompute none\n"));
    CHECK(result.out.find("\nuseful total, exact: 421651971833856 FLOP (floptally ") != std::string::npos);
    CHECK(run("flops --config llama.json --lengths 8192 --format table").out == result.out);
}

TEST_CASE("the option --spec replaces the built-in formulas for configs of the spec's model type") {
    // As llama, but for an MLP of two matrices in place of three: 32 layers, 8192 tokens, forward and backward.
    const json report = run_json("flops --config paged.json --spec my.spec --lengths 8192");
    CHECK(report["model_type"] == "my_model");
    CHECK(std::stoull(total(report)) == 421651971833856 - 3ULL * 32 * 8192 * 2 * 4096 * 14336);
    const outcome unused = run("flops --config llama.json --spec my.spec --lengths 8192");
    CHECK(unused.out.find("note: no given spec is of type \"llama\": the first is \"my_model\"") != std::string::npos);
    CHECK(run("flops --config paged.json --spec wrong.spec --lengths 8192").err ==
          "floptally: error: spec my_model:2: defines a name that nothing reads: \"see\"; nearest: sees\n");
    CHECK(run("flops --config paged.json --spec none.spec --lengths 8192").err ==
          "floptally: error: spec: cannot read \"none.spec\": pass a readable file\n");
}

TEST_CASE("a note on the config appears in the table and in the JSON") {
    const std::string note = "config names no architectures: counted with the head of GPT2LMHeadModel";
    CHECK(run("flops --config bare.json --lengths 5").out.find("\nnote: " + note + "\n") != std::string::npos);
    CHECK(run_json("flops --config bare.json --lengths 5")["notes"] == json::array({note}));
}

TEST_CASE("the flops command reads the example's real sequence lengths from a file") {
    std::uint64_t tokens = 0, squares = 0, pairs = 0, count = 0;
    std::ifstream file(data / "man-pages.txt");
    for (std::uint64_t length = 0; file >> length;) {
        tokens += length;
        squares += length * length;
        for (std::uint64_t query = 0; query < length; ++query) {
            pairs += query < 4096 ? query + 1 : 4096;
        }
        ++count;
    }
    CHECK(tokens == 443365);
    const json report = run_json("flops --config m.json --lengths-file '" + (data / "man-pages.txt").string() + "'");
    const json& statistics = report["statistics"];
    CHECK(number(statistics["count"]["useful"]) == count);
    CHECK(number(statistics["tokens"]["useful"]) == tokens);
    CHECK(number(statistics["squares"]["useful"]) == squares);
    CHECK(statistics["pairs"][0]["mask"] == "sliding_window(4096)");
    CHECK(number(statistics["pairs"][0]["value"]["useful"]) == pairs);
    const std::uint64_t layer = 4096 * 4096 + 2 * 4096 * 1024 + 4096 * 4096 + 3 * 4096 * 14336;
    CHECK(number(report["flops"]["useful"]["total"]) ==
          3 * (2 * tokens * (32 * layer + 4096 * 32000) + 32 * 4 * 32 * 128 * pairs));
}

TEST_CASE("lengths in a file may be separated by white space and commas") {
    const json report = run_json("flops --config llama.json --lengths-file mixed.txt");
    CHECK(report == run_json("flops --config llama.json --lengths 512,1024,7,8,9,10,11"));
    CHECK(report == run_json("flops --config llama.json --lengths '512 1024, 7,8 ,9 10 11'"));
    CHECK(report == run_json("flops --config llama.json --lengths-file /dev/stdin <mixed.txt"));
}

TEST_CASE("an item of --lengths may be a length and the number of sequences of that length, such as 2048x3") {
    const json report = run_json("flops --config llama.json --lengths 2048x3,512");
    CHECK(report == run_json("flops --config llama.json --lengths 2048,2048,2048,512"));
    CHECK(run_json("flops --config encdec.json --lengths 5x2,7 --encoder-lengths 9x3") ==
          run_json("flops --config encdec.json --lengths 5,5,7 --encoder-lengths 9,9,9"));
    CHECK(run_json("flops --config llama.json --lengths '3x2 4 , 5x1'") ==
          run_json("flops --config llama.json --lengths 3,3,4,5"));
    for (const char* const text : {"2048x", "x16", "2048x0", "2048x-1", "2048x2x2", "2048X2", "2048x16777217"}) {
        INFO(text);
        const outcome wrong = run(std::string("flops --config llama.json --lengths 7,") + text);
        CHECK(wrong.status == 2);
        CHECK(wrong.err.find("lengths[1]: must be ") != std::string::npos);
        CHECK(wrong.err.find(std::string("got \"") + (text[0] == 'x' ? "" : text)) != std::string::npos);
    }
    // Boundaries are not repeated.
    CHECK(run("flops --config llama.json --cu-seqlens 0,5x2").err ==
          "floptally: error: cu_seqlens[1]: must be a 64-bit integer, got \"5x2\"\n");
}

TEST_CASE("the command flops counts packed sequences with padded slots and mock sequences") {
    const std::string row = "flops --config llama.json --cu-seqlens 0,512,1536,1600";
    CHECK(run_json(row) == run_json("flops --config llama.json --lengths 512,1024,64"));

    const json slots = run_json(row + " --cu-seqlens-padded 0,512,1664,1792")["statistics"];
    CHECK(slots["count"] == json{{"useful", "3"}, {"padded", "3"}});
    CHECK(slots["tokens"] == json{{"useful", "1600"}, {"padded", "1792"}});
    CHECK(slots["squares"] == json{{"useful", std::to_string(512 * 512 + 1024 * 1024 + 64 * 64)},
                                   {"padded", std::to_string(512 * 512 + 1152 * 1152 + 128 * 128)}});

    const json mock = run_json(row + " --cu-seqlens-padded 0,512,1664,1792 --num-real-seqs 2")["statistics"];
    CHECK(mock["count"] == json{{"useful", "2"}, {"padded", "3"}});
    CHECK(mock["tokens"] == json{{"useful", "1536"}, {"padded", "1792"}});

    // Boundaries of the real sequences alone, after which the collator appended mock sequences.
    CHECK(run_json(row + " --cu-seqlens-real 0,512,1536") == run_json(row + " --num-real-seqs 2"));
    CHECK(run_json(row + " --cu-seqlens-padded 0,512,1664,1792 --cu-seqlens-real 0,512,1536")["statistics"] == mock);

    const json no_slots = run_json(row + " --num-real-seqs 0")["statistics"];
    CHECK(no_slots["count"] == json{{"useful", "0"}, {"padded", "3"}});
    CHECK(no_slots["tokens"] == json{{"useful", "0"}, {"padded", "1600"}});
}

TEST_CASE("the flops command counts HSTU sequences exactly and by the recsys-examples convention") {
    // tests/golden/peers.json, recsys/hstu-benchmark-ranking/ctx8_cand100/train
    const std::string batch =
        "flops --config hstu.json --sequence 8,0,100 --sequence 8,1,100 --sequence 8,900,100,1 --sequence 8,4096,100";
    CHECK(run_json(batch + " --convention recsys_examples")["flops"]["useful"]["total"] == "2441962168320");
    const json exact = run_json(batch);
    CHECK(exact["model_type"] == "ranking");
    CHECK(exact["flops"]["useful"]["total"] == "2288306257920");  // exact.json, the same batch
    CHECK(exact["statistics"]["pairs"][0]["mask"] == "hstu");
    // Lengths are history only; groups of targets see more.
    CHECK(run_json("flops --config hstu.json --lengths 5,9") ==
          run_json("flops --config hstu.json --sequence 0,5,0 --sequence 0,9,0,7"));
    CHECK(run_json("flops --config hstu.json --sequence 0,0,4,2")["statistics"]["pairs"][0]["value"]["useful"] == "6");
}

TEST_CASE("image sizes in pixels become the latent grids of a diffusion model") {
    CHECK(run_json("flops --config wan.json --pixels 81,480,832 --pixels 256,256 --encoder-lengths 9,7") ==
          run_json("flops --config wan.json --grid 21,60,104 --grid 1,32,32 --encoder-lengths 9,7"));
}

TEST_CASE("images count as patches of the vision tower, with text or alone") {
    const json by_count = run_json("flops --config llava.json --lengths 20,30 --images 2");
    CHECK(by_count == run_json("flops --config llava.json --lengths 20,30 --grid 1,4,4 --grid 1,4,4"));
    CHECK(by_count["statistics"]["vision"]["count"]["useful"] == "2");
    CHECK(by_count["statistics"]["vision"]["tokens"]["useful"] == "32");
    CHECK(by_count["statistics"]["vision"]["squares"]["padded"] == "512");
    CHECK(by_count["statistics"]["tokens"]["useful"] == "50");
    CHECK_FALSE(by_count["statistics"].contains("audio"));
    // Three channels of 7 x 7 pixels to 32: forward and the weights' gradient, since pixels need none.
    const json& stem = by_count["flops"]["useful"]["components"][0];
    CHECK(stem["name"] == "vision.patch_embedding");
    CHECK(stem["forward"] == std::to_string(2 * 3 * 49 * 32 * 32));
    CHECK(stem["backward"] == stem["forward"]);

    const json alone = run_json("mfu --config vit.json --images 3 --seconds 1 --gpus 1 --peak-tflops 1");
    CHECK(alone["statistics"]["vision"]["tokens"]["useful"] == std::to_string(3 * 14 * 14));
    CHECK(alone["mfu"]["tokens_per_second"] == 3 * 14 * 14);
    const std::string table = run("flops --config vit.json --images 3").out;
    CHECK(table.find("vision.patches") != std::string::npos);
    CHECK(table.find("sequences") == std::string::npos);
}

TEST_CASE("the flops command counts new tokens after cached tokens") {
    const json report = run_json("flops --config llama.json --new-tokens 1@8191 --new-tokens 3@5");
    CHECK(number(report["statistics"]["tokens"]["useful"]) == 4);
    CHECK(number(report["statistics"]["pairs"][0]["value"]["useful"]) == 8192 + 6 + 7 + 8);
    CHECK(run_json("flops --config llama.json --new-tokens 1@8191,3@5") == report);
}

namespace {

json forward_by_component(const json& report) {
    json flops;
    for (const json& component : report["flops"]["useful"]["components"]) {
        flops[component["name"].get<std::string>()] = component["forward"];
    }
    return flops;
}

}  // namespace

TEST_CASE("the flops command counts both sides of an encoder-decoder") {
    const json report = run_json("flops --config encdec.json --lengths 5,2 --encoder-lengths 9,4 --phase forward");
    CHECK(number(report["statistics"]["tokens"]["useful"]) == 5 + 2);
    const json flops = forward_by_component(report);
    CHECK(number(flops["encoder.attention.core"]) == (9 * 9 + 4 * 4) * 4 * 12);
    CHECK(number(flops["cross_attention.core"]) == (5 * 9 + 2 * 4) * 4 * 12);
    CHECK(number(flops["encoder.attention.output"]) == (9 + 4) * 2 * 12 * 12);
}

TEST_CASE("a decoder attends the encoder output of each audio clip") {
    const json report = run_json("flops --config whisper.json --lengths 5,2 --audio-frames 9,4 --phase forward");
    const json flops = forward_by_component(report);
    CHECK(number(flops["encoder.attention.core"]) == (5 * 5 + 2 * 2) * 4 * 12);
    CHECK(number(flops["cross_attention.core"]) == (5 * 5 + 2 * 2) * 4 * 12);
    CHECK(number(flops["cross_attention.output"]) == (5 + 2) * 2 * 12 * 12);
    CHECK(number(flops["encoder.stem"]) == 2 * 3 * 5 * 12 * (9 + 4) + 2 * 3 * 12 * 12 * (5 + 2));
}

TEST_CASE("latent attention is counted as expanded unless --mla absorbed is passed") {
    const auto core = [](const std::string& options) {
        const json report = run_json("flops --config latent.json --lengths 4 --phase forward" + options);
        return number(forward_by_component(report)["attention.core"]);
    };
    const std::uint64_t pairs = 1 + 2 + 3 + 4;
    CHECK(core("") == pairs * 2 * 3 * (4 + 2 + 6));
    CHECK(core(" --mla expanded") == core(""));
    CHECK(core(" --mla absorbed") == pairs * 2 * 3 * (5 + 2 + 5));
}

TEST_CASE("multi-token prediction is counted only if --mtp is passed") {
    const json without = run_json("flops --config llama.json --lengths 100 --phase forward");
    const json with = run_json("flops --config llama.json --lengths 100 --phase forward --mtp 2");
    CHECK(run_json("flops --config llama.json --lengths 100 --phase forward --mtp 0") == without);
    const std::uint64_t layer =
        100 * 2ULL * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336) + 5050ULL * 4 * 4096;
    const std::uint64_t depth = 100 * 2ULL * 2 * 4096 * 4096 + layer + 100 * 2ULL * 4096 * 128256;
    CHECK(number(with["flops"]["useful"]["total"]) == number(without["flops"]["useful"]["total"]) + 2 * depth);
}

TEST_CASE("batches passed by several options of one flops command add up") {
    const json report = run_json(
        "flops --config llama.json --lengths 5,6 --lengths-file mixed.txt --cu-seqlens 0,7,15 --new-tokens 2@10");
    CHECK(number(report["statistics"]["count"]["useful"]) == 2 + 7 + 2 + 1);
    CHECK(number(report["statistics"]["tokens"]["useful"]) == 11 + 1581 + 15 + 2);
}

TEST_CASE("training options select LoRA, frozen weights, layers and parts") {
    const std::string count = "flops --config small.json --lengths 100 ";
    const json lora = run_json(count + "--weights '*=frozen,*/q_proj=lora4,*/v_proj=lora4'");
    // tests/count/training_plan.test.cpp counts the same model product by product.
    CHECK(total(lora) == "38419200");
    CHECK(total(lora, "executed") == std::to_string(39065600 + 2 * 2 * 64 * 5050));
    CHECK(total(run_json(count + "--weights '*=frozen,*/q_proj=lora4,*/v_proj=lora4' --attention-backward eager"),
                "executed") == "38419200");
    CHECK(lora["parameters"]["trainable"] == std::to_string(2 * 4 * (64 + 64 + 64 + 32)));
    CHECK(lora["parameters"]["total"] == run_json(count)["parameters"]["total"]);
    CHECK(run_json(count)["parameters"].contains("trainable") == false);
    CHECK(run(count + "--weights '*=frozen,*/q_proj=lora4,*/v_proj=lora4'").out.find("\n  parameters, trainable ") !=
          std::string::npos);

    const json frozen = run_json(count + "--weights '*=frozen'");
    CHECK(frozen["flops"]["useful"]["total"] == frozen["flops"]["useful"]["forward"]);
    CHECK(frozen["parameters"]["trainable"] == "0");
    const json head = run_json(count + "--weights '*=frozen,lm_head:*=trainable'");
    CHECK(number(head["flops"]["useful"]["total"]) ==
          number(frozen["flops"]["useful"]["total"]) + 2ULL * 64 * 97 * 100);
    // Layer 1's MLP adds three dW, and dX of down alone, since nothing below trains.
    const json last = run_json(count + "--weights '*=frozen,mlp@1=trainable'");
    CHECK(number(last["flops"]["useful"]["total"]) ==
          number(frozen["flops"]["useful"]["total"]) + 2ULL * 64 * (97 + 4 * 128) * 100);
}

TEST_CASE("recompute options select the components and layers that run forward again") {
    const std::string count = "flops --config small.json --lengths 100 ";
    const std::uint64_t mlp = 2ULL * 3 * 64 * 128 * 100;
    const auto again = [&](const std::string& options) {
        return number(run_json(count + options)["flops"]["executed"]["recompute"]);
    };
    CHECK(again("--recompute-components mlp") == 2 * mlp);
    CHECK(again("--recompute-components mlp --recompute-every 2") == mlp);
    CHECK(again("--recompute-components mlp,lm_head") == 2 * mlp + 2ULL * 64 * 97 * 100);
}

TEST_CASE("the redundant-work option counts executed FLOPs once per rank") {
    const std::string count = "flops --config small.json --lengths 100 ";
    const std::uint64_t mlp = 3 * 2ULL * 2 * 3 * 64 * 128 * 100;
    CHECK(number(run_json(count + "--repeated mlp=3")["flops"]["executed"]["total"]) ==
          number(run_json(count)["flops"]["executed"]["total"]) + 2 * mlp);
    CHECK(total(run_json(count + "--repeated mlp=3,lm_head=2"), "padded") == total(run_json(count), "padded"));
}

TEST_CASE("padded rows given by an attention mask or by one length show the causes of padding") {
    const std::string count = "flops --config small.json --padded-vocab-size 128 ";
    const json report = run_json(count + "--attention-mask mask.txt");
    const auto token = [](std::uint64_t vocabulary) {
        return 3 * 2ULL * (2 * 64 * (64 + 32 + 32 + 64 + 3 * 128) + 64 * vocabulary);
    };
    const std::uint64_t pair = 3 * 2ULL * 4 * 64;  // two layers
    CHECK(report["padding"] == json{{"useful", std::to_string(6 * token(97) + 12 * pair)},
                                    {"in_slots", std::to_string(2 * token(97) + (20 - 12) * pair)},
                                    {"mock", std::to_string(4 * token(97) + 10 * pair)},
                                    {"vocabulary", std::to_string(12 * (token(128) - token(97)))}});
    CHECK(total(report) == report["padding"]["useful"]);
    const json vocabulary = run_json(count + "--lengths 4");
    CHECK(vocabulary["padding"]["vocabulary"] == std::to_string(4 * (token(128) - token(97))));
    CHECK(vocabulary["padding"]["mock"] == "0");
    CHECK(total(report, "padded") == std::to_string(12 * token(128) + 30 * pair));
    CHECK(run_json(count + "--lengths 3,3,0 --row-length 4") == report);
    CHECK(run_json(count + "--cu-seqlens 0,3,6,6 --cu-seqlens-padded 0,4,8,12") == report);
    CHECK(run(count + "--attention-mask mask.txt").out.find("\n  mock sequences ") != std::string::npos);
    CHECK(run("flops --config small.json --lengths 4").out.find("mock sequences") == std::string::npos);
    const json mfu = run_json(
        "mfu --config small.json --attention-mask mask.txt --seconds 1 --gpus 1 --peak-tflops 1 --weights "
        "'*=frozen,mlp@1=trainable' --precisions mlp=2,@0=4");
    CHECK(mfu["mfu"]["mixed_precision"]["useful"] < mfu["mfu"]["useful"]);
}

TEST_CASE("the Muon option counts the FLOPs of Muon once a step for the weights that train") {
    const std::string count = "flops --config small.json --lengths 100 ";
    const auto iteration = [](std::uint64_t m, std::uint64_t n) { return 4 * m * m * n + 2 * m * m * m; };  // m <= n
    const std::uint64_t attention = 2 * iteration(64, 64) + 2 * iteration(32, 64);
    const std::uint64_t mlp = 3 * iteration(64, 128);
    const auto work = [&](const std::string& options) {
        const json report = run_json(count + options);
        return number(report["flops"]["useful"]["total"]) -
               number(run_json(count + options.substr(std::min(options.find("--weights"),
                                                               options.size())))["flops"]["useful"]["total"]);
    };
    CHECK(work("--muon 5 ") == 5 * 2 * (attention + mlp));
    CHECK(work("--muon 6 --muon-others 'attention.*' ") == 6 * 2 * mlp);
    CHECK(work("--muon 5 --weights '*=frozen,mlp@1=trainable'") == 5 * mlp);
    const std::uint64_t adapter = iteration(4, 64) + iteration(4, 64);
    CHECK(work("--muon 5 --weights '*=frozen,*/q_proj=lora4'") == 5 * 2 * adapter);
    CHECK(work("--muon 5 --weights '*=frozen'") == 0);
    const json report = run_json(count + "--muon 5 --row-length 128 --convention megatron");
    CHECK(total(report) == total(run_json(count + "--convention megatron")));
    CHECK(report["notes"] == json{"optimizer.muon: convention megatron with this plan counts nothing of it: choose "
                                  "another, or leave it out"});
    CHECK(run(count + "--muon 5 --convention verl").out.find("note: optimizer.muon: convention verl ") !=
          std::string::npos);
    CHECK(run_json(count + "--muon 5")["notes"].empty());
    CHECK(run_json(count + "--muon 5 --weights '*=frozen'")["notes"].empty());  // no weight has products of Muon
    CHECK(run(count + "--muon 5").out.find("\n  measured(optimizer_steps) ") != std::string::npos);
    // The optimizer has no padding.
    CHECK(run_json(count + "--muon 5 --row-length 128")["padding"]["in_slots"] ==
          run_json(count + "--row-length 128")["padding"]["in_slots"]);
    const json mfu = run_json(
        "mfu --config small.json --lengths 100 --muon 5 --seconds 1 --gpus 1 --peak-tflops 1 "
        "--precisions optimizer.muon=2");
    CHECK(mfu["mfu"]["mixed_precision"]["useful"] < mfu["mfu"]["useful"]);
}

TEST_CASE("the option for measured expert visits counts the FLOPs of experts for each visit") {
    const std::string count = "flops --config experts.json --spec experts.spec --lengths 5 ";
    const json report = run_json(count + "--routed 7:9 --phase forward");
    const auto expert = [](std::uint64_t visits) { return std::to_string(visits * 2 * 3 * 8 * 6); };
    CHECK(forward_by_component(report)["moe.experts"] == expert(7));
    CHECK(report["flops"]["padded"]["components"].dump().find("\"" + expert(9) + "\"") != std::string::npos);
    CHECK(report.contains("padding") == false);
    CHECK(run_json(count + "--routed 7 --phase forward --row-length 8").contains("padding"));
    CHECK(run(count).status == 2);
    CHECK(run(count + "--routed 7:6").err ==
          "floptally: error: routed: padded visits must include the 7 useful visits, got 6\n");
}

TEST_CASE("the options --strict and --lenient decide whether unread keys are errors") {
    const std::string flops = "flops --config mistyped.json --lengths 5";
    const outcome usual = run(flops);
    CHECK(usual.status == 2);
    CHECK(
        usual.err.starts_with("floptally: error: intermediate_sise: names a size that spec phi3 does not read, got 7"));
    const outcome strict = run(flops + " --strict");
    CHECK(strict.status == 2);
    CHECK(strict.err.starts_with("floptally: error: intermediate_sise: is not read by spec phi3"));
    const outcome lenient = run(flops + " --lenient");
    CHECK(lenient.status == 0);
    CHECK(lenient.out.find("note: config has a size that is not read: intermediate_sise") != std::string::npos);
    CHECK(run(flops + " --lenient --strict").err ==
          "floptally: error: lenient: contradicts --strict: pass one of them\n");
}

TEST_CASE("the option --phase train counts forward plus backward") {
    const std::string flops = "flops --config llama.json --lengths 100,3000";
    const json train = run_json(flops)["flops"];
    CHECK(run_json(flops + " --phase train")["flops"] == train);
    const json forward = run_json(flops + " --phase forward")["flops"];
    const json backward = run_json(flops + " --phase backward")["flops"];
    for (const char* view : {"useful", "padded", "executed"}) {
        INFO(view);
        CHECK(forward[view]["total"] == train[view]["forward"]);
        CHECK(forward[view]["backward"] == "0");
        CHECK(backward[view]["total"] == train[view]["backward"]);
        CHECK(backward[view]["forward"] == "0");
    }
    CHECK(run(flops + " --phase forward").out.starts_with("llama: forward only, recompute none\n"));
}

TEST_CASE("the option for recompute adds FLOPs only to the executed view") {
    const std::string flops = "flops --config llama.json --lengths 100,3000";
    const json none = run_json(flops + " --recompute none")["flops"];
    const json full = run_json(flops + " --recompute full")["flops"];
    const json attention = run_json(flops + " --recompute attention")["flops"];
    CHECK(run_json(flops)["flops"] == none);
    CHECK(full["useful"] == none["useful"]);
    CHECK(full["padded"] == none["padded"]);
    std::uint64_t layers = 0, core = 0;
    for (const json& component : none["executed"]["components"]) {
        layers += component["name"] == "lm_head" ? 0 : number(component["forward"]);
        core += component["name"] == "attention.core" ? number(component["forward"]) : 0;
    }
    CHECK(number(full["executed"]["recompute"]) == layers);
    CHECK(number(attention["executed"]["recompute"]) == core);
    CHECK(number(full["executed"]["total"]) == number(none["executed"]["total"]) + layers);
}

TEST_CASE("the flops command accepts every convention that the conventions command lists") {
    const std::string flops = "flops --config llama.json --lengths 8192 --convention ";
    const json listed = run_json("conventions")["conventions"];
    CHECK(listed.size() == 27);
    std::size_t counters = 0;
    for (const json& convention : listed) {
        for (const json& counter : convention["counters"]) {
            const std::string named = counter["name"];
            CHECK(run_json(flops + named)["convention"] == convention["name"]);
            ++counters;
        }
        const std::string name = convention["name"];
        CHECK(run_json(flops + name)["convention"] == name);
        CHECK(run(flops + name).out.find("\nconvention " + name + ": ") != std::string::npos);
    }
    CHECK(counters == 8);
    CHECK(total(run_json(flops + "exact")) == "421651971833856");
    // Attention as L² instead of L(L+1)/2, twice backward: 3 · 4·H·d·layers a pair.
    const std::uint64_t more = 3ULL * 4 * 32 * 128 * 32 * (8192ULL * 8191 / 2);
    CHECK(total(run_json(flops + "torch_flop_counter_eager")) == std::to_string(421651971833856 + more));
    CHECK(total(run_json("flops --config llama.json --lengths 8192")) == total(run_json(flops + "exact")));
}

// ---- mfu ----

namespace {

const std::string step = "mfu --config llama.json --lengths 8192 --seconds 0.5 --gpus 4 ";

bool near(const json& value, double expected) {
    return value.get<double>() > expected * (1 - 1e-12) && value.get<double>() < expected * (1 + 1e-12);
}

}  // namespace

TEST_CASE("the mfu command divides by the peak of the accelerator") {
    const json report = run_json(step + "--accelerator 'H100 SXM'");
    CHECK(report["flops"] == run_json("flops --config llama.json --lengths 8192")["flops"]);
    const json& mfu = report["mfu"];
    CHECK(near(mfu["useful"], 421651971833856.0 / (0.5 * 4 * 989e12)));
    CHECK(mfu["padded"] == mfu["useful"]);
    CHECK(near(mfu["executed"], static_cast<double>(number(report["flops"]["executed"]["total"])) / (2 * 989e12)));
    CHECK(near(mfu["tflops_per_gpu"], 421.651971833856 / 2));
    CHECK(mfu["tokens_per_second"] == 16384.0);
    CHECK(mfu["seconds"] == 0.5);
    CHECK(mfu["gpus"] == 4);
    CHECK(mfu["accelerator"] == "H100 SXM");
    CHECK(mfu["precision"] == "bf16");
    CHECK(mfu["peak_tflops"] == 989.0);
    CHECK(mfu["peak_source"].get<std::string>().find("https://") != std::string::npos);
    CHECK(mfu["peak_kind"] == "datasheet");
    CHECK_FALSE(mfu.contains("peak_quality"));
    CHECK(mfu.size() == 12);
    CHECK(run_json(step + "--accelerator 'NVIDIA H100 80GB HBM3'") == report);
    CHECK(run_json(step + "--accelerator 'h100 sxm' --precision BF16") == report);
    CHECK(run(step + "--accelerator 'H100 SXM'").out.find(" 21.32 %  useful FLOPs over the peak\n") !=
          std::string::npos);
}

TEST_CASE("the mfu command uses the peak of the chosen precision") {
    const json mfu = run_json(step + "--accelerator 'H100 SXM' --precision fp8")["mfu"];
    CHECK(mfu["precision"] == "fp8");
    CHECK(mfu["peak_tflops"].get<double>() > 1900);
}

TEST_CASE("the mfu command names the kind of peak and marks a source that is not the vendor") {
    const json boost = run_json(step + "--accelerator 'H100 SXM' --clock-mhz 1980")["mfu"];
    CHECK(near(boost["peak_tflops"], 132 * 4096 * 1980e-6));
    CHECK(boost["peak_kind"] == "boost");
    CHECK(
        run(step + "--accelerator 'H100 SXM' --clock-mhz 1980").out.find("H100 SXM, bf16 dense, boost: NVIDIA H100") !=
        std::string::npos);
    const json measured = run_json(step + "--peak-tflops 780 --peak-kind measured")["mfu"];
    CHECK(measured["peak_kind"] == "measured");
    CHECK_FALSE(run_json(step + "--peak-tflops 780")["mfu"].contains("peak_kind"));
    CHECK(run_json(step + "--accelerator 'NVIDIA H20'")["mfu"]["peak_quality"] == "third_party");
    CHECK(run(step + "--accelerator 'NVIDIA H20'").out.find("the peak is quoted by a third party: ") !=
          std::string::npos);
    CHECK(run("accelerators").out.find("  quoted by a third party\n") != std::string::npos);
    const std::string fp8_everywhere =
        " --precisions attention.qkv=fp8,attention.core=fp8,attention.output=fp8,mlp=fp8,lm_head=fp8";
    const json mixed = run_json(step + "--accelerator 'H100 SXM' --clock-mhz 1980" + fp8_everywhere)["mfu"];
    CHECK(near(mixed["mixed_precision"]["peak_tflops"], 132 * 4096 * 1980e-6 * 1978.9 / 989));
}

TEST_CASE("the option --peak-tflops takes precedence over --accelerator") {
    const json input = run_json(step + "--peak-tflops 1000")["mfu"];
    CHECK(input["peak_tflops"] == 1000.0);
    CHECK(input["accelerator"].is_null());
    CHECK(input["peak_source"] == "given by the user");
    CHECK(near(input["useful"], 421651971833856.0 / 2e15));
    const json both = run_json(step + "--peak-tflops 1000 --accelerator 'H100 SXM'")["mfu"];
    CHECK(both["peak_tflops"] == 1000.0);
    CHECK(both["accelerator"] == "H100 SXM");
    CHECK(both["useful"] == input["useful"]);
    CHECK(run_json(step + "--peak-tflops 1000 --accelerator 'no such part'")["mfu"]["accelerator"] == "no such part");
    CHECK(run_json(step + "--peak-tflops 1e3")["mfu"] == input);
}

TEST_CASE("the mfu command notes a step with more FLOPs than the peak allows") {
    CHECK(run_json(step + "--peak-tflops 1000")["notes"].empty());
    const json notes = run_json(step + "--peak-tflops 1")["notes"];
    CHECK(notes == json::array({"more FLOPs than the peak allows: seconds, gpus or the peak cannot all be right"}));
}

TEST_CASE("the command mfu accepts padding, recompute, conventions and phases like the command flops") {
    const std::string batch =
        "--config llama.json --cu-seqlens 0,100 --cu-seqlens-padded 0,128 --recompute full "
        "--convention megatron --phase train";
    const json report = run_json("mfu --seconds 1 --gpus 1 --peak-tflops 100 " + batch);
    CHECK(report["flops"] == run_json("flops " + batch)["flops"]);
    CHECK(report["convention"] == "megatron");
    for (const char* view : {"useful", "padded", "executed"}) {
        CHECK(near(report["mfu"][view], static_cast<double>(number(report["flops"][view]["total"])) / 1e14));
    }
    CHECK(report["mfu"]["useful"].get<double>() < report["mfu"]["padded"].get<double>());
    CHECK(report["mfu"]["padded"].get<double>() < report["mfu"]["executed"].get<double>());
    CHECK(report["mfu"]["tokens_per_second"] == 100.0);
}

// ---- where the time went ----

namespace {

/// The share of a line of a waterfall.
double share_of(const json& made, const std::string& named) {
    for (const json& line : made["lines"]) {
        if (line["step"] == named) {
            return line["share_of_peak"].get<double>();
        }
    }
    return -1;
}

}  // namespace

TEST_CASE("lines of the waterfall command add up to the step time and end at the MFU of the mfu command") {
    const std::string options = "--seconds 0.5 --gpus 4 --peak-tflops 989 --recompute full ";
    const std::string known =
        "--tile 128x128 --pp 4 --microbatches 8 --idle-gpus 0 "
        "--apart data_wait=0.02,optimizer=0.01,transfer=0.01,elementwise=0.01,launches=0.01 "
        "--repeated 'lm_head=2' --memory-tbps 3.35 --batches 8 ";
    const json made = run_json("waterfall --config llama.json --lengths 8192 " + options + known);
    std::int64_t sum = 0;
    std::vector<std::string> names;
    for (const json& line : made["lines"]) {
        sum += std::stoll(line["gpu_nanoseconds"].get<std::string>());
        names.push_back(line["step"].get<std::string>());
        CHECK(line["known"] == true);
    }
    CHECK(sum == 2'000'000'000);
    CHECK(names == std::vector<std::string>{"useful", "precision", "padding", "fused_backward", "recompute", "repeated",
                                            "masked_tiles", "imbalance", "bubble", "idle_gpus", "communication",
                                            "data_wait", "optimizer", "elementwise", "launches", "memory_bound",
                                            "kernels"});
    CHECK(near(made["mfu"], 421651971833856.0 / (2 * 989e12)));
    const json little = run_json("waterfall --config llama.json --lengths 8192 " + options);
    CHECK(little["mfu"] == made["mfu"]);
    CHECK(
        little["lines"].back()["assumed"] ==
        "includes unknown lines: redundant work of the layout, masked tiles, imbalance between ranks, pipeline bubble, "
        "idle GPUs, exposed communication, data wait, optimizer, element-wise kernels, no kernel runs, bound by "
        "memory");
    const std::string table = run("waterfall --config llama.json --lengths 8192 " + options + known).out;
    CHECK(table.find("peak ") != std::string::npos);
    CHECK(table.find("\nmeasured MFU ") != std::string::npos);
    CHECK(table.find(" 21.32  real tokens") != std::string::npos);
    const std::string report =
        run("waterfall --config llama.json --lengths 8192 --format markdown " + options + known).out;
    CHECK(report.starts_with("| | ms of a GPU | % of peak | what it rests on |\n"));
    CHECK(report.find("\n| **measured MFU** | 106.585 | 21.32 | real tokens") != std::string::npos);
}

TEST_CASE("the waterfall command attributes lost MFU to components with measured times") {
    const std::string options = "waterfall --config llama.json --lengths 8192 --gpus 4 --peak-tflops 989 ";
    const json made = run_json(options + "--seconds 0.5 --component-times times.json");
    const auto lost = [](const json& of) {
        std::int64_t sum = 0;
        for (const json& line : of["components"]) {
            sum += std::stoll(line["lost"].get<std::string>());
        }
        return sum;
    };
    CHECK(lost(made) == 2'000'000'000 - std::stoll(made["lines"][0]["gpu_nanoseconds"].get<std::string>()));
    CHECK(made["components"][0]["components"] == json::array({"attention.qkv", "attention.core", "attention.output"}));
    CHECK(made["components"][1]["pass"] == "backward");
    CHECK(made["components"].back()["name"] == "not timed");
    CHECK(made["components"].back()["components"] == json::array({"mlp", "lm_head"}));
    const json work = run_json("flops --config llama.json --lengths 8192")["flops"]["useful"];
    for (const json& component : work["components"]) {
        if (component["name"] == "mlp") {
            CHECK(near(made["components"][1]["mfu"],
                       static_cast<double>(number(component["backward"])) / (0.15 * 4 * 989e12)));
        }
    }

    // A step of a trace: its own time, and modules that the statistics name.
    const std::string tiny = "waterfall --config tiny.json --lengths 128,128 --gpus 1 --peak-tflops 0.1 ";
    const json traced = run_json(tiny + "--trace cpu_step.json");
    const json times =
        json::parse(read_text(std::filesystem::path(FLOPTALLY_SOURCE_DIR) / "tests/golden/traces/cpu_step_times.json"));
    CHECK(near(traced["seconds"], times["nanoseconds"].get<double>() / 1e9));
    CHECK(lost(traced) == times["nanoseconds"].get<std::int64_t>() -
                              std::stoll(traced["lines"][0]["gpu_nanoseconds"].get<std::string>()));
    std::int64_t mlp = 0;
    for (const json& one : times["times"]) {
        mlp += one["part"] == "mlp" ? one["nanoseconds"].get<std::int64_t>() : 0;
    }
    for (const json& line : traced["components"]) {
        if (line["name"] == "mlp") {
            CHECK(line["gpu_nanoseconds"] == std::to_string(mlp));
            CHECK(line["components"] == json::array({"mlp"}));
        }
    }
    CHECK(traced["notes"].size() == 1);
    const std::string table = run(tiny + "--trace cpu_step.json --modules TinyForCausalLM=loss").out;
    CHECK(table.find("\nby component ") != std::string::npos);
    CHECK(table.find("\nnote: ") != std::string::npos);
}

TEST_CASE("the waterfall command reads known times from one profiler trace and combines traces of several ranks") {
    const std::string traces = std::filesystem::path(FLOPTALLY_SOURCE_DIR) / "tests/golden/traces/";
    const std::string tiny = "waterfall --config tiny.json --lengths 128,128 --gpus 2 --peak-tflops 10 ";
    const json one = run_json(tiny + "--trace " + traces + "gpu_step.json");
    // Sums by hand, as tests/json/kineto_trace.test.cpp has them, of 1.335 ms.
    const auto is = [](const json& made, const std::string& named, double microseconds) {
        return near(share_of(made, named) * 1335, microseconds);
    };
    CHECK(is(one, "communication", 129.5));
    CHECK(is(one, "optimizer", 50));
    CHECK(is(one, "elementwise", 15.5 + 10.5));
    CHECK(is(one, "launches", 89.375));
    CHECK(share_of(one, "data_wait") == 0);
    CHECK_FALSE(one.contains("ranks"));
    // Whatever the caller measured is the caller's.
    CHECK(is(run_json(tiny + "--apart optimizer=0.0001 --trace " + traces + "gpu_step.json"), "optimizer", 100));
    // Two ranks that are alike never wait.
    const json two = run_json(tiny + "--trace " + traces + "gpu_step.json," + traces + "gpu_step.json.gz");
    CHECK(is(two, "communication", 129.5));
    CHECK(share_of(two, "imbalance") == 0);
    CHECK(two["ranks"].size() == 2);
    CHECK(two["ranks"][1]["waiting"] == 0);
    CHECK(near(two["ranks"][1]["hidden"], 70.5e-6));
    CHECK(run(tiny + "--trace " + traces + "gpu_step.json," + traces + "gpu_step.json").out.find("\nby rank, ms ") !=
          std::string::npos);
}

TEST_CASE("the waterfall and whatif commands accept tensor and context parallelism, alone and in a pipeline") {
    const std::string base = "--config llama.json --lengths 8192 --gpus 8 --peak-tflops 989 ";
    const auto executed = [](const std::string& batch) {
        return static_cast<double>(
            number(run_json("flops --config llama.json " + batch)["flops"]["executed"]["total"]));
    };
    // A zigzag is even under a causal mask; one run of tokens is not: the last of four has 7/16 of the pairs.
    CHECK(near(share_of(run_json("waterfall --seconds 1 " + base + "--cp 4"), "imbalance") + 1, 1));
    const json uneven = run_json("waterfall --seconds 1 " + base + "--cp 4 --cp-split contiguous");
    const double quarter = executed("--lengths 8192") / 4;
    // Attention of queries from a on sees a more keys each: of a whole causal square, 1, 3, 5 and 7 sixteenths.
    const double linear = executed("--lengths 1") * 8192;  // one token attends one pair
    const double pairs = (executed("--lengths 8192") - linear) * (8192.0 * 8193 / 2) / (8192.0 * 8193 / 2 - 8192);
    const double tokens = linear - pairs / (8193.0 / 2);
    const double last = tokens / 4 + pairs * (2048.0 * 6144 + 2048.0 * 2049 / 2) / (8192.0 * 8193 / 2);
    CHECK(std::abs(share_of(uneven, "imbalance") - (1 - quarter / last)) < 1e-6);
    CHECK(share_of(uneven, "repeated") == 0);
    // Sixteen ranks share eight key and value heads: each runs a whole one, 2 x 4096 x (8 + 8) x 128 a token and pass.
    const std::string wide = "--config llama.json --lengths 8192,8192 --gpus 16 --peak-tflops 989 --tp 16 ";
    CHECK(near(share_of(run_json("waterfall --seconds 1 " + wide), "repeated") * 16 * 989e12,
               3.0 * 32 * 16384 * 2 * 4096 * 16 * 128));
    // As layers of a pipeline, with two replicas: ranks of context parallelism are pipelines beside each other.
    const json pipelined = run_json("waterfall --seconds 1 " + base + "--cp 2 --pp 2 --replicas 2 --microbatches 4");
    CHECK(near(share_of(pipelined, "bubble") + 1,
               share_of(run_json("waterfall --seconds 1 " + base + "--pp 2 --microbatches 4"), "bubble") + 1));
    // What if: from contiguous to a zigzag, the wait of the others is gone.
    const json then = run_json("whatif --seconds 1 " + base + "--cp 4 --cp-split contiguous --then-cp-split zigzag");
    CHECK(std::abs(then["then"]["seconds"].get<double>() - quarter / last) < 1e-6);
    CHECK(near(run_json("whatif --seconds 1 " + base + "--tp 2 --then-tp 2")["then"]["seconds"], 1));
}

TEST_CASE("the waterfall command estimates unmeasured communication from bytes if a bandwidth is passed") {
    const std::string base = "--config llama.json --lengths 8192,8192 --seconds 9 --gpus 4 --peak-tflops 989 ";
    const auto line_of = [](const json& made) {
        for (const json& line : made["lines"]) {
            if (line["step"] == "communication") {
                return line;
            }
        }
        return json();
    };
    // Gradients of 16 bits go round a ring of four: 2 x 3/4 of the parameters.
    const double parameters =
        static_cast<double>(number(run_json("flops --config llama.json --lengths 1")["parameters"]["total"]));
    const json estimated = line_of(run_json("waterfall " + base + "--network-gbps dp=50,tp=400"));
    CHECK(std::abs(estimated["share_of_peak"].get<double>() * 9 / (2 * 0.75 * 2 * parameters / 50e9) - 1) < 1e-6);
    CHECK(estimated["assumed"].get<std::string>().starts_with("estimated, were none of it hidden: dp "));
    CHECK(line_of(run_json("waterfall " + base))["known"] == false);
    // What was measured is not estimated.
    CHECK(line_of(run_json("waterfall " + base + "--network-gbps 50 --apart transfer=0.5"))["assumed"] == "measured");
    // Another layout sends other bytes.
    const json then = run_json("whatif " + base + "--network-gbps 50 --then-network-gbps 100");
    CHECK(near(then["then"]["seconds"], 9 - 2 * 0.75 * 2 * parameters / 100e9));
}

TEST_CASE("the waterfall command compares two traces and can sort its lines by cost") {
    const std::filesystem::path traces = std::filesystem::path(FLOPTALLY_SOURCE_DIR) / "tests/golden/traces";
    json slower = json::parse(std::ifstream(traces / "gpu_step.json"));
    for (json& event : slower["traceEvents"]) {  // the MLP's backward takes 7 us more, and all after it is later
        if (event.value("cat", "") == "kernel" && event["args"]["correlation"] == 505) {
            event["dur"] = 207;
        } else if (event.value("cat", "") == "kernel" && event["ts"] > 88511388700.0) {
            event["ts"] = event["ts"].get<double>() + 7;
        }
    }
    const std::string later = std::filesystem::temp_directory_path() / "floptally_slower.json";
    std::ofstream(later) << slower.dump();
    const std::string tiny = "waterfall --config tiny.json --lengths 128,128 --gpus 1 --peak-tflops 10 ";
    const std::string both = tiny + "--trace " + later + " --against " + (traces / "gpu_step.json").string();
    const json compared = run_json(both)["compared"];
    CHECK(compared[0]["name"] == "mlp");
    double sum = 0;
    for (const json& item : compared) {
        sum += item["slower"].get<double>();
        CHECK((item["name"] == "mlp" ? near(item["slower"], 7e-6) : std::abs(item["slower"].get<double>()) < 1e-9));
    }
    CHECK(near(sum, 7e-6));
    CHECK(run(both).out.find("\nmlp                                  0.325       0.332       0.007") !=
          std::string::npos);
    CHECK(run(both + " --format markdown").out.find("| mlp | 0.325 | 0.332 | 0.007 |") != std::string::npos);
    const std::string by_cost = run(tiny + "--trace " + later + " --by-cost").out;
    std::filesystem::remove(later);
    CHECK(by_cost.find("\nmeasured MFU ") < by_cost.find("\nkernels below their peak "));
    CHECK(by_cost.find("\nkernels below their peak: usually helps: ") != std::string::npos);
}

TEST_CASE("the waterfall command accepts the work of each rank and separate peaks for each precision") {
    const std::string options = "waterfall --config llama.json --lengths 8192 --seconds 1 --gpus 4 --peak-tflops 989 ";
    const auto value_for = [](const json& made, const std::string& named) {
        for (const json& line : made["lines"]) {
            if (line["step"] == named) {
                return line["share_of_peak"].get<double>();
            }
        }
        return -1.0;
    };
    const json uneven = run_json(options + "--rank-work 3,1,1,1");
    CHECK(near(value_for(uneven, "imbalance"), 0.5));
    const json faster = run_json(options + "--precisions mlp=1978");
    const json work = run_json("flops --config llama.json --lengths 8192")["flops"]["useful"];
    for (const json& component : work["components"]) {
        if (component["name"] == "mlp") {
            CHECK(near(-value_for(faster, "precision"),
                       static_cast<double>(number(component["total"])) / 2 / (4 * 989e12)));
        }
    }
}

namespace {

/// Executed FLOPs of a batch in the layers, or in the lm_head, and in the forward or in the backward.
double executed_of(const std::string& batch, bool head, bool forward) {
    double sum = 0;
    const json components = run_json("flops --config llama.json " + batch)["flops"]["executed"]["components"];
    for (const json& component : components) {
        if ((component["name"] == "lm_head") == head) {
            sum += static_cast<double>(number(forward ? component["forward"] : component["total"]));
            sum -= forward ? 0 : static_cast<double>(number(component["forward"]));
        }
    }
    return sum;
}

/// A step of `pp` ranks in 1F1B by a simulation of events: `batches` has the options of each microbatch of each
/// replica, `layers` those of each rank, which run `faster` than the lm_head.
struct simulated_step {
    double imbalance = 0;
    double bubble = 0;
};
simulated_step simulated(const std::vector<std::vector<std::string>>& batches, const std::vector<double>& layers,
                         double faster) {
    double end = 0;
    double sum = 0;
    double largest = 0;
    double ranks = 0;
    for (const std::vector<std::string>& replica : batches) {
        const floptally::pipeline_order order(floptally::pipeline_schedule::one_f_one_b, layers.size(), 1,
                                              replica.size());
        std::vector<std::array<double, 4>> work;  // of each microbatch: layers and head, forward and backward
        for (const std::string& batch : replica) {
            work.push_back({executed_of(batch, false, true), executed_of(batch, false, false),
                            executed_of(batch, true, true), executed_of(batch, true, false)});
        }
        const auto made = pipeline_simulation::simulate(
            {order.ranks().begin(), order.ranks().end()}, layers.size(), false,
            [&](const floptally::pipeline_pass& pass) {
                const std::array<double, 4>& of = work[pass.microbatch];
                const std::size_t backward = pass.type == floptally::pipeline_pass::kind::forward ? 0 : 1;
                return of[backward] * layers[pass.chunk] / 32 / faster +
                       (pass.chunk + 1 == layers.size() ? of[2 + backward] : 0);
            });
        end = std::max(end, made.makespan);
        for (const double busy : made.busy) {
            largest = std::max(largest, busy);
            sum += busy;
            ranks += 1;
        }
    }
    return {(largest - sum / ranks) / end, (end - largest) / end};
}

}  // namespace

TEST_CASE("the waterfall command shows the bubble and imbalance of a pipeline with unequal stages and replicas") {
    const std::string options = "waterfall --config llama.json --seconds 2 --gpus 8 --peak-tflops 989 --pp 4 ";
    const auto check = [&](const std::string& subject, const simulated_step& expected) {
        const json made = run_json(options + subject);
        INFO(subject);
        CHECK(near(share_of(made, "imbalance"), expected.imbalance));
        CHECK(near(share_of(made, "bubble"), expected.bubble));
    };
    const std::vector<std::string> alike(6, "--lengths 8192");
    const std::string six = "--lengths 8192,8192,8192,8192,8192,8192 ";
    check(six + "--microbatches 6", simulated({alike}, {8, 8, 8, 8}, 1));
    // Layers at twice the peak of the head.
    check(six + "--microbatches 6 --precisions '@0-31=1978'", simulated({alike}, {8, 8, 8, 8}, 2));
    check(six + "--microbatches 6 --precisions '@0-31=1978' --layers-of-chunks 10,9,8,5",
          simulated({alike}, {10, 9, 8, 5}, 2));
    check(six + "--microbatches 6 --num-layers-in-last-pipeline-stage 5", simulated({alike}, {9, 9, 9, 5}, 1));
    // Two replicas, with the samples as Megatron-LM shards them.
    check("--lengths 8192,1000,4096,3000,500,8192 --micro-batch-size 1 --replicas 2",
          simulated({{"--lengths 8192", "--lengths 4096", "--lengths 500"},
                     {"--lengths 1000", "--lengths 3000", "--lengths 8192"}},
                    {8, 8, 8, 8}, 1));
    // Replicas by their loads.
    const json loads = run_json(options + six + "--microbatches 3 --rank-work 4,2");
    const simulated_step expected = simulated({{"--lengths 8192,8192", "--lengths 8192,8192", "--lengths 8192,8192"},
                                               {"--lengths 8192", "--lengths 8192", "--lengths 8192"}},
                                              {8, 8, 8, 8}, 1);
    CHECK(near(share_of(loads, "imbalance"), expected.imbalance));
    CHECK(near(share_of(loads, "bubble"), expected.bubble));
}

TEST_CASE("the fit command shows the memory and the sent bytes of one rank of each pipeline stage") {
    const json made = run_json(
        "fit --config llama.json --lengths 64,64 --dp 2 --tp 2 --pp 2 --zero optimizer --sequence-parallel true "
        "--microbatches 4 "
        "--network-gbps tp=400 --memory-gib 1");
    REQUIRE(made["stages"].size() == 2);
    for (const json& stage : made["stages"]) {
        std::uint64_t sum = 0;
        for (const char* kind : {"weights", "gradients", "optimizer", "activations", "logits", "cache", "buffers"}) {
            sum += number(stage["held"][kind]);
        }
        CHECK(sum == number(stage["held"]["total"]));
        CHECK(stage["activations_unsaid"].empty());
        std::map<std::string, std::uint64_t> groups;
        for (const json& row : stage["sent"]) {
            groups[row["group"]] += number(row["bytes"]);
        }
        for (const json& group : stage["groups"]) {
            CHECK(number(group["bytes"]) == groups[group["group"]]);
            CHECK(group.contains("seconds") == (group["group"] == "tp"));
        }
    }
    const std::string table = run("fit --config llama.json --lengths 64 --memory-gib 0.000001").out;
    CHECK(table.find("does not fit: ") != std::string::npos);
}

TEST_CASE("the fit command reads a layout in AReaL's format like the same sizes passed by name") {
    const std::string common = "fit --config moe.json --lengths 64 --sequence-parallel true ";
    const json by_text = run_json(common + "--layout 'attn:d1p1t2c4|ffn:d1p1t1e8'");
    CHECK(by_text == run_json(common + "--tp 2 --cp 4 --ep 8 --etp 1"));
    CHECK(by_text["layout"]["ep"] == 8);
    CHECK(by_text["layout"]["etp"] == 1);
    CHECK(by_text["layout"]["expert_order"] == "etp-ep-expert_dp-pp");
    const json nodes = run_json(
        common + "--layout 'attn:d1p1t2c4|ffn:d1p1t1e8' --gpus-per-node 4 --network-gbps within=450,between=50");
    for (const json& group : nodes["stages"][0]["groups"]) {
        CHECK(number(group["within_nodes"]) + number(group["between_nodes"]) == number(group["bytes"]));
        CHECK(group.contains("seconds"));
        CHECK((number(group["between_nodes"]) == 0) == (group["group"] == "tp"));
    }
}

TEST_CASE("the fit command shows how layers are split over pipeline ranks, and accepts Megatron's layout text") {
    const json automatic = run_json("fit --config llama.json --lengths 64 --pp 5 --microbatches 5");
    CHECK(automatic["split"] == "torchtitan's split: 6 x 1, 7 x 3, 5 x 1");
    const json text = run_json(
        "fit --config llama.json --lengths 64 --pp 5 --microbatches 5 "
        "--pipeline-model-parallel-layout 'Et*6|(t*7|)*3,t*5L'");
    CHECK(text["stages"] == automatic["stages"]);
    CHECK(run("fit --config llama.json --lengths 64 --pp 5").out.find("layers: torchtitan's split: 6 x 1") !=
          std::string::npos);
}

TEST_CASE("the fit command accepts number formats, recompute, offload and a memory reserve") {
    const auto held = [](const std::string& options, const char* kind) {
        return number(run_json("fit --config llama.json --lengths 64 " + options)["stages"][0]["held"][kind]);
    };
    CHECK(held("--matrix-inputs fp8", "activations") < held("", "activations"));
    CHECK(held("--recompute-modules layernorm,mlp", "activations") < held("--recompute-modules mlp", "activations"));
    CHECK(held("--offload-modules core_attn,attn_proj", "activations") < held("", "activations"));
    CHECK(held("--offload-layers 12", "activations") < held("", "activations"));
    CHECK(held("--matrix-weights fp8", "weights") == held("", "weights"));
    CHECK(held("--optimizer-offload 0.5", "host") == held("", "optimizer") / 2);
    CHECK(held("--optimizer adamw_16bit_moments", "optimizer") * 3 == held("", "optimizer") * 2);
    CHECK(run("fit --config llama.json --lengths 64 --memory-gib 200 --reserve-gib 100").out.find("does not fit: ") !=
          std::string::npos);
}

TEST_CASE(
    "the fit command finds the largest microbatch and the longest sequences that fit, and the accelerators that hold a "
    "step") {
    const std::string common = "fit --config llama.json --dp 8 --zero optimizer --recompute full --memory-gib 79 ";
    const auto total = [](const json& made) { return number(made["stages"][0]["held"]["total"]); };
    const auto limit = std::uint64_t{79} << 30U;
    const json batch = run_json(common + "--lengths 4096 --largest microbatch");
    const std::uint64_t most = batch["largest"];
    REQUIRE(most > 1);
    const auto held_by = [&](std::uint64_t samples) {
        std::string lengths = "4096";
        for (std::uint64_t i = 1; i < samples; ++i) {
            lengths += ",4096";
        }
        return total(run_json(common + "--lengths " + lengths));
    };
    CHECK(held_by(most) == total(batch));
    CHECK(held_by(most) <= limit);
    CHECK(held_by(most + 1) > limit);

    const json longest = run_json(common + "--lengths 4096,4096 --largest length");
    const std::uint64_t length = longest["largest"];
    const auto held_with = [&](std::uint64_t tokens) {
        const std::string one = std::to_string(tokens);
        return total(run_json(common + "--lengths " + one + "," + one));
    };
    CHECK(held_with(length) == total(longest));
    CHECK(held_with(length) <= limit);
    CHECK(held_with(length + 1) > limit);

    const json held = run_json(
        "fit --config llama.json --lengths 4096 --dp 8 --zero optimizer --gpus-of --prices 'H100 SXM=2,H200 SXM=1.5'");
    const double gib = static_cast<double>(total(held)) / 1073741824;
    const json& list = held["accelerators"];
    REQUIRE(list.size() > 20);
    CHECK(list[0] == json{{"name", "H200 SXM"}, {"memory_gib", 141}, {"fits", true}, {"price", 1.5}});
    CHECK(list[1]["name"] == "H100 SXM");
    double before = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
        CHECK(list[i]["fits"] == (gib <= list[i]["memory_gib"].get<double>()));
        CHECK((i < 3 || list[i]["fits"] != list[i - 1]["fits"] || before <= list[i]["memory_gib"].get<double>()));
        before = list[i]["memory_gib"];
    }
}

TEST_CASE("the search command lists layouts that fit, fastest first, with the memory that the fit command counts") {
    const std::string common =
        "search --config llama.json --lengths 4096 --global-batch 64 --gpus 16 --accelerator 'H100 SXM' ";
    const json found = run_json(common + "--top 1000000");
    CHECK(found["fit"] == found["layouts"].size());
    CHECK(found["tried"].get<std::size_t>() == found["fit"].get<std::size_t>() + found["too_large"].get<std::size_t>() +
                                                   found["impossible"].get<std::size_t>());
    REQUIRE(found["layouts"].size() > 50);
    double before = 0;
    for (const json& one : found["layouts"]) {
        const double seconds = one["seconds"];
        CHECK(seconds >= before * 0.9999);
        CHECK(one["bound"].get<double>() <= seconds);
        before = seconds;
    }
    for (std::size_t i = 0; i < found["layouts"].size(); i += 97) {
        const json& layout = found["layouts"][i]["layout"];
        std::string lengths = "4096";
        for (int sample = 1; sample < layout["microbatch"].get<int>(); ++sample) {
            lengths += ",4096";
        }
        std::string command = "fit --config llama.json --lengths " + lengths;
        for (const char* const size : {"dp", "cp", "tp", "pp", "vpp", "microbatches"}) {
            command += " --" + std::string(size) + " " + layout[size].dump();
        }
        command += " --zero " + layout["zero"].get<std::string>() + " --recompute " +
                   layout["recompute"].get<std::string>() + " --sequence-parallel " +
                   (layout["sequence_parallel"] ? "true" : "false");
        std::uint64_t most = 0;
        const json made = run_json(command);
        for (const json& stage : made["stages"]) {
            most = std::max(most, number(stage["held"]["total"]));
        }
        CHECK(static_cast<double>(most) / 1073741824 == found["layouts"][i]["memory_gib"].get<double>());
    }
    CHECK(run(common + "--format megatron").out.starts_with("WORLD_SIZE=16 --tensor-model-parallel-size "));
    CHECK(run(common + "--explain pp=3").out.find("impossible. layout: has dp x cp x tp x pp = 3 ranks for 16 GPUs") !=
          std::string::npos);
    CHECK(run(common + "--memory-gib 20 --explain dp=16,zero=none").out.find(" GiB too many: weights ") !=
          std::string::npos);
    CHECK(run(common + "--tp 2 --top 1").out.find(" layouts fit, ") != std::string::npos);
}

TEST_CASE("the bytes command shows weights, gradients, activations, cache, FLOPs and an MBU") {
    const json counted = run_json("bytes --config llama.json --lengths 100,28 --batches 2 --gradient-bits 32");
    const json parameters = run_json("flops --config llama.json --lengths 5")["parameters"]["total"];
    CHECK(number(counted["total"]["bytes"]["gradients"]) == 2 * 4 * number(parameters));
    CHECK(counted["bits"] == json({{"weights", 16}, {"gradients", 32}, {"activations", 16}, {"cache", 16}}));
    CHECK(counted["unsaid"].empty());
    CHECK(counted["at_most"].empty());
    for (const json& component : counted["components"]) {
        std::uint64_t sum = 0;
        for (const char* kind : {"weights", "gradients", "activations", "cache"}) {
            sum += number(component["bytes"][kind]);
        }
        CHECK(number(component["bytes"]["total"]) == sum);
        if (component["name"] == "lm_head") {
            // [128, 4096] x [4096, 128256], three times: two operands and a result each.
            const std::uint64_t activations = 3 * 2 * 128 * (4096 + 128256);
            CHECK(number(component["bytes"]["activations"]) == activations);
            CHECK(near(component["intensity"],
                       6.0 * 128 * 4096 * 128256 / (static_cast<double>(activations) + 2 * 8.0 * 4096 * 128256)));
        }
    }
    const std::string decode = "bytes --config m.json --phase forward --new-tokens 1@2000 --new-tokens 1@9000 ";
    const json read = run_json(decode + "--seconds 0.02 --gpus 1 --accelerator 'H100 SXM'");
    // 8 heads of 128 for keys and for values, 32 layers, a window of 4096 that holds the token itself.
    CHECK(number(read["total"]["bytes"]["cache"]) == std::uint64_t{2} * 2 * 8 * 128 * 32 * (2000 + 4095));
    const double moved =
        static_cast<double>(number(read["total"]["bytes"]["cache"]) + number(read["total"]["bytes"]["weights"]));
    CHECK(near(read["mbu"], moved / (0.02 * 3.35e12)));
    CHECK(read["memory_tbps"] == 3.35);
    const std::string table = run(decode + "--seconds 0.02 --gpus 1 --memory-tbps 3.35").out;
    CHECK(table.find("\nMBU 22.42 %: ") != std::string::npos);
    CHECK(table.find("\nattention.core ") != std::string::npos);
}

TEST_CASE("the MBU of a model with experts is an upper bound unless the visited experts were measured") {
    const std::string decode =
        "bytes --config moe.json --phase forward --new-tokens 1@100,1@100,1@100,1@100 --gpus 1 --memory-tbps 0.001 ";
    const json bound = run_json(decode + "--seconds 1");
    CHECK_FALSE(bound.contains("mbu"));
    CHECK(bound["mbu_uniform"] < bound["mbu_at_most"]);
    for (const char* format : {"table", "markdown"}) {
        const std::string text = run(decode + "--seconds 1 --format " + format).out;
        CHECK(text.find("MBU at most ") != std::string::npos);
        CHECK(text.find(" %, uniform estimate: ") != std::string::npos);
    }
    const json measured = run_json(decode + "--seconds 1 --distinct-experts 10");
    CHECK(measured["distinct_experts"] == "10");
    CHECK(measured["at_most"].empty());
    CHECK(measured["mbu"] < bound["mbu_at_most"]);
    const double moved = static_cast<double>(number(measured["total"]["bytes"]["cache"]) +
                                             number(measured["total"]["bytes"]["weights"]));
    CHECK(near(measured["mbu"], moved / 1e9));
    // 3 matrices of 64 by 32, two bytes an element.
    CHECK(number(bound["total"]["bytes"]["weights"]) - number(measured["total"]["bytes"]["weights"]) ==
          (2 * 8 - 10) * 3 * 64 * 32 * 2);
    CHECK(run(decode + "--seconds 1e-9 --distinct-experts 10").out.find("\nmore bytes than the memory could move: ") !=
          std::string::npos);
    CHECK(run(decode + "--distinct-experts 17").err ==
          "floptally: error: distinct_experts: must be from 4 to 16 for 8 experts in each of 2 layers and 1 batch, got "
          "17\n");
}

TEST_CASE("the waterfall command shows memory-bound time if a bandwidth is known") {
    const std::string decode =
        "waterfall --config llama.json --phase forward --new-tokens 1@100 --seconds 0.02 --gpus 1 ";
    const auto line = [](const json& made) { return made["lines"][made["lines"].size() - 2]; };
    CHECK(line(run_json(decode + "--peak-tflops 989"))["known"] == false);
    const json known = run_json(decode + "--accelerator 'H100 SXM'");
    CHECK(line(known)["step"] == "memory_bound");
    // 16 GB at 3.35 TB/s are all but the time of the FLOPs, which is some microseconds.
    const json bytes = run_json("bytes --config llama.json --phase forward --new-tokens 1@100")["total"]["bytes"];
    const double seconds = static_cast<double>(number(bytes["total"])) / 3.35e12;
    const double share = line(known)["share_of_peak"];
    CHECK(share * 0.02 < seconds);
    CHECK(share * 0.02 > 0.99 * seconds);
    CHECK(line(known)["assumed"] ==
          "what bytes need at 3.35 TB/s beyond their FLOPs; weights read 1 time a pass or more: the number of "
          "microbatches is unknown");
    // A waterfall of adapters has theirs.
    const std::string adapters =
        "waterfall --config llama.json --lengths 100 --seconds 1 --gpus 1 "
        "--weights '*=frozen,*/q_proj=lora4' --accelerator 'H100 SXM'";
    CHECK(line(run_json(adapters))["known"] == true);
}

TEST_CASE(
    "the whatif command applies changed settings at the measured kernel rate and gives an upper bound of the MFU") {
    const std::string step_options = "--config llama.json --lengths 8192 --seconds 0.5 --gpus 4 --peak-tflops 989 ";
    const json made = run_json("whatif " + step_options +
                               "--pp 4 --microbatches 8 --recompute full --then-recompute none "
                               "--then-schedule zero_bubble");
    CHECK(made["measured"] == run_json("waterfall " + step_options + "--pp 4 --microbatches 8 --recompute full"));
    CHECK(made["then"]["seconds"].get<double>() < 0.5);
    CHECK(made["bound"]["seconds"].get<double>() < made["then"]["seconds"].get<double>());
    CHECK(near(made["bound"]["kernel_rate"], 1));
    const json same = run_json("whatif " + step_options + "--pp 4 --microbatches 8");
    CHECK(near(same["then"]["seconds"], 0.5));
    CHECK(run("whatif " + step_options).out.find("\nbound: kernels at their peak ") != std::string::npos);
}

TEST_CASE("the whatif command without changes repeats the measurement, also for memory-bound steps") {
    const auto check = [](const std::string& options) {
        const json made = run_json("whatif --config llama.json " + options);
        INFO(options);
        for (const char* source : {"seconds", "mfu", "kernel_rate"}) {
            const double was = made["measured"][source];
            const double is = made["then"][source];
            CHECK((is > was * (1 - 1e-9) && is < was * (1 + 1e-9)));
        }
        CHECK(made["bound"]["mfu"].get<double>() >= made["measured"]["mfu"].get<double>() * (1 - 1e-9));
        return made;
    };
    const std::string training = "--lengths 8192 --seconds 0.5 --gpus 4 --peak-tflops 989 ";
    CHECK(check(training + "--memory-tbps 0.01")["measured"]["memory_share"].get<double>() < 1);
    check(training + "--memory-tbps 3.35 --pp 4 --microbatches 8 --apart exposed_communication=0.2,transfer=0.01");
    check("--phase forward --new-tokens 1@100 --seconds 0.004 --gpus 1 --accelerator 'H100 SXM'");
}

TEST_CASE("the whatif command can change batch, accelerator, memory and layout") {
    const std::string measured =
        "whatif --config llama.json --lengths 4096,2048 --row-length 8192 --seconds 1 --gpus 4 "
        "--accelerator 'A100 SXM' --memory-tbps 2 ";
    const auto then = [&](const std::string& changed) { return run_json(measured + changed)["then"]; };
    const json same = then("");
    const double needed = 6144.0 / 16384;
    // Without padding the tokens that are left need their share, but for the quadratic part of attention.
    const json packed = then("--then-lengths 4096,2048");
    CHECK(share_of(packed, "padding") == 0);
    CHECK(packed["seconds"].get<double>() < same["seconds"].get<double>() * (needed + 0.02));
    const json faster = then("--then-accelerator 'H100 SXM'");
    CHECK(near(faster["mfu"].get<double>() * faster["seconds"].get<double>() * 989,
               same["mfu"].get<double>() * same["seconds"].get<double>() * 312));
    CHECK(faster["seconds"].get<double>() < same["seconds"].get<double>());
    CHECK(faster["lines"][faster["lines"].size() - 2]["assumed"].get<std::string>().find("at 3.35 TB/s") !=
          std::string::npos);
    CHECK(then("--then-memory-tbps 0.2")["seconds"].get<double>() > same["seconds"].get<double>());
    CHECK(then("--then-pp 2 --then-microbatches 4 --then-replicas 2")["seconds"].get<double>() >
          same["seconds"].get<double>());
    CHECK(then("--then-precision fp16")["seconds"] == same["seconds"]);
}

TEST_CASE("whatif --best lists the layouts of a search at the efficiency of the measured step") {
    const std::string cluster =
        "--config llama.json --lengths 8192 --global-batch 32 --gpus 16 --accelerator 'H100 SXM' --memory-gib 80 ";
    const std::string step = "whatif " + cluster + "--seconds 2.5 --tp 2 --pp 2 --microbatches 8 ";
    const json found = run_json(step + "--best --top 1000000");
    const json& measured = found["measured"];
    CHECK(measured["seconds"] == 2.5);
    CHECK(measured["layout"]["dp"] == 4);
    CHECK(measured["layout"]["tp"] == 2);
    CHECK(measured["layout"]["pp"] == 2);
    CHECK(measured["layout"]["microbatch"] == 1);
    CHECK(
        near(measured["mfu"].get<double>() * 2.5 * 16 * 989,  // the same work as of `mfu`
             run_json("mfu --config llama.json --lengths 8192 --seconds 1 --gpus 1 --peak-tflops 1000")["mfu"]["useful"]
                     .get<double>() *
                 1000 * 32));
    // The clock of the search predicts the measured seconds for the measured layout.
    bool has_measured = false;
    for (const json& one : found["layouts"]) {
        if (one["layout"] == measured["layout"]) {
            has_measured = true;
            CHECK(std::abs(one["seconds"].get<double>() / 2.5 - 1) < 1e-9);
            CHECK(std::abs(one["mfu"].get<double>() / measured["mfu"].get<double>() - 1) < 1e-9);
            CHECK(one["memory_gib"] == measured["memory_gib"]);
        }
    }
    CHECK(has_measured);
    // A search with that efficiency finds the same layouts, at the same times.
    const json alone = run_json("search " + cluster + "--top 1000000 --efficiency " + measured["efficiency"].dump());
    CHECK(alone["layouts"] == found["layouts"]);
    CHECK(alone["points"] == found["points"]);
    CHECK(
        run(step + "--best --top 2")
            .out.find(
                "measured: dp 4, tp 2, pp 2, microbatch 1 x 8, zero optimizer, recompute none, 1f1b: 2.5000 s, MFU ") ==
        0);
    // The same step as a layout text, and more GPUs: what --then- says binds the search.
    const json text = run_json(
        "whatif " + cluster +
        "--seconds 2.5 --layout 'attn:d4p2t2c1|ffn:d4p2t2e1' --best --then-gpus 32 --then-tp 4 --then-pp 1 --top 3");
    CHECK(text["measured"]["efficiency"] == measured["efficiency"]);
    REQUIRE(!text["layouts"].empty());
    for (const json& one : text["layouts"]) {
        CHECK(one["layout"]["tp"] == 4);
        CHECK(one["layout"]["dp"].get<int>() * one["layout"]["cp"].get<int>() == 8);
    }
    const auto fails = [&](const std::string& options) { return run(options).err; };
    CHECK(fails(step + "--best --apart optimizer=0.1") ==
          "floptally: error: apart: has no effect on `floptally whatif` with these options: leave it out\n");
    CHECK(fails("whatif " + cluster + "--tp 2 --best") == "floptally: error: seconds: is missing: pass --seconds S\n");
    CHECK(fails("whatif " + cluster + "--seconds 0.1 --tp 2 --best")
              .find("floptally: error: seconds: is 0.1, less than the ") == 0);
    CHECK(fails("whatif " + cluster + "--seconds 1e9 --tp 2 --best")
              .find("floptally: error: seconds: is 1e+09, more than the ") == 0);
    CHECK(fails("whatif " + cluster + "--seconds 2.5 --tp 3 --best").find("floptally: error: layout: ") == 0);
    CHECK(fails(step + "--schedule zb_v --best").find("floptally: error: ") == 0);
}

TEST_CASE("the waterfall command has a line for each named time, and counts weight bytes once a microbatch") {
    const std::string options =
        "waterfall --config llama.json --lengths 8192 --seconds 0.5 --gpus 4 --peak-tflops 989 ";
    const json made = run_json(options + "--apart data_wait=0.02,Optimizer=0.01,launches=0.005,mine=0.001");
    CHECK(near(share_of(made, "data_wait"), 0.04));
    CHECK(near(share_of(made, "optimizer"), 0.02));
    CHECK(near(share_of(made, "launches"), 0.01));
    CHECK(near(share_of(made, "apart"), 0.002));
    CHECK(made["lines"].back()["assumed"] ==
          "includes unknown lines: redundant work of the layout, masked tiles, imbalance between ranks, pipeline "
          "bubble, idle GPUs, exposed communication, element-wise kernels, bound by memory");
    const auto memory = [&](const std::string& more) {
        const json found = run_json(options + "--memory-tbps 3 " + more);
        return found["lines"][found["lines"].size() - 2]["assumed"].get<std::string>();
    };
    CHECK(memory("") ==
          "what bytes need at 3 TB/s beyond their FLOPs; weights read 1 time a pass or more: the number of "
          "microbatches is unknown");
    CHECK(memory("--batches 1") == "what bytes need at 3 TB/s beyond their FLOPs; weights read 1 time a pass");
    CHECK(memory("--pp 2 --replicas 2 --microbatches 3") ==
          "what bytes need at 3 TB/s beyond their FLOPs; weights read 6 times a pass");
}

TEST_CASE("a decoding request counts the logits that an engine samples from unless --logits says otherwise") {
    const std::string decode = "flops --config llama.json --phase forward --request 2000+38";
    const auto total = [](const json& element) { return element["flops"]["useful"]["total"]; };
    CHECK(total(run_json(decode)) == "29561948995584");
    CHECK(total(run_json(decode + " --logits last")) == "29561948995584");
    CHECK(total(run_json(decode + " --logits all")) == "31662244626432");
    // Those of each sequence, or of all together.
    const std::string packed = "flops --config llama.json --lengths 900,300 ";
    CHECK(total(run_json(packed + "--logits 30,12")) == total(run_json(packed + "--logits 42")));
    CHECK(total(run_json(packed + "--logits 900,300")) == total(run_json(packed)));
}

TEST_CASE(
    "the compare command lists how each convention differs from exact FLOPs and finds that of a dashboard's number") {
    const std::string compared = "compare --config llama.json --lengths 8192 ";
    const json all = run_json(compared);
    REQUIRE(all["conventions"].size() == floptally::conventions::all.size());
    CHECK(all["exact"] == "421651971833856");
    for (const json& line : all["conventions"]) {
        CAPTURE(line["name"].get<std::string>());
        std::int64_t sum = std::stoll(line["total"].get<std::string>());
        for (const json& term : line["terms"]) {
            sum += std::stoll(term["flops"].get<std::string>());
        }
        CHECK(std::to_string(sum) == all["exact"]);
    }
    // README's table.
    const json palm = run_json(compared + "--convention palm");
    REQUIRE(palm["conventions"].size() == 1);
    CHECK(palm["conventions"][0]["total"] == "500256517128192");
    CHECK(palm["conventions"][0]["terms"][0] ==
          json{{"name", "embedding"}, {"flops", "-25821343383552"}, {"meaning", "the look-up of tokens as a product"}});

    const json seen = run_json(compared + "--observed 492.0TFLOP/s --seconds 1 --gpus 1")["observed"];
    REQUIRE(!seen["matches"].empty());  // after it those whose executed view has QKᵀ once more, as much
    CHECK(seen["matches"][0] == json{{"name", "torch_flop_counter"}, {"view", "useful"}, {"total", "492014273560576"}});
    const std::string share = run(compared + "--observed 49.75% --seconds 1 --gpus 1 --accelerator \"H100 SXM\"").out;
    CHECK(share.find("torch_flop_counter, useful: 492 014 273 560 576") != std::string::npos);
    CHECK(share.find(" exactly                     42.63%, 421 651 971 833 856 FLOPs\n") != std::string::npos);
    const std::string none = run(compared + "--observed \"300 TFLOP\"").out;
    CHECK(none.find("is no convention's") != std::string::npos);
    CHECK(none.find(" exactly                     422 TFLOP, 421 651 971 833 856 FLOPs\n") != std::string::npos);
    CHECK(run(compared + "--observed 300TFLOP/s").err.rfind("floptally: error: seconds: is missing", 0) == 0);
    CHECK(run(compared + "--observed 300").err.rfind("floptally: error: observed: must be a number above 0", 0) == 0);
}

TEST_CASE("the plan command gives the days of a training run by exact FLOPs and by 6ND") {
    const json printed =
        run_json("plan --config llama.json --lengths 8192 --tokens 8e12 --gpus 1024 --peak-tflops 989 --mfu 40");
    CHECK(printed["tokens"] == "8000000000000");
    const double flops = 421651971833856.0 / 8192 * 8e12;
    CHECK(near(printed["exact"]["flops"], flops));
    CHECK(near(printed["exact"]["gpu_hours"], flops / (989e12 * 0.4) / 3600));
    CHECK(near(printed["exact"]["days"], flops / (989e12 * 0.4) / 86400 / 1024));
    CHECK(near(printed["6ND"]["flops"], 6 * static_cast<double>(number(printed["parameters"])) * 8e12));
    CHECK(printed["parameters"] == run_json("flops --config llama.json --lengths 8192")["parameters"]["active"]);
}

TEST_CASE("the plan command reads an MFU as 40% or 0.4 and token counts such as 15T") {
    const auto make = [](const std::string& said) {
        return run_json("plan --config llama.json --lengths 8192 --gpus 1024 --peak-tflops 989 " + said);
    };
    const json right = make("--tokens 15000000000000 --mfu 40%");
    CHECK(near(right["mfu"], 0.4));
    CHECK(right["notes"].empty());
    CHECK(near(right["exact"]["days"], 421651971833856.0 / 8192 * 15e12 / (989e12 * 0.4) / 86400 / 1024));
    CHECK(make("--tokens 15T --mfu 0.4") == right);  // was 0.4 %: a hundred times as many days
    CHECK(make("--tokens 15000B --mfu 0.4") == right);
    CHECK(make("--tokens 15000g --mfu '40 %'") == right);
    CHECK(make("--tokens 1.5e13 --mfu 0.40") == right);
    CHECK(make("--tokens 0.015e15 --mfu 40.0%") == right);
    CHECK(make("--tokens 15000000M --mfu 0.4") == right);
    CHECK(make("--tokens 15000000000k --mfu 0.4") == right);
    CHECK(make("--tokens 0.123456789012345678e18 --mfu 1e-2%")["tokens"] == "123456789012345678");
    json bare = make("--tokens 15T --mfu 40");
    CHECK(bare["notes"] ==
          json::array({"mfu 40 is taken for 40 %; write 40%, since a bare number above 1 will be an error"}));
    bare["notes"] = json::array();
    CHECK(bare == right);
    json unsaid = make("--tokens 15T");
    CHECK(unsaid["notes"] == json::array({"mfu is taken to be 40 %, since none is given"}));
    CHECK(make("--tokens 15T --mfu 0.4%")["mfu"] == 0.004);
    CHECK(make("--tokens 15T --mfu 1")["notes"] == json::array({"mfu 1 is the whole, 100 %; one per cent is 1%"}));
    CHECK(make("--tokens 15T --mfu 0.04%")["notes"] ==
          json::array({"an MFU of 0.04 % is below 0.1 %: seconds, gpus or the peak may be in another unit"}));
    CHECK(run("plan --config llama.json --lengths 8192 --gpus 8 --peak-tflops 989 --tokens 15T --mfu 40")
              .out.find("\nnote: mfu 40 is taken for 40 %; ") != std::string::npos);
}

TEST_CASE("the plan command shows how many hours a run loses to checkpoints, restarts and data, and their price") {
    const std::string base =
        "plan --config llama.json --lengths 8192 --gpus 1024 --peak-tflops 989 --tokens 15T --mfu 40% ";
    const json plain = run_json(base);
    CHECK_FALSE(plain.contains("goodput"));
    CHECK_FALSE(plain["exact"].contains("price"));
    const json output = run_json(base +
                                 "--spent checkpoint=60s/1h --spent restart=20m/12h,lost=0.5h/0.5d --spent data=2% "
                                 "--price 2.5");
    const double wall = 1 + 60.0 / 3600 + 20.0 / 720 + 0.5 / 12 + 0.02;
    CHECK(near(output["goodput"], 1 / wall));
    CHECK(near(output["wall_mfu"], 0.4 / wall));
    CHECK(near(output["spent"]["lost"], 0.5 / 12 / wall));
    CHECK(output["exact"]["days"] == plain["exact"]["days"]);
    CHECK(near(output["exact"]["wall_days"], plain["exact"]["days"].get<double>() * wall));
    CHECK(near(output["6ND"]["price"], plain["6ND"]["gpu_hours"].get<double>() * wall * 2.5));
    CHECK(near(run_json(base + "--price 2.5")["exact"]["price"], plain["exact"]["gpu_hours"].get<double>() * 2.5));
    const std::string table = run(base + "--spent data=2% --price 2").out;
    CHECK(table.find("steps (goodput)              98.04 %") != std::string::npos);
    CHECK(table.find(" at 2 an hour of a GPU\n") != std::string::npos);
}

TEST_CASE("the mfu command notes an MFU that is implausibly low or high") {
    const auto notes = [](const std::string& said) {
        return run_json("mfu --config llama.json --lengths 8192 --gpus 1 --accelerator 'H100 SXM' " + said)["notes"];
    };
    CHECK(notes("--seconds 1").empty());
    CHECK(notes("--seconds 1 --precision bf16-mixed").empty());
    CHECK(notes("--seconds 0.4").size() == 1);
    // 421.65 TFLOP, and milliseconds for seconds.
    CHECK(notes("--seconds 1000") ==
          json::array({"an MFU of 0.0426 % is below 0.1 %: seconds, gpus or the peak may be in another unit"}));
    // A decode step waits for memory.
    CHECK(run_json("mfu --config llama.json --new-tokens 1@100 --phase forward --gpus 1 --accelerator 'H100 SXM' "
                   "--seconds 0.02")["notes"]
              .empty());
}

// ---- the rest ----

TEST_CASE("the options --version and --help print the version and the usage") {
    const std::string version = run_json("models")["version"];
    CHECK(run("--version").out == "floptally " + version + "\n");
    for (const char* help : {"--help", "-h"}) {
        const outcome result = run(help);
        CHECK(result.status == 0);
        CHECK(result.err.empty());
        for (const char* command : {"flops", "mfu", "models", "accelerators", "conventions"}) {
            CHECK(result.out.find(command) != std::string::npos);
        }
    }
}

TEST_CASE("--help of every command explains its options") {
    struct row {
        const char* command;
        std::vector<std::string> options;
    };
    const std::vector<std::string> counting{"--config",
                                            "--lengths",
                                            "--lengths-file",
                                            "--cu-seqlens",
                                            "--cu-seqlens-padded",
                                            "--cu-seqlens-real",
                                            "--num-real-seqs",
                                            "--new-tokens",
                                            "--encoder-lengths",
                                            "--convention",
                                            "--phase",
                                            "--recompute",
                                            "--mtp",
                                            "--mla",
                                            "--format"};
    std::vector<std::string> measuring = counting;
    for (const char* option : {"--seconds", "--gpus", "--accelerator", "--peak-tflops", "--precision"}) {
        measuring.emplace_back(option);
    }
    std::vector<std::string> taking_apart = measuring;
    for (const char* option : {"--apart", "--rank-work", "--idle-gpus", "--tile", "--pp", "--vpp", "--microbatches",
                               "--schedule", "--memory-tbps", "--batches"}) {
        taking_apart.emplace_back(option);
    }
    std::vector<std::string> changing = taking_apart;
    for (const char* option : {"--component-times", "--trace", "--modules"}) {
        taking_apart.emplace_back(option);
    }
    for (const char* option : {"--then-recompute", "--then-pp", "--then-schedule", "--then-gpus", "--then-apart"}) {
        changing.emplace_back(option);
    }
    for (const row& r :
         {row{"flops", counting}, row{"mfu", measuring},
          row{"compare", {"--config", "--lengths", "--convention", "--observed", "--log", "--seconds", "--gpus"}},
          row{"bytes", {"--config", "--batches", "--weight-bits", "--cache-bits", "--memory-tbps", "--seconds"}},
          row{"expect",
              {"--config", "--lengths", "--accelerator", "--gpus", "--precision", "--mfu", "--seconds", "--nearest",
               "--all"}},
          row{"waterfall", taking_apart}, row{"whatif", changing},
          row{"plan", {"--config", "--lengths", "--tokens", "--mfu", "--gpus"}}, row{"models", {"--format"}},
          row{"accelerators", {"--format"}}, row{"conventions", {"--format"}}}) {
        for (const char* help : {" --help", " -h", " --help --format json"}) {
            INFO(r.command << help);
            const outcome result = run(std::string(r.command) + help);
            CHECK(result.status == 0);
            CHECK(result.err.empty());
            for (const std::string& option : r.options) {
                INFO(option);
                CHECK(result.out.find(option + " ") != std::string::npos);
            }
        }
    }
}

TEST_CASE("the commands models, accelerators and conventions list the same names as a table and as JSON") {
    struct row {
        const char* command;
        bool has_names;  ///< objects with a name, not plain strings
        const char* known;
    };
    for (const row& r : {row{"models", false, "gpt_oss"}, row{"accelerators", true, "H100 SXM"},
                         row{"conventions", true, "megatron"}}) {
        INFO(r.command);
        const json report = run_json(r.command);
        CHECK(report.contains("version"));
        const std::string table = run(r.command).out;
        bool known = false;
        for (const json& entry : report[r.command]) {
            const std::string name = r.has_names ? entry["name"] : entry;
            INFO(name);
            CHECK(("\n" + table).find("\n" + name) != std::string::npos);
            known = known || name == r.known;
        }
        CHECK(known);
        CHECK(report.size() == (std::string_view(r.command) == "models" ? 3 : 2));
    }
    CHECK(run_json("models")["models"].back() == "floptally");
    CHECK(run_json("models")["specs"]["llama"] == "include/floptally/models/llama.spec");
    CHECK_FALSE(run_json("models")["specs"].contains("floptally"));  // a format, no spec
    CHECK(run("models").out.find("include/floptally/models/gpt_oss.spec\n") != std::string::npos);
    const json report = run_json("accelerators");
    for (const json& part : report["accelerators"]) {
        CHECK(part["source"]["url"].get<std::string>().starts_with("https://"));
        // A part without a published rate is known by its name alone.
        const std::string name = part["name"];
        const bool has_no_rate =
            name.ends_with(" variant") || name == "Apple GPU" || name == "MI308X" || name == "MI455X";
        CHECK(part["dense_tflops"].empty() == has_no_rate);
        for (const json& memory : part["memory"]) {
            CHECK(memory["source"]["url"].get<std::string>().starts_with("https://"));
        }
        if (part["name"] == "A100 SXM") {  // of 40 GB and 80 GB, as the driver says and as it said before
            CHECK(part["memory"].size() == 4);
            CHECK(part["memory"][0]["tbps"] == 1.555);
        }
    }
    CHECK(run("accelerators").out.find("    3.35    80\n") != std::string::npos);
}

}  // namespace program_test
