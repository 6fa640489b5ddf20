/**
 * Pictures that are kept for a while, in a folder that all processes of a gateway share. Where upstreams give pictures as
 * base64 only, clients get links to them. Nothing about them is kept in memory: a process that has just started serves
 * the pictures that another one has written.
 */
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { Clock } from '../../base/clock.ts'
import type { ImageLinks } from '../../config/config.ts'
import { PictureDraft } from './draft.ts'
import { fileOf, readName, Room } from './folder.ts'

/** A kept picture that was found. Whoever gets it closes the file. */
export interface KeptPicture {
  file: FileHandle
  bytes: number
  /** How long it is still kept. */
  leftMs: number
}

const GONE = new Set(['ENOENT', 'ELOOP', 'ENOTDIR'])

export class Pictures {
  readonly #clock: Clock
  readonly #room: Room
  /** null = none are kept. A reload may change them. */
  settings: ImageLinks | null

  constructor(clock: Clock, settings: ImageLinks | null) {
    this.#clock = clock
    this.#room = new Room(clock)
    this.settings = settings
  }

  /** A new one, of which nothing is written yet. */
  draft(settings: ImageLinks): PictureDraft {
    return new PictureDraft(settings, this.#room, this.#clock)
  }

  /** null = there is no picture of that name, or it was kept for long enough. Throws when its file cannot be opened. */
  async find(name: string): Promise<KeptPicture | null> {
    const { settings } = this
    const named = readName(name)
    if (settings === null || named === null) return null
    const leftMs = Math.min(settings.keepMs, named.keptMs + settings.keepMs - this.#clock.now())
    if (leftMs <= 0) return null
    const file = await openFile(fileOf(settings.folder, name))
    if (file === null) return null
    const size = await sizeOf(file)
    if (size === named.bytes) return { file, bytes: size, leftMs }
    await file.close() // somebody has changed it, or the disk has lost a part
    return null
  }
}

async function sizeOf(file: FileHandle): Promise<number> {
  try {
    return (await file.stat()).size
  } catch {
    return -1
  }
}

async function openFile(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  } catch (error) {
    if (GONE.has((error as NodeJS.ErrnoException).code ?? '')) return null
    throw error
  }
}
