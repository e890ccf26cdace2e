/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef COMPAT_LINUX_MM_H
#define COMPAT_LINUX_MM_H

#include_next <linux/mm.h>

/* In 6.3. Before it the flags of a mapping are written to. */
#ifndef COMPAT_HAVE_VM_FLAGS_CLEAR
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}

static inline void vm_flags_mod(struct vm_area_struct *vma, vm_flags_t set, vm_flags_t clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

#endif /* COMPAT_LINUX_MM_H */
