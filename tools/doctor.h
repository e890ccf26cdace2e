/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DVQ_TOOLS_DOCTOR_H
#define DVQ_TOOLS_DOCTOR_H

#include <stdbool.h>

/* looks at every layer between adapter and program; 0: all is well, 1: a layer is at fault */
int doctor(bool json);

#endif /* DVQ_TOOLS_DOCTOR_H */
