// SPDX-License-Identifier: Apache-2.0
// The commands of the program, one function each.
#pragma once

#include "app/exit_status.h"
#include "app/options/options.h"

namespace dmlop {

struct FuzzOptions;
struct ShrinkOptions;

// Parses the command line, runs the command that it names and reports errors.
ExitStatus Main(int argc, char** argv);

ExitStatus RunCommand(const RunOptions& options, const CommonOptions& common);
ExitStatus ValidateCommand(const ValidateOptions& options, const CommonOptions& common);
ExitStatus BenchCommand(const BenchOptions& options, const CommonOptions& common);
ExitStatus CompareCommand(const CompareOptions& options, const CommonOptions& common);
ExitStatus ShowCommand(const ShowOptions& options, const CommonOptions& common);
ExitStatus ExplainCommand(const ExplainOptions& options, const CommonOptions& common);
// Returns the text that explain prints of an element of a valid descriptor.
std::string ExplainedText(const ExplainOptions& options);
ExitStatus DiagnoseCommand(const DiagnoseOptions& options, const CommonOptions& common);
ExitStatus FuzzCommand(const FuzzOptions& options, const CommonOptions& common);
ExitStatus ShrinkCommand(const ShrinkOptions& options, const CommonOptions& common);
ExitStatus BatchCommand(const BatchOptions& options, const CommonOptions& common);
ExitStatus ReportCommand(const ReportOptions& options);
ExitStatus OpsCommand(const OpsOptions& options);
ExitStatus SchemaCommand();

}  // namespace dmlop
