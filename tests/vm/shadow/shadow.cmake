# SPDX-License-Identifier: BSD-2-Clause
# Everything made from here on is watched by shadow.c, which is not itself.
set(watched -fsanitize=kernel-address -fno-omit-frame-pointer
  "SHELL:-mllvm -asan-instrumentation-with-call-threshold=0" "SHELL:-mllvm -asan-mapping-offset=0x1000000000"
  "SHELL:-mllvm -asan-stack=1" "SHELL:-mllvm -asan-globals=1")
add_library(gw_shadow OBJECT tests/vm/shadow/shadow.c)
add_compile_options(${watched}) # after that: not of gw_shadow
link_libraries($<TARGET_OBJECTS:gw_shadow>)
foreach(name malloc calloc realloc free posix_memalign malloc_usable_size memcpy memmove memset)
  add_link_options(-Wl,--wrap=${name})
endforeach()
add_executable(shadow_faults tests/vm/shadow/faults.c)
