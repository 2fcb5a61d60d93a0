# Compiles for 64-bit Arm with Debian's g++-aarch64-linux-gnu, and Debian's libraries for arm64 (scripts/arm64).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CXX_FLAGS_INIT -Wno-psabi) # notes about GCC 10, which no part of this is compiled with
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu) # where Debian has them: /usr/lib/aarch64-linux-gnu
# Runs tests, and the command for its manual pages.
find_program(CMAKE_CROSSCOMPILING_EMULATOR NAMES qemu-aarch64 qemu-aarch64-static REQUIRED)
set(PKG_CONFIG_EXECUTABLE aarch64-linux-gnu-pkg-config)
