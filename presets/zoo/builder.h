#pragma once
// Writing an architecture in C++: inputs, weights and ATen operators become a graph and a recipe for its
// tensors.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "core/frontend/members.h"
#include "core/ir/graph.h"
#include "core/model/wide_model.h"

namespace wide::zoo {

/// How a tensor of a made-up model is drawn.
struct TensorRecipe {
  enum class Kind : std::uint8_t {
    kNormal,    ///< mean 0, deviation `scale`
    kPositive,  ///< uniform in [0.5, 1.5)
    kInteger,   ///< uniform in [0, bound), int64
  };
  std::vector<std::int64_t> shape;
  Kind kind = Kind::kNormal;
  double scale = 1;
  std::int64_t bound = 0;
  /// The same for all members: an input like positions in a sequence, a weight that was not trained further.
  bool shared = false;
};

/// A graph and what it takes to make members of it. Floating tensors take the dtype asked for.
struct Architecture {
  Graph graph;
  std::vector<TensorRecipe> inputs;             ///< in the order of the graph's user inputs
  std::map<std::string, TensorRecipe> weights;  ///< by fqn
};

class Builder {
 public:
  explicit Builder(std::string name) { architecture_.graph.name = std::move(name); }

  ValueId input(const std::string& name, TensorRecipe recipe);
  /// A parameter drawn with deviation 1/sqrt(product of all but the first size), as torch initialises layers.
  ValueId weight(const std::string& fqn, std::vector<std::int64_t> shape);
  ValueId parameter(const std::string& fqn, TensorRecipe recipe);
  ValueId buffer(const std::string& fqn, TensorRecipe recipe);

  /// Appends `op` ("aten.relu.default"); arguments left out at the end take their defaults.
  ValueId op(const std::string& op, std::vector<Argument> arguments);
  std::vector<ValueId> ops(const std::string& op, std::vector<Argument> arguments, int results);

  ValueId linear(const std::string& fqn, ValueId x, std::int64_t in, std::int64_t out);
  ValueId conv2d(const std::string& fqn, ValueId x, std::int64_t in, std::int64_t out, std::int64_t kernel,
                 std::int64_t stride, std::int64_t padding);
  /// In training mode it takes the batch's statistics and moves the running ones, which are buffers.
  ValueId batch_norm(const std::string& fqn, ValueId x, std::int64_t channels, bool train = false);
  ValueId layer_norm(const std::string& fqn, ValueId x, std::int64_t features);

  void output(ValueId value);
  Architecture take();

 private:
  ValueId declare(const std::string& fqn, InputKind kind, TensorRecipe recipe);
  Architecture architecture_;
};

/// A use of a value as an argument.
inline Argument ref(ValueId id) {
  return {ValueRef{id}};
}
Argument ints(std::initializer_list<std::int64_t> values);

/// Called before each of many things that are made; what it throws ends that.
using BeforeEach = std::function<void()>;

/// `n` members with distinct weights but where the recipe says shared, reproducible from `seed`.
std::vector<Member> make_members(const Architecture& architecture, std::int64_t n, std::uint64_t seed,
                                 at::ScalarType dtype, const BeforeEach& before_each = {});
/// Inputs for `n` members, distinct but where the recipe says shared.
std::vector<ModelInput> make_inputs(const Architecture& architecture, std::int64_t n, std::uint64_t seed,
                                    at::ScalarType dtype, const BeforeEach& before_each = {});

}  // namespace wide::zoo
