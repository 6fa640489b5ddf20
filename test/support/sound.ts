/** Makes containers of sound, with headers that tell the truth or lie. What stands in the frames is no sound. */

const u8 = (...bytes: number[]): Buffer => Buffer.from(bytes)
const ascii = (text: string): Buffer => Buffer.from(text, 'latin1')
const be = (value: number, bytes: number): Buffer => {
  const out = Buffer.alloc(bytes)
  for (let i = bytes - 1, left = value; i >= 0; i--, left = Math.floor(left / 256)) out[i] = left % 256
  return out
}
const le = (value: number, bytes: number): Buffer => be(value, bytes).reverse()
const times = (count: number, part: Buffer): Buffer => Buffer.concat(Array.from({ length: count }, () => part))

export interface WavOptions {
  hertz?: number
  tag?: number
  bytesPerS?: number
  claimed?: number
  before?: Buffer
  behind?: Buffer
}

/** Samples of 16 bits. */
export function wav(seconds: number, options: WavOptions = {}): Buffer {
  const { hertz = 16_000, tag = 1, bytesPerS = hertz * 2, claimed = Math.floor(seconds * hertz) * 2 } = options
  const { before = Buffer.alloc(0), behind = Buffer.alloc(0) } = options
  const format = [le(tag, 2), le(1, 2), le(hertz, 4), le(bytesPerS, 4), le(2, 2), le(tag === 1 ? 16 : 0, 2)]
  const head = [ascii('RIFF'), le(0xffffffff, 4), ascii('WAVEfmt '), le(16, 4), ...format, before]
  const data = Buffer.alloc(Math.floor(seconds * hertz) * 2, 7)
  return Buffer.concat([...head, ascii('data'), le(claimed, 4), data, behind])
}

export const chunk = (name: string, body: Buffer): Buffer => Buffer.concat([ascii(name), le(body.length, 4), body])

/** Frames of MPEG 1 layer 3 with 128 kbit/s at 44,100 Hz: 417 bytes and 1,152 samples. */
export const MP3_FRAME_S = 1152 / 44_100
const mp3Frame = Buffer.concat([u8(0xff, 0xfb, 0x90, 0xc0), Buffer.alloc(413)])

export function mp3(frames: number, { table = '', tag = 0 } = {}): Buffer {
  const first = Buffer.from(mp3Frame)
  first.write(table, table === 'VBRI' ? 36 : 21, 'latin1')
  const size = u8((tag >> 21) & 127, (tag >> 14) & 127, (tag >> 7) & 127, tag & 127)
  const id3 = tag === 0 ? Buffer.alloc(0) : Buffer.concat([ascii('ID3'), u8(4, 0, 0), size, Buffer.alloc(tag, 0xff)])
  return Buffer.concat([id3, ...(table === '' ? [] : [first]), times(frames, mp3Frame)])
}

/** Frames of 1,024 samples at 44,100 Hz. */
export const ADTS_FRAME_S = 1024 / 44_100
export const adts = (frames: number): Buffer =>
  times(frames, Buffer.concat([u8(0xff, 0xf1, 0x50, 0x80, 100 >> 3, ((100 & 7) << 5) | 31, 0xfc), Buffer.alloc(93)]))

export const amr = (frames: number): Buffer =>
  Buffer.concat([ascii('#!AMR\n'), times(frames, Buffer.concat([u8(0x3c), Buffer.alloc(31)]))])
export const amrWide = (frames: number): Buffer =>
  Buffer.concat([ascii('#!AMR-WB\n'), times(frames, Buffer.concat([u8(0x44), Buffer.alloc(60)]))])

function crc8(bytes: Buffer): number {
  let crc = 0
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x80 ? ((crc << 1) ^ 0x07) & 0xff : crc << 1
  }
  return crc
}

/** Frames of 4,096 samples at 16,000 Hz. */
export const FLAC_FRAME_S = 4096 / 16_000
export function flac(frames: number, claimedSamples: number): Buffer {
  const info = Buffer.alloc(34)
  be(16_000 << 4, 3).copy(info, 10)
  be(claimedSamples, 5).copy(info, 13)
  const picture = Buffer.concat([u8(0x86), be(1000, 3), Buffer.alloc(1000, 0xff)])
  const all = Array.from({ length: frames }, (_, number) => {
    const head = Buffer.concat([u8(0xff, 0xf8, 0xc5, 0x08), Buffer.from(String.fromCodePoint(number))])
    return Buffer.concat([head, u8(crc8(head)), Buffer.alloc(200, 0xff)])
  })
  return Buffer.concat([ascii('fLaC'), u8(0), be(34, 3), info, picture, ...all])
}

function page(flags: number, position: number, packets: readonly Buffer[], serial = 7): Buffer {
  const sizes = packets.flatMap(({ length }) => [...Array<number>(Math.floor(length / 255)).fill(255), length % 255])
  const at = Buffer.alloc(8)
  at.writeBigInt64LE(BigInt(position))
  const head = [ascii('OggS'), u8(0, flags), at, le(serial, 4), le(0, 4), le(0, 4), u8(sizes.length), u8(...sizes)]
  return Buffer.concat([...head, ...packets])
}

/** Packets of 20 ms, ten in a page. `position` null: what is true. */
export function oggOpus(packets: number, position: number | null = null): Buffer {
  const skipped = 312
  const head = Buffer.concat([ascii('OpusHead'), u8(1, 1), le(skipped, 2), le(48_000, 4), u8(0, 0, 0)])
  const pages = Array.from({ length: packets / 10 }, (_, i) =>
    page(0, position ?? (i + 1) * 9600 + skipped, Array<Buffer>(10).fill(Buffer.concat([u8(0x78), Buffer.alloc(300)]))),
  )
  // the samples that are skipped take a packet of their own
  const more = page(4, position ?? packets * 960 + skipped, [u8(0x78, 1)])
  return Buffer.concat([
    page(2, 0, [head]),
    page(0, 0, [Buffer.concat([ascii('OpusTags'), Buffer.alloc(600)])]),
    ...pages,
    more,
  ])
}

