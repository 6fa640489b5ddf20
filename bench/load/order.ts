/** What a load process is told and what it tells, one line of JSON each. */

/** One kind of request. */
export interface Kind {
  body: string
  /** Its share of all requests; of the shares of all kinds together. */
  share?: number
  /** false: not in the latencies. */
  timed?: boolean
  /** The client leaves so long after sending. */
  leaveMs?: number
}

export interface Order {
  /**
   * `closed`: each connection sends its next request when the last is answered (saturation). `open`: requests are sent
   * at instants fixed beforehand, whatever is answered meanwhile. `hold`: opens streams, says so and keeps them.
   */
  mode?: 'closed' | 'open' | 'hold'
  host: string
  /** Requests take turns over these. */
  ports: number[]
  path: string
  headers: Record<string, string>
  kinds: Kind[]
  /** closed, hold: at once. */
  connections?: number
  requests: number
  /** open: a second. */
  rate?: number
  /** open: the first so many are not in the figures. */
  warm?: number
  /** Connections are opened over so long; default: at once. */
  rampMs?: number
  /** Sent as bearer, taking turns, in place of the `authorization` header: invented keys that look like real ones. */
  inventedKeys?: { seed: number; count: number }
  /** What every answer must be; default 200. */
  status?: number
}

export interface Outcome {
  done: number
  /** Answers of another status, and connections that broke off. */
  failed: number
  left: number
  seconds: number
  perSecond: number
  /** Of whole answers; in open mode from the scheduled instant. */
  p50us: number
  p99us: number
  p999us: number
  longestUs: number
  firstByteP50us: number
  /** open: between scheduled and sent. */
  lateP99us: number
  loadCpuS: number
}
