// Runs that go from device to device.
#include "catch.hpp"
#include "split/flow.hpp"

#include <atomic>
#include <chrono>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>

using lamina::split::Flow;

namespace {

constexpr size_t any_number = 100;

// A run through all of these devices that appends "RUN:DEVICE " to a text of each device.
void go(Flow &flow, std::vector<std::string> &done, int run, size_t device = 0) {
    done[device] += std::to_string(run) + " ";
    if (device + 1 < done.size())
        flow.go_on(device + 1, [&flow, &done, run, device] { go(flow, done, run, device + 1); });
    else
        flow.end({});
}

} // namespace

TEST_CASE("flow: runs follow each other on every device") {
    std::vector<std::string> done(3);
    Flow flow(done.size());
    for (int run = 0; run < 5; ++run)
        flow.begin(
            0, [&, run] { go(flow, done, run); }, any_number);
    flow.wait();
    CHECK(done == std::vector<std::string>(3, "0 1 2 3 4 "));
}

TEST_CASE("flow: devices work at the same time") {
    Flow flow(2);
    std::latch both(2); // each waits for the other
    flow.begin(
        0, [&] { both.arrive_and_wait(), flow.end({}); }, any_number);
    flow.begin(
        1, [&] { both.arrive_and_wait(), flow.end({}); }, any_number);
    flow.wait();
}

TEST_CASE("flow: a run begins when few enough others are on their way") {
    Flow flow(1);
    std::latch go_on(1);
    std::atomic<bool> ended = false, waited = false;
    flow.begin(
        0, [&] { go_on.wait(), ended = true, flow.end({}); }, 1);
    std::jthread other([&] {
        flow.begin(
            0, [&] { flow.end({}); }, 1);
        waited = ended.load();
        flow.wait();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // in which it would begin if it did not wait
    go_on.count_down();
    other.join();
    CHECK(waited);
}

TEST_CASE("flow: after an error nothing more is done, until it has been thrown") {
    std::vector<std::string> done(2);
    Flow flow(done.size());
    std::latch all(1);
    flow.begin(
        0, [&] { all.wait(), throw std::runtime_error("lost"); }, any_number);
    for (int run = 1; run < 4; ++run)
        flow.begin(
            0, [&, run] { go(flow, done, run); }, any_number);
    all.count_down();
    flow.settle();
    CHECK_THROWS_AS(flow.wait(), std::runtime_error);
    CHECK(done == std::vector<std::string>(2));
    flow.wait();
    flow.begin(
        0, [&] { go(flow, done, 4); }, any_number);
    flow.wait();
    CHECK(done == std::vector<std::string>(2, "4 "));
}

TEST_CASE("flow: the error of a run is thrown where the next one begins") {
    Flow flow(1);
    flow.begin(
        0, [] { throw std::runtime_error("lost"); }, 1);
    CHECK_THROWS_AS(flow.begin(
                        0, [] {}, 1),
                    std::runtime_error);
    flow.wait();
}

TEST_CASE("flow: those on the same devices take turns, and keep their errors") {
    const auto turns = std::make_shared<lamina::split::FlowTurns>();
    Flow first(1, turns), second(1, turns);
    std::latch go_on(1);
    std::atomic<bool> ended = false, waited = false;
    first.begin(
        0, [&] { go_on.wait(), ended = true, throw std::runtime_error("lost"); }, any_number);
    std::jthread other([&] {
        second.begin(
            0, [&] { waited = ended.load(), second.end({}); }, any_number);
        second.wait();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // in which it would begin if it did not wait
    go_on.count_down();
    other.join();
    CHECK(waited);
    CHECK_THROWS_AS(first.wait(), std::runtime_error);
    { const Flow third(1, turns); }
    second.wait();
}

TEST_CASE("flow: reports are made by whoever waits, in the order of the runs") {
    Flow flow(1);
    std::string told;
    for (int run = 0; run < 3; ++run)
        flow.begin(
            0,
            [&, run] {
                flow.end([&, run, by = std::this_thread::get_id()] {
                    told += std::to_string(run) + (by == std::this_thread::get_id() ? "!" : " ");
                });
            },
            any_number);
    flow.wait();
    CHECK(told == "0 1 2 ");
    flow.wait();
    CHECK(told == "0 1 2 ");
}
