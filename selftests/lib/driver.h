/* SPDX-License-Identifier: GPL-2.0 */
/* The driver lets go of the adapter under test, and takes it again. */
#ifndef SELFTESTS_DRIVER_H
#define SELFTESTS_DRIVER_H

/*
 * Closes the adapters, binds the first one's driver anew, opens them again; injections are cleared
 * in between. Nothing may be held. Must succeed
 */
void driver_rebind(void);

#endif /* SELFTESTS_DRIVER_H */
