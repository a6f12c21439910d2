/* Promises between our own functions, checked in release too. Data from outside is never asserted.
 */
#ifndef PAWL_BASE_ASSERT_H
#define PAWL_BASE_ASSERT_H

/* One condition a line. A broken promise prints file, line and condition to stderr and aborts:
 * better no process than one that acts on a state that cannot be. */
#define pawl_assert(condition) \
    ((condition) ? (void)0 : pawl_assert_failed(#condition, __FILE__, __LINE__))

#if defined(__GNUC__)
__attribute__((cold))
#endif
_Noreturn void
pawl_assert_failed(const char *condition, const char *file, int line);

#endif
