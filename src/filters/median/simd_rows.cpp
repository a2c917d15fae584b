// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/median/simd_rows.hpp"

#include <hwy/cache_control.h>

#include <algorithm>
#include <array>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filters/median/simd_rows.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace quietvox::selection::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// One vector of voxels, as integers of their size, to keys and back.
template <class T, class K>
struct Coder;

/// A float's bits are a sign and a magnitude; as a two's complement number they keep their order, and -0 becomes 0.
template <>
struct Coder<float, std::int32_t> {
  using D = hn::ScalableTag<std::int32_t>;
  using Keys = D;
  using V = hn::Vec<D>;

  explicit Coder(std::optional<float>) : greatest(hn::Zero(D())) {}
  HWY_INLINE V encode(V bits) {
    const V sign = hn::ShiftRight<31>(bits);
    const V magnitude = hn::And(bits, hn::Set(D(), 0x7FFFFFFF));
    greatest = hn::Max(greatest, magnitude);
    return hn::Sub(hn::Xor(magnitude, sign), sign);
  }
  static HWY_INLINE V decode(V key) {
    const V sign = hn::ShiftRight<31>(key);
    return hn::Or(hn::Sub(hn::Xor(key, sign), sign), hn::ShiftLeft<31>(sign));
  }
  HWY_INLINE RowContent content(const float*, std::int64_t) const {
    const bool all_finite = hn::AllTrue(D(), hn::Lt(greatest, hn::Set(D(), 0x7F800000)));  // infinity; NaNs are greater
    return all_finite ? RowContent::present : RowContent::missing;
  }

  V greatest;
};

/// Floats that are whole numbers of 16 bits.
template <>
struct Coder<float, std::int16_t> {
  using D = hn::ScalableTag<std::int32_t>;
  using Keys = hn::Rebind<std::int16_t, D>;
  using V = hn::Vec<D>;
  using Floats = hn::RebindToFloat<D>;

  explicit Coder(std::optional<float>) : changed(hn::Zero(D())), beyond(changed) {}
  HWY_INLINE hn::Vec<Keys> encode(V bits) {
    const V number = hn::NearestInt(hn::BitCast(Floats(), bits));
    changed = hn::Or(changed, hn::Xor(bits, hn::BitCast(D(), hn::ConvertTo(Floats(), number))));
    beyond = hn::Or(beyond, hn::Xor(number, hn::ShiftRight<31>(number)));
    return hn::DemoteTo(Keys(), number);
  }
  static HWY_INLINE V decode(hn::Vec<Keys> key) {
    return hn::BitCast(D(), hn::ConvertTo(Floats(), hn::PromoteTo(D(), key)));
  }
  RowContent content(const float* voxels, std::int64_t count) const {
    const bool same = hn::AllTrue(D(), hn::Eq(hn::ShiftLeft<1>(changed), hn::Zero(D())));  // but for the sign of -0
    if (same && hn::AllTrue(D(), hn::Lt(beyond, hn::Set(D(), 1 << 15)))) return RowContent::present;
    bool fit = true;
    for (std::int64_t i = 0; i < count; ++i) {  // without branches, for the compiler's vectors
      const float v = voxels[i];
      fit &= std::isnan(v) | ((v >= INT16_MIN) & (v <= INT16_MAX) & (v == std::nearbyint(v)));
    }
    return fit ? RowContent::missing : RowContent::unfit;
  }

  V changed, beyond;  ///< bits that are set where a voxel is no whole number, or is not one of 16 bits
};

template <class T>
struct IntegerCoder {
  using D = hn::ScalableTag<std::int16_t>;
  using Keys = D;
  using V = hn::Vec<D>;
  static constexpr std::int16_t flip = std::is_signed_v<T> ? 0 : INT16_MIN;

  explicit IntegerCoder(std::optional<T> missing)
      : has_missing(missing.has_value()),
        none(hn::Set(D(), static_cast<std::int16_t>(missing.value_or(0)))),
        found(hn::Zero(D())) {}
  HWY_INLINE V encode(V voxels) {
    found = hn::Or(found, hn::VecFromMask(D(), hn::Eq(voxels, none)));
    return hn::Xor(voxels, hn::Set(D(), flip));
  }
  static HWY_INLINE V decode(V key) { return hn::Xor(key, hn::Set(D(), flip)); }
  HWY_INLINE RowContent content(const T*, std::int64_t) const {
    const bool any = has_missing && !hn::AllTrue(D(), hn::Eq(found, hn::Zero(D())));
    return any ? RowContent::missing : RowContent::present;
  }

  bool has_missing;
  V none, found;
};
template <>
struct Coder<std::int16_t, std::int16_t> : IntegerCoder<std::int16_t> {
  using IntegerCoder::IntegerCoder;
};
template <>
struct Coder<std::uint16_t, std::int16_t> : IntegerCoder<std::uint16_t> {
  using IntegerCoder::IntegerCoder;
};