export function oggVorbis(position: number, bytes: number): Buffer {
  const head = Buffer.concat([u8(1), ascii('vorbis'), le(0, 4), u8(1), le(44_100, 4), Buffer.alloc(14)])
  const pages = Array.from({ length: Math.ceil(bytes / 60_000) }, () => page(0, position, [Buffer.alloc(60_000)]))
  return Buffer.concat([page(2, 0, [head]), ...pages])
}

const box = (name: string, ...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts)
  return Buffer.concat([be(body.length + 8, 4), ascii(name), body])
}

export interface Mp4Options {
  seconds: number
  /** What movie, medium and table of times claim; default: the truth. */
  claimedS?: number
  samples?: number
  moovLast?: boolean
  fragments?: boolean
  wide?: boolean
  film?: boolean
  bytes?: number
  /** What a decoder of AAC is told (AudioSpecificConfig), each in a box of its own. */
  given?: readonly Buffer[]
}

const descriptor = (tag: number, ...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts)
  return Buffer.concat([u8(tag, 0x80, 0x80, 0x80, body.length), body])
}

const esds = (given: Buffer): Buffer =>
  box('esds', be(0, 4), descriptor(3, u8(0, 1, 0), descriptor(4, Buffer.alloc(13), descriptor(5, given))))

/** AAC at 48,000 Hz: samples of 1,024. */
export function mp4(options: Mp4Options): Buffer {
  const { seconds, claimedS = seconds, moovLast, fragments, wide, film, bytes = seconds * 8000 } = options
  const units = fragments ? 0 : Math.round(claimedS * 48_000)
  const length = wide
    ? [u8(1, 0, 0, 0), Buffer.alloc(16), be(48_000, 4), be(units, 8), Buffer.alloc(20)]
    : [Buffer.alloc(12), be(48_000, 4), be(units, 4), Buffer.alloc(20)]
  const samples = options.samples ?? Math.round((seconds * 48_000) / 1024)
  const inIndex = fragments ? 0 : samples
  const table = box(
    'stbl',
    box('stsd', be(0, 4), be(1, 4), be(36, 4), ascii('mp4a'), Buffer.alloc(28), ...(options.given ?? []).map(esds)),
    box('stts', be(0, 4), be(fragments ? 0 : 1, 4), ...(fragments ? [] : [be(samples, 4), be(units / samples, 4)])),
    box('stsz', be(0, 4), be(0, 4), be(inIndex, 4), Buffer.alloc(inIndex * 4)),
  )
  const kind = (name: string) => box('hdlr', Buffer.alloc(8), ascii(name), Buffer.alloc(12))
  const sound = box(
    'trak',
    box('tkhd', Buffer.alloc(12), be(1, 4), Buffer.alloc(68)),
    box('mdia', box('mdhd', ...length), kind('soun'), box('minf', table)),
  )
  const pictures = film ? [box('trak', box('mdia', box('mdhd', ...length), kind('vide')))] : []
  const defaults = box('mvex', box('trex', be(0, 4), be(1, 4), be(1, 4), be(1024, 4), Buffer.alloc(8)))
  const moov = box(
    'moov',
    box('mvhd', ...length),
    sound,
    ...pictures,
    ...(fragments ? [defaults] : []),
    box('udta', Buffer.alloc(50_000)),
  )
  const mdat = box('mdat', Buffer.alloc(bytes))
  const start = box('ftyp', ascii('M4A '), Buffer.alloc(12))
  if (!fragments) return Buffer.concat(moovLast ? [start, mdat, moov] : [start, moov, mdat])
  const half = (count: number) =>
    Buffer.concat([
      box('moof', box('traf', box('tfhd', be(0, 4), be(1, 4)), box('trun', be(0, 4), be(count, 4)))),
      box('mdat', Buffer.alloc(bytes / 2)),
    ])
  return Buffer.concat([start, moov, half(Math.floor(samples / 2)), half(Math.ceil(samples / 2))])
}

const element = (id: string, ...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from(id, 'hex'), be(0x10000000 + body.length, 4), body])
}
const UNKNOWN = u8(0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)

/** Opus in blocks of 20 ms, fifty to a cluster. `claimedS` null: recorders in browsers leave it out. */
export function webm(seconds: number, claimedS: number | null, stamped = true): Buffer {
  const claimed = Buffer.alloc(8)
  claimed.writeDoubleBE((claimedS ?? 0) * 1000)
  const info = element(
    '1549a966',
    element('2ad7b1', be(1_000_000, 3)),
    ...(claimedS === null ? [] : [element('4489', claimed)]),
  )
  const track = element('ae', element('d7', u8(1)), element('83', u8(2)), element('86', ascii('A_OPUS')))
  const clusters = Array.from({ length: seconds }, (_, second) => {
    const blocks = Array.from({ length: 50 }, (_, i) =>
      element('a3', u8(0x81), be(stamped ? i * 20 : 0, 2), u8(0x80, 0x78), Buffer.alloc(100)),
    )
    return Buffer.concat([
      Buffer.from('1f43b675', 'hex'),
      UNKNOWN,
      element('e7', be(stamped ? second * 1000 : 0, 4)),
      ...blocks,
    ])
  })
  const start = element('1a45dfa3', element('4282', ascii('webm')))
  return Buffer.concat([start, Buffer.from('18538067', 'hex'), UNKNOWN, info, element('1654ae6b', track), ...clusters])
}
