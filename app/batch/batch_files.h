// SPDX-License-Identifier: Apache-2.0
// Finds the files that the cases of a batch read and write, moves outputs to another folder, and
// checks that no case depends on when another one runs.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>

#include "app/files/manifest.h"

namespace dmlop {

struct BatchSettings;

// A file that a line binds.
struct FileBinding {
  std::string path;    // including the manifest's folder
  std::string tensor;  // such as "InputTensor" or "OutputTensors[1]"
  int64_t line = 0;
  bool is_output = false;
  bool is_values = false;    // which are bound in place of a file, and the path is empty
  bool is_expected = false;  // the line has values that are expected of it
};

// Calls `visit` for each binding of readable lines, in order, and rewinds the manifest.
void ForEachBinding(Manifest& manifest, const std::function<void(const FileBinding&)>& visit);

// Throws an Error of kind kUsage if a file that one case writes is written or read by another, or
// if a case uses the report (empty: none) or the manifest. Rewinds the manifest.
void RequireSeparateFiles(Manifest& manifest, const std::string& report,
                          const BatchSettings& settings);

// A folder that replaces the common folder of all outputs of a manifest.
class OutputFolder {
 public:
  OutputFolder() = default;  // leaves every path as it is
  OutputFolder(Manifest& manifest, const std::string& folder);

  // Finds the outputs that are to be read. Throws an Error of kind kFileSystem if their folder does
  // not exist; otherwise each of them would report it. Cases that have all their outputs in one
  // folder may have come back with it: if the outputs are not in the new folder, but are there by
  // the paths that they have from the manifest's, these are taken.
  void FindOutputs(Manifest& manifest, bool is_check);

  const std::string& folder() const { return folder_; }  // empty if paths are left as they are

  // The new path of an output that is bound to `path`.
  std::string Moved(const std::string& path) const;

 private:
  bool HasOutputs(Manifest& manifest) const;
  void TakePathsFromManifest(Manifest& manifest);

  std::string folder_;
  std::string common_;
};

// --- files beside outputs ------------------------------------------------------------------------

// The path to which an input's values are written: next to the first output, "out.npy", as
// "out.InputTensors-1.npy" for a tensor called "InputTensors/1" or "InputTensors[1]". Empty if the
// output is a device or has no file.
std::string InputPathBeside(const std::string& output, const std::string& tensor);

// The file or, if it does not exist, the first file with its name and another tensor extension: a
// device that does not know .npy writes x.bin for x.npy. Returns `path` if neither exists.
std::string FileOrStandIn(const std::string& path);

// The input files of a batch by their content, stored once if equal. Any thread may use it.
class WrittenInputs {
 public:
  // Makes the file another name of an earlier one with this hash, where the file system can; the
  // first one with it is kept as it is.
  void Share(const std::string& path, const std::string& hash);

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::string> paths_;  // by hash
};

// The path, without extension, of the output next to which an input of such a name is written:
// "out" for "out.InputTensors-1.npy". Empty for other names.
std::string OutputBeside(const std::string& input);

}  // namespace dmlop
