// What the steps of a batch compute, and for whom.
#include "catch.hpp"

#include "counted.hpp"
#include "places.hpp"

#include <lamina/batch.hpp>

#include <algorithm>
#include <map>

using namespace lamina;
using test::Counted;
using test::of_length;
using test::some_letters;

TEST_CASE("a step computes as many rows as there are texts, rounded up to a power of two") {
    Counted model;
    Batch batch(model.session(), {.slots = 8, .length = 200});
    const auto step = [&] { (void)batch.step(); };
    std::vector<uint64_t> ids;
    for (const auto &[texts, rows] : std::map<size_t, int>{{1, 1}, {2, 2}, {3, 4}, {4, 4}, {5, 8}, {8, 8}}) {
        while (ids.size() < texts) ids.push_back(batch.add(some_letters(5 + ids.size(), ids.size()), of_length(100)));
        step(); // reads the prompts
        CHECK(model.rows(step) == rows);
    }
    // Those in the last slots remain.
    for (const auto &[texts, rows] : std::vector<std::pair<size_t, int>>{{7, 8}, {4, 4}, {3, 4}, {2, 2}, {1, 1}}) {
        while (ids.size() > texts) {
            CHECK(batch.cancel(ids.front()));
            ids.erase(ids.begin());
        }
        CHECK(model.rows(step) == rows);
    }
}

TEST_CASE("a text is the same wherever its slot is, and however its neighbours come and go") {
    Counted model;
    Batch batch(model.session(), {.slots = 4, .length = 700});
    std::map<uint64_t, std::string> expected, found;
    const auto step = [&] {
        for (Batch::Progress &text : batch.step())
            if (text.finished) found[text.id] = text.finished->text;
    };
    // Texts of 1 to 59 tokens that join at odd times, some with prompts that are longer than a part; caches grow twice.
    for (size_t i = 0; i < 14; ++i) {
        const std::string prompt = some_letters(i % 4 == 3 ? 300 + 20 * i : 1 + 5 * i, i);
        const GenerateOptions options = of_length(static_cast<int64_t>(1 + i * 37 % 59));
        expected[batch.add(prompt, options, {.client = i % 3})] = model.alone(prompt, options);
        for (size_t k = 0; k < i * 5 % 9; ++k) step();
    }
    while (!batch.empty()) step();
    CHECK(found == expected);
}

TEST_CASE("a text that is cancelled is not computed any more, even in the middle of its prompt") {
    Counted model;
    Batch batch(model.session(), {.slots = 2, .length = 2000});
    const auto step = [&] { (void)batch.step(); };
    const uint64_t text = batch.add(some_letters(1500, 3));
    CHECK(model.tokens(step) <= 257); // a part, though nothing else is there
    CHECK(model.tokens(step) <= 257);
    CHECK(batch.cancel(text));
    const auto nothing = [&] {
        step();
        (void)batch.add("a", of_length(1));
        step();
    };
    CHECK(model.tokens(nothing) < 10);
    CHECK(batch.empty());
}

TEST_CASE("a graph that somebody runs between steps, without caches, does not make texts begin anew") {
    Counted model;
    Batch batch(model.session(), {.slots = 2, .length = 300});
    const auto step = [&] { (void)batch.step(); };
    const std::string prompt = some_letters(200, 3);
    const GenerateOptions options = of_length(20);
    const uint64_t text = batch.add(prompt, options);
    step();
    Hypothesis found;
    while (!batch.empty()) {
        (void)model.session().run("decode", {{"target", Tensor::of({1, 1}, std::vector<int32_t>{5})},
                                             {"position", Tensor::of({1}, std::vector<int32_t>{0})}});
        CHECK(model.tokens([&] {
            for (Batch::Progress &each : batch.step())
                if (each.finished && each.id == text) found = *each.finished;
        }) <= 2);
    }
    CHECK(found.text == model.alone(prompt, options));
}

