// SPDX-License-Identifier: Apache-2.0
// The files that a command uses and their roles: it must not write what it reads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dmlop {

// One use of a file, which is identified by a hash, so that many uses take little memory.
struct FileUse {
  std::array<uint64_t, 2> file;
  int64_t owner = 0;  // the case that uses it; 0 for the command itself
  bool writes = false;
  bool is_tensor = false;
  // Identifies the name of a file that may share its content with others under other names, which
  // replacing one leaves as they are; 0 for all other files.
  uint32_t own_name = 0;

  auto operator<=>(const FileUse&) const = default;
};

struct NamedUse {
  FileUse use;
  std::string path;
  std::string role;  // such as "InputTensor" or "the report"
};

// Null for a device, a pipe, or a path that does not exist. When read, "-" is standard input, which
// may be a file.
std::optional<NamedUse> UseOf(const std::string& path, const std::string& role, FileUse use);

// The pair of uses that exclude each other of which the later use comes first. A file that is
// written has no other use, except that a case may write a tensor over one of its own.
std::optional<std::pair<FileUse, FileUse>> FindConflict(std::vector<FileUse> uses);

// Returns text such as "x.npy is read as InputTensor and would be written as the report".
std::string ConflictText(const NamedUse& first, const NamedUse& second);

// The files of a command that has a single case.
class FileRoles {
 public:
  // Ignores empty paths.
  void Reads(const std::string& path, const std::string& role) { Add(path, role, false, false); }
  void ReadsTensor(const std::string& path, const std::string& role) {
    Add(path, role, false, true);
  }
  void Writes(const std::string& path, const std::string& role) { Add(path, role, true, false); }
  void WritesTensor(const std::string& path, const std::string& role) {
    Add(path, role, true, true);
  }

  // Throws an Error of kind kUsage if two uses exclude each other.
  void RequireSeparate() const;

 private:
  void Add(const std::string& path, const std::string& role, bool writes, bool is_tensor);

  std::vector<NamedUse> uses_;
};

}  // namespace dmlop
