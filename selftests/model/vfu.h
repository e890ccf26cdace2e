/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A slot offered to QEMU over a unix socket (-device vfio-user-pci). One guest at
 * a time; when it has gone the next may come. vfu.c is the only file that knows
 * the vfio-user protocol. All calls belong to the loop's thread.
 */
#ifndef MODEL_VFU_H
#define MODEL_VFU_H

#include <stdio.h>

struct slot;
struct vfu;

/* listens at @path; NULL with one sentence in @err if that cannot be */
struct vfu *vfu_open(struct slot *slot, const char *path, FILE *err);
/* lets go of a guest that is attached */
void vfu_close(struct vfu *vfu);

#endif /* MODEL_VFU_H */
