// Vocabularies, a token a line
#include "model/vocabulary.hpp"
#include "fuzz.hpp"

void test::read(std::string_view input) {
    const auto vocabulary = lamina::model::Vocabulary::parse(input, "vocabulary.txt");
    for (const bool characters : {true, false}) (void)vocabulary.encode(input, characters, true);
}
