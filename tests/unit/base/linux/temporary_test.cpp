#include "base/temporary.hpp"

#include "base/file.hpp"
#include "catch.hpp"
#include "temporary_folder.hpp"

#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;
using lamina::Temporary;

namespace {

// A process that is killed while it writes a file and a folder called `target`.
void leave_half_written(const fs::path &target) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        const Temporary file(target, Temporary::Kind::file), folder(target, Temporary::Kind::folder);
        fs::create_symlink("/", folder.path() / "link");
        std::raise(SIGKILL);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
}

} // namespace

TEST_CASE("temporary: what a killed process left is removed by the next writer of the same place") {
    const TemporaryFolder folder;
    const fs::path target = folder.path() / "model.bin";
    leave_half_written(target);
    leave_half_written(folder.path() / "other");
    REQUIRE(folder.entries() == 4);
    lamina::write_file(target, "whole");
    CHECK(folder.entries() == 3); // the other place's writer cleans up there
    CHECK(folder.read("model.bin") == "whole");
    lamina::write_file(folder.path() / "other", "whole");
    CHECK(folder.entries() == 2);
}
