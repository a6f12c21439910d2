/* What a fuzzer calls: takes any bytes, and asserts what must hold. Returns 0. */
#ifndef PAWL_TESTS_FUZZ_FUZZ_H
#define PAWL_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif
