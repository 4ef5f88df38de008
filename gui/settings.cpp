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
  const auto because = [&](const std::string& why) {
    std::error_code failed;
    if (fault != nullptr && std::filesystem::exists(file, failed)) *fault = why;
    return settings;
  };
  json document;
  try {
    const auto bytes = formats::read_file(file);
    document = formats::parse_document({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } catch (const formats::Fault& error) {
    return because(error.what());  // none yet, or none of ours
  }
  if (!document.is_object()) return because("it holds no settings");
  std::string wrong;  // keys whose value, edited by hand say, is none of theirs: all others are taken
  const auto take = [&](const char* key, auto use) {
    const auto found = document.find(key);
    if (found == document.end()) return;
    try {
      use(*found);
    } catch (const json::exception&) {
      wrong.append(wrong.empty() ? "'" : ", '").append(key).append("'");
    }
  };
  const auto take_as_it_is = [&](const char* key, auto& value) {
    take(key, [&](const json& one) { one.get_to(value); });
  };
  const auto take_between = [&](const char* key, auto& value, auto least, auto most) {
    auto number = static_cast<double>(value);
    take_as_it_is(key, number);
    value = static_cast<decltype(least)>(std::clamp<double>(number, least, most));
  };
  double version = kVersion;  // whatever number it is
  take_as_it_is("schema_version", version);
  take_as_it_is("dark", settings.dark);
  take_between("scale", settings.scale, 0.5, 3.0);
  take_as_it_is("layout", settings.layout);
  take_as_it_is("open", settings.open);
  take("wish", [&](const json& one) { settings.wish = wish_from(one); });
  take_between("width", settings.width, 0, 8192);
  take_between("height", settings.height, 0, 8192);
  take_as_it_is("sweep", settings.sweep);
  take_as_it_is("reopen", settings.reopen);
  take_between("notice_seconds", settings.notice_seconds, 2.0, 60.0);
  take_as_it_is("first_steps", settings.first_steps);
  take("pinned", [&](const json& all) {
    for (const auto& one : all) {
      if (settings.pinned.size() < kPinned) settings.pinned.push_back(one.get<std::string>());
    }
  });
  take("bookmarks", [&](const json& all) { settings.bookmarks = bookmarks_from(all); });
  take("recent", [&](const json& all) {
    for (const auto& one : all) {
      if (settings.recent.size() < kRecent) settings.recent.push_back(source_from(one));
    }
  });
  if (!wrong.empty()) return because(wrong + " cannot be so; what was read of it holds, else the usual");
  if (version > kVersion) return because("it is of a newer release, and what that added is not kept");
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
