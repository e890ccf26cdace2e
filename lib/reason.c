// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Why a call failed, as a sentence. Printed only when asked for. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

static __thread char reason[256];

int dvq_refuse(int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	if (secure_getenv("DVQ_DEBUG"))
		fprintf(stderr, "dvq: %s\n", reason);
	return error;
}

DVQ_API const char *dvq_reason(void)
{
	return reason;
}
