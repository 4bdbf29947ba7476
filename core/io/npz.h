// Arrays in NumPy's .npz archives, which are zip files: "x.npz:a" is the array a of x.npz, which
// has it as a.npy. The format is that of PKWARE's APPNOTE.TXT with ZIP64; it is read here because
// the libraries for it do not tell where in the file a member is, which is then mapped.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dmlop {

struct NpzArray {
  std::string archive;  // path
  std::string name;
};

// Whether a path is that of a whole archive.
bool IsNpz(const std::string& path);

// Empty for a path that is of no such array, or of a file that has the whole of it as its name.
std::optional<NpzArray> ParseNpzPath(const std::string& path);

// The bytes of a .npy file, and what keeps them alive.
struct NpyBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

// Maps what the archive stores as it is, and unpacks what it compresses. Errors are of kind
// kTensorFile or kFileSystem.
NpyBytes OpenNpzArray(const NpzArray& array);

// The names of the arrays of an archive, each once.
std::vector<std::string> ArraysOf(const std::string& path);

// The same as text, "a, b, ..."; throws where there are none.
std::string NpzNames(const std::string& archive);

}  // namespace dmlop
