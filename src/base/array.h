/* Arrays whose length the compiler knows. */
#ifndef PAWL_BASE_ARRAY_H
#define PAWL_BASE_ARRAY_H

/* The number of elements of an array; not for pointers, of which gcc and clang warn
 * (-Wsizeof-pointer-div). */
#define PAWL_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
