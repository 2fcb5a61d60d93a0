// tokenizer.json
#include "fuzz.hpp"

#include <lamina/tokenizer.hpp>

void test::read(std::string_view input) {
    const lamina::Tokenizer tokenizer = lamina::Tokenizer::parse(input, "tokenizer.json");
    for (const char *text :
         {"", " Hello,  world!\n\t", "na\u00efve \u65e5\u672c \U0001F469\u200d\U0001F680", "<s>aaaa</s>[MASK]##"}) {
        const lamina::Encoding one = tokenizer.encode(text), two = tokenizer.encode(text, "b c");
        (void)tokenizer.decode(one.ids);
        (void)tokenizer.decode(two.ids, false);
    }
}
