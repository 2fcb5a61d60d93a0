#include "base/file.hpp"

#include "catch.hpp"
#include "temporary_folder.hpp"

#include <csignal>

#include <sys/resource.h>
#include <sys/stat.h>

namespace fs = std::filesystem;
using lamina::FileReader;
using lamina::FileWriter;
using lamina::read_file;
using lamina::write_file;
using matchers::contains;

TEST_CASE("file: the limit holds for files that do not know their size") {
    CHECK_THAT(message_of([] { (void)read_file("/dev/zero", 10000); }),
               contains("larger than the limit of 10000 bytes"));
}

TEST_CASE("file: if only ordinary files are allowed, pipes and devices are refused without waiting") {
    const TemporaryFolder folder;
    const auto read = [](const fs::path &file) { (void)read_file(file, UINT64_MAX, FileReader::Kind::ordinary); };
    REQUIRE(::mkfifo((folder.path() / "pipe").c_str(), 0600) == 0);
    CHECK_THAT(message_of([&] { read(folder.path() / "pipe"); }),
               contains("pipe: is a pipe; expected an ordinary file"));
    CHECK_THAT(message_of([&] { read("/dev/zero"); }), contains("/dev/zero: is a device; expected an ordinary file"));
    CHECK_THAT(message_of([&] { read(folder.path()); }), contains("is a folder; expected a file"));
    folder.write("real", "text");
    fs::create_symlink("real", folder.path() / "link");
    CHECK_NOTHROW(read(folder.path() / "link"));
}

TEST_CASE("file: a full disk is an error with the system's reason, and nothing is left") {
    CHECK_THAT(message_of([] { write_file("/dev/full", "x"); }),
               contains("/dev/full: cannot be written: No space left on device"));
    const TemporaryFolder folder;
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    const rlimit small{1000, before.rlim_max};
    const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
    const std::string message = message_of([&] {
        FileWriter out(folder.path() / "f");
        for (int i = 0; i < 2; ++i) out.write(std::string(600, 'x'));
        out.commit();
    });
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, ignored);
    CHECK_THAT(message, contains("f: cannot be written: File too large"));
    CHECK(folder.entries() == 0);
}

TEST_CASE("file: a device is written to, not replaced") {
    write_file("/dev/null", "gone");
    CHECK(fs::is_character_file("/dev/null"));
}
TEST_CASE("file: a device may be endless") {
    FileReader endless("/dev/zero");
    CHECK(endless.read(100000).size() == 100000);
}

TEST_CASE("file: a writer that replaces writes neither to a pipe nor through a link") {
    const TemporaryFolder folder;
    folder.write("real", "old");
    fs::create_symlink("real", folder.path() / "link");
    REQUIRE(::mkfifo((folder.path() / "pipe").c_str(), 0600) == 0);
    for (const char *name : {"link", "pipe"}) {
        write_file(folder.path() / name, "new", FileWriter::Existing::replace);
        CHECK(fs::is_regular_file(fs::symlink_status(folder.path() / name)));
        CHECK(folder.read(name) == "new");
    }
    CHECK(folder.read("real") == "old");
}

TEST_CASE("file: a link stays a link, and what it points to is replaced") {
    const TemporaryFolder folder;
    folder.write("real", "old");
    fs::create_symlink("real", folder.path() / "link");
    write_file(folder.path() / "link", "new");
    CHECK(fs::is_symlink(folder.path() / "link"));
    CHECK(folder.read("real") == "new");
}
