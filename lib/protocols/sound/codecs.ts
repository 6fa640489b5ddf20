/**
 * How long the frames of two codecs last at least, which stand in several containers.
 *
 * A frame of AAC has a fixed number of samples, so this follows from the sampling rate. In MP4 the rate is taken from where
 * decoders take it: the `esds` box holds a short description of the stream (ISO 14496-3, AudioSpecificConfig), and a decoder that is
 * given a wrong one plays noise. So nobody gains by a false rate there. A packet of Opus tells by its first byte how many frames of
 * which length it has.
 */

/** Sampling rates of AAC by their index. A frame has 1,024 samples, or 960; of low delay 512, or 480. */
export const AAC_HERTZ = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350,
]
const AAC_SAMPLES = 960
const AAC_LOW_DELAY_SAMPLES = 480
const LOW_DELAY = 23
/** Longer numbers of kinds of AAC begin with this one, and are not looked at. */
const OTHER_KIND = 31
/** In place of an index: the rate itself follows, in 24 bits. */
const RATE_FOLLOWS = 15
const NAME = 'esds'
/** The tags of the descriptors in an `esds` box: of the stream, of its decoder, and of what the decoder is given. */
const STREAM_TAG = 3
const DECODER_TAG = 4
const GIVEN_TAG = 5

/**
 * The least seconds of a frame of AAC, from the beginning of the box `stsd`; 0 = it does not describe AAC. Of several
 * descriptions the one with the longest frames counts, because any of them may be there only to mislead.
 */
export function aacFrameS(body: Buffer): number {
  let longest = 0
  for (let found = body.indexOf(NAME); found >= 0; found = body.indexOf(NAME, found + NAME.length))
    longest = Math.max(longest, describedS(body, found))
  return longest
}

function describedS(body: Buffer, found: number): number {
  let at = found + 8 // behind the name, version and flags
  const enter = (tag: number): boolean => {
    if (body[at++] !== tag) return false
    while ((body[at++] ?? 0) & 0x80); // a length takes up to four bytes, of which the last has no high bit
    return true
  }
  if (!enter(STREAM_TAG)) return 0
  const flags = body[at + 2] ?? 0
  at += 3
  if (flags & 0x80) at += 2
  if (flags & 0x40) at += 1 + (body[at] ?? 0)
  if (flags & 0x20) at += 2
  if (!enter(DECODER_TAG)) return 0
  at += 13
  if (!enter(GIVEN_TAG) || at + 5 > body.length) return 0
  const kind = (body[at] as number) >> 3
  const index = (body.readUInt16BE(at) >> 7) & 15
  const said = Math.floor(body.readUIntBE(at, 5) / 128) % 0x1000000
  const hertz = index === RATE_FOLLOWS ? Math.min(said, 96_000) : (AAC_HERTZ[index] ?? 0)
  if (kind === 0 || kind === OTHER_KIND || hertz === 0) return 0
  return (kind === LOW_DELAY ? AAC_LOW_DELAY_SAMPLES : AAC_SAMPLES) / hertz
}

/** The lengths of frames of Opus in its three modes. */
const SILK_MS = [10, 20, 40, 60]
const HYBRID_MS = [10, 20]
const CELT_MS = [2.5, 5, 10, 20]
const MOST_MS = 120

/** Returns the seconds of a packet of Opus. `second` is its second byte, which only some packets need. */
export function opusSeconds(first: number, second: number): number {
  const config = first >> 3
  const frameMs = config < 12 ? SILK_MS[config & 3] : config < 16 ? HYBRID_MS[config & 1] : CELT_MS[config & 3]
  const code = first & 3
  const frames = code === 0 ? 1 : code === 3 ? second & 63 : 2
  return Math.min(MOST_MS, frames * (frameMs as number)) / 1000
}
