/** An ops listener over a store in memory and a fleet that the test plays. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { Writable } from 'node:stream'
import type { z } from 'zod'
import { refusals } from '../../lib/api/openapi.ts'
import { routesOf } from '../../lib/api/visit.ts'
import { idMaker } from '../../lib/base/ids.ts'
import type { Micro } from '../../lib/base/money.ts'
import { Mailer } from '../../lib/operations/people/mail.ts'
import { ADMIN_CALLS } from '../../lib/admin/rows.ts'
import { createOpsServer, type Fleet, type Readiness } from '../../lib/admin/server.ts'
import { lazyDesk } from '../../lib/process/payments.ts'
import type { Store } from '../../lib/store/store.ts'
import type { PurseId } from '../../lib/store/books/purses.ts'
import type { ChannelOrder, ChannelSeen, ChannelTrial, LiveChannels, TrialSeen } from '../../lib/terms/channel-seen.ts'
import type { ChannelState } from '../../lib/terms/records.ts'
import { parseConfig } from '../../lib/config/config.ts'
import { createLogger } from '../../lib/base/log.ts'
import { PayTallies } from '../../lib/terms/tallies.ts'
import { TestClock } from '../support/clock.ts'
import { memoryStore } from '../support/store.ts'

export const TOKEN = 'a-token-for-tests'

export class TestFleet implements Fleet {
  isReady: () => Promise<Readiness> = async () => ({ ready: true, store: 'ok' })
  heldHere = new Map<PurseId, Micro>()
  states = new Map<string, ChannelState>()
  changes = 0
  /** What the serving processes are asked to do with channels, and say of them. */
  orders: ChannelOrder[] = []
  trials: ChannelTrial[] = []
  seen: ChannelSeen | null = null
  tried: TrialSeen | null = null

  readonly channels: LiveChannels = {
    order: async order => {
      this.orders.push(order)
      return this.seen
    },
    try: async trial => {
      this.trials.push(trial)
      return this.tried
    },
    balance: async () => null,
  }
  ready = (): Promise<Readiness> => this.isReady()
  metrics = async (): Promise<string> => '# TYPE one counter\none 1\n'
  held = async (): Promise<Map<PurseId, Micro>> => this.heldHere
  holders = async (): Promise<string[]> => ['here']
  channelStates = async (): Promise<Map<string, ChannelState>> => this.states
  settled = async (): Promise<void> => {}

  changed = async (): Promise<void> => {
    this.changes++
  }
}

export interface Reply {
  status: number
  headers: http.IncomingHttpHeaders
  text: string
  json: Row
  /** The envelope's. */
  error: { code: string; message: string; type: string; param?: string }
  /** Of a list. */
  data: Row[]
}

export type Row = Record<string, unknown>

interface Teardown {
  teardown(fn: () => unknown): void
}

export interface Ops {
  store: Store
  fleet: TestFleet
  clock: TestClock
  logged: string[]
  /** Why admin calls were not let in. */
  refused: string[]
  aside: { settlements: number; unreadable: number }
  /** On 127.0.0.1. */
  port: number
  /** With the token; a string is sent as it is, anything else as JSON. */
  admin(method: string, path: string, body?: unknown): Promise<Reply>
  call(method: string, path: string, headers?: http.OutgoingHttpHeaders, body?: string | Buffer): Promise<Reply>
}

/** `wrap` may put faults before the store. `settings`: a config file. */
export async function openOps(
  t: Teardown,
  wrap: (store: Store) => Store = store => store,
  settings = '',
): Promise<Ops> {
  const store = await memoryStore()
  const fleet = new TestFleet()
  const clock = new TestClock()
  const logged: string[] = []
  const refused: string[] = []
  const aside = { settlements: 0, unreadable: 0 }
  const log = createLogger(
    'info',
    new Writable({
      write(chunk, _, done) {
        logged.push(String(chunk))
        done()
      },
    }),
  )
  const config = parseConfig(settings, 'test.yaml', {})
  const given = { store: wrap(store), clock, log, fleet, setAside: () => aside }
  const server = createOpsServer({
    ...given,
    token: () => TOKEN,
    countRefused: why => void refused.push(why),
    ids: idMaker(clock.now.bind(clock)),
    config: () => config,
    pay: lazyDesk({ ...given, config: () => config, counts: new PayTallies() }),
    mail: new Mailer({ clock, log, smtp: () => config.smtp }),
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(async () => {
    server.closeAllConnections()
    server.close()
    await store.close()
  })
  const { port } = server.address() as AddressInfo
  const call: Ops['call'] = async (method, path, headers = {}, body) => {
    const reply = await request({ port, method, path, headers }, body)
    checkAnswer(method, path, reply)
    return reply
  }
  const bearer = { authorization: `Bearer ${TOKEN}` }
  return {
    store,
    fleet,
    clock,
    logged,
    refused,
    aside,
    port,
    call,
    admin: (method, path, body) =>
      call(method, path, bearer, body === undefined || typeof body === 'string' ? body : JSON.stringify(body)),
  }
}

const routes = routesOf('/admin', ADMIN_CALLS)

/** Throws where an answer has not the status or the form that its row says. */
function checkAnswer(method: string, path: string, { status, headers, text, json }: Reply): void {
  const found = routes.find(method, path.split('?')[0]!)
  if (method === 'HEAD' || found === null || Array.isArray(found)) return
  const { id, answer } = found.row
  if ('error' in json) {
    if (refusals(found.row, false).includes(status)) return
    throw new Error(`${id} refused with ${status}, which its row does not name`)
  }
  if (![answer.status, ...(answer.also ?? [])].includes(status as 200)) throw new Error(`${id} answered ${status}`)
  if (answer.body === null && text !== '') throw new Error(`${id} has a body`)
  if (!/^application\/json/.test(headers['content-type'] ?? '')) return
  const checked = (answer.body as z.ZodType).safeParse(json)
  if (!checked.success) throw new Error(`${id}: ${checked.error.message} in ${text}`)
}

function request(options: http.RequestOptions, body?: string | Buffer): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const req = http.request({ host: '127.0.0.1', agent: false, ...options }, res => {
      const chunks: Buffer[] = []
      res.on('data', chunk => chunks.push(chunk))
      res.on('error', reject)
      res.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        const json = parse(text)
        const { error, data } = json as unknown as Reply
        resolve({ status: res.statusCode as number, headers: res.headers, text, json, error, data })
      })
    })
    req.on('error', reject)
    req.end(body)
  })
}

function parse(text: string): Row {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
