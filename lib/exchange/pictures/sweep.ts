/**
 * Deletes kept pictures: those whose time is over, then the oldest until there is room for what comes before the next
 * sweep, and unfinished ones that nobody writes any more. One process of a gateway does it, every few seconds. Several
 * gateways may share a folder: a picture that another one has deleted is no failure.
 */
import { unlink } from 'node:fs/promises'
import type { Clock } from '../../base/clock.ts'
import { Rounds } from '../../base/rounds.ts'
import type { ImageLinks } from '../../config/config.ts'
import type { Logger } from '../../base/log.ts'
import type { Metrics } from '../../terms/metrics.ts'
import { contentsOf, fileOf, type Named, onDisk } from './folder.ts'

const EVERY_MS = 5000
/** A large folder takes longer to sweep, so the next sweep waits until sweeps take at most this share of the time. */
const SWEEP_SHARE = 0.02
/** The share of the size that is filled when a sweep has ended. */
const FILLED_SHARE = 0.9
/** An answer that is under way may pause, but not for so long. */
const UNFINISHED_MS = 3_600_000

interface SweepOptions {
  clock: Clock
  log: Logger
  metrics: Metrics
  /** A function, because a reload may change them; null = no pictures are kept. */
  settings: () => ImageLinks | null
}

export class PictureSweep {
  readonly #o: SweepOptions
  readonly #rounds: Rounds
  #dueMs = Number.NEGATIVE_INFINITY
  /** The latest sweep failed, which the log has said. */
  #failed = false

  constructor(options: SweepOptions) {
    this.#o = options
    this.#rounds = new Rounds(options.clock, EVERY_MS, () => this.run())
  }

  start(): void {
    this.#rounds.start()
  }

  stop(): Promise<void> {
    return this.#rounds.stop()
  }

  /** One sweep, if it is due. Never rejects. */
  async run(): Promise<void> {
    const { clock, log, settings } = this.#o
    const now = settings()
    const beganMs = clock.monotonic()
    if (now === null || beganMs < this.#dueMs) return
    try {
      await this.#sweep(now)
      this.#failed = false
    } catch (error) {
      if (!this.#failed) log.error({ err: error, folder: now.folder }, 'kept pictures cannot be swept')
      this.#failed = true
    }
    const endedMs = clock.monotonic()
    this.#dueMs = endedMs + (endedMs - beganMs) / SWEEP_SHARE
  }

  async #sweep({ folder, keepMs, sizeBytes }: ImageLinks): Promise<void> {
    const { clock, log, metrics } = this.#o
    const nowMs = clock.now()
    const { pictures, unfinished, bytes } = await contentsOf(folder)
    let left = bytes
    // by the clock that the file system has
    for (const { file, bytes, writtenMs } of unfinished)
      if (Date.now() - writtenMs > UNFINISHED_MS && (await deleted(file))) left -= onDisk(bytes)
    const swept = { expired: 0, crowded: 0 }
    pictures.sort(byAge)
    for (const { name, keptMs, bytes } of pictures) {
      const isOver = keptMs + keepMs <= nowMs
      if (!isOver && left <= sizeBytes * FILLED_SHARE) break
      left -= onDisk(bytes)
      if (await deleted(fileOf(folder, name))) swept[isOver ? 'expired' : 'crowded']++
    }
    metrics.pictures.swept({ ...swept, bytes: left })
    if (swept.crowded > 0)
      log.warn({ pictures: swept.crowded }, 'pictures were deleted before their time: images.size is too small')
  }
}

const byAge = (a: Named, b: Named): number => a.keptMs - b.keptMs

/** False: it is there no longer. */
async function deleted(file: string): Promise<boolean> {
  try {
    await unlink(file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}
