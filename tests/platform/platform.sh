#!/bin/sh
# platform.sh SOURCE: fails if code outside base/platform includes a header of an operating system, asks which one it is
# compiled for, or reads /proc or /dev/fd.
set -eu
cd -- "$1"

posix='aio|alloca|arpa/[a-z]+|dirent|dlfcn|elf|execinfo|fcntl|fnmatch|glob|grp|iconv|ifaddrs|langinfo|libgen|link|linux/[a-z_]+|malloc|net/[a-z]+|netdb|netinet/[a-z_]+|poll|pthread|pwd|regex|sched|semaphore|spawn|strings|sys/[a-z_]+|syslog|termios|ucontext|unistd|utime|wordexp|xlocale'
windows='aclapi|conio|direct|io|process|psapi|shlobj|winsock2?|ws2tcpip|windows|winternl'
traces="^ *# *include *<($posix|$windows)\\.h>|\\b(_WIN32|WIN32|_MSC_VER|__MINGW(32|64)__|__linux__|__unix__|__APPLE__)\\b|\"/(proc|dev/fd)\\b"
traces_in() { grep -rnE --include='*.cpp' --include='*.hpp' --include='*.h' --include='*.c' "$traces" "$@" || true; }

for system in linux windows; do # what the expression must find
    [ "$(traces_in base/platform/$system | wc -l)" -gt 10 ] || { echo "platform.sh: finds too little in base/platform/$system" >&2; exit 1; }
done
found=$(traces_in base c cli include plugins python runtime serve examples | grep -v '^base/platform/' || true)
[ -z "$found" ] || { echo "$found"; echo "Only base/platform may do that: see docs/platforms.md." >&2; exit 1; }
