// A session survives the loss of its device once.
#include "api/access.hpp"
#include "catch.hpp"
#include "faulty_driver.hpp"
#include "places.hpp"

#include <lamina/lamina.hpp>
#include <lamina/proof.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

using namespace lamina;

namespace {

const std::vector<std::string> words{"vulkan", "layer", "a"};

// g2p on the faulty driver, and the runtime's notices.
class Subject {
  public:
    Subject() : runtime_(options()), model_(runtime_.load(LAMINA_SOURCE_DIR "/models/g2p")) {}

    [[nodiscard]] Session session() const { return runtime_.session(model_, runtime_.device("vulkan:0")); }
    [[nodiscard]] Session session_on(const std::string &devices, const std::vector<size_t> &split) const {
        SessionOptions how;
        how.split = split;
        return runtime_.session(model_, runtime_.device(devices), how);
    }
    [[nodiscard]] std::vector<std::string> truth() const {
        return runtime_.session(model_, runtime_.device("cpu")).generate(words);
    }
    [[nodiscard]] CheckReport check() const {
        return lamina::check(runtime_, runtime_.device("vulkan:0"), {.layers = {"softmax"}, .own_cases_only = true});
    }
    [[nodiscard]] std::shared_ptr<admission::Admission> admission() const {
        return detail::Access::state(runtime_)->admission(runtime_.device("vulkan:0"));
    }
    // The notices with this text.
    [[nodiscard]] size_t said(const std::string &text) const {
        return static_cast<size_t>(
            std::ranges::count_if(notices_, [&](const auto &n) { return n.find(text) != std::string::npos; }));
    }
    // The number of losses since the last call.
    size_t losses() {
        const size_t all = said("vulkan:0 was lost; Lamina reopens it");
        return all - std::exchange(seen_, all);
    }
    [[nodiscard]] std::string messages() const {
        return test::messages_after_loss(*detail::Access::state(runtime_)->vulkan());
    }

  private:
    RuntimeOptions options() {
        RuntimeOptions o;
        o.plugin_folders = {LAMINA_PLUGIN_DIR};
        o.validation = true;
        o.cache = false;
        o.notify = [this](const std::string &line) { notices_.push_back(line); };
        return o;
    }
    std::vector<std::string> notices_;
    size_t seen_ = 0; // losses
    Runtime runtime_;
    Model model_;
};

TensorMap encoder_inputs() {
    return {{"letters", Tensor::of({1, 4}, std::array<int32_t, 4>{5, 9, 3, 7})},
            {"lengths", Tensor::of({1}, std::array<int32_t, 1>{4})}};
}

bool close(const Tensor &a, const Tensor &b) {
    return std::ranges::equal(a.f32(), b.f32(), [](float x, float y) { return std::abs(x - y) <= 1e-4F; });
}

} // namespace

TEST_CASE(
    "recovery: a device that is lost at any submission of a fresh session is opened anew, and the text is right") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    Subject subject;
    const auto truth = subject.truth();
    // The first loss is during the checks before anything runs, the others while memory is filled and in the steps.
    for (const uint64_t n : {40U, 8U, 5U, 2U, 1U}) {
        Session session = subject.session();
        test::fail(*faults, "vkQueueSubmit", n, VK_ERROR_DEVICE_LOST);
        INFO("submission " << n);
        CHECK(session.generate(words) == truth);
        CHECK(subject.losses() == 1);
        CHECK(session.generate(words) == truth); // it continues on the new device
        CHECK(subject.losses() == 0);
    }
    CHECK(subject.messages() == "");
}

