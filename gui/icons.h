#pragma once
// Names for the glyphs of Font Awesome 6 (free, solid) that the window uses. All panels take them from here.

namespace wide::gui::icon {

inline constexpr const char* kFolderOpen = "\xef\x81\xbc";
inline constexpr const char* kFile = "\xef\x85\x9b";
inline constexpr const char* kModel = "\xef\x86\xb2";       // cube
inline constexpr const char* kModels = "\xef\x86\xb3";      // cubes
inline constexpr const char* kGraph = "\xef\x95\x82";       // diagram-project
inline constexpr const char* kStrategies = "\xef\x87\x9e";  // sliders
inline constexpr const char* kSweep = "\xef\x88\x81";       // chart-line
inline constexpr const char* kProfile = "\xef\xa0\xa8";     // bars-staggered
inline constexpr const char* kHistory = "\xef\x87\x9a";     // clock-rotate-left
inline constexpr const char* kInspector = "\xef\x80\x82";   // magnifying-glass
inline constexpr const char* kJobs = "\xef\x82\xae";        // list-check
inline constexpr const char* kLog = "\xef\x85\x9c";         // file-lines
inline constexpr const char* kRun = "\xef\x81\x8b";         // play
inline constexpr const char* kStop = "\xef\x81\x8d";
inline constexpr const char* kCopy = "\xef\x83\x85";
inline constexpr const char* kTerminal = "\xef\x84\xa0";
inline constexpr const char* kCheck = "\xef\x80\x8c";
inline constexpr const char* kCross = "\xef\x80\x8d";
inline constexpr const char* kWarning = "\xef\x81\xb1";  // triangle-exclamation
inline constexpr const char* kError = "\xef\x81\xaa";    // circle-exclamation
inline constexpr const char* kInfo = "\xef\x81\x9a";     // circle-info
inline constexpr const char* kFaster = "\xef\x81\xa2";   // arrow-up
inline constexpr const char* kSlower = "\xef\x81\xa3";   // arrow-down
inline constexpr const char* kSame = "\xef\x94\xac";     // equals
inline constexpr const char* kExport = "\xef\x95\xae";
inline constexpr const char* kImport = "\xef\x95\xaf";
inline constexpr const char* kPin = "\xef\x82\x8d";  // thumbtack
inline constexpr const char* kTag = "\xef\x80\xab";
inline constexpr const char* kTrash = "\xef\x8b\xad";  // trash-can
inline constexpr const char* kFilter = "\xef\x82\xb0";
inline constexpr const char* kPlus = "\xef\x81\xa7";
inline constexpr const char* kColumns = "\xef\x83\x9b";  // table-columns
inline constexpr const char* kSun = "\xef\x86\x85";
inline constexpr const char* kMoon = "\xef\x86\x86";
inline constexpr const char* kBuild = "\xef\x9b\xa3";  // hammer
inline constexpr const char* kProve = "\xef\x89\x8e";  // scale-balanced
inline constexpr const char* kClock = "\xef\x80\x97";
inline constexpr const char* kChip = "\xef\x8b\x9b";      // microchip
inline constexpr const char* kExpand = "\xef\x81\xb8";    // chevron-down
inline constexpr const char* kCollapse = "\xef\x81\x94";  // chevron-right
inline constexpr const char* kReset = "\xef\x8b\xaa";     // rotate-left
inline constexpr const char* kFit = "\xef\x8c\x9e";       // maximize

}  // namespace wide::gui::icon
