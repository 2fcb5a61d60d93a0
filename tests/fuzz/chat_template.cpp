// Chat templates
#include "fuzz.hpp"

#include <lamina/chat_template.hpp>

void test::read(std::string_view input) {
    const auto parsed = lamina::ChatTemplate::parse(input);
    (void)parsed.render({{"system", "Be brief."}, {"user", "Hi \u00e9"}, {"assistant", "Hello."}, {"user", "?"}});
}
