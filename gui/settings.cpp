#include "gui/settings.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <span>

#include "formats/document.h"
#include "formats/fault.h"
#include "formats/file.h"

namespace wide::gui {
namespace {

using nlohmann::json;
constexpr std::size_t kRecent = 8, kPinned = 24;
constexpr int kVersion = 1;

json to_json(const ModelSource& source) {
  return {{"models", source.models},
          {"weights", source.weights},
          {"subject", source.subject},
          {"copies", source.copies}};
}

ModelSource source_from(const json& one) {
  ModelSource source;
  source.models = one.at("models").get<std::vector<std::string>>();
  source.weights = one.at("weights").get<std::vector<std::string>>();
  source.subject = one.at("subject").get<std::string>();
  source.copies = std::clamp<std::int64_t>(one.at("copies").get<std::int64_t>(), 1, 4096);
  return source;
}

json to_json(const BuildWish& wish) {
  return {{"all", wish.all}, {"by_kind", wish.by_kind}, {"by_value", wish.by_value}, {"mode", wish.mode}};
}

BuildWish wish_from(const json& one) {
  using Choices = std::map<std::string, std::string>;
  const BuildWish usual;
  return {.all = one.value("all", usual.all),
          .by_kind = one.value("by_kind", Choices()),
          .by_value = one.value("by_value", Choices()),
          .mode = one.value("mode", usual.mode)};
}

json to_json(const KeptBookmarks& kept) {
  json places = json::array();
  for (const auto& one : kept.places) places.push_back({{"time_ns", one.time}, {"name", one.name}});
  return {{"profile", kept.profile}, {"places", std::move(places)}};
}

std::vector<KeptBookmarks> bookmarks_from(const json& list) {
  std::vector<KeptBookmarks> all;
  for (auto one = list.rbegin(); one != list.rend(); ++one) {  // the newest last, as they were kept
    std::vector<Bookmark> places;
    for (const auto& place : one->at("places"))
      places.push_back({place.at("time_ns").get<double>(), place.at("name").get<std::string>()});
    keep_bookmarks(all, one->at("profile").get<std::string>(), places);
  }
  return all;
}

}  // namespace

void Settings::remember(const ModelSource& source) {
  std::erase_if(recent, [&](const ModelSource& one) {
    return one.models == source.models && one.weights == source.weights && one.subject == source.subject;
  });
  recent.insert(recent.begin(), source);
  if (recent.size() > kRecent) recent.resize(kRecent);
}

std::filesystem::path settings_file() {
  if (const char* config = std::getenv("XDG_CONFIG_HOME"); config && *config == '/') {
    return std::filesystem::path(config) / "widebench" / "window.json";
  }
  if (const char* home = std::getenv("HOME"); home && *home == '/') {
    return std::filesystem::path(home) / ".config" / "widebench" / "window.json";
  }
  return {};
}

Settings read_settings(const std::filesystem::path& file, std::string* fault) {
  Settings settings;
  const auto because = [&](const char* why) {
    std::error_code failed;
    if (fault != nullptr && std::filesystem::exists(file, failed)) *fault = why;
    return settings;
  };
  try {
    const auto bytes = formats::read_file(file);
    const auto document =
        formats::parse_document({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (!document.is_object()) return because("it holds no settings");
    settings.dark = document.value("dark", true);
    settings.scale = std::clamp(document.value("scale", 1.0), 0.5, 3.0);
    settings.layout = document.value("layout", std::string());
    settings.open = document.value("open", false);
    settings.wish = wish_from(document.value("wish", json::object()));
    settings.width = std::clamp(document.value("width", 0), 0, 8192);
    settings.height = std::clamp(document.value("height", 0), 0, 8192);
    settings.sweep = document.value("sweep", std::string());
    settings.reopen = document.value("reopen", true);
    settings.notice_seconds = std::clamp(document.value("notice_seconds", 6.0), 2.0, 60.0);
    settings.first_steps = document.value("first_steps", true);
    for (const auto& one : document.value("pinned", json::array())) {
      if (settings.pinned.size() < kPinned) settings.pinned.push_back(one.get<std::string>());
    }
    settings.bookmarks = bookmarks_from(document.value("bookmarks", json::array()));
    for (const auto& one : document.value("recent", json::array())) {
      if (settings.recent.size() < kRecent) settings.recent.push_back(source_from(one));
    }
    if (document.value("schema_version", kVersion) > kVersion)
      return because("it is of a newer release, and what that added is not kept");
  } catch (const formats::Fault& error) {
    return because(error.what());  // none yet, or none of ours
  } catch (const json::exception& error) {
    // A file of another release, or edited by hand: what was read until here is good.
    return because(error.what());
  }
  return settings;
}

bool keep_old_settings(const std::filesystem::path& file) {
  auto old = file;
  old += ".old";
  std::error_code failed;
  return std::filesystem::copy_file(file, old, std::filesystem::copy_options::overwrite_existing, failed);
}

std::string write_settings(const std::filesystem::path& file, const Settings& settings) {
  if (file.empty()) return "there is no home folder to keep them in";
  json document{{"schema_version", kVersion},
                {"dark", settings.dark},
                {"scale", settings.scale},
                {"layout", settings.layout},
                {"open", settings.open},
                {"wish", to_json(settings.wish)},
                {"width", settings.width},
                {"height", settings.height},
                {"sweep", settings.sweep},
                {"reopen", settings.reopen},
                {"notice_seconds", settings.notice_seconds},
                {"first_steps", settings.first_steps},
                {"pinned", settings.pinned},
                {"bookmarks", json::array()},
                {"recent", json::array()}};
  for (const auto& kept : settings.bookmarks) document["bookmarks"].push_back(to_json(kept));
  for (const auto& source : settings.recent) document["recent"].push_back(to_json(source));
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  const auto text = document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
  try {
    formats::replace_file(file, std::array{std::as_bytes(std::span(text))});
  } catch (const formats::Fault& fault) {
    return file.string() + " " + fault.what();
  }
  return "";
}

}  // namespace wide::gui
