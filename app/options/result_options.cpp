// SPDX-License-Identifier: Apache-2.0
// Options of the commands that take tensors and reports.
#include <algorithm>
#include <memory>

#include "app/commands.h"
#include "app/options/command_options.h"
#include "app/options/option_kinds.h"

namespace dmlop {

// --- compare -------------------------------------------------------------------------------------

Command DeclareCompare(CLI::App& command, const CommonOptions& common) {
  const auto options = std::make_shared<CompareOptions>();
  AddValue(command, "files", "ACTUAL [SLICE] EXPECTED [SLICE]",
           "Two tensor files, folders or -: what is compared, and what is expected", options->files)
      ->required();
  AddRawForms(command, options->raw);
  AddRules(command, options->rules);
  AddDrawing(command, options->drawing, "-o,--picture,--output");
  AddFormat(command, options->format);
  return [options, &common] { return CompareCommand(*options, common); };
}

// --- show ----------------------------------------------------------------------------------------

Command DeclareShow(CLI::App& command, const CommonOptions& common) {
  const auto options = std::make_shared<ShowOptions>();
  AddValue(command, "file", "FILE [SLICE]", "A tensor file or -, then slices of it", options->files)
      ->required();
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
  AddValue(command, "-o,--output", "FILE.png", "Draw the map into a picture", options->picture);
  CLI::Option* find =
      AddValue(command, "--find", "FILE", "Say where in the file this tensor lies", options->find);
  for (const char* other : {"--stats", "--full", "--hex", "--map", "--output"})
    find->excludes(other);
  command.get_option("--format")->excludes("--output");
  AddModelSizes(command, options->sizes);
  return [options, &common] { return ShowCommand(*options, common); };
}

// --- report --------------------------------------------------------------------------------------

namespace {

std::vector<std::string> ParseKeys(const std::string& text) {
  std::vector<std::string> keys;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    keys.push_back(text.substr(begin, end - begin));
    begin = end + 1;
    if (std::ranges::find(kReportKeys, keys.back()) != std::end(kReportKeys)) continue;
    throw Invalid("--by", "'{}' is not one of {}", keys.back(), fmt::join(kReportKeys, ", "));
  }
  return keys;
}

}  // namespace

Command DeclareReport(CLI::App& command, const CommonOptions&) {
  const auto options = std::make_shared<ReportOptions>();
  AddValue(command, "reports", "FILE.jsonl",
           "Reports of 'dmlop batch --report', one a device, or -", options->reports)
      ->required();
  AddParsed(command, "--by", "KEY,...",
            fmt::format("What cases are grouped by (default: operator,type): {}",
                        fmt::join(kReportKeys, ", ")),
            options->by, ParseKeys);
  AddChoice(command, "--format", "How it is printed (default: table)", options->format,
            {{"table", ReportFormat::kTable},
             {"csv", ReportFormat::kCsv},
             {"markdown", ReportFormat::kMarkdown},
             {"json", ReportFormat::kJson},
             {"junit", ReportFormat::kJunit},
             {"html", ReportFormat::kHtml}});
  AddValue(command, "-o,--output", "FILE", "Write it to a file", options->output);
  return [options] { return ReportCommand(*options); };
}

Command DeclareDiagnose(CLI::App& command, const CommonOptions& common) {
  const auto options = std::make_shared<DiagnoseOptions>();
  AddDescriptor(command, options->descriptor);
  AddValue(command, "actual", "[NAME=]ACTUAL",
           "What a device has written for the next (or the named) output", options->actual);
  AddLine(command, options->line);
  AddFiles(command, "-i,--input", "Bind the next (or the named) input to a file", options->inputs);
  AddValue(command, "--node", "NAME", "The node of a model whose outputs are diagnosed",
           options->node);
  AddValue(command, "--from", "DIR",
           "Folder with a device's tensors: a node is judged on what the device gave it; "
           "without --node, all are, up to the first wrong one",
           options->from);
  AddModelSizes(command, options->sizes);
  AddOperatorRules(command, options->rules);
  command.add_flag("--thorough", options->is_thorough,
                   "Look at all elements of large outputs, not at some of them");
  AddFormat(command, options->format);
  AddConfine(command, options->confine);
  return [options, &common] { return DiagnoseCommand(*options, common); };
}

}  // namespace dmlop
