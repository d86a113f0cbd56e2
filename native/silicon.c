/*
 * A child process that runs code one instruction at a time under ptrace, its whole register state read after each.
 *
 * The child is a stub of three bytes (syscall, int3) in an otherwise empty address space; the caller maps memory into
 * it that it shares, so that buffers are read and compared without a system call. All calls on one child must come from
 * the thread that started it. Negative results are -errno.
 */
#define _GNU_SOURCE
#include "prototypes.h"
#include <errno.h>
#include <string.h>

#if defined(__linux__) && defined(__x86_64__)
#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AREA = 16384, CHUNK = 64, LEGACY_XMM = 160, HEADER = 512, LONG = 16 };
enum { SSE = 1 << 1, AVX = 1 << 2, OPMASK = 1 << 5, ZMM_HIGH = 1 << 6, ZMM_EXTRA = 1 << 7 };
enum { TRAP_FLAG = 1 << 8 };

/* The XSAVE area in its standard format. */
struct area {
    _Alignas(64) uint8_t bytes[AREA];
    size_t size;
};

/* Where its components lie (CPUID leaf 0xD, ebx); 0 for one that is not there. */
static uint32_t at_avx, at_opmask, at_zmm_high, at_zmm_extra;

static uint32_t component(uint32_t number) {
    uint32_t registers[4] = {0};
    if (cpu_enabled_state() >> number & 1)
        cpu_identify(0xD, number, registers);
    return registers[1];
}

/* Once a child: CPUID is slow where a hypervisor answers it. */
static void find_components(void) {
    at_avx = component(2);
    at_opmask = component(5);
    at_zmm_high = component(6);
    at_zmm_extra = component(7);
}

static int wait_for(int child, int *status) {
    pid_t found;
    do
        found = waitpid(child, status, __WALL);
    while (found < 0 && errno == EINTR);
    return found < 0;
}

static int area_get(int child, struct area *area) {
    struct iovec io = {area->bytes, sizeof area->bytes};
    memset(area->bytes, 0, HEADER + 64);
    if (ptrace(PTRACE_GETREGSET, child, (void *)NT_X86_XSTATE, &io))
        return -errno;
    area->size = io.iov_len;
    return 0;
}

/* Each component that the header does not flag is in its initial state, zero, whatever its bytes say. */
static void area_to(const struct area *area, struct silicon_registers *r) {
    uint64_t set;
    memcpy(&set, area->bytes + HEADER, sizeof set);
    memset(r->masks, 0, sizeof r->masks);
    memset(r->vectors, 0, sizeof r->vectors);
    for (int i = 0; i < 16; i++) {
        if (set & SSE)
            memcpy(r->vectors[i], area->bytes + LEGACY_XMM + 16 * i, 16);
        if (at_avx && set & AVX)
            memcpy(r->vectors[i] + 16, area->bytes + at_avx + 16 * i, 16);
        if (at_zmm_high && set & ZMM_HIGH)
            memcpy(r->vectors[i] + 32, area->bytes + at_zmm_high + 32 * i, 32);
    }
    if (at_zmm_extra && set & ZMM_EXTRA)
        memcpy(r->vectors[16], area->bytes + at_zmm_extra, 16 * 64);
    if (at_opmask && set & OPMASK)
        memcpy(r->masks, area->bytes + at_opmask, sizeof r->masks);
}

static void area_from(struct area *area, const struct silicon_registers *r) {
    uint64_t set = SSE | (at_avx ? AVX : 0) | (at_opmask ? OPMASK : 0) | (at_zmm_high ? ZMM_HIGH : 0)
        | (at_zmm_extra ? ZMM_EXTRA : 0), old;
    memcpy(&old, area->bytes + HEADER, sizeof old);
    set |= old;
    memcpy(area->bytes + HEADER, &set, sizeof set);
    for (int i = 0; i < 16; i++) {
        memcpy(area->bytes + LEGACY_XMM + 16 * i, r->vectors[i], 16);
        if (at_avx)
            memcpy(area->bytes + at_avx + 16 * i, r->vectors[i] + 16, 16);
        if (at_zmm_high)
            memcpy(area->bytes + at_zmm_high + 32 * i, r->vectors[i] + 32, 32);
    }
    if (at_zmm_extra)
        memcpy(area->bytes + at_zmm_extra, r->vectors[16], 16 * 64);
    if (at_opmask)
        memcpy(area->bytes + at_opmask, r->masks, sizeof r->masks);
}

