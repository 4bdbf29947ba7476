// What bench measures: operators with the inputs that they are timed on.
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
  std::string name;                  // of its rows; no two cases have the same
  OperatorDesc desc;                 // valid
  std::vector<LoadedTensor> inputs;  // without data where values are to be made up
};

// Appends the operators of all documents, in order, and adds the files that are read. Faults are
// printed, and the status is theirs.
ExitStatus ReadBenchCases(const BenchOptions& options, const CommonOptions& common,
                          std::vector<BenchCase>& cases, FileRoles& roles);

}  // namespace dmlop
