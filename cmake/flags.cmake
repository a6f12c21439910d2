# pawl_flags: how every file of ours is compiled and linked. An INTERFACE target, linked by each
# layer and each program, so that nothing leaks into a project that embeds us.
include(CheckCCompilerFlag)
include(CheckPIESupported)
check_pie_supported()

add_library(pawl_flags INTERFACE)
target_compile_features(pawl_flags INTERFACE c_std_17)
target_compile_definitions(pawl_flags INTERFACE _GNU_SOURCE PAWL_POSTGRES=$<BOOL:${PAWL_POSTGRES}>)
target_compile_options(pawl_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes
    -Wmissing-prototypes -Wold-style-definition -Wvla -Wcast-qual -Wcast-align -Wpointer-arith
    -Wwrite-strings -Wundef -Wformat=2 -Wimplicit-fallthrough -Wdouble-promotion
    $<$<C_COMPILER_ID:GNU>:-Wlogical-op>
    $<$<C_COMPILER_ID:GNU>:-Wduplicated-cond>
    $<$<C_COMPILER_ID:GNU>:-Wduplicated-branches>
    # A message names src/…, wherever the tree lies; a release is the same file from any folder.
    -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
if(PAWL_WERROR)
    target_compile_options(pawl_flags INTERFACE -Werror)
endif()

if(PAWL_SANITIZE)
    target_compile_options(pawl_flags INTERFACE
        -fsanitize=${PAWL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(pawl_flags INTERFACE
        -fsanitize=${PAWL_SANITIZE} -fno-sanitize-recover=all)
endif()

if(PAWL_HARDEN)
    target_compile_options(pawl_flags INTERFACE
        -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong
        -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
    foreach(flag -fstack-clash-protection -fcf-protection -ftrivial-auto-var-init=zero)
        string(MAKE_C_IDENTIFIER "PAWL_HAS_${flag}" has)
        check_c_compiler_flag(${flag} ${has})
        if(${has})
            target_compile_options(pawl_flags INTERFACE ${flag})
        endif()
    endforeach()
    target_link_options(pawl_flags INTERFACE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
endif()
