#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""usage: selftests/lib/other_ionic.py IN OUT size STRUCT | member STRUCT MEMBER | function NAME

Makes of the kernel module IN one that looks like another build of it: in its type information (BTF)
STRUCT is 8 bytes larger, MEMBER lies where the next member does, or the function NAME has another name.
Its code remains the same. The signature goes, which would be wrong.
"""

import struct
import sys

# bytes behind the 12 of a type: fixed, and for each of its elements
EXTRA = {1: (4, 0), 3: (12, 0), 4: (0, 12), 5: (0, 12), 6: (0, 8), 13: (0, 8), 14: (4, 0),
         15: (0, 12), 17: (4, 0), 19: (0, 12)}
STRUCT = 4
VMLINUX = "/sys/kernel/btf/vmlinux"
SIGNED = b"~Module signature appended~\n"


def without_signature(data):
    if not data.endswith(SIGNED):
        return data
    end = len(data) - len(SIGNED) - 12
    return data[:end - struct.unpack_from(">I", data, end + 8)[0]]


def strings(btf):
    header, offset, length = struct.unpack_from("<I8xII", btf, 4)
    return btf[header + offset:header + offset + length]


def text_at(data, offset):
    return data[offset:data.index(0, offset)].decode()


class Module:
    """The bytes of a module, and where its BTF lies."""

    def __init__(self, data):
        self.data = bytearray(without_signature(data))
        sections = self.sections()
        self.btf = sections[".BTF"][0]
        if ".BTF.base" in sections:
            offset, size = sections[".BTF.base"]
            base = bytes(self.data[offset:offset + size])
        else:
            with open(VMLINUX, "rb") as file:
                base = file.read()
        self.base_strings = strings(base)
        (self.header, self.types, self.types_length,
         self.strings) = struct.unpack_from("<IIII", self.data, self.btf + 4)

    def sections(self):
        table = struct.unpack_from("<Q", self.data, 0x28)[0]
        size, count, names = struct.unpack_from("<HHH", self.data, 0x3a)
        headers = [struct.unpack_from("<IIQQQQ", self.data, table + i * size)
                   for i in range(count)]
        base = headers[names][4]
        found = {}
        for name, _, _, _, offset, length in headers:
            found[text_at(self.data, base + name)] = (offset, length)
        return found

    def name_place(self, offset):
        return self.btf + self.header + self.strings + offset - len(self.base_strings)

    def name(self, offset):
        if offset < len(self.base_strings):
            return text_at(self.base_strings, offset)
        return text_at(self.data, self.name_place(offset))

    def all_types(self):
        """(place, name, kind, number of elements) of each"""
        place = self.btf + self.header + self.types
        end = place + self.types_length
        while place < end:
            name, info = struct.unpack_from("<II", self.data, place)
            kind, count = info >> 24 & 0x1f, info & 0xffff
            yield place, self.name(name), kind, count
            fixed, each = EXTRA.get(kind, (0, 0))
            place += 12 + fixed + each * count

    def find(self, name, kind):
        for place, found, found_kind, count in self.all_types():
            if found == name and found_kind == kind:
                return place, count
        sys.exit(f"no type {name} of kind {kind}")

    def enlarge(self, name):
        place, _ = self.find(name, STRUCT)
        size = struct.unpack_from("<I", self.data, place + 8)[0]
        struct.pack_into("<I", self.data, place + 8, size + 8)

    def move(self, name, member):
        place, count = self.find(name, STRUCT)
        places = [place + 12 + 12 * i for i in range(count)]
        for at, following in zip(places, places[1:]):
            if self.name(struct.unpack_from("<I", self.data, at)[0]) == member:
                self.data[at + 8:at + 12] = self.data[following + 8:following + 12]
                return
        sys.exit(f"no member {member} before the last one in {name}")

    def rename(self, name):
        place, _ = self.find(name, 12)
        text = struct.unpack_from("<I", self.data, place)[0]
        if text < len(self.base_strings):
            sys.exit(f"the name of {name} is not the module's own")
        self.data[self.name_place(text)] = ord("x")


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    with open(sys.argv[1], "rb") as file:
        module = Module(file.read())
    what = {"size": module.enlarge, "member": module.move, "function": module.rename}
    what[sys.argv[3]](*sys.argv[4:])
    with open(sys.argv[2], "wb") as file:
        file.write(module.data)


if __name__ == "__main__":
    main()
