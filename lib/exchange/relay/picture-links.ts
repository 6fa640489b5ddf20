/**
 * Puts links in the place of the pictures of an answer. A picture is decoded and written down while its text passes, one after the other,
 * and the client is told of it when it is kept; what comes behind it waits here. A picture that cannot be kept stays in the answer: what
 * is in its file is encoded again, and the rest passes as it comes. So an answer takes a bounded amount of memory, and none fails because
 * the disk does.
 */
import type { ImageLinks } from '../../config/config.ts'
import {
  Base64Reader,
  EncodedPictures,
  type PictureMembers,
  type PicturePart,
} from '../../protocols/pictures/encoded.ts'
import type { ProtocolRow } from '../../protocols/protocol.ts'
import { NoRoom, type PictureDraft } from '../pictures/draft.ts'
import { fail } from '../record/ending.ts'
import type { Exchange } from '../record/exchange.ts'
import { linkTo } from '../record/request.ts'
import type { Services } from '../record/services.ts'

/** When more bytes than these wait, the upstream is held up. */
const MOST_WAITING = 256 * 1024
/** The bytes of a file that are encoded at once: groups of three, so that no padding comes in between. */
const ENCODED_BYTES = 48 * 1024
const QUOTE = Buffer.from('"')

/** Tells the client these bytes. Resolves when it has room for more; null = it has. */
type Tell = (bytes: Buffer) => Promise<void> | null

interface LinkParts {
  members: PictureMembers
  settings: ImageLinks
  /** Sends bytes to the client. False: it is slow, and `onDrained` says when it is not. */
  send: (bytes: Buffer) => boolean
  /** `push` has returned false, and can take more now. */
  onCaughtUp: () => void
}

/** null = no picture of this answer is to become a link. */
export function linksFor(
  x: Exchange,
  services: Services,
  { encodedPictures }: ProtocolRow,
  settings: ImageLinks,
  calls: Pick<LinkParts, 'send' | 'onCaughtUp'>,
): PictureLinks | null {
  if (encodedPictures === undefined || x.facts === null || x.facts.encodedPictures) return null
  return new PictureLinks(x, services, { members: encodedPictures, settings, ...calls })
}

class NotBase64 extends Error {
  override name = 'NotBase64'
}

class PictureLink {
  readonly #asIs: Buffer
  readonly #linked: Buffer
  readonly #draft: PictureDraft
  readonly #base64 = new Base64Reader()
  /** The reason for which the picture stays in the answer; null = it is to be a link. */
  failure: unknown = null

  /** `asIs` stands before the text of the picture, with its quote, and `linked` before a link in its place. */
  constructor(asIs: Buffer, linked: Buffer, draft: PictureDraft) {
    this.#asIs = asIs
    this.#linked = linked
    this.#draft = draft
  }

  /** Takes some of its text. `raw`: as it stands in the answer; `text`: without escapes. */
  async add(raw: Buffer, text: Buffer, tell: Tell): Promise<void> {
    const before = this.#base64.rest
    const bytes = this.#base64.read(text)
    try {
      if (bytes === null) throw new NotBase64('the picture is not base64')
      if (bytes.length > 0) await this.#draft.write(bytes)
    } catch (error) {
      this.failure = error
      await this.#giveText(before, tell)
      await tell(raw)
    }
  }

