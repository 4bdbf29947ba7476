// SPDX-License-Identifier: Apache-2.0
// The operators that bench measures, with their inputs.
#pragma once

#include <string>
#include <vector>

#include "app/exit_status.h"
#include "app/files/file_roles.h"
#include "app/options/options.h"
#include "core/io/tensor_file.h"
#include "core/ops/operator.h"

namespace dmlop {

struct BenchCase {
  std::string name;                  // unique; the rows' name
  OperatorDesc desc;                 // valid
  std::vector<LoadedTensor> inputs;  // without data if values are to be made up
};

// Appends the operators of all documents, in order, and adds the files that are read. Prints faults
// and returns their status.
ExitStatus ReadBenchCases(const BenchOptions& options, const CommonOptions& common,
                          std::vector<BenchCase>& cases, FileRoles& roles);

}  // namespace dmlop
