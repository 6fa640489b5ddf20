/**
 * MP4 and M4A: a tree of boxes, whose index (`moov`) may stand before or behind the sound, or in fragments. What the index says
 * of a length is compared with the number of samples, each of which lasts a certain time at least, and with the number of bytes.
 * For AAC the description of the stream tells this time (`codecs.ts`).
 */
import { aacFrameS } from './codecs.ts'
import {
  type ByteCursor,
  FILM_BYTES_PER_S,
  MOST_PARTS,
  PACKED_BYTES_PER_S,
  PLAIN_BYTES_PER_S,
  type SoundFound,
  type Steps,
} from './cursor.ts'

/** Boxes that are looked into. */
const TREE = new Set(['moov', 'trak', 'mdia', 'minf', 'stbl', 'mvex', 'moof', 'traf'])
/** The bytes of each box that are read. */
const READ: Readonly<Record<string, number>> = {
  mvhd: 32,
  mdhd: 32,
  tkhd: 24,
  hdlr: 12,
  stsd: 1024,
  stts: 8,
  stsz: 12,
  stz2: 12,
  trex: 16,
  tfhd: 24,
  trun: 8,
}
/** The least seconds of a sample of compressed sound. */
const LEAST_S: Readonly<Record<string, number>> = {
  mp4a: 1024 / 96_000,
  alac: 4096 / 192_000,
  Opus: 0.0025,
  samr: 0.02,
  sawb: 0.02,
}
const SLICE = 256
const MOST_TRACKS = 64
const UNKNOWN = 0xffffffff

class Track {
  id = 0
  kind = ''
  codec = ''
  /** The least seconds of a frame of AAC; 0 = not known. */
  frameS = 0
  scale = 0
  claimed = 0
  units = 0
  samples = 0
  unitsEach = 0

  get seconds(): number {
    const told = this.scale === 0 ? 0 : Math.max(this.claimed, this.units) / this.scale
    return Math.max(told, this.samples * (this.frameS || (LEAST_S[this.codec] ?? 0)))
  }
}

class Index {
  readonly tracks: Track[] = []
  /** The track to which the next boxes belong. */
  track = new Track()
  /** Units of a sample in the current fragment. */
  unitsEach = 0
  movieS = 0
  bytes = 0

  /** True when anything tells a length. An index that has nothing of the kind is not understood. */
  get tells(): boolean {
    return this.tracks.some(track => this.movieS + track.claimed + track.units + track.samples * track.frameS > 0)
  }

  get seconds(): number {
    const sounds = this.tracks.filter(track => track.kind === 'soun')
    const told = Math.max(0, ...sounds.map(track => track.seconds))
    const isPacked = sounds.length > 0 && sounds.every(track => track.codec in LEAST_S)
    const isFilm = this.tracks.some(track => track.kind === 'vide')
    const most = isFilm ? FILM_BYTES_PER_S : isPacked ? PACKED_BYTES_PER_S : PLAIN_BYTES_PER_S
    return Math.max(told || this.movieS, this.bytes / most)
  }
}

export function* mp4(cursor: ByteCursor, found: SoundFound): Steps {
  const index = new Index()
  found.known = false
  const count = (bytes: number) => {
    found.bytes = index.bytes += bytes
    found.seconds = index.seconds
    found.known = index.tells
  }
  for (let boxes = 0; boxes < MOST_PARTS; boxes++) {
    const head = yield* cursor.take(8)
    const name = head.toString('latin1', 4, 8)
    const small = head.readUInt32BE(0)
    let size = small === 0 ? Number.POSITIVE_INFINITY : small - 8
    if (small === 1) size = Number((yield* cursor.take(8)).readBigUInt64BE(0)) - 16
    if (size < 0) break
    if (name === 'trak') {
      index.track = new Track()
      if (index.tracks.push(index.track) > MOST_TRACKS) break
    }
    if (TREE.has(name)) continue
    if (name === 'mdat') yield* cursor.pass(size, count)
    else {
      const bytes = READ[name] ?? 0
      if (size < bytes && bytes > 0 && name !== 'tfhd' && size < 8) break
      const body = Buffer.alloc(bytes)
      const there = Math.min(size, bytes)
      if (bytes > 0) (yield* cursor.take(there)).copy(body)
      const left = size - there
      cursor.skip(left - (yield* readBox(cursor, name, body, left, index)))
    }
    found.seconds = index.seconds
    found.known = index.tells
  }
  found.known = false
}

