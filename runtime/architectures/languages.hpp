// The languages that a translator's tokens stand for.
#pragma once

#include "architectures/architecture.hpp"

namespace lamina::architectures {

// How a family of translators writes the token of a language: >>deu<< (Marian), deu_Latn or __de__ (NLLB, M2M-100),
// de_DE (mBART).
enum class LanguageTokens { none, marian, m2m_100, mbart };

// Adds to `tokens` what a caller may choose: "language", of what is written, and "source_language", of what is read;
// "de" is the name of "__de__". Models of Marian are told what to write in front of what they read. Nothing for a model
// that has less than two languages.
void add_languages(LanguageTokens kind, const TextSettings &texts, model::OutputTokens &tokens);

} // namespace lamina::architectures