/* The kernel's order of the general registers, as pointers in the encoding's order. */
static void general(struct user_regs_struct *u, unsigned long long *in_order[16]) {
    unsigned long long *order[16] = {&u->rax, &u->rcx, &u->rdx, &u->rbx, &u->rsp, &u->rbp, &u->rsi, &u->rdi,
        &u->r8, &u->r9, &u->r10, &u->r11, &u->r12, &u->r13, &u->r14, &u->r15};
    memcpy(in_order, order, sizeof order);
}

static void general_to(struct user_regs_struct *user, struct silicon_registers *r) {
    unsigned long long *order[16];
    general(user, order);
    for (int i = 0; i < 16; i++)
        r->general[i] = *order[i];
    r->rip = user->rip;
    r->flags = user->eflags & ~(uint64_t)TRAP_FLAG;
}

int silicon_get(int child, struct silicon_registers *registers) {
    struct area area;
    struct user_regs_struct user;
    if (ptrace(PTRACE_GETREGS, child, 0, &user))
        return -errno;
    int failed = area_get(child, &area);
    general_to(&user, registers);
    area_to(&area, registers);
    return failed;
}

int silicon_set(int child, const struct silicon_registers *registers) {
    struct area area;
    struct user_regs_struct user;
    unsigned long long *order[16];
    int failed = area_get(child, &area);
    if (failed)
        return failed;
    area_from(&area, registers);
    struct iovec io = {area.bytes, area.size};
    if (ptrace(PTRACE_SETREGSET, child, (void *)NT_X86_XSTATE, &io) || ptrace(PTRACE_GETREGS, child, 0, &user))
        return -errno;
    general(&user, order);
    for (int i = 0; i < 16; i++)
        *order[i] = registers->general[i];
    user.rip = registers->rip;
    user.eflags = registers->flags;
    user.orig_rax = ~0ull; /* no system call to restart */
    return ptrace(PTRACE_SETREGS, child, 0, &user) ? -errno : 0;
}

/* In the child between fork and exec: system calls only. */
static void become(int program, int memory) {
    static char *const nothing[] = {NULL};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0); /* a terminal's signals are not for it; in its session it has the priority of who asked */
    if (!fcntl(memory, F_SETFD, 0) && !ptrace(PTRACE_TRACEME, 0, 0, 0))
        syscall(SYS_execveat, program, "", nothing, nothing, AT_EMPTY_PATH);
    _exit(errno & 127);
}

int silicon_start(int program, int memory) {
    int status;
    find_components();
    pid_t child = fork();
    if (child < 0)
        return -errno;
    if (!child)
        become(program, memory);
    if (wait_for(child, &status))
        return -errno;
    if (WIFEXITED(status))
        return -(WEXITSTATUS(status) ? WEXITSTATUS(status) : EPERM);
    if (!WIFSTOPPED(status))
        return -ECHILD;
    long options = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD;
    return ptrace(PTRACE_SETOPTIONS, child, 0, options) ? -errno : child;
}

void silicon_end(int child) {
    int status;
    kill(child, SIGKILL);
    wait_for(child, &status);
}

int64_t silicon_system_call(int child, uint64_t stub, uint64_t number, const uint64_t a[6]) {
    int status;
    struct user_regs_struct user;
    if (ptrace(PTRACE_GETREGS, child, 0, &user))
        return -errno;
    user.rip = stub;
    user.rax = number;
    user.orig_rax = ~0ull;
    user.rdi = a[0], user.rsi = a[1], user.rdx = a[2], user.r10 = a[3], user.r8 = a[4], user.r9 = a[5];
    if (ptrace(PTRACE_SETREGS, child, 0, &user) || ptrace(PTRACE_SINGLESTEP, child, 0, 0)
        || wait_for(child, &status))
        return -errno;
    if (!WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, child, 0, &user))
        return -ECHILD;
    return (int64_t)user.rax;
}

