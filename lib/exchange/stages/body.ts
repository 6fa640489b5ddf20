/** Reads the body into a few parts, which are bounded and never joined. One shallow scan on the way finds the facts. */
import type { KeyEntry } from '../../access/keys.ts'
import { type BodyTaker, takeBody } from '../../base/incoming.ts'
import { formatMicro, micro } from '../../base/money.ts'
import { LARGE_BYTES } from '../../base/slices.ts'
import { Hold, type HoldRefusal } from '../../ledger/ledger.ts'
import type { BodyScan } from '../../protocols/requests/body.ts'
import type { Protocol } from '../../protocols/names.ts'
import { protocolRow } from '../../protocols/table.ts'
import type { ErrorName } from '../../base/errors.ts'
import { fail, guard, refuse, storeFailed, NEXT, type StageVerdict } from '../record/ending.ts'
import { dropBody, giveMemory, takeMemory } from '../record/request.ts'
import type { Exchange } from '../record/exchange.ts'
import { countMoneyWait, moneyLeftMs } from '../record/need.ts'
import { Later, stage } from '../plan.ts'
import { BrokenCoding, codingsOf, decodedBody, DecodedTooLarge, NoRoomToDecode } from './decoded-body.ts'
import type { Services } from '../record/services.ts'

/** No more than this is kept of a body before it is known that the account has money. */
const KEPT_FREE_BYTES = 1024 * 1024
/** The most bytes of a refused upload that are read before its connection is cut. */
const DROPPED_BYTES = 256 * 1024 * 1024

/** A body that is asked about, and sent to nobody, is parsed here, and so it may be no longer than what is kept for free. */
const mostBytes = ({ form, world }: Exchange): number =>
  form === null ? Math.min(KEPT_FREE_BYTES, world.config.limits.bodyBytes) : world.config.limits.bodyBytes

export const readBody = stage<'admitted', 'body'>((x, services) => {
  const limit = mostBytes(x)
  const codings = codingsOf(x.req.headers['content-encoding'])
  if (codings === null) return refuseUnread(x, services, 'encoding', [])
  const announced = Number(x.req.headers['content-length'] ?? 0)
  if (announced > limit) return refuseUnread(x, services, 'too_large', [sizeText(limit)])
  const upload = new Upload(x, services)
  const asked = announced > KEPT_FREE_BYTES ? upload.askForMoney() : null
  if (asked === null) upload.read(codings)
  else void asked.then(() => upload.read(codings))
  return upload
})

type Codings = NonNullable<ReturnType<typeof codingsOf>>

class Upload extends Later implements BodyTaker {
  readonly #x: Exchange
  readonly #services: Services
  /** null: the body asks of no protocol. */
  readonly #scan: BodyScan | null
  /** null: no more than one chunk has come, which is mostly the whole body and kept as it came. */
  #pages: BodyPages | null = null
  #asked = false
  /** The body is scanned and counted, and not kept. */
  #isDropped = false

  constructor(x: Exchange, services: Services) {
    super()
    this.#x = x
    this.#services = services
    this.#scan = x.form === null ? null : protocolRow(x.form).body.scan(x.req.headers['content-type'])
  }

  read(codings: Codings): void {
    const { req, reply, answered, finished } = this.#x
    if (answered || finished) {
      takeBody(req, new Dropped(req)) // it was refused before it was read
      return
    }
    reply.askForBody()
    if (codings.length > 0) void this.#decode(codings)
    else takeBody(req, this)
  }

  onBroken(): void {} // the close of its connection ends the exchange

