#include <lamina/npy.hpp>

#include "catch.hpp"
#include "temporary_folder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

using lamina::DType;
using lamina::read_npy;
using lamina::Shape;
using lamina::Tensor;
using lamina::write_npy;
using matchers::contains;

namespace {

template <class T> std::string bytes_of(const std::vector<T> &values) {
    return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
}
std::string npy(const std::string &header, const std::string &data, char version = 1) {
    std::string out = "\x93NUMPY";
    out += {version, '\0', static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
    if (version > 1) out += std::string(2, '\0');
    return out + header + data;
}
std::string header(const std::string &type, const std::string &shape, bool fortran = false) {
    return "{'descr': '" + type + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape +
           ", }\n";
}
Tensor read(const std::string &bytes) {
    const TemporaryFolder folder;
    return read_npy(folder.write("a.npy", bytes));
}
std::string npy_refusal(const std::string &bytes) {
    return message_of([&] { (void)read(bytes); });
}
std::vector<int32_t> integers(const Tensor &t) { return {t.i32().begin(), t.i32().end()}; }
std::vector<float> reals(const Tensor &t) { return {t.f32().begin(), t.f32().end()}; }

} // namespace

TEST_CASE("npy: what is written is read back") {
    const TemporaryFolder folder;
    for (const Shape &shape : {Shape{}, Shape{3}, Shape{2, 3}, Shape{2, 1, 4}, Shape{0}, Shape{2, 0}}) {
        CAPTURE(lamina::to_string(shape));
        Tensor f({DType::f32, shape}), i({DType::i32, shape});
        for (size_t n = 0; n < f.f32().size(); ++n)
            f.f32()[n] = std::sqrt(static_cast<float>(n)) - 1, i.i32()[n] = static_cast<int32_t>(n * 77777777u);
        for (const Tensor &tensor : {f, i}) {
            write_npy(folder.path() / "t.npy", tensor);
            const Tensor back = read_npy(folder.path() / "t.npy");
            CHECK(back.type() == tensor.type());
            CHECK(std::equal(back.bytes().begin(), back.bytes().end(), tensor.bytes().begin(), tensor.bytes().end()));
        }
    }
}

TEST_CASE("npy: the data is aligned to 64 bytes, as NumPy writes it") {
    const TemporaryFolder folder;
    for (int64_t n = 1; n < 2000000000000; n *= 7) { // the header's text grows and the data stays empty
        write_npy(folder.path() / "t.npy", Tensor({DType::f32, {0, n}}));
        const std::string text = folder.read("t.npy");
        CHECK(text.size() % 64 == 0);
        CHECK(text.back() == '\n');
    }
}

TEST_CASE("npy: every width of integers is read exactly") {
    CHECK(integers(read(npy(header("|i1", "(2,)"), bytes_of<int8_t>({-128, 127})))) == std::vector<int32_t>{-128, 127});
    CHECK(integers(read(npy(header("|u1", "(2,)"), bytes_of<uint8_t>({0, 255})))) == std::vector<int32_t>{0, 255});
    CHECK(integers(read(npy(header("<i2", "(1,)"), bytes_of<int16_t>({-32768})))) == std::vector<int32_t>{-32768});
    CHECK(integers(read(npy(header("<u2", "(1,)"), bytes_of<uint16_t>({65535})))) == std::vector<int32_t>{65535});
    CHECK(integers(read(npy(header("<i4", "(1,)"), bytes_of<int32_t>({INT32_MIN})))) ==
          std::vector<int32_t>{INT32_MIN});
    CHECK(integers(read(npy(header("<u4", "(1,)"), bytes_of<uint32_t>({INT32_MAX})))) ==
          std::vector<int32_t>{INT32_MAX});
    CHECK(integers(read(npy(header("<i8", "(1,)"), bytes_of<int64_t>({-5})))) == std::vector<int32_t>{-5});
    CHECK(integers(read(npy(header("<u8", "(1,)"), bytes_of<uint64_t>({7})))) == std::vector<int32_t>{7});
    CHECK(integers(read(npy(header("|b1", "(3,)"), bytes_of<uint8_t>({0, 1, 2})))) == std::vector<int32_t>{0, 1, 1});
}

TEST_CASE("npy: numbers that do not fit are refused with their place") {
    CHECK_THAT(npy_refusal(npy(header("<i8", "(4,)"), bytes_of<int64_t>({0, 1, 2, 1ll << 40}))),
               contains("a.npy: element 3 is 1099511627776, which does not fit I32"));
    CHECK_THAT(npy_refusal(npy(header("<u4", "(1,)"), bytes_of<uint32_t>({1u << 31}))),
               contains("element 0 is 2147483648"));
    CHECK_THAT(npy_refusal(npy(header("<i8", "(1,)"), bytes_of<int64_t>({INT64_MIN}))),
               contains("element 0 is -9223372036854775808"));
    CHECK_THAT(npy_refusal(npy(header("<f8", "(1,)"), bytes_of<double>({-1e300}))),
               contains("element 0 is -1e+300, which does not fit F32"));
}

TEST_CASE("npy: reals become F32, with infinities and NaN") {
    const double infinity = std::numeric_limits<double>::infinity();
    const auto f8 = reals(read(npy(header("<f8", "(4,)"), bytes_of<double>({0.1, -infinity, std::nan(""), 1e-300}))));
    CHECK(f8[0] == 0.1f);
    CHECK(f8[1] == -std::numeric_limits<float>::infinity());
    CHECK(std::isnan(f8[2]));
    CHECK(f8[3] == 0);
    const auto f2 = reals(read(npy(
        header("<f2", "(8,)"), bytes_of<uint16_t>({0x3C00, 0xC000, 0x7BFF, 0x0001, 0x0400, 0x8000, 0xFC00, 0x7E00}))));
    CHECK(f2[0] == 1);
    CHECK(f2[1] == -2);
    CHECK(f2[2] == 65504);
    CHECK(f2[3] == std::ldexp(1.0f, -24));
    CHECK(f2[4] == std::ldexp(1.0f, -14));
    CHECK((f2[5] == 0 && std::signbit(f2[5])));
    CHECK(f2[6] == -std::numeric_limits<float>::infinity());
    CHECK(std::isnan(f2[7]));
}

TEST_CASE("npy: Fortran order is turned into rows") {
    const Tensor t = read(npy(header("<i4", "(2, 3)", true), bytes_of<int32_t>({1, 4, 2, 5, 3, 6})));
    CHECK(t.shape() == Shape{2, 3});
    CHECK(integers(t) == std::vector<int32_t>{1, 2, 3, 4, 5, 6});
    const Tensor cube = read(npy(header("<i4", "(2, 2, 2)", true), bytes_of<int32_t>({0, 4, 2, 6, 1, 5, 3, 7})));
    CHECK(integers(cube) == std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("npy: the header may be written in any way that Python reads") {
    const std::string data = bytes_of<int32_t>({1, 2});
    for (const char *text : {"{\"shape\":(2L,),\"descr\":\"<i4\",\"fortran_order\":False}",
                             "{ 'fortran_order' : False , 'descr' : '<i4' , 'shape' : ( 2 , 1 ) }  \n"}) {
        CAPTURE(text);
        CHECK(integers(read(npy(text, data))) == std::vector<int32_t>{1, 2});
        CHECK(integers(read(npy(text, data, 2))) == std::vector<int32_t>{1, 2});
        CHECK(integers(read(npy(text, data, 3))) == std::vector<int32_t>{1, 2});
    }
}

TEST_CASE("npy: other dtypes are refused, with advice") {
    CHECK_THAT(npy_refusal(npy(header("|O", "(1,)"), "")), contains("the dtype '|O' holds Python objects"));
    CHECK_THAT(npy_refusal(npy(header(">f4", "(1,)"), "    ")),
               contains("'>f4' is big-endian; save it with array.astype('<f4')"));
    CHECK_THAT(npy_refusal(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "    ")),
               contains("a structured dtype"));
    for (const char *type : {"<U2", "<c8", "|S4", "<f3", "<m8[s]", "f4", "<", "", "< f", "<f16"}) {
        CAPTURE(type);
        CHECK_THAT(npy_refusal(npy(header(type, "(1,)"), "    ")), contains("is not supported"));
    }
}

TEST_CASE("npy: broken headers are refused") {
    CHECK_THAT(npy_refusal(""), contains("a.npy: not a .npy file"));
    CHECK_THAT(npy_refusal("PK\x03\x04"), contains("not a .npy file"));
    CHECK_THAT(npy_refusal("\x93NUMPY"), contains("cut short inside the .npy header"));
    CHECK_THAT(npy_refusal(npy("", "", 4)), contains("version 4 of the .npy format"));
    CHECK_THAT(npy_refusal(npy(header("<f4", "(1,)"), "").substr(0, 30)), contains("cut short inside the .npy header"));
    CHECK_THAT(npy_refusal(std::string("\x93NUMPY\2\0\xFF\xFF\xFF\xFF", 12)), contains("header of 4294967295 bytes"));
    CHECK_THAT(npy_refusal(npy("", "")), contains("expected '{'"));
    CHECK_THAT(npy_refusal(npy("{", "")), contains("expected '''"));
    CHECK_THAT(npy_refusal(npy("{'descr", "")), contains("a string without an end"));
    CHECK_THAT(npy_refusal(npy("{'descr': '<f4', 'fortran_order': False}", "")),
               contains("the key 'shape' is missing"));
    CHECK_THAT(npy_refusal(npy("{'descr': '<f4', 'descr': '<f4'}", "")), contains("the key 'descr' appears twice"));
    CHECK_THAT(npy_refusal(npy("{'color': 1}", "")), contains("an unknown key 'color'"));
    CHECK_THAT(npy_refusal(npy(header("<f4", "(1,)") + "x", "    ")), contains("something follows the dictionary"));
    CHECK_THAT(npy_refusal(npy("{'fortran_order': Maybe}", "")), contains("expected True or False"));
}

TEST_CASE("npy: shapes are tuples of sizes whose product fits 64 bits") {
    CHECK_THAT(npy_refusal(npy(header("<f4", "(-1,)"), "    ")), contains("expected a size"));
    CHECK_THAT(npy_refusal(npy(header("<f4", "(99999999999999999999,)"), "    ")), contains("expected a size"));
    CHECK_THAT(npy_refusal(npy(header("<f4", "(1 2)"), "    ")), contains("expected ',' or ')'"));
    CHECK_THAT(npy_refusal(npy(header("<f4", "3"), "    ")), contains("expected '('"));
    CHECK_THAT(npy_refusal(npy(header("<f4", "(4294967296, 4294967296)"), "    ")), contains("overflows 64 bits"));
    CHECK_THAT(npy_refusal(npy(header("<f4", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"), "    ")), contains("more than 8 axes"));
}

TEST_CASE("npy: the data is as long as the shape says") {
    CHECK_THAT(npy_refusal(npy(header("<f4", "(2, 2)"), std::string(15, 'x'))),
               contains("expected 16 bytes of data for the shape (2, 2), found 15 (cut short?)"));
    CHECK_THAT(npy_refusal(npy(header("<f4", "(2, 2)"), std::string(17, 'x'))),
               contains("expected 16 bytes of data for the shape (2, 2), found more"));
    CHECK_THAT(npy_refusal(npy(header("<f4", "(1048576, 1048576, 1048576)"), "    ")),
               contains("found 4 (cut short?)"));
}

TEST_CASE("npy: only F32 and I32 are written") {
    const TemporaryFolder folder;
    CHECK_THAT(message_of([&] {
                   write_npy(folder.path() / "t.npy", Tensor({DType::f16, {1}}));
               }),
               contains("a tensor of f16"));
    CHECK(std::filesystem::is_empty(folder.path()));
}