/* The bytes at an address of the child, up to the end of their range; NULL where nothing is shared. */
static const uint8_t *shared_at(const struct silicon_memory *m, uint64_t address, size_t *left) {
    for (size_t i = 0; i < m->count; i++) {
        const struct silicon_range *range = &m->ranges[i];
        if (address - range->address < range->size) {
            *left = range->size - (address - range->address);
            return m->now + range->offset + (address - range->address);
        }
    }
    return NULL;
}

/* Operand and address size, repeats, segments, REX. */
static int is_prefix(uint8_t byte) {
    return (byte >= 0x64 && byte <= 0x67) || byte == 0xF2 || byte == 0xF3 || (byte & 0xF0) == 0x40
        || (byte & 0xE7) == 0x26;
}

/* Whether the instruction there is a string instruction with a rep prefix, which traps after each iteration. */
static int repeats(const struct silicon_memory *m, uint64_t address) {
    size_t left = 0;
    const uint8_t *code = shared_at(m, address, &left);
    int repeat = 0;
    while (code && left && is_prefix(*code)) {
        repeat |= *code == 0xF2 || *code == 0xF3;
        code++, left--;
    }
    return repeat && left && ((*code >= 0xA4 && *code <= 0xA7) || (*code >= 0xAA && *code <= 0xAF));
}

static int is_breakpoint(const struct silicon_memory *m, uint64_t address) {
    size_t left = 0;
    const uint8_t *code = shared_at(m, address, &left);
    return code && (*code == 0xCC || *code == 0xF1 || (*code == 0xCD && left > 1));
}

/* Note every 64 bytes of the watched ranges that changed, and remember them. */
static size_t note_changes(const struct silicon_memory *m, uint64_t step, struct silicon_change *changes) {
    size_t found = 0;
    for (size_t i = 0; i < m->count; i++) {
        const struct silicon_range *range = &m->ranges[i];
        const uint8_t *now = m->now + range->offset;
        uint8_t *before = m->before + range->offset;
        if (!range->watched || !memcmp(now, before, range->size))
            continue;
        for (size_t at = 0; at < range->size; at += CHUNK) {
            if (!memcmp(now + at, before + at, CHUNK))
                continue;
            memcpy(before + at, now + at, CHUNK);
            changes[found].step = step;
            changes[found].address = range->address + at;
            memcpy(changes[found++].bytes, now + at, CHUNK);
        }
    }
    return found;
}

static size_t most_changes(const struct silicon_memory *m) {
    size_t chunks = 0;
    for (size_t i = 0; i < m->count; i++)
        chunks += m->ranges[i].watched ? m->ranges[i].size / CHUNK : 0;
    return chunks;
}

/* One instruction, all its iterations; 0, or what stopped it. */
static int step_one(int child, const struct silicon_memory *m, struct user_regs_struct *user, struct silicon_stop *stop) {
    uint64_t from = user->rip, iterations = 0;
    if (is_breakpoint(m, from))
        return SILICON_SIGNAL | SIGTRAP;
    do {
        int status;
        if (ptrace(PTRACE_SYSEMU_SINGLESTEP, child, 0, 0) || wait_for(child, &status) || !WIFSTOPPED(status))
            return SILICON_GONE;
        if (WSTOPSIG(status) == (SIGTRAP | 0x80))
            return SILICON_SYSTEM_CALL;
        if (WSTOPSIG(status) != SIGTRAP) {
            siginfo_t info;
            if (!ptrace(PTRACE_GETSIGINFO, child, 0, &info))
                stop->address = (uint64_t)(uintptr_t)info.si_addr, stop->code = (uint64_t)info.si_code;
            return SILICON_SIGNAL | WSTOPSIG(status);
        }
        if (ptrace(PTRACE_GETREGS, child, 0, user))
            return SILICON_GONE;
        if (++iterations > SILICON_ITERATIONS)
            return SILICON_SIGNAL | SIGALRM;
    } while (user->rip == from && repeats(m, from));
    return 0;
}

