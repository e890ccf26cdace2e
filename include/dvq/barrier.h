/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The ordering words of the data path, named for their use. There are five, and no
 * other file has a fence of its own.
 *
 * Three kinds of memory meet here: host memory that the device reads or writes by DMA,
 * device memory mapped write-combining (WC), and device registers mapped uncached
 * (doorbells). A lock orders none of the last two; so every word is used with and
 * without locks alike.
 *
 * On a GPU all of them are fences of system scope: the peer is always outside the GPU.
 */
#ifndef DVQ_BARRIER_H
#define DVQ_BARRIER_H

#include <dvq/inline.h>

#if DVQ_ON_GPU
#define DVQ_FENCE_WC		__threadfence_system()
#define DVQ_FENCE_DMA_WRITE	__threadfence_system()
#define DVQ_FENCE_DMA_READ	__threadfence_system()
#define DVQ_FENCE_RELEASE	__threadfence_system()
#elif defined(__x86_64__)
#define DVQ_FENCE_WC		__asm__ volatile("sfence" ::: "memory")
/* stores to cached memory are seen in order, and before a later uncached store */
#define DVQ_FENCE_DMA_WRITE	__asm__ volatile("" ::: "memory")
/*
 * Loads from cached memory are in order anyway; the fence is for a completion ring in
 * memory that is not cached (of a GPU, say). It is paid once per batch.
 */
#define DVQ_FENCE_DMA_READ	__asm__ volatile("lfence" ::: "memory")
#define DVQ_FENCE_RELEASE	__asm__ volatile("" ::: "memory")
#elif defined(__aarch64__)
/* WC is normal memory here: only completion, not mere order, gets it out first */
#define DVQ_FENCE_WC		__asm__ volatile("dsb st" ::: "memory")
#define DVQ_FENCE_DMA_WRITE	__asm__ volatile("dmb oshst" ::: "memory")
#define DVQ_FENCE_DMA_READ	__asm__ volatile("dmb oshld" ::: "memory")
/* dmb ...ld orders earlier loads before later stores as well */
#define DVQ_FENCE_RELEASE	__asm__ volatile("dmb oshld" ::: "memory")
#else
#error "dvq knows the memory order of x86-64 and arm64 only"
#endif

/*
 * Before the first WC store of a batch. Partner: the doorbell store of the batch before
 * (which must not be passed by stores to the same ring), and with it every store to the
 * data that the new entries describe.
 */
DVQ_INLINE void dvq_wc_start(void)
{
	DVQ_FENCE_WC;
	dvq_trace_fence("wc_start");
}

/*
 * Between the last WC store of a batch and its doorbell. Partner: the device, which
 * reads the entries when the doorbell arrives.
 */
DVQ_INLINE void dvq_wc_flush(void)
{
	DVQ_FENCE_WC;
	dvq_trace_fence("wc_flush");
}

/*
 * Between the last store to a ring in host memory and its doorbell. Partner: the
 * device's DMA reads of that ring, which follow the doorbell.
 */
DVQ_INLINE void dvq_dma_write(void)
{
	DVQ_FENCE_DMA_WRITE;
	dvq_trace_fence("dma_write");
}

/*
 * Between a phase bit found set and the loads of the entry's other bytes. Partner: the
 * device, which makes the phase bit visible last.
 */
DVQ_INLINE void dvq_dma_read(void)
{
	DVQ_FENCE_DMA_READ;
	dvq_trace_fence("dma_read");
}

/*
 * Between the last load from completion entries and the doorbell that gives them back.
 * Partner: the device's writes of new entries in their place.
 */
DVQ_INLINE void dvq_dma_release(void)
{
	DVQ_FENCE_RELEASE;
	dvq_trace_fence("dma_release");
}

#undef DVQ_FENCE_WC
#undef DVQ_FENCE_DMA_WRITE
#undef DVQ_FENCE_DMA_READ
#undef DVQ_FENCE_RELEASE

#endif /* DVQ_BARRIER_H */
