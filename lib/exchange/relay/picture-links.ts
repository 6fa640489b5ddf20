/**
 * Puts links in the place of the pictures of an answer. A picture is written down while its text passes (`picture-keeper.ts`),
 * and the client is told of it when it is kept; what comes behind it waits here. A picture that cannot be kept stays in the
 * answer. So an answer takes a bounded amount of memory, and none fails because the disk does.
 */
import { EncodedPictures, type PicturePart, type PictureMembers } from '../../protocols/pictures/encoded.ts'
import type { ProtocolRow } from '../../protocols/protocol.ts'
import type { ImageLinks } from '../../config/config.ts'
import type { Exchange } from '../record/exchange.ts'
import { fail } from '../record/ending.ts'
import type { Services } from '../record/services.ts'
import { PictureKeeper } from './picture-keeper.ts'
import type { Told } from './picture-link.ts'

/** When more bytes than these wait, the upstream is held up. */
const MOST_WAITING = 256 * 1024

export interface LinkEvents {
  /** Bytes for the client. False: it is slow, and `onDrained` says when it is not. */
  onLinked(bytes: Buffer): boolean
  /** `push` has returned false, and can take more now. */
  onCaughtUp(): void
}

/** null = no picture of this answer is to become a link. */
export function linksFor(x: Exchange, services: Services, row: ProtocolRow, events: LinkEvents): PictureLinks | null {
  const { settings } = services.pictures
  if (row.encodedPictures === undefined || settings === null || x.facts === null || x.facts.encodedPictures) return null
  return new PictureLinks(x, services, { members: row.encodedPictures, settings, events })
}

interface LinkParts {
  members: PictureMembers
  settings: ImageLinks
  events: LinkEvents
}

export class PictureLinks implements Told {
  readonly #x: Exchange
  readonly #services: Services
  readonly #keeper: PictureKeeper
  readonly #events: LinkEvents
  readonly #pictures: EncodedPictures
  #queue: PicturePart[] = []
  #waitingBytes = 0
  #isBehind = false
  /** Something is being written, or the client is slow. */
  #busy = false
  #whenDrained: (() => void) | null = null
  /** What is to be done when all is told; null = more may come. */
  #whenTold: (() => void) | null = null
  #stopped = false

  constructor(x: Exchange, services: Services, { members, settings, events }: LinkParts) {
    this.#x = x
    this.#services = services
    this.#keeper = new PictureKeeper(x, services, settings, this)
    this.#events = events
    this.#pictures = new EncodedPictures(members)
  }

  /** False: what was taken has yet to be written down, and `onCaughtUp` says when it is. */
  push(chunk: Buffer): boolean {
    if (this.#stopped) return true
    this.#enqueue(this.#pictures.push(chunk))
    this.#isBehind = this.#waitingBytes > MOST_WAITING
    return !this.#isBehind
  }

  /** No more comes. `done` is called when the client was told all, or when nobody is told anything any more. */
  end(done: () => void): void {
    if (this.#stopped) {
      done()
      return
    }
    this.#whenTold = done
    this.#enqueue(this.#pictures.flush())
  }

  /** Nobody is told anything any more: a picture that is not whole is forgotten. */
  stop(): void {
    if (this.#stopped) return
    this.#stopped = true
    this.#queue = []
    this.#waitingBytes = 0
    this.onDrained()
    if (!this.#busy) this.#keeper.forget()
    this.#catchUp()
    this.#allTold()
  }

  /** The client has taken what waited for it. */
  onDrained(): void {
    const go = this.#whenDrained
    this.#whenDrained = null
    go?.()
  }

  tell(bytes: Buffer): Promise<void> | null {
    if (this.#stopped || bytes.length === 0 || this.#events.onLinked(bytes)) return null
    return new Promise(resolve => {
      this.#whenDrained = resolve
    })
  }

  // --- one part after the other

  #enqueue(parts: PicturePart[]): void {
    for (const part of parts) {
      this.#queue.push(part)
      this.#waitingBytes += sizeOf(part)
    }
    if (!this.#busy) this.#work()
  }

  #work(): void {
    for (let i = 0; i < this.#queue.length; i++) {
      const part = this.#queue[i] as PicturePart
      this.#waitingBytes -= sizeOf(part)
      const waiting = this.#keeper.take(part)
      if (waiting === null) continue
      this.#queue.splice(0, i + 1)
      this.#wait(waiting)
      return
    }
    this.#queue = []
    this.#catchUp()
    if (this.#whenTold === null) return
    const last = this.#keeper.end()
    if (last === null) this.#allTold()
    else this.#wait(last)
  }

  #wait(waiting: Promise<void>): void {
    this.#busy = true
    waiting.then(
      () => this.#goOn(),
      error => {
        this.#goOn(true)
        fail(this.#x, this.#services, error)
      },
    )
  }

  #goOn(failed = false): void {
    this.#busy = false
    if (this.#stopped || failed) this.#keeper.forget()
    if (!this.#stopped && !failed) this.#work()
  }

  #catchUp(): void {
    if (!this.#isBehind || this.#waitingBytes > MOST_WAITING) return
    this.#isBehind = false
    this.#events.onCaughtUp()
  }

  #allTold(): void {
    const done = this.#whenTold
    this.#whenTold = null
    done?.()
  }
}

const sizeOf = (part: PicturePart): number =>
  part.is === 'bytes' ? part.bytes.length : part.is === 'data' ? part.raw.length : 0
