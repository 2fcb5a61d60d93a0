#include "base/temporary.hpp"

#include "base/file.hpp"
#include "catch.hpp"
#include "temporary_folder.hpp"

#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace {

// A process that is killed while it writes a file and a folder called `target`.
void leave_half_written(const fs::path &target) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        std::string file, folder;
        if (lamina::create_temporary_file(target, file) < 0 || lamina::create_temporary_folder(target, folder) < 0 ||
            ::symlink("/", (fs::path(folder) / "link").c_str()) != 0)
            _exit(1);
        std::raise(SIGKILL);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
}

std::ptrdiff_t entries(const TemporaryFolder &folder) {
    return std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator());
}

} // namespace

TEST_CASE("temporary: what a killed process left is removed by the next writer of the same place") {
    const TemporaryFolder folder;
    const fs::path target = folder.path() / "model.bin";
    leave_half_written(target);
    leave_half_written(folder.path() / "other");
    REQUIRE(entries(folder) == 4);
    lamina::write_file(target, "whole");
    CHECK(entries(folder) == 3); // the other place's writer cleans up there
    CHECK(folder.read("model.bin") == "whole");
    lamina::write_file(folder.path() / "other", "whole");
    CHECK(entries(folder) == 2);
}

TEST_CASE("temporary: what another writer is using stays, and so do files of other names") {
    const TemporaryFolder folder;
    const fs::path target = folder.path() / "f";
    for (const char *name : {"f.tmp", "f.1-1.tmp.txt", "f.x-1.tmp", "g.1-1.tmp", "ff.1-1.tmp"}) folder.write(name, "");
    lamina::FileWriter first(target);
    first.write("first");
    std::string name;
    const int held = lamina::create_temporary_folder(target, name);
    REQUIRE(held >= 0);
    lamina::write_file(target, "second");
    CHECK(folder.read("f") == "second");
    CHECK(fs::is_directory(name));
    first.commit();
    CHECK(folder.read("f") == "first");
    ::close(held); // nobody uses the folder any more
    lamina::write_file(target, "third");
    CHECK_FALSE(fs::exists(name));
    CHECK(entries(folder) == 6);
}
