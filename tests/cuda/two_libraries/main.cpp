// SPDX-License-Identifier: Apache-2.0
//
// A program that is linked to one such library and opens another: each launches its own kernels by its own runtime.

#include <cstdint>
#include <cstdio>
#include <dlfcn.h>
#include <initializer_list>

extern "C" {
std::uint64_t counted_tokens();
void* floptally_host_process[3];  // of both runtimes
}

int main(int /*argc*/, char** argv) {
    for (const int how : {RTLD_LOCAL, RTLD_GLOBAL}) {
        void* const opened = dlopen(argv[1], RTLD_NOW | how);
        if (opened == nullptr) {
            std::puts(dlerror());
            return 1;
        }
        const auto other = reinterpret_cast<std::uint64_t (*)()>(dlsym(opened, "counted_tokens"));
        if (counted_tokens() != 742 || other == &counted_tokens || other() != 742) {
            std::puts("a library of two does not count");
            return 1;
        }
    }
    return 0;
}
