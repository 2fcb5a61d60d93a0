#include "base/shell.hpp"
#include "catch.hpp"

using lamina::shell_word;

TEST_CASE("a word is quoted for the shell only where it has to be") {
    for (const std::string plain : {"a", "/tmp/x-1.npy", "vulkan:0", "x=y", "50%"}) CHECK(shell_word(plain) == plain);
    CHECK(shell_word("") == "''");
    CHECK(shell_word("a b") == "'a b'");
    CHECK(shell_word("a'b") == R"('a'\''b')");
    CHECK(shell_word("$HOME;*") == "'$HOME;*'");
    CHECK(shell_word("~") == "'~'");
}
