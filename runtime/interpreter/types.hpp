// The types of a SPIR-V module, as the interpreter stores their values.
//
// A value is a list of 32-bit words: one per number or truth value, those of composites one after the other. Memory is
// a list of words, too, with gaps where a buffer's layout has them. A number of 16 bits is kept as the float that has
// its value.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace lamina::interpreter {

// Something in a module that the interpreter does not know.
struct Unknown : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Not in every release of the SPIR-V headers.
inline constexpr uint32_t op_type_cooperative_matrix = 4456;

struct Type {
    uint32_t op = 0;                  // SpvOpTypeVector, ...
    uint32_t words = 0;               // of a value
    uint32_t element = 0;             // the type of a vector's, array's or pointer's elements
    uint32_t count = 0;               // of elements; 0: as many as the buffer holds
    uint32_t stride = 0;              // words from element to element in memory
    uint32_t span = 0;                // words in memory, with gaps
    uint32_t storage = 0;             // of a pointer: its storage class
    uint32_t bits = 0;                // of a number
    uint32_t rows = 0, cols = 0;      // of a cooperative matrix, whose words are those that one invocation holds
    std::vector<uint32_t> members{};  // of a struct: their types
    std::vector<uint32_t> offsets{};  // and where they begin, in words
    std::vector<std::string> names{}; // and their names, if the module has them
};

// What decorations say about the layout of a type in memory, in bytes.
struct Layout {
    uint32_t stride = 0;                 // of an array; 0: not decorated
    std::map<uint32_t, uint32_t> offset; // of members
    std::map<uint32_t, std::string> names;
};

class Types {
  public:
    // Adds the type that an instruction declares, with the length of an array. Throws Unknown for other types.
    void add(std::span<const uint32_t> instruction, const Layout &layout, uint32_t length);
    // Adds the type of matrices that the invocations of a subgroup hold together.
    void add_matrix(uint32_t id, uint32_t component, uint32_t rows, uint32_t cols, uint32_t invocations);
    [[nodiscard]] const Type &operator[](uint32_t id) const { return types_.at(id); }

    // Whether a value consists of numbers of 16 bits.
    [[nodiscard]] bool is_of_halves(uint32_t type) const;
    // Where the words of a value are in memory, from where it begins; empty if they are all adjacent.
    [[nodiscard]] std::vector<uint32_t> places(uint32_t type) const;
    // "[3][12].y": the part of a variable of this type that begins at this word.
    [[nodiscard]] std::string part(uint32_t type, uint32_t word) const;

  private:
    void append_places(uint32_t type, uint32_t from, std::vector<uint32_t> &out) const;
    [[nodiscard]] Type struct_of(std::span<const uint32_t> instruction, const Layout &layout) const;

    std::map<uint32_t, Type> types_;
};

} // namespace lamina::interpreter
