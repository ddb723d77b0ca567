// SPDX-License-Identifier: Apache-2.0
//
// Which mutant runs, from FLOPTALLY_ACTIVE_MUTANT, and a line for each test case that passes to the file of
// FLOPTALLY_REACHED: its file, its seconds of a processor, the mutants that it reached, its name.

#include "mutants.hpp"

#include <cstdio>
#include <cstdlib>
#include <ctime>

#if __has_include(<catch2/reporters/catch_reporter_event_listener.hpp>)
#include <catch2/catch_test_case_info.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
using event_listener = Catch::EventListenerBase;
#else
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>
using event_listener = Catch::TestEventListenerBase;
#endif

namespace floptally_mutants {
namespace {

constexpr int most = 20000;

int active_mutant() {
    const char* text = std::getenv("FLOPTALLY_ACTIVE_MUTANT");
    return text == nullptr ? 0 : std::atoi(text);
}

/// Writes the line of each case. What was reached before the first case, by constants of a file, is of every case.
class notes : public event_listener {
  public:
    using event_listener::event_listener;

    void testCaseStarting(const Catch::TestCaseInfo&) override {
        if (!has_begun_) {
            for (int mutant = 0; mutant < most; ++mutant) {
                always_[mutant] = reached[mutant];
            }
            has_begun_ = true;
        }
        for (int mutant = 0; mutant < most; ++mutant) {
            reached[mutant] = always_[mutant];
        }
        begin_ = std::clock();
    }
    void testCaseEnded(const Catch::TestCaseStats& stats) override {
        const char* path = std::getenv("FLOPTALLY_REACHED");
        std::FILE* file = path == nullptr || stats.totals.assertions.failed != 0 ? nullptr : std::fopen(path, "a");
        if (file == nullptr) {
            return;
        }
        std::fprintf(file, "%s\t%.4f\t", stats.testInfo.lineInfo.file,
                     static_cast<double>(std::clock() - begin_) / CLOCKS_PER_SEC);
        for (int mutant = 0; mutant < most; ++mutant) {
            if (reached[mutant] != 0) {
                std::fprintf(file, "%d ", mutant);
            }
        }
        std::fprintf(file, "\t%s\n", stats.testInfo.name.c_str());
        std::fclose(file);
    }

  private:
    bool has_begun_ = false;
    unsigned char always_[most]{};
    std::clock_t begin_ = 0;
};
CATCH_REGISTER_LISTENER(notes)

}  // namespace

const int active = active_mutant();
unsigned char reached[most]{};

}  // namespace floptally_mutants
