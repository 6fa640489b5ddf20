/** The order for a load process and its result, one line of JSON each. */

/** One kind of request. */
export interface Kind {
  body: string
  /** Its share of all requests, in relation to the shares of all kinds. */
  share?: number
  /** false = its requests are left out of the latencies. */
  timed?: boolean
  /** The client leaves this long after it has sent the request. */
  leaveMs?: number
}

export interface Order {
  /**
   * `closed`: each connection sends its next request when the last is answered (saturation). `open`: requests are sent
   * at instants fixed beforehand, whatever is answered meanwhile. `hold`: opens streams, says so and keeps them.
   */
  mode?: 'closed' | 'open' | 'hold'
  host: string
  /** The ports of the subject, which requests use in turns. */
  ports: number[]
  path: string
  headers: Record<string, string>
  kinds: Kind[]
  /** In the modes `closed` and `hold`: the number of connections. */
  connections?: number
  requests: number
  /** In the mode `open`: requests per second. */
  rate?: number
  /** In the mode `open`: this many requests at the start are left out of the figures. */
  warm?: number
  /** The time over which connections are opened; default: at once. */
  rampMs?: number
  /** Invented keys that look like real ones, which are sent in turns in place of the `authorization` header. */
  inventedKeys?: { seed: number; count: number }
  /** The status that every answer must have; default 200. */
  status?: number
}

export interface Outcome {
  done: number
  /** Answers with another status, and connections that broke off. */
  failed: number
  left: number
  seconds: number
  perSecond: number
  /** The latency of complete answers; in the mode `open` from the scheduled instant. */
  p50us: number
  p99us: number
  p999us: number
  longestUs: number
  firstByteP50us: number
  /** In the mode `open`: the time from the scheduled instant until the request was sent. */
  lateP99us: number
  loadCpuS: number
}
