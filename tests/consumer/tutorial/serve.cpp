// SPDX-License-Identifier: Apache-2.0
// serve.cpp
#include <arpa/inet.h>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/meter.hpp>

namespace {

std::mutex guard;
std::string page;  // the counters after the last step

/// Answers every request with `page`. A trainer that has a web server needs none of this.
void serve(std::uint16_t port) {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    const int yes = 1;  // also right after the last run
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 || listen(listener, 8) != 0) {
        std::perror("no metrics are served");
        return;
    }
    for (;;) {
        const int reader = accept(listener, nullptr, nullptr);
        char request[4096];
        static_cast<void>(recv(reader, request, sizeof(request), 0));
        std::string answer = "HTTP/1.0 200 OK\r\nContent-Type: application/openmetrics-text; version=1.0.0\r\n\r\n";
        {
            const std::lock_guard lock(guard);
            answer += page;
        }
        static_cast<void>(send(reader, answer.data(), answer.size(), MSG_NOSIGNAL));
        close(reader);
    }
}

}  // namespace

int main() {
    using namespace floptally;
    meter steps(presets::mistral_7b, {.recomputed = recompute::none}, accelerator_named("NVIDIA H100 80GB HBM3"));
    const std::vector<std::int32_t> cu_seqlens{0, 700, 6000, 8100, 8192};
    page = to_open_metrics(steps, "night 7");
    std::thread(serve, std::uint16_t{9400}).detach();

    for (;;) {
        steps.begin_step();
        steps.microbatch().add_cu_seqlens(cu_seqlens, cu_seqlens, 3);
        std::this_thread::sleep_for(std::chrono::milliseconds(900));  // train here
        steps.end_step();

        const std::lock_guard lock(guard);
        page = to_open_metrics(steps, "night 7");
    }
}
