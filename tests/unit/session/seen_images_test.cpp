// Which images a session knows, by the ids of their rows.
#include "catch.hpp"

#include "session/seen_images.hpp"

#include <lamina/error.hpp>

using namespace lamina;
using detail::SeenImages;

namespace {

Tensor picture(float value) { return Tensor::of({1, 1, 2}, std::vector<float>{value, 1}); }

// Rows of two channels, which are numbered from `first`.
Tensor rows(int64_t count, float first) {
    Tensor out(TensorType{DType::f32, {1, count, 2}});
    for (size_t i = 0; i < out.f32().size(); ++i) out.f32()[i] = first + static_cast<float>(i / 2);
    return out;
}

int32_t id_of(const SeenImages::One &image, int64_t row) { return static_cast<int32_t>(-1 - image->first - row); }

} // namespace

TEST_CASE("seen images: the same image is known, and every row of each has an id of its own") {
    SeenImages images;
    CHECK(images.find(picture(1), 3, 3) == nullptr);
    const auto one = images.add(picture(1), 3, rows(3, 10)), other = images.add(picture(2), 1, rows(2, 20));
    CHECK(images.find(picture(1), 3, 3) == one);
    CHECK(images.find(picture(1), 1, 3) == nullptr); // of the same values, in another shape
    CHECK(images.find(picture(1), 3, 6) == nullptr);
    CHECK(images.find(picture(2), 1, 2) == other);
    CHECK(images.find(picture(3), 3, 3) == nullptr);
    CHECK(images.of(id_of(one, 2)) == one);
    CHECK_THROWS_AS(images.of(-6), Error);
    for (int64_t row = 0; row < 3; ++row)
        CHECK(images.row(id_of(one, row)).values.front() == 10 + static_cast<float>(row));
    for (int64_t row = 0; row < 2; ++row)
        CHECK(images.row(id_of(other, row)).values.front() == 20 + static_cast<float>(row));
    CHECK(images.row(-1).values.size() == 2);
    CHECK_THROWS_WITH(images.row(-6), matchers::contains("the image of the token -6 is not known"));
    const auto found = images.among(std::vector<int32_t>{7, -4, -5, 3, -1, -2, -3, -4});
    CHECK(found == std::vector<SeenImages::One>{other, one, other});
    CHECK_THROWS_AS(images.among(std::vector<int32_t>{7, -100}), Error);
}

TEST_CASE("seen images: those that nobody uses go when there are many, and no others") {
    SeenImages images;
    const auto large = [](float value) { // 100 MiB
        Tensor out(TensorType{DType::f32, {1, 1, 25 << 20}});
        out.f32()[0] = value;
        return out;
    };
    const auto kept = images.add(large(1), 1, rows(1, 1));
    const int32_t second = id_of(images.add(large(2), 1, rows(1, 2)), 0);
    (void)images.add(large(3), 1, rows(1, 3));
    CHECK(images.find(kept->given, 1, 1) == kept); // used again, and in use
    (void)images.add(large(4), 1, rows(1, 4));
    CHECK(images.row(id_of(kept, 0)).values.front() == 1);
    CHECK_THROWS_WITH(images.row(second), matchers::contains("or long ago"));
}

TEST_CASE("seen images: a prompt whose tokens see each other has ids of its own, and keeps those of its images") {
    SeenImages images;
    std::vector<int32_t> ids, others;
    SeenImages::One prompt;
    {
        const auto one = images.add(picture(1), 1, rows(2, 10));
        ids = {id_of(one, 0), id_of(one, 1), 7}, others = {id_of(one, 0), id_of(one, 1), 8};
        prompt = images.joined(ids, {one});
        CHECK(images.joined(ids, {one}) == prompt);
        CHECK(images.joined(others, {one}) != prompt);
    }
    CHECK(prompt->tokens() == 3);
    for (int64_t row = 0; row < 2; ++row) {
        CHECK(images.row(id_of(prompt, row)).word == -1);
        CHECK(images.row(id_of(prompt, row)).values.front() == 10 + static_cast<float>(row));
    }
    CHECK(images.row(id_of(prompt, 2)).word == 7);
    CHECK(images.row(ids.front()).word == -1);
    const std::vector<int32_t> whole{id_of(prompt, 0), id_of(prompt, 1), id_of(prompt, 2)};
    CHECK_NOTHROW(images.expect_whole(whole));
    CHECK_NOTHROW(images.expect_whole(std::vector<int32_t>{whole[0], whole[1], whole[2], 4}));
    CHECK_THROWS_WITH(images.expect_whole(std::vector<int32_t>{whole[0], whole[1]}),
                      matchers::contains("the tokens of a prompt see each other, so expected all of its 3"));
    CHECK_THROWS_AS(images.expect_whole(std::vector<int32_t>{whole[0], whole[1], whole[2], ids[0]}), Error);
}
