// Models and arrays in what only Linux has: pipes, devices and links among files.
#include "model/model.hpp"
#include "model/safetensors.hpp"

#include "catch.hpp"
#include "temporary_folder.hpp"

#include <lamina/npy.hpp>

#include <array>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

using lamina::read_npy;
using lamina::model::Model;
using lamina::model::open_safetensors;
using matchers::contains;

TEST_CASE("safetensors: a pipe is not waited for") {
    const TemporaryFolder folder;
    REQUIRE(::mkfifo((folder.path() / "pipe").c_str(), 0600) == 0);
    CHECK_THAT(message_of([&] { (void)open_safetensors(folder.path() / "pipe"); }),
               contains("expected an ordinary file"));
}

TEST_CASE("model: a link may lead nowhere") {
    const TemporaryFolder other;
    std::filesystem::create_symlink("nowhere", other.path() / "model.json");
    CHECK_THAT(message_of([&] { (void)Model::load(other.path()); }), contains("model.json: No such file"));
}

TEST_CASE("npy: an array is read from a pipe without waiting for more data") {
    const auto through_a_pipe = [](const std::string &bytes, bool closed) {
        std::array<int, 2> ends{};
        REQUIRE(::pipe(ends.data()) == 0);
        std::thread writer([&] { // more than a pipe holds
            for (size_t at = 0; at < bytes.size();)
                at += static_cast<size_t>(::write(ends[1], &bytes[at], bytes.size() - at));
            if (closed) ::close(ends[1]);
        });
        std::string message;
        size_t read = 0;
        try {
            read = read_npy("/dev/fd/" + std::to_string(ends[0])).i32().size();
        } catch (const lamina::Error &e) {
            message = e.what();
        }
        writer.join();
        ::close(ends[0]);
        if (!closed) ::close(ends[1]);
        return message.empty() ? std::to_string(read) + " elements" : message;
    };
    const TemporaryFolder folder;
    lamina::write_npy(folder.path() / "array", lamina::Tensor({lamina::DType::i32, {100000}}));
    const std::string array = folder.read("array");
    CHECK(through_a_pipe(array, true) == "100000 elements");
    CHECK_THAT(through_a_pipe(array + "x", false), contains("expected 400000 bytes") && contains("found more"));
}

TEST_CASE("npy: an endless file is refused") {
    CHECK_THAT(message_of([] { (void)read_npy("/dev/zero"); }), contains("/dev/zero: not a .npy file"));
}
