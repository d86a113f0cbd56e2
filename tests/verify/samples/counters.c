/* CTR with 128-bit big-endian counters in the ways that C code steps them; LAST is where a wrong one stops. */
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef LAST
#define LAST 0
#endif

struct schedule {
	uint8_t encryption[240], decryption[240];
	uint32_t key_length;
};

static __m128i load(const void *from)
{
	return _mm_loadu_si128(from);
}

static __m128i encrypt(const struct schedule *key, __m128i block)
{
	unsigned rounds = key->key_length / 4 + 6;

	block = _mm_xor_si128(block, load(key->encryption));
	for (unsigned r = 1; r < rounds; r++)
		block = _mm_aesenc_si128(block, load(key->encryption + 16 * r));
	return _mm_aesenclast_si128(block, load(key->encryption + 16 * rounds));
}

/* Byte by byte, until one does not wrap. */
static void by_bytes(uint8_t counter[16])
{
	for (int i = 15; i >= LAST; i--)
		if (++counter[i])
			break;
}

/* Every byte, the carry shifted down. */
static void by_carries(uint8_t counter[16])
{
	uint32_t sum = 1;

	for (int i = 15; i >= LAST; i--) {
		sum += counter[i];
		counter[i] = (uint8_t)sum;
		sum >>= 8;
	}
}

/* Word by word. */
static void by_words(uint8_t counter[16])
{
	for (int i = 12; i >= LAST; i -= 4) {
		uint32_t word;

		memcpy(&word, counter + i, 4);
		word = __builtin_bswap32(__builtin_bswap32(word) + 1);
		memcpy(counter + i, &word, 4);
		if (word)
			break;
	}
}

void ctr(const struct schedule *key, const uint8_t *from, uint8_t *to, size_t length, uint8_t counter[16])
{
	while (length) {
		uint8_t stream[16];
		size_t size = length < 16 ? length : 16;

		_mm_storeu_si128((void *)stream, encrypt(key, load(counter)));
		STEP(counter);
		for (size_t i = 0; i < size; i++)
			to[i] = from[i] ^ stream[i];
		from += size;
		to += size;
		length -= size;
	}
}
