/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef COMPAT_LINUX_SLAB_H
#define COMPAT_LINUX_SLAB_H

#include_next <linux/slab.h>

/* In 7.0, and in stable kernels before it. The flags are GFP_KERNEL unless given. */
#ifndef kzalloc_obj
#define compat_second(first, second, ...)	second
#define compat_gfp(...)		compat_second(0, ##__VA_ARGS__, GFP_KERNEL)
#define kzalloc_obj(obj, ...)						\
	((typeof(obj) *)kzalloc(sizeof(obj), compat_gfp(__VA_ARGS__)))
#endif

#endif /* COMPAT_LINUX_SLAB_H */
