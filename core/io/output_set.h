// SPDX-License-Identifier: Apache-2.0
// Outputs that appear together.
#pragma once

#include <span>
#include <vector>

#include "core/io/output_file.h"

namespace dmlop {

// Files that appear together, all of them or none.
class OutputSet {
 public:
  // Ends writing the file, and adds it.
  void Add(OutputFile file);

  // Call once. A failure leaves every target as it was. With `synced`, not even a crash of the
  // machine undoes this afterwards, and after an earlier crash every target is intact.
  void Publish(bool synced = false);

  // The two halves of `synced`, before and after Publish, for many sets at once.
  static void FlushFiles(std::span<OutputSet* const> sets);
  static void FlushFolders(std::span<OutputSet* const> sets);

 private:
  std::vector<OutputFile> files_;
};

}  // namespace dmlop
