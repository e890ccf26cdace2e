/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What every header of the data path needs from the compiler: the marker of inline
 * functions, and the hooks by which a test watches them.
 *
 * The data path compiles as C11, C++17, CUDA and HIP with GCC or Clang, on little-endian
 * 64-bit hosts, and needs nothing of a C library.
 */
#ifndef DVQ_INLINE_H
#define DVQ_INLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the adapters need a little-endian host"
#endif

#if defined(__CUDACC__) || defined(__HIPCC__)
#define DVQ_BOTH_SIDES __host__ __device__
#else
#define DVQ_BOTH_SIDES
#endif

#define DVQ_INLINE static inline __attribute__((always_inline)) DVQ_BOTH_SIDES

/* What is rare is a function of its own: inlined it would take registers from what is not. */
#define DVQ_APART static __attribute__((noinline, unused)) DVQ_BOTH_SIDES

/* set while code for a GPU is compiled, not while the host half of such a file is */
#if defined(__CUDA_ARCH__) || (defined(__HIP_DEVICE_COMPILE__) && __HIP_DEVICE_COMPILE__)
#define DVQ_ON_GPU 1
#else
#define DVQ_ON_GPU 0
#endif

/*
 * The compiler knows nothing about @x from here on. In a loop over entries it then keeps
 * one running pointer instead of one per field.
 */
#if DVQ_ON_GPU
#define dvq_opaque(x)		((void)0)
#else
#define dvq_opaque(x)		__asm__("" : "+r"(x))
#endif

#define dvq_unlikely(condition)	__builtin_expect(!!(condition), 0)

#ifdef __cplusplus
#define DVQ_STATIC_ASSERT(condition, text)	static_assert(condition, text)
#else
#define DVQ_STATIC_ASSERT(condition, text)	_Static_assert(condition, text)
#endif

/*
 * DVQ_TRACE names a header of a test. It defines
 *
 *	dvq_trace_fence(name)			a fence was passed
 *	dvq_trace_store(address, bytes)		a ring was written (after the store)
 *	dvq_trace_doorbell(address, value)	a doorbell was rung (after the store)
 *	dvq_trace_load(address)			a phase bit was read
 *
 * and so sees the order in which they happen.
 */
#ifdef DVQ_TRACE
#include DVQ_TRACE
#else
#define dvq_trace_fence(name)			((void)0)
#define dvq_trace_store(address, bytes)		((void)0)
#define dvq_trace_doorbell(address, value)	((void)0)
#define dvq_trace_load(address)			((void)0)
#endif

#endif /* DVQ_INLINE_H */
