// SPDX-License-Identifier: Apache-2.0
// Arrays in NumPy's .npz archives, which are zip files: "x.npz:a" is the array a of x.npz, stored
// there as a.npy. The format is PKWARE's APPNOTE.TXT with ZIP64; it is parsed here because zip
// libraries do not tell where in the file a member is, which is needed to map it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dmlop {

struct NpzArray {
  std::string archive;  // path of the archive
  std::string name;
};

// Returns whether a path is that of a whole archive.
bool IsNpz(const std::string& path);

// Empty if the path names no such array, or if a file has the whole path as its name.
std::optional<NpzArray> ParseNpzPath(const std::string& path);

// The bytes of a .npy file, and their owner, which keeps them alive.
struct NpyBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

// Maps a stored array, and unpacks a compressed one. Errors are of kind kTensorFile or kFileSystem.
NpyBytes OpenNpzArray(const NpzArray& array);

// Returns the names of the arrays of an archive, each once.
std::vector<std::string> ArraysOf(const std::string& path);

// Returns the same as text, "a, b, ..."; throws if there are none.
std::string NpzNames(const std::string& archive);

}  // namespace dmlop
