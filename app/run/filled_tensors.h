// The tensors that the operators of a model fill, and what users call them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/model_document.h"
#include "core/tensor/tensor.h"

namespace dmlop {

class FilledTensors {
 public:
  struct One {
    std::string name;       // "dispatchable.OutputTensor", or an edge of a graph
    std::string full_name;  // "graph.edge"; where no graph fills it, the same as its name
    const TensorDesc* desc;
    size_t dispatchable;  // which fills it
  };

  // The model must outlive them.
  explicit FilledTensors(const ModelDocument& model);

  // By the order in which they are filled.
  const std::vector<One>& all() const { return all_; }

  // The numbers of those with that name, each as it is filled last, and one for each dispatchable.
  // A full name hides the same name of an edge.
  std::vector<size_t> Find(std::string_view name) const;

  // The name alone, if that means no other tensor.
  const std::string& ShortestName(size_t number) const;

  // Of all, each once.
  std::vector<std::string_view> ShortestNames() const;

  // What is wrong with a name if several are found.
  std::string SayWhich(std::string_view name, const std::vector<size_t>& found) const;

 private:
  // The last one that each dispatchable fills, by the name.
  using LastByName = std::map<std::string, std::map<size_t, size_t>, std::less<>>;

  const std::map<size_t, size_t>& Meant(std::string_view name) const;

  std::vector<One> all_;
  LastByName by_name_, by_full_name_;
};

}  // namespace dmlop
