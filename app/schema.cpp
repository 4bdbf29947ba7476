// SPDX-License-Identifier: Apache-2.0
#include "app/commands.h"
#include "app/files/output.h"
#include "core/schema/schema_parts.h"

namespace dmlop {

ExitStatus SchemaCommand() {
  PrintResult(SchemaText());
  return ExitStatus::kSuccess;
}

}  // namespace dmlop
