/* clock_gettime is POSIX, not C11. */
#define _POSIX_C_SOURCE 199309L

#include "core.h"

#include <time.h>

typedef void six_arguments(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

static uint64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* What reading the clock adds to a measured time. */
static uint64_t reading(void)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 8; i++) {
        uint64_t start = nanoseconds(), taken = nanoseconds() - start;
        least = taken < least ? taken : least;
    }
    return least;
}

static uint64_t bench_calls(uintptr_t function, const uintptr_t arguments[6], uint64_t calls)
{
    six_arguments *call = (six_arguments *)function;
    uint64_t start = nanoseconds();
    for (uint64_t i = 0; i < calls; i++)
        call(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
    return nanoseconds() - start;
}

void bench_pass(uintptr_t clock, uint64_t iterations, uintptr_t function, const uintptr_t arguments[6], uint64_t calls,
                uint64_t times[3])
{
    const uintptr_t chain[6] = {iterations};
    times[0] = bench_calls(clock, chain, 1);
    times[1] = bench_calls(function, arguments, calls);
    times[2] = bench_calls(clock, chain, 1);
    uint64_t overhead = reading();
    for (int i = 0; i < 3; i++)
        times[i] -= times[i] < overhead ? times[i] : overhead;
}

void bench_batch(const struct bench_xts *bench, const uint8_t *source, uint8_t *destination, size_t length,
                 uint64_t sector_size)
{
    core_xts_sectors(bench->cipher, &bench->way, source, length, destination, length, 0, sector_size, 1);
}

void bench_sequence(struct bench_xts *bench, const uint8_t *source, uint8_t *destination, size_t length)
{
    const uint64_t tweak[2] = {bench->sector++, 0};
    core_xts(bench->cipher, &bench->way, source, length, destination, length, (const uint8_t *)tweak);
}
