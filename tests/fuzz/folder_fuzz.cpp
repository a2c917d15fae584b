// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// A whole run on a folder with damaged files, and with names, links and pipes that could be taken for something of the
// program's own: what is outside the output must stay as it was.
#include <fuzzer/FuzzedDataProvider.h>
#include <sys/stat.h>

#include <array>
#include <sstream>

#include "io/create.hpp"
#include "io/output/atomic_output.hpp"
#include "reader_fuzzing.hpp"

namespace {

namespace fs = std::filesystem;
using quietvox::Error;

void require(bool condition) {
  if (!condition) std::abort();
}

std::string content_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void write_file(const fs::path& path, const std::string& content) { std::ofstream(path, std::ios::binary) << content; }

/// A small series, made once.
const std::vector<std::string>& slices() {
  static const std::vector<std::string> files = [] {
    const fs::path folder = "/dev/shm/quietvox-fuzz-" + std::to_string(getpid()) + "-series";
    const std::vector<float> voxels(8 * 8 * 3, 100);
    const auto writer = quietvox::io::create_dicom(folder, {.extent = {{8, 8, 3}}}, "CT", {});
    writer->begin_volume(0, {});
    writer->write({voxels.data(), {{8, 8, 3}}, {1, 1, 1}});
    writer->commit();
    std::vector<std::string> found;
    for (const char* name : {"slice_0001.dcm", "slice_0002.dcm", "slice_0003.dcm"}) {
      found.push_back(content_of(folder / name));
    }
    fs::remove_all(folder);
    return found;
  }();
  return files;
}

class Folder {
 public:
  Folder() : path_("/dev/shm/quietvox-fuzz-" + std::to_string(getpid()) + "-folder") {
    fs::remove_all(path_);
    for (const char* name : {"precious/letters", "data", "out"}) fs::create_directories(path_ / name);
    write_file(letter(), "dear");
    for (std::size_t i = 0; i < slices().size(); ++i) write_file(data() / std::to_string(i), slices()[i]);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  fs::path data() const { return path_ / "data"; }
  fs::path out() const { return path_ / "out"; }
  fs::path letter() const { return path_ / "precious/letters/letter.txt"; }
  void expect_precious() const {
    require(content_of(letter()) == "dear");
    require(std::distance(fs::recursive_directory_iterator(path_ / "precious"), {}) == 2);
    require(std::distance(fs::directory_iterator(path_), {}) == 3);
  }

  /// Puts something somewhere; what cannot be is left out.
  void plant(FuzzedDataProvider& bytes) const {
    static constexpr std::array names{".quietvox-0123456789abcdef.part",
                                      ".quietvox-fedcba9876543210.part",
                                      ".quietvox-0123456789abcdef.part/0123456789abcdef.lock",
                                      ".quietvox-fedcba9876543210.part/fedcba9876543210.lock",
                                      ".quietvox-0123456789abcdef.part/result",
                                      ".quietvox-0123456789abcdef.part/result/0",
                                      "x.part-quietvox-1-0.record",
                                      "outputs.part-quietvox-0-0.lock",
                                      "result",
                                      "result/0",
                                      "result.json",
                                      "0",
                                      "1"};
    const fs::path place = bytes.ConsumeBool() ? data() : out();
    const fs::path path = place / bytes.PickValueInArray(names);
    std::error_code ignored;
    // Planting goes through no link itself.
    if (!fs::is_directory(fs::symlink_status(path.parent_path(), ignored))) return;
    if (fs::exists(fs::symlink_status(path, ignored)) && !fs::is_directory(fs::symlink_status(path, ignored))) return;
    switch (bytes.ConsumeIntegralInRange(0, 7)) {
      case 0: fs::create_directory(path, ignored); break;
      case 1: write_file(path, bytes.ConsumeRandomLengthString(64)); break;
      case 2: fs::create_symlink(letter(), path, ignored); break;
      case 3: fs::create_directory_symlink("../precious", path, ignored); break;
      case 4: fs::create_hard_link(letter(), path, ignored); break;
      case 5: mkfifo(path.c_str(), 0600); break;
      case 6: fs::permissions(path, fs::perms::owner_all, ignored); break;
      case 7: write_file(path, slices()[0]); break;
    }
  }

  /// Damages one of the files.
  void damage(FuzzedDataProvider& bytes) const {
    const std::size_t index = bytes.ConsumeIntegralInRange<std::size_t>(0, 2);
    std::string content = slices()[index];
    for (int i = bytes.ConsumeIntegralInRange(0, 4); i > 0; --i) {
      const auto at = bytes.ConsumeIntegralInRange<std::size_t>(0, content.size() - 1);
      content[at] = static_cast<char>(bytes.ConsumeIntegral<std::uint8_t>());
    }
    const fs::path path = data() / std::to_string(index);
    std::error_code ignored;
    if (fs::is_regular_file(path, ignored) && fs::hard_link_count(path) == 1 && !fs::is_symlink(path)) {
      write_file(path, content);
    }
  }

 private:
  fs::path path_;
};

template <class Body>
void try_to(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    require(error.code() != quietvox::Errc::internal);
  }
}

/// Filters by a filter that changes nothing.
void copy(const fs::path& input, const fs::path& output, bool force) {
  const auto image = quietvox::io::open_image(input, {});
  if (!image) return;
  const auto writer = image->writer(output, quietvox::io::VoxelDomain::real, {.force = force});
  for (std::size_t volume = 0; volume < image->volume_count(); ++volume) {
    const auto source = image->volume(volume, quietvox::io::VoxelDomain::real);
    const quietvox::Extent extent = source->extent();
    if (extent.voxels() > 1 << 16) return;
    std::vector<float> voxels(static_cast<std::size_t>(extent.voxels()));
    const quietvox::VolumeView<float> view{voxels.data(), extent, source->spacing()};
    source->read(view);
    writer->begin_volume(volume, {});
    writer->write(view);
  }
  writer->commit();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider bytes(data, size);
  const Folder folder;
  for (int i = bytes.ConsumeIntegralInRange(0, 8); i > 0; --i) folder.plant(bytes);
  folder.damage(bytes);
  const bool force = bytes.ConsumeBool();
  try_to([&] { copy(folder.data(), folder.out() / "result", force); });
  folder.expect_precious();
  using quietvox::io::AtomicOutput;
  try_to([&] {
    AtomicOutput first(folder.out() / "a", AtomicOutput::Kind::file, force, {});
    AtomicOutput second(folder.out() / "result", AtomicOutput::Kind::file, force, {});
    for (AtomicOutput* const output : {&first, &second}) {
      output->begin();
      write_file(output->staging(), "new");
    }
    commit_together(std::array{&first, &second});
    require(content_of(folder.out() / "a") == "new" && content_of(folder.out() / "result") == "new");
  });
  folder.expect_precious();
  return 0;
}
