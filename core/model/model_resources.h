// SPDX-License-Identifier: Apache-2.0
// The buffers of a model: first only their sizes, for the checks; then, for a run, their bytes.
//
//   RES-3   the initial values do not fit into sizeInBytes
//   RES-4   a picture is scaled as Windows would not
//   RES-5   a .npy file has less data than its shape needs; the rest is zero
//   RES-6   a file cannot be read, or does not hold what the resource asks for
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/io/file.h"
#include "core/model/model_document.h"
#include "core/tensor/data_type.h"
#include "core/tensor/layout.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// The elements of a picture as FLOAT32 or FLOAT16.
struct PictureValues {
  std::vector<std::byte> elements;
  bool is_scaled;  // to other sizes than the file's
};

// Decodes a file as a tensor of the sizes "resampleSize" or, without them, of the picture's own,
// [1, C, H, W]. Throws an Error of kind kTensorFile.
PictureValues ReadPicture(const InputFile& file, const std::string& path, DataType type,
                          const std::optional<Dims>& sizes);

// Returns a path of a model, in a folder. A backslash separates names, as on Windows, unless a file
// has it in its name.
std::string PathIn(const std::string& folder, const std::string& path);

// Returns where a file that a model names is found: next to the model, or in the folder that
// replaces that, and then in the current directory.
std::string SourcePath(const std::string& source_path, const std::string& folder);

// Returns the file beside a graph that has a constant: NAME.bin, or what begins at a byte of it
// where the name ends in an offset and there is no file of that name.
std::string FileOfConstant(const std::string& name, const std::string& graph_path);

// Throws an Error of kind kUsage for the location of an ONNX model's external data that leads out
// of the model's folder by its text alone.
void RequireInsideOfModel(const std::string& location);

// Maps a regular file. Throws an Error of kind kFileSystem for any other.
InputFile OpenMapped(const std::string& path);

class ModelResources {
 public:
  struct Shape {
    DataType type = DataType::kUnknown;  // unknown for a list of mixed types
    uint64_t initial_bytes = 0;
    std::optional<uint64_t> size;  // size of the buffer in bytes
    bool is_known = true;          // false if its file cannot be used; the size may be stated
    size_t element_count() const {
      return type == DataType::kUnknown ? 0 : initial_bytes / ByteWidth(type);
    }
  };

  struct SourceFile {
    size_t resource;
    std::string path;
    InputFile file;
    size_t data_begin;
    bool big_endian;
  };

  // Opens the files with resources' initial values, relative to `folder` or else to the current
  // directory. Reports files that cannot be used, and sizes that do not fit.
  ModelResources(const ModelDocument& model, const std::string& folder, Diagnostics& diagnostics);

  const std::string& name(size_t resource) const { return model_.resources()[resource].name; }
  const Shape& shape(size_t resource) const { return shapes_[resource]; }
  const std::vector<SourceFile>& files() const { return files_; }

  // Creates the buffers with their initial values, for a model without faults.
  void Fill();

  // Returns a filled buffer; 64-byte aligned.
  std::span<std::byte> bytes(size_t resource) {
    return {buffers_[resource].data(), buffers_[resource].size()};
  }

 private:
  void Open(size_t resource, const InitialValues::File& source, const std::string& folder,
            const ValueReader& values);
  static void OpenPicture(SourceFile& file, Shape& shape, const InitialValues::File& source,
                          const ValueReader& values);
  void OpenNpy(SourceFile& file, Shape& shape, JsonCursor place, const ValueReader& values) const;
  void SetSize(size_t resource, const ValueReader& values);
  void FillFromFile(const SourceFile& file);

  const ModelDocument& model_;
  std::vector<Shape> shapes_;
  std::vector<SourceFile> files_;
  std::vector<Buffer> buffers_;
};

}  // namespace dmlop
