// Results that processes hand to each other: each is pickled as the tuple of its members.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>

#include <lamina/texts.hpp>

#include <new>
#include <string>
#include <tuple>
#include <utility>

namespace lamina::python {

namespace nb = nanobind;

template <class Value> nb::object stored(const Value &value) { return nb::cast(value); }
inline nb::object stored(const std::string &bytes) {
    return nb::bytes(bytes.data(), bytes.size());
} // need not be UTF-8
inline nb::object stored(const TextRange &range) { return nb::cast(std::pair(range.begin, range.end)); }
inline nb::object stored(Finish finish) { return nb::cast(static_cast<int>(finish)); }

template <class Value> void restore(const nb::handle &from, Value &to) { to = nb::cast<Value>(from); }
inline void restore(const nb::handle &from, std::string &to) {
    const auto bytes = nb::cast<nb::bytes>(from);
    to.assign(bytes.c_str(), bytes.size());
}
inline void restore(const nb::handle &from, TextRange &to) {
    std::tie(to.begin, to.end) = nb::cast<std::pair<size_t, size_t>>(from);
}
inline void restore(const nb::handle &from, Finish &to) { to = static_cast<Finish>(nb::cast<int>(from)); }

template <class Class, class... Members> void pickled(Class &type, Members... members) {
    using Type = typename Class::Type;
    type.def("__getstate__", [members...](const Type &value) { return nb::make_tuple(stored(value.*members)...); });
    type.def("__setstate__", [members...](Type &value, const nb::tuple &state) {
        new (&value) Type{};
        size_t i = 0;
        (restore(state[i++], value.*members), ...);
    });
}

} // namespace lamina::python
