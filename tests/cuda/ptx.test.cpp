// SPDX-License-Identifier: Apache-2.0
//
// The interpreter of PTX that runs the tests for a GPU on the host: what instructions do at their edges, and what it
// refuses instead of guessing.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "../catch2.hpp"
#include "on_host/ptx_machine.hpp"

namespace ptx_test {
namespace {

std::vector<std::uint64_t> memory;

bool is_in_memory(std::uintptr_t address, std::size_t bytes) {
    const auto first = reinterpret_cast<std::uintptr_t>(memory.data());
    return address >= first && address + bytes <= first + memory.size() * sizeof(memory[0]);
}

/// Runs `body`, which finds the address of `memory` in %rd0, and as many accumulators of shared memory in
/// `accumulators`.
void run(const std::string& body, std::uint32_t threads = 1) {
    const std::string program =
        ".version 9.0\n.target sm_80\n.address_size 64\n"
        ".extern .shared .align 16 .b8 accumulators[];\n"
        ".visible .entry test(\n.param .u64 .ptr .align 8 test_param_0\n)\n{\n"
        ".reg .pred %p<9>;\n.reg .b16 %rs<9>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .f64 %fd<9>;\n"
        "ld.param.u64 %rd0, [test_param_0];\n" +
        body + "\nret;\n}\n";
    const std::vector<ptx::kernel> kernels = ptx::read_program(program);
    std::uint64_t* argument = memory.data();
    void* arguments[] = {&argument};
    while (!ptx::running_kernel(kernels.at(0), 1, threads, 8 * threads, arguments, is_in_memory).run(1'000'000)) {
    }
}

/// The value of %rd1 after `instruction`.
std::uint64_t result_of(const std::string& instruction) {
    memory.assign(4, 0);
    run(instruction + "\nst.global.u64 [%rd0+8], %rd1;");
    return memory[1];
}

std::string refusal_of(const std::string& body, std::uint32_t threads = 1) {
    memory.assign(4, 0);
    try {
        run(body, threads);
    } catch (const std::runtime_error& problem) {
        return problem.what();
    }
    return "no error";
}

}  // namespace

TEST_CASE("emulated PTX instructions are correct at their edge cases") {
    CHECK(result_of("mov.u32 %r1, -1; cvt.u64.u32 %rd1, %r1;") == 0xFFFF'FFFFU);
    CHECK(result_of("mov.u32 %r1, -1; cvt.s64.s32 %rd1, %r1;") == ~std::uint64_t{0});
    CHECK(result_of("mov.u64 %rd2, -8; shr.s64 %rd1, %rd2, 70;") == ~std::uint64_t{0});
    CHECK(result_of("mov.u64 %rd2, -8; shr.u64 %rd1, %rd2, 64;") == 0);
    CHECK(result_of("mov.u64 %rd2, 1; shl.b64 %rd1, %rd2, 64;") == 0);
    CHECK(result_of("mov.u32 %r1, -3; mul.wide.s32 %rd1, %r1, 5;") == static_cast<std::uint64_t>(-15));
    CHECK(result_of("mov.u64 %rd2, -1; mul.hi.u64 %rd1, %rd2, %rd2;") == ~std::uint64_t{0} - 1);
    CHECK(result_of("mov.u64 %rd2, -1; add.cc.s64 %rd3, %rd2, 1; addc.s64 %rd1, 0, 0;") == 1);
    CHECK(result_of("mov.u64 %rd2, 3; sub.cc.s64 %rd3, %rd2, 4; subc.s64 %rd1, 9, 2;") == 6);
    CHECK(result_of("mov.u64 %rd2, 4; sub.cc.s64 %rd3, %rd2, 4; subc.s64 %rd1, 9, 2;") == 7);
    CHECK(result_of("mov.u64 %rd2, 0; sub.cc.s64 %rd3, %rd2, 1; subc.cc.s64 %rd4, 2, 2; subc.s64 %rd1, 5, 0;") == 4);
    CHECK(result_of("mov.u64 %rd2, 0xFF00; mov.u64 %rd3, 5; bfi.b64 %rd1, %rd3, %rd2, 8, 4;") == 0xF500);
    CHECK(result_of("mov.u64 %rd2, 0x500000007; mov.b64 {%r1, %r2}, %rd2; mov.b64 %rd1, {%r2, %r1};") == 0x7'0000'0005);
    CHECK(result_of("mov.f64 %fd1, 0d4004000000000000; cvt.rzi.u64.f64 %rd1, %fd1;") == 2);
    CHECK(result_of("mov.u64 %rd2, 7; min.s64 %rd1, %rd2, -2;") == static_cast<std::uint64_t>(-2));
    CHECK(result_of("setp.lt.u64 %p1, 2, 1; mov.u64 %rd1, 3; @%p1 mov.u64 %rd1, 4; @!%p1 add.s64 %rd1, %rd1, 6;") == 9);
    CHECK(result_of("mov.u64 %rd2, 5; st.global.u64 [%rd0], %rd2; atom.global.cas.b64 %rd1, [%rd0], 5, 8;"
                    "ld.global.u64 %rd3, [%rd0]; add.s64 %rd1, %rd1, %rd3;") == 13);
    CHECK(result_of("mov.u64 %rd1, 0; $again: add.s64 %rd1, %rd1, 1; setp.ne.s64 %p1, %rd1, 1000; @%p1 bra $again;") ==
          1000);
}

TEST_CASE("the PTX emulator makes the threads of a block wait at barriers") {
    // Each thread writes its number, and after the barrier reads that of its neighbour; then the sum over the warp.
    memory.assign(4, 0);
    run("mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 3; mov.u32 %r3, accumulators; add.s32 %r2, %r2, %r3;"
        "cvt.u64.u32 %rd1, %r1; st.shared.u64 [%r2], %rd1; bar.sync 0;"
        "xor.b32 %r4, %r1, 63; shl.b32 %r4, %r4, 3; add.s32 %r4, %r4, %r3; ld.shared.u64 %rd2, [%r4];"
        "cvt.u32.u64 %r5, %rd2;"
        "shfl.sync.down.b32 %r6|%p1, %r5, 16, 31, -1; add.s32 %r5, %r5, %r6;"
        "shfl.sync.bfly.b32 %r6|%p1, %r5, 8, 31, -1; add.s32 %r5, %r5, %r6;"
        "shfl.sync.down.b32 %r6|%p1, %r5, 4, 31, -1; add.s32 %r5, %r5, %r6;"
        "shfl.sync.down.b32 %r6|%p1, %r5, 2, 31, -1; add.s32 %r5, %r5, %r6;"
        "shfl.sync.down.b32 %r6|%p1, %r5, 1, 31, -1; add.s32 %r5, %r5, %r6;"
        "cvt.u64.u32 %rd3, %r5; setp.eq.s32 %p2, %r1, 0; @%p2 st.global.u64 [%rd0], %rd3;"
        "setp.eq.s32 %p2, %r1, 32; @%p2 st.global.u64 [%rd0+8], %rd3;",
        64);
    CHECK(memory[0] == (32 + 63) * 16);
    CHECK(memory[1] == 31 * 16);

    CHECK(refusal_of("mov.u32 %r1, %tid.x; setp.eq.s32 %p1, %r1, 3; @%p1 ret; bar.sync 0;", 32) ==
          "threads of block 0 wait for ever: not all of them came to the same place");
}

TEST_CASE("the PTX emulator refuses unknown and invalid instructions") {
    CHECK(refusal_of("popc.b64 %r1, %rd0;") == "PTX: an instruction that is not known: popc.b64 %r1, %rd0");
    CHECK(refusal_of("add.rz.f64 %fd1, %fd1, %fd1;") ==
          "PTX: an instruction that is not known: add.rz.f64 %fd1, %fd1, %fd1");
    CHECK(refusal_of("mov.u32 %r1, %tid.y;") == "PTX: a name that is not known: mov.u32 %r1, %tid.y");
    CHECK(refusal_of("mov.u64 %rd1, %clock64;") == "PTX: a name that is not known: mov.u64 %rd1, %clock64");
    CHECK(refusal_of(".local .align 8 .b8 depot[16];") ==
          "PTX: a directive that is not known: .local .align 8 .b8 depot[16]");
    CHECK(refusal_of("bra $nowhere;") == "PTX: a label that is not there: $nowhere");
    CHECK(refusal_of("ld.global.u64 %rd1, [%rd0+32];") ==
          "block 0, thread 0, ld.global.u64 %rd1, [%rd0+32]: an address outside every allocation of the device");
    CHECK(refusal_of("ld.global.u64 %rd1, [%rd0+4];") ==
          "block 0, thread 0, ld.global.u64 %rd1, [%rd0+4]: an address that is not aligned to 8 bytes");
    CHECK(refusal_of("ld.global.v2.u32 {%r1, %r2}, [%rd0+4];") ==
          "block 0, thread 0, ld.global.v2.u32 {%r1, %r2}, [%rd0+4]: an address that is not aligned to 8 bytes");
    CHECK(refusal_of("mov.u32 %r1, accumulators; st.shared.u64 [%r1+8], %rd0;") ==
          "block 0, thread 0, st.shared.u64 [%r1+8], %rd0: shared memory: 8 bytes at 8 of 8");
}

}  // namespace ptx_test
