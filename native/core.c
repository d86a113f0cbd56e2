/* Checks at the boundary and loops over batches and pieces; those of XTS are in core_xts.c. Every check comes before the
   first write. */

#include "boundary.h"

#include <stdlib.h>
#include <string.h>

#define BATCH 64 /* CBC messages of one call */

/* A line before the memory handed out holds its size, so that its release can clear it. */
void *core_allocate(size_t size)
{
    if (size > SIZE_MAX - 2 * LINE)
        return NULL;
    size_t whole = (size + 2 * LINE - 1) / LINE * LINE;
    uint8_t *memory = aligned_alloc(LINE, whole);
    if (!memory)
        return NULL;
    memset(memory, 0, whole);
    memcpy(memory, &whole, sizeof whole);
    return memory + LINE;
}

void core_release(void *pointer)
{
    if (!pointer)
        return;
    uint8_t *memory = (uint8_t *)pointer - LINE;
    size_t whole;
    memcpy(&whole, memory, sizeof whole);
    clear(memory, whole);
    free(memory);
}

static int is_key_length(size_t length)
{
    return length == 16 || length == 24 || length == 32;
}

int core_key(keys_function expand, struct aes_key *key, const uint8_t *bytes, size_t length)
{
    if (!is_key_length(length))
        return REFUSED_KEY_LENGTH;
    expand(key, bytes, (uint32_t)length);
    return ACCEPTED;
}

int core_xts_key(keys_function expand, struct xts_key *key, const uint8_t *bytes, size_t length, int allow_equal)
{
    size_t half = length / 2;
    if (length % 2 || !is_key_length(half))
        return REFUSED_KEY_LENGTH;
    uint8_t different = 0;
    for (size_t i = 0; i < half; i++)
        different |= bytes[i] ^ bytes[half + i];
    if (!different && !allow_equal)
        return REFUSED_EQUAL_HALVES;
    expand(&key->data, bytes, (uint32_t)half);
    expand(&key->tweak, bytes + half, (uint32_t)half);
    return ACCEPTED;
}

static int check_blocks(const uint8_t *source, size_t length, const uint8_t *destination, size_t room)
{
    return length % BLOCK ? REFUSED_PARTIAL_BLOCK : check_buffers(source, length, destination, room);
}

int core_ecb(ecb_function function, const struct aes_key *key, const uint8_t *source, size_t length,
             uint8_t *destination, size_t room)
{
    int refusal = check_blocks(source, length, destination, room);
    if (!refusal && length)
        function(key, source, destination, length);
    return refusal;
}

int core_cbc(chain_function function, const struct aes_key *key, const uint8_t *source, size_t length,
             uint8_t *destination, size_t room, const uint8_t iv[16])
{
    _Alignas(8) uint8_t chain[BLOCK];
    int refusal = check_blocks(source, length, destination, room);
    memcpy(chain, iv, BLOCK);
    if (!refusal && length)
        function(key, source, destination, length, chain);
    clear(chain, sizeof chain);
    return refusal;
}

int core_cbc_streams(streams_function function, const struct aes_key *key, const uint8_t *source, size_t length,
                     uint8_t *destination, size_t room, const uint8_t *ivs, size_t ivs_length, size_t size)
{
    if (size < BLOCK)
        return REFUSED_SHORT;
    if (size % BLOCK || length % size)
        return REFUSED_PARTIAL_BLOCK;
    size_t messages = length / size;
    if (ivs_length % BLOCK || ivs_length / BLOCK != messages)
        return REFUSED_IVS;
    int refusal = check_buffers(source, length, destination, room);
    _Alignas(8) uint8_t chains[BATCH][BLOCK];
    for (size_t i = 0; !refusal && i < messages; i += BATCH) {
        size_t count = messages - i < BATCH ? messages - i : BATCH;
        memcpy(chains, ivs + i * BLOCK, count * BLOCK);
        function(key, source + i * size, destination + i * size, size, chains[0], (uint32_t)count);
    }
    if (!refusal)
        clear(chains, (messages < BATCH ? messages : BATCH) * BLOCK);
    return refusal;
}

int core_cts(cts_function function, const struct aes_key *key, const uint8_t *source, size_t length,
             uint8_t *destination, size_t room, const uint8_t iv[16], uint32_t stealing)
{
    if (length < BLOCK)
        return REFUSED_SHORT;
    _Alignas(8) uint8_t chain[BLOCK];
    int refusal = check_buffers(source, length, destination, room);
    memcpy(chain, iv, BLOCK);
    if (!refusal)
        function(key, source, destination, length, chain, stealing);
    clear(chain, sizeof chain);
    return refusal;
}

/* `length` bytes, at most what is left of the current keystream block. */
static void use_keystream(struct ctr_stream *stream, const uint8_t *source, size_t length, uint8_t *destination)
{
    const uint8_t *keystream = stream->keystream + BLOCK - stream->left;
    for (size_t i = 0; i < length; i++)
        destination[i] = source[i] ^ keystream[i];
    stream->left -= (uint32_t)length;
}

int core_ctr(chain_function function, const struct aes_key *key, const uint8_t *source, size_t length,
             uint8_t *destination, size_t room, const uint8_t counter[16])
{
    _Alignas(8) uint8_t next[BLOCK];
    int refusal = check_buffers(source, length, destination, room);
    memcpy(next, counter, BLOCK);
    if (!refusal && length)
        function(key, source, destination, length, next);
    clear(next, sizeof next);
    return refusal;
}

int core_ctr_stream(chain_function function, const struct aes_key *key, struct ctr_stream *stream,
                    const uint8_t *source, size_t length, uint8_t *destination, size_t room)
{
    static const uint8_t zeros[BLOCK];
    int refusal = check_buffers(source, length, destination, room);
    if (refusal)
        return refusal;
    size_t begun = length < stream->left ? length : stream->left;
    use_keystream(stream, source, begun, destination);
    size_t tail = (length - begun) % BLOCK, whole = length - begun - tail;
    if (whole)
        function(key, source + begun, destination + begun, whole, stream->counter);
    if (tail) {
        function(key, zeros, stream->keystream, BLOCK, stream->counter);
        stream->left = BLOCK;
        use_keystream(stream, source + begun + whole, tail, destination + begun + whole);
    }
    stream->position += length;
    return ACCEPTED;
}

const char *core_compiler(void)
{
#if defined(__clang__)
    return __VERSION__;
#elif defined(__GNUC__)
    return "GCC " __VERSION__;
#else
    return "";
#endif
}
