/**
 * The clients of the chaos run, for several protocols, half of whose answers are translated if the upstream's is another one: a fifth leaves at a random moment, some stop reading for a
 * while.
 */
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../test/support/random.ts'
import type { Talking } from '../../test/support/talking.ts'
import { type ShownUsage, shownUsage } from '../../test/soak/shown.ts'
import { IMAGES, MODEL, PROTOCOLS, SOLE, SPEECH, soleModel, tagOf } from './speech.ts'

/** How a request ended for its client; `failed` = no answer came at all. */
export type Outcome = 'whole' | 'refused' | 'broken' | 'left' | 'failed'

export interface Asked {
  n: number
  protocol: Talking
  /** null when no head of an answer came. */
  requestId: string | null
  /** The protocol of the upstream, where the answer was translated. */
  via: string | null
  /** In a whole answer; null = it shows none. */
  shown: ShownUsage | null
  status: number
  outcome: Outcome
}

const LEAVE_SHARE = 0.2
const STALL_SHARE = 0.03

export class Clients {
  readonly asked: Asked[] = []
  readonly #random: Random
  readonly #port: number
  readonly #key: string
  readonly #agent = new http.Agent({ keepAlive: true })
  #count = 0
  #over = false
  #running: Promise<void>[] = []

  constructor(random: Random, port: number, key: string) {
    this.#random = random
    this.#port = port
    this.#key = key
  }

  start(count: number): void {
    this.#running = Array.from({ length: count }, () => this.#loop())
  }

  async stop(): Promise<void> {
    this.#over = true
    await Promise.all(this.#running)
    this.#agent.destroy()
  }

  async #loop(): Promise<void> {
    await sleep(this.#random.int(0, 2000))
    while (!this.#over) {
      this.asked.push(await this.ask(this.#random.next() < LEAVE_SHARE))
      await sleep(this.#random.int(200, 2000))
    }
  }

  ask(leaves: boolean): Promise<Asked> {
    const n = ++this.#count
    const protocol = this.#random.pick(PROTOCOLS)
    const speech = SPEECH[protocol]
    const stream = speech.last !== null && this.#random.next() < 0.5
    const isSole = protocol !== 'images' && this.#random.next() < 0.5
    const model = protocol === 'images' ? IMAGES : isSole ? soleModel(this.#random.pick(SOLE)) : MODEL
    const asked: Asked = { n, protocol, requestId: null, via: null, shown: null, status: 0, outcome: 'failed' }
    return new Promise(resolve => {
      let text = ''
      let timer: NodeJS.Timeout | undefined
      const end = (outcome: Outcome) => {
        clearTimeout(timer)
        asked.outcome = asked.outcome === 'left' ? 'left' : outcome
        resolve(asked)
      }
      const headers = { ...speech.headers(this.#key), 'content-type': 'application/json' }
      const options = {
        port: this.#port,
        agent: this.#agent,
        method: 'POST',
        path: speech.path(stream, model),
        headers,
      }
      const req = http.request(options, res => {
        asked.status = res.statusCode as number
        asked.requestId = res.headers['x-request-id'] as string
        asked.via = (res.headers['x-gateway-via'] as string | undefined) ?? null
        if (this.#random.next() < STALL_SHARE) {
          res.pause()
          setTimeout(() => res.resume(), this.#random.int(500, 4000))
        }
        res.on('data', chunk => {
          text += chunk
        })
        res.on('error', () => end('broken'))
        res.on('end', () => {
          if (asked.status !== 200) end('refused')
          else {
            const isWhole = !stream || text.includes(speech.last as string)
            if (isWhole) asked.shown = shownUsage(protocol, text)
            end(isWhole ? 'whole' : 'broken')
          }
        })
      })
      req.on('error', () => end(asked.status === 0 ? 'failed' : 'broken'))
      if (leaves) {
        timer = setTimeout(
          () => {
            asked.outcome = 'left'
            req.destroy()
          },
          this.#random.int(1, 300),
        )
      }
      req.end(JSON.stringify(speech.ask(tagOf(n), stream, model)))
    })
  }
}
