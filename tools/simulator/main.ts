/**
 * A simulated upstream for demos, tests, soaks and benches. It speaks the protocols of `dialects/rows.ts`;
 * docs/simulator.md is its manual.
 */

import type { AddressInfo } from 'node:net'
import { type Clock, systemClock } from '../../lib/base/clock.ts'
import { http } from '../../lib/base/http.ts'
import { Books, type Stats } from './books.ts'
import { createHandler } from './handler.ts'

export interface SimulatorOptions {
  /** Default: any free port on 127.0.0.1. */
  listen?: { host: string; port: number }
  /** Time until the first byte of every answer. Default 0. */
  latencyMs?: number
  /** The pace of streams, and at which whole answers are made; 0 (the default) = at once. */
  tokensPerSecond?: number
  /** Share of requests that fail by chance, from 0 to 1. Default 0. */
  errorRate?: number
  /** The same seed gives the same random numbers and ids. Default: 0. */
  seed?: number
  /** The key that requests must have. Default: any key will do, and none. */
  key?: string
  /** How many ended requests `stats.served` keeps. Default 100,000. */
  records?: number
  clock?: Clock
}

export interface Simulator {
  /** `http://host:port`. */
  url: string
  stats: Stats
  /** Closes the server and all its connections. */
  close(): Promise<void>
}

const RECORDS = 100_000
/** Idle connections stay open so long, for clients that do not read how long they do. */
const KEEP_ALIVE_MS = 120_000

/** Starts a simulator. Resolves when it listens; rejects when it cannot. */
export async function simulate(options: SimulatorOptions = {}): Promise<Simulator> {
  const books = new Books(options.records ?? RECORDS)
  const server = http.createServer({ keepAliveTimeout: KEEP_ALIVE_MS, noDelay: true })
  const { host, port } = options.listen ?? { host: '127.0.0.1', port: 0 }
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, backlog: 4096 }, resolve)
  })
  const address = server.address() as AddressInfo
  const url = `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`
  server.on(
    'request',
    createHandler({
      origin: url,
      latencyMs: options.latencyMs ?? 0,
      tokensPerSecond: options.tokensPerSecond ?? 0,
      errorRate: options.errorRate ?? 0,
      seed: options.seed ?? 0,
      key: options.key ?? null,
      clock: options.clock ?? systemClock,
      books,
    }),
  )
  return {
    url,
    stats: books,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