/** Reads one box. Returns how many bytes behind `body` it has taken. */
function* readBox(cursor: ByteCursor, name: string, body: Buffer, left: number, index: Index): Steps<number> {
  const { track } = index
  const wide = body[0] === 1
  if (name === 'mvhd') index.movieS = lengthOf(body) / (scaleOf(body) || 1)
  else if (name === 'mdhd') {
    track.scale = scaleOf(body)
    track.claimed = lengthOf(body)
  } else if (name === 'tkhd') track.id = body.readUInt32BE(wide ? 20 : 12)
  else if (name === 'hdlr') track.kind = body.toString('latin1', 8, 12)
  else if (name === 'stsd') readCodec(track, body)
  else if (name === 'stsz' || name === 'stz2') track.samples += body.readUInt32BE(8)
  else if (name === 'trex') trackOf(index, body.readUInt32BE(4)).unitsEach = body.readUInt32BE(12)
  else if (name === 'tfhd') readFragment(index, body)
  else if (name === 'stts') return yield* addRows(cursor, Math.min(body.readUInt32BE(4), left / 8), 8, addRow(track))
  else if (name === 'trun') return yield* addRun(cursor, body, left, index)
  return 0
}

function readCodec(track: Track, body: Buffer): void {
  track.codec = body.toString('latin1', 12, 16)
  if (track.codec === 'mp4a') track.frameS = aacFrameS(body)
}

const scaleOf = (body: Buffer): number => body.readUInt32BE(body[0] === 1 ? 20 : 12)

function lengthOf(body: Buffer): number {
  if (body[0] === 1) return body.readUInt32BE(24) === UNKNOWN ? 0 : Number(body.readBigUInt64BE(24))
  const length = body.readUInt32BE(16)
  return length === UNKNOWN ? 0 : length
}

const trackOf = (index: Index, id: number): Track => index.tracks.find(track => track.id === id) ?? new Track()

function readFragment(index: Index, body: Buffer): void {
  const flags = body.readUIntBE(1, 3)
  index.track = trackOf(index, body.readUInt32BE(4))
  const at = 8 + (flags & 1 ? 8 : 0) + (flags & 2 ? 4 : 0)
  index.unitsEach = flags & 8 ? body.readUInt32BE(at) : index.track.unitsEach
}

const addRow = (track: Track) => (row: Buffer, at: number) => {
  track.units += row.readUInt32BE(at) * row.readUInt32BE(at + 4)
}

/** A run of samples in a fragment, which may name the length of each. */
function* addRun(cursor: ByteCursor, body: Buffer, left: number, { track, unitsEach }: Index): Steps<number> {
  const flags = body.readUIntBE(1, 3)
  const samples = body.readUInt32BE(4)
  track.samples += samples
  if ((flags & 0x100) === 0) {
    track.units += samples * unitsEach
    return 0
  }
  const before = (flags & 1 ? 4 : 0) + (flags & 4 ? 4 : 0)
  const rowBytes = [0x100, 0x200, 0x400, 0x800].filter(flag => (flags & flag) !== 0).length * 4
  if (left < before) return 0
  cursor.skip(before)
  const rows = Math.min(samples, (left - before) / rowBytes)
  return before + (yield* addRows(cursor, rows, rowBytes, (row, at) => void (track.units += row.readUInt32BE(at))))
}

/** Reads so many rows of a table, some at a time. Returns how many bytes they took. */
function* addRows(
  cursor: ByteCursor,
  count: number,
  rowBytes: number,
  add: (rows: Buffer, at: number) => void,
): Steps<number> {
  const whole = Math.floor(count)
  for (let left = whole; left > 0; left -= SLICE) {
    const here = Math.min(left, SLICE)
    const rows = yield* cursor.take(here * rowBytes)
    for (let i = 0; i < here; i++) add(rows, i * rowBytes)
  }
  return whole * rowBytes
}
