/** The workloads, each a table row: what is sent, how often, and what one unit of it is. */
export interface Workload {
  name: string
  unit: 'request' | 'stream' | 'event'
  /** Units per request. */
  per: number
  stream: boolean
  connections: number
  warmup: number
  requests: number
  upstream: NodeJS.ProcessEnv
  bodyBytes: number
}

const base = {
  unit: 'request',
  per: 1,
  stream: false,
  connections: 32,
  warmup: 20_000,
  requests: 20_000,
  upstream: {},
  bodyBytes: 200,
} as const

export const WORKLOADS: Workload[] = [
  { ...base, name: 'small JSON' },
  { ...base, name: '100-event burst stream', unit: 'stream', stream: true, warmup: 5000, requests: 6000 },
  {
    ...base,
    name: 'paced stream, an event each 20 ms',
    unit: 'event',
    per: 100,
    stream: true,
    connections: 200,
    warmup: 200,
    requests: 800,
    upstream: { GAP_MS: '20' },
  },
  { ...base, name: '200 KB request body', warmup: 500, requests: 3000, bodyBytes: 200_000 },
  { ...base, name: '20 MB request body', connections: 2, warmup: 4, requests: 40, bodyBytes: 20_000_000 },
]

/** A chat request of about `bytes`. */
export function chatBody(bytes: number, stream: boolean): string {
  const fixed = { model: 'beta-4.7', ...(stream ? { stream: true } : {}), max_tokens: 512 }
  const line = 'Write a function that reads a file and returns its lines, sorted. Keep it "simple" and tested.\n'
  const empty = JSON.stringify({ ...fixed, messages: [{ role: 'user', content: '' }] }).length
  const text = line.repeat(Math.max(1, Math.ceil((bytes - empty) / JSON.stringify(line).length)))
  return JSON.stringify({ ...fixed, messages: [{ role: 'user', content: text }] })
}
