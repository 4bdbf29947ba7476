// SPDX-License-Identifier: Apache-2.0
#include "core/io/output_set.h"

#include <fcntl.h>

#include <map>
#include <set>

namespace dmlop {
namespace {

// With more files on one file system, all of it is flushed at once.
constexpr size_t kFewFiles = 8;

void FlushFolder(const std::string& folder) {
  const OpenFile open_folder(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A folder that may be written but not read cannot be flushed by itself.
  if (open_folder.get() < 0 && errno == EACCES) return sync();
  if (open_folder.get() < 0 || fsync(open_folder.get()) != 0) {
    FailFile(folder, "cannot be flushed to the disk", errno);
  }
}

}  // namespace

void OutputSet::Add(OutputFile file) {
  file.Close();
  files_.push_back(std::move(file));
}

void OutputSet::Publish(bool synced) {
  OutputSet* const self = this;
  if (synced) FlushFiles({&self, 1});
  {
    const SignalsHeld held;
    size_t published = 0;
    try {
      for (; published < files_.size(); ++published) {
        files_[published].Publish(published + 1 == files_.size());
      }
    } catch (...) {
      while (published > 0) files_[--published].Undo();
      throw;
    }
    for (OutputFile& file : files_) file.Keep();
  }
  if (synced) FlushFolders({&self, 1});
}

void OutputSet::FlushFiles(std::span<OutputSet* const> sets) {
  std::map<dev_t, std::vector<const OutputFile*>> devices;
  for (const OutputSet* set : sets) {
    for (const OutputFile& file : set->files_) devices[file.DeviceOf()].push_back(&file);
  }
  for (const auto& [device, files] : devices) {
    if (files.size() > kFewFiles) {
      files[0]->FlushDevice();
    } else {
      for (const OutputFile* file : files) file->Flush();
    }
  }
}

void OutputSet::FlushFolders(std::span<OutputSet* const> sets) {
  std::set<std::string> folders;
  for (const OutputSet* set : sets) {
    for (const OutputFile& file : set->files_) folders.insert(file.target_.folder);
  }
  for (const std::string& folder : folders) FlushFolder(folder);
}

}  // namespace dmlop
