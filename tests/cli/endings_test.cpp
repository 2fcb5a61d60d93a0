// What may end a run early, or be in its way: signals, limits, full disks, closed streams, other processes.
#include "catch.hpp"
#include "process.hpp"
#include "temporary_folder.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <csignal>
#include <memory>
#include <random>
#include <sys/resource.h>
#include <thread>

namespace fs = std::filesystem;

namespace {

constexpr auto vulkan_line = "vulkan\tV AH1 L K AH0 N\n";

const std::vector<std::string> run_vulkan{"run", g2p(), "vulkan", "--device", "cpu", "--quiet"};

std::map<std::string, std::string> cache_in(const TemporaryFolder &folder) {
    return {{"XDG_CACHE_HOME", (folder.path() / "cache").string()}};
}

} // namespace

TEST_CASE("a run that is killed at any moment harms no later one") {
    const TemporaryFolder folder;
    std::minstd_rand random(1);
    for (int again = 0; again < 4; ++again)
        for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
            Running run({"run", g2p(), "--device", "cpu", "--quiet"}, {.environment = cache_in(folder)});
            run.write("vulkan\n");
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 200'000));
            CHECK(run.finish(signal) == 128 + signal);
        }
    const Finished f = run_lamina(run_vulkan, {.environment = cache_in(folder)});
    CHECK(f.status == 0);
    CHECK(f.out == vulkan_line);
    CHECK(f.err.empty());
}

TEST_CASE("eight processes share a cold cache") {
    const TemporaryFolder folder;
    std::vector<std::unique_ptr<Running>> all;
    for (int i = 0; i < 8; ++i) {
        all.push_back(std::make_unique<Running>(std::vector<std::string>{"run", g2p(), "--device", "cpu", "--quiet"},
                                                Surroundings{.environment = cache_in(folder)}));
        all.back()->write("vulkan\n");
    }
    for (const auto &each : all) CHECK(each->line() + "\n" == vulkan_line);
    for (const auto &each : all) CHECK(each->finish() == 0);
    size_t files = 0;
    for (const auto &entry : fs::directory_iterator(folder.path() / "cache" / "lamina")) {
        CHECK(entry.path().extension() == ".json"); // and no temporary file
        CHECK(nlohmann::json::accept(folder.read(fs::relative(entry.path(), folder.path()))));
        ++files;
    }
    CHECK(files != 0);
}

TEST_CASE("a cache that cannot be written is reported once, and the run succeeds") {
    const Finished f = run_lamina({"run", g2p(), "vulkan", "transformer", "--device", "cpu"},
                                  {.environment = {{"XDG_CACHE_HOME", "/dev/null"}}});
    CHECK(f.status == 0);
    CHECK_THAT(f.out, matchers::contains("V AH1 L K AH0 N"));
    const std::vector<std::string> lines = lines_of(f.err);
    REQUIRE(lines.size() == 2); // the first names the device
    CHECK_THAT(lines[1], matchers::contains("what was proved is not remembered: /dev/null/lamina"));
}

