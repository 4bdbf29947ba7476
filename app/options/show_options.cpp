// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "app/commands.h"
#include "app/options/command_options.h"
#include "app/options/option_kinds.h"

namespace dmlop {

Command DeclareShow(CLI::App& command, const CommonOptions& common) {
  const auto options = std::make_shared<ShowOptions>();
  AddExamples(command,
              "  dmlop show x.npy\n"
              "  dmlop show x.npy --stats\n"
              "  dmlop show x.bin --type FLOAT16 --sizes 2,3,4\n"
              "  dmlop show x.npy '[0, :, 2:5]' --hex\n"
              "  dmlop show x.npy '[-1, ...]' --map -o x.png\n"
              "  dmlop show dump.bin --find expected.npy\n");
  command.add_option("file", options->files, "A tensor file or -, then slices of it")
      ->required()
      ->type_name("FILE [SLICE]");
  AddRawForm(command, options->raw);
  command.add_flag("--stats", options->statistics,
                   "Print counts, range, mean, percentiles and a histogram");
  command.add_flag("--full", options->full, "Print all elements of long tensors");
  command.add_flag("--hex", options->bits, "Print the bits in hexadecimal");
  CLI::Option* map =
      command.add_flag("--map", options->map, "Draw the values instead of printing them");
  for (const char* other : {"--full", "--hex"}) map->excludes(other);
  AddFormat(command, options->format);
  for (const char* other : {"--hex", "--map"}) command.get_option("--format")->excludes(other);
  AddPicture(command, options->picture);
  CLI::Option* find =
      command.add_option("--find", options->find, "Say where in the file this tensor lies");
  find->type_name("FILE");
  for (const char* other : {"--stats", "--full", "--hex", "--map", "--output"})
    find->excludes(other);
  command.get_option("--format")->excludes("--output");
  AddModelSizes(command, options->sizes);
  return [options, &common] { return ShowCommand(*options, common); };
}

}  // namespace dmlop
