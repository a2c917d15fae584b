// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/image.hpp"

#include "io/files/gzip_writer.hpp"
#include "io/output/atomic_output.hpp"

namespace quietvox::io {

HeaderFacts facts_given(const ReadOptions& options) {
  if (!options.kind) return {};
  return {.kind = options.kind, .kind_source = "the kind given is " + FieldType<DataKind>::format(*options.kind)};
}

std::string to_string(Format format) {
  switch (format) {
    case Format::dicom: return "DICOM";
    case Format::nifti: return "NIfTI";
    case Format::nrrd: return "NRRD";
    case Format::metaimage: return "MetaImage";
  }
  return "";
}

std::size_t ImageWriter::packing_bytes(const Execution& execution) const { return GzipWriter::memory(execution); }

WriteReport ImageWriter::commit() {
  std::vector<AtomicOutput*> outputs;
  WriteReport report = finish(outputs);
  commit_together(outputs);
  return report;
}

std::unique_ptr<VolumeSource> Image::volume(std::size_t volume, VoxelDomain domain) const {
  if (const std::size_t count = volume_count(); volume >= count) {
    throw Error(Errc::invalid_argument, "volume " + std::to_string(volume) + ": the image has " +
                                            std::to_string(count) + ", which begin with number 0");
  }
  return source_of(volume, domain);
}

Access access_of(const Image& image, const std::filesystem::path& output) {
  std::vector<std::filesystem::path> paths;
  for (const FileStamp& file : image.files()) paths.push_back(file.path);
  return access_of(paths, output);
}

std::unique_ptr<Image> open_image(const std::filesystem::path& path, const ReadOptions& options) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::none) {
    throw Error(Errc::input_path, path.string() + ": cannot be examined: " + error.message());
  }
  if (!exists(status)) throw Error(Errc::input_path, path.string() + ": no such file or folder");
  if (!is_regular_file(status) && !is_directory(status)) {
    throw Error(Errc::input_path,
                path.string() + ": is neither a file nor a folder");  // reading a pipe could wait forever
  }
  if (auto image = open_nifti(path, options)) return image;
  return open_dicom(path, options);
}

}  // namespace quietvox::io
