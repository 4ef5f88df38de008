// Runs case folders as the program would and says how each differs from what PyTorch computed: a line of JSON
// each. Every case runs in a process of its own, so that a crash or an endless loop costs that case alone.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "app/tensor_files.h"
#include "core/aten/torch_bridge.h"
#include "core/prove/prove.h"
#include "core/strategy/candidates.h"
#include "formats/error.h"

namespace wide {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

struct Options {
  std::vector<fs::path> cases;
  unsigned seconds = 60;  // of one case, all its runs together
  bool proof = true;
};

// What a run of a case came to; the text says where and which numbers, or why not.
struct Verdict {
  std::string verdict = "right";  // "right", "differs", "refused", "fault" (an exception that is not ours)
  std::string text;
};

/// One forward pass as PyTorch computed it.
struct Pass {
  formats::Safetensors golden;
  std::vector<ModelInput> inputs;
  std::string refused;  ///< why the inputs of this pass do not fit the model; empty where they do
};

std::vector<fs::path> weights_of(const fs::path& folder) {
  std::vector<fs::path> files;
  for (int i = 0; fs::exists(folder / ("seed" + std::to_string(i) + ".safetensors")); ++i)
    files.push_back(folder / ("seed" + std::to_string(i) + ".safetensors"));
  return files;
}

std::vector<fs::path> goldens_of(const fs::path& folder) {
  std::vector<fs::path> files{folder / "golden.safetensors"};
  for (int pass = 1; fs::exists(folder / ("golden" + std::to_string(pass) + ".safetensors")); ++pass)
    files.push_back(folder / ("golden" + std::to_string(pass) + ".safetensors"));
  return files;
}

at::Tensor as_reals(const at::Tensor& tensor) {
  return (tensor.is_complex() ? at::view_as_real(tensor.to(at::kComplexDouble)) : tensor)
      .to(at::kDouble)
      .contiguous();
}

// Empty where `got` is `expected` within `bound` (float64, of the expected shape; infinite where PyTorch
// itself does not say). NaN agrees with NaN, an infinity with itself.
std::string difference(const at::Tensor& got, const at::Tensor& expected, const at::Tensor& bound) {
  if (got.scalar_type() != expected.scalar_type() || got.sizes() != expected.sizes()) {
    return "got " + dtype_name(got.scalar_type()) + shape_text(got.sizes()) + ", expected " +
           dtype_name(expected.scalar_type()) + shape_text(expected.sizes());
  }
  const auto a = as_reals(got), b = as_reals(expected);
  const auto limits =
      (expected.is_complex() ? bound.unsqueeze(-1).expand_as(b) : bound).to(at::kDouble).contiguous();
  const auto *x = a.const_data_ptr<double>(), *y = b.const_data_ptr<double>(),
             *limit = limits.const_data_ptr<double>();
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    if (std::isinf(limit[i]) || x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    if (std::isfinite(x[i]) && std::isfinite(y[i]) && std::abs(x[i] - y[i]) <= limit[i]) continue;
    return "element " + std::to_string(i) + " of " + std::to_string(a.numel()) + ": got " +
           json(x[i]).dump() + ", expected " + json(y[i]).dump() + ", allowed " + json(limit[i]).dump();
  }
  return "";
}

// The named tensor of the golden file against `got`, which `model` gave.
std::string check(const WideModel& model, const formats::Safetensors& golden, const std::string& member,
                  const std::string& name, const at::Tensor& got) {
  const auto* entry = golden.find(member + "." + name);
  if (!entry) return "is no output of PyTorch's";
  const auto expected = to_tensor(*entry);
  const auto* allowed = golden.find(member + ".bound." + name);
  auto bound = allowed ? to_tensor(*allowed) : at::zeros(expected.sizes(), at::kDouble);
  if (!golden.metadata().contains("bounds")) {  // a file of other makers: rounding of some layers
    const auto usual = tolerance(expected.scalar_type(), 32, magnitude(expected));
    bound = at::full(expected.sizes(), usual.absolute, at::kDouble);
  }
  if (model.options().mode == Mode::kMaxAutotune) bound = bound * 4;  // errors of up to four times ATen's
  return difference(got, expected, bound);
}

std::string check_pass(const WideModel& model, const Pass& pass, const std::vector<ModelOutput>& outputs) {
  for (std::int64_t i = 0; i < model.members(); ++i) {
    const auto& member = model.member_list()[static_cast<std::size_t>(i)].name;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (outputs[k].constant) continue;
      const auto name = "output." + std::to_string(k);
      if (auto text = check(model, pass.golden, member, name, outputs[k].member(i)); !text.empty())
        return member + "." + name + ": " + text;
    }
    for (const auto& [fqn, tensor] : model.buffers()) {
      const auto name = "buffer." + fqn;
      if (!pass.golden.find(member + "." + name)) continue;
      if (auto text = check(model, pass.golden, member, name, tensor.select(0, i)); !text.empty())
        return member + "." + name + ": " + text;
    }
  }
  // What PyTorch wrote, we must have written.
  for (const auto& entry : pass.golden.entries()) {
    const auto at = entry.name.find(".buffer.");
    if (at == std::string::npos || entry.name.find(".bound.") != std::string::npos) continue;
    if (!model.buffers().contains(entry.name.substr(at + 8))) return entry.name + ": is not written";
  }
  return "";
}

