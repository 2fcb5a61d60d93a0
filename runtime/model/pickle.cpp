#include "model/pickle.hpp"

#include "base/utf8.hpp"

#include <lamina/error.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <unordered_map>

namespace lamina::model {
namespace {

constexpr std::string_view ordered_dict = "collections.OrderedDict";
constexpr uint8_t newest_protocol = 2;

struct KindNames {
    const char *operator()(const Pickle::None & /*value*/) const { return "None"; }
    const char *operator()(bool /*value*/) const { return "a bool"; }
    const char *operator()(int64_t /*value*/) const { return "an integer"; }
    const char *operator()(double /*value*/) const { return "a float"; }
    const char *operator()(std::string_view /*value*/) const { return "a text"; }
    const char *operator()(const Pickle::LargeInteger & /*value*/) const { return "an integer of more than 64 bits"; }
    const char *operator()(const Pickle::Global & /*value*/) const { return "a class"; }
    const char *operator()(const Pickle::Sequence & /*value*/) const { return "a list"; }
    const char *operator()(const Pickle::Dict & /*value*/) const { return "a dict"; }
    const char *operator()(const Pickle::Call & /*value*/) const { return "a tensor"; }
    const char *operator()(const Pickle::Persistent & /*value*/) const { return "a storage"; }
};

} // namespace

class Pickle::Interpreter {
  public:
    Interpreter(std::span<const std::byte> bytes, uint64_t at, Pickle &out, const Allows &allows)
        : bytes_(bytes), at_(at), out_(out), allows_(allows) {}

    // Returns where the next value begins.
    uint64_t run() {
        while (true) {
            begin_ = at_;
            const auto opcode = number<uint8_t>();
            if (opcode == '.') break;
            step(opcode);
        }
        out_.top_ = pop();
        return at_;
    }

  private:
    // ---- What is read ----
    [[noreturn]] void refuse(const std::string &why) const { out_.fail("byte " + std::to_string(begin_) + ": " + why); }
    std::string_view text(uint64_t size) {
        if (size > bytes_.size() - at_)
            refuse("expected " + std::to_string(size) + " bytes, found " + std::to_string(bytes_.size() - at_) +
                   ": the file is cut short or damaged; download it again");
        at_ += size;
        return {reinterpret_cast<const char *>(bytes_.data()) + at_ - size, static_cast<size_t>(size)};
    }
    template <class T> T number() {
        T out = 0;
        std::memcpy(&out, text(sizeof out).data(), sizeof out);
        return out;
    }
    std::string_view line() {
        const auto rest = bytes_.subspan(at_);
        const auto end = std::ranges::find(rest, std::byte{'\n'});
        const std::string_view out = text(static_cast<uint64_t>(end - rest.begin()));
        (void)text(1);
        return out;
    }

