/*
 * Many calls of one function in a row, each with memory prepared before and compared after it: what a process that has
 * nothing else in it runs by itself, at the speed of the CPU, while its tracer waits (silicon_go).
 *
 * The code that is called may do anything: the tables are read-only, the state lies far from all buffers, and whatever
 * faults, calls the system or does not return stops the process where it stands. Nothing here may call a library, of
 * which there is none: loops that a compiler would turn into memcpy or memset are string instructions.
 */
#include "prototypes.h"

#if defined(__linux__) && defined(__x86_64__)
#include "calls.h"

_Static_assert(CALLS_PLACE == CALLS_STATE && CALLS_ITS_STACK == offsetof(struct calls_state, its_stack), "calls.h");
_Static_assert(CALLS_WIDTH == offsetof(struct calls_state, width) && CALLS_SAVED == offsetof(struct calls_state, saved), "calls.h");
_Static_assert(CALLS_RSP == offsetof(struct calls_state, rsp) && CALLS_FLAGS == offsetof(struct calls_state, flags), "calls.h");
_Static_assert(CALLS_VECTORS == offsetof(struct calls_state, vectors), "calls.h");

enum { DIRECTION = 1 << 10 };

void calls_enter(uint64_t function, const uint64_t arguments[6]);

static void copy(uint64_t to, uint64_t from, uint64_t size) {
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

static void clear(uint64_t to, uint64_t words) {
    __asm__ volatile("rep stosq" : "+D"(to), "+c"(words) : "a"(0) : "memory");
}

/* The offset of the first byte that differs, or `size`. */
static uint64_t differs(const uint8_t *a, const uint8_t *b, uint64_t size) {
    uint64_t at = 0;
    for (; at + 8 <= size; at += 8)
        if (*(const uint64_t __attribute__((may_alias, aligned(1))) *)(a + at)
            != *(const uint64_t __attribute__((may_alias, aligned(1))) *)(b + at))
            break;
    while (at < size && a[at] == b[at])
        at++;
    return at;
}

/* Whether a word may stay on the stack: what anyone may know. */
static int is_plain(const struct calls_script *s, const struct calls_check *check, const uint64_t arguments[6], uint64_t word) {
    if (!(word >> 32) || word - CALLS_KEPT < 6 || word - s->stack < s->stack_size)
        return 1;
    for (int i = 0; i < 6; i++)
        if (word == arguments[i])
            return 1;
    for (uint64_t at = 0; at < check->iv_size; at += 8)
        if (word == *(const uint64_t *)(check->iv_before + at) || word == *(const uint64_t __attribute__((aligned(1))) *)(check->iv + at))
            return 1;
    return 0;
}

static uint64_t left_on_stack(const struct calls_script *s, const struct calls_check *check, const struct calls_state *state,
    const uint64_t arguments[6]) {
    /* The topmost word is the return address. */
    for (uint64_t at = state->its_stack - 16; at >= state->its_stack - s->watched; at -= 8)
        if (!is_plain(s, check, arguments, *(const uint64_t *)at))
            return at;
    return 0;
}

static uint64_t wrong_registers(const struct calls_script *s, const struct calls_state *state) {
    for (uint64_t i = 0; i < 6; i++)
        if (state->saved[i] != CALLS_KEPT + i)
            return CALLS_SAVED_REGISTER;
    if (state->rsp != state->its_stack)
        return CALLS_STACK_POINTER;
    if (state->flags & DIRECTION)
        return CALLS_DIRECTION;
    for (int i = 0; i < 16; i++)
        for (int word = i < (int)s->cleared ? 0 : 2; word < 8; word++)
            if (state->vectors[i][word])
                return word < 2 ? CALLS_NOT_CLEARED : CALLS_UPPER_HALVES;
    return 0;
}

static int call_one(const struct calls_script *s, const struct calls_check *check, struct calls_state *state, uint64_t number) {
    const uint64_t *arguments = s->calls[check->call + number].arguments;
    state->call = number;
    state->made++;
    clear(state->its_stack - s->watched, s->watched / 8);
    calls_enter(s->function, arguments);
    state->reason = wrong_registers(s, state);
    if (!state->reason && (state->detail = left_on_stack(s, check, state, arguments)))
        state->reason = CALLS_LEFT;
    return !state->reason;
}

static int check_one(const struct calls_script *s, const struct calls_check *check, struct calls_state *state) {
    for (uint64_t i = 0; i < check->fills; i++) {
        const struct calls_bytes *bytes = &s->bytes[check->fill + i];
        copy(bytes->at, bytes->from, bytes->size);
    }
    for (uint64_t i = 0; i < check->calls; i++)
        if (!call_one(s, check, state, i))
            return 0;
    for (uint64_t i = 0; i < check->wants; i++) {
        const struct calls_bytes *bytes = &s->bytes[check->want + i];
        uint64_t at = differs((const uint8_t *)bytes->at, (const uint8_t *)bytes->from, bytes->size);
        if (at != bytes->size) {
            state->reason = CALLS_DIFFERENT;
            state->detail = bytes->at + at;
            return 0;
        }
    }
    return 1;
}

void calls_run(const struct calls_script *script) {
    struct calls_state *state = (struct calls_state *)CALLS_STATE;
    for (state->at = 0; state->at < script->count; state->at++)
        if (!check_one(script, &script->checks[script->which[state->at]], state))
            return;
}

#endif
