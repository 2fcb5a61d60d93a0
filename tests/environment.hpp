// Sets a variable of the environment for the rest of the process. The variable refers to the text that it is given, so
// the texts live as long.
#pragma once

#include <cstdlib>
#include <list>
#include <string>

namespace test {

inline void set_variable(const std::string &name, const std::string &value) {
    static std::list<std::string> texts;
    texts.push_back(name + "=" + value);
    putenv(texts.back().data());
}

} // namespace test
