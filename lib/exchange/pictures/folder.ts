/**
 * The names of kept pictures. A name holds when the picture was kept and how many bytes it has, so that nothing else need
 * be written down, and a list of the folder tells what is to be deleted. The rest of it is chance, which nobody guesses:
 * who knows the name may have the picture.
 */
import path from 'node:path'
import { randomBytes } from 'node:crypto'
import { idAt, timeOfId } from '../../base/ids.ts'
import { readdir, stat } from 'node:fs/promises'
import type { Clock } from '../../base/clock.ts'

const RANDOM_BYTES = 24
/** Time, bytes, chance. Neither a dot nor a slash, so that a name from a client leads to no other file. */
const NAME = /^([0-9a-z]{10})-([0-9a-z]{1,9})-[A-Za-z0-9_-]{32}$/
const RADIX = 36

/** Only files that end so are ever deleted. */
const KEPT = '.picture'
const UNFINISHED = '.part'

const chance = (): string => randomBytes(RANDOM_BYTES).toString('base64url')

export const newName = (nowMs: number, bytes: number): string => `${idAt(nowMs)}-${bytes.toString(RADIX)}-${chance()}`

export interface Named {
  name: string
  /** When the picture was kept, in ms since 1970. */
  keptMs: number
  bytes: number
}

/** null = no picture has such a name. */
export function readName(name: string): Named | null {
  const match = NAME.exec(name)
  if (match === null) return null
  return { name, keptMs: timeOfId(match[1] as string), bytes: Number.parseInt(match[2] as string, RADIX) }
}

export const fileOf = (folder: string, name: string): string => path.join(folder, name + KEPT)

/** The file of a picture that is being written. */
export const unfinishedFile = (folder: string): string => path.join(folder, chance() + UNFINISHED)

/** A file of the folder: a kept picture, an unfinished one (`true`), or somebody else's (null). */
export function readFile(file: string): Named | true | null {
  if (file.endsWith(KEPT)) return readName(file.slice(0, -KEPT.length))
  return /^[A-Za-z0-9_-]{32}\.part$/.test(file) ? true : null
}

/** A file takes whole blocks of the disk, and so do very many very small ones. */
const BLOCK_BYTES = 4096
export const onDisk = (bytes: number): number => Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES

// --- what stands in the folder

interface Unfinished {
  file: string
  bytes: number
  /** When something was last written to it, in ms since 1970. */
  writtenMs: number
}

interface Contents {
  pictures: Named[]
  unfinished: Unfinished[]
  /** All of them together, as they lie on the disk. */
  bytes: number
}

/** An empty list where there is no such folder. Throws when it cannot be read. */
export async function contentsOf(folder: string): Promise<Contents> {
  const pictures: Named[] = []
  const unfinished: Unfinished[] = []
  let bytes = 0
  for (const file of await filesOf(folder)) {
    const found = readFile(file)
    if (found === null) continue
    const one = found === true ? await unfinishedOf(path.join(folder, file)) : null
    if (one !== null) unfinished.push(one)
    else if (found !== true) pictures.push(found)
    else continue
    bytes += onDisk(one?.bytes ?? (found as Named).bytes)
  }
  return { pictures, unfinished, bytes }
}

async function filesOf(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** null = it is gone meanwhile. */
async function unfinishedOf(file: string): Promise<Unfinished | null> {
  try {
    const { size, mtimeMs } = await stat(file)
    return { file, bytes: size, writtenMs: mtimeMs }
  } catch {
    return null
  }
}

// --- room for more

/** A look at the folder holds for so long. */
const FRESH_MS = 1000
/** A large folder takes longer to look at: at most this share of the time. */
const LOOK_SHARE = 0.02

/**
 * Whether there is room for more bytes. Several processes write to the folder, and none keeps a list: each looks at the folder, now and
 * then, and adds what it has written itself since. It does not count what other processes have written since then, so together they may
 * go above the size by what they write within that time.
 */
export class Room {
  readonly #clock: Clock
  #folder = ''
  /** Bytes that the latest look has found, and bytes that were written since it began. */
  #found = 0
  #added = 0
  /** Monotonic ms: until when the latest look holds. */
  #freshUntilMs = Number.NEGATIVE_INFINITY
  #look: Promise<void> | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Takes room for so many bytes; false = there is none. Throws when the folder cannot be read. */
  async take(bytes: number, folder: string, sizeBytes: number): Promise<boolean> {
    if (folder !== this.#folder || this.#clock.monotonic() >= this.#freshUntilMs) await this.#lookAt(folder)
    if (this.#found + this.#added + bytes > sizeBytes) return false
    this.#added += bytes
    return true
  }

  /** Bytes that were taken and are not there any more. */
  giveBack(bytes: number): void {
    this.#added -= bytes
  }

  #lookAt(folder: string): Promise<void> {
    this.#look ??= this.#find(folder).finally(() => {
      this.#look = null
    })
    return this.#look
  }

  async #find(folder: string): Promise<void> {
    const beganMs = this.#clock.monotonic()
    const addedBefore = this.#added
    const { bytes } = await contentsOf(folder)
    const endedMs = this.#clock.monotonic()
    this.#folder = folder
    this.#found = bytes
    this.#added -= addedBefore
    this.#freshUntilMs = endedMs + Math.max(FRESH_MS, (endedMs - beganMs) / LOOK_SHARE)
  }
}
