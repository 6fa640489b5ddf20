/** Reads the body into a few parts, which are bounded and never joined. One shallow scan on the way finds the facts. */
import type { KeyEntry } from '../../access/keys.ts'
import { formatMicro, micro } from '../../base/money.ts'
import { Hold, type HoldRefusal } from '../../ledger/ledger.ts'
import type { BodyScan } from '../../protocols/body.ts'
import { protocolRow } from '../../protocols/table.ts'
import type { ErrorName } from '../../base/errors.ts'
import type { Protocol } from '../../terms/records.ts'
import { guard, refuse, storeFailed, DONE, NEXT, type Verdict } from '../record/ending.ts'
import { dropBody, takeMemory } from '../record/request.ts'
import type { Exchange } from '../record/exchange.ts'
import { countMoneyWait, moneyLeftMs } from '../record/need.ts'
import { Pages } from '../pages.ts'
import { stage } from '../plan.ts'
import type { Services } from '../record/services.ts'

/** No more than this is kept of a body before it is known that the account has money. */
const KEPT_FREE_BYTES = 1024 * 1024
/** How much of a refused upload is read before its connection is cut. */
const DROPPED_BYTES = 256 * 1024 * 1024

export const readBody = stage<'admitted', 'body'>((x, services) => {
  const limit = x.world.config.limits.bodyBytes
  const announced = Number(x.req.headers['content-length'] ?? 0)
  if (announced > limit) return refuseUnread(x, services, 'too_large', [sizeText(limit)])
  return new Promise(resolve => {
    const upload = new Upload(x, services, resolve)
    const asked = announced > KEPT_FREE_BYTES ? upload.askForMoney() : null
    if (asked === null) upload.read()
    else void asked.then(() => upload.read())
  })
})

class Upload {
  readonly #x: Exchange
  readonly #services: Services
  readonly #resolve: (verdict: Verdict) => void
  readonly #scan: BodyScan
  readonly #pages: Pages
  #asked = false
  /** The body is scanned and counted, and not kept. */
  #isDropped = false

  constructor(x: Exchange, services: Services, resolve: (verdict: Verdict) => void) {
    this.#x = x
    this.#services = services
    this.#resolve = resolve
    this.#scan = protocolRow(x.form as Protocol).body.scan(x.req.headers['content-type'])
    this.#pages = new Pages(part => {
      this.#scan.feed(part)
      if (!this.#isDropped) x.body.push(part)
    })
  }

  read(): void {
    const { req, reply, ended } = this.#x
    if (!ended) reply.askForBody()
    req.on('data', (chunk: Buffer) => guard(this.#x, this.#services, () => this.#onData(chunk)))
    req.on('end', () => guard(this.#x, this.#services, () => this.#onEnd()))
    req.on('error', () => this.#resolve(DONE)) // the connection broke: its close ends the exchange
  }

  #onData(chunk: Buffer): void {
    const x = this.#x
    if (x.ended || x.finished) return // what still comes is dropped
    const { bodyBytes, bufferedBytes } = x.world.config.limits
    x.bodyBytes += chunk.length
    if (x.bodyBytes > bodyBytes) this.#refuse('too_large', [sizeText(bodyBytes)])
    else if (!this.#isDropped && !takeMemory(x, this.#services.buffered, chunk.length, bufferedBytes))
      this.#refuse('unavailable')
    else {
      this.#pages.add(chunk)
      if (x.bodyBytes > KEPT_FREE_BYTES && !this.#asked) this.#pause(this.askForMoney())
    }
  }

  #onEnd(): void {
    if (this.#x.ended || this.#x.finished) return
    this.#pages.flush()
    this.#resolve(understand(this.#x, this.#services, this.#scan))
  }

  #pause(until: Promise<void> | null): void {
    const { req } = this.#x
    if (until === null) return
    req.pause()
    void until.then(() => req.resume())
  }

  /** Asks whether the account has money, before more is read. A promise, which never rejects, when the store must be asked. */
  askForMoney(): Promise<void> | null {
    this.#asked = true
    const { key, account } = this.#x.entry as KeyEntry
    const held = this.#services.ledger.reserve(account, { id: key.id, cap: null }, micro(1), moneyLeftMs(this.#x))
    if (held instanceof Promise)
      return countMoneyWait(this.#x, this.#services, held).then(
        answer => guard(this.#x, this.#services, () => this.#judge(answer)),
        error => this.#resolve(storeFailed(this.#x, this.#services, error)),
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
    this.#resolve(refuseUnread(this.#x, this.#services, name, args))
  }
}

/** Refuses a body that is not whole. The rest is read for a while and dropped, so that the client can read our answer. */
function refuseUnread(x: Exchange, services: Services, name: ErrorName, args: string[]): Verdict {
  let dropped = 0
  x.req.on('data', (chunk: Buffer) => {
    dropped += chunk.length
    if (dropped > DROPPED_BYTES) x.req.destroy()
  })
  if (!x.req.complete) x.reply.closeAfter()
  return refuse(x, services, name, args)
}

function understand(x: Exchange, services: Services, scan: BodyScan): Verdict {
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
