#include "prototypes.h"

#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

void cpu_identify(uint32_t leaf, uint32_t subleaf, uint32_t registers[4])
{
    memset(registers, 0, 4 * sizeof(uint32_t));
    __get_cpuid_count(leaf, subleaf, &registers[0], &registers[1], &registers[2], &registers[3]);
}

uint64_t cpu_enabled_state(void)
{
    uint32_t registers[4];
    cpu_identify(1, 0, registers);
    if (!(registers[2] & bit_OSXSAVE))
        return 0;
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return ((uint64_t)high << 32) | low;
}

#else

void cpu_identify(uint32_t leaf, uint32_t subleaf, uint32_t registers[4])
{
    (void)leaf, (void)subleaf;
    memset(registers, 0, 4 * sizeof(uint32_t));
}

uint64_t cpu_enabled_state(void)
{
    return 0;
}

#endif