/* Keep both processes on this CPU for a long run: waking the other one up across CPUs takes as long as the step. */
static int stay_together(int child, cpu_set_t *before) {
    cpu_set_t here;
    int cpu = sched_getcpu();
    if (cpu < 0 || sched_getaffinity(0, sizeof *before, before))
        return 0;
    CPU_ZERO(&here);
    CPU_SET(cpu, &here);
    return !sched_setaffinity(child, sizeof here, &here) && !sched_setaffinity(0, sizeof here, &here);
}

uint64_t silicon_run(int child, uint64_t until, uint64_t most, const struct silicon_memory *m,
    struct silicon_registers *states, struct silicon_change *changes, uint64_t room, struct silicon_stop *stop) {
    cpu_set_t before;
    struct area area;
    struct user_regs_struct user;
    uint64_t step = 0;
    size_t worst = most_changes(m);
    int together = most >= LONG && stay_together(child, &before);
    memset(stop, 0, sizeof *stop);
    if (ptrace(PTRACE_GETREGS, child, 0, &user))
        stop->reason = SILICON_GONE;
    while (!stop->reason && step < most && stop->changes + worst <= room) {
        if (user.rip == until) {
            stop->reason = SILICON_RETURNED;
            break;
        }
        stop->reason = step_one(child, m, &user, stop);
        if (stop->reason)
            break;
        if (area_get(child, &area))
            stop->reason = SILICON_GONE;
        general_to(&user, &states[step]);
        area_to(&area, &states[step]);
        stop->changes += note_changes(m, step, changes + stop->changes);
        step++;
    }
    if (together)
        sched_setaffinity(0, sizeof before, &before);
    return step;
}

void silicon_go(int child, uint64_t until, const volatile uint64_t *progress, struct silicon_stop *stop) {
    struct user_regs_struct user;
    uint64_t seen = *progress;
    int status, ticks = 0;
    memset(stop, 0, sizeof *stop);
    for (;;) {
        siginfo_t info;
        if (ptrace(PTRACE_SYSEMU, child, 0, 0) || wait_for(child, &status) || !WIFSTOPPED(status)
            || ptrace(PTRACE_GETREGS, child, 0, &user)) {
            stop->reason = SILICON_GONE;
            return;
        }
        if (WSTOPSIG(status) == SIGVTALRM) {
            ticks = seen == *progress ? ticks + 1 : 0;
            seen = *progress;
            if (ticks < 2)
                continue;
        }
        if (WSTOPSIG(status) == (SIGTRAP | 0x80))
            stop->reason = SILICON_SYSTEM_CALL;
        else if (WSTOPSIG(status) == SIGSEGV && user.rip == until)
            stop->reason = SILICON_RETURNED;
        else
            stop->reason = SILICON_SIGNAL | (uint64_t)WSTOPSIG(status);
        if (!ptrace(PTRACE_GETSIGINFO, child, 0, &info))
            stop->address = (uint64_t)(uintptr_t)info.si_addr, stop->code = (uint64_t)info.si_code;
        return;
    }
}

#else

int silicon_start(int program, int memory) { (void)program, (void)memory; return -ENOSYS; }
void silicon_end(int child) { (void)child; }
int silicon_get(int child, struct silicon_registers *r) { (void)child, (void)r; return -ENOSYS; }
int silicon_set(int child, const struct silicon_registers *r) { (void)child, (void)r; return -ENOSYS; }

int64_t silicon_system_call(int child, uint64_t stub, uint64_t number, const uint64_t arguments[6]) {
    (void)child, (void)stub, (void)number, (void)arguments;
    return -ENOSYS;
}

uint64_t silicon_run(int child, uint64_t until, uint64_t most, const struct silicon_memory *memory,
    struct silicon_registers *states, struct silicon_change *changes, uint64_t room, struct silicon_stop *stop) {
    (void)child, (void)until, (void)most, (void)memory, (void)states, (void)changes, (void)room;
    stop->reason = SILICON_GONE;
    return 0;
}

void silicon_go(int child, uint64_t until, const volatile uint64_t *progress, struct silicon_stop *stop) {
    (void)child, (void)until, (void)progress;
    stop->reason = SILICON_GONE;
}

#endif
