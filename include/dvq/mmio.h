/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Stores to device memory, doorbells and shared rings, and loads from completion rings.
 * They carry no order of their own: see barrier.h.
 *
 * Addresses are integers, because a ring struct holds fixed-width members and may be
 * used by a CPU or a GPU with the address that is right there.
 */
#ifndef DVQ_MMIO_H
#define DVQ_MMIO_H

#include <dvq/inline.h>

/* rings are also looked at as bytes and structs */
typedef uint64_t __attribute__((may_alias)) dvq_word;

/* the whole register in one store, which compilers and buses do not split */
DVQ_INLINE void dvq_doorbell32(uint64_t address, uint32_t value)
{
	*(volatile uint32_t *)(uintptr_t)address = value;
	dvq_trace_doorbell(address, value);
}

DVQ_INLINE void dvq_doorbell64(uint64_t address, uint64_t value)
{
	*(volatile uint64_t *)(uintptr_t)address = value;
	dvq_trace_doorbell(address, value);
}

/*
 * A CPU reads an entry behind a fence, when the device is done with it, so the compiler
 * may do as it likes; a GPU must not take it from a cache.
 */
#if DVQ_ON_GPU
#define DVQ_VOLATILE	volatile
#else
#define DVQ_VOLATILE
#endif

DVQ_INLINE uint64_t dvq_load64(uint64_t address)
{
	return *(const DVQ_VOLATILE dvq_word *)(uintptr_t)address;
}

DVQ_INLINE uint16_t dvq_load16(uint64_t address)
{
	typedef uint16_t __attribute__((may_alias)) half;

	return *(const DVQ_VOLATILE half *)(uintptr_t)address;
}

/* at an even address */
DVQ_INLINE uint32_t dvq_load32(uint64_t address)
{
#if DVQ_ON_GPU
	return dvq_load16(address) | (uint32_t)dvq_load16(address + 2) << 16;
#else
	uint32_t word;

	__builtin_memcpy(&word, (const void *)(uintptr_t)address, sizeof(word));
	return word;
#endif
}

/* always a load of its own: code that tests a byte again need not keep it */
DVQ_INLINE uint8_t dvq_load8(uint64_t address)
{
	return *(const volatile uint8_t *)(uintptr_t)address;
}

/* always a store of its own, in the order of the program */
DVQ_INLINE void dvq_store64(uint64_t address, uint64_t value)
{
	*(volatile dvq_word *)(uintptr_t)address = value;
}

/* the byte with the phase bit, which tells that the rest may be read */
DVQ_INLINE uint8_t dvq_load_phase(uint64_t address)
{
	dvq_trace_load(address);
	return dvq_load8(address);
}

/* a word that another thread reads or writes while this one runs; no order */
#define dvq_read_once(x)	(*(const volatile uint32_t *)&(x))
#define dvq_write_once(x, v)	(*(volatile uint32_t *)&(x) = (v))
#define dvq_write_once16(x, v)	(*(volatile uint16_t *)&(x) = (v))

/*
 * The widest store that the compiler may use for device memory: the fewer stores fill
 * a WC buffer, the less can come between them. DVQ_STORE_BYTES can be set to a smaller
 * one; the baseline is 8.
 *
 * SSE2 is left out on purpose: putting two 8-byte words into one register costs more
 * than the two stores (Documentation/rings.rst has the figures). So is ST64B of arm64: it faults
 * on memory that does not know it, which a program cannot tell.
 */
#ifndef DVQ_STORE_BYTES
#if DVQ_ON_GPU || defined(__CUDACC__)
#define DVQ_STORE_BYTES	8
#elif defined(__AVX512F__)
#define DVQ_STORE_BYTES	64
#elif defined(__AVX__)
#define DVQ_STORE_BYTES	32
#elif defined(__aarch64__)
#define DVQ_STORE_BYTES	16
#else
#define DVQ_STORE_BYTES	8
#endif
#endif

#if DVQ_STORE_BYTES > 8
typedef uint64_t dvq_wide __attribute__((vector_size(DVQ_STORE_BYTES), aligned(8), may_alias));
#endif

/* for the compiler: what an instruction of its own reads or writes */
struct dvq_64b {
	dvq_word word[8];
} __attribute__((may_alias));

