#include "python/binding/models.h"

#include <map>
#include <mutex>
#include <shared_mutex>
#include <utility>

namespace wide::python {
namespace {

using Models = std::map<std::int64_t, std::shared_ptr<widebench::WideModel>>;

std::shared_mutex registry_mutex;
std::int64_t last_handle = 0;

Models& registry() {
  // Never destroyed: models may be released after static objects are gone.
  static auto* const all = new Models;
  return *all;
}

}  // namespace

std::int64_t keep(widebench::WideModel model) {
  auto kept = std::make_shared<widebench::WideModel>(std::move(model));
  const std::unique_lock lock(registry_mutex);
  registry().emplace(++last_handle, std::move(kept));
  return last_handle;
}

std::shared_ptr<widebench::WideModel> find(std::int64_t handle) {
  {
    const std::shared_lock lock(registry_mutex);
    if (const auto found = registry().find(handle); found != registry().end()) return found->second;
  }
  raise("run", "this wide model was deleted; keep the module that compile() gave");
}

void forget(std::int64_t handle) {
  std::shared_ptr<widebench::WideModel> model;  // freed without the lock
  const std::unique_lock lock(registry_mutex);
  const auto found = registry().find(handle);
  if (found == registry().end()) return;
  model = std::move(found->second);
  registry().erase(found);
}

std::int64_t models_alive() {
  const std::shared_lock lock(registry_mutex);
  return static_cast<std::int64_t>(registry().size());
}

}  // namespace wide::python
