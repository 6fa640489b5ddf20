/**
 * WebM and Matroska: a tree of elements. Recorders in browsers leave the length out, so it is what the header says, or the time
 * of the last block, whichever is more. The blocks of sound are counted beside, each of which lasts a certain time at least.
 */

import { opusSeconds } from './codecs.ts'
import {
  type ByteCursor,
  FILM_BYTES_PER_S,
  MOST_PARTS,
  PACKED_BYTES_PER_S,
  PLAIN_BYTES_PER_S,
  type SoundFound,
  type Steps,
} from './cursor.ts'

const SEGMENT = 0x18538067
const INFO = 0x1549a966
const TRACKS = 0x1654ae6b
const TRACK = 0xae
const CLUSTER = 0x1f43b675
const BLOCK_GROUP = 0xa0
/** Elements that are looked into. */
const TREE = new Set([SEGMENT, INFO, TRACKS, TRACK, CLUSTER, BLOCK_GROUP])
const SCALE = 0x2ad7b1
const DURATION = 0x4489
const NUMBER = 0xd7
const KIND = 0x83
const CODEC = 0x86
const TIME = 0xe7
const SIMPLE_BLOCK = 0xa3
const BLOCK = 0xa1
const READ = new Set([SCALE, DURATION, NUMBER, KIND, CODEC, TIME, SIMPLE_BLOCK, BLOCK])

const HEAD_BYTES = 12
const READ_BYTES = 16
const MOST_TRACKS = 64
const FILM = 1
const SOUND = 2
const LACED = 0x06
const PACKED = /^A_(?:OPUS|VORBIS|AAC|MPEG)/

interface Track {
  number: number
  kind: number
  codec: string
  blockS: number
}

class Movie {
  readonly tracks: Track[] = []
  /** Nanoseconds of a unit of time. */
  scale = 1_000_000
  claimed = 0
  clusterTime = 0
  lastS = 0
  bytes = 0

  get seconds(): number {
    const sounds = this.tracks.filter(({ kind }) => kind === SOUND)
    const isFilm = this.tracks.some(({ kind }) => kind === FILM)
    const isPacked = sounds.length > 0 && sounds.every(({ codec }) => PACKED.test(codec))
    const most = isFilm ? FILM_BYTES_PER_S : isPacked ? PACKED_BYTES_PER_S : PLAIN_BYTES_PER_S
    const claimedS = (this.claimed * this.scale) / 1e9
    return Math.max(claimedS, this.lastS, this.bytes / most, ...sounds.map(({ blockS }) => blockS))
  }

  read(id: number, body: Buffer): void {
    const track = this.tracks.at(-1)
    if (id === SCALE) this.scale = wholeOf(body)
    else if (id === DURATION) this.claimed = realOf(body)
    else if (id === TIME) this.clusterTime = wholeOf(body)
    else if (id === SIMPLE_BLOCK || id === BLOCK) this.#block(body)
    else if (track === undefined) return
    else if (id === NUMBER) track.number = wholeOf(body)
    else if (id === KIND) track.kind = wholeOf(body)
    else if (id === CODEC) track.codec = body.toString('latin1')
  }

  #block(body: Buffer): void {
    const at = lengthOfNumber(body[0] ?? 0)
    if (at === 0 || body.length < at + 5) return
    const number = numberAt(body, 0, at)
    const track = this.tracks.find(one => one.number === number)
    if (track === undefined || track.kind !== SOUND) return
    const laced = ((body[at + 2] as number) & LACED) !== 0
    const frames = laced ? (body[at + 3] as number) + 1 : 1
    const seconds = frames * (laced ? leastOf(track.codec) : secondsOf(track.codec, body.subarray(at + 3)))
    track.blockS += seconds
    const time = this.clusterTime + body.readInt16BE(at)
    this.lastS = Math.max(this.lastS, (time * this.scale) / 1e9 + seconds)
  }
}

const secondsOf = (codec: string, frame: Buffer): number =>
  codec === 'A_OPUS' ? opusSeconds(frame[0] as number, frame[1] ?? 0) : leastOf(codec)

/** The least seconds of a frame. */
function leastOf(codec: string): number {
  if (codec === 'A_OPUS') return 0.0025
  if (codec.startsWith('A_AAC')) return 1024 / 96_000
  return codec.startsWith('A_MPEG') ? 576 / 48_000 : 0
}

export function* webm(cursor: ByteCursor, found: SoundFound): Steps {
  const movie = new Movie()
  for (let elements = 0; elements < MOST_PARTS; elements++) {
    const head = yield* cursor.peek(HEAD_BYTES)
    const idBytes = lengthOfNumber(head[0] as number)
    const sizeBytes = lengthOfNumber(head[idBytes] as number)
    if (idBytes === 0 || idBytes > 4 || sizeBytes === 0) break
    const id = head.readUIntBE(0, idBytes)
    const size = numberAt(head, idBytes, sizeBytes)
    cursor.skip(idBytes + sizeBytes)
    if (id === TRACK && movie.tracks.push({ number: 0, kind: 0, codec: '', blockS: 0 }) > MOST_TRACKS) break
    if (TREE.has(id)) continue
    if (size === Number.POSITIVE_INFINITY) break
    if (READ.has(id)) {
      const body = yield* cursor.take(Math.min(size, READ_BYTES))
      movie.read(id, body)
      const count = (bytes: number) => {
        if (id === SIMPLE_BLOCK || id === BLOCK) found.bytes = movie.bytes += bytes
      }
      count(body.length)
      yield* cursor.pass(size - body.length, count)
    } else cursor.skip(size)
    found.seconds = movie.seconds
  }
  found.known = false
}

/** Returns the bytes of a number that begins with this byte; 0 = it is none. */
const lengthOfNumber = (first: number): number => (first === 0 ? 0 : Math.clz32(first) - 23)

/** A number whose first byte tells its length. All bits set: the size is not known. */
function numberAt(bytes: Buffer, at: number, length: number): number {
  const first = (bytes[at] as number) & ((1 << (8 - length)) - 1)
  let value = first
  for (let i = 1; i < length; i++) value = value * 256 + (bytes[at + i] as number)
  return value >= 2 ** (7 * length) - 1 ? Number.POSITIVE_INFINITY : value
}

function wholeOf(body: Buffer): number {
  let value = 0
  for (const byte of body.subarray(0, 8)) value = value * 256 + byte
  return value
}

const realOf = (body: Buffer): number =>
  body.length === 4 ? body.readFloatBE(0) : body.length === 8 ? body.readDoubleBE(0) : 0
