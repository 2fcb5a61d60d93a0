// Compares a tokenizer with the results of another implementation, which tools/tokenizer_oracle.py writes to this
// program's stdin.
//
//     tools/tokenizer_oracle.py expect tokenizer.json | tokenizer_compare tokenizer.json
//
// Prints how many texts differ and the first few of them. Exits with 1 if any differs.
#include <lamina/tokenizer.hpp>

#include <chrono>
#include <cstring>
#include <iostream>

namespace {

using lamina::Encoding;
using lamina::Tokenizer;

struct Expected {
    std::string text, second; // the latter only for pairs
    bool is_pair = false;
    Encoding encoding; // ids, offsets and types
    std::string decoded, without_special;
};

class Input {
  public:
    [[nodiscard]] bool next(Expected &out) {
        const int flags = std::cin.get();
        if (flags == std::char_traits<char>::eof()) return false;
        out = {};
        out.is_pair = flags == 1;
        out.text = string();
        if (out.is_pair) out.second = string();
        for (uint32_t count = number(); count > 0; --count) {
            out.encoding.ids.push_back(static_cast<int32_t>(number()));
            const uint32_t begin = number(), end = number();
            out.encoding.offsets.push_back({begin, end});
            out.encoding.types.push_back(static_cast<int32_t>(number()));
        }
        out.decoded = string();
        out.without_special = string();
        return true;
    }

  private:
    static uint32_t number() { // little-endian
        uint32_t out = 0;
        for (int shift = 0; shift < 32; shift += 8) out |= static_cast<uint32_t>(byte()) << shift;
        return out;
    }
    static std::string string() {
        std::string out(number(), '\0');
        std::cin.read(out.data(), static_cast<std::streamsize>(out.size()));
        return out;
    }
    static unsigned char byte() {
        const int c = std::cin.get();
        if (c == std::char_traits<char>::eof()) throw lamina::Error(lamina::ErrorCode::input, "the input ends early");
        return static_cast<unsigned char>(c);
    }
};

// Decodes token by token. If the whole is not valid text either, the pieces may differ from it.
bool streams(const Tokenizer &tokenizer, const Expected &expected) {
    if (expected.decoded.find("\xEF\xBF\xBD") != std::string::npos) return true;
    lamina::StreamDecoder stream(tokenizer, false);
    std::string all;
    for (const int32_t id : expected.encoding.ids) all += stream.push(id);
    return all + stream.finish() == expected.decoded;
}

// What differs, or "".
std::string difference(const Tokenizer &tokenizer, const Expected &expected) {
    const Encoding found =
        expected.is_pair ? tokenizer.encode(expected.text, expected.second) : tokenizer.encode(expected.text);
    if (found.ids != expected.encoding.ids) {
        std::string out = "ids";
        for (const auto &list : {expected.encoding.ids, found.ids}) {
            out += &list == &found.ids ? "" : " |";
            for (size_t i = 0; i < std::min<size_t>(list.size(), 60); ++i) out += " " + std::to_string(list[i]);
        }
        return out;
    }
    if (found.offsets != expected.encoding.offsets) {
        std::string out = "offsets";
        for (size_t i = 0; i < found.size(); ++i)
            if (!(found.offsets[i] == expected.encoding.offsets[i])) {
                const auto shown = [](const lamina::TextRange &range) {
                    return std::to_string(range.begin) + "-" + std::to_string(range.end);
                };
                out += " [" + std::to_string(i) + "] " + found.tokens[i] + " expected " +
                       shown(expected.encoding.offsets[i]) + " found " + shown(found.offsets[i]);
                break;
            }
        return out;
    }
    if (found.types != expected.encoding.types) return "types";
    if (const std::string text = tokenizer.decode(found.ids, false); text != expected.decoded)
        return "decoded: expected '" + expected.decoded + "' found '" + text + "'";
    if (tokenizer.decode(found.ids, true) != expected.without_special) return "decoded without special tokens";
    if (!streams(tokenizer, expected)) return "streamed";
    return "";
}

int run(const std::string &path) {
    const auto seconds = [since = std::chrono::steady_clock::now()] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
    };
    const Tokenizer tokenizer = Tokenizer::load(path);
    const double loaded = seconds();
    Input input;
    Expected expected;
    size_t texts = 0, tokens = 0, different = 0;
    constexpr size_t shown = 10;
    for (; input.next(expected); ++texts) {
        tokens += expected.encoding.size();
        std::string what;
        try {
            what = difference(tokenizer, expected);
        } catch (const lamina::Error &error) {
            what = error.what();
        }
        if (what.empty()) continue;
        if (++different <= shown) std::cout << "text " << texts << " '" << expected.text << "': " << what << "\n";
    }
    std::cout << path << ": " << texts << " texts, " << tokens << " tokens, " << different << " different; loaded in "
              << loaded << " s\n";
    return different == 0 && texts > 0 ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2) {
        std::cerr << "usage: tokenizer_compare TOKENIZER < EXPECTED\n";
        return 2;
    }
    try {
        return run(argv[1]);
    } catch (const std::exception &error) {
        std::cerr << error.what() << "\n";
        return 3;
    }
}
