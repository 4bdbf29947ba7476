// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "app/commands.h"
#include "app/options/command_options.h"
#include "app/options/option_kinds.h"

namespace dmlop {
Command DeclareCompare(CLI::App& command, const CommonOptions& common) {
  const auto options = std::make_shared<CompareOptions>();
  AddExamples(command,
              "  dmlop compare actual.npy expected.npy\n"
              "  dmlop compare gpu.npy cpu.npy --ulp 2 --format json\n"
              "  dmlop compare gpu.npy cpu.npy --map -o differences.png\n"
              "  dmlop compare gpu.npy '[1]' cpu.npy '[1]' --map --measure absolute\n"
              "  dmlop compare gpu.bin cpu.bin --type FLOAT16 --sizes 64,64\n"
              "  dmlop compare heap.bin@0x400 cpu.npy --type FLOAT16 --sizes 64,64\n"
              "  dmlop compare gpu golden --ulp FLOAT16=1 --ulp FLOAT32=2\n");
  command
      .add_option("files", options->files,
                  "Two tensor files, folders or -: what is compared, and what is expected")
      ->required()
      ->type_name("ACTUAL [SLICE] EXPECTED [SLICE]");
  AddRawForms(command, options->raw);
  AddRules(command, options->rules);
  AddDrawing(command, options->drawing, "-o,--picture,--output");
  AddFormat(command, options->format);
  return [options, &common] { return CompareCommand(*options, common); };
}

}  // namespace dmlop