    // ---- The stack ----
    void push(Value value) {
        stack_.push_back(static_cast<Ref>(out_.values_.size()));
        out_.values_.push_back(std::move(value));
    }
    void expect(size_t values) const {
        const size_t bottom = marks_.empty() ? 0 : marks_.back();
        if (stack_.size() - bottom < values)
            refuse("takes " + std::to_string(values) + " values where fewer were written: the file is damaged");
    }
    Ref pop() {
        expect(1);
        const Ref out = stack_.back();
        stack_.pop_back();
        return out;
    }
    std::vector<Ref> pop(size_t count) {
        expect(count);
        std::vector<Ref> out(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
        stack_.resize(stack_.size() - count);
        return out;
    }
    std::vector<Ref> pop_to_mark() {
        if (marks_.empty()) refuse("takes the values behind a mark where there is none: the file is damaged");
        std::vector<Ref> out = pop(stack_.size() - marks_.back());
        marks_.pop_back();
        return out;
    }
    template <class T> T &top(const char *what) {
        expect(1);
        T *out = std::get_if<T>(&out_.values_[stack_.back()]);
        if (out == nullptr) out_.expected(what, stack_.back());
        return *out;
    }
    void put(uint32_t number) {
        expect(1);
        memo_[number] = stack_.back();
    }
    void get(uint32_t number) {
        const auto found = memo_.find(number);
        if (found == memo_.end())
            refuse("refers to value " + std::to_string(number) + ", which is not there: the file is damaged");
        stack_.push_back(found->second);
    }

    // ---- Opcodes ----
    void step(uint8_t opcode) {
        if (is_scalar(opcode)) return;
        switch (opcode) {
        case '(':
            return marks_.push_back(stack_.size());
        case 't':
            return push(Sequence{pop_to_mark()});
        case ')':
        case ']':
            return push(Sequence{});
        case 0x85:
        case 0x86:
        case 0x87:
            return push(Sequence{pop(opcode - 0x84U)});
        case '}':
            return push(Dict{});
        case 'a':
            return append(pop(1));
        case 'e':
            return append(pop_to_mark());
        case 's':
            return set(pop(2));
        case 'u':
            return set(pop_to_mark());
        case 'q':
            return put(number<uint8_t>());
        case 'r':
            return put(number<uint32_t>());
        case 'h':
            return get(number<uint8_t>());
        case 'j':
            return get(number<uint32_t>());
        case 'c':
            return global();
        case 'R':
            return call();
        case 'b':
            return build();
        case 'Q':
            return push(Persistent{pop()});
        case 0x80:
            return protocol(number<uint8_t>());
        default:
            refuse("the opcode " + std::to_string(opcode) +
                   " of Python's pickle is not supported; torch.save() does not write it for tensors: save the model "
                   "again as safetensors, with save_pretrained()");
        }
    }

    bool is_scalar(uint8_t opcode) {
        switch (opcode) {
        case 'N':
            push(None{});
            return true;
        case 0x88:
        case 0x89:
            push(opcode == 0x88);
            return true;
        case 'J':
            push(int64_t{number<int32_t>()});
            return true;
        case 'K':
            push(int64_t{number<uint8_t>()});
            return true;
        case 'M':
            push(int64_t{number<uint16_t>()});
            return true;
        case 0x8a:
            push_integer(text(number<uint8_t>()));
            return true;
        case 'G':
            push(std::bit_cast<double>(swapped(number<uint64_t>())));
            return true;
        case 'X':
        case 'T':
            push(text(number<uint32_t>()));
            return true;
        case 'U':
            push(text(number<uint8_t>()));
            return true;
        default:
            return false;
        }
    }
    static uint64_t swapped(uint64_t big_endian) {
        auto bytes = std::bit_cast<std::array<std::byte, 8>>(big_endian);
        std::ranges::reverse(bytes);
        return std::bit_cast<uint64_t>(bytes);
    }
    void push_integer(std::string_view little_endian) { // in two's complement
        if (little_endian.size() > sizeof(int64_t)) return push(LargeInteger{little_endian});
        const bool negative = !little_endian.empty() && (static_cast<uint8_t>(little_endian.back()) & 0x80U) != 0;
        int64_t value = negative ? -1 : 0;
        std::memcpy(&value, little_endian.data(), little_endian.size());
        push(value);
    }

    void append(const std::vector<Ref> &items) {
        auto &list = top<Sequence>("a list to append to").items;
        list.insert(list.end(), items.begin(), items.end());
    }
    void set(const std::vector<Ref> &items) {
        if (items.size() % 2 != 0) refuse("a key of a dict without a value: the file is damaged");
        auto &dict = top<Dict>("a dict to set keys of").items;
        for (size_t i = 0; i < items.size(); i += 2) dict.emplace_back(items[i], items[i + 1]);
    }
    void global() {
        std::string name(line());
        name.append(".").append(line());
        if (name != ordered_dict && !allows_(name))
            refuse("refers to " + in_quotes(name) +
                   ", and a file is never let to run code: expected only tensors, their storages and "
                   "collections.OrderedDict. Save the state_dict() of the model alone, or all of it as safetensors, "
                   "with save_pretrained()");
        push(Global{std::move(name)});
    }
    void call() {
        const std::vector<Ref> both = pop(2);
        const std::string function = out_.as<Global>(both[0], "a function to call").name;
        std::vector<Ref> arguments = out_.as<Sequence>(both[1], "the arguments of a call").items;
        if (function != ordered_dict) return push(Call{function, std::move(arguments)});
        Dict dict;
        if (!arguments.empty()) // a list of pairs, as Python 2 writes it
            for (const Ref pair : out_.as<Sequence>(arguments[0], "the items of an OrderedDict").items) {
                const auto &items = out_.as<Sequence>(pair, "an item of an OrderedDict").items;
                if (items.size() != 2) out_.expected("a key and a value of an OrderedDict", pair);
                dict.items.emplace_back(items[0], items[1]);
            }
        push(std::move(dict));
    }
    // The attributes of an object. A state_dict has its `_metadata` so, the versions of modules.
    void build() {
        (void)pop();
        (void)top<Dict>("an OrderedDict that has attributes");
    }
    void protocol(uint8_t version) const {
        if (version > newest_protocol)
            refuse("protocol " + std::to_string(version) +
                   " of Python's pickle; expected 2, which torch.save() writes unless it is given another: save the "
                   "model again as safetensors, with save_pretrained()");
    }

    std::span<const std::byte> bytes_;
    uint64_t at_, begin_ = 0; // begin_: of the opcode
    Pickle &out_;
    const Allows &allows_;
    std::vector<Ref> stack_;
    std::vector<size_t> marks_;
    std::unordered_map<uint32_t, Ref> memo_;
};

Pickle::Pickle(std::span<const std::byte> bytes, uint64_t &at, std::string where, const Allows &allows)
    : where_(std::move(where)) {
    constexpr uint64_t largest = 64u << 20; // each byte may make a value
    const uint64_t end = std::min<uint64_t>(bytes.size(), at + largest);
    at = Interpreter(bytes.first(end), at, *this, allows).run();
}

std::vector<int64_t> Pickle::integers(Ref sequence, const std::string &what) const {
    std::vector<int64_t> out;
    for (const Ref item : as<Sequence>(sequence, what).items) out.push_back(as<int64_t>(item, what));
    return out;
}

void Pickle::expected(const std::string &what, Ref found) const {
    fail("expected " + what + ", found " + std::visit(KindNames{}, values_[found]));
}

void Pickle::fail(const std::string &message) const { throw Error(ErrorCode::input, where_ + ": " + message); }

} // namespace lamina::model