TEST_CASE("recovery: if the device is lost while decoding, the batch starts again with empty caches") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    Subject subject;
    const auto truth = subject.truth();
    Session session = subject.session();
    const auto generate = [&] { CHECK(session.generate(words) == truth); };
    generate();
    const uint64_t all =
        test::calls_of(*faults, "vkWaitForFences", generate); // one per run, because everything is set up
    for (uint64_t n = 1; n <= all; n += 3) {
        generate();
        test::fail(*faults, "vkWaitForFences", n, VK_ERROR_DEVICE_LOST);
        generate();
        CHECK(subject.losses() == 1);
    }
    CHECK(subject.messages() == "");
}

TEST_CASE("recovery: if the device is lost while running a graph, the graph runs again") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    Subject subject;
    Session session = subject.session();
    const Tensor expected = session.run("encode", encoder_inputs()).at("memory");
    test::fail(*faults, "vkWaitForFences", 1, VK_ERROR_DEVICE_LOST);
    CHECK(close(session.run("encode", encoder_inputs()).at("memory"), expected));
    CHECK(subject.losses() == 1);
}

TEST_CASE("recovery: a second loss is an error that names the steps, and the session can be used again") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    Subject subject;
    Session session = subject.session();
    const Tensor expected = session.run("encode", encoder_inputs()).at("memory");
    // Lost in the last wait, both times: a wait for a step. Their number is constant once all variants are checked.
    std::optional<Session> fresh;
    const auto begin = [&] {
        fresh = subject.session();
        (void)fresh->run("encode", encoder_inputs());
    };
    uint64_t all = 0, before = 0;
    do {
        before = all;
        all = test::calls_of(*faults, "vkWaitForFences", begin);
    } while (all != before);
    test::fail_again_and_again(*faults, "vkWaitForFences", all, VK_ERROR_DEVICE_LOST);
    const test::Thrown thrown = test::thrown_by(begin);
    test::heal(*faults);
    CHECK(thrown.is(ErrorCode::device_lost));
    CHECK(thrown.code == 6); // the exit status of the command
    CHECK_THAT(thrown.message, matchers::contains("was lost while it ran steps 'encoder.embedding' to "
                                                  "'decoder.3.source_attention.value' of graph 'encode'"));
    CHECK(subject.losses() == 1);
    CHECK(close(fresh->run("encode", encoder_inputs()).at("memory"), expected));
    CHECK(close(session.run("encode", encoder_inputs()).at("memory"), expected));
    CHECK(subject.messages() == "");
}

TEST_CASE("recovery: a device that is lost while a session starts is reopened once") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    Subject subject;
    test::fail(*faults, "vkQueueSubmit", 1, VK_ERROR_DEVICE_LOST);
    (void)subject.session();
    CHECK(subject.losses() == 1);
    Session other = subject.session(); // keeps the device open
    test::fail_again_and_again(*faults, "vkQueueSubmit", 1, VK_ERROR_DEVICE_LOST);
    CHECK(test::thrown_by([&] { (void)subject.session(); }).is(ErrorCode::device_lost));
    CHECK(subject.losses() == 1);
    test::heal(*faults);
    CHECK(subject.session().generate(words) == subject.truth());
    CHECK(other.generate(words) == subject.truth());
    CHECK(subject.messages() == "");
}

TEST_CASE("recovery: a variant that loses the device while it is proved is barred; a baseline is not") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    Subject subject;
    const auto lose_next = [&](const auto &) { test::fail(*faults, "vkWaitForFences", 1, VK_ERROR_DEVICE_LOST); };
    const auto prove = [&](const auto &after_each) {
        return test::thrown_by([&] { (void)subject.admission()->redo({"linear"}, after_each); });
    };
    // The baseline is checked first, and passes; the next variant loses the device.
    const test::Thrown thrown = prove(lose_next);
    CHECK(thrown.is(ErrorCode::device_lost));
    CHECK_THAT(thrown.message, matchers::contains("Replay: lamina check linear --device vulkan:0 --variant "));
    CHECK(subject.said("is barred on") == 1);
    CHECK(subject.said("'baseline' is barred") == 0);
    Session session = subject.session();
    test::fail(*faults, "vkWaitForFences", 1, VK_ERROR_DEVICE_LOST);
    CHECK(prove([](const auto &) {}).is(ErrorCode::device_lost));
    CHECK(subject.said("is barred on") == 1);
    CHECK(session.generate(words) == subject.truth());
}

