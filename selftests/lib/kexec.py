#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""usage: selftests/lib/kexec.py KERNEL INITRD COMMAND-LINE

Boots KERNEL from the running one, at once: devices are shut down, processes are not asked.
"""

import ctypes
import os
import sys

SYS_KEXEC_FILE_LOAD = {"x86_64": 320, "aarch64": 294}
LINUX_REBOOT_CMD_KEXEC = 0x45584543


def main(kernel, initrd, line):
    libc = ctypes.CDLL(None, use_errno=True)
    fds = [os.open(path, os.O_RDONLY) for path in (kernel, initrd)]
    text = line.encode() + b"\0"
    if libc.syscall(SYS_KEXEC_FILE_LOAD[os.uname().machine], fds[0], fds[1], ctypes.c_ulong(len(text)), text,
                    ctypes.c_ulong(0)):
        sys.exit(f"kexec_file_load: {os.strerror(ctypes.get_errno())}")
    os.sync()
    libc.reboot(LINUX_REBOOT_CMD_KEXEC)
    sys.exit(f"reboot: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
