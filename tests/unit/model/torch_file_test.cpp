// Files of torch.save(): torch/make.py wrote them, and what they hold as safetensors.
#include "model/torch_file.hpp"

#include "catch.hpp"
#include "model/safetensors.hpp"
#include "places.hpp"
#include "temporary_folder.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

using namespace lamina;
using namespace lamina::model;
using matchers::contains;

namespace {

const std::filesystem::path torch_files = LAMINA_SOURCE_DIR "/tests/unit/model/torch";

std::string bytes_of_file(const std::filesystem::path &file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string refusal_of_file(const char *name) {
    return message_of([&] { (void)open_torch_file(torch_files / name); });
}
std::string refusal_of_bytes(const std::string &bytes) {
    const TemporaryFolder folder;
    return message_of([&] { (void)open_torch_file(folder.write("m.bin", bytes)); });
}

// A legacy file whose tensors are this pickle.
std::string legacy_of(const std::string &pickle) {
    const std::string magic = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
    return magic + "\x80\x02M\xe9\x03." + "\x80\x02}." + pickle + "\x80\x02].";
}

// Whether it can be read; then so can every tensor.
bool can_be_read(const std::string &bytes) {
    static const TemporaryFolder folder;
    try {
        const Weights weights = open_torch_file(folder.write("m.bin", bytes));
        unsigned sum = 0;
        for (const auto &[name, weight] : weights.entries()) {
            REQUIRE(weight.bytes().size() == weight.type.bytes());
            for (const std::byte b : weight.bytes()) sum += static_cast<unsigned>(b);
        }
        CHECK(sum < 1U << 31U);
        return true;
    } catch (const Error &error) {
        CHECK(error.code() == ErrorCode::input);
        CHECK_THAT(error.what(), contains("m.bin"));
        return false;
    }
}

} // namespace

TEST_CASE("torch files: values, views and shared storages are those that PyTorch has") {
    const Safetensors expected = open_safetensors(torch_files / "expected.safetensors");
    for (const char *name : {"zip.bin", "legacy.bin"}) {
        INFO(name);
        const Weights weights = open_torch_file(torch_files / name);
        CHECK(weights.entries().size() == expected.weights.entries().size());
        for (const auto &[tensor, wanted] : expected.weights.entries()) {
            INFO(tensor);
            const Weight &found = weights.at(tensor);
            CHECK(found.type == wanted.type);
            CHECK(std::ranges::equal(found.bytes(), wanted.bytes()));
        }
        for (const auto &[tensor, wanted] : expected.weights.others()) {
            INFO(tensor);
            const OtherTensor &found = weights.others().at(tensor);
            CHECK(found.shape == wanted.shape);
            CHECK(found.dtype == (tensor == "doubles" ? "F64 out of order" : wanted.dtype));
            if (tensor != "doubles") CHECK(std::ranges::equal(found.stored, wanted.stored));
        }
        CHECK(weights.others().size() == expected.weights.others().size());
        const std::byte *base = weights.at("base").bytes().data();
        CHECK(weights.at("same").bytes().data() == base);
        CHECK(weights.at("rows").bytes().data() == base + 2 * 8 * 4);
        const Weights unread = open_torch_file(torch_files / name);
        CHECK(unread.at("columns").bytes_to_copy() == 6 * 3 * 4);
        CHECK(unread.at("rows").bytes_to_copy() == 0);
    }
}

TEST_CASE("torch files: no code is run, and what would is named") {
    CHECK_THAT(
        refusal_of_file("module.bin"),
        contains("module.bin: module/data.pkl: byte 2: refers to 'torch.nn.modules.linear.Linear', and a file is "
                 "never let to run code") &&
            contains("state_dict()"));
    CHECK_THAT(refusal_of_bytes(legacy_of("\x80\x02"
                                          "cposix\nsystem\nU\x04true\x85R.")),
               contains("refers to 'posix.system'"));
    CHECK_THAT(refusal_of_bytes(legacy_of("\x80\x02"
                                          "cos\nsystem\n.")),
               contains("refers to 'os.system'"));
    CHECK_THAT(refusal_of_bytes(legacy_of("\x80\x02)\x81.")), contains("the opcode 129 of Python's pickle"));
    CHECK_THAT(refusal_of_bytes(legacy_of("\x80\x04N.")), contains("protocol 4 of Python's pickle; expected 2"));
}

TEST_CASE("torch files: what is not a state_dict, compressed or of another machine is refused with what it is") {
    CHECK_THAT(refusal_of_file("nested.bin"), contains("the entry 'model' is a dict; expected a tensor"));
    CHECK_THAT(refusal_of_file("epoch.bin"), contains("expected a tensor for 'epoch', found an integer"));
    CHECK_THAT(refusal_of_file("deflated.bin"), contains("is compressed") && contains("'zip -0'"));
    CHECK_THAT(refusal_of_file("big_endian.bin"), contains("expected the byte order 'little', found 'big'"));
    CHECK_THAT(refusal_of_bytes(""), contains("not a file of torch.save()") && contains("found 0 bytes"));
    CHECK_THAT(refusal_of_bytes(legacy_of("\x80\x02}(K\x01u.")), contains("a key of a dict without a value"));
    CHECK_THAT(refusal_of_bytes(legacy_of("\x80\x02}t.")), contains("behind a mark where there is none"));
    CHECK_THAT(refusal_of_bytes(legacy_of("\x80\x02].")),
               contains("expected a dict of tensors, a state_dict(), found a list"));
}

TEST_CASE("torch files: a tensor lies within its storage") {
    using namespace std::string_literals;
    // Of a file with a tensor in a storage of five values.
    const auto file_of = [](const std::string &place, const std::string &shape, const std::string &strides) {
        const std::string tensors = "\x80\x02}X\x01\0\0\0tctorch._utils\n_rebuild_tensor_v2\n("
                                    "(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0"
                                    "0X\x03\0\0\0cpuK\x05tQ"s +
                                    place + "(" + shape + "t(" + strides + "ttRs.";
        std::string file = legacy_of(tensors);
        file.resize(file.size() - 4); // without the keys of no storages
        return file +
               "\x80\x02]X\x01\0\0\0"
               "0a."s +
               "\x05\0\0\0\0\0\0\0"s + std::string(20, '\0');
    };
    const auto refusal = [&](const std::string &place, const std::string &shape, const std::string &strides) {
        return refusal_of_bytes(file_of(place, shape, strides));
    };
    const std::string damaged = "expected a part of the storage '0' of 5 values";
    const TemporaryFolder folder; // an axis of one value may have any stride
    const auto row = open_torch_file(folder.write("m.bin", file_of("K\x01", "K\x01K\x02", "K\0K\x01"s)));
    CHECK(row.at("t").bytes_to_copy() == 0);
    CHECK(can_be_read(file_of("K\x01", "K\x02K\x02", "K\x02K\x01")));
    CHECK(can_be_read(file_of("K\x01", "K\x02K\x02", "K\x01K\x01")));
    CHECK(can_be_read(file_of("K\x63", "K\x02K\0"s, "K\x02K\x01"))); // empty
    CHECK_THAT(refusal("K\x02", "K\x02K\x02", "K\x02K\x01"), contains(damaged));
    CHECK_THAT(refusal("K\x01", "K\x06", "K\0"s), contains(damaged)); // one value, again and again
    CHECK_THAT(refusal("J\xff\xff\xff\xff", "K\x01", "K\x01"), contains("expected numbers of at least 0"));
    CHECK_THAT(refusal("K\x01", "K\x02", "J\xff\xff\xff\xff"), contains("expected numbers of at least 0"));
    CHECK_THAT(refusal("K\x01", "K\x02", "K\x01K\x01"), contains("expected as many strides as axes"));
    CHECK_THAT(refusal("K\x01", "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7fK\x05", "K\x01K\x01"),
               contains("of less than 64 bits in all"));
    CHECK_THAT(refusal("K\x01", "K\x02", "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"), contains("of less than 64 bits"));
}

TEST_CASE("torch files: entries of a zip file lie within it") {
    const std::string whole = bytes_of_file(torch_files / "big_endian.bin");
    const auto changed = [&](size_t record, size_t at, const std::string &bytes) { // of the list of entries
        std::string out = whole;
        size_t place = out.find("PK\x01\x02");
        for (size_t i = 0; i < record; ++i) place = out.find("PK\x01\x02", place + 1);
        return out.replace(place + at, bytes.size(), bytes);
    };
    using namespace std::string_literals;
    const std::string most = "\xf0\3\0\0"s; // 1008 of its 1059 bytes
    const std::string large = "\0\0\1\0"s, beyond = "\xff\xff\xff\x7f";
    CHECK_THAT(refusal_of_bytes(changed(0, 20, large + large)),
               contains("of 65536 bytes, which would reach beyond the file's"));
    CHECK_THAT(refusal_of_bytes(changed(1, 20, most + most)),
               contains("of 1008 bytes, which would reach beyond the file's"));
    CHECK_THAT(refusal_of_bytes(changed(0, 20, large)), contains("is compressed"));
    CHECK_THAT(refusal_of_bytes(changed(1, 42, beyond)), contains("which would reach beyond the file's"));
    CHECK_THAT(refusal_of_bytes(changed(0, 42, "\1\0\0\0"s)),
               contains("expected the header of an entry, found other bytes"));
    CHECK_THAT(refusal_of_bytes(changed(0, 8, "\1\0"s)), contains("is encrypted"));
    CHECK_THAT(refusal_of_bytes(changed(0, 10, "\x08\0"s)), contains("is compressed"));
    CHECK_THAT(refusal_of_bytes(changed(0, 28, "\xff\xff"s)), contains("expected the name of an entry"));
    CHECK_THAT(refusal_of_bytes(changed(0, 30, "\xff\xff"s)), contains("expected the extra fields of an entry"));
    std::string no_entries = whole;
    no_entries.replace(whole.size() - 12, 2, "\0\0"s);
    CHECK_THAT(refusal_of_bytes(no_entries), contains("expected an entry NAME/data.pkl, found none"));
}

TEST_CASE("torch files: an entry has all bytes of its storage") {
    std::string whole = bytes_of_file(torch_files / "zip.bin");
    const size_t count = whole.find("K\x0ft", whole.find("cpu")); // the 15 values of the first tensor
    REQUIRE(count != std::string::npos);
    whole[count + 1] = 16;
    CHECK_THAT(refusal_of_bytes(whole),
               contains("the entry 'zip/data/0': expected 64 bytes, found 60: the file is damaged"));
}

TEST_CASE("torch files: cut and damaged ones are errors, or files of other numbers") {
    for (const char *name : {"zip.bin", "legacy.bin"}) {
        const std::string whole = bytes_of_file(torch_files / name);
        CHECK(can_be_read(whole));
        for (size_t length = 0; length < whole.size(); length += 1 + length / 64) {
            INFO(name << " cut to " << length);
            CHECK_FALSE(can_be_read(whole.substr(0, length)));
        }
        size_t read = 0, refused = 0;
        for (size_t at = 0; at < whole.size(); at += 1 + at / 512)
            for (const int other : {0x00, 0x01, 0x7f, 0xff, 0x28}) {
                std::string changed = whole;
                changed[at] = static_cast<char>(other);
                ++(can_be_read(changed) ? read : refused);
            }
        CHECK(read > 0);
        CHECK(refused > 100);
    }
}
