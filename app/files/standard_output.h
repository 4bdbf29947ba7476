// SPDX-License-Identifier: Apache-2.0
// Checks what goes to standard output: tensors or text, but not both.
#pragma once

#include <string>

namespace dmlop {

bool IsStandardOutput(const std::string& path);

// Throws an Error of kind kUsage if that is a terminal, because the content is binary.
void RequireNoTerminal(const std::string& path, const std::string& name);

class StandardOutput {
 public:
  // Adds a tensor's file, which may be standard output. Throws an Error of kind kUsage if it is a
  // terminal.
  void AddTensor(const std::string& path, const std::string& name);

  void AddText(const std::string& name) { printed_ = name; }

  // Adds a text file, which must not be mixed with printed text.
  void AddTextFile(const std::string& path, const std::string& name);

  // Throws an Error of kind kUsage if two of these go to standard output.
  void RequireOneKind() const;

 private:
  std::string streamed_;
  std::string text_file_;
  std::string printed_;
};

}  // namespace dmlop