// PyTorch's own outputs are in the file, unless it raised an error for some member.
bool raised(const Pass& pass) {
  return pass.golden.metadata().contains("raised");
}

// All passes, one after the other, in one model.
Verdict run_passes(WideModel& model, const std::vector<Pass>& passes) {
  for (std::size_t k = 0; k < passes.size(); ++k) {
    const auto where = "pass " + std::to_string(k) + ": ";
    try {
      if (!passes[k].refused.empty()) throw Error("run", passes[k].refused);
      const auto outputs = model.forward(passes[k].inputs);
      if (raised(passes[k]))
        return {"differs", where + "gives an answer; PyTorch: " + passes[k].golden.metadata().at("raised")};
      if (auto text = check_pass(model, passes[k], outputs); !text.empty()) return {"differs", where + text};
    } catch (const Error& error) {
      if (raised(passes[k])) return {"right", "refused as by PyTorch: " + std::string(error.what())};
      return {"refused", where + error.stage() + ": " + error.what()};
    }
  }
  return {};
}

template <typename T>
const T& any_of(const std::vector<T>& choices, std::mt19937& random) {
  return choices[std::uniform_int_distribution<std::size_t>(0, choices.size() - 1)(random)];
}

// Some candidate for every node, for programs of `members` members.
std::vector<NodeChoice> random_choices(const Build& built, std::int64_t members, const StrategyChoice& choice,
                                       std::mt19937& random) {
  if (members == 1 && !built.random)
    return choices_of(built.optimized, plan_alone(built.optimized, built.inputs));
  const auto states = spread_states(built.optimized, built.inputs);
  const auto nodes = ask_strategies(built.optimized, states, members, choice);
  std::vector<std::size_t> taken;
  for (const auto& node : nodes) {
    const auto count = node.kind == NodeKind::kMapped ? node.candidates.size() : 1;
    taken.push_back(
        std::uniform_int_distribution<std::size_t>(0, std::max<std::size_t>(count, 1) - 1)(random));
  }
  const ConversionCost free_of_cost = [](const ConcreteType&, Layout, Layout) { return 0.0; };
  return choices_of(built.optimized,
                    plan_from_candidates(built.optimized, states, nodes, free_of_cost, std::move(taken)));
}

StoredPlan random_plan(const Build& built, std::int64_t members, const StrategyChoice& choice,
                       std::mt19937& random) {
  StoredPlan plan{members, {members, 1, 0}, {}, {}};
  if (!built.random) plan.schedule = any_of(possible_schedules(members, at::get_num_threads()), random);
  plan.nodes = random_choices(built, plan.schedule.chunk, choice, random);
  if (const auto left = members % plan.schedule.chunk; left > 0)
    plan.rest = random_choices(built, left, choice, random);
  return plan;
}

std::string as_text(const StoredPlan& plan) {
  auto text =
      "chunk " + std::to_string(plan.schedule.chunk) + ", workers " + std::to_string(plan.schedule.workers);
  for (const auto& node : plan.nodes) text += "; " + node.value + "=" + node.strategy;
  return text;
}

// As a user of -c has it: with pointwise operators in groups.
BuildOptions compiled() {
  BuildOptions options;
  options.mode = Mode::kDefault;
  return options;
}

// One case in its own process: says on `out` which run begins and what came of it, a line of JSON each.
class CaseRun {
 public:
  CaseRun(const fs::path& folder, int out) : folder_(folder), out_(out) {}

  void run(bool proof) {
    std::optional<LoadedModel> loaded;
    attempt("load", [&]() -> Verdict {
      loaded.emplace(load({folder_ / "model.pt2"}, weights_of(folder_)));
      return {};
    });
    if (!loaded) return;
    WideModel model(loaded->graph, loaded->members, compiled());
    std::vector<Pass> passes;
    attempt("inputs", [&]() -> Verdict {
      for (const auto& file : goldens_of(folder_)) passes.push_back(read_pass(file, model));
      return {};
    });
    if (passes.empty()) return;
    attempt("default", [&] { return run_passes(model, passes); });
    attempt("sequential", [&] {
      BuildOptions options;
      options.strategies.all = "sequential";
      WideModel other(loaded->graph, loaded->members, options);
      return run_passes(other, passes);
    });
    attempt("random", [&] { return run_random(*loaded, passes); });
    if (proof && !raised(passes.front())) {
      attempt("proof", [&] { return run_proof(*loaded, passes.front()); });
    }
  }

 private:
  static Pass read_pass(const fs::path& file, const WideModel& model) {
    Pass pass{formats::Safetensors::read(file), {}, ""};
    try {
      pass.inputs = app::read_inputs(file, model);
    } catch (const Error& error) {
      pass.refused = error.what();
    }
    return pass;
  }

