// Outputs that appear together.
#pragma once

#include <span>
#include <vector>

#include "core/io/output_file.h"

namespace dmlop {

// Files that appear together, all of them or none.
class OutputSet {
 public:
  // Ends writing.
  void Add(OutputFile file);

  // Once. A fault leaves every target as it was. `synced`: after this, not even a crash of the
  // machine takes the files away, and after a crash before this every target is whole.
  void Publish(bool synced = false);

  // The two halves of `synced`, before and after Publish, for many sets in one go.
  static void FlushFiles(std::span<OutputSet* const> sets);
  static void FlushFolders(std::span<OutputSet* const> sets);

 private:
  std::vector<OutputFile> files_;
};

}  // namespace dmlop
