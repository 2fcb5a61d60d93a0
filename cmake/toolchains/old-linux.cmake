# Compiles for Linux with glibc 2.27 or later, with Debian 12's GCC, for the processor $PROCESSOR. scripts/old-linux
# makes what is linked: in /opt/PROCESSOR, the C and C++ libraries of 2018 (system), and those that Lamina needs
# (libraries).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $ENV{PROCESSOR})
set(CMAKE_C_COMPILER ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu-g++)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  set(CMAKE_CXX_FLAGS_INIT -Wno-psabi) # notes about GCC 10, which no part of this is compiled with
endif()

set(CMAKE_SYSROOT /opt/${CMAKE_SYSTEM_PROCESSOR}/system)
foreach(kind SHARED MODULE EXE) # -L finds the old libraries before those of this system
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-L=/usr/lib -Wl,--exclude-libs,libstdc++.a -Wl,--strip-all")
endforeach()

set(libraries /opt/${CMAKE_SYSTEM_PROCESSOR}/libraries)
list(APPEND CMAKE_PREFIX_PATH ${libraries})
set(ENV{PKG_CONFIG_LIBDIR} ${libraries}/lib/pkgconfig)
