// Compares the fusion, on every device, with the two layers that it replaces.
#include <lamina/testing.hpp>

TEST_CASE("rms_norm_activation agrees with rms_norm and activation on every device") {
    CHECK_THAT("rms_norm_activation", lamina::testing::agrees_on_every_device());
}
