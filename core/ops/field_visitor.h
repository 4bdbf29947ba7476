// One look at every field of any operator. Each desc lists its fields once, in DirectML's order, in
// VisitFields; reading, writing, checking and listing are visitors over that list.
#pragma once

#include <span>
#include <string_view>
#include <type_traits>
#include <variant>

#include "core/tensor/tensor_desc.h"

namespace dmlop {

// Does nothing with every kind of field; a visitor hides the functions that concern it.
struct FieldVisitor {
  template <typename E>
  void Enum(std::string_view, std::string_view, std::span<const std::string_view>, E&) {}
  template <typename T>
  void Tensor(std::string_view, TensorRole, T&) {}
  template <typename T>
  void Tensors(std::string_view, TensorRole, T&) {}
  template <typename C, typename A>
  void Count(std::string_view, C&, A&) {}
  template <typename N>
  void Number(std::string_view, N&) {}
  template <typename A>
  void Numbers(std::string_view, A&) {}
  template <typename S>
  void ScaleAndBias(std::string_view, S&) {}
};

// Shows every field of the operator to the visitor, and returns it.
template <typename Visitor, typename Desc>
Visitor VisitAllFields(Desc& desc, Visitor visitor) {
  std::visit([&](auto& d) { std::decay_t<decltype(d)>::VisitFields(d, visitor); }, desc);
  return visitor;
}

}  // namespace dmlop
