# SPDX-License-Identifier: Apache-2.0
"""Reads the pictures that the program draws."""

import struct
import zlib

import numpy as np


def decode_png(data):
    """The pixels of an 8-bit palette PNG as (palette, indices), decoded by the rules of the format."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + size]
        (crc,) = struct.unpack(">I", data[at + 8 + size : at + 12 + size])
        assert zlib.crc32(name + body) == crc
        chunks[name] = chunks.get(name, b"") + body
        at += 12 + size
    width, height, depth, color, _, _, interlaced = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (depth, color, interlaced) == (8, 3, 0)
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), "u1").reshape(height, width + 1)
    rows = np.zeros((height, width), "u1")
    for y, line in enumerate(lines):
        above = rows[y - 1] if y else np.zeros(width, "u1")
        rows[y] = unfiltered(line[0], line[1:], above)
    return np.frombuffer(chunks[b"PLTE"], "u1").reshape(-1, 3), rows


def unfiltered(kind, line, above):
    if kind == 0:
        return line
    if kind == 1:
        return np.cumsum(line, dtype="u1")
    if kind == 2:
        return line + above
    assert kind in (3, 4)
    row, left, corner = [], 0, 0
    for value, up in zip(line.tolist(), above.tolist()):
        if kind == 3:
            guess = (left + up) // 2
        else:
            near = {n: abs(left + up - corner - n) for n in (corner, up, left)}
            guess = min((left, up, corner), key=near.get)
        left, corner = (value + guess) % 256, up
        row.append(left)
    return np.array(row, "u1")