TEST_CASE("recovery: all sessions on a lost device continue on the reopened one") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    Subject subject;
    Session first = subject.session(), second = subject.session();
    const Tensor expected = first.run("encode", encoder_inputs()).at("memory");
    (void)second.run("encode", encoder_inputs());
    test::fail(*faults, "vkQueueSubmit", 1, VK_ERROR_DEVICE_LOST);
    const auto both = [&] {
        for (Session *session : {&first, &second})
            CHECK(close(session->run("encode", encoder_inputs()).at("memory"), expected));
    };
    both();
    CHECK(subject.losses() == 2);
    CHECK(test::calls_of(*faults, "vkCreateDevice", both) == 0);
    CHECK(faults->alive.at("vkCreateDevice") == 1); // one for both, and the lost one is gone
    CHECK(subject.messages() == "");
}

TEST_CASE("recovery: a device that cannot be reopened is an error, until it can") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    Subject subject;
    Session session = subject.session();
    const Tensor expected = session.run("encode", encoder_inputs()).at("memory");
    test::fail(*faults, "vkQueueSubmit", 1, VK_ERROR_DEVICE_LOST);
    faults->opens = false;
    const test::Thrown thrown = test::thrown_by([&] { (void)session.run("encode", encoder_inputs()); });
    CHECK(thrown.is(ErrorCode::device_lost));
    CHECK_THAT(thrown.message, matchers::contains("It could not be reopened"));
    CHECK(test::thrown_by([&] { (void)session.run("encode", encoder_inputs()); }).is(ErrorCode::no_device));
    faults->opens = true;
    CHECK(close(session.run("encode", encoder_inputs()).at("memory"), expected));
}

TEST_CASE("recovery: a check that loses the device reports it, and the next check reopens it") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    Subject subject;
    Session session = subject.session();
    CHECK(subject.check().passed());
    test::fail(*faults, "vkWaitForFences", 1, VK_ERROR_DEVICE_LOST);
    CHECK(test::thrown_by([&] { (void)subject.check(); }).is(ErrorCode::device_lost));
    CHECK(subject.check().passed());
    CHECK(session.generate(words) == subject.truth());
    CHECK(subject.messages() == "");
}

TEST_CASE("recovery: of several devices, only the one that was lost is reopened") {
    test::Faults *const faults = test::faulty_driver();
    if (faults == nullptr) return;
    Subject subject;
    const auto truth = subject.truth();
    for (const auto &[devices, gpu] : {std::pair("vulkan:0,cpu", size_t{0}), {"cpu,vulkan:0", size_t{1}}})
        for (const char *function : {"vkWaitForFences", "vkQueueSubmit"}) {
            INFO(devices << ", " << function);
            Session session = subject.session_on(devices, {6, 2});
            const auto generate = [&] { CHECK(session.generate(words) == truth); };
            generate();
            const std::vector<detail::Place> &places = detail::Access::state(session).places;
            const auto *const kept = places[1 - gpu].backend.get();
            const uint64_t all = test::calls_of(*faults, function, generate);
            for (const uint64_t n : {uint64_t{1}, all / 2, all}) {
                test::fail(*faults, function, n, VK_ERROR_DEVICE_LOST);
                generate();
                CHECK(subject.losses() == 1);
                CHECK(places[1 - gpu].backend.get() == kept);
            }
        }
    test::fail(*faults, "vkQueueSubmit", 1, VK_ERROR_DEVICE_LOST); // while a session starts
    CHECK(subject.session_on("vulkan:0,cpu", {6, 2}).generate(words) == truth);
    CHECK(subject.losses() == 1);
    CHECK(subject.messages() == "");
}
