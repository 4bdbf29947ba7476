// SPDX-License-Identifier: Apache-2.0
#include "app/commands.h"
#include "app/options/command_options.h"
#include "app/options/option_kinds.h"

namespace dmlop {

Command DeclareSchema(CLI::App& command, const CommonOptions&) {
  AddExamples(command,
              "  dmlop schema > dmlop.schema.json\n"
              "  dmlop schema | jq '.[\"$defs\"].REDUCE'\n");
  return SchemaCommand;
}

}  // namespace dmlop
