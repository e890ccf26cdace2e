/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What the examples need of a GPU, for CUDA; and a GPU that is no more than a thread, for a
 * compiler without CUDA and for tests. All calls return 0 or an error number.
 */
#ifndef SELFTESTS_GPU_GPU_H
#define SELFTESTS_GPU_GPU_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum gpu_pages {
	GPU_HOST,	/* memory of the host */
	GPU_READ_ONLY,	/* that this process may only read: completion rings of EFA */
	GPU_ADAPTER,	/* the adapter's: rings in its memory, doorbells */
};

#ifdef __CUDACC__
#include <cuda_runtime.h>

/*
 * Where the GPU sees @address, which is in a mapping of this process. The pages stay registered until
 * gpu_forget().
 */
static inline int gpu_sees(uint64_t map, uint64_t length, uint64_t address, enum gpu_pages pages,
			   uint64_t *there)
{
	unsigned int flags = cudaHostRegisterMapped;
	void *start;
	int ret;

	if (pages == GPU_ADAPTER)
		flags |= cudaHostRegisterIoMemory;
	else if (pages == GPU_READ_ONLY)
		flags |= cudaHostRegisterReadOnly;
	ret = cudaHostRegister((void *)(uintptr_t)map, length, flags);
	/* Doorbells of several queues may be on one page. The error waits for who asks for the last one: GPU_LAUNCH(). */
	if (ret)
		(void)cudaGetLastError();
	if (ret && ret != cudaErrorHostMemoryAlreadyRegistered)
		return ret;
	ret = cudaHostGetDevicePointer(&start, (void *)(uintptr_t)map, 0);
	if (!ret)
		*there = (uint64_t)(uintptr_t)start + (address - map);
	return ret;
}

static inline void gpu_forget(uint64_t map)
{
	cudaHostUnregister((void *)(uintptr_t)map);
}

/* a copy of @state in memory of the GPU */
static inline int gpu_put(void **there, const void *state, size_t size)
{
	int ret = cudaMalloc(there, size);

	return ret ? ret : cudaMemcpy(*there, state, size, cudaMemcpyHostToDevice);
}

/* waits for the kernel, and takes the copy back */
static inline int gpu_take(void *there, void *state, size_t size)
{
	int ret = cudaDeviceSynchronize();

	if (!ret)
		ret = cudaMemcpy(state, there, size, cudaMemcpyDeviceToHost);
	cudaFree(there);
	return ret;
}

#define GPU_KERNEL(name, type, run)	__global__ static void name(type *state) { run(state); }
#define GPU_LAUNCH(name, state)		(name<<<1, 1>>>(state), (int)cudaGetLastError())

#else
#include <pthread.h>

static inline int gpu_sees(uint64_t map, uint64_t length, uint64_t address, enum gpu_pages pages,
			   uint64_t *there)
{
	(void)map;
	(void)length;
	(void)pages;
	*there = address;
	return 0;
}

static inline void gpu_forget(uint64_t map)
{
	(void)map;
}

static pthread_t gpu_thread;

static inline int gpu_put(void **there, const void *state, size_t size)
{
	*there = malloc(size);
	if (!*there)
		return 12;
	memcpy(*there, state, size);
	return 0;
}

static inline int gpu_take(void *there, void *state, size_t size)
{
	int ret = pthread_join(gpu_thread, NULL);

	memcpy(state, there, size);
	free(there);
	return ret;
}

#define GPU_KERNEL(name, type, run)	\
	static void *name(void *state) { run((type *)state); return NULL; }
#define GPU_LAUNCH(name, state)		pthread_create(&gpu_thread, NULL, name, state)
#endif

#endif /* SELFTESTS_GPU_GPU_H */
