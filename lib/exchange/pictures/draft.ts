/**
 * A picture that is being written: to a file under a name of its own, which gets the name of a kept picture when it is
 * whole and on the disk. So whoever asks for a kept picture finds all of it or nothing. What was written can be read
 * again, because its answer needs it when the picture cannot be kept after all.
 */
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, rename, unlink } from 'node:fs/promises'
import type { Clock } from '../../base/clock.ts'
import type { ImageLinks } from '../../config/config.ts'
import { fileOf, newName, onDisk, unfinishedFile, type Room } from './folder.ts'

/** There is no room for it. */
export class NoRoom extends Error {
  override name = 'NoRoom'
}

const NEW = constants.O_CREAT | constants.O_EXCL | constants.O_RDWR
const OWN_FILE = 0o600
const OWN_FOLDER = 0o700

export class PictureDraft {
  readonly #settings: ImageLinks
  readonly #room: Room
  readonly #clock: Clock
  readonly #file: string
  #handle: FileHandle | null = null
  #taken = 0
  /** How many bytes are in the file for certain. */
  bytes = 0

  constructor(settings: ImageLinks, room: Room, clock: Clock) {
    this.#settings = settings
    this.#room = room
    this.#clock = clock
    this.#file = unfinishedFile(settings.folder)
  }

  /** Throws NoRoom, or what the file system throws; then nothing of these bytes counts as written. */
  async write(bytes: Buffer): Promise<void> {
    await this.#take(onDisk(this.bytes + bytes.length) - onDisk(this.bytes))
    this.#handle ??= await this.#open()
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await this.#handle.write(bytes, done, bytes.length - done, this.bytes + done)
      done += bytesWritten
    }
    this.bytes += bytes.length
  }

  async #take(bytes: number): Promise<void> {
    const { folder, sizeBytes } = this.#settings
    if (bytes === 0) return
    if (!(await this.#room.take(bytes, folder, sizeBytes))) throw new NoRoom('there is no room for the picture')
    this.#taken += bytes
  }

  async #open(): Promise<FileHandle> {
    try {
      return await open(this.#file, NEW, OWN_FILE)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      await mkdir(this.#settings.folder, { recursive: true, mode: OWN_FOLDER })
      return open(this.#file, NEW, OWN_FILE)
    }
  }

  /** The picture is whole, and not empty. Resolves with its name when every process can serve it. */
  async keep(): Promise<string> {
    const handle = this.#handle as FileHandle
    await handle.datasync()
    const name = newName(this.#clock.now(), this.bytes)
    await rename(this.#file, fileOf(this.#settings.folder, name))
    this.#handle = null
    this.#taken = 0
    await handle.close().catch(() => {}) // all of it is on the disk
    return name
  }

  /** Reads what was written, from a position on; fewer bytes than the buffer has only at the end. */
  async read(buffer: Buffer, position: number): Promise<Buffer> {
    const handle = this.#handle as FileHandle
    const length = Math.min(buffer.length, this.bytes - position)
    for (let done = 0; done < length; ) {
      const { bytesRead } = await handle.read(buffer, done, length - done, position + done)
      if (bytesRead === 0) throw new Error('a picture that was written cannot be read again')
      done += bytesRead
    }
    return buffer.subarray(0, length)
  }

  /** Deletes the file. Never throws: what cannot be deleted now is deleted by a sweep. */
  async discard(): Promise<void> {
    const handle = this.#handle
    this.#handle = null
    this.#room.giveBack(this.#taken)
    this.#taken = 0
    if (handle === null) return
    await handle.close().catch(() => {})
    await unlink(this.#file).catch(() => {})
  }
}