TEST_CASE("many texts of a client, also in requests of their own, do not keep another client's waiting") {
    Counted model;
    const size_t slots = GENERATE(size_t{1}, size_t{4});
    Batch batch(model.session(), {.slots = slots, .length = 100});
    std::vector<uint64_t> ended;
    const auto step = [&] {
        for (Batch::Progress &text : batch.step())
            if (text.finished) ended.push_back(text.id);
    };
    for (size_t i = 0; i < 16; ++i) (void)batch.add(some_letters(5, i), of_length(10), {.client = 1, .request = i});
    step();
    const uint64_t other = batch.add("vulkan", of_length(10), {.client = 2}),
                   third = batch.add("cpu", of_length(10), {.client = 3});
    while (!batch.empty()) step();
    const auto place = [&](uint64_t id) { return static_cast<size_t>(std::ranges::find(ended, id) - ended.begin()); };
    CHECK(ended.size() == 18);
    CHECK(place(other) <= 2 * slots); // of 18
    CHECK(place(third) <= 2 * slots + 1);
}

TEST_CASE("long prompts of clients are read in turns, a part in each step") {
    Counted model;
    Batch batch(model.session(), {.slots = 8, .length = 2000});
    std::map<uint64_t, size_t> steps; // until the first token
    size_t count = 0;
    const auto step = [&] {
        ++count;
        for (Batch::Progress &text : batch.step()) steps.try_emplace(text.id, count);
    };
    for (size_t i = 0; i < 4; ++i) (void)batch.add(some_letters(1000, i), of_length(1), {.client = 2});
    const uint64_t other = batch.add(some_letters(500, 9), of_length(1), {.client = 3});
    const double tokens = model.tokens(step);
    CHECK(tokens > 200);
    CHECK(tokens < 2 * 256 + 20); // in a block for all or alone, and a token of each text
    while (!steps.contains(other)) step();
    CHECK(steps.at(other) <= 5); // two parts, between those of another client
}

TEST_CASE("a text is written on while long prompts are read") {
    Counted model;
    Batch batch(model.session(), {.slots = 8, .length = 2000});
    const uint64_t writing = batch.add("lamina", of_length(1900), {.client = 1});
    (void)batch.step();
    const uint64_t reading = batch.add(some_letters(1000, 3), of_length(1), {.client = 2});
    size_t pieces = 0, steps = 0;
    for (bool read = false; !read && steps < 1500; ++steps) {
        const double tokens = model.tokens([&] {
            for (const Batch::Progress &text : batch.step()) {
                pieces += text.id == writing ? text.piece.size() : 0;
                read = read || text.id == reading;
            }
        });
        CHECK(tokens < 2 * 256 + 20);
    }
    CHECK(pieces == steps);
    CHECK(steps < 1500); // it is read at last
}

TEST_CASE("a request for many answers leaves room and time to one that comes after it") {
    Counted model;
    Batch batch(model.session(), {.slots = 8, .length = 2000});
    for (size_t i = 0; i < 20; ++i) (void)batch.add(some_letters(600, i), of_length(1000), {.client = 1, .request = 1});
    for (size_t i = 0; i < 3; ++i) (void)batch.step(); // most prompts are still to be read
    const uint64_t later = batch.add("vulkan", of_length(16), {.client = 1, .request = 2});
    size_t steps = 0;
    for (bool finished = false; !finished && steps < 100; ++steps)
        for (const Batch::Progress &text : batch.step()) finished = finished || (text.id == later && text.finished);
    CHECK(steps <= 18); // at once
}

TEST_CASE("texts without a request have all slots") {
    Counted model;
    Batch batch(model.session(), {.slots = 8, .length = 200});
    for (size_t i = 0; i < 8; ++i) (void)batch.add(some_letters(5, i), of_length(10), {.client = 1});
    std::map<uint64_t, size_t> texts;
    for (int i = 0; i < 2; ++i)
        for (const Batch::Progress &text : batch.step()) ++texts[text.id];
    CHECK(texts.size() == 8);
}
