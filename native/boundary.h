#pragma once
#include "core.h"

#define BLOCK 16
#define LINE 64 /* bytes of a cache line */

/* For every local copy of an IV, a chain, a counter or a tweak, before it goes; sizes are multiples of 8 bytes.
   Volatile: a memset of memory that is not read again would be dropped. */
static inline void clear(volatile void *memory, size_t size)
{
    volatile uint64_t *words = memory;
    for (size_t i = 0; i < size / sizeof *words; i++)
        words[i] = 0;
}

static inline int check_buffers(const uint8_t *source, size_t length, const uint8_t *destination, size_t room)
{
    uintptr_t from = (uintptr_t)source, to = (uintptr_t)destination;
    if (room != length)
        return REFUSED_ROOM;
    if (from != to && (from < to ? to - from : from - to) < length)
        return REFUSED_OVERLAP;
    return ACCEPTED;
}