TEST_CASE("a full disk is an error, and nothing half written is left") {
    const TemporaryFolder folder;
    const fs::path made = folder.path() / "made";
    const Finished f = run_lamina({"convert", g2p(), made.string()}, {.limits = {{RLIMIT_FSIZE, 100'000}}});
    CHECK(f.status == 1);
    CHECK_THAT(f.err, matchers::contains("cannot be written: File too large"));
    CHECK(fs::is_empty(folder.path()));
    const Finished answers = run_lamina(run_vulkan, {.out = "/dev/full"});
    CHECK(answers.status == 1);
    CHECK_THAT(answers.err, matchers::contains("cannot write to stdout: No space left on device"));
    CHECK(run_lamina(run_vulkan, {.err = "/dev/full"}).out == vulkan_line);
}

TEST_CASE("streams that are closed do no harm, but answers that nobody can get are an error") {
    const TemporaryFolder folder;
    const auto without = [&](std::vector<int> streams, std::vector<std::string> arguments) {
        return run_lamina(arguments, {.environment = cache_in(folder), .closed = std::move(streams)});
    };
    CHECK(without({0}, run_vulkan).out == vulkan_line);
    CHECK(without({2}, run_vulkan).out == vulkan_line);
    CHECK(without({0, 2}, run_vulkan).out == vulkan_line);
    const Finished unheard = without({1}, run_vulkan);
    CHECK(unheard.status == 1);
    CHECK_THAT(unheard.err, matchers::contains("cannot write to stdout: Bad file descriptor"));
    CHECK(without({0, 1, 2}, run_vulkan).status == 1);
    const Finished nothing = without({0}, {"run", g2p(), "--device", "cpu", "--quiet"});
    CHECK(nothing.status == 3);
    CHECK_THAT(nothing.err, matchers::contains("cannot read stdin: Bad file descriptor"));
}

#ifndef __SANITIZE_ADDRESS__ // which needs terabytes of addresses
TEST_CASE("whatever the limit of memory, a run succeeds or says that memory is short") {
    const TemporaryFolder folder;
    size_t succeeded = 0;
    for (const uint64_t mib : {12, 16, 20, 24, 32, 48, 64, 80, 96, 128, 192, 256, 384, 1024}) {
        const Finished f =
            run_lamina(run_vulkan, {.environment = cache_in(folder), .limits = {{RLIMIT_AS, mib << 20}}});
        INFO(mib << " MiB: status " << f.status << ", " << f.err);
        // 127: the libraries do not fit. 134: they do, and hardly anything else, before main() can say so.
        CHECK((f.status == 0 || f.status == 5 || f.status == 127 || (f.status == 134 && mib < 16)));
        if (f.status == 0) CHECK(f.out == vulkan_line);
        if (f.status == 5) CHECK_THAT(f.err, matchers::contains("memory"));
        succeeded += f.status == 0 ? 1 : 0;
    }
    CHECK(succeeded != 0);
    CHECK(run_lamina(run_vulkan, {.environment = cache_in(folder)}).out == vulkan_line); // and nothing is barred
}
#endif

TEST_CASE("many lines take no more memory than a few, whether short or long") {
    const TemporaryFolder folder;
    const std::string tokens = folder.write("tokens", "<pad>\n<s>\n</s>\na\nb\n").string();
    const auto model = [&](const std::string &width) { // those of width 8 answer 10,000 short lines in a second
        const std::string path = (folder.path() / width).string();
        const Finished f =
            run_lamina({"init", path, "--arch", "decoder", "--d-model", width, "--heads", "1", "--layers", "1", "--ffn",
                        "8", "--split", "characters", "--target-vocab", tokens, "--max-length", "2"});
        REQUIRE(f.status == 0);
        return path;
    };
    const auto most_kib = [&](const std::string &path, size_t lines, const std::string &line = "ab") {
        std::string input;
        for (size_t i = 0; i < lines; ++i) input += line + "\n";
        const Finished f = run_lamina({"run", path, "--device", "cpu", "--quiet"}, {.input = input});
        CHECK(f.status == 0);
        CHECK(lines_of(f.out).size() == lines);
        return f.most_kib;
    };
    const std::string tiny = model("8"), wide = model("128");
    CHECK(most_kib(tiny, 100'000) < most_kib(tiny, 2000) + 4096);
    CHECK(most_kib(g2p(), 6000) < most_kib(g2p(), 2000) + 4096);
    // 192 such lines have 600 MB of keys and values, if they are all kept. Those of a few batches may be held at once:
    // the allocator gives memory back when it pleases.
    const std::string letters(3000, 'a');
    (void)most_kib(wide, 64, letters); // proves the kernels, which takes memory, too
    CHECK(most_kib(wide, 192, letters) < most_kib(wide, 10, letters) + 131'072);
}
