// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// A folder as somebody may send it who means harm: names and contents of files that could lead a run to write, remove
// or read what is not its own. Every command works in it, and whatever is not its output stays as it is.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <map>
#include <regex>
#include <set>

#include "cli/images.hpp"
#include "cli/process.hpp"
#include "support/programs.hpp"

namespace quietvox::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* staging_name = ".quietvox-0123456789abcdef.part";
constexpr auto readable = fs::directory_options::skip_permission_denied;

/// One of several such names.
std::string staging_name_of(char digit) {
  std::string name = staging_name;
  name[10] = digit;
  return name;
}

/// The digit of what a killed run leaves, whatever was added to it.
constexpr char left = '5';

class HostileFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "precious/letters");
    write_file(folder_ / "precious/letters/letter.txt", "dear");
    write_file(folder_ / "precious/voxels.raw", std::string(2 * 512, 's'));
    std::string numbers;
    for (int i = 0; i < 512; ++i) numbers += "7 ";
    write_file(folder_ / "precious/numbers.txt", numbers);
    fs::create_directories(folder_ / "data/out");
    write_nifti(folder_ / "data/t1.nii", {{8, 8, 8}}, random_integers(512, 1), 1, true);
    write_nifti(folder_ / "data/t2.nii", {{8, 8, 8}}, random_integers(512, 2), 1, true);
    make_series(folder_ / "data/ct");
    for (const char* place : {"data", "data/ct", "data/out"}) plant(folder_ / place);
  }

  /// Lets the folder be removed.
  void TearDown() override {
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path(), readable)) {
      if (entry.symlink_status().type() == fs::file_type::directory) fs::permissions(entry, fs::perms::owner_all);
    }
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// Whatever a run of any version of the program could take for something of its own.
  void plant(const fs::path& place) const {
    const std::string precious = path("precious"), letter = path("precious/letters/letter.txt");
    const auto planted = [&](const std::string& name) { return place / name; };
    // Records of outputs that belong together, as they were once written: a staging, a target, what identifies it.
    const auto record_of = [](std::string text, const std::vector<std::string>& words) {
      for (const std::string& word : words) text.append(word).push_back('\0');
      return text + std::to_string(words.size()) + '\0';
    };
    const std::string first_line = "quietvox: outputs that belong together";
    write_file(planted("x.part-quietvox-1-0.record"), record_of(first_line + "\n", {"", precious, "missing", "", ""}));
    write_file(
        planted("y.part-quietvox-1-0.record"),
        record_of(first_line + "\n", {"", "../precious", "missing", "", "", "../../precious", "missing", "", ""}));
    write_file(planted("z.part-quietvox-1-0.record"),
               record_of(first_line + ", recorded elsewhere\n", {"../x.part-quietvox-1-0.record"}));
    const fs::path lock = planted("outputs.part-quietvox-0-0.lock");
    if (place.filename() == "ct") fs::create_symlink(letter, lock);
    if (place.filename() == "out") mkfifo(lock.c_str(), 0600);
    if (place.filename() == "data") fs::create_directory(lock);
    fs::create_directory_symlink(precious, planted("y.part-quietvox-1-0"));
    plant_private_folders(place);
    // JSON that names what it does not belong to, and headers whose voxels lie elsewhere.
    for (const char* name : {"t1.json", "t2.json", "ct.json"}) {
      write_file(
          planted(name),
          R"({"quietvox": "9", "image": "../precious/letters/letter.txt", "inputs": [{"name": ")" + letter + R"("}]})");
    }
    const std::string nrrd = "NRRD0004\ntype: short\ndimension: 3\nsizes: 8 8 8\nencoding: raw\nendian: little\n";
    write_file(planted("absolute.nhdr"), nrrd + "data file: " + path("precious/voxels.raw") + "\n");
    write_file(planted("above.nhdr"), nrrd + "data file: ../precious/voxels.raw\n");
    write_file(planted("hidden.nhdr"), nrrd + "data file: ./x/../../precious/voxels.raw\n");
    write_file(planted("absolute.mhd"),
               "ObjectType = Image\nNDims = 3\nBinaryData = True\nDimSize = 8 8 8\n"
               "ElementType = MET_SHORT\nElementDataFile = " +
                   path("precious/voxels.raw") + "\n");
    // Links beside a header, and folders, that lead out of its folder.
    fs::create_symlink(path("precious/voxels.raw"), planted("linked.raw"));
    fs::create_directory_symlink(path("precious"), planted("linked"));
    write_file(planted("linked.nhdr"), nrrd + "data file: linked.raw\n");
    write_file(planted("below.nhdr"), nrrd + "data file: linked/voxels.raw\n");
    write_file(planted("linked.mhd"),
               "ObjectType = Image\nNDims = 3\nBinaryData = True\nDimSize = 8 8 8\n"
               "ElementType = MET_SHORT\nElementDataFile = linked.raw\n");
    // Headers in which ITK would find another file than who looks at them before.
    std::string numbers;
    for (int i = 0; i < 512; ++i) numbers += "1 ";
    write_file(planted("numbers.txt"), numbers);
    const std::string meta =
        "ObjectType = Image\nNDims = 3\nBinaryData = False\nDimSize = 8 8 8\nElementType = MET_SHORT\n";
    const std::string there = path("precious/numbers.txt"), here = "ElementDataFile = numbers.txt\n";
    write_file(planted("colon.mhd"), meta + "ElementDataFile : " + there + "\n" + here);
    write_file(planted("letters.mhd"), meta + "elementdatafile = numbers.txt\nElementDataFile = " + there + "\n");
    fs::create_symlink(there, planted("LoCaL"));
    write_file(planted("local.mhd"), meta + "ElementDataFile = LoCaL\n" + numbers);
    const std::string text = "NRRD0004\ntype: short\ndimension: 3\nsizes: 8 8 8\nencoding: text\n";
    const std::string data = "data file: " + there + "\n\n" + numbers;
    write_file(planted("return.nhdr"), text + "content: a\r" + data);
    write_file(planted("=numbers.txt"), numbers);
    write_file(planted("-"), numbers);
    write_file(planted("free.nhdr"), text + "data file:=numbers.txt\n" + data);
    write_file(planted("piped.nhdr"), text + "data file: -\n");
    std::string comments;
    while (comments.size() <= 1 << 20) comments += "# a comment\n";
    write_file(planted("long.nhdr"), text + comments + data);
  }

  /// Places where outputs are made, and what only looks like one.
  void plant_private_folders(const fs::path& place) const {
    const auto name_of = [&](char digit) { return place / staging_name_of(digit); };
    const auto lock_of = [&](char digit) { return name_of(digit) / (staging_name_of(digit).substr(10, 16) + ".lock"); };
    const std::string letter = path("precious/letters/letter.txt");
    fs::create_directory_symlink(path("precious"), name_of('1'));
    write_file(name_of('2'), "a file");
    mkfifo(name_of('3').c_str(), 0600);
    mknod(name_of('4').c_str(), S_IFSOCK | 0600, 0);
    for (const char digit : {left, '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e'}) {
      const fs::path staging = name_of(digit);
      fs::create_directory(staging);
      fs::create_directory_symlink(path("precious"), staging / "link");
      fs::create_directory_symlink("../../precious/letters", staging / "letters");
      fs::create_hard_link(letter, staging / "hard");
      fs::create_symlink(letter, staging / "t1.nii");
      mkfifo((staging / "pipe").c_str(), 0600);
      mknod((staging / "socket").c_str(), S_IFSOCK | 0600, 0);
      write_file(staging / "a\nb", "a name of two lines");
      write_file(staging / std::string(255, 'n'), "the longest name");
      write_file(staging / "setuid", "runs as its owner");
      fs::permissions(staging / "setuid", static_cast<fs::perms>(06755));
      fs::path deep = staging;
      for (int i = 0; i < 20; ++i) deep /= "deep";
      fs::create_directories(deep);
      fs::create_hard_link(letter, deep / "hard");
      fs::create_directory_symlink(path("precious"), deep / "link");
      fs::create_directory(staging / "closed");
      write_file(staging / "closed/file", "");
      fs::permissions(staging / "closed", fs::perms::none);
      if (digit == '7') fs::create_symlink(letter, lock_of(digit));
      if (digit == '8') mkfifo(lock_of(digit).c_str(), 0600);
      if (digit == '9') fs::create_directory(lock_of(digit));
      if (digit == 'a') fs::create_hard_link(letter, lock_of(digit));
      if (digit == 'b') write_file(lock_of(digit), "text");
      if (digit == left || digit > 'b') write_file(lock_of(digit), "");
      fs::permissions(staging, digit == 'c'    ? fs::perms::all
                               : digit == 'd'  ? fs::perms::none
                               : digit == left ? static_cast<fs::perms>(02700)
                                               : fs::perms::owner_all);
      constexpr uid_t nobody = 65534;
      if (digit == 'e' && (geteuid() != 0 || chown(staging.c_str(), nobody, nobody) != 0)) {
        fs::permissions(staging, static_cast<fs::perms>(0755));
      }
    }
  }

  /// Everything below the folder: type, permissions, content or where a link leads.
  std::map<std::string, std::string> state(const std::set<std::string>& except) const {
    std::map<std::string, std::string> found;
    for (auto entry = fs::recursive_directory_iterator(folder_.path(), readable);
         entry != fs::recursive_directory_iterator(); ++entry) {
      const std::string name = entry->path().lexically_relative(folder_.path()).string();
      if (except.contains(name)) {
        if (!entry->is_symlink()) entry.disable_recursion_pending();
        continue;
      }
      const fs::file_status status = entry->symlink_status();
      std::string text = std::to_string(static_cast<int>(status.type())) + " " +
                         std::to_string(static_cast<unsigned>(status.permissions())) + " ";
      if (fs::is_symlink(status)) text += fs::read_symlink(entry->path()).string();
      if (fs::is_regular_file(status)) text += read_file(entry->path());
      found[name] = text;
    }
    return found;
  }

  /// Runs a command. Of what lies in the folder, only the outputs may change, and what was left by a run that was
  /// killed in a folder of theirs.
  void expect_only(const std::set<std::string>& outputs, const std::vector<std::string>& words) const {
    std::string line;
    for (const std::string& word : words) line += word + " ";
    SCOPED_TRACE(line);
    std::set<std::string> except = outputs;
    for (const std::string& output : outputs) {
      const fs::path parent = fs::path(output).parent_path();
      except.insert((parent / staging_name_of(left)).string());
    }
    const auto before = state(except);
    const Result result = quietvox(words);
    EXPECT_LT(result.status, 128) << result.err;
    const auto after = state(except);
    for (const auto& [name, text] : before) {
      EXPECT_TRUE(after.contains(name)) << name << " is gone";
      if (after.contains(name)) {
        EXPECT_EQ(after.at(name), text) << name << " changed";
      }
    }
    for (const auto& [name, text] : after) EXPECT_TRUE(before.contains(name)) << name << " is new";
  }

  TemporaryFolder folder_;
};

