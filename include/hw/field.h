/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Field access by mask for code outside the kernel (there FIELD_GET() and
 * FIELD_PREP() of <linux/bitfield.h> do the same). Masks are constant and
 * contiguous, so the division and the product become shifts.
 */
#ifndef DVQ_HW_FIELD_H
#define DVQ_HW_FIELD_H

#define HW_LSB(mask)		((mask) & -(mask))
#define HW_GET(mask, word)	(((word) & (mask)) / HW_LSB(mask))
#define HW_PREP(mask, value)	(((value) * HW_LSB(mask)) & (mask))

#endif /* DVQ_HW_FIELD_H */