  Verdict run_random(const LoadedModel& loaded, const std::vector<Pass>& passes) {
    std::mt19937 random(static_cast<unsigned>(std::hash<std::string>()(folder_.filename().string())));
    BuildOptions options;
    options.mode = kAllModes[random() % kAllModes.size()];
    WideModel shape(loaded.graph, loaded.members, options);
    std::string text;
    // A stored plan is of one set of shapes: passes of other shapes take the best plan by estimate.
    if (passes.front().refused.empty() && same_shapes(passes)) {
      options.plan = random_plan(shape.build(passes.front().inputs), shape.members(),
                                 shape.options().strategies, random);
      text = as_text(*options.plan);
    } else {
      options.strategies.all = kWide;
    }
    text = " [" + std::string(name(options.mode)) + ", " + text + "]";
    say({{"plan", text}});
    WideModel model(loaded.graph, loaded.members, options);
    auto verdict = run_passes(model, passes);
    if (verdict.verdict != "right") verdict.text += text;
    return verdict;
  }

  static bool same_shapes(const std::vector<Pass>& passes) {
    const auto& first = passes.front().inputs;
    return std::all_of(passes.begin(), passes.end(), [&](const Pass& pass) {
      if (pass.inputs.size() != first.size()) return false;
      for (std::size_t k = 0; k < first.size(); ++k) {
        if (pass.inputs[k].mapped != first[k].mapped ||
            pass.inputs[k].tensor.sizes() != first[k].tensor.sizes())
          return false;
      }
      return true;
    });
  }

  static Verdict run_proof(const LoadedModel& loaded, const Pass& pass) {
    WideModel model(loaded.graph, loaded.members, compiled());
    if (!pass.refused.empty()) throw Error("run", pass.refused);
    const auto proof = prove(model, pass.inputs);
    for (const auto& one : proof.checks) {
      if (!one.passed) return {"differs", one.what + ": " + one.text};
    }
    return {};
  }

  template <typename Body>
  void attempt(const std::string& what, Body body) {
    say({{"begin", what}});
    Verdict verdict;
    try {
      verdict = body();
    } catch (const Error& error) {
      verdict = {"refused", error.stage() + ": " + error.what()};
    } catch (const std::exception& error) {
      const std::string text = error.what();
      verdict = {"fault", text.substr(0, text.find("\nException raised"))};
    }
    say({{"end", what}, {"verdict", verdict.verdict}, {"text", verdict.text}});
  }

  void say(const json& line) const {
    const auto text = line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    if (write(out_, text.data(), text.size()) < 0) _exit(1);
  }

  fs::path folder_;
  int out_;
};

std::string read_all(int from) {
  std::string text;
  char buffer[4096];
  for (ssize_t count = 0; (count = read(from, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(count));
  return text;
}

// {"case": folder, "runs": {"default": {"verdict": …, "text": …}, …}}; the run in which the process ended has
// the verdict "crash" or "timeout".
json run_case(const fs::path& folder, const Options& options) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe can be made");
  std::cout.flush();
  const auto child = fork();
  if (child == 0) {
    close(ends[0]);
    dup2(STDERR_FILENO, STDOUT_FILENO);  // what libraries print is no answer of ours
    alarm(options.seconds);
    at::set_num_threads(2);
    CaseRun(folder, ends[1]).run(options.proof);
    _exit(0);
  }
  close(ends[1]);
  const auto lines = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  json runs = json::object();
  std::string open, plan;
  std::size_t start = 0;
  for (auto end = lines.find('\n'); end != std::string::npos; end = lines.find('\n', start)) {
    const auto line = json::parse(lines.substr(start, end - start));
    start = end + 1;
    if (line.contains("begin")) {
      open = line["begin"];
      plan.clear();
    } else if (line.contains("plan")) {
      plan = line["plan"];
    } else {
      runs[line["end"].get<std::string>()] = {{"verdict", line["verdict"]}, {"text", line["text"]}};
      open.clear();
    }
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    const bool late = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    const auto text = WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                          : "exit " + std::to_string(WEXITSTATUS(status));
    runs[open.empty() ? "between" : open] = {{"verdict", late ? "timeout" : "crash"}, {"text", text + plan}};
  }
  return {{"case", folder.string()}, {"runs", runs}};
}

Options parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--no-proof") {
      options.proof = false;
    } else if (argument == "--seconds" && i + 1 < count) {
      const std::string value = arguments[++i];
      std::from_chars(value.data(), value.data() + value.size(), options.seconds);
    } else {
      std::ifstream list(argument);
      for (std::string line; std::getline(list, line);)
        if (!line.empty()) options.cases.emplace_back(line);
    }
  }
  return options;
}

}  // namespace
}  // namespace wide

int main(int count, char** arguments) {
  const auto options = wide::parse(count, arguments);
  if (options.cases.empty()) {
    std::cerr
        << "usage: differential_driver [--seconds 60] [--no-proof] LIST; LIST names a case folder a line\n";
    return 2;
  }
  for (const auto& folder : options.cases) std::cout << wide::run_case(folder, options).dump() << std::endl;
  return 0;
}
