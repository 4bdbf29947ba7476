// What a command reads it does not write: which files it uses, and as what.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dmlop {

// One use of a file, which is known by a hash of what it is, so that many uses take little memory.
struct FileUse {
  std::array<uint64_t, 2> file;
  int64_t owner = 0;  // the case that uses it; 0: the command itself
  bool writes = false;
  bool is_tensor = false;

  auto operator<=>(const FileUse&) const = default;
};

struct NamedUse {
  FileUse use;
  std::string path;
  std::string role;  // "InputTensor", "the report"
};

// Empty for what is no file: a device, a pipe, or a path that leads nowhere. "-" is standard input,
// which may be a file, where it is read.
std::optional<NamedUse> UseOf(const std::string& path, const std::string& role, FileUse use);

// Of all pairs of uses that exclude one another, that which ends first. Where a file is written it
// has no other use, except that a case may write a tensor over one of its own.
std::optional<std::pair<FileUse, FileUse>> FindConflict(std::vector<FileUse> uses);

// "x.npy is read as InputTensor and would be written as the report"
std::string ConflictText(const NamedUse& first, const NamedUse& second);

// The files of a command that has one case.
class FileRoles {
 public:
  // An empty path is none.
  void Reads(const std::string& path, const std::string& role) { Add(path, role, false, false); }
  void ReadsTensor(const std::string& path, const std::string& role) {
    Add(path, role, false, true);
  }
  void Writes(const std::string& path, const std::string& role) { Add(path, role, true, false); }
  void WritesTensor(const std::string& path, const std::string& role) {
    Add(path, role, true, true);
  }

  // Throws an Error of kind kUsage where two uses exclude one another.
  void RequireSeparate() const;

 private:
  void Add(const std::string& path, const std::string& role, bool writes, bool is_tensor);

  std::vector<NamedUse> uses_;
};

}  // namespace dmlop
