#include "base/temporary.hpp"

#include "base/file.hpp"
#include "catch.hpp"
#include "temporary_folder.hpp"

#include <optional>

namespace fs = std::filesystem;
using lamina::Temporary;

TEST_CASE("temporary: what another writer is using stays, and so do files of other names") {
    const TemporaryFolder folder;
    const fs::path target = folder.path() / "f";
    for (const char *name : {"f.tmp", "f.1-1.tmp.txt", "f.x-1.tmp", "g.1-1.tmp", "ff.1-1.tmp"}) folder.write(name, "");
    lamina::FileWriter first(target);
    first.write("first");
    std::optional<Temporary> held(std::in_place, target, Temporary::Kind::folder);
    const fs::path name = held->path();
    lamina::write_file(target, "second");
    CHECK(folder.read("f") == "second");
    CHECK(fs::is_directory(name));
    first.commit();
    CHECK(folder.read("f") == "first");
    held.reset(); // nobody uses the folder any more
    fs::create_directory(name);
    lamina::write_file(target, "third");
    CHECK_FALSE(fs::exists(name));
    CHECK(folder.entries() == 6);
}

TEST_CASE("temporary: a folder gets its final name with what it holds") {
    const TemporaryFolder folder;
    {
        Temporary temporary(folder.path() / "model", Temporary::Kind::folder);
        lamina::write_file(temporary.path() / "weights", "1 2 3");
        temporary.rename();
    }
    CHECK(folder.read("model/weights") == "1 2 3");
    CHECK(folder.entries() == 1);
}