TEST_F(HostileFolder, CommandsThatOnlyReadChangeNothing) {
  for (const std::string input : {"data", "data/t1.nii", "data/ct", "data/absolute.nhdr", "data/out"}) {
    expect_only({}, {"info", path(input)});
    expect_only({}, {"estimate", path(input)});
    expect_only({}, {"compare", path(input), path("data/t2.nii")});
    expect_only({}, {"median", path(input), path("data/o.nii"), "--dry-run"});
    expect_only({}, {"median", path(input), path("data/out/o"), "--dry-run", "--force"});
    expect_only({}, {"median", path(input), path("data/new/o.nii.gz"), "--dry-run"});
  }
  expect_only({}, {"median", path("data"), path("all"), "--all-series", "--dry-run"});
  expect_only({}, {"median", path("data/ct"), path("all"), "--all-series", "--dry-run", "--force"});
  expect_only(
      {}, {"nlm", path("data/t1.nii"), path("data/t2.nii"), "--residual", path("data/r.nii"), "--dry-run", "--force"});
  expect_only({}, {"filters"});
}

TEST_F(HostileFolder, CommandsThatWriteChangeNothingElse) {
  expect_only({"data/o.nii", "data/o.json"}, {"median", path("data/t1.nii"), path("data/o.nii")});
  expect_only({"data/o.nii", "data/o.json"}, {"median", path("data/t1.nii"), path("data/o.nii"), "--force"});
  expect_only({"data/out/o.nii.gz", "data/out/o.json", "data/out/r.nii", "data/out/r.json"},
              {"gaussian", path("data/t1.nii"), path("data/out/o.nii.gz"), "--residual", path("data/out/r.nii")});
  expect_only({"data/out/p.mhd", "data/out/p.raw", "data/out/p.json"},
              {"median", path("data/t1.nii"), path("data/out/p.mhd")});
  expect_only({"data/out/n.hdr", "data/out/n.img", "data/out/n.json"},
              {"median", path("data/t1.nii"), path("data/out/n.hdr")});
  expect_only({"data/out/ct"}, {"median", path("data/ct"), path("data/out/ct")});
  expect_only({"data/out/ct"}, {"median", path("data/ct"), path("data/out/ct"), "--force"});
  expect_only({"all"}, {"median", path("data/ct"), path("all"), "--all-series"});
  expect_only({"all"}, {"median", path("data/ct"), path("all"), "--all-series", "--force"});
  expect_only({"data/noisy.nii", "data/noisy.json"},
              {"add-noise", path("data/t1.nii"), path("data/noisy.nii"), "--kind", "gaussian", "--amount", "3"});
  expect_only({"data/ph.nii", "data/ph.json"}, {"phantom", path("data/ph.nii"), "--size", "16x16x8"});
  expect_only({"data/out/ph"}, {"phantom", path("data/out/ph"), "--size", "16x16x8"});
  expect_only({"data/c.png"}, {"compare", path("data/t1.nii"), path("data/t2.nii"), "--picture", path("data/c.png")});
  expect_only({"data/q.json"}, {"train-quadratic", path("data/t1.nii"), path("data/t2.nii"), path("data/q.json")});
  expect_only({"data/log"}, {"info", path("data/t1.nii"), "--log-file", path("data/log")});
  for (const char* place : {"data", "data/out"}) EXPECT_FALSE(fs::exists(folder_ / place / staging_name_of(left)));
  EXPECT_TRUE(fs::exists(folder_ / "data/ct" / staging_name_of(left)));  // nothing was written there
  // Beside an output, and at its place.
  mkfifo((folder_ / "data/f.json").c_str(), 0600);
  fs::create_symlink(path("precious/letters/letter.txt"), folder_ / "data/s.json");
  fs::create_symlink(path("precious/letters/letter.txt"), folder_ / "data/link.nii");
  fs::create_hard_link(folder_ / "precious/letters/letter.txt", folder_ / "data/hard.nii");
  mkfifo((folder_ / "data/pipe.nii").c_str(), 0600);
  for (const char* name : {"f.nii", "s.nii", "pipe.nii", "link.nii", "hard.nii"}) {
    expect_only({}, {"median", path("data/t1.nii"), path("data") + "/" + name, "--dry-run", "--force"});
    if (name[0] != 'l' && name[0] != 'h') {
      expect_only({}, {"median", path("data/t1.nii"), path("data") + "/" + name, "--force"});
    }
  }
  expect_only({"data/link.nii", "data/link.json"}, {"median", path("data/t1.nii"), path("data/link.nii"), "--force"});
  expect_only({"data/hard.nii", "data/hard.json"}, {"median", path("data/t1.nii"), path("data/hard.nii"), "--force"});
  // JSON of another origin is replaced not even with --force.
  expect_only({}, {"median", path("data/t1.nii"), path("data/ct.nii.gz")});
  expect_only({}, {"median", path("data/ct"), path("data/out"), "--force"});
  quietvox_ok({"median", path("data/t1.nii"), path("data/pair.hdr")});
  fs::remove(folder_ / "data/pair.img");
  fs::create_symlink(path("precious/voxels.raw"), folder_ / "data/pair.img");
  for (const char* header : {"absolute.nhdr", "above.nhdr", "hidden.nhdr", "absolute.mhd", "linked.nhdr", "below.nhdr",
                             "linked.mhd", "pair.hdr", "pair.img", "colon.mhd", "letters.mhd", "local.mhd",
                             "return.nhdr", "long.nhdr", "free.nhdr", "piped.nhdr"}) {
    expect_only({}, {"median", path("data") + "/" + header, path("data/leak.nii")});
    const Result result = quietvox({"info", path("data") + "/" + header});
    EXPECT_EQ(result.status, 4) << header;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

/// Every path that a run writes to, renames or removes, as the system saw it, lies in the folder of its output.
TEST_F(HostileFolder, SystemCallsWriteInTheOutputsFolderAlone) {
  if (!has_program("strace") || std::system("strace -o /dev/null true 2>/dev/null") != 0) {
    GTEST_SKIP() << "strace is not installed, or may not trace here";
  }
  if (std::string(QUIETVOX_SANITIZE) == "thread") GTEST_SKIP() << "the thread sanitizer makes a file of its own";
  const std::string program = QUIETVOX_BINARY_DIR "/bin/quietvox";
  const std::vector<std::pair<std::string, std::string>> runs{
      {"median data/t1.nii data/out/o.nii.gz --residual data/out/r.nii", "data/out"},
      {"median data/ct data/out/ct", "data/out"},
      {"gaussian data/ct data/out/ct --force", "data/out"},
      {"median data/t1.nii data/out/m.mhd", "data/out"},
      {"median data/ct all --all-series", "all"},
      {"median data/ct all --all-series --force", "all"},
      {"run data/ct data/out/run --filter median", "data/out"},
      {"denoise data/t1.nii data/out/d.nii", "data/out"},
      {"denoise data/t1.nii data/out/d.nii --force", "data/out"},
      {"median data/ct data/out/ct --force --dry-run", ""},
      {"median data/t1.nii data/out/new.nii --dry-run", ""},
      {"info data/ct", ""},
      {"info data/t1.nii", ""},
      {"estimate data/t1.nii", ""},
      {"compare data/t1.nii data/t2.nii", ""}};
  for (const auto& [words, allowed] : runs) {
    SCOPED_TRACE(words);
    const std::string trace = path("trace.txt");
    const std::string command =  // leaks cannot be looked for while a process is traced
        "cd '" + path("") + "' && ASAN_OPTIONS=detect_leaks=0 strace -f -y -o '" + trace +
        "' -e trace=open,openat,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,mknod,mknodat,"
        "rmdir,link,linkat,symlink,symlinkat,chmod,fchmod,fchmodat,chown,fchown,lchown,fchownat,truncate,utimensat "
        "'" +
        program + "' " + words + (allowed.empty() ? "" : " --progress none") + " >/dev/null 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0);
    std::size_t writes = 0;
    std::istringstream lines(read_file(trace));
    std::map<std::string, std::string> folders;  // that are open, by the names that /proc/self gives them
    static const std::regex opened(R"((?:(?:O_DIRECTORY|O_PATH)[A-Z_|]*|openat resumed>.*)\) += (\d+)<([^>]*)>)"),
        by_descriptor(R"("(/proc/self/fd/\d+))"), named(R"re((?:\w+<([^>]*)>, )?"([^"]*)")re"),
        descriptor(R"(\((\d+)<([^>]*)>)");
    for (std::string line; std::getline(lines, line);) {
      std::smatch match;
      if (std::regex_search(line, match, opened)) folders["/proc/self/fd/" + match[1].str()] = match[2].str();
      while (std::regex_search(line, match, by_descriptor)) {
        line.replace(static_cast<std::size_t>(match.position(1)), match[1].str().size(), folders[match[1].str()]);
      }
      const bool is_open = line.find(" open") != std::string::npos;
      const bool writes_file = line.find("O_WRONLY") != std::string::npos || line.find("O_RDWR") != std::string::npos ||
                               line.find("O_CREAT") != std::string::npos;
      if ((is_open && !writes_file) || line.find("strace:") != std::string::npos) continue;
      if (line.find('(') == std::string::npos || line.find("resumed>") != std::string::npos) continue;
      if (line.find("?\?\?(") != std::string::npos) continue;  // of a thread that the end of the program stops
      if (line.find("ENOENT") != std::string::npos) continue;
      std::vector<fs::path> paths;
      for (std::sregex_iterator name(line.begin(), line.end(), named); name != std::sregex_iterator(); ++name) {
        const fs::path base = (*name)[1].matched ? fs::path((*name)[1].str()) : folder_.path();
        paths.push_back((base / (*name)[2].str()).lexically_normal());
      }
      if (paths.empty() && std::regex_search(line, match, descriptor)) paths.emplace_back(match[2].str());
      EXPECT_FALSE(paths.empty()) << line;
      if (!paths.empty() && *++paths.front().begin() == "dev") continue;
      ++writes;
      const fs::path folder = folder_ / allowed;
      for (const fs::path& each : paths) {
        EXPECT_TRUE(std::mismatch(folder.begin(), folder.end(), each.begin(), each.end()).first == folder.end())
            << line;
      }
    }
    EXPECT_TRUE(allowed.empty() ? writes == 0 : writes > 5) << writes;
    fs::remove(trace);
  }
}

