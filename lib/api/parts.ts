/** What an API is made of, and what all its calls share. */
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { CallRates } from './call-rates.ts'
import type { Identities } from './identity.ts'
import type { Operation } from './operation.ts'
import type { Routes } from './routes.ts'
import type { Seats } from './seats.ts'
import type { Site } from './site.ts'

export interface ApiParts<D> {
  /** Below this path, without a slash at its end, stands everything; the API itself below `/api` of it. */
  root: string
  operations: readonly Operation<D>[]
  /** What operations are given. */
  deps: D
  identities: Identities
  clock: Clock
  log: Logger
  /** Makes request ids. */
  ids: () => string
  /** A function, because a reload may change the address. */
  site: () => Site
  ipOf: (req: IncomingMessage) => string
  /** Counts an answer. `operation`: the id, or `none` where no row fits. */
  count: (operation: string, status: number) => void
}

/** What all calls of an API share. */
export interface Shared<D> extends ApiParts<D> {
  routes: Routes<Operation<D>>
  rates: CallRates
  reports: Seats
  /** Exports that are open, and those of them that make a piece. */
  exports: Seats
  turns: Seats
}

/** The path of a row below the root. */
export const pathOf = ({ call, at }: Pick<Operation, 'call' | 'at'>): string =>
  `${at === 'console' ? '' : '/api'}${call.slice(call.indexOf(' ') + 1)}`

export const methodOf = ({ call }: Pick<Operation, 'call'>): string => call.slice(0, call.indexOf(' '))