template <class T, class K>
RowContent encode(const T* voxels, std::int64_t vectors, std::int64_t phases, std::ptrdiff_t pitch, K* keys,
                  std::optional<T> missing) {
  using C = Coder<T, K>;
  const typename C::D d;
  const typename C::Keys to;
  C coder(missing);
  const std::int64_t count = vectors * vector_keys<K>;
  for (std::int64_t i = 0; i < count; i += static_cast<std::int64_t>(hn::Lanes(d))) {
    const auto* in = reinterpret_cast<const hn::TFromD<typename C::D>*>(voxels + phases * i);
    auto a = hn::Zero(d), b = a, c = a, e = a;
    if (phases == 1) {
      hn::StoreU(coder.encode(hn::LoadU(d, in)), to, keys + i);
    } else if (phases == 2) {
      hn::LoadInterleaved2(d, in, a, b);
      hn::StoreU(coder.encode(a), to, keys + i);
      hn::StoreU(coder.encode(b), to, keys + pitch + i);
    } else {
      hn::LoadInterleaved4(d, in, a, b, c, e);
      hn::StoreU(coder.encode(a), to, keys + i);
      hn::StoreU(coder.encode(b), to, keys + pitch + i);
      hn::StoreU(coder.encode(c), to, keys + 2 * pitch + i);
      hn::StoreU(coder.encode(e), to, keys + 3 * pitch + i);
    }
  }
  return coder.content(voxels, phases * count);
}

template <class T, class K>
void decode(const K* keys, std::int64_t vectors, std::int64_t phases, std::ptrdiff_t pitch, T* voxels) {
  using C = Coder<T, K>;
  const typename C::D d;
  const auto key = [&](std::int64_t i) HWY_ATTR { return C::decode(hn::LoadU(typename C::Keys(), keys + i)); };
  for (std::int64_t i = 0; i < vectors * vector_keys<K>; i += static_cast<std::int64_t>(hn::Lanes(d))) {
    auto* const out = reinterpret_cast<hn::TFromD<typename C::D>*>(voxels + phases * i);
    if (phases == 1) {
      hn::StoreU(key(i), d, out);
    } else if (phases == 2) {
      hn::StoreInterleaved2(key(i), key(pitch + i), d, out);
    } else {
      hn::StoreInterleaved4(key(i), key(pitch + i), key(2 * pitch + i), key(3 * pitch + i), d, out);
    }
  }
}

template <class T>
void stream(const T* voxels, std::int64_t count, T* to) {
  using Bits = Key<T>;
  const hn::ScalableTag<Bits> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto* in = reinterpret_cast<const Bits*>(voxels);
  auto* out = reinterpret_cast<Bits*>(to);
  // Whole cache lines, however wide the vectors: what is streamed into a line that the caches hold is slow.
  constexpr std::size_t line_bytes = 64;
  constexpr std::int64_t line = line_bytes / sizeof(T);
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(to) % line_bytes;
  const auto ahead = static_cast<std::int64_t>((line_bytes - beyond) % line_bytes / sizeof(T));
  std::int64_t i = std::min(ahead, count);
  std::copy(in, in + i, out);
  for (const std::int64_t end = i + (count - i) / line * line; i < end; i += lanes) {
    hn::Stream(hn::LoadU(d, in + i), d, out + i);
  }
  std::copy(in + i, in + count, out + i);
}

template <class T, int locality>
void prefetch_l2(const T* voxels, std::int64_t count) {
  constexpr std::int64_t line = 64 / sizeof(T);
  for (std::int64_t i = 0; i < count; i += line) __builtin_prefetch(voxels + i, 0, locality);
}

void flush() { hwy::FlushStream(); }

template <class T, class K = Key<T>>
RowCodec<T, K> codec() {
  return {encode<T, K>, decode<T, K>, stream<T>, flush, prefetch_l2<T, 2>, prefetch_l2<T, 3>};
}
RowCodec<float, std::int32_t> codec_f32() { return codec<float>(); }
RowCodec<float, std::int16_t> codec_whole_f32() { return codec<float, std::int16_t>(); }
RowCodec<std::int16_t, std::int16_t> codec_i16() { return codec<std::int16_t>(); }
RowCodec<std::uint16_t, std::int16_t> codec_u16() { return codec<std::uint16_t>(); }

}  // namespace quietvox::selection::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quietvox::selection {

HWY_EXPORT(codec_f32);
HWY_EXPORT(codec_whole_f32);
HWY_EXPORT(codec_i16);
HWY_EXPORT(codec_u16);

// The groups of networks, each a translation unit made from network_group.cpp.in.
#define QV_GROUP(name) std::span<const RowNetwork> network_group_##name();
#include "selection/network_groups.inc"
#undef QV_GROUP

SimdFunctions simd_functions() {
  SimdFunctions result;
  for (const auto group : {
#define QV_GROUP(name) network_group_##name(),
#include "selection/network_groups.inc"
#undef QV_GROUP
       }) {
    if (!group.empty()) result.networks.push_back(group);
  }
  result.f32 = HWY_DYNAMIC_DISPATCH(codec_f32)();
  result.whole_f32 = HWY_DYNAMIC_DISPATCH(codec_whole_f32)();
  result.i16 = HWY_DYNAMIC_DISPATCH(codec_i16)();
  result.u16 = HWY_DYNAMIC_DISPATCH(codec_u16)();
  return result;
}

const RowNetwork* SimdFunctions::find(Triple<int> window, bool single) const {
  std::array<int, 3> sizes{window.x, window.y, window.z};
  std::sort(sizes.begin(), sizes.end());
  for (const auto& group : networks) {
    for (const RowNetwork& network : group) {
      const bool one = network.tile == Triple<int>{1, 1, 1};
      if (one == single && network.window == Triple<int>{sizes[2], sizes[1], sizes[0]}) return &network;
    }
  }
  return nullptr;
}

}  // namespace quietvox::selection
#endif
