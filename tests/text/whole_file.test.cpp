// SPDX-License-Identifier: Apache-2.0
//
// A file at every call of the system that a save makes: each fails once, or the process ends there.

#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <floptally/text/whole_file.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "failing_calls.hpp"

namespace whole_file_test {
namespace {

namespace fs = std::filesystem;

fs::path fresh_folder(const char* name) {
    const fs::path folder = fs::temp_directory_path() / ("floptally_" + std::string(name) + std::to_string(getpid()));
    fs::remove_all(folder);
    fs::create_directories(folder);
    return folder;
}

std::string text_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t files_in(const fs::path& folder) {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

constexpr std::size_t none = std::size_t{1} << 40U;
constexpr std::string_view before = "the state before";
constexpr std::string_view after = "another state, of another length";

std::size_t calls_of_a_save(const fs::path& file) {
    failing_calls counted(none, failing_calls::end::fails, 1);
    floptally::detail::write_whole(file, after, "path", counted);
    return counted.calls();
}

}  // namespace

TEST_CASE("a failing system call during a save is an error that keeps the old file and leaves no other file") {
    const fs::path folder = fresh_folder("failing");
    const fs::path file = folder / "state";
    floptally::write_whole(file, before, "path");
    const std::size_t calls = calls_of_a_save(folder / "other");
    fs::remove(folder / "other");
    CHECK(calls == after.size() + 6);
    for (std::size_t failing = 0; failing < calls; ++failing) {
        INFO("call " << failing);
        failing_calls files(failing, failing_calls::end::fails, 1);
        const std::string error = error_of([&] { floptally::detail::write_whole(file, after, "path", files); });
        CHECK(error == "path: cannot write \"" + file.string() + "\": No space left on device");
        CHECK(text_of(file) == (failing + 1 == calls ? after : before));  // the last call syncs the new name
        CHECK(files_in(folder) == 1);
    }
    fs::remove_all(folder);
}

TEST_CASE("a process killed during a save leaves either the old or the new file") {
    const fs::path folder = fresh_folder("killed");
    const fs::path file = folder / "state";
    const std::size_t calls = calls_of_a_save(file);
    std::size_t new_ones = 0;
    for (const auto how : {failing_calls::end::killed_before, failing_calls::end::killed_after}) {
        for (std::size_t last = 0; last < calls; ++last) {
            INFO("call " << last);
            floptally::write_whole(file, before, "path");
            const pid_t child = ::fork();
            if (child == 0) {
                failing_calls files(last, how, 1);
                floptally::detail::write_whole(file, after, "path", files);
                ::_exit(0);
            }
            int status = 0;
            REQUIRE(::waitpid(child, &status, 0) == child);
            CHECK(WIFSIGNALED(status));
            const std::string left = text_of(file);
            const bool has_its_name = last + (how == failing_calls::end::killed_before ? 1U : 2U) >= calls;
            CHECK(left == (has_its_name ? after : before));
            new_ones += left == after ? 1U : 0U;
        }
    }
    CHECK(new_ones == 3);
    fs::remove_all(folder);
}

TEST_CASE("a full disk during a save is an error that keeps the old file and leaves no other file") {
    const fs::path folder = fresh_folder("full");
    const fs::path file = folder / "state";
    const std::string large(20'000, 'x');
    floptally::write_whole(file, before, "path");
    for (const std::size_t room :
         {std::size_t{0}, std::size_t{1}, std::size_t{4095}, std::size_t{4096}, std::size_t{19'999}}) {
        const pid_t child = ::fork();
        if (child == 0) {
            ::signal(SIGXFSZ, SIG_IGN);
            const rlimit most{room, room};
            const bool is_limited = ::setrlimit(RLIMIT_FSIZE, &most) == 0;
            const std::string error = error_of([&] { floptally::write_whole(file, large, "path"); });
            ::_exit(is_limited && error == "path: cannot write \"" + file.string() + "\": File too large" ? 0 : 1);
        }
        int status = 1;
        REQUIRE(::waitpid(child, &status, 0) == child);
        INFO(room << " bytes");
        CHECK(status == 0);
        CHECK(text_of(file) == before);
        CHECK(files_in(folder) == 1);
    }
    floptally::write_whole(file, large, "path");
    CHECK(text_of(file) == large);
    fs::remove_all(folder);
}

TEST_CASE("a save writes directly to devices, follows links and keeps file modes") {
    CHECK(error_of([] { floptally::write_whole("/dev/full", "text", "path"); }) ==
          "path: cannot write \"/dev/full\": No space left on device");
    CHECK(fs::is_character_file("/dev/full"));
    floptally::write_whole("/dev/null", "text", "path");
    CHECK(fs::is_character_file("/dev/null"));
    const fs::path folder = fresh_folder("kinds");
    CHECK(error_of([&] { floptally::write_whole(folder / "no" / "state", "text", "path"); }) ==
          "path: cannot write \"" + (folder / "no" / "state").string() + "\": No such file or directory");
    CHECK(error_of([&] { floptally::write_whole(folder, "text", "path"); }) ==
          "path: cannot write \"" + folder.string() + "\": Is a directory");
    floptally::write_whole(folder / "state", before, "path");
    fs::permissions(folder / "state", fs::perms::owner_read | fs::perms::owner_write);
    fs::create_symlink("state", folder / "link");
    floptally::write_whole(folder / "link", after, "path");
    CHECK(fs::is_symlink(folder / "link"));
    CHECK(text_of(folder / "state") == after);
    CHECK(fs::status(folder / "state").permissions() == (fs::perms::owner_read | fs::perms::owner_write));
    fs::remove_all(folder);
}

}  // namespace whole_file_test