  /** The same as below for a body in codings: what counts, is scanned and goes upstream is the decoded body. */
  async #decode(codings: Codings): Promise<void> {
    const { req } = this.#x
    const most = mostBytes(this.#x)
    let roomBytes = 0
    const takeRoom = (bytes: number): boolean => {
      const taken = takeMemory(this.#x, this.#services.buffered, bytes, this.#x.world.config.limits.bufferedBytes)
      if (taken) roomBytes += bytes
      return taken
    }
    try {
      const { id } = (this.#x.entry as KeyEntry).account
      const isOver = () => this.#x.answered || this.#x.finished
      const inflated = (bytes: number) => this.#services.inflating.take(id, bytes, isOver)
      for await (const chunk of decodedBody(req, codings, most, takeRoom, inflated)) {
        await this.onData(chunk)
        if (isOver()) return
      }
      giveMemory(this.#x, this.#services.buffered, roomBytes)
      roomBytes = 0
      this.onEnd()
    } catch (error) {
      if (error instanceof DecodedTooLarge) this.#refuse('too_large', [sizeText(most)])
      else if (error instanceof BrokenCoding) this.#refuse('field', ['content-encoding'])
      else if (error instanceof NoRoomToDecode) this.#refuse('unavailable')
      else if (!req.destroyed) fail(this.#x, this.#services, error)
    } finally {
      giveMemory(this.#x, this.#services.buffered, roomBytes)
    }
  }

  onData(chunk: Buffer): Promise<void> | null {
    const x = this.#x
    if (x.answered || x.finished) return null // what still comes is dropped
    const { bufferedBytes } = x.world.config.limits
    const most = mostBytes(x)
    x.bodyBytes += chunk.length
    try {
      if (x.bodyBytes > most) this.#refuse('too_large', [sizeText(most)])
      else if (!this.#isDropped && !takeMemory(x, this.#services.buffered, chunk.length, bufferedBytes))
        this.#refuse('unavailable')
      else {
        this.#add(chunk)
        if (x.bodyBytes > KEPT_FREE_BYTES && !this.#asked) return this.askForMoney()
      }
    } catch (error) {
      fail(x, this.#services, error)
    }
    return null
  }

  #add(chunk: Buffer): void {
    if (this.#x.bodyBytes === chunk.length) this.#keep(chunk)
    else (this.#pages ??= new BodyPages(part => this.#keep(part))).add(chunk)
  }

  #keep(part: Buffer): void {
    const x = this.#x
    this.#scan?.feed(part)
    if (this.#isDropped) return
    if (x.body.length === 0) x.body = [part]
    else x.body.push(part)
  }

  onEnd(): void {
    if (this.#x.bodyBytes <= LARGE_BYTES) this.#understand()
    else this.#services.largeBodies.whole(() => this.#understand())
  }

  #understand(): void {
    if (this.#x.answered || this.#x.finished) return
    try {
      this.#pages?.flush()
      if (understand(this.#x, this.#services, this.#scan) === NEXT) this.goOn(this.#x, this.#services)
    } catch (error) {
      fail(this.#x, this.#services, error)
    }
  }

  /** Asks whether the account has money, before more is read. A promise, which never rejects, when the store must be asked. */
  askForMoney(): Promise<void> | null {
    this.#asked = true
    const { key, account } = this.#x.entry as KeyEntry
    const held = this.#services.ledger.reserve(account, { id: key.id, cap: null }, micro(1), moneyLeftMs(this.#x))
    if (held instanceof Promise)
      return countMoneyWait(this.#x, this.#services, held).then(
        answer => guard(this.#x, this.#services, () => this.#judge(answer)),
        error => void storeFailed(this.#x, this.#services, error),
      )
    this.#judge(held)
    return null
  }

  #judge(answer: Hold | HoldRefusal): void {
    const x = this.#x
    if (answer instanceof Hold) this.#services.ledger.void(answer)
    else if (!x.free) this.#refuseMoney(answer)
    else if (answer.refused !== 'unavailable') {
      this.#isDropped = true // counting is never refused for money; what is not kept is estimated here
      dropBody(x, this.#services.buffered)
    }
  }

  #refuseMoney({ refused, available }: HoldRefusal): void {
    if (refused === 'unavailable') this.#refuse('unavailable')
    else this.#refuse('quota', [formatMicro(available)])
  }

  #refuse(name: ErrorName, args: string[] = []): void {
    refuseUnread(this.#x, this.#services, name, args)
  }
}

/** Refuses a body that is not whole. The rest is read for a while and dropped, so that the client can read our answer. */
function refuseUnread(x: Exchange, services: Services, name: ErrorName, args: string[]): StageVerdict {
  takeBody(x.req, new Dropped(x.req))
  if (!x.req.complete) x.reply.closeAfter()
  return refuse(x, services, name, args)
}

class Dropped implements BodyTaker {
  readonly #req: Exchange['req']
  #bytes = 0

  constructor(req: Exchange['req']) {
    this.#req = req
  }

  onData({ length }: Buffer): null {
    this.#bytes += length
    if (this.#bytes > DROPPED_BYTES) this.#req.destroy()
    return null
  }

  onEnd(): void {}

  onBroken(): void {}
}

function understand(x: Exchange, services: Services, scan: BodyScan | null): StageVerdict {
  if (scan === null) return NEXT
  x.facts = scan.end()
  if (x.facts === null) return refuse(x, services, 'not_json')
  const { body } = protocolRow(x.form as Protocol)
  const invalid = body.reads(x.req.headers['content-type']) ? x.facts.invalid : 'content-type'
  if (invalid !== null) return refuse(x, services, 'field', [invalid])
  if (x.facts.background && !x.free) return refuse(x, services, 'background')
  return NEXT
}

/** A size as the config writes it: `64MiB`. */
function sizeText(bytes: number): string {
  for (const [unit, size] of [
    ['GiB', 2 ** 30],
    ['MiB', 2 ** 20],
    ['KiB', 2 ** 10],
  ] as const) {
    if (bytes >= size && bytes % size === 0) return `${bytes / size}${unit}`
  }
  return `${bytes}B`
}

// --- pages

const LARGE_CHUNK_BYTES = 16 * 1024
const LEAST_BYTES = 4 * 1024
const MOST_BYTES = 64 * 1024
const NOTHING = Buffer.alloc(0)

/**
 * Keeps a body as it arrives, in few pieces. A client may send a million chunks of one byte, and each arrives as a buffer that
 * takes a hundred times the memory of its content. Small chunks are therefore copied into pages, which grow with the body, so
 * that a body takes at most about three times its length, whatever its chunks are. A large chunk is kept as it came.
 */
export class BodyPages {
  readonly #take: (part: Buffer) => void
  #total = 0
  #page: Buffer = NOTHING
  /** The bytes of the page from here up to `#to` have not been handed on yet. */
  #from = 0
  #to = 0

  /** `take` receives the parts in order. They do not change afterwards. */
  constructor(take: (part: Buffer) => void) {
    this.#take = take
  }

  add(chunk: Buffer): void {
    this.#total += chunk.length
    if (chunk.length >= LARGE_CHUNK_BYTES) {
      this.flush()
      this.#take(chunk)
    } else this.#copy(chunk)
  }

  #copy(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#to === this.#page.length) this.#turn()
      const copied = chunk.copy(this.#page, this.#to, at)
      this.#to += copied
      at += copied
    }
  }

  #turn(): void {
    this.flush()
    this.#page = Buffer.allocUnsafeSlow(Math.min(MOST_BYTES, Math.max(LEAST_BYTES, this.#total)))
    this.#from = this.#to = 0
  }

  /** Hands on what has come so far. */
  flush(): void {
    if (this.#to > this.#from) this.#take(this.#page.subarray(this.#from, this.#to))
    this.#from = this.#to
  }
}
