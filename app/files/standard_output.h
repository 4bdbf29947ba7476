// What goes to standard output: tensors or text, not both.
#pragma once

#include <string>

namespace dmlop {

bool IsStandardOutput(const std::string& path);

// Throws an Error of kind kUsage for terminals, which take nothing binary.
void RequireNoTerminal(const std::string& path, const std::string& name);

class StandardOutput {
 public:
  // A file that a tensor goes to, which may be standard output. Throws an Error of kind kUsage for
  // terminals, which take no tensors.
  void AddTensor(const std::string& path, const std::string& name);

  void AddText(const std::string& name) { printed_ = name; }

  // A file of text, which is not mixed with what is printed.
  void AddTextFile(const std::string& path, const std::string& name);

  // Throws an Error of kind kUsage where two of these go there.
  void RequireOneKind() const;

 private:
  std::string streamed_;
  std::string text_file_;
  std::string printed_;
};

}  // namespace dmlop
