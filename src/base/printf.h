/* Lets the compiler check the arguments of our own printf-like functions. */
#ifndef PAWL_BASE_PRINTF_H
#define PAWL_BASE_PRINTF_H

/* format_at and args_at count the parameters from 1; args_at 0 is for a va_list. */
#if defined(__GNUC__)
#define PAWL_PRINTF(format_at, args_at) __attribute__((format(printf, format_at, args_at)))
#else
#define PAWL_PRINTF(format_at, args_at)
#endif

#endif