  /** The text is whole. `urlOf`: the URL of a kept picture. True: the client was given a link. */
  async end(urlOf: (name: string) => string, tell: Tell): Promise<boolean> {
    try {
      const last = this.#base64.end()
      if (last === null) throw new NotBase64('the picture is not base64')
      if (last.length > 0) await this.#draft.write(last)
      this.#base64.clear()
      if (this.#draft.bytes > 0) {
        const url = urlOf(await this.#draft.keep())
        await tell(Buffer.concat([this.#linked, Buffer.from(JSON.stringify(url))]))
        return true
      }
    } catch (error) {
      this.failure = error
    }
    await this.#giveText(this.#base64.rest, tell)
    await tell(QUOTE)
    return false
  }

  /** The answer has ended inside the picture. */
  async breakOff(tell: Tell): Promise<void> {
    this.failure = new NotBase64('the picture has no end')
    await this.#giveText(this.#base64.rest, tell)
  }

  /** `rest` stands behind that which is in the file. */
  async #giveText(rest: string, tell: Tell): Promise<void> {
    await tell(this.#asIs)
    const buffer = Buffer.allocUnsafe(Math.min(ENCODED_BYTES, this.#draft.bytes))
    for (let at = 0; at < this.#draft.bytes; at += buffer.length) {
      const bytes = await this.#draft.read(buffer, at)
      await tell(Buffer.from(bytes.toString('base64')))
    }
    await tell(Buffer.from(rest))
    await this.#draft.discard()
  }

  discard(): Promise<void> {
    return this.#draft.discard()
  }
}

export class PictureLinks {
  readonly #x: Exchange
  readonly #services: Services
  readonly #settings: ImageLinks
  readonly #send: (bytes: Buffer) => boolean
  readonly #onCaughtUp: () => void
  readonly #pictures: EncodedPictures
  #queue: PicturePart[] = []
  #waitingBytes = 0
  #isBehind = false
  /** Something is being written, or the client is slow. */
  #busy = false
  #whenDrained: (() => void) | null = null
  /** Called when all is told; null = more may come. */
  #whenTold: (() => void) | null = null
  #stopped = false
  /** The picture whose text comes; null = none does. */
  #picture: PictureLink | null = null
  /** The last picture has become a link. */
  #linked = false
  /** The log has said of this answer that a picture was not kept. */
  #warned = false

  constructor(x: Exchange, services: Services, { members, settings, send, onCaughtUp }: LinkParts) {
    this.#x = x
    this.#services = services
    this.#settings = settings
    this.#send = send
    this.#onCaughtUp = onCaughtUp
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
    if (!this.#busy) this.#forget()
    this.#catchUp()
    this.#allTold()
  }

  /** The client has taken what waited for it. */
  onDrained(): void {
    const go = this.#whenDrained
    this.#whenDrained = null
    go?.()
  }

  readonly #tell: Tell = bytes => {
    if (this.#stopped || bytes.length === 0 || this.#send(bytes)) return null
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
      const waiting = this.#take(part)
      if (waiting === null) continue
      this.#queue.splice(0, i + 1)
      this.#wait(waiting)
      return
    }
    this.#queue = []
    this.#catchUp()
    if (this.#whenTold === null) return
    // what is left of a picture that is not whole goes to the client
    const last = this.#picture?.failure === null ? this.#picture.breakOff(this.#tell) : null
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
    if (this.#stopped || failed) this.#forget()
    if (!this.#stopped && !failed) this.#work()
  }

  #catchUp(): void {
    if (!this.#isBehind || this.#waitingBytes > MOST_WAITING) return
    this.#isBehind = false
    this.#onCaughtUp()
  }

  #allTold(): void {
    const done = this.#whenTold
    this.#whenTold = null
    done?.()
  }

  /** Takes the next part; null = it is done with. */
  #take(part: PicturePart): Promise<void> | null {
    switch (part.is) {
      case 'bytes':
        this.#tell(part.bytes) // what a slow client has yet to take is bounded by what is under way
        return null
      case 'begin':
        this.#linked = false
        this.#picture = new PictureLink(part.asIs, part.linked, this.#services.pictures.draft(this.#settings))
        return null
      case 'data':
        return this.#takeData(this.#picture as PictureLink, part.raw, part.text)
      case 'end':
        return this.#takeEnd(this.#picture as PictureLink)
      case 'either':
        this.#tell(this.#linked ? part.linked : part.asIs)
        return null
    }
  }

  #takeData(picture: PictureLink, raw: Buffer, text: Buffer): Promise<void> | null {
    if (picture.failure === null) return picture.add(raw, text, this.#tell).then(() => this.#noteFailure(picture))
    this.#tell(raw)
    return null
  }

  #takeEnd(picture: PictureLink): Promise<void> | null {
    if (picture.failure === null) return this.#end(picture)
    this.#picture = null
    this.#tell(QUOTE)
    return null
  }

  async #end(picture: PictureLink): Promise<void> {
    this.#linked = await picture.end(name => linkTo(this.#x, name), this.#tell)
    this.#picture = null
    if (this.#linked) this.#services.metrics.pictures.count('kept')
    this.#noteFailure(picture)
  }

  #noteFailure({ failure }: PictureLink): void {
    if (failure === null) return
    const { metrics, log } = this.#services
    metrics.pictures.count(
      failure instanceof NoRoom ? 'no_room' : failure instanceof NotBase64 ? 'not_base64' : 'failed',
    )
    if (this.#warned) return
    this.#warned = true
    log.warn({ id: this.#x.id, err: failure }, 'a picture was not kept, and stays in its answer as base64')
  }

  /** Forgets a picture that is not whole. */
  #forget(): void {
    void this.#picture?.discard()
    this.#picture = null
  }
}

const sizeOf = (part: PicturePart): number =>
  part.is === 'bytes' ? part.bytes.length : part.is === 'data' ? part.raw.length : 0
