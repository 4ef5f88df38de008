#include "presets/zoo/zoo.h"

#include <algorithm>

#include "formats/error.h"

namespace wide::zoo {

void Sizes::set(const std::string& name, std::int64_t size) {
  const auto known = sizes_.find(name);
  if (known == sizes_.end()) {
    std::string names;
    for (const auto& [other, value] : sizes_) names += (names.empty() ? "" : ", ") + other;
    throw Error("preset", "subject '" + subject_ + "' has no size '" + name + "'; it has " + names);
  }
  if (size < 1) throw Error("preset", "subject '" + subject_ + "': size '" + name + "' must be at least 1");
  known->second = size;
}

const std::vector<Subject>& subjects() {
  static const auto all = [] {
    auto list = models();
    for (auto& subject : primitive_subjects()) list.push_back(std::move(subject));
    return list;
  }();
  return all;
}

const Subject& find_subject(const std::string& name) {
  const auto found = std::find_if(subjects().begin(), subjects().end(),
                                  [&](const Subject& one) { return one.name == name; });
  if (found != subjects().end()) return *found;
  std::string names;
  for (const auto& subject : subjects()) names += (names.empty() ? "" : ", ") + subject.name;
  throw Error("preset", "there is no subject '" + name + "'; there are " + names);
}

Architecture build(const std::string& subject, const std::map<std::string, std::int64_t>& sizes) {
  const auto& found = find_subject(subject);
  Sizes all(found.name, found.sizes);
  for (const auto& [name, size] : sizes) all.set(name, size);
  return found.build(all);
}

}  // namespace wide::zoo
