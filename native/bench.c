/* clock_gettime is POSIX, not C11. */
#define _POSIX_C_SOURCE 199309L

#include "prototypes.h"

#include <time.h>

typedef void six_arguments(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

static uint64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t bench_calls(uintptr_t function, const uintptr_t arguments[6], uint64_t calls)
{
    six_arguments *call = (six_arguments *)function;
    uint64_t start = nanoseconds();
    for (uint64_t i = 0; i < calls; i++)
        call(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
    return nanoseconds() - start;
}
