// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/nifti/file.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/input_limits.hpp"
#include "core/lower_case.hpp"
#include "io/files/paths.hpp"

namespace quietvox::io {
namespace fs = std::filesystem;
namespace {

/// `a.nii.gz` -> `a`, `.nii`, `.gz`; the endings in lower case.
struct SplitName {
  fs::path stem;
  std::string kind, gz;
};
SplitName split(const fs::path& path) {
  SplitName name{path, {}, {}};
  if (in_lower_case(name.stem.extension().string()) == ".gz") {
    name.gz = ".gz";
    name.stem.replace_extension();
  }
  name.kind = in_lower_case(name.stem.extension().string());
  name.stem.replace_extension();
  return name;
}

std::string upper_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

/// The other file of a pair, which may be compressed while this one is not; empty where there is none. Of two whose
/// names differ by case, the one that is in capitals as this one is.
fs::path partner(const fs::path& path, const std::string& kind) {
  const SplitName name = split(path);
  const std::string own = path.string().substr(name.stem.string().size(), kind.size());
  const bool in_capitals = own == upper_case(own);
  for (const bool capitals : {in_capitals, !in_capitals}) {
    for (const std::string ending : {"", ".gz"}) {
      fs::path candidate = name.stem;
      candidate += capitals ? upper_case(kind + ending) : kind + ending;
      if (is_file(candidate)) return candidate;
    }
  }
  return {};
}

std::optional<NiftiHeader> read_header(const fs::path& path) {
  ByteReader reader(path);
  std::array<std::byte, NiftiHeader::largest_size> start;
  std::size_t size = 0;
  try {
    size = reader.read(0, start);
  } catch (const Error& error) {
    // Something compressed that cannot be unpacked: ours to report only if it calls itself NIfTI.
    if (split(path).kind != ".nii") return std::nullopt;
    throw;
  }
  return NiftiHeader::parse(std::span(start).first(size), path.string());
}

void check_size(const NiftiFile& file) {
  const ByteReader reader = file.voxel_reader();
  const auto offset = static_cast<std::uint64_t>(file.header.voxel_offset());
  if (offset > most_besides_voxels) {
    throw Error(Errc::unsupported, file.paths.voxels.string() + ": the voxels begin at byte " + std::to_string(offset),
                "at most " + std::to_string(most_besides_voxels) + " bytes may stand before them");
  }
  with_error_context(file.paths.voxels.string(), [&] {
    check_file_size(reader.file_size(), static_cast<std::uint64_t>(file.header.voxel_bytes()));
  });
  if (!file.paths.single_file()) {
    with_error_context(file.paths.header.string(), [&] { check_file_size(file.states.front().bytes, 0); });
  }
  const std::uint64_t needed = offset + static_cast<std::uint64_t>(file.header.voxel_bytes());
  if (reader.can_hold(needed)) return;
  throw Error(Errc::corrupt, file.paths.voxels.string() + ": the header promises " + std::to_string(needed) +
                                 " bytes; " + (reader.compressed() ? "no gzip file of " : "the file has only ") +
                                 std::to_string(reader.file_size()) +
                                 (reader.compressed() ? " bytes can hold them" : ""));
}

}  // namespace

std::vector<fs::path> NiftiPaths::all() const {
  if (single_file()) return {header};
  return {header, voxels};
}

NiftiTarget nifti_target(const fs::path& output, std::optional<bool> compress) {
  const SplitName name = split(output);
  const bool compressed = !name.gz.empty();
  if (name.kind != ".nii" && name.kind != ".hdr" && name.kind != ".img") {
    throw Error(Errc::output_path, output.string() + ": is no name of a NIfTI file",
                "give one that ends in .nii, .nii.gz, .hdr or .img");
  }
  if (compress && *compress != compressed) {
    throw Error(Errc::invalid_argument,
                output.string() + ": the ending says that the file is " + (compressed ? "" : "not ") + "compressed, " +
                    Parameter{*compress ? "compress" : "no-compress"} + " that it is" + (*compress ? "" : " not"),
                "give another ending");
  }
  if (name.kind == ".nii") return {{output, output}, compressed};
  fs::path header = name.stem, voxels = name.stem;
  header += ".hdr" + name.gz;
  voxels += ".img" + name.gz;
  return {{header, voxels}, compressed};
}

ByteReader NiftiFile::voxel_reader(const std::stop_token& stop) const {
  // Bare voxels may look like the start of gzip data: there the name decides.
  if (paths.single_file()) return ByteReader(paths.voxels, {}, 0, stop);
  return ByteReader(paths.voxels, split(paths.voxels).gz == ".gz", 0, stop, parent_of(paths.header));
}

std::string NiftiFile::warning_of_slices(std::uint64_t bytes_behind) const {
  constexpr std::uint64_t padding = 16;  // bytes, and their multiples, that stand behind data
  const auto slice = static_cast<std::uint64_t>(header.extent().slice() * bytes_per_voxel(header.type()));
  if (bytes_behind == 0 || bytes_behind % slice != 0 || slice <= padding) return "";
  const std::uint64_t count = bytes_behind / slice;
  return paths.voxels.string() + ": behind the voxels lie as many bytes as " +
         (count == 1 ? "a slice has" : std::to_string(count) + " slices have") +
         ", which are not filtered; the header (dim) may say too few";
}

std::optional<NiftiFile> find_nifti(const fs::path& path) {
  if (!is_file(path)) return std::nullopt;
  fs::path header_path = path;
  if (split(path).kind == ".img") {
    if (const fs::path header = partner(path, ".hdr"); !header.empty()) header_path = header;
  }
  const FileStamp header_state(header_path);
  auto header = read_header(header_path);
  if (!header) {
    if (split(path).kind != ".nii") return std::nullopt;
    throw Error(Errc::corrupt, path.string() + ": is named like a NIfTI file, but does not begin with a NIfTI header");
  }
  NiftiFile file{{header_path, header_path}, *std::move(header), {header_state}};
  if (!file.header.single_file()) {
    file.paths.voxels = partner(header_path, ".img");
    if (file.paths.voxels.empty()) {
      throw Error(Errc::corrupt, header_path.string() + ": its voxels belong in " +
                                     split(header_path).stem.filename().string() + ".img, which is not there");
    }
    file.states.emplace_back(file.paths.voxels);
  }
  file.compressed = file.voxel_reader().compressed();
  check_size(file);
  return file;
}

NiftiVoxelReader::NiftiVoxelReader(const NiftiFile& file, const Execution& execution)
    : file_(file), reader_(file.voxel_reader(execution.stop)), execution_(execution.silent()) {
  const std::int64_t bytes = file.header.voxel_bytes();
  prepare_for_volumes(reader_, static_cast<std::uint64_t>(file.header.voxel_offset() + bytes),
                      static_cast<std::uint64_t>(bytes / file.header.volumes()), execution);
}

void NiftiVoxelReader::read(std::int64_t first, VoxelDomain domain, std::span<float> values) {
  const VoxelFormat format = file_.voxel_format(domain);
  const auto size = static_cast<std::size_t>(bytes_per_voxel(format.type));
  if (!reader_.compressed()) {
    const std::int64_t pieces = (std::ssize(values) + nifti_piece - 1) / nifti_piece;
    const auto no_bytes = [] { return std::vector<std::byte>(); };
    return parallel_for_with_scratch(
        execution_, pieces, no_bytes, [&](std::vector<std::byte>& stored, std::int64_t piece) {
          const auto begin = static_cast<std::size_t>(piece * nifti_piece);
          const auto some = values.subspan(begin, std::min<std::size_t>(nifti_piece, values.size() - begin));
          stored.resize(some.size() * size);
          read(first + piece * nifti_piece, format, stored, some);
        });
  }
  // Unpacked in order, and decoded by as many threads as unpack.
  const auto together = static_cast<std::size_t>(nifti_piece * reader_.threads());
  std::vector<std::byte> stored;
  for (std::size_t done = 0; done < values.size(); done += together) {
    const auto some = values.subspan(done, std::min(together, values.size() - done));
    stored.resize(some.size() * size);
    read_stored(first + static_cast<std::int64_t>(done), format, stored);
    parallel_for(execution_, std::ssize(some), nifti_piece, [&](std::int64_t begin, std::int64_t end) {
      const auto from = static_cast<std::size_t>(begin), count = static_cast<std::size_t>(end - begin);
      decode_stored(std::span(stored).subspan(from * size, count * size), format, some.subspan(from, count));
    });
  }
}

std::optional<Range<double>> NiftiVoxelReader::range(std::int64_t first, std::int64_t count) {
  const VoxelFormat format = file_.voxel_format(VoxelDomain::real);
  const std::int64_t size = bytes_per_voxel(format.type);
  std::vector<std::byte> stored(static_cast<std::size_t>(std::min(count, nifti_piece) * size));
  std::optional<Range<double>> range;
  for (std::int64_t done = 0; done < count; done += nifti_piece) {
    check_stop(execution_.stop);
    const auto piece = std::span(stored).first(static_cast<std::size_t>(std::min(count - done, nifti_piece) * size));
    reader_.read_all(static_cast<std::uint64_t>(file_.header.voxel_offset() + (first + done) * size), piece,
                     "its voxels");
    widen(range, piece, format);
  }
  return range;
}

void NiftiVoxelReader::read(std::int64_t first, const VoxelFormat& format, std::span<std::byte> stored,
                            std::span<float> values) {
  read_stored(first, format, stored);
  decode_stored(stored, format, values);
}

void NiftiVoxelReader::read_stored(std::int64_t first, const VoxelFormat& format, std::span<std::byte> stored) {
  check_stop(execution_.stop);
  const auto offset = static_cast<std::uint64_t>(file_.header.voxel_offset() + first * bytes_per_voxel(format.type));
  reader_.read_all(offset, stored, "its voxels");
  const std::uint64_t end = offset + stored.size();
  if (end == static_cast<std::uint64_t>(file_.header.voxel_offset() + file_.header.voxel_bytes())) {
    std::byte beyond;
    reader_.read(end, std::span(&beyond, 1));
  }
}

void NiftiVoxelReader::decode_stored(std::span<const std::byte> stored, const VoxelFormat& format,
                                     std::span<float> values) const {
  with_error_context(file_.paths.voxels.string(), [&] { decode(stored, format, values); });
}

}  // namespace quietvox::io
