# The C++ blocks of a Markdown page as a program that runs each of them.
BEGIN {
    print "#include <lamina/lamina.hpp>\n#include <lamina/transformer.hpp>\n"
    print "#include <algorithm>\n#include <iostream>\n#include <span>\n#include <vector>\n"
}
/^```cpp/ { count++; inside = 1; print "static void example_" count "() {"; print "#line " NR + 1 " \"" FILENAME "\""; next }
/^```/ { if (inside) print "}\n"; inside = 0; next }
inside { print }
END {
    print "int main() {\n    try {"
    for (i = 1; i <= count; i++) print "        example_" i "();"
    print "        std::cout << \"" count " examples have run\\n\";"
    print "    } catch (const lamina::Error &error) {\n        std::cerr << error.what() << '\\n';\n        return 1;\n    }\n}"
}