/// No more access than the input gives, or what is replaced.
TEST_F(HostileFolder, PrivateScansStayPrivate) {
  const auto mode = [&](const std::string& name) {
    return static_cast<unsigned>(fs::status(folder_ / name).permissions()) & 0777;
  };
  fs::create_directory(folder_ / "results");
  const mode_t before = umask(022);
  fs::permissions(folder_ / "data/t1.nii", static_cast<fs::perms>(0600));
  quietvox_ok({"median", path("data/t1.nii"), path("results/o.nii.gz"), "--residual", path("results/r.nii")});
  quietvox_ok({"median", path("data/t1.nii"), path("results/m.mhd")});
  quietvox_ok({"compare", path("data/t2.nii"), path("data/t1.nii"), "--picture", path("results/c.png")});
  for (const char* name : {"o.nii.gz", "o.json", "r.nii", "r.json", "m.mhd", "m.raw", "m.json", "c.png"}) {
    EXPECT_EQ(mode(std::string("results/") + name), 0600U) << name;
  }
  quietvox_ok({"median", path("data/t2.nii"), path("results/o.nii.gz"), "--force"});
  EXPECT_EQ(mode("results/o.nii.gz"), 0600U);  // as what it replaced
  quietvox_ok({"median", path("data/t2.nii"), path("results/open.nii")});
  EXPECT_EQ(mode("results/open.nii"), 0644U);

  // A series whose folder only its owner may enter, converted too.
  fs::permissions(folder_ / "data/ct", fs::perms::owner_all);
  quietvox_ok({"median", path("data/ct"), path("results/ct")});
  quietvox_ok({"median", path("data/ct"), path("results/ct.nii")});
  EXPECT_EQ(mode("results/ct"), 0700U);
  EXPECT_EQ(mode("results/ct.nii"), 0600U);
  for (const auto& file : fs::directory_iterator(folder_ / "results/ct")) {
    EXPECT_EQ(static_cast<unsigned>(file.status().permissions()) & 0777, 0600U) << file.path();
  }

  // A mask shows in the output, and so do coefficients.
  write_nifti(folder_ / "data/mask.nii", {{8, 8, 8}}, std::vector<std::int16_t>(512, 1), 1, true);
  fs::permissions(folder_ / "data/mask.nii", static_cast<fs::perms>(0600));
  quietvox_ok({"median", path("data/t2.nii"), path("results/masked.nii"), "--mask", path("data/mask.nii")});
  EXPECT_EQ(mode("results/masked.nii"), 0600U);
  EXPECT_EQ(mode("results/masked.json"), 0600U);
  quietvox_ok({"train-quadratic", path("data/t1.nii"), path("data/t2.nii"), path("data/q.json")});
  EXPECT_EQ(mode("data/q.json"), 0600U);  // as t1.nii
  quietvox_ok({"quadratic", path("data/t2.nii"), path("results/q.nii"), "--coefficients", path("data/q.json")});
  EXPECT_EQ(mode("results/q.nii"), 0600U);

  // A folder that keeps others out further up, and a link from elsewhere into it.
  fs::create_directories(folder_ / "home/study/raw");
  fs::copy_file(folder_ / "data/t2.nii", folder_ / "home/study/raw/t.nii");
  fs::permissions(folder_ / "home/study/raw/t.nii", static_cast<fs::perms>(0644));
  fs::permissions(folder_ / "home", fs::perms::owner_all);
  fs::create_symlink(folder_ / "home/study/raw/t.nii", folder_ / "data/link.nii");
  quietvox_ok({"median", path("home/study/raw/t.nii"), path("results/home.nii")});
  quietvox_ok({"median", path("data/link.nii"), path("results/link.nii")});
  quietvox_ok({"median", path("home/study/raw/t.nii"), path("home/o.nii")});
  EXPECT_EQ(mode("results/home.nii"), 0600U);
  EXPECT_EQ(mode("results/link.nii"), 0600U);
  EXPECT_EQ(mode("home/o.nii"), 0644U);  // others are kept out of both
  umask(before);
}

}  // namespace
}  // namespace quietvox::test