/* 64 bytes from registers to a ring */
DVQ_INLINE void dvq_ring_store64b(uint64_t address, uint64_t w0, uint64_t w1, uint64_t w2,
				  uint64_t w3, uint64_t w4, uint64_t w5, uint64_t w6, uint64_t w7)
{
#if DVQ_STORE_BYTES == 64
	dvq_wide all = { w0, w1, w2, w3, w4, w5, w6, w7 };

	*(volatile dvq_wide *)(uintptr_t)address = all;
#elif DVQ_STORE_BYTES == 32
	dvq_wide low = { w0, w1, w2, w3 };
	dvq_wide high = { w4, w5, w6, w7 };

	*(volatile dvq_wide *)(uintptr_t)address = low;
	*(volatile dvq_wide *)(uintptr_t)(address + 32) = high;
#elif DVQ_STORE_BYTES == 16 && defined(__aarch64__)
	/* pairs of registers as they are: packing them for a store of a vector costs more */
	__asm__ volatile("stp %x2, %x3, [%1]\n\tstp %x4, %x5, [%1, #16]\n\t"
			 "stp %x6, %x7, [%1, #32]\n\tstp %x8, %x9, [%1, #48]"
			 : "=m"(*(struct dvq_64b *)(uintptr_t)address)
			 : "r"(address), "rZ"(w0), "rZ"(w1), "rZ"(w2), "rZ"(w3), "rZ"(w4),
			   "rZ"(w5), "rZ"(w6), "rZ"(w7));
#elif DVQ_STORE_BYTES == 16
	dvq_wide a = { w0, w1 };
	dvq_wide b = { w2, w3 };
	dvq_wide c = { w4, w5 };
	dvq_wide d = { w6, w7 };

	*(volatile dvq_wide *)(uintptr_t)address = a;
	*(volatile dvq_wide *)(uintptr_t)(address + 16) = b;
	*(volatile dvq_wide *)(uintptr_t)(address + 32) = c;
	*(volatile dvq_wide *)(uintptr_t)(address + 48) = d;
#else
	dvq_store64(address, w0);
	dvq_store64(address + 8, w1);
	dvq_store64(address + 16, w2);
	dvq_store64(address + 24, w3);
	dvq_store64(address + 32, w4);
	dvq_store64(address + 40, w5);
	dvq_store64(address + 48, w6);
	dvq_store64(address + 56, w7);
#endif
	dvq_trace_store(address, 64);
}

/* 64 bytes from ordinary memory to a ring, read as wide as they were stored there */
DVQ_INLINE void dvq_ring_copy64b(uint64_t to, uint64_t from)
{
#if DVQ_STORE_BYTES > 8
	for (unsigned int at = 0; at < 64; at += DVQ_STORE_BYTES)
		*(volatile dvq_wide *)(uintptr_t)(to + at) = *(dvq_wide *)(uintptr_t)(from + at);
	dvq_trace_store(to, 64);
#else
	dvq_ring_store64b(to, dvq_load64(from), dvq_load64(from + 8), dvq_load64(from + 16),
			  dvq_load64(from + 24), dvq_load64(from + 32), dvq_load64(from + 40),
			  dvq_load64(from + 48), dvq_load64(from + 56));
#endif
}

/*
 * The same to device memory, where the compiler may use MOVDIR64B (-mmovdir64b): it arrives
 * there as one write. To memory of the host that would be slower.
 */
DVQ_INLINE void dvq_wc_copy64b(uint64_t to, uint64_t from)
{
#if defined(__MOVDIR64B__) && !DVQ_ON_GPU
	/* faults if not aligned */
	if (!(to & 63)) {
		__asm__ volatile("movdir64b %1, %0"
				 : : "r"(to), "m"(*(const struct dvq_64b *)(uintptr_t)from));
		dvq_trace_store(to, 64);
		return;
	}
#endif
	dvq_ring_copy64b(to, from);
}

/*
 * Does the last word of dvq_wc_copy64b() never arrive ahead of the others, so that it may be a word
 * that rings? It can be set to 0, which costs an entry a fence and a write of the bus more.
 *
 * x86: the stores of a thread to one line of WC memory collect in one buffer in their order, and
 * a full buffer leaves as one write. Choice: that is enough, as it is for the stock library.
 * Of a buffer that an interrupt has emptied between two stores the processors' manuals leave
 * open in which order the words of the rest go; MOVDIR64B (-mmovdir64b) has no such gap.
 * arm64: WC is normal memory, where nothing orders two stores.
 * A GPU: nothing orders two stores of a thread but a fence.
 */
#ifndef DVQ_WC_WHOLE
#if defined(__x86_64__) && !DVQ_ON_GPU
#define DVQ_WC_WHOLE	1
#else
#define DVQ_WC_WHOLE	0
#endif
#endif

/* 16 bytes: a receive descriptor */
DVQ_INLINE void dvq_ring_store16b(uint64_t address, uint64_t low, uint64_t high)
{
	dvq_store64(address, low);
	dvq_store64(address + 8, high);
	dvq_trace_store(address, 16);
}

#endif /* DVQ_MMIO_H */
