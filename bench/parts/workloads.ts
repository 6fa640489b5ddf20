/** The standard workloads, one row each. How a row is measured is in `bench/kinds`. */
import { TRANSLATED_WORKLOADS, type TranslatedWorkload } from './translated-workloads.ts'

/** A workload that runs in a closed loop, in which subjects take turns. */
export interface ClosedWorkload {
  kind: 'closed'
  name: string
  unit: 'request' | 'stream' | 'event'
  /** How many units (see `unit`) a request has. */
  per: number
  stream: boolean
  connections: number
  /** The time over which connections are opened. */
  rampMs?: number
  warmup: number
  /** Requests before the warm-up whose events come one by one and soon: so many compile what a request runs through, as in a process that has served for a while. */
  hot?: number
  /** Requests to each subject in one round. */
  requests: number
  /** The environment of the upstream; null = there is none, because every answer is a refusal. */
  upstream: { EVENTS?: string; GAP_MS?: string } | null
  bodyBytes: number
  /** Unknown keys: `few` are repeated, `new` are never repeated. */
  inventedKeys?: 'few' | 'new'
  stalls?: boolean
  /** Measures the last commit too. */
  previous?: boolean
}

export type Workload =
  | ClosedWorkload
  | TranslatedWorkload
  | { kind: 'open'; name: string; rate: number; requests: number; warm: number; warmup: number }
  | { kind: 'idle'; name: string; streams: number; rampMs: number; settleMs: number; warmup: number }
  | { kind: 'steady'; name: string; rate: number; seconds: number }
  | { kind: 'settling'; name: string; engine: 'SQLite' | 'MariaDB'; warmup: number; requests: number }
  | { kind: 'mixed'; name: string; rate: number; seconds: number }
  | { kind: 'start'; name: string; times: number }

const closed = {
  kind: 'closed',
  unit: 'request',
  per: 1,
  stream: false,
  connections: 32,
  warmup: 8000,
  requests: 10_000,
  upstream: {},
  bodyBytes: 200,
} as const
const open = { kind: 'open', warm: 1000, warmup: 40_000 } as const
const PACED_EVENTS = 50

/** So many streams at a time, an event each 20 ms. */
const paced = (connections: number): ClosedWorkload => ({
  ...closed,
  name: `${connections} paced streams`,
  unit: 'event',
  per: PACED_EVENTS,
  stream: true,
  connections,
  rampMs: 1000,
  warmup: connections,
  hot: 1500,
  requests: 3 * connections,
  upstream: { GAP_MS: '20', EVENTS: String(PACED_EVENTS) },
})

export const WORKLOADS: Workload[] = [
  { ...closed, name: 'small JSON', warmup: 40_000, previous: true },
  { ...open, name: 'small JSON at 500/s', rate: 500, requests: 5000 },
  { ...open, name: 'small JSON at 2,000/s', rate: 2000, requests: 10_000 },
  { ...closed, name: 'burst stream', unit: 'stream', stream: true, warmup: 30_000, requests: 4000 },
  paced(200),
  paced(64),
  paced(16),
  { ...closed, name: '200 KB body', warmup: 3000, requests: 1200, bodyBytes: 200_000 },
  {
    ...closed,
    name: '20 MB body',
    connections: 2,
    warmup: 4,
    requests: 16,
    bodyBytes: 20_000_000,
    stalls: true,
  },
  ...TRANSLATED_WORKLOADS,
  { ...closed, name: '401 flood', upstream: null, warmup: 20_000, inventedKeys: 'few' },
  {
    ...closed,
    name: '401 flood, new keys',
    upstream: null,
    warmup: 40_000,
    inventedKeys: 'new',
    requests: 6000,
  },
  { kind: 'steady', name: '200 requests/s', rate: 200, seconds: 8 },
  { kind: 'idle', name: 'idle streams', streams: 5000, rampMs: 3000, settleMs: 6000, warmup: 4000 },
  ...(['SQLite', 'MariaDB'] as const).map(engine => ({
    kind: 'settling' as const,
    name: `settling, ${engine}`,
    engine,
    warmup: 30_000,
    requests: 10_000,
  })),
  { kind: 'mixed', name: 'mixed, MySQL', rate: 500, seconds: 5 },
  { kind: 'start', name: 'start', times: 5 },
]

/** Where a body has it, the upstream sends its events one by one, but soon after each other. */
export const SOON = '"user":"soon"'

/** A chat request of about this many bytes; `more`: members of its own. */
export function chatBody(bytes: number, stream: boolean, more: object = {}): string {
  const fixed = { model: 'beta-4.7', ...(stream ? { stream: true } : {}), max_tokens: 512, ...more }
  const line = 'Write a function that reads a file and returns its lines, sorted. Keep it "simple" and tested.\n'
  const empty = JSON.stringify({ ...fixed, messages: [{ role: 'user', content: '' }] }).length
  const text = line.repeat(Math.max(1, Math.ceil((bytes - empty) / JSON.stringify(line).length)))
  return JSON.stringify({ ...fixed, messages: [{ role: 'user', content: text }] })
}
