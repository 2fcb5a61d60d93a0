// Catch2 3 brings its own main; 2.13 has it made here, once for all test programs.
#if !__has_include(<catch2/catch_test_macros.hpp>)
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
