/**
 * The names of kept pictures. A name holds when the picture was kept and how many bytes it has, so that nothing else need
 * be written down, and a list of the folder tells what is to be deleted. The rest of it is chance, which nobody guesses:
 * who knows the name may have the picture.
 */
import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { idAt, timeOfId } from '../base/ids.ts'

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
